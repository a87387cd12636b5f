"""The stored tables of `results/`: where they lie and how they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ordering
from ordering._extras import needs

with needs("experiments", __name__):
    import pandas as pd

__all__ = ["made", "path", "read"]


def path(name: str) -> Path:
    """Where a stored table lies: in `results` next to the package, or of the working folder or one above it.

    Examples
    --------
    >>> path("book.csv").name
    'book.csv'
    """
    places = [Path(ordering.__file__).parents[1], Path.cwd(), *Path.cwd().parents]
    for file in (place / "results" / name for place in places):
        if file.exists():
            return file
    raise FileNotFoundError(f"{name}: a file in `results`, next to the package or above the working folder, expected, "
                            f"found none in {', '.join(map(str, places[:2]))} or above")


def read(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Table of `scripts/run_experiments.py` and how it was made.

    Examples
    --------
    >>> table, run = read("book")
    >>> table["size"].unique().tolist(), run["data"]["n_clips"]
    (['book'], 300)
    """
    return pd.read_csv(path(f"{name}.csv")), json.loads(path(f"{name}.json").read_text(encoding="utf8"))


def made(run: dict[str, Any]) -> str:
    """With which code a table was made, and whether its commit tells all of it.

    Examples
    --------
    >>> print(made({"code": [{"commit": "1234567", "changed": ["ordering/solver.py"]}]}))
    commit 1234567 WITH CHANGES in ordering/solver.py
    >>> print(made({"commit": "1234567"}))
    commit 1234567; whether anything was changed is not recorded
    """
    if "code" not in run:
        return f"commit {run['commit']}; whether anything was changed is not recorded"
    return ", then ".join(f"commit {one['commit']}" + (f" WITH CHANGES in {', '.join(one['changed'])}"
                                                       if one["changed"] else ", nothing changed")
                          for one in run["code"])
