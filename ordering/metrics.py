"""How good are labels and scores: interval overlaps, accuracy, precision and recall, average precision.

Labels are (N,) integers, the intervals of all clips stacked; `lengths` (n,) says how many belong to each
clip. A *run* is a maximal stretch of one label inside one clip. Explained in ``book/10-measuring.ipynb``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordering._check import is_integer, one_of
from ordering._runs import runs

__all__ = [
    "IntervalScores",
    "average_precision",
    "frame_accuracy",
    "interval_scores",
    "precision_recall",
    "single_interval_floor",
    "summary",
]


@dataclass(frozen=True)
class IntervalScores:
    """Result of `interval_scores`.

    Attributes
    ----------
    mean : float
        The score, averaged as the chosen definition says; NaN if the truth holds nothing to score.
    per_class : (C,) array
        Mean of the entries of each class; NaN where a class has none. The background has none.
    per_interval : (R,) array
        One score per non-background true run, in row order. With ``match="frames"`` one per pair of clip and
        true label, clip by clip, labels ascending.
    """

    mean: float
    per_class: np.ndarray
    per_interval: np.ndarray


def interval_scores(
    true: ArrayLike,
    predicted: ArrayLike,
    lengths: ArrayLike,
    background: int | None,
    match: str = "ordered",
    normalize: str = "prediction",
) -> IntervalScores:
    """Overlap of true and predicted intervals of each action.

    Papers report such a number under at least three definitions; all are here.

    Parameters
    ----------
    true, predicted : (N,) ints
        Labels of every interval, clips stacked. They need not follow any order.
    lengths : (n,) ints
        Number of intervals in each clip; they sum to N.
    background : int or None
        The class that is not scored. None: every class counts.
    match : {"ordered", "best", "frames"}
        "ordered" (released code of the paper): in each clip the true runs, background runs included, are
        taken in order, and each is matched to the first predicted run of its class after the one matched
        before. A true run without a match scores 0 and the search does not move. The mean pools the runs of
        all clips.
        "best": a true run takes its best score among the clip's predicted runs of its class; mean per clip,
        then over the clips that have a true action.
        "frames": for each label that is true somewhere in a clip, the two sets of intervals with that label
        are compared; mean over all pairs of clip and label.
    normalize : {"prediction", "union", "truth"}
        What the intersection is divided by: the prediction (IoD, the paper's "Jaccard"), the union (IoU) or
        the truth. An absent prediction scores 0.

    Returns
    -------
    IntervalScores
        With ``mean``, ``per_class`` (one entry for every class up to the largest label or `background`) and
        ``per_interval``.

    Raises
    ------
    ValueError
        If shapes do not agree, labels are not integers >= 0, or an option is unknown.

    Notes
    -----
    Intersection over prediction is the measure of section 6 of the paper. One predicted interval inside each
    action scores 1, so read it beside IoU, accuracy and action recall (`summary`). Explained in
    ``book/10-measuring.ipynb``.

    Examples
    --------
    >>> true = [2, 0, 0, 0, 2, 1, 1, 2]
    >>> found = [2, 2, 0, 2, 1, 1, 2, 2]
    >>> interval_scores(true, found, [8], background=2).per_interval
    array([1. , 0.5])
    >>> interval_scores(true, found, [8], background=2, normalize="truth").per_class.round(2)
    array([0.33, 0.5 ,  nan])
    """
    true, predicted, lengths = _checked(true, predicted, lengths)
    background = _checked_background(background)
    matcher = _MATCHERS[one_of("match", match, _MATCHERS)]
    overlap = _OVERLAPS[one_of("normalize", normalize, _OVERLAPS)]

    borders = np.cumsum(lengths)[:-1]
    found = [
        (clip, label, score)
        for clip, (t, p) in enumerate(zip(np.split(true, borders), np.split(predicted, borders), strict=True))
        for label, score in matcher(t, p, overlap)
        if label != background
    ]
    clip = np.array([f[0] for f in found], dtype=np.intp)
    label = np.array([f[1] for f in found], dtype=np.intp)
    score = np.array([f[2] for f in found], dtype=np.float64)
    n_classes = max(true.max(), predicted.max(), -1 if background is None else background) + 1
    per_class = _group_means(label, score, n_classes)
    pooled = score if match != "best" else _group_means(clip, score, len(lengths))
    pooled = pooled[~np.isnan(pooled)]
    return IntervalScores(float(pooled.mean()) if len(pooled) else float("nan"), per_class, score)


def _ordered(true, predicted, overlap):
    found = _labelled_runs(predicted)
    position = 0
    for label, start, stop in _labelled_runs(true):
        match = next((j for j in range(position, len(found)) if found[j][0] == label), None)
        if match is None:
            yield label, 0.0
            continue
        position = match + 1
        _, p, q = found[match]
        yield label, _run_overlap(start, stop, p, q, overlap)


def _best(true, predicted, overlap):
    found = _labelled_runs(predicted)
    for label, start, stop in _labelled_runs(true):
        scores = [_run_overlap(start, stop, p, q, overlap) for c, p, q in found if c == label]
        yield label, max(scores, default=0.0)


def _frames(true, predicted, overlap):
    for label in np.unique(true):
        t, p = true == label, predicted == label
        yield int(label), overlap(int((t & p).sum()), int(t.sum()), int(p.sum())) if p.any() else 0.0


_MATCHERS = {"ordered": _ordered, "best": _best, "frames": _frames}
_OVERLAPS: dict[str, Callable[[int, int, int], float]] = {  # common, true, predicted numbers of intervals -> score
    "prediction": lambda common, n_true, n_predicted: common / n_predicted,
    "union": lambda common, n_true, n_predicted: common / (n_true + n_predicted - common),
    "truth": lambda common, n_true, n_predicted: common / n_true,
}


def _run_overlap(start, stop, p, q, overlap):
    return overlap(max(0, min(stop, q) - max(start, p)), stop - start, q - p)


def _labelled_runs(labels):
    """The runs of one clip as a list of (label, start, stop)."""
    start, stop = runs(labels)
    return list(zip(labels[start].tolist(), start.tolist(), stop.tolist(), strict=True))


def _group_means(group, values, n_groups):
    """Mean of the values of each group, NaN for an empty group."""
    counts = np.bincount(group, minlength=n_groups)
    sums = np.bincount(group, weights=values, minlength=n_groups)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def single_interval_floor(true: ArrayLike, lengths: ArrayLike, background: int | None) -> float:
    """Expected IoD when one interval, drawn at random in the clip, is predicted for each true action run.

    It is the run's share of its clip, averaged over all non-background runs: the floor under every IoD.

    Parameters
    ----------
    true : (N,) ints
    lengths : (n,) ints
    background : int or None

    Returns
    -------
    float
        NaN if there is no action. Explained in ``book/10-measuring.ipynb``.

    Examples
    --------
    >>> single_interval_floor([2, 0, 0, 0, 2, 1, 1, 2], [8], background=2)
    0.3125
    """
    true, _, lengths = _checked(true, true, lengths)
    background = _checked_background(background)
    shares = [
        (stop - start) / len(t)
        for t in np.split(true, np.cumsum(lengths)[:-1])
        for label, start, stop in _labelled_runs(t)
        if label != background
    ]
    return float(np.mean(shares)) if shares else float("nan")


def frame_accuracy(true: ArrayLike, predicted: ArrayLike) -> float:
    """Share of intervals whose label is right, background included.

    Parameters
    ----------
    true, predicted : (N,) ints

    Returns
    -------
    float
        Explained in ``book/10-measuring.ipynb``.

    Raises
    ------
    ValueError
        If shapes do not agree or labels are not integers >= 0.

    Examples
    --------
    >>> frame_accuracy([2, 0, 0, 2], [2, 0, 2, 2])
    0.75
    """
    true, predicted, _ = _checked(true, predicted)
    return float(np.mean(true == predicted))


def precision_recall(true: ArrayLike, predicted: ArrayLike, background: int | None) -> tuple[float, float]:
    """Precision and recall of the intervals, background left out.

    Precision is the share of right labels among the intervals predicted as some action, recall the share
    among those that truly are one; 0/0 = 0. With ``background=None`` every interval counts.

    Parameters
    ----------
    true, predicted : (N,) ints
    background : int or None

    Returns
    -------
    (precision, recall) : floats
        The recall is also called action recall. Explained in ``book/10-measuring.ipynb``.

    Raises
    ------
    ValueError
        If shapes do not agree or labels are not integers >= 0.

    Examples
    --------
    >>> precision_recall([2, 0, 0, 2], [2, 0, 2, 2], background=2)
    (1.0, 0.5)
    """
    true, predicted, _ = _checked(true, predicted)
    background = _checked_background(background)
    action = np.ones(len(true), dtype=bool) if background is None else true != background
    claimed = np.ones(len(true), dtype=bool) if background is None else predicted != background
    right = int(np.count_nonzero((true == predicted) & action))
    return right / max(int(claimed.sum()), 1), right / max(int(action.sum()), 1)


def summary(
    true: ArrayLike, predicted: ArrayLike, lengths: ArrayLike, background: int | None
) -> dict[str, float]:
    """The numbers that are printed together wherever one of them appears.

    Parameters
    ----------
    true, predicted : (N,) ints
    lengths : (n,) ints
    background : int or None

    Returns
    -------
    dict
        ``iod`` and ``iou`` (released code's matching), ``accuracy``, ``recall`` (action recall),
        ``background_share`` (of the prediction) and ``floor`` (expected IoD of a random single interval).
        Explained in ``book/10-measuring.ipynb``.

    Examples
    --------
    >>> found = summary([2, 0, 0, 2], [2, 0, 2, 2], [4], background=2)
    >>> found["iod"], found["iou"], found["accuracy"], found["background_share"]
    (1.0, 0.5, 0.75, 0.75)
    """
    predicted = np.asarray(predicted)
    return {
        "iod": interval_scores(true, predicted, lengths, background).mean,
        "iou": interval_scores(true, predicted, lengths, background, normalize="union").mean,
        "accuracy": frame_accuracy(true, predicted),
        "recall": precision_recall(true, predicted, background)[1],
        "background_share": 0.0 if background is None else float(np.mean(predicted == background)),
        "floor": single_interval_floor(true, lengths, background),
    }


def average_precision(truth: ArrayLike, scores: ArrayLike, method: str = "voc07") -> Any:
    """Average precision of scores, one ranking per column.

    Parameters
    ----------
    truth : (N,) or (N, C) of 0 and 1
    scores : as `truth`, float
    method : {"voc07", "area"}
        "voc07": the released code's 11-point rule. Rows are sorted by falling score, ties in row order;
        recall is divided by (positives + machine epsilon); a point (recall 0, precision 1) is put first;
        the mean of the highest precision at recall >= t over t = 0 * 0.1, 1 * 0.1, ..., 10 * 0.1, products
        in floating point as in that code (3 * 0.1 lies a little above 0.3).
        "area": scikit-learn's sum of precision times step in recall; tied scores are one threshold.

    Returns
    -------
    float or (C,) array
        A class without positives gets 1/11 ("voc07", for the leading point) or 0 ("area"), with one warning.

    Raises
    ------
    ValueError
        If shapes differ, truth is not 0 or 1, or a score is NaN or infinite.

    Notes
    -----
    The paper's mean AP is over all columns, background included. Explained in ``book/10-measuring.ipynb``.

    Examples
    --------
    >>> float(average_precision([1, 0, 1, 0], [.9, .8, .7, .1], method="area"))
    0.8333333333333333
    >>> average_precision([1, 0, 1, 0], [.9, .8, .7, .1]) > .8333
    True
    """
    truth, scores = np.asarray(truth), np.asarray(scores)
    if truth.shape != scores.shape or truth.ndim not in (1, 2) or len(truth) == 0:
        raise ValueError(
            "truth, scores: one shape (N,) or (N, C) with N > 0 expected, "
            f"found {truth.shape} and {scores.shape}"
        )
    if not np.all((truth == 0) | (truth == 1)):
        other = truth[(truth != 0) & (truth != 1)].flat[0]
        raise ValueError(f"truth: 0 and 1 only expected, found {other}; for labels use one column per class")
    if not np.all(np.isfinite(scores)):
        row = tuple(int(i) for i in np.argwhere(~np.isfinite(scores))[0])
        raise ValueError(f"scores: finite numbers expected, found {scores[row]} at {row}")
    one = _AVERAGES[one_of("method", method, _AVERAGES)]
    columns = truth.reshape(len(truth), -1) == 1, scores.reshape(len(scores), -1).astype(np.float64)
    empty = np.flatnonzero(~columns[0].any(axis=0))
    if len(empty):
        value = "1/11" if method == "voc07" else "0"
        message = f"no positives in column(s) {empty.tolist()}: average precision set to {value}"
        warnings.warn(message, stacklevel=2)
    found = np.array([one(t, s) for t, s in zip(columns[0].T, columns[1].T, strict=True)])
    return found if truth.ndim == 2 else float(found[0])


def _voc07(truth, scores):
    hits = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    recall = np.append(0.0, hits / (hits[-1] + np.finfo(float).eps))
    precision = np.append(1.0, hits / np.arange(1, len(hits) + 1))
    # Recall never falls, so the best precision at recall >= t is a running maximum from the end.
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(np.mean(best[np.searchsorted(recall, np.arange(11) * 0.1)]))


def _area(truth, scores):
    from sklearn.metrics import average_precision_score  # heavy to import

    return float(average_precision_score(truth, scores)) if truth.any() else 0.0


_AVERAGES = {"voc07": _voc07, "area": _area}


def _checked(
    true: ArrayLike, predicted: ArrayLike, lengths: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels as int arrays of one shape, lengths that sum to it."""
    true, predicted = _checked_labels("true", true), _checked_labels("predicted", predicted)
    if true.shape != predicted.shape:
        raise ValueError(f"predicted: as many labels as true, {len(true)}, expected, found {len(predicted)}")
    lengths = np.asarray([len(true)] if lengths is None else lengths)
    positive = lengths.ndim == 1 and lengths.dtype.kind in "iu" and (lengths > 0).all()
    if not positive or lengths.sum() != len(true):
        raise ValueError(
            f"lengths: positive ints, one per clip, with sum {len(true)}, the number of labels, expected, "
            f"found shape {lengths.shape}, dtype {lengths.dtype}, sum {lengths.sum()}"
        )
    return true, predicted, lengths


def _checked_labels(name: str, labels: ArrayLike) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) == 0 or labels.min() < 0:
        raise ValueError(
            f"{name}: a non-empty (N,) array of integer labels >= 0 expected, found shape {labels.shape}, "
            f"dtype {labels.dtype}" + (f", smallest {labels.min()}" if labels.size else "")
        )
    return labels


def _checked_background(background):
    if background is None:
        return None
    if not is_integer(background) or background < 0:
        raise ValueError(f"background: a class >= 0 or None expected, found {background!r}")
    return int(background)
