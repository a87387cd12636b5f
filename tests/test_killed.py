"""Sweeps and exports killed at random moments, and several at once: the same results, nothing left over."""

import os
import random
import subprocess
import sys
import time

import pandas as pd
import pytest

from ordering.paper import experiments

from .killing import KILLS, family, killed_at, left_after
from .test_commands import make_folder, tree
from .test_experiments import PLAN, WANTED, clips, data, uninterrupted, without_costs  # noqa: F401 (fixtures)

SWEEP = [sys.executable, "-c", """
import sys
from ordering.paper.experiments import sweep
from tests.test_experiments import PLAN, WANTED
sweep(*sys.argv[1:2], WANTED, PLAN, sys.argv[2], n_jobs=2, progress=False)
"""]


def export(folder, out):
    return [sys.executable, "-m", "ordering", "label", folder, "--out", out, "--fps", "10", "--setting", "2014"]


def seconds_of(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def leftovers(folder):
    return [path for path in folder.rglob("*") if path.suffix == ".draft"]


@pytest.fixture(scope="module")
def whole_sweep(data, tmp_path_factory):  # noqa: F811
    return seconds_of([*SWEEP, data, tmp_path_factory.mktemp("sweep")])


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_sweep(data, uninterrupted, whole_sweep, tmp_path, kill):  # noqa: F811
    killed_at(random.Random(kill).uniform(0, whole_sweep), [*SWEEP, data, tmp_path])
    (tmp_path / "0a.draft").write_text("[{")  # as it is left where that falls into the moment of writing
    assert subprocess.run([*SWEEP, data, tmp_path]).returncode == 0
    table = experiments.table(tmp_path, WANTED)
    pd.testing.assert_frame_equal(without_costs(table), without_costs(uninterrupted), check_exact=True)
    assert leftovers(tmp_path) == []


def test_the_workers_of_a_killed_sweep_end(data, tmp_path):  # noqa: F811
    run = subprocess.Popen([*SWEEP, data, tmp_path], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("*-*.json")):
        assert run.poll() is None
    all_of_it = family(run)
    run.kill()
    run.wait()
    assert len(all_of_it) > 2 and left_after(all_of_it, 30) == []


def test_sweeps_at_once_in_one_folder(data, uninterrupted, tmp_path):  # noqa: F811
    runs = [subprocess.Popen([*SWEEP, data, tmp_path]) for _ in range(4)]
    assert [run.wait() for run in runs] == [0] * 4
    table = experiments.table(tmp_path, WANTED)
    pd.testing.assert_frame_equal(without_costs(table), without_costs(uninterrupted), check_exact=True)
    assert leftovers(tmp_path) == []


def test_a_draft_of_a_sweep_at_work_stays(tmp_path):
    """The second process in a folder removes nothing."""
    from ordering._files import shared_folder

    with shared_folder(tmp_path):
        (tmp_path / "a.draft").touch()
        with shared_folder(tmp_path):
            assert (tmp_path / "a.draft").exists()
    with shared_folder(tmp_path):
        assert not (tmp_path / "a.draft").exists()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("recordings"))
    out = tmp_path_factory.mktemp("whole") / "out"
    return folder, seconds_of(export(folder, out)), tree(out)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_export(recordings, tmp_path, kill, there):
    folder, seconds, expected = recordings
    out = tmp_path / "out"
    if there:
        subprocess.run(export(folder, out), check=True, capture_output=True)
    killed_at(random.Random(kill).uniform(0, seconds), export(folder, out))
    assert subprocess.run(export(folder, out)).returncode == 0
    assert tree(tmp_path) == {f"out/{name}": text for name, text in expected.items()}
    assert os.listdir(tmp_path) == ["out"]


EXCHANGE = """
import os, sys
from ordering._files import whole_folder
calls, rename = [], os.rename
def until(*paths):
    calls.append(paths)
    if len(calls) == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    rename(*paths)
os.rename = until
with whole_folder(sys.argv[1]) as draft:
    for name in "bcd":
        (draft / name).write_text("new")
"""


@pytest.mark.parametrize("step", range(1, 10))
def test_killed_while_files_change_places(tmp_path, step):
    """Old files a, b, c, new ones b, c, d: after the next look at the folder all are old or all new."""
    from ordering._files import MADE, free_folder, whole_folder

    out = tmp_path / "out"
    with whole_folder(out) as draft:
        for name in "abc":
            (draft / name).write_text("old")
    run = subprocess.run([sys.executable, "-c", EXCHANGE, out, str(step)])
    assert run.returncode == (-9 if step < 10 else 0)
    assert free_folder(out) == out
    found = {path.name: path.read_text() for path in out.iterdir() if path.name != MADE}
    assert found == (dict.fromkeys("abc", "old") if step <= 5 else dict.fromkeys("bcd", "new"))
    assert os.listdir(tmp_path) == ["out"]


def test_the_draft_of_an_export_at_work_stays(tmp_path):
    from ordering._files import free_folder, whole_folder

    with whole_folder(tmp_path / "one") as draft:
        free_folder(tmp_path / "two")
        assert draft.exists()
