"""The paper's experiments: splits, parameters chosen on Val, sweeps that resume, tidy tables.

A *setting* is one method at one labelled fraction of one split; it gives one row or a few. A *sweep* is a list
of settings, a *plan* all that they have in common. Explained in ``book/13-action-labelling.ipynb``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from ordering import baselines, metrics
from ordering._check import one_of
from ordering._extras import needs
from ordering._files import shared_folder, whole_file
from ordering._stored import read_json
from ordering.admissible import Ordered, one_hot, random_vertices, round_scores
from ordering.at_least_one import AtLeastOne
from ordering.clips import Clips
from ordering.features import linear_scores
from ordering.ncut import chi_squared_band
from ordering.objective import RidgeObjective
from ordering.solver import block_frank_wolfe

with needs("experiments", __name__):
    import pandas as pd
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

__all__ = ["FRACTIONS", "GRIDS", "METHODS", "Candidate", "Choice", "Plan", "Setting", "Split", "candidates", "choose",
           "draw_split", "extra_loss_weight", "run_setting", "settings", "sweep", "table", "visible_labels"]

FRACTIONS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
ANY = (0.0, 0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8, 1.0)  # of this grid or the authors'
# Which fractions of the Sup pool a method can be run at: weak only, weak and semi-supervised, labels needed.
METHODS = {"uniform": (0.0,), "hard-em": (0.0,), "ncut": (0.0,), "supervised": ANY[1:], "ours": ANY,
           "at-least-one": ANY, "at-least-one-literal": (0.0, 0.25, 1.0), "ours-extra-loss": ANY[1:]}
# What a plan on a grid has other than the defaults of `Plan`. The authors' is that of their final experiment, which
# the public history of their repository holds.
GRIDS: dict[str, dict[str, Any]] = {"ours": {}, "authors": {
    "fractions": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "lams": tuple(map(float, np.geomspace(1e-6, 1e-1, 3))),
    "kappa0": (0.0, *map(float, np.geomspace(1e-7, 1e-1, 9))), "background_weights": (1.0, 1e2, 1e4, 1e6)}}
KEY = ["size", "grid", "draw", "splits", "split", "method", "fraction"]  # tells the rows of a table apart


@dataclass(frozen=True)
class Plan:
    """All that the settings of a sweep have in common.

    Attributes
    ----------
    size, grid, draw : copied into the table: the preset, the name of the grid, the seed of the data
    seed : int, of the splits and of every start
    fractions : labelled fractions of the Sup pool that a split has a part for
    val_share : float, share of the clips outside test and Sup pool that become Val
    tries : int, random permutations of which a "best-of" split is the best
    k0, lams : grids of the ridge methods; kappa = k0 / N (-1, ..., -1, +1)
    kappa0 : grid of kappa0 itself, in place of k0
    background_weights : grid of the weight of background in the quadratic part
    supervised_lams, biases : grids of supervised ridge
    alphas, betas : grids of normalised cuts
    tol, n_iter : stop of the solver, an absolute duality gap for a background weight of 1, or a number of passes.
        5.4e-4 is the gap that the released code's 200 iterations reach at paper size; what they leave grows
        with the weight (`benchmarks/stops.py`).
    every_point : bool, keep the scores of every point of a grid, less those of each class, and not the choice alone
    """

    size: str = "book"
    grid: str = "ours"
    draw: int = 0
    seed: int = 0
    fractions: tuple[float, ...] = FRACTIONS
    val_share: float = 0.2
    tries: int = 10_000
    k0: tuple[float, ...] = (0.007, 0.15, 0.18, 0.2, 0.22, 0.25)
    lams: tuple[float, ...] = (3.16e-4, 1e-3, 3.16e-3)
    kappa0: tuple[float, ...] = ()
    background_weights: tuple[float, ...] = (1.0,)
    supervised_lams: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    biases: tuple[float, ...] = (-0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2)
    alphas: tuple[float, ...] = (0.01, 0.1, 1.0)
    betas: tuple[float, ...] = (1.0, 10.0, 100.0)
    tol: float = 5.4e-4
    n_iter: int = 50
    every_point: bool = False

    @classmethod
    def on(cls, grid: str, **changes: Any) -> Plan:
        """The plan on one of the `GRIDS`, with changes.

        Examples
        --------
        >>> plan = Plan.on("authors", size="paper")
        >>> len(plan.background_weights) * len(plan.lams) * len(plan.kappa0) * len(plan.fractions)
        720
        """
        return cls(grid=grid, **{**GRIDS[one_of("grid", grid, GRIDS)], **changes})


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
    picked: dict[float, np.ndarray]

    @property
    def train(self) -> np.ndarray:
        """Every clip that is not a test clip."""
        return np.sort(np.concatenate([self.picked[1.0], self.val, self.eval]))


def draw_split(transcripts: Sequence[ArrayLike], n_actions: int, seed: int | Sequence[int] = 0,
               val_share: float = 0.1, tries: int = 10_000, fractions: Iterable[float] = FRACTIONS) -> Split:
    """Test, Sup, Val and Eval clips, alike in which actions occur.

    Parameters
    ----------
    transcripts : n sequences of ints
    n_actions : int
    seed : int or sequence of ints
    val_share : float
        Share of Val in what is left after test clips and Sup pool; 0.1 in the paper.
    tries : int
        Each cut in two is the best of so many random permutations by ``sum_c sqrt |h1_c - h2_c|``, h the share of a
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
        least, side = np.inf, np.zeros(len(clips), dtype=bool)
        for start in range(0, tries, 500):
            order = np.argsort(rng.random((min(500, tries - start), len(clips))), axis=1)[:, :size]
            inside = presence[clips][order].sum(axis=1)
            outside = presence[clips].sum(axis=0) - inside
            distance = np.sqrt(np.abs(inside / size - outside / max(len(clips) - size, 1))).sum(axis=1)
            best = int(distance.argmin())
            if distance[best] < least:
                least, side = distance[best], np.isin(np.arange(len(clips)), order[best])
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
def visible_labels(clips: Clips, split: Split, fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels (N,) of all `clips` that a choice may read, -1 elsewhere: Val and the picked part of Sup.

    Returns the labels that constrain the solution (picked) and those that choose its parameters (Val).
    """
    if clips.labels is None:
        raise ValueError("clips: labelled ones expected, found no labels")
    picked, val = (np.where(clips.mask(part), clips.labels, -1) for part in (split.picked[fraction], split.val))
    return picked, val


class Candidate(NamedTuple):
    """A solution at one point of a method's grid.

    It competes for the row `name` of the table. `scores` (N, C) are what is rounded: Z, or X W + b of the
    classifier `W`, `b` (rounding "clf"); `chosen` is the point of the grid and what the solver says.
    """

    name: str
    rounding: str
    scores: np.ndarray
    chosen: dict[str, float]
    W: np.ndarray | None = None
    b: np.ndarray | None = None


@dataclass(frozen=True)
class Choice:
    """The best candidate of a row by IoD on Val: `labels` (N,) and, without the order, `free` (N,)."""

    labels: np.ndarray
    free: np.ndarray
    iod_val: float
    rounding: str
    chosen: dict[str, float]
    W: np.ndarray | None
    b: np.ndarray | None


def choose(method: str, clips: Clips, known: np.ndarray, val_labels: np.ndarray, plan: Plan) -> dict[str, Choice]:
    """Solve at every point of the method's grid and keep the best by IoD on Val, for each row of the table.

    Parameters
    ----------
    method : str, a key of `METHODS`
    clips : Clips
        All clips but the test clips. Their labels are not read.
    known : (N,) ints
        Labels of the picked clips, -1 elsewhere.
    val_labels : (N,) ints
        Labels of the Val clips, -1 elsewhere.
    plan : Plan

    Returns
    -------
    dict of row name to Choice
        Row names end in "-clf" where the classifier's scores are rounded instead of Z.
    """
    best: dict[str, tuple[float, Candidate]] = {}
    for iod, one in _judged(method, clips, known, val_labels, plan):
        if one.name not in best or iod > best[one.name][0]:
            best[one.name] = iod, one
    return {name: _choice(clips, *found) for name, found in best.items()}


def _judged(method, clips, known, val_labels, plan):
    """IoD on Val and candidate, one after another."""
    rows = val_labels >= 0
    val = clips.subset(np.logical_or.reduceat(rows, clips.offsets[:-1]))
    for one in candidates(method, clips, known, plan):
        labels = round_scores(one.scores[rows], val)
        yield metrics.interval_scores(val_labels[rows], labels, val.lengths, clips.background_class).mean, one


def _choice(clips, iod_val, one):
    return Choice(round_scores(one.scores, clips), one.scores.argmax(axis=1), iod_val, one.rounding, one.chosen,
                  one.W, one.b)


def candidates(method: str, clips: Clips, known: np.ndarray, plan: Plan) -> Iterator[Candidate]:
    """The solutions that `choose` chooses from, with the same arguments, one after another."""
    match method:
        case "uniform":
            yield Candidate(method, "none", one_hot(baselines.uniform(clips), clips.n_classes), {})
        case "hard-em":
            for lam in plan.lams:
                found = baselines.hard_em(clips, lam, return_details=True)
                yield Candidate(method, "clf", found.scores, {"lam": lam}, found.W, found.b)
        case "ncut":
            yield from _normalised_cuts(clips, plan)
        case "supervised":
            yield from _supervised(clips, known, plan)
        case "ours" | "ours-extra-loss" | "at-least-one" | "at-least-one-literal":
            yield from _relaxed(method, clips, known, plan)
        case _:
            raise ValueError(f"method: one of {', '.join(METHODS)} expected, found {method!r}")


def _normalised_cuts(clips, plan):
    distances = chi_squared_band(clips)
    for alpha, beta in itertools.product(plan.alphas, plan.betas):
        found = baselines.normalized_cuts(clips, alpha, beta, distances=distances, random_state=plan.seed,
                                          return_details=True)
        yield Candidate("ncut", "Z", found.Z, {"alpha": alpha, "beta": beta, **_account(found.solution)})


def _supervised(clips, known, plan):
    rows = np.flatnonzero(known >= 0)
    base = RidgeObjective(clips.features[rows], plan.supervised_lams[0])
    for lam in plan.supervised_lams:
        W, b = base.with_settings(lam=lam).classifier(one_hot(known[rows], clips.n_classes))
        scores = linear_scores(clips.features, W, b)
        yield Candidate("supervised", "clf", scores, {"lam": lam}, W, b)
        for bias in plan.biases:
            shift = bias * (np.arange(clips.n_classes) == clips.background_class)
            yield Candidate("supervised-bias", "clf", scores + shift, {"lam": lam, "bias": bias}, W, b + shift)


def extra_loss_weight(known: ArrayLike) -> np.ndarray:
    """Row weights (N,) that make the ridge objective half the loss on known rows plus half that on the others.

    The paper's section 4.1 adds a loss on labelled data to the one on the rest, each a mean over its own rows.

    Examples
    --------
    >>> extra_loss_weight(np.array([3, -1, -1, -1])).round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    """
    labelled = np.asarray(known) >= 0
    return np.where(labelled, len(labelled) / (2 * labelled.sum()), len(labelled) / (2 * (~labelled).sum()))


def _relaxed(method, clips, known, plan):
    """Ours, by clamped rows or by the extra loss, and at least one: the whole grid of weight, penalty and lambda.

    Each solution is the start of the one at the next lambda, and that at the first lambda of the one at the next
    penalty, which is much further away.
    """
    weight, scale = None, 1.0 / len(known)
    if method == "ours-extra-loss":  # two losses, each of weight 1/2; kappa belongs to the one without labels
        weight = extra_loss_weight(known)
        scale = weight[known < 0].max() / len(known)
    base = RidgeObjective(clips.features, plan.lams[0], row_weight=weight)
    bases = [base.with_settings(lam) for lam in plan.lams]
    admissible, Z0 = _set(method, clips, known), random_vertices(clips, random_state=plan.seed)
    background = np.arange(clips.n_classes) == clips.background_class
    penalties = [(k / scale, k) for k in plan.kappa0] or [(k0, k0 * scale) for k0 in plan.k0]
    for w, (k0, kappa0) in itertools.product(plan.background_weights, penalties):
        Z = Z0
        for base in bases:
            objective = base.with_settings(None, kappa0 * np.where(background, 1.0, -1.0), np.where(background, w, 1.0))
            found = block_frank_wolfe(objective, admissible, Z, plan.n_iter, plan.tol * w)
            W, b = objective.classifier(found.Z)
            chosen = {"lam": base.lam, "k0": k0, "kappa0": kappa0, "background_weight": w, **_account(found)}
            yield Candidate(method, "Z", found.Z, chosen, W, b)
            yield Candidate(f"{method}-clf", "clf", linear_scores(clips.features, W, b), chosen, W, b)
            Z, Z0 = found.Z, found.Z if base is bases[0] else Z0


def _set(method, clips, known):
    if method.startswith("at-least-one"):
        return AtLeastOne(clips, known, others=method == "at-least-one-literal")
    return Ordered(clips, known)


def _account(solution):
    return {"passes": len(solution.step), "gap": solution.final_gap}


# ------------------------------------------------------------------------------------------------ one setting
def run_setting(clips: Clips, setting: Setting, plan: Plan) -> list[dict[str, Any]]:
    """Rows of one setting: dicts of size, grid, draw, method, split, fraction, chosen parameters and scores.

    Scores are of the Eval clips (`metrics.summary`; `iod_00`... per class; `*_free` without the order at rounding)
    and of the classifier on the test clips: `map` is the released code's 11-point mean over all classes, `map_area`
    the mean of scikit-learn's average precision without background, `ap_00`... the 11-point AP of each class.

    Examples
    --------
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(30, 40)
    >>> rows = run_setting(clips, Setting("plain", 0, 0.0, "uniform"), Plan(size="tiny"))
    >>> rows[0]["method"], rows[0]["split"], 0 < rows[0]["iod"] < 1
    ('uniform', 0, True)
    """
    start, cpu = time.perf_counter(), time.process_time()
    split = _split(clips, setting, plan)
    known, val_labels = visible_labels(clips, split, setting.fraction)
    inside, train = clips.mask(split.train), clips.subset(split.train)
    given = setting.method, train, known[inside], val_labels[inside], plan
    found = choose(*given).items() if not plan.every_point else (
        (setting.method, _choice(train, *one)) for one in _judged(*given) if one[1].name == setting.method)
    rows = [{"size": plan.size, "grid": plan.grid, "draw": plan.draw, "method": name, "rounding": one.rounding,
             "splits": setting.splits, "split": setting.split, "fraction": setting.fraction,
             "n_labelled": len(split.picked[setting.fraction]), **one.chosen, "iod_val": one.iod_val,
             **_scores(clips, split, one)} for name, one in found]
    if plan.every_point:
        rows = [{key: value for key, value in row.items() if not key[-2:].isdigit()} for row in rows]
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu,
             "peak_memory_mb": _peak_memory()}
    return [row | spent for row in rows]


def _peak_memory():
    """Largest resident memory of this process so far, in MB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:
        return float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _split(clips, setting, plan):
    tries = {"best-of": plan.tries, "plain": 1}[setting.splits]
    return draw_split(clips.transcripts, clips.n_actions, (plan.seed, setting.split), plan.val_share, tries,
                      plan.fractions)


def _scores(clips, split, found):
    """All scores of one solution; the only place where Eval and test labels are read."""
    background = clips.background_class
    evaluation = clips.mask(split.eval)
    here = evaluation[clips.mask(split.train)]  # among the rows of the solution
    true, lengths = clips.labels[evaluation], clips.lengths[split.eval]
    scores = metrics.summary(true, found.labels[here], lengths, background)
    free = metrics.summary(true, found.free[here], lengths, background)
    scores.update({f"{key}_free": free[key] for key in ("iod", "iou", "accuracy")})
    per_class = metrics.interval_scores(true, found.labels[here], lengths, background).per_class
    scores.update({f"iod_{c:02d}": value for c, value in enumerate(per_class) if c != background})
    if found.W is not None:
        test = clips.subset(split.test)
        truth, ranked = one_hot(test.labels, clips.n_classes), linear_scores(test.features, found.W, found.b)
        present = np.flatnonzero(truth.any(axis=0))  # an action that no test clip has is left out of the means
        ap = metrics.average_precision(truth[:, present], ranked[:, present])
        area = metrics.average_precision(truth[:, present], ranked[:, present], "area")
        scores.update(map=ap.mean(), map_area=area[present != background].mean())
        scores.update({f"ap_{c:02d}": value for c, value in zip(present, ap, strict=True)})
    return {key: float(value) for key, value in scores.items()}


# ------------------------------------------------------------------------------------------------ sweeps
def settings(methods: Iterable[str] = tuple(METHODS), splits: Iterable[int] = range(5),
             kinds: Iterable[str] = ("best-of",), fractions: Iterable[float] = FRACTIONS) -> list[Setting]:
    """The settings of a sweep, split after split, so that a sweep cut short has whole splits first.

    Examples
    --------
    >>> len(settings()), settings(["ours"], splits=[0], fractions=[0.0])
    (140, [Setting(splits='best-of', split=0, fraction=0.0, method='ours')])
    """
    return [Setting(kind, split, fraction, method) for kind in kinds for split in splits for method in methods
            for fraction in METHODS[method] if fraction in fractions]


def sweep(data: str | os.PathLike[str], wanted: Sequence[Setting], plan: Plan, directory: str | os.PathLike[str],
          n_jobs: int | None = None, progress: bool = True) -> pd.DataFrame:
    """Run the settings that `directory` does not hold yet, in parallel, and return the table of all.

    Each finished setting is one file that appears whole or not at all, so that a sweep killed at any time goes on
    where it was. joblib runs it: `n_jobs` processes, or whatever `joblib.parallel_config` says, a Dask cluster
    (``backend="dask"``) for example, whose workers see the same files. Numerical libraries are held to one thread.

    Parameters
    ----------
    data : path of a file written by `Clips.save`
    wanted : list of Setting
    plan : Plan
    directory : path; holds settings of this data and plan only
    n_jobs : int, optional
    progress : bool

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If `directory` belongs to a sweep with another plan or other data.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with shared_folder(directory):
        _claim(directory, plan, data)
        missing = [setting for setting in wanted if not _file(directory, setting).exists()]
        runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(_store)(data, setting, plan, directory, os.getpid()) for setting in missing)
        for _ in tqdm(runs, f"{plan.grid} grid, draw {plan.draw}", len(wanted), initial=len(wanted) - len(missing),
                      disable=not progress):
            pass
        return table(directory, wanted)


def table(directory: str | os.PathLike[str], wanted: Sequence[Setting]) -> pd.DataFrame:
    """The tidy table of those `wanted` settings that `directory` holds: one row a method, split and fraction."""
    files = [file for setting in wanted if (file := _file(directory, setting)).exists()]
    found = pd.DataFrame([row for file in files for row in read_json(file)])
    if not len(found):
        return found
    chosen = [c for c in ("lam", "k0", "kappa0", "background_weight", "bias", "alpha", "beta", "passes", "gap")
              if c in found]
    costs = ["seconds", "cpu_seconds", "peak_memory_mb"]
    per_class = sorted(c for c in found if c[-2:].isdigit())
    key = [c for c in found if c not in chosen + costs + per_class]
    found = found[key + per_class + chosen + costs]
    found = found.sort_values(KEY, ignore_index=True)
    found.attrs["finished"] = len(files)
    return found


def _file(directory, setting):
    return Path(directory) / f"{setting.splits}-{setting.split}-{setting.method}-{setting.fraction:g}.json"


_TIED: list[int] = []  # processes that this one ends with


def _end_with(parent):
    """Let a worker on the same machine end when the sweep that started it is killed; it would wait for minutes."""
    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    if os.getppid() == parent and not _TIED:
        _TIED.append(parent)
        threading.Thread(target=watch, daemon=True).start()


def _store(data, setting, plan, directory, parent):
    """Run one setting in this process and store its rows."""
    _end_with(parent)
    _claim(directory, plan, data)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            _write(_file(directory, setting), run_setting(Clips.load(data), setting, plan))
    finally:
        numba.set_num_threads(threads)


def _write(path, content):
    with whole_file(path) as file:
        json.dump(content, file, indent=0)


def _claim(directory, plan, data):
    """A directory keeps to one plan and one data file, whatever becomes of the file under that name."""
    with open(data, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    mine = json.loads(json.dumps({**asdict(plan), "sha256": checksum}))
    if not (directory / "sweep.json").exists():
        _write(directory / "sweep.json", mine)
    other = read_json(directory / "sweep.json")
    if other != mine:
        differs = {key: (mine[key], other.get(key)) for key in mine if mine[key] != other.get(key)}
        raise ValueError("directory: a sweep of this plan and these data expected, found another; "
                         f"(wanted, there): {differs}")
