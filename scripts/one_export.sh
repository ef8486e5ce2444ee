#!/bin/sh
# one_export.sh FILE.so: succeeds when the plugin exports verlc_plugin_open_v1 and nothing else.
set -eu
symbols=$(nm -D --defined-only "$1" | awk '{print $NF}')
if [ "$symbols" != verlc_plugin_open_v1 ]; then
  echo "$1 exports:"
  echo "$symbols"
  exit 1
fi
