"""Affinities and the normalised-cut objective against dense computations written out from the formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ordering import Clips, block_frank_wolfe, frank_wolfe, random_vertices
from ordering.baselines import normalized_cuts
from ordering.ncut import NormalizedCut, affinity, chi_squared_band
from ordering.synthetic import make_clips


def histograms(rng, n, d=6):
    h = rng.integers(0, 4, (n, d)).astype(float)
    return h / np.maximum(h.sum(axis=1, keepdims=True), 1)


def make(features, lengths):
    return Clips(features, lengths, [[0]] * len(lengths), n_actions=1)


def chi_squared(h, g):
    return sum((a - b) ** 2 / (a + b) for a, b in zip(h, g, strict=True) if a + b > 0) / 2


def dense_affinity(h, lengths, alpha, beta, width):
    clip = np.repeat(np.arange(len(lengths)), lengths)
    E = np.zeros((len(h), len(h)))
    for i in range(len(h)):
        for j in range(len(h)):
            if clip[i] == clip[j] and abs(i - j) < width:
                E[i, j] = np.exp(-alpha * abs(i - j) - beta * chi_squared(h[i], h[j]))
    return E


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(3, 7), min_size=1, max_size=3), st.integers(1, 9),
       st.floats(0, 2), st.floats(0, 5), st.booleans())  # fmt: skip
def test_objective_equals_the_dense_formula(seed, lengths, width, alpha, beta, square):
    rng = np.random.default_rng(seed)
    h = histograms(rng, sum(lengths))
    clips = make(np.sqrt(h) if square else h, lengths)
    E = affinity(chi_squared_band(clips, width, square), alpha, beta)
    dense = dense_affinity(h, lengths, alpha, beta, width)
    np.testing.assert_allclose(E.toarray(), dense, atol=1e-12)
    scale = np.diag(dense.sum(axis=1) ** -0.5)
    B = np.eye(len(h)) - scale @ dense @ scale
    objective, Z, D = NormalizedCut(E), rng.random((len(h), 2)), rng.normal(size=(len(h), 2))
    assert objective.value(Z) == pytest.approx(np.trace(Z @ Z.T @ B), abs=1e-12)
    np.testing.assert_allclose(objective.gradient(Z), 2 * B @ Z, atol=1e-12)
    np.testing.assert_allclose(objective.gradient(Z + D), objective.gradient(Z) + objective.hessian(D), atol=1e-12)
    assert np.linalg.eigvalsh(B).min() > -1e-12  # so g is convex
    root = np.sqrt(dense.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(objective.gradient(root), 0, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.floats(0, 0.9))
def test_the_curvature_is_bounded(seed, N, zeros):
    """Whatever the affinities: <D, H D> <= sum of r c D^2, and that of two nodes without loops is tight."""
    rng = np.random.default_rng(seed)
    E = rng.random((N, N)) * (rng.random((N, N)) >= zeros)
    objective, D = NormalizedCut(E + E.T), rng.normal(size=(N, 3))
    rows, columns = objective.curvature_bound(3)
    assert np.sum(D * objective.hessian(D)) <= np.sum(np.outer(rows, columns) * D**2) * (1 + 1e-12)
    pair, opposite = NormalizedCut(np.array([[0.0, 1], [1, 0]])), np.array([[1.0], [-1]])
    rows, columns = pair.curvature_bound(1)
    assert 1 <= np.sum(np.outer(rows, columns)) / np.sum(opposite * pair.hessian(opposite)) < 1.011
    upper = sp.diags_array(rng.random(199), offsets=1, shape=(200, 200))  # the sparse way: as tight
    band = NormalizedCut(upper + upper.T + sp.eye_array(200))
    largest = 2 * (1 - np.linalg.eigvalsh(band._smooth.toarray())[0])
    assert 1 <= band.curvature_bound(1)[0][0] / largest < 1.012


def test_only_a_band_is_stored():
    clips = make_clips(8, 20)
    E = affinity(chi_squared_band(clips, width=4))
    assert E.nnz == sum(T + 2 * ((T - 1) + (T - 2) + (T - 3)) for T in clips.lengths)
    row, column = E.nonzero()
    clip = np.repeat(np.arange(8), clips.lengths)
    assert np.all(clip[row] == clip[column]) and np.abs(row - column).max() == 3
    assert abs(E - E.T).max() == 0


def test_default_beta_is_one_over_the_mean_distance():
    clips = make_clips(4, 20)
    distances = chi_squared_band(clips)
    expected = affinity(distances, beta=1 / np.nanmean(distances))
    assert abs(affinity(distances) - expected).max() < 1e-14


def test_empty_histograms_have_distance_zero():
    h = np.array([[0, 0], [0, 0], [0.5, 0.5], [0, 0.0]])
    band = chi_squared_band(make(np.sqrt(h), [4]), width=2)
    np.testing.assert_allclose(band[:3, 0], [0, 0.5, 0.5], atol=1e-15)
    assert np.isnan(band[3, 0])
    assert affinity(band, alpha=0.0)[0, 1] == 1


def test_identical_rows_give_finite_affinities():
    band = chi_squared_band(make(np.full((5, 3), 0.3), [5]), width=3)
    assert np.nanmax(band) == 0
    E = affinity(band, alpha=0.5).toarray()
    assert np.isfinite(E).all() and E[0, 1] == pytest.approx(np.exp(-0.5))


def test_an_isolated_row_keeps_the_row_of_the_identity():
    E = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0.0]])
    found = NormalizedCut(sp.csr_array(E)).gradient(np.eye(3)) / 2
    np.testing.assert_allclose(found, [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 1]], atol=1e-15)


def test_sparse_and_memory_mapped_features_give_the_same(tmp_path):
    clips = make_clips(3, 30)
    expected = chi_squared_band(clips)
    mapped = np.memmap(tmp_path / "x", dtype=np.float32, mode="w+", shape=clips.features.shape)
    mapped[:] = clips.features
    for features in (sp.csr_array(clips.features), mapped):
        other = Clips(features, clips.lengths, clips.transcripts, 16)
        np.testing.assert_allclose(chi_squared_band(other), expected, rtol=1e-6)


def test_both_solvers_reach_the_optimum():
    clips = make_clips(2, 20, clip_range=(11, 30))
    objective = NormalizedCut(affinity(chi_squared_band(clips)))
    plain = frank_wolfe(objective, clips, random_vertices(clips), n_iter=400)
    block = block_frank_wolfe(objective, clips, random_vertices(clips), n_iter=200, tol=1e-9)
    for solution in (plain, block):
        assert np.all(np.diff(solution.objective) <= 1e-14)
        assert solution.objective[-1] == pytest.approx(objective.value(solution.Z), rel=1e-12)
    assert 0 <= plain.final_gap < 0.02 * plain.duality_gap[0]
    assert block.converged and block.final_gap <= 1e-9
    assert -1e-9 <= plain.objective[-1] - block.objective[-1] <= plain.final_gap


@pytest.mark.compiled_only
def test_the_baseline_finds_after_200_passes_what_it_finds_after_thousands():
    clips = make_clips(20, 20, random_state=1)
    found = [normalized_cuts(clips, n_iter=n, return_details=True) for n in (200, 4000)]
    gaps = [one.solution.final_gap / one.solution.objective[-1] for one in found]
    assert 0.05 < gaps[0] < 0.5 and gaps[1] < 0.03
    assert np.mean(found[0].labels == found[1].labels) > 0.9


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda c: chi_squared_band(make(np.array([[1.0], [2], [-3]]), [3])), "found -3.0 at its interval 2"),
        (lambda c: chi_squared_band(c, width=0), "width: a positive integer expected, found 0"),
        (lambda c: affinity(chi_squared_band(c), alpha=-1.0), "alpha: a finite number >= 0 expected, found -1.0"),
        (lambda c: affinity(chi_squared_band(c), beta=np.inf), "beta: a finite number >= 0 expected, found inf"),
        (lambda c: NormalizedCut(sp.csr_array(np.ones((2, 3)))), "square matrix expected"),
        (lambda c: NormalizedCut(sp.csr_array(-np.eye(2))), "finite affinities >= 0 expected, found -1"),
        (lambda c: NormalizedCut(sp.eye_array(3)).value(np.zeros((2, 2))), r"\(3, C\) expected, found \(2, 2\)"),
    ],
)
def test_wrong_input_is_a_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(make(np.ones((4, 2)), [4]))
