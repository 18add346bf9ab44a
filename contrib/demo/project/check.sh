#!/bin/sh
# The project's own test.
set -eu
got=$(printf 'one two\nthree\n' | ./words)
[ "$got" = "2 3 14" ] || { echo "FAIL: got $got"; exit 1; }
echo "PASS: words counts lines, words and bytes"
