"""From features as they are to about thirty directions of unit variance, whatever their scale and number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ordering.features import row_blocks

DIRECTIONS = 30
ROWS = 50_000  # that the directions are computed from


class Whitening(NamedTuple):
    """Columns scaled to unit variance, a share of each clip's mean taken away, principal directions scaled.

    Attributes
    ----------
    mean : (d,) mean of the columns
    matrix : (d, q) from scaled columns to directions, divided by the root of variance + .1 of the mean variance
    share : float, of each clip's mean that is taken away
    """

    mean: np.ndarray
    matrix: np.ndarray
    share: float

    def __call__(self, X, lengths):
        """Rows (N, q) of features (N, d)."""
        rows = np.empty((X.shape[0], self.matrix.shape[1]))
        for part in row_blocks(X.shape[0]):
            rows[part] = X[part] @ self.matrix - self.mean @ self.matrix
        return centred(rows, lengths, self.share)


def whiten(X, lengths, share):
    """`Whitening` of features (N, d) of clips of these lengths; nothing is drawn at random."""
    thin = X[::1 + X.shape[0] // ROWS] if X.shape[0] > ROWS else X
    thin = thin.toarray() if hasattr(thin, "toarray") else thin
    thin = np.asarray(thin, np.float64)
    mean, scale = thin.mean(axis=0), thin.std(axis=0)
    kept = scale > 1e-7 * np.maximum(np.abs(mean), 1e-300)
    if not kept.any():
        return Whitening(mean, np.zeros((X.shape[1], 1)), share)
    inverse = np.where(kept, 1 / np.where(kept, scale, 1.0), 0.0)
    clip = np.repeat(np.arange(len(lengths)), lengths)[::1 + X.shape[0] // ROWS]
    Y = centred((thin - mean) * inverse, np.bincount(clip)[np.unique(clip)], share)
    w, V = _directions(Y)
    return Whitening(mean, inverse[:, None] * V / np.sqrt(w + 0.1 * w.mean() + 1e-12), share)


def _directions(Y):
    """The largest variances and their directions, with signs that do not depend on the library."""
    if Y.shape[1] <= len(Y):
        w, V = np.linalg.eigh(Y.T @ Y / len(Y))
    else:
        _, s, V = np.linalg.svd(Y, full_matrices=False)
        w, V = s[::-1] ** 2 / len(Y), V[::-1].T
    w, V = w[::-1][:DIRECTIONS], V[:, ::-1][:, :DIRECTIONS]
    V = V * np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1, 1)
    good = w > 1e-9 * max(w[0], 1e-300)
    good[0] = True
    return np.maximum(w[good], 0), V[:, good]


def centred(X, lengths, share=1.0):
    """Rows less a share of the mean row of their clip."""
    starts = np.cumsum(lengths) - lengths
    return X - share * np.repeat(np.add.reduceat(X, starts) / np.asarray(lengths)[:, None], lengths, axis=0)


def pooled(rows, lengths, size):
    """Means of blocks of `size` rows of each clip, and the clips' lengths in blocks."""
    if size == 1:
        return rows, lengths
    blocks = -(-lengths // size)
    inside = np.concatenate([np.arange(T) // size for T in lengths])
    n = np.bincount(inside + np.repeat(np.cumsum(blocks) - blocks, lengths))
    return np.add.reduceat(rows, np.cumsum(n) - n, axis=0) / n[:, None], blocks
