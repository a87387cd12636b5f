"""Rounds that look at whole segments: log-normal durations, and an offset that each segment has of its own.

A segment of n rows y (whitened inside classes) of class c weighs p_c(n) N(y; mu_c + o, 1/beta) with an offset
o ~ N(0, v) that is integrated out; beta < 1 stands for the correlation of neighbouring rows. The sums over all cuts of
a clip into segments are a semi-Markov forward-backward. Explained in ``book/17-beyond-the-paper.ipynb``.
"""

from __future__ import annotations

import numpy as np

from ordering.admissible import bounds_of_parts
from ordering.kernels.compile import compiled, in_threads
from ordering.recommended.rounds import classifier, hold, run_numbers, squares_of

ROUNDS, WEIGHT, LARGEST_OFFSET = 5, 0.5, 0.1
INSIDE, LOGS, SQUARES, OFFSET, INTERVALS, LONG = range(1, 7)  # moments of a class's segments; 0 is their number


def segment_rounds(rows, lists, posterior, presence, known, learn=True, weight=None):
    """Posterior (N, C) after a few rounds from a first one.

    Parameters
    ----------
    rows : (N, q) whitened features
    lists : Lists, with one copy of every state
    posterior : (N, C)
    presence : (2,) share of optional background that is there
    known : (N, C) log-weights of known rows
    learn : bool, whether the presence is learnt
    weight : (N,) floats, optional
    """
    C, clips, for_means = posterior.shape[1], lists.clips, posterior
    kind = (np.arange(C) == clips.background_class).astype(np.int64)  # actions and background share statistics
    must = np.isinf(lists._chains.skip)
    m = np.full(C, np.log(max(len(rows) / (must.sum() + np.mean(presence) * (~must).sum()), 1.0)) - 0.2)
    s, v, squares = np.full(C, 0.5), np.array([1e-4, 1e-4]), squares_of(rows, weight)
    for i in range(ROUNDS):
        run = run_numbers(posterior, lists) if i else None
        means, W = classifier(rows, posterior, run, for_means, weight, 1.0, 0.05, squares)
        lists = lists.with_presence(presence)
        posterior, for_means, visits, moments = _sum_segments(rows, lists, means, W, known, kind, m, s, v)
        hold(posterior, known)
        hold(for_means, known)
        m, s = durations(moments, m, s, kind)
        v = _offsets(moments, kind, v, rows.shape[1])
        if learn and i:
            presence = lists.presence(visits)
    return posterior / posterior.sum(axis=1, keepdims=True)


def _sum_segments(rows, lists, means, W, known, kind, m, s, v):
    """One forward-backward over all clips: posterior, the same for means, visits of states, moments (C, 7)."""
    chains, (N, C) = lists._chains, known.shape
    w, V = np.linalg.eigh(W)
    turn = V / np.sqrt(w)
    y, means = np.ascontiguousarray(rows @ turn), means @ turn
    cross, norm = y @ means.T + known / WEIGHT, (means**2).sum(axis=1)
    T = int(np.diff(chains.offsets).max())
    longest = int(min(T, max(20, 6 * np.exp((m + s * s / 2).max()))))
    spread = 1 + np.arange(T + 1) * WEIGHT * v[:, None]
    gain, cost = 0.5 * WEIGHT**2 * v[:, None] / spread, 0.5 * rows.shape[1] * np.log(spread)
    bounds, logs = bounds_of_parts(lists.clips), np.log(np.maximum(np.arange(T + 1), 1))
    P, M, visits = np.zeros((N, C)), np.zeros((N, C)), np.zeros(len(chains.states))
    moments = np.zeros((len(bounds), C, 7))
    in_threads(lambda clips, own: sum_segments(
        y, chains.states, chains.skip, chains.borders, chains.offsets, *clips, cross, norm, kind, gain, cost,
        *log_normal(m, s, T), WEIGHT, logs, 1 / spread, longest, P, M, visits, own), bounds, moments)
    return P, M, visits, moments.sum(axis=0)


def _offsets(moments, kind, v, q):
    """Variance of a segment's offset, of actions and of background."""
    v = v.copy()
    for k in (0, 1):
        x = moments[kind == k].sum(axis=0)
        if x[LONG] > 1:
            v[k] = np.clip((x[OFFSET] / q / x[LONG] - 1 / WEIGHT) / (x[INTERVALS] / x[LONG]), 1e-4, LARGEST_OFFSET)
    return v


def log_normal(m, s, D):
    """Log-probabilities (C, D + 1) of n rows, and of n or more (segments cut off by a clip's end)."""
    n = np.arange(1, 4 * D + 200)
    p = np.exp(-0.5 * ((np.log(n) - m[:, None]) / s[:, None]) ** 2 - np.log(n)) + 1e-300
    p /= p.sum(axis=1, keepdims=True)
    none = np.full((len(m), 1), -np.inf)
    tail = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]
    return np.hstack([none, np.log(p[:, :D])]), np.hstack([none, np.log(np.maximum(tail[:, :D], 1e-300))])


def durations(moments, m, s, kind, prior=5.0):
    """Mean and deviation of log n per class, shrunk to those of actions or background, and these to the start."""
    m, s = m.copy(), s.copy()
    for k in (0, 1):
        own = kind == k
        n, x, xx = moments[own, INSIDE], moments[own, LOGS], moments[own, SQUARES]
        if not own.any():
            continue
        centre = (x.sum() + prior * m[own].mean()) / (n.sum() + prior)
        spread = (xx.sum() - 2 * centre * x.sum() + centre**2 * n.sum() + prior * 0.25) / (n.sum() + prior)
        m[own] = (x + prior * centre) / (n + prior)
        s[own] = (xx - 2 * m[own] * x + m[own] ** 2 * n + prior * spread) / (n + prior)
    return m, np.sqrt(np.maximum(s, 0.09))


@compiled
def _lse(a, b):
    """log(exp(a) + exp(b))."""
    low, high = (a, b) if a < b else (b, a)
    return high if low == -np.inf or high - low > 37.0 else high + np.log1p(np.exp(low - high))


@compiled
def _length_table(y, D):
    """|sum of rows t..t+n-1|^2 for all t and n <= D."""
    T, q = y.shape
    table, s = np.zeros((T, D + 1), np.float32), np.empty(q)
    for t in range(T):
        s[:] = 0.0
        for n in range(1, min(D, T - t) + 1):
            x = 0.0
            for k in range(q):
                s[k] += y[t + n - 1, k]
                x += s[k] * s[k]
            table[t, n] = x
    return table


@compiled
def _weigh(c, table, cross, norm, gain, cost, dur, edge, beta, out):
    """Log-weights out[t, n] of the segments of a state of class c: rows t..t+n-1."""
    T, D = table.shape[0], table.shape[1] - 1
    total = np.zeros(T + 1)
    for t in range(T):
        total[t + 1] = total[t] + cross[t, c]
    for t in range(T):
        for n in range(1, min(D, T - t) + 1):
            m = total[t + n] - total[t]
            far = table[t, n] - 2 * n * m + n * n * norm[c]
            length = edge[c, n] if t == 0 or t + n == T else dur[c, n]
            out[t, n] = length + beta * (m - 0.5 * n * norm[c]) - cost[n] + gain[n] * far


@compiled
def _ahead(w, A, skip, out):
    """out (T + 1,) after a state: log-weight of all that ends before row t, given A before it."""
    T, D = w.shape[0], w.shape[1] - 1
    top, total = np.full(T + 1, -np.inf), np.zeros(T + 1)
    for t in range(T):
        if A[t] > -np.inf:
            for n in range(1, min(D, T - t) + 1):
                top[t + n] = max(top[t + n], A[t] + w[t, n])
    for t in range(T):
        if A[t] > -np.inf:
            for n in range(1, min(D, T - t) + 1):
                x = A[t] + w[t, n] - top[t + n]
                if x > -25.0:
                    total[t + n] += np.exp(x)
    for t in range(T + 1):
        out[t] = _lse(top[t] + np.log(total[t]) if total[t] > 0 else -np.inf, A[t] - skip)


@compiled
def _behind(w, A, B, skip, Z, logs, calm, table, mean, norm, rows, weighted, moments):
    """B before a state given B after it; adds the state's rows (T,) and the moments of its segments."""
    T, D = w.shape[0], w.shape[1] - 1
    out, step, light = np.empty(T + 1), np.zeros(T + 1), np.zeros(T + 1)
    out[T] = B[T] - skip
    for t in range(T - 1, -1, -1):
        top, total, stop = -np.inf, 0.0, min(D, T - t)
        if A[t] > -np.inf:
            for n in range(1, stop + 1):
                top = max(top, w[t, n] + B[t + n])
        if top > -np.inf:
            share = np.exp(min(A[t] + top - Z, 50.0))
            for n in range(1, stop + 1):
                x = w[t, n] + B[t + n] - top
                if x > -25.0:
                    e = np.exp(x)
                    total += e
                    if e * share >= 1e-8:
                        far = table[t, n] - 2 * n * (mean[t + n] - mean[t]) + n * n * norm
                        _count(e * share, t, n, T, logs[n], calm[n], far, step, light, moments)
        out[t] = _lse(top + np.log(total) if total > 0 else -np.inf, B[t] - skip)
    inside = heavy = 0.0
    for t in range(T):  # in loops: whole rows would compile for seconds, for the sake of their error messages
        inside += step[t]
        heavy += light[t]
        rows[t] += inside
        weighted[t] += heavy
    return out


@compiled
def _count(p, t, n, T, log, calm, far, step, light, moments):
    """One segment of probability p; moments: count, inner count, sum and squares of log n, offset, rows, long."""
    step[t] += p
    step[t + n] -= p
    light[t] += p * calm
    light[t + n] -= p * calm
    moments[0] += p
    if t > 0 and t + n < T:
        moments[1] += p
        moments[2] += p * log
        moments[3] += p * log * log
    if n > 1:
        moments[4] += p * far / n
        moments[5] += p * n
        moments[6] += p


@compiled
def sum_segments(y, states, skip, borders, offsets, first, last, cross, norm, kind, gain, cost, dur, edge, beta,
                 logs, calm, longest, posterior, weighted, visits, moments):
    """Forward and backward over the clips from first up to last."""
    for i in range(first, last):
        s0, J, r0, T = borders[i], borders[i + 1] - borders[i], offsets[i], offsets[i + 1] - offsets[i]
        must = 0
        for j in range(J):
            must += skip[s0 + j] == np.inf
        D = min(T, max(longest, 2 * T // max(must, 1) + 2))
        table, x = _length_table(y[r0:r0 + T], D), cross[r0:r0 + T]
        A, w = np.full((J + 1, T + 1), -np.inf), np.empty((T, D + 1), np.float32)
        A[0, 0] = 0.0
        for j in range(J):
            c = states[s0 + j]
            _weigh(c, table, x, norm, gain[kind[c]], cost[kind[c]], dur, edge, beta, w)
            _ahead(w, A[j], skip[s0 + j], A[j + 1])
        B = np.full(T + 1, -np.inf)
        B[T] = 0.0
        for j in range(J - 1, -1, -1):
            c, mean, one = states[s0 + j], np.zeros(T + 1), np.zeros(7)
            for t in range(T):
                mean[t + 1] = mean[t] + x[t, c]
            _weigh(c, table, x, norm, gain[kind[c]], cost[kind[c]], dur, edge, beta, w)
            B = _behind(w, A[j], B, skip[s0 + j], A[J, T], logs, calm[kind[c]], table, mean, norm[c],
                        posterior[r0:r0 + T, c], weighted[r0:r0 + T, c], one)
            visits[s0 + j] = one[0]
            for k in range(7):
                moments[c, k] += one[k]
