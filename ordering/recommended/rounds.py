"""Rounds of a Gaussian classifier and a chain over each list, the weight of the features rising slowly."""

from __future__ import annotations

import warnings
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ordering._runs import runs
from ordering.admissible import AdmissibleSet, Ordered
from ordering.clips import Clips
from ordering.kernels.compile import in_threads

WEIGHT = 0.4  # of an interval's features in the chain, for neighbours are not independent
FIRST_WEIGHT, ROUNDS = 0.05, 12
PRESENT = 0.98  # share of optional background that is there, to begin with
ALWAYS, ENDS, NEVER = (PRESENT, PRESENT), (PRESENT, 0.5), (1e-4, 1e-4)  # inside lists, and at their ends
FORBIDDEN = 1e4  # price of a class other than the known one
DRAWS, MOST = 6, 3.0  # lists to compare with, and how much one of them counts at the most
FOLDS, FOLD_ROWS = 5, 10_000


class Lists(Ordered):
    """The chains of the rounds: every state, background too, lasts at least `copies` intervals where its clip has
    room. Optional background has a price; between two equal actions it must be there, where there is room."""

    def __init__(self, clips: Clips, copies: int) -> None:
        AdmissibleSet.__init__(self, clips)
        states, borders = clips.flat_states, clips.state_offsets
        clip = np.repeat(np.arange(len(clips)), np.diff(borders))
        optional = (states == clips.background_class) & (clips.background == "optional")
        ends = np.zeros(len(states), bool)
        ends[borders[:-1]] = ends[borders[1:] - 1] = True
        equal = optional & ~ends & (np.roll(states, 1) == np.roll(states, -1))
        optional &= ~(np.bincount(clip, minlength=len(clips)) == 1)[clip]
        room = np.bincount(clip, ~optional | equal, len(clips)) <= clips.lengths
        optional &= ~(equal & room[clip])
        least = np.bincount(clip, ~optional, len(clips)).astype(np.int64)
        repeats = np.clip(clips.lengths // least, 1, copies)[clip]
        self._build(repeats, np.where(optional, 0.0, np.inf))
        self._inside, self._ends = (np.repeat(optional & side, repeats) for side in (~ends, ends))

    def with_presence(self, presence: np.ndarray) -> Lists:
        """The same chains with prices from the share of optional background that is there, inside and at ends."""
        other, skip, at = copy(self), self._chains.skip.copy(), 0
        for mask, p in zip((self._inside, self._ends), presence, strict=True):
            skip[mask] = np.log(p / (1 - p))
        other._chains, other._parts = self._chains._replace(skip=skip), []
        for part in self.parts():
            other._parts.append(part._replace(skip=skip[at:at + len(part.states)]))
            at += len(part.states)
        return other

    def presence(self, visits: np.ndarray, prior: float = 5.0) -> np.ndarray:
        """Share of optional background that is visited, inside lists and at their ends."""
        masks = [mask & self._chains.head for mask in (self._inside, self._ends)]
        return np.array([(visits[mask].sum() + prior * PRESENT) / (mask.sum() + prior) for mask in masks])

    def most_likely(self, posterior: np.ndarray) -> np.ndarray:
        """Labels of the path with the largest sum of posteriors, and of 2 p - 1 for each optional background visited,
        p its presence: the most intervals and background states that can be expected to be right."""
        chains = self._chains._replace(skip=np.tanh(self._chains.skip / 2))
        chains.skip[np.isinf(self._chains.skip)] = np.inf
        return chains.path(np.ascontiguousarray(-posterior), self.clips)[0]


class Model(NamedTuple):
    """Gaussian classes in the whitened directions, and how long states last."""

    means: np.ndarray  # (C, q)
    covariance: np.ndarray  # (q, q)
    stay: np.ndarray  # (C,) probability that a state lasts another interval
    presence: np.ndarray  # (2,) share of optional background that is there, inside lists and at their ends

    def scores(self, rows, weight):
        """Log-weights (N, C) of rows (N, q)."""
        return weight * gaussian_scores(rows, self.means, self.covariance) + np.log(self.stay)


def gaussian_scores(rows, means, covariance):
    """Log-densities (N, C) of rows (N, q), up to a number for each row."""
    B = np.linalg.solve(covariance, means.T)
    return rows @ B - 0.5 * (means.T * B).sum(axis=0)


def classifier(rows, posterior, run=None, for_means=None, weight=None, shrink=20.0, ridge=0.1, squares=None):
    """Means (C, q) and common covariance (q, q) of classes; means shrink towards the overall one, 0.

    With `run` (the number of each row's run) half of the covariance is that inside runs; `for_means` (N, C) are other
    weights for the means; `weight` (N,) counts rows more than once; `squares` are those of `squares_of`.
    """
    P = posterior if weight is None else posterior * weight[:, None]
    sums, total = P.T @ rows, len(rows) if weight is None else weight.sum()
    M, for_sums = P, sums
    if for_means is not None:
        M = for_means if weight is None else for_means * weight[:, None]
        for_sums = M.T @ rows
    means = for_sums / (M.sum(axis=0) + shrink)[:, None]
    weighted, plain = squares_of(rows, weight) if squares is None else squares
    within = weighted - sums.T @ means - means.T @ sums + (means * P.sum(axis=0)[:, None]).T @ means
    within = (within + within.T) / (2 * total)
    if run is not None:
        n = np.bincount(run)
        of_runs = np.add.reduceat(rows, np.cumsum(n) - n)
        inside = plain - of_runs.T @ (of_runs / n[:, None])
        within = (within + inside / max(len(rows) - len(n), 1)) / 2
    return means, within + (ridge * np.trace(within) / rows.shape[1] + 1e-9) * np.eye(rows.shape[1])


def squares_of(rows, weight=None):
    """Sums (q, q) of the outer products of rows, weighted and plain: the same in all rounds."""
    plain = rows.T @ rows
    return (plain if weight is None else (rows * weight[:, None]).T @ rows), plain


def run_numbers(posterior, lists):
    """Number of the run that each row is in, on the most likely path."""
    labels = lists.most_likely(posterior)
    start, stop = runs(labels, lists.clips.offsets[1:])
    return np.repeat(np.arange(len(start)), stop - start)


def fit_rounds(rows, lists, known, learn=True, start=None, presence=ALWAYS, weight=None):
    """`Model` and posterior (N, C) after rounds of classifier and chain.

    Parameters
    ----------
    rows : (N, q) whitened features
    lists : Lists
    known : (N, C) log-weights of known rows
    learn : bool, whether the presence of optional background is learnt
    start : Model, optional
        The classifier of the first round; the weight of the features does not rise then.
    presence : two floats
        Share of optional background that is there, to begin with.
    weight : (N,) floats, optional
        How often a row counts in the classifier.
    """
    model, presence = start, np.asarray(presence if start is None else start.presence)
    weights = np.full(3, WEIGHT) if start else np.append(np.geomspace(FIRST_WEIGHT, WEIGHT, ROUNDS), [WEIGHT, WEIGHT])
    if model is None:
        posterior, _, visits = lists.sum_paths(known)
    squares = squares_of(rows, weight)
    for i, w in enumerate(weights):
        if i or start is None:
            run = run_numbers(posterior, lists.with_presence(presence)) if start or i > 2 else None
            if learn and (start or i >= ROUNDS // 2):
                presence = lists.presence(visits)
            means, covariance = classifier(rows, posterior, run, weight=weight, squares=squares)
            model = Model(means, covariance, _stay(lists, posterior, visits), presence)
        posterior, _, visits = lists.with_presence(presence).sum_paths(model.scores(rows, w) + known)
        hold(posterior, known)
    return model, posterior


def _stay(lists, posterior, visits):
    """Probability (C,) that a state of each class lasts another interval."""
    head = lists._chains.head
    n = np.bincount(lists._chains.states[head], visits[head], posterior.shape[1])
    return 1 - 1 / np.maximum((posterior.sum(axis=0) + 3) / (n + 0.3), 1.05)


def hold(posterior, known):
    """Give known rows their class (a minimum duration may be longer than a known run), in place."""
    rows = known.min(axis=1, initial=0.0) < 0
    posterior[rows] = known[rows] == 0


def known_weights(supervised, shape):
    """Log-weights (N, C) that leave known rows only their class."""
    known = np.zeros(shape)
    if supervised is not None:
        rows = np.flatnonzero(supervised >= 0)
        known[rows] = -FORBIDDEN
        known[rows, supervised[rows]] = 0
    return known


def cross_fitted(rows, labels, lists, known, weight=None):
    """Posterior (N, C) of a logistic regression on labels (N,) that did not see the clip it scores; or None."""
    lengths, C = lists.clips.lengths, known.shape[1]
    fold, scores = np.repeat(np.arange(len(lengths)) % FOLDS, lengths), np.full(known.shape, np.log(1e-9))
    seen = [np.flatnonzero(fold != k) for k in range(FOLDS)]
    seen = [rows_seen[::1 + len(rows_seen) // FOLD_ROWS] for rows_seen in seen]
    if len(lengths) < FOLDS or any(len(np.unique(labels[own])) < 2 for own in seen):
        return None

    def score(k, train):
        fitted = LogisticRegression(C=0.02, max_iter=60).fit(
            rows[train], labels[train], None if weight is None else weight[train])
        prior = np.bincount(labels[train], minlength=C)[fitted.classes_] / len(train)
        own = fold == k
        scores[np.ix_(own, fitted.classes_)] = fitted.predict_log_proba(rows[own]) - 0.5 * np.log(prior)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        in_threads(score, range(FOLDS), seen)
    posterior = lists.sum_paths(WEIGHT * scores + known)[0]
    hold(posterior, known)
    return posterior


def evidence(rows, model, posterior, lists, copies, others=None):
    """How clearly the features tell each clip's list from lists with one action replaced (n,): no label is read.

    Mean over draws of the difference of log-partitions, cut to [-MOST, MOST]; `others` are those of `replaced`.
    """
    gains, scores = [], 0.5 * gaussian_scores(rows, *classifier(rows, posterior))
    own = lists.with_presence(model.presence).sum_paths(scores, only_total=True)[1]
    for clips, changed in replaced(lists.clips) if others is None else others:
        other = Lists(clips, copies).with_presence(model.presence)
        total = other.sum_paths(scores, only_total=True)[1]
        gains.append(np.where(changed, np.clip(own - total, -MOST, MOST), 0.0))
    return np.mean(gains, axis=0)


def replaced(clips):
    """The clips with one action of each list replaced, and where that could be done, for each draw."""
    rng, none = np.random.default_rng(0), np.zeros((clips.n_intervals, 1))
    draws = [replaced_once(clips.transcripts, clips.n_actions, rng) for _ in range(DRAWS)]
    return [(Clips(none, clips.lengths, lists, clips.n_actions, clips.background), changed)
            for lists, changed in draws]


def replaced_once(transcripts, n_actions, rng):
    """Lists with one action of each replaced by one that is not beside it, and where that could be done.

    Actions are drawn by where they first stand, so that their numbers do not matter.
    """
    listed, first = np.unique(np.concatenate([*transcripts, []]).astype(np.int64), return_index=True)
    order = np.append(listed[np.argsort(first)], np.setdiff1d(np.arange(n_actions), listed))
    lists, changed = [], np.zeros(len(transcripts), bool)
    for i, transcript in enumerate(transcripts):
        t = transcript.tolist()
        if t:
            k = int(rng.integers(len(t)))
            others = order[~np.isin(order, t[max(k - 1, 0):k + 2])]
            if len(others):
                t[k], changed[i] = int(rng.choice(others)), True
        lists.append(t)
    return lists, changed
