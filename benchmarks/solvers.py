"""Duality gap against seconds: the released schedule, our batch solver, our block solver; a grid of settings.

    python benchmarks/solvers.py
    python benchmarks/solvers.py --grid

All start from the same Z0, with the released code's lambda and kappa, on the same float32 features. The released
schedule makes its 200 passes; the others stop at the gap it has then. Seconds count everything from the features
on: checks, Gram matrix, factorisation, passes. Every run is a process of its own, the methods take turns, and
medians are compared; the first solve of every process, on a few clips, loads the compiled code and is not timed.

The schedule does not keep its gaps; passes are those of plain Frank-Wolfe, so those of the batch solver stand for
them in benchmarks-curves.csv, up to rounding.

Memory: peak resident memory (VmHWM) during the method, less what was resident before it, when the features
were already loaded: what a method needs beyond the caller's own features.

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
    return {"gap": tol, "passes": passes, "seconds": time.perf_counter() - start, "reached": reached}


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


def store(folder, preset):
    """Draw the clips once, for all processes; the size of the features in MB."""
    clips = make_preset(preset)
    np.save(f"{folder}/features.npy", clips.features)
    np.save(f"{folder}/Z0.npy", random_vertices(clips))
    ends = np.cumsum([len(t) for t in clips.transcripts])[:-1]
    np.savez(f"{folder}/clips.npz", lengths=clips.lengths, n_actions=clips.n_actions, ends=ends,
             transcripts=np.concatenate(clips.transcripts))
    return clips.features.nbytes / 2**20, clips.features.shape


def main():
    options = common.arguments(
        __doc__, ("preset", "paper", "quick, book or paper"), ("repeats", 3, "runs of each method"),
        ("threads", 0, "of BLAS and of the block solver; 0: as many as there are cores"),
        ("grid", False, "measure the grid of settings instead"), ("child", "", "for the script itself"))
    if options.child:
        folder, method, tol = json.loads(options.child)
        return child(folder, method, tol)
    with tempfile.TemporaryDirectory() as folder:
        size, shape = store(folder, options.preset)

        def measure(method, tol=0.0):
            call = json.dumps([folder, method, tol])
            return common.in_own_process(Path(__file__), "--child", call, threads=options.threads)

        tol = measure("released schedule")["gap"]
        methods = ["grid"] if options.grid else ["released schedule", "batch", "block"]
        runs = {method: [] for method in methods}
        for _ in tqdm(range(options.repeats), "rounds of all methods"):
            for method in methods:
                runs[method].append(measure(method, tol))

    def median(method, key):
        return statistics.median(result[key] for result in runs[method])

    rows = [{"method": method, **{key: median(method, key) for key in ("gap", "passes", "seconds", "peak_MB")}}
            for method in methods]
    origin = {"intervals": shape[0], "features": shape[1], "features_MB": round(size, 1), "runs": options.repeats}
    for row in rows:
        row["peak_over_features"] = row["peak_MB"] / size
        if options.grid:
            row["settings"], row["reached"] = len(GRID_LAM) * len(GRID_KAPPA_N), median("grid", "reached")
        else:
            row["times_faster"] = rows[0]["seconds"] / row["seconds"]
    common.report("grid" if options.grid else "solvers", rows, options, **origin)
    if not options.grid:
        curves = []
        for method in methods:
            middle = sorted(runs[method], key=lambda result: result["seconds"])[options.repeats // 2]
            for p, (seconds, gap) in enumerate(zip(middle["times"], middle["gaps"], strict=True)):
                curves.append({"method": method, "pass": p + 1, "seconds": seconds, "gap": gap})
        common.report("curves", curves, options, quiet=True, **origin)


if __name__ == "__main__":
    main()
