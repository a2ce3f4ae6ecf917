#!/usr/bin/env python3
"""fences.py COMPILER ROOTS: each room's include root shows the rooms it may include and hides all others.

Compiles one line against the root of each room, as a file outside the source tree: the header of an allowed room must
be found, that of another must not. It is the build's own fence that is tried, with no lint in between.
"""
import os
import subprocess
import sys
import tempfile

MAY = {"core": {"core"}, "sim": {"core", "sim"}, "driver": {"core", "sim", "driver"}, "prod": {"core", "prod"}}
ROOMS = ("core", "sim", "driver", "prod", "tests")


def any_header(roots, room):
    """Some header of the room as an include names it, or None while the room has none."""
    top = os.path.join(roots, "tests", room)
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".h"):
                return room + "/" + os.path.relpath(os.path.join(folder, name), top)
    return None


def missing(compiler, root, header):
    """None where the preprocessor finds the header, else its message."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "try.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#if __has_include("{header}")\n#else\n#error hidden\n#endif\n')
        out = subprocess.run([compiler, "-E", "-I", root, path, "-o", os.devnull], capture_output=True, text=True,
                             check=False)
    return None if out.returncode == 0 else out.stderr


def main():
    if len(sys.argv) != 3:
        print("usage: fences.py COMPILER ROOTS", file=sys.stderr)
        return 2
    compiler, roots = sys.argv[1:]
    failed = tried = 0
    for room, may in MAY.items():
        for other in ROOMS:
            header = any_header(roots, other)
            if header is None:
                continue
            tried += 1
            message = missing(compiler, os.path.join(roots, room), header)
            if message is not None and "hidden" not in message:
                print(f"{room}: the compiler did not get to the question: {message}")
                failed += 1
            elif (message is None) != (other in may):
                print(f'{room}: "{header}" is {"found" if message is None else "hidden"}, and must not be')
                failed += 1
    print(f"{tried} includes tried, {failed} wrong")
    return 1 if failed or tried < len(MAY) else 0


if __name__ == "__main__":
    sys.exit(main())
