"""All assignments of small clips, listed by a recursion that knows nothing of the package's chains."""

from itertools import groupby

import numpy as np

from ordering import Clips
from ordering.admissible import one_hot

BACKGROUNDS = ("around", "between", "optional", None)
INF = float("inf")


def list_cuts(clips, i=0, supervised=None, min_duration=1, skip_price=None):
    """Every way of cutting clip i into its states: states (n, T), labels (n, T) and prices (n,) of what is left out.

    A clip of which all rows are known has its labels as they are, in states -1.
    """
    A, T, rows = clips.n_actions, int(clips.lengths[i]), clips.rows(i)
    known = [-1] * T if supervised is None else np.asarray(supervised)[rows].tolist()
    if min(known) >= 0:
        return np.full((1, T), -1), np.array([known]), np.zeros(1)
    least = np.broadcast_to(min_duration, A).tolist()
    price = np.broadcast_to(INF if skip_price is None else skip_price, A).tolist()
    background = (A, 1, 0.0 if clips.background == "optional" else INF)
    states = [(a, least[a], price[a]) for a in clips.transcripts[i].tolist()]
    if clips.background is not None:
        between = [part for state in states for part in (state, background)]
        states = between[:-1] if clips.background == "between" and between else [background, *between]

    def fill(t, k):
        if k == len(states):
            if t == T:
                yield (), 0.0
            return
        label, shortest, toll = states[k]
        if toll < INF:
            for rest, paid in fill(t, k + 1):
                yield rest, paid + toll
        for n in range(shortest, T - t + 1):
            if known[t + n - 1] not in (-1, label):
                break
            if all(known[u] in (-1, label) for u in range(t, t + n)):
                for rest, paid in fill(t + n, k + 1):
                    yield (k,) * n + rest, paid

    found = list(fill(0, 0))
    paths = np.array([path for path, _ in found], dtype=int).reshape(-1, T)
    classes = np.array([label for label, _, _ in states])
    return paths, classes[paths], np.array([paid for _, paid in found])


def list_vertices(clips, i=0, **options):
    """The same as assignments (n, T, C) and prices (n,)."""
    _, labels, prices = list_cuts(clips, i, **options)
    return np.array([one_hot(row, clips.n_classes) for row in labels]), prices


def first_of_ties(paths):
    """The path that the tie rule takes: from the end, the latest state, its shortest run, then the same before it."""
    def from_the_end(path):
        return [(-k, len(list(run))) for k, run in groupby(reversed(path.tolist()))]

    return min(paths, key=from_the_end)


def random_case(rng, longest=7, n_clips=1, n_features=1, background="any", **fixed):
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
        cuts = [list_cuts(clips, i, **options | {"supervised": None})[1] for i in range(n_clips)]
        if all(len(labels) for labels in cuts):
            break
    if "supervised" not in fixed and rng.random() < 0.5:
        truth = np.concatenate([labels[rng.integers(len(labels))] for labels in cuts])
        options["supervised"] = np.where(rng.random(len(truth)) < rng.choice([0.15, 0.4]), truth, -1)
    return clips, options
