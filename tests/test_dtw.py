"""The linear oracle: against brute force, against librosa, and the inputs that break others."""

import librosa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ordering import Clips, Ordered, linear_oracle, state_path
from ordering.dtw import accumulate, backtrack, cost_table, count_assignments, enumerate_paths

LAYOUTS = [lambda c: c, np.asfortranarray, lambda c: np.repeat(c, 2, axis=1)[:, ::2], lambda c: c[::-1][::-1],
           lambda c: c.T.copy().T]


def one_clip(T, transcript, n_actions, background="around"):
    return Clips(np.zeros((T, 1)), [T], [transcript], n_actions, background=background)


@st.composite
def problems(draw):
    """One to three small clips with repeated actions, and costs: real, negative, tied, integer or huge."""
    background = draw(st.sampled_from(["around", "between", None]))
    n_actions = draw(st.integers(1, 3))
    transcripts = draw(st.lists(st.lists(st.integers(0, n_actions - 1), min_size=1, max_size=3),
                                min_size=1, max_size=3))
    lengths = [{"around": 2 * len(t) + 1, "between": 2 * len(t) - 1, None: len(t)}[background]
               + draw(st.integers(0, 4)) for t in transcripts]
    clips = Clips(np.zeros((sum(lengths), 1)), lengths, transcripts, n_actions, background=background)
    shape = sum(lengths), clips.n_classes
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["real", "tied", "integer", "huge", "float32", "equal"]))
    cost = {"real": rng.standard_normal(shape), "tied": rng.integers(-1, 2, shape).astype(float),
            "integer": rng.integers(-9, 9, shape), "huge": 5e12 * rng.standard_normal(shape),
            "float32": rng.standard_normal(shape).astype(np.float32), "equal": np.ones(shape)}[kind]
    return clips, draw(st.sampled_from(LAYOUTS))(cost)


@settings(max_examples=800, deadline=None)
@given(problems())
def test_oracle_equals_brute_force(problem):
    clips, cost = problem
    before = cost.copy()
    labels, path = linear_oracle(cost, clips), state_path(cost, clips)
    assert_array_equal(cost, before)
    for i in range(len(clips)):
        rows, states = clips.rows(i), clips.states(i)
        T = rows.stop - rows.start
        assert_array_equal(states[path[rows]], labels[rows])
        assert path[rows][0] == 0 and path[rows][-1] == len(states) - 1
        assert np.isin(np.diff(path[rows]), [0, 1]).all()
        choices = np.unique(states[enumerate_paths(T, len(states))], axis=0)
        assert len(choices) == count_assignments(states, T)
        totals = cost[rows].astype(float)[np.arange(T), choices].sum(axis=1)
        best = totals.min()
        tolerance = 1e-12 * np.abs(cost).max() * T
        assert_allclose(cost[rows].astype(float)[np.arange(T), labels[rows]].sum(), best, rtol=0, atol=tolerance)
        if np.sum(totals <= best + tolerance) == 1:
            assert_array_equal(labels[rows], choices[totals.argmin()])
        P = accumulate(cost_table(cost[rows], states))
        assert_array_equal(backtrack(P), path[rows])


@settings(max_examples=200, deadline=None)
@given(problems())
def test_known_rows_are_gone_through(problem):
    clips, cost = problem
    known = np.full(len(cost), -1)
    feasible = state_path(np.random.default_rng(0).standard_normal(cost.shape), clips)
    picked = np.random.default_rng(1).random(len(cost)) < 0.3
    for i in range(len(clips)):
        rows = clips.rows(i)
        known[rows] = np.where(picked[rows], clips.states(i)[feasible[rows]], -1)
    labels = linear_oracle(cost, Ordered(clips, known))
    assert_array_equal(labels[picked], known[picked])
    for i in range(len(clips)):
        rows, states = clips.rows(i), clips.states(i)
        T = rows.stop - rows.start
        choices = states[enumerate_paths(T, len(states))]
        choices = choices[((known[rows] < 0) | (choices == known[rows])).all(axis=1)]
        totals = cost[rows].astype(float)[np.arange(T), choices].sum(axis=1)
        assert_allclose(cost[rows].astype(float)[np.arange(T), labels[rows]].sum(), totals.min(),
                        rtol=0, atol=1e-12 * np.abs(cost).max() * T)


def test_known_rows_without_a_path():
    clips = Clips(np.zeros((10, 1)), [5, 5], [[0], [0, 1]], 2, clip_names=["a", "b"])
    known = np.full(10, -1)
    known[5:7] = 2, 1
    with pytest.raises(ValueError, match=r"clip 1 \(b\): an admissible .* through its known labels"):
        Ordered(clips, known)


@pytest.mark.compiled_only
@pytest.mark.parametrize("seed", range(20))
def test_optimal_value_equals_librosa(seed):
    rng = np.random.default_rng(seed)
    transcript = rng.integers(0, 4, size=rng.integers(1, 6))
    clips = one_clip(int(2 * len(transcript) + 1 + rng.integers(0, 40)), transcript, 4)
    cost = rng.random((clips.lengths[0], 5))
    D = cost_table(cost, clips.states(0))
    table = librosa.sequence.dtw(C=D.T, step_sizes_sigma=np.array([[0, 1], [1, 1]]), weights_add=np.zeros(2),
                                 weights_mul=np.ones(2), backtrack=False)
    labels = linear_oracle(cost, clips)
    assert_allclose(cost[np.arange(len(labels)), labels].sum(), table[-1, -1], rtol=1e-12)
    assert_allclose(accumulate(D)[-1, -1], table[-1, -1], rtol=1e-12)


def test_switch_scores_the_new_state():
    assert linear_oracle([[0, 9], [9, 0]], one_clip(2, [0, 1], 2, None)).tolist() == [0, 1]


def test_tie_rule():
    clips = one_clip(5, [0, 1, 2], 3, None)
    assert state_path(np.zeros((5, 3)), clips).tolist() == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("extra", [0, 1])
def test_no_room_to_spare(extra):
    clips = one_clip(5 + extra, [0, 1], 2)
    cost = np.random.default_rng(0).standard_normal((5 + extra, 3))
    path = state_path(cost, clips)
    assert set(path) == set(range(5))
    D = cost_table(cost, clips.states(0))
    paths = enumerate_paths(5 + extra, 5)
    assert_array_equal(path, paths[D[np.arange(5 + extra), paths].sum(axis=1).argmin()])


@pytest.mark.parametrize("scale", [5e12, 1e300, 1.7e308])
def test_huge_costs(scale):
    clips = one_clip(12, [0, 1], 2)
    cost = np.random.default_rng(0).standard_normal((12, 3))
    cost /= np.abs(cost).max()
    assert_array_equal(linear_oracle(scale * cost, clips), linear_oracle(cost, clips))


def test_a_whole_state_at_1e300():
    clips = one_clip(6, [0, 1], 2, None)
    cost = np.ones((6, 2))
    cost[:, 1] = 1e300
    assert linear_oracle(cost, clips).tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 1])  # class 1 is in no transcript: still an error
def test_costs_that_are_not_finite(value, column):
    clips = Clips(np.zeros((9, 1)), [4, 5], [[0], [0]], 2, clip_names=["a", "b"])
    cost = np.zeros((9, 3))
    cost[6, column] = value
    place = r"clip 1 \(b\), its row 2 \(row 6 of all\): finite costs expected"
    with pytest.raises(ValueError, match=rf"{place}, found {value} in column {column}"):
        linear_oracle(cost, clips)


def test_wrong_costs():
    clips = one_clip(5, [0], 1)
    for cost in (np.zeros((5, 3)), np.zeros((4, 2)), np.zeros(5), np.zeros((5, 2), complex)):
        with pytest.raises(ValueError, match="expected"):
            linear_oracle(cost, clips)


def test_read_only_costs():
    cost = np.random.default_rng(0).standard_normal((5, 2))
    cost.flags.writeable = False
    linear_oracle(cost, one_clip(5, [0], 1))


def test_equal_neighbours_without_background():
    clips = one_clip(2, [0, 0], 1, None)
    cost = np.zeros((2, 1))
    assert linear_oracle(cost, clips).tolist() == [0, 0]
    assert state_path(cost, clips).tolist() == [0, 1]
    with pytest.raises(ValueError, match="S = 2"):
        one_clip(1, [0, 0], 1, None)


def test_an_empty_transcript_is_background():
    assert linear_oracle(np.zeros((3, 2)), one_clip(3, [], 1)).tolist() == [1, 1, 1]


def test_partial_sums_that_overflow():
    cost = np.zeros((6, 2))
    cost[:4, 0] = [1e308, 1.5e308, -1.5e308, -1e308]
    cost[1, 1] = 1e307
    assert linear_oracle(cost, one_clip(6, [0, 1], 2, None)).tolist() == [0, 0, 0, 0, 0, 1]  # total 0
