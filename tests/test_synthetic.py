"""The generator keeps to the public facts of the data set and to its own formulas."""

from dataclasses import fields

import numpy as np
import pytest

from ordering import Clips
from ordering.synthetic import PRESETS, ClipModel, make_clips, make_preset


@pytest.fixture(scope="module")
def many():
    """As many clips as the paper has, but few words: transcripts and lengths do not need them."""
    return [make_clips(937, 20, random_state=seed) for seed in range(3)]


def test_public_statistics_of_the_data_set(many):
    for clips in many:
        K = np.array([len(t) for t in clips.transcripts])
        assert len(clips) == 937 and clips.n_actions == 16 and clips.background == "around"
        assert K.min() == 2 and 8 <= K.max() <= 11 and 2.4 < K.mean() < 2.8
        assert clips.lengths.min() >= 11 and clips.lengths.max() <= 289
        assert 80 < clips.lengths.mean() < 93
        assert 0.57 < np.mean(clips.labels == 16) < 0.66


def test_labels_are_the_transcripts_with_background_around_each_action(many):
    clips = many[0]
    for i in range(len(clips)):
        clip = clips[i]
        runs = clip.labels[np.flatnonzero(np.diff(clip.labels, prepend=-1))]
        assert runs.tolist() == clips.states(i).tolist()


def test_frequencies_and_lengths_of_actions():
    model = ClipModel()
    assert model.frequencies() == pytest.approx(np.arange(1, 17) ** -0.8 / sum(np.arange(1, 17) ** -0.8))
    free = {"clip_range": (1, 10**6), "tempo_spread": 0.0, "action_spread": 0.0}
    clips = make_clips(4000, 2, **free)
    drawn = np.bincount(np.concatenate(clips.transcripts), minlength=16)
    n, p = drawn.sum(), model.frequencies()
    assert np.all(np.abs(drawn - n * p) < 5 * np.sqrt(n * p))
    actions = np.count_nonzero(clips.labels < 16) / n
    gaps = np.count_nonzero(clips.labels == 16) / (n + len(clips))
    assert actions == pytest.approx(13.2, rel=0.03) and gaps == pytest.approx(15, rel=0.03)


def test_features_are_square_rooted_histograms_of_the_stated_size():
    clips = make_clips(20, 50, random_state=3)
    assert clips.features.dtype == np.float32 and clips.features.min() >= 0
    np.testing.assert_allclose((clips.features.astype(float) ** 2).sum(axis=1), 1, atol=1e-6)
    assert clips.features.shape == (clips.lengths.sum(), 50)


def test_pooling_sums_the_counts_of_neighbours():
    model, logits = ClipModel(pooling=0), np.log(np.random.default_rng(0).dirichlet(np.ones(8), 6))
    words, pooled = (
        ClipModel(pooling=p).draw_features(np.random.default_rng(5), logits).astype(float) ** 2
        for p in (0, 1)
    )
    chance = model.words_shape / (model.words_shape + model.words_mean)
    n = np.maximum(1, np.random.default_rng(5).negative_binomial(model.words_shape, chance, 6))
    counts = np.rint(words * n[:, None])
    assert counts.sum(axis=1).tolist() == n.tolist()
    window = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 1
    expected = window @ counts
    np.testing.assert_allclose(pooled, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)


def test_latent_path_has_the_stated_variance_and_memory():
    rng, model = np.random.default_rng(0), ClipModel(n_factors=2000)
    lengths = np.array([30, 20, 30])
    path = model.draw_path(rng, np.zeros((3, 2000)), lengths)
    # One unit each from segment, clip and interval; inside a segment only the AR(1) part changes.
    assert path.var() == pytest.approx(3, rel=0.1)
    inside = path[:30]
    lag = [np.mean((inside[k:] - inside[: 30 - k]) ** 2) / 2 for k in (1, 2, 5)]
    assert lag == pytest.approx([1 - 0.8, 1 - 0.8**2, 1 - 0.8**5], rel=0.05)
    assert np.mean((path[:30].mean(0) - path[-30:].mean(0)) ** 2) > 2  # other segments, other offsets


def test_more_separation_separates_more():
    def between(sep):
        clips = make_clips(60, 40, random_state=0, sep=sep)
        X, y = clips.features.astype(float), clips.labels
        means = np.array([X[y == c].mean(axis=0) for c in range(17)])
        return ((means - X.mean(axis=0)) ** 2).sum()

    assert between(0.0) < between(1.0) < between(2.0)


def test_same_seed_same_clips():
    for name in ("quick", "book"):
        first, again, other = (make_preset(name, random_state=s) for s in (4, 4, 5))
        assert np.array_equal(first.features, again.features) and np.array_equal(first.labels, again.labels)
        assert not np.array_equal(first.features, other.features)
    assert np.array_equal(make_clips(3, 9, np.random.default_rng(7)).features, make_clips(3, 9, 7).features)


def test_presets():
    assert {k: (v["n_clips"], v["n_features"]) for k, v in PRESETS.items()} == {
        "quick": (120, 200), "book": (300, 400), "paper": (937, 2000)}  # fmt: skip
    clips = make_preset("quick")
    assert isinstance(clips, Clips) and len(clips) == 120 and clips.features.shape[1] == 200
    assert len(make_preset("paper", n_clips=2)) == 2
    assert np.array_equal(clips.features, make_clips(**PRESETS["quick"]).features)


def test_every_knob_is_explained():
    for field in fields(ClipModel):
        assert field.name in ClipModel.__doc__, field.name


@pytest.mark.parametrize("odd", [{"n_actions": 1}, {"pooling": 4}, {"n_modes": 1}, {"interval_noise": 0.0}])
def test_odd_knobs_work(odd):
    clips = make_clips(5, 12, **odd)
    assert np.isfinite(clips.features).all()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: make_clips(0, 5), ValueError, "n_clips: a positive integer expected, found 0"),
        (lambda: make_clips(5, 2.5), ValueError, "n_features: a positive integer expected, found 2.5"),
        (lambda: make_clips(2, 5, clip_range=(1000, 1001)), ValueError, "clip_range"),
        (lambda: make_clips(2, 5, separation=1), TypeError, "separation"),
        (lambda: make_preset("huge"), ValueError, "name: one of .*quick.* expected, found 'huge'"),
    ],
)
def test_wrong_input_is_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()
