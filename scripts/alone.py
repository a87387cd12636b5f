"""One at a time: a lock that ends with the process that holds it, however that ends."""

import sys
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows: nothing is held there
    fcntl = None


@contextmanager
def alone(path, message=""):
    """Hold the lock file `path`; while another process holds it exit with `message`, or wait if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if message else 0))
            except BlockingIOError:
                sys.exit(message)
        yield
