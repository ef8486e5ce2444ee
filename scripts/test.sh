#!/usr/bin/env bash
# Installs what is missing, builds, and runs every check: lint, a short fuzz run, all tests. ctest's summary comes last.
#
#   scripts/test.sh                              as CI does
#   scripts/test.sh --preset asan                the tests under AddressSanitizer and UBSan, in build/asan
#   scripts/test.sh --label unit --label golden  only the tests of these labels: unit, golden, dist, e2e
#   scripts/test.sh --no-install --no-lint --no-fuzz --fuzz-seconds 60
#
# VERLC_JOBS bounds the parallel compilations and tests; default: the number of cores.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
die() { echo "test: $*" >&2; exit 2; }

preset=release
labels=()
install=1
lint=1
fuzz=1
fuzz_seconds=10
while [[ $# -gt 0 ]]; do
    case "$1" in
        --preset) preset="${2:?--preset needs release, debug or asan}"; shift ;;
        --label) labels+=("${2:?--label needs unit, golden, dist or e2e}"); shift ;;
        --fuzz-seconds) fuzz_seconds="${2:?--fuzz-seconds needs a number}"; shift ;;
        --no-install) install=0 ;;
        --no-lint) lint=0 ;;
        --no-fuzz) fuzz=0 ;;
        *) die "unknown option $1; see the head of scripts/test.sh" ;;
    esac
    shift
done
case "$preset" in release | debug | asan) ;; *) die "no preset $preset: release, debug or asan" ;; esac
# Fuzzing builds its own tree, so it belongs to the plain run only.
[[ "$preset" == release && ${#labels[@]} -eq 0 ]] || fuzz=0
[[ ${#labels[@]} -gt 0 ]] || labels=(unit golden dist e2e)
for label in "${labels[@]}"; do
    case "$label" in unit | golden | dist | e2e) ;; *) die "no label $label: unit, golden, dist or e2e" ;; esac
done

step() { printf '\n== %s (%(%H:%M:%S)T)\n' "$*" -1; }
jobs="${VERLC_JOBS:-$(nproc)}"
umask 022  # verlc loads no engine from a folder that others can write to
if [[ "$install" == 1 ]]; then scripts/install.sh; fi

step "build: preset $preset, $jobs jobs"
cmake --preset "$preset" >"/tmp/verlc-configure.$$" 2>&1 || { cat "/tmp/verlc-configure.$$"; exit 1; }
rm -f "/tmp/verlc-configure.$$"
cmake --build --preset "$preset" -j "$jobs"

refused="$("build/$preset/bin/verlc" plugins list | grep '^refused' || true)"
[[ -z "$refused" ]] || printf 'test: the tests of the program will fail here:\n%s\n' "$refused" >&2

failed=()
if [[ "$lint" == 1 ]]; then
    step lint
    scripts/lint/run.sh || failed+=(lint)
fi
if [[ "$fuzz" == 1 ]]; then
    step "fuzz: $fuzz_seconds s a target"
    scripts/fuzz.sh "$fuzz_seconds" || failed+=(fuzz)
fi

step "test: ${labels[*]}"
if [[ "$preset" == asan ]]; then
    export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
    export LSAN_OPTIONS="suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
fi
pattern="^($(IFS='|'; echo "${labels[*]}"))\$"
ctest --preset "$preset" -L "$pattern" -j "$jobs" --no-tests=error || failed+=(tests)

[[ ${#failed[@]} -eq 0 ]] || { echo "test: FAILED: ${failed[*]}" >&2; exit 1; }
