"""From frames to intervals: borders, windows, means and majorities."""

from __future__ import annotations

from collections import Counter

import numpy as np


def intervals(n_frames: int, frames: int) -> np.ndarray:
    """Borders (T + 1,) of intervals; a rest of less than half an interval joins the last one.

    Examples
    --------
    >>> intervals(24, 10).tolist(), intervals(25, 10).tolist()
    ([0, 10, 24], [0, 10, 20, 25])
    """
    T = max(1, (n_frames + frames // 2) // frames)
    return np.append(np.arange(T) * min(frames, n_frames), n_frames)


def frames_for(n_frames: np.ndarray, n_actions: np.ndarray) -> int:
    """Frames of an interval that leave twenty intervals an action in half of the clips, two in each; at most 10.

    Examples
    --------
    >>> frames_for(np.array([900, 1500]), np.array([4, 5])), frames_for(np.array([27, 50]), np.array([3, 3]))
    (10, 1)
    """
    per_action = n_frames / np.maximum(n_actions, 1)
    return int(np.clip(min(np.median(per_action) // 20, per_action.min() // 2), 1, 10))


def windows(edges: np.ndarray, frames: int, window: int) -> list[slice]:
    """Slice of the `window` frames centred on each interval, cut at the ends of the clip."""
    starts = [edge - (window - frames) // 2 for edge in edges[:-1].tolist()]  # of Python: any window
    return [slice(max(0, start), min(int(edges[-1]), start + window)) for start in starts]


def window_means(X: np.ndarray, rows: list[slice]) -> np.ndarray:
    """Mean of the features over each window, summed in float64."""
    if len(rows) == len(X) and all(part.stop - part.start == 1 for part in rows):
        return X
    means = np.stack([X[part].mean(axis=0, dtype=np.float64) for part in rows])
    return means.astype(X.dtype)


def majority(labels: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Most frequent label of each interval, on a tie the one that comes first."""
    if len(edges) == len(labels) + 1:
        return labels
    return np.array([Counter(labels[start:end].tolist()).most_common(1)[0][0]
                     for start, end in zip(edges[:-1], edges[1:], strict=True)])
