#!/usr/bin/env python3
"""Measures how long sfprod takes from its start to its first result when it has much state, on a real broker.

    recovery.py [--rows 1000000] [--formats rows packed] [--from store changelog] [--stop kill term] [--runs 3] [--json]

The state is rows of windows that stay open (a long grace): up to a million keys in as many windows of one hour as it
takes. Before them lie the probes' windows, one each, with a single row in it. A measured run goes so:

    sfprod is stopped, with SIGKILL as in a crash, or with SIGTERM
    `changelog`: the local store is removed, so all state comes from the broker; `store`: it is kept
    a record for each partition is written that lets the next probe's window close
    sfprod starts; a read-committed reader in another process waits for the probe's result

and its time is from the start of the process to the result's arrival. A name of its own (stoatflow.instance) lets the
killed instance take its place back at once. Also told: until it was the owner, until the state was there, until it
read records, and the process's peak memory until the result. Broker and exit status as close_delay.py has them.
"""
import argparse
import json
import os
import queue
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

import bench_world as world

APP = """\
application: {{id: {id}, guarantee: exactly-once}}
stoatflow: {{changelog.format: {format}, instance: {id}}}
sources:
  in:
    topic: {id}-in
    key: string
    value: bytes
    watermark: {{max-out-of-orderness: 0s}}
streams:
  - name: counts
    from: in
    window: {{tumbling: 1h, grace: {grace_hours}h}}
    aggregate: {{n: count}}
    emit: on-window-close
sinks:
  - {{from: counts, topic: {id}-out}}
"""
PARTITIONS = 4
HOUR = 3600000
BEGIN = 1767225600000  # 2026-01-01T00:00:00Z
PROBES = 64
GRACE_HOURS = 2400
KEYS_MAX = 1000000
BUILD_SECONDS = 600
STORE_SECONDS = 12


class Feed:
    """tests/broker/kill/feed.c, compiled; one call writes lines and returns when all are acknowledged."""

    def __init__(self, folder, bootstrap, topic):
        source = os.path.join(world.ROOT, "tests", "broker", "kill", "feed.c")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "rdkafka"], check=True, capture_output=True,
                               text=True).stdout.split()
        self.command = [os.path.join(folder, "feed"), bootstrap, topic]
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", source, "-o", self.command[0], *flags],
                       check=True)

    def put(self, chunks):
        process = subprocess.Popen(self.command, stdin=subprocess.PIPE)
        for chunk in chunks:
            process.stdin.write(chunk.encode())
        process.stdin.close()
        if process.wait() != 0:
            raise world.Failed("the feeder fails")

    def probes(self):
        for i in range(PROBES):
            yield f"{i % PARTITIONS}\t{BEGIN + i * HOUR}\tprobe\t1\n"

    def state(self, rows):
        keys = min(rows, KEYS_MAX)
        for window in range((rows + keys - 1) // keys):
            stamp = BEGIN + (PROBES + window) * HOUR
            for begin in range(0, keys, 10000):
                yield "".join(f"{k % PARTITIONS}\t{stamp}\tk{k:07d}\t1\n"
                              for k in range(begin, min(begin + 10000, keys)))

    def closing(self, probe):
        stamp = BEGIN + (probe + 1 + GRACE_HOURS) * HOUR
        yield "".join(f"{p}\t{stamp}\tcloser\t1\n" for p in range(PARTITIONS))


class Reader:
    """Hands out when each result came."""

    def __init__(self, bootstrap, topic):
        self.process = subprocess.Popen(
            ["kcat", "-q", "-u", "-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-X",
             "isolation.level=read_committed", "-f", "%k\\n"], stdout=subprocess.PIPE, text=True)
        self.arrivals = queue.Queue()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        for _ in self.process.stdout:
            self.arrivals.put(time.monotonic())

    def next(self, seconds):
        try:
            return self.arrivals.get(timeout=seconds)
        except queue.Empty:
            raise world.Failed(f"no result within {seconds} s") from None

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) / 1024


def folder_mib(path):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names) / 1048576


class Subject:
    """One application with its topics, its state and its local store."""

    def __init__(self, a, bootstrap, folder, form):
        self.a, self.bootstrap, self.form = a, bootstrap, form
        self.name = world.fresh_name("recovery")
        self.app = os.path.join(folder, self.name + ".yaml")
        self.store = os.path.join(folder, self.name)
        world.make_topics(bootstrap, f"{self.name}-in:{PARTITIONS}", f"{self.name}-out:{PARTITIONS}")
        with open(self.app, "w", encoding="ascii") as file:
            file.write(APP.format(id=self.name, format=form, grace_hours=GRACE_HOURS))
        self.feed = Feed(folder, bootstrap, f"{self.name}-in")
        self.reader = Reader(bootstrap, f"{self.name}-out")
        self.probe = 0

    def run(self, stop, seconds):
        """From start to the next probe's result, then stopped."""
        self.feed.put(self.feed.closing(self.probe))
        self.probe += 1
        start = time.monotonic()
        sfprod = world.Process(self.a.sfprod, [self.app, "--state-dir", self.store, "--bootstrap", self.bootstrap],
                               os.environ)
        try:
            arrival = self.reader.next(seconds)
            peak = peak_mib(sfprod.process.pid)
            if stop == "kill":  # as after a long time: the local store has been written since (every 10 s)
                time.sleep(STORE_SECONDS)
            sfprod.signal(signal.SIGTERM if stop == "term" else signal.SIGKILL)
        finally:
            status = sfprod.end() if sys.exc_info()[0] is None else sfprod.kill()
        if status != (0 if stop == "term" else -signal.SIGKILL):
            raise world.Failed(f"sfprod ends with {status}:\n" + "\n".join(map(str, sfprod.log[-5:])))
        return arrival - start, peak, sfprod.log

    def measure(self, source, stop):
        if source == "changelog":
            shutil.rmtree(self.store)
        elapsed, peak, log = self.run(stop, BUILD_SECONDS)
        row = {"rows": self.a.rows, "format": self.form, "from": source, "stop": stop,
               "first_result_s": round(elapsed, 3), "peak_mib": round(peak), "store_mib": round(folder_mib(self.store))}
        row.update(instants(log))
        return row


def instants(log):
    """Seconds after the line `start` at which these happened."""
    times = {}
    for line in log:
        if line["event"] in ("start", "owner", "changelog.restored", "started"):
            times.setdefault(line["event"], line["time"])
    begin = world.seconds(times["start"])
    return {f"{name.rpartition('.')[2]}_s": round(world.seconds(at) - begin, 3) for name, at in times.items()
            if name != "start"}


def measure(a, bootstrap, folder, form):
    subject = Subject(a, bootstrap, folder, form)
    try:
        world.say(f"{form}: feeding {a.rows} rows")
        subject.feed.put(subject.feed.probes())
        subject.feed.put(subject.feed.state(a.rows))
        elapsed, peak, _ = subject.run("kill", BUILD_SECONDS)
        world.say(f"{form}: state built in {elapsed:.1f} s, peak {peak:.0f} MiB")
        for run in range(a.runs):
            for stop in a.stop:
                for source in a.sources:
                    row = subject.measure(source, stop)
                    world.say(f"run {run + 1}: {json.dumps(row)}")
                    yield row
    finally:
        subject.reader.close()


def tell(rows):
    print("| rows | format | from | stopped by | first result s | state there s | peak MiB | local store MiB |")
    print("|" + "---|" * 8)
    groups = {}
    for row in rows:
        groups.setdefault((row["rows"], row["format"], row["from"], row["stop"]), []).append(row)
    for key, of in groups.items():
        cells = []
        for name, form in (("first_result_s", "{:.2f}"), ("restored_s", "{:.2f}"), ("peak_mib", "{}"),
                           ("store_mib", "{}")):
            values = [row.get(name, float("nan")) for row in of]
            cells.append(f"{form} ({form} … {form})".format(statistics.median(values), min(values), max(values)))
        print("| " + " | ".join(map(str, key + tuple(cells))) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    world.add_options(p)
    p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--formats", nargs="+", choices=("rows", "packed"), default=["rows", "packed"])
    p.add_argument("--from", dest="sources", nargs="+", choices=("store", "changelog"), default=["store", "changelog"])
    p.add_argument("--stop", nargs="+", choices=("kill", "term"), default=["kill"])
    p.add_argument("--runs", type=int, default=3)
    a = p.parse_args()
    if a.runs * len(a.sources) * len(a.stop) >= PROBES:
        p.error(f"at most {PROBES - 1} runs a format")
    with world.broker(a.bootstrap) as bootstrap, world.folder() as folder:
        rows = [row for form in a.formats for row in measure(a, bootstrap, folder, form)]
    if a.json:
        for row in rows:
            print(json.dumps(row))
    else:
        tell(rows)


if __name__ == "__main__":
    sys.exit(world.guarded(main))
