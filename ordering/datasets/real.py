"""The real sets that come with the package."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

import numpy as np

from ordering.clips import Clips, label_runs
from ordering.datasets.pooling import intervals, majority, windows

FRAMES_PER_INTERVAL = 5  # of the motion-capture recordings: half a second at 10 frames a second
FRAMES_PER_WINDOW = 11


class Recordings(NamedTuple):
    """Recordings frame by frame: a name, a (T, 12) array of angles and (T,) labels of each."""

    names: list
    angles: list
    labels: list
    channels: list
    actions: list
    frames_per_second: float


def mocap6_recordings():
    """Frames of the six motion-capture recordings, as published.

    Returns
    -------
    Recordings
        `names` (CMU subject and trial), `angles` ((T, 12) arrays in degrees, the first channel the height of
        the root; means taken away), `labels` ((T,) exercise of every frame), `channels`, `actions` and
        `frames_per_second` (10).

    Notes
    -----
    Fox, Hughes, Sudderth and Jordan, Annals of Applied Statistics 8(3), 2014. The data used in this project
    was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF EIA-0196217. Terms:
    ``ordering/data/LICENSE-mocap6.txt``. Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> mocap6_recordings().names
    ['13_29', '13_30', '13_31', '14_06', '14_14', '14_20']
    """
    with (resources.files("ordering") / "data" / "mocap6.npz").open("rb") as file:
        with np.load(file, allow_pickle=False) as data:
            borders = data["offsets"][1:-1]
            return Recordings(data["recordings"].tolist(), np.split(data["angles"], borders),
                              np.split(data["labels"].astype(np.int64), borders), data["channels"].tolist(),
                              data["actions"].tolist(), 10.0)


def load_mocap6(pieces_seconds=10.0):
    """Six motion-capture recordings of twelve exercises, in intervals of half a second.

    Parameters
    ----------
    pieces_seconds : float or None
        Cut each recording every so many seconds, into clips of their own; a rest of less than half a piece
        stays with the last one. None: whole recordings.

    Returns
    -------
    Clips
        float64 features in the columns as computed, not scaled; no background; `labels` and `action_names`.
        A clip is named after its recording and, if it is a piece, its number in it: ``13_29/0``.

    Notes
    -----
    36 features: mean, standard deviation and mean absolute difference from frame to frame of each of the 12
    channels of `mocap6_recordings`, over the 11 frames centred on an interval of 5 (beside a cut they reach
    into the next piece). The label is the most frequent one of the 5 frames. A piece's transcript is what its
    labels show: a fixed cut often falls inside an exercise, which then ends one piece and opens the next.
    Source and terms: see `mocap6_recordings`. Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> load_mocap6(pieces_seconds=None)
    Clips(6 clips, 410 intervals, 36 features, 12 actions, background=None, labelled)
    """
    if pieces_seconds is not None and not 0 < pieces_seconds < np.inf:
        raise ValueError(f"pieces_seconds: a positive number or None expected, found {pieces_seconds!r}")
    recordings = mocap6_recordings()
    features, labels, names = [], [], []
    for name, angles, truth in zip(recordings.names, recordings.angles, recordings.labels, strict=True):
        edges = intervals(len(angles), FRAMES_PER_INTERVAL)
        X = _motion_features(angles, windows(edges, FRAMES_PER_INTERVAL, FRAMES_PER_WINDOW))
        y = majority(truth, edges)
        cuts = []
        if pieces_seconds is not None:
            per_second = recordings.frames_per_second / FRAMES_PER_INTERVAL
            cuts = intervals(len(y), max(1, round(pieces_seconds * per_second)))[1:-1]
        features += np.split(X, cuts)
        labels += np.split(y, cuts)
        names += [name] if pieces_seconds is None else [f"{name}/{i}" for i in range(len(cuts) + 1)]
    return Clips.from_list(features, [label_runs(part) for part in labels], background=None, labels=labels,
                           action_names=recordings.actions, clip_names=names)


def _motion_features(angles, windows):
    """Mean, standard deviation and mean absolute difference of each channel over each window."""
    parts = [angles[rows] for rows in windows]
    means, deviations = [part.mean(axis=0) for part in parts], [part.std(axis=0) for part in parts]
    return np.hstack([means, deviations, [np.abs(np.diff(part, axis=0)).mean(axis=0) for part in parts]])
