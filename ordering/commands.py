"""From a folder of recordings to files of segments: ``python -m ordering label``, ``predict`` and ``demo``."""

from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from ordering import baselines, metrics
from ordering._check import number, one_of, positive_integer
from ordering._files import free_folder, whole_folder
from ordering.clips import BACKGROUNDS, Clips
from ordering.datasets import frames_that_fit, load_mocap6, load_segmentation_folder, segments, write_segments
from ordering.labeling import OrderedActionLabeling
from ordering.timelines import MOST_FIRST, counted, write_timelines

FORMATS = ("csv", "vtt", "elan", "audacity", "textgrid", "boris")
SETTINGS: dict[str, Callable[[], Any]] = {
    "recommended": lambda: OrderedActionLabeling.recommended(), "2014": OrderedActionLabeling}
LOOKS_LIKE_BACKGROUND = {"background", "bg", "sil", "silence", "idle", "none", "null", "rest", "resting", "nothing",
                         "other", "pause", "noaction", "noactivity", "unlabeled", "unlabelled", "na"}
COLUMNS = ("clip", "action", "start", "end", "start_seconds", "end_seconds", "confidence")
IN_OPTIONS = {"frames=1, window=1": "--frames-per-interval 1", 'layout="dT"': "--layout dT",
              'layout="Td"': "--layout Td", "background_name: ": "--background: ", "fps expected": "--fps expected",
              "OrderedActionLabeling.recommended()": "--setting recommended"}
KEPT = ("setting", "action_names", "background", "background_name", "frames_per_interval", "fps", "layout")

DESCRIPTION = """\
Who does what when, from the ordered list of actions of each recording.

FOLDER holds features/NAME.npy (or .npz, .csv: one row a frame), for each recording the list of its actions in
transcripts/NAME.txt (a name a line) or its annotation in groundTruth/NAME.txt, and mapping.txt (a number and a
name a line). Annotation of all recordings gives their lists and is else only compared with the result; annotation
of some, beside lists of all, is kept and learnt from."""
OUTPUTS = """\
OUT gets segments.csv, timelines.html (open it in a browser) and, from label, model.npz (for predict); with --fps
also the folders vtt, elan, audacity and textgrid with a file for each recording, and boris.tsv.

start and end in segments.csv count intervals of --frames-per-interval frames from the start of the recording:
interval i begins with frame i times that number. start_seconds and end_seconds are there with --fps. confidence is
the model's mean probability of the action over the segment.

OUT must be new, empty, or hold only what an earlier run made and nobody changed (.ordering.sha256 tells); it
appears whole or not at all. Exit status: 0, 2 after a fault (all in one message, nothing written), 130 after
Ctrl-C."""


class Result(NamedTuple):
    """What is written: labels of clips, how sure they are, and what an interval is."""

    clips: Clips
    labels: np.ndarray
    posterior: np.ndarray
    n_frames: np.ndarray
    frames: int
    fps: float | None
    first: list[int] | None  # clips to check first
    name: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments, by default those of the process.

    Returns
    -------
    int
        Exit status: 0, 2 after a fault, 130 after Ctrl-C.
    """
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            arguments.run(arguments)
    except KeyboardInterrupt:
        _say("interrupted, nothing was written")
        return 130
    except (ValueError, OSError, MemoryError) as error:
        _say(f"ordering {arguments.command}: {_in_options(str(error)) or type(error).__name__}")
        return 2
    for note in notes:
        _say(f"note: {_in_options(str(note.message))}")
    return 0


def _say(text):
    print(text, file=sys.stderr)


def _in_options(text):
    for argument, option in IN_OPTIONS.items():
        text = text.replace(argument, option)
    return text


def _parser():
    parser = argparse.ArgumentParser(prog="python -m ordering", description=DESCRIPTION, epilog=OUTPUTS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name, run, text, description):
        command = commands.add_parser(name, help=text, description=f"{text}.\n\n{description}", epilog=OUTPUTS,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        command.set_defaults(run=run)
        return command

    label = add("label", _label, "label recordings from their lists, and learn a model", DESCRIPTION)
    label.add_argument("folder", metavar="FOLDER")
    label.add_argument("--background", metavar="NAME", action="append",
                       help="the name in mapping.txt that means that nothing of interest happens; lists may leave "
                       "it out (may be given more than once)")
    label.add_argument("--frames-per-interval", metavar="N", help="frames that are averaged to one interval "
                       "(default: at most 10, and at most a twentieth of the usual length of an action)")
    label.add_argument("--setting", default="recommended", help="recommended (default) or 2014, that of the paper")
    predict = add("predict", _predict, "label new recordings with a model", "FOLDER holds features as for "
                  "label, and may hold lists. Without transcripts and\ngroundTruth no list is needed.")
    predict.add_argument("folder", metavar="FOLDER")
    predict.add_argument("--model", required=True, metavar="FILE", help="model.npz of label")
    demo = add("demo", _demo, "label the motion capture that comes with this package, and compare with the truth",
               "Without --out nothing is written.")
    demo.add_argument("--setting", default="recommended", help="as of label")
    for command in (label, predict):
        command.add_argument("--fps", metavar="F", help="frames of the features a second; without it times are in "
                             "intervals only" + ("" if command is label else " (default: that of the model)"))
        command.add_argument("--layout", metavar="dT|Td", help="shape of a feature file: a column a frame (dT, "
                             "default; not of .csv), or a row a frame (Td)")
    for command in (label, predict, demo):
        command.add_argument("--out", metavar="OUT", required=command is not demo, help="folder for the results")
        command.add_argument("--formats", metavar="LIST", help=f"some of {','.join(FORMATS)} (default: all, "
                             "without --fps csv; segments.csv is always written)")
        command.add_argument("--bom", action="store_true", help="begin segments.csv with a byte order mark, by "
                             "which Excel recognises umlauts")
    return parser


# ------------------------------------------------------------------------------------------------------- commands
def _label(arguments):
    faults = _Faults()
    setting = faults.of(one_of, "--setting", arguments.setting, SETTINGS)
    frames = faults.of(_number, "--frames-per-interval", arguments.frames_per_interval, int)
    fps, formats, out = _common(arguments, faults)
    how = {"background_name": arguments.background, "layout": arguments.layout, "fps": fps}
    read = faults.of(_read, arguments.folder, frames, how, background="optional")
    faults.raise_all()
    clips, n_frames, frames = read
    if not arguments.background:
        _tell_background(clips.action_names)
    model, known = SETTINGS[setting](), _known(clips)
    _fit(model, clips, known)
    result = _result(model, clips, n_frames, frames, fps, _folder_name(arguments.folder))
    extra = dict(zip(KEPT, (setting, clips.action_names, clips.background, arguments.background, frames, fps,
                            arguments.layout), strict=True))
    _write(out, result, formats, arguments.bom, model, extra)
    if clips.labels is not None and known is None:
        _compare(clips, result.labels)


def _predict(arguments):
    faults = _Faults()
    model = faults.of(_model, arguments.model)
    fps, formats, out = _common(arguments, faults, model.extra_["fps"] if model else None)
    if out and Path(arguments.model).resolve().is_relative_to(out):
        faults.append(f"--out: another folder than that of the model expected, found {arguments.out}")
    read: Any = faults.of(_read_new, arguments, model, fps) if model else None
    faults.raise_all()
    clips, n_frames, frames, lists = read
    learnt_at = model.extra_["fps"]
    if fps and learnt_at and fps != learnt_at:
        _say(f"note: the model was learnt at {learnt_at:g} frames a second, these recordings have {fps:g}; an "
             "interval then lasts another time, and the features may not fit")
    labels = model.predict(clips) if lists else model.predict(clips, lists=False)
    result = Result(clips, labels, _posterior_of_new(model, clips, lists), n_frames, frames, fps, None,
                    _folder_name(arguments.folder))
    _write(out, result, formats, arguments.bom)
    if clips.labels is not None and clips.labels.min() >= 0:
        _compare(clips, labels)


def _demo(arguments):
    faults = _Faults()
    setting = faults.of(one_of, "--setting", arguments.setting, SETTINGS)
    out = faults.of(free_folder, arguments.out) if arguments.out else None
    formats = faults.of(_formats, arguments.formats, 10.0)
    faults.raise_all()
    clips, model = load_mocap6(), SETTINGS[setting]()
    _fit(model, clips)
    result = _result(model, clips, clips.lengths * 5, 5, 10.0, "the motion capture that comes with this package")
    if out is None:
        print("Nothing is written; --out FOLDER gets the segments and their time lines.")
    else:
        extra = dict(zip(KEPT, (setting, clips.action_names, None, None, 5, 10.0, None), strict=True))
        _write(out, result, formats, arguments.bom, model, extra)
    _compare(clips, result.labels)


# ------------------------------------------------------------------------------------------------------- arguments
class _Faults(list):
    """What is wrong with a call, all of it before anything is done."""

    def of(self, do: Callable, *arguments: Any, **options: Any) -> Any:
        """What `do` gives, or None where it finds a fault."""
        try:
            return do(*arguments, **options)
        except (ValueError, OSError) as error:
            self.append(str(error))
            return None

    def raise_all(self):
        if len(self) == 1:
            raise ValueError(self[0])
        if self:
            lines = ["- " + fault.replace("\n", "\n  ") for fault in self]
            raise ValueError("\n".join([f"{len(self)} faults:", *lines]))


def _common(arguments, faults, fps=None):
    """Frames a second, formats and folder that are asked for."""
    given = faults.of(_number, "--fps", arguments.fps, float)
    fps = fps if given is None else given
    unclear = fps is None and arguments.fps is not None  # a fault of its own, not that of the formats
    formats = faults.of(_formats, arguments.formats, 1.0 if unclear else fps)
    if arguments.layout not in ("dT", "Td", None):
        faults.append(f"--layout: dT or Td expected, found {arguments.layout!r}")
        arguments.layout = None
    return fps, formats, faults.of(free_folder, arguments.out)


def _number(name, text, kind):
    if text is None:
        return None
    try:
        value = kind(text)
    except ValueError:
        value = text
    return positive_integer(name, value) if kind is int else number(name, value, above=0)


def _formats(text, fps):
    if text is None:
        return FORMATS if fps else ("csv",)
    formats = [part.strip().lower() for part in text.split(",") if part.strip()]
    for name in formats:
        one_of("--formats", name, FORMATS)
    timed = [name for name in formats if name != "csv"]
    if timed and not fps:
        raise ValueError(f"--fps: frames a second expected for {', '.join(timed)}, which hold seconds, found none")
    return tuple(formats)


def _read(folder, frames, how, **more):
    """Clips, their numbers of frames, and the frames of an interval."""
    if not Path(folder).is_dir():
        raise ValueError(f"{folder}: a folder expected, found {'a file' if Path(folder).exists() else 'none'}")
    frames = frames or frames_that_fit(folder, **how)
    how = how | more | {"frames": frames, "window": frames}
    clips, n_frames = load_segmentation_folder(folder, return_frames=True, **how)
    return clips, n_frames, frames


def _model(path):
    model = OrderedActionLabeling.load(path)
    if not set(KEPT) <= set(model.extra_):
        raise ValueError(f"{path}: a model of `python -m ordering label` expected, found {sorted(model.extra_)} of "
                         f"{sorted(KEPT)}")
    kept = model.extra_
    try:
        positive_integer("frames_per_interval", kept["frames_per_interval"])
        one_of("background", kept["background"], BACKGROUNDS)
        if kept["fps"] is not None:
            number("fps", kept["fps"], above=0)
        names, C = kept["action_names"], len(model.coef_) - (kept["background"] is not None)
        if not isinstance(names, list) or len(names) != C or not all(isinstance(name, str) for name in names):
            raise ValueError(f"action_names: {C} names expected, found {names!r}")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return model


def _read_new(arguments, model, fps):
    """As `_read`, with the classes of a model, and whether there are lists."""
    extra, folder = model.extra_, Path(arguments.folder)
    lists = any(path.suffix.lower() in (".txt", ".csv", ".npy") and not path.name.startswith(".")
                for name in ("transcripts", "groundTruth") for path in (folder / name).glob("*"))
    if folder.is_dir() and not lists and "lists" not in inspect.signature(model.predict).parameters:
        raise ValueError(f"{folder}: lists in transcripts expected, since a model of setting {extra['setting']} "
                         "cannot do without, found none")
    how = {"background_name": extra["background_name"], "layout": arguments.layout or extra["layout"], "fps": fps}
    return *_read(folder, extra["frames_per_interval"], how, background=extra["background"], lists=lists,
                  action_names=extra["action_names"], d=model.n_features_in_), lists


def _tell_background(names):
    found = [name for name in names if "".join(filter(str.isalpha, name.lower())) in LOOKS_LIKE_BACKGROUND]
    for name in found:
        _say(f"note: {name!r} in mapping.txt looks like background, and counts as an action like the others; "
             f"--background '{name}' would say that it is background")


def _folder_name(folder):
    return Path(folder).resolve().name


# ---------------------------------------------------------------------------------------------------------- model
def _known(clips):
    """Labels to keep where some clips have them; None where all or none have."""
    labelled = None if clips.labels is None else np.add.reduceat(clips.labels >= 0, clips.offsets[:-1]) > 0
    if labelled is None or labelled.all():
        return None
    _say(f"note: labels of {labelled.sum()} of {len(clips)} recordings in groundTruth are kept, and learnt from")
    return clips.labels


def _fit(model, clips, known=None):
    """Fit with a bar of progress."""
    with tqdm(desc="labelling", unit=" passes", disable=None, leave=False) as bar:
        def tell(_):
            bar.update()
        model.fit(clips, known, callback=tell)


def _result(model, clips, n_frames, frames, fps, name):
    posterior = model.posterior_ if hasattr(model, "posterior_") else model.Z_
    first = list(model.suggest(min(MOST_FIRST, len(clips)))) if hasattr(model, "suggest") else None
    return Result(clips, model.labels_, posterior, n_frames, frames, fps, first, name)


def _posterior_of_new(model, clips, lists):
    """The model's own posterior of clips it was not fitted on, or shares of its scores."""
    if hasattr(model, "posterior"):
        return model.posterior(clips, lists=lists)
    scores = np.maximum(model.decision_function(clips.features), 1e-9)
    return scores / scores.sum(axis=1, keepdims=True)


def _compare(clips, labels):
    """Print how labels agree with the true ones, beside the even split."""
    for name, found in (("this model", labels), ("even split", baselines.uniform(clips))):
        scores = metrics.interval_scores(clips.labels, found, clips.lengths, clips.background_class,
                                         normalize="union")
        print(f"mean IoU with the true segments, {name}: {scores.mean:.3f}")


# ---------------------------------------------------------------------------------------------------------- files
def _write(out, result, formats, bom, model=None, extra=None):
    clips, names = result.clips, result.clips.clip_names
    seconds, durations = None, None
    if result.fps:
        seconds = result.frames / result.fps
        durations = dict(zip(names, (result.n_frames / result.fps).tolist(), strict=True))
    rows = segments(result.labels, clips, seconds, result.posterior, durations)
    note = f"An interval is {result.frames} frame{'s' * (result.frames > 1)}"
    note += f", {round(seconds, 6):g} seconds." if seconds else "."
    with whole_folder(out) as draft:
        write_segments(draft / "segments.csv", rows, columns=[name for name in COLUMNS if name in rows.columns],
                       bom=bom)
        for name in set(formats) - {"csv", "boris"}:
            (draft / name).mkdir()
            write_segments(draft / name, rows, name, durations=durations)
        if "boris" in formats:
            write_segments(draft / "boris.tsv", rows, "boris")
        write_timelines(draft / "timelines.html", rows, durations or dict(zip(names, clips.lengths, strict=True)),
                        unit="seconds" if seconds else "intervals", title=f"Time lines of {result.name}", note=note,
                        first=result.first and [names[i] for i in result.first], actions=clips.action_names)
        if model is not None:
            model.save(draft / "model.npz", extra)
    print(f"{counted(len(clips), len(rows))}: {out / 'segments.csv'}; to look at: "
          f"{out / 'timelines.html'}\n{note}")
