"""Print the lower bounds of pyproject.toml as constraints for pip: the oldest versions that are said to do."""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf8"))["project"]
EXTRAS = ("mat", "plots", "widgets", "experiments", "distributed", "test")  # all but what makes the book


def constraints():
    """Lines for pip, `name==oldest`, of the package and of its extras."""
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    bounds = {}
    for requirement in map(Requirement, lines):
        (oldest,) = [bound.version for bound in requirement.specifier if bound.operator == ">="]
        bounds[requirement.name] = f"{requirement.name}=={oldest}"
    return sorted(bounds.values())


if __name__ == "__main__":
    sys.stdout.write("\n".join([*constraints(), ""]))
