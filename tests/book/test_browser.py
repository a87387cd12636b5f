"""The built pages in headless Chromium, opened from the disk, with every request to a host blocked."""

import pytest

from . import checks
from .conftest import PAGES

WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
# All formulas are set and all widgets are drawn.
READY = """() => document.readyState === "complete"
    && (!window.MathJax || (MathJax.startup && window.mathIsSet))
    && [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')]
        .every(view => view.parentElement.querySelector(".jupyter-widgets img"))"""
MATH_IS_SET = """() => window.MathJax && MathJax.startup
    && MathJax.startup.promise.then(() => { window.mathIsSet = true; }) && true"""


def visit(browser, path, mode="light", query=""):
    """Open a page without a network; a list of all that goes wrong on it is kept as ``page.faults``."""
    context = browser.new_context(viewport=WIDE, offline=True)
    context.add_init_script(f"localStorage.setItem('mode', '{mode}'); localStorage.setItem('theme', '{mode}')")
    page = context.new_page()
    page.faults = []
    page.on("console", lambda message: message.type == "error" and page.faults.append(message.text))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("requestfailed", lambda request: page.faults.append(f"failed: {request.url[:200]}"))
    local = ("file:", "data:", "blob:")
    page.on("request", lambda request: request.url.startswith(local) or page.faults.append(request.url[:200]))
    page.goto(path.as_uri() + query, wait_until="load")
    page.evaluate(MATH_IS_SET)
    page.wait_for_function(READY)
    return page


@pytest.fixture(scope="module", params=PAGES)
def page(request, browser, book):
    """One page of the book, opened once for all tests that look at it."""
    opened = visit(browser, book.html / f"{request.param}.html")
    yield opened
    opened.context.close()


def test_quiet(page):
    """No request to a host, nothing failed, no error on the console."""
    assert page.faults == []


def test_every_formula_is_set(page):
    assert checks.formula_faults(page) == []


def test_slider_and_play_change_the_picture(page):
    assert checks.control_faults(page) == []
    assert page.faults == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_accessible(page, axe, mode):
    assert checks.accessibility_faults(page, axe, mode) == []


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_fits_the_window(page, viewport):
    assert not checks.is_too_wide(page, viewport, WIDE)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_chosen_mode_is_kept(browser, book, mode):
    page = visit(browser, book.html / "notation.html", mode)
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    page.context.close()


def test_light_is_the_default(browser, book):
    context = browser.new_context(offline=True, color_scheme="light")
    page = context.new_page()
    page.goto((book.html / "notation.html").as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    context.close()


SEARCHES = {"staircase": "02-staircases", "oracle": "03-dynamic-program", "ridge": "04-ridge-disappears",
            "certificate": "07-frank-wolfe", "rounding": "08-rounding"}  # fmt: skip


@pytest.mark.parametrize("term", [term for term, page in SEARCHES.items() if page in PAGES])
def test_search_finds_the_chapter(browser, book, term):
    """The search works from the disk."""
    page = visit(browser, book.html / "search.html", query=f"?q={term}")
    page.wait_for_selector("#search-results li a")
    found = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.href)")
    page.context.close()
    assert any(f"/{SEARCHES[term]}.html" in address for address in found), found
