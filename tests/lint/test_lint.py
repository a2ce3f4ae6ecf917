#!/usr/bin/env python3
"""The lint finds what is bad and leaves what is good alone: one bad sample per rule, each expected at its line."""
import sys
import unittest

sys.dont_write_bytecode = True
from lint import Lint  # noqa: E402  (the folder of this file is first on the path)

HEADER = "/* What it is for. */\n#ifndef SF_{0}\n#define SF_{0}\n{1}\n#endif\n"


def findings(path, text):
    lint = Lint()
    lint.check(path, text)
    return [f"{line}: {message.split(': ', 1)[1]}" for _, line, message in sorted(lint.findings)]


class LintTest(unittest.TestCase):
    def bad(self, path, text, *expected):
        found = findings(path, text)
        self.assertEqual(len(found), len(expected), found)
        for got, want in zip(found, expected):
            self.assertTrue(got.startswith(want), f"{got!r} does not start with {want!r}")
            self.assertIn("; ", got)

    def good(self, path, text):
        self.assertEqual(findings(path, text), [])

    def test_rooms_include_only_what_they_may(self):
        self.bad("core/run/a.c", '#include "sim/clock.h"\n', '1: core may not include "sim/clock.h"')
        self.bad("core/run/a.c", '\n#include "core/app/file.h"\n', '2: core may not include "core/app/file.h"')
        self.bad("core/io/kafka.h", HEADER.format("CORE_IO_KAFKA_H", '#include "core/run/engine.h"'),
                 '4: core/io may not include "core/run/engine.h"')
        self.bad("sim/a.c", '#include "driver/run.h"\n', '1: sim may not include "driver/run.h"')
        self.bad("driver/a.c", '#include "prod/kafka.h"\n', '1: driver may not include "prod/kafka.h"')
        self.bad("prod/a.c", '#include "sim/clock.h"\n', '1: prod may not include "sim/clock.h"')
        self.good("core/app/a.c", '#include "core/app/file.h"\n#include <libfyaml.h>\n')
        self.good("driver/a.c", '#include "sim/clock.h"\n#include "core/mem.h"\n')
        self.good("core/run/a.c", '/*\n#include "sim/clock.h"\n*/\n')

    def test_judges_share_no_code_with_the_engine(self):
        for file in ("driver/oracle_time.c", "driver/model_pass.c", "driver/rows.c"):
            for header in ("core/time/tracker.h", "core/state/changelog.h", "core/run/ring.h", "core/ingest/wait.h",
                           "core/ops/aggregate.h"):
                self.bad(file, f'#include "{header}"\n', f'1: driver may not include "{header}"')
            self.good(file, '#include "core/io/kafka.h"\n#include "core/run/observer.h"\n#include "driver/model.h"\n')

    def test_includes_name_the_path_from_the_root(self):
        self.bad("core/run/a.c", '#include "core/../sim/clock.h"\n', '1: include of "core/../sim/clock.h"')
        self.bad("sim/a.c", '#include "clock.h"\n', '1: sim may not include "clock.h"')
        self.bad("sim/a.c", "#include <core/mem.h>\n", "1: include of <core/mem.h>")

    def test_core_includes_few_headers_of_libc(self):
        self.bad("core/run/a.c", "#include <stdint.h>\n#include <stdio.h>\n", "2: core may not include <stdio.h>")
        self.bad("core/run/a.c", "#include <stdlib.h>\n", "1: core may not include <stdlib.h>")
        self.bad("core/ops/a.c", "#include <xxhash.h>\n", "1: core may not include <xxhash.h>")
        self.bad("sim/a.c", "#include <pthread.h>\n", "1: sim may not include <pthread.h>")
        self.good("core/mem.c", "#include <stdlib.h>\n")
        self.good("sim/a.c", "#include <stdio.h>\n")

    def test_core_calls_nothing_of_the_system(self):
        for call, what in (("clock_gettime(0, &t)", "core reads no clock"), ("rand()", "core draws nothing"),
                           ("getenv (name)", "core depends on no environment"), ("malloc(8)", "core allocates"),
                           ("snprintf(b, 8, f)", "core does no stdio"), ("pthread_create(a, b, c, d)", "core makes no"),
                           ("qsort(a, b, c, d)", "the order of ties"), ("read(fd, b, n)", "core does no I/O")):
            name = call.split("(")[0].strip()
            self.bad("core/ops/a.c", f"void f(void)\n{{\n    {call};\n}}\n", f"3: call of {name}: {what}")
        self.good("core/ops/a.c", "/* malloc(8) */ int f(int x) { return sf_malloc(x) + a.free(x) + p->read(x); }\n")
        self.good("core/ops/a.c", 'static const char *s = "rand()";\n')
        self.good("core/mem.c", "void f(void *p)\n{\n    free(p);\n}\n")
        self.good("core/app/a.c", "int f(char *b)\n{\n    return snprintf(b, 8, s);\n}\n")

    def test_simulated_runs_depend_on_nothing_outside(self):
        self.bad("sim/a.c", "int f(void) { return (int)time(0); }\n", "1: call of time: the simulator has only virtual")
        self.bad("driver/a.c", "int f(void) { return rand(); }\n", "1: call of rand: draws are keyed")
        self.bad("driver/a.c", "\nint f(void) { return getenv(a); }\n", "2: call of getenv: no environment")
        self.bad("sim/a.c", "void f(void) { call_once(a, b); }\n", "1: call of call_once: the simulator is one thread")
        self.good("driver/main.c", "int f(void) { return clock_gettime(0, &t); }\n")

    def test_tests_never_sleep(self):
        self.bad("tests/broker/test_a.c", "void f(void)\n{\n    usleep(10);\n}\n",
                 "3: call of usleep: a test never sleeps")

    def test_unbounded_calls_are_refused_everywhere(self):
        self.bad("prod/a.c", "void f(char *a)\n{\n    strcpy(a, b);\n}\n", "3: call of strcpy: this call has no bound")

    def test_structs_are_not_typedefed(self):
        self.bad("sim/a.c", "typedef struct sf_a {\n    int x;\n} sf_a;\n", "1: typedef of a struct")
        self.bad("sim/a.c", "\ntypedef enum a sf_a;\n", "2: typedef of a enum")
        self.good("sim/a.c", "typedef struct sf_result(sf_step_fn)(void *self);\ntypedef int(sf_x_fn)(void *ctx);\n")

    def test_replayed_code_has_no_floating_point(self):
        self.bad("core/time/a.c", "static double p;\n", "1: double in code that is replayed")
        self.bad("sim/a.c", "\nint f(float x);\n", "2: float in code that is replayed")
        self.good("core/ops/a.c", "static double total;\n")
        self.good("sim/a.c", "/* no double here */\nint double_it(int x);\n")

    def test_headers_open_with_a_comment_and_a_guard(self):
        self.bad("core/a.h", "#ifndef SF_CORE_A_H\n#define SF_CORE_A_H\n#endif\n", "1: no opening comment")
        self.bad("core/run/a.h", HEADER.format("A_H", ""), "2: header guard; #ifndef SF_CORE_RUN_A_H")
        self.bad("core/a.h", "/* a */\n#pragma once\n", "1: header guard")
        self.good("core/run/a.h", HEADER.format("CORE_RUN_A_H", "int sf_a(void);"))

    def test_lines_are_clean(self):
        self.bad("sim/a.c", "int\ta;\n", "1: tab")
        self.bad("docs/a.md", "a \n", "1: trailing blanks")
        self.bad("sim/a.c", "int a;", "1: no line feed at the end")
        self.bad("sim/a.c", "int a;\n\n", "2: blank lines at the end")
        self.bad("sim/a.c", "int a;\r\n", "1: carriage returns", "1: trailing blanks")
        self.bad("sim/a.c", "\n/* " + "x" * 120 + " */\n", "2: 126 characters")
        self.bad("scripts/a", "#!/bin/sh\n# " + "TO" + "DO\n", "2: a left-over mark")
        self.bad("sim/a.c", "/* XX" + "X: later */\n", "1: a left-over mark")
        self.good("docs/a.md", "| " + "x" * 200 + " |\n")
        self.good("scripts/a", "#!/bin/sh\nmktemp /tmp/a.XXXXXX\n")

    def test_files_are_short(self):
        self.bad("sim/a.c", "int a;\n" * 601, "601: 601 lines")
        self.good("sim/a.c", "int a;\n" * 600)
        self.good("tests/unit/test_a.c", "int a;\n" * 601)

    def test_all_findings_come_in_one_run(self):
        self.bad("core/a.c", '#include "sim/a.h"\n#include <stdio.h>\nint\ta;\n', '1: core may not include "sim/a.h"',
                 "2: core may not include <stdio.h>", "3: tab")


if __name__ == "__main__":
    unittest.main()
