"""What keeps the repository in order: one version, checks before the tests, hooks, workflows, forms."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ordering

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def run(*command):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True)


# ------------------------------------------------------------------ version
def test_version_changelog_and_citation_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    released = re.findall(r"^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$", CHANGELOG, re.MULTILINE)
    found = {"package": ordering.__version__, "changelog": released[0], "citation": citation["version"]}
    assert len(set(found.values())) == 1, found


def test_the_changelog_goes_from_new_to_old():
    titles = re.findall(r"^## \[(.*?)\]", CHANGELOG, re.MULTILINE)
    numbers = [tuple(map(int, title.split("."))) for title in titles[1:]]
    assert titles[0] == "Unreleased" and numbers == sorted(set(numbers), reverse=True)


# ------------------------------------------------------------------ checks before the tests
@pytest.fixture
def project(tmp_path):
    """A package of one module with the project's own settings."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "ordering").mkdir()
    (tmp_path / "ordering" / "__init__.py").touch()
    return tmp_path


@pytest.mark.parametrize("source, failed", [
    ("x: int = 1\n", []),
    ("import os\n", ["ruff"]),
    ('x: int = "1"\n', ["mypy"]),
    ('import os\n\nx: int = "1"\n', ["ruff", "mypy"]),
])  # fmt: skip
def test_lint_names_what_fails(project, capfd, source, failed):
    (project / "ordering" / "__init__.py").write_text(source)
    book = runpy.run_path(str(ROOT / "scripts" / "book.py"))
    assert book["lint"](project) == failed
    lines = capfd.readouterr().out.splitlines()
    for name in ("ruff", "mypy"):
        assert lines.count(f"{name}: {'failed, see above' if name in failed else 'passed'}") == 1


def test_lint_reads_notebooks(project):
    cell = {"cell_type": "code", "id": "a", "source": "import os", "metadata": {}, "outputs": []}
    notebook = {"cells": [cell | {"execution_count": None}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "a.ipynb").write_text(json.dumps(notebook))
    assert runpy.run_path(str(ROOT / "scripts" / "book.py"))["lint"](project) == ["ruff"]


# ------------------------------------------------------------------ hooks
def test_committed_notebooks_are_stripped():
    stripped = runpy.run_path(str(ROOT / "scripts" / "strip_outputs.py"))["stripped"]
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        text = path.read_text(encoding="utf8")
        assert stripped(text) == text, f"{path.name}: run scripts/strip_outputs.py"


def test_an_executed_notebook_is_stripped_and_nothing_else_changes(tmp_path):
    clean = (ROOT / "book" / "index.ipynb").read_text(encoding="utf8")
    notebook = json.loads(clean)
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"]["collapsed"] = True
        if cell["cell_type"] == "code":
            cell.update(execution_count=number, outputs=[{"output_type": "stream", "name": "stdout", "text": "1"}])
    notebook["metadata"]["language_info"]["version"] = "3.12.0"
    path = tmp_path / "index.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf8")
    assert run(ROOT / "scripts" / "strip_outputs.py", path).returncode == 1
    assert path.read_text(encoding="utf8") == clean
    assert run(ROOT / "scripts" / "strip_outputs.py", path).returncode == 0


def test_a_large_file_is_refused(tmp_path):
    for name, size in (("small", 1_000_000), ("large", 1_000_001)):
        (tmp_path / name).write_bytes(bytes(size))
    found = run(ROOT / "scripts" / "check_size.py", tmp_path / "small", tmp_path / "large")
    assert found.returncode == 1 and found.stdout.count("\n") == 1 and "found 1,000,001" in found.stdout


def test_hooks_are_local_and_name_files_that_exist():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    scripts = [re.findall(r"scripts/\S+", hook["entry"]) for hook in config["repos"][0]["hooks"]]
    assert all((ROOT / path).exists() for path in sum(scripts, []))


# ------------------------------------------------------------------ workflows and forms
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path):
    text = path.read_text(encoding="utf8")
    uses = re.findall(r"uses: (.*)", text)
    assert uses and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line) for line in uses)
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


def test_the_workflow_runs_on_every_supported_python():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert jobs["tests"]["steps"][-1]["run"] == "make test"
    assert jobs["package"]["strategy"]["matrix"]["target"] == ["test-oldest", "coverage"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form(path):
    form = yaml.safe_load(path.read_text(encoding="utf8"))
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"]]
    assert len(ids) == len(set(ids)) and all(part["attributes"]["label"] for part in form["body"])


# ------------------------------------------------------------------ CONTRIBUTING.md
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")


def test_contributing_names_files_that_exist():
    named = re.findall(r"`((?:tests|book|scripts|ordering|benchmarks|results|\.github)/[\w./-]*)`", CONTRIBUTING)
    assert named and not [path for path in named if not (ROOT / path).exists()]


def test_every_room_is_listed():
    """The table has one row for each public module and folder of the package."""
    listed = re.findall(r"^\| `(\w+(?:\.py|/))` \|", CONTRIBUTING, re.MULTILINE)
    there = {p.name for p in (ROOT / "ordering").glob("[a-z]*.py")}
    there |= {f"{p.parent.name}/" for p in (ROOT / "ordering").glob("[a-z]*/__init__.py")}
    assert len(listed) == len(set(listed)) and set(listed) == there
