"""What the measurements on a real broker share: a broker, topics, names, folders, sfprod as a process."""
import contextlib
import datetime
import os
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "broker"))
from sfprod_bench import Failed, Process  # noqa: E402,F401

NO_BROKER = 3
SCRIPT = os.path.join(ROOT, "scripts", "broker")


class NoBroker(Exception):
    pass


def built(path):
    return os.path.join(ROOT, "build", "release", path)


def add_options(parser):
    parser.add_argument("--sfprod", default=built("bin/sfprod"))
    parser.add_argument("--bootstrap", default=os.environ.get("KAFKA_BOOTSTRAP"))
    parser.add_argument("--json", action="store_true", help="one object a line instead of text")


def say(text):
    print(text, file=sys.stderr, flush=True)


def fresh_name(kind):
    return f"bench-{kind}-{os.getpid()}-{random.randrange(1 << 32):08x}"


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="sf-bench-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def broker(bootstrap):
    """That one, else one of our own for as long as it takes."""
    if bootstrap:
        yield bootstrap
        return
    with folder() as path:
        answer = subprocess.run([SCRIPT, "start", path], stdout=subprocess.PIPE, text=True)
        if answer.returncode == NO_BROKER:
            raise NoBroker()
        if answer.returncode != 0:
            raise Failed("the broker does not start")
        try:
            yield answer.stdout.strip().partition("=")[2]
        finally:
            subprocess.run([SCRIPT, "stop", path])


def make_topics(bootstrap, *topics):
    subprocess.run([SCRIPT, "topics", bootstrap, *topics], check=True, capture_output=True)


def seconds(stamp):
    """A log line's time, since 1970."""
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def guarded(main):
    """The exit status of a measurement."""
    try:
        main()
    except NoBroker:
        return NO_BROKER
    except (Failed, subprocess.CalledProcessError) as failure:
        say(f"{os.path.basename(sys.argv[0])}: {failure}")
        return 1
    return 0
