"""The rounds over whole segments against a sum over every cut of small clips into segments."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from ordering import Clips
from ordering.recommended import segments
from ordering.recommended.rounds import Lists, known_weights

from .brute_force import BACKGROUNDS, cuts

BETA = segments.WEIGHT


def density(y, mean, v):
    """Of the rows of a segment with an offset of its own, over that of rows around 0 without one."""
    n = len(y)
    own, other = np.eye(n) / BETA + v * np.ones((n, n)), np.eye(n) / BETA
    return sum(multivariate_normal.logpdf(x, np.full(n, m), own) - multivariate_normal.logpdf(x, np.zeros(n), other)
               for x, m in zip(y.T, mean, strict=True))


def summed(clips, lists, y, means, told, kind, m, s, v):
    """Posterior, the same for means, visits and moments, clip by clip and cut by cut."""
    N, C = y.shape[0], len(means)
    chains = lists._chains
    P, M, visits, moments = np.zeros((N, C)), np.zeros((N, C)), np.zeros(len(chains.states)), np.zeros((C, 7))
    dur, edge = segments.log_normal(m, s, int(clips.lengths.max()))
    for i, T in enumerate(clips.lengths.tolist()):
        k, r = slice(chains.borders[i], chains.borders[i + 1]), clips.rows(i)
        states = [(c, 1, price) for c, price in zip(chains.states[k].tolist(), chains.skip[k].tolist(), strict=True)]
        found = []
        for path, paid in cuts(T, states, told[r].tolist()):
            starts = [t for t in range(T) if t == 0 or path[t] != path[t - 1]]
            pieces = [(path[t], t, u) for t, u in zip(starts, [*starts[1:], T], strict=True)]
            weight = -paid
            for state, t, u in pieces:
                c = states[state][0]
                weight += (edge if t == 0 or u == T else dur)[c, u - t] + density(y[r][t:u], means[c], v[kind[c]])
            found.append((weight, pieces))
        total = logsumexp([weight for weight, _ in found])
        for weight, pieces in found:
            p = np.exp(weight - total)
            for state, t, u in pieces:
                c, n, inner = states[state][0], u - t, t > 0 and u < T
                P[r.start + t:r.start + u, c] += p
                M[r.start + t:r.start + u, c] += p / (1 + n * BETA * v[kind[c]])
                visits[k.start + state] += p
                far = np.sum((y[r][t:u] - means[c]).sum(axis=0) ** 2)
                moments[c] += p * np.array([1, inner, inner * np.log(n), inner * np.log(n) ** 2,
                                            (n > 1) * far / n, (n > 1) * n, n > 1])
    return P, M, visits, moments


@pytest.mark.parametrize("seed", range(8))
def test_every_cut_is_summed(seed):
    rng = np.random.default_rng(seed)
    A, background = 2, BACKGROUNDS[seed % 4]
    transcripts = [[0, 1], [1], [0, 0]]
    lengths = rng.integers(5, 8, len(transcripts))
    N = int(lengths.sum())
    C = A + (background is not None)
    clips = Clips(rng.standard_normal((N, 2)), lengths, transcripts, A, background)
    lists = Lists(clips, 1).with_presence(np.array([0.7, 0.4]))
    means, half = rng.standard_normal((C, 2)), rng.standard_normal((2, 2))
    W = half @ half.T + np.eye(2)
    kind = (np.arange(C) == A).astype(np.int64)
    m, s, v = rng.uniform(0.5, 1.5, C), rng.uniform(0.4, 0.8, C), np.array([0.05, 0.2])
    told = np.full(N, -1)
    told[int(rng.integers(2, lengths[0] - 1))] = 1
    given = clips.features, lists, means, W, known_weights(told, (N, C)), kind, m, s, v
    L = np.linalg.cholesky(W)
    wanted = summed(clips, lists, np.linalg.solve(L, clips.features.T).T, np.linalg.solve(L, means.T).T, told, kind,
                    m, s, v)  # fmt: skip
    for mine, theirs in zip(segments._sum_segments(*given), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-5)
