#!/bin/sh
# histories.sh SFSIM DIR: for each .history file under DIR, the scenario beside it must happen exactly so, line by line:
# `sfsim run --history-all`, without the verdict.
set -eu
sfsim=$1
dir=$2
files=$(find "$dir" -name '*.history' | LC_ALL=C sort)
if [ -z "$files" ]; then
    echo "no history under $dir"
    exit 1
fi
told=$(mktemp)
trap 'rm -f "$told"' EXIT
status=0
for history in $files; do
    "$sfsim" run --history-all "${history%.history}.yaml" >"$told" || status=1
    grep -v '^ok ' "$told" | diff "$history" - || status=1
done
exit $status
