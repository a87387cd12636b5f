"""Recordings without a list: which class follows which in the lists of the clips that were fitted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax


class Grammar(NamedTuple):
    """A Markov chain of classes, interval by interval; all are logarithms of probabilities."""

    first: np.ndarray  # (C,)
    step: np.ndarray  # (C, C) from one interval's class to the next one's
    last: np.ndarray  # (C,)

    @classmethod
    def of(cls, clips, presence, stay, prior=0.1):
        """From lists, the share of optional background that is there, and the probability (C,) to stay."""
        C = clips.n_classes
        counts = np.full((C + 1, C + 1), prior / C)  # the last row and column are the ends of clips
        for i, transcript in enumerate(clips.transcripts):
            path = [C, *(transcript if clips.background == "optional" else clips.states(i)), C]
            for k, (a, b) in enumerate(zip(path[:-1], path[1:], strict=True)):
                there = 0.0
                if clips.background == "optional":
                    there = presence[1] if k in (0, len(path) - 2) else presence[0]
                    counts[a, C - 1] += there
                    counts[C - 1, b] += there
                counts[a, b] += 1 - there
        counts[C, C] = 0
        follow = counts / counts.sum(axis=1, keepdims=True)
        step = np.diag(stay) + (1 - stay)[:, None] * follow[:C, :C]
        return cls(*(np.log(np.maximum(p, 1e-12)) for p in (follow[C, :C], step, (1 - stay) * follow[:C, C])))

    def labels(self, scores, lengths):
        """Most likely classes (N,) of clips whose intervals have these log-densities (N, C)."""
        found, classes = [], np.arange(scores.shape[1])
        for x in np.split(scores, np.cumsum(lengths)[:-1]):
            best, came = self.first + x[0], np.empty(x.shape, np.int64)
            for t in range(1, len(x)):
                ways = best[:, None] + self.step
                came[t] = ways.argmax(axis=0)
                best = ways[came[t], classes] + x[t]
            path = [int((best + self.last).argmax())]
            for t in range(len(x) - 1, 0, -1):
                path.append(came[t, path[-1]])
            found.append(path[::-1])
        return np.concatenate(found)

    def posterior(self, scores, lengths):
        """Probabilities (N, C) of the classes, by forward-backward; weights as in `labels`."""
        found = []
        for x in np.split(scores, np.cumsum(lengths)[:-1]):
            F, B = np.empty(x.shape), np.empty(x.shape)
            F[0], B[-1] = self.first + x[0], self.last
            for t in range(1, len(x)):
                F[t] = logsumexp(F[t - 1][:, None] + self.step, axis=0) + x[t]
            for t in range(len(x) - 2, -1, -1):
                B[t] = logsumexp(self.step + x[t + 1] + B[t + 1], axis=1)
            found.append(softmax(F + B, axis=1))
        return np.concatenate(found)
