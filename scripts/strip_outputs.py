"""Take outputs and editors' traces out of notebooks, in place.

    python scripts/strip_outputs.py [NOTEBOOK ...]

Without names: every notebook of ``book/``. The exit status is 1 if a file was changed, as pre-commit wants it.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("lines_to_next_cell", "mystnb", "tags")  # metadata of a cell that the build reads
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def stripped(text):
    """The text of a notebook without outputs, execution counts and what an editor notes down."""
    notebook = json.loads(text)
    notebook["metadata"] = METADATA
    for cell in notebook["cells"]:
        cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key in KEPT}
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main():
    paths = [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "book").glob("*.ipynb"))
    changed = []
    for path in paths:
        before = path.read_text(encoding="utf8")
        after = stripped(before)
        if after != before:
            path.write_text(after, encoding="utf8", newline="\n")
            changed.append(path)
            print(f"stripped {path}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
