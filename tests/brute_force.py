"""All assignments of small clips, listed by a recursion that knows nothing of the package's chains."""

from itertools import groupby

import numpy as np

from ordering import Clips
from ordering.admissible import one_hot

BACKGROUNDS = ("around", "between", "optional", None)
INF = float("inf")


def states_of(clips, i, min_duration, skip_price):
    """Class, least duration and price of being left out of every state of clip i."""
    A = clips.n_actions
    least = np.broadcast_to(min_duration, A).tolist()
    price = np.broadcast_to(INF if skip_price is None else skip_price, A).tolist()
    background = (A, 1, 0.0 if clips.background == "optional" else INF)
    states = [(a, least[a], price[a]) for a in clips.transcripts[i].tolist()]
    if clips.background is None:
        return states
    between = [part for state in states for part in (state, background)]
    return between[:-1] if clips.background == "between" and between else [background, *between]


def cuts(T, states, known):
    """Each way to spend T intervals in the states, in order: the state of each interval, and what is paid."""
    def fill(t, k):
        if k == len(states):
            if t == T:
                yield (), 0.0
            return
        label, shortest, price = states[k]
        if price < INF:
            for rest, paid in fill(t, k + 1):
                yield rest, paid + price
        for n in range(1, T - t + 1):
            if known[t + n - 1] not in (-1, label):
                break
            if n >= shortest:
                for rest, paid in fill(t + n, k + 1):
                    yield (k,) * n + rest, paid

    return fill(0, 0)


def list_cuts(clips, i=0, supervised=None, min_duration=1, skip_price=None):
    """Every way of cutting clip i into its states: states (n, T), labels (n, T) and prices (n,) of what is left out.

    A clip of which all rows are known has its labels as they are, in states -1.
    """
    T = int(clips.lengths[i])
    known = [-1] * T if supervised is None else np.asarray(supervised)[clips.rows(i)].tolist()
    if min(known) >= 0:
        return np.full((1, T), -1), np.array([known]), np.zeros(1)
    states = states_of(clips, i, min_duration, skip_price)
    found = list(cuts(T, states, known))
    paths = np.array([path for path, _ in found], dtype=int).reshape(-1, T)
    return paths, np.array([label for label, _, _ in states])[paths], np.array([paid for _, paid in found])


def list_vertices(clips, i=0, **options):
    """The same as assignments (n, T, C) and prices (n,)."""
    _, labels, prices = list_cuts(clips, i, **options)
    return np.array([one_hot(row, clips.n_classes) for row in labels]), prices


def first_of_ties(paths):
    """The path that the tie rule takes: from the end, the latest state, its shortest run, then the same before it."""
    def from_the_end(path):
        return [(-k, len(list(run))) for k, run in groupby(reversed(path.tolist()))]

    return min(paths, key=from_the_end)


def random_case(rng, longest=6, n_clips=1, n_features=1, background="any", **fixed):
    """Random clips and the arguments of a set of them that is not empty."""
    if background == "any":
        background = BACKGROUNDS[rng.integers(4)]
    A = int(rng.integers(1, 4))
    options = {"supervised": None, "min_duration": 1, "skip_price": None}
    if rng.random() < 0.5:
        options["min_duration"] = rng.integers(1, 4, A)
    if rng.random() < 0.5:
        options["skip_price"] = np.where(rng.random(A) < 0.3, INF, rng.integers(0, 8, A) / 4)
    options |= fixed
    while True:
        transcripts = [rng.integers(0, A, rng.integers(background is None, 4)) for _ in range(n_clips)]
        lengths = rng.integers(1, longest + 1, n_clips)
        try:
            clips = Clips(rng.standard_normal((lengths.sum(), n_features)), lengths, transcripts, A, background)
        except ValueError:  # too short
            continue
        states = [states_of(clips, i, options["min_duration"], options["skip_price"]) for i in range(n_clips)]
        if all(any(cuts(T, own, [-1] * T)) for T, own in zip(clips.lengths.tolist(), states, strict=True)):
            break
    if "supervised" not in fixed and rng.random() < 0.5:
        labels = [list_cuts(clips, i, **options | {"supervised": None})[1] for i in range(n_clips)]
        truth = np.concatenate([own[rng.integers(len(own))] for own in labels])
        options["supervised"] = np.where(rng.random(len(truth)) < rng.choice([0.15, 0.4]), truth, -1)
    return clips, options
