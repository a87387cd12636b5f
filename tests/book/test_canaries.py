"""A fault is put into a sound page or chapter; the check for it must report it, and must not without it."""

import copy
import re
import shutil
from pathlib import Path

import nbformat
import pytest

import execute

from . import checks, test_eye
from .conftest import CELLS, Book, run_script, write_book
from .test_browser import WIDE, visit

TEXT = """# A page of one figure

This page stands in for a chapter: it has a text that is long enough to be described, a figure, a table of one row and
a moving figure, and [a link](#a-page-of-one-figure) to itself.

| name | value |
|---|---|
| one | 1 |
"""
FIGURE = ("import matplotlib.pyplot as plt\n\nplt.figure(figsize=(4, 2), facecolor='white')\nplt.plot([1, 2])\n"
          "plt.show()", {"mystnb": {"image": {"alt": "A line rises from one to two. It is straight."}}})  # fmt: skip
MOVING = """
from ordering.paper import frames

def draw(n):
    figure, ax = plt.subplots(figsize=(4, 2))
    ax.plot(range(n))
    return figure

frames.show(draw, [10, 20, 30], description="points", alt=lambda n: f"A line through {n} points.")
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A built page without any fault, and without formulas."""
    root = write_book(tmp_path_factory.mktemp("sound"), 'print("a line of text")', FIGURE, MOVING, markdown=TEXT)
    run = run_script("build", "--size", "quick", "--root", root)
    assert run.returncode == 0, run.stdout
    return root


@pytest.fixture
def page(sound, tmp_path):
    """A copy of the sound page; `change` puts a fault in and gives the book that it is in."""
    html = shutil.copytree(sound / "_build" / "html", tmp_path / "html")

    def change(pattern="", replacement="", name="index.html"):
        path = html / name
        before = path.read_text(encoding="utf8")
        after = re.sub(pattern, lambda _: replacement, before, count=1, flags=re.DOTALL) if pattern else before
        assert not pattern or after != before, "the fault is not in"
        path.write_text(after, encoding="utf8")
        return Book(0, f"changed by {pattern}", html)  # told apart from the sound one, whose pages it remembers

    return change


def in_article(html):
    """Where a piece of HTML is put at the end of the text."""
    return "</article>", f"{html}</article>"


# ------------------------------------------------------------------ pages as files
IMG = '<img alt="a picture of a line" '
REMOTE = {
    "src": in_article(f'{IMG}src="https://host.example/a.png">'),
    "src without a scheme": in_article(f'{IMG}src="//host.example/a.png">'),
    "srcset": in_article(f'{IMG}src="_static/a.png" srcset="_static/a.png 1x, https://host.example/a.png 2x">'),
    "srcset of a source": in_article('<picture><source srcset="https://host.example/a.png"></picture>'),
    "script": ("</head>", '<script src="http://host.example/a.js"></script></head>'),
    "style sheet": ("</head>", '<link rel="stylesheet" href="https://host.example/a.css"></head>'),
    "preload": ("</head>", '<link rel="preload" as="image" imagesrcset="https://host.example/a.png 1x"></head>'),
    "url in a style": ("</head>", "<style>p { background: url( 'https://host.example/a.png' ) }</style></head>"),
    "import": ("</head>", '<style>@import "https://host.example/a.css";</style></head>'),
    "url in an attribute": in_article('<p style="background: url(//host.example/a.png)">text</p>'),
    "poster": in_article('<video poster="https://host.example/a.png"></video>'),
    "object": in_article('<object data="https://host.example/a.svg"></object>'),
    "frame": in_article('<iframe src="https://host.example/"></iframe>'),
    "drawing": in_article('<svg><image href="https://host.example/a.png"/></svg>'),
}


@pytest.mark.parametrize("fault", REMOTE)
def test_something_from_another_host(page, fault):
    assert checks.remote_loads(page(), "index") == []
    (found,) = checks.remote_loads(page(*REMOTE[fault]), "index")
    assert "host.example" in found


def test_something_from_another_host_in_a_style_sheet(page):
    book = page()
    (sheet,) = book.html.glob("_static/page.css")
    with sheet.open("a", encoding="utf8") as file:
        file.write("\n@font-face { font-family: a; src: url(https://host.example/a.woff2) }\n")
    assert checks.remote_loads(book, "index") == ["https://host.example/a.woff2"]


FILES = {
    "link to a page": (checks.dead_links, in_article('<a href="nowhere.html">see</a>')),
    "link to an anchor": (checks.dead_links, in_article('<a href="#nowhere">see</a>')),
    "link to a place on another page": (checks.dead_links, in_article('<a href="genindex.html#nowhere">see</a>')),
    "image that is not there": (checks.dead_links, in_article('<img src="_images/nowhere.png">')),
    "no alt text": (checks.undescribed_images, (r' alt="A line rises[^"]*"', "")),
    "an empty alt text": (checks.undescribed_images, (r'alt="A line rises[^"]*"', 'alt=""')),
    "an alt text that is a path": (checks.undescribed_images, (r'alt="A line rises[^"]*"', 'alt="_images/abc/1.png"')),
    "a frame without an alt text": (checks.undescribed_images, (r'<img alt=\\"A line through 20 points.\\"', "<img")),
    "a path of this machine": (checks.machine_paths, in_article(f"<p>{checks.ROOT}/book</p>")),
    "a path of an installation": (checks.machine_paths, in_article("<p>lib/site-packages/numpy</p>")),
    "a warning": (checks.bad_outputs, (r"(?<=</span>)a line of text", "FutureWarning: it will change")),
    "an error": (checks.bad_outputs, (r"(?<=</span>)a line of text", "Traceback (most recent call last)")),
    "stderr": (checks.bad_outputs, (r'class="output stream[^"]*"', 'class="output stderr"')),
    "no title": (checks.head_faults, ("<title>.*?</title>", "<title></title>")),
    "a title that says a thing twice": (checks.head_faults, ("<title>.*?</title>", "<title>Page — Page</title>")),
    "two headings": (checks.head_faults, in_article("<h1>Another</h1>")),
    "no description": (checks.head_faults, ('name="description"', 'name="robots"')),
    "a description of a word": (checks.head_faults, (r'content="[^"]*"(?=[^>]*name="description")'
                                                    r'|(?<=name="description" )content="[^"]*"', 'content="page"')),
    "no icon": (checks.head_faults, ('rel="icon"', 'rel="none"')),
    "a launch button": (checks.head_faults, in_article('<div class="dropdown-launch-buttons"></div>')),
    "no caption": (lambda book, name: checks.bare_figures(book.soup(name)), ("<figcaption>.*?</figcaption>", "")),
    "no number": (lambda book, name: checks.bare_figures(book.soup(name)),
                  (r'<span class="caption-number">.*?</span>', "")),
    "an image that is no figure": (lambda book, name: checks.bare_figures(book.soup(name)),
                                   in_article(f'{IMG}src="_static/a.png">')),
}  # fmt: skip


@pytest.mark.parametrize("fault", FILES)
def test_a_fault_of_a_page(page, fault):
    check, change = FILES[fault]
    assert check(page(), "index") == []
    assert check(page(*change), "index") != []


def test_a_page_that_is_too_heavy(page):
    book = page()
    assert checks.weight(book, "index") < checks.PAGE_BYTES
    (image,) = book.soup("index").select("article figure img[src]")
    (book.html / image["src"]).write_bytes(bytes(checks.PAGE_BYTES))
    assert checks.weight(book, "index") > checks.PAGE_BYTES


# ------------------------------------------------------------------ chapters
@pytest.fixture(scope="module")
def chapter(sound):
    """The committed chapter and its executed copy."""
    path = sound / "book" / "index.ipynb"
    return [nbformat.read(file, as_version=4) for file in (path, execute.copy_path(sound, "quick", path))]


def first_output(notebook):
    return next(cell for cell in notebook.cells if cell.get("outputs")).outputs[0]


def put_error(notebook):
    notebook.cells[2].outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])]


CHAPTERS = {
    "outputs are committed": (checks.not_stripped, 0, lambda n: n.cells[1].update(execution_count=1)),
    "states of widgets are committed": (checks.not_stripped, 0, lambda n: n.metadata.update(widgets={})),
    "another kernel": (checks.not_stripped, 0, lambda n: n.metadata.kernelspec.update(name="mine")),
    "no cell of parameters": (checks.parameter_faults, 0, lambda n: n.cells[1].metadata.update(tags=[])),
    "two cells of parameters": (checks.parameter_faults, 0, lambda n: n.cells.append(n.cells[1])),
    "another parameter": (checks.parameter_faults, 0, lambda n: n.cells[1].update(source='size = "quick"\nsead = 0')),
    "a cell was not run": (checks.execution_faults, 1, lambda n: n.cells[3].update(execution_count=None)),
    "a cell was run twice": (checks.execution_faults, 1, lambda n: n.cells[3].update(execution_count=9)),
    "a cell failed": (checks.execution_faults, 1, put_error),
    "a word on stderr": (checks.execution_faults, 1, lambda n: first_output(n).update(name="stderr")),
    "the figure is missing": (checks.image_faults, 1, lambda n: n.cells[3].update(outputs=[])),
    "a figure without a text": (checks.image_faults, 1, lambda n: n.cells[3].metadata.pop("mystnb")),
    "two figures in a cell": (checks.image_faults, 1, lambda n: n.cells[3].outputs.append(n.cells[3].outputs[0])),
    "two moving figures in a cell": (checks.image_faults, 1,
                                     lambda n: n.cells[4].outputs.append(n.cells[4].outputs[-1])),
    "a warning": (checks.output_faults, 1, lambda n: first_output(n).update(text="UserWarning: no")),
    "a path": (checks.output_faults, 1, lambda n: first_output(n).update(text=str(Path.home() / "table.csv"))),
}  # fmt: skip


@pytest.mark.parametrize("fault", CHAPTERS)
def test_a_fault_of_a_chapter(chapter, fault):
    check, which, change = CHAPTERS[fault]
    notebook = copy.deepcopy(chapter[which])
    assert check(notebook) == []
    change(notebook)
    assert check(notebook) != []


def test_a_cell_that_shows_nothing_is_none_of_the_faults(chapter):
    """A cell without text has no number."""
    notebook = copy.deepcopy(chapter[1])
    notebook.cells.append(CELLS["code"](""))
    assert checks.execution_faults(notebook) == []


# ------------------------------------------------------------------ pages in a browser
@pytest.fixture
def seen(browser, page):
    """Opens the page with a fault, for at most two seconds of waiting in each check."""
    opened = []

    def look(*change, wait=2000, **options):
        book = page(*change, **options)
        opened.append(visit(browser, book.html / "index.html"))
        opened[-1].set_default_timeout(wait)
        return opened[-1]

    yield look
    for one in opened:
        one.context.close()


def test_the_sound_page_has_no_fault(seen, axe):
    one = seen(wait=30_000)
    assert checks.control_faults(one) == [] and checks.formula_faults(one) == []
    assert one.faults == []
    for mode in ("light", "dark"):
        assert checks.accessibility_faults(one, axe, mode) == []
    assert not checks.is_too_wide(one, test_eye.PHONE, WIDE)
    for check, viewport in ((test_eye.TOO_WIDE, test_eye.PHONE), (test_eye.CUT, test_eye.PAPER)):
        one.set_viewport_size(viewport)
        one.emulate_media(media="print" if check is test_eye.CUT else "screen")
        assert one.evaluate(check) == []


@pytest.mark.parametrize("change", [
    in_article("<script>console.error('no')</script>"),
    in_article("<script>nothing.at.all</script>"),
    in_article("<script>fetch('https://host.example/').catch(() => 0)</script>"),
    in_article(f'{IMG}src="https://host.example/a.png">'),
    in_article(f'{IMG}src="_static/nowhere.png">'),
], ids=["console", "exception", "fetch", "remote", "missing"])  # fmt: skip
def test_a_page_that_is_not_quiet(seen, change):
    assert seen(*change).faults != []


@pytest.mark.parametrize("formula", [r"\(\nosuchmacro\)", r"\(\frac{1}\)"])
def test_a_formula_that_cannot_be_read(seen, formula):
    one = seen()
    one.evaluate("""formula => { const span = document.createElement("span"); span.className = "math";
        span.textContent = formula; document.querySelector("article").append(span);
        return window.MathJax && MathJax.typesetPromise ? MathJax.typesetPromise([span]) : null; }""", formula)
    assert checks.formula_faults(one) != []


STOPS = "<script>document.addEventListener('{event}', event => {{ {rule} event.stopImmediatePropagation(); }}, true)" \
        "</script></head>"
CONTROLS = {
    "a slider that moves nothing": ("</head>", STOPS.format(event="keydown", rule="event.preventDefault();")),
    "a Play button that plays nothing": ("</head>", STOPS.format(
        event="click", rule="if (!event.target.closest('.widget-play')) return; event.preventDefault();")),
}


@pytest.mark.parametrize("fault", CONTROLS)
def test_a_control_that_does_nothing(seen, fault):
    assert fault in checks.control_faults(seen(*CONTROLS[fault]))


def test_icons_that_replace_those_of_the_play_button(seen):
    """The fault that made a Play button fail on pages without formulas; the page as it is has none."""
    one = seen(r'autoReplaceSvg: false, mutateApproach: "sync"', "", name="_static/page.js")
    assert checks.control_faults(one) != [] or one.faults != []


def test_controls_without_names(seen):
    faults = checks.control_faults(seen("nameControls\\(\\) {", "nameControls() { return;", name="_static/page.js"))
    assert "a slider without a name" in faults and any("no button" in fault for fault in faults)


@pytest.mark.parametrize("change", [
    in_article('<p style="color: #999; background: #fff">a pale text</p>'),
    in_article('<button type="button"></button>'),
    in_article('<img src="_static/a.png">'),
    in_article("<ul><p>no item</p></ul>"),
], ids=["contrast", "button", "image", "list"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_what_cannot_be_read_by_all(seen, axe, change, mode):
    assert checks.accessibility_faults(seen(*change), axe, mode) != []


@pytest.mark.parametrize("html", [f'<p style="white-space: nowrap">{"word " * 40}</p>',
                                  '<div style="width: 400px">wide</div>'], ids=["line", "box"])
def test_a_phone_that_must_be_scrolled(seen, html):
    one = seen(*in_article(html))
    one.set_viewport_size(test_eye.PHONE)
    assert one.evaluate(test_eye.TOO_WIDE) != [] or checks.is_too_wide(one, test_eye.PHONE, WIDE)


def test_a_page_that_scrolls_sideways(seen):
    assert checks.is_too_wide(seen("</body>", '<div style="width: 900px">wide</div></body>'), test_eye.PHONE, WIDE)


@pytest.mark.parametrize("rule, check, media", [
    ("article figure img { width: 40px !important; height: auto !important; }",
     lambda one: one.evaluate(test_eye.SMALL, test_eye.LEAST), "screen"),
    ("article pre { white-space: pre !important; min-width: 2000px; }",
     lambda one: one.evaluate(test_eye.CUT), "print"),
    (".widget-hbox { display: flex !important; }", lambda one: one.evaluate(test_eye.CONTROLS), "print"),
], ids=["small text", "cut on paper", "controls on paper"])  # fmt: skip
def test_a_rule_of_style_that_spoils_a_page(seen, rule, check, media):
    one = seen()
    one.set_viewport_size(test_eye.PHONE if media == "screen" else test_eye.PAPER)
    one.emulate_media(media=media)
    assert check(one) == []
    one.add_style_tag(content=rule.replace("article", "html .bd-content article").replace(
        ".widget-hbox", "html .bd-content article .widget-hbox"))
    assert check(one) != []
