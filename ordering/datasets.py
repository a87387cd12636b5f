"""From files to Clips (MAT files, segmentation folders, motion capture) and from labels to files."""

from __future__ import annotations

import csv
import os
import tempfile
import warnings
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm.auto import tqdm

from ordering._matlab import read_mat
from ordering.clips import Clips, _compress, fault_message, label_runs

FRAMES_PER_INTERVAL = 5  # of the motion-capture recordings: half a second at 10 frames a second
FRAMES_PER_WINDOW = 11


# -------------------------------------------------------------------------------- the authors' MAT files
def load_willow(path, background="around", return_test=False):
    """Read `full_dataset.mat` or `dataset.mat` of the authors' project page.

    Parameters
    ----------
    path : str or path
        A MAT file, version 5 to 7.3.
    background : {"around", "between"}
        Where background states are inserted, see `Clips`.
    return_test : bool
        Also return `Xtest` and `Ytest` of `dataset.mat`.

    Returns
    -------
    clips : Clips
        Features in the file's own dtype (the full file is float32), labels, and the file's order of clips.
        Actions count from 0; the last column of `Y` is the background (class 16 of the authors' files).
    Xtest, Ytest : (M, d) and (M, C) arrays
        With ``return_test=True``: held-out rows without borders of clips, as they are in the file.

    Raises
    ------
    ValueError
        The file is no MAT file, or a variable is missing or wrong; names file, variable and clip.

    Notes
    -----
    Variables that are read, n clips, T intervals, C - 1 actions and the background:

    ========== =========================================== ======================================
    variable   full_dataset.mat                            dataset.mat
    ========== =========================================== ======================================
    X          cell of n (T, d) matrices                   one (N, d) matrix of all rows
    Y          cell of n (T, C) matrices, one 1 in a row   the same
    annot                                                  cell of n rows of action numbers
    hw3        n structs; field `actid`: action numbers    the same (read where annot is missing)
    Xtest                                                  (M, d) matrix
    Ytest                                                  (M, C) matrix
    ========== =========================================== ======================================

    Action numbers count from 1 in the files. `X` may be a cell or a matrix in either file, and with a single
    clip a cell of one entry may also be its bare content. Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    One clip of six intervals, its action (number 2) in the middle:

    >>> from scipy.io import savemat
    >>> folder = tempfile.TemporaryDirectory()
    >>> savemat(f"{folder.name}/set.mat", {"X": np.ones((6, 3)), "annot": [[2.0]],
    ...                                    "Y": np.eye(3)[[2, 2, 1, 1, 1, 2]]})
    >>> clips = load_willow(f"{folder.name}/set.mat")
    >>> clips.transcripts[0].tolist(), clips.labels.tolist()
    ([1], [2, 2, 1, 1, 1, 2])
    """
    if background not in ("around", "between"):
        raise ValueError(f'background must be "around" or "between", since the labels hold background; '
                         f"found {background!r}")
    variables = read_mat(path, ["X", "Y", "annot", "hw3"] + ["Xtest", "Ytest"] * return_test)
    actions = _willow_transcripts(path, variables)
    blocks = _cell(path, "Y", variables, len(actions))
    labels, n_classes = _willow_labels(path, blocks)
    features = _willow_features(path, variables, [len(part) for part in labels])
    try:
        clips = Clips(features, [len(part) for part in labels], [a - 1 for a in actions], n_classes - 1,
                      background=background, labels=np.concatenate(labels))
    except ValueError as error:
        raise ValueError(f"{path} (features from X, labels from Y, transcripts from annot or hw3): "
                         f"{error}") from None
    if not return_test:
        return clips
    return clips, *_willow_test(path, variables, features.shape[1], n_classes)


def _willow_transcripts(path, variables):
    """Action numbers of every clip, counted from 1 as in the file."""
    if "annot" in variables:
        name, entries = "annot", variables["annot"]
        entries = entries if isinstance(entries, list) else [entries]
    elif "hw3" in variables:
        name, structs = "hw3.actid", variables["hw3"]
        if not isinstance(structs, list) or not all(isinstance(s, dict) and "actid" in s for s in structs):
            raise ValueError(f"{path}: hw3: structs with a field actid expected")
        entries = [s["actid"] for s in structs]
    else:
        raise ValueError(f"{path}: a variable annot or hw3 expected, found neither")
    faults, actions = [], []
    for i, entry in enumerate(entries):
        numbers = np.ravel(entry) if isinstance(entry, np.ndarray) else np.array([np.nan])
        if numbers.dtype.kind not in "iuf" or not np.all((numbers >= 1) & (numbers % 1 == 0)):
            faults.append(f"{name}, clip {i}: action numbers from 1 on expected, found {numbers.tolist()}")
        else:
            actions.append(numbers.astype(np.int64))
    _raise(path, faults)
    return actions


def _willow_labels(path, blocks):
    """Labels (T,) of every clip, from one-hot rows, and the number of classes."""
    n_classes = blocks[0].shape[1]
    faults, labels = [], []
    for i, block in enumerate(blocks):
        if block.shape[1] != n_classes:
            faults.append(f"Y, clip {i}: {n_classes} columns expected as in clip 0, found {block.shape[1]}")
            continue
        wrong = np.flatnonzero((np.count_nonzero(block, axis=1) != 1) | (block.max(axis=1, initial=0) != 1))
        if len(wrong):
            faults.append(f"Y, clip {i}, row {wrong[0]}: one entry 1 and zeros expected, found "
                          f"{np.array2string(block[wrong[0]].astype(float), max_line_width=1000)}")
        labels.append(block.argmax(axis=1))
    if n_classes < 2:
        faults.append(f"Y: columns of at least one action and the background expected, found {n_classes}")
    _raise(path, faults)
    return labels, n_classes


def _willow_features(path, variables, lengths):
    """Features (N, d) of all clips, from a cell of clips or from one matrix."""
    X = variables.get("X")
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.shape[0] != sum(lengths):
            raise ValueError(f"{path}: X: {sum(lengths)} rows expected, as many as Y has, found {X.shape}")
        return np.ascontiguousarray(X)
    blocks = _cell(path, "X", variables, len(lengths))
    width = blocks[0].shape[1]
    _raise(path, [f"X, clip {i}: shape {(T, width)} expected, found {block.shape}"
                  for i, (block, T) in enumerate(zip(blocks, lengths, strict=True))
                  if block.shape != (T, width)])
    return np.concatenate(blocks)


def _willow_test(path, variables, n_features, n_classes):
    for name, width in [("Xtest", n_features), ("Ytest", n_classes)]:
        found = variables.get(name)
        if not isinstance(found, np.ndarray) or found.ndim != 2 or found.shape[1] != width:
            shape = "none" if found is None else getattr(found, "shape", "a cell")
            raise ValueError(f"{path}: {name}: a matrix of {width} columns expected (dataset.mat has it), "
                             f"found {shape}")
    if len(variables["Xtest"]) != len(variables["Ytest"]):
        raise ValueError(f"{path}: Xtest, Ytest: equally many rows expected, found "
                         f"{len(variables['Xtest'])} and {len(variables['Ytest'])}")
    return np.ascontiguousarray(variables["Xtest"]), np.ascontiguousarray(variables["Ytest"])


def _cell(path, name, variables, n_clips):
    """Entries of a cell, one real matrix for each of `n_clips`."""
    if name not in variables:
        raise ValueError(f"{path}: a variable {name} expected, found none")
    entries = variables[name]
    if isinstance(entries, np.ndarray) and n_clips == 1:
        entries = [entries]
    if not isinstance(entries, list):
        raise ValueError(f"{path}: {name}: a cell of {n_clips} matrices expected, one for each transcript, "
                         f"found one matrix, which does not say where clips begin")
    if len(entries) != n_clips or n_clips == 0:
        raise ValueError(f"{path}: {name}: a cell of {n_clips} clips expected, one for each transcript, "
                         f"found {len(entries)}")
    _raise(path, [f"{name}, clip {i}: a matrix of real numbers with at least one row expected, found "
                  f"{getattr(entry, 'shape', type(entry).__name__)}" for i, entry in enumerate(entries)
                  if not isinstance(entry, np.ndarray) or entry.ndim != 2 or entry.dtype.kind not in "iufb"
                  or 0 in entry.shape])
    return entries


def _raise(path, faults):
    if faults:
        raise ValueError(f"{path}: {fault_message(faults)}")


# ------------------------------------------------------------------ folders of action segmentation work
def load_segmentation_folder(root, split=None, background_name="background", background="around",
                             layout="dT", frames=10, window=30, tolerance=10):
    """Read a folder of features and labels per frame, and pool the frames to intervals.

    Parameters
    ----------
    root : str or path
        A folder with ``features/NAME.npy``, ``mapping.txt``, and ``groundTruth/NAME.txt`` or
        ``transcripts/NAME.txt`` or both.
    split : str or path, optional
        A file of clip names, one a line, with or without ``.txt``: in ``root/splits``, in ``root``, or
        anywhere. Its clips are read, in its order. Without it all of ``features``, sorted by name.
    background_name : str, sequence of str, or None
        Name or names in ``mapping.txt`` that mean background (one class in the result). None: every name is
        an action, and `background` does not matter.
    background : {"around", "between"}
        Where background states are inserted, see `Clips`.
    layout : {"dT", "Td"}
        Shape of a feature file: (d, T), a column a frame, or (T, d), a row a frame.
    frames, window : int
        Frames of an interval, and frames of the window centred on it over which features are averaged.
    tolerance : int
        Features and labels of a clip may differ by so many frames; the longer one is cut at its end, with a
        warning. A larger difference is an error.

    Returns
    -------
    Clips
        Actions in the order of their numbers in ``mapping.txt``, background last whatever its number. float64
        features stay so, others become float32. Without ``groundTruth`` the labels are None.

    Raises
    ------
    ValueError
        One error that lists the faults of all files.

    Notes
    -----
    ``mapping.txt`` has a number and a name in a line, ``groundTruth`` a name for each frame, ``transcripts``
    a name for each action (background may be left out or not). Names may hold spaces; Windows line ends and
    blank lines at the end do not matter.

    Interval i covers `frames` frames from frame i `frames` on; the last one also takes a rest of less than
    half an interval. Windows are cut at the ends of a clip. An interval's label is the most frequent one of
    its frames, on a tie the one that comes first.

    A run shorter than about half an interval can lose its label to its neighbours. A clip's transcript is the
    one of ``transcripts`` if the labels of its intervals agree with it, else the one that these labels show,
    with a warning that names the clip. A transcript that the labels of the *frames* contradict is an error.
    Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> root = Path(folder.name)
    >>> (root / "features").mkdir(), (root / "groundTruth").mkdir()
    (None, None)
    >>> np.save(root / "features" / "a.npy", np.ones((4, 60)))
    >>> _ = (root / "mapping.txt").write_text("0 background\\n1 pour\\n2 stir\\n")
    >>> _ = (root / "groundTruth" / "a.txt").write_text("stir\\n" * 30 + "background\\n" * 10 + "pour\\n" * 20)
    >>> clips = load_segmentation_folder(root, background="between")
    >>> clips.action_names, clips.labels.tolist()
    (['pour', 'stir'], [1, 1, 1, 2, 0, 0])
    """
    root = Path(root)
    if layout not in ("dT", "Td"):
        raise ValueError(f'layout must be "dT" or "Td", found {layout!r}')
    if frames < 1 or window < frames or tolerance < 0:
        raise ValueError(f"frames >= 1, window >= frames and tolerance >= 0 expected, found {frames}, "
                         f"{window} and {tolerance}")
    classes, actions = _read_mapping(root / "mapping.txt", background_name)
    names = _clip_names(root, split)
    faults, notes, features, labels, transcripts = [], [], [], [], []
    for name in tqdm(names, desc=f"reading {root.name}", unit="clip", leave=False, delay=2):
        try:
            X, truth, transcript = _read_clip(root, name, classes, len(actions), layout, tolerance, notes)
            edges = _intervals(len(X), frames)
            features.append(_window_means(X, _windows(edges, frames, window)))
            labels.append(None if truth is None else _majority(truth, edges))
            transcripts.append(_pooled_transcript(name, transcript, labels[-1], len(actions), notes))
        except _Fault as fault:
            faults.append(str(fault))
    if not faults:
        faults += _faults_of_widths(names, features)
    _raise(root, faults)
    if notes:
        warnings.warn(f"{root}: " + "; ".join(notes), stacklevel=2)
    try:
        return Clips.from_list(features, transcripts, len(actions),
                               background=None if background_name is None else background,
                               labels=None if labels[0] is None else np.concatenate(labels),
                               action_names=actions, clip_names=names)
    except ValueError as error:
        raise ValueError(f"{root}: {error}") from None


class _Fault(Exception):
    """What is wrong with the files of one clip."""


def _read_mapping(path, background_name):
    """Class of every name, background last, and the names of the actions."""
    backgrounds = [background_name] if isinstance(background_name, str) else list(background_name or [])
    numbers, faults = {}, []
    for i, line in enumerate(_lines(path)):
        number, name = (line.split(maxsplit=1) + ["", ""])[:2]
        if not number.isdecimal() or not name:
            faults.append(f"line {i + 1}: a number and a name expected, found {line!r}")
        elif name in numbers or int(number) in numbers.values():
            faults.append(f"line {i + 1}: a new number and a new name expected, found {line!r}")
        else:
            numbers[name] = int(number)
    if not faults:
        faults += [f"background_name: a name of the file expected, {sorted(numbers)}, found {name!r}"
                   for name in backgrounds if name not in numbers]
    actions = sorted(set(numbers) - set(backgrounds), key=numbers.get)
    if not faults and not actions:
        faults.append("at least one action expected, found none")
    _raise(path, faults)
    classes = {name: a for a, name in enumerate(actions)}
    return classes | dict.fromkeys(backgrounds, len(actions)), actions


def _clip_names(root, split):
    """Names of the clips to read, each with a file of features."""
    available = {path.stem for path in (root / "features").glob("*.npy")}
    if split is None:
        path, names = root / "features", sorted(available)
        annotated = {path.stem for path in (root / "groundTruth").glob("*.txt")}
        _raise(root, [f"features/{name}.npy expected beside groundTruth/{name}.txt, found none"
                      for name in sorted(annotated - available)])
    else:
        places = [root / "splits" / split, root / split, Path(split)]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            raise ValueError(f"{root}: the split file {str(split)!r} expected in splits, in the folder or "
                             "as a path, found none")
        names = [line.replace("\\", "/").split("/")[-1] for line in _lines(path) if line]
        names = [name.removesuffix(".txt").removesuffix(".npy") for name in names]
        _raise(path, [f"features/{name}.npy expected, found none" for name in names if name not in available]
               + [f"{name!r} once expected, found {n} times" for name, n in Counter(names).items() if n > 1])
    if not names:
        raise ValueError(f"{path}: at least one clip expected, found none")
    return names


def _read_clip(root, name, classes, n_actions, layout, tolerance, notes):
    """Features (T, d) and labels (T,) or None of one clip, frame by frame, and its transcript."""
    X = _read_features(root / "features" / f"{name}.npy")
    X = X.T if layout == "dT" else X
    annotated = (root / "groundTruth").is_dir()
    truth = _read_classes(root, "groundTruth", name, classes) if annotated else None
    shown = None if truth is None else _actions(truth, n_actions)
    if truth is None or (root / "transcripts" / f"{name}.txt").is_file():
        transcript = _read_classes(root, "transcripts", name, classes)
        transcript = transcript[transcript != n_actions]
        if truth is not None and not _agree(shown, transcript):
            raise _Fault(f"transcripts/{name}.txt: the actions of groundTruth expected, {shown.tolist()} "
                         f"counted from 0 without background, found {transcript.tolist()}")
    else:
        transcript = shown
    if truth is not None and len(truth) != len(X):
        if abs(len(truth) - len(X)) > tolerance:
            other = "Td" if layout == "dT" else "dT"
            advice = f'; layout="{other}" would fit' if abs(len(truth) - X.shape[1]) <= tolerance else ""
            raise _Fault(f"{name}: features and labels that differ by at most {tolerance} frames expected, "
                         f"found {len(X)} and {len(truth)}{advice}")
        notes.append(f"{name}: features of {len(X)} frames, labels of {len(truth)}; the longer one is cut")
        X, truth = X[:len(truth)], truth[:len(X)]
    if len(X) == 0:
        raise _Fault(f"{name}: at least one frame expected, found none")
    return X, truth, transcript


def _pooled_transcript(name, transcript, labels, n_actions, notes):
    """The transcript, or what is left of it in the labels of the intervals."""
    left = None if labels is None else _actions(labels, n_actions)
    if labels is None or _agree(left, transcript):
        return transcript
    notes.append(f"{name}: {len(left)} of {len(transcript)} actions are left in labels of intervals; its "
                 "transcript is cut to these")
    return left


def _actions(labels, n_actions):
    """Action runs of labels, in order, background left out."""
    runs = label_runs(labels)
    return runs[runs != n_actions]


def _agree(runs, transcript):
    """Whether labels with these action runs show a transcript (equal neighbours may look like one run)."""
    (values, counts), (expected, most) = _compress(runs), _compress(transcript)
    return np.array_equal(values, expected) and np.all(counts <= most)


def _read_features(path):
    try:
        X = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise _Fault(f"features/{path.name}: an array of numbers expected, found {error}") from None
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
        raise _Fault(f"features/{path.name}: a 2-D array of real numbers expected, found "
                     f"{getattr(X, 'dtype', type(X).__name__)} of shape {getattr(X, 'shape', None)}")
    return X


def _read_classes(root, folder, name, classes):
    """Classes of the lines of one file of names."""
    if not (root / folder / f"{name}.txt").is_file():
        raise _Fault(f"{folder}/{name}.txt expected beside features/{name}.npy, found none")
    lines = _lines(root / folder / f"{name}.txt")
    for i, line in enumerate(lines):
        if line not in classes:
            raise _Fault(f"{folder}/{name}.txt, line {i + 1}: a name of mapping.txt expected, found {line!r}")
    return np.array([classes[line] for line in lines], dtype=np.int64)


def _lines(path):
    """Lines of a text file without space around them, and without blank lines at its end."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: a text file expected, found {error}") from None
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _faults_of_widths(names, features):
    usual = Counter(X.shape[1] for X in features).most_common(1)[0][0]
    return [f"features/{name}.npy: {usual} features expected as in most clips, found {X.shape[1]}"
            for name, X in zip(names, features, strict=True) if X.shape[1] != usual]


# ----------------------------------------------------------------------------------- frames to intervals
def _intervals(n_frames, frames):
    """Borders (T + 1,) of intervals; a rest of less than half an interval joins the last one."""
    T = max(1, (n_frames + frames // 2) // frames)
    return np.append(np.arange(T) * frames, n_frames)


def _windows(edges, frames, window):
    """Slice of the `window` frames centred on each interval, cut at the ends of the clip."""
    starts = edges[:-1] - (window - frames) // 2
    return [slice(max(0, start), min(edges[-1], start + window)) for start in starts.tolist()]


def _window_means(X, windows):
    means = np.stack([X[rows].mean(axis=0, dtype=np.float64) for rows in windows])
    return means if X.dtype == np.float64 else means.astype(np.float32)


def _majority(labels, edges):
    """Most frequent label of each interval, on a tie the one that comes first."""
    return np.array([Counter(labels[start:end].tolist()).most_common(1)[0][0]
                     for start, end in zip(edges[:-1], edges[1:], strict=True)])


# ---------------------------------------------------------------------------- motion-capture recordings
class Recordings(NamedTuple):
    """Recordings frame by frame: a name, a (T, 12) array of angles and (T,) labels of each."""

    names: list
    angles: list
    labels: list
    channels: list
    actions: list
    frames_per_second: float


def mocap6_recordings():
    """Frames of the six motion-capture recordings, as published.

    Returns
    -------
    Recordings
        `names` (CMU subject and trial), `angles` ((T, 12) arrays in degrees, the first channel the height of
        the root; means taken away), `labels` ((T,) exercise of every frame), `channels`, `actions` and
        `frames_per_second` (10).

    Notes
    -----
    Fox, Hughes, Sudderth and Jordan, Annals of Applied Statistics 8(3), 2014. The data used in this project
    was obtained from mocap.cs.cmu.edu. The database was created with funding from NSF EIA-0196217. Terms:
    ``ordering/data/LICENSE-mocap6.txt``. Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> mocap6_recordings().names
    ['13_29', '13_30', '13_31', '14_06', '14_14', '14_20']
    """
    with (resources.files("ordering") / "data" / "mocap6.npz").open("rb") as file:
        with np.load(file, allow_pickle=False) as data:
            borders = data["offsets"][1:-1]
            return Recordings(data["recordings"].tolist(), np.split(data["angles"], borders),
                              np.split(data["labels"].astype(np.int64), borders), data["channels"].tolist(),
                              data["actions"].tolist(), 10.0)


def load_mocap6(pieces_seconds=10.0):
    """Six motion-capture recordings of twelve exercises, in intervals of half a second.

    Parameters
    ----------
    pieces_seconds : float or None
        Cut each recording every so many seconds, into clips of their own; a rest of less than half a piece
        stays with the last one. None: whole recordings.

    Returns
    -------
    Clips
        float64 features in the columns as computed, not scaled; no background; `labels` and `action_names`.
        A clip is named after its recording and, if it is a piece, its number in it: ``13_29/0``.

    Notes
    -----
    36 features: mean, standard deviation and mean absolute difference from frame to frame of each of the 12
    channels of `mocap6_recordings`, over the 11 frames centred on an interval of 5 (beside a cut they reach
    into the next piece). The label is the most frequent one of the 5 frames. A piece's transcript is what its
    labels show: a fixed cut often falls inside an exercise, which then ends one piece and opens the next.
    Source and terms: see `mocap6_recordings`. Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> load_mocap6(pieces_seconds=None)
    Clips(6 clips, 410 intervals, 36 features, 12 actions, background=None, labelled)
    """
    if pieces_seconds is not None and not 0 < pieces_seconds < np.inf:
        raise ValueError(f"pieces_seconds: a positive number or None expected, found {pieces_seconds!r}")
    recordings = mocap6_recordings()
    features, labels, names = [], [], []
    for name, angles, truth in zip(recordings.names, recordings.angles, recordings.labels, strict=True):
        edges = _intervals(len(angles), FRAMES_PER_INTERVAL)
        X = _motion_features(angles, _windows(edges, FRAMES_PER_INTERVAL, FRAMES_PER_WINDOW))
        y = _majority(truth, edges)
        cuts = []
        if pieces_seconds is not None:
            per_second = recordings.frames_per_second / FRAMES_PER_INTERVAL
            cuts = _intervals(len(y), max(1, round(pieces_seconds * per_second)))[1:-1]
        features += np.split(X, cuts)
        labels += np.split(y, cuts)
        names += [name] if pieces_seconds is None else [f"{name}/{i}" for i in range(len(cuts) + 1)]
    return Clips.from_list(features, [label_runs(part) for part in labels], background=None, labels=labels,
                           action_names=recordings.actions, clip_names=names)


def _motion_features(angles, windows):
    """Mean, standard deviation and mean absolute difference of each channel over each window."""
    parts = [angles[rows] for rows in windows]
    means, deviations = [part.mean(axis=0) for part in parts], [part.std(axis=0) for part in parts]
    return np.hstack([means, deviations, [np.abs(np.diff(part, axis=0)).mean(axis=0) for part in parts]])


# ------------------------------------------------------------------------------------ labels to files
def segments(labels, clips, interval_seconds=None):
    """List who does what when: one row for each run of an action.

    Parameters
    ----------
    labels : (N,) ints
        Classes of all intervals, such as `OrderedActionLabeling.labels_`.
    clips : Clips
    interval_seconds : float, optional
        Length of an interval; adds the times in seconds.

    Returns
    -------
    list of dict
        `clip` and `action` (names where `clips` has them, else numbers), `start` and `end` in intervals from
        the clip's start (`end` is the first interval after the run), and `start_seconds`, `end_seconds`.
        Runs of background are left out. Equal actions that touch are one run.

    Raises
    ------
    ValueError
        `labels` is not one class of `clips` for each interval.

    Notes
    -----
    Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> clips = Clips(np.zeros((5, 1)), [5], [[0, 1]], 2, action_names=["sit", "walk"], clip_names=["a"])
    >>> segments([2, 0, 0, 1, 2], clips, interval_seconds=0.5)[0]
    {'clip': 'a', 'action': 'sit', 'start': 1, 'end': 3, 'start_seconds': 0.5, 'end_seconds': 1.5}
    """
    labels, N = np.asarray(labels), int(np.sum(clips.lengths))
    if labels.shape != (N,) or labels.dtype.kind not in "iu":
        raise ValueError(f"labels: {N} ints expected, one for each interval, found {labels.dtype} of shape "
                         f"{labels.shape}")
    if np.any((labels < 0) | (labels >= clips.n_classes)):
        raise ValueError(f"labels: classes in [0, {clips.n_classes}) expected, found {labels.min()}.."
                         f"{labels.max()}")
    rows = []
    for i in range(len(clips)):
        values, counts = _compress(labels[clips.rows(i)])
        ends = np.cumsum(counts)
        for action, start, end in zip(values.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
            if action == clips.background_class:
                continue
            row = {"clip": clips.clip_names[i] if clips.clip_names else i,
                   "action": clips.action_names[action] if clips.action_names else action,
                   "start": start, "end": end}
            if interval_seconds is not None:
                row |= {"start_seconds": start * interval_seconds, "end_seconds": end * interval_seconds}
            rows.append(row)
    return rows


def write_segments(path, rows):
    """Write the rows of `segments` as a CSV file, whole or not at all.

    Parameters
    ----------
    path : str or path
        Replaced if it is there.
    rows : list of dict
        What `segments` returns.

    Notes
    -----
    Explained in ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "labels.csv"
    >>> write_segments(path, [{"clip": "a", "action": "sit", "start": 1, "end": 3}])
    >>> path.read_text().splitlines()
    ['clip,action,start,end', 'a,sit,1,3']
    """
    path = Path(path)
    columns = list(rows[0]) if rows else ["clip", "action", "start", "end"]
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with open(handle, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
