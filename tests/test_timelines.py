"""The page of time lines as text: what is in it, and that no name gets out of its place."""

import json
import os
import re

import numpy as np
import pytest

from ordering import Clips, datasets
from ordering.timelines import check_first, timelines_page, write_timelines


def row(clip, action, start, end, confidence=None):
    made = {"clip": clip, "action": action, "start_seconds": start, "end_seconds": end}
    return made if confidence is None else made | {"confidence": confidence}


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


ROWS = [row("a", "pour", 0.0, 1.5, 0.9), row("a", "stir", 1.5, 2.0, 0.3), row("ä b", "pour", 0.25, 4.0, 0.8)]
LENGTHS = {"a": 2.0, "ä b": 5.0, "c": 1.0}


def test_what_the_page_shows():
    page = timelines_page(ROWS, LENGTHS, title="Tea", note="An interval is 5 frames.")
    assert "<h1>Tea</h1>" in page
    assert "<p>3 recordings, 3 segments. Times are in seconds. An interval is 5 frames.</p>" in page
    assert data_of(page) == {
        "unit": "seconds", "actions": ["pour", "stir"], "clips": [["a", 2.0], ["ä b", 5.0], ["c", 1.0]],
        "rows": [[0, 0, 0.0, 1.5, 0.9], [0, 1, 1.5, 2.0, 0.3], [1, 0, 0.25, 4.0, 0.8]],
        "first": [[2, None, -1], [0, 0.75, 1], [1, 0.8, 2]]}


def test_order_of_actions_and_of_clips_to_check():
    found = data_of(timelines_page(ROWS, LENGTHS, first=["ä b", "a"], actions=["sit", "stir", "pour"]))
    assert found["actions"] == ["stir", "pour"] and [entry[0] for entry in found["first"]] == [1, 0]
    assert check_first([[0, 0, 0, 1, None]], 1) == [[0, None, 0]]
    lengths = {f"clip {i}": 1.0 for i in range(30)}
    rows = [row(name, "sit", 0, 1, 1 - i / 100) for i, name in enumerate(lengths)]
    assert [entry[0] for entry in data_of(timelines_page(rows, lengths))["first"]] == list(range(29, 19, -1))


def test_rows_of_segments_in_intervals():
    clips = Clips(np.zeros((5, 1)), [2, 3], [[0], [1]], 2, background="optional")
    rows = datasets.segments([0, 2, 2, 1, 1], clips)
    found = data_of(timelines_page(rows, {0: 2, 1: 3}, unit="intervals"))
    assert found["rows"] == [[0, 0, 0, 1, None], [1, 1, 1, 3, None]]
    with pytest.raises(ValueError, match="start_seconds, end_seconds expected"):
        timelines_page(rows, {0: 2, 1: 3})


EVIL = ["</script><script>alert(1)</script>", "<!--<script>", '"&quot;\'', "@DATA@", "\u2028", "größe 日本",
        "\\u003c", "\\1"]


def test_names_stay_in_their_place():
    rows = [row(name, name, 0, 1, 0.5) for name in EVIL]
    for title in EVIL:
        page = timelines_page(rows, dict.fromkeys(EVIL, 1.0), title=title, note=title)
        assert [name for name, _ in data_of(page)["clips"]] == EVIL == data_of(page)["actions"]
        assert page.count("<script") == 2 and page.count("</script>") == 2 and "<!--" not in page


def test_no_address_is_in_the_page():
    page = timelines_page(ROWS, LENGTHS)
    assert not re.search(r"https?:|//\w|url\(|@import|src=|srcset", page) and "default-src 'none'" in page


@pytest.mark.parametrize("rows, options, found", [
    ([row("z", "pour", 0, 1)], {}, "row 0: a clip of lengths"), (ROWS, {"unit": "hours"}, "unit: one of"),
])  # fmt: skip
def test_faults(rows, options, found):
    with pytest.raises(ValueError, match=found):
        timelines_page(rows, LENGTHS, **options)


def test_the_file_is_whole_and_the_same_again(tmp_path):
    for name in ("one.html", "two.html"):
        write_timelines(tmp_path / name, ROWS, LENGTHS)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    with pytest.raises(ValueError):
        write_timelines(tmp_path / "three.html", ROWS, {})
    assert sorted(os.listdir(tmp_path)) == ["one.html", "two.html"]
