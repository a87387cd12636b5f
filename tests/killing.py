"""Commands stopped while they run, and what is left of them."""

import os
import select
import signal
import subprocess
from contextlib import suppress

import psutil

KILLS = int(os.environ.get("KILLS", "2"))  # random moments at which each command is killed; a long run: KILLS=20


def stopped_by_ctrl_c():
    """For `preexec_fn`: these tests may run in the background, where Ctrl-C is ignored by all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def killed_at(seconds, command, **options):
    """Start a command, kill -9 it after so many seconds; false where it had ended before."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        run.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        return True


def family(process):
    """A process and all that it has started."""
    with suppress(psutil.NoSuchProcess):
        whole = psutil.Process(process.pid)
        return [whole, *whole.children(recursive=True)]
    return []


def left_after(processes, seconds):
    """Those that still run after so many seconds."""
    return psutil.wait_procs(processes, timeout=seconds)[1]


class Signal:
    """A named pipe that a chapter opens to say that it has come there."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.end = path, os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait(self, seconds=120):
        poll = select.poll()
        poll.register(self.end)
        assert poll.poll(1000 * seconds), "the chapter did not come there"
        self.path.unlink()  # it will not stop there again


AT = """
import os, time
if os.path.exists({path!r}):
    os.close(os.open({path!r}, os.O_WRONLY))
    time.sleep(600)
print("here")
"""  # source of a cell that tells a `Signal` and stays there
