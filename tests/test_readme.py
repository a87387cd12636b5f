"""The README's example does what it says."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_example(capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    names = {}
    exec(code, names)
    clips, labels = names["clips"], names["labels"]
    assert (clips.features.argmax(axis=1) == labels).mean() > 0.95
    assert capsys.readouterr().out.count("\n") == 60  # three actions in each of twenty clips
    assert set(names["row"]) == {"clip", "action", "start", "end"}


def test_links_to_files_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"`((?:tests|ordering|book|scripts)/[\w./-]*)`", text)
    for path in [*listed, "book/_assets/overview.png", "CITATION.cff"]:
        assert (ROOT / path).exists(), path
