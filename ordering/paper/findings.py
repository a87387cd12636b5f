"""The paper's findings, one by one, against a stored table of experiments.

Explained in ``book/13-action-labelling.ipynb`` and ``book/14-classification.ipynb``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel

from ordering._extras import needs

with needs("experiments", __name__):
    import pandas as pd

__all__ = ["Difference", "crossing", "findings", "paired", "per_split"]

SEMI = (0.05, 0.1, 0.25, 0.5, 1.0)
NAMES = {"ours": "ours (clamped rows)", "ours-extra-loss": "ours (extra loss)", "at-least-one": "at-least-one",
         "ncut": "NCUT", "supervised": "supervised ridge", "supervised-bias": "supervised ridge with a bias"}


@dataclass(frozen=True)
class Difference:
    """First minus second method over the splits: `mean`, standard `error`, `wins` of the first, `n` splits.

    `p` is the p value of the two-sided paired t test, NaN where there is none.
    """

    mean: float
    error: float
    wins: int
    n: int
    p: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f} ({self.wins}/{self.n})"

    @property
    def verdict(self) -> str:
        """Is the first better? "yes" or "no" by the t test at 5 %, else "undecided"."""
        if not self.p < 0.05:
            return "undecided"
        return "yes" if self.mean > 0 else "no"


def per_split(table: pd.DataFrame, method: str, score: str = "iod", fraction: float = 0.0) -> pd.Series:
    """Scores of a method at a labelled fraction, as a pandas Series with one entry a split."""
    rows = table[(table["method"] == method) & np.isclose(table["fraction"], fraction)]
    return rows.set_index("split")[score].sort_index()


def paired(table: pd.DataFrame, first: str, second: str, score: str = "iod", fraction: float = 0.0,
           second_fraction: float | None = None) -> Difference:
    """Difference of two methods on the splits that both have; their common ups and downs cancel.

    Parameters
    ----------
    table : DataFrame of `ordering.paper.experiments.sweep`, of one size and one kind of splits
    first, second : str, methods
    score : str, a column
    fraction, second_fraction : float
        Labelled fraction of the first method, and of the second if it differs.

    Returns
    -------
    Difference

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"method": ["ours", "ours", "ncut", "ncut"], "split": [0, 1, 0, 1], "fraction": 0.0,
    ...                       "iod": [0.7, 0.8, 0.3, 0.5]})
    >>> print(paired(table, "ours", "ncut"))
    +0.350 ± 0.050 (2/2)
    """
    one = per_split(table, first, score, fraction)
    other = per_split(table, second, score, fraction if second_fraction is None else second_fraction)
    difference = (one - other).dropna()
    splits = difference.index
    p = ttest_rel(one[splits], other[splits]).pvalue if len(splits) > 1 else np.nan
    return Difference(float(difference.mean()), float(difference.sem()), int((difference > 0).sum()), len(splits),
                      float(p))


def crossing(table: pd.DataFrame, supervised: str = "supervised", ours: str = "ours", score: str = "iod") -> float:
    """Labelled fraction at which the mean supervised curve first reaches `ours` without labels.

    Linear between the fractions of the table; the least of them if it is above from there on; NaN if it never is.
    """
    level = per_split(table, ours, score).mean()
    heights = np.array([per_split(table, supervised, score, f).mean() for f in SEMI])
    above = np.flatnonzero(heights >= level)
    if not len(above) or above[0] == 0:
        return SEMI[0] if len(above) else float("nan")
    i = above[0]
    return float(np.interp(level, heights[i - 1:i + 1], SEMI[i - 1:i + 1]))


def findings(table: pd.DataFrame, task: str) -> pd.DataFrame:
    """Each finding of the paper's section 6 ("labelling") or 7 ("classification"), and what the table says.

    A comparison holds, or fails, where a two-sided paired t test over the splits says so at 5 %, and is undecided
    elsewhere. Splits share clips, so even that is generous. A claim about all fractions holds if it does at each
    of them. One about a method that the table does not hold is "not run".

    Parameters
    ----------
    table : DataFrame of one size and one kind of splits
    task : {"labelling", "classification"}

    Returns
    -------
    DataFrame with columns "finding", "here" and "numbers"
    """
    if task not in ("labelling", "classification"):
        raise ValueError(f'task: "labelling" or "classification" expected, found {task!r}')
    rows = _labelling(table) if task == "labelling" else _classification(table)
    return pd.DataFrame(rows, columns=["finding", "here", "numbers"])


def _labelling(table):
    def level(method, fraction=0.0):
        scores = per_split(table, method, "iod", fraction)
        return f"{scores.mean():.3f} ± {scores.std():.3f}"

    frequent = table.assign(frequent=table[["iod_00", "iod_01", "iod_02"]].mean(axis=1))
    for other in ("ncut", "at-least-one"):
        note = f"{level('ours')} against {level(other)}"
        yield _compare(table, f"without labels, ours above {NAMES[other]}", "ours", other, note=note)
    for other in ("ncut", "at-least-one"):
        claim = f"without labels, ours above {NAMES[other]} on the three most frequent actions"
        yield _compare(frequent, claim, "ours", other, "frequent")
    yield _compare(table, "without labels, ours above at-least-one, both rounded by classifier", "ours-clf",
                   "at-least-one-clf", note=f"{level('ours-clf')} against {level('at-least-one-clf')}")
    for method in ("supervised", "supervised-bias"):
        at = crossing(table, method)
        near = "yes" if 0.15 <= at <= 0.4 else "no"
        where = f"at or below {at:.0%}" if at == SEMI[0] else f"at {at:.0%}" if at == at else "never"
        yield f"{NAMES[method]} overtakes ours without labels at about 25 %", near, where
    yield _compare(table, "supervised ridge with the whole pool is above ours without labels", "supervised",
                   "ours", fractions=[1.0], second_fraction=0.0)
    for method in ("ours", "ours-extra-loss"):
        for other in ("supervised", "supervised-bias"):
            claim = f"with labels, {NAMES[method]} always above {NAMES[other]}"
            yield _compare(table, claim, method, other, fractions=SEMI)
    yield _compare(table, "at-least-one improves with labels", *2 * ("at-least-one",), fractions=[1.0],
                   second_fraction=0.0)
    for method in ("ours", "ours-extra-loss"):
        yield _compare(table, f"with labels, {NAMES[method]} above at-least-one", method, "at-least-one",
                       fractions=SEMI)


def _classification(table):
    yield _compare(table, "without labels, ours above at-least-one", "ours", "at-least-one", "map")
    yield _compare(table, "ours without labels above supervised ridge with any share of them", "ours", "supervised",
                   "map", [0.0] * len(SEMI), SEMI)
    for other in ("supervised", "at-least-one"):
        for method in ("ours", "ours-extra-loss"):
            claim = f"with labels, {NAMES[method]} above {NAMES[other]}"
            yield _compare(table, claim, method, other, "map", SEMI)
    yield _compare(table, "at-least-one improves with labels", *2 * ("at-least-one",), "map", [1.0], 0.0)


def _compare(table, finding, first, second, score="iod", fractions=(0.0,), second_fraction=None, note=None):
    """One row: the paired difference at each fraction, and the verdict over all of them."""
    if not {first, second} <= set(table["method"]):
        return finding, "not run", ""
    others = np.broadcast_to(np.nan if second_fraction is None else second_fraction, len(fractions))
    found = [paired(table, first, second, score, f, None if np.isnan(g) else g)
             for f, g in zip(fractions, others, strict=True)]
    verdicts = [one.verdict for one in found]
    here = verdicts[0] if len(set(verdicts)) == 1 else ", ".join(
        f"{v} at {verdicts.count(v)}" for v in ("yes", "undecided", "no") if v in verdicts) + f" of {len(verdicts)}"
    if len(found) == 1:
        return finding, here, (f"{note}: " if note else "") + str(found[0])
    shown = np.where(np.isnan(others), fractions, others)
    return finding, here, "; ".join(f"{f:.0%}: {one}" for f, one in zip(shown, found, strict=True))
