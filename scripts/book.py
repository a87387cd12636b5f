"""Set up the environment, execute and render the book, run the tests.

    python scripts/book.py build --size quick

Every command needs nothing but Python 3.11 or newer: it first creates ``.venv`` from ``requirements.txt``
(once) and then runs inside it. ``--here`` uses the running interpreter as it is instead.
"""

import argparse
import errno
import functools
import hashlib
import http.server
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".complete"
SIZES = ("quick", "book", "paper")
OF_THE_REPOSITORY = ("book", "test_habits.py", "test_requirements.py", "test_installation.py", "test_killed.py")
OF_KERNELS = ("chain", "nearest", "at_least_one", "dtw", "ncut", "segment_rounds")  # tests that run them as Python, too
COVERED = 95  # per cent of the branches


def wanted_environment():
    """Say in one line what the environment is made from; it is complete when its stamp says the same."""
    digest = hashlib.sha256()
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return f"{sys.version_info[0]}.{sys.version_info[1]} {ROOT} {digest.hexdigest()}"


def install(*arguments, python=PYTHON):
    """Run pip and count the packages as it takes them (no tqdm yet: this is what installs it)."""
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:
        taken = 0
        try:
            for line in pip.stdout:
                if line.startswith(("Collecting", "Processing")):
                    taken += 1
                    print(f"\r  {taken} packages", end="", flush=True)
                elif line.startswith("Installing"):
                    print(", installing", end="", flush=True)
        except BaseException:
            pip.kill()
            raise
    print()
    if pip.returncode:
        sys.exit(f"pip failed with status {pip.returncode}")


def make_environment():
    """Create or update ``.venv``: the pinned packages, then this package itself (editable)."""
    wanted = wanted_environment()
    if is_made(wanted):
        return
    from alone import alone

    with alone(ROOT / "_build" / ".environment"):  # whoever waited here may find it made
        if not is_made(wanted):
            fill_environment(wanted)


def is_made(wanted):
    return STAMP.exists() and STAMP.read_text() == wanted


def fill_environment(wanted):
    STAMP.unlink(missing_ok=True)
    print("Making .venv from requirements.txt (about 200 packages, once; a minute or two)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    install("--require-hashes", "-r", ROOT / "requirements.txt")
    install("--no-deps", "--no-build-isolation", "-e", ROOT)
    STAMP.write_text(wanted)


def build(options):
    """Execute what has changed, render, leave the pages in the output folder; the exit status."""
    import execute
    import render
    from alone import alone
    from ordering._files import free_folder

    root, out = options.root.resolve(), options.out or options.root.resolve() / "_build" / "html"
    with alone(root / "_build" / ".lock", f"Another build is running in {root}"):
        try:
            free_folder(out)
        except ValueError as error:
            sys.exit(f"--out {error}")
        execute.drop_leftovers(root)
        failed = execute.execute_book(root, options.size, options.seed, options.jobs)
        if failed:
            print(f"The book was not rendered: {', '.join(failed)} failed.", file=sys.stderr)
            return 1
        return render.render_book(root, options.size, out.resolve())


def pdf(options):
    """Build, then print all pages into one PDF; the exit status."""
    status = build(options)
    if status:
        return status
    import pdf as printing

    out = options.root.resolve() / "_build" / "ordering.pdf"
    count = printing.make_pdf(options.root.resolve(), options.root.resolve() / "_build" / "html", out)
    print(f"The book on {count} pages is in {os.path.relpath(out)}")
    return 0


def lint(root):
    """Run ruff and mypy over the repository, one line each for what they find; the names of those that fail."""
    failed = []
    for name, *arguments in (("ruff", "check", "--quiet", "."), ("mypy", "--no-error-summary")):
        if subprocess.run([sys.executable, "-m", name, *arguments], cwd=root).returncode:
            failed.append(name)
        print(f"{name}: {'failed, see above' if name in failed else 'passed'}", flush=True)
    return failed


def test(options):
    """Run ruff and mypy, then every test; the exit status.

    Those of the package, with `coverage`, run beside those of the repository (the built book in a browser), whose
    report follows at the end. With arguments for pytest only what they name is run.
    """
    pytest = [sys.executable, "-m", "pytest"]
    if options.arguments:
        command = [*pytest, "--doctest-modules", "ordering", "tests", *options.arguments]
        return subprocess.run(command, cwd=ROOT).returncode
    if lint(ROOT):
        return 1
    report = ROOT / "_build" / "tests.log"
    report.parent.mkdir(exist_ok=True)
    command = [*pytest, *(f"tests/{name}" for name in OF_THE_REPOSITORY)]
    with (open(report, "w+", encoding="utf8") as said,
          subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT) as others):  # fmt: skip
        try:
            status = coverage(options)
            print(f"Waiting for the tests of the book, which report to {os.path.relpath(report)}", flush=True)
            others.wait()
        except BaseException:
            others.terminate()
            raise
        said.seek(0)
        print(said.read())
    return status or others.returncode


def test_oldest(options):
    """Run the tests of the package with the oldest versions that pyproject.toml allows; the exit status."""
    import oldest

    folder = ROOT / "_build" / "oldest"
    python = folder / PYTHON.relative_to(VENV)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    (folder / "constraints.txt").write_text("\n".join(oldest.constraints()), encoding="utf8")
    install("-c", folder / "constraints.txt", f"{ROOT}[{','.join(oldest.EXTRAS)}]", python=python)
    left_out = [f"--ignore={ROOT / 'tests' / name}" for name in OF_THE_REPOSITORY]
    return subprocess.run([python, "-m", "pytest", *left_out, "tests", *options.arguments], cwd=ROOT).returncode


def coverage(options):
    """Measure which branches of the package its tests take, kernels once more as Python; the exit status."""
    run = [sys.executable, "-m", "coverage"]
    shutil.rmtree(ROOT / "_build" / "coverage", ignore_errors=True)
    (ROOT / "_build" / "coverage").mkdir(parents=True)
    kernels = [*(f"tests/test_{name}.py" for name in OF_KERNELS), "-m", "not compiled_only"]
    left_out = [f"--ignore={ROOT / 'tests' / name}" for name in OF_THE_REPOSITORY]
    for tests, changes in ((kernels, {"NUMBA_DISABLE_JIT": "1"}),
                           (["--doctest-modules", "ordering", "tests", *left_out], {})):  # fmt: skip
        command = [*run, "run", "-m", "pytest", "-q", *tests]
        status = subprocess.run(command, cwd=ROOT, env={**os.environ, **changes}).returncode
        if status:
            return status
    subprocess.run([*run, "combine", "--quiet"], cwd=ROOT, check=True)
    return subprocess.run([*run, "report", "--fail-under", str(COVERED)], cwd=ROOT).returncode


def serve(options):
    """Serve the built pages on this machine only."""
    pages = ROOT / "_build" / "html"
    if not (pages / "index.html").exists():
        sys.exit(f"No pages in {os.path.relpath(pages)} yet: `make book` makes them")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=pages)
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), handler)
    except (OSError, OverflowError) as error:
        sys.exit(f"--port: a free port from 1 to 65535 expected, found {options.port} ({error})")
    with server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


def lab(options):
    """Open the chapters in JupyterLab."""
    return subprocess.run([sys.executable, "-m", "jupyterlab", "book/index.ipynb"], cwd=ROOT).returncode


def clean(options):
    """Remove everything that a command here has made."""
    for folder in (VENV, ROOT / "_build"):
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def add_build_options(command):
    command.add_argument("--size", choices=SIZES, default="book", help="amount of data in every chapter")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="chapters run at once")
    command.add_argument("--root", type=Path, default=ROOT, help="folder of another book")


def parse_arguments():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--here", action="store_true", help="use the running interpreter, not .venv")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("env", help="only create the environment").set_defaults(run=lambda options: 0)
    command = commands.add_parser("build", help="execute and render the book")
    add_build_options(command)
    command.add_argument("--out", type=Path, help="where the pages go (default: ROOT/_build/html)")
    command.set_defaults(run=build)
    command = commands.add_parser("pdf", help="build, and print the whole book into one PDF (needs Chromium)")
    add_build_options(command)
    command.set_defaults(run=pdf, out=None)
    command = commands.add_parser("test", help="run ruff, mypy and all tests")
    command.add_argument("arguments", nargs="*", help="passed to pytest (after --), which then runs alone")
    command.set_defaults(run=test)
    command = commands.add_parser("test-oldest", help="test the package with the oldest versions it allows")
    command.add_argument("arguments", nargs="*", help="passed to pytest (after --)")
    command.set_defaults(run=test_oldest)
    commands.add_parser("coverage", help="measure what the tests of the package reach").set_defaults(run=coverage)
    command = commands.add_parser("serve", help="serve the built pages")
    command.add_argument("--port", type=int, default=8000)
    command.set_defaults(run=serve)
    commands.add_parser("lab", help="open the chapters in JupyterLab").set_defaults(run=lab)
    commands.add_parser("clean", help="remove .venv and _build").set_defaults(run=clean)
    return parser.parse_args()


def run(options):
    """Run a command in the environment that it needs; the exit status."""
    if options.run is not clean and not options.here:
        make_environment()
        if Path(sys.prefix).resolve() != VENV.resolve():
            if os.name != "nt":
                sys.stdout.flush()
                os.execv(PYTHON, [str(PYTHON), *sys.argv])  # the same process: whoever stops it stops the command
            return subprocess.run([PYTHON, *sys.argv]).returncode
    return options.run(options)


def main():
    if sys.version_info < (3, 11):  # noqa: UP036 (an older Python may well run this file)
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(parse_arguments())
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT):
            raise
        sys.exit(f"{error.filename or 'disk'}: {error.strerror}")


if __name__ == "__main__":
    sys.exit(main())
