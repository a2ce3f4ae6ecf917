#!/usr/bin/env python3
"""count_tests.py JUNIT: prints `PASSED FAILED SKIPPED` of one ctest run.

Counts what was tested, not how many programs ran: the tests of a cmocka program by its closing lines, those of Python's
unittest by `Ran N tests`, any other entry as one. A program that failed beyond what it counted (a crash, a leak found
at exit, a time-out) is one more failure. A skipped entry is one skipped.
"""
import re
import sys
import xml.etree.ElementTree as xml


def first(pattern, text):
    found = re.search(pattern, text, re.M)
    return int(found.group(1)) if found else 0


def count(case):
    """(passed, failed, skipped) of one entry."""
    status = case.get("status")
    if status in ("notrun", "disabled") and case.find("skipped") is not None:
        return 0, 0, 1
    text = case.findtext("system-out") or ""
    passed = sum(int(n) for n in re.findall(r"^\[  PASSED  \] (\d+) test", text, re.M))
    failed = sum(int(n) for n in re.findall(r"^\[  FAILED  \] (\d+) test\(s\), listed", text, re.M))
    skipped = sum(int(n) for n in re.findall(r"^\[  SKIPPED \] (\d+) test\(s\), listed", text, re.M))
    if passed + failed + skipped == 0:
        passed = first(r"^Ran (\d+) tests?", text)
        failed = first(r"failures=(\d+)", text) + first(r"errors=(\d+)", text)
        passed = max(passed - failed, 0)
    if status == "run":
        return (passed, failed, skipped) if passed + failed + skipped > 0 else (1, 0, 0)
    return passed, max(failed, 1), skipped


def main():
    if len(sys.argv) != 2:
        print("usage: count_tests.py JUNIT", file=sys.stderr)
        return 2
    counts = [count(case) for case in xml.parse(sys.argv[1]).getroot().iter("testcase")]
    print(*(sum(column) for column in zip(*counts)) if counts else (0, 0, 0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
