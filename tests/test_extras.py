"""What an installation without extras can do, and what it says where one is missing."""

import subprocess
import sys

import pytest

import ordering

OPTIONAL = ("PIL", "dask", "distributed", "h5py", "ipywidgets", "matplotlib", "pandas")
IMPORT = """
import importlib, sys
name, *missing = sys.argv[1:]
sys.modules.update(dict.fromkeys(missing))  # as if they were not installed
try:
    importlib.import_module(name)
except ImportError as error:
    print(error)
"""


def without(module, *missing):
    """What the import of a module says where packages are missing; "" where it succeeds."""
    run = subprocess.run([sys.executable, "-c", IMPORT, module, *missing], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("module", [name for name in ordering._MODULES if name != "plots"])
def test_the_method_needs_no_extra(module):
    assert without(f"ordering.{module}", *OPTIONAL) == ""


@pytest.mark.parametrize("module, missing, extra", [
    ("plots", "matplotlib", "plots"), ("paper.frames", "matplotlib", "plots"),
    ("paper.frames", "ipywidgets", "widgets"), ("paper.experiments", "pandas", "experiments"),
    ("paper.findings", "pandas", "experiments")])  # fmt: skip
def test_a_missing_extra_is_named(module, missing, extra):
    expected = f"ordering.{module} needs {missing}: pip install 'ordering[{extra}]'"
    assert without(f"ordering.{module}", missing) == expected


def test_import_loads_no_extra_and_no_chapter():
    code = "import sys, ordering; print([name for name in sys.argv[1:] if name in sys.modules])"
    unwanted = [*OPTIONAL, "joblib", "sklearn", "ordering.paper", "ordering.plots"]
    run = subprocess.run([sys.executable, "-c", code, *unwanted], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_tab_shows_the_modules():
    assert {*ordering._MODULES, *ordering.__all__} <= set(dir(ordering))
