"""The built pages as files: links, images, texts, weight."""

import pytest

from . import checks
from .conftest import CHAPTERS, PAGES

BUILT = [*PAGES, "search"]


@pytest.mark.parametrize("page", BUILT)
def test_links_and_anchors_lead_somewhere(book, page):
    assert checks.dead_links(book, page) == []


@pytest.mark.parametrize("page", BUILT)
def test_nothing_is_loaded_from_another_host(book, page):
    assert checks.remote_loads(book, page) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_image_is_described(book, page):
    assert checks.undescribed_images(book, page) == []


@pytest.mark.parametrize("page", BUILT)
def test_no_path_of_this_machine(book, page):
    assert checks.machine_paths(book, page) == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_no_error_stderr_or_warning(book, page):
    assert checks.bad_outputs(book, page) == []


@pytest.mark.parametrize("page", PAGES)
def test_weight(book, page):
    assert checks.weight(book, page) < checks.PAGE_BYTES


@pytest.mark.parametrize("page", PAGES)
def test_says_version_and_size(book, page):
    assert "executed at size “quick”" in book.soup(page).select_one("footer.bd-footer-content").get_text()


@pytest.mark.parametrize("page", PAGES)
def test_title_description_and_icon(book, page):
    assert checks.head_faults(book, page) == []


def test_a_second_build_without_changes_makes_nothing(book):
    from .conftest import run_script

    before = {path: path.stat().st_mtime_ns for path in book.html.rglob("*")}
    run = run_script("build", "--size", "quick", "--out", book.html)
    assert run.returncode == 0
    assert "Render" not in run.stdout
    assert {path: path.stat().st_mtime_ns for path in book.html.rglob("*")} == before
