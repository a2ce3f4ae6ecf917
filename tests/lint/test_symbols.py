#!/usr/bin/env python3
"""test_symbols.py COMPILER: the symbol check finds each kind of fault in a bad library, and nothing in a good one."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import symbols  # noqa: E402  (the folder of this file is first on the path)

BAD = """
#include <stdio.h>
#include <stdlib.h>
int helper(void);
int sf_counter;
static int hidden = 4;
int helper(void)
{
    static int calls;
    return printf("%d", calls++) + rand() + sf_counter++ + hidden++;
}
"""
EXPECTED = ("needs printf", "needs rand", "helper is global", "sf_counter is writable", "hidden is writable",
            "calls")
GOOD = """
#include <assert.h>
#include <string.h>
int sf_equal(const void *a, const void *b, unsigned long n);
static int never(void) { return 0; }
static int (*const table[])(void) = {never};
int sf_equal(const void *a, const void *b, unsigned long n)
{
    assert(n > 0);
    return memcmp(a, b, n) == 0 || table[n & 0u]();
}
"""
FLAGS = (["-O0"], ["-O2"], ["-fsanitize=address,undefined"], ["--coverage"])


def library(compiler, flags, text, folder):
    source, member, archive = (os.path.join(folder, name) for name in ("part.c", "part.c.o", "part.a"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([compiler, "-std=c11", "-fPIC", *flags, "-c", source, "-o", member], check=True, cwd=folder)
    subprocess.run(["ar", "rcs", archive, member], check=True)
    return archive


def main():
    compiler, failed = sys.argv[1], 0
    for flags in FLAGS:
        with tempfile.TemporaryDirectory() as folder:
            found = list(symbols.check("core", library(compiler, flags, BAD, folder)))
        for want in EXPECTED:
            if not any(want in line for line in found):
                print(f"{flags}: not found: {want}; found {found}")
                failed += 1
        if len(found) != len(EXPECTED):
            print(f"{flags}: {len(found)} findings, expected {len(EXPECTED)}: {found}")
            failed += 1
        with tempfile.TemporaryDirectory() as folder:
            for line in symbols.check("core", library(compiler, flags, GOOD, folder)):
                print(f"{flags}: a good library: {line}")
                failed += 1
    print(f"{len(FLAGS)} builds, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
