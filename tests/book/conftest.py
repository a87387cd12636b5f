"""The book at quick size, built once for all tests here, and a browser that has no network."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from playwright import sync_api

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "book.py"
sys.path.insert(0, str(ROOT / "scripts"))

import execute  # noqa: E402
import vendor  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGES = [page.stem for page in execute.pages(ROOT)]
CHAPTERS = [page.stem for page in execute.chapters(ROOT)]
CELLS = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}


def run_script(*arguments):
    """Run ``scripts/book.py`` in this interpreter; the finished process with its output as text."""
    command = [sys.executable, SCRIPT, "--here", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@dataclass(frozen=True)
class Book:
    """A finished build: status, what it printed, and where its pages are."""

    status: int
    output: str
    html: Path

    @cache  # noqa: B019 (one book a run)
    def soup(self, page):
        """The parsed HTML of a page."""
        return BeautifulSoup((self.html / f"{page}.html").read_text(encoding="utf8"), "html.parser")


@pytest.fixture(scope="session")
def executed():
    """Executed copies of all chapters at quick size, with the names of those that failed."""
    return execute.execute_book(ROOT, "quick")


@pytest.fixture(scope="session")
def book(executed):
    """The whole book at quick size, made from those copies."""
    out = ROOT / "_build" / "tests" / "html"
    run = run_script("build", "--size", "quick", "--out", out)
    assert run.returncode == 0, run.stdout
    return Book(run.returncode, run.stdout, out)


def write_book(root, *cells, markdown="# A page"):
    """A small book of one page from code cells, each a source or a source and metadata, in an empty folder."""
    (root / "book").mkdir()
    (root / "ordering").mkdir()
    (root / "ordering" / "_version.py").write_text('__version__ = "0"\n')
    (root / "requirements.txt").write_text("")
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    shutil.copy(ROOT / "_config.yml", root)
    shutil.copy(ROOT / "book" / "references.bib", root / "book")
    shutil.copytree(ROOT / "book" / "_assets", root / "book" / "_assets")
    parameters = CELLS["code"]('size = "quick"\nseed = 0', metadata={"tags": ["parameters"]})
    pairs = [(cell, {}) if isinstance(cell, str) else cell for cell in cells]
    made = [CELLS["markdown"](markdown), parameters,
            *(CELLS["code"](source, metadata=metadata) for source, metadata in pairs)]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel}),
                   root / "book" / "index.ipynb")  # fmt: skip
    if (ROOT / "_build" / "vendor").exists():
        shutil.copytree(ROOT / "_build" / "vendor", root / "_build" / "vendor")
    return root


@pytest.fixture
def throwaway(tmp_path):
    """Make a small book of one page from code cells; return its folder."""
    return partial(write_book, tmp_path)


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        message = f"no browser: none of {', '.join(BROWSERS)} is installed"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    with sync_api.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
        flags += ["--disable-background-networking", "--disable-component-update"]
        running = playwright.chromium.launch(executable_path=found, args=flags)
        yield running
        running.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """Source text of the accessibility checker."""
    folder = tmp_path_factory.mktemp("axe")
    vendor.extract("axe-core@4.14.1", ["axe.min.js"], ROOT / "_build" / "vendor", folder)
    return (folder / "axe.min.js").read_text(encoding="utf8")
