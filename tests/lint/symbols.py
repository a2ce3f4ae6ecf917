#!/usr/bin/env python3
"""symbols.py ROOM LIBRARY: what the linker sees of a room's library.

 - Every global symbol starts with the room's prefix, or with sfi_ (private to the room).
 - core needs nothing but mem*, str*, the assert, xxhash; malloc, free and abort in mem.c alone. What compilers,
   sanitizers and gcov put in by themselves is let through.
 - core, sim and driver hold no writable data: state that is not in a struct would survive from one run to the next.

It sees what the lint's reading of the source cannot: calls through macros and inline functions of other headers.
"""
import re
import subprocess
import sys

PREFIX = {"core": r"sfi?_", "app": r"sfi?_", "sim": r"sf_sim_|sfi_", "driver": r"sf_driver_|sfi_",
          "prod": r"sf_prod_|sfi_"}
TOOLS = re.compile(r"__(asan|ubsan|tsan|sanitizer|sancov|gcov|llvm|odr_asan|profile|start|stop)\w*"
                   r"|_GLOBAL_OFFSET_TABLE_|llvm_gc(ov|da)\w*|__stack_chk_fail")
# From the compiler's own library: 128-bit arithmetic, bit counts.
COMPILER = re.compile(r"__\w+[dt]i\d?")
CORE_NEEDS = re.compile(r"mem(cpy|move|set|cmp|chr|rchr|mem)|str(len|nlen|cmp|ncmp|chr|rchr|str|spn|cspn|pbrk)"
                        r"|__mem(cpy|move|set)_chk|bcmp|__assert_fail|XXH\w+")
# hash.c holds xxhash's inline code, whose streaming half, which nothing calls, allocates.
CORE_NEEDS_MORE = {"mem.c.o": {"malloc", "free", "abort"}, "hash.c.o": {"malloc", "free"}}
WRITABLE = re.compile(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)|\*COM\*")
STATELESS = ("core", "app", "sim", "driver")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library):
    """(object file, kind, name) of each line of nm."""
    member = ""
    for line in run("nm", library).split("\n"):
        found = re.fullmatch(r"(\S+\.o):", line)
        if found:
            member = found.group(1)
            continue
        found = re.fullmatch(r"[0-9a-f ]* ([A-Za-z]) (\S+)", line)
        if found:
            yield member, found.group(1), found.group(2)


def writable(library):
    """(object file, name) of everything in a section that a program may write to. Tables of pointers, which only the
    loader writes to, are in .data.rel.ro and do not count."""
    member = ""
    for line in run("objdump", "-t", library).split("\n"):
        found = re.match(r"(\S+\.o):\s+file format", line)
        if found:
            member = found.group(1)
            continue
        found = re.match(r"[0-9a-f]+ .{7} (\S+)\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$", line)
        if found and WRITABLE.match(found.group(1)) and int(found.group(2), 16) > 0:
            name = found.group(3)
            if not name.startswith((".", "*", "__", "odr_asan", "_sub_")) and not TOOLS.fullmatch(name):
                yield member, name


def check(room, library):
    listed = list(symbols(library))
    defined = {name for _, kind, name in listed if kind in "TDBRVWC"}
    for member, kind, name in listed:
        if TOOLS.match(name) or name.startswith("."):
            continue
        if kind in "TDBRVWC" and not re.match(PREFIX[room], name):
            yield f"{member}: {name} is global; make it static, or give it the prefix {PREFIX[room]}"
        if room == "core" and kind in "Uwv" and name not in defined:
            if not CORE_NEEDS.fullmatch(name) and not COMPILER.fullmatch(name) \
                    and name not in CORE_NEEDS_MORE.get(member, ()):
                yield f"{member}: needs {name}; core calls nothing but mem*, str* and xxhash"
    if room in STATELESS:
        for member, name in writable(library):
            yield f"{member}: {name} is writable data; put it into a struct that the caller owns, or make it const"
    if not defined:
        yield f"{library}: no symbols"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in PREFIX:
        print("usage: symbols.py core|app|sim|driver|prod LIBRARY", file=sys.stderr)
        return 2
    found = sorted(set(check(*sys.argv[1:])))
    for line in found:
        print(line)
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
