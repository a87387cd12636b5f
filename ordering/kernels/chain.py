"""The recursion over a chain of states, for one clip: the cheapest path, or the sum over all paths.

A chain has S states in a row. State k has a class (a column of the costs); `stay` says whether it may last, `head`
whether it is the first of its group, and `skip`, the same in a whole group, what leaving the group out costs
(infinite: it must be visited). A minimum duration of m is a group of m states of which only the last may last.
Explained in ``book/03-dynamic-program.ipynb``.
"""

import numpy as np

from ordering.kernels.compile import compiled


@compiled
def _join(a, b, soft):
    """The smaller of two costs; with `soft` minus the logarithm of the sum of the weights exp(-a) and exp(-b)."""
    low, high = (a, b) if a < b else (b, a)
    if not soft or high == np.inf:
        return low
    return low - np.log1p(np.exp(low - high))


@compiled
def forward(cost, columns, stay, head, skip, known, soft, F):
    """Fill F (T + 1, S), F[t + 1, k] joining the costs of all ways to be in state k at interval t; their end.

    P_t(k) = cost_t(k) + join(P_{t-1}(k) if it may stay, E_t(k)). Only state k - 1 leads into a k that is no head:
    E_t(k) = P_{t-1}(k - 1). Before a head stands a gate. Through it come those who leave the group before, and
    those who stood at the gate before and leave that group out:
    E_t(k) = join(P_{t-1}(k - 1), E_t(head before) + skip(k - 1)).
    All start at the first gate: E_0(0) = 0.
    """
    T, S = len(cost), len(columns)
    F[0] = np.inf
    for t in range(T):
        enter = gate = 0.0 if t == 0 else np.inf
        for k in range(S):
            if k > 0:
                enter = F[t, k - 1]
                if head[k]:
                    enter = gate = _join(enter, gate + skip[k - 1], soft)
            if known[t] >= 0 and known[t] != columns[k]:
                F[t + 1, k] = np.inf
            else:
                F[t + 1, k] = _join(F[t, k] if stay[k] else np.inf, enter, soft) + cost[t, columns[k]]
    gate = np.inf
    for k in range(1, S + 1):
        if k == S or head[k]:
            gate = _join(F[T, k - 1], gate + skip[k - 1], soft)
    return gate


@compiled
def backtrack(F, stay, head, skip, path):
    """Fill `path` (T,) with the states of the cheapest path, from its end back; the price of what it leaves out.

    The predecessor of state k is k - 1 unless staying in k, or leaving groups out, is strictly cheaper.
    """
    T, S = len(F) - 1, F.shape[1]
    k, price = S, 0.0
    for t in range(T, -1, -1):
        came, least, paid, toll, j = k - 1, np.inf, 0.0, 0.0, k
        while True:
            arrived = (F[t, j - 1] if j > 0 else 0.0 if t == 0 else np.inf) + toll
            if arrived < least:
                came, least, paid = j - 1, arrived, toll
            if j == 0 or (j < S and not head[j]) or skip[j - 1] == np.inf:
                break
            toll += skip[j - 1]
            j -= 1
            while not head[j]:
                j -= 1
        if t < T and t > 0 and stay[k] and F[t, k] < least:
            came, paid = k, 0.0
        price += paid
        k = came
        if t > 0:
            path[t - 1] = k
    return price


@compiled
def cheapest(cost, offsets, columns, stay, head, skip, borders, known, fixed, labels, path, price):
    """The cheapest path of every clip: classes `labels` (N,), states `path` (N,) and what it pays, `price` (n,).

    The states of clip i are borders[i]:borders[i + 1]. A `fixed` clip keeps its known labels. Returns the first clip
    without a path, or -1.
    """
    for i in range(len(offsets) - 1):
        t, k = slice(offsets[i], offsets[i + 1]), slice(borders[i], borders[i + 1])
        if not fixed[i]:
            F = np.empty((offsets[i + 1] - offsets[i] + 1, borders[i + 1] - borders[i]))
            if not forward(cost[t], columns[k], stay[k], head[k], skip[k], known[t], False, F) < np.inf:
                return i
            price[i] = backtrack(F, stay[k], head[k], skip[k], path[t])
        for row in range(offsets[i], offsets[i + 1]):
            path[row] = -1 if fixed[i] else path[row]
            labels[row] = known[row] if fixed[i] else columns[borders[i] + path[row]]
    return -1


@compiled
def posterior(cost, offsets, columns, stay, head, skip, borders, known, fixed, P, total, visits):
    """Add up in P (N, C) the shares of the weight exp(-cost) that paths through each class have; total (n,) its -log.

    `visits` (S,) becomes the share of paths that visit each state: its intervals, less those it was in before.
    Forward and backward costs are the same recursion on the chain and on the chain turned round.
    """
    for i in range(len(offsets) - 1):
        t, k = slice(offsets[i], offsets[i + 1]), slice(borders[i], borders[i + 1])
        (first, T), S = (offsets[i], offsets[i + 1] - offsets[i]), borders[i + 1] - borders[i]
        if fixed[i]:
            total[i] = 0.0
            for row in range(first, first + T):
                P[row, known[row]] = 1.0
                total[i] += cost[row, known[row]]
            continue
        F, B = np.empty((T + 1, S)), np.empty((T + 1, S))
        turned_head = np.ones(S, np.bool_)
        for s in range(1, S):
            turned_head[S - s] = head[k][s]
        total[i] = forward(cost[t], columns[k], stay[k], head[k], skip[k], known[t], True, F)
        if len(P) == 0:  # nothing but the totals is asked for
            continue
        forward(cost[t][::-1].copy(), columns[k][::-1].copy(), stay[k][::-1].copy(), turned_head,
                skip[k][::-1].copy(), known[t][::-1].copy(), True, B)
        for row in range(T):
            for s in range(S):
                through = F[row + 1, s] + B[T - row, S - 1 - s]
                if through < np.inf:
                    share = np.exp(total[i] + cost[first + row, columns[k][s]] - through)
                    P[first + row, columns[k][s]] += share
                    visits[borders[i] + s] += share
                    if stay[k][s] and F[row, s] < np.inf:
                        visits[borders[i] + s] -= np.exp(total[i] - F[row, s] - B[T - row, S - 1 - s])
