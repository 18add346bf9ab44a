#!/bin/sh
# Plans under the kernel, for as many seconds altogether as the last word says: as the caller, and for root half of the time
# as an ordinary user. PROGRAM LOOK SECONDS; SEED=n begins with other trees.
set -eu
bwrap=${SBX_BWRAP:-$(command -v bwrap)}
seed=${SEED:-$(date +%s)000000}
if [ "$(id -u)" -ne 0 ]; then
	exec "$1" "$3" "$seed" "$bwrap" "$2"
fi
# A user may not be let into the source tree.
place=$(mktemp -d /tmp/sbx-fuzz.XXXXXX)
trap 'rm -rf "$place"' EXIT
cp "$1" "$place/differential"
cp "$2" "$place/look"
chmod -R a+rX "$place"
half=$((($3 + 1) / 2))
"$place/differential" "$half" "$seed" "$bwrap" "$place/look"
setpriv --reuid 65534 --regid 65534 --clear-groups "$place/differential" "$half" "$seed" "$bwrap" "$place/look"
