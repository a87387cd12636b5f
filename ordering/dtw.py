"""The linear oracle: the cheapest admissible assignment of every clip by dynamic programming.

The public functions validate and call one compiled kernel for all clips. Beneath them stand the same three
steps for a single clip in plain NumPy (`cost_table`, `accumulate`, `backtrack`), which return their tables so
that a chapter can show them, and the counting and enumeration of assignments.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from ordering._compile import compiled
from ordering.clips import label_runs


def linear_oracle(cost, clips, known=None):
    """Labels that minimise the sum of ``cost[t, labels[t]]`` over the admissible assignments of every clip.

    Parameters
    ----------
    cost : (N, C) real array
        Any dtype and memory layout; it is not changed.
    clips : Clips
    known : (N,) ints, optional
        Classes that the path has to go through; -1 where free.

    Returns
    -------
    labels : (N,) int64 classes

    Raises
    ------
    ValueError
        If `cost` has a wrong shape, is NaN or infinite somewhere, or no admissible path of a clip goes
        through its known rows.

    Notes
    -----
    Section 3.2 of the paper: P_t(k) = D_tk + min(P_{t-1}(k), P_{t-1}(k-1)) over the states k of a clip, in
    O(T S) operations. Ties: on the way back from the end, the predecessor of state k is k - 1 unless staying
    in k is strictly cheaper. Explained in ``book/03-dynamic-program.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((2, 1)), [2], [[0, 1]], n_actions=2, background=None)
    >>> linear_oracle([[0, 9], [9, 0]], clips).tolist()
    [0, 1]
    """
    return _solve(cost, clips, known)[0]


def state_path(cost, clips, known=None):
    """Index (N,) of the state inside its clip, on the path that `linear_oracle` finds.

    ``labels[t] = clips.states(i)[state_path[t]]`` for the rows t of clip i. Two equal neighbours in a
    transcript without background between them are one run in the labels; the states tell them apart.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((5, 1)), [5], [[0]], n_actions=1)
    >>> state_path(np.zeros((5, 2)), clips).tolist()
    [0, 0, 0, 1, 2]
    """
    return _solve(cost, clips, known)[1]


def cost_table(cost, states):
    """Gather D (T, S), D_tk = cost[t, states[k]], from the costs (T, C) of one clip.

    Examples
    --------
    >>> cost_table([[0, 9], [9, 0]], [1, 0, 1]).tolist()
    [[9, 0, 9], [0, 9, 0]]
    """
    return np.asarray(cost)[:, np.asarray(states)]


def accumulate(D):
    """Accumulate P (T, S): cost of the cheapest path from the first state to state k at interval t.

    P_0(0) = D_00, and infinity at the other states; then P_t(k) = D_tk + min(P_{t-1}(k), P_{t-1}(k-1)).

    Examples
    --------
    >>> accumulate([[1, 5], [2, 1], [9, 1]]).tolist()
    [[1.0, inf], [3.0, 2.0], [12.0, 3.0]]
    """
    D = np.asarray(D, dtype=np.float64)
    P = np.full(D.shape, np.inf)
    P[0, 0] = D[0, 0]
    for t in range(1, len(D)):
        before = np.concatenate([[np.inf], P[t - 1, :-1]])
        P[t] = D[t] + np.minimum(P[t - 1], before)
    return P


def backtrack(P):
    """States (T,) of the cheapest path, from the last state at the last interval back to the first.

    Examples
    --------
    >>> backtrack(accumulate([[1, 5], [2, 1], [9, 1]])).tolist()
    [0, 1, 1]
    """
    T, S = P.shape
    states = np.empty(T, dtype=np.int64)
    states[-1] = k = S - 1
    for t in range(T - 1, 0, -1):
        if k > 0 and not P[t - 1, k] < P[t - 1, k - 1]:
            k -= 1
        states[t - 1] = k
    return states


def enumerate_paths(T, S):
    """All C(T-1, S-1) paths of T intervals through S states, as an array (paths, T) of state indices.

    Examples
    --------
    >>> enumerate_paths(4, 2).tolist()
    [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    """
    steps = np.array(list(combinations(range(1, T), S - 1)), dtype=np.int64).reshape(comb(T - 1, S - 1), S - 1)
    return (steps[:, None, :] <= np.arange(T)[None, :, None]).sum(axis=2)


def count_assignments(states, T):
    """Number of different assignment matrices Z of one clip.

    With S states in R runs of equal neighbours it is C(T - 1 - (S - R), R - 1), and 0 where T < S. The paper
    prints C(T - 1, K - 1), which counts paths; the two agree where neighbours differ.

    Examples
    --------
    >>> count_assignments([0, 1, 2, 1, 0], T=8), count_assignments([0, 0, 1], T=6)
    (35, 4)
    """
    S, R = len(states), len(label_runs(states))
    return comb(T - 1 - (S - R), R - 1) if T >= S else 0


# -------------------------------------------------------------------- private
def _solve(cost, clips, known=None):
    N, C = clips.features.shape[0], clips.n_classes
    cost = np.asarray(cost)
    if cost.shape != (N, C):
        raise ValueError(f"cost of shape {(N, C)} expected, one row an interval and one column a class, "
                         f"found {cost.shape}")
    if cost.dtype.kind not in "fiub":
        raise ValueError(f"real costs expected, found dtype {cost.dtype}")
    cost = np.ascontiguousarray(cost, dtype=np.float64)
    labels, path = np.empty(N, np.int64), np.empty(N, np.int64)
    known = np.empty(0, np.int64) if known is None else np.ascontiguousarray(known, dtype=np.int64)
    if len(clips) == 0:
        return labels, path
    if not _absolute_sum(cost.reshape(-1)) < 1e300:
        if not np.isfinite(cost).all():
            raise ValueError(_not_finite_message(cost, clips))
        cost = np.ldexp(cost, -int(N).bit_length() - 4)  # sums could overflow: scaling changes no comparison
    fault = _kernel(cost, known, clips.offsets, clips.flat_states, clips.state_offsets, labels, path)
    if fault is None:
        return labels, path
    raise ValueError(f"{clips._name(fault)}: an admissible assignment through its known labels expected, "
                     f"found none for the states {clips.states(fault).tolist()}")


def _not_finite_message(cost, clips):
    row, column = np.argwhere(~np.isfinite(cost))[0]
    i = int(np.searchsorted(clips.offsets, row, side="right")) - 1
    return (f"{clips._name(i)}: finite costs expected, found {cost[row, column]} in its row "
            f"{row - clips.offsets[i]} (row {row} of all), column {column}")


@compiled(fastmath={"reassoc"})
def _absolute_sum(values):  # pragma: no cover
    """One scan that tells NaN, infinite and very large costs: the sum is then not small."""
    total = 0.0
    for i in range(values.size):
        total += abs(values[i])
    return total


@compiled
def _kernel(cost, known, offsets, flat_states, state_offsets, labels, path):  # pragma: no cover
    """Solve every clip; returns None, or the first clip whose cheapest path has no finite cost."""
    longest = np.max(np.diff(offsets))
    most = np.max(np.diff(state_offsets))
    stay = np.empty((longest, most), np.bool_)
    P = np.empty(most + 1, np.float64)  # P[k + 1] belongs to state k; P[0] is the border
    for i in range(len(offsets) - 1):
        first, T = offsets[i], offsets[i + 1] - offsets[i]
        states = flat_states[state_offsets[i]:state_offsets[i + 1]]
        S = len(states)
        P[:] = np.inf
        P[0] = 0.0
        for t in range(T):
            advance = P[S]
            for k in range(S - 1, -1, -1):
                here, advance = advance, P[k]
                stay[t, k] = here < advance
                P[k + 1] = min(here, advance) + cost[first + t, states[k]]
            P[0] = np.inf
            if len(known) and known[first + t] >= 0:
                for k in range(S):
                    if states[k] != known[first + t]:
                        P[k + 1] = np.inf
        if not np.isfinite(P[S]):
            return i
        k = S - 1
        for t in range(T - 1, -1, -1):
            path[first + t] = k
            labels[first + t] = states[k]
            k -= not stay[t, k]
    return None
