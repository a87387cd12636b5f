"""The paper's experiments: splits, parameters chosen on Val, sweeps that resume, tidy tables.

A *setting* is one method at one labelled fraction of one split; it gives one row or a few. A *sweep* is a list
of settings. Explained in ``book/13-action-labelling.ipynb``.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
import uuid
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from ordering import baselines, metrics
from ordering.at_least_one import minimise_at_least_one
from ordering.clips import Clips
from ordering.ncut import chi_squared_band
from ordering.objective import RidgeObjective, times
from ordering.rounding import round_assignment, round_scores
from ordering.solver import block_frank_wolfe, one_hot, random_vertices

__all__ = ["FRACTIONS", "METHODS", "Protocol", "Setting", "Split", "choose", "draw_split", "extra_loss_weight",
           "load_clips", "run_setting", "save_clips", "settings", "sweep", "table", "visible_labels"]

FRACTIONS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
# Which fractions of the Sup pool a method is run at: weak only, weak and semi-supervised, labels needed.
METHODS = {"uniform": (0.0,), "hard-em": (0.0,), "ncut": (0.0,), "supervised": FRACTIONS[1:], "ours": FRACTIONS,
           "at-least-one": FRACTIONS, "ours-extra-loss": FRACTIONS[1:]}


@dataclass(frozen=True)
class Protocol:
    """All that the settings of a sweep have in common.

    Attributes
    ----------
    size : str, copied into the table
    seed : int, of the splits and of every start
    val_share : float, share of the clips outside test and Sup pool that become Val
    tries : int, random permutations of which a "best-of" split is the best
    k0, lams : grids of the ridge methods; kappa = k0 / N (-1, ..., -1, +1)
    supervised_lams, biases : grids of supervised ridge
    alphas, betas : grids of normalised cuts
    tol, n_iter : stop of the solver, an absolute duality gap or a number of passes. 5.4e-4 is the gap that the
        released code's 200 iterations reach at paper size.
    """

    size: str = "book"
    seed: int = 0
    val_share: float = 0.2
    tries: int = 10_000
    k0: tuple = (0.007, 0.15, 0.18, 0.2, 0.22, 0.25)
    lams: tuple = (3.16e-4, 1e-3, 3.16e-3)
    supervised_lams: tuple = (1e-5, 1e-4, 1e-3, 1e-2)
    biases: tuple = (-0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2)
    alphas: tuple = (0.01, 0.1, 1.0)
    betas: tuple = (1.0, 10.0, 100.0)
    tol: float = 5.4e-4
    n_iter: int = 50


@dataclass(frozen=True)
class Setting:
    """One method at one labelled fraction of one split; `splits` is "best-of" or "plain"."""

    splits: str
    split: int
    fraction: float
    method: str


# ------------------------------------------------------------------------------------------------ splits
@dataclass(frozen=True)
class Split:
    """Clip numbers, ascending: `test`; `val`; `eval`; and `picked`, for each fraction the labelled part of Sup."""

    test: np.ndarray
    val: np.ndarray
    eval: np.ndarray
    picked: dict

    @property
    def train(self):
        """Every clip that is not a test clip."""
        return np.sort(np.concatenate([self.picked[1.0], self.val, self.eval]))


def draw_split(transcripts, n_actions, seed=0, val_share=0.1, tries=10_000, fractions=FRACTIONS):
    """Test, Sup, Val and Eval clips, alike in which actions occur.

    Parameters
    ----------
    transcripts : n sequences of ints
    n_actions : int
    seed : int or sequence of ints
    val_share : float
        Share of Val in what is left after test clips and Sup pool; 0.1 in the paper.
    tries : int
        Each cut in two is the best of so many random permutations by sum_c sqrt |h1_c - h2_c|, h the share of a
        side's clips in which action c occurs (released code: 10,000). With 1 splits are plainly random.
    fractions : floats
        Labelled fractions of the Sup pool. Smaller ones are cut out of larger ones.

    Returns
    -------
    Split
        A tenth of the clips are test clips, half of the rest is the Sup pool.

    Examples
    --------
    >>> split = draw_split([[0], [1], [0, 1]] * 10, n_actions=2, tries=20)
    >>> len(split.test), len(split.picked[1.0]), len(split.val), len(split.eval)
    (3, 13, 1, 13)
    """
    rng = np.random.default_rng(seed)
    presence = np.array([np.bincount(t, minlength=n_actions) > 0 for t in transcripts], dtype=np.float64)

    def cut(clips, size):
        best = (np.inf, None)
        for start in range(0, tries, 500):
            order = np.argsort(rng.random((min(500, tries - start), len(clips))), axis=1)[:, :size]
            inside = presence[clips][order].sum(axis=1)
            outside = presence[clips].sum(axis=0) - inside
            distance = np.sqrt(np.abs(inside / size - outside / max(len(clips) - size, 1))).sum(axis=1)
            i = int(distance.argmin())
            best = min(best, (distance[i], order[i]), key=lambda pair: pair[0])
        side = np.zeros(len(clips), dtype=bool)
        side[best[1]] = True
        return clips[side], clips[~side]

    test, rest = cut(np.arange(len(presence)), max(1, round(0.1 * len(presence))))
    pool, other = cut(rest, len(rest) // 2)
    val, evaluation = cut(other, max(1, round(val_share * len(other))))
    picked = {1.0: pool, 0.0: pool[:0]}
    larger = pool
    for fraction in sorted({f for f in fractions if 0 < f < 1}, reverse=True):
        larger = picked[fraction] = cut(larger, max(1, round(fraction * len(pool))))[0]
    return Split(test, val, evaluation, picked)


# ------------------------------------------------------------------------------------------------ methods
def visible_labels(clips, split, fraction):
    """Labels (N,) of all `clips` that a choice may read, -1 elsewhere: Val and the picked part of Sup.

    Returns the labels that constrain the solution (picked) and those that choose its parameters (Val).
    """
    def only(numbers):
        rows = np.isin(np.arange(len(clips)), numbers).repeat(clips.lengths)
        return np.where(rows, clips.labels, -1)

    return only(split.picked[fraction]), only(split.val)


def choose(method, clips, known, val_labels, protocol, distances=None, objective=None):
    """Solve at every point of the method's grid and keep the best by IoD on Val, for each rounding.

    Parameters
    ----------
    method : str, a key of `METHODS`
    clips : Clips
        All clips but the test clips. Their labels are not read.
    known : (N,) ints
        Labels of the picked clips, -1 elsewhere.
    val_labels : (N,) ints
        Labels of the Val clips, -1 elsewhere.
    protocol : Protocol
    distances : optional, `chi_squared_band` of the clips (for "ncut")
    objective : RidgeObjective, optional
        Any one on the same features; its Gram matrix is used again.

    Returns
    -------
    dict of row name to dict
        "labels" (N,), "free" (N,) labels without the order, "W", "b" or None, "iod_val", "rounding", and the chosen
        parameters under "chosen". Row names end in "-clf" where the classifier's scores are rounded instead of Z.
    """
    val = np.flatnonzero(np.maximum.reduceat(val_labels, clips.offsets[:-1]) >= 0)
    rows = val_labels >= 0
    val_clips = clips.subset(val)
    best = {}

    def offer(name, rounding, scores, chosen, W=None, b=None):
        """Keep a solution if it is the best so far; `scores` are what is rounded, Z or X W + b."""
        labels = round_scores(scores[rows], val_clips)
        iod = metrics.interval_scores(val_labels[rows], labels, val_clips.lengths, clips.background_class).mean
        if name not in best or iod > best[name]["iod_val"]:
            best[name] = {"iod_val": iod, "rounding": rounding, "scores": scores, "chosen": chosen, "W": W, "b": b}

    _SOLVERS[method](offer, method, clips, known, protocol, distances, objective)
    for found in best.values():
        scores = found.pop("scores")
        found["labels"], found["free"] = round_assignment(scores, clips), scores.argmax(axis=1)
    return best


def _uniform(offer, method, clips, known, protocol, distances, objective):
    offer(method, "none", one_hot(baselines.uniform(clips), clips.n_classes), {})


def _hard_em(offer, method, clips, known, protocol, distances, objective):
    for lam in protocol.lams:
        found = baselines.hard_em(clips, lam, return_details=True)
        offer(method, "clf", found.scores, {"lam": lam}, found.W, found.b)


def _ncut(offer, method, clips, known, protocol, distances, objective):
    distances = chi_squared_band(clips) if distances is None else distances
    for alpha, beta in itertools.product(protocol.alphas, protocol.betas):
        found = baselines.normalized_cuts(clips, alpha, beta, distances=distances, random_state=protocol.seed,
                                          return_details=True)
        offer(method, "Z", found.Z, {"alpha": alpha, "beta": beta, "passes": len(found.solution.step),
                                     "gap": found.solution.final_gap})


def _supervised(offer, method, clips, known, protocol, distances, objective):
    rows = np.flatnonzero(known >= 0)
    base = RidgeObjective(clips.features[rows], protocol.supervised_lams[0])
    for lam in protocol.supervised_lams:
        W, b = base.with_settings(lam=lam).classifier(one_hot(known[rows], clips.n_classes))
        scores = times(clips.features, W) + b
        offer(method, "clf", scores, {"lam": lam}, W, b)
        for bias in protocol.biases:
            shift = bias * (np.arange(clips.n_classes) == clips.background_class)
            offer("supervised-bias", "clf", scores + shift, {"lam": lam, "bias": bias}, W, b + shift)


def extra_loss_weight(known):
    """Row weights (N,) that make the ridge objective half the loss on known rows plus half that on the others.

    The paper's section 4.1 adds a loss on labelled data to the one on the rest, each a mean over its own rows.

    Examples
    --------
    >>> extra_loss_weight(np.array([3, -1, -1, -1])).round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    """
    labelled = np.asarray(known) >= 0
    return np.where(labelled, len(known) / (2 * labelled.sum()), len(known) / (2 * (~labelled).sum()))


def _convex(offer, method, clips, known, protocol, distances, objective):
    """Ours, by clamped rows or by the extra loss, and at least one: the whole grid of k0 and lambda."""
    N, C = len(known), clips.n_classes
    supervised = known if (known >= 0).any() else None
    scale = 1.0 / N
    if method == "ours-extra-loss":  # two losses, each of weight 1/2; kappa belongs to the one without labels
        weight = extra_loss_weight(known)
        objective = RidgeObjective(clips.features, protocol.lams[0], row_weight=weight)
        scale = weight[known < 0].max() / N
    elif objective is None:
        objective = RidgeObjective(clips.features, protocol.lams[0])
    solver = minimise_at_least_one if method == "at-least-one" else block_frank_wolfe
    Z0 = random_vertices(clips, random_state=protocol.seed)
    sign = np.where(np.arange(C) == clips.background_class, 1.0, -1.0)
    for lam in protocol.lams:
        at_lam = objective.with_settings(lam=lam)
        for k0 in protocol.k0:
            at = at_lam.with_settings(kappa=k0 * scale * sign)
            found = solver(at, clips, Z0, n_iter=protocol.n_iter, tol=protocol.tol, supervised=supervised)
            W, b = at.classifier(found.Z)
            chosen = {"lam": lam, "k0": k0, "passes": len(found.step), "gap": found.final_gap}
            offer(method, "Z", found.Z, chosen, W, b)
            offer(f"{method}-clf", "clf", times(clips.features, W) + b, chosen, W, b)


_SOLVERS = {"uniform": _uniform, "hard-em": _hard_em, "ncut": _ncut, "supervised": _supervised, "ours": _convex,
            "ours-extra-loss": _convex, "at-least-one": _convex}


# ------------------------------------------------------------------------------------------------ one setting
def run_setting(clips, setting, protocol, distances=None):
    """Rows of one setting: dicts of size, method, split, fraction, chosen parameters and scores.

    Scores are of the Eval clips (`metrics.summary`; `iod_00`... per class; `*_free` without the order at rounding)
    and of the classifier on the test clips: `map` is the released code's 11-point mean over all classes, `map_area`
    the mean of scikit-learn's average precision without background, `ap_00`... the 11-point AP of each class.

    Examples
    --------
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(30, 40)
    >>> rows = run_setting(clips, Setting("plain", 0, 0.0, "uniform"), Protocol(size="tiny"))
    >>> rows[0]["method"], rows[0]["split"], 0 < rows[0]["iod"] < 1
    ('uniform', 0, True)
    """
    start, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        split = _split(clips, setting, protocol)
        known, val_labels = visible_labels(clips, split, setting.fraction)
        gram = setting.method in ("ours", "at-least-one")
        train, rows, objective = _train_part(clips, split.train, protocol, gram)
        found = choose(setting.method, train, known[rows], val_labels[rows], protocol,
                       None if distances is None else distances[rows], objective)
        scored = [{"size": protocol.size, "method": name, "rounding": one["rounding"], "splits": setting.splits,
                   "split": setting.split, "fraction": setting.fraction,
                   "n_labelled": len(split.picked[setting.fraction]), **one["chosen"], "iod_val": one["iod_val"],
                   **_scores(clips, split, rows, one)} for name, one in found.items()]
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu,
             "peak_memory_mb": _peak_memory()}
    return [{**row, **spent} for row in scored]


def _peak_memory():
    """Largest resident memory of this process so far, in MB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:
        return float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _split(clips, setting, protocol):
    tries = {"best-of": protocol.tries, "plain": 1}[setting.splits]
    return draw_split(clips.transcripts, clips.n_actions, (protocol.seed, setting.split), protocol.val_share, tries)


_LAST = {}  # training clips and Gram matrix of the split that this process worked on last


def _train_part(clips, numbers, protocol, gram):
    """Training clips, the mask of their rows in `clips`, and an objective on them if `gram`."""
    if _LAST.get("clips") is not clips or not np.array_equal(_LAST["numbers"], numbers):
        rows = np.isin(np.arange(len(clips)), numbers).repeat(clips.lengths)
        _LAST.update(clips=clips, numbers=numbers, train=clips.subset(numbers), rows=rows, objective=None)
    if gram and _LAST["objective"] is None:
        _LAST["objective"] = RidgeObjective(_LAST["train"].features, protocol.lams[0])
    return _LAST["train"], _LAST["rows"], _LAST["objective"]


def _scores(clips, split, rows, found):
    """All scores of one solution; the only place where Eval and test labels are read."""
    background, C = clips.background_class, clips.n_classes
    part = np.isin(np.arange(len(clips)), split.eval)
    inside, lengths = part.repeat(clips.lengths), clips.lengths[part]
    true, labels, free = clips.labels[inside], found["labels"][inside[rows]], found["free"][inside[rows]]
    scores = metrics.summary(true, labels, lengths, background)
    without = metrics.summary(true, free, lengths, background)
    scores.update({f"{key}_free": without[key] for key in ("iod", "iou", "accuracy")})
    per_class = metrics.interval_scores(true, labels, lengths, background).per_class
    scores.update({f"iod_{c:02d}": value for c, value in enumerate(per_class) if c != background})
    if found["W"] is not None:
        held_out = np.isin(np.arange(len(clips)), split.test).repeat(clips.lengths)
        truth = one_hot(clips.labels[held_out], C)
        test_scores = times(clips.features[held_out], found["W"]) + found["b"]
        present = np.flatnonzero(truth.any(axis=0))  # an action that no test clip has is left out of the means
        ap = metrics.average_precision(truth[:, present], test_scores[:, present])
        area = metrics.average_precision(truth[:, present], test_scores[:, present], "area")
        scores.update(map=ap.mean(), map_area=area[present != background].mean())
        scores.update({f"ap_{c:02d}": value for c, value in zip(present, ap, strict=True)})
    return {key: float(value) for key, value in scores.items()}


# ------------------------------------------------------------------------------------------------ sweeps
def settings(methods=METHODS, splits=range(5), kinds=("best-of",), fractions=FRACTIONS):
    """The settings of a sweep, split after split, so that a sweep cut short has whole splits first.

    Examples
    --------
    >>> len(settings()), settings(["ours"], splits=[0], fractions=[0.0])
    (125, [Setting(splits='best-of', split=0, fraction=0.0, method='ours')])
    """
    return [Setting(kind, split, fraction, method) for kind in kinds for split in splits for method in methods
            for fraction in METHODS[method] if fraction in fractions]


def sweep(data, wanted, protocol, directory, n_jobs=None, progress=True):
    """Run the settings that `directory` does not hold yet, in parallel, and return the table of all.

    Each finished setting is one file that appears whole or not at all, so that a sweep killed at any time goes on
    where it was. joblib runs it: `n_jobs` processes, or whatever `joblib.parallel_config` says, a Dask cluster
    (``backend="dask"``) for example, whose workers see the same files. Numerical libraries are held to one thread.

    Parameters
    ----------
    data : path of a file written by `save_clips`
    wanted : list of Setting
    protocol : Protocol
    directory : path; holds settings of this data and protocol only
    n_jobs : int, optional
    progress : bool

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If `directory` belongs to a sweep with another protocol or other data.
    """
    from joblib import Parallel, delayed

    directory, data = Path(directory), str(data)
    directory.mkdir(parents=True, exist_ok=True)
    _claim(directory, protocol, data)
    missing = [setting for setting in wanted if not _file(directory, setting).exists()]
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_store)(data, setting, protocol, str(directory)) for setting in missing)
    for _ in tqdm(runs, "settings", len(wanted), initial=len(wanted) - len(missing), disable=not progress):
        pass
    return table(directory, wanted)


def table(directory, wanted):
    """The tidy table of those `wanted` settings that `directory` holds: one row a method, split and fraction."""
    import pandas as pd

    files = [_file(directory, setting) for setting in wanted]
    rows = [row for file in files if file.exists() for row in json.loads(file.read_text())]
    found = pd.DataFrame(rows)
    if not len(found):
        return found
    chosen = [c for c in ("lam", "k0", "bias", "alpha", "beta", "passes", "gap") if c in found]
    costs = ["seconds", "cpu_seconds", "peak_memory_mb"]
    per_class = sorted(c for c in found if c[-2:].isdigit())
    key = [c for c in found if c not in chosen + costs + per_class]
    found = found[key + per_class + chosen + costs]
    found = found.sort_values(["size", "splits", "split", "method", "fraction"], ignore_index=True)
    found.attrs["finished"] = sum(file.exists() for file in files)
    return found


def _file(directory, setting):
    return Path(directory) / f"{setting.splits}-{setting.split}-{setting.method}-{setting.fraction:g}.json"


def _store(data, setting, protocol, directory):
    """Run one setting in this process and store its rows."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        clips = load_clips(data)
        distances = _distances(data) if setting.method == "ncut" else None
        _write(_file(directory, setting), run_setting(clips, setting, protocol, distances))
    finally:
        numba.set_num_threads(threads)


def _write(file, content):
    temporary = file.with_suffix(f".{uuid.uuid4().hex}.tmp")
    temporary.write_text(json.dumps(content, indent=0))
    os.replace(temporary, file)


def _claim(directory, protocol, data):
    """A directory keeps to one protocol and one data set; leftovers of a killed run are taken away."""
    for leftover in directory.glob("*.tmp"):
        leftover.unlink(missing_ok=True)
    clips = load_clips(data)
    mine = json.loads(json.dumps({**asdict(protocol), "shape": clips.features.shape,
                                  "checksum": float(clips.features.sum(dtype=np.float64))}))
    file = directory / "sweep.json"
    if not file.exists():
        _write(file, mine)
    other = json.loads(file.read_text())
    if other != mine:
        differs = {key: (mine[key], other.get(key)) for key in mine if mine[key] != other.get(key)}
        raise ValueError("directory: a sweep of this protocol and these data expected, found another; "
                         f"(wanted, there): {differs}")


def save_clips(clips, file):
    """Store labelled clips for `sweep`; histograms that are mostly zero become sparse.

    Examples
    --------
    >>> import tempfile
    >>> from ordering.synthetic import make_clips
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_clips(make_clips(5, 30), f"{folder}/clips.npz")
    ...     len(load_clips(f"{folder}/clips.npz"))
    5
    """
    X = clips.features
    if sp.issparse(X) or np.count_nonzero(X) < 0.2 * X.size:
        X = sp.csr_matrix(X)
        features = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    else:
        features = {"features": X}
    file = Path(file)
    temporary = file.with_suffix(f".{uuid.uuid4().hex}.npz")
    np.savez(temporary, **features, lengths=clips.lengths, labels=clips.labels, n_actions=clips.n_actions,
             transcripts=np.concatenate(clips.transcripts), transcript_lengths=[len(t) for t in clips.transcripts])
    os.replace(temporary, file)


@lru_cache(maxsize=1)
def load_clips(file):
    """Clips of `save_clips`, background around every action; the last file is kept in memory."""
    with np.load(file) as stored:
        if "features" in stored:
            X = stored["features"]
        else:
            X = sp.csr_matrix((stored["data"], stored["indices"], stored["indptr"]), tuple(stored["shape"]))
        transcripts = np.split(stored["transcripts"], np.cumsum(stored["transcript_lengths"])[:-1])
        return Clips(X, stored["lengths"], transcripts, int(stored["n_actions"]), labels=stored["labels"])


@lru_cache(maxsize=1)
def _distances(file):
    return chi_squared_band(load_clips(file))
