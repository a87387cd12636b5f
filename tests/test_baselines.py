"""Every baseline gives admissible labels, keeps to what it may know, and does what its docstring says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from ordering import Clips, RidgeObjective, baselines, metrics, round_assignment, round_scores
from ordering.clips import label_runs
from ordering.ncut import chi_squared_band
from ordering.solver import one_hot
from ordering.synthetic import make_clips


@pytest.fixture(scope="module")
def clips():
    return make_clips(30, 60, random_state=1)


@pytest.fixture(scope="module")
def known(clips):
    return np.where(np.arange(len(clips.labels)) < clips.offsets[15], clips.labels, -1)


def hidden(clips):
    """The same clips without labels."""
    return Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions)


def assert_admissible(labels, clips):
    assert labels.shape == (clips.offsets[-1],) and labels.dtype.kind == "i"
    assert np.array_equal(labels, round_assignment(one_hot(labels, clips.n_classes), clips))
    for i in range(len(clips)):
        assert np.array_equal(label_runs(labels[clips.rows(i)]), label_runs(clips.states(i)))


METHODS = {
    "uniform": lambda clips, known: baselines.uniform(clips),
    "hard_em": lambda clips, known: baselines.hard_em(clips),
    "supervised": lambda clips, known: baselines.supervised(clips, known),
    "normalized_cuts": lambda clips, known: baselines.normalized_cuts(clips),
    "at_least_one": lambda clips, known: baselines.at_least_one(clips),
    "at_least_one, half known": lambda clips, known: baselines.at_least_one(clips, known),
}


@pytest.mark.parametrize("name", METHODS)
def test_default_arguments_give_admissible_labels_without_reading_the_truth(name, clips, known):
    labels = METHODS[name](clips, known)
    assert_admissible(labels, clips)
    assert np.array_equal(labels, METHODS[name](hidden(clips), known))


@pytest.mark.parametrize("name", ["hard_em", "supervised", "normalized_cuts", "at_least_one"])
def test_details_agree_with_the_labels(name, clips, known):
    extra = (known,) if name == "supervised" else ()
    details = getattr(baselines, name)(clips, *extra, return_details=True)
    assert np.array_equal(details.labels, getattr(baselines, name)(clips, *extra))
    shown = details.scores if details.Z is None else details.Z
    assert np.array_equal(details.unordered, shown.argmax(axis=1))
    if details.Z is None:
        assert np.array_equal(details.labels, round_scores(details.scores, clips))
    else:
        assert np.array_equal(details.labels, round_assignment(details.Z, clips))
        assert details.solution.Z is details.Z
    if details.W is not None:
        np.testing.assert_allclose(clips.features @ details.W + details.b, details.scores, atol=1e-5)
    assert metrics.frame_accuracy(clips.labels, details.labels) > 0.3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(0, 20),
       st.sampled_from(["around", "between", None]))  # fmt: skip
def test_uniform_shares_intervals_equally(transcript, extra, background):
    states = {"around": 2 * len(transcript) + 1, "between": 2 * len(transcript) - 1, None: len(transcript)}
    S = states[background]
    clips = Clips(np.zeros((S + extra, 1)), [S + extra], [transcript], 3, background=background)
    labels = baselines.uniform(clips)
    counts = np.bincount(np.arange(S + extra) * S // (S + extra), minlength=S)
    assert counts.min() >= 1 and counts.max() - counts.min() <= 1
    assert labels.tolist() == np.repeat(clips.states(0), counts).tolist()


def test_hard_em_never_raises_the_joint_objective(clips):
    X = clips.features.astype(np.float64)
    precise = Clips(X, clips.lengths, clips.transcripts, 16)
    values = []
    for n_iter in range(1, 12):
        details = baselines.hard_em(precise, lam=1e-3, n_iter=n_iter, return_details=True)
        Z = one_hot(details.labels, 17)
        values.append(((Z - details.scores) ** 2).sum() / len(Z) + 1e-3 * (details.W**2).sum())
        values.append(RidgeObjective(X, 1e-3).value(Z))
    assert np.all(np.diff(values) <= 1e-10)
    assert values[-1] < values[0]


def test_hard_em_stops_at_a_fixed_point(clips):
    details = baselines.hard_em(clips, n_iter=200, return_details=True)
    W, b = RidgeObjective(clips.features, 3.16e-4).classifier(one_hot(details.labels, 17))
    assert np.array_equal(round_scores(clips.features @ W + b, clips), details.labels)


def test_supervised_is_scikit_learns_ridge(clips, known):
    X = clips.features.astype(np.float64)
    precise = Clips(X, clips.lengths, clips.transcripts, 16)
    details = baselines.supervised(precise, known, lam=1e-3, return_details=True)
    rows = known >= 0
    ridge = Ridge(alpha=rows.sum() * 1e-3).fit(X[rows], one_hot(known[rows], 17))
    np.testing.assert_allclose(details.W, ridge.coef_.T, atol=1e-9)
    np.testing.assert_allclose(details.scores, ridge.predict(X), atol=1e-9)


def test_supervised_reads_nothing_of_unknown_rows_but_their_features(clips, known):
    scrambled = np.random.default_rng(0).permutation(clips.features[known < 0])
    other = clips.features.copy()
    other[known < 0] = scrambled
    changed = Clips(other, clips.lengths, clips.transcripts, 16)
    first, second = (baselines.supervised(c, known, return_details=True).W for c in (clips, changed))
    assert np.array_equal(first, second)


def test_background_bias_moves_the_share_of_background(clips, known):
    share = [np.mean(baselines.supervised(clips, known, background_bias=bias) == 16) for bias in (-0.3, 0, 0.3)]
    assert share[0] < share[1] < share[2]
    assert np.mean(baselines.supervised(clips, known, background_bias=-9.0) == 16) == pytest.approx(
        sum(len(t) + 1 for t in clips.transcripts) / len(clips.labels)
    )


def test_at_least_one_fixes_known_rows(clips, known):
    details = baselines.at_least_one(clips, known, return_details=True)
    rows = known >= 0
    assert np.array_equal(details.Z[rows], one_hot(known[rows], 17))
    assert np.array_equal(details.labels[rows], known[rows])


def test_at_least_one_keeps_to_the_transcript_and_shows_every_action(clips):
    precise = clips.with_features(clips.features.astype(np.float64))
    details = baselines.at_least_one(precise, return_details=True)
    for i in range(len(clips)):
        mass = details.Z[clips.rows(i)].sum(axis=0)
        actions = np.unique(clips.transcripts[i])
        assert np.all(mass[actions] >= 1 - 1e-9)
        assert mass[actions].sum() + mass[16] == pytest.approx(clips.lengths[i])
    assert np.all(np.diff(details.solution.objective) <= 1e-15)
    assert details.solution.final_gap >= 0


def test_partly_known_clips_keep_their_rows(clips):
    known = np.full(len(clips.labels), -1)
    known[clips.offsets[2] : clips.offsets[2] + 9] = clips.labels[clips.offsets[2] : clips.offsets[2] + 9]
    labels = baselines.at_least_one(clips, known)
    assert np.array_equal(labels[known >= 0], known[known >= 0])
    assert_admissible(labels, clips)


def test_normalized_cuts_takes_distances_at_hand(clips):
    distances = chi_squared_band(clips, width=5)
    first = baselines.normalized_cuts(clips, width=5)
    assert np.array_equal(first, baselines.normalized_cuts(clips, distances=distances))


def test_normalized_cuts_finds_two_segments_that_differ():
    features = np.sqrt(np.repeat(np.eye(2), [7, 13], axis=0) * 0.9 + 0.05)
    clips = Clips(features, [20], [[0, 1]], n_actions=2, background=None)
    assert baselines.normalized_cuts(clips).tolist() == [0] * 7 + [1] * 13


@pytest.mark.parametrize("background", ["between", None])
def test_other_backgrounds(background):
    rng = np.random.default_rng(0)
    features = rng.random((40, 5))
    clips = Clips(features, [20, 20], [[0, 1], [1]], n_actions=2, background=background)
    known = np.r_[baselines.uniform(clips)[:20], np.full(20, -1)]
    for method in METHODS.values():
        assert_admissible(method(clips, known), clips)


def test_same_seed_same_labels(clips):
    for method in (baselines.normalized_cuts, baselines.at_least_one):
        first, again = (method(clips, n_iter=20, random_state=3, return_details=True).Z for _ in range(2))
        other = method(clips, n_iter=20, random_state=4, return_details=True).Z
        assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda c: baselines.hard_em(c, lam=0), "lam"),
        (lambda c: baselines.hard_em(c, n_iter=0), "n_iter: a positive integer expected, found 0"),
        (lambda c: baselines.supervised(c, np.full(len(c.labels), -1)), "at least one known row"),
        (lambda c: baselines.supervised(c, c.labels[:-1]), "supervised: .* expected"),
        (lambda c: baselines.supervised(c, c.labels + 1), "clip .*known classes"),
        (lambda c: baselines.at_least_one(c, lam=-1), "lam"),
        (lambda c: baselines.normalized_cuts(c, distances=np.zeros((3, 2))), "distances: .* rows .* found 3"),
    ],
)
def test_wrong_input_is_a_clear_error(clips, call, message):
    with pytest.raises(ValueError, match=message):
        call(clips)


def test_normalized_cuts_rejects_negative_features():
    clips = Clips(-np.ones((5, 2)), [5], [[0]], n_actions=1)
    with pytest.raises(ValueError, match="clip 0: features >= 0 expected for chi-squared"):
        baselines.normalized_cuts(clips)
