#!/usr/bin/env python3
"""test_sfprod.py SFPROD: the program against the broker that KAFKA_BOOTSTRAP names (SF_BROKER_DIR: one of our own, that
may be stopped). Exits with 77 where there is none.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from sfprod_bench import APPLICATION, Broker, Process, batch, closer, orders, parse, rows

PROGRAM = ""
BROKER = Broker(os.environ.get("KAFKA_BOOTSTRAP", ""), os.environ.get("SF_BROKER_DIR"))
PARTITIONS = 3


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.id = f"sfprod-{self._testMethodName[5:30]}-{os.getpid()}-{int(time.time())}"
        self.orders = []
        self.environment = dict(os.environ, XDG_STATE_HOME=self.folder.name)

    def make_topics(self, partitions=PARTITIONS):
        BROKER.make_topics(f"{self.id}-orders:{partitions}", f"{self.id}-counts:2")

    def write_app(self, **changes):
        settings = {"id": self.id, "guarantee": "exactly-once", "lanes": 2, "session": 10000} | changes
        path = os.path.join(self.folder.name, "app.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(APPLICATION.format(**settings))
        return path

    def feed(self, begin, end):
        """Orders of these seconds, then what closes their windows."""
        for partition in range(PARTITIONS):
            values = orders(begin, end, partition, PARTITIONS) + [closer(end + 20)]
            BROKER.produce(f"{self.id}-orders", partition, values)
            self.orders += values

    def start(self, path, *more):
        process = Process(PROGRAM, [path, *more], self.environment)
        self.addCleanup(process.kill)
        return process

    def check_each_window_once(self):
        self.assertEqual(rows(BROKER.committed(f"{self.id}-counts")), batch(self.orders))

    def test_counts_equal_the_batch_and_term_ends_with_0_s4(self):
        self.make_topics()
        self.feed(0, 300)
        process = self.start(self.write_app(), "--print")
        process.wait_for_rows(len(batch(self.orders)))
        self.assertEqual(process.stop(), 0)
        self.check_each_window_once()
        self.assertEqual(rows(map(parse, process.rows)), batch(self.orders))
        started = [line for line in process.log if line["event"] == "started"]
        self.assertEqual([line["sources"] for line in started], [f"{self.id}-orders/3"])

    def test_at_least_once_counts_the_same_where_nothing_fails_b10(self):
        self.make_topics()
        self.feed(0, 100)
        process = self.start(self.write_app(guarantee="at-least-once"), "--print", "--workers", "3")
        process.wait_for_rows(len(batch(self.orders)))
        self.assertEqual(process.stop(), 0)
        self.check_each_window_once()

    def test_until_end_stops_by_itself_and_says_from_when_to_when(self):
        self.make_topics()
        self.feed(0, 120)
        process = self.start(self.write_app(), "--until-end", "--print", "--workers", "3")
        began = time.time()
        self.assertEqual(process.end(), 0)
        times = json.loads(process.rows[-1])
        self.assertLessEqual(began - 1, times["first"])
        self.assertLess(times["first"], times["done"])
        self.assertLessEqual(times["done"], time.time() + 1)
        self.assertEqual(rows(map(parse, process.rows[:-1])), batch(self.orders))
        self.check_each_window_once()

    def test_a_second_instance_stands_by_and_takes_over_after_a_stop_s6(self):
        self.make_topics()
        self.feed(0, 60)
        path = self.write_app()
        first = self.start(path, "--print")
        first.wait_for_rows(len(batch(self.orders)))
        second = self.start(path)
        second.wait_for("standby")
        self.assertEqual(first.stop(), 0)
        second.wait_for("started")
        self.feed(100, 160)
        third = self.start(path, "--print")  # shows when the second's results are out
        third.wait_for("standby")
        second.wait_for("txn.committed")
        self.assertEqual(second.stop(), 0)
        third.wait_for("started")
        self.assertEqual(third.stop(), 0)
        self.check_each_window_once()

    def test_after_kill_9_each_window_comes_once_s5(self):
        self.make_topics()
        self.feed(0, 200)
        path = self.write_app(session=2000)
        first = self.start(path, "--print")
        first.wait_for_rows(1)
        first.kill()
        self.feed(250, 400)
        second = self.start(path, "--until-end")
        self.assertEqual(second.end(), 0)
        self.check_each_window_once()

    def test_an_unknown_topic_is_named_and_ends_with_1(self):
        process = self.start(self.write_app())
        self.assertEqual(process.end(), 1)
        message = process.messages("gave-up")[0]
        self.assertIn("there is no topic", message)
        self.assertIn("create it", message)
        answer = subprocess.run([PROGRAM, "check", self.write_app(), "--broker"], capture_output=True, text=True,
                                check=False)
        self.assertEqual(answer.returncode, 2)
        self.assertIn(f"app.yaml:8:3: error: topic {self.id}-orders is not on the broker", answer.stdout)

    def test_an_internal_topic_of_another_width_is_refused_k11(self):
        self.make_topics(partitions=2)
        BROKER.make_topics(f"{self.id}-stoatflow-watermark-changelog:1")
        process = self.start(self.write_app())
        self.assertEqual(process.end(), 1)
        self.assertIn("cleanup.policy is not `compact`", process.messages("gave-up")[0])

        self.id += "-wide"
        BROKER.make_topics(f"{self.id}-orders:4", f"{self.id}-counts:1")
        wide = self.start(self.write_app())
        wide.wait_for("started")
        self.assertEqual(wide.stop(), 0)
        narrow_id = self.id + "-narrow"
        BROKER.make_topics(f"{narrow_id}-orders:2")
        path = self.write_app()
        with open(path, encoding="utf-8") as file:
            text = file.read().replace(f"topic: {self.id}-orders", f"topic: {narrow_id}-orders")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        narrow = self.start(path)
        self.assertEqual(narrow.end(), 1)
        self.assertIn("has 4 partitions, 2 would be right", narrow.messages("gave-up")[0])
        answer = subprocess.run([PROGRAM, "check", path, "--broker"], capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("has 4 partitions, 2 would be right", answer.stdout)

    def test_a_second_term_ends_at_once_with_11(self):
        if BROKER.directory is None:
            self.skipTest("the broker is not ours to freeze")
        self.make_topics()
        self.feed(0, 60)
        process = self.start(self.write_app(), "--print")
        process.wait_for_rows(len(batch(self.orders)))
        os.kill(BROKER.pid(), signal.SIGSTOP)
        try:
            process.signal(signal.SIGTERM)
            process.wait_for("stopping")
            process.signal(signal.SIGTERM)
            self.assertEqual(process.end(), 11)
        finally:
            os.kill(BROKER.pid(), signal.SIGCONT)
        self.check_each_window_once()

    def test_a_broker_that_goes_and_comes_is_told_once_each_and_costs_nothing(self):
        if BROKER.directory is None:
            self.skipTest("the broker is not ours to kill")
        self.make_topics()
        self.feed(0, 100)
        process = self.start(self.write_app(session=120000), "--print")  # a restart may take longer than 10 s
        process.wait_for_rows(len(batch(self.orders)))
        BROKER.script("kill")
        process.wait_for("broker-away")
        BROKER.script("restart")
        self.feed(130, 200)
        process.wait_for("broker-back")
        process.wait_for_rows(len(batch(self.orders)))
        self.assertEqual(process.stop(), 0)
        self.check_each_window_once()
        self.assertEqual(len(process.messages("broker-away")), 1)

    def test_a_broker_away_for_longer_than_the_session_is_waited_for_b14(self):
        if BROKER.directory is None:
            self.skipTest("the broker is not ours to kill")
        self.make_topics()
        self.feed(0, 100)
        process = self.start(self.write_app(session=1500), "--print")
        process.wait_for_rows(len(batch(self.orders)))
        BROKER.script("kill")
        process.wait_for("restart")
        BROKER.script("start")
        self.feed(130, 200)
        process.wait_for("started")
        process.wait_for_rows(len(batch(self.orders)))
        self.assertEqual(process.stop(), 0)
        self.check_each_window_once()
        self.assertEqual(len(process.messages("broker-away")), 1)


if __name__ == "__main__":
    if not BROKER.bootstrap:
        print("skipped: KAFKA_BOOTSTRAP names no broker")
        sys.exit(77)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
