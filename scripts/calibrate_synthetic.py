"""Set the difficulty of the synthetic presets on the supervised curve, and on nothing else.

For each preset and separation, data seed and split: ridge regression on a fraction of the Sup pool, lambda
chosen on Val, IoD of the ordered rounding on Eval. Target: .64 .72 .77 .79 at 10, 25, 50 and 100 % of the pool,
the mean over data seeds and splits within .03 of each. The table goes to results/calibration.csv, one row for
each (preset, sep, seed, split, fraction).

    python scripts/calibrate_synthetic.py quick book paper
    python scripts/calibrate_synthetic.py quick --sep 1.8 2.2 --seeds 5 --splits 4 --no-save
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from ordering import RidgeObjective, metrics, round_scores
from ordering._files import whole_file
from ordering.admissible import one_hot
from ordering.features import linear_scores
from ordering.synthetic import PRESETS, make_preset

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
TARGET = (0.64, 0.72, 0.77, 0.79)
LAMS = (1e-5, 1e-4, 1e-3, 1e-2)
SEEDS = {"quick": 10, "book": 8, "paper": 3}
SPLITS = {"quick": 4, "book": 4, "paper": 2}
TABLE = Path(__file__).parents[1] / "results" / "calibration.csv"


def split_clips(n, rng, val_share):
    """A tenth of the clips is left for tests; half of the rest is the Sup pool, the other half Val and Eval."""
    order = rng.permutation(n)[round(0.1 * n) :]
    pool, rest = np.array_split(order, 2)
    n_val = max(1, round(val_share * len(rest)))
    return pool, rest[:n_val], rest[n_val:]


def supervised_curve(clips, pool, val, evaluation):
    """IoD on Eval and the lambda chosen on Val, for each fraction of the pool."""
    val, evaluation = clips.subset(np.sort(val)), clips.subset(np.sort(evaluation))

    def iod(part, W, b):
        labels = round_scores(linear_scores(part.features, W, b), part)
        return metrics.interval_scores(part.labels, labels, part.lengths, part.background_class).mean

    for fraction in FRACTIONS:
        known = clips.subset(np.sort(pool[: max(1, round(fraction * len(pool)))]))
        objective = RidgeObjective(known.features, LAMS[0])
        found = []
        for lam in LAMS:
            classifier = objective.with_settings(lam).classifier(one_hot(known.labels, clips.n_classes))
            found.append((iod(val, *classifier), lam, classifier))
        _, lam, classifier = max(found, key=lambda row: row[0])
        yield fraction, lam, iod(evaluation, *classifier)


def calibrate(preset, sep, seeds, splits):
    rows = []
    for seed in range(seeds):
        clips = make_preset(preset, random_state=seed, sep=sep)
        for split in range(splits):
            parts = split_clips(len(clips), np.random.default_rng(split), 0.1 if preset == "paper" else 0.2)
            for fraction, lam, score in supervised_curve(clips, *parts):
                rows.append((preset, sep, seed, split, fraction, lam, score))
    return pd.DataFrame(rows, columns=["preset", "sep", "seed", "split", "fraction", "lam", "iod"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="+", choices=list(PRESETS))
    parser.add_argument("--sep", type=float, nargs="+", help="values to try; default: the preset's own and ±0.1")
    parser.add_argument("--seeds", type=int, help="data sets per preset; default 10, 8 and 3")
    parser.add_argument("--splits", type=int, help="splits per data set; default 4, 4 and 2")
    parser.add_argument("--no-save", action="store_true")
    args = parser.parse_args()
    jobs = [
        (preset, sep)
        for preset in args.presets
        for sep in args.sep or np.round(PRESETS[preset]["sep"] + np.array([-0.1, 0, 0.1]), 3)
    ]
    tables = []
    for preset, sep in tqdm(jobs, "settings"):
        tables.append(calibrate(preset, sep, args.seeds or SEEDS[preset], args.splits or SPLITS[preset]))
        curve = tables[-1].groupby("fraction")["iod"].agg(["mean", "std"])
        off = np.abs(curve["mean"].to_numpy() - TARGET).max()
        tqdm.write(f"{preset} sep {sep}: {curve['mean'].round(3).tolist()} +- {curve['std'].round(3).tolist()}, "
                   f"largest distance to the target {off:.3f}")  # fmt: skip
    if not args.no_save:
        table = pd.concat(tables)
        if TABLE.exists():  # presets that were not run keep their rows
            old = pd.read_csv(TABLE)
            table = pd.concat([old[~old["preset"].isin(args.presets)], table])
        order = ["preset", "sep", "seed", "split", "fraction"]
        with whole_file(TABLE, newline="") as file:
            table.sort_values(order).to_csv(file, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
