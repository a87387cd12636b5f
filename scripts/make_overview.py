"""Draw the README's picture: one recording, its true labels, an even split of its list, and the labels found.

    python scripts/make_overview.py
"""

from pathlib import Path

import numpy as np

from ordering import OrderedActionLabeling, baselines, datasets, plots

NAME = "13_31"


def main():
    clips = datasets.load_mocap6()
    clips = clips.with_features((clips.features - clips.features.mean(axis=0)) / clips.features.std(axis=0))
    found = OrderedActionLabeling().fit(clips).labels_
    rows = {"truth": clips.labels, "even split": baselines.uniform(clips), "found": found}
    pick = [i for i, name in enumerate(clips.clip_names) if NAME in name][0]
    plots.use_style()
    strips = {name: labels[clips.rows(pick)] for name, labels in rows.items()}
    axes = plots.timeline(strips, int(clips.lengths[pick]), clips.action_names, seconds_per_interval=0.5)
    axes.set_title("list: " + ", ".join(clips.action_names[a] for a in clips.transcripts[pick]))
    out = Path(__file__).parents[1] / "book" / "_assets" / "overview.png"
    axes.figure.savefig(out, dpi=100, metadata={"Software": None})
    print(f"accuracy of this piece: {np.mean(strips['found'] == strips['truth']):.2f}")


if __name__ == "__main__":
    main()
