"""The linear oracle of the "at least one" set: every action of the transcript somewhere in the clip, in any order.

Explained in ``book/11-baselines.ipynb``.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ordering._compile import compiled
from ordering.block import BlockDirection
from ordering.solver import _descend, check_supervised

__all__ = ["AtLeastOneOracle", "minimise_at_least_one"]


class AtLeastOneOracle:
    """Cheapest labels under which each action of a clip's transcript appears at least once.

    Called with costs (N, C) it returns labels (N,) that minimise sum_t cost[t, labels[t]], where a row may
    take the actions of its clip's transcript and the background, and nothing else: with other labels
    allowed, a constant assignment would be free of cost and optimal.

    Parameters
    ----------
    clips : Clips
    known : (N,) ints, optional
        Classes that are fixed, -1 where free. A known row shows its action to its clip. A clip known
        throughout is returned as it is.

    Raises
    ------
    ValueError
        If the known rows of a clip leave too few free ones for the actions still missing; when called, if
        costs have a wrong shape or are NaN or infinite.

    Notes
    -----
    The set of Bojanowski et al. (ICCV 2013) as the paper's section 6 adapts it. Row t would rather take its
    cheapest label; giving it to action a instead costs the regret C_ta - min_b C_tb >= 0. So the missing
    actions are assigned to distinct rows at the least total regret, a rectangular assignment problem, whose
    constraints are totally unimodular. Where the best rows of a clip's actions differ, they are the
    solution; only the other clips need the assignment solver. Explained in ``book/11-baselines.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> cost = np.array([[0, 9], [0, 1], [5, 7]])
    >>> AtLeastOneOracle(clips)(cost).tolist()  # action 1 at the row that regrets it least
    [0, 1, 0]
    """

    def __init__(self, clips, known=None):
        self.clips = clips
        N = clips.features.shape[0]
        self.known = np.full(N, -1) if known is None else np.array(known, dtype=np.int64)
        if self.known.shape != (N,):
            raise ValueError(f"known: {N} classes expected, got shape {self.known.shape}")
        actions = [np.unique(t) for t in clips.transcripts]
        extra = [] if clips.background_class is None else [clips.background_class]
        self._allowed = [np.append(a, extra).astype(np.int64) for a in actions]
        self._missing = [self._missing_actions(i, a) for i, a in enumerate(actions)]
        self._flat = [*_flatten(self._allowed), *_flatten(self._missing)]

    def __call__(self, cost):
        cost = np.ascontiguousarray(cost, dtype=np.float64)
        if cost.shape != (len(self.known), self.clips.n_classes):
            expected = (len(self.known), self.clips.n_classes)
            raise ValueError(f"costs must have shape {expected}, got {cost.shape}")
        if not np.isfinite(cost).all():
            row, column = np.argwhere(~np.isfinite(cost))[0]
            clip = int(np.searchsorted(self.clips.offsets, row, side="right")) - 1
            raise ValueError(f"clip {clip}: cost {cost[row, column]} at row {row}, column {column}; must be finite")
        labels = self.known.copy()
        most = max(map(len, self._missing))
        regret = np.full((len(labels), most), np.inf)  # known rows keep infinity: not to be assigned
        clash = _greedy(cost, self.clips.offsets, *self._flat, labels, regret)
        for i in np.flatnonzero(clash):
            rows, missing = self.clips.rows(i), self._missing[i]
            chosen, action = linear_sum_assignment(regret[rows, : len(missing)])
            labels[rows][chosen] = missing[action]
        return labels

    def _missing_actions(self, i, actions):
        """Actions of clip i that its known rows do not show; none if every row is known."""
        known = self.known[self.clips.offsets[i] : self.clips.offsets[i + 1]]
        free = np.count_nonzero(known < 0)
        missing = actions[~np.isin(actions, known)]
        if 0 < free < len(missing):
            raise ValueError(
                f"clip {i}: {len(missing)} actions are missing from its known rows, but only {free} rows are free"
            )
        return missing if free else missing[:0]


def _flatten(arrays):
    return np.concatenate(arrays).astype(np.int64), np.cumsum([0, *map(len, arrays)]).astype(np.int64)


@compiled
def _greedy(cost, offsets, allowed, allowed_offsets, missing, missing_offsets, labels, regret):  # pragma: no cover
    """Fill `labels` where it is -1, and `regret`; returns which clips need the assignment solver."""
    n = len(offsets) - 1
    clash = np.zeros(n, dtype=np.bool_)
    best_row = np.empty(cost.shape[1], dtype=np.int64)
    least = np.empty(cost.shape[1])
    for i in range(n):
        own = missing[missing_offsets[i] : missing_offsets[i + 1]]
        least[: len(own)] = np.inf
        for t in range(offsets[i], offsets[i + 1]):
            if labels[t] >= 0:
                continue
            label = -1
            for a in allowed[allowed_offsets[i] : allowed_offsets[i + 1]]:
                if label < 0 or cost[t, a] < cost[t, label]:
                    label = a
            labels[t] = label
            for j in range(len(own)):
                regret[t, j] = cost[t, own[j]] - cost[t, label]
                if regret[t, j] < least[j]:
                    least[j], best_row[j] = regret[t, j], t
        for j in range(len(own)):
            for k in range(j):
                clash[i] |= best_row[j] == best_row[k]
        if not clash[i]:
            for j in range(len(own)):
                labels[best_row[j]] = own[j]
    return clash


def minimise_at_least_one(objective, clips, Z0, n_iter=50, tol=0.0, supervised=None):
    """Minimise over the hull of the at-least-one assignments, clip by clip projected onto it.

    In place of the ordered solver's inner steps, each pass projects a gradient step onto the clip's own hull:
    rows on the simplex of the allowed labels, and a sum of at least 1 in the column of each action of the
    transcript. Momentum, exact line search and duality gap are those of `block_frank_wolfe`. About 10 passes
    lead to the gap for which plain Frank-Wolfe with `AtLeastOneOracle` takes 200 to 1500.

    Parameters
    ----------
    objective : RidgeObjective, or anything with its methods
    clips : Clips
    Z0 : (N, C) start in the hull, for example the mean of two vertices
    n_iter, tol : as in `block_frank_wolfe`
    supervised : (N,) ints, optional
        Known classes, -1 = unknown; a clip is known throughout or not at all.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        If a clip is known in part.

    Examples
    --------
    >>> from ordering import RidgeObjective, random_vertices
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(5, 30)
    >>> objective = RidgeObjective(clips.features, lam=1e-3)
    >>> solution = minimise_at_least_one(objective, clips, random_vertices(clips), tol=1e-3)
    >>> solution.converged
    True
    """
    known = check_supervised(supervised, clips)
    oracle = AtLeastOneOracle(clips, known)
    direction = _Projection(objective, clips, known, oracle)
    return _descend(objective, clips, Z0, n_iter, tol, supervised, None, oracle, direction)


class _Projection(BlockDirection):
    """The move to the projection of a gradient step; it remembers the multipliers of the column sums."""

    def __init__(self, objective, clips, known, oracle):
        super().__init__(objective, clips, known)
        unknown = np.add.reduceat((self.known < 0).astype(np.int64), clips.offsets[:-1])
        partly = np.flatnonzero((unknown > 0) & (unknown < clips.lengths))
        if len(partly):
            raise ValueError(f"{clips._name(partly[0])}: all rows known or none expected, found "
                             f"{unknown[partly[0]]} of {clips.lengths[partly[0]]} unknown")
        self.bound = float(self.rows.max() * self.columns.max())
        self.flat = oracle._flat
        self.multipliers = np.zeros(len(self.flat[0]))

    def _move(self, Z, gradient, gap):
        D = np.zeros_like(Z)
        Z_before, G_before = (Z, gradient) if self.beta == 0 else (self.Z_before, self.G_before)
        _project_clips(self.free, Z, Z_before, gradient, G_before, self.beta, self.bound, self.clips.offsets,
                       *self.flat, self.multipliers, D)
        return D


@compiled
def _project_clips(clips, Z, Z_before, G, G_before, beta, bound, offsets, allowed, allowed_offsets, missing,
                   missing_offsets, multipliers, D):  # pragma: no cover
    """Write V - Z into D, V the projection of Y - gradient(Y) / bound, Y = Z + beta (Z - Z_before)."""
    for i in clips:
        first, T = offsets[i], offsets[i + 1] - offsets[i]
        classes = allowed[allowed_offsets[i]:allowed_offsets[i + 1]]
        mu = multipliers[allowed_offsets[i]:allowed_offsets[i + 1]]
        n_required = missing_offsets[i + 1] - missing_offsets[i]  # the first of the allowed labels
        point = np.empty((T, len(classes)))
        for t in range(T):
            for c, a in enumerate(classes):
                row = first + t
                gradient = G[row, a] + beta * (G[row, a] - G_before[row, a])
                point[t, c] = Z[row, a] + beta * (Z[row, a] - Z_before[row, a]) - gradient / bound
        for _ in range(100):  # one multiplier after the other, until all fit
            off = 0.0
            for c in range(n_required):
                off = max(off, _fit_multiplier(point, mu, c))
            if off < 1e-9:
                break
        for t in range(T):
            threshold = _threshold(point[t], mu)
            for c, a in enumerate(classes):
                D[first + t, a] = max(point[t, c] + mu[c] - threshold, 0.0) - Z[first + t, a]


@compiled
def _threshold(point, mu):  # pragma: no cover
    """The number tau for which the entries max(point + mu - tau, 0) sum to 1 (Michelot's iteration)."""
    threshold = -np.inf
    while True:
        total, n = -1.0, 0
        for c in range(len(point)):
            if point[c] + mu[c] > threshold:
                total += point[c] + mu[c]
                n += 1
        if total / n <= threshold:
            return threshold
        threshold = total / n


@compiled
def _fit_multiplier(point, mu, a):  # pragma: no cover
    """Set mu[a] to the least number >= 0 with which column a sums to at least 1; returns how far off it was."""
    low, high = -1.0, np.inf
    for t in range(len(point)):  # where a leads by 1 in some row, the sum is large enough
        lead = -np.inf
        for c in range(len(mu)):
            if c != a:
                lead = max(lead, point[t, c] + mu[c] - point[t, a])
        high = min(high, lead + 1)
    high = max(high, mu[a]) + 1e-9
    off = 0.0
    for step in range(100):
        lack, slope = 1.0, 0.0
        for t in range(len(point)):
            threshold = _threshold(point[t], mu)
            share = point[t, a] + mu[a] - threshold
            if share > 0:
                n = 0
                for c in range(len(mu)):
                    n += point[t, c] + mu[c] > threshold
                lack -= share
                slope += 1 - 1 / n
        if step == 0:
            off = abs(lack) if mu[a] > 0 else max(lack, 0.0)
        if abs(lack) < 1e-11 or (lack < 0 and mu[a] == 0):
            break
        low, high = (mu[a], high) if lack > 0 else (low, mu[a])
        newton = max(mu[a] + lack / slope, 0.0) if slope > 0 else -1.0
        mu[a] = newton if low < newton < high else max((low + high) / 2, 0.0)
    return off
