"""The exact block step of one clip: a separable quadratic over its hull, by an interior-point method.

The hull of a clip's paths is the order polytope of a grid. With S states, T intervals, u_tk the probability
that the state at interval t is at least k, and x_kj = u_(k+j)k, it is 0 <= x <= 1, x growing along j = 0..T-S-1
and falling along k = 1..S-1; every other u is fixed. A Newton step solves a banded system of half-width S, so
an iteration costs O(T S^2). The polytope is explained in ``book/06-polytope.ipynb``, its use in
``book/16-fast-and-large.ipynb``.
"""

import numpy as np

from ordering._compile import compiled


@compiled(error_model="numpy")
def minimise_exactly(V, gradient, bound, states, tol, n_iter=60):  # pragma: no cover
    """Minimise <gradient, W - V> + 1/2 sum bound (W - V)^2 over the hull; W overwrites V where it is better.

    V (T, C), gradient (T, C) and bound (T, C) in the clip's own columns, states (S,) as column numbers. Returns the
    sum of complementarities at the end, a bound on the Frank-Wolfe gap of the new V (infinite where nothing was
    done: a single path, or rounding errors).
    """
    T, S = len(V), len(states)
    p, q = S - 1, T - S
    if p == 0 or q == 0:
        return np.inf
    scale = bound.max()
    b, g0 = bound / scale, gradient / scale
    x = np.empty((p + 2, q + 2))
    for k in range(p + 2):
        for j in range(q + 2):
            x[k, j] = 0.5 * (j / (q + 1) + (S - k) / S)
    x[:, 0], x[:, q + 1] = 0.0, 1.0
    x[0], x[p + 1] = 1.0, 0.0
    along = np.zeros((p + 2, q + 2))  # x_kj - x_k(j-1) >= 0, for k = 1..p and columns 1..q+1
    across = np.zeros((p + 2, q + 2))  # x_kj - x_(k+1)j >= 0, for k = 0..p and columns 1..q
    m = p * (q + 1) + (p + 1) * q
    _slacks(x, p, q, along, across)
    z_along, z_across = np.zeros_like(along), np.zeros_like(across)
    for k in range(p + 1):
        for j in range(1, q + 2):
            if k > 0:
                z_along[k, j] = 0.1 / along[k, j]
            if j <= q:
                z_across[k, j] = 0.1 / across[k, j]
    W, e, n = np.empty_like(V), np.empty_like(V), T * p
    K, rhs = np.empty((n, p + 2)), np.empty(n)
    ds_along, ds_across, dx = np.zeros_like(along), np.zeros_like(across), np.zeros_like(x)
    total, infeasible = np.inf, 1.0
    for _ in range(n_iter):
        _assignment(x, states, p, q, W)
        for t in range(T):
            for c in range(V.shape[1]):
                e[t, c] = g0[t, c] + b[t, c] * (W[t, c] - V[t, c])
        total = (along * z_along).sum() + (across * z_across).sum()
        if total <= 1e-15 * m or max(total, infeasible * m) <= max(tol / scale, 1e-13 * m):
            break
        mu = total / m
        _system(K, e, b, states, p, q, T, along, across, z_along, z_across)
        if not _cholesky(K):
            return np.inf
        reduction = 0.0
        for predictor in (True, False):
            _right_side(rhs, e, states, p, q, 0.0 if predictor else reduction * mu, along, across)
            _solve(K, rhs)
            _direction(rhs, p, q, dx, ds_along, ds_across)
            target = 0.0 if predictor else reduction * mu
            step = min(_longest(along, z_along, ds_along, target), _longest(across, z_across, ds_across, target))
            if predictor:
                left = _after(along, z_along, ds_along, 0.0, step)
                left += _after(across, z_across, ds_across, 0.0, step)
                reduction = (left / total) ** 3
        step = min(1.0, 0.99 * step)
        _advance(z_along, along, ds_along, reduction * mu, step)
        _advance(z_across, across, ds_across, reduction * mu, step)
        x += step * dx
        along += step * ds_along
        across += step * ds_across
        infeasible *= 1 - step
    _assignment(x, states, p, q, W)
    if not np.all(np.isfinite(W)):
        return np.inf
    V[:] = W
    return total * scale


@compiled
def _slacks(x, p, q, along, across):  # pragma: no cover
    for k in range(p + 1):
        for j in range(1, q + 2):
            if k > 0:
                along[k, j] = x[k, j] - x[k, j - 1]
            if j <= q:
                across[k, j] = x[k, j] - x[k + 1, j]


@compiled
def _assignment(x, states, p, q, W):  # pragma: no cover
    """W_tc: the probability of class c at t, from x."""
    W[:] = 0.0
    for t in range(len(W)):
        above = 1.0
        for k in range(p + 1):
            here = above
            j = t - k - 1
            above = 0.0 if k == p or j < 0 else (1.0 if j >= q else x[k + 1, j + 1])
            W[t, states[k]] += here - above


@compiled(error_model="numpy")
def _system(K, e, b, states, p, q, T, along, across, z_along, z_across):  # pragma: no cover
    """Lower band of the Newton matrix; K[i, d] is the entry (i, i - d). Variable (k, j) is (k + j) p + k - 1."""
    K[:] = 0.0
    for t in range(T):
        for k in range(1, p + 1):
            i = t * p + k - 1
            j = t - k
            if j < 0 or j >= q:
                K[i, 0] = 1.0
                continue
            for l in range(1, k + 1):
                if t - l < q:
                    for sign, a in ((1.0, states[k]), (-1.0, states[k - 1])):
                        if a == states[l]:
                            K[i, k - l] += sign * b[t, a]
                        if a == states[l - 1]:
                            K[i, k - l] -= sign * b[t, a]
            left, right = z_along[k, j + 1] / along[k, j + 1], z_along[k, j + 2] / along[k, j + 2]
            up, down = z_across[k - 1, j + 1] / across[k - 1, j + 1], z_across[k, j + 1] / across[k, j + 1]
            K[i, 0] += left + right + up + down
            if j > 0:
                K[i, p] -= left
            if k > 1:
                K[i, p + 1] -= up


@compiled(error_model="numpy")
def _cholesky(K):  # pragma: no cover
    """Banded Cholesky factor in place; False where the matrix is not positive."""
    n, width = K.shape
    for i in range(n):
        for d in range(min(width - 1, i), -1, -1):
            j = i - d
            total = K[i, d]
            for l in range(max(0, i - width + 1, j - width + 1), j):
                total -= K[i, i - l] * K[j, j - l]
            if d > 0:
                K[i, d] = total / K[j, 0]
            elif not total > 0:
                return False
            else:
                K[i, 0] = np.sqrt(total)
    return True


@compiled(error_model="numpy")
def _solve(K, y):  # pragma: no cover
    n, width = K.shape
    for i in range(n):
        for d in range(1, min(width - 1, i) + 1):
            y[i] -= K[i, d] * y[i - d]
        y[i] /= K[i, 0]
    for i in range(n - 1, -1, -1):
        y[i] /= K[i, 0]
        for d in range(1, min(width - 1, i) + 1):
            y[i - d] -= K[i, d] * y[i]


@compiled(error_model="numpy")
def _right_side(rhs, e, states, p, q, target, along, across):  # pragma: no cover
    """- gradient + A'(target / s) of every free variable."""
    rhs[:] = 0.0
    for k in range(1, p + 1):
        for j in range(q):
            t = k + j
            push = target / along[k, j + 1] - target / along[k, j + 2]
            push += target / across[k, j + 1] - target / across[k - 1, j + 1]
            rhs[t * p + k - 1] = push - e[t, states[k]] + e[t, states[k - 1]]


@compiled
def _direction(y, p, q, dx, ds_along, ds_across):  # pragma: no cover
    for k in range(1, p + 1):
        for j in range(q):
            dx[k, j + 1] = y[(k + j) * p + k - 1]
    _slacks(dx, p, q, ds_along, ds_across)


@compiled(error_model="numpy")
def _longest(s, z, ds, target):  # pragma: no cover
    """Longest step that keeps slacks and multipliers positive."""
    step = 1e9
    for k in range(s.shape[0]):
        for j in range(s.shape[1]):
            if s[k, j] > 0:
                dz = (target - z[k, j] * ds[k, j]) / s[k, j] - z[k, j]
                if ds[k, j] < 0:
                    step = min(step, -s[k, j] / ds[k, j])
                if dz < 0:
                    step = min(step, -z[k, j] / dz)
    return step


@compiled(error_model="numpy")
def _after(s, z, ds, target, step):  # pragma: no cover
    step, total = min(step, 1.0), 0.0
    for k in range(s.shape[0]):
        for j in range(s.shape[1]):
            if s[k, j] > 0:
                dz = (target - z[k, j] * ds[k, j]) / s[k, j] - z[k, j]
                total += (s[k, j] + step * ds[k, j]) * (z[k, j] + step * dz)
    return total


@compiled(error_model="numpy")
def _advance(z, s, ds, target, step):  # pragma: no cover
    for k in range(s.shape[0]):
        for j in range(s.shape[1]):
            if s[k, j] > 0:
                z[k, j] += step * ((target - z[k, j] * ds[k, j]) / s[k, j] - z[k, j])
