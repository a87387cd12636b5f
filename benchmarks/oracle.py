"""The linear oracle over the clips of one data set, beside general dynamic time warping.

    python benchmarks/oracle.py

Every method gets the same costs (N, C) and finds the cheapest admissible path of every clip, in one process, on
one thread, with its input checks. librosa and dtw-python take a table of costs (T, S) a clip and the two steps
"stay" and "advance". tslearn has a third step, "advance without time", that cannot be switched off; a constant
added to all costs makes it too dear, so that its best path is the same. It is not among the project's pinned
packages and is left out where it is not installed. The optimal values of all methods are compared first.

Memory: peak of what one call allocates beyond the costs, by tracemalloc (NumPy reports to it; memory that
compiled code takes without NumPy is not seen: the kernel's two tables for the longest clip, stated apart).
"""

import tracemalloc
import warnings

import common
import librosa
import numpy as np
from dtw import dtw
from dtw.stepPattern import StepPattern
from threadpoolctl import threadpool_limits

from ordering import Clips, linear_oracle
from ordering.dtw import cost_table
from ordering.synthetic import make_preset

try:
    from tslearn.metrics import dtw_path_from_metric
except ImportError:
    dtw_path_from_metric = None

STEPS = np.array([[0, 1], [1, 1]])  # librosa: stay, advance
NO_COST = np.zeros(2)
# dtw-python: rows are pattern, steps back in the query (time), in the reference (states), weight (-1 = origin)
PATTERN = StepPattern(np.array([[1, 1, 0, -1], [1, 0, 0, 1], [2, 1, 1, -1], [2, 0, 0, 1]], dtype=float), "N")


def ours(cost, clips):
    return linear_oracle(cost, clips)


def tables(cost, clips):
    """One table (T, S) of costs a clip; the peers' time includes making it, as ours does."""
    for i in range(len(clips)):
        yield cost_table(cost[clips.rows(i)], clips.states(i))


def by_librosa(cost, clips):
    labels = []
    for i, D in enumerate(tables(cost, clips)):
        path = librosa.sequence.dtw(C=D.T, step_sizes_sigma=STEPS, weights_add=NO_COST)[1]
        labels.append(clips.states(i)[path[::-1, 0]])
    return np.concatenate(labels)


def by_dtw_python(cost, clips):
    labels = []
    for i, D in enumerate(tables(cost, clips)):
        labels.append(clips.states(i)[dtw(D, step_pattern=PATTERN).index2])
    return np.concatenate(labels)


def by_tslearn(cost, clips):
    labels = []
    for i, D in enumerate(tables(cost, clips)):
        path, _ = dtw_path_from_metric(D + 1e4, metric="precomputed")
        labels.append(clips.states(i)[[state for _, state in path]])
    return np.concatenate(labels)


def peak_megabytes(function):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main():
    options = common.arguments(__doc__, ("preset", "paper", "quick, book or paper: lengths and transcripts"),
                               ("repeats", 7, "runs of which the median is taken"))

    drawn = make_preset(options.preset, n_features=1)
    clips = Clips(np.zeros((len(drawn.labels), 1)), drawn.lengths, drawn.transcripts, drawn.n_actions)
    cost = np.random.default_rng(0).standard_normal((len(drawn.labels), clips.n_classes))
    methods = {"ordering": ours, "librosa": by_librosa, "dtw-python": by_dtw_python}
    if dtw_path_from_metric:
        methods["tslearn"] = by_tslearn
    else:
        print("tslearn is not installed and is left out")
    K = [len(transcript) for transcript in clips.transcripts]
    print(f"{len(clips)} clips, {clips.lengths.min()} to {clips.lengths.max()} intervals, mean "
          f"{clips.lengths.mean():.0f}; {min(K)} to {max(K)} actions")

    def total(labels):
        return cost[np.arange(len(labels)), labels].sum()

    best = total(ours(cost, clips))
    rows = []
    for name, method in methods.items():
        assert np.isclose(total(method(cost, clips)), best, rtol=1e-9), name
        seconds = common.median_seconds(lambda method=method: method(cost, clips), options.repeats)
        memory = peak_megabytes(lambda method=method: method(cost, clips))
        rows.append({"method": name, "milliseconds": 1000 * seconds, "peak_MB": memory})
    for row in rows:
        row["times_ordering"] = row["milliseconds"] / rows[0]["milliseconds"]
    tables_kb = clips.lengths.max() * np.diff(clips.state_offsets).max() / 1024
    print(f"not seen by tracemalloc: {tables_kb:.1f} kB of back-pointers inside the compiled kernel")
    common.report("oracle", rows, options, clips=len(clips), intervals=len(cost), threads=1,
                  **{f"{name} version": common.version(name) for name in methods if name != "ordering"})

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
