"""What the benchmarks share: medians, runs in processes of their own, tables with their provenance."""

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from ordering._files import whole_file

RESULTS = Path(__file__).resolve().parents[1] / "results"


def arguments(doc, *options):
    """Parse the command line; each option is a name, a default and a help text. Adds --out."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default, text in options:
        kind = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
        parser.add_argument(f"--{name}", help=f"{text} (default: {default})", **kind)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the CSV file (default: results)")
    return parser.parse_args()


def median_seconds(function, repeats):
    """Median time of several calls, after one that does not count (it compiles and warms caches)."""
    function()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def status(*names):
    """Entries of this process's memory, in MB: VmHWM (peak resident), VmRSS (resident), RssAnon (without files)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return [int(lines[name].split()[0]) / 1024 for name in names]


def reset_peak():
    """Set VmHWM back to what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def in_own_process(script, *arguments, threads=None):
    """Run ``script arguments`` in a fresh process; what it prints last, read as JSON."""
    environment = dict(os.environ)
    if threads:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment.update(dict.fromkeys(names, str(threads)))
    command = [sys.executable, str(script), *map(str, arguments)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def exponent(sizes, values):
    """Slope of log(values) over log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def report(name, rows, options, quiet=False, prefix="benchmarks-", **more):
    """Print rows (dicts with the same keys) as a Markdown table; write benchmarks-NAME.csv (or another prefix).

    Rows of an earlier run keep the provenance that they bring.
    """
    origin = {"command": _command(options), **more, **_machine()}
    columns = [name for name in rows[0] if name not in origin]
    if not quiet:
        print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in [] if quiet else rows:
        print(f"| {' | '.join(_short(row[column]) for column in columns)} |")
    options.out.mkdir(exist_ok=True)
    with whole_file(options.out / f"{prefix}{name}.csv", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *origin])
        writer.writeheader()
        writer.writerows({**origin, **row} for row in rows)


def _command(options):
    given = [f"--{key}" if value is True else f"--{key} {value}"
             for key, value in vars(options).items() if key not in ("out", "child") and value is not False]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *given])


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _machine():
    """Versions, processor and cores, and the load when the table was written."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in ("ordering", "numpy", "scipy", "numba")},
        "processor": models[0].split(":")[1].strip() if models else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
