"""A little of scripts/fuzz.py at each test run, and that it finds what it is to find."""

import os
import random
import runpy
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ordering.datasets import _matlab

SCRIPT = Path(__file__).parents[1] / "scripts" / "fuzz.py"


@pytest.fixture
def script():
    return runpy.run_path(str(SCRIPT))


def test_damaged_files_of_every_kind(script, tmp_path, monkeypatch):
    """Six of each kind: what is in them, or an error that names the file."""
    monkeypatch.setattr(_matlab, "subprocess", SimpleNamespace(Popen=script["Forked"], PIPE=None, DEVNULL=None))
    table = script["fuzz"](script["targets"](tmp_path), random.Random(0), 600, tmp_path / "found", rounds=6)
    assert len(table) == 19 and all(counts.total() == 6 for counts, *_ in table.values())
    assert {outcome for counts, *_ in table.values() for outcome in counts} == {"read", "refused"}


def raises(error):
    def read(path):
        raise error
    return read


def takes_memory(path):
    return np.ones(20_000_000).sum()


def computes_in_a_child(path):
    pid = os.fork()
    if pid == 0:
        takes_memory(path)
        os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("read, kind", [
    (raises(KeyError("clip7")), "KeyError"), (raises(ValueError("something")), "no name"), (takes_memory, "memory"),
    (raises(ValueError("features/clip7.npy: wrong")), "refused"), (lambda path: os.kill(os.getpid(), 9), "crash"),
    (computes_in_a_child, "memory"), (lambda path: time.sleep(100), "hang"), (len, "TypeError")])
def test_what_counts_as_a_finding(script, tmp_path, read, kind):
    fuzz, path, good = script["fuzz"], tmp_path / "a.txt", b"good"
    if kind == "hang":
        fuzz.__globals__["SECONDS"] = 1
    table = fuzz({"a": (path, [good], lambda path: None if path.read_bytes() == good else read(path))},
                 random.Random(1), 60, tmp_path / "found", rounds=2)
    assert set(table["a"][0]) <= {kind, "read"} and table["a"][0][kind]
    assert any(kind in file.name for file in (tmp_path / "found").iterdir()) == (kind != "refused")
