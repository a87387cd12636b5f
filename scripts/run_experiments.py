"""Run the paper's experiments and store their table, with its provenance beside it.

    python scripts/run_experiments.py --size paper --out results/paper.csv
    python scripts/run_experiments.py --size book --kinds best-of plain --out results/book.csv
    python scripts/run_experiments.py --size paper --mat full_dataset.mat --out willow.csv

The clips are synthetic, or those of the authors' data set (--mat). Finished settings stay in --work (default: next
to the table, OUT.parts); the same command goes on where it was.
--collect stores the table of what is finished and runs nothing.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import ordering
from ordering._files import whole_file
from ordering.datasets import load_willow
from ordering.paper.experiments import FRACTIONS, METHODS, Plan, settings, sweep, table
from ordering.synthetic import PRESETS, make_preset

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "pandas")


def commit(work):
    """The commit of the code that started the sweep, if there is one."""
    file = work / "commit.txt"
    if not file.exists():
        git = ["git", "-C", Path(__file__).parent, "rev-parse", "--short", "HEAD"]
        found = subprocess.run(git, capture_output=True, text=True) if shutil.which("git") else None
        file.write_text(found.stdout.strip() if found and not found.returncode else "unknown")
    return file.read_text().strip()


def provenance(args, plan, found, wanted):
    """What a reader needs to repeat the run, and what it cost. No names of hosts and no paths."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    once = found.drop_duplicates(["splits", "split", "fraction", "seconds"])
    return {
        "command": f"python scripts/run_experiments.py --size {args.size} --seed {args.seed} "
                   f"--splits {args.splits} --kinds {' '.join(args.kinds)} --methods {' '.join(args.methods)} "
                   f"--n-jobs {args.n_jobs} "
                   + (f"--mat {args.mat.name} " if args.mat else "") + f"--out results/{args.out.name}",
        "data": {"file": args.mat.name} if args.mat else
                {"preset": args.size, "random_state": args.seed, **PRESETS[args.size]},
        "protocol": asdict(plan),
        "settings": {"wanted": len(wanted), "finished": found.attrs["finished"]},
        "worker_hours": round(once["seconds"].sum() / 3600, 3),
        "cpu_hours": round(once["cpu_seconds"].sum() / 3600, 3),
        "largest_worker_memory_mb": round(float(found["peak_memory_mb"].max())),
        "machine": {"cores": os.cpu_count(), "memory_gb": round(memory / 2**30), "processor": platform.machine()},
        "commit": commit(args.work),
        "versions": {"python": platform.python_version(), "ordering": ordering.__version__,
                     **{name: version(name) for name in PACKAGES}},
        "day": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(PRESETS), default="book")
    parser.add_argument("--mat", type=Path, help="the authors' full_dataset.mat, in place of synthetic clips")
    parser.add_argument("--out", type=Path, required=True, help="the table, .csv")
    parser.add_argument("--work", type=Path, help="where finished settings are kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", choices=["best-of", "plain"], default=["best-of"])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--n-jobs", type=int, default=os.cpu_count())
    parser.add_argument("--collect", action="store_true")
    args = parser.parse_args()
    work = args.work = args.work or args.out.with_suffix(".parts")
    work.mkdir(parents=True, exist_ok=True)
    commit(work)
    plan = Plan(size=args.size, seed=args.seed, val_share=0.1 if args.size == "paper" else 0.2)
    wanted = settings(args.methods, range(args.splits), args.kinds, FRACTIONS)
    if args.collect:
        found = table(work, wanted)
    else:
        data = work / "clips.npz"
        if not data.exists():
            (load_willow(args.mat) if args.mat else make_preset(args.size, random_state=args.seed)).save(data)
        found = sweep(data, wanted, plan, work, n_jobs=args.n_jobs)
    if not len(found):
        sys.exit("nothing is finished yet")
    for file, text in [(args.out, found.to_csv(index=False, float_format="%.6g")),
                       (args.out.with_suffix(".json"),
                        json.dumps(provenance(args, plan, found, wanted), indent=2) + "\n")]:
        with whole_file(file) as out:
            out.write(text)


if __name__ == "__main__":
    main()
