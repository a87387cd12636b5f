"""What the paper says of assignments and the dynamic program, row by row of the reading notes.

Every test is named after its row and recomputes the claim on small cases; the chapters link here.
"""

from itertools import pairwise, product
from math import comb, factorial, prod

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.spatial import ConvexHull
from sklearn.isotonic import IsotonicRegression

from ordering import Clips, dtw, linear_oracle

SIZES = [(4, 2), (5, 3), (6, 3), (6, 4), (7, 4), (8, 5)]  # T intervals, S states


def different(states, T):
    """Label sequences of all staircases, each once."""
    if len(states) > T:
        return set()
    return {tuple(np.asarray(states)[m]) for m in dtw.enumerate_paths(T, len(states))}


def cumulative(Y):
    """u_tk = P(m_t >= k) for k >= 2, as a (T, S - 1) array."""
    return np.cumsum(Y[..., ::-1], axis=-1)[..., ::-1][..., 1:]


def free(T, S):
    """Mask (T, S - 1) of the entries of u that are not the same for all staircases."""
    t, k = np.indices((T, S - 1))
    return (t > k) & (t <= k + T - S)


def vertices(T, S):
    """All staircases as points u, free entries only."""
    return cumulative(np.eye(S)[dtw.enumerate_paths(T, S)])[:, free(T, S)]


def inequalities(T, S):
    """(A, b) of A u <= b, the order polytope of the (S - 1) x (T - S) grid in the free entries of u."""
    number = np.full((T, S - 1), -1)
    number[free(T, S)] = np.arange((S - 1) * (T - S))
    p, q = S - 1, T - S
    rows = []
    for t, k in np.argwhere(free(T, S)):
        for smaller, larger in [((t, k), (t + 1, k)), ((t + 1, k + 1), (t, k))]:
            if max(smaller[0], larger[0]) < T and max(smaller[1], larger[1]) < S - 1:
                i, j = number[smaller], number[larger]
                if i >= 0 and j >= 0:
                    rows.append(np.eye(p * q)[i] - np.eye(p * q)[j])
    rows.append(-np.eye(p * q)[number[p, p - 1]])  # the smallest element is >= 0
    rows.append(np.eye(p * q)[number[q, 0]])  # the largest one is <= 1
    return np.array(rows), np.append(np.zeros(len(rows) - 1), 1.0)


# ---------------------------------------------------------------- assignments
def test_row_1_count_of_matrices():
    for n_states, T in product(range(1, 5), range(1, 8)):
        for states in product(range(3), repeat=n_states):
            runs = 1 + sum(a != b for a, b in pairwise(states))
            expected = comb(T - 1 - (n_states - runs), runs - 1) if T >= n_states else 0
            assert len(different(states, T)) == expected == dtw.count_assignments(states, T)
    assert len(dtw.enumerate_paths(6, 3)) == 10 and len(different((0, 0, 1), 6)) == 4


def test_row_2_bijection_only_if_neighbours_differ():
    for states in product(range(3), repeat=4):
        one_to_one = len(different(states, 7)) == len(dtw.enumerate_paths(7, 4))
        assert one_to_one == all(a != b for a, b in pairwise(states))


def test_row_3_blocks_in_all_and_per_column():
    states = np.array([3, 0, 3, 1, 3])
    for m in dtw.enumerate_paths(8, 5):
        Z = np.eye(4)[states[m]]
        blocks = (np.diff(Z, axis=0, prepend=0) > 0).sum(axis=0)
        assert blocks.tolist() == [1, 1, 0, 3] and blocks.sum() == len(states)


def test_row_4_size():
    assert f"{comb(99, 9):.1e}" == "1.7e+12"


@pytest.mark.parametrize("background, n_states", [("around", 7), ("between", 5), (None, 3)])
def test_row_5_background(background, n_states):
    clips = Clips(np.zeros((9, 1)), [9], [[0, 1, 2]], n_actions=3, background=background)
    assert len(clips.states(0)) == n_states


def test_row_6_touching_actions_are_not_admissible():
    clips = Clips(np.zeros((8, 1)), [8], [[0, 1]], n_actions=2, background="between")
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert tuple(truth) not in different(clips.states(0), 8)
    nearest = linear_oracle(-np.eye(3)[truth], clips)
    assert np.sum(nearest != truth) == 1


def test_row_7_too_short():
    assert different((0, 1, 2), 2) == set()
    with pytest.raises(ValueError, match="clip 0: T >= 5 .* found T = 4"):
        Clips(np.zeros((4, 1)), [4], [[0, 1]], n_actions=2)


# -------------------------------------------------------------------- polytope
@pytest.mark.parametrize("T, S", SIZES)
def test_row_9_linear_programs_over_the_order_polytope_equal_the_dynamic_program(T, S):
    rng = np.random.default_rng(T * S)
    A, b = inequalities(T, S)
    assert np.all(A @ vertices(T, S).T <= b[:, None])
    constant = cumulative(np.eye(S)[dtw.enumerate_paths(T, S)[0]])
    for _ in range(20):
        D = rng.normal(size=(T, S))
        slope = D[:, 1:] - D[:, :-1]  # <D, Y> = sum_t D_t1 + <slope, u>
        found = linprog(slope[free(T, S)], A_ub=A, b_ub=b, bounds=(None, None))
        total = D[:, 0].sum() + (slope * constant)[~free(T, S)].sum() + found.fun
        assert np.isclose(total, dtw.accumulate(D)[-1, -1])


@pytest.mark.parametrize("T, S", [(4, 2), (5, 3), (6, 3), (6, 4)])
def test_row_9_dimension_facets_volume(T, S):
    p, q = S - 1, T - S
    points = vertices(T, S)
    assert np.linalg.matrix_rank(points - points[0]) == p * q == np.sum(free(T, S))
    hull = ConvexHull(points)
    facets = np.unique(np.round(hull.equations, 9), axis=0)
    assert len(facets) == 2 * p * q - p - q + 2 == len(inequalities(T, S)[0])
    tableaux = factorial(p * q) // prod(i + j + 1 for i, j in np.ndindex(p, q))  # hook lengths
    assert np.isclose(hull.volume, tableaux / factorial(p * q))


def test_row_8_rows_on_the_simplex_are_not_enough():
    half = np.full((4, 2), 0.5)  # rows sum to 1, but no staircase may begin in state 2
    Y = np.eye(2)[dtw.enumerate_paths(4, 2)].reshape(3, -1)
    found = linprog(np.zeros(3), A_eq=np.vstack([Y.T, np.ones(3)]), b_eq=np.append(half.ravel(), 1))
    assert found.status == 2  # infeasible


def test_row_8_sides_multiply_where_a_class_is_repeated():
    def sides(points):
        centred = points - points.mean(axis=0)
        _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
        hull = ConvexHull(centred @ axes[sizes > 1e-9].T)
        return len(np.unique(np.round(hull.equations, 6), axis=0))

    states = np.array([0, 1, 0])
    for T, in_Y, in_Z in [(5, 6, 7), (6, 9, 13), (7, 12, 22), (8, 15, 39)]:
        paths = dtw.enumerate_paths(T, 3)
        assert sides(np.eye(3)[paths].reshape(len(paths), -1)) == in_Y
        assert sides(np.eye(2)[states[paths]].reshape(len(paths), -1)) == in_Z


@pytest.mark.parametrize("T, S", SIZES)
def test_row_10_barycentre(T, S):
    mean = np.eye(S)[dtw.enumerate_paths(T, S)].mean(axis=0)
    formula = [[comb(t - 1, k - 1) * comb(T - t, S - k) / comb(T - 1, S - 1) for k in range(1, S + 1)]
               for t in range(1, T + 1)]  # fmt: skip
    np.testing.assert_allclose(mean, formula)


def test_row_11_projection_is_a_small_quadratic_program():
    rng = np.random.default_rng(0)
    T, S = 6, 2
    A, b = inequalities(T, S)
    for _ in range(10):
        target = rng.normal(0.5, 0.5, T - 2)
        found = minimize(lambda u, target=target: np.sum((u - target) ** 2), np.full(T - 2, 0.5),
                         jac=lambda u, target=target: 2 * (u - target), method="SLSQP",
                         constraints={"type": "ineq", "fun": lambda u: b - A @ u, "jac": lambda u: -A},
                         options={"ftol": 1e-12})  # fmt: skip
        chain = IsotonicRegression(y_min=0, y_max=1).fit_transform(np.arange(T - 2), target)
        np.testing.assert_allclose(found.x, chain, atol=1e-5)


# ------------------------------------------------------------- dynamic program
def test_row_35_definition_has_to_end_in_the_cell():
    D = np.random.default_rng(0).normal(size=(7, 4))
    P = dtw.accumulate(D)
    for t, k in np.ndindex(P.shape):
        ends_here = dtw.enumerate_paths(t + 1, k + 1) if k <= t else np.empty((0, t + 1), int)
        assert np.isclose(P[t, k], min((D[np.arange(t + 1), m].sum() for m in ends_here), default=np.inf))
    over_all = np.cumsum(D[np.arange(7), dtw.enumerate_paths(7, 4)], axis=1).min(axis=0)
    assert not np.allclose(P[3, 1:], over_all[3])  # as printed: one number for every k


def test_row_36_base_case():
    D = np.array([[5.0, 1.0], [1.0, 1.0]])
    P = dtw.accumulate(D)
    assert P[0, 0] == D[0, 0] and P[0, 1] == np.inf
    assert P[-1, -1] == 6  # 2 with zeros beyond the border


def test_row_37_a_third_step_gives_intervals_two_states():
    D = np.array([[-1.0, -1.0], [-1.0, -1.0]])
    P = np.full((3, 3), np.inf)  # textbook time warping: along, up, diagonal
    P[0, 0] = 0
    for t, k in np.ndindex(D.shape):
        P[t + 1, k + 1] = D[t, k] + min(P[t, k + 1], P[t + 1, k], P[t, k])
    assert P[-1, -1] == -3  # three cells for two intervals
    assert dtw.accumulate(D)[-1, -1] == -2


def test_row_38_mixtures_do_not_cost_less():
    rng = np.random.default_rng(0)
    D = rng.normal(size=(7, 4))
    Y = np.eye(4)[dtw.enumerate_paths(7, 4)]
    weights = rng.dirichlet(np.full(len(Y), 0.05), size=500)
    assert np.all(weights @ (Y * D).sum(axis=(1, 2)) >= dtw.accumulate(D)[-1, -1] - 1e-12)
