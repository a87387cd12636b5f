"""How time and memory grow with the number of intervals, at 512 features.

    python benchmarks/growth.py

From 10,000 to 1,000,000 intervals (clips of 40 to 130, three actions each, class means plus noise, float32): the
seconds of the Gram matrix, the factorisation and a fixed number of passes (10 of the batch solver, 5 of the block
solver), and the peak memory beyond the features. The exponents are slopes of least-squares lines through the
logarithms. The last rows read the features from disk (np.memmap).

Every run is a process of its own, on one thread. In memory: peak resident memory (VmHWM) less what was resident
with the features loaded. From disk: the highest anonymous resident memory (RssAnon, sampled every 5 ms), all of the
process counted; pages of the file, which the system takes back at will, are not in it.
"""

import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import common
import numpy as np
from tqdm import tqdm

from ordering import Clips, RidgeObjective, block_frank_wolfe, frank_wolfe, random_vertices

LAM, N_ACTIONS, N_FEATURES = 1e-3, 16, 512
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SOLVERS = {"batch": (frank_wolfe, 10), "block": (block_frank_wolfe, 5)}


def draw(n_intervals, path, seed=0):
    """Write features (N, 512) to `path`; lengths and transcripts of the clips."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(40, 131, size=n_intervals // 80)
    lengths = lengths[:np.searchsorted(np.cumsum(lengths), n_intervals - 130)]
    lengths = np.append(lengths, n_intervals - lengths.sum())
    transcripts = rng.integers(N_ACTIONS, size=(len(lengths), 3))
    means = rng.standard_normal((N_ACTIONS + 1, N_FEATURES), dtype=np.float32)
    features = np.lib.format.open_memmap(path, "w+", np.float32, (n_intervals, N_FEATURES))
    row = 0
    for T, transcript in zip(lengths, transcripts, strict=True):
        states = np.full(7, N_ACTIONS)
        states[1::2] = transcript
        cuts = np.sort(rng.choice(np.arange(1, T), 6, replace=False))
        labels = np.repeat(states, np.diff(cuts, prepend=0, append=T))
        features[row:row + T] = means[labels]
        features[row:row + T] += 4 * rng.standard_normal((T, N_FEATURES), dtype=np.float32)
        row += T
    features.flush()
    return lengths, transcripts


def solve(solver, clips, Z0):
    """Seconds of the objective and the passes."""
    start = time.perf_counter()
    objective = RidgeObjective(clips.features, LAM)
    function, n_iter = SOLVERS[solver]
    solution = function(objective, clips, Z0, n_iter=n_iter)
    assert len(solution.step) == n_iter
    return time.perf_counter() - start


class AnonymousPeak(threading.Thread):
    """Samples RssAnon until told to stop."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.stop = 0, threading.Event()

    def run(self):
        while not self.stop.wait(0.005):
            self.peak = max(self.peak, *common.status("RssAnon"))


def child(folder, solver, n_intervals, disk):
    """One run in this process; prints its figures as JSON."""
    few = Clips(np.random.default_rng(0).standard_normal((50, 3)), [50], [[0, 1]], 2)
    solve(solver, few, random_vertices(few))
    path, saved = f"{folder}/{n_intervals}.npy", np.load(f"{folder}/{n_intervals}.npz")
    clips = Clips(np.load(path, mmap_mode="r" if disk else None), saved["lengths"], saved["transcripts"], N_ACTIONS)
    Z0 = random_vertices(clips)
    common.reset_peak()
    (before,) = common.status("VmRSS")
    sampler = AnonymousPeak()
    sampler.start()
    seconds = solve(solver, clips, Z0)
    sampler.stop.set()
    sampler.join()
    print(json.dumps({"seconds": seconds, "peak_MB": sampler.peak if disk else common.status("VmHWM")[0] - before}))


def main():
    options = common.arguments(
        __doc__, ("most", SIZES[-1], "number of intervals to go up to"), ("repeats", 3, "runs of each size"),
        ("child", "", "for the script itself"))
    if options.child:
        return child(*json.loads(options.child))
    sizes = [size for size in SIZES if size <= options.most]
    rows = []
    with tempfile.TemporaryDirectory() as folder, tqdm(total=options.repeats * (len(sizes) + 1) * 2) as bar:
        for n_intervals in sizes:
            lengths, transcripts = draw(n_intervals, f"{folder}/{n_intervals}.npy")
            np.savez(f"{folder}/{n_intervals}.npz", lengths=lengths, transcripts=transcripts)
            for disk in [False, True] if n_intervals == sizes[-1] else [False]:
                runs = {solver: [] for solver in SOLVERS}
                for _ in range(options.repeats):
                    for solver in SOLVERS:
                        call = json.dumps([folder, solver, n_intervals, disk])
                        runs[solver].append(common.in_own_process(Path(__file__), "--child", call, threads=1))
                        bar.update()
                for solver, (_, n_iter) in SOLVERS.items():
                    rows.append({"solver": solver, "intervals": n_intervals, "clips": len(lengths),
                                 "features": "on disk" if disk else "in memory", "passes": n_iter,
                                 **{key: statistics.median(run[key] for run in runs[solver])
                                    for key in ("seconds", "peak_MB")}})
            Path(f"{folder}/{n_intervals}.npy").unlink()
    for solver in SOLVERS:
        own = [row for row in rows if row["solver"] == solver and row["features"] == "in memory"]
        fit = {key: common.exponent(sizes, [row[key] for row in own]) for key in ("seconds", "peak_MB")}
        last = {key: common.exponent(sizes[-2:], [row[key] for row in own[-2:]]) for key in ("seconds", "peak_MB")}
        for row in (row for row in rows if row["solver"] == solver):
            row.update({f"exponent_{key}": value for key, value in fit.items()})
            row.update({f"last_exponent_{key}": value for key, value in last.items()})
    common.report("growth", rows, options, d=N_FEATURES, threads=1, runs=options.repeats)


if __name__ == "__main__":
    main()
