#!/bin/sh
# build_example_alone.sh EXAMPLE INCLUDE SCRATCH: builds a plugin example outside the tree, from copies of its folder
# and of the installed headers, as its author would.
set -eu
rm -rf "$3"
mkdir -p "$3/include/verlc"
cp -r "$1" "$3/source"
cp "$2"/verlc/plugin.h "$2"/verlc/plugin.map "$3/include/verlc/"
cmake -S "$3/source" -B "$3/build" -DCMAKE_BUILD_TYPE=Release -DVERLC_INCLUDE_DIR="$3/include" >"$3/log"
cmake --build "$3/build" >>"$3/log" || { cat "$3/log"; exit 1; }
exec "$(dirname "$0")/one_export.sh" "$(find "$3/build" -name '*.so')"
