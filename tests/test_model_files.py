"""Models in files: what was learnt comes back, damage has a name."""

import os
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ordering import Clips, OrderedActionLabeling

pytestmark = pytest.mark.filterwarnings("ignore:OrderedActionLabeling. the labels have collapsed")


@pytest.fixture
def model(small):
    return OrderedActionLabeling(lam=0.01, n_iter=5).fit(small)


def test_what_was_learnt_comes_back(model, small, tmp_path):
    extra = {"action_names": ["öffnen", "<b>", "日"], "background": None, "fps": np.float64(2.5)}
    model.save(tmp_path / "model.npz", extra)
    again = OrderedActionLabeling.load(tmp_path / "model.npz")
    assert again.get_params() == model.get_params() and again.extra_ == extra
    for name in ("coef_", "intercept_", "labels_"):
        assert_array_equal(getattr(again, name), getattr(model, name))
    assert_array_equal(again.predict(small), model.predict(small))
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        assert all(stored[name].dtype.kind in "fiU" for name in stored.files)


@pytest.mark.parametrize("background", ["optional", None])
def test_the_recommended_setting_comes_back(small, tmp_path, background):
    clips = Clips(small.features, small.lengths, [[*t, 0] for t in small.transcripts] if background is None else
                  small.transcripts, 3, background)
    model = OrderedActionLabeling.recommended(centring=0.5).fit(clips)
    model.save(tmp_path / "model.npz")
    again = OrderedActionLabeling.load(tmp_path / "model.npz")
    assert type(again) is type(model) and again.get_params() == model.get_params()
    assert_array_equal(again.predict(clips), model.predict(clips))
    assert_array_equal(again.posterior(clips), model.posterior(clips))
    np.testing.assert_allclose(model.posterior(clips).sum(axis=1), 1)


class Shifted(OrderedActionLabeling):
    """A derived class that learns one more array."""

    def _arrays(self):
        return super()._arrays() | {"shift_": self.shift_}

    def _from_arrays(self, arrays):
        super()._from_arrays(arrays)
        self.shift_ = arrays["shift_"]


def test_a_derived_class_keeps_its_own_arrays(small, tmp_path):
    model = Shifted(n_iter=2).fit(small)
    model.shift_ = np.arange(3.0)
    model.save(tmp_path / "model.npz")
    again = OrderedActionLabeling.load(tmp_path / "model.npz")
    assert type(again) is Shifted and again.shift_.tolist() == [0, 1, 2]


def test_only_a_fitted_model_is_written(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        OrderedActionLabeling().save(tmp_path / "model.npz")
    assert os.listdir(tmp_path) == []


def test_damage_is_named(model, tmp_path):
    path = tmp_path / "model.npz"
    model.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for kept in [0, 1, 50, *rng.integers(0, len(whole), 40).tolist(), len(whole) - 1]:
        path.write_bytes(whole[:kept])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            OrderedActionLabeling.load(path)
    for place in rng.integers(0, len(whole), 60).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1:])
        try:
            again = OrderedActionLabeling.load(path)
        except ValueError as error:
            assert str(path) in str(error)
        else:  # a byte that no reader looks at
            assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("change", [
    {"about": np.array("{")}, {"about": np.array('{"class": "Other", "parameters": {}, "extra": {}}')},
    {"about": np.array('{"class": "OrderedActionLabeling", "parameters": {"magic": 1}, "extra": {}}')},
    {"coef_": np.zeros(3)}, {"coef_": np.full((4, 5), np.nan)}, {"intercept_": np.zeros(9)},
    {"labels_": np.array([None])},
])  # fmt: skip
def test_another_file_is_named(model, tmp_path, change):
    path = tmp_path / "model.npz"
    model.save(path)
    with np.load(path) as stored:
        parts = dict(stored)
    np.savez(path, **parts | change)
    with pytest.raises(ValueError, match="a file of OrderedActionLabeling.save expected"):
        OrderedActionLabeling.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        OrderedActionLabeling.load(tmp_path / "none.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    for path in (tmp_path, tmp_path / "pipe.npz"):
        with pytest.raises(ValueError, match="a regular file expected"):
            OrderedActionLabeling.load(path)


@pytest.mark.parametrize("background", ["optional"])
def test_arrays_of_another_model_are_found(small, tmp_path, background):
    """One array at a time with another shape, kind or without numbers."""
    path, clips = tmp_path / "model.npz", Clips(small.features, small.lengths, small.transcripts, 3, background)
    OrderedActionLabeling.recommended(centring=0.5).fit(clips).save(path)
    with np.load(path) as stored:
        parts = dict(stored)
    for name in set(parts) - {"about", "labels_", "background_", "size_", "n_classes_"}:
        array = parts[name]
        for other in (array[None], array.astype(complex), array.astype("U9"), np.full(array.shape, np.nan)):
            np.savez(path, **parts | {name: other})
            with pytest.raises(ValueError, match="model.npz: a file of OrderedActionLabeling.save expected"):
                OrderedActionLabeling.load(path)
    np.savez(path, **parts | {"n_classes_": np.array(7)})
    with pytest.raises(ValueError, match="model.npz: "):
        OrderedActionLabeling.load(path)
