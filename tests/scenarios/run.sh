#!/bin/sh
# run.sh SFSIM DIR [SEEDS]: runs every scenario under DIR. A scenario is a .yaml file with a top-level key `scenario`;
# the others are applications that scenarios name. Each runs with its own seed. Then one with an `exact` world runs with
# step budgets of 1, 7 and 1,024, since it has no schedule to draw; any other with the seeds 1 to SEEDS (25).
set -eu
sfsim=$1
dir=$2
seeds=${3:-25}
# Names hold no blanks (the lint would say so), so that lists can be split.
files=$(find "$dir" -name '*.yaml' -exec grep -l '^scenario:' {} + | LC_ALL=C sort)
if [ -z "$files" ]; then
    echo "no scenario under $dir"
    exit 1
fi
exact=
drawn=
for file in $files; do
    if grep -Eq '^world: *\{[^}]*exact: true|^  exact: true' "$file"; then
        exact="$exact $file"
    else
        drawn="$drawn $file"
    fi
done
status=0
# shellcheck disable=SC2086
"$sfsim" run $files || status=1
if [ -n "$exact" ]; then
    for budget in 1 7 1024; do
        echo "step budget $budget:"
        # shellcheck disable=SC2086
        said=$("$sfsim" run --step-budget $budget $exact) || status=1
        printf '%s\n' "$said" | grep -v '^ok ' || true
    done
fi
if [ -n "$drawn" ]; then
    # shellcheck disable=SC2086
    "$sfsim" run --seeds "1..$seeds" $drawn || status=1
fi
exit $status
