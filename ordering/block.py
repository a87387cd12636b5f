"""The direction of the block solver: every clip minimises a separable bound of the objective by oracle steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from ordering._compile import compiled
from ordering.projection import minimise_exactly

INNER_STEPS = 200
INNER_ACCURACY = 0.1  # a clip stops at this share of the average gap of a clip
EXACT_ABOVE = 3  # times that share: what Frank-Wolfe steps may leave
EXACT_BELOW = 3e-4  # times the first gap: the gap below which the exact method pays


class BlockDirection:
    """From an iterate and its gradient to a move D = V - Z, with momentum between calls.

    V minimises <G, V> + 1/2 sum_tc r_t c_c (V - Y)_tc^2 over the clips' admissible assignments, inexactly, where
    Y = Z + beta (Z - Z_before), G is the gradient at Y (linear, so no product is needed) and r, c are the
    objective's `curvature_bound`.
    """

    def __init__(self, objective, clips, known):
        self.rows, self.columns = objective.curvature_bound(clips.n_classes)
        self.clips = clips
        self.known = np.full(clips.features.shape[0], -1) if known is None else known
        self.free = np.flatnonzero(np.logical_or.reduceat(self.known < 0, clips.offsets[:-1]))
        self.parts = _balanced(self.free, clips.lengths, numba.get_num_threads())
        self.first_gap = None
        self.restart()

    def restart(self):
        """Forget the momentum."""
        self.Z_before = self.G_before = None
        self.t, self.beta = 1.0, 0.0

    def __call__(self, Z, gradient, S, gap):
        D = self._move(Z, gradient, gap)
        if self.beta > 0 and np.vdot(gradient, D) >= 0:
            self.restart()
            D = self._move(Z, gradient, gap)
        if np.vdot(gradient, D) >= 0:  # every clip is solved to its share: go to the vertex
            self.restart()
            return S - Z
        self._update_momentum(Z, gradient, D)
        return D

    def _update_momentum(self, Z, gradient, D):
        """Restart where the last move turns against the one before (O'Donoghue and Candes), else go on."""
        if self.beta > 0 and self.beta * np.vdot(Z - self.Z_before, D) > np.vdot(D, D):
            self.restart()
        t = (1 + np.sqrt(1 + 4 * self.t**2)) / 2
        self.beta, self.t = (self.t - 1) / t, t
        self.Z_before, self.G_before = Z, gradient

    def _move(self, Z, gradient, gap):
        D = np.zeros_like(Z)
        if self.first_gap is None:
            self.first_gap = gap
        most = EXACT_ABOVE if gap < EXACT_BELOW * self.first_gap else np.inf
        clips, tol = self.clips, INNER_ACCURACY * gap / max(len(self.free), 1)
        Z_before, G_before = (Z, gradient) if self.beta == 0 else (self.Z_before, self.G_before)

        def solve(part):
            _solve_clips(part, Z, Z_before, gradient, G_before, self.beta, self.rows, self.columns, self.known,
                         clips.offsets, clips.flat_states, clips.state_offsets, INNER_STEPS, tol, most, D)

        if len(self.parts) == 1:
            solve(self.parts[0])
        else:
            with ThreadPoolExecutor(len(self.parts)) as pool:
                list(pool.map(solve, self.parts))
        return D


def _balanced(clips, lengths, n_parts):
    """Consecutive parts of `clips` with about the same number of intervals."""
    if lengths[clips].sum() < 4000 * n_parts:
        return [clips]
    ends = np.searchsorted(np.cumsum(lengths[clips]), lengths[clips].sum() * np.arange(1, n_parts) / n_parts)
    return np.split(clips, ends)


@compiled(error_model="numpy")
def _solve_clips(part, Z, Z_before, G, G_before, beta, rows, columns, known, offsets, flat_states, state_offsets,
                 n_steps, tol, most, D):  # pragma: no cover
    """Write V - Z of the clips `part` into D; by the exact method where steps leave more than `most` times tol."""
    for i in part:
        first, T = offsets[i], offsets[i + 1] - offsets[i]
        classes = np.unique(flat_states[state_offsets[i]:state_offsets[i + 1]])
        states = np.searchsorted(classes, flat_states[state_offsets[i]:state_offsets[i + 1]])
        shape = (T, len(classes))
        bound, gradient, V = np.empty(shape), np.empty(shape), np.empty(shape)
        for t in range(T):
            for c, a in enumerate(classes):
                row = first + t
                bound[t, c] = rows[row] * columns[a]
                V[t, c] = Z[row, a]
                gradient[t, c] = (G[row, a] + beta * (G[row, a] - G_before[row, a])
                                  - beta * bound[t, c] * (Z[row, a] - Z_before[row, a]))
        fixed = known[first:first + T]
        start, slope = V.copy(), gradient.copy()
        rest = _minimise(V, gradient, bound, states, classes, fixed, n_steps, tol)
        if rest > most * tol and np.all(fixed < 0):
            if minimise_exactly(start, slope, bound, states, 0.01 * tol) < np.inf:
                V[:] = start
        for t in range(T):
            for c, a in enumerate(classes):
                D[first + t, a] = V[t, c] - Z[first + t, a]


@compiled(error_model="numpy")
def cheapest(cost, states, classes, known, stay, P, labels):  # pragma: no cover
    """The linear oracle on one clip: its cost; `labels` in the clip's own columns; `stay`, `P` are work space."""
    T, S = len(cost), len(states)
    P[:] = np.inf
    P[0] = 0.0
    for t in range(T):
        advance = P[S]
        for k in range(S - 1, -1, -1):
            here, advance = advance, P[k]
            stay[t, k] = here < advance
            P[k + 1] = min(here, advance) + cost[t, states[k]]
            if known[t] >= 0 and classes[states[k]] != known[t]:
                P[k + 1] = np.inf
        P[0] = np.inf
    k = S - 1
    for t in range(T - 1, -1, -1):
        labels[t] = states[k]
        k -= not stay[t, k]
    return P[S]


@compiled(error_model="numpy")
def _minimise(V, gradient, bound, states, classes, known, n_steps, tol):  # pragma: no cover
    """Frank-Wolfe with exact steps on a separable quadratic of one clip, in its own columns, V in place; the
    last gap."""
    T, S = len(V), len(states)
    stay, P, labels = np.empty((T, S), np.bool_), np.empty(S + 1), np.empty(T, np.int64)
    gap = 0.0
    for _ in range(n_steps):
        gap, curvature = -cheapest(gradient, states, classes, known, stay, P, labels), 0.0
        for t in range(T):
            for c in range(V.shape[1]):
                move = (c == labels[t]) - V[t, c]
                gap += gradient[t, c] * V[t, c]
                curvature += bound[t, c] * move * move
        if gap <= tol or curvature <= 0:
            break
        step = min(1.0, gap / curvature)
        for t in range(T):
            for c in range(V.shape[1]):
                move = step * ((c == labels[t]) - V[t, c])
                V[t, c] += move
                gradient[t, c] += bound[t, c] * move
    return gap
