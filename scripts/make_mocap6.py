"""Make `ordering/data/mocap6.npz` from the source archive of bnpy 0.1.7.

    pip download bnpy==0.1.7 --no-deps --no-binary bnpy
    tar xzf bnpy-0.1.7.tar.gz
    python scripts/make_mocap6.py bnpy-0.1.7

Run it from the top of a checkout. The file holds the frames as published: 12 joint channels at 10 frames a
second and the number of an exercise for every frame. Licence: `ordering/data/LICENSE-mocap6.txt`.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from ordering._files import whole_file

TARGET = Path(__file__).resolve().parents[1] / "ordering" / "data" / "mocap6.npz"


def read(folder):
    """Arrays of the archive's `mocap6` folder, strings as text and exercises counted from 0."""
    with np.load(folder / "dataset.npz", allow_pickle=False) as source:
        angles, labels = source["X"], source["TrueZ"] - 1
        offsets = source["doc_range"]
        actions, channels = source["true_state_names"].astype(str), source["column_names"].astype(str)
    recordings = [row["file_name"] for row in rows_of(folder / "metadata_per_seq.csv")]
    named = rows_of(folder / "actions_per_tstep.csv")
    numbers = np.searchsorted(offsets, np.arange(len(labels)), side="right") - 1
    assert [row["action_name"] for row in named] == actions[labels].tolist(), "labels differ between files"
    assert [int(row["seq_id"]) for row in named] == numbers.tolist(), "recordings differ between files"
    assert len(recordings) == len(offsets) - 1 and offsets[-1] == len(angles) == len(labels)
    return {"angles": angles, "labels": labels.astype(np.int8), "offsets": offsets.astype(np.int64),
            "recordings": np.array(recordings), "channels": channels, "actions": actions}


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="the unpacked archive: holds bnpy/datasets/mocap6")
    parser.add_argument("--target", type=Path, default=TARGET)
    arguments = parser.parse_args()
    data = read(arguments.archive / "bnpy" / "datasets" / "mocap6")
    with whole_file(arguments.target, "wb") as file:
        np.savez_compressed(file, **data)
    print(f"{arguments.target.name}: {len(data['recordings'])} recordings, {len(data['angles'])} frames, "
          f"{arguments.target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
