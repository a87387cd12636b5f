"""The ridge objective: a convex quadratic in the assignment, with the classifier minimised out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from ordering.clips import as_features, bad_values

_BLOCK = 8192
_SPARSE_GRAM = 0.02  # share of non-zero entries up to which a sparse Gram matrix is the faster one


class RidgeObjective:
    """Value, gradient and implicit classifier of ridge regression from features to assignments.

    With Pi the centring of rows, w the class weights and

        B = (1/N) Pi (I - X (X' Pi X + N lam I)^-1 X') Pi,

    the objective is f(Z) = sum_c w_c z_c' B z_c + sum_c kappa_c 1'z_c: the least value over W and b of
    (1/N) ||Z - X W - 1 b||^2 + lam ||W||^2 (columns weighted by w), plus a linear penalty. B is never formed.

    Parameters
    ----------
    features : (N, d) float32 or float64 array, np.memmap or SciPy CSR
        Read in blocks of rows, never copied as a whole; other numbers become float64. Dense blocks are shifted to
        the mean as they are read where the mean lies more than ten times the spread from 0.
    lam : float > 0
    kappa : (C,) or scalar, optional
        Penalty per interval of each class; not divided by N.
    class_weight : (C,), optional
        Weights of the quadratic part, the squared diagonal of the paper's D. Neither the classifier nor the
        linear part is weighted.
    row_weight : (N,), optional
        Weights r of the intervals, 1 by default; the paper's extra loss on labelled data is one choice. Pi is
        then diag(r) - r r' / sum(r), and rows count r_t / N.

    Raises
    ------
    ValueError
        If lam is not positive, features are NaN or infinite, or shapes do not fit.

    Notes
    -----
    Equations 5 to 7 of the paper, with lam ||W||^2 in place of (lam/2) ||W||^2, as in the released code.
    One Cholesky factor of X' Pi X + N lam I serves value, gradient and classifier: B D is the residual
    (1/N) Pi (D - X W) of the classifier W that belongs to D. With float32 features the products with X run in
    float32; sums over blocks of rows, the factorisation and all reductions are float64. Explained in
    ``book/04-ridge-disappears.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> objective = RidgeObjective(X, lam=1e-6)
    >>> Z = np.eye(2)[[0, 0, 1, 1]]
    >>> round(objective.value(Z), 5), objective.gradient(Z).shape
    (0.0, (4, 2))
    """

    def __init__(self, features, lam, kappa=None, class_weight=None, row_weight=None):
        features = as_features(features)
        N = features.shape[0]
        for row, column, value, _ in bad_values(features, [0, N]):
            raise ValueError(f"finite features expected, found {value} in row {row}, column {column}")
        if N == 0:
            raise ValueError("features of at least one row expected, found none")
        self.row_weight = np.ones(N) if row_weight is None else np.array(row_weight, np.float64)
        if self.row_weight.shape != (N,) or not (self.row_weight >= 0).all() \
                or not 0 < self.row_weight.sum() < np.inf:
            raise ValueError(f"row_weight: {N} finite numbers >= 0 expected, found {self.row_weight!r}")
        self._weighted = row_weight is not None
        self.features, self.shape = features, features.shape
        self._origin, self.mean, self._gram = centred_gram(features, self.row_weight)
        self._set(lam, kappa, class_weight)

    def with_settings(self, lam=None, kappa=None, class_weight=None):
        """The objective of other settings on the same features, whose Gram matrix is not computed again.

        Examples
        --------
        >>> import numpy as np
        >>> objective = RidgeObjective(np.array([[0.0], [1.0], [3.0]]), lam=1.0)
        >>> objective.with_settings(lam=2.0, kappa=[0.1, 0.0]).lam
        2.0
        """
        other = object.__new__(RidgeObjective)
        other.__dict__.update(self.__dict__)
        other._set(self.lam if lam is None else lam, kappa, class_weight)
        return other

    def _set(self, lam, kappa, class_weight):
        try:
            lam = float(lam)
        except (TypeError, ValueError):
            raise ValueError(f"lam: a number > 0 expected, found {lam!r}") from None
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam > 0 expected, found {lam!r}")
        if lam != getattr(self, "lam", None):
            # Inverted, so that a pass calls the BLAS of NumPy alone: SciPy's own copy would keep the cores waiting
            self._inverse_factor, _ = dtrtri(factorise(self._gram, self.shape[0] * lam), lower=1, overwrite_c=1)
        self.lam = lam
        self.kappa = None if kappa is None else np.array(kappa, dtype=np.float64)
        self.class_weight = None if class_weight is None else np.array(class_weight, dtype=np.float64)
        self._check_per_class("kappa", self.kappa, scalar=True)
        self._check_per_class("class_weight", self.class_weight, scalar=False)
        if self.class_weight is not None and self.class_weight.min() < 0:
            raise ValueError(f"class_weight >= 0 expected, found {self.class_weight.min()}")

    def curvature_bound(self, n_classes):
        """Rows (N,) and columns (C,) whose outer product bounds the Hessian: <D, hessian(D)> <= sum of r c D^2."""
        columns = np.ones(n_classes) if self.class_weight is None else self.class_weight
        return 2 / self.shape[0] * self.row_weight, columns

    def value(self, Z):
        """f(Z), a float."""
        Z = self._checked(Z)
        quadratic = 0.5 * np.sum(Z * self.hessian(Z))
        return float(quadratic + (0 if self.kappa is None else np.sum(Z @ self._kappa(Z))))

    def gradient(self, Z):
        """Gradient (N, C): 2 (B Z) diag(w) + 1 kappa'; the residual of the classifier, times 2 w / N."""
        gradient = self.hessian(Z)
        if self.kappa is not None:
            gradient += self._kappa(gradient)
        return gradient

    def hessian(self, D):
        """Change (N, C) of the gradient along D: 2 (B D) diag(w). The curvature along D is <D, hessian(D)>."""
        D = self._checked(D)
        W, b = self._ridge(D)
        product = times(self.features, W, self._origin)
        np.subtract(D, product, out=product)
        product -= b
        product *= 2 / self.shape[0]
        if self._weighted:
            product *= self.row_weight[:, None]
        if self.class_weight is not None:
            product *= self.class_weight
        return product

    def classifier(self, Z):
        """W (d, C) and b (C,) of the ridge regression on Z; not weighted, and free of kappa."""
        W, b = self._ridge(self._checked(Z))
        return W, b if self._origin is None else b - self._origin @ W

    # ---------------------------------------------------------------- private
    def _ridge(self, Z):
        """W (d, C), b (C,) on the features as they are held."""
        weighted = Z * self.row_weight[:, None] if self._weighted else Z
        mean = weighted.sum(axis=0) / self.row_weight.sum()
        right = transposed_times(self.features, weighted, self._origin)
        right -= self.row_weight.sum() * np.outer(self.mean, mean)
        W = self._inverse_factor.T @ (self._inverse_factor @ right)
        return W, mean - self.mean @ W

    def _kappa(self, Z):
        return np.broadcast_to(self.kappa, Z.shape[1:])

    def _checked(self, Z):
        Z = np.asarray(Z, dtype=np.float64)
        sizes = [v.size for v in (self.kappa, self.class_weight) if v is not None and v.ndim == 1]
        if Z.ndim != 2 or len(Z) != self.shape[0] or any(size != Z.shape[1] for size in sizes):
            wanted = (self.shape[0], sizes[0] if sizes else "C")
            raise ValueError(f"an assignment of shape {wanted} expected, found {Z.shape}")
        return Z

    @staticmethod
    def _check_per_class(name, values, scalar):
        if values is None:
            return
        if values.ndim > 1 or (values.ndim == 0 and not scalar) or not np.isfinite(values).all():
            raise ValueError(f"{name}: one finite number per class expected, found {values!r}")


def row_blocks(N):
    """Slices of at most 8192 rows."""
    return [slice(start, min(start + _BLOCK, N)) for start in range(0, N, _BLOCK)]


def centred_gram(X, weight):
    """Origin (d,) or None, mean (d,) of the rows once the origin is taken off, and Gram matrix X' Pi X (d, d).

    Products of a block run in the dtype of X, on rows near 0; sums are float64.
    """
    total, sparse = np.zeros(X.shape[1]), sp.issparse(X)
    densify = sparse and X.nnz > _SPARSE_GRAM * np.prod(X.shape, dtype=float)
    for rows in row_blocks(X.shape[0]):
        total += X[rows].T @ weight[rows] if sparse else weight[rows] @ X[rows]
    mean = total / weight.sum()
    origin = np.zeros_like(mean, X.dtype) if sparse else mean.astype(X.dtype)
    rest = mean - origin  # what the origin's rounding leaves of the mean
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in row_blocks(X.shape[0]):
        root = np.sqrt(weight[rows, None]).astype(X.dtype)
        if sparse and not densify:
            block = X[rows].multiply(root).tocsr()
            gram += (block.T @ block).toarray()
        else:
            block = X[rows].toarray() if sparse else X[rows] - origin
            block *= root
            gram += block.T @ block
    gram -= weight.sum() * np.outer(rest, rest)
    spread = np.sqrt(np.maximum(np.diag(gram), 0) / weight.sum())
    if sparse or not np.any(np.abs(mean) > 10 * spread):
        return None, mean, gram
    return origin, rest, gram


def factorise(gram, ridge):
    """Lower Cholesky factor of gram + ridge I."""
    gram = gram.copy()
    gram.flat[::len(gram) + 1] += ridge
    try:
        return cholesky(gram, lower=True)
    except LinAlgError:
        raise ValueError(f"lam: a positive definite X' Pi X + N lam I expected, found none at N lam = {ridge:.3g}"
                         "; take a larger lam or float64 features") from None


def transposed_times(X, Z, origin=None):
    """(X - origin)' Z (d, C): products of row blocks in the dtype of X, summed in float64."""
    product = np.zeros((Z.shape[1], X.shape[1]))
    for rows in row_blocks(X.shape[0]):
        block = X[rows] if origin is None else X[rows] - origin
        product += (Z[rows].T.astype(X.dtype, order="C") @ block)
    return product.T


def times(X, W, origin=None):
    """(X - origin) W (N, C) in float64; products of row blocks in the dtype of X."""
    W = np.ascontiguousarray(W, dtype=X.dtype)
    product = np.empty((X.shape[0], W.shape[1]))
    for rows in row_blocks(X.shape[0]):
        product[rows] = (X[rows] if origin is None else X[rows] - origin) @ W
    return product
