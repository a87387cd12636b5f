"""Texts of the annotation tools: one function that writes and one that reads each format.

Writers take rows with `action`, `start_seconds`, `end_seconds` (and `clip`), in order, and the duration of the clip
or None. Readers give rows of the same, without `clip` where the file does not name it.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Mapping
from typing import Any

Row = dict[str, Any]
ELAN_COLUMNS = ("Tier", "Begin Time - ss.msec", "End Time - ss.msec", "Duration - ss.msec", "Annotation")
BORIS_COLUMNS = ("Observation id", "Media duration (s)", "Subject", "Behavior", "Behavior type", "Start (s)",
                 "Stop (s)", "Duration (s)")
TIER = "actions"


def number(seconds: float) -> str:
    """A time as a person writes it, to the microsecond.

    Examples
    --------
    >>> number(3 * 0.1), number(8.0)
    ('0.3', '8')
    """
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


def _one_line(text):
    return " ".join(str(text).split())


def _row(action, start, end, **more):
    first, last = float(start), float(end)
    if not 0 <= first <= last < float("inf"):
        raise ValueError(f"a start and a later end in seconds expected, found {start} and {end}")
    return more | {"action": action, "start_seconds": first, "end_seconds": last}


# ---------------------------------------------------------------------------------------------- subtitles
def write_vtt(rows: list[Row], duration: float | None = None) -> str:
    """WebVTT: a cue for each segment, times to the millisecond."""
    cues = [f"\n{_clock(row['start_seconds'])} --> {_clock(row['end_seconds'])}\n"
            f"{html.escape(_one_line(row['action']), quote=False)}\n" for row in rows]
    return "WEBVTT\n" + "".join(cues)


def _clock(seconds):
    minutes, milliseconds = divmod(round(seconds * 1000), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{milliseconds // 1000:02}.{milliseconds % 1000:03}"


def read_vtt(text: str) -> list[Row]:
    """Cues of a WebVTT file, several lines of one joined."""
    blocks = re.split(r"\n[ \t]*\n", text.strip())
    if not blocks[0].startswith("WEBVTT"):
        raise ValueError(f"WEBVTT in the first line expected, found {blocks[0][:50]!r}")
    rows = []
    for block in blocks:
        head, arrow, rest = block.partition("-->")
        if arrow:
            end, *lines = rest.split("\n")
            rows.append(_row(html.unescape(" ".join(lines)), _seconds(head.split("\n")[-1]),
                             _seconds(end.split()[0] if end.split() else "")))
    return rows


def _seconds(clock):
    found = re.fullmatch(r"(?:(\d+):)?(\d+):(\d+)\.(\d{3})", clock.strip())
    if not found:
        raise ValueError(f"a time such as 00:01:02.500 expected, found {clock.strip()[:50]!r}")
    hours, minutes, seconds, milliseconds = (int(part or 0) for part in found.groups())
    return (hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + milliseconds) / 1000


# --------------------------------------------------------------------------------- tables with tabulators
def write_audacity(rows: list[Row], duration: float | None = None) -> str:
    """Audacity's labels: start, end and label, no line of names."""
    return "".join(f"{row['start_seconds']:.6f}\t{row['end_seconds']:.6f}\t{_one_line(row['action'])}\n"
                   for row in rows)


def read_audacity(text: str) -> list[Row]:
    """Labels of an Audacity file; lines that begin with a backslash (frequencies) are left out."""
    lines = [line.split("\t", 2) for line in text.split("\n") if line.strip() and not line.startswith("\\")]
    wrong = [line for line in lines if len(line) != 3]
    if wrong:
        raise ValueError(f"start, end and label, separated by tabulators, expected in each line, found {wrong[0]}")
    return [_row(action, start, end) for start, end, action in lines]


def write_elan(rows: list[Row], duration: float | None = None) -> str:
    """Tab-delimited text as ELAN exports and imports it, with a line of names."""
    times = [(row["start_seconds"], row["end_seconds"]) for row in rows]
    return _table(ELAN_COLUMNS, [(TIER, f"{start:.3f}", f"{end:.3f}", f"{end - start:.3f}", row["action"])
                                 for row, (start, end) in zip(rows, times, strict=True)])


def read_elan(text: str) -> list[Row]:
    """Annotations of a tab-delimited text with ELAN's names of columns."""
    _, begin, end, _, annotation = ELAN_COLUMNS
    return [_row(entry[annotation], entry[begin], entry[end]) for entry in _entries(text, (begin, end, annotation))]


def write_boris(rows: list[Row], duration: float | None = None) -> str:
    """A table like the aggregated events of BORIS, tab-separated: each segment a state event of its observation."""
    return _table(BORIS_COLUMNS, [
        (row["clip"], "" if duration is None else number(duration), "No focal subject", row["action"], "STATE",
         number(row["start_seconds"]), number(row["end_seconds"]),
         number(row["end_seconds"] - row["start_seconds"])) for row in rows])


def read_boris(text: str) -> list[Row]:
    """State events of a table of aggregated events."""
    needed = ("Observation id", "Behavior", "Start (s)", "Stop (s)")
    return [_row(entry["Behavior"], entry["Start (s)"], entry["Stop (s)"], clip=entry["Observation id"])
            for entry in _entries(text, needed)]


def _table(columns, lines):
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_one_line(entry) for entry in line] for line in lines)
    return text.getvalue()


def _entries(text, needed):
    reader = csv.DictReader(io.StringIO(text), delimiter="\t")
    missing = [name for name in needed if name not in (reader.fieldnames or [])]
    if missing:
        raise ValueError(f"columns {list(needed)} expected, found none of {missing}")
    entries = list(reader)
    for i, entry in enumerate(entries):
        if any(entry[name] is None for name in needed):
            raise ValueError(f"row {i}: {len(reader.fieldnames or [])} columns expected, found fewer")
    return entries


# ----------------------------------------------------------------------------------------------- TextGrid
def write_textgrid(rows: list[Row], duration: float | None = None) -> str:
    """Praat's TextGrid in the long format: one tier of intervals without a gap, empty where there is no action."""
    stretches, last = [], 0.0
    for row in rows:
        if row["start_seconds"] < last:
            raise ValueError("segments one after the other expected, found one that begins at "
                             f"{row['start_seconds']} before {last}")
        if row["start_seconds"] > last:
            stretches.append((last, row["start_seconds"], ""))
        last = row["end_seconds"]
        stretches.append((row["start_seconds"], last, _one_line(row["action"]).replace('"', '""')))
    if duration is not None and duration > last:
        stretches.append((last, duration, ""))
        last = duration
    if not stretches:
        raise ValueError("durations with the length of a clip without segments expected, found none")
    head = f'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = {number(last)}\n'
    tier = (f'tiers? <exists>\nsize = 1\nitem []:\n    item [1]:\n        class = "IntervalTier"\n'
            f'        name = "{TIER}"\n        xmin = 0\n        xmax = {number(last)}\n'
            f"        intervals: size = {len(stretches)}\n")
    return head + tier + "".join(
        f"        intervals [{i}]:\n            xmin = {number(start)}\n            xmax = {number(end)}\n"
        f'            text = "{text}"\n' for i, (start, end, text) in enumerate(stretches, start=1))


def read_textgrid(text: str) -> list[Row]:
    """Intervals with a text of all interval tiers of a TextGrid in the long format."""
    if '"TextGrid"' not in text[:200]:
        raise ValueError(f"a TextGrid in the long format expected, found {text[:50]!r}")
    pattern = (r'intervals\s*\[\d+\]:?\s*xmin\s*=\s*(\S{1,40})\s+xmax\s*=\s*(\S{1,40})\s+'  # short, or time is squared
               r'text\s*=\s*"((?:[^"]|"")*)"')
    return [_row(action.replace('""', '"'), start, end)
            for start, end, action in re.findall(pattern, text) if action]


SUFFIXES = {"csv": ".csv", "vtt": ".vtt", "elan": ".txt", "audacity": ".txt", "textgrid": ".TextGrid",
            "boris": ".tsv"}
WRITERS: Mapping[str, Callable[..., str]] = {
    "vtt": write_vtt, "elan": write_elan, "audacity": write_audacity, "textgrid": write_textgrid,
    "boris": write_boris}
READERS: Mapping[str, Callable[[str], list[Row]]] = {
    "vtt": read_vtt, "elan": read_elan, "audacity": read_audacity, "textgrid": read_textgrid, "boris": read_boris}
