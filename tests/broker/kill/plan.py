"""What a campaign does, drawn from its seed: the application's settings once, then round by round a fault and how it is
timed. A round's draws hang on (seed, round) alone, so that round 17 of seed 5 is the same whatever N is."""
import os
import random

SESSION_S = float(os.environ.get("SF_KILL_SESSION_S", "2.5"))  # the default of sfprod is 10

# Faults with their weights. Those with "broker" in the name need a broker that is ours to kill.
FAULTS = {
    "kill": 5,  # SIGKILL at a random moment
    "kill-early": 4,  # SIGKILL while it starts and restores, several times over
    "freeze": 3,  # SIGSTOP past the session, then SIGCONT: it must end fenced
    "nap": 2,  # SIGSTOP for less than the session: it must go on
    "two-freeze": 3,  # the same beside a standby, which takes over meanwhile
    "two-kill": 3,  # a standby takes over after a kill
    "two-term": 2,  # a standby takes over after a stop
    "two-standby-dies": 1,  # the standby is killed: nobody minds
    "usurp": 2,  # two processes under one instance name: the earlier one ends fenced
    "term": 3,  # graceful stop
    "term-early": 1,  # graceful stop while it starts
    "broker-kill": 3,  # kill -9, then started on the same data
    "broker-restart": 1,  # orderly
    "broker-away": 1,  # stopped for some seconds
    "broker-freeze": 2,  # SIGSTOP: for less or more than the session
    "broker-and-kill": 2,  # both die
    "two-broker-minute": 0,  # the same for two instances: both wait for it, and one goes on; only if asked for
    "broker-minute": 0,  # stopped for a minute: waited for, at the cost of an aborted epoch at most; only if asked for
}

# Which of a round's times a fault goes by, beside `at`.
TIMES = {"kill": ["pause"], "kill-early": ["early"], "freeze": ["over"], "nap": ["under"],
         "two-freeze": ["over", "pause"], "term": ["pause"], "term-early": ["early"], "broker-kill": ["pause"],
         "broker-away": ["down"], "broker-freeze": ["down"], "broker-and-kill": ["pause"]}


class Round:
    """One round: a fault, its times in seconds, and what each process started in it is like."""

    def __init__(self, seed, number, has_broker, only=None):
        draw = random.Random(f"{seed}/{number}")
        names = [f for f in (only or FAULTS) if has_broker or "broker" not in f]
        self.number = number
        self.fault = draw.choices(names, [max(FAULTS[f], 1 if only else 0) for f in names])[0]
        self.rate = draw.choice([200, 1000, 1000, 2500])  # records a second
        self.burst = draw.choice([0, 0, 0, 4000])  # records at once
        self.at = round(draw.uniform(0.0, 2.5), 2)  # when the fault begins
        self.pause = round(draw.choice([0.0, 0.0, draw.uniform(0.1, 1.5)]), 2)  # until the next start
        self.over = round(draw.uniform(0.6, 2.0), 2)  # how much longer than the session
        self.under = round(draw.uniform(0.1, 0.5), 2)  # how much of the session a nap takes
        self.down = round(draw.uniform(0.0, 4.0), 2)  # how long the broker is away
        self.early = [round(draw.uniform(0.05, 3.0), 2) for _ in range(draw.randint(1, 3))]
        self.is_settled = draw.random() < 0.7  # whether it waits for results before the next round
        self.is_wiped = draw.random() < 0.1  # whether a folder of state is lost
        self.starts = [self.draw_start(draw) for _ in range(8)]

    def draw_start(self, draw):
        return {"lanes": draw.choice([1, 2, 2, 3, 4]), "workers": draw.choice([1, 1, 2]),
                "state": draw.choice(["a", "a", "a", "b", "c"]), "is_named": draw.random() < 0.5}

    def __str__(self):
        shown = {name: getattr(self, name) for name in ("at", *TIMES.get(self.fault, ()), "rate", "burst")}
        words = [f"{name}={value}" for name, value in shown.items() if value]
        words += ["settled"] if self.is_settled else []
        words += ["state lost"] if self.is_wiped else []
        return " ".join([self.fault, *words])


class Campaign:
    """What stays the same over all rounds."""

    def __init__(self, seed, rounds, has_broker, only=None):
        draw = random.Random(f"{seed}/campaign")
        self.seed = seed
        self.interval_ms = draw.choice([50, 150, 500])
        self.is_time_in_value = draw.random() < 0.5
        self.bound_ms = 3000
        self.rounds = [Round(seed, number, has_broker, only) for number in range(1, rounds + 1)]
