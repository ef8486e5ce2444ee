#!/usr/bin/env bash
# Builds the libFuzzer targets with clang++ in build/fuzz and runs each for some seconds.
#
#   scripts/fuzz.sh [SECONDS] [NAME ...]     10 seconds and every tests/fuzz/fuzz_NAME.cpp by default
#
# Inputs that gave new coverage stay in build/fuzz/found/NAME, crashing ones in build/fuzz/crash/NAME-*.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds="${1:-10}"
[[ "$seconds" =~ ^[0-9]+$ ]] || { echo "fuzz: SECONDS is a whole number, not $seconds" >&2; exit 2; }
shift || true
names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
    for source in tests/fuzz/fuzz_*.cpp; do
        name="${source##*/fuzz_}"
        names+=("${name%.cpp}")
    done
fi

jobs="${VERLC_JOBS:-$(nproc)}"
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_C_COMPILER=clang -DVERLC_FUZZ=ON >build/fuzz.log || { cat build/fuzz.log; exit 1; }
cmake --build build/fuzz -j "$jobs" --target "${names[@]/#/fuzz_}"

failed=()
for name in "${names[@]}"; do
    folders=("build/fuzz/found/$name")
    [[ -d "tests/fuzz/seeds/$name" ]] && folders+=("tests/fuzz/seeds/$name")
    mkdir -p "build/fuzz/found/$name" build/fuzz/crash
    log="build/fuzz/$name.log"
    if "build/fuzz/bin/fuzz_$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/crash/$name-" "${folders[@]}" >"$log" 2>&1; then
        echo "fuzz: $name: $(awk '/number_of_executed_units/ {print $2}' "$log") inputs in $seconds s, none failed"
    else
        tail -n 60 "$log"
        echo "fuzz: $name FAILED: the input is in build/fuzz/crash, the report in $log"
        failed+=("$name")
    fi
done
[[ ${#failed[@]} -eq 0 ]] || { echo "fuzz: failed: ${failed[*]}" >&2; exit 1; }
