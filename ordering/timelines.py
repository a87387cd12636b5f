"""One page, without a request to any host, that shows the rows of `ordering.datasets.segments` as time lines."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ordering._check import integer, one_of
from ordering._files import whole_file

MOST_FIRST = 10  # clips to check


def timelines_page(rows: Sequence[Mapping[str, Any]], lengths: Mapping[str, float], unit: str = "seconds",
                   title: str = "Time lines", note: str = "", first: Sequence[str] | None = None,
                   actions: Sequence[str] | None = None) -> str:
    """The page as text: a time line for each clip, a table of all segments, and which clips to check first.

    Parameters
    ----------
    rows : list of dict
        What `ordering.datasets.segments` returns; without `confidence` the bars are empty.
    lengths : dict from a clip's name to its length in `unit`
        Clips in their order; those without rows are shown too.
    unit : {"seconds", "intervals"}
        Which times of the rows are shown.
    title, note : str
        What the page is, and a sentence below it.
    first : sequence of str, optional
        Clips to check first, such as `OrderedActionLabeling.suggest` orders them. By default all, those without a
        segment before those of the least mean confidence.
    actions : sequence of str, optional
        Order of the actions in the legend; by default as they come.

    Raises
    ------
    ValueError
        A row of a clip that is not in `lengths`, or without the times of `unit`.

    Examples
    --------
    >>> row = {"clip": "a", "action": "sit", "start_seconds": 0.4, "end_seconds": 1.2, "confidence": 0.9}
    >>> page = timelines_page([row], {"a": 2.0}, title="Tea & cake")
    >>> "<h1>Tea &amp; cake</h1>" in page, '"rows":[[0,0,0.4,1.2,0.9]]' in page
    (True, True)
    """
    times = ("start_seconds", "end_seconds") if one_of("unit", unit, ["seconds", "intervals"]) == "seconds" else (
        "start", "end")
    numbers = {str(name): i for i, name in enumerate(lengths)}
    for i, row in enumerate(rows):
        if str(row["clip"]) not in numbers or not set(times) <= set(row):
            raise ValueError(f"row {i}: a clip of lengths and {times[0]}, {times[1]} expected, found {dict(row)}")
    found = dict.fromkeys(str(row["action"]) for row in rows)
    known = [name for name in dict.fromkeys(actions or []) if name in found]
    legend = {name: a for a, name in enumerate(dict.fromkeys([*known, *found]))}
    drawn = [[numbers[str(row["clip"])], legend[str(row["action"])], *(row[time] for time in times),
              row.get("confidence")] for row in rows]
    order = check_first(drawn, len(numbers), None if first is None else [numbers[str(name)] for name in first])
    data = {"unit": unit, "actions": list(legend), "rows": drawn, "first": order[:MOST_FIRST],
            "clips": [[name, float(length)] for name, length in zip(numbers, lengths.values(), strict=True)]}
    summary = f"{counted(len(numbers), len(rows))}. Times are in {unit}. {note}".strip()
    parts = {"TITLE": html.escape(title), "SUMMARY": html.escape(summary), "DATA": _json(data)}
    template = (resources.files("ordering") / "data" / "timelines.html").read_text(encoding="utf-8")
    return re.sub("@(TITLE|SUMMARY|DATA)@", lambda found: parts[found[1]], template)


def write_timelines(path: str | Path, rows: Sequence[Mapping[str, Any]], lengths: Mapping[str, float],
                    **options: Any) -> None:
    """Write `timelines_page` to a file, whole or not at all."""
    page = timelines_page(rows, lengths, **options)
    with whole_file(path, "w", encoding="utf-8", newline="") as file:
        file.write(page)


def check_first(rows: Sequence[Sequence], n_clips: int, order: Sequence[int] | None = None) -> list[list]:
    """Clip, mean confidence and number of the least sure row of each clip, those to check first before others.

    Parameters
    ----------
    rows : (clip, action, start, end, confidence) each
    n_clips : int
    order : sequence of int, optional
        The clips in another order; by default by mean confidence over their time, those without rows first.

    Examples
    --------
    >>> check_first([[0, 0, 0, 8, 0.9], [1, 0, 0, 1, 0.5], [1, 1, 1, 4, 0.7]], 3)
    [[2, None, -1], [1, 0.65, 1], [0, 0.9, 0]]
    """
    own: list[list[int]] = [[] for _ in range(integer("n_clips", n_clips))]
    for r, row in enumerate(rows):
        own[row[0]].append(r)
    found = []
    for clip, mine in enumerate(own):
        known = [r for r in mine if rows[r][4] is not None]
        time = sum(rows[r][3] - rows[r][2] for r in known)
        mean = sum(rows[r][4] * (rows[r][3] - rows[r][2]) for r in known) / time if time else None
        weakest = min(known or mine, key=lambda r: (rows[r][4] or 0, r), default=-1)
        found.append([clip, None if mean is None else round(mean, 4), weakest])
    if order is not None:
        return [found[clip] for clip in order]
    return sorted(found, key=lambda entry: (entry[2] >= 0, entry[1] or 0, entry[0]))


def counted(n_clips: int, n_rows: int) -> str:
    """So many recordings, so many segments, in words.

    Examples
    --------
    >>> counted(1, 12)
    '1 recording, 12 segments'
    """
    return ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in ((n_clips, "recording"), (n_rows, "segment")))


def _json(data):
    """JSON that may stand inside a script element of a page."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
