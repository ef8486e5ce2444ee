#!/usr/bin/env bash
# The first run on a fresh Debian 12, as root or with sudo: installs, builds, teaches a tiny model the format of
# arithmetic by SFT and then trains it by GRPO on 2 ranks.
#
#   scripts/quickstart.sh
#
# VERLC_JOBS bounds the parallel compilations; default: the number of cores.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { printf '\n== %s\n' "$*"; }

umask 022  # verlc loads no engine from a folder that others can write to
scripts/install.sh --build
say "building (some minutes the first time)"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
cmake --preset release >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset release -j "${VERLC_JOBS:-$(nproc)}" --target verlc fsdp_so rollout_so verlc_comm_openmpi

verlc=build/release/bin/verlc
# The value of a top-level key of a resolved recipe.
key() { "$verlc" recipe show "$1" | awk -v key="$2" -F' = ' '/^\[/ { exit } $1 == key { gsub("\"", "", $2); print $2 }'; }

for recipe in recipes/quickstart_sft.toml recipes/quickstart_grpo.toml; do
    say "verlc train $recipe"
    "$verlc" train "$recipe" --set trainer.resume_mode=disable
done

run="$(key "$recipe" output_dir)/$(key "$recipe" name)"
say "done: the model is in $run/huggingface, its metrics in $run/metrics.jsonl"
