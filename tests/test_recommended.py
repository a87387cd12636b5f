"""The recommended setting: what holds whatever the clips, and how good it at least is on the sets shipped."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ordering import Clips, OrderedActionLabeling, datasets
from ordering.admissible import Ordered, linear_oracle
from ordering.clips import label_runs
from ordering.metrics import interval_scores
from ordering.recommended import estimator
from ordering.recommended.features import pooled
from ordering.recommended.grammar import Grammar
from ordering.synthetic import make_clips


def fitted(clips, supervised=None, **changes):
    return OrderedActionLabeling.recommended(**changes).fit(clips, supervised)


def iou(clips, labels, rows=slice(None), lengths=None):
    lengths = clips.lengths if lengths is None else lengths
    return interval_scores(clips.labels[rows], labels[rows], lengths, clips.background_class, normalize="union").mean


def actions_only(clips):
    return Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions, "optional", clips.labels)


def with_features(clips, X):
    return Clips(X, clips.lengths, clips.transcripts, clips.n_actions, clips.background, clips.labels)


def assert_admissible(clips, labels):
    """The labels are a path through the lists: none is cheaper than the one that they cost nothing on."""
    cost = np.ones((clips.n_intervals, clips.n_classes))
    cost[np.arange(len(labels)), labels] = 0
    np.testing.assert_array_equal(linear_oracle(cost, Ordered(clips)), labels)


@pytest.fixture(scope="module")
def clips():
    return actions_only(make_clips(24, 40, random_state=1))


@pytest.fixture(scope="module")
def model(clips):
    return fitted(clips)


def test_two_runs_agree_to_the_bit(clips, model):
    again = fitted(clips)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.posterior_, model.posterior_)
    assert again.suggest(5) == model.suggest(5)


@pytest.mark.parametrize("change", ["scale", "shift", "columns"])
def test_scale_of_features_does_not_matter(clips, model, change):
    X, rng = np.asarray(clips.features, np.float64), np.random.default_rng(0)
    X = {"scale": 1024 * X, "shift": X + 4.0, "columns": X * rng.uniform(0.1, 10, X.shape[1])}[change]
    assert np.mean(fitted(with_features(clips, X)).labels_ == model.labels_) > 0.995


def test_no_label_is_read(clips, model):
    blind = Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions, clips.background)
    np.testing.assert_array_equal(fitted(blind).labels_, model.labels_)


def test_posterior_and_labels(clips, model):
    assert model.posterior_.shape == (clips.n_intervals, clips.n_classes)
    np.testing.assert_allclose(model.posterior_.sum(axis=1), 1)
    assert (model.posterior_ >= 0).all()
    assert_admissible(clips, model.labels_)
    assert_admissible(clips, model.predict(clips))


def test_known_rows_are_kept(clips):
    known = np.where(clips.mask([0, 3]), clips.labels, -1)
    known[clips.offsets[5]:clips.offsets[5] + 2] = clips.labels[clips.offsets[5]:clips.offsets[5] + 2]
    found, rows = fitted(clips, known), known >= 0
    np.testing.assert_array_equal(found.labels_[rows], known[rows])
    np.testing.assert_allclose(found.posterior_[rows, known[rows]], 1)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_suggested_clips_are_distinct(clips, model, n):
    picked = model.suggest(n)
    assert len(picked) == len(set(picked)) == min(n, len(clips))
    assert set(picked) <= set(range(len(clips)))


def test_predict_without_lists(clips, model):
    found = model.predict(clips, lists=False)
    other = Clips(clips.features, clips.lengths, [[] for _ in range(len(clips))], clips.n_actions, "optional")
    np.testing.assert_array_equal(found, model.predict(other, lists=False))
    assert np.mean(found == clips.labels) > 0.6


def test_a_grammar_knows_who_follows_whom():
    clips = Clips(np.zeros((12, 1)), [6, 6], [[0, 1], [0, 1]], n_actions=3, background=None)
    grammar = Grammar.of(clips, np.array([0.5, 0.5]), np.full(3, 0.6))
    scores = np.log([[0.5, 0.1, 0.4]] * 3 + [[0.1, 0.45, 0.45]] * 3)
    assert grammar.labels(scores, [6]).tolist() == [0, 0, 0, 1, 1, 1]


def test_other_clips_are_checked(model):
    with pytest.raises(ValueError, match="features expected"):
        model.predict(make_clips(3, 12, random_state=0))


def odd_clips():
    rng = np.random.default_rng(0)
    lists = [[0, 1], [1, 2, 0], [], [2]]
    lengths = [9, 12, 4, 7]
    X = rng.standard_normal((32, 6))
    yield "constant columns", X * [1, 0, 1, 0, 0, 1], lengths, lists, "optional"
    yield "all constant", np.ones((32, 3)), lengths, lists, "optional"
    yield "one column", X[:, :1], lengths, lists, "optional"
    yield "many columns", rng.standard_normal((32, 2048)), lengths, lists, "optional"
    yield "float32", X.astype(np.float32), lengths, lists, "optional"
    yield "sparse", csr_matrix(X * (X > 0)), lengths, lists, "optional"
    yield "one clip", X[:9], [9], [[0, 1]], "optional"
    yield "one interval", X[:1], [1], [[0]], "optional"
    yield "shortest", X[:7], [2, 3, 1, 1], lists, "optional"
    yield "shortest, background around", X[:15], [5, 7, 1, 2 + 0], [[0, 1], [1, 2, 0], [], []], "around"
    yield "no background", X[:28], [9, 12, 7], [[0, 1], [1, 2, 0], [2]], None
    yield "equal neighbours", X[:21], [9, 12], [[0, 0], [1, 1, 1]], "optional"
    yield "only empty lists", X[:13], [9, 4], [[], []], "optional"


@pytest.mark.parametrize("case", list(odd_clips()), ids=lambda case: case[0])
def test_odd_clips(case):
    _, X, lengths, lists, background = case
    clips = Clips(X, lengths, lists, 3, background)
    found = fitted(clips)
    assert np.isfinite(found.posterior_).all() and np.isfinite(found.coef_).all()
    np.testing.assert_allclose(found.posterior_.sum(axis=1), 1)
    assert_admissible(clips, found.labels_)
    assert len(found.predict(clips)) == len(found.predict(clips, lists=False)) == clips.n_intervals


def test_motion_capture():
    clips = datasets.load_mocap6(10.0)
    assert iou(clips, fitted(clips).labels_) > 0.84
    clips = datasets.load_mocap6(None)
    assert iou(clips, fitted(clips).labels_) > 0.88


def test_birdsong_from_lists_of_actions():
    clips = datasets.load_birdsong()
    assert iou(clips, fitted(clips).labels_) > 0.75


def test_gestures_with_background_in_the_lists():
    clips = datasets.load_gestures()
    lists = [label_runs(clips.labels[clips.rows(i)]) for i in range(len(clips))]
    whole = Clips(clips.features, clips.lengths, lists, clips.n_classes, None, clips.labels)
    found = fitted(whole).labels_
    assert interval_scores(clips.labels, found, clips.lengths, clips.background_class, normalize="union").mean > 0.44


def test_short_actions_are_not_given_away_to_their_neighbours():
    clips = actions_only(make_clips(150, 200, random_state=5, action_length=3.5, gap_length=2.5, clip_range=(5, 60),
                                    autocorrelation=0.3, sep=2.0))
    assert iou(clips, fitted(clips).labels_) > 0.45


def test_ten_labelled_clips_choose_the_minimum_duration():
    """Each is found without being told, for every duration that is tried."""
    clips = actions_only(make_clips(24, 40, random_state=0, action_length=15.0, gap_length=12.0, sep=1.0))
    assert fitted(clips).copies_ == (2, 3, 4)
    assert fitted(clips, np.where(clips.mask(np.arange(9)), clips.labels, -1)).copies_ == (2, 3, 4)
    assert fitted(clips, np.where(clips.mask(np.arange(12)), clips.labels, -1)).copies_ == (4, 5, 6)


def test_long_recordings_are_pooled_in_blocks(clips):
    part, K = clips[:12], 8
    long = Clips(np.repeat(part.features, K, axis=0), K * part.lengths, part.transcripts, part.n_actions, "optional",
                 np.repeat(part.labels, K))
    found = fitted(long)
    assert found.size_ == 7
    assert_admissible(long, found.labels_)
    assert iou(long, found.labels_) > iou(part, fitted(part).labels_) - 0.05
    means, blocks = pooled(np.arange(10.0)[:, None] ** 2, np.array([3, 7]), 3)
    assert blocks.tolist() == [1, 3]
    np.testing.assert_allclose(means[:, 0], [5 / 3, (9 + 16 + 25) / 3, (36 + 49 + 64) / 3, 81])


def test_numbers_of_actions_do_not_matter():
    clips = datasets.load_gestures()
    turn = np.array([2, 0, 3, 1, 4])
    other = Clips(clips.features, clips.lengths, [turn[t] for t in clips.transcripts], 4, "optional")
    np.testing.assert_array_equal(fitted(other).labels_, turn[fitted(clips).labels_])


@pytest.mark.parametrize("part", [slice(None, None, 2), slice(None, None, 3)], ids=["half", "third"])
def test_birdsong_from_few_clips(part):
    """Half of the syllables' gaps stand at no end of a clip: that background may be missing there has to be found."""
    clips = datasets.load_birdsong()[part]
    assert iou(clips, fitted(clips).labels_) > 0.7


@pytest.mark.parametrize(("evidence", "present", "expected"), [
    (2.54, 0.999, estimator.LEARNT),  # hardly less clear without background, though nearly all of it is there
    (2.56, 0.999, estimator.LEARNT),  # even a little clearer
    (2.54, 0.2, estimator.ABSENT),
    (2.2, 0.2, estimator.LEARNT),
])
def test_background_is_left_out_only_where_it_is_learnt_to_be_absent(evidence, present, expected):
    """The first case made labels of 80 actions worse than an even split."""
    spread = np.tile([-0.5, 0.5], 50)
    level = {estimator.THERE: 2.55, estimator.LEARNT: 2.555, estimator.INSIDE: 2.5, estimator.ABSENT: evidence}
    found = {(0.8, 2, way): (value + (spread if way == estimator.ABSENT else 0 * spread),
                             SimpleNamespace(presence=np.array([present, present]))) for way, value in level.items()}
    ways = [(0.8, 2, estimator.LEARNT), (0.8, 2, estimator.ABSENT)]
    assert estimator._background(found, (0.8, 2, estimator.THERE), ways, (0.8, 2, estimator.INSIDE))[2] == expected
