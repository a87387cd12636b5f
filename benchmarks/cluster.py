"""One machine against a Dask cluster of two processes on the same machine: from which size do parts pay?

    python benchmarks/cluster.py

Seconds of a pass (median over the passes after the first) of the batch solver on one process, on two
threads and on one, and of the distributed solver on 2 worker processes of one thread with 4 parts, at 512
features in float32; beside it the overhead: the seconds of a pass when the parts are nearly empty, by the number of
parts. What a pass sends is stated as well.
"""

import json
import statistics
import tempfile
from functools import partial
from pathlib import Path

import common
import numpy as np
from dask.distributed import Client, LocalCluster
from growth import LAM, N_ACTIONS, N_FEATURES, draw
from tqdm import tqdm

from ordering import Clips, RidgeObjective, cluster, frank_wolfe, random_vertices

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
N_PARTS, N_ITER = 4, 12


def load(folder, n_intervals, part, n_parts):
    """The clips of one part, read by the worker that holds it."""
    saved = np.load(f"{folder}/{n_intervals}.npz")
    lengths, transcripts = saved["lengths"], saved["transcripts"]
    own = np.array_split(np.arange(len(lengths)), n_parts)[part]
    first = lengths[:own[0]].sum()
    features = np.load(f"{folder}/{n_intervals}.npy", mmap_mode="r")[first:first + lengths[own].sum()]
    return Clips(np.array(features), lengths[own], transcripts[own], N_ACTIONS)


def seconds_a_pass(solution):
    return statistics.median(np.diff(solution.seconds))


def child(folder, n_intervals):
    """The batch solver on one process."""
    clips = load(folder, n_intervals, 0, 1)
    solution = frank_wolfe(RidgeObjective(clips.features, LAM), clips, random_vertices(clips), n_iter=N_ITER)
    print(json.dumps(seconds_a_pass(solution)))


def on_cluster(client, folder, n_intervals, n_parts):
    """Seconds a pass of the distributed solver."""
    parts = cluster.Parts(client, [partial(load, folder, n_intervals, p, n_parts) for p in range(n_parts)])
    return seconds_a_pass(cluster.frank_wolfe(parts, LAM, n_iter=N_ITER))


def main():
    options = common.arguments(__doc__, ("most", SIZES[-1], "number of intervals to go up to"),
                               ("child", "", "for the script itself"))
    if options.child:
        return child(*json.loads(options.child))
    sizes, rows = [size for size in SIZES if size <= options.most], []
    with (tempfile.TemporaryDirectory() as folder,
          LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as machines,
          Client(machines) as client):
        for n_intervals in tqdm([6000, *sizes], "sizes"):
            lengths, transcripts = draw(n_intervals, f"{folder}/{n_intervals}.npy")
            np.savez(f"{folder}/{n_intervals}.npz", lengths=lengths, transcripts=transcripts)
            if n_intervals == 6000:
                for n_parts in (2, 4, 8, 16, 32):
                    rows.append({"what": "overhead", "intervals": n_intervals, "parts": n_parts,
                                 "seconds_a_pass": on_cluster(client, folder, n_intervals, n_parts)})
                continue
            call = json.dumps([folder, n_intervals])
            for threads in (1, 2):
                seconds = common.in_own_process(Path(__file__), "--child", call, threads=threads)
                rows.append({"what": f"one process, {threads} thread{'s' * (threads > 1)}",
                             "intervals": n_intervals, "parts": 1, "seconds_a_pass": seconds})
            rows.append({"what": "cluster, 2 x 1 thread", "intervals": n_intervals, "parts": N_PARTS,
                         "seconds_a_pass": on_cluster(client, folder, n_intervals, N_PARTS)})
            Path(f"{folder}/{n_intervals}.npy").unlink()
    sent = N_FEATURES * (N_ACTIONS + 1) * (4 + 8) / 1024
    print(f"\nsent a pass and part: {sent:.0f} kB (classifier out in float32, sum back in float64); "
          f"passes measured: {N_ITER}")
    common.report("cluster", rows, options, d=N_FEATURES, dask=common.version("dask"))


if __name__ == "__main__":
    main()
