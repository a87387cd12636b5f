"""Links between chapters, the descriptions of functions, and files."""

import importlib
import re

import pytest

from .conftest import CHAPTERS, ROOT, run_script

MODULES = re.findall(r"automodule:: (\S+)", (ROOT / "book" / "api.md").read_text(encoding="utf8"))
NUMBERED = [page for page in CHAPTERS if re.match(r"\d\d-", page)]
HOME = "https://github.com/someone/ordering"


def links(book, page):
    """Addresses of the links in the text of a page."""
    return [a["href"] for a in book.soup(page).select("article a[href]")]


@pytest.mark.parametrize("module", ["ordering", *MODULES])
def test_every_public_name_is_described(book, module):
    described = {anchor["id"].rpartition(".")[2] for anchor in book.soup("api").select("dl.py dt[id]")}
    public = getattr(importlib.import_module(module), "__all__", [])
    assert {name for name in public if not name.isupper() and name.strip("_") == name} <= described


def test_descriptions_lead_to_their_code(book):
    signatures = book.soup("api").select("dl.py dt[id]")
    with_code = [one for one in signatures if one.select_one("a.source-link")]
    assert len(with_code) > 100
    for link in book.soup("api").select("a.source-link"):
        assert (book.html / link["href"]).is_file()


def test_descriptions_lead_to_chapters(book):
    reached = {link.partition(".html")[0] for link in links(book, "api")}
    assert len(reached & set(CHAPTERS)) >= 14


@pytest.mark.parametrize("page", NUMBERED)
def test_chapters_lead_to_descriptions(book, page):
    assert any(link.startswith("api.html#ordering.") for link in links(book, page))


def test_rows_lead_to_their_tests(book):
    named = set(re.findall(r"`(test_row_\w+)`", (ROOT / "book" / "paper-rows.md").read_text(encoding="utf8")))
    found = {a.get_text(): a["href"] for a in book.soup("paper-rows").select("article a[href*=test_paper_rows]")}
    assert set(found) >= named
    for name in named:
        assert re.search(rf"def {name}[_(]", (book.html / found[name]).read_text(encoding="utf8"))


def test_a_repository_is_linked_once_its_address_is_set(throwaway):
    root = throwaway(markdown="# A page\n\nThe solver is in `ordering/solver.py`.")
    assert run_script("build", "--size", "quick", "--root", root).returncode == 0
    page = root / "_build" / "html" / "index.html"
    assert 'href="files/ordering/solver.py.txt"' in page.read_text() and "github.com" not in page.read_text()
    settings = (root / "_config.yml").read_text()
    assert settings.count('repository_url: ""') == 1
    (root / "_config.yml").write_text(settings.replace('repository_url: ""', f"repository_url: {HOME}"))
    assert run_script("build", "--size", "quick", "--root", root).returncode == 0
    text = page.read_text()
    for address in (f"{HOME}/blob/main/ordering/solver.py", f"{HOME}/edit/main/book/index.ipynb",
                    "https://mybinder.org/v2/gh/someone/ordering/main?urlpath=lab/tree/book/index.ipynb"):
        assert f'href="{address}"' in text
    assert not (root / "_build" / "html" / "files").exists()
