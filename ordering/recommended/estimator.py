"""The recommended setting as an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ordering.admissible import check_supervised
from ordering.clips import Clips
from ordering.kernels.compile import in_threads
from ordering.labeling import OrderedActionLabeling
from ordering.recommended import rounds
from ordering.recommended.features import Whitening, pooled, whiten
from ordering.recommended.grammar import Grammar
from ordering.recommended.rounds import Lists, Model, fit_rounds, hold
from ordering.recommended.segments import segment_rounds

SHARES = (1.0, 0.8, 0.5, 0.0)  # of each clip's mean that may be taken away
TEMPER = 0.7  # the joined posterior is too sure of itself
FINISH = 0.3  # weight of a logistic regression beside chains and segments
# Ways to take optional background: presence to begin with, inside lists and at their ends, and whether it is learnt.
THERE, LEARNT, ABSENT = (rounds.ALWAYS, False), (rounds.ALWAYS, True), (rounds.NEVER, False)
INSIDE = (rounds.ENDS, False)
CLEAR = 0.2  # share of what evidence lacks that INSIDE must make up for
SAME = 0.02  # share of the evidence by which ABSENT, the simplest, may be worse
TRIED_ROWS = 10_000  # intervals on which ways of fitting are compared
TRUSTED_CLIPS = 10  # labelled clips from which on they choose between ways of fitting


class Recommended(OrderedActionLabeling):
    """What `OrderedActionLabeling.recommended` gives: labels of use from transcripts, not the 2014 objective.

    Features are scaled, whitened to thirty directions, and less a share of each clip's mean. A Gaussian classifier
    with one covariance and the chain over each clip's list are fitted in turns (forward-backward), the weight of the
    features rising slowly; then rounds over whole segments. Averaged are the posteriors of chains with several minimum
    durations, of segments, and of a logistic regression on their labels that never scores a clip it saw; the labels
    are the path with the largest sum of that. The share of the mean, and whether background must be there, may be, or
    is not, is what tells each clip's list from lists with one action replaced most clearly: no label is read.

    Parameters
    ----------
    minimum_duration : int, optional
        Fewest intervals of a state in the chains. By default from the mean number of intervals of a state: 1 to 3,
        and that joined with one less and one more.
    centring : float, optional
        Share of each clip's mean that is taken away. By default chosen from 1, .8, .5 and 0 without a label.
    segments : bool
        Whether to end with rounds over whole segments.

    Attributes
    ----------
    labels_ : (N,) classes of the clips that were fitted
    posterior_ : (N, C) probabilities, rows sum to 1
    coef_ : (C, d), intercept_ : (C,)
        The linear scores behind the chain.
    presence_ : (2,) share of optional background that is there, inside lists and at their ends

    Notes
    -----
    Nothing is drawn at random that depends on a seed: two runs agree to the bit. Explained in
    ``book/17-beyond-the-paper.ipynb``.

    Examples
    --------
    >>> from ordering import OrderedActionLabeling, datasets
    >>> clips = datasets.load_mocap6()
    >>> model = OrderedActionLabeling.recommended().fit(clips)
    >>> float(np.mean(model.labels_ == clips.labels)) > 0.9
    True
    """

    def __init__(self, minimum_duration: int | None = None, centring: float | None = None,
                 segments: bool = True) -> None:
        self.minimum_duration = minimum_duration
        self.centring = centring
        self.segments = segments

    def fit(self, clips: Any, supervised: ArrayLike | None = None, callback: Any = None) -> Recommended:
        """Label clips; ``clips.labels`` are not read.

        Parameters
        ----------
        clips : Clips
        supervised : (N,) ints, optional
            Known classes, -1 = unknown. They are kept in `labels_`, and teach the classifier.
        callback : callable, optional
            ``callback(model)`` after each way that is tried and each part of the fit, for a bar of progress.
        """
        def tell(part):
            if callback:
                callback(self)
            return part

        known_classes = check_supervised(supervised, clips)
        known = rounds.known_weights(known_classes, (clips.n_intervals, clips.n_classes))
        size = 1 if known_classes is not None else _block_size(clips)
        self.size_, self.background_, self.n_classes_ = size, clips.background, clips.n_classes
        whitening, copies, start, learn = self._choose(clips, known, size, tell)
        rows = whitening(clips.features, clips.lengths)
        small, T = pooled(rows, clips.lengths, size)
        blocks = Clips(small, T, clips.transcripts, clips.n_actions, clips.background)
        held = known if size == 1 else np.zeros((len(small), clips.n_classes))
        weight = _label_weights(clips, known_classes)
        found = [tell(fit_rounds(small, Lists(blocks, L), held, learn, start, weight=weight)) for L in copies]
        posterior = np.mean([P for _, P in found], axis=0)
        self.presence_ = np.mean([model.presence for model, _ in found], axis=0)
        if self.segments:
            other = tell(segment_rounds(small, Lists(blocks, 1), posterior, self.presence_, held, learn, weight))
            posterior = (posterior + other) / 2
        chains = Lists(blocks, copies[len(copies) // 2]).with_presence(self.presence_)
        finish = rounds.cross_fitted(small, chains.most_likely(posterior), chains, held, weight)
        posterior = posterior if finish is None else (posterior + FINISH * finish) / (1 + FINISH)
        middle = found[len(found) // 2][0]
        means, covariance = rounds.classifier(small, posterior, weight=weight)
        self.model_ = Model(means, covariance, middle.stay, self.presence_)
        self.whitening_, self.copies_ = whitening, copies
        lists = Lists(clips, 1).with_presence(self.presence_)
        if size > 1:
            posterior = lists.sum_paths(self.model_.scores(rows, rounds.WEIGHT / size))[0]
        labels = lists.most_likely(posterior)
        self.labels_ = labels if known_classes is None else np.where(known_classes >= 0, known_classes, labels)
        self._finish(clips, posterior, known)
        return self

    def _choose(self, clips, known, size, tell):
        """Whitening, minimum durations, first model and whether presence is learnt: judged on a part of the clips by
        `rounds.evidence`, and by how well known rows are found without being told."""
        some = _spread(clips.lengths, TRIED_ROWS, known)
        part = clips.subset(some)
        held = known[clips.mask(some)]
        shares = SHARES if self.centring is None else (self.centring,)
        whitenings = {share: whiten(clips.features, clips.lengths, share) for share in shares}
        T = -(-part.lengths // size)
        rows = {share: pooled(w(part.features, part.lengths), part.lengths, size)[0] for share, w in whitenings.items()}
        held = held if size == 1 else np.zeros((int(T.sum()), clips.n_classes))
        told = held.min(axis=1, initial=0.0) < 0
        starts, right = np.cumsum(T) - T, {}
        own = np.flatnonzero(np.logical_and.reduceat(told, starts))
        usual = self.minimum_duration or _usual_duration(int(T.sum()), part)

        blocks = Clips(rows[shares[0]], T, part.transcripts, part.n_actions, part.background)
        others = rounds.replaced(blocks)

        def tried(share, L, way):
            (presence, learn), lists = way, Lists(blocks, L)
            model, P = fit_rounds(rows[share], lists, 0 * held, learn, presence=presence)
            right[share, L, way] = np.add.reduceat((P * (held == 0)).sum(axis=1), starts)[own] / T[own]
            return tell((rounds.evidence(rows[share], model, P, lists, L, others), model))

        def each(*ways):
            return dict(zip(ways, in_threads(lambda way: tried(*way), ways), strict=True))

        found = each(*((share, min(usual, 2), THERE) for share in shares))
        best = _most_evident(found)
        if len(own) >= TRUSTED_CLIPS and self.minimum_duration is None:
            found |= each(*((best[0], L, THERE) for L in (1, 2, 3, 5) if L != best[1]))
            sure = {way: (r - right[best]).mean() - (r - right[best]).std() / np.sqrt(len(own))
                    for way, r in right.items()}
            surest = max(sure, key=lambda way: sure[way])
            usual, best = usual if surest == best else surest[1], surest
        if clips.background == "optional":
            inside = (*best[:2], INSIDE)
            ways = [(share, best[1], way) for share in shares for way in (LEARNT, ABSENT)]
            found |= each(*ways, inside)
            best = _background(found, best, ways, inside)
            if best[2] == ABSENT and len(own) < TRUSTED_CLIPS and self.minimum_duration is None:
                usual = _usual_duration(int(T.sum()), part, actions_only=True)
        copies = (usual,) if usual == 1 or self.minimum_duration is not None else (usual - 1, usual, usual + 1)
        return whitenings[best[0]], copies, found[best][1], best[2][1]

    def _finish(self, clips, posterior, known):
        """Calmed posterior, and the linear scores of single intervals."""
        self.posterior_ = _calmed(posterior)
        hold(self.posterior_, known)
        self._lengths = clips.lengths
        self.grammar_ = Grammar.of(clips, self.presence_, self.model_.stay ** (1 / self.size_))
        B = np.linalg.solve(self.model_.covariance, self.model_.means.T)
        scale = rounds.WEIGHT / self.size_
        self.coef_ = np.ascontiguousarray((self.whitening_.matrix @ B).T) * scale
        self.intercept_ = (-0.5 * scale * (self.model_.means.T * B).sum(axis=0) + np.log(self.model_.stay)
                           - self.coef_ @ self.whitening_.mean)
        self.n_features_in_ = self.coef_.shape[1]

    def predict(self, clips: Clips, lists: bool = True) -> np.ndarray:
        """Labels (N,) of other clips, under their lists; with ``lists=False`` their transcripts are not read."""
        if not lists:
            return self.grammar_.labels(self._densities(clips), clips.lengths)
        return Lists(clips, 1).with_presence(self.presence_).most_likely(self._joined(clips))

    def posterior(self, clips: Clips, lists: bool = True) -> np.ndarray:
        """Probabilities (N, C) of the classes in other clips, as `posterior_` has them for those that were fitted."""
        return _calmed(self._joined(clips) if lists else
                       self.grammar_.posterior(rounds.WEIGHT * self._densities(clips), clips.lengths))

    def _joined(self, clips):
        """Mean posterior of the chains over the clips' lists."""
        scores = self._scores(clips)
        chains = [Lists(clips, L).with_presence(self.presence_) for L in self.copies_]
        return np.mean([chain.sum_paths(scores)[0] for chain in chains], axis=0)

    def _densities(self, clips):
        return (self._scores(clips) - np.log(self.model_.stay)) / rounds.WEIGHT

    def _scores(self, clips):
        check_is_fitted(self, "model_")
        if clips.n_classes != self.n_classes_ or clips.features.shape[1] != self.n_features_in_:
            raise ValueError(f"clips: {self.n_classes_} classes and {self.n_features_in_} features expected, found "
                             f"{clips.n_classes} and {clips.features.shape[1]}")
        return self.model_.scores(self.whitening_(clips.features, clips.lengths), rounds.WEIGHT / self.size_)

    def suggest(self, n: int) -> list[int]:
        """Clips whose labels would help most: many unsure intervals, of classes that those before do not have.

        Each adds the most to sum_c sqrt(U_c), U_c the unsure intervals of class c in the clips picked.
        """
        check_is_fitted(self, "posterior_")
        unsure = self.posterior_ * (1 - self.posterior_.max(axis=1, keepdims=True))
        U = np.add.reduceat(unsure, np.cumsum(self._lengths) - self._lengths)
        asked = np.zeros(U.shape[1])
        picked: list[int] = []
        for _ in range(min(n, len(U))):
            gain = (np.sqrt(asked + U) - np.sqrt(asked)).sum(axis=1)
            gain[picked] = -1
            picked.append(int(gain.argmax()))
            asked = asked + U[picked[-1]]
        return picked

    def _arrays(self):
        parts = {"whitening_": self.whitening_, "model_": self.model_, "grammar_": self.grammar_}
        inner = {f"{name}.{key}": np.asarray(value) for name, part in parts.items()
                 for key, value in part._asdict().items()}
        own = {name: np.asarray(getattr(self, name)) for name in ("copies_", "size_", "n_classes_", "presence_")}
        return super()._arrays() | inner | own | {"background_": np.array(str(self.background_))}

    def _from_arrays(self, arrays):
        super()._from_arrays(arrays)
        (C, d), q = self.coef_.shape, arrays["whitening_.matrix"].shape[-1]
        shapes = {"whitening_.mean": (d,), "whitening_.matrix": (d, q), "whitening_.share": (), "model_.means": (C, q),
                  "model_.covariance": (q, q), "model_.stay": (C,), "model_.presence": (2,), "presence_": (2,),
                  "grammar_.first": (C,), "grammar_.step": (C, C), "grammar_.last": (C,)}
        wrong = [name for name, shape in shapes.items() if arrays[name].shape != shape
                 or arrays[name].dtype.kind != "f" or np.isnan(arrays[name]).any()]
        copies = arrays["copies_"]
        if wrong or arrays["n_classes_"] != C or copies.ndim != 1 or copies.dtype.kind != "i" or copies.min() < 1:
            raise ValueError(f"other arrays than those of {C} classes and {d} features, {wrong}")
        for name, kind in (("whitening_", Whitening), ("model_", Model), ("grammar_", Grammar)):
            setattr(self, name, kind(**{key: arrays[f"{name}.{key}"][()] for key in kind._fields}))
        self.copies_, self.presence_ = tuple(arrays["copies_"].tolist()), arrays["presence_"]
        self.size_, self.n_classes_ = int(arrays["size_"]), int(arrays["n_classes_"])
        background = str(arrays["background_"])
        self.background_ = None if background == "None" else background


def _calmed(posterior):
    """The same, less sure of itself."""
    calm = (posterior + 1e-12) ** TEMPER
    return calm / calm.sum(axis=1, keepdims=True)


def _most_evident(found):
    """The way of fitting that tells the lists most clearly from others."""
    return max(found, key=lambda way: found[way][0].mean())


def _background(found, best, ways, inside):
    """The way to take optional background: the most evident one, but INSIDE only where it is clearly better, and
    ABSENT, the simplest, where it is hardly worse and, if presence is learnt, most of the background is absent."""
    def doubt(difference):
        return difference.std() / np.sqrt(len(difference))

    absent, learnt = (_most_evident({way: found[way] for way in ways if way[2] == kind}) for kind in (ABSENT, LEARNT))
    best = max(best, learnt, key=lambda way: found[way][0].mean())
    more = found[inside][0] - found[best][0]
    if more.mean() > max(CLEAR * (rounds.MOST - found[best][0].mean()), doubt(more)):
        best = inside
    less = found[best][0] - found[absent][0]
    same = less.mean() <= min(SAME * found[best][0].mean(), doubt(less))
    return absent if same and found[learnt][1].presence[0] < 0.5 else best


def _usual_duration(N, clips, actions_only=False):
    """Fewest intervals of a state in the chains: half of the mean number of intervals of a state, from 1 to 3."""
    K, n = sum(max(len(t), 1) for t in clips.transcripts), len(clips)
    kind = None if actions_only else clips.background
    states = {None: K, "around": 2 * K + n, "between": 2 * K - n, "optional": 2 * K}[kind]
    return int(np.clip(N // (2 * states), 1, 3))


def _block_size(clips):
    """Intervals that are pooled in the rounds where segments are very long."""
    actions = np.array([max(len(t), 1) for t in clips.transcripts])
    shortest = int((clips.lengths // (2 * actions + 1)).min())
    return max(1, min(clips.n_intervals // (40 * int(actions.sum())), shortest))


def _spread(lengths, size, known):
    """Every k-th clip, so that about `size` rows are left, and clips with known rows up to as many again."""
    told = np.add.reduceat((known.min(axis=1, initial=0.0) < 0).astype(np.int64), np.cumsum(lengths) - lengths) > 0
    told &= np.cumsum(lengths * told) <= size
    told[::max(1, -(-int(lengths.sum()) // size))] = True
    return np.flatnonzero(told)


def _label_weights(clips, known):
    """How often known rows count: up to five times, the more clips they are in."""
    if known is None:
        return None
    n = np.count_nonzero(np.logical_or.reduceat(known >= 0, clips.offsets[:-1]))
    return np.where(known >= 0, 1 + 4 * n / (n + 10), 1.0)
