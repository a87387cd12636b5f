"""The built pages in headless Chromium, opened from the disk, with every request to a host blocked."""

import pytest

from .conftest import PAGES

WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
# All formulas are set and all widgets are drawn.
READY = """() => document.readyState === "complete"
    && (!window.MathJax || (MathJax.startup && window.mathIsSet))
    && [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')]
        .every(view => view.parentElement.querySelector(".jupyter-widgets img"))"""
MATH_IS_SET = """() => window.MathJax && MathJax.startup
    && MathJax.startup.promise.then(() => { window.mathIsSet = true; }) && true"""
# MathJax marks what it cannot read as an error, and sets a macro that it does not know in red.
RED_FORMULAS = '[data-mml-node="merror"], mjx-container [fill="red"]'


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
    assert page.locator(RED_FORMULAS).count() == 0
    assert page.locator(".math:not(:has(mjx-container))").count() == 0


def shown(box):
    """What a moving figure shows: its frame and the text beside the slider."""
    return box.evaluate(
        "box => [box.querySelector('.widget-html img').src, "
        "[...box.querySelectorAll('.widget-html-content')].map(e => e.innerText).join('|')]"
    )


CHANGED = "([box, source]) => box.querySelector('.widget-html img').src !== source"


def test_slider_and_play_change_the_picture(page):
    boxes = page.locator(".cell_output .widget-vbox:has(.widget-slider)")
    for index in range(boxes.count()):
        box = boxes.nth(index)
        slider, start = box.locator("[role=slider]"), shown(box)
        assert slider.get_attribute("aria-label") not in (None, "", "null")
        at_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
        slider.focus()
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
        page.wait_for_function(CHANGED, arg=[box.element_handle(), start[0]])
        moved = shown(box)
        assert moved[1] != start[1], "the text beside the slider stays"
        assert slider.get_attribute("aria-valuetext") == moved[1].split("|")[0].strip()
        if box.locator(".widget-play").count():
            box.get_by_role("button", name="Stop").click()
            before = shown(box)
            box.get_by_role("button", name="Play", exact=True).click()
            page.wait_for_function(CHANGED, arg=[box.element_handle(), before[0]])
            box.get_by_role("button", name="Pause").click()
    assert page.faults == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_accessible(page, axe, mode):
    """No serious or critical finding, after the widgets are there and with everything unfolded."""
    page.add_style_tag(content="* { animation: none !important; transition: none !important; }")
    page.evaluate(f"document.documentElement.dataset.theme = '{mode}'")
    page.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    page.evaluate("document.querySelectorAll('.toggle-hidden').forEach(e => e.classList.remove('toggle-hidden'))")
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    bad = [
        f"{rule['impact']} {rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
    assert bad == []


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_fits_the_window(page, viewport):
    page.set_viewport_size(viewport)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(WIDE)
    assert width <= viewport["width"]


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


def test_an_unknown_macro_is_noticed(browser, book):
    """The check for red formulas can fail."""
    page = visit(browser, book.html / "notation.html")
    page.evaluate(
        r"""() => { const span = document.createElement("span"); span.className = "math";
        span.textContent = "\\(\\nosuchmacro\\)"; document.querySelector("article").append(span);
        return MathJax.typesetPromise([span]); }"""
    )
    assert page.locator(RED_FORMULAS).count() > 0
    page.context.close()
