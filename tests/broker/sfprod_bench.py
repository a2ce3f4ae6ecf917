"""What tests of sfprod against a real broker share: topics, records, processes and what they say.

Nothing here sleeps: a process is waited for by its log events and the rows that it prints.
"""
import json
import os
import queue
import signal
import subprocess
import threading
import time

WAIT_SECONDS = 90
SECOND = 1000
# An instant of no significance, at a round minute.
BEGIN = 1790071200000

APPLICATION = """\
application: {{id: {id}, guarantee: {guarantee}}}
stoatflow:
  processing.lanes: {lanes}
  session-timeout-ms: {session}
  commit-barrier.min-interval-ms: 20
  commit-barrier.interval-ms: 50
sources:
  orders:
    topic: {id}-orders
    key: string
    value: json
    watermark: {{max-out-of-orderness: 2s, timestamp: $.event_time}}
streams:
  - {{name: by-user, from: orders, key-by: $.user}}
  - name: counts
    from: by-user
    window: {{tumbling: 10s}}
    aggregate: {{n: count, total: sum($.amount)}}
    emit: on-window-close
sinks:
  - {{from: counts, topic: {id}-counts, value: json}}
"""


class Failed(AssertionError):
    pass


class Broker:
    def __init__(self, bootstrap, directory):
        self.bootstrap = bootstrap
        self.directory = directory  # where scripts/broker keeps it; None: not ours to stop

    def make_topics(self, *topics):
        subprocess.run(["scripts/broker", "topics", self.bootstrap, *topics], check=True, capture_output=True)

    def script(self, command):
        subprocess.run(["scripts/broker", command, self.directory], check=True, capture_output=True)

    def pid(self):
        with open(os.path.join(self.directory, "pid"), encoding="ascii") as file:
            return int(file.read())

    def produce(self, topic, partition, values):
        lines = "".join(f"{value['user']}|{json.dumps(value)}\n" for value in values)
        subprocess.run(["kcat", "-q", "-P", "-b", self.bootstrap, "-t", topic, "-p", str(partition), "-K", "|"],
                       input=lines, text=True, check=True)

    def committed(self, topic):
        """(key, value) of all that a read-committed reader sees."""
        answer = subprocess.run(["kcat", "-q", "-C", "-b", self.bootstrap, "-t", topic, "-o", "beginning", "-e",
                                 "-X", "isolation.level=read_committed", "-f", "%k\t%s\n"],
                                text=True, check=True, capture_output=True)
        return [parse(line) for line in answer.stdout.splitlines()]


def parse(line):
    key, value = line.split("\t", 1)
    return key, json.loads(value)


def orders(begin_second, end_second, partition, partitions):
    """One order a second, dealt over the partitions; a little out of order."""
    values = []
    for second in range(begin_second, end_second):
        if second % partitions != partition:
            continue
        late = 1500 if second % 5 == 0 else 0
        values.append({"event_time": BEGIN + second * SECOND - (late if second >= 2 else 0),
                       "user": f"user-{second % 7}", "amount": second % 50})
    return values


def closer(second):
    """Moves the watermark past all that comes before; its own window stays open."""
    return {"event_time": BEGIN + second * SECOND, "user": "closer", "amount": 0}


def batch(values):
    """What the windows hold, computed the dull way."""
    windows = {}
    for value in values:
        if value["user"] == "closer":
            continue
        start = value["event_time"] // 10000 * 10000
        count, total = windows.get((value["user"], start), (0, 0))
        windows[value["user"], start] = (count + 1, total + value["amount"])
    return sorted((user, start, n, total) for (user, start), (n, total) in windows.items())


def rows(results):
    return sorted((key.strip('"'), value["window"]["start"], value["n"], value["total"]) for key, value in results
                  if key.strip('"') != "closer")


class Process:
    """A running sfprod, its log events and printed rows."""

    def __init__(self, program, arguments, environment):
        self.process = subprocess.Popen([program, "run", *arguments, "--log", "json", "--log-level", "debug"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.log = []
        self.rows = []
        self.news = queue.Queue()
        self.threads = [threading.Thread(target=self._read, args=(self.process.stderr, "log"), daemon=True),
                        threading.Thread(target=self._read, args=(self.process.stdout, "row"), daemon=True)]
        for thread in self.threads:
            thread.start()

    def _read(self, stream, kind):
        for line in stream:
            self.news.put((kind, line.rstrip("\n")))
        self.news.put(("end", kind))

    def _take(self, deadline):
        try:
            kind, line = self.news.get(timeout=max(0.001, deadline - time.monotonic()))
        except queue.Empty:
            raise Failed("nothing more came; the log so far:\n" + "\n".join(map(str, self.log[-30:]))) from None
        if kind == "log":
            self.log.append(json.loads(line) if line.startswith("{") else {"event": "stderr", "message": line})
        elif kind == "row":
            self.rows.append(line)
        return kind

    def wait_for(self, event):
        """The next event of that name, of those not yet taken."""
        deadline = time.monotonic() + WAIT_SECONDS
        at = getattr(self, "seen", 0)
        while True:
            for i in range(at, len(self.log)):
                if self.log[i]["event"] == event:
                    self.seen = i + 1
                    return self.log[i]
            at = len(self.log)
            if self._take(deadline) == "end" and self.process.poll() is not None:
                raise Failed(f"it ended with {self.process.returncode} before `{event}`:\n"
                             + "\n".join(map(str, self.log[-30:])))

    def wait_for_rows(self, count):
        deadline = time.monotonic() + WAIT_SECONDS
        while len(self.rows) < count:
            self._take(deadline)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """The exit status; all it said is in log and rows then."""
        try:
            status = self.process.wait(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed("it does not end:\n" + "\n".join(map(str, self.log[-30:]))) from None
        for thread in self.threads:
            thread.join()
        while not self.news.empty():
            self._take(time.monotonic())
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.end()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.end()

    def messages(self, event):
        return [line["message"] for line in self.log if line["event"] == event]
