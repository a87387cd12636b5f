"""Render the executed copies with jupyter-book; the pages appear whole or not at all."""

import hashlib
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
import vendor


def stage(root, size, folder):
    """Lay out what jupyter-book reads: executed notebooks, other pages, settings, scripts."""
    shutil.copytree(root / "book", folder / "book", ignore=shutil.ignore_patterns("*.ipynb", ".*"))
    for page in execute.chapters(root):
        shutil.copy(execute.copy_path(root, size, page), folder / "book")
    assets = folder / "book" / "_assets"
    vendor.add_page_scripts(root / "_build" / "vendor", assets)
    version = runpy.run_path(str(root / "ordering" / "_version.py"))["__version__"]
    settings = (root / "_config.yml").read_text(encoding="utf8")
    settings = settings.replace("@VERSION@", version).replace("@SIZE@", size)
    (folder / "_config.yml").write_text(settings, encoding="utf8")
    shutil.copy(root / "_toc.yml", folder)


def digest(root, folder):
    """Digest of all that the pages are made from."""
    sha = hashlib.sha256((root / "requirements.txt").read_bytes() + Path(__file__).read_bytes())
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            sha.update(str(file.relative_to(folder)).encode() + hashlib.sha256(file.read_bytes()).digest())
    return sha.hexdigest()


def run_jupyter_book(folder, n_pages):
    """Render a staged book, a warning being an error; return the exit status."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", folder / "book", "--path-output", folder]
    command += ["--config", folder / "_config.yml", "--toc", folder / "_toc.yml", "-W", "-n", "--keep-going"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    log, bar = [], tqdm(total=2 * n_pages, unit="page", desc="Render")
    with subprocess.Popen(command, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **pipes) as run, bar:
        for line in run.stdout:
            line = re.sub(r"\x1b\[[0-9;]*m", "", line).replace(f"{folder}{os.sep}", "")
            if re.match(r"(reading sources|writing output)\.\.\. \[", line):
                bar.update()
            elif not re.match("myst|copying", line):
                log.append(line)
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
            publish(folder / "_build" / "html", out, key)
    print(f"The book is in {os.path.relpath(out / 'index.html')} (size {size})")
    return 0


def publish(made, out, key):
    """Move finished pages to their place."""
    (made / ".digest").write_text(key)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists():
        old = made.parent / "old"
        shutil.move(out, old)
    shutil.move(made, out)
