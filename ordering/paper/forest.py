"""All findings in one figure: differences, intervals and verdicts."""

from __future__ import annotations

import textwrap

import numpy as np

from ordering._extras import needs
from ordering.paper.findings import in_words

with needs("experiments", __name__):
    import pandas as pd
with needs("plots", __name__):
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

STYLES = {"yes": ("#0077BB", "o"), "no": ("#CC3311", "s"), "undecided": ("#777777", "D")}  # colour and marker


def forest(tests: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Every finding: the difference at each labelled fraction with its 95 % interval, and the verdict.

    Verdicts differ in colour and marker (filled circle, filled square, hollow diamond) and stand at the right in
    words. Where a finding has several fractions they run from the smallest, on top, to the largest.

    Parameters
    ----------
    tests : DataFrame of `ordering.paper.findings.verdicts`
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> tests = pd.DataFrame({"family": "labelling", "finding": "2014 above NCUT", "effect": [0.4], "low": 0.3,
    ...                       "high": 0.5, "verdict": "yes", "fraction": 0.0, "second_fraction": 0.0, "wins": 5,
    ...                       "n": 5, "corrected": 0.001})
    >>> ax = forest(tests)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['2014 above NCUT']
    >>> plt.close(ax.figure)
    """
    words = in_words(tests)
    heads = words["family"] != words["family"].shift()
    height = dict(zip(zip(words["family"], words["finding"], strict=True), words.index + heads.cumsum(), strict=True))
    rows = len(words) + heads.sum()
    if ax is None:
        ax = plt.figure(figsize=(9.5, 0.8 + 0.4 * rows)).add_subplot()
    ax.axvline(0, color="#BBBBBB", lw=1)
    edge = ax.get_yaxis_transform()
    for (family, finding, here), head in zip(words[["family", "finding", "here"]].to_numpy(), heads, strict=True):
        y, own = height[family, finding], tests[(tests["family"] == family) & (tests["finding"] == finding)]
        if head:
            ax.text(0, y - 1, family, weight="bold", va="center", transform=edge)
        ax.text(1.01, y, here, va="center", fontsize=9, transform=edge)
        for shift, one in zip(np.linspace(-0.3, 0.3, len(own)) if len(own) > 1 else [0], own.itertuples(), strict=True):
            if one.verdict in STYLES:
                color, marker = STYLES[one.verdict]
                ax.plot([one.low, one.high], [y + shift] * 2, color=color, lw=1.2)
                ax.plot([one.effect], [y + shift], marker, color=color, ms=4, gid=f"{one.verdict} {one.Index}",
                        mfc="white" if one.verdict == "undecided" else color)
    ax.set_yticks(list(height.values()), [textwrap.fill(finding, 46) for _, finding in height], fontsize=9)
    ax.set(ylim=(rows - 0.3, -0.5), xlabel="first minus second method, with 95 % interval")
    ax.tick_params(axis="y", length=0)
    return ax
