"""Draw the README's picture: the longest recording, its true labels, and what an even split and two settings say.

    python scripts/make_overview.py
"""

from pathlib import Path

import numpy as np

from ordering import datasets, plots
from ordering.paper import real

SHOWN = ("uniform", "2014", "recommended")


def main():
    clips = datasets.load_mocap6(pieces_seconds=None)
    found = real.label(clips, SHOWN)
    pick = int(np.argmax(clips.lengths))
    truth = clips.labels[clips.rows(pick)]
    strips = {"truth": truth}
    for method in SHOWN:
        labels = found[method][clips.rows(pick)]
        strips[f"{plots.METHOD_STYLES[method][1]}  {np.mean(labels == truth):4.0%}"] = labels
    plots.use_style()
    axes = plots.timeline(strips, int(clips.lengths[pick]), clips.action_names, seconds_per_interval=0.5)
    axes.set_title("list: " + ", ".join(clips.action_names[a] for a in clips.transcripts[pick]), fontsize=10)
    axes.figure.set_figwidth(9)
    out = Path(__file__).parents[1] / "book" / "_assets" / "overview.png"
    axes.figure.savefig(out, dpi=100, metadata={"Software": None})
    print(*strips, sep="\n")


if __name__ == "__main__":
    main()
