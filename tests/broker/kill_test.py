#!/usr/bin/env python3
"""Kills, freezes, doubles and stops sfprod at random, and its broker with it, while records come; at the end every
window must be in the results once and whole, as a batch computation over the input has it (S5, X6).

    kill_test.py --sfprod PROGRAM --feed PROGRAM [--rounds N] [--seconds S] [--seed S] [--only FAULT,...] [--keep]

A round's faults are drawn from (seed, round); scripts/kill-test builds and calls this. The broker is our own in
$SF_BROKER_DIR, else a fresh one in the folder of the run; where only $KAFKA_BOOTSTRAP is given its broker is left alone
and the rounds that would kill it are left out. One line per round on standard error, and a last line with the result.

Exit status: 0 every window once and whole; 1 not, or something hung or ended as it must not; 2 wrong use; 77 no broker.
"""
import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kill"))
import check  # noqa: E402
import plan  # noqa: E402
import world as w  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRESS_S = 90


def say(text):
    print(text, file=sys.stderr, flush=True)


class Rounds:
    """Plays rounds on a world. A fault is a method; at its end the instance that goes on is in `world.instances`."""

    def __init__(self, world, session_s):
        self.world, self.session_s = world, session_s
        self.starts = iter(())

    def begin(self, **fixed):
        return self.world.begin({**next(self.starts), **fixed})

    def current(self):
        return self.world.instances[-1]

    def play(self, this):
        self.starts = iter(this.starts)
        if not self.world.supervise():
            self.begin()
        if this.is_wiped:
            self.world.wipe(this.starts[0]["state"])
        time.sleep(this.at)
        if not self.world.supervise():
            self.begin()
        getattr(self, this.fault.replace("-", "_"))(this)

    def kill(self, this):
        self.world.kill(self.current())
        time.sleep(this.pause)
        self.begin()

    def kill_early(self, this):
        self.world.kill(self.current())
        for seconds in this.early:
            victim = self.begin()
            time.sleep(seconds)
            self.world.kill(victim)
        self.begin()

    def freeze(self, this):
        victim = self.current()
        victim.wait_running(PROGRESS_S)
        victim.signal(signal.SIGSTOP)
        time.sleep(self.session_s + this.over)
        victim.signal(signal.SIGCONT)
        self.world.expect_fenced(victim)
        self.begin()

    def nap(self, this):
        victim = self.current()
        victim.signal(signal.SIGSTOP)
        time.sleep(self.session_s * this.under)
        victim.signal(signal.SIGCONT)

    def standby(self, this):
        """A second instance beside one that owns the application; neither has a name (S6)."""
        if self.current().start["is_named"]:
            self.world.stop(self.current())
            self.begin(is_named=False)
        owner = self.current()
        owner.wait_running(PROGRESS_S)
        other = self.begin(is_named=False)
        other.wait_said("start", PROGRESS_S)
        time.sleep(this.at)
        return owner, other

    def two_freeze(self, this):
        owner, other = self.standby(this)
        owner.signal(signal.SIGSTOP)
        time.sleep(self.session_s + this.over)
        other.wait_running(PROGRESS_S)
        time.sleep(this.pause)
        owner.signal(signal.SIGCONT)
        self.world.expect_fenced(owner)

    def two_kill(self, this):
        owner, other = self.standby(this)
        self.world.kill(owner)
        other.wait_running(PROGRESS_S)

    def two_term(self, this):
        owner, other = self.standby(this)
        self.world.stop(owner)
        other.wait_running(PROGRESS_S)

    def two_standby_dies(self, this):
        _, other = self.standby(this)
        self.world.kill(other)

    def usurp(self, this):
        if not self.current().start["is_named"]:
            self.world.stop(self.current())
            self.begin(is_named=True)
        earlier = self.current()
        earlier.wait_running(PROGRESS_S)
        self.begin(is_named=True)
        self.world.expect_fenced(earlier, PROGRESS_S)

    def term(self, this):
        self.world.stop(self.current())
        time.sleep(this.pause)
        self.begin()

    def term_early(self, this):
        self.world.stop(self.current())
        victim = self.begin()
        time.sleep(this.early[0])
        self.world.stop(victim)
        self.begin()

    def broker_kill(self, this):
        self.world.broker.call("kill")
        time.sleep(this.pause)
        self.world.broker.call("start")

    def broker_restart(self, this):
        self.world.broker.call("restart")

    def broker_away(self, this):
        self.world.broker.call("stop")
        time.sleep(this.down)
        self.world.broker.call("start")

    def minute_without_broker(self, patients):
        """Each of them waits for it, and says so once."""
        before = {patient: (patient.times_said("broker-away"), patient.times_said("broker-back"))
                  for patient in patients}
        self.world.broker.call("stop")
        time.sleep(60)
        self.world.broker.call("start")
        for patient, (away, back) in before.items():
            w.wait_until(lambda p=patient, b=back: p.times_said("broker-back") > b or not p.is_alive(),
                         PROGRESS_S, f"instance {patient.number} hears the broker again")
            if not patient.is_alive() or patient.times_said("broker-away") != away + 1:
                raise w.Failure(f"instance {patient.number} does not wait for the broker, or does not say so once")

    def broker_minute(self, _):
        patient = self.current()
        patient.wait_running(PROGRESS_S)
        self.minute_without_broker([patient])
        patient.wait_running(PROGRESS_S)

    def two_broker_minute(self, this):
        """Which of them goes on is open."""
        patients = self.standby(this)
        self.minute_without_broker(patients)
        w.wait_until(lambda: any(patient.is_running() for patient in patients), PROGRESS_S,
                     "one of two instances goes on")
        for patient in [patient for patient in patients if not patient.is_running()]:
            self.world.stop(patient)

    def broker_freeze(self, this):
        self.world.broker.signal(signal.SIGSTOP)
        time.sleep(this.down)
        self.world.broker.signal(signal.SIGCONT)

    def broker_and_kill(self, this):
        self.world.broker.call("kill")
        time.sleep(this.pause)
        self.world.kill(self.current())
        if this.number % 2 == 0:
            self.begin()
        self.world.broker.call("start")
        if this.number % 2 == 1:
            self.begin()


class Journal:
    """Which round produced an event time, and which wrote an offset."""

    def __init__(self, world, feeder, reader):
        self.world, self.feeder, self.reader = world, feeder, reader
        self.times, self.offsets = [], []

    def mark(self):
        self.times.append(self.feeder.now_ms())
        self.offsets.append(self.reader.next)

    def round_of_time(self, time_ms):
        return max(1, sum(1 for at in self.times if at <= time_ms))

    def round_of_row(self, topic, row):
        if topic == "updates" and row.partition == 0:
            return max(1, sum(1 for at in self.offsets if at <= row.offset))
        return "?"


def settle(world, rounds, reader):
    """Until a result comes that was not there when this was called."""
    count, deadline = reader.count, time.monotonic() + PROGRESS_S
    while reader.count == count:
        if not world.supervise():
            rounds.begin()
        if time.monotonic() > deadline:
            raise w.Failure(f"no result in {PROGRESS_S} s, instances {[i.number for i in world.instances]}")
        time.sleep(0.05)


def finish(world, rounds, campaign, feeder, journal):
    """Closing records, all windows out, a graceful stop; then the comparison."""
    feeder.finish()
    broker = world.broker.bootstrap
    batch = check.Batch(check.read(broker, f"{world.id}-orders"), campaign.bound_ms)
    wanted = {"counts": batch.closed_counts(), "totals": batch.closed_totals()}
    deadline = time.monotonic() + PROGRESS_S
    while any(len(check.read(broker, f"{world.id}-{name}")) < len(w) for name, w in wanted.items()):
        if not world.supervise():
            rounds.starts = iter(campaign.rounds[-1].starts)
            rounds.begin()
        if time.monotonic() > deadline:
            say(f"not all windows are out after {PROGRESS_S} s")
            break
        time.sleep(0.5)
    if world.supervise():
        world.stop(world.instances[-1])
    verdict = check.Check(journal.round_of_time, journal.round_of_row)
    verdict.finals("counts", check.read(broker, f"{world.id}-counts"), wanted["counts"], False)
    verdict.finals("totals", check.read(broker, f"{world.id}-totals"), wanted["totals"], True)
    verdict.updates("updates", check.read(broker, f"{world.id}-updates"), batch.updates)
    records = sum(window[0] for window in batch.updates.values())
    return verdict, f"{records} records, {len(wanted['counts'])} + {len(wanted['totals'])} windows"


def play(args, world, campaign):
    rounds = Rounds(world, plan.SESSION_S)
    world.broker.make_topics(world.topics())
    with open(os.path.join(world.folder, "feed.log"), "wb") as log:
        feeder = w.Feeder(args.feed, world.broker.bootstrap, f"{world.id}-orders", campaign.seed,
                          campaign.bound_ms - 500, log)
    reader = w.Reader(world.broker.bootstrap, f"{world.id}-updates")
    journal = Journal(world, feeder, reader)
    try:
        end = time.monotonic() + args.seconds
        for this in campaign.rounds:
            began = time.monotonic()
            if began > end:
                say(f"{args.seconds} s are over: no more rounds")
                break
            world.round_count += 1
            journal.mark()
            feeder.rate = this.rate
            feeder.put(this.burst)
            rounds.play(this)
            if this.is_settled:
                settle(world, rounds, reader)
            unasked = f", {world.unasked_count} unasked fences" if world.unasked_count > 0 else ""
            say(f"round {this.number:3} {time.monotonic() - began:5.1f} s, {reader.count:6} seen, "
                f"instances {[i.number for i in world.instances]}{unasked}: {this}")
        return finish(world, rounds, campaign, feeder, journal)
    except w.Failure:
        world.write_stacks()
        raise
    finally:
        feeder.is_over = True
        feeder.process.kill()
        reader.close()
        world.end_all()


def find_broker(folder):
    script = os.path.join(ROOT, "scripts", "broker")
    if "SF_BROKER_DIR" not in os.environ and "KAFKA_BOOTSTRAP" in os.environ:
        return w.Broker(script, None, os.environ["KAFKA_BOOTSTRAP"])
    broker = w.Broker(script, os.environ.get("SF_BROKER_DIR", os.path.join(folder, "broker")), None)
    answer = subprocess.run([script, "start", broker.folder], stdout=subprocess.PIPE, text=True)
    if answer.returncode == 3:
        sys.exit(77)
    if answer.returncode != 0:
        raise w.Failure("the broker does not start")
    broker.bootstrap = answer.stdout.strip().partition("=")[2]
    return broker


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sfprod", required=True, help="the program, or a command line that ends with it")
    parser.add_argument("--feed", required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=1000000, help="after which no further round begins")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", help="faults to choose among: " + ",".join(plan.FAULTS))
    parser.add_argument("--keep", action="store_true", help="the run's folder, also where all went well")
    args = parser.parse_args()
    if args.rounds < 1 or (args.only and not set(args.only.split(",")) <= set(plan.FAULTS)):
        parser.error("no such fault, or no round")
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1000000)
    args.sfprod = shlex.split(args.sfprod)
    args.sfprod[-1] = os.path.abspath(args.sfprod[-1])
    return args


def main():
    args = read_arguments()
    folder = tempfile.mkdtemp(prefix="kill-test-")
    began, problem, result = time.monotonic(), None, "nothing compared"
    broker = find_broker(folder)
    campaign = plan.Campaign(args.seed, args.rounds, broker.folder is not None, args.only and args.only.split(","))
    world = w.World(folder, args.sfprod, broker, campaign, plan.SESSION_S)
    say(f"seed {args.seed}, {args.rounds} rounds, broker {broker.bootstrap}, in {folder}; barriers every "
        f"{campaign.interval_ms} ms at least, time in the {'value' if campaign.is_time_in_value else 'record'}")
    try:
        verdict, result = play(args, world, campaign)
        problem = verdict.text() or None
    except w.Failure as failure:
        problem = str(failure)
    finally:
        if broker.folder is not None and broker.folder.startswith(folder):
            broker.call("stop")
    if problem is not None:
        say(problem)
        say(f"REPRO: scripts/kill-test {args.rounds} --seed {args.seed}"
            + (f" --only {args.only}" if args.only else "") + f"; logs in {folder}")
    elif not args.keep:
        shutil.rmtree(folder)
    say(f"{world.round_count} rounds in {time.monotonic() - began:.0f} s, {world.started_count} starts, "
        f"{world.kill_count} kills, {world.fence_count} fences asked for and {world.unasked_count} not, {result}: "
        + ("every window once and whole" if problem is None else "FAILED"))
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main())
