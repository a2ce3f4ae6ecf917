#!/usr/bin/env python3
"""lint.py ROOT: the fences that a compiler does not hold, over all files that git would track under ROOT.

Prints every finding as `file:line: what is wrong; what would be right` and exits 1 if there is any. One table per
rule, so that a rule is changed where it stands; test_lint.py shows a bad sample of each.
"""
import os
import re
import subprocess
import sys

ROOMS = ("core", "sim", "driver", "prod", "tests")

# What those who judge the engine may have of it. Not its time, state, dispatch or emission: what they expect they work
# out by themselves. What is left is what an application is (topo), what an observer is told (run), and libraries that
# have tests of their own: bytes, hashes, texts, expressions and values, arithmetic on times.
JUDGES = ("core/io/", "core/topo/topology.h", "core/topo/plan.h", "core/run/observer.h", "core/run/message.h",
          "core/run/engine.h", "core/bytes.h", "core/hash.h", "core/mem.h", "core/note.h", "core/status.h",
          "core/text.h", "core/ops/expression.h", "core/ops/json.h", "core/ops/number.h", "core/ops/serde.h",
          "core/ops/timestamp.h", "core/ops/value.h", "core/time/event_time.h")

# What a room may include with "": prefixes. The first entry that a file's path starts with holds.
INCLUDES = (
    ("core/io/", ("core/io/", "core/status.h", "core/mem.h", "core/hash.h", "core/time/event_time.h")),
    ("core/app/", ("core/",)),
    ("core/", ("core/",)),
    ("sim/", ("core/", "sim/")),
    ("driver/oracle", ("driver/", "sim/") + JUDGES),
    ("driver/model", ("driver/", "sim/") + JUDGES),
    ("driver/rows", ("driver/", "sim/") + JUDGES),
    ("driver/", ("core/", "sim/", "driver/")),
    ("prod/", ("core/", "prod/")),
    ("tests/", ("core/", "sim/", "driver/", "prod/", "tests/")),
)

# Headers of libc that core (outside core/app) may include, and the files that may have more.
CORE_SYSTEM = {"assert.h", "inttypes.h", "limits.h", "stdalign.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
               "string.h"}
CORE_SYSTEM_MORE = {"core/mem.c": {"stdlib.h"}, "core/hash.c": {"xxhash.h"}, "core/hash.h": {"xxhash.h"}}

# Headers that neither sim nor driver has a use for.
SYSTEM_HEADERS = {"pthread.h", "threads.h", "locale.h"}

# Calls by what is wrong with them.
CLOCK = ("time gettimeofday clock clock_gettime clock_getres timespec_get localtime localtime_r gmtime gmtime_r mktime "
         "strftime nanosleep clock_nanosleep sleep usleep thrd_sleep")
RANDOM = "rand srand rand_r random srandom drand48 lrand48 mrand48 getrandom arc4random getentropy"
ENVIRONMENT = "getenv secure_getenv setenv putenv setlocale system popen"
STDIO = ("printf fprintf dprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf puts fputs putchar putc fputc "
         "fopen fdopen fclose fread fwrite fgets getline fflush perror scanf sscanf fscanf strerror")
FILES = "open openat read write pread pwrite close unlink rename mkdir fsync fdatasync socket connect send recv poll"
MEMORY = "malloc calloc realloc free aligned_alloc posix_memalign memalign strdup strndup alloca reallocarray"
ORDER = "qsort qsort_r bsearch"
THREADS = r"pthread_\w+ thrd_\w+ mtx_\w+ cnd_\w+ tss_\w+ call_once fork vfork exec\w+"

# (paths that start so, but not so, calls, what is wrong, what is right)
CALLS = (
    ("core/", ("core/app/",), CLOCK, "core reads no clock", "take the time from the step (core/io/sched.h)"),
    ("core/", ("core/app/",), STDIO, "core does no stdio", "write a note (core/io/sched.h) or fill a caller's buffer"),
    ("core/", ("core/app/",), FILES, "core does no I/O", "give a command through core/io"),
    ("core/", ("core/app/", "core/mem.c"), MEMORY, "core allocates through struct sf_alloc", "use core/mem.h"),
    ("core/", ("core/app/",), ORDER, "the order of ties in libc's sort is unspecified", "sort by code of ours"),
    ("core/app/", (), CLOCK, "the application file is read without a clock", "let the caller pass the time"),
    ("core/", (), RANDOM, "core draws nothing at random", "let the caller pass the choice"),
    ("core/", (), ENVIRONMENT, "core depends on no environment, locale or other process", "let the caller pass it"),
    ("core/", (), THREADS, "core makes no threads and takes no locks", "make it a task (core/io/sched.h)"),
    ("sim/", (), CLOCK, "the simulator has only virtual time", "take it from the simulated clock"),
    ("sim/", (), RANDOM, "draws are keyed by the seed", "use the simulator's keyed draws"),
    ("sim/", (), ENVIRONMENT, "no environment or locale decides in the simulator", "put it into the scenario"),
    ("sim/", (), THREADS, "the simulator is one thread", "make it a task"),
    ("driver/", ("driver/main.c",), CLOCK, "what a run does hangs on no real clock",
     "take virtual time; driver/main.c alone may read a clock"),
    ("driver/", (), RANDOM, "draws are keyed by the seed", "use the simulator's keyed draws"),
    ("driver/", ("driver/main.c",), ENVIRONMENT, "no environment or locale decides in a run",
     "put it into the scenario"),
    ("driver/", (), THREADS, "the driver is one thread", "make it a task"),
    ("tests/", (), "sleep usleep nanosleep clock_nanosleep thrd_sleep", "a test never sleeps",
     "move virtual time, or wait for the event itself with a deadline"),
    ("", (), "gets strcpy strcat sprintf vsprintf strtok tmpnam mktemp", "this call has no bound or shared state",
     "use the bounded or reentrant one"),
)

# Where floating point may not be declared: time, probability and everything that is replayed.
NO_FLOAT = ("core/io/", "core/time/", "core/ingest/", "core/run/", "sim/")

LINE_MAX = 120
LINES_MAX = {".c": 600}
LINES_MAX_TESTS = 1200
LEFTOVER = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b")
TEXT = (".c", ".h", ".md", ".yaml", ".yml", ".json", ".txt", ".cmake", ".py", ".sh", ".java", ".html", ".css", ".js")
CODE = (".c", ".h", ".txt", ".cmake", ".py", ".sh", ".java")


def blank(text):
    """Comments and the insides of literals as blanks, so that what is left is code at its own line and column."""
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def wipe(match):
        word = match.group(0)
        if word[0] in "\"'":
            return word[0] + " " * (len(word) - 2) + word[-1]
        return re.sub(r"[^\n]", " ", word)

    return pattern.sub(wipe, text)


def is_script(path, text):
    return "." not in os.path.basename(path) and text.startswith("#!")


class Lint:
    def __init__(self):
        self.findings = []

    def add(self, path, line, what, right):
        self.findings.append((path, line, f"{path}:{line}: {what}; {right}"))

    def check(self, path, text):
        """All rules on one file; `path` is relative to the root, with `/`."""
        ext = os.path.splitext(path)[1]
        script = is_script(path, text)
        if ext in TEXT or script:
            self.check_lines(path, text, long_lines=ext in CODE or script)
        if ext in (".c", ".h") and path.split("/")[0] in ROOMS:
            self.check_c(path, text, ext)

    def check_lines(self, path, text, long_lines):
        if " " in path:
            self.add(path, 1, "blank in a file name", "use - or _")
        if "\r" in text:
            self.add(path, 1, "carriage returns", "end lines with a line feed alone")
        if text and not text.endswith("\n"):
            self.add(path, text.count("\n") + 1, "no line feed at the end", "add one")
        if text.endswith("\n\n"):
            self.add(path, text.count("\n"), "blank lines at the end", "remove them")
        for number, line in enumerate(text.split("\n"), 1):
            if "\t" in line:
                self.add(path, number, "tab", "indent with 4 spaces; write \\t in a literal")
            if line != line.rstrip():
                self.add(path, number, "trailing blanks", "remove them")
            if long_lines and len(line) > LINE_MAX:
                self.add(path, number, f"{len(line)} characters", f"at most {LINE_MAX}")
            if LEFTOVER.search(line):
                self.add(path, number, "a left-over mark", "do it now, or file it where work is tracked")

    def check_c(self, path, text, ext):
        code = blank(text)
        self.check_includes(path, text, code)
        self.check_calls(path, code)
        self.check_types(path, code)
        if ext == ".h":
            self.check_header(path, text)
        lines = text.count("\n")
        most = LINES_MAX_TESTS if path.startswith("tests/") else LINES_MAX.get(ext)
        if ext == ".c" and lines > most:
            self.add(path, lines, f"{lines} lines", f"at most {most}: split it where there are two reasons to change")

    def check_includes(self, path, text, code):
        allowed = next((a for prefix, a in INCLUDES if path.startswith(prefix)), ())
        for number, line in enumerate(text.split("\n"), 1):
            found = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not found or not code.split("\n")[number - 1].strip():
                continue
            name = found.group(2)
            if found.group(1) == '"':
                if ".." in name.split("/"):
                    self.add(path, number, f'include of "{name}"', "name the header from the root, without ..")
                elif not name.startswith(allowed):
                    self.add(path, number, f'{self.room(path)} may not include "{name}"',
                             "it may include " + ", ".join(allowed))
                elif name.startswith("core/app/") and path.startswith("core/") and not path.startswith("core/app/"):
                    self.add(path, number, f'core may not include "{name}"', "core/app is a target above core")
            elif name.split("/")[0] in ROOMS:
                self.add(path, number, f"include of <{name}>", f'write "{name}"')
            elif path.startswith("core/") and not path.startswith("core/app/"):
                more = CORE_SYSTEM_MORE.get(path, set())
                if name not in CORE_SYSTEM and name not in more:
                    self.add(path, number, f"core may not include <{name}>",
                             "core calls nothing but mem* and str*, and xxhash through core/hash.h")
            elif path.startswith(("sim/", "driver/")) and name in SYSTEM_HEADERS:
                self.add(path, number, f"{self.room(path)} may not include <{name}>",
                         "it is one thread and asks nothing of the system")

    @staticmethod
    def room(path):
        return "core/io" if path.startswith("core/io/") else path.split("/")[0]

    def check_calls(self, path, code):
        lines = code.split("\n")
        for prefix, but, calls, what, right in CALLS:
            if not path.startswith(prefix) or (but and path.startswith(but)):
                continue
            pattern = re.compile(r"(?<![\w.>])(" + "|".join(calls.split()) + r")\s*\(")
            for number, line in enumerate(lines, 1):
                for found in pattern.finditer(line):
                    self.add(path, number, f"call of {found.group(1)}: {what}", right)

    def check_types(self, path, code):
        for found in re.finditer(r"\btypedef\s+(struct|enum|union)\b\s*\w*\s*(\{|\w+\s*;)", code):
            self.add(path, code.count("\n", 0, found.start()) + 1, f"typedef of a {found.group(1)}",
                     f"write `{found.group(1)} sf_name`; only function types are typedef'd")
        if path.startswith(NO_FLOAT):
            for found in re.finditer(r"\b(double|float)\b", code):
                self.add(path, code.count("\n", 0, found.start()) + 1, f"{found.group(1)} in code that is replayed",
                         "use integers: ms, µs, parts per million")

    def check_header(self, path, text):
        if not text.startswith("/*"):
            self.add(path, 1, "no opening comment", "say what the module is for, its model, invariants and threading")
        guard = "SF_" + re.sub(r"\W", "_", path).upper()
        first = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.M)
        if not first or first.group(1) != guard or first.group(2) != guard:
            line = text.count("\n", 0, first.start()) + 1 if first else 1
            self.add(path, line, "header guard", f"#ifndef {guard} and #define {guard}")


def tracked(root):
    """What git tracks or would; in a copy without git, everything but what builds leave behind."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, check=True)
        return sorted(name.decode() for name in out.stdout.split(b"\0") if name)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pass
    names = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", ".git", "__pycache__")]
        names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(names)


def main():
    if len(sys.argv) != 2:
        print("usage: lint.py ROOT", file=sys.stderr)
        return 2
    root, lint, count = sys.argv[1], Lint(), 0
    for path in tracked(root):
        full = os.path.join(root, path)
        if os.path.islink(full) or not os.path.isfile(full):
            continue
        with open(full, "rb") as file:
            data = file.read()
        if b"\0" in data or path.startswith("tests/fuzz/corpus/"):
            continue
        lint.check(path, data.decode("utf-8", errors="replace"))
        count += 1
    for finding in sorted(lint.findings):
        print(finding[2])
    print(f"{count} files, {len(lint.findings)} findings")
    return 1 if lint.findings or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
