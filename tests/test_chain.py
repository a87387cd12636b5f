"""The chain behind `Ordered` against all cuts of small clips, listed: oracle, tie rule, posterior, hull, optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from ordering import (
    AtLeastOne,
    Clips,
    Ordered,
    RidgeObjective,
    block_frank_wolfe,
    forward_backward,
    frank_wolfe,
    linear_oracle,
    random_vertices,
    round_assignment,
    round_scores,
    state_path,
)
from ordering.admissible import one_hot
from ordering.kernels import chain, nearest
from tests.brute_force import BACKGROUNDS, first_of_ties, list_cuts, list_vertices, random_case

seeds = st.integers(0, 2**32 - 1)


def totals(cost, labels, prices):
    return cost[np.arange(labels.shape[1]), labels].sum(axis=1) + prices


# ---------------------------------------------------------------------------------------------- oracle
@settings(max_examples=2000, deadline=None)
@given(seeds)
def test_the_oracle_finds_the_least_cost_of_all_cuts(seed):
    """Costs of any size, prices included; `state_path` is one of the cuts that reach it."""
    rng = np.random.default_rng(seed)
    clips, options = random_case(rng, n_clips=int(rng.integers(1, 3)))
    chosen = Ordered(clips, **options)
    cost = rng.standard_normal(chosen.shape) * rng.choice([1e-3, 1, 1e6])
    labels, path = linear_oracle(cost, chosen), state_path(cost, chosen)
    for i in range(len(clips)):
        rows = clips.rows(i)
        paths, choices, prices = list_cuts(clips, i, **options)
        total = totals(cost[rows], choices, prices)
        own = (paths == path[rows]).all(axis=1)
        assert own.sum() == 1
        assert_array_equal(choices[own][0], labels[rows])
        assert total[own][0] <= total.min() + 1e-12 * np.abs(cost).max()


@settings(max_examples=2000, deadline=None)
@given(seeds)
def test_the_tie_rule(seed):
    """Small whole numbers, most paths tied: from the end back, leave a state as soon as that costs no more."""
    rng = np.random.default_rng(seed)
    clips, options = random_case(rng)
    chosen = Ordered(clips, **options)
    cost = rng.integers(-1, 2, chosen.shape) / 4
    paths, choices, prices = list_cuts(clips, **options)
    total = totals(cost, choices, prices)
    assert_array_equal(state_path(cost, chosen), first_of_ties(paths[total == total.min()]))


@settings(max_examples=1500, deadline=None)
@given(seeds)
def test_a_set_is_refused_just_where_no_cut_exists(seed):
    """Because of the least durations, or because of known rows that were drawn at random."""
    rng = np.random.default_rng(seed)
    A, background = int(rng.integers(1, 4)), BACKGROUNDS[rng.integers(4)]
    transcript = rng.integers(0, A, rng.integers(background is None, 4))
    S = {"around": 2 * len(transcript) + 1, "between": 2 * len(transcript) - 1}.get(background, len(transcript))
    T = max(S, 1) + int(rng.integers(0, 3))
    clips = Clips(np.zeros((T, 1)), [T], [transcript], A, background)
    options = {"min_duration": rng.integers(1, 4, A),
               "skip_price": np.where(rng.random(A) < rng.choice([0, 0.5, 1]), np.inf, 1.0)}
    if rng.random() < 0.5:
        options["supervised"] = np.where(rng.random(T) < 0.3, rng.integers(0, clips.n_classes, T), -1)
    if len(list_cuts(clips, **options)[0]):
        Ordered(clips, **options)
    else:
        with pytest.raises(ValueError, match="clip 0: (T >= .* expected|an admissible assignment .* expected)"):
            Ordered(clips, **options)


def test_a_fully_known_clip_stays_as_it_is_beside_others():
    clips = Clips(np.zeros((7, 1)), [3, 4], [[0, 1], [0, 1]], 2, "optional")
    known = np.array([1, 2, 0, -1, -1, 1, -1])  # the first clip is too short for two actions of two intervals, too
    chosen = Ordered(clips, known, min_duration=2)
    cost = np.random.default_rng(0).standard_normal((7, 3))
    assert linear_oracle(cost, chosen).tolist() == [1, 2, 0, 0, 0, 1, 1]
    assert state_path(cost, chosen).tolist() == [-1, -1, -1, 1, 1, 3, 3]


# ---------------------------------------------------------------------------------------------- sums over paths
@settings(max_examples=1500, deadline=None)
@given(seeds)
def test_forward_backward_sums_over_all_cuts(seed):
    """Each cut once, with the weight exp(sum of scores - price); so also the largest of scores that differ much."""
    rng = np.random.default_rng(seed)
    clips, options = random_case(rng, n_clips=int(rng.integers(1, 3)))
    if options["supervised"] is not None and rng.random() < 0.2:
        options["supervised"][clips.rows(0)] = rng.integers(0, clips.n_classes, clips.lengths[0])
    chosen = Ordered(clips, **options)
    scores = rng.standard_normal(chosen.shape) * rng.choice([0.1, 3, 300])
    posterior, log_partition = forward_backward(scores, chosen)
    visits, chains = chosen.sum_paths(scores)[2], chosen._chains
    for i in range(len(clips)):
        rows, own = clips.rows(i), slice(*chains.borders[i:i + 2])
        vertices, prices = list_vertices(clips, i, **options)
        weights = np.sum(vertices * scores[rows], axis=(1, 2)) - prices
        total = np.logaddexp.reduce(weights)
        assert_allclose(log_partition[i], total, rtol=1e-12, atol=1e-11)
        assert_allclose(posterior[rows], np.tensordot(np.exp(weights - total), vertices, 1), atol=1e-9)
        entered, paths = visits[own][chains.head[own]], list_cuts(clips, i, **options)[0]
        wanted = [np.exp(weights - total) @ (paths == k).any(axis=1) for k in range(len(entered))]
        assert_allclose(entered, wanted, atol=1e-9)


def test_forward_backward_counts_and_does_not_overflow():
    clips = Clips(np.zeros((300, 1)), [300], [[0, 1, 0]], 2)
    _, total = forward_backward(np.zeros((300, 3)), clips)
    assert_allclose(total, [sum(np.log(np.arange(294, 300) + 0.0)) - sum(np.log(np.arange(1, 7)))])  # 299 over 6
    posterior, total = forward_backward(np.full((300, 3), 1e5), clips)
    assert_allclose(total, 3e7, rtol=1e-6)
    assert_allclose(posterior.sum(axis=1), 1)


# ---------------------------------------------------------------------------------------------- hull
def test_points_in_the_hull_are_starts_and_points_outside_are_refused():
    """The hull of what is listed, against a linear program."""
    refused = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        clips, options = random_case(rng)
        chosen, objective = Ordered(clips, **options), RidgeObjective(clips.features, 1.0)
        vertices, _ = list_vertices(clips, **options)
        inside = np.tensordot(rng.dirichlet(np.full(len(vertices), 0.3)), vertices, 1)
        assert_allclose(frank_wolfe(objective, chosen, inside, 0).Z, inside, atol=1e-12)
        apart = rng.dirichlet(np.ones(chosen.shape[1]), len(inside)) * (vertices.max(axis=0) > 0)
        apart /= apart.sum(axis=1, keepdims=True)  # each row among its classes, known rows as they are
        within = inside + rng.choice([0.1, 0.5, 1]) * (apart - inside)
        distance = distance_to_hull(within, vertices)
        if distance > 1e-4:
            refused += 1
            with pytest.raises(ValueError, match="a start in the hull of the admissible assignments expected"):
                frank_wolfe(objective, chosen, within, 0)
        elif distance < 1e-12:
            assert_allclose(frank_wolfe(objective, chosen, within, 0).Z, within, atol=1e-12)
    assert refused > 30


def distance_to_hull(Z, vertices):
    """Largest difference of an entry to the closest point."""
    flat, n = vertices.reshape(len(vertices), -1).T, len(vertices)
    one = np.ones((flat.shape[0], 1))
    found = linprog(np.append(np.zeros(n), 1), np.vstack([np.hstack([flat, -one]), np.hstack([-flat, -one])]),
                    np.append(Z.ravel(), -Z.ravel()), np.append(np.ones(n), 0)[None], [1])
    return found.fun


# ---------------------------------------------------------------------------------------------- optimum
KINDS = {"plain": {"min_duration": 1, "skip_price": None}, "durations": {"min_duration": 2, "skip_price": None},
         "prices": {"min_duration": 1, "skip_price": 0.02}, "both": {"min_duration": 2, "skip_price": 0.05}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("seed", range(5))
def test_both_solvers_reach_the_optimum_over_all_vertices(kind, background, seed):
    """Value and gap against the gradient and all vertices listed; every second case has known rows."""
    rng = np.random.default_rng([seed, len(kind)])
    fixed = KINDS[kind] | ({"supervised": None} if seed % 2 else {})
    clips, options = random_case(rng, 6, 3, 2, background, **fixed)
    chosen, objective = Ordered(clips, **options), RidgeObjective(clips.features, 0.05, class_weight=rng.uniform(
        0.5, 2, clips.n_classes))
    start = random_vertices(chosen)
    block = block_frank_wolfe(objective, chosen, start, 200, tol=1e-8)
    batch = frank_wolfe(objective, chosen, start, 400)
    assert block.converged and block.final_gap <= 1e-8
    assert -1e-8 <= batch.objective[-1] - block.objective[-1] <= batch.final_gap + 1e-12
    assert np.all(np.diff(batch.objective) <= 1e-14) and np.all(np.diff(block.objective) <= 1e-14)
    gap, paid, gradient = 0.0, 0.0, objective.gradient(block.Z)
    for i in range(len(clips)):
        rows = clips.rows(i)
        vertices, prices = list_vertices(clips, i, **options)
        cheapest = least_price(block.Z[rows], vertices, prices)
        gap += np.sum(gradient[rows] * block.Z[rows]) + cheapest
        gap -= np.min(np.sum(gradient[rows] * vertices, axis=(1, 2)) + prices)
        paid += cheapest
    assert gap <= 1e-6
    assert_allclose(block.objective[-1], objective.value(block.Z) + paid, atol=1e-6)


def least_price(Z, vertices, prices):
    """Least price of a mixture of the vertices that gives Z."""
    flat = vertices.reshape(len(vertices), -1)
    found = linprog(prices, A_eq=np.vstack([flat.T, np.ones(len(flat))]), b_eq=np.append(Z.ravel(), 1))
    assert found.status == 0
    return found.fun


def test_the_start_costs_what_leaving_everything_out_costs():
    """Of a start nothing is known but its Z: no price that it may owe is forgotten. A clip that is known owes none."""
    clips = Clips(np.zeros((5, 1)), [5], [[0, 1, 0]], 2, None)
    chosen = Ordered(clips, skip_price=[0.5, 2.0])
    solution = frank_wolfe(RidgeObjective(clips.features, 1.0), chosen, one_hot([0, 1, 1, 1, 1], 2), 1)
    free = frank_wolfe(RidgeObjective(clips.features, 1.0), clips, one_hot([0, 1, 1, 1, 0], 2), 1)
    assert solution.duality_gap[0] >= 3.0 and free.duality_gap[0] < 3.0
    Z, objective = one_hot([0, 1, 1, 1, 0], 2), RidgeObjective(clips.features, 1.0)
    known = frank_wolfe(objective, Ordered(clips, np.array([0, 1, 1, 1, 0]), skip_price=[0.5, 2.0]), Z, 1)
    assert known.objective[0] == objective.value(Z) and known.duality_gap[0] == 0


# ---------------------------------------------------------------------------------------------- faults
@pytest.fixture(scope="module")
def clips():
    return Clips(np.zeros((12, 1)), [6, 6], [[0, 1], [1]], 2)


@pytest.mark.parametrize("value", [0, -1, 1.5, [1, 2, 3], "a", None, np.nan, [[1], [2]]])
def test_bad_least_durations(clips, value):
    with pytest.raises(ValueError, match="^min_duration: .* expected, found"):
        Ordered(clips, min_duration=value)


@pytest.mark.parametrize("value", [-1, np.nan, [1, 2, 3], "a", [[1], [2]], -np.inf])
def test_bad_prices(clips, value):
    with pytest.raises(ValueError, match="^skip_price: .* expected, found"):
        Ordered(clips, skip_price=value)


@pytest.mark.parametrize("value", [[0], np.zeros(12), np.full(12, 3), np.full(12, -2), "a", [None] * 12])
def test_bad_known_rows(clips, value):
    with pytest.raises(ValueError, match="^(supervised: 12 ints|clip 0, its row 0: known classes .* or -1) expected"):
        Ordered(clips, value)


@pytest.mark.parametrize("function", [linear_oracle, state_path, forward_backward, round_assignment, round_scores])
@pytest.mark.parametrize("cost", [np.zeros((12, 2)), np.zeros(12), np.full((12, 3), np.nan), np.full((12, 3), np.inf),
                                  np.zeros((12, 3), complex), np.full((12, 3), "a"), None])  # fmt: skip
def test_bad_costs(clips, function, cost):
    with pytest.raises(ValueError, match="cost of shape|real costs|clip 0, its row 0 .* finite costs expected"):
        function(cost, clips)


def test_all_faults_of_all_clips_come_together():
    clips = Clips(np.zeros((9, 1)), [3, 3, 3], [[0], [1], [0]], 2, clip_names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"(?s)2 faults.*clip 0 \(a\): T >= 5 .*found T = 3.*clip 2 \(c\)"):
        Ordered(clips, min_duration=[3, 1])


def test_a_set_without_order_has_no_path(clips):
    for function in (state_path, forward_backward):
        with pytest.raises(ValueError, match="clips: Clips or an Ordered set expected, found AtLeastOne"):
            function(np.zeros((12, 3)), AtLeastOne(clips))


@pytest.mark.compiled_only
def test_one_signature_of_each_kernel():
    """Whatever dtype and layout comes in: what is compiled twice makes the first use twice as long."""
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X = rng.standard_normal((20, 2)).astype(dtype)
        X.flags.writeable = False
        clips = Clips(X, [10, 10], [[0, 1], [1]], 2)
        for chosen in (clips, clips.subset([1, 0]), Ordered(clips, np.r_[2, [-1] * 19], 2, 1.0)):
            cost = rng.integers(0, 3, (20, 3)).astype(dtype)
            for layout in (cost, np.asfortranarray(cost), cost[::-1]):
                layout.flags.writeable = False
                linear_oracle(layout, chosen)
                forward_backward(layout, chosen)
            block_frank_wolfe(RidgeObjective(X, 1.0), chosen, random_vertices(chosen), 2)
    for kernel in (chain.cheapest, chain.posterior, nearest.nearest):
        assert len(kernel.signatures) == 1
