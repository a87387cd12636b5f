"""The oracle of the "at least one" set against enumeration and a linear program."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ordering import AtLeastOne, Clips, RidgeObjective, block_frank_wolfe, frank_wolfe, linear_oracle, random_vertices
from ordering.admissible import one_hot
from ordering.at_least_one import _project


def make(lengths, transcripts, n_actions=3, background="between"):
    return Clips(np.zeros((sum(lengths), 1)), lengths, transcripts, n_actions, background=background)


def brute_force(cost, clips, known):
    """Least cost over all label sequences of one clip, by listing them."""
    allowed = {*clips.transcripts[0]} | ({clips.background_class} - {None})
    best = np.inf
    for labels in product(*[[k] if k >= 0 else sorted(allowed) for k in known]):
        if {*clips.transcripts[0]} <= {*labels}:
            best = min(best, sum(cost[t, c] for t, c in enumerate(labels)))
    return best


@st.composite
def problems(draw):
    background = draw(st.sampled_from(["around", "between", None]))
    transcript = draw(st.lists(st.integers(0, 2), min_size=0 if background else 1, max_size=3))
    states = {"around": 2 * len(transcript) + 1, "between": 2 * len(transcript) - 1, None: len(transcript)}
    T = draw(st.integers(max(states[background], 1), 7))
    clips = make([T], [transcript], background=background)
    value = draw(st.sampled_from([st.integers(-2, 2), st.floats(-5, 5, allow_nan=False)]))
    rows = st.lists(value, min_size=clips.n_classes, max_size=clips.n_classes)
    return clips, np.array(draw(st.lists(rows, min_size=T, max_size=T)))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_oracle_equals_brute_force(problem):
    clips, cost = problem
    labels = linear_oracle(cost, AtLeastOne(clips))
    actions = {*clips.transcripts[0]}
    assert actions <= {*labels} <= actions | {clips.background_class}
    total = cost[np.arange(len(labels)), labels].sum()
    assert total == pytest.approx(brute_force(cost, clips, [-1] * len(labels)), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(problems(), st.data())
def test_known_rows_are_kept_and_count(problem, data):
    clips, cost = problem
    options = [-1, *clips.transcripts[0].tolist()]
    known = np.array(data.draw(st.lists(st.sampled_from(options), min_size=len(cost), max_size=len(cost))))
    missing = {*clips.transcripts[0]} - {*known}
    if np.all(known >= 0):
        assert linear_oracle(cost, AtLeastOne(clips, known)).tolist() == known.tolist()
    elif len(missing) > np.count_nonzero(known < 0):
        with pytest.raises(ValueError, match="clip 0: a free row for each of the .* actions"):
            AtLeastOne(clips, known)
    else:
        labels = linear_oracle(cost, AtLeastOne(clips, known))
        assert labels[known >= 0].tolist() == known[known >= 0].tolist()
        total = cost[np.arange(len(labels)), labels].sum()
        assert total == pytest.approx(brute_force(cost, clips, known), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_linear_program_has_no_better_fractional_point(seed):
    rng = np.random.default_rng(seed)
    T, clips = 9, make([9], [[0, 1, 2, 1]], n_actions=4)
    cost = rng.normal(size=(T, 5)) + [3, 3, 3, -3, 0]  # colliding actions, a forbidden class that looks cheap
    cost[4] -= [3, 3, 3, 0, 0]
    rows_sum_to_one = np.kron(np.eye(T), np.ones(5))
    at_least_one = -np.kron(np.ones(T), np.eye(5)[:3])
    bounds = [(0, 0) if c == 3 else (0, None) for _ in range(T) for c in range(5)]
    lp = linprog(cost.ravel(), at_least_one, -np.ones(3), rows_sum_to_one, np.ones(T), bounds)
    labels = linear_oracle(cost, AtLeastOne(clips))
    assert cost[np.arange(T), labels].sum() == pytest.approx(lp.fun, abs=1e-9)


def test_many_clips_equal_one_by_one_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    transcripts = [rng.integers(0, 3, size=k).tolist() for k in rng.integers(0, 4, size=60)]
    lengths = [max(2 * len(t) - 1, 1) + int(rng.integers(0, 4)) for t in transcripts]
    clips, cost = make(lengths, transcripts), rng.integers(0, 3, (sum(lengths), 4))
    labels = linear_oracle(cost, AtLeastOne(clips))
    for i in range(len(clips)):
        alone = linear_oracle(cost[clips.rows(i)], AtLeastOne(clips.subset([i])))
        assert alone.tolist() == labels[clips.rows(i)].tolist()
    backwards = make(lengths, [t[::-1] for t in transcripts])
    assert linear_oracle(cost, AtLeastOne(backwards)).tolist() == labels.tolist()


def test_greedy_would_collide():
    clips = make([3], [[0, 1]], background=None, n_actions=2)
    cost = np.array([[0.0, 0.0], [-1.0, 5.0], [-3.0, 0.0]])
    assert linear_oracle(cost, AtLeastOne(clips)).tolist() == [1, 0, 0]


def test_cost_layouts_and_inputs_unchanged():
    clips = make([4, 3], [[0, 1], [2]])
    cost = np.random.default_rng(1).integers(-9, 9, (7, 4)).astype(np.float64)
    expected = linear_oracle(cost, AtLeastOne(clips)).tolist()
    strided = np.empty((14, 4))[::2]
    strided[:] = cost
    known = np.full(7, -1)
    for array in (cost.astype(int), cost.astype(np.float32), np.asfortranarray(cost), strided):
        array.flags.writeable = False
        assert linear_oracle(array, AtLeastOne(clips, known)).tolist() == expected
    assert np.all(known == -1)


def test_wrong_input_is_a_clear_error():
    clips = make([4, 3], [[0, 1], [2]])
    with pytest.raises(ValueError, match=r"\(7, 4\) expected, .* found \(7, 3\)"):
        linear_oracle(np.zeros((7, 3)), AtLeastOne(clips))
    with pytest.raises(ValueError, match=r"clip 1, its row 1 \(row 5 of all\): .* found nan in column 2"):
        linear_oracle(np.where(np.arange(28).reshape(7, 4) == 22, np.nan, 0), AtLeastOne(clips))
    with pytest.raises(ValueError, match="supervised: 7 ints expected"):
        AtLeastOne(clips, [0, 1])
    with pytest.raises(ValueError, match="clip 0: a free row for each of the 2 actions .* expected, found 1"):
        AtLeastOne(clips, [3, 3, 3, -1, 2, 2, 2])


# ------------------------------------------------------------------------------------------- inner problem
KAPPA = 3e-3 * np.array([-1, -1, -1, 1])


@pytest.mark.parametrize("lam", [1e-3, 1e-1])
@pytest.mark.parametrize("kappa", [0.0, 1.0])
@pytest.mark.parametrize("supervise", ["nothing", "clips", "rows"])
def test_both_solvers_reach_the_same_optimum(small, lam, kappa, supervise):
    objective = RidgeObjective(small.features, lam, kappa=kappa * KAPPA)
    rows = np.arange(len(small.labels))
    chosen = {"nothing": rows < 0, "clips": rows < small.offsets[4], "rows": rows % 5 == 0}[supervise]
    known = np.where(chosen, small.labels, -1)
    chosen_set = AtLeastOne(small, known)
    start = random_vertices(chosen_set)
    block = block_frank_wolfe(objective, chosen_set, start, n_iter=300, tol=1e-7)
    assert block.converged and block.Z.min() >= 0
    batch = frank_wolfe(objective, chosen_set, start, n_iter=2000)
    assert batch.objective[-1] - batch.final_gap <= block.objective[-1] <= batch.objective[-1]
    for i in range(4 if supervise == "clips" else 0, len(small)):  # still inside the hull
        sums = block.Z[small.rows(i)].sum(axis=0)
        assert sums[np.unique(small.transcripts[i])].min() > 1 - 1e-8
        others = np.setdiff1d(np.arange(3), small.transcripts[i])
        assert np.all(block.Z[small.rows(i)][:, others] == 0)
    np.testing.assert_array_equal(block.Z[chosen], one_hot(small.labels, 4)[chosen])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(5, 30))
def test_the_projection_satisfies_its_optimality_conditions(seed, m, T):
    """Multipliers mu >= 0 of the columns exist with which every row is a projection onto the simplex."""
    rng = np.random.default_rng(seed)
    point = rng.normal(size=(T, m)) * rng.choice([0.1, 1, 10]) - 3 * (rng.random(m) < 0.5)
    D, classes, required = np.zeros((T, m)), np.arange(m), np.arange(m - 1)
    _project(point, np.full(T, -1), np.array([0, T]), classes, np.array([0, m]), required, np.array([0, m - 1]), D)
    sums = D[:, :-1].sum(axis=0)
    np.testing.assert_allclose(D.sum(axis=1), 1, atol=1e-12)
    assert D.min() >= 0 and sums.min() > 1 - 1e-8
    # D - point = mu_c - tau_t where D > 0, and >= elsewhere: feasible differences, by a linear program
    cost, bounds = np.zeros(m + T), [(0, None)] * (m - 1) + [(0, 0)] + [(None, None)] * T
    rows = np.hstack([np.tile(np.eye(m), (T, 1)), -np.kron(np.eye(T), np.ones((m, 1)))])
    slack = (D - point).ravel()
    upper = np.vstack([rows, -rows[D.ravel() > 0]])
    for c in np.flatnonzero(sums > 1 + 1e-6):
        bounds[c] = (0, 0)  # complementary
    scale = max(1, np.abs(point).max())
    limit = np.append(slack, -slack[D.ravel() > 0]) / scale + 1e-7
    assert linprog(cost, upper, limit, bounds=bounds).status == 0


def test_no_vertex_improves_on_the_solution_of_the_inner_problem():
    rng = np.random.default_rng(0)
    clips = make([6, 5], [[0, 1, 2], [1]])
    known = np.where(np.arange(11) == 3, 2, -1)
    chosen = AtLeastOne(clips, known)
    (part,) = chosen.parts()
    slope, V = rng.standard_normal((11, 4)), random_vertices(chosen)
    P, price, _ = part.nearest(V, slope, np.full(11, 0.7), np.full(4, 2.0), np.zeros(2), 1e-9, None)
    slope += 0.7 * 2 * (P - V)
    best = one_hot(linear_oracle(slope, chosen), 4)
    assert abs(np.sum(slope * (P - best))) < 1e-8 and price.tolist() == [0, 0]
    assert P[3].tolist() == [0, 0, 1, 0]
