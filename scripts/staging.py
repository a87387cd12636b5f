"""What is done to an executed notebook on its way to the page: captions of figures, one look for raw tables."""

import html
import itertools
import json
import re

from bs4 import BeautifulSoup

from ordering.paper import tables

IMAGES = {"image/png", "image/svg+xml", "image/jpeg"}
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
NUMBER = re.compile(r"([+−-]?\d[\d.,]*(e[+-]\d+)?( ± [\d.]+)?( ?%)?( / [\d.]+)?( \(\d+\))?|–|nan|NaN|)")
PICTURE = re.compile(r"^!\[([^\]]+)\]\(([^)\s]+)\)\s*$", re.MULTILINE)


def first_sentence(text):
    """The first sentence of an alt text, with its full stop.

    >>> first_sentence("Two panels, 0.5 s apart. Left, the price")
    'Two panels, 0.5 s apart.'
    """
    sentence = re.match(r"(.+?[.!?])(?=\s+[A-Z]|\s*$)|.+", text.strip(), re.DOTALL).group()
    return sentence if sentence[-1] in ".!?" else f"{sentence}."


def as_markdown(text):
    """Text with all that Markdown would read as markup made literal."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>$~^&\"'@:=-])", r"\\\1", " ".join(text.split()))


def first_frame(model, state):
    """Alt text of the frame that a moving figure shows first, or None for any other widget."""
    def value(reference):
        return state[reference.removeprefix("IPY_MODEL_")]["state"]

    for child in value(model).get("children", ()):
        if "selected_index" in value(child):
            shown = value(value(child)["children"][value(child)["selected_index"]])
            found = re.search(r'<img alt="([^"]*)"', shown.get("value", ""))
            if found:
                return html.unescape(found.group(1))
    return None


def caption_of(cell, output, state):
    """The caption of an output in Markdown, or None if it is no figure."""
    options, data = cell["metadata"].get("mystnb", {}), output.get("data", {})
    own = options.get("figure", {}).get("caption", "")
    if VIEW in data:
        frame = first_frame(data[VIEW]["model_id"], state)
        return frame and f"{own} [{as_markdown(frame)}]{{.frame-text}}".strip()
    if IMAGES & set(data):
        return own or as_markdown(first_sentence(options.get("image", {}).get("alt", "A figure")))
    return None


def apart(cell, is_figure):
    """The cell, or one for its figure and one for each stretch of other outputs: a caption belongs to a cell."""
    outputs = cell.get("outputs", [])
    parts = [list(group) for _, group in itertools.groupby(outputs, is_figure)]
    if len(parts) < 2:
        return [cell]
    cells = [{**cell, "metadata": dict(cell["metadata"]), "outputs": part} for part in parts]
    for n, other in enumerate(cells[1:], 1):
        tags = set(cell["metadata"].get("tags", ())) - {"hide-input", "hide-cell"}
        other["metadata"]["tags"] = sorted({*tags, "remove-input"})
        other["id"] = f"{cell.get('id', 'cell')}-{n}"
    return cells


def caption_figures(notebook, page):
    """Make every image and every moving figure a figure of Sphinx's, with a name and a caption.

    Both are those of the cell's metadata (``mystnb.figure.caption`` and ``name``) if it has them. Else the
    caption is the first sentence of the alt text; below a moving figure stands what its frame shows.
    """
    state = notebook["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})
    made, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = caption_pictures("".join(cell["source"]), page)
        for part in apart(cell, lambda output, cell=cell: caption_of(cell, output, state) is not None):
            options = part["metadata"].get("mystnb", {})
            caption = next(filter(None, (caption_of(part, output, state) for output in part.get("outputs", []))), None)
            if caption:
                number += 1
                figure = {"name": f"figure-{page}-{number}"} | options.get("figure", {}) | {"caption": caption}
                part["metadata"]["mystnb"] = options | {"figure": figure}
            elif "figure" in options:
                part["metadata"]["mystnb"] = {key: value for key, value in options.items() if key != "figure"}
            made.append(part)
    notebook["cells"] = made


def caption_pictures(markdown, page):
    """Make every Markdown image that stands alone on its line a figure."""
    def figure(found):
        alt, path = found.groups()
        name = f"figure-{page}-{path.rpartition('/')[2].partition('.')[0]}"
        return f":::{{figure}} {path}\n:alt: {alt}\n:name: {name}\n\n{as_markdown(first_sentence(alt))}\n:::"

    return PICTURE.sub(figure, markdown)


def tidy_tables(notebook):
    """Give raw tables of pandas the look of `ordering.paper.tables.show`."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", ""))
            if "<table" in text:
                output["data"]["text/html"] = tidy_table(text)


def tidy_table(text):
    """One row of headings where pandas writes two, readable headings, scopes, "±" that does not break."""
    soup = BeautifulSoup(text, "html.parser")
    for table in soup.find_all("table"):
        table.attrs = {"class": ["table"]}
        rows = table.select("thead tr")
        cells = [row.find_all(["th", "td"]) for row in rows]
        for upper, lower in zip(cells[:-1], cells[1:], strict=True):
            if any(cell.get_text(strip=True) for cell in lower[1:]) or lower[0].name != "th":
                continue  # not the row in which pandas names the index
            names = [heading.get_text(strip=True) for heading in (lower[0], upper[0])]
            upper[0].string = " / ".join(tables.heading(name) for name in names if name)
            lower[0].parent.extract()
        for heading in table.select("thead th"):
            heading.string = tables.heading(heading.get_text(strip=True))
            heading["scope"] = "col"
        for heading in table.select("tbody th"):
            heading["scope"] = "row"
            if heading.get_text(strip=True) in tables.HEADINGS:
                heading.string = tables.HEADINGS[heading.get_text(strip=True)]
        mark_numbers(table)
        for cell in table.find_all(["th", "td"]):
            for leaf in cell.find_all(string=True):
                leaf.replace_with(tables.unbroken(leaf))
    for style in soup.find_all("style"):
        style.extract()
    return str(soup)


def mark_numbers(table):
    """Give the cells of columns of numbers, and their headings, the class ``number``."""
    body = [row.find_all(["th", "td"]) for row in table.select("tbody tr")]
    head = [row.find_all(["th", "td"]) for row in table.select("thead tr")]
    if not body or table.select("[colspan], [rowspan]"):
        return
    for column in range(1, len(body[0])):
        cells = [row[column] for row in body if column < len(row)]
        if all(NUMBER.fullmatch(cell.get_text(strip=True)) for cell in cells):
            for cell in cells + [row[column] for row in head if column < len(row)]:
                cell["class"] = [*cell.get("class", ()), "number"]


def prepare(text, page):
    """The text of an executed notebook as the page is made from it."""
    notebook = json.loads(text)
    caption_figures(notebook, page)
    tidy_tables(notebook)
    return json.dumps(notebook, ensure_ascii=False)
