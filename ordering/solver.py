"""Frank-Wolfe over the hull of admissible assignments, with the duality gap as certificate: one loop, two directions.

`descend` is the loop. It knows a *problem* only by what a sweep over all clips adds up to (`Sums`). `InParts` is the
ridge objective over the parts of a set; a sweep reads the features once. `AsOneWhole` is any other quadratic.
`ordering.cluster` has a third, on many machines.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ordering._check import integer
from ordering.admissible import AdmissibleSet, as_set, dense, one_hot
from ordering.clips import Clips
from ordering.features import Features
from ordering.kernels.compile import in_threads
from ordering.objective import Objective, RidgeObjective

INNER_ACCURACY = 0.1  # the block solver solves each clip to this share of the average gap of a clip
REFRESH = 50  # passes after which sums that are carried along are computed anew
LEAST_BOUND = 1e-3  # of the largest curvature bound: rows and classes of weight 0 get this much
ENOUGH = 0.01  # relative gap at which labels no longer change to speak of
SMALL = 8000  # intervals below which threads do not pay


class Solution:
    """What a solver found, one entry a pass in each of the series.

    Attributes
    ----------
    Z : (N, C) relaxed assignment, each row on the simplex
    objective : (passes,) value after the pass
    duality_gap : (passes,) <gradient, Z - S> before the step of the pass
    step : (passes,) step size
    seconds : (passes,) since the call
    final_gap : float, duality gap at `Z`; the value of `Z` is at most that far above the least one
    converged : bool, whether the final gap is small enough
    message : str, why the solver stopped
    """

    def __init__(self, problem: Problem, message: str = "") -> None:
        self.message, self.final_gap, self.converged = message, float("nan"), False
        self._problem, self._passes, self._Z = problem, np.empty((0, 4)), None

    objective = property(lambda self: self._passes[:, 0])
    duality_gap = property(lambda self: self._passes[:, 1])
    step = property(lambda self: self._passes[:, 2])
    seconds = property(lambda self: self._passes[:, 3])

    @property
    def Z(self) -> Any:
        if self._Z is None:
            self._Z = self._problem.assignment()
        return self._Z

    def __repr__(self) -> str:
        return f"Solution({len(self.step)} passes, gap {self.final_gap:.3g}: {self.message})"


def frank_wolfe(objective: Objective, clips: Clips | AdmissibleSet, Z0: ArrayLike, n_iter: int = 200, tol: float = 0.0,
                supervised: ArrayLike | None = None, callback: Callable | None = None,
                relative_tol: float = 0.0) -> Solution:
    """Minimise a convex quadratic over the hull of admissible assignments.

    Parameters
    ----------
    objective : RidgeObjective, or anything with its `value`, `gradient` and `hessian`
    clips : Clips or AdmissibleSet
    Z0 : (N, C) start in the hull; not changed
    n_iter : int, number of passes
    tol : float, absolute duality gap at which to stop, tested before a step
    supervised : (N,) ints, optional
        Known classes, -1 = unknown, of the `Ordered` set of `clips`. Known rows are overwritten in a copy of Z0 and
        fixed in every vertex. A start that does not go through the known rows of a partly known clip is replaced
        there by one that does.
    callback : callable, optional
        Called with the `Solution` so far after each pass; a true result stops. Each pass has a Z of its own.
    relative_tol : float
        Stop also at a gap of this share of the objective's absolute value.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        For a start or supervision of a wrong shape or off the simplex or outside the hull, or an objective without
        the methods that are needed.
    KeyboardInterrupt
        On Ctrl-C, with the solution so far as its attribute `solution`.

    Notes
    -----
    Algorithm 1 of the paper with exact line search: gamma = clip(gap / <D, hessian D>, 0, 1) along D = S - Z,
    S the oracle's vertex. The gap bounds f(Z) - min f. Explained in ``book/07-frank-wolfe.ipynb``.

    Examples
    --------
    >>> from ordering import random_vertices
    >>> X = np.repeat([[0.0], [1.0]], 5, axis=0)
    >>> clips = Clips(X, [10], [[0, 1]], n_actions=2, background=None)
    >>> solution = frank_wolfe(RidgeObjective(X, 1e-3), clips, random_vertices(clips), n_iter=50)
    >>> bool(solution.final_gap < 1e-3), solution.Z.shape
    (True, (10, 2))
    """
    return _minimise(objective, as_set(clips, supervised), Z0, False, n_iter, tol, relative_tol, callback)


def block_frank_wolfe(objective: Objective, clips: Clips | AdmissibleSet, Z0: ArrayLike, n_iter: int = 50,
                      tol: float = 0.0, supervised: ArrayLike | None = None, callback: Callable | None = None,
                      random_state: Any = 0, relative_tol: float = 0.0) -> Solution:
    """Minimise as `frank_wolfe` does, with many oracle steps inside every clip for one gradient.

    The Hessian is at most diagonal (the objective's `curvature_bound`), so a bound of the objective falls apart into
    one small problem a clip, the distance of its block to a point over its admissible assignments. Each is solved
    (`AdmissibleSet.nearest`) to a share of the last gap. The gradient is taken at a point extrapolated from the last
    two iterates (Nesterov's momentum, restarted where it turns uphill), and the whole move ends in an exact line
    search on the objective itself.

    Parameters, errors and result are those of `frank_wolfe`; every pass sweeps all clips at one iterate, so every
    pass has a true duality gap, and `random_state` has no effect. A pass in which momentum led uphill has step 0.

    Notes
    -----
    Clip after clip, with the classifier brought up to date in between, was measured too: it needs as many passes
    as all clips at once and cannot use momentum. Explained in ``book/16-momentum.ipynb``.

    Examples
    --------
    >>> from ordering import random_vertices
    >>> X = np.repeat([[0.0], [1.0]], 5, axis=0)
    >>> clips = Clips(X, [10], [[0, 1]], n_actions=2, background=None)
    >>> solution = block_frank_wolfe(RidgeObjective(X, 1e-3), clips, random_vertices(clips), n_iter=10)
    >>> bool(solution.final_gap < 1e-3), solution.Z.shape
    (True, (10, 2))
    """
    return _minimise(objective, as_set(clips, supervised), Z0, True, n_iter, tol, relative_tol, callback)


def _minimise(objective, chosen, Z0, block, n_iter, tol, relative_tol, callback):
    needed = ["value", "gradient", "hessian"] + ["curvature_bound"] * block
    missing = [name for name in needed if not hasattr(objective, name)]
    if missing:
        raise ValueError(f"objective: methods {', '.join(needed)} expected, {type(objective).__name__} lacks "
                         f"{', '.join(missing)}")
    problem = problem_of(objective, chosen, blocks_of_start(Z0, chosen), block)
    return descend(problem, n_iter, tol, relative_tol, callback)


def problem_of(objective: Objective, chosen: AdmissibleSet, blocks: list[np.ndarray], block: bool) -> Problem:
    """What the loop minimises, from a start as one block for each part."""
    if isinstance(objective, RidgeObjective):
        return InParts(objective, chosen, blocks, block)
    return AsOneWhole(objective, chosen, blocks, block)


def blocks_of_start(Z0: ArrayLike, chosen: AdmissibleSet) -> list[np.ndarray]:
    """A start as one block for each part, known rows overwritten, after checks of shape, simplex and hull."""
    Z = np.asarray(Z0)
    if Z.shape != chosen.shape or Z.dtype.kind not in "fiub":
        raise ValueError(f"Z0 of shape {chosen.shape} and real numbers expected, found {Z.dtype} of shape {Z.shape}")
    Z = Z.astype(np.float64)
    bad = ~((Z >= -1e-6).all(axis=1) & (np.abs(Z.sum(axis=1) - 1) <= 1e-6))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{chosen.clips.place(row)}: a row of Z0 >= 0 that sums to 1 expected, "
                         f"found {Z[row].tolist()}")
    Z = chosen.repair(on_simplex(Z))
    return [np.ascontiguousarray(Z[part.rows][:, part.columns]) for part in chosen.parts()]


def on_simplex(Z: np.ndarray) -> np.ndarray:
    """Take rounding errors off rows that should lie on the simplex (in place)."""
    np.clip(Z, 0.0, 1.0, out=Z)
    Z /= Z.sum(axis=1, keepdims=True)
    return Z


# -------------------------------------------------------------------------------------------------- the loop
class Sums(NamedTuple):
    """What a sweep adds up over all rows, at an iterate Z with gradient G, vertex S and direction D."""

    value: float  # at Z
    gap: float  # <G, Z - S>
    slope: float  # -<G, D>
    turn: float  # <Z - Z before, D>
    length: float  # <D, D>


class Problem(Protocol):
    """What the loop asks for; `step` is the step along the last direction that the next sweep takes."""

    step: float

    def sweep(self, momentum: float, share: float | None, plain: bool = False) -> Sums:
        """Take the step; then gradient, vertex and next direction everywhere.

        `share` is the accuracy of the block direction for all clips; None at first. A `plain` sweep goes to the vertex.
        """
        ...

    def curvature(self) -> float:
        """<D, hessian(D)> of the last direction."""
        ...

    def refresh(self) -> None:
        """Compute anew, from the iterate after the step alone, what sweeps carry along."""
        ...

    def assignment(self) -> Any:
        """Z after the step."""
        ...


def descend(problem: Problem, n_iter: int, tol: float, relative_tol: float = 0.0,
            callback: Callable | None = None) -> Solution:
    """Sweep, exact line search and record, until the gap is small or all passes are done."""
    start = time.perf_counter()
    n_iter, tol = integer("n_iter", n_iter), _tolerance("tol", tol)
    relative_tol = _tolerance("relative_tol", relative_tol)
    solution, t, momentum, share = Solution(problem, f"all {n_iter} passes done"), 1.0, 0.0, None

    def small(sums):
        return sums.gap <= max(tol, relative_tol * abs(sums.value))

    def certified():
        """The sums at Z from a fresh gradient, and what follows for the solution."""
        problem.refresh()
        sums = problem.sweep(0.0, share, plain=True)
        solution.final_gap, solution.converged = sums.gap, bool(small(sums))
        return sums

    try:
        for i in range(n_iter):
            if i and i % REFRESH == 0:
                problem.refresh()
            sums = problem.sweep(momentum, share)
            if small(sums):
                sums = certified()
            curvature, step = 0.0, 0.0
            if not solution.converged:
                curvature = max(problem.curvature(), 0.0)
                step = min(1.0, max(sums.slope, 0.0) / curvature) if curvature > 0 else float(sums.slope > 0)
            problem.step = step
            entry = sums.value + step * (0.5 * step * curvature - sums.slope), sums.gap, step
            solution._passes = np.vstack([solution._passes, [*entry, time.perf_counter() - start]])
            solution._Z = None
            stopped = callback is not None and callback(solution)
            if solution.converged:
                solution.message = f"duality gap {sums.gap:.3g} is small enough"
                return solution
            if stopped:
                solution.message = "stopped by the callback"
                break
            if sums.slope <= 0 or momentum * sums.turn > sums.length:  # forget momentum that turns back
                t = 1.0
            before, t = t, (1 + np.sqrt(1 + 4 * t**2)) / 2
            momentum, share = (before - 1) / t, INNER_ACCURACY * sums.gap
        certified()
    except KeyboardInterrupt as interrupt:
        solution.message, interrupt.solution = "interrupted", solution  # type: ignore[attr-defined]
        certified()
        raise
    return solution


def _tolerance(name, value):
    if not isinstance(value, (int, float, np.integer, np.floating)) or np.isnan(value):
        raise ValueError(f"{name}: a number expected, found {value!r}")
    return float(value)


# ---------------------------------------------------------------------------------------------- one part
class State(NamedTuple):
    """A part's iterate, the direction found there, and the iterate and gradient before."""

    Z: np.ndarray
    price: np.ndarray  # (n,) what each clip pays besides
    D: np.ndarray
    change: np.ndarray  # (n,) of the price along D
    G: np.ndarray
    memory: Any  # of the set, for the block direction; written over

    def copy(self) -> State:
        """The same with a memory of its own."""
        return self._replace(memory=None if self.memory is None else tuple(part.copy() for part in self.memory))


def first_state(part: Any, Z: np.ndarray) -> State:
    """State of a part before the first sweep."""
    price = part.dearest()
    return State(Z, price, np.zeros_like(Z), np.zeros_like(price), np.zeros_like(Z), part.memory())


def after(state: State, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Z and prices once a step along the direction is taken."""
    if step == 0:
        return state.Z, state.price
    return on_simplex(state.Z + step * state.D), state.price + step * state.change


def find_direction(part: Any, before: State, Z: np.ndarray, price: np.ndarray, G: np.ndarray, linear: float,
                   bound: tuple[np.ndarray, np.ndarray] | None, momentum: float,
                   share: float | None) -> tuple[State, Sums]:
    """Vertex, gap and move of a part at Z with gradient G, of which `linear` is <constant part of G, Z>.

    Rows and columns of a curvature `bound` ask for the block direction, to an accuracy of `share` times the gap.
    """
    labels, vertex_price = part.vertex(G)
    S, inner, paid = one_hot(labels, Z.shape[1]), float(np.vdot(G, Z)), float(price.sum())
    gap = inner - float(np.vdot(G, S)) + paid - float(vertex_price.sum())
    D, change, memory = S - Z, vertex_price - price, before.memory
    if bound is not None:
        slope = G
        if momentum:
            slope = G + momentum * (G - before.G - bound[0][:, None] * bound[1] * (Z - before.Z))
        tol = INNER_ACCURACY * gap / len(price) if share is None else share
        V, moved, memory = part.nearest(Z, slope, *bound, price, tol, memory)
        if momentum or np.vdot(G, V - Z) + (moved - price).sum() < 0:  # else all clips are solved to their share
            D, change = V - Z, moved - price
    sums = Sums(0.5 * (inner + linear) + paid, gap, -float(np.vdot(G, D)) - float(change.sum()),
                float(np.vdot(Z - before.Z, D)), float(np.vdot(D, D)))
    return State(Z, price, D, change, G, memory), sums


def add(sums: Any) -> Sums:
    """Sums of several parts."""
    return Sums(*map(sum, zip(*sums, strict=True)))


# ---------------------------------------------------------------------------------------------- the problems
class Now(NamedTuple):
    """What a sweep tells every part."""

    W: np.ndarray  # (d, C) and b (C,): the classifier at the iterate
    b: np.ndarray
    scale: float  # 2 / N
    kappa: np.ndarray  # (C,)
    weight: np.ndarray  # (C,) of the quadratic part
    bound: np.ndarray | None  # (C,) columns of the curvature bound; None for plain Frank-Wolfe steps
    step: float
    momentum: float
    share: float | None


class Local:
    """The parts of a set on one machine, with their features: what a sweep does for the ridge objective."""

    def __init__(self, chosen: AdmissibleSet, features: Features, row_weight: np.ndarray | None = None) -> None:
        self.chosen, self.features, self.row_weight = chosen, features, row_weight

    def sweep(self, states: list[State], now: Now) -> tuple[list[State], Sums, Moments]:
        """Take the step; then gradient, vertex and direction; states, sums, and moments of the directions."""
        found = self._each(lambda part, state: self._sweep(part, state, now), states)
        return [state for state, _, _ in found], add(sums for _, sums, _ in found), self._together(found, now.W.shape)

    def moments(self, states: list[State], step: float, n_classes: int) -> Moments:
        """Moments of the iterate after the step."""
        found = self._each(lambda part, state: (self._moments(part, after(state, step)[0]),), states)
        return self._together(found, (self.features.shape[1], n_classes))

    def _each(self, function, states):
        parts = self.chosen.parts()
        if self.chosen.shape[0] < SMALL:
            return list(map(function, parts, states))
        return in_threads(function, parts, states)

    def _sweep(self, part, state, now):
        block, own = self.features.block(part.rows), own_columns(part, len(now.b))
        Z, price = after(state, now.step)
        G = Z - block @ np.ascontiguousarray(now.W[:, own]) - now.b[own]
        rows = np.full(len(Z), now.scale) if self.row_weight is None else now.scale * self.row_weight[part.rows]
        G *= rows[:, None] * now.weight[own]
        G += now.kappa[own]
        bound = None if now.bound is None else (np.maximum(rows, LEAST_BOUND * now.scale), now.bound[own])
        linear = float(now.kappa[own] @ Z.sum(axis=0))
        state, sums = find_direction(part, state, Z, price, G, linear, bound, now.momentum, now.share)
        return state, sums, self._moments(part, state.D, block)

    def _moments(self, part, D, block=None):
        block = self.features.block(part.rows) if block is None else block
        R = D if self.row_weight is None else D * self.row_weight[part.rows][:, None]
        return R.astype(self.features.dtype).T @ block, R.sum(axis=0), np.sum(R * D, axis=0)

    def _together(self, found, shape):
        total = Moments(np.zeros(shape[::-1]), np.zeros(shape[1]), np.zeros(shape[1]))
        for part, (*_, moments) in zip(self.chosen.parts(), found, strict=True):
            for whole, piece in zip(total, moments, strict=True):
                whole[own_columns(part, shape[1])] += piece
        return total


class Moments(NamedTuple):
    """Sums over rows of a (N, C) array D."""

    moment: np.ndarray  # (C, d): D' R X, of the rows less the origin
    mass: np.ndarray  # (C,): 1' R D
    square: np.ndarray  # (C,): column sums of R D^2


def own_columns(part: Any, n_classes: int) -> Any:
    """How to pick a part's columns from all."""
    return slice(None) if len(part.columns) == n_classes else part.columns


class InParts:
    """The ridge objective over the parts of a set. A sweep reads the features once.

    The gradient of a part follows from the classifier, and the next classifier from the moments of all directions.
    """

    def __init__(self, objective: RidgeObjective, chosen: AdmissibleSet, blocks: list[np.ndarray],
                 block: bool) -> None:
        if objective.shape[0] != chosen.shape[0]:
            raise ValueError(f"objective: features of {chosen.shape[0]} intervals expected, the set's, found "
                             f"{objective.shape[0]}")
        self.chosen, self.local = chosen, Local(chosen, objective._features, objective.row_weight)
        self.states = list(map(first_state, chosen.parts(), blocks))
        self._settle(objective, chosen.shape[1], len(chosen.clips), block)

    def _settle(self, objective, n_classes, n_clips, block):
        self.objective, self.n_classes, self.n_clips, self.step = objective, n_classes, n_clips, 0.0
        self.kappa = np.broadcast_to(0.0 if objective.kappa is None else objective.kappa, n_classes)
        self.weight = np.ones(n_classes) if objective.class_weight is None else objective.class_weight
        self.bound = np.maximum(self.weight, LEAST_BOUND * self.weight.max()) if block else None
        self.fresh: Moments | None = None  # of the iterate after the step, where they were computed anew
        self.total = self.change = Moments(*np.zeros((3, 1)))

    def sweep(self, momentum, share, plain=False):
        if self.fresh is None and not self.total.moment.any():
            self.refresh()
        total = self.fresh or Moments(*(whole + self.step * change
                                        for whole, change in zip(self.total, self.change, strict=True)))
        W, b = self.objective.model(total.moment.T, total.mass)
        now = Now(W.astype(self.objective._features.dtype), b, 2 / self.objective.shape[0], self.kappa, self.weight,
                  None if plain else self.bound, self.step, momentum, None if share is None else share / self.n_clips)
        states, sums, change = self._sweep(now)
        self.states, self.total, self.change, self.step, self.fresh = states, total, change, 0.0, None
        return sums

    def _sweep(self, now):
        return self.local.sweep(self.states, now)

    def curvature(self):
        return self.objective.curvature(self.change.moment.T, self.change.mass, self.change.square)

    def refresh(self):
        self.fresh = self.local.moments(self.states, self.step, self.n_classes)

    def assignment(self):
        return dense(self.chosen, [after(state, self.step)[0] for state in self.states])

    def classifier(self):
        """W (d, C) and b (C,) at the iterate of the last sweep."""
        return self.objective.on_features(*self.objective.model(self.total.moment.T, self.total.mass))

    def round(self):
        """Labels (N,) closest to the iterate of the last sweep."""
        return np.concatenate([part.columns[part.vertex(-2 * state.Z)[0]]
                               for part, state in zip(self.chosen.parts(), self.states, strict=True)])


class AsOneWhole:
    """Any convex quadratic: the gradient is carried along by the Hessian, for it is linear."""

    def __init__(self, objective: Objective, chosen: AdmissibleSet, blocks: list[np.ndarray], block: bool) -> None:
        self.objective, self.chosen, self.step = objective, chosen, 0.0
        self.states = list(map(first_state, chosen.parts(), blocks))
        self.bound = None
        if block:
            rows, columns = objective.curvature_bound(chosen.shape[1])  # type: ignore[attr-defined]
            self.bound = np.maximum(rows, LEAST_BOUND * rows.max()), np.maximum(columns, LEAST_BOUND * columns.max())
        self.G = self.H = np.zeros(chosen.shape)
        self.slope, self.bent = 0.0, 0.0
        self.refresh()

    def sweep(self, momentum, share, plain=False):
        if self.step:
            self.value += self.step * (0.5 * self.step * self.bent - self.slope)
            self.G = self.G + self.step * self.H
        states, found = [], []
        for part, state in zip(self.chosen.parts(), self.states, strict=True):
            Z, price = after(state, self.step)
            own = own_columns(part, self.chosen.shape[1])
            bound = None if plain or self.bound is None else (self.bound[0][part.rows], self.bound[1][own])
            state, sums = find_direction(part, state, Z, price, np.ascontiguousarray(self.G[part.rows][:, own]), 0.0,
                                         bound, momentum, None if share is None else share / len(self.chosen.clips))
            states.append(state)
            found.append(sums)
        self.states, self.step = states, 0.0
        sums = add(found)._replace(value=self.value)
        self.slope = sums.slope
        return sums

    def curvature(self):
        D = dense(self.chosen, [state.D for state in self.states])
        self.H = self.objective.hessian(D)
        self.bent = max(float(np.vdot(D, self.H)), 0.0)
        return self.bent

    def refresh(self):
        Z = self.assignment()
        self.value = self.objective.value(Z) + sum(after(state, self.step)[1].sum() for state in self.states)
        self.G = self.objective.gradient(Z)
        self.H, self.slope, self.bent = np.zeros_like(self.G), 0.0, 0.0

    def assignment(self):
        return dense(self.chosen, [after(state, self.step)[0] for state in self.states])
