"""Folders in the layout of action segmentation work: features, groundTruth, transcripts, mapping.txt."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from ordering.clips import Clips, _compress, label_runs
from ordering.datasets.pooling import intervals, majority, window_means, windows
from ordering.datasets.willow import _raise


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
    >>> import tempfile
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
            edges = intervals(len(X), frames)
            features.append(window_means(X, windows(edges, frames, window)))
            labels.append(None if truth is None else majority(truth, edges))
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
