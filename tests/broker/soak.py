#!/usr/bin/env python3
"""One instance of sfprod under load for many records: it must end as asked, say nothing that a sanitizer says, hold no
more memory at the end than before, and have every window in the results once and whole.

    soak.py --sfprod PROGRAM --feed PROGRAM [--records N] [--keep]

The program may be of any build; scripts/soak makes those with sanitizers and calls this. Memory is the process's
resident set, looked at every half second: the most of the last fifth may exceed the most of the second fifth by a tenth
and 16 MiB; of fewer than 200,000 records nothing is said, since it still fills its buffers.
Broker and exit status as kill_test.py has them.
"""
import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
import threading
import time

import kill_test
from kill_test import check, plan, w

CHUNK = 5000
AHEAD = 100000  # records that may wait on the broker: the rest of them comes as results do
STALL_S = 120
FILLED = 200000
COMPLAINT = re.compile(r"(AddressSanitizer|ThreadSanitizer|LeakSanitizer|runtime error:|Assertion).*")


class Memory:
    """The resident set of a process, in KiB, from when it began to work to its end."""

    def __init__(self, pid):
        self.pid, self.samples, self.is_over = pid, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over:
            try:
                with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                    found = re.search(r"VmRSS:\s+(\d+) kB", file.read())
            except OSError:
                return
            if found:
                self.samples.append(int(found.group(1)))
            time.sleep(0.5)

    def finish(self):
        """(before, after): the most of the second fifth and of the last."""
        self.is_over = True
        self.thread.join()
        fifth = max(1, len(self.samples) // 5)
        return max(self.samples[fifth:2 * fifth] or self.samples), max(self.samples[-fifth:])


def seen(readers):
    return sum(reader.count for reader in readers)


def feed_all(feeder, readers, records):
    """At the pace of the results: each record makes one update."""
    moved, count = time.monotonic(), 0
    while feeder.index < records:
        if feeder.index - count < AHEAD:
            feeder.put(min(CHUNK, records - feeder.index))
        if seen(readers) != count:
            moved, count = time.monotonic(), seen(readers)
        elif time.monotonic() - moved > STALL_S:
            raise w.Failure(f"no result for {STALL_S} s after {count}")
        time.sleep(0.01)


def wait_for_results(readers, records):
    deadline = time.monotonic() + STALL_S
    while seen(readers) < records:
        if time.monotonic() > deadline:
            raise w.Failure(f"{seen(readers)} results of {records} in {STALL_S} s")
        time.sleep(0.1)


def soak(args, world, campaign):
    world.broker.make_topics(world.topics())
    with open(os.path.join(world.folder, "feed.log"), "wb") as log:
        feeder = w.Feeder(args.feed, world.broker.bootstrap, f"{world.id}-orders", campaign.seed,
                          campaign.bound_ms - 500, log)
    readers = [w.Reader(world.broker.bootstrap, f"{world.id}-updates", partition) for partition in (0, 1)]
    try:
        instance = world.begin({"lanes": 2, "workers": 2, "state": "a", "is_named": False})
        memory = Memory(instance.process.pid)
        feed_all(feeder, readers, args.records)
        feeder.finish()
        wait_for_results(readers, args.records)
        before, after = memory.finish()
        kill_test.say(f"resident {before // 1024} MiB early, {after // 1024} MiB late, {len(memory.samples)} looks")
        world.stop(instance, STALL_S)
    finally:
        feeder.is_over = True
        feeder.process.kill()
        for reader in readers:
            reader.close()
        world.end_all()
    return instance, before, after


def problems(args, world, campaign, instance, before, after):
    with open(instance.log, encoding="utf-8", errors="replace") as file:
        found = [line.group(0) for line in COMPLAINT.finditer(file.read())][:5]
    if args.records >= FILLED and after > before + before // 10 + 16 * 1024:
        found.append(f"it grew from {before} to {after} KiB")
    broker = world.broker.bootstrap
    batch = check.Batch(check.read(broker, f"{world.id}-orders"), campaign.bound_ms)
    verdict = check.Check(lambda _: 1, lambda _topic, _row: 1)
    verdict.finals("counts", check.read(broker, f"{world.id}-counts"), batch.closed_counts(), False)
    verdict.finals("totals", check.read(broker, f"{world.id}-totals"), batch.closed_totals(), True)
    verdict.updates("updates", check.read(broker, f"{world.id}-updates"), batch.updates)
    if verdict.problems:
        found.append(verdict.text())
    return found


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sfprod", required=True, help="the program, or a command line that ends with it")
    parser.add_argument("--feed", required=True)
    parser.add_argument("--records", type=int, default=1000000)
    parser.add_argument("--keep", action="store_true", help="the run's folder, also where all went well")
    args = parser.parse_args()
    args.sfprod = shlex.split(args.sfprod)
    args.sfprod[-1] = os.path.abspath(args.sfprod[-1])
    return args


def main():
    args = read_arguments()
    folder = tempfile.mkdtemp(prefix="soak-")
    began, found = time.monotonic(), []
    broker = kill_test.find_broker(folder)
    campaign = plan.Campaign(1, 1, False)
    world = w.World(folder, args.sfprod, broker, campaign, session_s=30)
    try:
        found = problems(args, world, campaign, *soak(args, world, campaign))
    except w.Failure as failure:
        found = [str(failure)]
    finally:
        if broker.folder is not None and broker.folder.startswith(folder):
            broker.call("stop")
    if found:
        kill_test.say("\n".join(found) + f"\nlogs in {folder}")
    elif not args.keep:
        shutil.rmtree(folder)
    kill_test.say(f"{args.records} records in {time.monotonic() - began:.0f} s: " + ("FAILED" if found else "clean"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
