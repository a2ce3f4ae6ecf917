#!/bin/bash
# Runs sfprod in turn with other systems over the same job on one broker, with the harness in PEERS.
#
#   beside.sh PEERS dense|sparse [-k RUNS] [-o RESULTS.jsonl] [-n RECORDS] [-w] [SYSTEM | NAME=COMMAND]...
#
# PEERS is a folder of which this uses run.sh (it loads the input, runs each system RUNS times, checks results, prints
# the table) and which must be writable: its programs are built there, for one density at a time. A SYSTEM is one of
# run.sh's, or of these:
#
#   sfprod, sfprod-packed      tests/bench/job.yaml with that changelog format, an application id of its own each run
#   flink-heap, flink-rocksdb  PEERS/flink, built before with Maven
#
# Left out: raw copy kstreams1 flink-heap sfprod sfprod-packed. dense: 15 M records over 10,000 keys; sparse: 5 M over
# 100,000. SFPROD: another program than the release build's. Broker: KAFKA_BOOTSTRAP and KAFKA_DIR, else one that
# run.sh starts.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
export SFPROD=${SFPROD:-$root/build/release/bin/sfprod}

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

once() { # FORMAT: one run of sfprod, the command that is measured
    folder=$(mktemp -d) # not local: the trap runs outside of here
    trap 'rm -rf "$folder"' EXIT
    sed -e "s/^  id: bench$/  id: bench-$$-$RANDOM/" -e "s/^  changelog.format: .*/  changelog.format: $1/" \
        "$root/tests/bench/job.yaml" >"$folder/app.yaml"
    "$SFPROD" run "$folder/app.yaml" --until-end --state-dir "$folder/state" --log-level warn
}

if [ "${1:-}" = --once ]; then
    once "$2"
    exit
fi
[ $# -ge 2 ] && [ -x "$1/run.sh" ] || usage
peers=$(cd "$1" && pwd)
case $2 in
dense) n=15000000 keys=10000 ;;
sparse) n=5000000 keys=100000 ;;
*) usage ;;
esac
shift 2
options=()
while getopts k:o:n:w option; do
    case $option in
    k | o) options+=("-$option" "$OPTARG") ;;
    n) n=$OPTARG ;;
    w) options+=(-w) ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- raw copy kstreams1 flink-heap sfprod sfprod-packed
systems=()
for system in "$@"; do
    case $system in
    sfprod) systems+=("sfprod=$root/tests/bench/beside.sh --once rows") ;;
    sfprod-packed) systems+=("sfprod-packed=$root/tests/bench/beside.sh --once packed") ;;
    flink-heap) systems+=("flink-heap=$peers/flink/job.sh parallelism=1 backend=hashmap") ;;
    flink-rocksdb) systems+=("flink-rocksdb=$peers/flink/job.sh parallelism=1 backend=rocksdb") ;;
    *) systems+=("$system") ;;
    esac
done
KEYS=$keys exec "$peers/run.sh" -n "$n" "${options[@]}" "${systems[@]}"
