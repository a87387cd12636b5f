"""The ridge objective: a convex quadratic in the assignment, with the classifier minimised out."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from ordering.features import Features


class Objective(Protocol):
    """What the solvers ask of a convex quadratic; `curvature_bound` is for the block solver only."""

    def value(self, Z: np.ndarray) -> float: ...

    def gradient(self, Z: np.ndarray) -> np.ndarray: ...

    def hessian(self, D: np.ndarray) -> np.ndarray: ...


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

    def __init__(self, features: Any, lam: float, kappa: ArrayLike | None = None,
                 class_weight: ArrayLike | None = None, row_weight: ArrayLike | None = None) -> None:
        N = features.shape[0] if hasattr(features, "shape") and features.shape else len(features)
        self.row_weight = None if row_weight is None else np.array(row_weight, np.float64)
        if self.row_weight is not None and not (self.row_weight.shape == (N,) and (self.row_weight >= 0).all()
                                                and 0 < self.row_weight.sum() < np.inf):
            raise ValueError(f"row_weight: {N} finite numbers >= 0 expected, found {row_weight!r}")
        self._features = features if isinstance(features, Features) else Features(features, self.row_weight)
        self.features, self.shape = self._features.X, self._features.shape
        self._rows = N if self.row_weight is None else self.row_weight.sum()
        self._set(lam, kappa, class_weight)

    def with_settings(self, lam: float | None = None, kappa: ArrayLike | None = None,
                      class_weight: ArrayLike | None = None) -> RidgeObjective:
        """The objective of other settings on the same features, whose Gram matrix is not computed again.

        What is not given stays as it is.

        Examples
        --------
        >>> objective = RidgeObjective(np.array([[0.0], [1.0], [3.0]]), lam=1.0, kappa=[0.1, 0.0])
        >>> other = objective.with_settings(lam=2.0)
        >>> other.lam, other.kappa.tolist()
        (2.0, [0.1, 0.0])
        """
        other = object.__new__(RidgeObjective)
        other.__dict__.update(self.__dict__)
        other._set(self.lam if lam is None else lam, self.kappa if kappa is None else kappa,
                   self.class_weight if class_weight is None else class_weight)
        return other

    def _set(self, lam, kappa, class_weight):
        try:
            lam = float(lam)
        except (TypeError, ValueError):
            raise ValueError(f"lam: a number > 0 expected, found {lam!r}") from None
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam > 0 expected, found {lam!r}")
        if lam != getattr(self, "lam", None):
            self._inverse_factor = inverse_factor(self._features.gram, self.shape[0] * lam)
        self.lam = lam
        self.kappa = _per_class("kappa", kappa, scalar=True)
        self.class_weight = _per_class("class_weight", class_weight, scalar=False)
        if self.class_weight is not None and self.class_weight.min() < 0:
            raise ValueError(f"class_weight >= 0 expected, found {self.class_weight.min()}")

    def curvature_bound(self, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows (N,) and columns (C,) whose outer product bounds the Hessian: <D, hessian(D)> <= sum of r c D^2."""
        columns = np.ones(n_classes) if self.class_weight is None else self.class_weight
        rows = np.ones(self.shape[0]) if self.row_weight is None else self.row_weight
        return 2 / self.shape[0] * rows, columns

    def value(self, Z: np.ndarray) -> float:
        """f(Z)."""
        Z = self._checked(Z)
        quadratic = 0.5 * np.sum(Z * self.hessian(Z))
        return float(quadratic + (0 if self.kappa is None else np.sum(Z @ self._kappa(Z))))

    def gradient(self, Z: np.ndarray) -> np.ndarray:
        """Gradient (N, C): 2 (B Z) diag(w) + 1 kappa'; the residual of the classifier, times 2 w / N."""
        gradient = self.hessian(Z)
        if self.kappa is not None:
            gradient += self._kappa(gradient)
        return gradient

    def hessian(self, D: np.ndarray) -> np.ndarray:
        """Change (N, C) of the gradient along D: 2 (B D) diag(w). The curvature along D is <D, hessian(D)>."""
        D = self._checked(D)
        product = self._features.right((model := self._ridge(D))[0])
        np.subtract(D, product, out=product)
        product -= model[1]
        product *= 2 / self.shape[0]
        if self.row_weight is not None:
            product *= self.row_weight[:, None]
        if self.class_weight is not None:
            product *= self.class_weight
        return product

    def classifier(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W (d, C) and b (C,) of the ridge regression on Z; not weighted, and free of kappa."""
        return self.on_features(*self._ridge(self._checked(Z)))

    # --------------------------------------------------------- from sums over the rows, for the solver's loop
    def model(self, moment: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W and b, of the rows less the origin, on a Z of which X' R Z (d, C) and the column sums of R Z are given."""
        W = self._inverse_factor.T @ (self._inverse_factor @ (moment - np.outer(self._features.mean, count)))
        return W, count / self._rows - self._features.mean @ W

    def curvature(self, moment: np.ndarray, count: np.ndarray, square: np.ndarray) -> float:
        """``<D, hessian(D)>`` from sums of D: ``(2/N) sum_c w_c (d'R d - (1'R d)^2 / 1'R1 - |L^-1 X' Pi d|^2)``."""
        fitted = self._inverse_factor @ (moment - np.outer(self._features.mean, count))
        rest = square - count**2 / self._rows - np.sum(fitted * fitted, axis=0)
        return 2 / self.shape[0] * float(rest.sum() if self.class_weight is None else self.class_weight @ rest)

    def on_features(self, W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same classifier for features from which no origin was taken."""
        return W, b if self._features.origin is None else b - self._features.origin @ W

    # ---------------------------------------------------------------- private
    def _ridge(self, Z):
        weighted = Z if self.row_weight is None else Z * self.row_weight[:, None]
        return self.model(self._features.left(weighted), weighted.sum(axis=0))

    def _kappa(self, Z):
        return np.broadcast_to(self.kappa, Z.shape[1:])

    def _checked(self, Z):
        Z = np.asarray(Z, dtype=np.float64)
        sizes = [v.size for v in (self.kappa, self.class_weight) if v is not None and v.ndim == 1]
        if Z.ndim != 2 or len(Z) != self.shape[0] or any(size != Z.shape[1] for size in sizes):
            wanted = (self.shape[0], sizes[0] if sizes else "C")
            raise ValueError(f"an assignment of shape {wanted} expected, found {Z.shape}")
        return Z


def _per_class(name, values, scalar):
    if values is None:
        return None
    values = np.array(values, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 0 and not scalar) or not np.isfinite(values).all():
        raise ValueError(f"{name}: one finite number per class expected, found {values!r}")
    return values


def inverse_factor(gram: np.ndarray, ridge: float) -> np.ndarray:
    """Inverse of the lower Cholesky factor of gram + ridge I.

    Inverted, so that a pass calls the BLAS of NumPy alone: SciPy's own copy would keep the cores waiting.
    """
    gram = gram.copy()
    gram.flat[::len(gram) + 1] += ridge
    try:
        return dtrtri(cholesky(gram, lower=True), lower=1, overwrite_c=1)[0]
    except LinAlgError:
        raise ValueError(f"lam: a positive definite X' Pi X + N lam I expected, found none at N lam = {ridge:.3g}"
                         "; take a larger lam or float64 features") from None
