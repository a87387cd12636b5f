"""The dynamic program step by step for one clip, in plain NumPy, and all assignments listed and counted.

`cost_table`, `accumulate` and `backtrack` return their tables so that a chapter can show them; `linear_oracle` does
the same for all clips in compiled code (`ordering.kernels.chain`). Explained in ``book/03-dynamic-program.ipynb``.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from ordering.clips import label_runs


def cost_table(cost: ArrayLike, states: ArrayLike) -> np.ndarray:
    """Gather D (T, S), D_tk = cost[t, states[k]], from the costs (T, C) of one clip.

    Examples
    --------
    >>> cost_table([[0, 9], [9, 0]], [1, 0, 1]).tolist()
    [[9, 0, 9], [0, 9, 0]]
    """
    return np.asarray(cost)[:, np.asarray(states)]


def accumulate(D: ArrayLike) -> np.ndarray:
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


def backtrack(P: np.ndarray) -> np.ndarray:
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


def enumerate_paths(T: int, S: int) -> np.ndarray:
    """All C(T-1, S-1) paths of T intervals through S states, as an array (paths, T) of state indices.

    Examples
    --------
    >>> enumerate_paths(4, 2).tolist()
    [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    """
    steps = np.array(list(combinations(range(1, T), S - 1)), dtype=np.int64).reshape(comb(T - 1, S - 1), S - 1)
    return (steps[:, None, :] <= np.arange(T)[None, :, None]).sum(axis=2)


def count_assignments(states: ArrayLike, T: int) -> int:
    """Number of different assignment matrices Z of one clip.

    With S states in R runs of equal neighbours it is C(T - 1 - (S - R), R - 1), and 0 where T < S. The paper
    prints C(T - 1, K - 1), which counts paths; the two agree where neighbours differ.

    Examples
    --------
    >>> count_assignments([0, 1, 2, 1, 0], T=8), count_assignments([0, 0, 1], T=6)
    (35, 4)
    """
    S, R = len(np.asarray(states)), len(label_runs(states))
    return comb(T - 1 - (S - R), R - 1) if T >= S else 0
