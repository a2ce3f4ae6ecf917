#!/usr/bin/env python3
"""Measures how long after its close a window's result can be read, on a real broker: sfprod in one process, the feeder
and a read-committed reader in another (bench_close_delay.c says what exactly is counted, from when to when).

    close_delay.py [--rate 10000] [--keys 100] [--window-ms 100] [--bound-ms 100] [--seconds 180] [--json]

The cadence of barriers is the adaptive one with its defaults (not below 150 ms). Broker: --bootstrap, else
KAFKA_BOOTSTRAP, else one of its own. Exit status: 0 measured, 1 failed, 3 no broker to be had.
"""
import argparse
import json
import os
import subprocess
import sys

import bench_world as world

APP = """\
application: {{id: {id}, guarantee: exactly-once}}
stoatflow: {{changelog.format: {format}}}
sources:
  in:
    topic: {id}-in
    key: string
    value: bytes
    watermark: {{max-out-of-orderness: {bound}ms}}
streams:
  - {{name: counts, from: in, window: {{tumbling: {window}ms}}, aggregate: {{n: count}}, emit: on-window-close}}
sinks:
  - {{from: counts, topic: {id}-out}}
"""


def commit_intervals(log):
    """Between one commit's answer and the next, ascending: how long in ms, and how many seconds after the first one."""
    times = [world.seconds(line["time"]) for line in log if line.get("event") == "txn.committed"]
    return sorted(((b - a) * 1000, a - times[0]) for a, b in zip(times, times[1:]))


def quantile(ascending, share):
    return round(ascending[min(len(ascending) - 1, int(len(ascending) * share))][0], 1)


def measure(a, bootstrap, folder):
    name = world.fresh_name("delay")
    world.make_topics(bootstrap, f"{name}-in:{a.partitions}", f"{name}-out:{a.partitions}")
    app = os.path.join(folder, "app.yaml")
    with open(app, "w", encoding="ascii") as file:
        file.write(APP.format(id=name, format=a.format, bound=a.bound_ms, window=a.window_ms))
    sfprod = world.Process(a.sfprod, [app, "--state-dir", os.path.join(folder, "state"), "--bootstrap", bootstrap],
                           os.environ)
    try:
        sfprod.wait_for("started")
        bench = subprocess.run([a.bench, bootstrap, f"{name}-in", f"{name}-out"] + [
            str(n) for n in (a.partitions, a.rate, a.keys, a.window_ms, a.bound_ms, a.seconds)],
            stdout=subprocess.PIPE, text=True)
        if bench.returncode != 0:
            raise world.Failed(f"bench_close_delay exits with {bench.returncode}: {bench.stdout}")
        if sfprod.stop() != 0:
            raise world.Failed("sfprod does not exit with 0")
    finally:
        sfprod.kill()
    intervals = commit_intervals(sfprod.log)
    return dict(json.loads(bench.stdout), format=a.format, commits=len(intervals) + 1,
                commit_interval_ms={"p50": quantile(intervals, 0.5), "p99": quantile(intervals, 0.99),
                                    "longest": [{"ms": round(ms, 1), "at_s": round(at, 1)}
                                                for ms, at in intervals[:-4:-1]]})


def tell(row):
    print(f"{row['rate']} records/s, {row['keys']} keys, windows of {row['window_ms']} ms, {row['windows']} windows")
    for name, what in (("acknowledged", "from acknowledged, each result"), ("sent", "from given to the producer"),
                       ("last_of_window", "each window's last result")):
        d = row[name]
        print(f"{what:32} {d['count']:8} p50 {d['p50_ms']} p99 {d['p99_ms']} p99.99 {d['p99_99_ms']} "
              f"least {d['min_ms']} most {d['max_ms']} ms")
    i = row["commit_interval_ms"]
    longest = ", ".join(f"{pause['ms']} ms at {pause['at_s']} s" for pause in i["longest"])
    print(f"{'between commits':32} {row['commits']:8} p50 {i['p50']} p99 {i['p99']} ms; longest: {longest}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    world.add_options(p)
    p.add_argument("--bench", default=world.built("tests/bench_close_delay"))
    p.add_argument("--format", choices=("rows", "packed"), default="rows")
    p.add_argument("--partitions", type=int, default=4)
    p.add_argument("--rate", type=int, default=10000)
    p.add_argument("--keys", type=int, default=100)
    p.add_argument("--window-ms", type=int, default=100)
    p.add_argument("--bound-ms", type=int, default=100)
    p.add_argument("--seconds", type=int, default=180)
    a = p.parse_args()
    with world.broker(a.bootstrap) as bootstrap, world.folder() as folder:
        row = measure(a, bootstrap, folder)
    print(json.dumps(row)) if a.json else tell(row)


if __name__ == "__main__":
    sys.exit(world.guarded(main))
