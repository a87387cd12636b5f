"""The recommended setting on real and synthetic sets, beside what it has to beat and what it may reach.

    python benchmarks/recommended.py [--seeds 5] [--minutes 600] [--rows 1000000]

Writes results/recommended.csv (every set, lists with background runs and lists of actions only, every method),
recommended-labels.csv (IoU against the share of labelled clips) and recommended-calibration.csv (expected calibration
error, with the exponent chosen on the other sets). The cheap methods come first; the 2014 setting and each change
alone are left out on sets of more than --rows intervals. After --minutes no new run starts: what is missing then is
not in the tables, which are written as they grow. --resume keeps what they have and runs what is missing.
"""

import time
from contextlib import contextmanager

import common
import numpy as np
import pandas as pd

from ordering import Clips, OrderedActionLabeling
from ordering.metrics import interval_scores, summary
from ordering.paper import real
from ordering.paper.experiments import Plan
from ordering.recommended import Recommended, estimator, rounds
from ordering.synthetic import make_preset

TEMPERS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.25)
CURVES = ("gestures", "motion capture, pieces", "birdsong", "chords", "few60", "touching", "book")


def touching(seed):
    """Six in ten stretches of background cut out of synthetic clips."""
    clips, rng = make_preset("quick", random_state=seed, sep=1.6), np.random.default_rng(seed)
    keep = np.ones(len(clips.labels), bool)
    clip = np.repeat(np.arange(len(clips)), clips.lengths)
    cut = np.flatnonzero(np.diff(clips.labels) | np.diff(clip)) + 1
    for a, b in zip(np.r_[0, cut], np.r_[cut, len(keep)], strict=True):
        keep[a:b] = clips.labels[a] != clips.background_class or rng.random() >= 0.6
    lengths, labels = np.bincount(clip[keep], minlength=len(clips)), clips.labels[keep]
    return Clips(clips.features[keep], lengths, clips.transcripts, clips.n_actions, "optional", labels)


def heavy(seed, n=150, A=10, d=40):
    """Not Gaussian: classes of three modes, Student noise, a random nonlinear lift, skewed columns."""
    rng = np.random.default_rng(seed)
    modes = rng.standard_normal((A + 1, 3, 8)) * 1.5
    first, second = rng.standard_normal((8, 60)) / 2, rng.standard_normal((60, d)) / 6
    X, labels, lengths, lists = [], [], [], []
    for _ in range(n):
        lists.append(rng.integers(0, A, rng.integers(2, 7)))
        path, rows = [], []
        for a in [*lists[-1], None]:
            if rng.random() < 0.6:
                path.append((A, max(2, int(rng.gamma(2, 5)))))
            if a is not None:
                path.append((a, max(2, int(rng.lognormal(2.3, 0.6)))))
        for c, length in path:
            e = rng.standard_t(3, (length, 8)) * 0.8
            for t in range(1, length):
                e[t] = 0.6 * e[t - 1] + 0.8 * e[t]
            rows.append(modes[c, rng.integers(3)] + 0.5 * rng.standard_normal(8) + e)
            labels += [c] * length
        h = np.concatenate(rows) + 0.4 * rng.standard_normal(8)
        x = np.tanh(h @ first) @ second + 0.1 * rng.standard_t(2.5, (len(h), d))
        x[:, ::3] = np.exp(np.clip(x[:, ::3], -20, 5))
        X.append(x)
        lengths.append(len(h))
    return Clips(np.concatenate(X).astype(np.float32), lengths, lists, A, "optional", labels)


SYNTHETIC = {
    "few30": lambda s: make_preset("quick", 2 + s, n_clips=30),
    "few60": lambda s: make_preset("quick", 3 + s, n_clips=60),
    "one mode": lambda s: make_preset("quick", 4 + s, n_modes=1),
    "short": lambda s: make_preset("quick", 5 + s, n_clips=200, action_length=3.5, gap_length=2.5, clip_range=(5, 60),
                                   autocorrelation=0.3, sep=2.0),
    "heavy": lambda s: heavy(7 + s), "touching": lambda s: touching(9 + s),
    "long": lambda s: make_preset("quick", 7 + s, n_clips=60, action_length=40, gap_length=40, clip_range=(40, 900),
                                  sep=1.6),
    "book": lambda s: make_preset("book", s), "hard": lambda s: make_preset("book", 1 + s, sep=1.05),
    "80 rare": lambda s: make_preset("book", 6 + s, n_actions=80, sep=1.6),
}


def with_lists(clips, mode):
    """The same clips with lists of actions only, background optional, or with every run in the list."""
    if mode == "runs":
        return real.pauses_listed(clips)
    if clips.background != "around":
        return clips
    return Clips(clips.features, clips.lengths, clips.transcripts, clips.n_actions, "optional", clips.labels)


def chosen_2014(clips, seed=0):
    """The 2014 setting with lambda and kappa that are best on the labels of one clip in five."""
    clips = real.standardised(clips)
    val = np.random.default_rng(seed).permutation(len(clips))[:max(1, len(clips) // 5)]
    rows, best = clips.mask(val), (-1.0, None)
    for lam in (1e-4, 1e-3, 1e-2):
        for kappa0 in (0.0, 1e-6, 1e-5, 1e-4):
            model = OrderedActionLabeling(lam, kappa0, solver="block", tol=Plan.tol, n_iter=Plan.n_iter)
            labels = model.fit(clips).labels_
            score = interval_scores(clips.labels[rows], labels[rows], clips.lengths[np.sort(val)], background_of(clips),
                                    normalize="union").mean
            best = max(best, (score, labels), key=lambda b: b[0])
    return best[1]


@contextmanager
def changed(module, name, value):
    """A constant of the recommended setting, for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    yield
    setattr(module, name, before)


def without(module, name, value):
    def run(clips):
        with changed(module, name, value):
            return Recommended().fit(clips).labels_
    return run


CHEAP = {
    "even split": real.METHODS["uniform"], "recommended": None, "LDA all labels": real.METHODS["lda-all"],
    "ridge all labels": real.METHODS["ridge-all"],
}
DEAR = {
    "hard EM": real.METHODS["hard-em"], "2014 released": real.METHODS["2014"],
    "no annealing": without(rounds, "FIRST_WEIGHT", rounds.WEIGHT),
    "no segments": lambda clips: Recommended(segments=False).fit(clips).labels_,
    "no finish": without(estimator, "FINISH", 0.0),
    "centring 1": lambda clips: Recommended(centring=1.0).fit(clips).labels_,
    "durations 1": lambda clips: Recommended(minimum_duration=1).fit(clips).labels_,
    "2014 on Val": chosen_2014,
}
SPARE = {}  # background class of sets whose lists name it


def background_of(clips):
    return clips.background_class if clips.background_class is not None else SPARE.get(id(clips))


class Tables:
    """The three tables, written whenever one has grown."""

    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + 60 * options.minutes
        self.main, self.labels, self.sure = map(self._stored, ("", "-labels", "-calibration"))
        for row in self.sure:
            row["errors"] = {t: row[f"ece_{t}"] for t in TEMPERS}
        self.done = {(row["set"], row["lists"], row["seed"], row["method"]) for row in self.main}
        self.curves = {(row["set"], row["order"]) for row in self.labels}

    def _stored(self, name):
        file = self.options.out / f"recommended{name}.csv"
        return pd.read_csv(file).to_dict("records") if self.options.resume and file.exists() else []

    def over(self):
        return time.monotonic() > self.end

    def run(self, name, mode, seed, clips, method, function):
        if self.over() or (name, mode, seed, method) in self.done:
            return
        background, start = background_of(clips), time.perf_counter()
        if method == "recommended":
            model = Recommended().fit(clips)
            found = model.labels_
        else:
            found = function(clips)
        seconds = time.perf_counter() - start
        row = summary(clips.labels, found, clips.lengths, background)
        row.pop("floor")
        f1 = real.segment_f1(clips.labels, found, clips.lengths, background)
        self.main.append({"set": name, "real": name in real.SETS, "lists": mode, "seed": seed, "method": method,
                          **{k: round(float(v), 4) for k, v in row.items()}, "f1": round(f1, 4),
                          "seconds": round(seconds, 2)})
        if method == "recommended":
            P = model.posterior_ ** (1 / estimator.TEMPER)
            self.sure.append({"set": name, "lists": mode, "seed": seed,
                              "errors": {t: calibration_error(P**t, clips.labels) for t in TEMPERS}})
        self.write()

    def write(self):
        more = {"quiet": True, "prefix": ""}
        common.report("recommended", self.main, self.options, **more)
        if self.labels:
            common.report("recommended-labels", self.labels, self.options, **more)
        if len(self.sure) > 1 and len({r["set"] for r in self.sure}) > 1:
            common.report("recommended-calibration", [self._left_out(r) for r in self.sure], self.options, **more)

    def _left_out(self, row):
        """Calibration error of a row with the exponent that is best on average over the other sets."""
        others = [r["errors"] for r in self.sure if r["set"] != row["set"]]
        best = min(TEMPERS, key=lambda t: np.mean([e[t] for e in others]))
        return {"set": row["set"], "lists": row["lists"], "seed": row["seed"], "exponent": best,
                "ece_left_out": round(row["errors"][best], 4), "ece": round(row["errors"][estimator.TEMPER], 4),
                **{f"ece_{t}": round(e, 4) for t, e in row["errors"].items()}}

    def curve(self, name, clips, seed):
        """IoU on the clips never labelled (or left, where the model chose) against the share of labelled clips."""
        n, order = len(clips), np.random.default_rng(seed).permutation(len(clips))
        first, rest = Recommended().fit(clips), np.sort(order[int(0.25 * n):])
        ways = {"random": order, "suggest": first.suggest(n) if seed == 0 else None}
        self._point(name, seed, 0.0, "none", first.labels_, clips, rest, [])
        for way, picks in ways.items():
            for share in SHARES if picks is not None else ():
                if self.over():
                    return
                own = np.sort(picks[:max(1, round(share * n))])
                known = np.where(clips.mask(own), clips.labels, -1)
                at = rest if way == "random" else np.setdiff1d(np.arange(n), own)
                self._point(name, seed, share, way, Recommended().fit(clips, known).labels_, clips, at, own)
                if way == "suggest":
                    self._point(name, seed, share, "none on the same", first.labels_, clips, at, own)
                else:
                    found = real.lda(clips, known, solver="lsqr", shrinkage="auto")
                    self._point(name, seed, share, "LDA same clips", found, clips, at, own)
        self._point(name, seed, 1.0, "LDA all labels", real.METHODS["lda-all"](clips), clips, rest, np.arange(n))

    def _point(self, name, seed, share, method, found, clips, rest, labelled):
        rows = clips.mask(rest)
        part, whole = (interval_scores(clips.labels[r], found[r], lengths, background_of(clips), normalize="union").mean
                       for r, lengths in ((rows, clips.lengths[rest]), (slice(None), clips.lengths)))
        self.labels.append({"set": name, "order": seed, "share": share, "method": method, "labelled": len(labelled),
                            "iou_unlabelled": round(part, 4), "iou_all": round(whole, 4)})
        self.write()


def calibration_error(P, true, bins=15):
    """Mean difference of confidence and share that is right, over bins of confidence."""
    P = P / P.sum(axis=1, keepdims=True)
    sure, right = P.max(axis=1), P.argmax(axis=1) == true
    b = np.minimum((sure * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(b, sure) - np.bincount(b, right)).sum() / len(true))


def cases(seeds):
    """Name, lists, seed and clips, without those whose lists have no background to leave out."""
    made = [(name, 0, make()) for name, make in real.SETS.items()]
    made += [(name, s, make(s)) for s in seeds for name, make in SYNTHETIC.items()]
    for name, seed, whole in made:
        for mode in ("runs", "actions") if whole.background_class is not None else ("runs",):
            clips = with_lists(whole, mode)
            SPARE[id(clips)] = whole.background_class
            yield name, mode, seed, clips


def main():
    options = common.arguments(__doc__, ("seeds", 5, "draws of each synthetic set"),
                               ("minutes", 600, "after which no new run starts"),
                               ("orders", 3, "orders of labelled clips"), ("clips", 100, "most clips of a curve"),
                               ("rows", 1_000_000, "most intervals of a set for the dear methods"),
                               ("resume", False, "keep what the tables have"))
    tables = Tables(options)
    first = sorted(cases([0]), key=lambda case: case[-1].n_intervals)
    for case in first:
        for method, function in CHEAP.items():
            tables.run(*case, method, function)
    end, tables.end = tables.end, (time.monotonic() + tables.end) / 2  # half of what is left, for the curves
    for order in range(options.orders):
        for name, mode, _, clips in first:
            if name in CURVES and mode == ("actions" if SPARE[id(clips)] is not None else "runs"):
                part = clips.subset(np.arange(min(options.clips, len(clips))))
                if not tables.over() and (name, order) not in tables.curves:
                    tables.curve(name, part, order)
    tables.end = end
    for seed in range(1, options.seeds):
        for case in cases([seed]):
            for method, function in CHEAP.items() if case[0] not in real.SETS else ():
                tables.run(*case, method, function)
    for method, function in DEAR.items():
        for case in first:
            if case[-1].n_intervals <= options.rows:
                tables.run(*case, method, function)


if __name__ == "__main__":
    main()
