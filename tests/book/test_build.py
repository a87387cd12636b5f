"""What the build does when things go wrong, change, or stay as they are; on books of one page."""

import hashlib
import json
import re
import shutil

import nbformat
import pytest

import execute
import render
import vendor

from .conftest import ROOT, run_script

FIGURE = """
import matplotlib.pyplot as plt
import numpy as np
from ordering.paper import frames

numbers = np.random.default_rng(seed).standard_normal(50)
print(size, numbers.sum())
figure, ax = plt.subplots()
ax.plot(numbers)
plt.show()
"""
FRAMES = """
def draw(n):
    figure, ax = plt.subplots(figsize=(4, 2))
    ax.plot(numbers[:n])
    return figure

frames.show(draw, [10, 20, 30], description="points", alt=lambda n: f"A line through {n} random points.")
"""


def copy_of(root, size="quick"):
    """The executed copy of the only page."""
    return nbformat.read(root / "_build" / "executed" / size / "index.ipynb", as_version=4)


def results(notebook):
    """All that a reader sees of the outputs: texts, hashes of images, frames; model numbers are left out."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found.append(output.get("text", output.get("data", {}).get("text/plain", "")))
            image = output.get("data", {}).get("image/png", "")
            found.append(hashlib.sha256(image.encode()).hexdigest())
    found = [re.sub(r"model_id='\w+'|0x[0-9a-f]+", "", text) for text in found]
    widgets = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    values = [model["state"].get("value") for model in widgets.get("state", {}).values()]
    return found + sorted(value for value in values if isinstance(value, str))


def test_widgets_that_no_output_shows_are_left_out():
    """A progress bar that has gone stays in the kernel; boxes keep their children, links what they move."""
    models = {"box": ["slider"], "slider": [], "link": ["slider"], "bar": ["text"], "text": []}
    state = {key: {"state": {"children": [f"IPY_MODEL_{c}" for c in children]}} for key, children in models.items()}
    output = nbformat.v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": {"model_id": "box"}})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": state}}
    kept = execute.keep_shown_widgets(notebook).metadata["widgets"]["application/vnd.jupyter.widget-state+json"]
    assert set(kept["state"]) == {"box", "slider", "link"}


def test_failed_cell_fails_the_build(throwaway):
    root = throwaway("1/0")
    run = run_script("build", "--size", "quick", "--root", root)
    assert run.returncode != 0
    assert "ZeroDivisionError" in run.stdout and "index" in run.stdout
    assert not (root / "_build" / "executed" / "quick" / "index.ipynb").exists()
    assert not (root / "_build" / "html").exists()


BAD = [("# A page\n\n[gone](nowhere.ipynb)", []), ("# A page", ["import warnings\nwarnings.warn('old')"])]


@pytest.mark.parametrize("markdown, sources", BAD)
def test_warning_fails_the_build(throwaway, markdown, sources):
    """A dead reference, and a cell that writes to stderr."""
    root = throwaway(*sources, markdown=markdown)
    run = run_script("build", "--size", "quick", "--root", root)
    assert run.returncode != 0
    assert "WARNING" in run.stdout
    assert not (root / "_build" / "html").exists()
    assert list((root / "_build").glob("render-*")) == []


def test_old_pages_stay_when_a_build_fails(throwaway):
    root = throwaway("print(1)")
    assert run_script("build", "--size", "quick", "--root", root).returncode == 0
    before = (root / "_build" / "html" / "index.html").read_bytes()
    path = root / "book" / "index.ipynb"
    path.write_text(path.read_text().replace("print(1)", "1/0"))
    assert run_script("build", "--size", "quick", "--root", root).returncode != 0
    assert (root / "_build" / "html" / "index.html").read_bytes() == before


def test_a_chapter_runs_again_only_when_something_changed(throwaway):
    root = throwaway("import os\nprint(os.urandom(8).hex())")
    assert execute.execute_book(root, "quick") == []
    first = copy_of(root)
    (root / "ordering" / "__pycache__").mkdir()
    (root / "ordering" / "__pycache__" / "kernel.nbi").write_bytes(b"a compiled function")
    (root / "README.md").write_text("not part of the book")
    assert execute.execute_book(root, "quick") == []
    assert copy_of(root) == first

    def changed(path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    seen = [results(first)]
    for change in (
        lambda: changed(root / "ordering" / "_version.py", '__version__ = "1"\n'),
        lambda: changed(root / "results" / "table.csv", "size,method\n"),
        lambda: changed(root / "requirements.txt", "numpy==2.0.0\n"),
        lambda: changed(root / "book" / "index.ipynb", (root / "book" / "index.ipynb").read_text() + "\n"),
    ):
        change()
        assert execute.execute_book(root, "quick") == []
        seen.append(results(copy_of(root)))
        assert seen[-1] not in seen[:-1]
    assert execute.execute_book(root, "quick", seed=1) == []
    assert results(copy_of(root)) not in seen


@pytest.mark.parametrize("name", ["ordering/paper/real.py", "tests/test_rows.py", "results/book.csv"])
def test_pages_are_made_anew_when_what_they_describe_or_lead_to_changed(name, tmp_path, monkeypatch):
    monkeypatch.setattr(render, "__file__", str(tmp_path / "scripts" / "render.py"))
    (tmp_path / "requirements.txt").write_text("")
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("one")
    (tmp_path / "staged").mkdir()
    before = render.digest(tmp_path, tmp_path / "staged")
    assert render.digest(tmp_path, tmp_path / "staged") == before
    (tmp_path / name).write_text("other")
    assert render.digest(tmp_path, tmp_path / "staged") != before


def test_parameters_reach_the_chapter_and_are_shown(throwaway):
    root = throwaway("print(size, seed)")
    assert execute.execute_book(root, "book", seed=3) == []
    notebook = copy_of(root, "book")
    assert notebook.cells[-1].outputs[0].text == "book 3\n"
    assert notebook.cells[1].source == 'size = "book"\nseed = 3'
    assert len(notebook.cells) == 3


def test_two_runs_give_the_same_numbers_and_images(throwaway):
    root = throwaway(FIGURE, FRAMES)
    assert execute.execute_book(root, "quick") == []
    first = copy_of(root)
    shutil.rmtree(root / "_build" / "executed")
    assert execute.execute_book(root, "quick") == []
    assert results(copy_of(root)) == results(first)
    assert len(results(first)) > 6


def test_a_chapter_that_hangs_is_stopped(throwaway, monkeypatch, capsys):
    monkeypatch.setitem(execute.CHAPTER_SECONDS, "quick", 8)
    root = throwaway("while True:\n    pass")
    assert execute.execute_book(root, "quick") == ["index"]
    assert "stopped after 8 seconds" in capsys.readouterr().out
    assert list((root / "_build" / "executed" / "quick").iterdir()) == []


def test_a_changed_archive_is_refused(tmp_path, monkeypatch):
    def fetch(package, folder):
        (folder / "a.tgz").write_bytes(b"something else")
        return folder / "a.tgz"

    monkeypatch.setattr(vendor, "npm_pack", fetch)
    with pytest.raises(ValueError, match="mathjax@3.2.2.*sha512"):
        vendor.archive("mathjax@3.2.2", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_page_is_listed():
    listed = {page.name for page in execute.pages(ROOT)}
    there = {page.name for page in (ROOT / "book").iterdir() if page.suffix in (".ipynb", ".md")}
    assert listed == there


def test_notebooks_are_json_that_ends_in_a_newline():
    for path in execute.chapters(ROOT):
        text = path.read_text(encoding="utf8")
        json.loads(text)
        assert text.endswith("\n"), path.name
