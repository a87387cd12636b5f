"""How time grows with each of five sizes, the others held: intervals, features, actions, list, clip length.

    python benchmarks/limits.py

Clips of class means plus noise; three ways to label them: ten passes of the 2014 setting, five sweeps of the block
solver on the same objective, a fit of the recommended setting with its own stop. Each way is a process of its own, on
one thread; the first two run every size three times (medians), the third once. Seconds are those of the processor (a
busy machine changes little). Exponents are slopes of least-squares lines through the logarithms: 1 says that twice as
much costs twice as much. How memory grows is in `growth.py`.
"""

import json
import statistics
import time
import warnings
from pathlib import Path

import common
import numpy as np
from tqdm import tqdm

from ordering import Clips, OrderedActionLabeling, RidgeObjective, block_frank_wolfe, frank_wolfe, random_vertices

BASE = {"intervals": 4_000, "features": 128, "actions": 16, "listed": 4, "length": 80}
VALUES = {
    "intervals": (2_000, 4_000, 8_000, 16_000),
    "features": (64, 128, 256, 512),
    "actions": (8, 16, 32, 64),
    "listed": (2, 4, 8, 16),
    "length": (80, 160, 320, 640),
}
SOLVERS = {"2014": (frank_wolfe, 10), "block": (block_frank_wolfe, 5)}
METHODS = (*SOLVERS, "recommended")


def draw(intervals, features, actions, listed, length, seed=0):
    """Clips of one length with background around the actions; a list names `listed` actions."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((actions + 1, features))
    transcripts = rng.integers(actions, size=(intervals // length, listed))
    labels = []
    for transcript in transcripts:
        states = np.full(2 * listed + 1, actions)
        states[1::2] = transcript
        cuts = np.sort(rng.choice(np.arange(1, length), 2 * listed, replace=False))
        labels.append(np.repeat(states, np.diff(cuts, prepend=0, append=length)))
    rows = means[np.concatenate(labels)] + 2 * rng.standard_normal((len(transcripts) * length, features))
    return Clips(rows, [length] * len(transcripts), list(transcripts), actions, background="optional")


def fit(method, clips):
    if method == "recommended":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return OrderedActionLabeling.recommended().fit(clips)
    solver, n_iter = SOLVERS[method]
    return solver(RidgeObjective(clips.features, 1e-3), clips, random_vertices(clips), n_iter=n_iter)


def child(method):
    """All runs of one way in this process; prints their figures as JSON."""
    fit(method, draw(320, 8, 3, 2, 40))  # compiles
    found = {}
    for name, values in VALUES.items():
        for value in values:
            sizes = {**BASE, name: value}
            if json.dumps(sizes) not in found:  # what all sizes have in common is run once
                clips = draw(**sizes)
                found[json.dumps(sizes)] = [measured(method, clips) for _ in range(3 if method in SOLVERS else 1)]
    print(json.dumps(found))


def measured(method, clips):
    """Seconds of the processor."""
    start = time.process_time()
    fit(method, clips)
    return time.process_time() - start


def main():
    options = common.arguments(__doc__, ("child", "", "for the script itself"))
    if options.child:
        return child(options.child)
    rows = []
    for method in tqdm(METHODS):
        found = common.in_own_process(Path(__file__), "--child", method, threads=1)
        for name, values in VALUES.items():
            seconds = [statistics.median(found[json.dumps({**BASE, name: value})]) for value in values]
            rows += [{"method": method, "grows": name, "value": value, "seconds": one,
                      "exponent": common.exponent(values, seconds)} for value, one in zip(values, seconds, strict=True)]
    common.report("limits", rows, options, threads=1, **{f"base_{key}": value for key, value in BASE.items()})


if __name__ == "__main__":
    main()
