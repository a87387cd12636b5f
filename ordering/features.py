"""The features as the ridge objective needs them: their Gram matrix, and products from the left and the right."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ordering.clips import as_features, bad_values

SPARSE_GRAM = 0.02  # share of non-zero entries up to which a sparse Gram matrix is the faster one
_BLOCK = 8192


class Features:
    """Rows x_t - o of N intervals: the features less an origin o that keeps products near 0.

    Parameters
    ----------
    X : (N, d) float32 or float64 array, np.memmap or SciPy CSR
        Read in blocks of rows, never copied as a whole. The origin is the mean where that lies more than ten times
        the spread from 0, and 0 elsewhere and for CSR.
    weight : (N,) floats >= 0, optional
        Weights r of the rows, 1 by default.

    Attributes
    ----------
    origin : (d,) array or None
    mean : (d,) float64, the weighted mean of the rows x_t - o
    gram : (d, d) float64, X' Pi X with Pi = diag(r) - r r' / sum(r)

    Raises
    ------
    ValueError
        If features are NaN or infinite.

    Notes
    -----
    Products of a block run in the dtype of X; sums over blocks are float64. Explained in
    ``book/04-ridge-disappears.ipynb``.

    Examples
    --------
    >>> features = Features(np.array([[1.0], [3.0]]))
    >>> features.mean.tolist(), features.gram.tolist(), features.left(np.eye(2)).tolist()
    ([2.0], [[2.0]], [[1.0, 3.0]])
    """

    def __init__(self, X: Any, weight: np.ndarray | None = None) -> None:
        self.X = as_features(X)
        self.origin: np.ndarray | None = None
        self.shape, self.dtype = self.X.shape, self.X.dtype
        if self.shape[0] == 0:
            raise ValueError("features of at least one row expected, found none")
        self._add_up(weight)
        if self._take_origin(self.shape[0] if weight is None else weight.sum()):
            self._add_up(weight)

    def _add_up(self, weight):
        """Mean and Gram matrix in one read."""
        N, d = self.shape
        total, gram = np.zeros(d), np.zeros((d, d))
        dense = not sp.issparse(self.X) or self.X.nnz > SPARSE_GRAM * N * d
        for rows in row_blocks(N):
            block = self.block(rows, dense)
            if weight is None:
                total += np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
            else:
                total += block.T @ weight[rows]
                root = np.sqrt(weight[rows, None]).astype(block.dtype)
                block = block * root if dense else block.multiply(root).tocsr()
            product = block.T @ block
            gram += product if dense else product.toarray()
        if not np.all(np.isfinite(np.diag(gram))):
            for row, column, value, _ in bad_values(self.X, [0, N]):
                raise ValueError(f"finite features expected, found {value} in row {row}, column {column}")
        rows = N if weight is None else weight.sum()
        self.mean = total / rows
        self.gram = gram - rows * np.outer(self.mean, self.mean)

    @classmethod
    def together(cls, statistics: list[tuple[int, np.ndarray, np.ndarray]], dtype: Any) -> Features:
        """Statistics of several row sets together (Chan, Golub and LeVeque): (rows, mean, Gram matrix) of each.

        The result has no rows: X is None.
        """
        N, mean, gram = statistics[0]
        for n, mean_n, gram_n in statistics[1:]:
            shift = mean_n - mean
            gram = gram + gram_n + N * n / (N + n) * np.outer(shift, shift)
            mean, N = mean + n / (N + n) * shift, N + n
        self = object.__new__(cls)
        self.X, self.shape, self.dtype, self.gram, self.mean = None, (N, len(mean)), dtype, gram, mean
        self._take_origin(N)
        return self

    def _take_origin(self, rows):
        """Choose the origin from mean and spread; whether there is one."""
        self.origin = None
        spread = np.sqrt(np.maximum(np.diag(self.gram), 0) / rows)
        if not sp.issparse(self.X) and np.any(np.abs(self.mean) > 10 * spread):
            self.origin = self.mean.astype(self.dtype)
            self.mean = self.mean - self.origin
        return self.origin is not None

    def with_origin(self, origin: np.ndarray | None) -> Features:
        """The same rows less another origin, for products only."""
        other = copy(self)
        other.origin = origin
        return other

    def block(self, rows: slice, dense: bool = False) -> Any:
        """Some rows x_t - o; a view where there is no origin."""
        block = self.X[rows]
        if dense and sp.issparse(block):
            return block.toarray()
        return block if self.origin is None else block - self.origin

    def right(self, W: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Products (rows, C) with W (d, C), in float64."""
        W = np.ascontiguousarray(W, dtype=self.X.dtype)
        first, last, _ = rows.indices(self.shape[0])
        product = np.empty((last - first, W.shape[1]))
        for part in row_blocks(last - first):
            product[part] = self.block(slice(first + part.start, first + part.stop)) @ W
        return product

    def left(self, D: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Products (d, C) of the transposed rows with D (rows, C), in float64."""
        first, last, _ = rows.indices(self.shape[0])
        product = np.zeros((D.shape[1], self.shape[1]))
        for part in row_blocks(last - first):
            block = self.block(slice(first + part.start, first + part.stop))
            product += D[part].T.astype(self.X.dtype, order="C") @ block
        return product.T


def linear_scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores X W + b (N, C) in float64, whatever the dtype of X, without a copy of all of it.

    Examples
    --------
    >>> linear_scores(np.array([[1.0], [2.0]]), np.array([[3.0]]), np.array([0.5])).tolist()
    [[3.5], [6.5]]
    """
    scores = np.empty((X.shape[0], W.shape[1]))
    for rows in row_blocks(X.shape[0]):
        scores[rows] = X[rows] @ W + b
    return scores


def row_blocks(N: int) -> list[slice]:
    """Slices of at most 8192 rows."""
    return [slice(start, min(start + _BLOCK, N)) for start in range(0, N, _BLOCK)]
