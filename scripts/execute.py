"""Execute the chapters with papermill; each executed copy appears whole or not at all.

A copy carries the digest of all that it depends on (text, parameters, package, stored results, pinned
environment) and is made again only when that changes.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
import yaml
from tqdm import tqdm

import tied
from ordering._files import whole_file

# A chapter that takes longer than this is stopped, and has failed.
CHAPTER_SECONDS = {"quick": 300, "book": 900, "paper": 6 * 3600}
# Files, beside its own text, that a chapter's outputs depend on.
WATCHED = ("ordering", "results", "requirements.txt")


def pages(root):
    """Files of the book, in the order of ``_toc.yml``."""
    names = []

    def walk(entry):
        if isinstance(entry, list):
            for item in entry:
                walk(item)
        elif isinstance(entry, dict):
            names.extend(entry[key] for key in ("root", "file") if key in entry)
            for key in ("parts", "chapters", "sections"):
                walk(entry.get(key))

    walk(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf8")))
    found = [next(iter(sorted((root / "book").glob(f"{name}.*"))), None) for name in names]
    missing = [name for name, path in zip(names, found, strict=True) if path is None]
    if missing:
        raise ValueError(f"_toc.yml lists pages that are not in book/: {', '.join(missing)}")
    return found


def chapters(root):
    """Notebooks of the book, in the order of ``_toc.yml``."""
    return [page for page in pages(root) if page.suffix == ".ipynb"]


def copy_path(root, size, notebook):
    """Where the executed copy of a chapter is kept."""
    return root / "_build" / "executed" / size / notebook.name


def is_passing(file):
    """True for what comes and goes while something else runs: compiled code, drafts, parts of a sweep."""
    return file.suffix == ".draft" or any(part == "__pycache__" or part.endswith(".parts") for part in file.parts)


def digest(root, notebook, parameters):
    """Digest of everything that the outputs of a chapter depend on."""
    sha = hashlib.sha256(json.dumps([parameters, sys.version_info[:2]]).encode())
    files = [notebook, Path(__file__)]
    for name in WATCHED:
        path = root / name
        inside = path.rglob("*") if path.is_dir() else [path]
        files += sorted(file for file in inside if file.is_file() and not is_passing(file))
    for file in files:
        sha.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return sha.hexdigest()


def is_current(copy, key):
    """True if ``copy`` is an executed chapter with this digest."""
    return copy.exists() and nbformat.read(copy, as_version=4).metadata.get("book", {}).get("digest") == key


def kernel_environment(root):
    """Environment of the kernels: none of the user's own settings, one BLAS thread, no bars, no live controls."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **os.environ,
        **threads,
        "IPYTHONDIR": str(root / "_build" / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "MPLCONFIGDIR": str(root / "_build" / "matplotlib"),
        "ORDERING_RECORDED": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
        "TQDM_DISABLE": "1",
    }


def execute_chapter(root, notebook, size, seed, key, draft, lifeline):
    """Run one chapter; return None, or the text of what went wrong."""
    copy = copy_path(root, size, notebook)
    copy.parent.mkdir(parents=True, exist_ok=True)
    command = [*tied.command("papermill", CHAPTER_SECONDS[size]), notebook, draft, "-p", "size", size]
    command += ["-p", "seed", str(seed), "--kernel", "python3", "--cwd", notebook.parent]
    command += ["--autosave-cell-every", "0", "--no-progress-bar", "--log-level", "ERROR"]
    start = time.perf_counter()
    run = subprocess.run(command, env=kernel_environment(root), stdin=lifeline, capture_output=True,
                         encoding="utf8", errors="replace", start_new_session=True)  # fmt: skip
    if run.returncode:
        return run.stderr
    executed = tidy(nbformat.read(draft, as_version=4))
    executed.metadata["book"] = {"digest": key, "seconds": round(time.perf_counter() - start, 1)}
    with whole_file(copy, encoding="utf8") as file:
        nbformat.write(executed, file)


def tidy(executed):
    """Drop papermill's records (paths, dates); let the parameters cell show the values that were used."""
    tagged = {tag: cell for cell in executed.cells for tag in cell.metadata.get("tags", [])}
    if "parameters" in tagged:
        tagged["parameters"].source = tagged["injected-parameters"].source.removeprefix("# Parameters\n").strip()
    executed.cells = [cell for cell in executed.cells if cell is not tagged.get("injected-parameters")]
    number = 0
    for cell in executed.cells:
        if cell.get("execution_count"):
            number += 1
            for part in (cell, *cell.outputs):
                if "execution_count" in part:
                    part.execution_count = number
    for part in (executed, *executed.cells):
        for name in ("papermill", "execution"):
            part.metadata.pop(name, None)
    return keep_shown_widgets(executed)


def keep_shown_widgets(executed):
    """Drop the widgets that no output shows: progress bars that have gone, which a kernel still remembers."""
    state = executed.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    views = [output.get("data", {}).get("application/vnd.jupyter.widget-view+json", {})
             for cell in executed.cells for output in cell.get("outputs", [])]  # fmt: skip
    todo, shown = [view["model_id"] for view in views if view], set()
    while todo:
        key = todo.pop()
        if key in state and key not in shown:
            shown.add(key)
            todo += re.findall(r"IPY_MODEL_(\w+)", json.dumps(state[key]))
    for key in set(state) - shown:
        if not shown & set(re.findall(r"IPY_MODEL_(\w+)", json.dumps(state[key]))):  # links lead to what is shown
            del state[key]
    return executed


def drop_leftovers(root):
    """Remove drafts of builds that were killed; no other build may be running."""
    build = root / "_build"
    for folder in (*build.glob("draft-*"), *build.glob("render-*")):
        shutil.rmtree(folder)
    for file in build.glob("executed/*/*.draft"):
        file.unlink()


def execute_book(root, size, seed=0, jobs=2):
    """Execute the chapters that are not current; return the names of those that failed.

    Whatever ends this, Ctrl-C or an error, ends the chapters that run and leaves those that have finished.
    """
    keys = {path: digest(root, path, {"size": size, "seed": seed}) for path in chapters(root)}
    todo = [path for path, key in keys.items() if not is_current(copy_path(root, size, path), key)]
    failed = []
    bar = tqdm(total=len(keys), initial=len(keys) - len(todo), unit="chapter", desc=f"Execute ({size})")
    (root / "_build").mkdir(exist_ok=True)
    with (tempfile.TemporaryDirectory(dir=root / "_build", prefix="draft-") as drafts, ThreadPoolExecutor(jobs) as pool,
          bar, tied.lifeline() as lifeline):  # fmt: skip
        try:
            running = {pool.submit(timed, execute_chapter, root, path, size, seed, keys[path],
                                   Path(drafts) / path.name, lifeline): path for path in todo}  # fmt: skip
            for done in as_completed(running):
                name, (error, seconds) = running[done].stem, done.result()
                bar.write(f"{name:<30}{seconds:7.1f} s{'   FAILED' if error else ''}")
                if error:
                    failed.append(name)
                    bar.write(error)
                bar.update()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failed


def timed(function, *arguments):
    """Result of a call and the seconds it took."""
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start
