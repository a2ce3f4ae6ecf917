#!/bin/sh
# run.sh SFSIM DIR: runs every scenario under DIR. A scenario is a .yaml file with a top-level key `scenario`; the
# others are applications that scenarios name.
set -eu
sfsim=$1
# Names hold no blanks (the lint would say so), so that the list can be split.
files=$(find "$2" -name '*.yaml' -exec grep -l '^scenario:' {} + | LC_ALL=C sort)
if [ -z "$files" ]; then
    echo "no scenario under $2"
    exit 1
fi
# shellcheck disable=SC2086
exec "$sfsim" run $files
