"""From labels to rows of who does what when, and from rows to files."""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path

import numpy as np

from ordering.clips import _compress


def segments(labels, clips, interval_seconds=None):
    """List who does what when: one row for each run of an action.

    Parameters
    ----------
    labels : (N,) ints
        Classes of all intervals, such as `OrderedActionLabeling.labels_`.
    clips : Clips
    interval_seconds : float, optional
        Length of an interval; adds the times in seconds.

    Returns
    -------
    list of dict
        `clip` and `action` (names where `clips` has them, else numbers), `start` and `end` in intervals from
        the clip's start (`end` is the first interval after the run), and `start_seconds`, `end_seconds`.
        Runs of background are left out. Equal actions that touch are one run.

    Raises
    ------
    ValueError
        `labels` is not one class of `clips` for each interval.

    Notes
    -----
    Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((5, 1)), [5], [[0, 1]], 2, action_names=["sit", "walk"], clip_names=["a"])
    >>> segments([2, 0, 0, 1, 2], clips, interval_seconds=0.5)[0]
    {'clip': 'a', 'action': 'sit', 'start': 1, 'end': 3, 'start_seconds': 0.5, 'end_seconds': 1.5}
    """
    labels, N = np.asarray(labels), int(np.sum(clips.lengths))
    if labels.shape != (N,) or labels.dtype.kind not in "iu":
        raise ValueError(f"labels: {N} ints expected, one for each interval, found {labels.dtype} of shape "
                         f"{labels.shape}")
    if np.any((labels < 0) | (labels >= clips.n_classes)):
        raise ValueError(f"labels: classes in [0, {clips.n_classes}) expected, found {labels.min()}.."
                         f"{labels.max()}")
    rows = []
    for i in range(len(clips)):
        values, counts = _compress(labels[clips.rows(i)])
        ends = np.cumsum(counts)
        for action, start, end in zip(values.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
            if action == clips.background_class:
                continue
            row = {"clip": clips.clip_names[i] if clips.clip_names else i,
                   "action": clips.action_names[action] if clips.action_names else action,
                   "start": start, "end": end}
            if interval_seconds is not None:
                row |= {"start_seconds": start * interval_seconds, "end_seconds": end * interval_seconds}
            rows.append(row)
    return rows


def write_segments(path, rows):
    """Write the rows of `segments` as a CSV file, whole or not at all.

    Parameters
    ----------
    path : str or path
        Replaced if it is there.
    rows : list of dict
        What `segments` returns.

    Notes
    -----
    Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "labels.csv"
    >>> write_segments(path, [{"clip": "a", "action": "sit", "start": 1, "end": 3}])
    >>> path.read_text().splitlines()
    ['clip,action,start,end', 'a,sit,1,3']
    """
    path = Path(path)
    columns = list(rows[0]) if rows else ["clip", "action", "start", "end"]
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with open(handle, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
