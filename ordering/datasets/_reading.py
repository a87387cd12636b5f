"""One file of a user at a time: features, names and numbers of classes, and what is wrong with them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ordering._stored import stored_arrays
from ordering.clips import bad_values, fault_message

MOST_LABELS = 250  # for each frame of features, such as video at 250 frames a second and a feature for each second
_STRETCH = re.compile(r"(\d+(?:\.\d*)?)(?:[\s,;]+|-)(\d+(?:\.\d*)?)[\s,;]+(.+)")  # start, end (or start-end), label


class Fault(Exception):
    """What is wrong with one file: a sentence that begins with its name."""


class Mapping(NamedTuple):
    """Class of every name and of every number of ``mapping.txt``, and the names of the actions in order."""

    names: dict[str, int]
    numbers: dict[int, int]
    actions: list[str]


class Stretches(NamedTuple):
    """Annotation of "start end label" lines: starts and ends as written, classes, and whether these are seconds."""

    starts: np.ndarray
    ends: np.ndarray
    classes: np.ndarray
    in_seconds: bool


def raise_faults(path: str | Path, faults: list[str]) -> None:
    """One error for all of them."""
    if faults:
        raise ValueError(f"{path}: {fault_message(faults)}")


def normal(name: str) -> str:
    """The same text for the same name: systems store an umlaut as one character or as two."""
    return unicodedata.normalize("NFC", name)


def text_lines(path: Path) -> list[str]:
    """Lines of a text file without space around them, and without blank lines at its end."""
    require_regular(path)
    try:
        lines = [normal(line.strip()) for line in path.read_text(encoding="utf-8-sig").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(f"{short(path)}: a text file in UTF-8 expected, found {error}") from None
    while lines and not lines[-1]:
        lines.pop()
    return lines


def require_regular(path: Path) -> None:
    """Only files: a pipe would wait for ever."""
    if not path.is_file():
        found = "something else" if path.exists() else "none"
        raise Fault(f"{short(path)}: a regular file expected, found {found}")


def short(path: Path) -> str:
    """The path inside the folder of the set."""
    return f"{path.parent.name}/{path.name}"


# --------------------------------------------------------------------------------------------- features
def read_features(path: Path, layout: str | None) -> np.ndarray:
    """Features (T, d), float64 where they are stored so, else float32; `layout` None: (d, T), in a CSV (T, d).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("height,speed\\n1,2\\n3,4\\n5,6\\n")
    ...     read_features(path, None).shape
    (3, 2)
    """
    is_text = path.suffix.lower() == ".csv"
    X = _read_table(path) if is_text else read_array(path, ("features", "X"))
    if X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        raise Fault(f"{short(path)}: a 2-D array of real numbers expected, found {X.dtype} of shape {X.shape}")
    if layout == "dT" or layout is None and not is_text:
        X = X.T
    double = X.dtype.kind == "f" and X.dtype.itemsize >= 8
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(X, dtype=np.float64 if double else np.float32)
    for frame, column, value, count in bad_values(X, [0, len(X)]):
        more = f" and {count - 1} more times" if count > 1 else ""
        raise Fault(f"{short(path)}: finite features expected, found {value} in frame {frame}, column {column}"
                    f"{more}")
    return X


def read_array(path: Path, keys: Sequence[str] = ()) -> np.ndarray:
    """The array of an .npy or .npz file, never a pickle; of several arrays the first one named in `keys`."""
    require_regular(path)
    try:
        (array,) = stored_arrays(path, keys).values()
    except (OSError, ValueError) as error:
        raise Fault(f"{short(path)}: an array of numbers expected, found {error}") from None
    return array


def _read_table(path):
    """Numbers of a CSV file (comma, semicolon, tab or space), a row a frame, with or without a line of names."""
    lines = text_lines(path)
    if not lines:
        raise Fault(f"{short(path)}: a row for each frame expected, found none")
    delimiter = next((mark for mark in ",;\t" if mark in lines[0]), None)
    try:
        [float(entry) for entry in lines[0].split(delimiter)]
    except ValueError:
        lines = lines[1:] or ["no row of numbers"]
    try:
        return np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError as error:
        raise Fault(f"{short(path)}: numbers expected, found {error}") from None


# ----------------------------------------------------------------------------------------------- labels
def known_mapping(path: Path, background_name: str | Iterable[str] | None, actions: Sequence[str]) -> Mapping:
    """Classes as `actions` has them; ``mapping.txt``, which may be missing, only gives their numbers."""
    classes = {normal(name): a for a, name in enumerate(actions)}
    classes |= dict.fromkeys(_background_names(background_name), len(actions))
    there = read_mapping(path, None) if path.exists() else Mapping({}, {}, [])
    return Mapping(classes, {number: classes[there.actions[a]] for number, a in there.numbers.items()
                             if there.actions[a] in classes}, list(actions))


def read_mapping(path: Path, background_name: str | Iterable[str] | None) -> Mapping:
    """``mapping.txt``: a number and a name in a line; background last whatever its number."""
    backgrounds = _background_names(background_name)
    numbers: dict[int, str] = {}
    names: dict[str, int] = {}
    faults: list[str] = []
    try:
        lines = text_lines(path)
    except Fault as fault:
        raise ValueError(f"{path.parent}: {fault}") from None
    for i, line in enumerate(lines):
        number, name = (line.split(maxsplit=1) + ["", ""])[:2]
        if not re.fullmatch("[0-9]{1,18}", number) or not name:
            faults.append(f"line {i + 1}: a number and a name expected, found {line[:200]!r}")
        elif name in names or int(number) in numbers:
            faults.append(f"line {i + 1}: a new number and a new name expected, found {line[:200]!r}")
        else:
            names[name] = int(number)
            numbers[int(number)] = name
    if not faults:
        faults += [f"background_name: a name of the file expected, {some(sorted(names))}, found {name!r}"
                   for name in backgrounds if name not in names]
    actions = sorted(set(names) - set(backgrounds), key=names.__getitem__)
    if not faults and not actions:
        faults.append("at least one action expected, found none")
    raise_faults(path, faults)
    classes = {name: a for a, name in enumerate(actions)} | dict.fromkeys(backgrounds, len(actions))
    return Mapping(classes, {number: classes[name] for number, name in numbers.items()}, actions)


def _background_names(value):
    names = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"background_name: a name, several or None expected, found {value!r}")
    return [normal(name) for name in names]


def some(values: list) -> str:
    """A list for a message, cut after ten."""
    return f"{values}" if len(values) <= 10 else f"{values[:10]} and {len(values) - 10} more"


def read_classes(path: Path, mapping: Mapping) -> np.ndarray | Stretches:
    """Classes of a file: a name or a number of the mapping in a line (or an .npy array), or stretches of time.

    Examples
    --------
    >>> import tempfile
    >>> mapping = Mapping({"stir": 0, "idle": 1}, {7: 0, 0: 1}, ["stir"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.txt"
    ...     _ = path.write_text("idle\\nidle\\nstir\\n")
    ...     print(read_classes(path, mapping))
    ...     _ = path.write_text("0.0 2.5 idle\\n2.5 4.0 stir\\n")
    ...     print(read_classes(path, mapping).ends)
    [1 1 0]
    [2.5 4. ]
    """
    if path.suffix.lower() == ".npy":
        return _classes_of_array(path, mapping)
    lines = text_lines(path)
    if all(line in mapping.names for line in lines):
        return np.array([mapping.names[line] for line in lines], dtype=np.int64)
    if all(re.fullmatch("[0-9]{1,18}", line) for line in lines):
        return _classes_of_numbers(path, [int(line) for line in lines], mapping)
    found = [_STRETCH.fullmatch(line) for line in lines]
    first = 0 if found[0] or lines[0] in mapping.names else 1  # a line of names above
    if len(found) > first and all(found[first:]):
        return _stretches(path, [match.groups() for match in found[first:] if match], first, mapping)
    i, line = next((i, line) for i, line in enumerate(lines) if line not in mapping.names)
    raise Fault(f"{short(path)}, line {i + 1}: a name of mapping.txt expected, found {line[:200]!r}")


def _classes_of_array(path, mapping):
    values = read_array(path)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim == 1 and values.dtype.kind in "US":
        names = [normal(name.decode(errors="replace") if isinstance(name, bytes) else name)
                 for name in values.tolist()]
        for i, name in enumerate(names):
            if name not in mapping.names:
                raise Fault(f"{short(path)}, entry {i}: a name of mapping.txt expected, found {name[:200]!r}")
        return np.array([mapping.names[name] for name in names], dtype=np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.all(np.mod(values, 1) == 0):
        raise Fault(f"{short(path)}: a 1-D array of whole numbers or names expected, found {values.dtype} of shape "
                    f"{values.shape}")
    return _classes_of_numbers(path, [int(value) for value in values.tolist()], mapping)


def _classes_of_numbers(path, numbers, mapping):
    for i, number in enumerate(numbers):
        if number not in mapping.numbers:
            raise Fault(f"{short(path)}, line {i + 1}: a number of mapping.txt expected, found {number}")
    return np.array([mapping.numbers[number] for number in numbers], dtype=np.int64)


def _stretches(path, groups, first, mapping):
    classes = []
    for i, (*_, label) in enumerate(groups):
        number = int(label) if re.fullmatch("[0-9]{1,18}", label) else None
        if label not in mapping.names and number not in mapping.numbers:
            raise Fault(f"{short(path)}, line {first + i + 1}: a name of mapping.txt expected, found "
                        f"{label[:200]!r}")
        classes.append(mapping.names[label] if label in mapping.names else mapping.numbers[number])
    times = np.array([[float(time) for time in group[:2]] for group in groups])
    order = np.argsort(times[:, 0], kind="stable")
    return Stretches(times[order, 0], times[order, 1], np.array(classes, dtype=np.int64)[order],
                     any("." in time for group in groups for time in group[:2]))


def frame_classes(path: Path, found: Stretches, n_frames: int, fps: float | None, background: int | None
                  ) -> np.ndarray:
    """Classes frame by frame, as far as the annotation reaches and at least `n_frames`; elsewhere background.

    An end is the first frame behind a stretch, but the last frame in it where each stretch begins at least one
    frame after the end before and one begins just there; frames then count from 1 unless one begins at 0.
    """
    if found.in_seconds and fps is None:
        raise Fault(f"{short(path)}: fps expected, frames a second, since its times are seconds; found None")
    per_unit = fps if found.in_seconds and fps else 1
    starts, ends = np.rint(found.starts * per_unit), np.rint(found.ends * per_unit)
    gaps = starts[1:] - ends[:-1]
    if not found.in_seconds and len(gaps) and gaps.min() == 1:
        starts, ends = (starts, ends + 1) if starts.min() == 0 else (starts - 1, ends)
    for i, (start, end, gap) in enumerate(zip(starts, ends, np.append(0, starts[1:] - ends[:-1]), strict=True)):
        if end < start or gap < 0 or end > MOST_LABELS * (n_frames + 100):
            raise Fault(f"{short(path)}: stretches that end after they begin, one after the other, expected, found "
                        f"{found.starts[i]:g} to {found.ends[i]:g} (number {i + 1} of them)")
    labels = np.full(max(n_frames, int(ends.max())), -1 if background is None else background, dtype=np.int32)
    for start, end, label in zip(starts.astype(int), ends.astype(int), found.classes, strict=True):
        labels[start:end] = label
    unknown = np.flatnonzero(labels == -1)
    if background is None and len(unknown) and unknown[0] < ends.max():
        raise Fault(f"{short(path)}: a label for every frame expected without background, found none for frame "
                    f"{unknown[0]}")
    return labels[:unknown[0]] if len(unknown) else labels
