"""Chapters as they are committed, and their executed copies at quick size."""

import ast
import re

import nbformat
import pytest

import execute

from .conftest import CHAPTERS, ROOT

IMAGES = {"image/png", "image/svg+xml", "image/jpeg"}
WIDGET = "application/vnd.jupyter.widget-view+json"


def committed(name):
    return nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4)


def executed_copy(name):
    return nbformat.read(execute.copy_path(ROOT, "quick", ROOT / "book" / f"{name}.ipynb"), as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


@pytest.mark.parametrize("name", CHAPTERS)
def test_committed_without_outputs_for_the_kernel_python3(name):
    notebook = committed(name)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    for cell in code_cells(notebook):
        assert cell.outputs == [] and cell.execution_count is None
    nbformat.validate(notebook)


@pytest.mark.parametrize("name", CHAPTERS)
def test_one_parameters_cell(name):
    """Papermill injects `size` and `seed`; both must be names of the one parameters cell."""
    cells = [cell for cell in committed(name).cells if "parameters" in tags(cell)]
    assert len(cells) == 1
    assignments = [node for node in ast.parse(cells[0].source).body if isinstance(node, ast.Assign)]
    values = {node.targets[0].id: ast.literal_eval(node.value) for node in assignments}
    assert values == {"size": "quick", "seed": 0}


@pytest.mark.parametrize("name", CHAPTERS)
def test_executes(executed, name):
    assert name not in executed
    cells = code_cells(executed_copy(name))
    assert [cell.execution_count for cell in cells if cell.source.strip()] == list(
        range(1, 1 + sum(bool(cell.source.strip()) for cell in cells))
    )
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text


@pytest.mark.parametrize("name", CHAPTERS)
def test_one_described_image_a_cell(executed, name):
    """A cell that has an alt text shows one image, and no other cell shows any."""
    for cell in code_cells(executed_copy(name)):
        images = sum(bool(IMAGES & set(output.get("data", {}))) for output in cell.outputs)
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        assert images == (1 if alt else 0), cell.source
        assert sum(WIDGET in output.get("data", {}) for output in cell.outputs) <= 1, cell.source


@pytest.mark.parametrize("name", CHAPTERS)
def test_outputs_hold_no_warning_and_no_path(executed, name):
    for cell in code_cells(executed_copy(name)):
        for output in cell.outputs:
            text = output.get("text", "") or str(output.get("data", {}).get("text/plain", ""))
            assert not re.search(r"\w+Warning\b|Traceback|/tmp/|/home/|/root/|site-packages", text), text
