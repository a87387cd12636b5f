"""Render the executed copies with jupyter-book; the pages appear whole or not at all."""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

import execute
import staging
import tied
import vendor
from ordering._files import whole_folder
from strip_outputs import stripped

FOLDERS = ("benchmarks", "ordering", "results", "scripts", "tests")


def stage(root, size, folder):
    """Lay out what jupyter-book reads: executed notebooks, other pages, settings, scripts."""
    shutil.copytree(root / "book", folder / "book", ignore=shutil.ignore_patterns("*.ipynb", ".*"))
    for page in execute.pages(root):
        if page.suffix == ".ipynb":
            made = staging.prepare(execute.copy_path(root, size, page).read_text(encoding="utf8"), page.stem)
        else:
            made = staging.caption_pictures(page.read_text(encoding="utf8"), page.stem)
        (folder / "book" / page.name).write_text(made, encoding="utf8")
    assets = folder / "book" / "_assets"
    vendor.add_page_scripts(root / "_build" / "vendor", assets)
    version = runpy.run_path(str(root / "ordering" / "_version.py"))["__version__"]
    settings = (root / "_config.yml").read_text(encoding="utf8")
    settings = settings.replace("@VERSION@", version).replace("@SIZE@", size)
    (folder / "_config.yml").write_text(settings, encoding="utf8")
    shutil.copy(root / "_toc.yml", folder)


def digest(root, folder):
    """Digest of all that the pages are made from."""
    sha = hashlib.sha256((root / "requirements.txt").read_bytes())
    own = Path(__file__).resolve().parents[1]  # docstrings, and the files that pages lead to
    for file in sorted(path for name in FOLDERS for kind in ("*.py", "*.csv") for path in (own / name).rglob(kind)):
        sha.update(file.read_bytes())
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            sha.update(str(file.relative_to(folder)).encode() + hashlib.sha256(file.read_bytes()).digest())
    return sha.hexdigest()


def run_jupyter_book(folder, n_pages):
    """Render a staged book, a warning being an error; return the exit status."""
    command = [*tied.command("jupyter-book"), "build", folder / "book", "--path-output", folder]
    command += ["--config", folder / "_config.yml", "--toc", folder / "_toc.yml", "-W", "-n", "--keep-going"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf8", "errors": "replace"}
    log, bar = [], tqdm(total=2 * n_pages, unit="page", desc="Render")
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": paths}  # the folder holds pages.py
    with (tied.lifeline() as stdin, bar,
          subprocess.Popen(command, env=environment, stdin=stdin, start_new_session=True, **pipes) as run):  # fmt: skip
        try:
            for line in run.stdout:
                line = re.sub(r"\x1b\[[0-9;]*m", "", line).replace(f"{folder}{os.sep}", "")
                if re.match(r"(reading sources|writing output)\.\.\. \[", line):
                    bar.update()
                elif not re.match("myst|copying", line):
                    log.append(line)
        except BaseException:
            run.kill()
            raise
    if run.returncode:
        print(*log, sep="", file=sys.stderr)
    return run.returncode


def render_book(root, size, out):
    """Make the pages in ``out`` unless nothing has changed since they were made; return the exit status."""
    build = root / "_build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build, prefix="render-") as name:
        folder = Path(name)
        stage(root, size, folder)
        key = digest(root, folder)
        stamp = out / ".digest"
        if not (stamp.exists() and stamp.read_text() == key):
            status = run_jupyter_book(folder, len(execute.pages(root)))
            if status:
                return status
            slim(folder / "_build" / "html", root)
            publish(folder / "_build" / "html", out, key)
    print(f"The book is in {os.path.relpath(out / 'index.html')} (size {size})")
    return 0


NEEDS = """*This notebook needs the package `ordering` with the extras `plots`, `widgets` and `experiments`, and where
it reads stored results the folder `results/` of its repository, one level above the notebook's own.*
"""


def slim(made, root):
    """Leave out what no reader needs: source maps, translations, outputs in the notebooks for download."""
    for file in made.rglob("*.map"):
        file.unlink()
    shutil.rmtree(made / "_static" / "locales", ignore_errors=True)
    for page in execute.chapters(root):
        notebook = json.loads(stripped(page.read_text(encoding="utf8")))
        note = {"cell_type": "markdown", "id": "needs", "metadata": {}, "source": NEEDS}
        notebook["cells"].insert(0, note)
        copy = made / "_sources" / page.name
        copy.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def publish(made, out, key):
    """Move finished pages to their place, which holds nothing but what an earlier build made."""
    (made / ".digest").write_text(key)
    with whole_folder(out) as draft:
        for path in made.iterdir():
            shutil.move(path, draft / path.name)
