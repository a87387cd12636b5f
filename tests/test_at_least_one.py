"""The oracle of the "at least one" set against enumeration and a linear program."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ordering import Clips, RidgeObjective, frank_wolfe, random_vertices
from ordering.at_least_one import AtLeastOneOracle, _project_clips, minimise_at_least_one


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
    labels = AtLeastOneOracle(clips)(cost)
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
        assert AtLeastOneOracle(clips, known)(cost).tolist() == known.tolist()
    elif len(missing) > np.count_nonzero(known < 0):
        with pytest.raises(ValueError, match="clip 0: .* actions are missing"):
            AtLeastOneOracle(clips, known)
    else:
        labels = AtLeastOneOracle(clips, known)(cost)
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
    labels = AtLeastOneOracle(clips)(cost)
    assert cost[np.arange(T), labels].sum() == pytest.approx(lp.fun, abs=1e-9)


def test_many_clips_equal_one_by_one_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    transcripts = [rng.integers(0, 3, size=k).tolist() for k in rng.integers(0, 4, size=60)]
    lengths = [max(2 * len(t) - 1, 1) + int(rng.integers(0, 4)) for t in transcripts]
    clips, cost = make(lengths, transcripts), rng.integers(0, 3, (sum(lengths), 4))
    labels = AtLeastOneOracle(clips)(cost)
    for i in range(len(clips)):
        alone = AtLeastOneOracle(clips.subset([i]))(cost[clips.rows(i)])
        assert alone.tolist() == labels[clips.rows(i)].tolist()
    backwards = make(lengths, [t[::-1] for t in transcripts])
    assert AtLeastOneOracle(backwards)(cost).tolist() == labels.tolist()


def test_greedy_would_collide():
    clips = make([3], [[0, 1]], background=None, n_actions=2)
    cost = np.array([[0.0, 0.0], [-1.0, 5.0], [-3.0, 0.0]])
    assert AtLeastOneOracle(clips)(cost).tolist() == [1, 0, 0]


def test_cost_layouts_and_inputs_unchanged():
    clips = make([4, 3], [[0, 1], [2]])
    cost = np.random.default_rng(1).integers(-9, 9, (7, 4)).astype(np.float64)
    expected = AtLeastOneOracle(clips)(cost).tolist()
    strided = np.empty((14, 4))[::2]
    strided[:] = cost
    known = np.full(7, -1)
    for array in (cost.astype(int), cost.astype(np.float32), np.asfortranarray(cost), strided):
        array.flags.writeable = False
        assert AtLeastOneOracle(clips, known)(array).tolist() == expected
    assert np.all(known == -1)


def test_wrong_input_is_a_clear_error():
    clips = make([4, 3], [[0, 1], [2]])
    with pytest.raises(ValueError, match=r"\(7, 4\), got \(7, 3\)"):
        AtLeastOneOracle(clips)(np.zeros((7, 3)))
    with pytest.raises(ValueError, match="clip 1: cost nan at row 5, column 2"):
        AtLeastOneOracle(clips)(np.where(np.arange(28).reshape(7, 4) == 22, np.nan, 0))
    with pytest.raises(ValueError, match="known: 7 classes"):
        AtLeastOneOracle(clips, [0, 1])


# ------------------------------------------------------------------------------------------- projecting solver
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
@pytest.mark.parametrize("kappa", [0.0, 3e-3])
@pytest.mark.parametrize("supervise", [False, True])
def test_projections_reach_the_optimum_that_the_oracle_certifies(small, lam, kappa, supervise):
    objective = RidgeObjective(small.features, lam, kappa=kappa * np.array([-1, -1, -1, 1]))
    known = np.where(np.arange(len(small.labels)) < small.offsets[4], small.labels, -1) if supervise else None
    start = random_vertices(small)
    fast = minimise_at_least_one(objective, small, start, n_iter=300, tol=1e-7, supervised=known)
    assert fast.converged and fast.Z.min() >= 0
    oracle = AtLeastOneOracle(small, known)
    slow = frank_wolfe(objective, small, start, n_iter=2000, supervised=known, oracle=oracle)
    assert slow.objective[-1] - slow.final_gap <= fast.objective[-1] <= slow.objective[-1]
    for i in range(4 if supervise else 0, len(small)):  # still inside the hull
        sums = fast.Z[small.rows(i)].sum(axis=0)
        assert sums[np.unique(small.transcripts[i])].min() > 1 - 1e-8
        others = np.setdiff1d(np.arange(3), small.transcripts[i])
        assert np.all(fast.Z[small.rows(i)][:, others] == 0)
    if supervise:
        assert np.array_equal(fast.Z[known >= 0].argmax(axis=1), known[known >= 0])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(5, 30))
def test_the_projection_satisfies_its_optimality_conditions(seed, m, T):
    rng = np.random.default_rng(seed)
    point = rng.normal(size=(T, m)) * rng.choice([0.1, 1, 10]) - 3 * (rng.random(m) < 0.5)
    Z = np.zeros((T, m))
    gradient, multipliers, D = -point, np.zeros(m), np.zeros((T, m))
    classes, required = np.arange(m), np.arange(m - 1)
    _project_clips(np.array([0]), Z, Z, gradient, gradient, 0.0, 1.0, np.array([0, T]), classes, np.array([0, m]),
                   required, np.array([0, m - 1]), multipliers, D)
    sums = D[:, :-1].sum(axis=0)
    np.testing.assert_allclose(D.sum(axis=1), 1, atol=1e-12)
    assert D.min() >= 0 and sums.min() > 1 - 1e-8 and multipliers.min() >= 0 and multipliers[-1] == 0
    assert np.abs(multipliers[:-1] * (sums - 1)).max() < 1e-6  # complementary
    residual = point + multipliers - D  # constant where D > 0, and nowhere larger in its row
    level = np.where(D > 0, residual, -np.inf).max(axis=1, keepdims=True)
    assert np.abs((residual - level)[D > 0]).max() < 1e-9 and (residual <= level + 1e-9).all()


def test_projections_want_whole_clips_known(small):
    known = np.where(np.arange(len(small.labels)) < small.offsets[1] - 1, small.labels, -1)
    with pytest.raises(ValueError, match="clip 0: all rows known or none expected"):
        minimise_at_least_one(RidgeObjective(small.features, 1e-2), small, random_vertices(small), supervised=known)
