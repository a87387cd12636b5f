"""Compute every verdict on the paper's findings from a stored table, with pandas and SciPy alone.

    python scripts/verdicts.py results/book.csv
    python scripts/verdicts.py results/one-draw.csv --over best-of

Each claim of ordering/data/claims.csv is a paired t test at each fraction that it names: over draws of the data (the
first plain split of each), or over the splits of the first draw. Holm's correction is made within a family of claims.
Nothing of the package is imported, so that neither vouches for itself.
"""

import argparse
from pathlib import Path

import pandas as pd
from scipy.stats import t

CLAIMS = Path(__file__).resolve().parents[1] / "ordering" / "data" / "claims.csv"


def verdicts(table, over="draws"):
    """One row a claim and fraction."""
    table = table.loc[table["grid"].eq("ours")]
    if over == "draws":
        table, unit = table.query("splits == 'plain' and split == 0"), "draw"
    else:
        table, unit = table[table["splits"].eq(over) & table["draw"].eq(table["draw"].min())], "split"
    rows = []
    for claim in pd.read_csv(CLAIMS, dtype=str).to_dict("records"):
        fractions, others = (claim.pop(name).split() for name in ("fractions", "second_fractions"))
        rows += [claim | {"fraction": float(f), "second_fraction": float(g)} | compare(table, unit, claim, f, g)
                 for f, g in zip(fractions, others, strict=True)]
    found = pd.DataFrame(rows)
    found["corrected"] = found.groupby("family", group_keys=False)["p"].apply(corrected)
    found["verdict"] = [word(row) for row in found.itertuples()]
    return found


def compare(table, unit, claim, fraction, second_fraction):
    """Differences of two methods, and their t test against 0."""
    def scores(method, at):
        rows = table[table["method"].eq(method) & (table["fraction"] - float(at)).abs().lt(1e-9)].set_index(unit)
        return sum(rows[name] for name in claim["score"].split("+")) / len(claim["score"].split("+"))

    d = (scores(claim["first"], fraction) - scores(claim["second"], second_fraction)).dropna()
    found = {"effect": d.mean(), "low": float("nan"), "high": float("nan"), "wins": (d > 0).sum(), "n": len(d),
             "p": float("nan")}
    if len(d) > 1 and d.std() > 0:
        error = d.std() / len(d) ** 0.5
        low, high = t.interval(0.95, len(d) - 1, d.mean(), error)
        found |= {"low": low, "high": high, "p": 2 * t.sf(abs(d.mean() / error), len(d) - 1)}
    return found


def corrected(p):
    """Holm: the k-th smallest of m p values times m - k + 1, none below the one before."""
    ordered = p.dropna().sort_values()
    factors = range(len(ordered), 0, -1)
    return (ordered * list(factors)).cummax().clip(upper=1).reindex(p.index)


def word(row):
    """The verdict."""
    if row.n == 0:
        return "not run"
    if not row.corrected < 0.05:
        return "undecided"
    return "yes" if row.effect > 0 else "no"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--over", choices=["draws", "best-of", "plain"], default="draws")
    args = parser.parse_args()
    found = verdicts(pd.read_csv(args.table), args.over)
    shown = found[["family", "finding", "fraction", "second_fraction", "effect", "low", "high", "wins", "n", "p",
                   "corrected", "verdict"]]
    print(shown.to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
