"""Which small faults in a module do the tests not notice? Mutants drawn at random, each run against its tests.

    python scripts/mutate.py ordering/metrics.py tests/test_metrics.py --mutants 20 --seed 0

Works on a copy. A mutant turns one comparison, operator, condition or number into another; it is killed if a test
fails (hangs, crashes) and survives if all pass: those are printed. With NUMBA_DISABLE_JIT=1 kernels are run as Python.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300
OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
         ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub,
         ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
         ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip
NAMES = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "minimum": "maximum", "zeros": "ones",
         "maximum": "minimum", "any": "all", "all": "any", "ones": "zeros", "cumsum": "cumprod"}  # fmt: skip


def change(node):
    """Change a node in place; false if it is none that can be changed."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in OTHER:
        node.op = OTHER[type(node.op)]()
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        node.operand = node.operand if isinstance(node.op, ast.UAdd) else ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        node.attr = NAMES[node.attr]
    elif isinstance(node, ast.Name) and node.id in NAMES:
        node.id = NAMES[node.id]
    else:
        return False
    return True


def places(tree):
    """Numbers of the nodes of functions that can be changed; annotations are left out."""
    nodes = list(ast.walk(tree))
    left_out = set()
    for node in nodes:
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            left_out |= set(ast.walk(part)) if part is not None else set()
    inside = {child for node in nodes if isinstance(node, ast.FunctionDef) for child in ast.walk(node)} - left_out
    return [n for n, node in enumerate(nodes) if node in inside and change(copy.deepcopy(node))]


def survives(folder, tests):
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)},
                             capture_output=True, text=True, timeout=SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    if run.returncode > 2:  # pytest itself failed; below 0 the mutant crashed
        sys.exit(run.stdout + run.stderr)
    return run.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--mutants", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source = (ROOT / options.module).read_text(encoding="utf8")
    numbers = places(ast.parse(source))
    drawn = random.Random(options.seed).sample(numbers, min(options.mutants, len(numbers)))
    with tempfile.TemporaryDirectory() as name:
        folder, left = Path(name), 0
        for part in ("ordering", "tests", "conftest.py", "pyproject.toml"):
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, folder / part)
        if not survives(folder, options.tests):
            sys.exit("the tests fail as it is")
        for number in drawn:
            tree = ast.parse(source)
            node = list(ast.walk(tree))[number]
            before = ast.unparse(node).splitlines()[0]
            change(node)
            (folder / options.module).write_text(ast.unparse(tree), encoding="utf8")
            if survives(folder, options.tests):
                left += 1
                print(f"{options.module}:{node.lineno}: {before}  ->  {ast.unparse(node).splitlines()[0]}", flush=True)
    print(f"{options.module}: {len(drawn) - left} of {len(drawn)} mutants killed (of {len(numbers)})", flush=True)


if __name__ == "__main__":
    main()
