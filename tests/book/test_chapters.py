"""Chapters as they are committed, and their executed copies at quick size."""

import nbformat
import pytest

import execute

from . import checks
from .conftest import CHAPTERS, ROOT


def committed(name):
    return nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4)


def executed_copy(name):
    return nbformat.read(execute.copy_path(ROOT, "quick", ROOT / "book" / f"{name}.ipynb"), as_version=4)


@pytest.mark.parametrize("name", CHAPTERS)
def test_committed_without_outputs_for_the_kernel_python3(name):
    assert checks.not_stripped(committed(name)) == []
    nbformat.validate(committed(name))


@pytest.mark.parametrize("name", CHAPTERS)
def test_one_parameters_cell(name):
    assert checks.parameter_faults(committed(name)) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_executes(executed, name):
    assert name not in executed
    assert checks.execution_faults(executed_copy(name)) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_one_described_image_a_cell(executed, name):
    assert checks.image_faults(executed_copy(name)) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_outputs_hold_no_warning_and_no_path(executed, name):
    assert checks.output_faults(executed_copy(name)) == []
