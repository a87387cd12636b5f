"""Labels to rows, rows to files and back."""

import csv
import os

import numpy as np
import pytest

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
    rows = datasets.segments(clips.labels, clips, interval_seconds=0.5)
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


def test_segments_as_csv(two_clips, tmp_path):
    path = tmp_path / "labels.csv"
    datasets.write_segments(path, datasets.segments(LABELS, two_clips, interval_seconds=0.1))
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["action"] for row in rows] == ["take, cup", "stir", "stir"]
    assert float(rows[0]["end_seconds"]) == pytest.approx(0.3)
    before = path.read_bytes()
    with pytest.raises(ValueError):
        datasets.write_segments(path, [{"clip": "a"}, {"clip": "b", "more": 1}])
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["labels.csv"]
    datasets.write_segments(path, [])
    assert path.read_text().splitlines() == ["clip,action,start,end"]
