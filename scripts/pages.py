"""Sphinx extension of the book: numbers of figures and equations, titles, descriptions, texts for the search."""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle

DESCRIPTION = 160  # characters that search engines show


class AuthorYearLabels(BaseLabelStyle):
    """Labels like "Bojanowski et al., 2014" in the bibliography."""

    def format_labels(self, entries):
        for entry in entries:
            persons = entry.persons.get("author", entry.persons.get("editor", []))
            names = [" ".join(map(str, p.rich_prelast_names + p.rich_last_names)) for p in persons]
            who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names) or entry.key
            yield f"{who}, {entry.fields.get('year', 'no year')}"  # "2018a" where two would be alike


class AuthorYear(Style):
    """Entries in the order of their authors, with those labels."""

    default_label_style = "ordering_author_year"
    default_sorting_style = "author_year_title"


def chapter_number(docname, title):
    """What stands before the point in "Figure 7.2": the number in a title or file name, else the page's first letter.

    >>> chapter_number("07-frank-wolfe", "7. Frank–Wolfe"), chapter_number("08b-sixty-lines", "The whole method")
    ('7', '8b')
    >>> chapter_number("laboratory", "The laboratory")
    'L'
    """
    found = re.match(r"(\d+)\. ", title) or re.match(r"0*(\d+[a-z]?)-", docname)
    return found.group(1) if found else "Li" if docname == "limits" else docname[0].upper()


def number_figures(app, env):
    """Count figures and labelled equations in each chapter from 1, whatever the table of contents says."""
    for docname in env.found_docs:
        chapter = chapter_number(docname, env.titles[docname].astext())
        tree = env.get_doctree(docname)
        figures = [node["ids"][0] for node in tree.findall(nodes.figure) if node["ids"]]
        math = [node["ids"][0] for node in tree.findall(nodes.math_block) if node.get("label") and node["ids"]]
        env.toc_fignumbers[docname] = {
            "figure": {name: (chapter, n) for n, name in enumerate(figures, 1)},
            "displaymath": {name: (chapter, n) for n, name in enumerate(math, 1)},
        }
    return []


def explain_references(app, doctree, docname):
    """Let a reference to a figure of another page carry the figure's caption, which the browser shows on hover."""
    captions = {}
    for reference in doctree.findall(nodes.reference):
        page, _, name = reference.get("refuri", "").rpartition("#")
        target = page.removesuffix(".html")
        if name and target in app.env.found_docs:
            if target not in captions:
                figures = app.env.get_doctree(target).findall(nodes.figure)
                captions[target] = {figure["ids"][0]: figure for figure in figures if figure["ids"]}
            if name in captions[target]:
                for caption in captions[target][name].findall(nodes.caption):
                    reference["reftitle"] = caption.astext()


def describe(app, pagename, templatename, context, doctree):
    """Give every page a description and one title; the search page also gets the texts it shows."""
    if pagename == app.config.root_doc:
        context["docstitle"] = ""
    if pagename == "search":
        app.add_js_file("search-texts.js", priority=90)  # before page.js, which hands them out
    if doctree is not None:
        text = next((" ".join(node.astext().split()) for node in doctree.findall(nodes.paragraph)), "")
        text = re.sub(r"^(A question\.|You will learn,?) ", "", text)
        if len(text) > DESCRIPTION:
            text = text[:DESCRIPTION].rpartition(" ")[0].rstrip(",;:") + " …"
        text = html.escape(text[:1].upper() + text[1:])
        context["metatags"] = context.get("metatags", "") + f'\n<meta name="description" content="{text}" />'


def prose(node):
    """The text of a node without formulas that are more than symbols."""
    if isinstance(node, nodes.math_block) or isinstance(node, nodes.math) and "\\" in node.astext():
        return " … "
    if isinstance(node, nodes.Text):
        return str(node)
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(map(prose, node.children))


def section_text(section):
    """Prose of a section as HTML that the search reads, with its anchors; no code, outputs or raw markup."""
    parts = []
    for node in section.children:
        if isinstance(node, nodes.section):
            parts.append(section_text(node))
        elif not (isinstance(node, nodes.container) and "cell" in node.get("classes", ())):
            parts.append(html.escape(" ".join(prose(node).split())))
    return f'<div id="{section["ids"][0]}">{" ".join(parts)}</div>'


def write_search_texts(app, error):
    """Write the text of all pages as one script: a page opened from the disk may not fetch another page."""
    if error is None and app.builder.format == "html":
        texts = {}
        for docname in sorted(app.env.found_docs):
            sections = [node for node in app.env.get_doctree(docname).children if isinstance(node, nodes.section)]
            texts[f"{docname}.html"] = f'<div role="main">{"".join(map(section_text, sections))}</div>'
        script = f"window.PAGE_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
        (Path(app.outdir) / "_static" / "search-texts.js").write_text(script, encoding="utf8")


def setup(app):
    register_plugin("pybtex.style.labels", "ordering_author_year", AuthorYearLabels)
    register_plugin("pybtex.style.formatting", "author_year", AuthorYear)
    app.connect("env-get-updated", number_figures, priority=900)  # after Sphinx has numbered them its own way
    app.connect("doctree-resolved", explain_references)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_search_texts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
