"""Frank-Wolfe over the hull of admissible assignments, with the duality gap as certificate."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from ordering.block import BlockDirection
from ordering.dtw import linear_oracle


@dataclass
class Solution:
    """What a solver found, one entry a pass in each of the series.

    Attributes
    ----------
    Z : (N, C) relaxed assignment, each row on the simplex
    objective : (passes,) value after the pass
    duality_gap : (passes,) <gradient, Z - S> before the step of the pass; NaN in passes that had no full sweep
    step : (passes,) step size
    seconds : (passes,) since the call
    final_gap : float, duality gap at `Z`; the value of `Z` is at most that far above the least one
    converged : bool, whether the gap came down to `tol`
    message : str, why the solver stopped
    """

    Z: np.ndarray
    objective: np.ndarray = field(default_factory=lambda: np.empty(0))
    duality_gap: np.ndarray = field(default_factory=lambda: np.empty(0))
    step: np.ndarray = field(default_factory=lambda: np.empty(0))
    seconds: np.ndarray = field(default_factory=lambda: np.empty(0))
    final_gap: float = np.nan
    converged: bool = False
    message: str = ""

    def record(self, Z, objective, duality_gap, step, seconds):
        """Append one pass."""
        self.Z = Z
        for name, value in [("objective", objective), ("duality_gap", duality_gap), ("step", step),
                            ("seconds", seconds)]:
            setattr(self, name, np.append(getattr(self, name), value))


def frank_wolfe(objective, clips, Z0, n_iter=200, tol=0.0, supervised=None, callback=None, oracle=None):
    """Minimise a convex quadratic over the hull of admissible assignments.

    Parameters
    ----------
    objective : RidgeObjective, or anything with its `value`, `gradient` and `hessian`
    clips : Clips
    Z0 : (N, C) start, rows on the simplex; not changed
    n_iter : int, number of passes
    tol : float, absolute duality gap at which to stop, tested before a step
    supervised : (N,) ints, optional
        Known classes, -1 = unknown. Known rows are overwritten in a copy of Z0 and fixed in every vertex. Fully
        known clips may be inadmissible; in a partly known one the oracle's path goes through the known rows, and
        a start that does not (``random_vertices(clips, known=...)`` does) is replaced there by one that does.
    callback : callable, optional
        Called with the `Solution` so far after each pass; a true result stops. Each pass has a Z of its own.
    oracle : callable, optional
        Maps costs (N, C) to the labels (N,) of a vertex, in place of `linear_oracle` on `clips`.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        For a start or supervision of a wrong shape or off the simplex, or known rows that no path goes through.
    KeyboardInterrupt
        On Ctrl-C, with the solution so far as its attribute `solution`.

    Notes
    -----
    Algorithm 1 of the paper with exact line search: gamma = clip(gap / <D, hessian D>, 0, 1) along D = S - Z,
    S the oracle's vertex. The gap bounds f(Z) - min f. The gradient is carried along, since it is linear, and
    computed anew every 50 passes. Explained in ``book/07-frank-wolfe.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips, RidgeObjective, random_vertices
    >>> X = np.repeat([[0.0], [1.0]], 5, axis=0)
    >>> clips = Clips(X, [10], [[0, 1]], n_actions=2, background=None)
    >>> solution = frank_wolfe(RidgeObjective(X, 1e-3), clips, random_vertices(clips), n_iter=50)
    >>> bool(solution.final_gap < 1e-3), solution.Z.shape
    (True, (10, 2))
    """
    def towards_the_vertex(Z, gradient, S, gap):
        return S - Z

    return _descend(objective, clips, Z0, n_iter, tol, supervised, callback, oracle, towards_the_vertex)


def block_frank_wolfe(objective, clips, Z0, n_iter=50, tol=0.0, supervised=None, callback=None, random_state=0):
    """Minimise as `frank_wolfe` does, with many cheap oracle steps inside every clip for one gradient.

    One pass takes one gradient. The Hessian is at most diagonal (`curvature_bound`), so a bound of the objective
    falls apart into one small problem a clip: the distance of the clip's block to a point, over its admissible
    assignments. Each is solved by up to 200 Frank-Wolfe steps that cost an oracle call on the clip alone, in the
    columns of its own transcript, and near the end, where these do not do, by an interior-point method
    (`ordering.projection`).
    The gradient is taken at a point extrapolated from the last two iterates (Nesterov's momentum, restarted where
    it turns uphill), and the whole move ends in an exact line search on the objective itself.

    Parameters, errors and result are those of `frank_wolfe`; every pass sweeps all clips at one iterate, so every
    pass has a true duality gap. The blocks of a pass do not see each other's moves, hence their order does not
    matter and `random_state` has no effect.

    Notes
    -----
    Clip after clip, with the classifier brought up to date in between, was measured too: it needs as many passes
    as all clips at once and cannot use momentum. Explained in ``book/16-fast-and-large.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips, RidgeObjective, random_vertices
    >>> X = np.repeat([[0.0], [1.0]], 5, axis=0)
    >>> clips = Clips(X, [10], [[0, 1]], n_actions=2, background=None)
    >>> solution = block_frank_wolfe(RidgeObjective(X, 1e-3), clips, random_vertices(clips), n_iter=10)
    >>> bool(solution.final_gap < 1e-3), solution.Z.shape
    (True, (10, 2))
    """
    direction = BlockDirection(objective, clips, check_supervised(supervised, clips))
    return _descend(objective, clips, Z0, n_iter, tol, supervised, callback, None, direction)


def _descend(objective, clips, Z0, n_iter, tol, supervised, callback, oracle, direction):
    """The loop of both solvers: gap, direction, exact line search, record."""
    start = time.perf_counter()
    n_iter, tol = _check_stop(n_iter, tol)
    known = check_supervised(supervised, clips)
    Z = check_start(Z0, clips, known, any_set=oracle is not None)
    vertex = _vertex_oracle(clips, known, oracle)
    solution, gradient = Solution(Z, message=f"all {n_iter} passes done"), None
    try:
        value, gradient = objective.value(Z), objective.gradient(Z)
        for iteration in range(n_iter):
            if iteration and iteration % 50 == 0:  # take off what rounding errors have added up to
                value, gradient = objective.value(Z), objective.gradient(Z)
            S = vertex(gradient)
            gap = _gap(gradient, Z, S)
            if gap <= tol:
                solution.record(Z, value, gap, 0.0, time.perf_counter() - start)
                solution.converged, solution.message = True, f"duality gap {gap:.3g} <= tol {tol:.3g}"
            else:
                D = direction(Z, gradient, S, gap)
                change = objective.hessian(D)
                slope, curvature = -float(np.vdot(gradient, D)), float(np.vdot(D, change))
                step = min(1.0, max(slope, 0.0) / curvature) if curvature > 0 else float(slope > 0)
                value += step * (0.5 * step * max(curvature, 0.0) - slope)
                Z, gradient = on_simplex(Z + step * D), gradient + step * change
                solution.record(Z, value, gap, step, time.perf_counter() - start)
            stopped = callback is not None and callback(solution)
            if solution.converged:
                break
            if stopped:
                solution.message = "stopped by the callback"
                break
        gradient = objective.gradient(Z)
        solution.final_gap = _gap(gradient, Z, vertex(gradient))
        solution.converged = bool(solution.converged or solution.final_gap <= tol)
    except KeyboardInterrupt as interrupt:
        solution.message = "interrupted"
        if gradient is not None:
            solution.final_gap = _gap(gradient, Z, vertex(gradient))
        interrupt.solution = solution
        raise
    return solution


def _gap(gradient, Z, S):
    return float(np.vdot(gradient, Z) - np.vdot(gradient, S))


def _check_stop(n_iter, tol):
    if not isinstance(n_iter, (int, np.integer)) or n_iter < 0:
        raise ValueError(f"n_iter: a whole number of passes >= 0 expected, found {n_iter!r}")
    if not isinstance(tol, (int, float, np.number)) or np.isnan(tol):
        raise ValueError(f"tol: a number expected, found {tol!r}")
    return int(n_iter), float(tol)


def random_vertices(clips, n=2, random_state=0, known=None):
    """Mean (N, C) of n vertices, each the oracle's answer to standard normal costs.

    The released code starts from the mean of two. `known` as in `linear_oracle`.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((4, 1)), [4], [[0]], n_actions=1)
    >>> random_vertices(clips).sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n: at least one vertex expected, found {n!r}")
    rng = np.random.default_rng(random_state)
    shape = clips.features.shape[0], clips.n_classes
    return sum(one_hot(linear_oracle(rng.standard_normal(shape), clips, known), shape[1]) for _ in range(n)) / n


def one_hot(labels, n_classes):
    """Assignment (N, n_classes) of labels (N,).

    Examples
    --------
    >>> one_hot([1, 0], 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    Z = np.zeros((len(labels), n_classes))
    Z[np.arange(len(labels)), labels] = 1.0
    return Z


def on_simplex(Z):
    """Take rounding errors off rows that should lie on the simplex (in place)."""
    np.clip(Z, 0.0, 1.0, out=Z)
    Z /= Z.sum(axis=1, keepdims=True)
    return Z


def check_start(Z0, clips, known=None, any_set=False):
    """A float64 copy of a start, its known rows overwritten, after checks of shape, simplex and classes.

    The block of a partly known clip that did not hold the truth already may leave the hull once its known rows are
    overwritten; it becomes the closest admissible assignment through them.
    """
    Z, shape = np.array(Z0, dtype=np.float64), (clips.features.shape[0], clips.n_classes)
    if Z.shape != shape:
        raise ValueError(f"Z0 of shape {shape} expected, found {Z.shape}")
    bad = ~((Z >= -1e-6).all(axis=1) & (np.abs(Z.sum(axis=1) - 1) <= 1e-6))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{_clip_and_row(clips, row)}: a row of Z0 >= 0 that sums to 1 expected, "
                         f"found {Z[row].tolist()}")
    Z = on_simplex(Z)
    through = path_constraints(clips, known)
    if through is not None:
        rows = (through >= 0) & (Z[np.arange(len(Z)), np.maximum(through, 0)] < 1)
        clip = np.repeat(np.arange(len(clips)), clips.lengths)
        repaired = np.isin(clip, clip[rows])
        Z[repaired] = one_hot(linear_oracle(-2 * Z, clips, through), Z.shape[1])[repaired]
    Z = clamp(Z, known)
    if not any_set:
        _check_classes(Z, clips, known)
    return Z


def _check_classes(Z, clips, known):
    """Raise where a start has mass on a class that its clip does not go through."""
    own = np.zeros((len(clips), clips.n_classes), dtype=bool)
    own[np.repeat(np.arange(len(clips)), np.diff(clips.state_offsets)), clips.flat_states] = True
    outside = (Z > 1e-6) & ~np.repeat(own, clips.lengths, axis=0)
    if known is not None:
        outside[known >= 0] = False
    if outside.any():
        row, column = np.argwhere(outside)[0]
        i = int(np.searchsorted(clips.offsets, row, side="right")) - 1
        raise ValueError(f"{_clip_and_row(clips, row)}: a start in the hull of the admissible assignments expected "
                         f"(random_vertices gives one), found {Z[row, column]:.3g} on class {column}, which is not "
                         f"among the clip's states {clips.states(i).tolist()}")


def _clip_and_row(clips, row):
    i = int(np.searchsorted(clips.offsets, row, side="right")) - 1
    return f"{clips._name(i)}, its row {row - clips.offsets[i]}"


def check_supervised(supervised, clips):
    """Known classes (N,) int64 with -1 = unknown, after checks; None where nothing is known."""
    if supervised is None:
        return None
    known, N = np.asarray(supervised), clips.features.shape[0]
    if known.shape != (N,) or known.dtype.kind not in "iu":
        raise ValueError(f"supervised: {N} ints expected, found {known.dtype} of shape {known.shape}")
    known = known.astype(np.int64)
    wrong = np.unique(known[(known < -1) | (known >= clips.n_classes)])
    if len(wrong):
        row = int(np.flatnonzero(np.isin(known, wrong))[0])
        raise ValueError(f"{_clip_and_row(clips, row)}: known classes in [0, {clips.n_classes}) or -1 expected, "
                         f"found {known[row]}")
    return known if (known >= 0).any() else None


def clamp(Z, known):
    """Overwrite the known rows of Z by the truth (in place)."""
    if known is not None:
        rows = known >= 0
        Z[rows] = one_hot(known[rows], Z.shape[1])
    return Z


def path_constraints(clips, known):
    """What the ordered oracle has to go through: known rows of partly known clips; fully known clips are free.

    Fully known clips are overwritten afterwards, so that they may be inadmissible.
    """
    if known is None:
        return None
    unknown = np.add.reduceat((known < 0).astype(np.int64), clips.offsets[:-1])
    partly = (unknown > 0) & (unknown < clips.lengths)
    return np.where(np.repeat(partly, clips.lengths), known, -1) if partly.any() else None


def _vertex_oracle(clips, known, oracle):
    """Function from a gradient (N, C) to a vertex (N, C) that is fixed on the known rows."""
    if oracle is None:
        through = path_constraints(clips, known)

        def oracle(gradient):
            return linear_oracle(gradient, clips, through)

    return lambda gradient: clamp(one_hot(oracle(gradient), clips.n_classes), known)
