"""Print the built pages into one PDF with contents, page numbers, bookmarks and links that stay inside it."""

import html
import io
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup
from playwright import sync_api
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject, NumberObject, TextStringObject
from tqdm import tqdm

import execute
from ordering._files import whole_file

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAPER = {"format": "A4", "scale": 0.75, "margin": {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}}
# Formulas are set, frames are drawn.
READY = """() => document.readyState === "complete"
    && (!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true))
    && [...document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')]
        .every(view => view.parentElement.querySelector(".jupyter-widgets img"))"""
# Headings that are seen, in their order: level, text, anchors.
HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(h => h.checkVisibility()).map(h => [
    Number(h.tagName[1]), [...h.childNodes].filter(n => !n.matches?.(".headerlink")).map(n =>
        n.querySelector?.("math")?.textContent || n.textContent).join("").replace(/\\s+/g, " ").trim(),
    [h.id, h.parentElement.id, ...[...h.parentElement.querySelectorAll(":scope > span[id]")].map(e => e.id)]])"""
STYLE = """<style>body { font-family: "DejaVu Sans", sans-serif; font-size: 10pt; margin: 0; }
h1 { font-size: 22pt; } h2 { margin: 1.4em 0 0.3em; font-size: 14pt; } a { color: black; text-decoration: none; }
p { display: flex; margin: 0.15em 0; break-inside: avoid; } p.section { padding-left: 1.5em; color: #333; }
p a:first-child { flex: 1; } div.number { height: 297mm; break-after: page; position: relative; }
div.number:last-child { break-after: auto; }
div.number span { position: absolute; bottom: 9mm; width: 100%; text-align: center; font-size: 9pt; }</style>"""


def start_browser(playwright):
    """The Chromium of this machine."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FileNotFoundError(f"a browser: one of {', '.join(BROWSERS)} expected, found none")
    return playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])


def print_page(browser, path):
    """One page of the book as a PDF, and its headings: level, text, anchors, page from 0."""
    page = browser.new_page(viewport={"width": 800, "height": 1100})
    page.emulate_media(media="print")
    page.goto(path.as_uri(), wait_until="load")
    page.wait_for_function(READY)
    headings = page.evaluate(HEADINGS)
    reader = PdfReader(io.BytesIO(page.pdf(**PAPER, print_background=True, outline=True, tagged=True)))
    page.close()
    found = list(flat(reader.outline))  # Chromium's own texts repeat words that a break of line or page divides
    if len(found) != len(headings):
        raise RuntimeError(f"{path.name}: {len(headings)} headings expected in print, found {len(found)}")
    places = [reader.get_destination_page_number(item) for item in found]
    return reader, [(*heading, place) for heading, place in zip(headings, places, strict=True)]


def flat(outline):
    """The entries of an outline without its levels."""
    for item in outline:
        if isinstance(item, list):
            yield from flat(item)
        else:
            yield item


def print_html(browser, body, **paper):
    """HTML of our own as a PDF."""
    page = browser.new_page()
    page.set_content(f"<!DOCTYPE html><html lang=en>{STYLE}<body>{body}</body></html>")
    printed = page.pdf(**(paper or PAPER))
    page.close()
    return PdfReader(io.BytesIO(printed))


def contents(title, note, chapters, offset):
    """HTML of the first pages: what stands on which page, counted from 1."""
    lines = [f"<h1>{html.escape(title)}</h1><div>{html.escape(note)}</div><h2>Contents</h2>"]
    for first, headings in chapters:
        for level, name, _, page in headings:
            if level > 2:
                continue
            number = offset + first + page + 1
            link = f'<a href="page:{number - 1}">'
            kind = ' class="section"' if level == 2 else ""
            lines.append(f"<p{kind}>{link}{html.escape(name)}</a>{link}{number}</a></p>")
    return "".join(lines)


def point_inside(writer, page, reader, first, starts, folder):
    """Turn the links of a page into links within the whole PDF; what leads to no page of it is dropped."""
    kept = ArrayObject()
    named = reader.named_destinations
    for reference in page.get("/Annots", ()):
        link = reference.get_object()
        address = link.get("/A", {}).get("/URI")
        name = link.get("/Dest", link.get("/A", {}).get("/D"))
        target = None
        if address is None and isinstance(name, str) and name in named:
            place = named[name]
            target = (first + reader.get_destination_page_number(place), place.top)
        elif address is not None and address.startswith("page:"):
            target = (int(address[5:]), None)
        elif address is not None and address.startswith("file:"):
            parts = urlsplit(address)
            path = Path(unquote(parts.path))
            inside = starts.get(path.stem, {}) if path.parent == folder else {}
            target = (inside.get(unquote(parts.fragment), inside[""]), None) if inside else None
        else:
            kept.append(reference)  # leads out of the book
            continue
        if target is not None:
            top = NullObject() if target[1] is None else FloatObject(target[1])
            link[NameObject("/Dest")] = ArrayObject(
                [writer.pages[target[0]].indirect_reference, NameObject("/XYZ"), NullObject(), top, NumberObject(0)])
            link.pop("/A", None)
            kept.append(reference)
    page[NameObject("/Annots")] = kept


def make_pdf(root, folder, out):
    """Write the whole book; return the number of its pages."""
    with sync_api.sync_playwright() as playwright:
        browser = start_browser(playwright)
        count = bind(browser, root, folder, out)
        browser.close()
    return count


def bind(browser, root, folder, out):
    """Print the pages in a browser and put them into one file; return the number of its pages."""
    pages = [page.stem for page in execute.pages(root)]
    soup = BeautifulSoup((folder / "index.html").read_text(encoding="utf8"), "html.parser")
    title = soup.select_one("article h1").find(string=True).strip()
    footer = soup.select_one("footer.bd-footer-content")
    note = " ".join(footer.get_text(" ", strip=True).split()) + " Code that is folded on the pages is left out here."
    printed = [print_page(browser, folder / f"{name}.html") for name in tqdm(pages, unit="page", desc="Print")]
    readers = [reader for reader, _ in printed]
    firsts = [sum(len(reader.pages) for reader in readers[:n]) for n in range(len(readers))]
    chapters = [(first, headings) for first, (_, headings) in zip(firsts, printed, strict=True)]
    offset = len(print_html(browser, contents(title, note, chapters, 0)).pages)
    front = print_html(browser, contents(title, note, chapters, offset))
    total = offset + sum(len(reader.pages) for reader in readers)
    numbers = "".join(f'<div class="number"><span>{n}</span></div>' for n in range(1, total + 1))
    stamps = print_html(browser, numbers, format="A4")
    writer = PdfWriter()
    for reader in (front, *readers):
        for page in reader.pages:
            writer.add_page(page)
    starts = {}  # page of the PDF by name of the page and anchor
    for name, (first, headings) in zip(pages, chapters, strict=True):
        starts[name] = {anchor: offset + first + place for *_, anchors, place in headings for anchor in anchors}
        starts[name][""] = offset + first
    for reader, first in zip((front, *readers), (0, *(offset + first for first in firsts)), strict=True):
        for n in range(first, first + len(reader.pages)):
            point_inside(writer, writer.pages[n], reader, first, starts, folder)
            writer.pages[n].merge_page(stamps.pages[n])
            writer.pages[n].compress_content_streams()
    for first, headings in chapters:
        parent = None
        for level, name, _, page in headings:
            if level <= 2:
                item = writer.add_outline_item(title=name, page_number=offset + first + page, parent=parent)
                parent = parent or item
    writer.add_metadata({"/Title": title})
    writer.root_object[NameObject("/Lang")] = TextStringObject("en")
    writer.compress_identical_objects(remove_duplicates=True)
    with whole_file(out, "wb") as file:
        writer.write(file)
    return total
