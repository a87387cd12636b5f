"""The linear oracle of the "at least one" set: every action of the transcript somewhere in the clip, in any order.

Explained in ``book/11-baselines.ipynb``.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ordering._compile import compiled

__all__ = ["AtLeastOneOracle"]


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
    The set of Bojanowski et al. (ICCV 2013) as the paper's section 5 adapts it. Row t would rather take its
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
