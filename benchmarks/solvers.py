"""Duality gap against seconds: the released schedule, batch and block steps; sizes; a grid of settings.

    python benchmarks/solvers.py
    python benchmarks/solvers.py --sizes
    python benchmarks/solvers.py --grid

All start from the same Z0, with the released code's lambda and kappa, on the same float32 features. The released
schedule makes its 200 passes; the others stop at the gap it has then. Seconds count everything from the features
on: checks, Gram matrix, factorisation, passes. Every run is a process of its own, the methods take turns, and
medians are compared; the first solve of every process, on a few clips, loads the compiled code and is not timed.

The schedule does not keep its gaps; passes are those of plain Frank-Wolfe, so those of the batch solver stand for
them in benchmarks-curves.csv, up to rounding.

Memory: peak resident memory (VmHWM) during the method, less what was resident before it, when the features
were already loaded: what a method needs beyond the caller's own features.

--sizes: the same methods on the data of `growth.py`, 512 features, from 10,000 to 1,000,000 intervals
(the last once, not three times).

--grid: 18 settings (six kappa, three lambda), each by the block solver from where the one before it ended (the
first from Z0) to the gap the schedule had at the released setting, on one Gram matrix; total seconds with the
factorisations.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

import common
import growth
import numpy as np
from released_schedule import released_schedule
from tqdm import tqdm

from ordering import Clips, RidgeObjective, block_frank_wolfe, frank_wolfe, linear_oracle, random_vertices
from ordering.synthetic import make_preset

LAM, KAPPA0 = 3.16e-4, 1e-7  # of the released code
GRID_LAM = (1e-4, 1e-3, 1e-2)
GRID_KAPPA_N = (0.007, 0.15, 0.18, 0.2, 0.22, 0.25)  # kappa0 times the number of intervals


def kappa(clips, kappa0=KAPPA0):
    return kappa0 * np.append(-np.ones(clips.n_actions), 1.0)


def run(method, clips, Z0, tol):
    """Gap, passes, seconds, and the gaps and seconds of every pass."""
    start = time.perf_counter()
    if method == "released schedule":
        times = []

        def oracle(gradient):
            times.append(time.perf_counter() - start)
            return linear_oracle(gradient, clips)

        gap, seconds = released_schedule(clips.features, LAM, kappa(clips), Z0, oracle)
        return {"gap": gap, "passes": 200, "seconds": seconds, "gaps": [None] * 199 + [gap], "times": times}
    objective = RidgeObjective(clips.features, LAM, kappa(clips))
    prepared = time.perf_counter() - start
    solve, n_iter = {"batch": (frank_wolfe, 400), "block": (block_frank_wolfe, 100)}[method]
    solution = solve(objective, clips, Z0, n_iter=n_iter, tol=tol)
    return {"gap": solution.duality_gap[-1], "passes": len(solution.step),
            "seconds": time.perf_counter() - start, "gaps": solution.duality_gap.tolist(),
            "times": (prepared + solution.seconds).tolist()}


def grid(clips, Z0, tol):
    """Seconds for all settings, and how many reached the gap."""
    start, reached, passes = time.perf_counter(), 0, 0
    objective, Z = None, Z0
    for lam in GRID_LAM:
        objective = RidgeObjective(clips.features, lam) if objective is None else objective.with_settings(lam)
        for kappa_n in GRID_KAPPA_N:
            setting = objective.with_settings(lam, kappa(clips, kappa_n / len(clips.features)))
            solution = block_frank_wolfe(setting, clips, Z, n_iter=200, tol=tol)
            Z = solution.Z
            reached, passes = reached + solution.converged, passes + len(solution.step)
    return {"gap": tol, "passes": passes, "seconds": time.perf_counter() - start,
            "settings": len(GRID_LAM) * len(GRID_KAPPA_N), "reached": reached}


def child(folder, method, tol):
    """One run in this process; prints its figures as JSON."""
    few = make_preset("quick", n_clips=60, n_features=20)
    Z0 = random_vertices(few)
    run("block" if method == "grid" else method, few, Z0, 0.0)
    features, Z0 = np.load(f"{folder}/features.npy"), np.load(f"{folder}/Z0.npy")
    with np.load(f"{folder}/clips.npz") as file:
        transcripts = np.split(file["transcripts"], file["ends"])
        clips = Clips(features, file["lengths"], transcripts, int(file["n_actions"]))
    common.reset_peak()
    (before,) = common.status("VmRSS")
    result = grid(clips, Z0, tol) if method == "grid" else run(method, clips, Z0, tol)
    result["peak_MB"] = common.status("VmHWM")[0] - before
    print(json.dumps(result))


def store(folder, what):
    """Draw the clips of a preset, or that many intervals, once for all processes; the shape of the features."""
    if isinstance(what, str):
        clips = make_preset(what)
        np.save(f"{folder}/features.npy", clips.features)
    else:
        lengths, transcripts = growth.draw(what, f"{folder}/features.npy")
        clips = Clips(np.load(f"{folder}/features.npy", mmap_mode="r"), lengths, transcripts, growth.N_ACTIONS)
    np.save(f"{folder}/Z0.npy", random_vertices(clips))
    ends = np.cumsum([len(t) for t in clips.transcripts])[:-1]
    np.savez(f"{folder}/clips.npz", lengths=clips.lengths, n_actions=clips.n_actions, ends=ends,
             transcripts=np.concatenate(clips.transcripts))
    return clips.features.shape


def measure(what, methods, options):
    """Rows of the table and of the curves for one data set: medians of runs in which the methods take turns."""
    with tempfile.TemporaryDirectory() as folder:
        N, d = store(folder, what)

        def one(method, tol=0.0):
            call = json.dumps([folder, method, tol])
            return common.in_own_process(Path(__file__), "--child", call, threads=options.threads)

        tol = one("released schedule")["gap"]
        runs, n_runs = {method: [] for method in methods}, options.repeats if N < 500_000 else 1
        for _ in tqdm(range(n_runs), f"{N} intervals, rounds of all methods"):
            for method in methods:
                runs[method].append(one(method, tol))
    origin = {"intervals": N, "features": d, "features_MB": N * d * 4 / 2**20, "runs": n_runs}
    rows, curves = [], []
    for method in methods:
        row = {key: statistics.median(run[key] for run in runs[method])
               for key in ("gap", "passes", "seconds", "settings", "reached", "peak_MB") if key in runs[method][0]}
        row["peak_over_features"] = row["peak_MB"] / origin["features_MB"]
        row["times_faster"] = rows[0]["seconds"] / row["seconds"] if rows else 1.0
        rows.append({"method": method, **origin, **row})
        if "times" in runs[method][0]:
            middle = sorted(runs[method], key=lambda run: run["seconds"])[n_runs // 2]
            curves += [{"method": method, **origin, "pass": p + 1, "seconds": seconds, "gap": gap}
                       for p, (seconds, gap) in enumerate(zip(middle["times"], middle["gaps"], strict=True))
                       if p < 20 or (p + 1) % 5 == 0 or p + 1 == len(middle["gaps"])]
    return rows, curves


def main():
    options = common.arguments(
        __doc__, ("preset", "paper", "quick, book or paper"), ("repeats", 3, "runs of each method"),
        ("threads", 0, "of BLAS and of the block solver; 0: as many as there are cores"),
        ("sizes", False, "measure on growing data instead"), ("most", 1_000_000, "intervals to go to then"),
        ("grid", False, "measure the grid of settings instead"), ("child", "", "for the script itself"))
    if options.child:
        folder, method, tol = json.loads(options.child)
        return child(folder, method, tol)
    methods = ["grid"] if options.grid else ["released schedule", "batch", "block"]
    sizes = [n for n in (10_000, 100_000, 1_000_000) if n <= options.most]
    rows, curves = [], []
    for what in sizes if options.sizes else [options.preset]:
        more_rows, more_curves = measure(what, methods, options)
        rows, curves = rows + more_rows, curves + more_curves
    common.report("grid" if options.grid else "sizes" if options.sizes else "solvers", rows, options)
    if curves:
        name = "sizes-curves" if options.sizes else "curves"
        common.report(name, curves, options, quiet=True)


if __name__ == "__main__":
    main()
