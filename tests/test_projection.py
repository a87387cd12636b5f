"""The exact block step against the gap over all vertices, and what it does for the solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ordering import Clips, RidgeObjective, block_frank_wolfe, random_vertices
from ordering.dtw import enumerate_paths
from ordering.projection import minimise_exactly
from ordering.solver import one_hot


@pytest.mark.parametrize("background", ["around", "between", None])
@pytest.mark.parametrize("seed", range(12))
def test_no_vertex_improves_on_it(background, seed):
    """At the minimum of a convex function over a hull, no vertex lies lower along the gradient."""
    rng = np.random.default_rng(seed)
    transcript = rng.integers(0, 3, size=rng.integers(1, 4))
    clips = Clips(np.zeros((20, 1)), [20], [transcript], 3, background)
    classes = np.unique(clips.states(0))
    states = np.searchsorted(classes, clips.states(0))
    T, C = len(states) + int(rng.integers(1, 8)), len(classes)
    vertices = np.array([one_hot(states[p], C) for p in enumerate_paths(T, len(states))])
    V = vertices[rng.integers(0, len(vertices), 2)].mean(axis=0)
    gradient, bound = rng.standard_normal((T, C)), rng.uniform(0.5, 2, (T, 1)) * rng.uniform(0.5, 2, C)
    W, before = V.copy(), gradient.copy()
    certificate = minimise_exactly(W, gradient, bound, states, 1e-9)
    np.testing.assert_array_equal(gradient, before)
    if len(vertices) == 1 or len(states) == 1:
        assert certificate == np.inf
        np.testing.assert_array_equal(W, V)
        return
    assert certificate <= 1e-9
    assert_allclose(W.sum(axis=1), 1, atol=1e-12)
    assert W.min() >= 0
    slope = gradient + bound * (W - V)
    assert np.sum(slope * W) - np.min(np.sum(slope * vertices, axis=(1, 2))) <= 2e-9


def test_the_block_solver_reaches_a_relative_gap_of_a_millionth(small):
    objective = RidgeObjective(small.features, 0.3, kappa=1e-3 * np.array([-1, -1, -1, 1]))
    solution = block_frank_wolfe(objective, small, random_vertices(small), n_iter=300, tol=1e-8)
    assert solution.final_gap <= 1e-6 * solution.objective[-1]
