"""The solvers' loop over clips on a Dask cluster: a pass sends a classifier out and gets a few sums back.

Every load of clips stays where it is, with its rows of Z. Whatever a worker holds is the result of tasks that Dask can
run again, back to the loader, so a lost worker costs time and nothing else.
Explained in ``book/16c-past-one-machine.ipynb``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import call, itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordering.admissible import Ordered, dense, random_blocks, round_assignment, round_scores
from ordering.clips import Clips
from ordering.features import Features, linear_scores
from ordering.objective import RidgeObjective
from ordering.solver import InParts, Local, Moments, Solution, add, after, blocks_of_start, descend, first_state

__all__ = ["Parts", "block_frank_wolfe", "frank_wolfe", "split"]

FAN_IN = 8  # how many results one task of a reduction adds up


def split(clips: Clips, n_parts: int) -> list[Callable[[], Clips]]:
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

    def __init__(self, client: Any, loaders: list[Callable[[], Clips]]) -> None:
        self.client = client
        self.clips = [self.submit(call, load) for load in loaders]
        sizes = client.gather(self.map(_sizes, self.clips))
        if len({size[:2] for size in sizes}) != 1:
            raise ValueError("at least one part, and in all the same numbers of features and classes expected, "
                             f"found {sorted({size[:2] for size in sizes})}")
        self.n_classes, self.n_clips = sizes[0][1], sum(size[2] for size in sizes)
        held = self.map(lambda clips: Features(clips.features), self.clips)
        self.features = Features.together(client.gather(self.map(_statistics, held)), sizes[0][3])
        self.held = self.map(partial(Features.with_origin, origin=self.features.origin), held)
        self.shape = self.features.shape

    def classifier(self, Z: list, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """W (d, C) and b (C,) of `RidgeObjective.classifier` on the blocks Z (futures, one a part)."""
        objective = RidgeObjective(self.features, lam)
        moments = self.reduce(_add_moments, self.map(_moments, self.held, Z))
        return objective.on_features(*objective.model(moments.moment.T, moments.mass))

    def round_assignment(self, Z: list) -> np.ndarray:
        """Labels (N,) closest to the blocks Z (futures, one a part): `ordering.round_assignment` on each."""
        return np.concatenate(self.client.gather(self.map(round_assignment, Z, self.clips)))

    def round_scores(self, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Labels (N,) with the largest scores X W + b: `ordering.round_scores` on each part."""
        scores = self.map(lambda clips: linear_scores(clips.features, W, b), self.clips)
        return np.concatenate(self.client.gather(self.map(round_scores, scores, self.clips)))

    def submit(self, function: Callable, *arguments: Any) -> Any:
        """Future of one call on the cluster."""
        return self.client.submit(function, *arguments, pure=False)

    def map(self, function: Callable, *lists: Any) -> list:
        """Futures of one call a part."""
        return [self.submit(function, *arguments) for arguments in zip(*lists, strict=True)]

    def reduce(self, function: Callable, futures: list) -> Any:
        """Result of a reduction as a tree."""
        while len(futures) > 1:
            futures = [self.submit(function, *futures[i:i + FAN_IN]) for i in range(0, len(futures), FAN_IN)]
        return futures[0].result()


def frank_wolfe(parts: Parts, lam: float, kappa: ArrayLike | None = None, class_weight: ArrayLike | None = None,
                Z0: list | None = None, n_iter: int = 200, tol: float = 0.0, supervised: list | None = None,
                callback: Callable | None = None, random_state: int = 0, relative_tol: float = 0.0) -> Solution:
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
    n_iter, tol, callback, relative_tol
        As in `ordering.frank_wolfe`.

    Returns
    -------
    Solution
        Its `Z` is a list of futures, one a part: ``client.gather(solution.Z)``, or `Parts.round_assignment`.

    Notes
    -----
    A pass is one task a part and a tree of sums. It reads the features once: a task takes the step that is due,
    multiplies by the classifier, asks the oracle, and returns the moments of its direction, from which the client has
    gap, exact step and next classifier. Explained in ``book/16c-past-one-machine.ipynb``.
    """
    problem = OnCluster(parts, RidgeObjective(parts.features, lam, kappa, class_weight), Z0, supervised, random_state,
                        False)
    return descend(problem, n_iter, tol, relative_tol, callback)


def block_frank_wolfe(parts: Parts, lam: float, kappa: ArrayLike | None = None, class_weight: ArrayLike | None = None,
                      Z0: list | None = None, n_iter: int = 50, tol: float = 0.0, supervised: list | None = None,
                      callback: Callable | None = None, random_state: int = 0,
                      relative_tol: float = 0.0) -> Solution:
    """The same with the direction of `ordering.block_frank_wolfe`: about a tenth of the passes."""
    problem = OnCluster(parts, RidgeObjective(parts.features, lam, kappa, class_weight), Z0, supervised, random_state,
                        True)
    return descend(problem, n_iter, tol, relative_tol, callback)


class OnCluster(InParts):
    """The problem of the loop whose parts are on the workers."""

    def __init__(self, parts: Parts, objective: RidgeObjective, Z0: list | None, supervised: list | None,
                 random_state: int, block: bool) -> None:
        n = len(parts.clips)
        self.parts = parts
        self.locals = parts.map(_local, parts.clips, supervised or [None] * n, parts.held)
        seeds = [[random_state, p] for p in range(n)]
        self.states = parts.map(_start, self.locals, Z0 or [None] * n, seeds)
        self._settle(objective, parts.n_classes, parts.n_clips, block)

    def _sweep(self, now):
        now = self.parts.submit(_same, now)  # sent once
        found = self.parts.map(_sweep, self.locals, self.states, [now] * len(self.states))
        sums, change = self.parts.reduce(_add, self.parts.map(itemgetter(slice(1, None)), found))
        return self.parts.map(itemgetter(0), found), sums, change

    def refresh(self):
        moments = partial(Local.moments, step=self.step, n_classes=self.n_classes)
        self.fresh = self.parts.reduce(_add_moments, self.parts.map(moments, self.locals, self.states))

    def assignment(self):
        return self.parts.map(partial(_assignment, step=self.step), self.locals, self.states)


# -------------------------------------------------------------------- on the workers
def _sizes(clips):
    return clips.features.shape[1], clips.n_classes, len(clips), clips.features.dtype


def _statistics(features):
    mean = features.mean if features.origin is None else features.mean + features.origin
    return features.shape[0], mean, features.gram


def _moments(features, Z):
    return Moments(features.left(Z).T, Z.sum(axis=0), np.sum(Z * Z, axis=0))


def _local(clips, supervised, features):
    return Local(Ordered(clips, supervised), features)


def _start(local, Z0, seed):
    chosen = local.chosen
    blocks = random_blocks(chosen, random_state=seed) if Z0 is None else blocks_of_start(Z0, chosen)
    return list(map(first_state, chosen.parts(), blocks))


def _sweep(local, states, now):
    return local.sweep([state.copy() for state in states], now)


def _assignment(local, states, step):
    return dense(local.chosen, [after(state, step)[0] for state in states])


def _add(*found):
    return add([sums for sums, _ in found]), _add_moments(*(moments for _, moments in found))


def _add_moments(*moments):
    return Moments(*(sum(pieces) for pieces in zip(*moments, strict=True)))


def _same(value):
    return value
