"""Run the paper's experiments and store their table, with its provenance beside it.

    python scripts/run_experiments.py --size book --kinds plain --splits 1 --draws 8 --out results/book.csv
    python scripts/run_experiments.py --size book --methods ours --grids ours authors --out results/authors.csv
    python scripts/run_experiments.py --size real --kinds plain --out results/real.csv
    python scripts/run_experiments.py --size paper --mat full_dataset.mat --out willow.csv

The clips are synthetic, those of the shipped real sets (--size real), or those of the authors' data set (--mat). The
first draw of the data has all splits; each further one has one plain split. The authors' grid is run for "ours" on the
first draw and the first of --kinds. With --every-point the table has each point of a grid, not the chosen one alone.
Finished settings stay in --work (default: next to the table, OUT.parts); the same command goes on where it was, with
the same code. --collect stores the table of what is finished and runs nothing.
"""

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import ordering
from ordering._files import whole_file
from ordering._stored import read_json
from ordering.datasets import load_willow
from ordering.paper import real
from ordering.paper.experiments import FRACTIONS, GRIDS, KEY, METHODS, Plan, Setting, settings, sweep, table
from ordering.synthetic import PRESETS, make_preset

ROOT = Path(__file__).resolve().parents[1]
CODE = ("ordering", "scripts", "requirements.txt", "pyproject.toml")  # what a result can depend on
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "pandas")


class Part(NamedTuple):
    """Settings of one draw of the data on one grid; they share a plan, a file of clips and a folder."""

    plan: Plan
    wanted: list[Setting]
    data: Path
    folder: Path


def parts(args):
    """All parts of a run, the first draw first."""
    sizes = real.SPLIT if args.size == "real" else [args.size]
    more = {"val_share": 0.1 if args.size == "paper" else 0.2, "every_point": args.every_point}
    if args.size == "real":  # NCUT is slow where background is optional
        more |= {"alphas": (0.1,), "betas": (10.0,)}
    for draw, size in itertools.product(range(args.seed, args.seed + args.draws), sizes):
        first = draw == args.seed
        for grid in args.grids if first else [g for g in args.grids if g == "ours"]:
            plan = Plan.on(grid, size=size, draw=draw, seed=draw, **more)
            methods = args.methods if grid == "ours" else ["ours"]
            kinds = args.kinds if grid == "ours" else args.kinds[:1]
            fractions = args.fractions or plan.fractions
            wanted = settings(methods, range(args.splits), kinds, fractions) if first else []
            if grid == "ours" and args.draws > 1:  # the split by which draws are compared
                wanted += [one for one in settings(methods, [0], ["plain"], FRACTIONS) if one not in wanted]
            name = (f"{size.split(',')[0].replace(' ', '-')}-" if args.size == "real" else "") + f"draw-{draw}"
            yield Part(plan, wanted, args.work / f"{name}.npz", args.work / f"{name}-{grid}")


def clips_of(args, plan):
    """The clips of a part."""
    if args.mat:
        return load_willow(args.mat)
    if args.size == "real":
        return real.histograms(real.load(small=True)[plan.size])
    return make_preset(plan.size, plan.draw)


def state_of(root):
    """Commit of the code below `root`, what stands for its contents, and the files that differ from it."""
    def git(*command):
        return subprocess.run(["git", "-C", root, *command], capture_output=True, text=True, check=True).stdout

    try:
        return {"commit": git("rev-parse", "--short", "HEAD").strip(),
                "contents": git("ls-tree", "HEAD", *CODE).split()[2::4],
                "changed": [line[3:] for line in git("status", "--porcelain", "--", *CODE).splitlines()]}
    except (subprocess.CalledProcessError, FileNotFoundError):
        return {"commit": "unknown", "contents": [], "changed": ["a copy without its history"]}


def claim(work, state, allow_dirty):
    """Note down which code works in a folder; refuse changes, and other code than that which began there."""
    file = work / "code.json"
    before = read_json(file) if file.exists() else []
    if not allow_dirty:
        if state["changed"]:
            sys.exit(f"code: a commit without changes (or --allow-dirty) expected, found {', '.join(state['changed'])}")
        if any(one["contents"] != state["contents"] or one["changed"] for one in before):
            sys.exit(f"{work.name}: what this code began expected (or another --work, or --allow-dirty), found "
                     f"commit {before[0]['commit']}")
    if state not in before:
        with whole_file(file) as out:
            json.dump([*before, state], out)


def provenance(args, done, found):
    """What a reader needs to repeat the run, and what it cost. No names of hosts and no paths."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    once = found.drop_duplicates([*KEY[:-2], "fraction", "seconds"])
    plans = {part.plan.grid: asdict(part.plan) for part in reversed(done)}
    claims = [read_json(part.folder / "sweep.json") for part in done]
    code = read_json(args.work / "code.json")
    return {
        "command": f"python scripts/run_experiments.py --size {args.size} --seed {args.seed} "
                   f"--splits {args.splits} --kinds {' '.join(args.kinds)} --draws {args.draws} "
                   f"--grids {' '.join(args.grids)} --methods {' '.join(args.methods)} --n-jobs {args.n_jobs} "
                   + (f"--fractions {' '.join(f'{one:g}' for one in args.fractions)} " if args.fractions else "")
                   + "--every-point " * args.every_point + (f"--mat {args.mat.name} " if args.mat else "")
                   + f"--out results/{args.out.name}",
        "data": ({"file": args.mat.name} if args.mat else {"sets": list(real.SPLIT)} if args.size == "real" else
                 {"preset": args.size, "random_state": args.seed, **PRESETS[args.size]})
                | {"sha256": {str(one["size" if args.size == "real" else "draw"]): one["sha256"] for one in claims}},
        "protocol": plans[args.grids[0]],
        "protocols": plans,
        "settings": {"wanted": sum(len(part.wanted) for part in done), "finished": found.attrs["finished"]},
        "worker_hours": round(once["seconds"].sum() / 3600, 3),
        "cpu_hours": round(once["cpu_seconds"].sum() / 3600, 3),
        "largest_worker_memory_mb": round(float(found["peak_memory_mb"].max())),
        "machine": {"cores": os.cpu_count(), "memory_gb": round(memory / 2**30), "processor": platform.machine()},
        "commit": code[-1]["commit"],
        "code": [{key: one[key] for key in ("commit", "changed")} for one in code],
        "versions": {"python": platform.python_version(), "ordering": ordering.__version__,
                     **{name: version(name) for name in PACKAGES}},
        "day": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=[*PRESETS, "real"], default="book")
    parser.add_argument("--mat", type=Path, help="the authors' full_dataset.mat, in place of synthetic clips")
    parser.add_argument("--out", type=Path, required=True, help="the table, .csv")
    parser.add_argument("--work", type=Path, help="where finished settings are kept")
    parser.add_argument("--seed", type=int, default=0, help="of the first draw of the data, and of its splits")
    parser.add_argument("--draws", type=int, default=1, help="draws of the data")
    parser.add_argument("--splits", type=int, default=5, help="splits of the first draw")
    parser.add_argument("--kinds", nargs="+", choices=["best-of", "plain"], default=["best-of"])
    parser.add_argument("--grids", nargs="+", choices=list(GRIDS), default=["ours"])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--fractions", nargs="+", type=float, help="labelled fractions (of a grid: all)")
    parser.add_argument("--every-point", action="store_true", help="keep the scores of every point of a grid")
    parser.add_argument("--n-jobs", type=int, default=os.cpu_count())
    parser.add_argument("--collect", action="store_true")
    parser.add_argument("--allow-dirty", action="store_true", help="run, and note down, code that is in no commit")
    args = parser.parse_args()
    if (args.mat or args.size == "real") and args.draws > 1:
        parser.error(f"--draws: 1 expected where clips are not synthetic, found {args.draws}")
    args.work = args.work or args.out.with_suffix(".parts")
    args.work.mkdir(parents=True, exist_ok=True)
    if not args.collect:
        claim(args.work, state_of(ROOT), args.allow_dirty)
    todo, tables = list(parts(args)), []
    for part in todo:
        if not args.collect and not part.data.exists():
            clips_of(args, part.plan).save(part.data)
        tables.append(table(part.folder, part.wanted) if args.collect else
                      sweep(part.data, part.wanted, part.plan, part.folder, n_jobs=args.n_jobs))
    finished = [(part, one) for part, one in zip(todo, tables, strict=True) if len(one)]
    if not finished:
        sys.exit("nothing is finished yet")
    found = pd.concat([one for _, one in finished], ignore_index=True)
    found.attrs["finished"] = sum(one.attrs["finished"] for _, one in finished)
    how = provenance(args, [part for part, _ in finished], found)
    how["settings"]["wanted"] = sum(len(part.wanted) for part in todo)
    for file, text in [(args.out, found.to_csv(index=False, float_format="%.6g")),
                       (args.out.with_suffix(".json"), json.dumps(how, indent=2) + "\n")]:
        with whole_file(file) as out:
            out.write(text)


if __name__ == "__main__":
    main()
