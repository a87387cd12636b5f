"""Synthetic clips: a generative model of ordered actions and bag-of-words features, every number a knob.

Its sizes follow the public facts of the paper's data set; its difficulty was set on the supervised curve only
(``scripts/calibrate_synthetic.py``). Explained in ``book/12-synthetic-data.ipynb``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordering._check import one_of, positive_integer
from ordering.clips import Clips

__all__ = ["PRESETS", "ClipModel", "make_clips", "make_preset"]

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"n_clips": 120, "n_features": 200, "sep": 2.0},
    "book": {"n_clips": 300, "n_features": 400, "sep": 1.4},
    "paper": {"n_clips": 937, "n_features": 2000, "sep": 1.1},
}


@dataclass(frozen=True)
class ClipModel:
    """The knobs of `make_clips`. Lengths are in intervals; g is standard normal, drawn anew each time.

    **Transcript.** Action a of rank r = 1..n_actions has frequency p_a ∝ r^-frequency_decay. The number of
    actions is K = clip(1 + Geometric(short_transcripts), transcript_range), but with probability
    `long_share` it is uniform on `long_range`. The K actions are independent draws from p.

    **Lengths.** With the clip's tempo s = exp(tempo_spread g - tempo_spread² / 2), an action lasts
    max(1, round(s c_a LogNormal(mean 1, coefficient of variation action_variation))), where c_a ∝
    exp(action_spread g) and Σ p_a c_a = action_length. Each of the K + 1 stretches of background, both ends
    included, lasts max(1, round(s Gamma(mean gap_length, coefficient of variation gap_variation))). A clip
    is drawn again unless its length T lies in `clip_range`.

    **Latent path.** In q = n_factors dimensions, interval t of a segment has
    h_t = μ + segment_noise u_segment + clip_noise u_clip + interval_noise e_t, with u standard normal and
    e_t a stationary AR(1) process of unit variance, e_t = ρ e_{t-1} + sqrt(1 - ρ²) g, ρ = autocorrelation.
    An action has the mean μ_a = sep g; a background segment takes one of `n_modes` means at random, each g_0
    + g with a common g_0.

    **Words.** base = log(Dirichlet(word_concentration) + word_floor) over the d words; loadings L =
    (loading / sqrt(q)) g, (q, d). Interval t holds n_t = max(1, NegativeBinomial(shape words_shape, mean
    words_mean)) words, Multinomial(n_t, softmax(base + h_t L)).

    **Features.** Word counts are summed over the intervals t - pooling..t + pooling of the clip, divided by
    their sum, and square-rooted (Hellinger map): x_t ≥ 0, ‖x_t‖ = 1.
    """

    n_actions: int = 16
    frequency_decay: float = 0.8
    short_transcripts: float = 0.667
    transcript_range: tuple[int, int] = (2, 11)
    long_share: float = 0.03
    long_range: tuple[int, int] = (5, 11)
    tempo_spread: float = 0.4
    action_length: float = 13.2
    action_spread: float = 0.4
    action_variation: float = 0.7
    gap_length: float = 15.0
    gap_variation: float = 0.8
    clip_range: tuple[int, int] = (11, 289)
    n_factors: int = 30
    sep: float = 1.3
    n_modes: int = 20
    segment_noise: float = 1.0
    clip_noise: float = 1.0
    interval_noise: float = 1.0
    autocorrelation: float = 0.8
    word_concentration: float = 0.5
    word_floor: float = 1e-5
    loading: float = 0.25
    words_mean: float = 50.0
    words_shape: float = 2.0
    pooling: int = 1

    def frequencies(self) -> np.ndarray:
        """Probability (A,) of each action at each place of a transcript."""
        weights = np.arange(1, self.n_actions + 1) ** -float(self.frequency_decay)
        return weights / weights.sum()

    def draw_segments(self, rng: np.random.Generator, typical: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One clip: its transcript (K,) and the lengths (2K + 1,) of background, action, ..., background.

        `typical` (A,) holds the c_a of the class docstring.
        """
        for _ in range(1000):
            if rng.random() < self.long_share:
                K = int(rng.integers(self.long_range[0], self.long_range[1] + 1))
            else:
                K = int(np.clip(1 + rng.geometric(self.short_transcripts), *self.transcript_range))
            transcript = rng.choice(self.n_actions, size=K, p=self.frequencies())
            tempo = np.exp(self.tempo_spread * rng.standard_normal() - self.tempo_spread**2 / 2)
            sigma = np.sqrt(np.log1p(self.action_variation**2))
            shape = self.gap_variation**-2
            durations = np.empty(2 * K + 1)
            durations[0::2] = rng.gamma(shape, self.gap_length / shape, K + 1)
            durations[1::2] = typical[transcript] * rng.lognormal(-(sigma**2) / 2, sigma, K)
            lengths = np.maximum(1, np.round(tempo * durations)).astype(np.int64)
            if self.clip_range[0] <= lengths.sum() <= self.clip_range[1]:
                return transcript, lengths
        raise ValueError(f"clip_range: a length in {self.clip_range} in 1000 draws expected, found none")

    def draw_path(self, rng: np.random.Generator, means: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Latent path (T, q) of one clip, given the mean (2K + 1, q) and the length of each segment."""
        from scipy.signal import lfilter  # heavy to import

        T, q = int(lengths.sum()), self.n_factors
        segments = means + self.segment_noise * rng.standard_normal(means.shape)
        innovations = rng.standard_normal((T, q))
        innovations[1:] *= np.sqrt(1 - self.autocorrelation**2)
        wander = lfilter([1.0], [1.0, -self.autocorrelation], innovations, axis=0)
        clip = self.clip_noise * rng.standard_normal(q)
        return np.repeat(segments, lengths, axis=0) + clip + self.interval_noise * wander

    def draw_features(self, rng: np.random.Generator, logits: np.ndarray) -> np.ndarray:
        """Pooled, square-rooted histograms (T, d) of one clip, given the logits (T, d) of its words."""
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        chance = self.words_shape / (self.words_shape + self.words_mean)
        n_words = np.maximum(1, rng.negative_binomial(self.words_shape, chance, len(p)))
        counts = rng.multinomial(n_words, p)
        pooled = counts.astype(np.float64)
        for shift in range(1, min(self.pooling, len(p) - 1) + 1):
            pooled[shift:] += counts[:-shift]
            pooled[:-shift] += counts[shift:]
        return np.sqrt(pooled / pooled.sum(axis=1, keepdims=True)).astype(np.float32)


def make_clips(
    n_clips: int, n_features: int, random_state: int | np.random.Generator = 0, **knobs: Any
) -> Clips:
    """Labelled clips with ordered actions, drawn from `ClipModel`.

    Parameters
    ----------
    n_clips : int
    n_features : int
        Number d of words.
    random_state : int or numpy.random.Generator
    **knobs
        Fields of `ClipModel`, which states the model; for example ``sep=1.0`` for a harder set.

    Returns
    -------
    Clips
        Features (N, d) float32, non-negative rows of unit norm; background around every action; labels given.

    Raises
    ------
    ValueError
        If a size is not positive or the knobs allow no clip.
    TypeError
        If a knob does not exist.

    Notes
    -----
    With the defaults the clips meet the public facts of the paper's section 5: 16 actions, 2 to 11 actions
    a clip, 11 to 289 intervals with a mean near 84. Features are made clip by clip, so memory holds little
    more than the result. Explained in ``book/12-synthetic-data.ipynb``.

    Examples
    --------
    >>> clips = make_clips(5, 30, random_state=1)
    >>> clips.features.shape[1], clips.n_classes, clips.features.dtype.name
    (30, 17, 'float32')
    """
    n_clips, d = positive_integer("n_clips", n_clips), positive_integer("n_features", n_features)
    model, rng = ClipModel(**knobs), np.random.default_rng(random_state)
    A, q = model.n_actions, model.n_factors

    typical = np.exp(model.action_spread * rng.standard_normal(A))
    typical *= model.action_length / (model.frequencies() @ typical)
    base = np.log(rng.dirichlet(np.full(d, model.word_concentration)) + model.word_floor)
    loadings = model.loading / np.sqrt(q) * rng.standard_normal((q, d))
    actions = model.sep * rng.standard_normal((A, q))
    modes = rng.standard_normal(q) + rng.standard_normal((model.n_modes, q))

    drawn = [model.draw_segments(rng, typical) for _ in range(n_clips)]
    transcripts, segments = zip(*drawn, strict=True)
    lengths = np.array([s.sum() for s in segments])
    features = np.empty((lengths.sum(), d), dtype=np.float32)
    labels = np.full(len(features), A)
    stops = np.cumsum(lengths)
    each: Iterable = zip(transcripts, segments, stops, strict=True)
    if features.size >= 50_000_000:  # smaller ones are over within a second or two
        each = _with_bar(each, n_clips)
    for transcript, own, stop in each:
        rows = slice(stop - own.sum(), stop)
        means = modes[rng.integers(model.n_modes, size=len(own))]
        means[1::2] = actions[transcript]
        classes = np.full(len(own), A)
        classes[1::2] = transcript
        labels[rows] = np.repeat(classes, own)
        features[rows] = model.draw_features(rng, base + model.draw_path(rng, means, own) @ loadings)
    return Clips(features, lengths, transcripts, A, background="around", labels=labels)


def _with_bar(each, total):
    """The same items behind a progress bar, where tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return each
    return tqdm(each, "drawing clips", total, leave=False)


def make_preset(name: str, random_state: int | np.random.Generator = 0, **knobs: Any) -> Clips:
    """`make_clips` at one of the book's three sizes, with the difficulty calibrated for that size.

    Parameters
    ----------
    name : {"quick", "book", "paper"}
        120 clips of 200 words, 300 of 400, or the paper's 937 of 2000. The settings are in `PRESETS`.
    random_state : int or numpy.random.Generator
    **knobs
        Changes to the preset.

    Returns
    -------
    Clips
        Explained in ``book/12-synthetic-data.ipynb``.

    Examples
    --------
    >>> len(make_preset("quick"))
    120
    """
    preset = PRESETS[one_of("name", name, PRESETS)]
    return make_clips(random_state=random_state, **{**preset, **knobs})
