"""The ridge objective against its definition: B by hand, finite differences, scikit-learn's ridge."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from ordering import RidgeObjective
from ordering.features import _BLOCK

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


@pytest.mark.parametrize("kind", ["csr", "csr, nearly empty", "memmap", "float32", "csr32", "fortran", "read-only"])
def test_every_kind_of_features_gives_the_same(kind, tmp_path):
    X, Z = make(N=_BLOCK + 50)
    X[np.random.default_rng(1).random(X.shape) < (0.995 if "empty" in kind else 0.7)] = 0
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


def test_a_ridge_too_small_for_float32_is_told():
    X = np.random.default_rng(0).standard_normal((50, 1)).astype(np.float32) * np.float32([1, 3, 7])
    with pytest.raises(ValueError, match="lam: a positive definite .* found none at N lam = 5e-11; .* or float64"):
        RidgeObjective(X, 1e-12)
    RidgeObjective(X, 1e-5)


def test_bad_features_and_assignments():
    X, Z = make()
    objective = RidgeObjective(X, 1, KAPPA)
    for wrong in (Z[:5], Z[:, :2], Z[0]):
        with pytest.raises(ValueError, match=r"shape \(40, 3\) expected"):
            objective.value(wrong)
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="inf in row 3, column 2"):
        RidgeObjective(X, 1)


def test_row_weights_are_weighted_ridge():
    X, Z = make()
    r = np.random.default_rng(2).random(len(X)) + 0.1
    W, b = RidgeObjective(X, 0.01, row_weight=r).classifier(Z)
    ridge = Ridge(alpha=len(X) * 0.01).fit(X, Z, sample_weight=r)
    assert_allclose(W, ridge.coef_.T, rtol=1e-8, atol=1e-12)
    assert_allclose(b, ridge.intercept_, rtol=1e-8)
    residual = Z - X @ W - b
    objective = RidgeObjective(X, 0.01, KAPPA, WEIGHT, row_weight=r)
    expected = np.sum(WEIGHT * (np.mean(r[:, None] * residual**2, axis=0) + 0.01 * np.sum(W**2, axis=0)))
    assert_allclose(objective.value(Z), expected + np.sum(Z @ KAPPA), rtol=1e-9)


def test_row_weights_count_like_repeated_rows():
    """Weight 2 on a row is that row twice, once the sizes N are matched."""
    X, Z = make(10)
    r = np.array([1.0, 2, 1, 1, 3, 1, 1, 1, 1, 1])
    twice = np.repeat(np.arange(10), r.astype(int))
    one = RidgeObjective(X, 0.013, row_weight=r)
    two = RidgeObjective(X[twice], 0.013 * 10 / 13)
    assert_allclose(one.value(Z) * 10, two.value(Z[twice]) * 13, rtol=1e-10)


@pytest.mark.parametrize("wrong", [np.ones(39), -np.ones(40), np.append(np.ones(39), -1.0), np.zeros(40),
                                   np.full(40, np.nan)])  # fmt: skip
def test_bad_row_weights(wrong):
    with pytest.raises(ValueError, match="row_weight: 40 finite numbers"):
        RidgeObjective(make()[0], 1, row_weight=wrong)


def test_with_settings_shares_the_features():
    X, Z = make()
    base = RidgeObjective(X, 0.01)
    for lam, kappa, weight in [(0.01, KAPPA, None), (0.5, None, WEIGHT), (0.01, None, None)]:
        other, fresh = base.with_settings(lam, kappa, weight), RidgeObjective(X, lam, kappa, weight)
        assert other.features is base.features
        assert_allclose(other.gradient(Z), fresh.gradient(Z), rtol=1e-12)
    assert base.lam == 0.01 and base.kappa is None
    with pytest.raises(ValueError, match="lam > 0"):
        base.with_settings(lam=-1)


def test_curvature_bound_bounds_the_hessian():
    X, Z = make()
    r = np.random.default_rng(2).random(len(X))
    objective = RidgeObjective(X, 1e-6, KAPPA, WEIGHT, row_weight=r)
    rows, columns = objective.curvature_bound(3)
    assert_allclose(rows, 2 / len(X) * r)
    assert_allclose(columns, WEIGHT)
    for seed in range(50):
        D = np.random.default_rng(seed).standard_normal(Z.shape)
        assert np.sum(D * objective.hessian(D)) <= np.sum(np.outer(rows, columns) * D**2) * (1 + 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_curvature_from_sums_is_that_of_the_hessian(weighted):
    """Along any D, also one whose columns do not sum to 0."""
    X, Z = make()
    r = np.random.default_rng(2).random(len(X)) if weighted else np.ones(len(X))
    objective = RidgeObjective(X, 1e-3, KAPPA, WEIGHT, row_weight=r if weighted else None)
    D = np.random.default_rng(3).standard_normal(Z.shape) + 1
    rows, R = X - (0 if (origin := objective._features.origin) is None else origin), D * r[:, None]
    found = objective.curvature(rows.T @ R, R.sum(axis=0), np.sum(R * D, axis=0))
    assert_allclose(found, np.sum(D * objective.hessian(D)), rtol=1e-9)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-4), (np.float64, 1e-8)])
def test_features_far_from_zero(dtype, tolerance):
    """A shift leaves the objective as it is; an offset of 1000 spreads must not drown float32 products."""
    X, Z = make(200)
    X -= X.mean(axis=0)
    plain, shifted = RidgeObjective(X, 0.01), RidgeObjective((X + 1000).astype(dtype), 0.01)
    assert_allclose(shifted.value(Z), plain.value(Z), rtol=tolerance)
    W, b = shifted.classifier(Z)
    assert_allclose((X + 1000) @ W + b, X @ plain.classifier(Z)[0] + plain.classifier(Z)[1], atol=100 * tolerance)


def test_float32_far_from_zero_is_as_exact_as_near_it():
    X, Z = make(200)
    far = (X + 1000).astype(np.float32)
    exact, narrow = RidgeObjective(far.astype(float), 0.01), RidgeObjective(far, 0.01)
    error = np.abs(narrow.gradient(Z) - exact.gradient(Z)).max() / np.abs(exact.gradient(Z)).max()
    assert error < 1e-5


def test_integer_features_and_lists_are_numbers():
    Z = np.eye(2)[[0, 1, 1, 0]]
    wanted = RidgeObjective(np.array([[0.0], [1], [1], [5]]), 0.1).value(Z)
    assert RidgeObjective(np.array([[0], [1], [1], [5]]), 0.1).value(Z) == wanted
    assert RidgeObjective([[0], [1], [1], [5]], 0.1).value(Z) == wanted
    for wrong in (np.zeros(4), np.zeros((0, 2))):
        with pytest.raises(ValueError, match="expected"):
            RidgeObjective(wrong, 0.1)
    with pytest.raises(ValueError, match="lam"):
        RidgeObjective(np.zeros((4, 1)), "a")
