"""The real sets that come with the package: as published, and cut as documented."""

import numpy as np
import pytest

from ordering import datasets


def test_recordings_are_as_published():
    recordings = datasets.mocap6_recordings()
    assert recordings.names == ["13_29", "13_30", "13_31", "14_06", "14_14", "14_20"]
    assert [len(angles) for angles in recordings.angles] == [382, 205, 251, 446, 387, 387]
    assert [len(labels) for labels in recordings.labels] == [382, 205, 251, 446, 387, 387]
    assert recordings.channels[0] == "root.ty" and len(recordings.channels) == 12
    np.testing.assert_allclose(recordings.angles[0][0, :3], [-0.697724747387, -3.02570063879, 0.074385244418],
                               rtol=1e-8)
    counts = dict(zip(recordings.actions, np.bincount(np.concatenate(recordings.labels)), strict=True))
    assert counts == {"JumpJack": 187, "Jog": 180, "Squat": 203, "KneeRaise": 382, "ArmCircle": 304, "Twist": 352,
                      "SideReach": 48, "Box": 72, "UpDown": 76, "ToeTouchOneHand": 99, "SideBend": 66,
                      "ToeTouchTwoHands": 89}


TRANSCRIPT_13_30 = ["JumpJack", "Twist", "KneeRaise", "Squat", "Jog"]


def test_whole_recordings():
    clips, recordings = datasets.load_mocap6(pieces_seconds=None), datasets.mocap6_recordings()
    assert clips.clip_names == recordings.names and clips.action_names == recordings.actions
    assert clips.lengths.tolist() == [76, 41, 50, 89, 77, 77] and clips.background is None
    assert clips.features.shape == (410, 36) and clips.features.dtype == np.float64
    for i, (row, window) in [(0, (0, slice(0, 8))), (2, (10, slice(47, 58))), (5, (76, slice(377, 387)))]:
        frames = recordings.angles[i][window]
        expected = [*frames.mean(axis=0), *frames.std(axis=0), *np.abs(frames[1:] - frames[:-1]).mean(axis=0)]
        np.testing.assert_allclose(clips[i].features[row], expected, rtol=1e-12)
        counts = np.bincount(recordings.labels[i][5 * row:5 * row + 5])
        assert clips[i].labels[row] == counts.argmax()
    assert [clips.action_names[a] for a in clips[1].transcript] == TRANSCRIPT_13_30


def test_pieces_are_the_recordings_cut_at_fixed_times():
    whole, pieces = datasets.load_mocap6(pieces_seconds=None), datasets.load_mocap6()
    np.testing.assert_array_equal(pieces.features, whole.features)
    np.testing.assert_array_equal(pieces.labels, whole.labels)
    assert pieces.clip_names[:5] == ["13_29/0", "13_29/1", "13_29/2", "13_29/3", "13_30/0"]
    for i, name in enumerate(whole.clip_names):
        lengths = pieces.lengths[[clip.startswith(name) for clip in pieces.clip_names]]
        assert lengths.sum() == whole.lengths[i]
        assert np.all(lengths[:-1] == 20) and 10 <= lengths[-1] < 30
    assert len(datasets.load_mocap6(pieces_seconds=5.0)) > len(pieces)
    assert len(datasets.load_mocap6(pieces_seconds=1000)) == 6


@pytest.mark.parametrize("seconds", [0, -1.0, np.nan, np.inf])
def test_lengths_of_pieces(seconds):
    with pytest.raises(ValueError, match="pieces_seconds"):
        datasets.load_mocap6(pieces_seconds=seconds)
