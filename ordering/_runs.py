"""Runs: maximal stretches of one label inside one clip."""

from __future__ import annotations

import numpy as np


def runs(labels: np.ndarray, ends: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Where each run starts and stops, (R,) and (R,) positions in row order.

    Parameters
    ----------
    labels : (N,) ints
    ends : (n,) ints, optional
        Where each clip stops, which no run crosses; None: the labels are one clip.

    Examples
    --------
    >>> start, stop = runs(np.array([2, 2, 0, 0, 0]), ends=np.array([4, 5]))
    >>> start.tolist(), stop.tolist()
    ([0, 2, 4], [2, 4, 5])
    """
    first = np.ones(len(labels), dtype=bool)
    np.not_equal(labels[1:], labels[:-1], out=first[1:])
    if ends is not None:
        first[np.asarray(ends)[:-1]] = True
    start = np.flatnonzero(first)
    return start, np.append(start[1:], len(labels)) if len(start) else start
