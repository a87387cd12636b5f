"""The lock file keeps the bounds of pyproject.toml and is complete."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TEXT = (ROOT / "requirements.txt").read_text()
LINES = [line.removesuffix(" \\") for line in TEXT.splitlines() if re.match(r"[A-Za-z0-9]", line)]
LOCK = {
    canonicalize_name(pin.name): pin.specifier
    for pin in map(Requirement, LINES)
    if pin.marker is None or pin.marker.evaluate()
}
EXTRAS = PROJECT["project"]["optional-dependencies"]
BUILD = PROJECT["build-system"]["requires"]
DIRECT = [*PROJECT["project"]["dependencies"], *sum(EXTRAS.values(), [])]


def pinned(name):
    """The version that the lock names."""
    (pin,) = LOCK[canonicalize_name(name)]
    return pin.version


def test_every_line_is_an_exact_pin():
    for line in LINES:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][^\s;]*( ; python_version [<>=]+ \"3\.\d+\")?", line), line


def test_every_pin_has_hashes_and_nothing_else_is_in_the_file():
    """A pip that is told --require-hashes takes these files only; no line says where they come from."""
    parts = re.split(r"\n(?=[A-Za-z0-9])", "\n".join(line for line in TEXT.splitlines() if line[:1] != "#"))
    assert len(parts) == len(LINES)
    for line, part in zip(LINES, parts, strict=True):
        assert re.fullmatch(re.escape(line) + r"( \\\n    --hash=sha256:[0-9a-f]{64})+", part), line


@pytest.mark.parametrize("line", DIRECT + BUILD)
def test_direct_dependency_is_bounded_and_its_pin_is_inside(line):
    requirement = Requirement(line)
    operators = {specifier.operator for specifier in requirement.specifier}
    assert operators == {">=", "<"}
    assert requirement.specifier.contains(pinned(requirement.name))


def test_the_lock_is_complete_and_installed():
    """Whatever a pinned package needs on this interpreter is pinned too, in the version that is installed."""
    waiting, seen = [Requirement(line) for line in DIRECT], set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        assert requirement.specifier.contains(pinned(requirement.name), prereleases=True), requirement
        try:
            assert version(requirement.name) == pinned(requirement.name)
            needs = map(Requirement, requires(requirement.name) or [])
        except PackageNotFoundError:
            pytest.fail(f"{requirement.name} is not installed")
        for need in needs:
            if need.marker is None or any(
                need.marker.evaluate({"extra": extra}) for extra in {"", *requirement.extras}
            ):
                waiting.append(need)
    assert {name for name, _ in seen} | {Requirement(line).name for line in BUILD} == set(LOCK)


def test_jupyter_book_is_the_first_generation():
    assert pinned("jupyter-book").startswith("1.")


def test_installed_packages_agree_with_each_other():
    run = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
