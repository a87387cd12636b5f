"""The ridge objective: a convex quadratic in the assignment, with the classifier minimised out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from ordering.clips import not_finite

_BLOCK = 8192


class RidgeObjective:
    """Value, gradient and implicit classifier of ridge regression from features to assignments.

    With Pi the centring of rows, w the class weights and

        B = (1/N) Pi (I - X (X' Pi X + N lam I)^-1 X') Pi,

    the objective is f(Z) = sum_c w_c z_c' B z_c + sum_c kappa_c 1'z_c: the least value over W and b of
    (1/N) ||Z - X W - 1 b||^2 + lam ||W||^2 (columns weighted by w), plus a linear penalty. B is never formed.

    Parameters
    ----------
    features : (N, d) float32 or float64 array, np.memmap or SciPy CSR
        Dense features in memory are copied once, centred and whitened, in their own dtype. Memory-mapped and
        sparse features are not copied; products read them in blocks of rows.
    lam : float > 0
    kappa : (C,) or scalar, optional
        Penalty per interval of each class; not divided by N.
    class_weight : (C,), optional
        Weights of the quadratic part, the squared diagonal of the paper's D. Neither the classifier nor the
        linear part is weighted.

    Raises
    ------
    ValueError
        If lam is not positive, features are NaN or infinite, or shapes do not fit.

    Notes
    -----
    Equations 5 to 7 of the paper, with lam ||W||^2 in place of (lam/2) ||W||^2, as in the released code.
    With L L' = X' Pi X + N lam I and Y = Pi X L^-T (N x d), Pi X (...)^-1 X' Pi = Y Y', so that one
    factorisation serves value, gradient and classifier. With float32 features the products with Y run in
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

    def __init__(self, features, lam, kappa=None, class_weight=None):
        if not (np.isscalar(lam) and np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam > 0 expected, found {lam!r}")
        bad = not_finite(features, 1)
        if bad:
            row, column, value = bad[0]
            raise ValueError(f"finite features expected, found {value} in row {row}, column {column}")
        self.lam = float(lam)
        self.kappa = None if kappa is None else np.array(kappa, dtype=np.float64)
        self.class_weight = None if class_weight is None else np.array(class_weight, dtype=np.float64)
        self._check_per_class("kappa", self.kappa, scalar=True)
        self._check_per_class("class_weight", self.class_weight, scalar=False)
        if self.class_weight is not None and self.class_weight.min() < 0:
            raise ValueError(f"class_weight >= 0 expected, found {self.class_weight.min()}")
        whiten = isinstance(features, np.ndarray) and not isinstance(features, np.memmap)
        self._products = (_Whitened if whiten else _Streamed)(features, self.lam)

    @property
    def shape(self):
        """(N, d)."""
        return self._products.shape

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
        product = self._products.smooth(D)
        np.subtract(D, product, out=product)
        product -= D.mean(axis=0)
        product *= 2 / self.shape[0]
        if self.class_weight is not None:
            product *= self.class_weight
        return product

    def classifier(self, Z):
        """W (d, C) and b (C,) of the ridge regression on Z; not weighted, and free of kappa."""
        Z = self._checked(Z)
        W = self._products.weights(Z)
        return W, Z.mean(axis=0) - self._products.mean @ W

    # ---------------------------------------------------------------- private
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


class _Whitened:
    """Products with one working copy Y = Pi X L^-T of dense features."""

    def __init__(self, X, lam):
        self.shape = X.shape
        self.mean, gram = centred_gram(X)
        self.factor = factorise(gram, X.shape[0] * lam)
        narrow = self.factor.astype(X.dtype)
        self.Y = np.empty(X.shape, X.dtype)
        for rows in row_blocks(len(X)):
            block = np.asfortranarray((X[rows] - self.mean).astype(X.dtype).T)
            self.Y[rows] = solve_triangular(narrow, block, lower=True, overwrite_b=True, check_finite=False).T

    def smooth(self, D):
        """Y Y' D, the part of the centred D that the classifier explains."""
        return times(self.Y, transposed_times(self.Y, D))

    def weights(self, Z):
        """W = (X' Pi X + N lam I)^-1 X' Pi Z."""
        return solve_triangular(self.factor, transposed_times(self.Y, Z), lower=True, trans="T")


class _Streamed:
    """The same products from memory-mapped or sparse features, read in blocks of rows and never copied."""

    def __init__(self, X, lam):
        self.X, self.shape = X, X.shape
        self.mean, gram = centred_gram(X)
        self.factor = factorise(gram, X.shape[0] * lam)

    def smooth(self, D):
        W = self.weights(D)
        return times(self.X, W) - self.mean @ W

    def weights(self, Z):
        right = transposed_times(self.X, Z) - np.outer(self.mean, Z.sum(axis=0))
        return cho_solve((self.factor, True), right)


def row_blocks(N):
    """Slices of at most 8192 rows."""
    return [slice(start, min(start + _BLOCK, N)) for start in range(0, N, _BLOCK)]


def centred_gram(X):
    """Mean (d,) and centred Gram matrix X' Pi X (d, d) in float64; products of a block in the dtype of X."""
    total = np.zeros(X.shape[1])
    for rows in row_blocks(X.shape[0]):
        total += np.asarray(X[rows].sum(axis=0, dtype=np.float64)).ravel()
    mean = total / X.shape[0]
    gram = np.zeros((X.shape[1], X.shape[1]))
    for rows in row_blocks(X.shape[0]):
        block = X[rows]
        if sp.issparse(block):
            gram += (block.T @ block).toarray()
        else:
            block = (block - mean).astype(X.dtype)
            gram += block.T @ block
    if sp.issparse(X):
        gram -= X.shape[0] * np.outer(mean, mean)
    return mean, gram


def factorise(gram, ridge):
    """Lower Cholesky factor of gram + ridge I."""
    gram = gram.copy()
    gram.flat[::len(gram) + 1] += ridge
    try:
        return cholesky(gram, lower=True)
    except LinAlgError:
        raise ValueError(f"lam: a positive definite X' Pi X + N lam I expected, found none at N lam = {ridge:.3g}"
                         "; take a larger lam or float64 features") from None


def transposed_times(X, Z):
    """X' Z (d, C): products of row blocks in the dtype of X, summed in float64."""
    product = np.zeros((X.shape[1], Z.shape[1]))
    for rows in row_blocks(X.shape[0]):
        product += X[rows].T @ Z[rows].astype(X.dtype, copy=False)
    return product


def times(X, W):
    """X W (N, C) in float64; products of row blocks in the dtype of X."""
    W = W.astype(X.dtype, copy=False)
    product = np.empty((X.shape[0], W.shape[1]))
    for rows in row_blocks(X.shape[0]):
        product[rows] = X[rows] @ W
    return product
