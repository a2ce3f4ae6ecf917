"""The processes of the kill test: broker, feeder, instances of sfprod, and a reader that sees results come."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

PARTITIONS = 4
FENCED = 10
APP = """application: {{id: {id}, guarantee: exactly-once}}
stoatflow:
  session-timeout-ms: {session_ms}
  processing.lanes: {lanes}
  commit-barrier.interval-ms: {interval_ms}
  commit-barrier.min-interval-ms: {interval_ms}
  commit-barrier.max-interval-ms: 1000
  commit-barrier.timeout-ms: 30000
{instance}
kafka: {{bootstrap.servers: "{broker}"}}
sources:
  orders:
    topic: {id}-orders
    key: string
    value: json
    watermark: {{max-out-of-orderness: {bound_ms}ms{timestamp}}}
streams:
  - name: counts
    from: orders
    window: {{tumbling: 5s, grace: 1s}}
    aggregate: {{n: count, total: sum($.amount)}}
    emit: on-window-close
  - {{name: updates, from: orders, window: {{tumbling: 5s}}, aggregate: {{n: count}}, emit: on-window-update}}
  - {{name: big, from: orders, filter: "$.amount >= 50"}}
  - {{name: by-user, from: big, key-by: $.user}}
  - name: totals
    from: by-user
    window: {{tumbling: 10s}}
    aggregate: {{n: count, total: sum($.amount), largest: max($.amount)}}
    emit: on-window-close
sinks:
  - {{from: counts, topic: {id}-counts}}
  - {{from: updates, topic: {id}-updates}}
  - {{from: totals, topic: {id}-totals}}
"""


class Failure(Exception):
    """What must not happen has happened."""


def wait_until(is_true, seconds, what):
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.02)


class Broker:
    """A broker of ours in `folder`, or somebody else's, which is left alone."""

    def __init__(self, script, folder, bootstrap):
        self.script, self.folder, self.bootstrap = script, folder, bootstrap

    def call(self, command):
        answer = subprocess.run([self.script, command, self.folder], stdout=subprocess.PIPE, text=True)
        if answer.returncode != 0:
            raise Failure(f"scripts/broker {command} exits {answer.returncode}")
        return answer.stdout

    def start(self):
        self.bootstrap = self.call("start").strip().partition("=")[2]

    def signal(self, number):
        with open(os.path.join(self.folder, "pid"), encoding="ascii") as file:
            os.kill(int(file.read()), number)

    def make_topics(self, names):
        subprocess.run([self.script, "topics", self.bootstrap, *names], check=True, capture_output=True)


class Feeder:
    """Writes keyed records, out of order within the bound, at the current rate: `$.event_time` is the record's time
    too. Partitions go on together in event time, 10 ms a record."""

    STEP_MS = 10

    def __init__(self, program, broker, topic, seed, jitter_ms, log):
        self.random = random.Random(f"{seed}/feed")
        self.jitter_ms = jitter_ms
        self.process = subprocess.Popen([program, broker, topic], stdin=subprocess.PIPE, stderr=log, text=True)
        self.lock = threading.Lock()
        self.index, self.rate = 0, 0
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def now_ms(self):
        """The event time of the next records."""
        return 1767225600000 + self.index // PARTITIONS * self.STEP_MS

    def line(self, time_ms):
        draw = self.random
        value = json.dumps({"event_time": time_ms, "user": f"u{draw.randrange(12)}", "amount": draw.randrange(100)})
        return f"{self.index % PARTITIONS}\t{time_ms}\tk{draw.randrange(40)}\t{value}\n"

    def put(self, count):
        with self.lock:
            lines = []
            for _ in range(count):
                lines.append(self.line(self.now_ms() - self.random.randrange(self.jitter_ms)))
                self.index += 1
            try:
                self.process.stdin.write("".join(lines))
                self.process.stdin.flush()
            except OSError:
                self.is_over = True

    def run(self):
        owed, last = 0.0, time.monotonic()
        while not self.is_over:
            time.sleep(0.02)
            now = time.monotonic()
            owed += (now - last) * self.rate
            last = now
            if owed >= 1:
                self.put(int(owed))
                owed -= int(owed)

    def finish(self):
        """The closing records, far enough ahead to close every window before them; returns when all is written."""
        self.is_over = True
        self.thread.join()
        with self.lock:
            ahead = self.now_ms() + 100000
            try:
                for partition in range(PARTITIONS):
                    self.index += (partition - self.index) % PARTITIONS
                    self.process.stdin.write(self.line(ahead))
                self.process.stdin.close()
            except OSError:
                pass  # its exit status tells
        if self.process.wait(120) != 0:
            raise Failure(f"the feeder ended with {self.process.returncode}: feed.log")


class Reader:
    """Sees committed results of one partition come. kcat ends when the broker does; then it is started again."""

    def __init__(self, broker, topic, partition=0):
        self.broker, self.topic, self.partition = broker, topic, str(partition)
        self.count, self.next = 0, 0
        self.process = None
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over:
            self.process = subprocess.Popen(
                ["kcat", "-C", "-q", "-u", "-b", self.broker, "-t", self.topic, "-p", self.partition,
                 "-o", str(self.next), "-X", "isolation.level=read_committed", "-f", "%o\n"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for line in self.process.stdout:
                self.next = int(line) + 1
                self.count += 1
            self.process.wait()
            time.sleep(0.1)

    def close(self):
        self.is_over = True
        if self.process is not None:
            self.process.kill()
        self.thread.join()


class Instance:
    """One process of sfprod, with a log of its own."""

    def __init__(self, world, number, start):
        self.number, self.start = number, start
        self.is_fence_expected = False
        folder = world.folder
        app = os.path.join(folder, f"app-{number}.yaml")
        self.log = os.path.join(folder, f"log-{number}")
        with open(app, "w", encoding="utf-8") as file:
            file.write(world.app(start))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*world.sfprod, "run", app, "--state-dir", os.path.join(folder, "state-" + start["state"]),
                 "--workers", str(start["workers"]), "--log", "json", "--log-level", "debug"],
                stdout=log, stderr=log, cwd=folder)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def is_alive(self):
        return self.process.poll() is None

    def times_said(self, event):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read().count(f'"event":"{event}"')

    def is_running(self):
        """It owns the application and reads records, as far as it has said."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            said = re.findall(r'"event":"(start|standby|owner|started|restart|stopped|fenced)"', file.read())
        return said[-1:] == ["started"]

    def wait_running(self, seconds):
        wait_until(lambda: self.is_running() or not self.is_alive(), seconds, f"instance {self.number} reads records")

    def has_said(self, event):
        return self.times_said(event) > 0

    def wait_said(self, event, seconds):
        wait_until(lambda: self.has_said(event) or not self.is_alive(), seconds,
                   f"instance {self.number} says {event!r}")

    def wait_exit(self, seconds, expected):
        wait_until(lambda: not self.is_alive(), seconds, f"instance {self.number} ends with one of {expected}")
        if self.process.returncode not in expected:
            raise Failure(f"instance {self.number} ended with {self.process.returncode}, not one of {expected}")
        return self.process.returncode


class World:
    """Everything that runs, and the instance that works or shall work."""

    def __init__(self, folder, sfprod, broker, campaign, session_s):
        self.folder, self.sfprod, self.broker, self.campaign = folder, sfprod, broker, campaign
        self.session_s = session_s
        self.id = f"kill-{campaign.seed}-{os.getpid()}"
        self.round_count, self.started_count, self.kill_count, self.fence_count, self.unasked_count = 0, 0, 0, 0, 0
        self.instances = []

    def app(self, start):
        campaign = self.campaign
        return APP.format(id=self.id, session_ms=int(self.session_s * 1000), lanes=start["lanes"],
                          interval_ms=campaign.interval_ms, broker=self.broker.bootstrap, bound_ms=campaign.bound_ms,
                          timestamp=", timestamp: $.event_time" if campaign.is_time_in_value else "",
                          instance="  instance: only" if start["is_named"] else "")

    def topics(self):
        return [f"{self.id}-{name}" for name in ("orders:4", "counts:2", "updates:2", "totals:2")]

    def begin(self, start):
        self.started_count += 1
        instance = Instance(self, self.started_count, start)
        self.instances.append(instance)
        return instance

    def kill(self, instance):
        instance.kill()
        self.instances.remove(instance)
        self.kill_count += 1

    def stop(self, instance, seconds=60):
        instance.signal(signal.SIGTERM)
        instance.wait_exit(seconds, {0})
        self.instances.remove(instance)

    def expect_fenced(self, instance, seconds=30):
        instance.wait_exit(seconds, {FENCED})
        if not instance.has_said("fenced"):
            raise Failure(f"instance {instance.number} exits {FENCED} and says no word of it")
        self.instances.remove(instance)
        self.fence_count += 1

    def supervise(self):
        """What a supervisor does: an instance that was away for longer than its session is started again. Nothing else
        may end by itself. Returns whether any is left."""
        for instance in [i for i in self.instances if not i.is_alive()]:
            instance.wait_exit(0, {FENCED})
            self.instances.remove(instance)
            self.unasked_count += 1
        return len(self.instances) > 0

    def wipe(self, name):
        if all(i.start["state"] != name for i in self.instances):
            shutil.rmtree(os.path.join(self.folder, "state-" + name), ignore_errors=True)

    def write_stacks(self):
        """Where the living ones stand, for whoever looks for why."""
        for instance in self.instances:
            if instance.is_alive() and shutil.which("gdb"):
                with open(os.path.join(self.folder, f"stacks-{instance.number}"), "wb") as file:
                    subprocess.run(["gdb", "-p", str(instance.process.pid), "-batch", "-ex", "thread apply all bt"],
                                   stdout=file, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    def end_all(self):
        for instance in self.instances:
            instance.signal(signal.SIGCONT)
            instance.kill()
