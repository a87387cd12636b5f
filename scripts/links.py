"""Sphinx extension of the book: names of functions, chapters and files in the text become links.

Files link to the repository that ``_config.yml`` names, else to copies beside the pages. With a repository the pages
also get buttons that edit and launch them.
"""

import functools
import importlib
import inspect
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

import ordering

ROOT = Path(__file__).resolve().parents[1]
FILE = re.compile(r"(benchmarks|ordering|results|scripts|tests)/[\w./-]+\.\w+")
CHAPTER = re.compile(r"book/([\w-]+)\.ipynb")
NAME = re.compile(r"([\w.]+?)(\(.*\))?")
BUTTONS = {"use_repository_button": True, "use_edit_page_button": True,
           "launch_buttons": {"notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org"}}  # fmt: skip


def prepare(app, config):
    """Buttons where there is a repository."""
    if config.html_theme_options.get("repository_url"):
        config.html_theme_options.update(BUTTONS)


def address(app, path, line=None):
    """Where a reader finds a file of the repository; a copy beside the pages where nothing else is known."""
    options = app.config.html_theme_options
    if options.get("repository_url"):
        place = f"{options['repository_url']}/blob/{options.get('repository_branch') or 'main'}/{path}"
        return f"{place}#L{line}" if line else place
    copy = Path(app.outdir) / "files" / f"{path}.txt"
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, copy)
    return f"files/{path}.txt"


def source(module, name):
    """File and line of the code of an object that the API describes, or None."""
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    found = inspect.unwrap(getattr(found, "fget", found))
    if inspect.isclass(found) or inspect.isroutine(found):
        path = Path(inspect.getsourcefile(found))
        if path.is_relative_to(ROOT):
            return path.relative_to(ROOT).as_posix(), inspect.getsourcelines(found)[1]
    return None


def link_sources(app, doctree, docname):
    """Let each description of a function or class end its first line with a link to its code."""
    for signature in doctree.findall(addnodes.desc_signature):
        if found := source(signature["module"], signature["fullname"]):
            signature += nodes.reference("", "source", refuri=address(app, *found), internal=True,
                                         classes=["source-link"])


def not_ours(app, what, name, found, skip, options):
    """Leave out what other libraries put into our classes, and the fields of tuples, which the class describes."""
    module = getattr(found, "__module__", None) or ""
    return True if module.startswith("sklearn") or type(found).__name__ == "_tuplegetter" else None


def known_names(app):
    """From the names that a text may use, `metrics.summary` or `linear_oracle`, to what the API describes."""
    objects = app.env.get_domain("py").objects
    names = dict(objects)
    for full, entry in objects.items():
        parts = full.split(".")[1:]
        least = 2 if entry.objtype not in ("class", "exception", "function", "module") else 1
        for start in range(len(parts) - least + 1):
            short = ".".join(parts[start:])
            if "." in short or short in ordering.__all__ or "_" in short or not short.islower():
                names.setdefault(short, entry)
    return names


@functools.cache
def tests():
    """From `test_row_7`, as the table of the paper's rows says, to the file and line of the test of that name."""
    return {found[1]: (path.relative_to(ROOT).as_posix(), n) for path in sorted((ROOT / "tests").glob("test_paper*.py"))
            for n, line in enumerate(path.read_text(encoding="utf8").splitlines(), 1)
            if (found := re.match(r"def (test_row_\d+)", line))}  # fmt: skip


def link(app, docname, text, names):
    """Where a literal leads and the words it gets (None: its own), or None."""
    if (found := CHAPTER.fullmatch(text)) and found[1] in app.env.titles:
        return app.builder.get_relative_uri(docname, found[1]), app.env.titles[found[1]].astext()
    if FILE.fullmatch(text) and (ROOT / text).is_file():
        return address(app, text), None
    if text in tests():
        return address(app, *tests()[text]), None
    name = found[1] if (found := NAME.fullmatch(text)) else ""
    if entry := names.get(name) or names.get(name.removeprefix("ordering.")):
        return f"{app.builder.get_relative_uri(docname, entry.docname)}#{entry.node_id}", None
    return None


def link_literals(app, doctree, docname):
    """Turn literals, among them the single backticks of docstrings, into links, each once a section or description."""
    names, seen = known_names(app), set()
    for quoted in list(doctree.findall(nodes.title_reference)):
        quoted.replace_self(nodes.literal(quoted.rawsource, quoted.astext()))
    for literal in list(doctree.findall(nodes.literal)):
        place, around = literal.parent, []
        while place is not None:
            around.append(place)
            place = place.parent
        if any(isinstance(one, (nodes.reference, nodes.title, nodes.caption)) for one in around):
            continue
        within = next((id(one) for one in around if isinstance(one, (nodes.section, addnodes.desc))), 0)
        found = link(app, docname, literal.astext(), names)
        if found and (within, literal.astext()) not in seen:
            seen.add((within, literal.astext()))
            inside = literal.deepcopy() if found[1] is None else nodes.Text(found[1])
            literal.replace_self(nodes.reference("", "", inside, refuri=found[0], internal=True))


def setup(app):
    app.connect("config-inited", prepare)
    app.connect("autodoc-skip-member", not_ours)
    app.connect("doctree-resolved", link_literals)
    app.connect("doctree-resolved", link_sources)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
