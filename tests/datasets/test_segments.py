"""Labels to rows, rows to files and back."""

import errno
import html
import importlib
import os
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import textgrids
import webvtt

from ordering import Clips, datasets


@pytest.fixture
def two_clips():
    return Clips(np.zeros((9, 1)), [5, 4], [[0, 1], [1]], 2, action_names=["take, cup", "stir"],
                 clip_names=["a", "b"])


LABELS = [2, 0, 0, 1, 2, 1, 1, 1, 2]


def test_segments(two_clips):
    rows = datasets.segments(LABELS, two_clips)
    assert [tuple(row.values()) for row in rows] == [
        ("a", "take, cup", 1, 3), ("a", "stir", 3, 4), ("b", "stir", 0, 3)]
    nameless = Clips(np.zeros((9, 1)), [5, 4], [[0, 1], [1]], 2)
    assert [tuple(row.values()) for row in datasets.segments(np.array(LABELS), nameless)] == [
        (0, 0, 1, 3), (0, 1, 3, 4), (1, 1, 0, 3)]


def test_segments_give_the_labels_back():
    clips = datasets.load_mocap6()
    rows = datasets.segments(clips.labels, clips, seconds_per_interval=0.5)
    labels = np.full(len(clips.labels), -1)
    for row in rows:
        first = clips.rows(clips.clip_names.index(row["clip"])).start
        labels[first + row["start"]:first + row["end"]] = clips.action_names.index(row["action"])
        assert row["end_seconds"] - row["start_seconds"] == 0.5 * (row["end"] - row["start"])
    np.testing.assert_array_equal(labels, clips.labels)


@pytest.mark.parametrize("labels", [LABELS[1:], [3] + LABELS[1:], [-1] + LABELS[1:], np.array(LABELS) + 0.5])
def test_segments_of_wrong_labels(two_clips, labels):
    with pytest.raises(ValueError, match="labels: "):
        datasets.segments(labels, two_clips)


def test_wrong_labels_name_the_clip(two_clips):
    with pytest.raises(ValueError, match=r"found 7 in clip 1 \(b\), its row 2"):
        datasets.segments(LABELS[:7] + [7, 2], two_clips)


# ----------------------------------------------------------------------------------------- times and confidence
def test_times_are_rounded_as_a_person_writes_them(two_clips):
    rows = datasets.segments(LABELS, two_clips, seconds_per_interval=0.1)
    assert [(row["start_seconds"], row["end_seconds"]) for row in rows] == [(0.1, 0.3), (0.3, 0.4), (0.0, 0.3)]
    with pytest.raises(ValueError, match="seconds_per_interval: a positive number expected, found 0"):
        datasets.segments(LABELS, two_clips, seconds_per_interval=0)


def test_last_end_is_the_duration():
    """206 frames at 25 fps in intervals of 10 frames: 21 intervals, which end at 8.24 s and not at 8.4."""
    clips = Clips(np.zeros((41, 1)), [21, 20], [[0], [0]], 1, background=None, clip_names=["a", "b"])
    labels = np.zeros(41, int)
    ends = [datasets.segments(labels, clips, 0.4, durations=d) for d in ([206 / 25, None], {"a": 206 / 25})]
    assert [[row["end_seconds"] for row in rows] for rows in ends] == [[8.24, 8.0]] * 2
    for wrong, message in [([206, 8], "about 8.4 seconds expected for clip 'a' of 21 intervals, found 206"),
                           ([8.24], "durations: 2 expected"), ({"a": 7.9}, "about 8.4 seconds")]:
        with pytest.raises(ValueError, match=message):
            datasets.segments(labels, clips, 0.4, durations=wrong)
    with pytest.raises(ValueError, match="durations: seconds_per_interval expected"):
        datasets.segments(labels, clips, durations=[8.24, 8.0])


def test_confidence_and_uncertainty():
    clips = Clips(np.zeros((10, 1)), [10], [[0, 1]], 2, background=None)
    labels, P = np.repeat([0, 1], 5), np.zeros((10, 2))
    P[:, 0] = [1, 1, 1, .9, .7, .4, .2, 0, 0, 0]
    P[:, 1] = 1 - P[:, 0]
    first, second = datasets.segments(labels, clips, seconds_per_interval=0.5, posterior=P)
    assert list(first)[-3:] == ["confidence", "start_uncertainty_seconds", "end_uncertainty_seconds"]
    assert (first["confidence"], second["confidence"]) == (0.92, 0.88)
    places, weights = np.arange(3, 8), [.1, .2, .3, .2, .2]  # where the border may lie: P(border > t) = P[t, 0]
    mean = np.dot(places, weights)
    spread = 0.5 * np.sqrt(np.dot((places - mean) ** 2, weights))
    assert first["end_uncertainty_seconds"] == second["start_uncertainty_seconds"]
    assert first["end_uncertainty_seconds"] == pytest.approx(spread, abs=1e-6)
    assert first["start_uncertainty_seconds"] == second["end_uncertainty_seconds"] == 0


def test_certain_posterior_has_no_uncertainty(two_clips):
    rows = datasets.segments(LABELS, two_clips, posterior=np.eye(3)[LABELS])
    assert {(row["confidence"], row["start_uncertainty"], row["end_uncertainty"]) for row in rows} == {(1, 0, 0)}
    for P, message in [(np.eye(3), "shape"), (2 * np.eye(3)[LABELS], r"in clip 0 \(a\), its row 0")]:
        with pytest.raises(ValueError, match=f"posterior: .*{message}"):
            datasets.segments(LABELS, two_clips, posterior=P)


# -------------------------------------------------------------------------------------------------------- CSV
def test_segments_as_csv(two_clips, tmp_path):
    path = tmp_path / "labels.csv"
    rows = datasets.segments(LABELS, two_clips, seconds_per_interval=0.1, posterior=np.eye(3)[LABELS])
    datasets.write_segments(path, rows)
    assert "0.30000000000000004" not in path.read_text()
    back = datasets.read_segments(path)
    assert back == rows and back.columns == rows.columns
    assert pd.read_csv(path).to_dict("records") == rows
    before = path.read_bytes()
    with pytest.raises(ValueError, match="labels.csv: row 1: columns"):
        datasets.write_segments(path, [{"clip": "a"}, {"clip": "b", "more": 1}])
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["labels.csv"]
    datasets.write_segments(path, rows, columns=["action", "clip"])
    assert path.read_text().splitlines()[:2] == ["action,clip", '"take, cup",a']


def test_columns_stay_without_rows(two_clips, tmp_path):
    path = tmp_path / "labels.csv"
    empty = Clips(two_clips.features, two_clips.lengths, [[], []], 2)
    for seconds, posterior, columns in [
            (None, None, "clip,action,start,end"), (0.5, None, "clip,action,start,end,start_seconds,end_seconds"),
            (None, np.full((9, 3), 1 / 3), "clip,action,start,end,confidence,start_uncertainty,end_uncertainty")]:
        rows = datasets.segments([2] * 9, empty, seconds, posterior)
        datasets.write_segments(path, rows)
        assert rows == [] and path.read_text().splitlines() == [columns]
        assert list(datasets.read_segments(path).columns) == columns.split(",")
    datasets.write_segments(path, [])
    assert path.read_text().splitlines() == ["clip,action,start,end,start_seconds,end_seconds"]


def test_byte_order_mark_on_request(tmp_path):
    path, rows = tmp_path / "a.csv", [{"clip": "ä", "action": "rühren", "start": 0, "end": 1}]
    datasets.write_segments(path, rows)
    assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
    datasets.write_segments(path, rows, bom=True)
    assert path.read_bytes().startswith(b"\xef\xbb\xbfclip") and datasets.read_segments(path) == rows


# ---------------------------------------------------------------------------------------- annotation tools
ONE = [{"clip": "a", "action": 'say "hi" & <wave>', "start_seconds": 0.4, "end_seconds": 1.2},
       {"clip": "a", "action": "rühren --> um", "start_seconds": 1.2, "end_seconds": 3661.25},
       {"clip": "a", "action": "say", "start_seconds": 3700.0, "end_seconds": 3700.04}]
NAMES = {"vtt": "a.vtt", "elan": "a.txt", "audacity": "a.txt", "textgrid": "a.TextGrid", "boris": "a.tsv",
         "csv": "a.csv"}


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("bom", [False, True])
@pytest.mark.parametrize("rows", [ONE, []], ids=["rows", "empty"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_each_format_gives_the_rows_back(tmp_path, format, bom, rows, end):
    path = tmp_path / NAMES[format]
    datasets.write_segments(path, rows, format=format, bom=bom, durations={"a": 3705.0})
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", end))
    assert datasets.read_segments(path, format) == datasets.read_segments(path) == rows


@pytest.mark.parametrize("name", ["a.vtt", "a.TextGrid", "a.tsv", "a.csv", "A.TEXTGRID"])
def test_suffix_says_the_format(tmp_path, name):
    datasets.write_segments(tmp_path / name, ONE)
    assert [row["action"] for row in datasets.read_segments(tmp_path / name)] == [row["action"] for row in ONE]


def test_vtt_opens_as_subtitles(tmp_path):
    datasets.write_segments(tmp_path / "a.vtt", ONE)
    captions = webvtt.read(tmp_path / "a.vtt").captions
    assert [f"{caption.start} {caption.end}" for caption in captions] == [
        "00:00:00.400 00:00:01.200", "00:00:01.200 01:01:01.250", "01:01:40.000 01:01:40.040"]
    assert html.unescape(captions[0].raw_text) == ONE[0]["action"] and captions[2].text == "say"


def test_textgrid_is_praats(tmp_path):
    datasets.write_segments(tmp_path / "a.TextGrid", ONE, durations={"a": 3705.5})
    grid = textgrids.TextGrid(str(tmp_path / "a.TextGrid"))
    intervals = grid["actions"]
    assert (grid.xmin, grid.xmax) == (0, 3705.5) and [i.text.replace('""', '"') for i in intervals] == [
        "", ONE[0]["action"], ONE[1]["action"], "", "say", ""]
    assert [i.xmin for i in intervals][1:] == [i.xmax for i in intervals][:-1]
    with pytest.raises(ValueError, match="a.TextGrid: durations"):
        datasets.write_segments(tmp_path / "a.TextGrid", [])
    with pytest.raises(ValueError, match="one after the other expected, found one .* at 1.2 before 3700.04"):
        datasets.write_segments(tmp_path / "a.TextGrid", ONE[::-1])


def test_tables_of_the_tools(tmp_path):
    for format, begin, end, action in [("elan", "Begin Time - ss.msec", "End Time - ss.msec", "Annotation"),
                                       ("boris", "Start (s)", "Stop (s)", "Behavior"), ("audacity", 0, 1, 2)]:
        path = tmp_path / NAMES[format]
        datasets.write_segments(path, ONE, format=format)
        table = pd.read_csv(path, sep="\t", header=None if format == "audacity" else 0)
        assert table[action].tolist() == [row["action"] for row in ONE]
        assert table[begin].tolist() == [0.4, 1.2, 3700.0] and table[end].tolist() == [1.2, 3661.25, 3700.04]
    assert path.read_text(encoding="utf-8").split("\n")[2] == "3700.000000\t3700.040000\tsay"


def test_several_clips(two_clips, tmp_path):
    rows = datasets.segments(LABELS, two_clips, seconds_per_interval=0.5)
    with pytest.raises(ValueError, match="one clip in a file of format 'vtt' expected, found 2; a folder"):
        datasets.write_segments(tmp_path / "all.vtt", rows)
    assert os.listdir(tmp_path) == []
    datasets.write_segments(tmp_path, rows, format="textgrid", durations={"a": 2.5, "b": 2.0, "c/d": 1.0})
    assert sorted(os.listdir(tmp_path)) == ["a.TextGrid", "b.TextGrid", "c_d.TextGrid"]
    back = [row for name in "ab" for row in datasets.read_segments(tmp_path / f"{name}.TextGrid")]
    columns = ("clip", "action", "start_seconds", "end_seconds")
    assert back == [{name: row[name] for name in columns} for row in rows]
    assert datasets.read_segments(tmp_path / "c_d.TextGrid") == []
    datasets.write_segments(tmp_path / "all.tsv", rows)
    assert [row["clip"] for row in datasets.read_segments(tmp_path / "all.tsv")] == ["a", "a", "b"]
    with pytest.raises(ValueError, match="different file names"):
        datasets.write_segments(tmp_path, rows + [rows[0] | {"clip": "A"}], format="vtt")
    with pytest.raises(ValueError, match="format: one of .* expected for a folder, found None"):
        datasets.write_segments(tmp_path, rows)


def test_rows_without_seconds(two_clips, tmp_path):
    with pytest.raises(ValueError, match="a.vtt: row 0: .*seconds_per_interval"):
        datasets.write_segments(tmp_path / "a.vtt", datasets.segments(LABELS, two_clips)[:1])


@pytest.mark.parametrize("name, content", [
    ("a.vtt", "1\n00:01 --> 00:02\nx"), ("a.vtt", "WEBVTT\n\n0:1 --> 0:2\nx"), ("a.txt", "0.5\tx"),
    ("a.txt", "0.5\tone\tx"), ("a.tsv", "a\tb\n"), ("a.TextGrid", "no grid"), ("a.csv", "a,b\n1,2\n"),
    ("a.csv", ""), ("a.csv", "clip,action,start\na,b\n"), ("a.csv", "clip,action,start\na,b,c\n"),
    ("a.csv", "clip,action\n\xff"), ("a.xyz", ""), ("a.txt", "nan\t1\tx"), ("a.txt", "2\t1\tx"),
    ("a.tsv", "Observation id\tBehavior\tStart (s)\tStop (s)\na\tb\n"),
    ("a.vtt", f"WEBVTT\n\n{'9' * 400}:00:00.000 --> 00:02.000\nx"), ("a.csv", "clip,action,clip\na,b,c\n"),
    ("a.csv", "clip,action,start_seconds,end_seconds\na,b,nan,1\n"), ("a.csv", "clip,action,start,end\na,b,3,2\n"),
    ("a.csv", "clip,action,start_seconds,end_seconds\na,b,0,inf\n"), ("a.csv", "clip,action,start,end\na,b,-1,2\n"),
    ("a.csv", 'clip,action\n"a,b\n'), ("a.tsv", "")])
def test_files_that_cannot_be_read_back(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=f"{name}: .*expected"):
        datasets.read_segments(tmp_path / name)


def test_a_pipe_of_segments_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="a.csv: a regular file expected"):
        datasets.read_segments(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError, match="none.csv"):
        datasets.read_segments(tmp_path / "none.csv")


def test_a_grid_without_spaces_takes_linear_time(tmp_path):
    (tmp_path / "a.TextGrid").write_text('"TextGrid"' + "intervals[1]:xmin=" * 50_000)
    start = time.process_time()
    assert datasets.read_segments(tmp_path / "a.TextGrid") == []
    assert time.process_time() - start < 5


@pytest.mark.parametrize("format", NAMES)
def test_files_of_a_folder_are_written_all_or_none(tmp_path, monkeypatch, format):
    """The disk is full at the third of four files."""
    segments = importlib.import_module("ordering.datasets.segments")  # the module, not the function
    rows, calls, whole = [row | {"clip": clip} for clip in "abcd" for row in ONE], [], segments.whole_file
    datasets.write_segments(tmp_path, rows[:6], format=format)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    @contextmanager
    def full(target, *mode, **options):
        with whole(target, *mode, **options) as file:
            calls.append(target)
            if len(calls) == 3:
                raise OSError(errno.ENOSPC, "No space left on device")
            yield file
    monkeypatch.setattr(segments, "whole_file", full)
    with pytest.raises(OSError, match=f"No space left.*c{segments.SUFFIXES[format]}"):
        datasets.write_segments(tmp_path, [row | {"action": "other"} for row in rows], format=format)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before and len(before) == 2


@pytest.mark.parametrize("name, message", [("x" * 249, "at most 255 bytes expected, found clip 'xxx"),
                                           ("\u00e4" * 124, "at most 255 bytes expected, found clip '\u00e4\u00e4")])
def test_names_too_long_for_a_file(tmp_path, name, message):
    """With the suffix 258 bytes; nothing is written for the other clip either. As .vtt they fit."""
    rows = [ONE[0], ONE[0] | {"clip": name}]
    with pytest.raises(ValueError, match=message):
        datasets.write_segments(tmp_path, rows, format="textgrid")
    assert os.listdir(tmp_path) == []
    datasets.write_segments(tmp_path, rows, format="vtt")
    assert sorted(os.listdir(tmp_path)) == ["a.vtt", f"{name}.vtt"]


def test_names_that_are_no_text(tmp_path):
    """Bytes of a file name that are no UTF-8 come as lone surrogates."""
    with pytest.raises(ValueError, match="a.vtt: .*surrogates not allowed"):
        datasets.write_segments(tmp_path / "a.vtt", [ONE[0] | {"action": "\udcff"}])
    assert os.listdir(tmp_path) == []
