#!/usr/bin/env bash
# Prints the path of a Python that has the packages named as arguments (names of scripts/requirements.txt), and makes
# a virtual environment in build/venv with the pinned versions if there is none.
#
#   python="$(scripts/venv.sh torch transformers)"
#
# VERLC_PYTHON names an interpreter to use instead, if it has the packages. Messages go to stderr.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$root/build/venv"
requirements="$root/scripts/requirements.txt"

say() { echo "venv: $*" >&2; }

# Names of the packages that the interpreter $1 lacks, of the others.
missing_from() {
    local python="$1"
    shift
    "$python" - "$@" <<'PY'
import importlib.metadata, sys
def installed(name):
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
print(*[name for name in sys.argv[1:] if not installed(name)])
PY
}

if [[ -n "${VERLC_PYTHON:-}" ]]; then
    [[ -x "$VERLC_PYTHON" ]] || { say "VERLC_PYTHON=$VERLC_PYTHON is no executable file"; exit 1; }
    lacking="$(missing_from "$VERLC_PYTHON" "$@")"
    if [[ -z "$lacking" ]]; then
        echo "$VERLC_PYTHON"
        exit 0
    fi
    say "$VERLC_PYTHON lacks $lacking; using $venv"
fi

if [[ ! -x "$venv/bin/python" ]]; then
    say "making a virtual environment in $venv"
    python3 -m venv "$venv" || { say "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }
fi
lacking="$(missing_from "$venv/bin/python" "$@")"
if [[ -n "$lacking" ]]; then
    pins=()
    for name in $lacking; do
        pin="$(grep -E "^$name==" "$requirements")" || { say "$name is not in $requirements"; exit 1; }
        pins+=("$pin")
    done
    say "installing ${pins[*]}"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "${pins[@]}" >&2
fi
echo "$venv/bin/python"
