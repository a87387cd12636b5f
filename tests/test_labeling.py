"""The estimator: scikit-learn's conventions, and the method end to end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ordering import (
    Clips,
    OrderedActionLabeling,
    RidgeObjective,
    frank_wolfe,
    random_vertices,
    round_assignment,
    round_scores,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*the labels have collapsed")


def unlabelled(clips):
    return Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions, clips.background)


def test_defaults_are_the_released_codes():
    assert OrderedActionLabeling().get_params() == {
        "lam": 3.16e-4, "kappa0": 1e-7, "background_weight": 1.0, "solver": "frank-wolfe",
        "rounding": "assignment", "n_iter": None, "tol": None, "random_state": 0, "k0": None}
    clips = Clips(np.random.default_rng(0).standard_normal((12, 3)), [6, 6], [[0, 1], [1, 0]], 2)
    model = OrderedActionLabeling().fit(clips)
    objective = RidgeObjective(clips.features, 3.16e-4, kappa=[-1e-7, -1e-7, 1e-7])
    expected = frank_wolfe(objective, clips, random_vertices(clips))
    assert model.n_iter_ == len(expected.step) == 200
    assert_array_equal(model.Z_, expected.Z)


def test_clone_and_set_params():
    model = OrderedActionLabeling(lam=0.1)
    assert clone(model).lam == 0.1 and model.set_params(lam=0.2).lam == 0.2
    assert not [name for name in vars(model) if name.endswith("_")]


def test_fit_sees_no_labels_and_learns(small):
    model = OrderedActionLabeling().fit(small)
    blind = OrderedActionLabeling().fit(unlabelled(small))
    assert_array_equal(model.Z_, blind.Z_)
    assert model.coef_.shape == (4, 5) and model.intercept_.shape == (4,)
    assert_array_equal(model.labels_, round_assignment(model.Z_, small))
    scores = model.decision_function(small.features)
    assert_allclose(scores, small.features @ model.coef_.T + model.intercept_)
    assert_array_equal(model.predict(small), round_scores(scores, small))
    assert model.score(small) == np.mean(model.predict(small) == small.labels)
    assert_array_equal(OrderedActionLabeling().fit_predict(small), model.labels_)


def test_rounding_by_the_classifier(small):
    model = OrderedActionLabeling(rounding="classifier").fit(small)
    assert_array_equal(model.labels_, model.predict(small))


def test_supervised_rows_are_the_given_labels(small):
    known = np.full(len(small.labels), -1)
    known[small.rows(3)] = 0  # inadmissible, but given
    known[small.rows(4).start + 1] = small.labels[small.rows(4).start + 1]
    for rounding in ("assignment", "classifier"):
        model = OrderedActionLabeling(rounding=rounding).fit(small, supervised=known)
        assert_array_equal(model.labels_[known >= 0], known[known >= 0])


def test_without_background_kappa_and_weight_have_no_effect():
    rng = np.random.default_rng(0)
    clips = Clips(rng.standard_normal((12, 3)), [6, 6], [[0, 1], [1, 0]], 2, background=None)
    plain = OrderedActionLabeling(kappa0=0).fit(clips)
    assert_array_equal(plain.Z_, OrderedActionLabeling(kappa0=9.0, background_weight=3.0).fit(clips).Z_)
    assert plain.coef_.shape == (2, 3)


def test_kappa_takes_intervals_from_the_background(small):
    weak, strong = (OrderedActionLabeling(kappa0=k).fit(small).labels_ for k in (0.0, 1.0))
    assert np.mean(strong == 3) < np.mean(weak == 3)


@pytest.mark.parametrize("kwargs", [
    {"solver": "magic"}, {"rounding": "up"}, {"lam": 0}, {"lam": "a"}, {"kappa0": np.nan}, {"k0": "a"}, {"k0": np.nan},
    {"n_iter": 1.5}, {"tol": np.nan}])  # fmt: skip
def test_bad_settings_raise_in_fit(small, kwargs):
    with pytest.raises(ValueError, match=list(kwargs)[0]):
        OrderedActionLabeling(**kwargs).fit(small)


def test_faults_of_use(small):
    with pytest.raises(NotFittedError):
        OrderedActionLabeling().predict(small)
    model = OrderedActionLabeling(n_iter=2).fit(small)
    with pytest.raises(ValueError, match=r"\(M, 5\) expected"):
        model.decision_function(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="finite features expected"):
        model.decision_function(np.full((3, 5), np.nan))
    assert model.decision_function([[0, 1, 2, 3, 4]]).shape == (1, 4)
    with pytest.raises(ValueError, match="with labels expected"):
        model.score(unlabelled(small))
    with pytest.raises(ValueError, match="clips of 4 classes expected, found 5"):
        model.predict(Clips(small.features, small.lengths, small.transcripts, 4))
