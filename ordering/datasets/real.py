"""The real sets that come with the package."""

from __future__ import annotations

from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from ordering.clips import Clips, label_runs
from ordering.datasets.pooling import intervals, majority, windows

INTERVAL_SECONDS = {"mocap6": 0.5, "chords": 8 * 2048 / 44100, "gestures": 0.096, "birdsong": 0.01}
FRAMES_PER_INTERVAL = 5  # of the motion-capture recordings: half a second at 10 frames a second
FRAMES_PER_WINDOW = 11


class Recordings(NamedTuple):
    """Recordings frame by frame: a name, a (T, 12) array of angles and (T,) labels of each."""

    names: list[str]
    angles: list[np.ndarray]
    labels: list[np.ndarray]
    channels: list[str]
    actions: list[str]
    frames_per_second: float


def mocap6_recordings() -> Recordings:
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
    data = _shipped("mocap6")
    borders = data["offsets"][1:-1]
    return Recordings(data["recordings"].tolist(), np.split(data["angles"], borders),
                      np.split(data["labels"].astype(np.int64), borders), data["channels"].tolist(),
                      data["actions"].tolist(), 10.0)


def load_mocap6(pieces_seconds: float | None = 10.0) -> Clips:
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
        cuts = np.empty(0, np.int64)
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


def load_chords(return_groups: bool = False) -> Any:
    """Harmony of 495 excerpts of popular songs: 24 chords, in intervals of 0.37 seconds.

    Parameters
    ----------
    return_groups : bool
        Also return the number (n,) of each clip's artist; a split should not cut a group.

    Returns
    -------
    clips : Clips
        24 float64 features (12 bass, 12 treble chroma), labels, ``background="optional"``: no chord, 1 % of the
        intervals. Lists name the chords only; nearly all of them touch.
    groups : (n,) ints
        With ``return_groups=True``.

    Notes
    -----
    From the McGill Billboard Project 2.0 (Burgoyne, Wild, Fujinaga, ISMIR 2011). Terms:
    ``ordering/data/LICENSE-chords.txt``; seconds of an interval: ``INTERVAL_SECONDS["chords"]``.

    Examples
    --------
    >>> load_chords()
    Clips(495 clips, 39600 intervals, 24 features, 24 actions, background='optional', labelled)
    """
    return _labelled_set("chords", return_groups)


def load_gestures(return_groups: bool = False) -> Any:
    """Gestures while telling a story: 4 phases and rest, in intervals of 0.096 seconds.

    Parameters
    ----------
    return_groups : bool
        As in `load_chords`; a group is a recording.

    Returns
    -------
    clips : Clips
        282 float64 features (positions, velocities, accelerations), labels, ``background="optional"``: rest, 28 %
        of the intervals. Lists name the phases only.

    Notes
    -----
    From UCI Gesture Phase Segmentation (Madeo, Lima, Peres, 2013). Terms:
    ``ordering/data/LICENSE-gestures.txt``; seconds of an interval: ``INTERVAL_SECONDS["gestures"]``.

    Examples
    --------
    >>> load_gestures().action_names
    ['Preparation', 'Stroke', 'Hold', 'Retraction']
    """
    return _labelled_set("gestures", return_groups)


def load_birdsong(return_groups: bool = False) -> Any:
    """Song of one Bengalese finch: 11 syllables, in intervals of 0.01 seconds.

    Parameters
    ----------
    return_groups : bool
        As in `load_chords`; a group is a song.

    Returns
    -------
    clips : Clips
        32 float64 features (log power bands), labels, ``background="optional"``: gaps, 45 % of the intervals.
        Lists name the syllables only.

    Notes
    -----
    The mean of the gaps is taken away from each recording's features: a constant that came from labels, which
    centring per clip takes off again. From test data of hybrid-vocal-classifier, of the Bengalese Finch Song
    Repository (Nicholson, Queen, Sober, 2017). Terms: ``ordering/data/LICENSE-birdsong.txt``; seconds of an
    interval: ``INTERVAL_SECONDS["birdsong"]``.

    Examples
    --------
    >>> clips, songs = load_birdsong(return_groups=True)
    >>> "".join(clips.action_names), len(set(songs.tolist()))
    ('abcdefghijk', 4)
    """
    return _labelled_set("birdsong", return_groups)


def _shipped(name):
    with (resources.files("ordering") / "data" / f"{name}.npz").open("rb") as file:
        with np.load(file, allow_pickle=False) as data:
            return dict(data)


def _labelled_set(name, return_groups):
    """What ``scripts/make_real_sets.py`` stored: columns as multiples of a step, the bytes of these apart."""
    data = _shipped(name)
    counts = np.ascontiguousarray(np.moveaxis(data["counts"], 0, -1)).view("<i2")[..., 0]
    actions, lengths = data["actions"].tolist(), data["lengths"].astype(np.int64)
    labels = data["labels"].astype(np.int64)
    runs = [label_runs(part) for part in np.split(labels, np.cumsum(lengths)[:-1])]
    clips = Clips(counts * data["step"], lengths, [run[run != len(actions)] for run in runs], len(actions),
                  "optional", labels, actions, data["clip_names"].tolist())
    return (clips, data["groups"].astype(np.int64)) if return_groups else clips
