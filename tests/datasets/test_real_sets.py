"""The real sets that come with the package: as published, and cut as documented."""

from pathlib import Path

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


# ------------------------------------------------------------------------------------ three sets with background
SETS = {"chords": (495, 39600, 24, 24, 0.01139, 308), "gestures": (82, 3290, 282, 4, 0.27781, 7),
        "birdsong": (96, 9583, 32, 11, 0.44548, 4)}  # clips, intervals, columns, actions, background, groups


@pytest.fixture(params=SETS)
def real(request):
    return request.param, *getattr(datasets, f"load_{request.param}")(return_groups=True)


def test_sizes_and_labels(real):
    name, clips, groups = real
    n, N, d, A, background, n_groups = SETS[name]
    assert (len(clips), *clips.features.shape, clips.n_actions) == (n, N, d, A)
    assert clips.background == "optional" and clips.background_class == A and clips.features.dtype == np.float64
    assert (clips.labels == A).mean() == pytest.approx(background, abs=1e-5)
    assert groups.shape == (n,) and len(np.unique(groups)) == n_groups
    assert clips.clip_names[0] == f"{name}_000" and len(set(clips.action_names)) == A
    assert getattr(datasets, f"load_{name}")().clip_names == clips.clip_names


def test_lists_name_the_actions_only(real):
    _, clips, _ = real
    for clip in clips:
        runs = clip.labels[np.flatnonzero(np.diff(clip.labels, prepend=-1))]
        assert clip.transcript.tolist() == runs[runs != clips.n_actions].tolist()


def test_touching_actions():
    """The counts of the sets' description: background must be optional between actions."""
    for name, touching in [("chords", 6230), ("gestures", 264), ("birdsong", 7)]:
        clips = getattr(datasets, f"load_{name}")()
        parts = [clip.labels for clip in clips]
        pairs = np.concatenate([np.stack([part[:-1], part[1:]], axis=1) for part in parts])
        pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & np.all(pairs != clips.n_actions, axis=1)]
        assert len(pairs) == touching


def test_values_are_near_the_source():
    """A few rows of the files that `scripts/make_real_sets.py` read."""
    for name, row, columns in [("chords", 17, [0.07196, 0.01517]), ("birdsong", 0, [0.1976, 0.10565])]:
        clips = getattr(datasets, f"load_{name}")()
        assert np.all(np.abs(clips.features[row, :2] - columns) <= 0.016 * clips.features[:, :2].std(axis=0))


def test_files_are_small_and_their_terms_are_told():
    data = Path(datasets.__file__).parents[1] / "data"
    sizes = [(data / f"{name}.npz").stat().st_size for name in SETS]
    assert max(sizes) < 2**20 and sum(sizes) < 2.5 * 2**20
    for name, terms in [("chords", "CC0 1.0"), ("gestures", "CC BY 4.0"), ("birdsong", "BSD 3-clause")]:
        text = (data / f"LICENSE-{name}.txt").read_text(encoding="utf-8")
        assert terms in text and "Whom to cite" in text
    assert datasets.INTERVAL_SECONDS == pytest.approx(
        {"mocap6": 0.5, "chords": 0.37151927, "gestures": 0.096, "birdsong": 0.01})
