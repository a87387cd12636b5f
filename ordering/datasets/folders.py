"""Folders in the layout of action segmentation work: features, groundTruth, transcripts, mapping.txt."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ordering._check import integer, number
from ordering.clips import Clips, compress, label_runs
from ordering.datasets._reading import (
    Fault,
    Mapping,
    Stretches,
    frame_classes,
    known_mapping,
    normal,
    raise_faults,
    read_classes,
    read_features,
    read_mapping,
    short,
    text_lines,
)
from ordering.datasets.pooling import frames_for, intervals, majority, window_means, windows

FEATURES, LABELS = (".npy", ".npz", ".csv"), (".txt", ".csv", ".npy")
MOST_NOTES = 20


def load_segmentation_folder(root: str | Path, split: str | Path | None = None,
                             background_name: str | Sequence[str] | None = "background",
                             background: str | None = "around", layout: str | None = None, frames: int = 10,
                             window: int = 30, tolerance: int = 10, d: int | None = None, fps: float | None = None,
                             return_frames: bool = False, action_names: Sequence[str] | None = None,
                             lists: bool = True) -> Any:
    """Read a folder of features and labels per frame, and pool the frames to intervals.

    Parameters
    ----------
    root : str or path
        A folder with ``features/NAME.npy`` (or .npz, .csv), ``mapping.txt``, and for each clip
        ``groundTruth/NAME.txt`` or ``transcripts/NAME.txt`` (or .npy) or both.
    split : str or path, optional
        A file of clip names, one a line, with or without folder and suffix; lines that begin with # are left
        out. It lies in ``root/splits``, in ``root``, or anywhere. Its clips are read, in its order. Without it
        all of ``features``, sorted by name.
    background_name : str, sequence of str, or None
        Name or names in ``mapping.txt`` that mean background (one class in the result). None: every name is
        an action, and `background` does not matter.
    background : {"around", "between", "optional"}
        Where background states are inserted, see `Clips`.
    layout : {"dT", "Td"}, optional
        Shape of a feature file: (d, T), a column a frame, or (T, d), a row a frame. Not given: (T, d) in .csv,
        (d, T) elsewhere, with a warning where nothing else tells d from T.
    frames, window : int
        Frames of an interval, and frames of the window centred on it over which features are averaged. Features
        that stand for many frames of video each are best read with ``frames=1, window=1``.
    tolerance : int
        Features and labels of a clip may differ by so many frames; the longer one is cut at its end, with a
        warning. A larger difference is an error, unless all clips have the same whole number of labels for each
        frame of features.
    d : int, optional
        Number of features, where it is known; checked.
    fps : float, optional
        Frames of features a second; needed where annotation is in seconds.
    return_frames : bool
        Also return how many frames (n,) each clip has; divided by `fps` these are the durations of the clips.
    action_names : sequence of str, optional
        The actions in the order of their classes, such as a model knows them, whatever ``mapping.txt`` says, which
        may then be missing.
    lists : bool
        False: features alone are read. The list of every clip is then its first action, to stand for none.

    Returns
    -------
    clips : Clips
        Actions in the order of their numbers in ``mapping.txt``, background last whatever its number. float64
        features stay so, others become float32. Labels of clips without ``groundTruth`` are -1, and None if no
        clip has it.
    n_frames : (n,) ints
        With ``return_frames=True``.

    Raises
    ------
    ValueError
        One error that lists the faults of all files.

    Notes
    -----
    ``mapping.txt`` has a number and a name in a line. ``groundTruth`` has in each line a name or a number of the
    mapping for each frame, or a stretch of time: start, end and name (or number), in frames if all times of the
    file are whole, else in seconds; what no stretch covers is background. The end is the first frame behind the
    stretch, or the last one in it where the stretches of the file show that. ``transcripts`` has a name or number
    for each action (background may be left out or not). Names may hold spaces; Windows line ends, blank lines at
    the end and files that begin with a dot do not matter.

    Interval i covers `frames` frames from frame i `frames` on; the last one also takes a rest of less than
    half an interval. Windows are cut at the ends of a clip. An interval's label is the most frequent one of
    its frames, on a tie the one that comes first.

    A run shorter than about half an interval can lose its label to its neighbours. A clip's transcript is the
    one of ``transcripts`` if the labels of its intervals agree with it, else the one that these labels show,
    with a warning that names the clip. A transcript that the labels of the *frames* contradict is an error.
    Explained in ``book/18-your-own-clips.ipynb``.

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
    _check_arguments(layout, frames, window, tolerance, d, fps)
    path = _as_path(root, "root")
    folder = _Folder(path, background_name, action_names, layout, tolerance, fps, lists)
    mapping = folder.mapping
    names = folder.names(split)
    parts, faults = folder.read(names, folder.pooled(frames, window))
    raise_faults(path, faults + folder.faults_of_shapes(d) + folder.faults_of_ratios())
    notes = folder.all_notes(d)
    if notes:
        more = [f"and {len(notes) - MOST_NOTES} more"] * (len(notes) > MOST_NOTES)
        warnings.warn(f"{path}: " + "; ".join(notes[:MOST_NOTES] + more), stacklevel=2)
    features, labels, transcripts, n_frames = zip(*parts, strict=True)
    try:
        clips = Clips.from_list(features, transcripts, len(mapping.actions),
                                background=None if background_name is None else background,
                                labels=None if all(part is None for part in labels) else labels,
                                action_names=mapping.actions, clip_names=names)
    except ValueError as error:
        raise ValueError(f"{path}: {error}{_advice_of_frames(frames, features, transcripts, n_frames)}") from None
    return (clips, np.array(n_frames)) if return_frames else clips


def frames_that_fit(root: str | Path, background_name: str | Sequence[str] | None = "background",
                    layout: str | None = None, tolerance: int = 10, fps: float | None = None) -> int:
    """Frames of an interval that suit a folder: at most 10, fewer where clips are short for their lists.

    Half of the clips keep at least twenty intervals for each action of their lists, every clip two where it has the
    frames; 1 where features stand for many frames of labels already. Fewer frames are rarely worse, and slower.

    Parameters
    ----------
    root, background_name, layout, tolerance, fps
        As of `load_segmentation_folder`, whose `frames` this gives. It raises what that raises for single files.
    """
    _check_arguments(layout, 1, 1, tolerance, None, fps)
    path = _as_path(root, "root")
    folder = _Folder(path, background_name, None, layout, tolerance, fps)
    parts, faults = folder.read(folder.names(None), lambda name, X, labels, transcript: (len(X), len(transcript)))
    raise_faults(path, faults + folder.faults_of_shapes(None) + folder.faults_of_ratios())
    return 1 if max(folder.ratios.values(), default=1) > 1 else frames_for(*np.array(parts).T)


def _as_path(value, what):
    if not isinstance(value, (str, Path)):
        raise ValueError(f"{what}: a path expected, found {value!r}")
    return Path(value)


def _check_arguments(layout, frames, window, tolerance, d, fps):
    if layout not in ("dT", "Td", None):
        raise ValueError(f'layout: "dT", "Td" or None expected, found {layout!r}')
    integer("frames", frames, 1)
    integer("window", window, frames)
    integer("tolerance", tolerance)
    integer("d", 1 if d is None else d, 1)
    if fps is not None:
        number("fps", fps, above=0)


def _advice_of_frames(frames, features, transcripts, n_frames):
    """What helps where clips are too short only because their frames were pooled."""
    needed = [2 * len(transcript) + 1 for transcript in transcripts]
    short_ones = [X.shape[0] < S <= T for X, S, T in zip(features, needed, n_frames, strict=True)]
    return "\n- frames=1, window=1 would keep every frame as an interval" if frames > 1 and any(short_ones) else ""


class _Folder:
    """Files of a set by clip, how they are to be read, and what was noticed on the way."""

    def __init__(self, root: Path, background_name: str | Sequence[str] | None, actions: Sequence[str] | None,
                 layout: str | None, tolerance: int, fps: float | None, with_lists: bool = True) -> None:
        self.root, self.with_lists = root, with_lists
        self.mapping: Mapping = (read_mapping(root / "mapping.txt", background_name) if actions is None else
                                 known_mapping(root / "mapping.txt", background_name, actions))
        self.background = None if background_name is None else len(self.mapping.actions)
        self.layout, self.tolerance, self.fps = layout, tolerance, fps
        faults: list[str] = []
        self.features = _listing(root / "features", FEATURES, faults)
        self.annotation = _listing(root / "groundTruth", LABELS, faults) if with_lists else {}
        self.lists = _listing(root / "transcripts", LABELS, faults) if with_lists else {}
        raise_faults(root, faults)
        self.notes: list[str] = []
        self.shapes: dict[str, tuple[int, int]] = {}  # (T, d) as read
        self.ratios: dict[str, int] = {}  # labels for each frame of features

    def names(self, split):
        """Names of the clips to read, each with a file of features."""
        if split is None:
            names, where = list(self.features), self.root / "features"
            faults = [f"features/{name}.npy expected beside {short(files[name])}, found none"
                      for files in (self.annotation, self.lists) for name in files if name not in self.features]
        else:
            where = self._split_file(split)
            names = _names_of(where, self.features)
            faults = [f"features/{name}.npy expected, found none" for name in names if name not in self.features]
            faults += [f"{name!r} once expected, found {n} times" for name, n in Counter(names).items() if n > 1]
        raise_faults(where, faults)
        if not names:
            raise ValueError(f"{where}: at least one clip expected ({', '.join(FEATURES)}), found none")
        return names

    def _split_file(self, split):
        split = _as_path(split, f"{self.root}: split")
        for place in (self.root / "splits" / split, self.root / split, split):
            try:
                if place.is_file():
                    return place
            except OSError:  # a name longer than any file's
                break
        raise ValueError(f"{self.root}: the split file {str(split)[:200]!r} expected in splits, in the folder or "
                         "as a path, found none")

    def read(self, names, use):
        """What `use` makes of each clip's name, features, labels and transcript, and the faults of the others."""
        parts: list[tuple] = []
        faults: list[str] = []
        for name in tqdm(names, desc=f"reading {self.root.name}", unit="clip", leave=False, delay=2):
            try:
                parts.append(use(name, *self.clip(name)))
            except Fault as fault:
                faults.append(str(fault))
        return parts, faults

    def pooled(self, frames, window):
        """For `read`: features, labels, transcript and number of frames of a clip."""
        def use(name, X, truth, transcript):
            edges = intervals(len(X), frames)
            labels = None if truth is None else majority(truth, edges)
            means = window_means(X, windows(edges, frames, window))
            return means, labels, self.left_of(name, transcript, labels), len(X)
        return use

    def clip(self, name):
        """Features (T, d) and labels (T,) or None of one clip, frame by frame, and its transcript."""
        X = read_features(self.features[name], self.layout)
        self.shapes[name] = X.shape
        if not self.with_lists:
            return X, None, np.zeros(1, dtype=np.int64)
        if name not in self.annotation and name not in self.lists:
            raise Fault(f"groundTruth/{name}.txt or transcripts/{name}.txt expected beside "
                        f"{short(self.features[name])}, found neither")
        truth = self._labels(name, len(X)) if name in self.annotation else None
        shown = None if truth is None else self.actions(truth)
        if name not in self.lists:
            return *self._aligned(name, X, truth), shown
        transcript = read_classes(self.lists[name], self.mapping)
        transcript = transcript.classes if isinstance(transcript, Stretches) else transcript
        transcript = transcript[transcript != self.background]
        if shown is not None and not _agree(shown, transcript):
            raise Fault(f"{short(self.lists[name])}: the actions of groundTruth expected, {shown.tolist()} "
                        f"counted from 0 without background, found {transcript.tolist()}")
        return *self._aligned(name, X, truth), transcript

    def _labels(self, name, n_frames):
        """Labels as the file has them: one a frame, whatever the frames."""
        path = self.annotation[name]
        found = read_classes(path, self.mapping)
        if not isinstance(found, Stretches):
            return found
        labels = frame_classes(path, found, n_frames, self.fps, self.background)
        if not found.in_seconds and found.ends.max() < n_frames / 2:
            self.notes.append(f"{name}: annotation up to frame {found.ends.max():g} of {n_frames}; times in "
                              "seconds are those with a decimal point")
        return labels

    def _aligned(self, name, X, truth):
        """Features and labels of equally many frames."""
        if truth is None:
            return X, None
        T, n = len(X), len(truth)
        if abs(n - T) <= self.tolerance and n:
            if n != T:
                self.notes.append(f"{name}: features of {T} frames, labels of {n}; the longer one is cut")
            self.ratios[name] = 1
            return X[:n], truth[:T]
        ratio, swapped = round(n / T), abs(n - X.shape[1]) <= self.tolerance
        if ratio > 1 and not swapped and abs(n - ratio * T) <= max(ratio, self.tolerance):
            self.ratios[name] = ratio
            T = min(T, -(-n // ratio))
            return X[:T], majority(truth, np.minimum(np.arange(T + 1) * ratio, n))
        advice = (f'; layout="{self._other_layout(name)}" would fit' if swapped else
                  "; where a feature stands for many frames, the same whole number of labels for each and "
                  "frames=1, window=1 would fit" if ratio > 1 else "")
        raise Fault(f"{name}: features and labels that differ by at most {self.tolerance} frames expected, "
                    f"found {T} and {n}{advice}")

    def _other_layout(self, name):
        is_table = self.layout is None and self.features[name].suffix.lower() == ".csv"
        return "dT" if is_table or self.layout == "Td" else "Td"

    def left_of(self, name, transcript, labels):
        """The transcript, or what is left of it in the labels of the intervals."""
        left = None if labels is None else self.actions(labels)
        if left is None or _agree(left, transcript):
            return transcript
        self.notes.append(f"{name}: {len(left)} of {len(transcript)} actions are left in labels of intervals; its "
                          "transcript is cut to these")
        return left

    def actions(self, labels):
        """Action runs of labels, in order, background left out."""
        runs = label_runs(labels)
        return runs if self.background is None else runs[runs != self.background]

    def faults_of_shapes(self, d):
        """Clips with another number of features than most, or than stated."""
        usual = d or Counter(shape[1] for shape in self.shapes.values()).most_common(1)[0][0] if self.shapes else 0
        one_length = len(self.shapes) > 1 and len({T for T, _ in self.shapes.values()}) == 1
        return [f"{short(self.features[name])}: {usual} features expected{'' if d else ' as in most clips'}, found "
                f"{width}" + (f'; layout="{self._other_layout(name)}" would fit' if one_length or T == d else "")
                for name, (T, width) in self.shapes.items() if width != usual]

    def faults_of_ratios(self):
        """Clips with another number of labels for each frame of features than most."""
        if not self.ratios:
            return []
        usual = Counter(self.ratios.values()).most_common(1)[0][0]
        return [f"{name}: {usual} labels for each frame of features expected as in most clips, found {ratio}; for "
                "features that stand for many frames of video frames=1, window=1 would fit"
                for name, ratio in self.ratios.items() if ratio != usual]

    def all_notes(self, d):
        """What was noticed, and what is not certain about the set as a whole."""
        notes = list(self.notes)
        ratio = max(self.ratios.values(), default=1)
        if ratio > 1:
            notes.append(f"{ratio} labels for each frame of features: each frame takes its most frequent one, and "
                         "frames=1, window=1 would keep every frame as an interval")
        (name, (T, width)), *_ = self.shapes.items()
        told_apart = self.ratios and abs(T - width) > self.tolerance
        tables = all(path.suffix.lower() == ".csv" for path in self.features.values())
        if not (self.layout or d or told_apart or tables or len(set(self.shapes.values())) > 1):
            notes.append(f"features of {T} frames with {width} features each are what the layout (d, T) makes of "
                         f"{short(self.features[name])}, and no other file tells whether this is right; "
                         'layout="dT" or layout="Td" says so')
        return notes


def _listing(folder, suffixes, faults):
    """Path of every clip in a folder, by name; what begins with a dot is a system's own."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name.startswith(".") or path.suffix.lower() not in suffixes:
            continue
        name = normal(path.stem)
        if not name.isascii() and path.name != os.fsencode(path.name).decode(errors="replace"):
            faults.append(f"{folder.name}: names of files in UTF-8 expected, found {path.name!a}")
        if name in found:
            faults.append(f"{short(path)}: one file for each clip expected, found {found[name].name} too")
        found[name] = path
    return dict(sorted(found.items()))


def _names_of(path, known):
    """Clips of a split file: lines with or without folder and suffix; a line that begins with # is a comment."""
    try:
        lines = text_lines(path)
    except Fault as fault:
        raise ValueError(f"{path}: {fault}") from None
    names = [line.replace("\\", "/").split("/")[-1] for line in lines if line and (line[0] != "#" or line in known)]
    return [next((name.removesuffix(suffix) for suffix in (*LABELS, *FEATURES) if name.endswith(suffix)), name)
            for name in names]


def _agree(runs, transcript):
    """Whether labels with these action runs show a transcript (equal neighbours may look like one run)."""
    (values, counts), (expected, most) = compress(runs), compress(transcript)
    return np.array_equal(values, expected) and np.all(counts <= most)
