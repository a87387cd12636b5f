"""A separable quadratic over the hull of the paths of one clip, by fully corrective Frank-Wolfe steps.

Explained in ``book/16-momentum.ipynb``.
"""

import numpy as np

from ordering.kernels.chain import backtrack, forward
from ordering.kernels.compile import compiled


@compiled(error_model="numpy")
def nearest(P, slope, rows, widths, price, memory, offsets, columns, stay, head, skip, borders, known, fixed, tol,
            n_steps, work, gaps):
    """Minimise <slope, Q - P> + 1/2 sum_tc rows_t widths_c (Q - P)_tc^2 + price(Q) over the hull of each clip's paths.

    The solution Q overwrites P (N, C), what it pays `price` (n,), its Frank-Wolfe gap `gaps` (n,). `memory` holds the
    paths that each clip's last solution was made of: where to go on. Not more than `n_steps` new paths, and a quarter
    of those remembered, are asked for, and not more than visit `work` states times intervals. Clips that are `fixed`
    stay as they are.
    """
    paths, weights, prices, sizes = memory
    own, at = np.empty(len(widths), np.int64), np.empty(len(widths), np.int64)
    for i in range(len(fixed)):
        if fixed[i]:
            continue
        first, T, S = offsets[i], offsets[i + 1] - offsets[i], borders[i + 1] - borders[i]
        k = slice(borders[i], borders[i + 1])
        local, through, n = np.empty(S, np.int64), np.empty(T, np.int64), 0
        for a in range(len(at)):
            at[a] = -1
        for s in range(S):  # the clip's own columns
            a = columns[borders[i] + s]
            if at[a] < 0:
                own[n], at[a] = a, n
                n += 1
            local[s] = at[a]
        V, slant, bound = np.empty((T, n)), np.empty((T, n)), np.empty(T * n)
        for u in range(T):
            through[u] = at[known[first + u]] if known[first + u] >= 0 else -1
            for c in range(n):
                bound[u * n + c] = rows[first + u] * widths[own[c]]
                slant[u, c] = slope[first + u, own[c]] - bound[u * n + c] * P[first + u, own[c]]
        most = max(min(n_steps + sizes[i] // 4, int(work / (T * S))), 5)
        sizes[i], gaps[i], price[i] = _nearest(V, slant, bound, local, stay[k], head[k], skip[k], through, tol, most,
                                               paths[:, first:first + T], weights[i], prices[i], sizes[i])
        for u in range(T):
            for c in range(n):
                P[first + u, own[c]] = V[u, c]


@compiled(error_model="numpy")
def _nearest(V, slope, bound, columns, stay, head, skip, known, tol, n_steps, kept, weight, prices,
             m):
    """The same for one clip, with slope <slope, Q> at 0. Each step asks the oracle for a path, and takes the best point
    of the hull of those paths found so far that still have weight. Returns their number, the gap and the price."""
    (T, C), size = V.shape, len(weight)
    F, path = np.empty((T + 1, len(columns))), np.empty(T, np.int64)
    paths, slot = np.empty((size, T), np.uint32), np.arange(size)  # of point i: paths[slot[i]]; free slots follow
    L, row, value, linear = np.empty((size, size)), np.empty(size), np.empty(T), np.empty((3, size))
    gradient, ridge, gap, n_old, m = slope.copy(), 0.0, np.inf, m, 0 * m  # a plain 0 would compile all below twice
    V_flat, gradient_flat, slope_flat = V.ravel(), gradient.ravel(), slope.ravel()
    for u in range(T * C):
        ridge = max(ridge, bound[u])
    for i in range(n_old):  # the paths of last time
        weight[m], prices[m] = weight[i], prices[i]
        for t in range(T):
            paths[slot[m], t] = t * C + kept[i, t]
        m += _append(L, m, paths, slot, bound, slope_flat, prices, value, linear, row, ridge)
    if m > 0:
        m = _weigh(L, m, weight, linear, prices, slot)
    for step in range(n_steps + 1):
        paid, along = _mix(V_flat, gradient_flat, slope_flat, bound, paths, slot, weight, prices, m)
        end = forward(gradient, columns, stay, head, skip, known, False, F)
        if m > 0:
            gap = along + paid - end
        if gap <= tol or m == size or step == n_steps:
            break
        prices[m], weight[m], last = backtrack(F, stay, head, skip, path), 1.0 if m == 0 else 0.0, slot[m]
        for t in range(T):
            paths[last, t] = t * C + columns[path[t]]
        n = m + 1
        if not _append(L, m, paths, slot, bound, slope_flat, prices, value, linear, row, ridge):
            out = _exchange(L, m, weight, linear, row)
            if out == m:
                break
            n = _drop(L, out, m, weight, linear, prices, slot)
        m = _weigh(L, n, weight, linear, prices, slot)
        if slot[m - 1] != last:
            break
    for i in range(m):
        for t in range(T):
            kept[i, t] = paths[slot[i], t] - t * C
    return m, gap, paid


@compiled(error_model="numpy")
def _mix(V, gradient, slope, bound, paths, slot, weight, prices, m):
    """V of the weights, the gradient there; what V pays, and <gradient, V>."""
    paid, along = 0.0, 0.0
    for u in range(len(V)):
        V[u] = 0.0
    for i in range(m):
        paid += weight[i] * prices[i]
        path, w = paths[slot[i]], weight[i]
        for t in range(len(path)):
            V[path[t]] += w
    for u in range(len(V)):
        gradient[u] = slope[u] + bound[u] * V[u]
        along += gradient[u] * V[u]
    return paid, along


@compiled(error_model="numpy")
def _append(L, m, paths, slot, bound, slope, prices, value, linear, row, ridge):
    """Append point m to the Cholesky factor of Q + ridge 11', Q_ij = <path i, path j> weighted by the bound.

    False where the point depends on the others.
    """
    new, linear[0, m] = paths[slot[m]], prices[m]
    for t in range(len(new)):
        value[t] = bound[new[t]]
        linear[0, m] += slope[new[t]]
    for i in range(m + 1):
        row[i] = ridge + _common(paths[slot[i]], new, value)
    for i in range(m):
        L[m, i] = (row[i] - _dot(L[m], L[i], i)) / L[i, i]
    rest = row[m] - _dot(L[m], L[m], m)
    L[m, m] = np.sqrt(max(rest, 0.0))
    if not rest > 1e-12 * row[m]:
        return False
    _solve(L, linear, m, m + 1)
    return True


@compiled(error_model="numpy")
def _solve(L, linear, first, m):
    """Rows of the solutions of L y = linear and L z = 1: linear[1] and linear[2]."""
    for i in range(first, m):
        linear[1, i] = (linear[0, i] - _dot(L[i], linear[1], i)) / L[i, i]
        linear[2, i] = (1 - _dot(L[i], linear[2], i)) / L[i, i]


@compiled(fastmath={"reassoc"})
def _common(one, other, value):
    total = 0.0
    for t in range(len(one)):
        total += value[t] if one[t] == other[t] else 0.0
    return total


@compiled(fastmath={"reassoc"})
def _dot(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@compiled(error_model="numpy")
def _weigh(L, m, weight, linear, prices, slot):
    """Weights >= 0 of sum 1 that minimise 1/2 w'Qw + linear'w; points without weight are dropped; how many stay."""
    best, y, z = np.empty(m), linear[1], linear[2]
    while True:
        level = (1 + _dot(y, z, m)) / _dot(z, z, m)
        for i in range(m):
            best[i] = level * z[i] - y[i]
        for i in range(m - 1, -1, -1):
            best[i] /= L[i, i]
            for j in range(i):
                best[j] -= L[i, j] * best[i]
        step, out = 1.0, m
        for i in range(m):
            if best[i] <= 0:
                reach = weight[i] / (weight[i] - best[i]) if weight[i] > 0 else 0.0
                if reach <= step:
                    step, out = reach, i
        for i in range(m):
            weight[i] += step * (best[i] - weight[i])
        if out == m or m == 1:
            return m
        m = _drop(L, out, m - 1, weight, linear, prices, slot)


@compiled(error_model="numpy")
def _exchange(L, m, weight, linear, share):
    """Move weight from others to point m, which depends on them, where it is cheaper; which is left without, or m."""
    saved, size, step, out = -linear[0, m], abs(linear[0, m]), np.inf, m
    L[m, m] = 0.0
    for i in range(m - 1, -1, -1):  # point m = sum of share_i point i
        share[i] = L[m, i]
        for j in range(i + 1, m):
            share[i] -= L[j, i] * share[j]
        share[i] /= L[i, i]
        saved += share[i] * linear[0, i]
        size = max(size, abs(linear[0, i]))
    if saved <= 1e-12 * size:
        return m
    for i in range(m):
        if share[i] > 1e-9 and weight[i] < step * share[i]:
            step, out = weight[i] / share[i], i
    for i in range(m):
        weight[i] = max(weight[i] - step * share[i], 0.0)
    weight[m] = step
    return out


@compiled(error_model="numpy")
def _drop(L, out, m, weight, linear, prices, slot):
    """Take out one point; m are left."""
    dropped = slot[out]
    for i in range(out, m):
        weight[i], linear[0, i] = weight[i + 1], linear[0, i + 1]
        prices[i], slot[i] = prices[i + 1], slot[i + 1]
    slot[m] = dropped
    _shrink(L, out, m)
    _solve(L, linear, out, m)
    return m


@compiled(error_model="numpy")
def _shrink(L, out, m):
    """Take row `out` from the Cholesky factor, by Givens rotations; m rows are left."""
    for i in range(out, m):
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
    for i in range(out, m):
        length = np.hypot(L[i, i], L[i, i + 1])
        cosine, sine = L[i, i] / length, L[i, i + 1] / length
        for k in range(i, m):
            a, b = L[k, i], L[k, i + 1]
            L[k, i], L[k, i + 1] = cosine * a + sine * b, cosine * b - sine * a
