"""Metrics against the released code's values, brute force, scikit-learn and their own properties."""

from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from ordering import metrics

DATA = Path(__file__).parent / "data"
BACKGROUND = 16


# ------------------------------------------------------------------ released code's values
@pytest.fixture(scope="module")
def mat():
    return scipy.io.loadmat(DATA / "sixty_clips.mat", squeeze_me=False)


@pytest.fixture(scope="module", params=["weak", "semi", "kappa"])
def reference(request, mat):
    ref = dict(np.load(DATA / f"{request.param}.npz", allow_pickle=False))
    per_clip = [mat["Y"][i, 0].argmax(axis=1) for i in ref["training_clips"]]
    lengths = np.array([len(y) for y in per_clip])
    return ref, np.concatenate(per_clip), lengths


def rows_and_lengths(ref, lengths, name):
    rows = ref[name]
    clip = np.repeat(np.arange(len(lengths)), lengths)
    assert np.all(np.diff(rows) > 0) and set(np.bincount(clip[rows])) <= {0, *lengths}
    return rows, lengths[np.unique(clip[rows])]


@pytest.mark.parametrize(
    "key, rows_key, normalize",
    [("iod_test", "test_rows", "prediction"), ("iou_test", "test_rows", "union"),
     ("iod_val", "val_rows", "prediction")],
)  # fmt: skip
def test_interval_scores_equal_the_released_code(reference, key, rows_key, normalize):
    ref, truth, lengths = reference
    rows, lengths = rows_and_lengths(ref, lengths, rows_key)
    scores = metrics.interval_scores(
        truth[rows], ref["rounded_labels"][rows], lengths, BACKGROUND, normalize=normalize
    )
    assert scores.mean == pytest.approx(ref[key][-1], abs=1e-12)
    assert np.isnan(scores.per_class[BACKGROUND])
    if key == "iod_test":
        np.testing.assert_allclose(scores.per_class[:16], ref["iod_per_class_test_final"], atol=1e-12, rtol=0)


def test_accuracy_precision_recall_equal_the_released_code(reference):
    ref, truth, _ = reference
    rows = ref["test_rows"]
    true, predicted = truth[rows], ref["rounded_labels"][rows]
    assert metrics.frame_accuracy(true, predicted) == pytest.approx(ref["accuracy_test"][-1], abs=1e-12)
    assert metrics.precision_recall(true, predicted, BACKGROUND) == pytest.approx(
        (ref["precision_test"][-1], ref["recall_test"][-1]), abs=1e-12
    )


def test_average_precision_of_the_assignment_equals_the_released_code(reference):
    ref, truth, _ = reference
    rows = ref["test_rows"]
    found = metrics.average_precision(np.eye(17)[truth[rows]], ref["Z"][rows])
    np.testing.assert_allclose(found, ref["ap11_test_final"], atol=1e-12, rtol=0)
    assert found.mean() == pytest.approx(ref["map_test"][-1], abs=1e-12)


def test_held_out_average_precision_equals_the_released_code(reference, mat):
    ref = reference[0]
    X = np.concatenate([mat["X"][i, 0] for i in ref["heldout_clips"]]).astype(np.float64)
    truth = np.concatenate([mat["Y"][i, 0] for i in ref["heldout_clips"]])
    with pytest.warns(UserWarning, match="no positives"):
        found = metrics.average_precision(truth, X @ ref["W"])
    np.testing.assert_allclose(found, ref["heldout_ap11"], atol=1e-12, rtol=0)
    assert found.mean() == pytest.approx(ref["heldout_map"], abs=1e-12)
    with pytest.warns(UserWarning, match="no positives"):
        with_bias = metrics.average_precision(truth, X @ ref["W"] + ref["b"])
    np.testing.assert_allclose(with_bias, ref["heldout_ap11_with_bias"], atol=1e-12, rtol=0)


# ------------------------------------------------------------------ brute force
def slow_runs(labels):
    """Runs as (label, set of interval numbers)."""
    return [(c, {t for t, _ in g}) for c, g in groupby(enumerate(labels), key=lambda pair: pair[1])]


def slow_ratio(truth, found, normalize):
    if not found:
        return Fraction(0)
    size = {"prediction": found, "union": truth | found, "truth": truth}[normalize]
    return Fraction(len(truth & found), len(size))


def slow_scores(clips, background, match, normalize):
    """Per clip, the list of (class, score); `clips` is a list of (true, predicted)."""
    out = []
    for true, predicted in clips:
        rows, left = [], slow_runs(predicted)
        for c, run in slow_runs(true):
            same = [found for k, found in left if k == c]
            if match == "ordered":
                rows.append((c, slow_ratio(run, same[0] if same else set(), normalize)))
                if same:
                    left = left[left.index((c, same[0])) + 1 :]
            elif match == "best":
                scores = [slow_ratio(run, found, normalize) for found in same]
                rows.append((c, max(scores, default=Fraction(0))))
        if match == "frames":
            where = [
                {c: {t for t, x in enumerate(y) if x == c} for c in range(5)} for y in (true, predicted)
            ]
            rows = [(c, slow_ratio(where[0][c], where[1][c], normalize)) for c in range(5) if where[0][c]]
        out.append([(c, score) for c, score in rows if c != background])
    return out


clip_pairs = st.integers(1, 12).flatmap(
    lambda T: st.tuples(*[st.lists(st.integers(0, 4), min_size=T, max_size=T)] * 2)
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(clip_pairs, min_size=1, max_size=4),
    st.sampled_from([None, 4, 0]),
    st.sampled_from(["ordered", "best", "frames"]),
    st.sampled_from(["prediction", "union", "truth"]),
)
def test_interval_scores_equal_brute_force(clips, background, match, normalize):
    true, predicted = ([x for pair in clips for x in pair[i]] for i in (0, 1))
    found = metrics.interval_scores(true, predicted, [len(t) for t, _ in clips], background, match, normalize)
    expected = slow_scores(clips, background, match, normalize)
    flat = [row for rows in expected for row in rows]
    np.testing.assert_allclose(found.per_interval, [float(score) for _, score in flat], atol=1e-15)
    assert len(found.per_class) == max(true + predicted + [-1 if background is None else background]) + 1
    for c, value in enumerate(found.per_class):
        scores = [float(score) for k, score in flat if k == c]
        assert (np.isnan(value) and not scores) or value == pytest.approx(np.mean(scores), abs=1e-15)
    pooled = [s for _, s in flat]
    if match == "best":
        pooled = [sum(s for _, s in rows) / len(rows) for rows in expected if rows]
    if pooled:
        assert found.mean == pytest.approx(float(sum(pooled) / len(pooled)), abs=1e-14)
    else:
        assert np.isnan(found.mean)


@settings(max_examples=100, deadline=None)
@given(st.lists(clip_pairs, min_size=1, max_size=4), st.sampled_from(["ordered", "best", "frames"]))
def test_properties_of_the_three_normalisations(clips, match):
    true, predicted = ([x for pair in clips for x in pair[i]] for i in (0, 1))
    lengths = [len(t) for t, _ in clips]
    iod, iou, cover = (
        metrics.interval_scores(true, predicted, lengths, None, match, normalize).per_interval
        for normalize in ("prediction", "union", "truth")
    )
    assert np.all((0 <= iou) & (iou <= iod) & (iou <= cover) & (iod <= 1) & (cover <= 1))
    perfect = metrics.interval_scores(true, true, lengths, None, match, "union")
    assert perfect.mean == 1 and np.all(perfect.per_interval == 1)
    elsewhere = metrics.interval_scores(true, np.asarray(predicted) + 5, lengths, None, match)
    assert np.all(elsewhere.per_interval == 0)


def test_ordered_match_by_hand():
    # Background runs move the search too: an action found before the first of them is passed over.
    true = [9, 0, 0, 9, 1, 1, 9]
    assert metrics.interval_scores(true, [0, 9, 0, 0, 9, 1, 9], [7], 9).per_interval.tolist() == [0.5, 1.0]
    # Touching predictions: the background between is matched to the last run, and nothing is left for 1.
    assert metrics.interval_scores(true, [9, 0, 0, 1, 1, 1, 9], [7], 9).per_interval.tolist() == [1.0, 0.0]
    # Action 0 has no match: the search stays where it was, so that what comes after finds its own.
    assert metrics.interval_scores(true, [0, 9, 5, 9, 1, 1, 9], [7], 9).per_interval.tolist() == [0.0, 1.0]
    # "walk, walk": the second true run is matched to the second predicted one.
    found = metrics.interval_scores([9, 0, 0, 9, 0, 0], [9, 0, 9, 9, 9, 0], [6], 9, normalize="truth")
    assert found.per_interval.tolist() == [0.5, 0.5]
    # Runs do not cross clips.
    assert metrics.interval_scores([0, 0, 0, 0], [0, 0, 0, 0], [2, 2], 9).per_interval.tolist() == [1.0, 1.0]


def test_one_interval_inside_each_action_wins_by_iod_alone():
    true = np.repeat([2, 0, 2, 1, 2], 10)
    thin = np.full(50, 2)
    thin[[15, 35]] = 0, 1
    found = metrics.summary(true, thin, [50], 2)
    assert found == pytest.approx(
        {"iod": 1, "iou": 0.1, "accuracy": 32 / 50, "recall": 0.1, "background_share": 48 / 50, "floor": 0.2}
    )


def test_floor_is_the_expected_score_of_a_random_single_interval():
    true, lengths = np.array([2, 0, 0, 0, 2, 1, 2, 2, 1, 1]), [7, 3]
    expected = []
    for clip in np.split(true, [7]):
        for label in (0, 1):
            if label in clip:  # put the one interval everywhere in turn; no other action is in its way
                thin = np.where(np.eye(len(clip), dtype=bool), label, 2)
                own = np.where(clip == label, label, 2)
                expected.append(
                    np.mean([metrics.interval_scores(own, row, [len(clip)], 2, "best").mean for row in thin])
                )
    assert metrics.single_interval_floor(true, lengths, 2) == pytest.approx(np.mean(expected))
    assert np.isnan(metrics.single_interval_floor([2, 2], [2], 2))


# ------------------------------------------------------------------ frames
@settings(max_examples=100, deadline=None)
@given(clip_pairs)
def test_precision_recall_equals_scikit_learn(pair):
    true, predicted = pair
    expected = precision_recall_fscore_support(
        true, predicted, labels=[0, 1, 2, 3], average="micro", zero_division=0
    )[:2]
    assert metrics.precision_recall(true, predicted, 4) == pytest.approx(expected, abs=1e-15)
    accuracy = metrics.frame_accuracy(true, predicted)
    assert metrics.precision_recall(true, predicted, None) == (accuracy, accuracy)


def test_precision_recall_of_nothing_is_zero():
    assert metrics.precision_recall([2, 2], [2, 2], 2) == (0.0, 0.0)
    assert metrics.precision_recall([2, 0], [2, 2], 2) == (0.0, 0.0)


# ------------------------------------------------------------------ average precision
def slow_voc07(truth, scores):
    order = sorted(range(len(truth)), key=lambda i: -scores[i])  # stable
    points, hits = [(0.0, 1.0)], 0
    for rank, i in enumerate(order, 1):
        hits += truth[i]
        points.append((hits / (sum(truth) + np.finfo(float).eps), hits / rank))
    return sum(max((p for r, p in points if r >= i * 0.1), default=0) for i in range(11)) / 11


rankings = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(any),
        st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n),
    )
)


@settings(max_examples=200, deadline=None)
@given(rankings)
def test_average_precision_equals_slow_versions(ranking):
    truth, scores = ranking
    assert metrics.average_precision(truth, scores) == pytest.approx(slow_voc07(truth, scores), abs=1e-15)
    area = metrics.average_precision(truth, scores, "area")
    assert area == pytest.approx(average_precision_score(truth, scores), abs=1e-15)
    # Ties are one threshold: the order of rows cannot matter.
    flipped = metrics.average_precision(truth[::-1], scores[::-1], "area")
    assert flipped == pytest.approx(area, abs=1e-15)


def test_average_precision_of_columns():
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, (40, 3)), rng.normal(size=(40, 3))
    for method in ("voc07", "area"):
        together = metrics.average_precision(truth, scores, method)
        assert together.shape == (3,)
        alone = [metrics.average_precision(truth[:, c].astype(bool), scores[:, c], method) for c in range(3)]
        assert together.tolist() == alone and isinstance(alone[0], float)


def test_eleven_points_keep_the_floating_levels():
    # 3 of 10 positives found first: recall .3, but the level is 3 * 0.1 = 0.30000000000000004.
    truth = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    scores = -np.arange(17.0)
    later = 10 / 17
    assert metrics.average_precision(truth, scores) == pytest.approx((3 * 1 + 8 * later) / 11, abs=1e-15)


def test_all_positives_and_tied_scores():
    assert metrics.average_precision([1, 1, 1], [0.3, 0.1, 0.2]) == 1
    assert metrics.average_precision([1, 1, 1], [0.3, 0.1, 0.2], "area") == 1
    assert metrics.average_precision([1, 1, 0, 0], [0.0] * 4) == 1
    assert metrics.average_precision([0, 0, 1, 1], [0.0] * 4) == pytest.approx((1 + 10 * 0.5) / 11)
    assert metrics.average_precision([0, 0, 1, 1], [0.0] * 4, "area") == 0.5


@pytest.mark.parametrize("method, value", [("voc07", 1 / 11), ("area", 0.0)])
def test_classes_without_positives_warn_once(method, value):
    truth = np.zeros((6, 3), dtype=int)
    truth[2, 1] = 1
    with pytest.warns(UserWarning, match=r"\[0, 2\]") as caught:
        found = metrics.average_precision(truth, np.arange(18.0).reshape(6, 3), method)
    assert len(caught) == 1
    assert found[0] == found[2] == pytest.approx(value, abs=1e-15)


# ------------------------------------------------------------------ wrong input
@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: metrics.interval_scores([0, 1], [0], [2], 1), "as many labels as true, 2, expected, found 1"),
        (lambda: metrics.interval_scores([0, 1], [0, 1], [3], 1), "sum 2, the number of labels, exp.*sum 3"),
        (lambda: metrics.interval_scores([0, 1], [0, 1], [2, 0], 1), "lengths: positive ints.*expected"),
        (lambda: metrics.interval_scores([0, 1], [0, 1], [2.0], 1), "lengths: positive ints.*found.*float64"),
        (lambda: metrics.interval_scores([0, -1], [0, 1], [2], 1), "true: .*expected, found.*smallest -1"),
        (lambda: metrics.interval_scores([0, 1], [0.0, 1.0], [2], 1), "predicted: .*expected, found.*float64"),
        (lambda: metrics.interval_scores([], [], [], 1), "non-empty"),
        (lambda: metrics.interval_scores([0, 1], [0, 1], [2], "bg"), "background: .* None expected, found"),
        (lambda: metrics.interval_scores([0, 1], [0, 1], [2], 1, match="first"), "match: one of .* expected"),
        (lambda: metrics.interval_scores([0, 1], [0, 1], [2], 1, normalize="x"), "normalize: one of .* expected"),
        (lambda: metrics.frame_accuracy([0], [0, 1]), "as true, 1, expected"),
        (lambda: metrics.frame_accuracy(np.eye(2, dtype=int), np.eye(2, dtype=int)), "shape"),
        (lambda: metrics.precision_recall([0], [0, 1], 1), "as true, 1, expected"),
        (lambda: metrics.average_precision([0, 1], [0.1]), "one shape"),
        (lambda: metrics.average_precision([], []), "N > 0"),
        (lambda: metrics.average_precision([0, 2], [0.1, 0.2]), "0 and 1 only expected, found 2"),
        (lambda: metrics.average_precision([0, 1], [0.1, np.nan]), r"finite numbers expected, found nan at \(1,\)"),
        (lambda: metrics.average_precision([0, 1], [0.1, 0.2], "exact"), "method: one of .* expected"),
    ],
)
def test_wrong_input_is_a_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_inputs_are_not_changed():
    true, predicted, lengths = np.array([0, 1, 1]), np.array([1, 1, 0]), np.array([2, 1])
    for array in (true, predicted, lengths):
        array.flags.writeable = False
    metrics.summary(true, predicted, lengths, 1)
    metrics.average_precision(true, predicted.astype(float))
