"""The paper's findings, one by one, against a stored table of experiments.

A *claim* says that one method is above another (`ordering/data/claims.csv`); at each labelled fraction that it names
it is one paired test. Explained in ``book/13-action-labelling.ipynb`` and ``book/14-classification.ipynb``;
``scripts/verdicts.py`` computes the same without this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ttest_rel

from ordering._check import one_of
from ordering._extras import needs

with needs("experiments", __name__):
    import pandas as pd

__all__ = ["Difference", "crossing", "headlines", "holm", "in_words", "paired", "per_split", "select", "verdicts"]

SEMI = (0.05, 0.1, 0.25, 0.5, 1.0)
LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """First minus second method: `mean`, standard `error`, `wins` of the first and `n`, the number of pairs.

    `p` is the p value of the two-sided paired t test, `low` and `high` the ends of the 95 % interval that belongs to
    it; NaN where there is none.
    """

    mean: float
    error: float
    wins: int
    n: int
    p: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f} ({self.wins}/{self.n})"


def select(table: pd.DataFrame, over: str | None = None) -> pd.DataFrame:
    """The rows by which methods are compared, all on our grid.

    Parameters
    ----------
    table : DataFrame of `scripts/run_experiments.py`, of one size
    over : {"draws", "best-of", "plain"}, optional
        One plain split of each draw of the data, or the splits of that kind of the first draw. Splits of one draw
        share clips, draws share nothing. By default draws where there are several, else best-of splits.
    """
    ours = table[table["grid"] == "ours"]
    over = over or ("draws" if table["draw"].nunique() > 1 else "best-of")
    if one_of("over", over, ["draws", "best-of", "plain"]) == "draws":
        return ours[(ours["splits"] == "plain") & (ours["split"] == 0)]
    return ours[(ours["splits"] == over) & (ours["draw"] == ours["draw"].min())]


def per_split(table: pd.DataFrame, method: str, score: str = "iod", fraction: float = 0.0) -> pd.Series:
    """Scores of a method at a labelled fraction, with one entry a draw and split; "a+b" is the mean of two columns."""
    rows = table[(table["method"] == method) & np.isclose(table["fraction"], fraction)]
    rows = rows.set_index([name for name in ("draw", "split") if name in rows])
    return rows[score.split("+")].mean(axis=1, skipna=False).sort_index()


def paired(table: pd.DataFrame, first: str, second: str, score: str = "iod", fraction: float = 0.0,
           second_fraction: float | None = None) -> Difference:
    """Difference of two methods on the draws and splits that both have; their common ups and downs cancel.

    Parameters
    ----------
    table : DataFrame, what `select` gives
    first, second : str, methods
    score : str, a column, or several joined by "+", whose mean it is
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
    p = low = high = np.nan
    if len(difference) > 1 and difference.std() > 0:
        test = ttest_rel(one[difference.index], other[difference.index])
        p, (low, high) = test.pvalue, test.confidence_interval(1 - LEVEL)
    return Difference(float(difference.mean()), float(difference.sem()), int((difference > 0).sum()), len(difference),
                      float(p), float(low), float(high))


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


def holm(p: ArrayLike) -> np.ndarray:
    """Holm's corrected p values: below a level with at most that chance of a single wrong one among all. NaN stays.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.array(p, dtype=float)
    order = np.argsort(p)[:np.isfinite(p).sum()]
    p[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return p


def verdicts(table: pd.DataFrame, task: str = "", **scores: str) -> pd.DataFrame:
    """Every paired test of the paper's claims, corrected within its family.

    Parameters
    ----------
    table : DataFrame, what `select` gives
    task : str
        Only families that begin so: "labelling" (the paper's section 6), "classification" (section 7), or one of
        them "without labels" or "with labels".
    **scores : str
        Columns to read in place of "iod" or "map"; claims on other columns are then left out.

    Returns
    -------
    DataFrame, one row a claim and labelled fraction
        The claim (family, headline, finding, first, second, score, fraction, second_fraction); effect, low, high (95 %
        interval), wins, n, p, corrected (Holm) and verdict: "yes" or "no" where corrected is below 5 %, "undecided",
        or "not run" where the table lacks a method.
    """
    claims = pd.read_csv(cast("str", files("ordering") / "data" / "claims.csv"))
    claims = claims[claims["family"].str.startswith(task)]
    if not len(claims):
        raise ValueError(f'task: the beginning of a family, such as "labelling", expected, found {task!r}')
    if scores:
        claims = claims[claims["score"].isin(list(scores))].replace({"score": scores})
    claims = claims.rename(columns={"fractions": "fraction", "second_fractions": "second_fraction"})
    both = ["fraction", "second_fraction"]
    claims[both] = claims[both].apply(lambda column: column.astype(str).str.split())
    claims = claims.explode(both, ignore_index=True).astype(dict.fromkeys(both, float))
    found = [paired(table, *one) for one in claims[["first", "second", "score", *both]].itertuples(index=False)]
    claims["effect"] = [one.mean for one in found]
    for name in ("low", "high", "wins", "n", "p"):
        claims[name] = [getattr(one, name) for one in found]
    claims["corrected"] = claims.groupby("family")["p"].transform(holm)
    sure = claims["corrected"] < LEVEL
    claims["verdict"] = np.select([claims["n"] == 0, sure & (claims["effect"] > 0), sure], ["not run", "yes", "no"],
                                  "undecided")
    return claims


def in_words(tests: pd.DataFrame) -> pd.DataFrame:
    """One row a finding from what `verdicts` gives: family, finding, the verdict over its fractions, and numbers."""
    def one(rows):
        counts = rows["verdict"].value_counts()
        words = [f"{word} at {counts[word]}" for word in ("yes", "undecided", "no", "not run") if word in counts]
        here = counts.index[0] if len(counts) == 1 else f"{', '.join(words)} of {len(rows)}"
        shown = rows["fraction"].where(rows["fraction"] > 0, rows["second_fraction"])
        numbers = [(f"{f:.0%}: " if len(rows) > 1 else "") + f"{r.effect:+.3f} ({r.wins}/{r.n}, p {r.corrected:.2g})"
                   for f, r in zip(shown, rows.itertuples(), strict=True) if r.n]
        return pd.Series({"here": here, "numbers": "; ".join(numbers)})

    return pd.DataFrame([{"family": family, "finding": finding, **one(rows)}
                         for (family, finding), rows in tests.groupby(["family", "finding"], sort=False)])


def headlines(tests: pd.DataFrame) -> str:
    """The main findings from what `verdicts` gives as a list in Markdown: verdict, finding and numbers."""
    return "\n".join(f"- **{one.here[0].upper()}{one.here[1:]}**: {one.finding} *({one.family})*"
                     + f". {one.numbers}" * bool(one.numbers)
                     for one in in_words(tests[tests["headline"] == "yes"]).itertuples())
