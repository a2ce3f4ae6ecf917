"""The batch computation that the results are held against: what is in the input topic's log, windows of the whole of
it, and the results as a reader reads them that is not ours (kcat, read-committed)."""
import collections
import json
import subprocess

COUNTS_MS, UPDATES_MS, TOTALS_MS = 5000, 5000, 10000
COUNTS_GRACE_MS = 1000
BIG = 50
SHOWN_MAX = 20

Row = collections.namedtuple("Row", "partition offset time key value")


def read(broker, topic):
    """All committed records of a topic, in its partitions' order."""
    answer = subprocess.run(["kcat", "-C", "-e", "-q", "-b", broker, "-t", topic, "-o", "beginning",
                             "-X", "isolation.level=read_committed", "-f", "%p\t%o\t%T\t%k\t%s\n"],
                            capture_output=True, text=True, timeout=120)
    if answer.returncode != 0:
        raise RuntimeError(f"kcat could not read {topic}: {answer.stderr.strip()}")
    rows = []
    for line in answer.stdout.splitlines():
        partition, offset, time, key, value = line.split("\t", 4)
        rows.append(Row(int(partition), int(offset), int(time), key, json.loads(value)))
    return rows


class Batch:
    """Every window of the whole input: (key, start) -> [n, total, largest, latest time]."""

    def __init__(self, rows, bound_ms):
        self.counts, self.updates, self.totals = {}, {}, {}
        largest = collections.defaultdict(int)
        for row in rows:
            time, amount = row.value["event_time"], row.value["amount"]
            largest[row.partition] = max(largest[row.partition], time)
            self.add(self.counts, row.key, COUNTS_MS, time, amount)
            self.add(self.updates, row.key, UPDATES_MS, time, amount)
            if amount >= BIG:
                self.add(self.totals, row.value["user"], TOTALS_MS, time, amount)
        self.watermark = min(largest.values()) - bound_ms

    @staticmethod
    def add(windows, key, size, time, amount):
        at = windows.setdefault((key, time - time % size), [0, 0, amount, time])
        at[0] += 1
        at[1] += amount
        at[2] = max(at[2], amount)
        at[3] = max(at[3], time)

    def closed_counts(self):
        return {at: w for at, w in self.counts.items() if at[1] + COUNTS_MS + COUNTS_GRACE_MS <= self.watermark}

    def closed_totals(self):
        return {at: w for at, w in self.totals.items() if at[1] + TOTALS_MS <= self.watermark}


class Check:
    """Compares; `when` says of an event time which round produced it, `where` of a result which round wrote it."""

    def __init__(self, when, where):
        self.when, self.where = when, where
        self.problems = []

    def add(self, topic, key, start, what, rows=()):
        places = ", ".join(f"{r.partition}/{r.offset} (round {self.where(topic, r)})" for r in rows)
        self.problems.append(f"{topic} {key} [{start}: {what}; its records are of round {self.when(start)}"
                             + (f"; at {places}" if places else ""))

    def by_window(self, topic, rows):
        found = collections.defaultdict(list)
        partitions = {}
        for row in rows:
            found[row.key, row.value["window"]["start"]].append(row)
            if partitions.setdefault(row.key, row.partition) != row.partition:
                self.add(topic, row.key, row.value["window"]["start"], "a key in two partitions", [row])
        return found

    def finals(self, topic, rows, expected, has_largest):
        found = self.by_window(topic, rows)
        for at, (n, total, largest, time) in sorted(expected.items()):
            got = found.pop(at, [])
            want = {"n": n, "total": total}
            if has_largest:
                want["largest"] = largest
            if not got:
                self.add(topic, *at, f"lost, expected {want}")
                continue
            if len(got) > 1:
                self.add(topic, *at, f"{len(got)} times: {[r.value for r in got]}", got)
            for row in got:
                value = {name: row.value.get(name) for name in want}
                if value != want:
                    self.add(topic, *at, f"{value} instead of {want}", [row])
                elif row.time != time:
                    self.add(topic, *at, f"stamped {row.time} instead of {time}", [row])
        for at, got in sorted(found.items()):
            self.add(topic, *at, "not closed, or of no record", got)

    def updates(self, topic, rows, expected):
        found = self.by_window(topic, rows)
        for at, window in sorted(expected.items()):
            got = found.pop(at, [])
            counts = [r.value["n"] for r in got]
            if counts != list(range(1, window[0] + 1)):
                self.add(topic, *at, f"updates {counts} instead of 1 to {window[0]}", got[:5])
        for at, got in sorted(found.items()):
            self.add(topic, *at, "of no record", got)

    def text(self):
        shown = self.problems[:SHOWN_MAX]
        if len(self.problems) > SHOWN_MAX:
            shown.append(f"... and {len(self.problems) - SHOWN_MAX} more")
        return "\n".join(shown)
