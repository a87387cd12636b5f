"""The set without order: every action of the transcript somewhere in the clip.

Explained in ``book/11-baselines.ipynb``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from ordering.admissible import AdmissibleSet, bounds_of_parts, check_costs
from ordering.clips import Clips, fault_message
from ordering.kernels.compile import compiled


class AtLeastOne(AdmissibleSet):
    """Assignments in which each action of a clip's transcript appears at least once, in any order.

    Parameters
    ----------
    clips : Clips
    supervised : (N,) ints, optional
        Known classes, -1 = unknown. A known row shows its action to its clip. A fully known clip is as it is.
    others : bool
        Whether rows may also take labels that are neither in the clip's transcript nor background, as the paper's
        text has it. A constant assignment is then almost free of cost, and optimal.

    Raises
    ------
    ValueError
        If the known rows of a clip leave too few free ones for the actions still missing.

    Notes
    -----
    The set of Bojanowski et al. (ICCV 2013) as the paper's section 6 adapts it. Row t would rather take its
    cheapest label; giving it to action a instead costs the regret C_ta - min_b C_tb >= 0. So the missing
    actions are assigned to distinct rows at the least total regret, a rectangular assignment problem, whose
    constraints are totally unimodular. Where the best rows of a clip's actions differ, they are the
    solution; only the other clips need the assignment solver.

    Examples
    --------
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> AtLeastOne(clips).best(np.array([[0, 9], [0, 1], [5, 7]])).tolist()  # 1 where it is regretted least
    [0, 1, 0]
    """

    def __init__(self, clips: Clips, supervised: ArrayLike | None = None, others: bool = False) -> None:
        super().__init__(clips, supervised)
        known = np.full(self.shape[0], -1) if self.known is None else self.known
        extra = [] if clips.background_class is None else [clips.background_class]
        listed = [np.unique(t) for t in clips.transcripts]
        allowed = [np.append(a, np.setdiff1d(np.arange(self.shape[1]), a) if others else extra) for a in listed]
        faults, missing = [], []
        for i, actions in enumerate(listed):
            rows = known[clips.rows(i)]
            free = np.count_nonzero(rows < 0)
            missing.append(actions[~np.isin(actions, rows)][:len(actions) if free else 0])
            if 0 < free < len(missing[i]):
                faults.append(f"{clips._name(i)}: a free row for each of the {len(missing[i])} actions that its known "
                              f"rows do not show expected, found {free}")
        if faults:
            raise ValueError(fault_message(faults))
        whole = _Listed(slice(0, self.shape[0]), np.arange(self.shape[1]), clips.offsets, _flat(allowed),
                        _ends(allowed), _flat(missing), _ends(missing), known)
        self._whole, self._parts = whole, [whole.cut(*ends) for ends in bounds_of_parts(clips)]

    def best(self, cost):
        return self._whole.vertex(check_costs(cost, self.clips))[0]

    def parts(self):
        return self._parts


class _Listed(NamedTuple):
    """Consecutive clips with what they may and must show, in the columns of the classes that they may have."""

    rows: slice
    columns: np.ndarray
    offsets: np.ndarray
    allowed: np.ndarray  # of clip i: allowed[ends[i]:ends[i + 1]]; those to be shown come first
    ends: np.ndarray
    missing: np.ndarray  # of clip i: missing[missing_ends[i]:missing_ends[i + 1]]
    missing_ends: np.ndarray
    known: np.ndarray

    def cut(self, first, last):
        rows = slice(*self.offsets[[first, last]])
        known, allowed = self.known[rows], self.allowed[slice(*self.ends[[first, last]])]
        missing = self.missing[slice(*self.missing_ends[[first, last]])]
        columns = np.unique(np.concatenate([allowed, known[known >= 0]]))
        return _Listed(rows, columns, self.offsets[first:last + 1] - rows.start,
                       np.searchsorted(columns, allowed), self.ends[first:last + 1] - self.ends[first],
                       np.searchsorted(columns, missing), self.missing_ends[first:last + 1] - self.missing_ends[first],
                       np.where(known >= 0, np.searchsorted(columns, known), -1))

    def dearest(self):
        return np.zeros(len(self.offsets) - 1)

    def vertex(self, cost):
        labels = self.known.copy()
        regret = np.full((len(labels), int(np.diff(self.missing_ends).max(initial=0))), np.inf)  # known rows keep it
        clash = _greedy(cost, self.offsets, self.allowed, self.ends, self.missing, self.missing_ends, labels, regret)
        for i in np.flatnonzero(clash):
            rows = slice(*self.offsets[i:i + 2])
            missing = self.missing[slice(*self.missing_ends[i:i + 2])]
            chosen, action = linear_sum_assignment(regret[rows, :len(missing)])
            labels[rows][chosen] = missing[action]
        return labels, self.dearest()

    def memory(self):
        return None

    def nearest(self, V, slope, rows, widths, price, tol, memory):
        """Projection of a gradient step: rows on the simplex of the allowed labels, a sum of at least 1 in the column
        of each missing action. Rows and columns of the bound count as the largest of them."""
        P, bound = V.copy(), float(rows.max() * widths.max())
        _project(V - slope / bound, self.known, self.offsets, self.allowed, self.ends, self.missing,
                 self.missing_ends, P)
        return P, price, memory


def _flat(arrays):
    return np.concatenate([*arrays, []]).astype(np.int64)


def _ends(arrays):
    return np.cumsum([0, *map(len, arrays)]).astype(np.int64)


@compiled
def _greedy(cost, offsets, allowed, allowed_offsets, missing, missing_offsets, labels, regret):
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


@compiled
def _project(target, known, offsets, allowed, ends, missing, missing_ends, P):
    """Write the projection of `target` onto the hull into the free rows of P, clip by clip."""
    for i in range(len(offsets) - 1):
        classes, required = allowed[ends[i]:ends[i + 1]], missing[missing_ends[i]:missing_ends[i + 1]]
        free = np.flatnonzero(known[offsets[i]:offsets[i + 1]] < 0) + offsets[i]
        point = np.empty((len(free), len(classes)))
        for t in range(len(free)):
            for c in range(len(classes)):
                point[t, c] = target[free[t], classes[c]]
        mu = np.zeros(len(classes))
        for _ in range(100):  # one multiplier after the other, until all fit
            off = 0.0
            for c in range(len(classes)):
                for a in required:
                    if a == classes[c]:
                        off = max(off, _fit_multiplier(point, mu, c))
            if off < 1e-9:
                break
        for t in range(len(free)):
            threshold = _threshold(point[t], mu)
            for c in range(len(classes)):
                P[free[t], classes[c]] = max(point[t, c] + mu[c] - threshold, 0.0)


@compiled
def _threshold(point, mu):
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
def _fit_multiplier(point, mu, a):
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
