"""Findings on tables whose answer is known, and on the stored one by a script that does not import the package."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, ttest_rel

from ordering.paper.experiments import METHODS
from ordering.paper.findings import SEMI, crossing, headlines, holm, in_words, paired, select, verdicts
from ordering.paper.forest import forest
from ordering.paper.stored import path

SCRIPT = Path(__file__).parents[1] / "scripts" / "verdicts.py"
OVER = ("draws", "best-of", "plain")


def make(levels, n=5, noise=0.02):
    """A table with the given mean of every method at every fraction; the splits' ups and downs are common."""
    rng = np.random.default_rng(0)
    common, rows = rng.normal(0, 0.05, n), []
    for method, level in levels.items():
        for fraction in set(METHODS.get(method.removesuffix("-clf"), SEMI)) & {0.0, *SEMI}:
            for draw in range(n):
                score = (level(fraction) if callable(level) else level) + common[draw] + rng.normal(0, noise / 10)
                rows.append({"method": method, "grid": "ours", "draw": draw, "splits": "plain", "split": 0,
                             "fraction": fraction, "iod": score, "map": score, "iod_00": score, "iod_01": score,
                             "iod_02": score})
    return pd.DataFrame(rows)


LEVELS = {"ours": 0.6, "ours-extra-loss": 0.6, "ncut": 0.3, "at-least-one": lambda f: 0.4 + 0.1 * f,
          "ours-clf": 0.5, "at-least-one-clf": 0.7, "at-least-one-literal": 0.1,
          "supervised": lambda f: 0.4 + 0.8 * f, "supervised-bias": lambda f: 0.7 + 0.1 * f}


def named(table, task=""):
    return in_words(verdicts(table, task)).set_index("finding")["here"]


def test_common_ups_and_downs_cancel():
    found = paired(make(LEVELS), "ours", "ncut")
    assert abs(found.mean - 0.3) < 0.01 and found.error < 0.005
    assert (found.wins, found.n) == (5, 5) and found.low < found.mean < found.high
    assert str(found).endswith("(5/5)")


def test_equal_methods_and_single_draws_are_undecided():
    finding = "2014 above NCUT"
    assert named(make({**LEVELS, "ncut": 0.6}, noise=1.0))[finding] == "undecided"
    assert named(make(LEVELS, n=1))[finding] == "undecided"
    assert named(make({"ours": 0.6, "ncut": 0.6}, noise=0.0))[finding] == "undecided"


@pytest.mark.parametrize("seed", range(5))
def test_effect_interval_and_p_are_of_the_paired_t_test(seed):
    one, other = np.random.default_rng(seed).normal([[0.02], [0.0]], 0.02, (2, 5))
    rows = [{"method": m, "split": i, "fraction": 0.0, "iod": v}
            for m, values in [("a", one), ("b", other)] for i, v in enumerate(values)]
    found, test = paired(pd.DataFrame(rows), "a", "b"), ttest_rel(one, other)
    np.testing.assert_allclose([found.p, found.low, found.high], [test.pvalue, *test.confidence_interval()])


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_step_by_step(seed):
    """The procedure as it is defined: the smallest p at level / m, the next at level / (m - 1), until one fails."""
    p = np.random.default_rng(seed).uniform(0, 0.05, 7) ** 2
    found = holm([*p, np.nan])
    assert np.isnan(found[-1])
    for level in (0.001, 0.005, 0.02):
        rejected, left = set(), list(np.argsort(p))
        while left and p[left[0]] <= level / len(left):
            rejected.add(left.pop(0))
        assert set(np.flatnonzero(found[:-1] <= level)) == rejected
    assert (found[:-1] >= false_discovery_control(p)).all()  # a milder correction


def test_verdicts_follow_the_corrected_test_within_a_family():
    tests = verdicts(make(LEVELS))
    for _, family in tests.groupby("family"):
        m = family["p"].notna().sum()
        assert (family["corrected"] >= family["p"]).all()
        assert family["corrected"].min() == pytest.approx(min(1, m * family["p"].min()))
    decided = tests["verdict"].isin(["yes", "no"])
    assert (decided == (tests["corrected"] < 0.05)).all()
    assert ((tests["verdict"] == "yes") == (decided & (tests["effect"] > 0))).all()


@pytest.mark.parametrize("start, slope, expected", [(0.4, 0.8, 0.25), (0.7, 0.0, 0.05), (0.1, 0.1, np.nan)])
def test_crossing(start, slope, expected):
    table = make({"ours": 0.6, "supervised": lambda f: start + slope * f}, noise=0.0)
    np.testing.assert_allclose(crossing(table), expected, rtol=1e-9)


def test_each_finding_has_its_verdict():
    found = named(make(LEVELS), "labelling")
    assert found["2014 above NCUT"] == "yes"
    assert found["2014 above at-least-one (listed), both rounded by classifier"] == "no"
    assert found["2014 still above supervised ridge with 10 % of the labels"] == "yes"
    assert found["supervised ridge with half of the labels above 2014"] == "yes"
    assert found["at-least-one (listed) improves with labels"] == "yes"
    assert found["at-least-one (any) stays low: supervised ridge above it"] == "yes"
    assert found["2014 (clamped rows) above supervised ridge"] == "yes at 2, undecided at 1, no at 2 of 5"
    found = named(make({**LEVELS, "at-least-one": 0.9}), "classification")
    assert found["at-least-one (listed) the worst: supervised ridge above it"] == "yes at 1, no at 4 of 5"


@pytest.mark.parametrize("task", ["labelling", "classification"])
def test_five_lines_of_verdict(task):
    lines = headlines(verdicts(make(LEVELS), task)).split("\n")
    assert len(lines) == 5 and all(line.split("**")[1].split(" ")[0] in ("Yes", "No", "Undecided") for line in lines)


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match='task: .* such as "labelling", expected, found .labeling.'):
        verdicts(make(LEVELS), "labeling")


def test_methods_that_were_not_run_are_named():
    found = named(make({name: level for name, level in LEVELS.items() if name != "ours-extra-loss"}), "labelling")
    assert set(found[found.index.str.contains("extra loss")]) == {"not run"} and (found == "not run").sum() == 3


def test_another_score_takes_the_place_of_the_first():
    table = make(LEVELS).assign(iou=lambda rows: -rows["iod"])
    tests = verdicts(table, "labelling", iod="iou").set_index("finding")
    assert set(tests["score"]) == {"iou"} and tests.loc["2014 above NCUT", "verdict"] == "no"


def test_draws_and_splits_are_told_apart():
    table = make(LEVELS)
    more = pd.concat([table, table.assign(split=1), table.assign(splits="best-of"), table.assign(grid="authors")])
    assert (len(select(more)), len(select(more, "plain"))) == (len(table), 2 * len(table) // 5)
    assert set(select(more, "best-of")["draw"]) == {0}
    with pytest.raises(ValueError, match="over: one of .*'draws'.* expected, found 'split'"):
        select(more, "split")


# -------------------------------------------------------------------------------- without the package
@pytest.mark.parametrize("over", OVER)
def test_a_script_without_the_package_finds_the_same_verdicts(over, tmp_path):
    recomputed = runpy.run_path(str(SCRIPT))["verdicts"]
    for table in (*(pd.read_csv(path(f"{name}.csv")) for name in ("book", "paper", "one-draw")), make(LEVELS)):
        mine = verdicts(select(table, over))
        pd.testing.assert_frame_equal(recomputed(table, over)[list(mine)], mine, rtol=1e-9, check_dtype=False)


def test_the_script_needs_pandas_and_scipy_alone():
    code = ("import runpy, sys\n"
            f"found = runpy.run_path({str(SCRIPT)!r})\n"
            "assert not {'ordering', 'numba', 'sklearn', 'matplotlib'} & set(sys.modules), sorted(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_prints_every_verdict():
    printed = subprocess.run([sys.executable, SCRIPT, path("one-draw.csv"), "--over", "best-of"], check=True,
                             capture_output=True, text=True).stdout
    assert printed.count("2014 above NCUT") == 2 and "corrected" in printed.splitlines()[0]


# -------------------------------------------------------------------------------- the figure
def test_the_forest_shows_every_test_in_colour_shape_and_words():
    tests = verdicts(make({name: level for name, level in LEVELS.items() if name != "at-least-one-clf"}), "labelling")
    ax = forest(tests)
    drawn = {line.get_gid(): line for line in ax.lines if line.get_gid()}
    assert len(drawn) == (tests["verdict"] != "not run").sum()
    looks = {word: {(line.get_marker(), line.get_color()) for gid, line in drawn.items() if gid.startswith(word)}
             for word in ("yes", "no", "undecided")}
    assert all(len(look) == 1 for look in looks.values()) and len(set.union(*looks.values())) == 3
    assert len({marker for look in looks.values() for marker, _ in look}) == 3
    words = in_words(tests)
    shown = [text.get_text() for text in ax.texts]
    assert set(words["here"]) <= set(shown) and set(tests["family"]) <= set(shown)
    assert [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()] == list(words["finding"])
    effects = sorted(line.get_xdata()[0] for line in drawn.values())
    np.testing.assert_allclose(effects, sorted(tests.loc[tests["verdict"] != "not run", "effect"]))
