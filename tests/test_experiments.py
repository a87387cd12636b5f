"""Splits, choices that see no Eval or test label, and sweeps that resume and repeat."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from ordering import RidgeObjective
from ordering.baselines import uniform
from ordering.clips import Clips
from ordering.paper import experiments
from ordering.paper.experiments import METHODS, Plan, Setting, choose, draw_split, visible_labels
from ordering.solver import one_hot
from ordering.synthetic import make_clips

PLAN = Plan(size="tiny", tries=40, k0=(0.15, 0.22), lams=(1e-3, 1e-2), supervised_lams=(1e-3, 1e-2),
            biases=(-0.2, 0.0), alphas=(0.1,), betas=(1.0, 10.0), n_iter=6)
WANTED = [Setting(kind, split, fraction, method) for kind, split in [("best-of", 0), ("plain", 1)]
          for method, fractions in METHODS.items() for fraction in fractions if fraction in (0.0, 0.5)]


@pytest.fixture(scope="module")
def clips():
    return make_clips(40, 30, random_state=3)


@pytest.fixture(scope="module")
def data(clips, tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "clips.npz"
    clips.save(file)
    return file


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    return experiments.sweep(data, WANTED, PLAN, tmp_path_factory.mktemp("sweep"), 1, progress=False)


def without_costs(table):
    return table.drop(columns=["seconds", "cpu_seconds", "peak_memory_mb"])


# -------------------------------------------------------------------------------- splits
@hypothesis_settings(max_examples=20, deadline=None)
@given(n=st.integers(20, 120), seed=st.integers(0, 99), tries=st.sampled_from([1, 30]),
       share=st.sampled_from([0.1, 0.2]))
def test_a_split_parts_all_clips_as_the_plan_says(n, seed, tries, share):
    transcripts = [np.random.default_rng(i).integers(0, 4, 3) for i in range(n)]
    split = draw_split(transcripts, 4, seed, share, tries)
    pool = split.picked[1.0]
    assert_array_equal(np.sort(np.concatenate([split.test, pool, split.val, split.eval])), np.arange(n))
    assert len(split.test) == round(0.1 * n) and len(pool) == (n - len(split.test)) // 2
    assert len(split.val) == round(share * (len(split.val) + len(split.eval)))
    assert len(split.picked[0.0]) == 0
    fractions = sorted(split.picked)
    for small, large in zip(fractions, fractions[1:], strict=False):
        assert np.isin(split.picked[small], split.picked[large]).all()
        assert len(split.picked[large]) == max(1, round(large * len(pool)))
    assert not np.isin(split.test, split.train).any() and len(split.train) == n - len(split.test)


def test_the_best_of_many_splits_is_more_alike_than_a_plain_one():
    rng = np.random.default_rng(0)
    transcripts = [rng.integers(0, 16, 3) for _ in range(200)]
    presence = np.array([np.isin(np.arange(16), t) for t in transcripts])

    def distance(split):
        return np.sqrt(np.abs(presence[split.test].mean(axis=0) - presence[split.train].mean(axis=0))).sum()

    plain, best = ([distance(draw_split(transcripts, 16, s, tries=t)) for s in range(5)] for t in (1, 500))
    assert max(best) < min(plain)


def test_splits_differ_by_seed_and_repeat():
    transcripts = [[0], [1]] * 20
    a, b, again = (draw_split(transcripts, 2, (0, s), tries=5) for s in (0, 1, 0))
    assert_array_equal(a.train, again.train)
    assert not np.array_equal(a.train, b.train)


# -------------------------------------------------------------------------------- what a choice sees
def corrupted(clips, numbers):
    """The same clips with wrong labels in the clips `numbers`, past the constructor's check of transcripts."""
    other = Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions)
    other.labels = np.where(clips.mask(numbers), (clips.labels + 5) % clips.n_classes, clips.labels)
    return other


def outcome(clips, split, setting):
    known, val = visible_labels(clips, split, setting.fraction)
    rows = clips.mask(split.train)
    return choose(setting.method, clips.subset(split.train), known[rows], val[rows], PLAN)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_labels_outside_val_and_picked_clips_change_no_choice_and_no_solution(clips, method):
    setting = Setting("best-of", 0, 0.5 if 0.5 in METHODS[method] else 0.0, method)
    split = experiments._split(clips, setting, PLAN)
    unread = np.setdiff1d(np.arange(len(clips)), np.concatenate([split.val, split.picked[setting.fraction]]))
    assert np.isin(split.eval, unread).all() and np.isin(split.test, unread).all()
    true, wrong = outcome(clips, split, setting), outcome(corrupted(clips, unread), split, setting)
    assert true.keys() == wrong.keys()
    for name in true:
        assert true[name].chosen == wrong[name].chosen and true[name].iod_val == wrong[name].iod_val
        for key in ("labels", "free", "W", "b"):
            one, other = getattr(true[name], key), getattr(wrong[name], key)
            assert (one is None) == (other is None)
            assert one is None or one.tobytes() == other.tobytes()


def test_the_stored_rows_keep_their_choices_when_eval_and_test_labels_are_wrong(clips):
    setting = Setting("plain", 0, 0.5, "ours")
    split = experiments._split(clips, setting, PLAN)
    wrong = corrupted(clips, np.concatenate([split.eval, split.test]))
    true, other = (experiments.run_setting(c, setting, PLAN)[0] for c in (clips, wrong))
    for key in ("lam", "k0", "passes", "gap", "iod_val"):
        assert true[key] == other[key]
    assert true["accuracy"] != other["accuracy"] and true["map"] != other["map"]


def test_labels_of_val_and_of_picked_clips_are_read(clips):
    setting = Setting("plain", 0, 0.5, "ours")
    split = experiments._split(clips, setting, PLAN)
    true = outcome(clips, split, setting)["ours"]
    assert outcome(corrupted(clips, split.val), split, setting)["ours"].iod_val != true.iod_val
    other = outcome(corrupted(clips, split.picked[0.5]), split, setting)["ours"]
    assert not np.array_equal(other.W, true.W)


def test_clips_without_labels_and_unknown_methods_are_named(clips):
    bare = Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions)
    with pytest.raises(ValueError, match="labelled ones expected, found no labels"):
        experiments.run_setting(bare, Setting("plain", 0, 0.0, "uniform"), PLAN)
    with pytest.raises(ValueError, match="one of uniform, hard-em, .* expected, found 'theirs'"):
        experiments.run_setting(clips, Setting("plain", 0, 0.0, "theirs"), PLAN)


def test_the_extra_loss_is_half_the_mean_loss_of_either_part(clips):
    known = np.where(np.arange(len(clips.labels)) < clips.offsets[10], clips.labels, -1)
    objective = RidgeObjective(clips.features.astype(float), 1e-2, row_weight=experiments.extra_loss_weight(known))
    Z = one_hot(clips.labels, clips.n_classes)
    W, b = objective.classifier(Z)
    loss = np.sum((Z - clips.features @ W - b) ** 2, axis=1)
    wanted = (loss[known >= 0].mean() + loss[known < 0].mean()) / 2 + 1e-2 * np.sum(W**2)
    assert_allclose(objective.value(Z), wanted, rtol=1e-6)


# -------------------------------------------------------------------------------- sweeps
def test_the_table_is_tidy(uninterrupted):
    key = ["size", "splits", "split", "method", "fraction"]
    assert not uninterrupted.duplicated(key).any()
    assert {"iod", "iou", "accuracy", "recall", "background_share", "floor", "map", "map_area", "lam", "k0", "gap",
            "iod_00", "iod_15", "ap_16", "seconds"} <= set(uninterrupted)
    assert set(uninterrupted["method"]) == {
        "uniform", "hard-em", "ncut", "supervised", "supervised-bias", "ours", "ours-clf", "at-least-one",
        "at-least-one-clf", "ours-extra-loss", "ours-extra-loss-clf"}
    assert uninterrupted[["iod", "iou", "accuracy", "recall"]].stack().between(0, 1).all()
    chosen = uninterrupted[uninterrupted["method"] == "ours"]
    assert chosen["k0"].isin(PLAN.k0).all() and chosen["lam"].isin(PLAN.lams).all()
    for _, rows in uninterrupted.groupby(["splits", "split"]):
        assert rows["floor"].nunique() == 1  # every method is scored on the same Eval clips


def test_a_row_holds_the_scores_of_its_solution(clips, uninterrupted):
    setting = Setting("best-of", 0, 0.5, "supervised")
    split = experiments._split(clips, setting, PLAN)
    found = outcome(clips, split, setting)["supervised"]
    train = clips.subset(split.train)
    rows = train.mask(np.isin(split.train, split.eval))
    stored = uninterrupted.query("method == 'supervised' and splits == 'best-of'").iloc[0]
    assert stored["accuracy"] == np.mean(found.labels[rows] == train.labels[rows])
    assert stored["accuracy_free"] == np.mean(found.free[rows] == train.labels[rows])


def test_two_workers_and_dask_give_the_same_table(data, uninterrupted, tmp_path):
    distributed = pytest.importorskip("distributed")
    two = experiments.sweep(data, WANTED, PLAN, tmp_path / "two", n_jobs=2, progress=False)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (distributed.LocalCluster(**options) as cluster, distributed.Client(cluster),
          parallel_config(backend="dask")):
        dask = experiments.sweep(data, WANTED, PLAN, tmp_path / "dask", progress=False)
    for table in (two, dask):
        pd.testing.assert_frame_equal(without_costs(table), without_costs(uninterrupted), rtol=1e-6, atol=1e-9)


KILLED = """
import os, signal, sys
from pathlib import Path
import ordering.paper.experiments as experiments
from tests.test_experiments import PLAN, WANTED

data, directory, moment = sys.argv[1:]
finished, whole = [], experiments._write

def write(file, content):
    if file.name != "sweep.json":
        finished.append(file)
        if len(finished) == 4:
            if moment == "writing":
                file.with_suffix(".draft").write_text('[{"size": "ti')
            os.kill(os.getpid(), signal.SIGKILL)
    whole(file, content)

experiments._write = write
experiments.sweep(data, WANTED, PLAN, directory, n_jobs=1, progress=False)
"""


@pytest.mark.parametrize("moment", ["computing", "writing"])
def test_a_sweep_killed_goes_on_where_it_was(data, uninterrupted, tmp_path, moment):
    killed = subprocess.run([sys.executable, "-c", KILLED, data, tmp_path, moment], capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    before = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*-*.json")}
    assert len(before) == 3
    assert all(json.loads(file.read_text()) for file in before)  # no half-written row
    part = experiments.table(tmp_path, WANTED)
    assert part.attrs["finished"] == 3
    table = experiments.sweep(data, WANTED, PLAN, tmp_path, n_jobs=1, progress=False)
    pd.testing.assert_frame_equal(without_costs(table), without_costs(uninterrupted), check_exact=True)
    assert before == {file: file.stat().st_mtime_ns for file in before}  # not computed twice
    assert not list(tmp_path.glob("*.draft"))


def test_a_finished_sweep_computes_nothing(data, uninterrupted, tmp_path, monkeypatch):
    first = experiments.sweep(data, WANTED[:2], PLAN, tmp_path, n_jobs=1, progress=False)
    monkeypatch.setattr(experiments, "run_setting", None)
    again = experiments.sweep(data, WANTED[:2], PLAN, tmp_path, n_jobs=1, progress=False)
    pd.testing.assert_frame_equal(first, again)


def test_a_directory_keeps_to_one_plan(data, tmp_path):
    experiments.sweep(data, WANTED[:1], PLAN, tmp_path, n_jobs=1, progress=False)
    with pytest.raises(ValueError, match="another.*'tol': \\(0.1, 0.00054\\)"):
        experiments.sweep(data, WANTED[:1], replace(PLAN, tol=0.1), tmp_path, n_jobs=1, progress=False)


def test_other_clips_under_the_same_name_get_their_own_scores(clips, tmp_path):
    file, weak = tmp_path / "clips.npz", WANTED[:1]
    for number, part in enumerate([slice(0, 30), slice(10, 40)]):
        clips[part].save(file)
        found = experiments.sweep(file, weak, PLAN, tmp_path / str(number), n_jobs=1, progress=False)
        own = experiments.run_setting(clips[part], weak[0], PLAN)[0]
        assert found["iod"][0] == own["iod"]


def test_a_directory_keeps_to_one_data_set(clips, tmp_path, monkeypatch):
    file = tmp_path / "clips.npz"
    other = Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions, labels=uniform(clips))
    clips.save(file)
    experiments.sweep(file, WANTED[:1], PLAN, tmp_path / "a", n_jobs=1, progress=False)
    other.save(file)  # the labels alone differ
    with pytest.raises(ValueError, match="these data expected, found another.*sha256"):
        experiments.sweep(file, WANTED[:1], PLAN, tmp_path / "a", n_jobs=1, progress=False)
    monkeypatch.setattr(experiments, "run_setting", lambda *args: clips.save(file) or [{"method": "none"}])
    with pytest.raises(ValueError, match="these data expected, found another"):  # changed on the way
        experiments.sweep(file, WANTED[:2], PLAN, tmp_path / "b", n_jobs=1, progress=False)
    assert len(list((tmp_path / "b").glob("*-*.json"))) == 1


def test_the_command_stores_a_table_and_how_it_was_made(tmp_path):
    script = Path(__file__).parents[1] / "scripts" / "run_experiments.py"
    command = [sys.executable, script, "--size", "quick", "--splits", "1", "--methods", "uniform", "supervised",
               "--n-jobs", "1", "--out", tmp_path / "quick.csv"]
    for extra in ([], ["--collect"]):  # the second time from what is stored
        subprocess.run([*command, *extra], check=True, capture_output=True)
        stored = pd.read_csv(tmp_path / "quick.csv")
        assert list(stored.columns[:2]) == ["size", "method"] and len(stored) == 1 + 5 + 5
    made = json.loads((tmp_path / "quick.json").read_text())
    assert made["settings"] == {"wanted": 6, "finished": 6} and made["protocol"]["val_share"] == 0.2
    assert made["data"]["random_state"] == 0 and "numpy" in made["versions"]
    assert str(tmp_path) not in json.dumps(made)
