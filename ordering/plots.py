"""Figures that more than one chapter uses.

Every function draws into an ``ax`` (a new one if none is given) and returns it; ``ax.figure`` is the figure.
Arrays count from 0, what is written on a figure counts from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ordering._check import one_of
from ordering._extras import needs
from ordering._runs import runs

with needs("plots", __name__):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from cycler import cycler
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch, Rectangle
    from matplotlib.patheffects import withStroke

if TYPE_CHECKING:
    from ordering.clips import Clips
    from ordering.solver import Solution

BACKGROUND_COLOR = "#D9D9D9"
# Paul Tol's "muted" scheme and three colours of Okabe and Ito: they stay apart for colour-blind readers.
PALETTE = ("#332288", "#88CCEE", "#CC6677", "#117733", "#DDCC77", "#AA4499",
           "#44AA99", "#882255", "#999933", "#0072B2", "#E69F00", "#D55E00")  # fmt: skip


def use_style() -> None:
    """Set matplotlib's defaults for the whole book.

    White opaque figures (readable on a dark page), text of 11 points, and nothing random in saved files.

    Examples
    --------
    >>> use_style()
    >>> mpl.rcParams["figure.facecolor"]
    'white'
    """
    mpl.rcParams.update(
        {
            "figure.facecolor": "white",
            "figure.dpi": 100,
            "figure.figsize": (8, 3.5),
            "figure.constrained_layout.use": True,
            "savefig.facecolor": "white",
            "savefig.transparent": False,
            "font.family": "DejaVu Sans",
            "font.size": 11,
            "axes.facecolor": "white",
            "axes.titlesize": 12,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=PALETTE),
            "legend.frameon": False,
            "svg.hashsalt": "ordering",
        }
    )


def action_colors(n_classes: int, background_class: int | None = None) -> list[tuple[float, float, float]]:
    """One colour a class, the same in every figure; background is grey.

    Parameters
    ----------
    n_classes : int
        Number C of classes. From the 13th action on the palette repeats, each round half-way to white.
    background_class : int or None
        Class drawn in grey.

    Returns
    -------
    list of C RGB tuples

    Examples
    --------
    >>> colors = action_colors(3, background_class=2)
    >>> colors[2] == to_rgb(BACKGROUND_COLOR)
    True
    """
    colors = []
    for c in range(n_classes):
        fade = 0.5 ** (c // len(PALETTE))
        r, g, b = to_rgb(PALETTE[c % len(PALETTE)])
        colors.append((1 - fade * (1 - r), 1 - fade * (1 - g), 1 - fade * (1 - b)))
    if background_class is not None:
        colors[background_class] = to_rgb(BACKGROUND_COLOR)
    return colors


def timeline(
    rows: Mapping[str, ArrayLike],
    lengths: Clips | ArrayLike,
    names: Sequence[str] | None = None,
    background_class: int | None = None,
    ax: Axes | None = None,
    seconds_per_interval: float | None = None,
) -> Axes:
    """Labelings as horizontal strips above one another, one block a run, action names in the blocks.

    Parameters
    ----------
    rows : dict of str to (N,) ints
        The strips from top to bottom: what to write at the left, and the class of every interval.
    lengths : Clips, int or sequence of ints
        Lengths of the clips the N intervals belong to; a vertical line separates clips.
    names : sequence of str, optional
        Name of each class; without it the number of the class, from 1.
    background_class : int or None
        Class drawn in grey and without a name.
    ax : matplotlib Axes, optional
    seconds_per_interval : float, optional
        Time axis in seconds instead of intervals.

    Returns
    -------
    matplotlib Axes
        Actions whose every block is too narrow for the name appear in a legend below.

    Raises
    ------
    ValueError
        If a strip has not as many labels as the clips have intervals.

    Examples
    --------
    >>> ax = timeline({"truth": [0, 0, 2, 1, 1]}, 5, ["walk", "sit", "background"], background_class=2)
    >>> [text.get_text() for text in ax.texts]
    ['walk', 'sit']
    """
    strips = {title: np.asarray(labels) for title, labels in rows.items()}
    ends = np.cumsum(np.atleast_1d(lengths.lengths if hasattr(lengths, "lengths") else lengths))
    for title, labels in strips.items():
        if labels.shape != (ends[-1],):
            raise ValueError(f"strip {title!r}: {ends[-1]} labels expected, found shape {labels.shape}")
    largest = max(int(labels.max()) for labels in strips.values())
    n_classes = max(largest + 1, len(names or ()), (background_class or 0) + 1)
    names = list(names) if names is not None else [str(c + 1) for c in range(n_classes)]
    colors = action_colors(n_classes, background_class)
    figure = None
    if ax is None:
        figure = plt.figure(figsize=(8, 0.9 + 0.5 * len(strips)))
        ax = figure.add_subplot()
    scale, first = (1.0, 0.5) if seconds_per_interval is None else (seconds_per_interval, 0.0)  # interval 1 is at 1
    ax.set_xlim(first, first + ends[-1] * scale)
    ax.set_ylim(len(strips) - 0.5, -0.5)
    width = ax.get_window_extent().width / ax.figure.dpi * 72 * 0.85  # points; the titles need some too

    drawn, named = set(), set()
    for y, labels in enumerate(strips.values()):
        for start, stop in zip(*runs(labels, ends), strict=True):
            c = int(labels[start])
            left, block = first + start * scale, (stop - start) * scale
            ax.add_patch(Rectangle((left, y - 0.4), block, 0.8, facecolor=colors[c], edgecolor="white"))
            if c == background_class:
                continue
            drawn.add(c)
            if len(names[c]) * 6.0 + 4 <= width * (stop - start) / ends[-1]:
                ink = _ink(colors[c])  # the rim is read where a dark page turns lightness over
                rim = withStroke(linewidth=1.5, foreground="black" if ink == "white" else "white")
                ax.text(left + block / 2, y, names[c], ha="center", va="center", fontsize=9.5, color=ink,
                        path_effects=[rim])  # fmt: skip
                named.add(c)
    for end in ends[:-1]:
        ax.axvline(first + end * scale, color="black", lw=1.5)
    if drawn - named:
        handles = [Patch(color=colors[c], label=names[c]) for c in sorted(drawn - named)]
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=4.5, ncols=4,
                  fontsize=9)  # fmt: skip
        if figure is not None:
            figure.set_figheight(figure.get_figheight() + 0.2 * ((len(handles) + 3) // 4) + 0.1)
    ax.set_yticks(range(len(strips)), list(strips))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("interval" if seconds_per_interval is None else "time (s)")
    return ax


def assignment(Z: ArrayLike, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
    """An assignment as a picture: time runs to the right, one row a class, the first class at the bottom.

    Parameters
    ----------
    Z : (T, C) array
        Values from 0 (white) to 1 (dark blue).
    ax : matplotlib Axes, optional
    names : sequence of str, optional
        Names of the classes; without them their numbers, from 1.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = assignment(np.eye(3), names=["walk", "sit", "answer"])
    >>> ax.images[0].get_array().shape
    (3, 3)
    """
    Z = np.asarray(Z)
    T, C = Z.shape
    if ax is None:
        ax = plt.figure(figsize=(6, 0.9 + 0.35 * C)).add_subplot()
    ax.imshow(Z.T, cmap="Blues", vmin=0, vmax=1, aspect="auto", origin="lower", interpolation="nearest",
              extent=(0.5, T + 0.5, 0.5, C + 0.5))  # fmt: skip
    ax.hlines(np.arange(1, C) + 0.5, 0.5, T + 0.5, color="#CCCCCC", lw=0.6)
    ax.set_yticks(range(1, C + 1), names)
    if T <= 20:
        ax.set_xticks(range(1, T + 1))
    else:
        ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="interval $t$", ylabel="" if names else "class")
    return ax


def convergence(
    solutions: Mapping[str, Solution], axes: Sequence[Axes] | np.ndarray | None = None, against: str = "passes"
) -> np.ndarray:
    """Objective, and duality gap on a logarithmic scale, of one or more solver runs.

    Parameters
    ----------
    solutions : dict of str to Solution
        Runs and what the legend calls them.
    axes : pair of matplotlib Axes, optional
        Where to draw the objective and the gap.
    against : {"passes", "seconds"}
        The horizontal axis. Passes count from 1.

    Returns
    -------
    array of two matplotlib Axes
        Passes without a gap (NaN, or 0 at the optimum) are left out of the right panel.

    Examples
    --------
    >>> from types import SimpleNamespace as Solution
    >>> run = Solution(objective=[0.5, 0.4], duality_gap=[0.3, float("nan")], seconds=[0.1, 0.2])
    >>> axes = convergence({"plain": run})
    >>> len(axes[0].lines[0].get_xdata()), len(axes[1].lines[0].get_xdata())
    (2, 1)
    """
    one_of("against", against, ("passes", "seconds"))
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for (name, solution), color in zip(solutions.items(), action_colors(len(solutions)), strict=True):
        gap = np.asarray(solution.duality_gap, dtype=float)
        x = np.arange(1, len(gap) + 1) if against == "passes" else np.asarray(solution.seconds)
        shown = np.isfinite(gap) & (gap > 0)
        axes[0].plot(x, solution.objective, color=color, label=name)
        axes[1].plot(x[shown], gap[shown], color=color, label=name)
    axes[0].set(xlabel=against, title="objective")
    axes[1].set(xlabel=against, title="duality gap", yscale="log")
    if len(solutions) > 1:
        axes[1].legend()
    return np.asarray(axes)


def staircase(
    states: ArrayLike,
    n_states: int,
    ax: Axes | None = None,
    cost: ArrayLike | None = None,
    colors: Sequence[Any] | None = None,
) -> Axes:
    """The state of every interval as a staircase on the T x S grid, over the costs if they are given.

    Parameters
    ----------
    states : (T,) ints
        State index of every interval, from 0; it stays or climbs by one.
    n_states : int
        Number S of states, the height of the grid.
    ax : matplotlib Axes, optional
    cost : (T, S) array, optional
        Heat map under the staircase; infinite cells stay white.
    colors : S colours, optional
        Colour of the cells of each state. Without it one blue; with ``cost`` the cells are not filled.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = staircase([0, 0, 1, 2], n_states=3)
    >>> len(ax.patches)
    4
    """
    states = np.asarray(states)
    T = len(states)
    if ax is None:
        ax = plt.figure(figsize=(5, 3.2)).add_subplot()
    if cost is not None:
        shown = np.ma.masked_invalid(np.asarray(cost, dtype=float).T)
        ax.imshow(shown, cmap="YlOrBr", aspect="auto", origin="lower", interpolation="nearest",
                  extent=(0.5, T + 0.5, 0.5, n_states + 0.5))  # fmt: skip
    else:
        colors = [PALETTE[9]] * n_states if colors is None else colors
        for t, k in enumerate(states):
            ax.add_patch(Rectangle((t + 0.5, k + 0.5), 1, 1, facecolor=colors[k], edgecolor="none"))
    ax.vlines(np.arange(T + 1) + 0.5, 0.5, n_states + 0.5, color="#CCCCCC", lw=0.6)
    ax.hlines(np.arange(n_states + 1) + 0.5, 0.5, T + 0.5, color="#CCCCCC", lw=0.6)
    ax.step(np.arange(T + 1) + 0.5, np.append(states, states[-1]) + 1, where="post", color="black", lw=2)
    ax.set(xlim=(0.5, T + 0.5), ylim=(0.5, n_states + 0.5), xlabel="interval $t$", ylabel="state $k$")
    ax.set_yticks(range(1, n_states + 1))
    if T <= 20:
        ax.set_xticks(range(1, T + 1))
    ax.spines[:].set_visible(False)
    return ax


METHOD_STYLES = {  # colour and name of each method in every figure of results
    "ours": ("#CC3311", "2014"), "ours-extra-loss": ("#EE7733", "2014, extra loss"),
    "at-least-one": ("#DDAA33", "at least one"), "at-least-one-literal": ("#999933", "at least one, any label"),
    "ncut": ("#117733", "NCUT"), "uniform": ("#777777", "even split"),
    "hard-em": ("#AA4499", "hard EM"), "supervised": ("#0077BB", "supervised ridge"),
    "supervised-bias": ("#33BBEE", "supervised, bias"),
    "2014": ("#CC3311", "2014"), "recommended": ("#009988", "recommended"),
    "ridge-all": ("#0077BB", "ridge, all labels"), "lda-all": ("#332288", "LDA, all labels"),
}  # fmt: skip


def score_curves(
    table: Any, methods: Iterable[str], score: str = "iod", ax: Axes | None = None, weak: bool = False
) -> Axes:
    """Score against the labelled fraction, mean and standard deviation over the splits.

    Parameters
    ----------
    table : DataFrame of `ordering.paper.experiments.sweep`, of one size and one kind of splits
    methods : sequence of str
        Methods without labelled fractions become level lines with a band.
    score : str, a column
    ax : matplotlib Axes, optional
    weak : bool
        Draw every method but supervised ones at fraction 0 only, as level lines.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"method": "ours", "split": [0, 1], "fraction": 0.0, "iod": [0.6, 0.7]})
    >>> ax = score_curves(table, ["ours"])
    >>> ax.get_xlabel()
    'labelled fraction of the Sup pool'
    >>> plt.close(ax.figure)
    """
    if ax is None:
        ax = plt.figure().add_subplot()
    ends = np.array([0.0, 1.0])
    for method in methods:
        color, name = METHOD_STYLES[method]
        grouped = table[table["method"] == method].groupby("fraction")[score]
        mean, spread = grouped.mean(), grouped.std().fillna(0)
        if len(mean) == 1 or (weak and not method.startswith("supervised")):
            level, width = mean.iloc[0], spread.iloc[0]
            ax.plot(ends, [level, level], color=color, label=name)
            ax.fill_between(ends, level - width, level + width, color=color, alpha=0.15, lw=0)
        else:
            ax.errorbar(mean.index, mean, spread, color=color, label=name, marker="o", ms=4, capsize=3)
    ax.set(xlabel="labelled fraction of the Sup pool", ylabel=score)
    ax.legend(fontsize=9)
    return ax


def _ink(color):
    """Black or white, whichever is easier to read on ``color`` (relative luminance of WCAG)."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(color)]
    luminance = np.dot([0.2126, 0.7152, 0.0722], linear)
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"
