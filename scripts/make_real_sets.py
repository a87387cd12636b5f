"""Make `ordering/data/{chords,gestures,birdsong}.npz` from the files of features made for this project.

    python scripts/make_real_sets.py FOLDER_WITH_THE_THREE_FILES

Run it from the top of a checkout. All clips, intervals and columns are kept. What is reduced: each column is
rounded to a multiple of 1/32 of its standard deviation (an error of at most 1.6 % of it, .9 % on average), and
these whole numbers are stored byte by byte, low bytes first, which compresses better; names of columns are left
out. Labels are brought into the order of the package: actions 0..A-1, background A.
Licences: `ordering/data/LICENSE-*.txt`.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ordering._files import whole_file  # noqa: E402

STEPS = 32  # in a standard deviation


def reduced(features):
    """Steps (d,) of the columns, and the multiples of them as bytes (2, N, d)."""
    X = features.astype(np.float64)
    step = X.std(axis=0) / STEPS
    counts = np.rint(X / step).astype("<i2")
    assert np.all(np.abs(counts * step - X) <= step * 0.501)
    return step, np.moveaxis(counts.view(np.uint8).reshape(*X.shape, 2), -1, 0)


def convert(source):
    """The fields that the package reads."""
    names, background = source["class_names"].tolist(), int(source["background"])
    actions = [name for i, name in enumerate(names) if i != background]
    numbers = np.array([len(actions) if i == background else actions.index(name) for i, name in enumerate(names)])
    step, counts = reduced(source["features"])
    return {"step": step, "counts": counts, "lengths": source["lengths"].astype(np.int16),
            "labels": numbers[source["labels"]].astype(np.int8), "actions": np.array(actions),
            "clip_names": source["clip_names"], "groups": source["groups"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds chords.npz, gestures.npz and birdsong.npz")
    parser.add_argument("--target", type=Path, default=ROOT / "ordering" / "data")
    arguments = parser.parse_args()
    for name in ["chords", "gestures", "birdsong"]:
        with np.load(arguments.folder / f"{name}.npz", allow_pickle=False) as source:
            data = convert(source)
        target = arguments.target / f"{name}.npz"
        with whole_file(target, "wb") as file:
            np.savez_compressed(file, **data)
        print(f"{target.name}: {len(data['lengths'])} clips, {len(data['labels'])} intervals, "
              f"{target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
