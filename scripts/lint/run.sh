#!/usr/bin/env bash
# Every style check of the tree; see scripts/lint/check.py. Exits 1 when one fails.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/check.py" "$@"
