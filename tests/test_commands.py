"""``python -m ordering``: a folder in, files of segments out, whole or not at all, one message of all faults."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from ordering import OrderedActionLabeling, commands, datasets
from ordering.commands import main
from tests.killing import stopped_by_ctrl_c

pytestmark = pytest.mark.filterwarnings("ignore:OrderedActionLabeling. the labels have collapsed")
SETTINGS = ["2014", "recommended"]
ACTIONS = ["idle", "gießen", "stir well", "<b>drink</b>"]
FOLDERS = {"vtt": "vtt", "elan": "txt", "audacity": "txt", "textgrid": "TextGrid"}
NAMES = ["a", "b c", "größe", "d.1"]


def make_folder(root, names=NAMES, lists="transcripts", background=False, seed=0, run=30, numbers=(7, 1, 2, 5)):
    """Recordings of 4 to 6 runs at distinct means; lists of actions, with the background or without, or labels."""
    rng = np.random.default_rng(seed)
    means = 4 * np.random.default_rng(1).standard_normal((4, 6))
    for name in ["features", *([lists] if lists else [])]:
        (root / name).mkdir(parents=True, exist_ok=True)
    lines = [f"{number} {name}" for number, name in zip(numbers, ACTIONS, strict=True)]
    (root / "mapping.txt").write_text("\n".join(lines), encoding="utf-8")
    for name in names:
        order = [0, *rng.permutation([1, 2, 3]).tolist()[:rng.integers(2, 4)], 0]
        truth = np.repeat(order, rng.integers(run // 2, run, len(order)))
        np.save(root / "features" / f"{name}.npy", (means[truth] + rng.standard_normal((len(truth), 6))).T)
        listed = truth if lists == "groundTruth" else [a for a in order if a or background]
        if lists:
            (root / lists / f"{name}.txt").write_text("\n".join(ACTIONS[a] for a in listed), encoding="utf-8")
    return root


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "my recordings")


def label(folder, out, *more, setting="2014"):
    return main(["label", str(folder), "--out", str(out), "--setting", setting, *map(str, more)])


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def files(folder):
    return set(tree(folder)) - {".ordering.sha256"}


def times(rows):
    return [(row["clip"], row["action"], row["start_seconds"], row["end_seconds"]) for row in rows]


# ------------------------------------------------------------------------------------------------------- label
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("lists", ["transcripts", "groundTruth"])
def test_every_format_reads_back_to_the_same_segments(tmp_path, capsys, lists, setting):
    root, out = make_folder(tmp_path / "in", lists=lists), tmp_path / "out"
    assert label(root, out, "--background", "idle", "--fps", "12.5", setting=setting) == 0
    made = {f"{kind}/{name}.{suffix}" for kind, suffix in FOLDERS.items() for name in NAMES}
    assert files(out) == made | {"segments.csv", "boris.tsv", "timelines.html", "model.npz"}
    rows = datasets.read_segments(out / "segments.csv")
    assert rows.columns == commands.COLUMNS and len(rows) >= 2 * len(NAMES)
    assert {row["action"] for row in rows} <= set(ACTIONS[1:])
    assert all(0 <= row["confidence"] <= 1 for row in rows)
    assert times(datasets.read_segments(out / "boris.tsv")) == times(rows)
    for kind, suffix in FOLDERS.items():
        found = [row for name in NAMES for row in datasets.read_segments(out / kind / f"{name}.{suffix}", kind)]
        same = [(*entry[:2], *(pytest.approx(time, abs=6e-4) for time in entry[2:]))
                for name in NAMES for entry in times(rows) if entry[0] == name]
        assert times(found) == same
    shown = capsys.readouterr()
    assert str(out / "segments.csv") in shown.out
    assert ("mean IoU with the true segments" in shown.out) == (lists == "groundTruth")
    assert "looks like background" not in shown.err


def test_times_are_those_of_the_recording(folder, tmp_path):
    """The unit is the interval, and the last end is the recording's."""
    assert label(folder, tmp_path / "out", "--frames-per-interval", "4", "--fps", "8") == 0
    n_frames = {name: np.load(folder / "features" / f"{name}.npy").shape[1] for name in NAMES}
    rows = datasets.read_segments(tmp_path / "out" / "segments.csv")
    for row, after in zip(rows, [*rows[1:], {"clip": None}], strict=True):
        assert row["start_seconds"] == row["start"] * 4 / 8
        last = after["clip"] != row["clip"]
        assert row["end_seconds"] == (n_frames[row["clip"]] / 8 if last else row["end"] * 4 / 8)
    assert "An interval is 4 frames, 0.5 seconds." in (tmp_path / "out" / "timelines.html").read_text("utf-8")


def test_without_a_frame_rate_there_are_intervals_only(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert label(folder, out) == 0
    assert files(out) == {"segments.csv", "timelines.html", "model.npz"}
    columns = datasets.read_segments(out / "segments.csv").columns
    assert columns == ("clip", "action", "start", "end", "confidence")
    assert "Times are in intervals" in (out / "timelines.html").read_text("utf-8")
    assert label(folder, tmp_path / "other", "--formats", "csv,vtt") == 2
    assert "--fps: frames a second expected for vtt" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_formats_and_byte_order_mark(folder, tmp_path):
    out = tmp_path / "out"
    assert label(folder, out, "--fps", "10", "--formats", "VTT, boris", "--bom") == 0
    assert {Path(name).parts[0] for name in files(out)} == {"segments.csv", "boris.tsv", "vtt", "timelines.html",
                                                            "model.npz"}
    assert (out / "segments.csv").read_bytes().startswith(b"\xef\xbb\xbfclip,")


@pytest.mark.parametrize("named", [True, False])
def test_background_is_optional_and_never_guessed(tmp_path, capsys, named):
    root = make_folder(tmp_path / "in", background=named)
    assert label(root, tmp_path / "told", "--background", "idle", "--frames-per-interval", "1") == 0
    assert "idle" not in capsys.readouterr().err
    model = OrderedActionLabeling.load(tmp_path / "told" / "model.npz")
    assert model.extra_["background"] == "optional" and model.extra_["action_names"] == [*ACTIONS[1:]]
    assert label(root, tmp_path / "untold", "--frames-per-interval", "1") == 0
    note = capsys.readouterr().err
    assert "'idle' in mapping.txt looks like background" in note and "--background 'idle'" in note
    model = OrderedActionLabeling.load(tmp_path / "untold" / "model.npz")
    assert model.extra_["background"] is None and set(model.extra_["action_names"]) == set(ACTIONS)


@pytest.mark.parametrize("name", ["Background", "SIL", "none", "REST", "no_action", "idle"])
def test_what_looks_like_background(name, capsys):
    commands._tell_background(["restore", "pour", name])
    assert capsys.readouterr().err.count("looks like background") == 1


def test_labels_of_some_recordings_are_kept_and_of_all_are_not_read(tmp_path, capsys):
    root = make_folder(tmp_path / "in", background=True)
    other = make_folder(tmp_path / "labelled", lists="groundTruth")
    (root / "groundTruth").mkdir()
    for name in NAMES[:2]:
        (root / "groundTruth" / f"{name}.txt").write_bytes((other / "groundTruth" / f"{name}.txt").read_bytes())
    more = ["--background", "idle", "--frames-per-interval", "1"]
    assert label(root, tmp_path / "some", *more) == 0
    assert "labels of 2 of 4 recordings in groundTruth are kept" in capsys.readouterr().err
    truth = datasets.load_segmentation_folder(other, background_name="idle", frames=1, window=1)
    rows = datasets.read_segments(tmp_path / "some" / "segments.csv")
    expected = datasets.segments(truth.labels, truth)
    kept = [row for row in rows if row["clip"] in NAMES[:2]]
    assert [row["end"] for row in kept] == [row["end"] for row in expected if row["clip"] in NAMES[:2]]
    assert label(other, tmp_path / "labels", *more) == 0
    for name in NAMES[:2]:
        (root / "groundTruth" / f"{name}.txt").unlink()
    assert label(root, tmp_path / "lists", *more) == 0
    one, two = (tree(tmp_path / name)["segments.csv"] for name in ("lists", "labels"))
    assert one == two


def test_one_recording_layouts_and_names_of_other_systems(tmp_path, capsys):
    root = make_folder(tmp_path / "in", names=["größe"])
    path = root / "features" / "größe.npy"
    np.save(root / "features" / (unicodedata.normalize("NFD", "größe") + ".npy"), np.load(path).T)
    path.unlink()
    assert label(root, tmp_path / "out", "--fps", "10", "--background", "idle", "--layout", "Td") == 0
    assert "layout" not in capsys.readouterr().err
    assert (tmp_path / "out" / "vtt" / "größe.vtt").read_text("utf-8").startswith("WEBVTT")
    assert "&lt;b&gt;drink" in (tmp_path / "out" / "vtt" / "größe.vtt").read_text("utf-8")
    assert label(root, tmp_path / "wrong", "--background", "idle") in (0, 2)
    assert "--layout Td" in capsys.readouterr().err


def test_two_runs_agree_to_the_bit(folder, tmp_path):
    for name in ("one", "two"):
        assert label(folder, tmp_path / name, "--fps", "10", "--background", "idle") == 0
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


# ------------------------------------------------------------------------------------------------------- faults
def test_all_faults_in_one_message_and_nothing_written(folder, tmp_path, capsys):
    np.save(folder / "features" / "a.npy", np.full((6, 100), np.nan))
    (folder / "transcripts" / "b c.txt").write_text("fly\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    before = tree(tmp_path)
    assert label(folder, tmp_path / "out", "--fps", "ten", "--formats", "csv,avi", setting="2015") == 2
    shown = capsys.readouterr()
    for word in ("--setting", "'2015'", "--fps: a finite number > 0 expected, found 'ten'", "'avi'", "mine.txt",
                 "features/a.npy: finite features expected", "transcripts/b c.txt, line 1", "5 faults"):
        assert word in shown.err, word
    assert shown.out == "" and shown.err.count("ordering label:") == 1 and "Traceback" not in shown.err
    assert tree(tmp_path) == before


@pytest.mark.parametrize("change, more, found", [
    (lambda root: None, ["--background", "pause"], "--background: a name of the file expected"),
    (lambda root: None, ["--frames-per-interval", "0"], "--frames-per-interval: a positive integer expected"),
    (lambda root: None, ["--frames-per-interval", "60"], "--frames-per-interval 1 would keep every frame"),
    (lambda root: None, ["--layout", "xy"], "--layout: dT or Td expected, found 'xy'"),
    (lambda root: (root / "mapping.txt").unlink(), [], "mapping.txt: a regular file expected, found none"),
    (lambda root: (root / "transcripts" / "a.txt").unlink(), [], "transcripts/a.txt expected"),
    (lambda root: (root / "transcripts" / "a.txt").write_text("0.0 2.5 gießen\n2.5 9 idle", "utf-8") and
     (root / "transcripts").rename(root / "groundTruth"), [], "--fps expected, frames a second"),
])  # fmt: skip
def test_faults_in_words_of_the_command(folder, tmp_path, capsys, change, more, found):
    change(folder)
    assert label(folder, tmp_path / "out", *more) == 2
    assert found in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_no_folder(tmp_path, capsys, name):
    (tmp_path / "file").touch()
    assert label(tmp_path / name, tmp_path / "out") == 2
    assert "a folder expected" in capsys.readouterr().err and os.listdir(tmp_path) == ["file"]


# ------------------------------------------------------------------------------------------------------- where to
def test_a_second_run_takes_the_place_of_the_first(folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    number = out.stat().st_ino
    assert label(folder, out, "--fps", "10") == 0
    (out / ".DS_Store").touch()
    (out / "empty").mkdir()
    assert label(folder, out, "--background", "idle") == 0
    assert files(out) == {"segments.csv", "timelines.html", "model.npz"}
    assert out.stat().st_ino == number and sorted(os.listdir(tmp_path)) == ["my recordings", "out"]
    assert b"idle" not in (out / "segments.csv").read_bytes()


@pytest.mark.parametrize("spoil", [
    lambda out: (out / "notes.txt").touch(), lambda out: (out / "vtt" / "own.vtt").touch(),
    lambda out: (out / "segments.csv").write_text("corrected by hand"),
    lambda out: (out / "link").symlink_to("nowhere"), lambda out: (out / ".ordering.sha256").write_text("x"),
])  # fmt: skip
def test_files_of_the_user_stay(folder, tmp_path, capsys, spoil):
    out = tmp_path / "out"
    assert label(folder, out, "--fps", "10") == 0
    spoil(out)
    before = tree(out)
    assert label(folder, out, "--fps", "10") == 2
    assert "nothing but what an earlier run made" in capsys.readouterr().err and tree(out) == before


def test_a_file_put_there_meanwhile_stays(folder, tmp_path, monkeypatch, capsys):
    out, fit = tmp_path / "out", commands._fit
    assert label(folder, out) == 0
    monkeypatch.setattr(commands, "_fit", lambda *a: (fit(*a), (out / "mine.txt").write_text("mine")))
    before = tree(out)
    assert label(folder, out) == 2
    assert "mine.txt" in capsys.readouterr().err and tree(out) == before | {"mine.txt": b"mine"}


def test_the_folder_of_recordings_and_a_file_are_refused(folder, tmp_path, capsys):
    before = tree(folder)
    (tmp_path / "file").write_text("mine")
    for out in (folder, folder / "features", tmp_path / "file", tmp_path / "file" / "below"):
        assert label(folder, out) == 2
    assert tree(folder) == before and (tmp_path / "file").read_text() == "mine"
    assert capsys.readouterr().err.count("expected, found") == 4


def test_a_folder_that_may_not_be_written(folder, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    asked, access = [], os.access
    monkeypatch.setattr(os, "access", lambda path, mode: access(path, mode) and asked.append(path) and False)
    assert label(folder, out) == 2
    assert f"{out} may not" in capsys.readouterr().err and os.listdir(out) == [] and asked == [out]


def test_new_folders_on_the_way_and_links(folder, tmp_path):
    assert label(folder, tmp_path / "x" / "y" / "out") == 0
    assert "segments.csv" in files(tmp_path / "x" / "y" / "out")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert label(folder, tmp_path / "link") == 0
    assert (tmp_path / "link").is_symlink() and "segments.csv" in files(tmp_path / "real")


# ------------------------------------------------------------------------------------------------------- cut short
def raises(error):
    def write(*_, **__):
        raise error
    return write


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("place", ["fit", "write_segments", "write_timelines", "save"])
@pytest.mark.parametrize("error, status", [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space left"), 2),
                                           (MemoryError(), 2)])
def test_cut_short(folder, tmp_path, monkeypatch, capsys, there, place, error, status):
    out = tmp_path / "new" / "out"
    if there:
        assert label(folder, out, "--fps", "10") == 0
    before = tree(tmp_path)
    where = OrderedActionLabeling if place in ("fit", "save") else commands
    monkeypatch.setattr(where, place, raises(error))
    assert label(folder, out, "--fps", "10") == status
    shown = capsys.readouterr().err
    assert tree(tmp_path) == before and (tmp_path / "new").exists() == there
    assert ("nothing was written" if status == 130 else "No space left" if error.args else "MemoryError") in shown


def test_cut_short_while_files_change_places(folder, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert label(folder, out, "--fps", "10") == 0
    before, rename = tree(tmp_path), os.rename
    for n in range(14):
        calls = []

        def sometimes(source, target, calls=calls, n=n):
            calls.append(source)
            if len(calls) == n + 1:
                raise KeyboardInterrupt
            rename(source, target)
        monkeypatch.setattr(os, "rename", sometimes)
        assert label(folder, out, "--fps", "10", "--background", "idle") == 130
        monkeypatch.setattr(os, "rename", rename)
        assert tree(tmp_path) == before


def test_a_full_disk(folder, tmp_path, capsys):
    """The system itself refuses to write on."""
    before = tree(tmp_path)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limit[1]))
    try:
        status = label(folder, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert status == 2 and "File too large" in capsys.readouterr().err and tree(tmp_path) == before


# ------------------------------------------------------------------------------------------------------- predict
@pytest.fixture
def model(folder, tmp_path):
    assert label(folder, tmp_path / "learnt", "--background", "idle", "--fps", "10") == 0
    return tmp_path / "learnt" / "model.npz"


def predict(folder, model, out, *more):
    return main(["predict", str(folder), "--model", str(model), "--out", str(out), *map(str, more)])


def test_new_recordings_with_lists(model, tmp_path, capsys):
    """Classes are told by name, whatever the numbers of their mapping, or without one."""
    new = make_folder(tmp_path / "new", ["e", "f g"], lists="groundTruth", seed=3, numbers=(0, 9, 4, 3))
    assert predict(new, model, tmp_path / "one") == 0
    assert "mean IoU with the true segments" in capsys.readouterr().out
    rows = datasets.read_segments(tmp_path / "one" / "segments.csv")
    truth = datasets.load_segmentation_folder(new, background_name="idle", frames=1, window=1)
    assert [row["action"] for row in rows] == [row["action"] for row in datasets.segments(truth.labels, truth)]
    assert all(0 <= row["confidence"] <= 1 for row in rows)
    assert {"vtt/f g.vtt", "boris.tsv", "timelines.html"} <= files(tmp_path / "one")
    assert "model.npz" not in files(tmp_path / "one")
    (new / "mapping.txt").unlink()
    assert predict(new, model, tmp_path / "two") == 0
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_new_recordings_without_lists(model, tmp_path, capsys, monkeypatch):
    new = make_folder(tmp_path / "new", ["e"], lists=None, seed=3)
    (new / "mapping.txt").unlink()
    assert predict(new, model, tmp_path / "out") == 2
    assert "lists in transcripts expected" in capsys.readouterr().err
    monkeypatch.setattr(OrderedActionLabeling, "predict",
                        lambda self, clips, lists=True: np.full(clips.n_intervals, 3 if lists else 1))
    assert predict(new, model, tmp_path / "out") == 0
    (row,) = datasets.read_segments(tmp_path / "out" / "segments.csv")
    assert (row["clip"], row["action"], row["start_seconds"]) == ("e", "stir well", 0)


@pytest.mark.parametrize("background", [["--background", "idle"], []])
def test_the_recommended_setting_needs_no_list(tmp_path, background):
    root = make_folder(tmp_path / "in", NAMES, background=True)
    new = make_folder(tmp_path / "new", ["e", "f"], lists=None, seed=3)
    assert label(root, tmp_path / "learnt", "--fps", "10", *background, setting="recommended") == 0
    assert predict(new, tmp_path / "learnt" / "model.npz", tmp_path / "out") == 0
    rows = datasets.read_segments(tmp_path / "out" / "segments.csv")
    assert {row["clip"] for row in rows} == {"e", "f"} and all(0 <= row["confidence"] <= 1 for row in rows)


def test_faults_of_new_recordings(model, tmp_path, capsys):
    new = make_folder(tmp_path / "new", ["e", "f"], seed=3)
    np.save(new / "features" / "e.npy", np.zeros((5, 90)))
    (new / "transcripts" / "f.txt").write_text("fly\n")
    before = tree(tmp_path)
    assert predict(new, model, model.parent) == 2
    shown = capsys.readouterr().err
    for word in ("features/e.npy: 6 features expected, found 5", "transcripts/f.txt, line 1", "'fly'",
                 "--out: another folder than that of the model expected"):
        assert word in shown
    for damaged in (b"", model.read_bytes()[:900], b"PK\x03\x04"):
        (tmp_path / "bad.npz").write_bytes(damaged)
        assert predict(new, tmp_path / "bad.npz", tmp_path / "out") == 2
        assert f"{tmp_path / 'bad.npz'}: a file of" in capsys.readouterr().err
    (tmp_path / "bad.npz").unlink()
    assert predict(new, tmp_path / "bad.npz", tmp_path / "out", "--fps", "no") == 2
    shown = capsys.readouterr().err
    assert "No such file" in shown and "--fps" in shown and tree(tmp_path) == before


def test_a_model_that_the_command_did_not_write(small, tmp_path, capsys):
    OrderedActionLabeling(n_iter=2).fit(small).save(tmp_path / "m.npz")
    new = make_folder(tmp_path / "new", ["e"])
    assert predict(new, tmp_path / "m.npz", tmp_path / "out") == 2
    assert "a model of `python -m ordering label` expected" in capsys.readouterr().err


@pytest.mark.parametrize("changes", [
    {"action_names": 3}, {"action_names": ["one"]}, {"action_names": [1, 2, 3]}, {"fps": "10"}, {"fps": -1},
    {"frames_per_interval": "5"}, {"frames_per_interval": None}, {"background": "nowhere"}, {"background": []}])
def test_a_model_whose_settings_were_changed(model, tmp_path, capsys, changes):
    again = OrderedActionLabeling.load(model)
    again.save(tmp_path / "m.npz", again.extra_ | changes)
    assert predict(make_folder(tmp_path / "new", ["e"]), tmp_path / "m.npz", tmp_path / "out") == 2
    shown = capsys.readouterr().err
    assert f"{tmp_path / 'm.npz'}: {next(iter(changes))}: " in shown and not (tmp_path / "out").exists()


def test_another_frame_rate_is_told(model, tmp_path, capsys):
    new = make_folder(tmp_path / "new", ["e"], background=True)
    assert predict(new, model, tmp_path / "out", "--fps", "25") == 0
    assert "learnt at 10 frames a second, these recordings have 25" in capsys.readouterr().err
    extra = OrderedActionLabeling.load(model).extra_
    last = datasets.read_segments(tmp_path / "out" / "boris.tsv")[0]
    assert last["end_seconds"] * 25 % extra["frames_per_interval"] == pytest.approx(0, abs=1e-6)


# ------------------------------------------------------------------------------------------------------- demo
@pytest.mark.parametrize("setting", SETTINGS)
def test_demo(tmp_path, capsys, setting):
    assert main(["demo", "--setting", setting, "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    model, even = (float(line.split()[-1]) for line in lines[-2:])
    assert "even split" in lines[-1] and model > even > 0.5
    made = {"vtt/13_29_0.vtt", "boris.tsv", "segments.csv", "timelines.html", "model.npz"}
    assert made <= files(tmp_path / "out")
    page = (tmp_path / "out" / "timelines.html").read_text("utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["clips"]) == 21 and len(data["first"]) == 10


# ------------------------------------------------------------------------------------------------------- processes
def run(*arguments, **options):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def test_the_module_runs(folder, tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = ["-m", "ordering", "label", folder, "--setting", "2014", "--out", tmp_path / "grün"]
    done = run(*command, "--fps", "10", env=environment)
    assert (done.returncode, "gr?n" in done.stdout) == (0, True), done.stderr
    assert "segments.csv" in files(tmp_path / "grün")
    failed = run(*command[:4], "--out", tmp_path / "other", "--fps", "0", env=environment)
    assert failed.returncode == 2 and "Traceback" not in failed.stderr and not (tmp_path / "other").exists()


def test_help_tells_the_unit(capsys):
    for command in ([], ["label"], ["predict"], ["demo"]):
        with pytest.raises(SystemExit) as stop:
            main([*command, "--help"])
        assert stop.value.code == 0 and "segments.csv count intervals" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2


def test_ctrl_c(folder, tmp_path):
    code = ("import sys, time; from ordering import commands\n"
            "commands._fit = lambda *a: (print('fitting', flush=True), time.sleep(100))\n"
            "sys.exit(commands.main(sys.argv[1:]))")
    arguments = ["label", folder, "--setting", "2014", "--out", tmp_path / "out"]
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=stopped_by_ctrl_c)
    assert process.stdout.readline() == "fitting\n"
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in shown and "Traceback" not in shown
    assert os.listdir(tmp_path) == ["my recordings"]
