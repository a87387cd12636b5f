"""Labels of the block solver at its stop beside those of 200 plain Frank-Wolfe passes, and of a solved program.

The experiments stop the block solver at a gap of 5.4e-4 times the weight of background. 200 plain passes leave about
that without labels and with a small kappa, and a few times as much elsewhere; the table has both. Points of both
grids are solved three ways, on draws of a preset, without labels and with a quarter of the Sup pool: in 200 plain
passes, by the block solver to its stop, and to a hundredth of that gap (in 500 passes at the most). Outside the
labelled clips, "equal" is the share of intervals that two of them label alike, and "actions" the same among those
where at least one of the two says that there is an action. IoD is that of the Eval clips.
"""

import numpy as np
from common import arguments, report
from tqdm import tqdm

from ordering import (
    Ordered,
    RidgeObjective,
    block_frank_wolfe,
    frank_wolfe,
    metrics,
    random_vertices,
    round_assignment,
)
from ordering.paper.experiments import Plan, draw_split, visible_labels
from ordering.synthetic import make_preset

FRACTIONS = (0.0, 0.25)


def points(n):
    """Lambda, weight and kappa0 at some points of both grids, for n intervals."""
    ours, theirs = Plan(), Plan.on("authors")
    yield from (("ours", ours.lams[1], 1.0, k0 / n) for k0 in ours.k0)
    yield from (("authors", theirs.lams[1], w, theirs.kappa0[k]) for w in theirs.background_weights for k in (1, 3, 5))


def three_ways(objective, chosen, start, tol):
    """Solutions by name."""
    plain = frank_wolfe(objective, chosen, start, 200)
    block = block_frank_wolfe(objective, chosen, start, Plan.n_iter, tol)
    return {"plain": plain, "block": block,
            "solved": block_frank_wolfe(objective, chosen, block.Z, 500, tol / 100)}


def compare(clips, at_eval, known, point, base, start):
    """One row of the table."""
    grid, lam, weight, kappa0 = point
    background = np.arange(clips.n_classes) == clips.background_class
    objective = base.with_settings(lam, kappa0 * np.where(background, 1.0, -1.0), np.where(background, weight, 1.0))
    found = three_ways(objective, Ordered(clips, known), start, Plan.tol * weight)
    labels = {name: round_assignment(one.Z, clips) for name, one in found.items()}
    free, rows = known < 0, clips.mask(at_eval)
    row = {"grid": grid, "lam": lam, "background_weight": weight, "kappa0": kappa0, "passes": len(found["block"].step)}
    row |= {f"gap_{name}": one.final_gap for name, one in found.items()}
    for a, b in [("plain", "block"), ("plain", "solved"), ("block", "solved")]:
        equal = labels[a] == labels[b]
        action = free & ~(equal & (labels[a] == clips.background_class))
        row |= {f"equal_{a}_{b}": np.mean(equal[free]), f"actions_{a}_{b}": np.mean(equal[action])}
    return row | {f"iod_{name}": metrics.interval_scores(clips.labels[rows], own[rows], clips.lengths[at_eval],
                                                         clips.background_class).mean for name, own in labels.items()}


def main():
    options = arguments(__doc__, ("preset", "quick", "size of the clips"), ("draws", 2, "draws of the data"))
    rows = []
    for draw in range(options.draws):
        clips = make_preset(options.preset, draw)
        split = draw_split(clips.transcripts, clips.n_actions, (draw, 0), 0.1 if options.preset == "paper" else 0.2, 1)
        train, inside = clips.subset(split.train), clips.mask(split.train)
        base, start = RidgeObjective(train.features, 1.0), random_vertices(train, random_state=draw)
        for fraction in FRACTIONS:
            known = visible_labels(clips, split, fraction)[0][inside]
            for point in tqdm(list(points(len(known))), f"draw {draw}, {fraction:.0%} labelled"):
                rows.append({"preset": options.preset, "draw": draw, "fraction": fraction,
                             **compare(train, np.isin(split.train, split.eval), known, point, base, start)})
    report("stops", rows, options)


if __name__ == "__main__":
    main()
