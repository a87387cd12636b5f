"""Pairwise steps inside the clips, compiled, for `solvers.py`: the block direction with other inner steps.

A step moves weight from the worst of what a clip mixes (its block as it was, and the paths found in this pass) to
the oracle's path. Everything else is that of the package's block solver, except that there is no exact method to
go on with where 200 steps do not do.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ordering._compile import compiled
from ordering.block import INNER_ACCURACY, INNER_STEPS, BlockDirection, cheapest
from ordering.solver import _descend


class PairwiseDirection(BlockDirection):
    """As `BlockDirection`, with pairwise inner steps; nothing is known of the clips' labels."""

    def _move(self, Z, gradient, gap):
        D, clips = np.zeros_like(Z), self.clips
        Z_before, G_before = (Z, gradient) if self.beta == 0 else (self.Z_before, self.G_before)
        tilted = gradient + self.beta * (gradient - G_before)
        bound = np.outer(self.rows, self.columns)
        tilted -= self.beta * bound * (Z - Z_before)
        tol = INNER_ACCURACY * gap / len(clips)

        def solve(part):
            _solve_clips(part, Z, tilted, bound, clips.offsets, clips.flat_states, clips.state_offsets, INNER_STEPS,
                         tol, D)

        with ThreadPoolExecutor(len(self.parts)) as pool:
            list(pool.map(solve, self.parts))
        return D


def pairwise_frank_wolfe(objective, clips, Z0, n_iter, tol):
    """Arguments and result of `ordering.block_frank_wolfe`."""
    direction = PairwiseDirection(objective, clips, None)
    return _descend(objective, clips, Z0, n_iter, tol, None, None, None, direction)


@compiled(error_model="numpy")
def _solve_clips(part, Z, G, bound, offsets, flat_states, state_offsets, n_steps, tol, D):
    for i in part:
        first, T = offsets[i], offsets[i + 1] - offsets[i]
        classes = np.unique(flat_states[state_offsets[i]:state_offsets[i + 1]])
        states = np.searchsorted(classes, flat_states[state_offsets[i]:state_offsets[i + 1]])
        rows = slice(first, first + T)
        start, slope, b = np.empty((T, len(classes))), np.empty((T, len(classes))), np.empty((T, len(classes)))
        for c, a in enumerate(classes):
            start[:, c], slope[:, c], b[:, c] = Z[rows, a], G[rows, a], bound[rows, a]
        V = start.copy()
        _minimise(V, start, slope, b, states, n_steps, tol)
        for c, a in enumerate(classes):
            D[rows, a] = V[:, c] - start[:, c]


@compiled(error_model="numpy")
def _minimise(V, start, gradient, bound, states, n_steps, tol):
    """Pairwise steps on a separable quadratic of one clip; V and its gradient in place. Atom 0 is the start."""
    T = len(V)
    unknown, n_atoms = np.full(T, -1), 1
    paths, weight = np.empty((n_steps + 1, T), np.int64), np.zeros(n_steps + 1)
    weight[0] = 1.0
    stay, P, labels = np.empty((T, len(states)), np.bool_), np.empty(len(states) + 1), np.empty(T, np.int64)
    for _ in range(n_steps):
        at_S = cheapest(gradient, states, states, unknown, stay, P, labels)
        at_V, worst, worst_value, found = 0.0, 0, -np.inf, -1
        for t in range(T):
            for c in range(V.shape[1]):
                at_V += gradient[t, c] * V[t, c]
        if at_V - at_S <= tol:
            return
        for a in range(n_atoms):
            if weight[a] <= 0:
                continue
            value, same = 0.0, a > 0
            for t in range(T):
                if a > 0:
                    value += gradient[t, paths[a, t]]
                    same = same and paths[a, t] == labels[t]
                else:
                    for c in range(V.shape[1]):
                        value += gradient[t, c] * start[t, c]
            if value > worst_value:
                worst, worst_value = a, value
            if same:
                found = a
        curvature = 0.0
        for t in range(T):
            for c in range(V.shape[1]):
                move = (c == labels[t]) - (start[t, c] if worst == 0 else 1.0 * (paths[worst, t] == c))
                curvature += bound[t, c] * move * move
        if curvature <= 0:
            return
        step = min(weight[worst], (worst_value - at_S) / curvature)
        for t in range(T):
            for c in range(V.shape[1]):
                move = step * ((c == labels[t]) - (start[t, c] if worst == 0 else 1.0 * (paths[worst, t] == c)))
                V[t, c] += move
                gradient[t, c] += bound[t, c] * move
        if found < 0:
            found, n_atoms = n_atoms, n_atoms + 1
            paths[found], weight[found] = labels, 0.0
        weight[worst] -= step
        weight[found] += step
