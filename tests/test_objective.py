"""The ridge objective against its definition: B by hand, finite differences, scikit-learn's ridge."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from ordering import RidgeObjective
from ordering.objective import _BLOCK

KAPPA = np.array([-0.1, 0.2, 0.3])
WEIGHT = np.array([1.0, 0.5, 2.0])


def make(N=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, d)) + 3, rng.dirichlet(np.ones(3), N)


def b_matrix(X, lam):
    N = len(X)
    Pi = np.eye(N) - 1 / N
    X = Pi @ X  # no effect on B, but on its rounding errors
    return Pi @ (np.eye(N) - X @ np.linalg.solve(X.T @ Pi @ X + N * lam * np.eye(X.shape[1]), X.T)) @ Pi / N


@pytest.mark.parametrize("shape", [(40, 6), (20, 50), (_BLOCK + 300, 3)])
@pytest.mark.parametrize("lam", [1e-4, 1.0])
def test_value_and_gradient_against_b(shape, lam):
    X, Z = make(*shape)
    if shape[0] > 1000:
        objective, plain = RidgeObjective(X, lam), Ridge(alpha=shape[0] * lam).fit(X, Z)
        W = plain.coef_.T
        residual = Z - X @ W - plain.intercept_
        assert_allclose(objective.value(Z), np.mean(np.sum(residual**2, axis=1)) + lam * np.sum(W**2), rtol=1e-9)
        return
    B = b_matrix(X, lam)
    objective = RidgeObjective(X, lam, KAPPA, WEIGHT)
    assert_allclose(objective.value(Z), np.trace(WEIGHT * (Z.T @ B @ Z)) + np.sum(Z @ KAPPA), rtol=1e-9)
    assert_allclose(objective.gradient(Z), 2 * B @ Z * WEIGHT + KAPPA, rtol=1e-8, atol=1e-12)
    assert_allclose(objective.hessian(Z), 2 * B @ Z * WEIGHT, rtol=1e-8, atol=1e-12)


def test_classifier_is_scikit_learns_ridge_and_ignores_the_weights():
    X, Z = make()
    W, b = RidgeObjective(X, 0.01, KAPPA, WEIGHT).classifier(Z)
    ridge = Ridge(alpha=len(X) * 0.01).fit(X, Z)
    assert W.shape == (6, 3) and b.shape == (3,)
    assert_allclose(W, ridge.coef_.T, rtol=1e-8, atol=1e-12)
    assert_allclose(b, ridge.intercept_, rtol=1e-8)


@pytest.mark.parametrize("kind", ["csr", "memmap", "float32", "csr32", "fortran", "read-only"])
def test_every_kind_of_features_gives_the_same(kind, tmp_path):
    X, Z = make(N=_BLOCK + 50)
    X[np.random.default_rng(1).random(X.shape) < 0.7] = 0
    reference = RidgeObjective(X, 0.01, KAPPA, WEIGHT)
    before = X.copy()
    if kind.startswith("csr"):
        other = sp.csr_matrix(X, dtype=np.float32 if kind == "csr32" else np.float64)
    elif kind == "memmap":
        other = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=X.shape)
        other[:] = X
    else:
        other = {"float32": X.astype(np.float32), "fortran": np.asfortranarray(X), "read-only": X}[kind]
        other.flags.writeable = False
    objective = RidgeObjective(other, 0.01, KAPPA, WEIGHT)
    tolerance = 1e-5 if "32" in kind else 1e-10
    assert_allclose(objective.value(Z), reference.value(Z), rtol=tolerance)
    for ours, theirs in zip([objective.gradient(Z), *objective.classifier(Z)],
                            [reference.gradient(Z), *reference.classifier(Z)], strict=True):
        assert ours.dtype == np.float64
        assert np.abs(ours - theirs).max() <= 100 * tolerance * np.abs(theirs).max()
    np.testing.assert_array_equal(X, before)


def test_scalar_kappa_is_for_all_classes():
    X, Z = make()
    assert_allclose(RidgeObjective(X, 1, 0.5).value(Z), RidgeObjective(X, 1, np.full(3, 0.5)).value(Z))
    assert_allclose(RidgeObjective(X, 1, 0.5).value(Z) - RidgeObjective(X, 1).value(Z), 0.5 * len(X))


@pytest.mark.parametrize("kwargs, word", [
    ({"lam": 0}, "lam > 0"), ({"lam": -1}, "lam > 0"), ({"lam": np.nan}, "lam > 0"),
    ({"lam": 1, "kappa": np.zeros((2, 2))}, "kappa"), ({"lam": 1, "kappa": [0, np.nan]}, "kappa"),
    ({"lam": 1, "class_weight": 2.0}, "class_weight"), ({"lam": 1, "class_weight": [1, -1]}, "class_weight")])
def test_bad_settings(kwargs, word):
    with pytest.raises(ValueError, match=word):
        RidgeObjective(make()[0], **kwargs)


def test_bad_features_and_assignments():
    X, Z = make()
    objective = RidgeObjective(X, 1, KAPPA)
    for wrong in (Z[:5], Z[:, :2], Z[0]):
        with pytest.raises(ValueError, match=r"shape \(40, 3\) expected"):
            objective.value(wrong)
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="inf in row 3, column 2"):
        RidgeObjective(X, 1)
