"""Normalised cuts: affinities between intervals of a clip that are near in time, and the objective made of them.

Explained in ``book/11-baselines.ipynb``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import eigsh

from ordering._check import number, positive_integer
from ordering.kernels.compile import compiled

if TYPE_CHECKING:
    from ordering.clips import Clips

__all__ = ["NormalizedCut", "affinity", "chi_squared_band"]


def chi_squared_band(clips: Clips, width: int = 10, square: bool = True) -> np.ndarray:
    """Chi-squared distances between each interval and those that follow it closely in its clip.

    Parameters
    ----------
    clips : Clips
        Features must not be negative.
    width : int
        Intervals i and j are compared if ``|i - j| < width`` (d_min in the paper).
    square : bool
        True: features are square-rooted histograms, and their squares are compared; False: as they are. The
        paper does not say which.

    Returns
    -------
    (N, width - 1) array
        Column k - 1 holds the distance from row i to row i + k, NaN if that is no row of the same clip. With
        histograms h and g it is 1/2 sum_j (h_j - g_j)^2 / (h_j + g_j), in [0, 1] if both sum to 1; bins
        empty in both count 0, so two empty histograms are at distance 0.

    Raises
    ------
    ValueError
        If a feature is negative or `width` is no positive integer.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.sqrt([[1, 0], [1, 0], [0, 1.0]]), [3], [[0]], n_actions=1)
    >>> chi_squared_band(clips, width=3).round(12).tolist()
    [[0.0, 1.0], [1.0, nan], [nan, nan]]
    """
    width = positive_integer("width", width)
    band = np.full((clips.offsets[-1], width - 1), np.nan)
    for i in range(len(clips)):
        rows = clips.rows(i)
        features = clips.features[rows]
        features = features.toarray() if sp.issparse(features) else np.asarray(features)
        if features.min(initial=0) < 0:
            t, j = (int(x[0]) for x in np.nonzero(features < 0))
            raise ValueError(
                f"clip {i}: features >= 0 expected for chi-squared distances, found {features[t, j]} at its "
                f"interval {t}, feature {j}"
            )
        _chi_squared(np.ascontiguousarray(features**2 if square else features), band[rows])
    return band


@compiled
def _chi_squared(histograms, band):
    T, d = histograms.shape
    for t in range(T):
        for k in range(1, min(band.shape[1], T - 1 - t) + 1):
            total = 0.0
            for j in range(d):
                both = histograms[t, j] + histograms[t + k, j]
                if both > 0:
                    total += (histograms[t, j] - histograms[t + k, j]) ** 2 / both
            band[t, k - 1] = total / 2


def affinity(distances: np.ndarray, alpha: float = 0.1, beta: float | None = None) -> sp.csr_array:
    """Sparse affinity ``E_ij = exp(-alpha |i - j| - beta distance_ij)`` of all clips.

    Parameters
    ----------
    distances : (N, width - 1) array
        From `chi_squared_band`; beyond the band and between clips E is 0.
    alpha : float >= 0
    beta : float >= 0, optional
        Default: 1 / the mean distance in the band, or 1 if that mean is 0 (all rows of each clip the same).

    Returns
    -------
    (N, N) CSR array
        Symmetric, block-diagonal, banded, 1 on the diagonal.

    Raises
    ------
    ValueError
        If alpha or beta is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> affinity(np.array([[0.0], [np.nan]]), alpha=0.0).toarray().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    inside = np.isfinite(distances)
    if beta is None:
        mean = distances[inside].mean() if inside.any() else 0.0
        beta = 1 / mean if mean > 0 else 1.0
    alpha, beta = number("alpha", alpha, least=0), number("beta", beta, least=0)
    N = len(distances)
    row, gap = np.nonzero(inside)
    upper = sp.csr_array((np.exp(-alpha * (gap + 1) - beta * distances[inside]), (row, row + gap + 1)), (N, N))
    return (upper + upper.T + sp.eye_array(N)).tocsr()


class NormalizedCut:
    """The convex objective g(Z) = Tr(Z' B Z), B = I - D^{-1/2} E D^{-1/2}, D = diag(E 1).

    Has the methods that `frank_wolfe` asks of an objective.

    Parameters
    ----------
    E : (N, N) sparse array
        Symmetric, >= 0. A row of zeros (an isolated interval) keeps the identity's row in B.

    Raises
    ------
    ValueError
        If E is not square or has a negative or infinite entry.

    Notes
    -----
    Section 6 of the paper. B is positive semidefinite and D^{1/2} 1 spans its null space on each connected
    part. On 0/1 assignments g is not Shi and Malik's Ncut, whose columns are scaled. Explained in
    ``book/11-baselines.ipynb``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> objective = NormalizedCut(sp.csr_array(np.ones((2, 2))))
    >>> [round(objective.value(Z), 9) for Z in (np.eye(2), np.array([[1, 0], [1, 0]]))]
    [1.0, 0.0]
    """

    def __init__(self, E: ArrayLike | sp.sparray | sp.spmatrix) -> None:
        E = sp.csr_array(E)
        if E.shape[0] != E.shape[1]:
            raise ValueError(f"E: a square matrix expected, found shape {E.shape}")
        wrong = E.data[~(np.isfinite(E.data) & (E.data >= 0))]
        if len(wrong):
            raise ValueError(f"E: finite affinities >= 0 expected, found {wrong[0]}")
        degree = E.sum(axis=1)
        scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
        self._smooth = (sp.diags_array(scale) @ E @ sp.diags_array(scale)).tocsr()

    def curvature_bound(self, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows (N,) and columns (C,) whose outer product bounds the Hessian: <D, hessian(D)> <= sum of r c D^2.

        The Hessian is 2 B, and the largest eigenvalue of B is 1 less the least one, at least -1, of
        D^{-1/2} E D^{-1/2}, which is found to a thousandth and given a margin of one hundredth.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> rows, columns = NormalizedCut(sp.csr_array(np.ones((2, 2)))).curvature_bound(3)
        >>> rows.round(2).tolist(), columns.tolist()
        ([2.02, 2.02], [1.0, 1.0, 1.0])
        """
        N = self._smooth.shape[0]
        if N < 100:
            least = np.linalg.eigvalsh(self._smooth.toarray())[0]
        else:
            start = np.cos(np.arange(N))  # the same at every call
            least = eigsh(self._smooth, k=1, which="SA", tol=1e-3, v0=start, return_eigenvectors=False)[0]
        return np.full(N, 2.02 * (1 - min(least, 0.0))), np.ones(n_classes)

    def value(self, Z: ArrayLike) -> float:
        """g(Z), a float."""
        Z = np.asarray(Z, dtype=np.float64)
        return 0.5 * float(np.sum(Z * self.hessian(Z)))

    def gradient(self, Z: ArrayLike) -> np.ndarray:
        """2 B Z, (N, C)."""
        return self.hessian(Z)

    def hessian(self, D: ArrayLike) -> np.ndarray:
        """The gradient's change 2 B D (N, C) along D."""
        D = np.asarray(D, dtype=np.float64)
        if D.ndim != 2 or len(D) != self._smooth.shape[0]:
            raise ValueError(f"an assignment of shape ({self._smooth.shape[0]}, C) expected, found {D.shape}")
        return 2 * (D - self._smooth @ D)
