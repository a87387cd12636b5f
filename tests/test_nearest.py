"""The inner problem of the block solver against all vertices of its hull, and what it does for the solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from ordering import Clips, Ordered, RidgeObjective, block_frank_wolfe, random_vertices
from ordering.admissible import one_hot
from tests.brute_force import list_vertices, random_case


def inner_problem(seed, n_rows):
    """A random case of one clip: its part, its vertices and their prices in the part's columns, and a problem."""
    rng = np.random.default_rng(seed)
    clips, options = random_case(rng, n_rows)
    (part,), (vertices, prices) = Ordered(clips, **options).parts(), list_vertices(clips, **options)
    vertices, T = vertices[:, :, part.columns], clips.n_intervals
    weights = rng.dirichlet(np.ones(len(vertices)))
    bound = rng.uniform(0.5, 2, T), rng.uniform(0.5, 2, len(part.columns))
    slope = rng.standard_normal((T, len(part.columns))) * rng.choice([0.1, 1, 10])
    return part, vertices, prices, np.tensordot(weights, vertices, 1), weights @ prices, slope, bound


@pytest.mark.parametrize("seed", range(150))
def test_no_vertex_improves_on_it(seed):
    """At the minimum of a convex function over a hull, no vertex lies lower along the gradient."""
    part, vertices, prices, V, price, slope, (rows, columns) = inner_problem(seed, 7)
    before = V.copy(), slope.copy()
    P, paid, _ = part.nearest(V, slope, rows, columns, np.array([price]), 1e-9, part.memory())
    assert_array_equal(V, before[0])
    assert_array_equal(slope, before[1])
    assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert P.min() >= -1e-15
    at = slope + rows[:, None] * columns * (P - V)
    lowest = np.min(np.sum(at * vertices, axis=(1, 2)) + prices)
    assert abs(np.sum(at * P) + paid[0] - lowest) <= 2e-9


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_quadratic_program_over_the_vertices(seed):
    """By SLSQP on the weights of all vertices."""
    part, vertices, prices, V, price, slope, (rows, columns) = inner_problem(1000 + seed, 5)
    flat, bound = vertices.reshape(len(vertices), -1), (rows[:, None] * columns).ravel()

    def value(P, paid):
        return slope.ravel() @ (P - V.ravel()) + 0.5 * bound @ (P - V.ravel()) ** 2 + paid

    def slopes(w):
        return flat @ (slope.ravel() + bound * (w @ flat - V.ravel())) + prices

    found = minimize(lambda w: value(w @ flat, w @ prices), np.full(len(flat), 1 / len(flat)), jac=slopes,
                     bounds=[(0, 1)] * len(flat), constraints={"type": "eq", "fun": lambda w: w.sum() - 1,
                                                               "jac": np.ones_like},
                     method="SLSQP", options={"ftol": 1e-13, "maxiter": 500})
    P, paid, _ = part.nearest(V, slope, rows, columns, np.array([price]), 1e-10, part.memory())
    assert_allclose(value(P.ravel(), paid[0]), found.fun, atol=1e-7 * max(1, abs(found.fun)))


@pytest.mark.parametrize("seed", range(30))
def test_it_goes_on_from_what_it_remembers(seed):
    """A second, nearby problem is solved as well from the paths of the first as from none."""
    part, vertices, prices, V, price, slope, (rows, columns) = inner_problem(seed, 8)
    first = part.nearest(V, slope, rows, columns, np.array([price]), 1e-9, part.memory())
    nearby = slope + 0.01 * np.random.default_rng(seed).standard_normal(slope.shape)
    warm, _, _ = part.nearest(V, nearby, rows, columns, np.array([price]), 1e-10, first[2])
    cold, _, _ = part.nearest(V, nearby, rows, columns, np.array([price]), 1e-10, part.memory())
    assert_allclose(warm, cold, atol=1e-4)


def test_a_known_clip_stays_as_it_is():
    clips = Clips(np.zeros((8, 1)), [4, 4], [[0, 1], [0, 1]], 2, None)
    (part,) = Ordered(clips, [1, 1, 0, 0, -1, -1, -1, -1]).parts()
    V = one_hot([1, 1, 0, 0, 0, 1, 1, 1], 2)
    P, _, _ = part.nearest(V, 5 * V, np.ones(8), np.ones(2), np.zeros(2), 1e-9, part.memory())
    assert_array_equal(P[:4], V[:4])
    assert np.abs(P[4:] - V[4:]).max() > 0.5


@pytest.mark.compiled_only
def test_a_long_clip_takes_no_memory_of_states_squared():
    """50,000 intervals and 400 states: what asked for 64 GB takes the table of the dynamic program."""
    clips = Clips(np.zeros((50_000, 1)), [50_000], [np.tile([0, 1], 200)], 2, None)
    (part,) = Ordered(clips).parts()
    V = random_vertices(clips)
    P, _, _ = part.nearest(V, np.zeros_like(V), np.ones(50_000), np.ones(2), np.zeros(1), 1e-3, part.memory())
    assert_allclose(P.sum(axis=1), 1, atol=1e-9)


def test_the_block_solver_reaches_a_relative_gap_of_a_millionth(small):
    objective = RidgeObjective(small.features, 0.3, kappa=1e-3 * np.array([-1, -1, -1, 1]))
    solution = block_frank_wolfe(objective, small, random_vertices(small), n_iter=300, tol=1e-8)
    assert solution.converged and solution.final_gap <= 1e-6 * solution.objective[-1]
