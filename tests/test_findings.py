"""Findings on tables whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from ordering.paper.experiments import FRACTIONS, METHODS
from ordering.paper.findings import SEMI, crossing, findings, paired


def make(levels, n=5, noise=0.02):
    """A table with the given mean of every method at every fraction; the splits' ups and downs are common."""
    rng = np.random.default_rng(0)
    common, rows = rng.normal(0, 0.05, n), []
    for method, level in levels.items():
        for fraction in METHODS.get(method.removesuffix("-clf"), SEMI):
            for split in range(n):
                score = (level(fraction) if callable(level) else level) + common[split] + rng.normal(0, noise / 10)
                rows.append({"method": method, "split": split, "fraction": fraction, "iod": score, "map": score,
                             "iod_00": score, "iod_01": score, "iod_02": score})
    return pd.DataFrame(rows)


LEVELS = {"ours": 0.6, "ours-extra-loss": 0.6, "ncut": 0.3, "at-least-one": lambda f: 0.4 + 0.1 * f,
          "ours-clf": 0.5, "at-least-one-clf": 0.7,
          "supervised": lambda f: 0.4 + 0.8 * f, "supervised-bias": lambda f: 0.7 + 0.1 * f}


def test_common_ups_and_downs_cancel():
    found = paired(make(LEVELS), "ours", "ncut")
    assert abs(found.mean - 0.3) < 0.01 and found.error < 0.005
    assert (found.wins, found.n, found.verdict) == (5, 5, "yes")
    assert paired(make(LEVELS), "ncut", "ours").verdict == "no"


def test_equal_methods_and_single_splits_are_undecided():
    assert paired(make({**LEVELS, "ncut": 0.6}, noise=1.0), "ours", "ncut").verdict == "undecided"
    assert paired(make(LEVELS, n=1), "ours", "ncut").verdict == "undecided"


@pytest.mark.parametrize("seed", range(20))
def test_verdict_is_scipys_paired_t_test(seed):
    one, other = np.random.default_rng(seed).normal([[0.02], [0.0]], 0.02, (2, 5))
    rows = [{"method": m, "split": i, "fraction": 0.0, "iod": v}
            for m, values in [("a", one), ("b", other)] for i, v in enumerate(values)]
    p = ttest_rel(one, other).pvalue
    assert (paired(pd.DataFrame(rows), "a", "b").verdict != "undecided") == (p < 0.05)


@pytest.mark.parametrize("start, slope, expected", [(0.4, 0.8, 0.25), (0.7, 0.0, 0.05), (0.1, 0.1, np.nan)])
def test_crossing(start, slope, expected):
    table = make({"ours": 0.6, "supervised": lambda f: start + slope * f}, noise=0.0)
    np.testing.assert_allclose(crossing(table), expected, rtol=1e-9)


def test_each_finding_has_its_verdict():
    labelling = findings(make(LEVELS), "labelling").set_index("finding")
    assert labelling.loc["without labels, ours above NCUT", "here"] == "yes"
    assert labelling.loc["without labels, ours above at-least-one, both rounded by classifier", "here"] == "no"
    assert labelling.loc["supervised ridge overtakes ours without labels at about 25 %", "here"] == "yes"
    assert labelling.loc["supervised ridge with a bias overtakes ours without labels at about 25 %", "here"] == "no"
    assert labelling.loc["at-least-one improves with labels", "here"] == "yes"
    always = labelling.loc["with labels, ours (clamped rows) always above supervised ridge"]
    assert always["here"] == "yes at 2, undecided at 1, no at 2 of 5"
    assert always["numbers"].count("(") == len(FRACTIONS) - 1
    classification = findings(make(LEVELS), "classification").set_index("finding")
    assert classification.loc["without labels, ours above at-least-one", "here"] == "yes"
    assert len(classification) == 7


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match='"labelling" or "classification" expected, found .labeling.'):
        findings(make(LEVELS), "labeling")


def test_methods_that_were_not_run_are_named():
    table = make({name: level for name, level in LEVELS.items() if name != "ours-extra-loss"})
    found = findings(table, "labelling").set_index("finding")["here"]
    assert found["with labels, ours (extra loss) above at-least-one"] == "not run"
    assert (found == "not run").sum() == 3
