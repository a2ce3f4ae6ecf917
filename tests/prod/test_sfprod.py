#!/usr/bin/env python3
"""test_sfprod.py SFPROD: what the program does where no broker is needed: exit statuses, findings, `check`."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""

GOLDEN = """\
application counts-per-key, exactly-once, 2 lanes

sources
  orders: topic orders, string/json, bounded-out-of-orderness 30s, idle after 5m, from earliest

sub-topology 0, fed by orders
  counts from orders: window tumbling 5m grace 1m: n count; on-window-close; store counts, persistent, kept 6m

sinks
  topic order-counts, from counts, json

internal topics
  counts-per-key-counts-changelog: partitions as the widest of orders, cleanup.policy compact
  counts-per-key-counts-emitfrontier-changelog: partitions as the widest of orders, cleanup.policy compact
  counts-per-key-stoatflow-watermark-changelog: partitions 1, cleanup.policy compact

settings that differ from their defaults
  stoatflow.processing.lanes: 2

findings
  none
"""

GOOD = """\
application: {id: a}
sources: {s: {topic: t, key: string, value: json}}
sinks: [{from: s, topic: u}]
"""


def sfprod(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP"}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False,
                          env=clean | environment)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, text):
        path = os.path.join(self.folder.name, "app.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def expect(self, answer, status, out="", err=""):
        self.assertEqual(answer.returncode, status, answer.stdout + answer.stderr)
        self.assertIn(out, answer.stdout)
        self.assertIn(err, answer.stderr)

    def test_help_and_version_answer_on_standard_output(self):
        self.expect(sfprod("--help"), 0, out="usage: sfprod run APP.yaml")
        with open("CMakeLists.txt", encoding="utf-8") as file:
            version = re.search(r"project\(sf .*VERSION ([0-9.]+)\)", file.read()).group(1)
        self.expect(sfprod("--version"), 0, out=f"sfprod {version}\n")

    def test_options_that_cannot_be_end_with_2_and_say_which(self):
        self.expect(sfprod(), 2, err="which application file?")
        self.expect(sfprod("walk", "app.yaml"), 2, err="there is no command walk")
        self.expect(sfprod("run"), 2, err="which application file?")
        self.expect(sfprod("run", "a.yaml", "b.yaml"), 2, err="one application file, not also b.yaml")
        self.expect(sfprod("run", "a.yaml", "--json"), 2, err="there is no option --json")
        self.expect(sfprod("check", "a.yaml", "--print"), 2, err="there is no option --print")
        takes = "--workers cannot be 0: it takes a number from 1 to 64"
        self.expect(sfprod("run", "a.yaml", "--workers", "0"), 2, err=takes)
        self.expect(sfprod("run", "a.yaml", "--workers=x"), 2, err="--workers cannot be x")
        self.expect(sfprod("run", "a.yaml", "--log", "xml"), 2, err="--log cannot be xml")
        takes = "--log-level cannot be loud: it takes error, warn, info, debug or trace"
        self.expect(sfprod("run", "a.yaml", "--log-level", "loud"), 2, err=takes)
        self.expect(sfprod("run", "a.yaml", "--bootstrap"), 2, err="no value for --bootstrap")

    def test_all_findings_come_with_their_places_and_end_with_2_v8(self):
        path = self.write("application: {id: a}\nsources:\n  s: {topc: t, key: strng}\n")
        for command in ("run", "check"):
            answer = sfprod(command, path)
            said = answer.stderr if command == "run" else answer.stdout
            self.assertEqual(answer.returncode, 2)
            self.assertIn(f"{path}:3:7: error: unknown key `topc` in sources.s; did you mean `topic`? [V8]\n", said)
            self.assertIn(f"{path}:3:21: error: sources.s.key cannot be `strng`; did you mean `string`? [V8]\n", said)

    def test_a_file_that_cannot_be_read_ends_with_2(self):
        path = os.path.join(self.folder.name, "nowhere.yaml")
        for command in ("run", "check"):
            self.expect(sfprod(command, path), 2, err=f"{path}: error: No such file or directory\n")

    def test_a_client_setting_that_does_not_exist_is_placed_in_the_file(self):
        path = self.write(GOOD + "kafka:\n  bootstrap.servers: localhost:1\n  no.such: 5\n")
        place = f"{path}:6:3: error: kafka setting no.such: there is no such setting [kafka]\n"
        self.expect(sfprod("run", path), 2, err=place)
        self.expect(sfprod("check", path), 2, out=place)

    def test_all_client_settings_that_are_wrong_are_told_in_one_run(self):
        path = self.write(GOOD + "kafka: {no.such: 5, linger.ms: soon, client.id: me, compression.type: gzip}\n")
        answer = sfprod("check", path)
        self.assertEqual(answer.returncode, 2)
        named = re.findall(r": kafka setting ([a-z.]+):", answer.stdout)
        self.assertEqual(named, ["no.such", "linger.ms", "client.id"])

    def test_an_answer_that_cannot_be_written_fails(self):
        path = self.write(GOOD)
        with open("/dev/full", "w", encoding="utf-8") as full:
            answer = subprocess.run([PROGRAM, "check", path], stdout=full, stderr=subprocess.PIPE, text=True,
                                    check=False)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("could not be written", answer.stderr)

    def test_a_scenario_is_told_from_an_application(self):
        path = self.write("scenario: x\napp: app.yaml\n")
        self.expect(sfprod("run", path), 2, err=f"{path}:1:1: error: this is a scenario, which `sfsim run` takes")

    def test_a_client_setting_that_is_the_engines_own_is_refused(self):
        path = self.write(GOOD + "kafka: {bootstrap.servers: localhost:1, enable.auto.commit: true}\n")
        self.expect(sfprod("run", path), 2, err="set by the engine itself [kafka]")

    def test_where_nobody_names_a_broker_it_ends_with_2(self):
        path = self.write(GOOD)
        self.expect(sfprod("run", path), 2, err="which broker?")
        self.expect(sfprod("check", path, "--broker"), 2, err="which broker?")

    def test_command_line_goes_before_file_and_file_before_environment(self):
        path = self.write(GOOD + "kafka: {bootstrap.servers: '127.0.0.1:2'}\n")
        by_environment = self.write_other(GOOD)
        self.assertEqual(self.broker_of(path, "--bootstrap=127.0.0.1:3"), "127.0.0.1:3")
        self.assertEqual(self.broker_of(path), "127.0.0.1:2")
        self.assertEqual(self.broker_of(by_environment), "127.0.0.1:1")

    def broker_of(self, *arguments):
        """The broker that a run means to use; it is told to stop at once, which it does though none answers."""
        environment = dict(os.environ, KAFKA_BOOTSTRAP="127.0.0.1:1", XDG_STATE_HOME=self.folder.name)
        with subprocess.Popen([PROGRAM, "run", *arguments, "--log", "json"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=environment) as process:
            broker = next(line["broker"] for line in map(json.loads, process.stderr) if line["event"] == "start")
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
        self.assertEqual(process.returncode, 0)
        return broker

    def write_other(self, text):
        path = os.path.join(self.folder.name, "other.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_check_says_what_an_application_is(self):
        self.assertEqual(sfprod("check", "scenarios/apps/counts-per-key.yaml").stdout, GOLDEN)

    def test_check_as_json_has_the_same(self):
        answer = sfprod("check", "--json", "scenarios/apps/totals-per-user.yaml")
        self.assertEqual(answer.returncode, 0)
        told = json.loads(answer.stdout)
        self.assertTrue(told["is-valid"])
        self.assertEqual([[step["name"] for step in sub["steps"]] for sub in told["sub-topologies"]],
                         [["big", "by-user"], ["totals"]])
        self.assertEqual([sub["upstream"] for sub in told["sub-topologies"]], [[], [0]])
        self.assertEqual([(topic["name"], topic["partitions"], topic["as-wide-as"])
                          for topic in told["internal-topics"]],
                         [("totals-per-user-totals-store-changelog", None, ["orders"]),
                          ("totals-per-user-totals-store-emitfrontier-changelog", None, ["orders"]),
                          ("totals-per-user-stoatflow-watermark-changelog", 1, [])])
        self.assertEqual(told["settings"], {})
        self.assertEqual(told["findings"], [])

    def test_check_as_json_of_what_does_not_load_has_the_findings(self):
        answer = sfprod("check", "--json", self.write("application: {id: a}\nsources: {s: {topic: t, x: 1}}\n"))
        self.assertEqual(answer.returncode, 2)
        told = json.loads(answer.stdout)
        self.assertFalse(told["is-valid"])
        self.assertEqual([(finding["line"], finding["column"], finding["rule"]) for finding in told["findings"]],
                         [(2, 25, "V8")])

    def test_check_lists_settings_that_differ(self):
        answer = sfprod("check", self.write(GOOD + """\
stoatflow:
  processing: {lanes: 3}
  commit-barrier.interval-factor: 2
  commit-barrier.timeout-ms: 5000
  changelog.enabled: false
"""))
        self.expect(answer, 0, out="""\
settings that differ from their defaults
  stoatflow.processing.lanes: 3
  stoatflow.commit-barrier.interval-factor: 2.0, not 1.5
  stoatflow.commit-barrier.timeout-ms: 5000, not 60000
  stoatflow.changelog.enabled: false, not true
""")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
