"""The installed package: data file included, read-only without a home directory, two cold starts at once."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOLVE = """
import numpy as np, ordering
from ordering.kernels import chain
assert "site" in ordering.__file__, ordering.__file__
clips = ordering.Clips(np.zeros((5, 1)), [5], [[0]], 1)
print(ordering.state_path(np.zeros((5, 2)), clips).tolist(), chain.cheapest.stats.cache_path is not None)
"""
# Another user, who may read everything (the interpreter may lie in a private home) but write nowhere.
ANOTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+dac_read_search",
                "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search"]


@pytest.fixture(scope="module")
def installed():
    """A copy of the sources, installed with pip into a folder of its own."""
    base = Path(tempfile.mkdtemp(prefix="ordering-"))
    base.chmod(0o755)
    sources = base / "sources"
    shutil.copytree(ROOT / "ordering", sources / "ordering", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ["pyproject.toml", "README.md", "LICENSE"]:
        shutil.copy(ROOT / name, sources)
    site = base / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
    subprocess.run([*pip, site, sources], check=True)
    shutil.rmtree(site / "ordering" / "__pycache__", ignore_errors=True)
    yield site
    shutil.rmtree(base)


def run(site, code, prefix=(), **env):
    command = [*prefix, sys.executable, "-c", code]
    process = subprocess.run(command, env={"PYTHONPATH": str(site), **env}, cwd=site, text=True,
                             capture_output=True)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_the_data_files_are_installed(installed):
    code = "from ordering import datasets as d; print(len(d.load_mocap6(None)), len(d.load_birdsong()))"
    assert run(installed, code, HOME=str(installed)) == "6 96"


def test_the_types_are_installed(installed):
    assert (installed / "ordering" / "py.typed").exists()


def test_read_only_without_a_home(installed):
    for path in [installed, *installed.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    prefix = ANOTHER_USER if os.getuid() == 0 else []
    try:
        assert run(installed, SOLVE, prefix).startswith("[0, 0, 0, 1, 2]")
        assert not list(installed.rglob("*.nbi"))
    finally:
        for path in [installed, *installed.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)


def test_two_processes_with_a_cold_cache(installed):
    command = [sys.executable, "-c", SOLVE]
    env = {"PYTHONPATH": str(installed), "HOME": str(installed)}
    processes = [subprocess.Popen(command, env=env, cwd=installed, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert out.strip() == "[0, 0, 0, 1, 2] True"
    hits = "\nprint(sum(chain.cheapest.stats.cache_hits.values()))"
    assert run(installed, SOLVE + hits, HOME=str(installed)).endswith("\n1")


def test_the_subpackages_are_installed(installed):
    found = {path.parent.relative_to(ROOT) for path in (ROOT / "ordering").rglob("__init__.py")}
    assert found and all((installed / folder / "__init__.py").exists() for folder in found)
