"""Builds that are stopped, killed, or run at once; folders of the user; pages served. On books of two small pages."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import execute
from tests.killing import AT, KILLS, Signal, family, killed_at, left_after, stopped_by_ctrl_c
from tests.test_installation import ANOTHER_USER

from .conftest import ROOT, SCRIPT, write_book

QUICK = [sys.executable, SCRIPT, "--here", "build", "--size", "quick", "--jobs", "1"]


def options_of(root):
    return {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": root,
            "preexec_fn": stopped_by_ctrl_c}


def write_two_pages(root, source):
    write_book(root, source)
    second = root / "book" / "second.ipynb"
    second.write_text((root / "book" / "index.ipynb").read_text().replace("# A page", "# Another"))
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n  - file: second\n")
    return root


@pytest.fixture
def two_pages(tmp_path):
    """A book of two pages; a chapter stops at a `Signal` at tmp_path/here while there is one."""
    return write_two_pages(tmp_path, AT.format(path=str(tmp_path / "here")))


def leftovers(root):
    build = root / "_build"
    return [*build.rglob("*.draft"), *build.glob("draft-*"), *build.glob("render-*")]


def built(root):
    """Run a build to its end; the text of its pages."""
    run = subprocess.run([*QUICK, "--root", root], **options_of(root))
    assert run.returncode == 0, run.stdout
    assert leftovers(root) == []
    return {path.name: path.read_bytes() for path in (root / "_build" / "html").glob("*.html")}


# ------------------------------------------------------------------ stopped
@pytest.mark.parametrize("to", ["group", "parent", "parent with TERM"])
def test_ctrl_c_stops_all_at_once(two_pages, to):
    here = Signal(two_pages / "here")
    run = subprocess.Popen([*QUICK, "--root", two_pages], start_new_session=True, **options_of(two_pages))
    here.wait()
    processes = family(run)
    assert len(processes) >= 3  # build, papermill, kernel
    start = time.perf_counter()
    if to == "group":
        os.killpg(run.pid, signal.SIGINT)
    else:
        run.send_signal(signal.SIGTERM if "TERM" in to else signal.SIGINT)
    assert left_after(processes[1:], 2) == []
    output, _ = run.communicate(timeout=10)
    assert time.perf_counter() - start < 2
    assert run.returncode == 130 and "Traceback" not in output
    assert "second" not in output  # what waited did not start
    assert leftovers(two_pages) == []
    assert execute.execute_book(two_pages, "quick") == []


def test_ctrl_c_while_pages_are_rendered(two_pages):
    assert execute.execute_book(two_pages, "quick") == []
    (two_pages / "stays.py").write_text(AT.format(path=str(two_pages / "here")) + "def setup(app):\n    pass\n")
    config = (two_pages / "_config.yml").read_text()
    (two_pages / "_config.yml").write_text(config.replace("      - pages ", "      - stays\n      - pages "))
    here = Signal(two_pages / "here")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(two_pages), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.Popen([*QUICK, "--root", two_pages], env=env, **options_of(two_pages))
    here.wait()
    processes, start = family(run), time.perf_counter()
    run.send_signal(signal.SIGINT)
    assert left_after(processes[1:], 2) == []
    output, _ = run.communicate(timeout=10)
    assert time.perf_counter() - start < 2 and run.returncode == 130 and "Traceback" not in output
    assert leftovers(two_pages) == [] and not (two_pages / "_build" / "html").exists()


def test_a_killed_build_takes_its_kernels_along(two_pages):
    here = Signal(two_pages / "here")
    run = subprocess.Popen([*QUICK, "--root", two_pages], **options_of(two_pages))
    here.wait()
    processes = family(run)
    run.kill()
    assert left_after(processes[1:], 5) == []
    run.communicate()
    assert len(built(two_pages)) >= 2


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A book of two pages, what its build makes, and how long that takes."""
    root = write_two_pages(tmp_path_factory.mktemp("book"), "print(1)")
    start = time.perf_counter()
    return root, built(root), time.perf_counter() - start


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_build_killed_at_a_random_moment(uninterrupted, tmp_path, kill):
    root, expected, seconds = uninterrupted
    copy = shutil.copytree(root, tmp_path / "book", ignore=shutil.ignore_patterns("html", "executed"))
    killed_at(random.Random(kill).uniform(0, seconds), [*QUICK, "--root", copy])
    assert built(copy) == expected


# ------------------------------------------------------------------ at once
def test_a_second_build_says_that_one_is_running(two_pages):
    here = Signal(two_pages / "here")
    run = subprocess.Popen([*QUICK, "--root", two_pages], **options_of(two_pages))
    here.wait()
    second = subprocess.run([*QUICK, "--root", two_pages], **options_of(two_pages))
    assert second.returncode == 1 and second.stdout == f"Another build is running in {two_pages}\n"
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    run.communicate()


def test_executions_at_once_do_not_share_drafts(two_pages):
    call = f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); import execute, pathlib; " \
           f"sys.exit(execute.execute_book(pathlib.Path({str(two_pages)!r}), 'quick', jobs=1) != [])"
    runs = [subprocess.Popen([sys.executable, "-c", call], **options_of(ROOT)) for _ in range(3)]
    for run in runs:
        output, _ = run.communicate()
        assert run.returncode == 0, output
    assert leftovers(two_pages) == []


def test_what_a_sweep_keeps_for_itself_is_no_part_of_a_chapter(two_pages):
    (two_pages / "results" / "paper.parts").mkdir(parents=True)
    notebook = two_pages / "book" / "index.ipynb"
    before = execute.digest(two_pages, notebook, {})
    (two_pages / "results" / "paper.parts" / "one.json").write_text("[]")
    (two_pages / "results" / "0a.draft").write_text("[")
    assert execute.digest(two_pages, notebook, {}) == before
    (two_pages / "results" / "paper.csv").write_text("size\n")
    assert execute.digest(two_pages, notebook, {}) != before


# ------------------------------------------------------------------ folders of the user
def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name, there", [("notes.txt", ""), (".profile", ""), ("index.html", "<p>mine</p>")])
def test_a_folder_of_the_user_is_refused(two_pages, tmp_path, name, there):
    out = tmp_path / "mine"
    (out / "sub").mkdir(parents=True)
    (out / "sub" / name).write_text(there)
    before = contents(out)
    run = subprocess.run([*QUICK, "--root", two_pages, "--out", out], **options_of(two_pages))
    assert run.returncode == 1 and run.stdout.count("\n") == 1 and f"sub/{name}" in run.stdout
    assert contents(out) == before
    assert not (two_pages / "_build" / "executed").exists()  # it is said before any work


def test_a_file_put_among_the_pages_stays(two_pages):
    built(two_pages)
    pages = two_pages / "_build" / "html"
    (pages / "notes.txt").write_text("mine")
    before = contents(pages)
    run = subprocess.run([*QUICK, "--root", two_pages], **options_of(two_pages))
    assert run.returncode == 1 and "notes.txt" in run.stdout
    assert contents(pages) == before


# ------------------------------------------------------------------ odd places
def test_odd_paths_a_plain_locale_and_no_home(two_pages, tmp_path):
    odd = tmp_path / "größe & 'wide' folder"
    shutil.copytree(two_pages, odd, ignore=shutil.ignore_patterns(odd.name))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "LANG": "C", "LC_ALL": "C"}
    run = subprocess.run([*QUICK, "--root", odd], env=env, **options_of(odd))
    assert run.returncode == 0, run.stdout
    assert (odd / "_build" / "html" / "second.html").exists() and leftovers(odd) == []


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_folder_that_may_not_be_written(two_pages):
    for path in [two_pages, *two_pages.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    prefix = ANOTHER_USER if os.getuid() == 0 else []
    run = subprocess.run([*prefix, *QUICK, "--root", two_pages], **options_of("/"))
    for path in [two_pages, *two_pages.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    assert run.returncode == 1 and run.stdout.count("\n") == 1, run.stdout
    assert "_build" in run.stdout and "denied" in run.stdout


# ------------------------------------------------------------------ pages served
@pytest.fixture
def checkout(tmp_path):
    """A copy of the scripts alone, with pages of its own."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("the book")
    return tmp_path


def serve(checkout, *arguments):
    command = [sys.executable, checkout / "scripts" / "book.py", "--here", "serve", *arguments]
    return subprocess.Popen(command, **options_of(checkout))


def test_pages_are_served_on_this_machine_until_ctrl_c(checkout):
    from urllib.request import urlopen

    run = serve(checkout, "--port", "0")
    address = run.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    assert urlopen(address).read() == b"the book"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=2)
    assert run.returncode == 130


def refused(run):
    output, _ = run.communicate(timeout=20)
    assert run.returncode == 1 and output.count("\n") == 1, output
    return output


def test_no_pages_to_serve(checkout):
    (checkout / "_build" / "html" / "index.html").unlink()
    assert "make book" in refused(serve(checkout))


@pytest.mark.parametrize("port", [99999, -1])
def test_a_port_that_does_not_exist(checkout, port):
    assert f"found {port}" in refused(serve(checkout, f"--port={port}"))


def test_a_port_that_is_taken(checkout):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"found {port}" in refused(serve(checkout, "--port", str(port)))
