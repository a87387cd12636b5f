"""From labels to rows of who does what when, from rows to files, and back."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordering._files import whole_file
from ordering._stored import require_regular
from ordering.clips import Clips, compress
from ordering.datasets.formats import READERS, SUFFIXES, WRITERS, Row

COLUMNS = ("clip", "action", "start", "end")
SECONDS = ("start_seconds", "end_seconds")
LONGEST_NAME = 255  # of a file, in bytes, on most systems
_SEVERAL_CLIPS = ("csv", "boris")


class Rows(list):
    """A list of dicts that knows its columns even when it is empty."""

    def __init__(self, rows: Sequence[Row] = (), columns: Sequence[str] = (*COLUMNS, *SECONDS)) -> None:
        super().__init__(rows)
        self.columns = tuple(columns)


def segments(labels: ArrayLike, clips: Clips, seconds_per_interval: float | None = None,
             posterior: ArrayLike | None = None, durations: Mapping | Sequence[float] | None = None) -> Rows:
    """List who does what when: one row for each run of an action.

    Parameters
    ----------
    labels : (N,) ints
        Classes of all intervals, such as `OrderedActionLabeling.labels_`.
    clips : Clips
    seconds_per_interval : float, optional
        Length of an interval; adds the times in seconds.
    posterior : (N, C) array, optional
        Probability of each class in each interval; adds how sure each row is.
    durations : (n,) floats or dict from a clip's name to one, optional
        True lengths of the clips in seconds: a run up to the last interval ends there. The last interval is often
        shorter or longer than the others.

    Returns
    -------
    Rows
        A list of dicts with `clip` and `action` (names where `clips` has them, else numbers), `start` and `end` in
        intervals from the clip's start (`end` is the first interval after the run), `start_seconds`, `end_seconds`
        (to the microsecond), `confidence` and the uncertainty of both ends. Runs of background are left out. Equal
        actions that touch are one run. ``rows.columns`` are the columns, also where there is no row.

    Raises
    ------
    ValueError
        `labels` is not one class of `clips` for each interval, or another argument does not fit.

    Notes
    -----
    `confidence` is the mean posterior of the row's action over its intervals. `start_uncertainty_seconds` and
    `end_uncertainty_seconds` (without `seconds_per_interval` in intervals: `start_uncertainty`,
    `end_uncertainty`) are standard deviations of the border's place. Of two neighbouring runs, a row t is in the
    first with probability q_t = p_t(first) / (p_t(first) + p_t(second)); the running minimum of q over the rows of
    both runs is taken as the probability that the border lies behind row t. Ends of a clip are certain. Explained
    in ``book/18-your-own-clips.ipynb``.

    Examples
    --------
    >>> clips = Clips(np.zeros((5, 1)), [5], [[0, 1]], 2, action_names=["sit", "walk"], clip_names=["a"])
    >>> segments([2, 0, 0, 1, 2], clips, seconds_per_interval=0.1)[0]
    {'clip': 'a', 'action': 'sit', 'start': 1, 'end': 3, 'start_seconds': 0.1, 'end_seconds': 0.3}
    >>> posterior = [[0, 0, 1], [1, 0, 0], [.5, .5, 0], [0, 1, 0], [0, 0, 1]]
    >>> row = segments([2, 0, 0, 1, 2], clips, posterior=posterior)[0]
    >>> row["confidence"], row["start_uncertainty"], row["end_uncertainty"]
    (0.75, 0.0, 0.5)
    """
    classes = _checked_labels(labels, clips)
    P = None if posterior is None else _checked_posterior(posterior, clips)
    unit = "" if seconds_per_interval is None else "_seconds"
    uncertainty = (f"start_uncertainty{unit}", f"end_uncertainty{unit}")
    scale = _checked_seconds(seconds_per_interval)
    ends_of_clips = _checked_durations(durations, clips, seconds_per_interval)
    rows = Rows(columns=[*COLUMNS, *(SECONDS if unit else ()),
                         *(() if P is None else ("confidence", *uncertainty))])
    for i in range(len(clips)):
        values, counts = compress(classes[clips.rows(i)])
        borders = np.concatenate([[0], np.cumsum(counts)]).tolist()
        times = [round(border * scale, 6) for border in borders]
        times[-1] = times[-1] if ends_of_clips[i] is None else ends_of_clips[i]
        sure = None if P is None else _confidence(P[clips.rows(i)], values, borders)
        for r, action in enumerate(values.tolist()):
            if action == clips.background_class:
                continue
            row = [clips.clip_names[i] if clips.clip_names else i,
                   clips.action_names[action] if clips.action_names else action, borders[r], borders[r + 1]]
            row += times[r:r + 2] if unit else []
            row += [] if sure is None else [sure[0][r], *(round(s * scale, 6) for s in sure[1][r:r + 2])]
            rows.append(dict(zip(rows.columns, row, strict=True)))
    return rows


def _confidence(P, values, borders):
    """Mean posterior of each run, and the standard deviation of each border in intervals."""
    means = [round(float(P[start:end, value].mean()), 4)
             for value, start, end in zip(values, borders[:-1], borders[1:], strict=True)]
    spreads = [0.0]
    for r in range(1, len(values)):
        start, border, end = borders[r - 1:r + 2]
        first, second = P[start:end, values[r - 1]], P[start:end, values[r]]
        labelled = np.arange(start, end) < border
        q = np.divide(first, first + second, out=labelled.astype(float), where=first + second > 0)
        behind = np.minimum.accumulate(q)
        mean, square = behind.sum(), (2 * np.arange(len(behind)) + 1) @ behind
        spreads.append(float(np.sqrt(max(square - mean**2, 0))))
    return means, [*spreads, 0.0]


def _checked_labels(labels, clips):
    labels, N = np.asarray(labels), int(np.sum(clips.lengths))
    if labels.shape != (N,) or labels.dtype.kind not in "iu":
        raise ValueError(f"labels: {N} ints expected, one for each interval, found {labels.dtype} of shape "
                         f"{labels.shape}")
    wrong = np.flatnonzero((labels < 0) | (labels >= clips.n_classes))
    if len(wrong):
        raise ValueError(f"labels: classes in [0, {clips.n_classes}) expected, found {labels[wrong[0]]} in "
                         f"{clips.place(int(wrong[0]))}")
    return labels


def _checked_posterior(posterior, clips):
    P, shape = np.asarray(posterior), (int(np.sum(clips.lengths)), clips.n_classes)
    if P.shape != shape or P.dtype.kind not in "fiub":
        raise ValueError(f"posterior: numbers of shape {shape} expected, found {P.dtype} of shape {P.shape}")
    wrong = np.flatnonzero(~np.all((P >= -1e-6) & (P <= 1 + 1e-6), axis=1))
    if len(wrong):
        raise ValueError(f"posterior: probabilities expected, found {P[wrong[0]]} in {clips.place(int(wrong[0]))}")
    return P.astype(np.float64)


def _checked_seconds(seconds_per_interval):
    if seconds_per_interval is None:
        return 1.0
    if isinstance(seconds_per_interval, str) or not 0 < seconds_per_interval < np.inf:
        raise ValueError(f"seconds_per_interval: a positive number expected, found {seconds_per_interval!r}")
    return float(seconds_per_interval)


def _checked_durations(durations, clips, seconds):
    """Duration of every clip, or None; each within an interval before and two behind what its length says."""
    if durations is None:
        return [None] * len(clips)
    if seconds is None:
        raise ValueError("durations: seconds_per_interval expected with it, found None")
    names = clips.clip_names or list(range(len(clips)))
    if isinstance(durations, Mapping):
        durations = [durations.get(name) for name in names]
    if len(durations) != len(clips):
        raise ValueError(f"durations: {len(clips)} expected, one for each clip, found {len(durations)}")
    for name, T, duration in zip(names, clips.lengths, durations, strict=True):
        if duration is not None and not (T - 1) * seconds < duration <= (T + 2) * seconds:
            raise ValueError(f"durations: about {T * seconds:g} seconds expected for clip {name!r} of {T} "
                             f"intervals, found {duration}")
    return [None if duration is None else round(float(duration), 6) for duration in durations]


# ---------------------------------------------------------------------------------------------------- files
def write_segments(path: str | Path, rows: Sequence[Row], format: str | None = None, bom: bool = False,
                   durations: Mapping[Any, float] | None = None, columns: Sequence[str] | None = None) -> None:
    """Write the rows of `segments` to a file of an annotation tool, or to several; all of them whole or none.

    Parameters
    ----------
    path : str or path
        A file, replaced if it is there; or a folder, which gets a file for each clip, ``NAME.vtt`` and the like
        (signs that no file name may have become ``_``).
    rows : list of dict
        What `segments` returns. All formats but "csv" need the times in seconds.
    format : {"csv", "vtt", "elan", "audacity", "textgrid", "boris"}, optional
        By default what the suffix says: .csv, .vtt, .TextGrid, .tsv (boris), .txt (audacity).
    bom : bool
        Begin the file with a byte order mark, by which spreadsheets recognise UTF-8.
    durations : dict from a clip to its seconds, optional
        Where a TextGrid ends, and which clips have files in a folder although they have no row.
    columns : sequence of str, optional
        Columns of a CSV file; by default all.

    Raises
    ------
    ValueError
        Several clips for one file of a format that holds one (all but "csv" and "boris"), or rows that do not fit.

    Notes
    -----
    A CSV file holds all columns, "boris" the clip, the action and its times, the others the action and its times.
    WebVTT and ELAN's text have milliseconds. `read_segments` reads every format. Explained in
    ``book/18-your-own-clips.ipynb``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "a.vtt"
    >>> write_segments(path, [{"clip": "a", "action": "sit", "start_seconds": 0.4, "end_seconds": 1.2}])
    >>> path.read_text().splitlines()
    ['WEBVTT', '', '00:00:00.400 --> 00:00:01.200', 'sit']
    """
    path, found = Path(path), [str(row.get("clip", "")) for row in rows]
    lengths = {str(clip): seconds for clip, seconds in (durations or {}).items()}
    if path.is_dir():
        if format not in SUFFIXES:
            raise ValueError(f"{path}: format: one of {list(SUFFIXES)} expected for a folder, found {format!r}")
        targets = _targets(path, list(dict.fromkeys([*found, *lengths])), SUFFIXES[format])
        parts = {clip: Rows(columns=_columns_of(rows)) for clip in targets}
        for row, name in zip(rows, found, strict=True):
            parts[name].append(row)
        contents = [(target, _content(target, format, parts[clip], lengths.get(clip), columns, bom))
                    for clip, target in targets.items()]
    else:
        format = _format_of(path, format)
        if format not in _SEVERAL_CLIPS and len(set(found)) > 1:
            raise ValueError(f"{path}: one clip in a file of format {format!r} expected, found {len(set(found))}; "
                             "a folder gets a file for each")
        only = found[0] if found else next(iter(lengths), "")
        duration = lengths.get(only) if len(set(found)) < 2 else None
        contents = [(path, _content(path, format, rows, duration, columns, bom))]
    with ExitStack() as drafts:  # which take their places together, when all are written
        for target, content in contents:
            file = drafts.enter_context(whole_file(target, "wb"))
            file.write(content)
            file.close()


def read_segments(path: str | Path, format: str | None = None) -> Rows:
    """Read what `write_segments` wrote, or what an annotation tool made of it.

    Parameters
    ----------
    path : str or path
    format : {"csv", "vtt", "elan", "audacity", "textgrid", "boris"}, optional
        By default what the suffix says; a .txt is ELAN's text if its first line names the columns, else Audacity's.

    Returns
    -------
    Rows
        `clip` (as text; the file's name where the format does not hold it), `action`, and the times; all columns
        of a CSV file.

    Raises
    ------
    ValueError
        The file is not of that format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     _ = path.write_text("0.4\\t1.2\\tsit\\n")
    ...     read_segments(path)
    [{'clip': 'a', 'action': 'sit', 'start_seconds': 0.4, 'end_seconds': 1.2}]
    """
    path = Path(path)
    require_regular(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        format = "elan" if format is None and _is_elan(path, text) else _format_of(path, format)
        if format == "csv":
            return _read_csv(text)
        rows = READERS[format](re.sub("\r\n?", "\n", text))
    except (ValueError, OverflowError, csv.Error) as error:
        raise ValueError(f"{path}: a file of segments expected, found {error}") from None
    return Rows([{"clip": path.stem} | row for row in rows], ("clip", "action", *SECONDS))


def _is_elan(path, text):
    return path.suffix.lower() == ".txt" and "\tBegin Time" in text.split("\n", 1)[0]


def _format_of(path, format):
    if format is None:
        by_suffix = {suffix.lower(): name for name, suffix in SUFFIXES.items()}  # .txt: the last one, Audacity
        format = by_suffix.get(path.suffix.lower())
    if format not in SUFFIXES:
        raise ValueError(f"{path}: format: one of {list(SUFFIXES)} expected, or a suffix of "
                         f"{sorted(set(SUFFIXES.values()))}, found {format!r}")
    return format


def _targets(folder, clips, suffix):
    targets = {clip: folder / (re.sub(r'[\x00-\x1f/\\:*?"<>|]', "_", clip) + suffix) for clip in clips}
    long = [clip for clip, target in targets.items() if len(os.fsencode(target.name)) > LONGEST_NAME]
    if long:
        raise ValueError(f"{folder}: file names of at most {LONGEST_NAME} bytes expected, found clip {long[0]!r} "
                         f"before {suffix}")
    if len({str(target).lower() for target in targets.values()}) < len(targets):
        raise ValueError(f"{folder}: names of clips that make different file names expected, found {clips}")
    return targets


def _content(path, format, rows, duration, columns, bom):
    """Content of one file."""
    try:
        for i, row in enumerate(rows):
            if format != "csv" and not {"action", *SECONDS} <= set(row):
                raise ValueError(f"row {i}: action, start_seconds and end_seconds expected (segments with "
                                 f"seconds_per_interval), found {list(row)}")
        text = _csv(rows, columns) if format == "csv" else WRITERS[format](list(rows), duration)
        return text.encode("utf-8-sig" if bom else "utf-8")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _columns_of(rows):
    return getattr(rows, "columns", rows[0] if rows else (*COLUMNS, *SECONDS))


def _csv(rows, columns):
    names = list(columns or _columns_of(rows))
    for i, row in enumerate(rows):
        if not set(names) <= set(row) or columns is None and len(row) > len(names):
            raise ValueError(f"row {i}: columns {names} expected, found {list(row)}")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _read_csv(text):
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if not lines or not {"clip", "action"} <= set(lines[0]) or len(set(lines[0])) < len(lines[0]):
        raise ValueError(f"different columns, clip and action among them, expected, found {lines[:1]}")
    rows = Rows(columns=lines[0])
    for i, line in enumerate(line for line in lines[1:] if line):
        if len(line) != len(lines[0]):
            raise ValueError(f"row {i}: {len(lines[0])} columns expected, found {len(line)}")
        rows.append({name: _entry(name, value) for name, value in zip(rows.columns, line, strict=True)})
        for first, last in (("start", "end"), SECONDS):
            times = [rows[-1].get(name, 0) for name in (first, last)]
            if {first, last} <= set(rows.columns) and not 0 <= times[0] <= times[1] < np.inf:
                raise ValueError(f"row {i}: a {first} and a later {last} expected, found {times[0]} and {times[1]}")
    return rows


def _entry(name, value):
    if name in ("start", "end"):
        return int(value)
    is_number = name in SECONDS or name.startswith(("confidence", "start_uncertainty", "end_uncertainty"))
    return float(value) if is_number else value
