"""Frank-Wolfe over clips in parts on a Dask cluster: a pass sends a classifier out and gets a few sums back.

Every part stays where it is, with its rows of Z. Whatever a worker holds is the result of tasks that Dask can
run again, back to the loader of the part, so a lost worker costs time and nothing else.
Explained in ``book/16-fast-and-large.ipynb``.
"""

from __future__ import annotations

import time
from functools import partial
from operator import call, itemgetter
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from ordering import rounding, solver
from ordering.block import BlockDirection
from ordering.objective import centred_gram, factorise, times, transposed_times

__all__ = ["Parts", "block_frank_wolfe", "frank_wolfe", "split"]

FAN_IN = 8  # how many results one task of a reduction adds up


def split(clips, n_parts):
    """Loaders of at most `n_parts` parts: consecutive clips, about the same number of intervals in each.

    The data travel inside the loaders, through the scheduler: for what one machine holds easily. Beyond that,
    write a function that returns the `Clips` of one part from storage that every worker can read, and make one
    ``functools.partial`` of it per part.

    Examples
    --------
    >>> from ordering.synthetic import make_clips
    >>> [len(load()) for load in split(make_clips(10, 5), 3)]
    [2, 5, 3]
    """
    ends = np.searchsorted(clips.offsets, clips.offsets[-1] * np.arange(1, n_parts) / n_parts)
    return [partial(_same, clips.subset(part)) for part in np.split(np.arange(len(clips)), ends) if len(part)]


class Parts:
    """Clips in parts, loaded by and kept on the workers of a Dask cluster, and their Gram matrix.

    Parameters
    ----------
    client : dask.distributed.Client
    loaders : list of functions without arguments that return `Clips`
        One a part; two to four parts for every thread of the cluster are a good number. A loader runs again
        where a worker was lost, and must then return the same clips.

    Attributes
    ----------
    clips : list of futures of `Clips`
    shape : (N, d), as if the features were one array
    n_classes : int

    Raises
    ------
    ValueError
        If parts differ in features or classes; also what a loader raises.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from ordering.synthetic import make_clips
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    ...     parts = Parts(client, split(make_clips(20, 5), 3))
    ...     solution = block_frank_wolfe(parts, lam=1e-3, n_iter=10)
    ...     labels = parts.round_assignment(solution.Z)
    >>> parts.shape[1], len(labels) == parts.shape[0], len(solution.step)
    (5, True, 10)
    """

    def __init__(self, client, loaders):
        self.client = client
        self.clips = [self.submit(call, load) for load in loaders]
        sizes = set(client.gather(self.map(lambda clips: (clips.features.shape[1], clips.n_classes), self.clips)))
        if len(sizes) != 1:
            raise ValueError("at least one part, and in all the same numbers of features and classes expected, "
                             f"found {sorted(sizes)}")
        N, self.mean, self.gram = self.reduce(_merge_moments, self.map(_moments, self.clips))
        (d, self.n_classes), = sizes
        self.shape = N, d

    def classifier(self, Z, lam):
        """W (d, C) and b (C,) of the ridge regression on the blocks Z (futures, one a part)."""
        total = self.reduce(_add, self.map(_sums, self.clips, Z))
        return _ridge(self, factorise(self.gram, self.shape[0] * lam), total.moment, total.count)

    def round_assignment(self, Z):
        """Labels (N,) closest to the blocks Z (futures, one a part): `ordering.round_assignment` on each."""
        return np.concatenate(self.client.gather(self.map(rounding.round_assignment, Z, self.clips)))

    def round_scores(self, W, b):
        """Labels (N,) with the largest scores X W + b: `ordering.round_scores` on each part."""
        scores = self.map(lambda clips: times(clips.features, W) + b, self.clips)
        return np.concatenate(self.client.gather(self.map(rounding.round_scores, scores, self.clips)))

    def submit(self, function, *arguments):
        """Future of one call on the cluster."""
        return self.client.submit(function, *arguments, pure=False)

    def map(self, function, *lists):
        """Futures of one call a part."""
        return [self.submit(function, *arguments) for arguments in zip(*lists, strict=True)]

    def reduce(self, function, futures):
        """Result of a reduction as a tree."""
        while len(futures) > 1:
            futures = [self.submit(function, *futures[i:i + FAN_IN]) for i in range(0, len(futures), FAN_IN)]
        return futures[0].result()


def frank_wolfe(parts, lam, kappa=None, class_weight=None, Z0=None, n_iter=200, tol=0.0, supervised=None,
                callback=None, random_state=0):
    """Minimise the ridge objective over clips on a cluster: the iterates of `ordering.frank_wolfe`.

    Parameters
    ----------
    parts : Parts
    lam, kappa, class_weight
        As in `RidgeObjective`.
    Z0 : list of (N_p, C) arrays or futures, one a part, optional
        Start; another solution's `Z` for a warm start. By default each part p draws
        ``random_vertices(clips, random_state=[random_state, p])``.
    supervised : list of (N_p,) int arrays or futures, one a part, optional
        Known classes, -1 = unknown.
    n_iter, tol, callback
        As in `ordering.frank_wolfe`; the callback sees the series, not `Z`.

    Returns
    -------
    Solution
        Its `Z` is a list of futures, one a part: ``client.gather(solution.Z)``, or `Parts.round_assignment`.

    Notes
    -----
    A pass is one task a part and a tree of sums. It reads the features once: a task takes the step that is due,
    multiplies by the classifier, asks the oracle, and returns X'D (d, C) and sums of length C, from which the
    client has gap, exact step and next classifier. Features are not centred: float32 features whose mean is far
    from 0 should be, in the loader. Explained in ``book/16-fast-and-large.ipynb``.
    """
    return _descend(parts, lam, kappa, class_weight, Z0, n_iter, tol, supervised, callback, random_state, False)


def block_frank_wolfe(parts, lam, kappa=None, class_weight=None, Z0=None, n_iter=50, tol=0.0, supervised=None,
                      callback=None, random_state=0):
    """The same with the direction of `ordering.block_frank_wolfe`: about a tenth of the passes.

    The accuracy inside the clips follows the gap of the part, not of all clips, so the iterates are close to
    those on one machine but not equal. A pass in which momentum led uphill has step 0.
    """
    return _descend(parts, lam, kappa, class_weight, Z0, n_iter, tol, supervised, callback, random_state, True)


# -------------------------------------------------------------------- on the client
class _Now(NamedTuple):
    """What every part needs for a pass."""

    scale: float  # 2 / N
    kappa: np.ndarray
    weight: np.ndarray
    W: np.ndarray
    b: np.ndarray
    step: float  # the step along the last direction
    beta: float | None  # momentum of the block direction; None for plain vertices
    first_gap: float | None  # of a part, on average


def _descend(parts, lam, kappa, class_weight, Z0, n_iter, tol, supervised, callback, random_state, block):
    start = time.perf_counter()
    (N, _), C, n_parts = parts.shape, parts.n_classes, len(parts.clips)
    n_iter, tol = solver._check_stop(n_iter, tol)
    if not (np.isfinite(lam) and lam > 0):
        raise ValueError(f"lam > 0 expected, found {lam!r}")
    factor = factorise(parts.gram, N * lam)
    kappa = np.broadcast_to(np.asarray(0.0 if kappa is None else kappa, float), C)
    weight = np.broadcast_to(np.asarray(1.0 if class_weight is None else class_weight, float), C)
    known = supervised or [None] * n_parts
    seeds = [[random_state, p] for p in range(n_parts)]
    states = parts.map(_start, parts.clips, known, Z0 or [None] * n_parts, seeds)
    sums = parts.reduce(_add, parts.map(_sums, parts.clips, parts.map(itemgetter(0), states)))
    value = 0.5 * _curvature(parts, factor, weight, sums) + kappa @ sums.count
    moment, count, step, t, beta = sums.moment, sums.count, 0.0, 1.0, 0.0
    solution = solver.Solution(None, message=f"all {n_iter} passes done")

    def advance(states):
        W, b = _ridge(parts, factor, moment, count)
        first_gap = solution.duality_gap[0] / n_parts if len(solution.step) else None
        now = parts.submit(_same, _Now(2 / N, kappa, weight, W, b, step, beta if block else None, first_gap))
        both = parts.map(_advance, parts.clips, known, states, [now] * n_parts)
        return parts.map(itemgetter(0), both), parts.reduce(_add, parts.map(itemgetter(1), both))

    try:
        for _ in range(n_iter):
            states, sums = advance(states)
            if sums.gap <= tol:
                step = 0.0
                solution.converged, solution.message = True, f"duality gap {sums.gap:.3g} <= tol {tol:.3g}"
            else:
                curvature = _curvature(parts, factor, weight, sums)
                step = min(1.0, max(sums.slope, 0) / curvature) if curvature > 0 else float(sums.slope > 0)
                value += step * (0.5 * step * max(curvature, 0) - sums.slope)
                moment, count = moment + step * sums.moment, count + step * sums.count
                if sums.slope <= 0 or beta * sums.turn > sums.square.sum():  # forget momentum that turns back
                    t = 1.0
                t_before, t = t, (1 + np.sqrt(1 + 4 * t**2)) / 2
                beta = (t_before - 1) / t
            solution.record(None, value, sums.gap, step, time.perf_counter() - start)
            stopped = callback is not None and callback(solution)
            if solution.converged:
                break
            if stopped:
                solution.message = "stopped by the callback"
                break
        states, sums = advance(states)
    except KeyboardInterrupt as interrupt:
        solution.message, interrupt.solution = "interrupted", solution
        raise
    finally:
        solution.Z = parts.map(itemgetter(0), states)
    solution.final_gap, solution.converged = sums.gap, bool(solution.converged or sums.gap <= tol)
    return solution


def _ridge(parts, factor, moment, count):
    """W, b of the ridge regression on a Z of which X' Z and 1' Z are given."""
    W = cho_solve((factor, True), moment - np.outer(parts.mean, count))
    return W, count / parts.shape[0] - parts.mean @ W


def _curvature(parts, factor, weight, sums):
    """<D, hessian D> = (2/N) sum_c w_c (|d_c|^2 - s_c^2 / N - m_c' A^-1 m_c), with m = X' Pi D and A = L L'."""
    centred = sums.moment - np.outer(parts.mean, sums.count)
    fitted = np.sum(centred * cho_solve((factor, True), centred), axis=0)
    return 2 / parts.shape[0] * float(weight @ (sums.square - sums.count**2 / parts.shape[0] - fitted))


# -------------------------------------------------------------------- on the workers
class _Sums(NamedTuple):
    """What the parts' directions D add up to."""

    moment: np.ndarray  # X' D
    count: np.ndarray  # 1' D
    square: np.ndarray  # column sums of D^2
    slope: float = 0.0  # -<G, D>
    gap: float = 0.0  # <G, Z - S>
    turn: float = 0.0  # <Z - Z_before, D>


def _sums(clips, D, *rest):
    return _Sums(transposed_times(clips.features, D), D.sum(axis=0), np.sum(D * D, axis=0), *map(float, rest))


def _add(*sums):
    return _Sums(*map(sum, zip(*sums, strict=True)))


def _start(clips, known, Z0, seed):
    """State of a part: Z, the direction D, the gradient and Z before."""
    known = solver.check_supervised(known, clips)
    if Z0 is None:
        Z0 = solver.random_vertices(clips, random_state=seed, known=solver.path_constraints(clips, known))
    Z = solver.check_start(Z0, clips, known)
    return Z, np.zeros_like(Z), np.zeros_like(Z)


def _advance(clips, known, state, now):
    """Take the step that is due; then gradient, vertex, direction, and their sums."""
    Z_before, D, G_before = state
    known = solver.check_supervised(known, clips)
    Z = solver.on_simplex(Z_before + now.step * D)
    G = now.scale * now.weight * (Z - times(clips.features, now.W) - now.b) + now.kappa
    S = solver._vertex_oracle(clips, known, None)(G)
    gap = np.vdot(G, Z) - np.vdot(G, S)
    D = S - Z
    if now.beta is not None:
        bound = SimpleNamespace(curvature_bound=lambda C: (np.full(len(Z), now.scale), now.weight))
        inner = BlockDirection(bound, clips, known)
        inner.beta, inner.Z_before, inner.G_before, inner.first_gap = now.beta, Z_before, G_before, now.first_gap
        move = inner._move(Z, G, gap)
        D = move if np.vdot(G, move) < 0 else D
    return (Z, D, G), _sums(clips, D, -np.vdot(G, D), gap, np.vdot(Z - Z_before, D))


def _moments(clips):
    N = clips.features.shape[0]
    origin, mean, gram = centred_gram(clips.features, np.ones(N))
    return N, mean if origin is None else mean + origin, gram


def _merge_moments(*moments):
    """Number, mean and centred Gram matrix of several parts together (Chan, Golub and LeVeque)."""
    N, mean, gram = moments[0]
    for n, mean_n, gram_n in moments[1:]:
        shift = mean_n - mean
        gram = gram + gram_n + N * n / (N + n) * np.outer(shift, shift)
        mean, N = mean + n / (N + n) * shift, N + n
    return N, mean, gram


def _same(value):
    return value
