"""Splits, choices that see no Eval or test label, and sweeps that resume and repeat."""

import hashlib
import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from ordering import Ordered, RidgeObjective, synthetic
from ordering.baselines import uniform
from ordering.clips import Clips
from ordering.paper import experiments, real, stored
from ordering.paper.experiments import FRACTIONS, METHODS, Plan, Setting, choose, draw_split, visible_labels
from ordering.solver import one_hot
from ordering.synthetic import make_clips, make_preset

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


# -------------------------------------------------------------------------------- grids, readings of at least one
THEIRS = Plan.on("authors", size="tiny", tries=40, lams=(1e-2,), kappa0=(0.0, 1e-5, 1e-3),
                 background_weights=(1.0, 100.0), tol=2e-3)


def on_grid(clips, plan, method="ours", fraction=0.4):
    """Objective of each candidate, computed here, the candidates, and what they were solved on."""
    split = experiments._split(clips, Setting("plain", 0, fraction, method), plan)
    train, inside = clips.subset(split.train), clips.mask(split.train)
    known = visible_labels(clips, split, fraction)[0][inside]
    return train, known, list(experiments.candidates(method, train, known, plan))


def test_the_authors_grid_is_that_of_their_script():
    plan = Plan.on("authors")
    assert_allclose(plan.lams, [1e-6, 3.16e-4, 1e-1], rtol=1e-3)
    assert_allclose(71_000 * np.array(plan.kappa0[:6]), [0, 0.007, 0.04, 0.22, 1.3, 7.1], rtol=0.05)
    assert plan.kappa0[-1] == pytest.approx(0.1) and len(plan.kappa0) == 10
    assert plan.background_weights == (1, 100, 1e4, 1e6) and plan.fractions == (0, 0.2, 0.4, 0.6, 0.8, 1)
    wanted = experiments.settings(["ours"], range(5), fractions=plan.fractions)
    assert len(wanted) * 4 * 3 * 10 == 3600
    with pytest.raises(ValueError, match="grid: one of .*ours.*authors.* expected, found 'theirs'"):
        Plan.on("theirs")


def test_every_point_of_the_authors_grid_is_solved_to_a_gap_that_grows_with_the_weight(clips):
    train, known, found = on_grid(clips, THEIRS)
    own = [one for one in found if one.name == "ours"]
    assert [(one.chosen["background_weight"], one.chosen["kappa0"]) for one in own] == [
        (w, k) for w in THEIRS.background_weights for k in THEIRS.kappa0]
    for one in own:
        weight, sign = np.ones(17), -np.ones(17)
        weight[-1], sign[-1] = one.chosen["background_weight"], 1
        objective = RidgeObjective(train.features, 1e-2, one.chosen["kappa0"] * sign, weight)
        gradient = objective.gradient(one.scores)
        S = one_hot(Ordered(train, known).best(gradient), 17)
        gap = np.vdot(gradient, one.scores - S)
        assert_allclose(gap, one.chosen["gap"], rtol=1e-3, atol=1e-9)
        assert gap <= 2e-3 * one.chosen["background_weight"] or one.chosen["passes"] == THEIRS.n_iter
        assert_allclose(one.chosen["k0"], one.chosen["kappa0"] * len(train.labels))
        assert_array_equal(one.scores[known >= 0].argmax(axis=1), known[known >= 0])


def test_warm_starts_save_passes(clips):
    train, known, found = on_grid(clips, THEIRS)
    own = [one for one in found if one.name == "ours"]
    alone = [on_grid(clips, replace(THEIRS, background_weights=(one.chosen["background_weight"],),
                                    kappa0=(one.chosen["kappa0"],)))[2][0] for one in own]
    assert alone[0].chosen["passes"] == own[0].chosen["passes"]
    assert sum(one.chosen["passes"] for one in own) < sum(one.chosen["passes"] for one in alone)


def test_a_row_of_the_authors_grid_says_what_was_chosen(clips):
    row = experiments.run_setting(clips, Setting("best-of", 0, 0.4, "ours"), replace(THEIRS, draw=3))[0]
    assert (row["grid"], row["draw"], row["fraction"]) == ("authors", 3, 0.4)
    assert row["kappa0"] in THEIRS.kappa0 and row["background_weight"] in THEIRS.background_weights


def test_every_point_of_a_grid_can_be_kept_and_the_chosen_one_is_among_them(clips):
    setting = Setting("best-of", 0, 0.4, "ours")
    rows = experiments.run_setting(clips, setting, replace(THEIRS, every_point=True))
    assert [(row["background_weight"], row["kappa0"]) for row in rows] == [
        (w, k) for w in THEIRS.background_weights for k in THEIRS.kappa0]
    chosen, best = experiments.run_setting(clips, setting, THEIRS)[0], max(rows, key=lambda row: row["iod_val"])
    costs = {"seconds", "cpu_seconds", "peak_memory_mb"}
    assert {key: best[key] for key in best.keys() - costs} == {
        key: value for key, value in chosen.items() if not key[-2:].isdigit() and key not in costs}


def test_both_readings_of_at_least_one(clips):
    """Listed labels only, or, as the paper's text has it, any other label too."""
    listed = {}
    for method in ("at-least-one", "at-least-one-literal"):
        train, known, found = on_grid(clips, PLAN, method, 0.5)
        off = [~np.isin(np.arange(17), [*train.transcripts[i], 16]) for i in range(len(train))]
        outside = np.concatenate([np.tile(one, (n, 1)) for one, n in zip(off, train.lengths, strict=True)])
        free = outside & (known < 0)[:, None]
        listed[method] = max(one.scores[free].max() for one in found if one.name == method)
    assert listed["at-least-one"] == 0 and listed["at-least-one-literal"] > 0.05


# -------------------------------------------------------------------------------- sweeps
def test_the_table_is_tidy(uninterrupted):
    assert not uninterrupted.duplicated(experiments.KEY).any()
    assert set(uninterrupted["grid"]) == {"ours"} and set(uninterrupted["draw"]) == {0}
    assert {"iod", "iou", "accuracy", "recall", "background_share", "floor", "map", "map_area", "lam", "k0", "gap",
            "iod_00", "iod_15", "ap_16", "seconds"} <= set(uninterrupted)
    assert set(uninterrupted["method"]) == {
        "uniform", "hard-em", "ncut", "supervised", "supervised-bias", "ours", "ours-clf", "at-least-one",
        "at-least-one-clf", "at-least-one-literal", "at-least-one-literal-clf", "ours-extra-loss",
        "ours-extra-loss-clf"}
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


@pytest.mark.parametrize("name", ["sweep.json", "result"])
@pytest.mark.parametrize("content", ["", "[{", "\0"])
def test_a_damaged_file_of_a_sweep_is_named(data, tmp_path, name, content):
    experiments.sweep(data, WANTED[:1], PLAN, tmp_path, n_jobs=1, progress=False)
    file = tmp_path / name if name == "sweep.json" else experiments._file(tmp_path, WANTED[0])
    file.write_text(content)
    found = "." if content else "an empty file"
    with pytest.raises(ValueError, match=f"{re.escape(file.name)}: JSON expected, found {found}"):
        experiments.sweep(data, WANTED[:1], PLAN, tmp_path, n_jobs=1, progress=False)
    assert file.read_text() == content  # nobody else's to delete


# -------------------------------------------------------------------------------- the command
SCRIPT = Path(__file__).parents[1] / "scripts" / "run_experiments.py"


def test_the_command_stores_draws_and_grids_and_how_they_were_made(tmp_path):
    command = [sys.executable, SCRIPT, "--size", "quick", "--splits", "1", "--methods", "uniform", "supervised",
               "--draws", "2", "--seed", "5", "--n-jobs", "1", "--allow-dirty", "--out", tmp_path / "quick.csv"]
    for extra in ([], ["--collect"]):  # the second time from what is stored
        subprocess.run([*command, *extra], check=True, capture_output=True)
        stored = pd.read_csv(tmp_path / "quick.csv")
        assert list(stored.columns[:4]) == ["size", "grid", "draw", "method"] and len(stored) == 3 * (1 + 5 + 5)
        kinds = stored.groupby(["draw", "splits"])["split"].unique().map(list).to_dict()
        assert kinds == {(5, "best-of"): [0], (5, "plain"): [0], (6, "plain"): [0]}
    plain = stored[stored["splits"] == "plain"].groupby("draw")["iod"].mean()
    assert plain[5] != plain[6]  # other data
    made = json.loads((tmp_path / "quick.json").read_text())
    assert made["settings"] == {"wanted": 18, "finished": 18} and made["protocol"]["val_share"] == 0.2
    assert made["data"]["random_state"] == 5 and "numpy" in made["versions"]
    assert sorted(made["data"]["sha256"]) == ["5", "6"] and len(set(made["data"]["sha256"].values())) == 2
    assert str(tmp_path) not in json.dumps(made)


def test_both_grids_are_parts_of_one_run(tmp_path):
    parts = runpy.run_path(str(SCRIPT))["parts"]
    args = SimpleNamespace(size="paper", seed=0, draws=5, splits=5, kinds=["best-of", "plain"], work=tmp_path,
                           grids=["ours", "authors"], methods=list(METHODS), fractions=None, every_point=False)
    found = {(part.plan.draw, part.plan.grid): part.wanted for part in parts(args)}
    assert list(found) == [(0, "ours"), (0, "authors"), (1, "ours"), (2, "ours"), (3, "ours"), (4, "ours")]
    assert {one.method for one in found[0, "authors"]} == {"ours"} and len(found[0, "authors"]) == 5 * 6
    assert {(one.splits, one.split) for one in found[4, "ours"]} == {("plain", 0)}


def test_the_real_sets_are_parts_of_one_run(tmp_path):
    script = runpy.run_path(str(SCRIPT))
    args = SimpleNamespace(size="real", mat=None, seed=0, draws=1, splits=5, kinds=["plain"], work=tmp_path,
                           grids=["ours"], methods=list(METHODS), fractions=None, every_point=False)
    parts = list(script["parts"](args))
    assert [part.plan.size for part in parts] == list(real.SPLIT) and len({part.folder for part in parts}) == 4
    for part in parts:
        clips = script["clips_of"](args, part.plan)
        assert clips.features.min() >= 0 and len(clips) >= 20
        assert_allclose((clips.features**2).sum(axis=1), 1)


@pytest.fixture
def repository(tmp_path):
    """A repository with one committed file of code."""
    (tmp_path / "ordering").mkdir()
    (tmp_path / "ordering" / "solver.py").write_text("step = 1\n")
    save(tmp_path, "first")
    return tmp_path


def save(root, message):
    own = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", message]):
        subprocess.run([*own, *command], check=True, capture_output=True)


def test_a_run_refuses_code_that_is_in_no_commit(repository, tmp_path_factory):
    script, work = runpy.run_path(str(SCRIPT)), tmp_path_factory.mktemp("work")
    state_of, claim = script["state_of"], script["claim"]
    clean = state_of(repository)
    claim(work, clean, False)
    (repository / "notes.txt").write_text("no code")
    assert state_of(repository) == clean
    (repository / "ordering" / "solver.py").write_text("step = 2\n")
    with pytest.raises(SystemExit, match="a commit without changes .* expected, found ordering/solver.py"):
        claim(work, state_of(repository), False)
    claim(work, state_of(repository), True)
    assert [one["changed"] for one in json.loads((work / "code.json").read_text())] == [[], ["ordering/solver.py"]]


def test_a_run_goes_on_with_the_code_that_began_it(repository, tmp_path_factory):
    script, work = runpy.run_path(str(SCRIPT)), tmp_path_factory.mktemp("work")
    state_of, claim = script["state_of"], script["claim"]
    claim(work, state_of(repository), False)
    (repository / "notes.txt").write_text("no code")
    save(repository, "notes")
    claim(work, state_of(repository), False)  # another commit with the same code
    (repository / "ordering" / "solver.py").write_text("step = 2\n")
    save(repository, "other code")
    with pytest.raises(SystemExit, match="what this code began expected .*, found commit"):
        claim(work, state_of(repository), False)


def test_a_copy_without_its_history_counts_as_changed(tmp_path):
    assert runpy.run_path(str(SCRIPT))["state_of"](tmp_path)["changed"] == ["a copy without its history"]


# -------------------------------------------------------------------------------- what is stored
TOLERANCE = 1e-4  # relative: six digits are stored, and of two scores all but equal either may rank first


@pytest.mark.parametrize("method", ["uniform", "supervised"])
def test_stored_rows_come_out_again(method, tmp_path):
    """The two methods without a solver, on the split of the first draw."""
    table, run = stored.read("book")
    protocol = {key: tuple(value) if isinstance(value, list) else value for key, value in run["protocol"].items()}
    make_preset("book", run["data"]["random_state"]).save(tmp_path / "clips.npz")
    wanted = [Setting("plain", 0, fraction, method) for fraction in FRACTIONS if fraction in METHODS[method]]
    again = experiments.sweep(tmp_path / "clips.npz", wanted, Plan(**protocol), tmp_path / "work", 1, progress=False)
    key = ["method", "fraction"]
    before = table[(table["draw"] == 0) & table["method"].isin(again["method"])]
    assert len(before) == len(again) == (1 if method == "uniform" else 10)
    for score in ("iod_val", "iod", "iou", "accuracy", "recall", *(["map", "lam"] if method == "supervised" else [])):
        one, other = (part.set_index(key)[score].sort_index() for part in (before, again))
        assert_allclose(other, one, rtol=TOLERANCE, err_msg=score)
    with open(tmp_path / "clips.npz", "rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == run["data"]["sha256"]["0"]


@pytest.mark.parametrize("name, kind", [("paper", "plain"), ("one-draw", "best-of")])
def test_a_stored_row_of_the_papers_size_comes_out_again(monkeypatch, name, kind):
    """The even split reads no features, so none are drawn here: the generator draws all labels before the first."""
    monkeypatch.setattr(synthetic.ClipModel, "draw_path", lambda model, rng, means, lengths: means[:1])
    monkeypatch.setattr(synthetic.ClipModel, "draw_features", lambda model, rng, logits: 0)
    table, run = stored.read(name)
    clips = make_preset("paper", run["data"]["random_state"])
    clips = clips.with_features(np.zeros((len(clips.labels), 1)))
    plan = Plan(size="paper", seed=run["protocol"]["seed"], val_share=0.1)
    row = experiments.run_setting(clips, Setting(kind, 0, 0.0, "uniform"), plan)[0]
    before = table.query("method == 'uniform' and splits == @kind and split == 0 and draw == 0").iloc[0]
    for score in ("iod_val", "iod", "iou", "accuracy", "recall", "background_share", "floor"):
        assert_allclose(row[score], before[score], rtol=TOLERANCE, err_msg=score)


def test_stored_tables_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(stored.read("book")[0]["grid"]) >= {"ours"}
    with pytest.raises(FileNotFoundError, match="nothing.csv: a file in `results`, .* expected, found none in"):
        stored.path("nothing.csv")
