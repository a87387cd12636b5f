"""What is checked on every page and chapter. Each check gives its findings, none if all is well.

`test_canaries` puts in a fault for each of them.
"""

import ast
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import TimeoutError as NothingHappened

from .conftest import ROOT

PAGE_BYTES = 1_500_000  # HTML with its frames, and the images it shows
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
IMAGES = {"image/png", "image/svg+xml", "image/jpeg"}
PLACES = {str(ROOT), sys.prefix, str(Path.home()), "/tmp/", "site-packages"}
REMOTE = re.compile(r"(\w+:)?//")
LOADED = {"src", "srcset", "imagesrcset", "poster", "data", "background"}  # attributes whose addresses a browser loads


# ------------------------------------------------------------------ pages as files
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


def dead_links(book, page):
    """Links, images, scripts and styles of the book that are not there, and anchors that are not on their page."""
    dead, soup = [], book.soup(page)
    for tag, attribute in (("a", "href"), ("img", "src"), ("script", "src"), ("link", "href")):
        for element in soup.find_all(tag, {attribute: True}):
            target = local_target(page, element[attribute])
            if target is None or element.get("rel") == ["canonical"]:
                continue
            path = book.html / target[0].split("?")[0]
            if not path.is_file():
                dead.append(element[attribute])
            elif target[1] and tag == "a" and path.suffix == ".html" and not target[0].startswith("search"):
                if target[1] not in {found["id"] for found in book.soup(path.stem).find_all(id=True)}:
                    dead.append(element[attribute])
    return dead


def addresses_in_css(text):
    """Addresses of url() and @import."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text, flags=re.IGNORECASE)
    return ["".join(pair).strip() for pair in found]


def remote_loads(book, page):
    """Addresses of other hosts from which a browser would load something to show the page."""
    loaded, soup = [], book.soup(page)
    for element in soup.find_all(True):
        for attribute in LOADED & set(element.attrs):
            parts = element[attribute].split(",") if attribute.endswith("srcset") else [element[attribute]]
            loaded += [part.split()[0] for part in parts if part.split()]
        loaded += addresses_in_css(element.get("style", ""))
    for link in soup.find_all("link", href=True):
        if "canonical" not in link.get("rel", []):
            loaded.append(link["href"])
            path = book.html / link["href"].split("?")[0]
            if "stylesheet" in link.get("rel", []) and path.is_file():
                loaded += addresses_in_css(path.read_text(encoding="utf8"))
    loaded += [address for style in soup.find_all("style") for address in addresses_in_css(style.get_text())]
    loaded += [use.get("href") or use.get("xlink:href") or "" for use in soup.find_all(["use", "image"])]
    return [address for address in loaded if REMOTE.match(address)]


def undescribed_images(book, page):
    """Alt texts of images and frames that say nothing."""
    soup = book.soup(page)
    alts = [image.get("alt", "") for image in soup.select("article img")]
    for value in filter(None, widget_values(soup)):
        found = re.findall(r'<img alt="([^"]*)"', value)
        alts += found + [""] * (value.count("<img") - len(found))
    return [alt for alt in alts if len(alt) < 10 or re.search(r"\.(png|svg|jpe?g)$|^[\w./-]*/[\w./-]*$", alt)]


def bare_figures(soup):
    """Figures of a page without a number and a caption, and images or moving figures outside any."""
    figures = soup.select("article figure")
    captions = [figure.figcaption.get_text(" ", strip=True) if figure.figcaption else "" for figure in figures]
    whole = re.compile(r"Figure \w+\.\d+ \S.{9}")
    bad = [figure for figure, caption in zip(figures, captions, strict=True) if not whole.match(caption)]
    outside = [e for e in soup.select(f'article img, article script[type="{WIDGET_VIEW}"]')
               if not e.find_parent("figure")]  # fmt: skip
    return bad + outside


def machine_paths(book, page):
    """Paths of the machine that made the page, in it or in its source for download."""
    files = [book.html / f"{page}.html", *(book.html / "_sources").glob(f"{page}.*")]
    return [place for path in files for place in PLACES if place in path.read_text(encoding="utf8")]


def bad_outputs(book, page):
    """Errors, warnings and what went to stderr among the outputs of a page."""
    found = []
    for output in book.soup(page).select("div.cell_output"):
        found += output.select(".stderr, .traceback")
        found += re.findall(r"\w+Warning\b|Traceback", output.get_text())
    return found


def weight(book, page):
    """Bytes of a page and the images that it shows."""
    images = {book.html / image["src"] for image in book.soup(page).select("article img[src]")}
    return (book.html / f"{page}.html").stat().st_size + sum(path.stat().st_size for path in images)


def head_faults(book, page):
    """What is wrong with the title, the description and the icon."""
    soup, faults = book.soup(page), []
    parts = soup.title.get_text().split(" — ") if soup.title else [""]
    if not parts[0].strip() or len(parts) != len(set(parts)):
        faults.append(f"title: {parts}")
    if len(soup.select("article h1")) != 1:
        faults.append("not one heading of the first order")
    description = soup.select_one("meta[name=description]")
    if description is None or not 40 <= len(description["content"]) <= 170:
        faults.append(f"description: {description}")
    icon = soup.select_one("link[rel=icon]")
    if icon is None or not (book.html / icon["href"].split("?")[0]).is_file():
        faults.append(f"icon: {icon}")
    if soup.select(".btn-launch-group, .dropdown-launch-buttons, .dropdown-source-buttons"):
        faults.append("a launch button")
    return faults


# ------------------------------------------------------------------ notebooks
def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def not_stripped(notebook):
    """What a committed chapter holds beside its text."""
    faults = [f"kernel {notebook.metadata.kernelspec.name}"] * (notebook.metadata.kernelspec.name != "python3")
    faults += ["widget states"] * ("widgets" in notebook.metadata)
    return faults + [cell.id for cell in code_cells(notebook) if cell.outputs or cell.execution_count is not None]


def parameter_faults(notebook):
    """Papermill injects `size` and `seed`; both must be names of the one parameters cell."""
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        return [f"{len(cells)} cells of parameters"]
    assignments = [node for node in ast.parse(cells[0].source).body if isinstance(node, ast.Assign)]
    values = {node.targets[0].id: ast.literal_eval(node.value) for node in assignments}
    return [] if values == {"size": "quick", "seed": 0} else [str(values)]


def execution_faults(executed):
    """Cells that were not run, not in order, or not without an error or a word on stderr."""
    cells = [cell for cell in code_cells(executed) if cell.source.strip()]
    faults = [f"cell {n}: run as {cell.execution_count}" for n, cell in enumerate(cells, 1)
              if cell.execution_count != n]  # fmt: skip
    for cell in cells:
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                faults.append(str(output.get("text", output.get("evalue", ""))))
    return faults


def image_faults(executed):
    """A cell that has an alt text shows one image, and no other cell shows any; at most one moving figure a cell."""
    faults = []
    for cell in code_cells(executed):
        images = sum(bool(IMAGES & set(output.get("data", {}))) for output in cell.outputs)
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        moving = sum(WIDGET_VIEW in output.get("data", {}) for output in cell.outputs)
        if images != bool(alt) or moving > 1:
            faults.append(cell.source)
    return faults


def output_faults(executed):
    """Texts of outputs with a warning, an error or a path."""
    faults = []
    for cell in code_cells(executed):
        for output in cell.outputs:
            text = output.get("text", "") or str(output.get("data", {}).get("text/plain", ""))
            if re.search(r"\w+Warning\b|Traceback|/tmp/|/home/|/root/|site-packages", text):
                faults.append(text)
    return faults


# ------------------------------------------------------------------ pages in a browser
# MathJax marks what it cannot read as an error, and sets a macro that it does not know in red.
RED_FORMULAS = '[data-mml-node="merror"], mjx-container [fill="red"]'
CHANGED = "([box, source]) => box.querySelector('.widget-html img').src !== source"


def formula_faults(page):
    """Formulas that are not set, or not understood."""
    return [page.locator(found).count() for found in (RED_FORMULAS, ".math:not(:has(mjx-container))")
            if page.locator(found).count()]  # fmt: skip


def shown(box):
    """What a moving figure shows: its frame and the text beside the slider."""
    return box.evaluate(
        "box => [box.querySelector('.widget-html img').src, "
        "[...box.querySelectorAll('.widget-html-content')].map(e => e.innerText).join('|')]"
    )


def changes(page, box, picture):
    """True as soon as a moving figure shows another picture; false if it does not in time."""
    try:
        page.wait_for_function(CHANGED, arg=[box.element_handle(), picture])
    except NothingHappened:
        return False
    return True


def control_faults(page):
    """Sliders and Play buttons of a page that do not do what they are there for."""
    faults = []
    boxes = page.locator(".cell_output .widget-vbox:has(.widget-slider)")
    for box in (boxes.nth(index) for index in range(boxes.count())):
        slider, start = box.locator("[role=slider]"), shown(box)
        if slider.get_attribute("aria-label") in (None, "", "null"):
            faults.append("a slider without a name")
        at_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
        slider.focus()
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
        if not changes(page, box, start[0]):
            faults.append("a slider that moves nothing")
            continue
        moved = shown(box)
        if moved[1] == start[1]:
            faults.append("the text beside the slider stays")
        if slider.get_attribute("aria-valuetext") != moved[1].split("|")[0].strip():
            faults.append("the slider says another value")
        if box.locator(".widget-play").count():
            faults += play_faults(page, box)
    return faults


def play_faults(page, box):
    missing = [name for name in ("Stop", "Play") if not box.get_by_role("button", name=name, exact=True).count()]
    if missing:
        return [f"no button {', '.join(missing)}"]
    box.get_by_role("button", name="Stop").click()
    before = shown(box)
    box.get_by_role("button", name="Play", exact=True).click()
    if not changes(page, box, before[0]):
        return ["a Play button that plays nothing"]
    if not box.get_by_role("button", name="Pause").count():
        return ["a figure that plays and cannot be stopped"]
    box.get_by_role("button", name="Pause").click()
    return []


def accessibility_faults(page, axe, mode):
    """Serious and critical findings of axe, after the widgets are there and with everything unfolded."""
    page.add_style_tag(content="* { animation: none !important; transition: none !important; }")
    page.evaluate(f"document.documentElement.dataset.theme = '{mode}'")
    page.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    page.evaluate("document.querySelectorAll('.toggle-hidden').forEach(e => e.classList.remove('toggle-hidden'))")
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    return [f"{rule['impact']} {rule['id']}: {node['html'][:200]} {node['failureSummary']}"
            for rule in found if rule["impact"] in ("serious", "critical") for node in rule["nodes"]]  # fmt: skip


def is_too_wide(page, viewport, back):
    """True if the page as a whole scrolls sideways in a window of this size."""
    page.set_viewport_size(viewport)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(back)
    return width > viewport["width"]
