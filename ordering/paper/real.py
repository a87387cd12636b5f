"""The shipped real sets, the methods that the book compares on them, and their scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ordering import baselines, datasets, metrics
from ordering.admissible import round_scores
from ordering.clips import Clips, compress, label_runs
from ordering.labeling import OrderedActionLabeling

SETS: dict[str, Callable[[], Clips]] = {
    "motion capture, pieces": datasets.load_mocap6,
    "motion capture, whole": lambda: datasets.load_mocap6(pieces_seconds=None),
    "chords": datasets.load_chords, "gestures": datasets.load_gestures, "birdsong": datasets.load_birdsong,
}
SPLIT = ("motion capture, pieces", "chords", "gestures", "birdsong")  # those with clips enough to be split
LEAST_LOG = -15.0  # log-probability of a class below which differences do not count
SECONDS = {name: datasets.INTERVAL_SECONDS.get(name, datasets.INTERVAL_SECONDS["mocap6"]) for name in SETS}


def load(small: bool = False) -> dict[str, Clips]:
    """The five rows of every table on real data; ``small`` keeps one excerpt in eight of the chords.

    Examples
    --------
    >>> list(load(small=True))
    ['motion capture, pieces', 'motion capture, whole', 'chords', 'gestures', 'birdsong']
    """
    sets = {name: function() for name, function in SETS.items()}
    if small:
        sets["chords"] = sets["chords"][::8]
    return sets


def standardised(clips: Clips) -> Clips:
    """Columns of mean 0 and deviation 1 (constant ones 0), for methods with a ridge term."""
    X = clips.features
    deviation = X.std(axis=0)
    return clips.with_features((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1))


def histograms(clips: Clips) -> Clips:
    """The features as the paper has them: >= 0, rows of sum 1, square-rooted. All its baselines can read them.

    Each column is moved to begin at 0 and divided by its deviation first.

    Examples
    --------
    >>> X = histograms(datasets.load_gestures()).features
    >>> bool(X.min() >= 0), bool(np.allclose((X**2).sum(axis=1), 1))
    (True, True)
    """
    X = standardised(clips).features
    X = X - X.min(axis=0)
    return clips.with_features(np.sqrt(X / X.sum(axis=1, keepdims=True)))


def pauses_listed(clips: Clips) -> Clips:
    """The same clips with each run of background in their lists, as an action like the others.

    Examples
    --------
    >>> pauses_listed(datasets.load_gestures())
    Clips(82 clips, 3290 intervals, 282 features, 5 actions, background=None, labelled)
    """
    if clips.background is None:
        return clips
    lists = [label_runs(part) for part in np.split(np.asarray(clips.labels), clips.offsets[1:-1])]
    names = [*(clips.action_names or map(str, range(clips.n_actions))), "pause"]
    return Clips(clips.features, clips.lengths, lists, len(names), None, clips.labels, names, clips.clip_names)


def lda(clips: Clips, known: ArrayLike, **settings: Any) -> np.ndarray:
    """Labels (N,) from Gaussian classes of one covariance, scikit-learn's, fitted on known rows (>= 0) alone.

    ``settings`` are scikit-learn's. A class that no known row has is as unlikely as one can be.

    Examples
    --------
    >>> clips = datasets.load_gestures()
    >>> score(clips, lda(clips, clips.labels))["IoU"] > 0.5
    True
    """
    known = np.asarray(known)
    scores = np.full((clips.n_intervals, clips.n_classes), LEAST_LOG)
    classes = np.unique(known[known >= 0])
    scores[:, classes] = 0.0
    if len(classes) > 1:
        fitted = LinearDiscriminantAnalysis(**settings).fit(clips.features[known >= 0], known[known >= 0])
        scores[:, classes] = np.maximum(fitted.predict_log_proba(clips.features), LEAST_LOG)
    return round_scores(scores, clips)


# By the names of `ordering.plots.METHOD_STYLES`; the last two have seen all true labels.
METHODS: dict[str, Callable[[Clips], np.ndarray]] = {
    "uniform": baselines.uniform,
    "hard-em": lambda clips: baselines.hard_em(standardised(clips)),
    "at-least-one": lambda clips: baselines.at_least_one(standardised(clips), n_iter=20),
    "2014": lambda clips: OrderedActionLabeling().fit_predict(standardised(clips)),
    "recommended": lambda clips: OrderedActionLabeling.recommended().fit_predict(clips),
    "ridge-all": lambda clips: baselines.supervised(standardised(clips), clips.labels),
    "lda-all": lambda clips: lda(clips, np.asarray(clips.labels)),
}


def label(clips: Clips, methods: Iterable[str] = tuple(METHODS)) -> dict[str, np.ndarray]:
    """Labels (N,) of clips by each method (at least one in twenty passes); warnings of collapse are silenced.

    Examples
    --------
    >>> found = label(datasets.load_gestures(), ["uniform", "recommended"])
    >>> {method: labels.shape for method, labels in found.items()}
    {'uniform': (3290,), 'recommended': (3290,)}
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {method: METHODS[method](clips) for method in methods}


def segment_f1(true: ArrayLike, found: ArrayLike, lengths: ArrayLike, background: int | None,
               overlap: float = 0.5) -> float:
    """F1 of runs: one that was found is right if it overlaps a true run of its class, not yet taken, by that IoU.

    Examples
    --------
    >>> segment_f1([2, 0, 0, 1, 1], [0, 0, 0, 2, 1], [5], background=2)
    1.0
    """
    true, found = np.asarray(true), np.asarray(found)
    hits = total = 0
    for stop, length in zip(np.cumsum(lengths), np.asarray(lengths), strict=True):
        left, mine = (_runs(labels[stop - length:stop], background) for labels in (true, found))
        total += len(left) + len(mine)
        for c, start, end in mine:
            each = [(min(end, e) - max(start, s)) / (max(end, e) - min(start, s)) if k == c else 0 for k, s, e in left]
            if each and max(each) >= overlap:
                del left[int(np.argmax(each))]
                hits += 1
    return 2 * hits / max(total, 1)


def _runs(labels, background):
    values, counts = compress(labels)
    ends = np.cumsum(counts)
    return [(v, e - n, e) for v, n, e in zip(values, counts, ends, strict=True) if v != background]


def score(clips: Clips, labels: ArrayLike) -> dict[str, float]:
    """All scores of labels, by the names under which the book shows them.

    Examples
    --------
    >>> clips = datasets.load_gestures()
    >>> score(clips, clips.labels)["IoU"]
    1.0
    """
    true, background = np.asarray(clips.labels), clips.background_class
    s = metrics.summary(true, labels, clips.lengths, background)
    share = float("nan") if background is None else s["background_share"]
    return {"IoU": s["iou"], "IoD": s["iod"], "accuracy": s["accuracy"], "action recall": s["recall"],
            "background": share, "F1": segment_f1(true, labels, clips.lengths, background)}
