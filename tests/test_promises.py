"""Promises of the solver, the estimator and the sets on inputs that users have; each was broken once.

Only names are used that version 0 had as well, so that the file can be run on it.
"""

import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threadpoolctl
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from ordering import (
    Clips,
    OrderedActionLabeling,
    RidgeObjective,
    baselines,
    block_frank_wolfe,
    frank_wolfe,
    linear_oracle,
    random_vertices,
)
from ordering.synthetic import make_clips

pytestmark = pytest.mark.filterwarnings("ignore:.*the labels have collapsed")


def fresh_gap(objective, clips, Z):
    """The duality gap at Z, from the definition."""
    gradient = objective.gradient(Z)
    labels = linear_oracle(gradient, clips)
    return np.sum(gradient * Z) - np.sum(gradient[np.arange(len(Z)), labels])


# ---------------------------------------------------------------------------------------------- convergence
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver, tol", [(block_frank_wolfe, 3e-9), (block_frank_wolfe, 1e-3), (frank_wolfe, 1e-2)])
def test_converged_means_a_small_gap_at_the_end(seed, solver, tol):
    """Also with float32 features, whose carried sums see smaller gaps than there are."""
    clips = make_clips(8, 40, random_state=seed, clip_range=(11, 40))
    objective = RidgeObjective(clips.features, 1e-2)
    solution = solver(objective, clips, random_vertices(clips), n_iter=60, tol=tol)
    assert solution.converged == (solution.final_gap <= tol) == (tol > 1e-6)
    assert_allclose(solution.final_gap, fresh_gap(objective, clips, solution.Z), rtol=1e-6, atol=3e-7)


@pytest.mark.parametrize("stop", [1e-2, 5.4e-4, 1e-5])
def test_a_warm_start_is_never_slower_than_a_cold_one(stop):
    clips = make_clips(20, 30, random_state=0, clip_range=(11, 60))
    objective = RidgeObjective(clips.features.astype(np.float64), 1e-2)
    cold = block_frank_wolfe(objective, clips, random_vertices(clips), n_iter=200, tol=1e-6)
    first = block_frank_wolfe(objective, clips, random_vertices(clips), n_iter=200, tol=stop)
    warm = block_frank_wolfe(objective, clips, first.Z, n_iter=200, tol=1e-6)
    assert cold.converged and 1e-6 < first.final_gap <= stop
    assert warm.converged and len(warm.step) <= len(cold.step)
    assert abs(warm.objective[-1] - cold.objective[-1]) <= 1e-6


@pytest.mark.parametrize("background, lam, d, seed", [
    ("around", 1e-2, 5, 0), ("around", 3e-4, 5, 0), ("between", 1e-2, 5, 0), ("around", 1e-2, 5, 1),
    ("around", 1e-2, 2, 3), ("around", 3e-4, 2, 3), ("between", 3e-4, 5, 7)])  # fmt: skip
def test_tiny_clips_are_solved(background, lam, d, seed):
    X = np.random.default_rng(seed).standard_normal((10, d))
    clips = Clips(X, [6, 3, 1], [[0, 0], [], []], 1, background)
    solution = block_frank_wolfe(RidgeObjective(X, lam), clips, random_vertices(clips, random_state=seed), tol=1e-10)
    assert solution.converged and solution.final_gap <= 1e-10 and len(solution.step) <= 50


def test_random_tiny_clips_are_solved():
    """Enough passes for 9 of 10; the others have almost as many features as intervals."""
    passes = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        transcripts = [rng.integers(0, 2, k).tolist() for k in rng.integers(0, 3, rng.integers(1, 4))]
        lengths = [2 * len(t) + 1 + int(rng.integers(0, 4)) for t in transcripts]
        clips = Clips(rng.standard_normal((sum(lengths), 2)), lengths, transcripts, 2)
        objective = RidgeObjective(clips.features, 1e-2)
        solution = block_frank_wolfe(objective, clips, random_vertices(clips), n_iter=300, tol=1e-10)
        assert solution.converged
        passes.append(len(solution.step))
    assert np.quantile(passes, 0.9) <= 40


# ---------------------------------------------------------------------------------------------- estimator
def test_the_block_solver_stops_where_its_labels_are_done():
    clips = make_clips(40, 60, random_state=0, clip_range=(11, 80))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        model = OrderedActionLabeling(solver="block", lam=1e-2).fit(clips)
    solution = model.solution_
    assert model.n_iter_ == len(solution.step) <= 40
    assert solution.converged and solution.final_gap <= 0.01 * solution.objective[-1]
    with warnings.catch_warnings():  # nothing was promised
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        longer = OrderedActionLabeling(solver="block", lam=1e-2, n_iter=60, tol=0.0).fit(clips)
    assert longer.n_iter_ == 60
    assert np.mean(model.labels_ == longer.labels_) > 0.99


def test_what_has_not_converged_says_so():
    clips = make_clips(8, 20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="the solver's stop expected within 2 passes, found a gap of"):
        OrderedActionLabeling(solver="block", n_iter=2).fit(clips)
    with pytest.warns(ConvergenceWarning, match="found a gap of"):
        OrderedActionLabeling(tol=1e-6, n_iter=3).fit(clips)


def test_a_penalty_for_the_set_does_not_grow_with_it():
    """k0 = N kappa0: the same clips twice are labelled like once."""
    clips = make_clips(10, 30, random_state=0)
    features = clips.features.astype(np.float64)
    once = Clips(features, clips.lengths, clips.transcripts, 16)
    twice = Clips(np.tile(features, (2, 1)), np.tile(clips.lengths, 2), clips.transcripts * 2, 16)
    labels = []
    for used in (once, twice):
        model = OrderedActionLabeling(k0=0.1, solver="block", tol=1e-6).fit(used)
        kappa0 = 0.1 / used.features.shape[0]
        plain = OrderedActionLabeling(kappa0=kappa0, solver="block", tol=1e-6).fit(used)
        assert_array_equal(model.Z_, plain.Z_)
        labels.append(model.labels_[:len(features)])
        assert not np.array_equal(model.Z_, OrderedActionLabeling(k0=0.0, solver="block", tol=1e-6).fit(used).Z_)
    assert np.mean(labels[0] == labels[1]) > 0.97


# ---------------------------------------------------------------------------------------------- features and settings
@pytest.mark.parametrize("method", ["supervised", "hard_em", "at_least_one", "frank-wolfe", "block"])
def test_scores_far_from_zero(method):
    """float32 features at 10,000 spreads from 0: scores are X W + b of the same numbers in float64."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((400, 8)) + 1e4).astype(np.float32)
    clips, known = Clips(X, [40] * 10, [[0, 1]] * 10, 2), np.tile(np.repeat([2, 0, 2, 1, 2], 8), 10)
    if method in ("frank-wolfe", "block"):
        model = OrderedActionLabeling(lam=1e-2, solver=method, n_iter=10, tol=0.0).fit(clips)
        W, b, scores = model.coef_.T, model.intercept_, model.decision_function(X)
    else:
        arguments = (clips, known) if method == "supervised" else (clips,)
        details = getattr(baselines, method)(*arguments, lam=1e-2, return_details=True)
        W, b, scores = details.W, details.b, details.scores
    assert np.abs(scores - (X.astype(np.float64) @ W + b)).max() < 1e-6


def test_settings_that_are_not_given_stay():
    X = np.random.default_rng(0).standard_normal((20, 3))
    Z = np.random.default_rng(1).dirichlet(np.ones(2), 20)
    kappa, weight, rows = np.array([0.1, -0.2]), np.array([1.0, 0.3]), np.linspace(0.5, 1, 20)
    objective = RidgeObjective(X, 0.1, kappa, weight, rows)
    for changes in ({"lam": 2.0}, {"kappa": [0.5, 0.1]}, {"class_weight": [2.0, 1.0]}, {}):
        given = {"lam": 0.1, "kappa": kappa, "class_weight": weight, "row_weight": rows}
        expected = RidgeObjective(X, **given | changes)
        assert_allclose(objective.with_settings(**changes).gradient(Z), expected.gradient(Z), rtol=1e-12)


@pytest.mark.parametrize("solver", [frank_wolfe, block_frank_wolfe])
def test_a_start_in_the_wrong_order_is_refused(solver):
    """Each row is among the classes of its clip, and sums are right; only the order is not."""
    clips = Clips(np.random.default_rng(0).standard_normal((12, 2)), [6, 6], [[0, 1], [1, 0]], 2, None)
    objective, right = RidgeObjective(clips.features, 1.0), np.repeat([0, 1, 1, 0], 3)
    solver(objective, clips, np.eye(2)[right], 1)
    wrong = right.copy()
    wrong[6:] = 0, 0, 0, 1, 1, 1
    for Z in (np.eye(2)[wrong], 0.5 * np.eye(2)[right] + 0.5 * np.eye(2)[wrong]):
        with pytest.raises(ValueError, match="clip 1, its row .*: a start in the hull .* distance of"):
            solver(objective, clips, Z, 1)


# ---------------------------------------------------------------------------------------------- size
def test_many_classes_few_in_each_clip():
    """2001 classes and 50,000 intervals: one array of all classes alone would take 800 MB."""
    rng = np.random.default_rng(0)
    transcripts = [rng.choice(2000, rng.integers(1, 5), replace=False) for _ in range(500)]
    clips = Clips(rng.standard_normal((50_000, 4)).astype(np.float32), [100] * 500, transcripts, 2000)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = OrderedActionLabeling(solver="block", n_iter=1).fit(clips)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.labels_.shape == (50_000,) and model.coef_.shape == (2001, 4)
    assert peak < 200e6


# ---------------------------------------------------------------------------------------------- threads
def threads():
    return {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


@pytest.fixture
def two_threads(monkeypatch):
    """Two threads for clips and two for BLAS, whatever the environment says."""
    monkeypatch.setattr("numba.get_num_threads", lambda: 2)
    with threadpoolctl.threadpool_limits(2):
        yield


def test_fits_in_threads_equal_those_one_after_the_other(two_threads):
    """Different clips, and the same ones twice; the limits of BLAS threads are what they were."""
    several = [make_clips(120, 20, random_state=seed, clip_range=(60, 289)) for seed in range(3)]
    several.append(several[0])
    assert all(clips.features.shape[0] > 8000 for clips in several)

    def fit(clips):
        return OrderedActionLabeling(lam=1e-2, n_iter=4, tol=0.0).fit(clips)

    before, serial = threads(), list(map(fit, several))
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(fit, several))
    for one, other in zip(serial, parallel, strict=True):
        assert_array_equal(one.Z_, other.Z_)
        assert_array_equal(one.coef_, other.coef_)
    assert threads() == before and 2 in before.values()


def test_threads_of_clips_use_blas_alone_and_a_fault_in_one_restores_the_limits(two_threads):
    from ordering.kernels.compile import in_threads

    before = threads()
    inside = in_threads(lambda part: [pool["num_threads"] for pool in threadpoolctl.threadpool_info()
                                      if pool["user_api"] == "blas"], range(4))
    assert len(inside) == 4 and {n for pools in inside for n in pools} == {1}
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda part: 1 // part, [1, 1, 0, 1])
    assert threads() == before
