"""From frames to intervals: borders, windows, means and majorities."""

from __future__ import annotations

from collections import Counter

import numpy as np


def intervals(n_frames, frames):
    """Borders (T + 1,) of intervals; a rest of less than half an interval joins the last one."""
    T = max(1, (n_frames + frames // 2) // frames)
    return np.append(np.arange(T) * frames, n_frames)


def windows(edges, frames, window):
    """Slice of the `window` frames centred on each interval, cut at the ends of the clip."""
    starts = edges[:-1] - (window - frames) // 2
    return [slice(max(0, start), min(edges[-1], start + window)) for start in starts.tolist()]


def window_means(X, windows):
    means = np.stack([X[rows].mean(axis=0, dtype=np.float64) for rows in windows])
    return means if X.dtype == np.float64 else means.astype(np.float32)


def majority(labels, edges):
    """Most frequent label of each interval, on a tie the one that comes first."""
    return np.array([Counter(labels[start:end].tolist()).most_common(1)[0][0]
                     for start, end in zip(edges[:-1], edges[1:], strict=True)])
