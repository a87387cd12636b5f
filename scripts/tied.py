"""Run a command of this environment that ends, with all it has started, when its starter ends or time is up.

    python scripts/tied.py SECONDS NAME ARGUMENTS

Standard input is a pipe whose other end the starter holds (`lifeline`); nobody writes to it. A seconds of 0 is no
limit. This holds for a starter that is killed, too.
"""

import os
import sys
import threading
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points


@contextmanager
def lifeline():
    """Standard input for tied commands; they end where this block ends."""
    read, write = os.pipe()
    try:
        yield read
    finally:
        os.close(write)
        os.close(read)


def command(name, seconds=0):
    """The beginning of the command line."""
    return [sys.executable, __file__, str(seconds), name]


def end(message=""):
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    print(message, end="", file=sys.stderr, flush=True)
    os._exit(1)


def end_with_starter():
    os.read(0, 1)
    end()


def main():
    seconds, name = float(sys.argv[1]), sys.argv[2]
    threading.Thread(target=end_with_starter, daemon=True).start()
    if seconds:
        clock = threading.Timer(seconds, end, [f"stopped after {seconds:g} seconds, the limit"])
        clock.daemon = True
        clock.start()
    sys.argv = sys.argv[2:]
    (script,) = entry_points(group="console_scripts", name=name)
    return script.load()()


if __name__ == "__main__":
    sys.exit(main())
