#!/usr/bin/env bash
# Installs the Debian packages of scripts/packages.txt that are missing; says nothing when none is.
#
#   scripts/install.sh [--build]        --build: only what building and running needs
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/packages.txt"
say() { echo "install: $*"; }
die() { echo "install: $*" >&2; exit 1; }

part=all
case "${1:-}" in
    "") ;;
    --build) part=build ;;
    *) die "unknown option $1; the only option is --build" ;;
esac

# Packages of the wanted part, one a line; a line "# == NAME: ..." starts a part.
wanted() {
    awk -v part="$part" '
        /^# == / { name = $3; sub(":", "", name); next }
        /^#/ || NF == 0 { next }
        part == "all" || part == name { print $1 }' "$list"
}

command -v dpkg-query >/dev/null || die "this is no Debian: install by hand what $list names"
mapfile -t packages < <(wanted)
# Packages that dpkg has never heard of make it fail and print nothing for them.
present="$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)"
missing=()
for package in "${packages[@]}"; do
    grep -qx "$package installed" <<<"$present" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ "$(id -u)" -ne 0 ]]; then
    command -v sudo >/dev/null ||
        die "needs root to install ${missing[*]}: run it as root, or install sudo, or ask whoever runs this machine"
    as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q "$@"; }

say "installing ${missing[*]}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
{ apt update && apt install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "apt-get failed: see above; it needs Debian 12 and a network"
}
say "done"
