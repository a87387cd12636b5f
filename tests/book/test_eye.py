"""What a reader sees: captions, dark figures, phones, paper, tables, search. Each check is shown to fail, too."""

import io
import json
import re
import unicodedata
from types import SimpleNamespace

import numpy as np
import pypdf
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from PIL import Image

import pages
import pdf
import staging

from .checks import bare_figures
from .conftest import PAGES, ROOT
from .test_browser import visit

PHONE, WIDE, PAPER = ({"width": width, "height": 900} for width in (375, 1400, 876))


@pytest.fixture(scope="module", params=PAGES)
def page(request, browser, book):
    """One page of the book, opened once for all tests that look at it."""
    opened = visit(browser, book.html / f"{request.param}.html")
    yield opened
    opened.context.close()


@pytest.fixture(scope="module")
def any_page(browser, book):
    """A page with static and moving figures, for the faults that are put in."""
    opened = visit(browser, book.html / "07-frank-wolfe.html")
    yield opened
    opened.context.close()


# ------------------------------------------------------------------ captions and numbers
@pytest.mark.parametrize("name", PAGES)
def test_every_figure_has_a_number_and_a_caption(book, name):
    soup = book.soup(name)
    assert bare_figures(soup) == []
    numbers = [e.get_text(strip=True) for e in soup.select("article figure .caption-number")]
    counted = [int(re.search(r"\.(\d+)$", number).group(1)) for number in numbers]
    assert counted == list(range(1, len(counted) + 1))
    title = soup.select_one("article h1").get_text()
    if re.match(r"\d+\. ", title):
        assert all(number.startswith(f"Figure {title.split()[0]}") for number in numbers)


def test_a_missing_caption_is_noticed(book):
    soup = BeautifulSoup(str(book.soup("07-frank-wolfe")), "html.parser")
    soup.select_one("article figcaption").decompose()
    assert len(bare_figures(soup)) == 1
    soup.select("article figure img")[0].find_parent("figure").unwrap()
    assert len(bare_figures(soup)) >= 1


def cell(**outputs):
    return {"cell_type": "code", "source": "", "metadata": {"mystnb": {"image": {"alt": "A line. It rises."}}},
            "outputs": [{"output_type": "display_data", "data": data} for data in outputs.values()]}  # fmt: skip


def test_captions_come_from_the_cell_or_the_alt_text():
    one, two = cell(image={"image/png": "x"}), cell(image={"image/png": "x"}, table={"text/html": "<b>1</b>"})
    two["metadata"]["mystnb"]["figure"] = {"caption": "Costs $c$.", "name": "costs"}
    notebook = {"metadata": {}, "cells": [one, two]}
    staging.caption_figures(notebook, "03-page")
    figures = [c["metadata"].get("mystnb", {}).get("figure") for c in notebook["cells"]]
    assert figures == [{"name": "figure-03-page-1", "caption": "A line."},
                       {"caption": "Costs $c$.", "name": "costs"}, None]  # fmt: skip


def test_figures_and_equations_are_referred_to_by_number(throwaway):
    from .conftest import run_script

    text = "# 7. A page\n\n$$a = b$$ (same)\n\nSee {numref}`figure-index-1` and {eq}`same`."
    root = throwaway("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", markdown=text)
    path = root / "book" / "index.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][-1]["metadata"]["mystnb"] = {"image": {"alt": "A line rises from 1 to 2."}}
    path.write_text(json.dumps(notebook))
    run = run_script("build", "--size", "quick", "--root", root)
    assert run.returncode == 0, run.stdout
    soup = BeautifulSoup((root / "_build" / "html" / "index.html").read_text(), "html.parser")
    assert "See Figure 7.1 and (7.1)." in soup.select_one("article").get_text()
    assert soup.select_one("figcaption").get_text(" ", strip=True).startswith("Figure 7.1 A line rises from 1 to 2.")


def test_a_reference_to_another_page_carries_the_caption():
    figure = nodes.figure("", nodes.caption("", "What it costs."), ids=["costs"])
    env = SimpleNamespace(found_docs={"07-page"}, get_doctree=lambda docname: nodes.section("", figure))
    links = [nodes.reference("", "see", refuri=f"07-page.html#{name}") for name in ("costs", "a-section")]
    pages.explain_references(SimpleNamespace(env=env), nodes.section("", *links), "08-page")
    assert [link.get("reftitle") for link in links] == ["What it costs.", None]


def test_the_caption_of_a_moving_figure_follows_the_slider(any_page):
    figure = any_page.locator("figure:has(.widget-slider)").first
    before = figure.locator(".frame-text").inner_text()
    figure.locator("[role=slider]").focus()
    any_page.keyboard.press("ArrowRight")
    any_page.wait_for_function("([f, t]) => f.querySelector('.frame-text').textContent !== t",
                               arg=[figure.element_handle(), before])  # fmt: skip
    assert figure.locator(".frame-text").inner_text() == figure.locator(".widget-html img").get_attribute("alt")


def test_a_reference_shows_what_it_leads_to(any_page):
    any_page.evaluate("""() => { const link = document.createElement("a"); link.id = "probe"; link.textContent = "see";
        link.className = "reference internal"; link.href = "#figure-07-frank-wolfe-1";
        document.querySelector("article p").append(link); showPreview(link); }""")
    assert "Figure 7.1" in any_page.locator(".preview").inner_text()
    any_page.keyboard.press("Escape")
    assert any_page.locator(".preview").count() == 0
    any_page.evaluate("document.getElementById('probe').remove()")


# ------------------------------------------------------------------ dark
def pixels(page, image):
    return np.asarray(Image.open(io.BytesIO(image.screenshot())).convert("RGB"), dtype=float) / 255


def luminance(rgb):
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def dark_faults(page, image):
    """What is wrong with a figure in the dark, compared with itself in the light."""
    shots = {}
    for mode in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{mode}'")
        shots[mode] = pixels(page, image)[3:-3, 3:-3].reshape(-1, 3)
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    light, dark = shots["light"], shots["dark"]
    faults = []
    paper = luminance(dark[luminance(light) > 0.99])
    if len(paper) and np.median(paper) > 0.02:
        faults.append("its ground is bright")
    ink = luminance(dark[luminance(light) < 0.01])
    if len(ink) > 20 and (np.median(ink) + 0.05) / 0.055 < 7:
        faults.append("its text is dark")
    chroma = light.max(axis=1) - light.min(axis=1)
    strong = chroma > 0.35
    if strong.sum() > 20:
        angle = np.abs(hue(light[strong]) - hue(dark[strong]))
        if np.percentile(np.minimum(angle, 360 - angle), 95) > 8:
            faults.append("its colours have other hues")
    return faults


def hue(rgb):
    r, g, b = rgb.T
    return np.degrees(np.arctan2(np.sqrt(3) * (g - b), 2 * r - g - b)) % 360


def test_figures_in_the_dark(page):
    page.set_viewport_size(WIDE)
    page.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    page.add_style_tag(content="* { transition: none !important; }")
    for image in page.locator("article figure img").all():
        if image.is_visible():
            assert dark_faults(page, image) == [], image.get_attribute("alt")


@pytest.mark.parametrize("filters, fault", [("none", "ground"), ("invert(1)", "hues"), ("brightness(0.1)", "text")])
def test_a_dark_figure_that_cannot_be_read_is_noticed(any_page, filters, fault):
    any_page.set_viewport_size(WIDE)
    style = any_page.add_style_tag(
        content=f"html[data-theme=dark] .bd-content figure img.figure-probe {{ filter: {filters} !important; }}")
    image = any_page.locator("article figure img").first
    image.evaluate("image => image.classList.add('figure-probe')")
    found = dark_faults(any_page, image)
    image.evaluate("image => image.classList.remove('figure-probe')")
    style.evaluate("style => style.remove()")
    assert any(fault in text for text in found), found


# ------------------------------------------------------------------ phone
# Elements that are wider than the window and do not stand in a box that scrolls.
TOO_WIDE = """() => [...document.querySelectorAll("article *")].filter(element => {
    if (!element.checkVisibility() || element.getBoundingClientRect().right <= innerWidth + 1) return false;
    if (element.closest("mjx-assistive-mml, svg")) return false;
    for (let box = element.parentElement; box.tagName !== "ARTICLE"; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== "visible") return false;
    return true;
}).map(element => element.outerHTML.slice(0, 200))"""
SMALL = """least => [...document.querySelectorAll("article figure img")].filter(image => image.checkVisibility()
    && image.getBoundingClientRect().width < least * Number(image.getAttribute("width") || image.naturalWidth))
    .map(image => image.alt)"""
LEAST = 0.74  # of its size: what is written in 11 pixels keeps 8


def test_phone(page):
    page.set_viewport_size(PHONE)
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.evaluate(SMALL, LEAST) == []
    page.set_viewport_size(WIDE)


def test_what_overflows_a_phone_is_noticed(any_page):
    any_page.set_viewport_size(PHONE)
    style = any_page.add_style_tag(content="article figure .figure-box { overflow: visible !important; }")
    assert any_page.evaluate(TOO_WIDE) != []
    rule = "html .bd-content article figure .figure-box > img { max-width: 100% !important; }"
    style.evaluate("(style, rule) => { style.textContent = rule; }", rule)
    assert any_page.evaluate(SMALL, LEAST) != []
    style.evaluate("style => style.remove()")
    any_page.set_viewport_size(WIDE)


def test_a_figure_is_enlarged_by_a_tap_and_by_a_button(any_page):
    image = any_page.locator("article figure img").first
    for start in (image, any_page.get_by_role("button", name="Enlarge Figure 7.1")):
        start.click()
        assert any_page.locator("dialog.enlarged img").get_attribute("alt") == image.get_attribute("alt")
        assert any_page.locator("dialog.enlarged img").bounding_box()["width"] > image.bounding_box()["width"]
        any_page.keyboard.press("Escape")
        assert any_page.locator("dialog.enlarged").count() == 0


# ------------------------------------------------------------------ paper
CUT = """() => [...document.querySelectorAll("article pre, article table, article figure")].filter(element => {
    if (!element.checkVisibility()) return false;
    const style = getComputedStyle(element);
    return element.scrollWidth > element.clientWidth + 1 || element.getBoundingClientRect().right > innerWidth + 1
        || style.overflowX !== "visible";
}).map(element => element.outerHTML.slice(0, 200))"""
CONTROLS = """() => [...document.querySelectorAll("button, .widget-slider, .widget-play, .bd-sidebar-primary, "
    + ".bd-sidebar-secondary, .bd-header-article, .prev-next-footer, .headerlink")]
    .filter(e => e.checkVisibility() && !e.matches(".sort")).map(e => e.outerHTML.slice(0, 200))"""


def test_paper(page):
    """No line is cut, nothing stands there to be pressed."""
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    assert page.evaluate(CONTROLS) == []
    page.emulate_media(media="screen")
    page.set_viewport_size(WIDE)


@pytest.mark.parametrize("rule, check", [
    ("article pre { white-space: pre !important; }", CUT),
    (".widget-hbox { display: flex !important; }", CONTROLS),
])  # fmt: skip
def test_what_paper_cuts_or_cannot_press_is_noticed(any_page, rule, check):
    any_page.set_viewport_size({"width": 500, "height": 900})
    any_page.emulate_media(media="print")
    style = any_page.add_style_tag(content=f"@media print {{ {rule.replace('article', '.bd-content article')} }}")
    found = any_page.evaluate(check)
    style.evaluate("style => style.remove()")
    any_page.emulate_media(media="screen")
    any_page.set_viewport_size(WIDE)
    assert found != []


def test_the_book_on_paper(browser, book, tmp_path):
    """One PDF: contents, bookmarks, a number on every page, links that stay inside."""
    count = pdf.bind(browser, ROOT, book.html, tmp_path / "book.pdf")
    made = pypdf.PdfReader(tmp_path / "book.pdf")
    assert len(made.pages) == count > 50
    assert b"file:" not in (tmp_path / "book.pdf").read_bytes()
    chapters = [item for item in made.outline if not isinstance(item, list)]
    titles = [book.soup(name).select_one("article h1").find(string=True).strip() for name in PAGES]
    assert [item.title for item in chapters] == titles
    text = [unicodedata.normalize("NFKC", page.extract_text()) for page in made.pages]  # no ligatures
    assert all(text[n].rstrip().endswith(str(n + 1)) for n in range(count))
    for item, title in zip(chapters, titles, strict=True):
        number = made.get_destination_page_number(item)
        words = re.sub(r"\W+", "", title)
        assert words in re.sub(r"\W+", "", text[number])
        assert any(f"{words}{number + 1}" in re.sub(r"\W+", "", page) for page in text[:6]), title


# ------------------------------------------------------------------ tables
PANDAS = """<div><style scoped>a {}</style><table border="1" class="dataframe"><thead>
<tr style="text-align: right;"><th></th><th>iod_val</th><th>finding</th></tr><tr><th>method</th><th></th><th></th></tr>
</thead><tbody><tr><th>ncut</th><td>0.68 ± 0.02</td><td>yes at 1, no at 4</td></tr></tbody></table></div>"""


def test_raw_tables_get_the_look_of_the_others():
    table = BeautifulSoup(staging.tidy_table(PANDAS), "html.parser").table
    assert [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in table.find_all("tr")] == [
        ["method", "IoD on Val", "finding"], ["NCUT", "0.68\xa0±\xa00.02", "yes at 1, no at 4"]]  # fmt: skip
    assert [cell.get("class") for cell in table.tbody.find_all("td")] == [["number"], None]
    assert {cell["scope"] for cell in table.thead.find_all("th")} == {"col"}


@pytest.mark.parametrize("name", PAGES)
def test_tables_have_one_look(book, name):
    for table in book.soup(name).select("article div.cell_output table"):
        assert table.get("class") == ["table"]
        assert not re.search(r"\d ± \d", table.get_text()), "a plain space beside ±"
        heads = table.select("thead tr")
        assert not [row for row in heads[1:] if len([c for c in row if c.get_text(strip=True)]) == 1], "an empty row"


def test_long_tables_are_sorted_by_a_click_and_by_keys(browser, book):
    page = visit(browser, book.html / "09-background-trap.html")
    table = page.locator("article table:has(button.sort)").first
    column = "table => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[1].textContent))"
    button = table.locator("button.sort").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    values = table.evaluate(column)
    assert len(values) >= 8 and values == sorted(values)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    button.click()
    assert table.evaluate(column) == sorted(values, reverse=True)
    page.context.close()


# ------------------------------------------------------------------ search, titles, weight
def test_search_from_the_disk_shows_excerpts(browser, book):
    page = visit(browser, book.html / "search.html", query="?q=certificate")
    page.wait_for_selector("#search-results li .context")
    first = page.locator("#search-results li").first
    assert "07-frank-wolfe" in first.locator("a").get_attribute("href")
    assert "certificate" in page.locator("#search-results li .context").first.inner_text().lower()
    assert page.locator("#search-results li .context .highlighted").count() > 0
    assert page.faults == []
    page.context.close()


def test_bibliography_names_author_and_year_and_no_raw_mathematics(book):
    text = book.soup("bibliography").select_one(".citation-list").get_text()
    assert "[Bojanowski et al., 2014]" in text
    labels = re.findall(r"\[[^\]]+, \d{4}[a-z]?\]", text)
    assert len(labels) == len(set(labels)) > 20
    assert not re.search(r"\[\d+\]|\$|\\|\{", text)


def test_weight_of_the_book(book):
    assert sum(path.stat().st_size for path in book.html.rglob("*") if path.is_file()) < 30_000_000
    assert list(book.html.rglob("*.map")) == []
    for path in (book.html / "_sources").glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf8"))
        assert not any(cell.get("outputs") for cell in notebook["cells"])
        assert "needs the package" in notebook["cells"][0]["source"]
