"""The built pages as files: links, images, texts, weight."""

import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .conftest import CHAPTERS, PAGES, ROOT

BUILT = [*PAGES, "search"]
PAGE_BYTES = 1_500_000  # HTML with its frames, and the images it shows
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


def widget_values(soup):
    """Texts of the HTML widgets of a page."""
    script = soup.find("script", type=WIDGET_STATE)
    models = json.loads(script.string)["state"].values() if script else []
    return [model["state"].get("value") for model in models if model["model_name"] == "HTMLModel"]


def local_target(page, address):
    """File and anchor that a link of a page leads to, or None if it leaves the book."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    return (unquote(parts.path) or f"{page}.html"), unquote(parts.fragment)


@pytest.mark.parametrize("page", BUILT)
def test_links_and_anchors_lead_somewhere(book, page):
    soup = book.soup(page)
    for tag, attribute in (("a", "href"), ("img", "src"), ("script", "src"), ("link", "href")):
        for element in soup.find_all(tag, {attribute: True}):
            target = local_target(page, element[attribute])
            if target is None or element.get("rel") == ["canonical"]:
                continue
            path = book.html / target[0].split("?")[0]
            assert path.is_file(), f"{tag} {element[attribute]}"
            if target[1] and tag == "a" and path.suffix == ".html" and not target[0].startswith("search"):
                ids = {found["id"] for found in book.soup(path.stem).find_all(id=True)}
                assert target[1] in ids, element[attribute]


@pytest.mark.parametrize("page", BUILT)
def test_nothing_is_loaded_from_another_host(book, page):
    soup = book.soup(page)
    loaded = [element.get("src") for element in soup.find_all(["script", "img", "iframe", "video", "audio"])]
    loaded += [link["href"] for link in soup.find_all("link") if "canonical" not in link.get("rel", [])]
    assert [address for address in loaded if address and re.match(r"(\w+:)?//", address)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_image_is_described(book, page):
    soup = book.soup(page)
    alts = [image.get("alt", "") for image in soup.select("article img")]
    for value in widget_values(soup):
        alts += re.findall(r'<img alt="([^"]*)"', value)
        assert value.count("<img") == len(re.findall(r'<img alt="[^"]+"', value))
    for alt in alts:
        assert len(alt) >= 10 and not re.search(r"\.(png|svg|jpe?g)$|^[\w./-]*/[\w./-]*$", alt), alt


@pytest.mark.parametrize("page", BUILT)
def test_no_path_of_this_machine(book, page):
    places = {str(ROOT), sys.prefix, str(Path.home()), "/tmp/", "site-packages"}
    files = [book.html / f"{page}.html", *(book.html / "_sources").glob(f"{page}.*")]
    for path in files:
        text = path.read_text(encoding="utf8")
        assert [place for place in places if place in text] == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_no_error_stderr_or_warning(book, page):
    outputs = book.soup(page).select("div.cell_output")
    for output in outputs:
        assert not output.select(".stderr, .traceback")
        assert not re.search(r"\w+Warning\b", output.get_text())


@pytest.mark.parametrize("page", PAGES)
def test_weight(book, page):
    images = [book.html / image["src"] for image in book.soup(page).select("article img[src]")]
    weight = (book.html / f"{page}.html").stat().st_size + sum(path.stat().st_size for path in set(images))
    assert weight < PAGE_BYTES, f"{weight / 1e6:.1f} MB"


@pytest.mark.parametrize("page", PAGES)
def test_says_version_and_size(book, page):
    assert "executed at size “quick”" in book.soup(page).select_one("footer.bd-footer-content").get_text()


@pytest.mark.parametrize("page", PAGES)
def test_has_one_title_and_no_launch_button(book, page):
    soup = book.soup(page)
    assert len(soup.select("article h1")) == 1
    assert soup.select(".btn-launch-group, .dropdown-launch-buttons, .dropdown-source-buttons") == []


def test_a_second_build_without_changes_makes_nothing(book):
    from .conftest import run_script

    before = {path: path.stat().st_mtime_ns for path in book.html.rglob("*")}
    run = run_script("build", "--size", "quick", "--out", book.html)
    assert run.returncode == 0
    assert "Render" not in run.stdout
    assert {path: path.stat().st_mtime_ns for path in book.html.rglob("*")} == before
