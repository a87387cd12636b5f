"""Segmentation folders: the same clips from every variant of a file, and every fault named with its file."""

import numpy as np
import pytest

from ordering import datasets
from ordering.datasets import pooling

MAPPING = {"pour milk": 3, "background": 1, "take cup": 2, "stir": 7}  # classes 1, 2 (background: 3), 0, 2


def make_folder(root, clips, layout="dT", mapping=MAPPING, end="\n", after=""):
    """Write `clips`: name -> (features (T, d), names of all frames, transcript or None)."""
    for folder in ("features", "groundTruth", "transcripts", "splits"):
        (root / folder).mkdir(parents=True)
    write_lines(root / "mapping.txt", [f"{number} {name}" for name, number in mapping.items()], end, after)
    for name, (X, truth, transcript) in clips.items():
        np.save(root / "features" / f"{name}.npy", X.T if layout == "dT" else X)
        write_lines(root / "groundTruth" / f"{name}.txt", truth, end, after)
        if transcript is not None:
            write_lines(root / "transcripts" / f"{name}.txt", transcript, end, after)
    return root


def write_lines(path, lines, end="\n", after=""):
    path.write_bytes((end.join(lines) + end + after).encode())


def frames_of(*runs):
    return [name for name, count in runs for _ in range(count)]


def make_clips(seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    one = frames_of(("background", 20), ("take cup", 30), ("background", 10), ("pour milk", 40))
    two = frames_of(("stir", 20), ("background", 30), ("stir", 30), ("background", 20))
    return {name: (rng.standard_normal((len(truth), 5)).astype(dtype), truth, None)
            for name, truth in [("a clip", one), ("b", two)]}


@pytest.mark.parametrize("layout", ["dT", "Td"])
@pytest.mark.parametrize("end, after", [("\n", ""), ("\r\n", "\r\n"), ("\n", "\n  \n")])
def test_folder(tmp_path, layout, end, after):
    made = make_clips()
    clips = datasets.load_segmentation_folder(make_folder(tmp_path / "set", made, layout, end=end, after=after),
                                              layout=layout)
    assert clips.action_names == ["take cup", "pour milk", "stir"] and clips.clip_names == ["a clip", "b"]
    assert (clips.n_actions, clips.background, clips.background_class) == (3, "around", 3)
    assert [t.tolist() for t in clips.transcripts] == [[0, 1], [2, 2]]
    assert clips.labels.tolist() == [3, 3, 0, 0, 0, 3, 1, 1, 1, 1, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3]
    assert clips.lengths.tolist() == [10, 10] and clips.features.dtype == np.float32
    X = made["a clip"][0].astype(float)
    np.testing.assert_allclose(clips[0].features[4], X[30:60].mean(axis=0), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(clips[0].features[0], X[:20].mean(axis=0), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(clips[0].features[9], X[80:].mean(axis=0), rtol=1e-6, atol=1e-7)


def test_pooling_is_in_float64_where_the_features_are(tmp_path):
    made = make_clips(dtype=np.float64)
    clips = datasets.load_segmentation_folder(make_folder(tmp_path / "set", made), frames=5, window=11)
    assert clips.features.dtype == np.float64 and clips.lengths.tolist() == [20, 20]
    np.testing.assert_allclose(clips[1].features[7], made["b"][0][32:43].mean(axis=0), rtol=1e-14)


@pytest.mark.parametrize("n_frames, lengths", [
    (1, [1]), (4, [4]), (9, [9]), (14, [14]), (15, [10, 5]), (20, [10, 10]), (24, [10, 14]), (25, [10, 10, 5])])
def test_every_frame_is_in_one_interval(n_frames, lengths):
    edges = pooling.intervals(n_frames, 10)
    assert np.diff(edges).tolist() == lengths and edges[0] == 0
    windows = pooling.windows(edges, 10, 30)
    assert all(0 <= w.start < w.stop <= n_frames and w.start <= edge for w, edge in
               zip(windows, edges[:-1], strict=True))


def test_majority_and_its_tie():
    labels = np.array([4, 4, 4, 1, 1, 1, 0, 0, 0, 0, 2, 2, 5])
    assert pooling.majority(labels, np.array([0, 6, 13])).tolist() == [4, 0]


def test_split_files(tmp_path):
    root = make_folder(tmp_path / "set", make_clips())
    write_lines(root / "splits" / "train.bundle", ["b.txt", "somewhere/a clip.txt"], "\r\n", "\r\n")
    write_lines(tmp_path / "other.txt", ["b"])
    load = datasets.load_segmentation_folder
    assert load(root, split="train.bundle").clip_names == ["b", "a clip"]
    assert load(root, split=tmp_path / "other.txt").clip_names == ["b"]
    write_lines(tmp_path / "other.txt", ["b", "c", "b"])
    with pytest.raises(ValueError, match="(?s)features/c.npy expected.*'b' once expected, found 2"):
        load(root, split=tmp_path / "other.txt")
    with pytest.raises(ValueError, match="split file 'absent'"):
        load(root, split="absent")


def test_background_names(tmp_path):
    made = make_clips()
    root = make_folder(tmp_path / "set", made)
    clips = datasets.load_segmentation_folder(root, background_name=["background", "stir"])
    assert clips.action_names == ["take cup", "pour milk"] and clips[1].transcript.tolist() == []
    clips = datasets.load_segmentation_folder(root, background_name=None)
    assert clips.action_names == ["background", "take cup", "pour milk", "stir"] and clips.background is None
    assert clips[1].transcript.tolist() == [3, 0, 3, 0]
    with pytest.raises(ValueError, match="background_name.*SIL"):
        datasets.load_segmentation_folder(root, background_name="SIL")


@pytest.mark.parametrize("n_features, n_labels", [(103, 100), (97, 100), (100, 104)])
def test_frame_counts_off_by_a_few(tmp_path, n_features, n_labels):
    truth = frames_of(("background", 20), ("stir", 40), ("background", n_labels - 60))
    X = np.arange(n_features * 2, dtype=float).reshape(-1, 2)
    root = make_folder(tmp_path / "set", {"b": (X, truth, ["stir"])})
    with pytest.warns(UserWarning, match=f"b: features of {n_features} frames, labels of {n_labels}"):
        clips = datasets.load_segmentation_folder(root)
    assert clips.labels.tolist() == [3, 3, 2, 2, 2, 2, 3, 3, 3, 3]
    np.testing.assert_allclose(clips.features[3], X[20:50].mean(axis=0))
    with pytest.raises(ValueError, match=f"b: .*at most 2 frames expected, found {n_features} and {n_labels}"):
        datasets.load_segmentation_folder(root, tolerance=2)


def test_wrong_layout_is_named(tmp_path):
    root = make_folder(tmp_path / "set", make_clips(), "Td")
    with pytest.raises(ValueError, match='a clip: .*layout="Td" would fit'):
        datasets.load_segmentation_folder(root)


def test_runs_too_short_for_an_interval(tmp_path):
    truth = frames_of(("background", 20), ("stir", 3), ("background", 17), ("take cup", 30), ("background", 10))
    X = np.zeros((len(truth), 2), np.float32)
    for folder, transcript in [("one", None), ("two", ["stir", "take cup"])]:
        root = make_folder(tmp_path / folder, {"b": (X, truth, transcript)})
        with pytest.warns(UserWarning, match="b: 1 of 2 actions are left"):
            clips = datasets.load_segmentation_folder(root)
        assert clips[0].transcript.tolist() == [0]


def test_transcripts(tmp_path):
    truth = frames_of(("stir", 40), ("background", 20), ("take cup", 20))
    X = np.zeros((len(truth), 2), np.float32)
    root = make_folder(tmp_path / "set", {"b": (X, truth, ["stir", "stir", "background", "take cup"])})
    clips = datasets.load_segmentation_folder(root, background="between")
    assert clips[0].transcript.tolist() == [2, 2, 0]  # labels cannot show the border between two equal actions
    write_lines(root / "transcripts" / "b.txt", ["take cup", "stir"])
    with pytest.raises(ValueError, match=r"transcripts/b.txt: .*expected, \[2, 0\].*found \[0, 2\]"):
        datasets.load_segmentation_folder(root)


def test_without_ground_truth(tmp_path):
    made = {name: (X, truth, ["stir", "background"]) for name, (X, truth, _) in make_clips().items()}
    root = make_folder(tmp_path / "set", made)
    for path in (root / "groundTruth").iterdir():
        path.unlink()
    (root / "groundTruth").rmdir()
    clips = datasets.load_segmentation_folder(root)
    assert clips.labels is None and [t.tolist() for t in clips.transcripts] == [[2], [2]]
    (root / "transcripts" / "b.txt").unlink()
    with pytest.raises(ValueError, match="transcripts/b.txt expected"):
        datasets.load_segmentation_folder(root)


def test_all_faulty_files_are_listed(tmp_path):
    made = make_clips()
    made["c"] = (made["b"][0][:, :3], *made["b"][1:])
    root = make_folder(tmp_path / "set", made)
    with pytest.raises(ValueError, match="features/c.npy: 5 features expected.*found 3"):
        datasets.load_segmentation_folder(root)
    write_lines(root / "groundTruth" / "a clip.txt", ["background"] * 10 + ["", "swim"] + ["stir"] * 88)
    (root / "groundTruth" / "b.txt").unlink()
    (root / "features" / "c.npy").write_bytes(b"no array")
    with pytest.raises(ValueError) as caught:
        datasets.load_segmentation_folder(root)
    for text in ("3 faults", "set", "groundTruth/a clip.txt, line 11", "groundTruth/b.txt", "features/c.npy"):
        assert text in str(caught.value)


def test_infinite_features_and_short_clips_are_named(tmp_path):
    made = make_clips()
    made["b"][0][35, 2] = np.inf
    root = make_folder(tmp_path / "set", made)
    with pytest.raises(ValueError, match=r"set: .*(?s:.*)clip 1 \(b\): finite features .*column 2"):
        datasets.load_segmentation_folder(root)
    made = {"b": (np.zeros((30, 2)), frames_of(("stir", 10), ("take cup", 10), ("pour milk", 10)), None)}
    with pytest.raises(ValueError, match=r"clip 0 \(b\): T >= 7 intervals expected.*would fit"):
        datasets.load_segmentation_folder(make_folder(tmp_path / "short", made))


@pytest.mark.parametrize("lines, message", [
    (["0 a", "b"], "line 2: a number and a name"), (["0 a", "0 b"], "line 2: a new number"),
    (["0 a", "1 a"], "line 2: a new number"), (["0 background"], "at least one action")])
def test_faults_of_the_mapping(tmp_path, lines, message):
    root = make_folder(tmp_path / "set", make_clips())
    write_lines(root / "mapping.txt", lines)
    with pytest.raises(ValueError, match=f"mapping.txt: (?s:.*){message}"):
        datasets.load_segmentation_folder(root)


def test_folders_without_clips(tmp_path):
    root = make_folder(tmp_path / "set", {})
    with pytest.raises(ValueError, match="at least one clip"):
        datasets.load_segmentation_folder(root)
    write_lines(root / "groundTruth" / "b.txt", ["stir"])
    with pytest.raises(ValueError, match="features/b.npy expected beside"):
        datasets.load_segmentation_folder(root)
    with pytest.raises(ValueError, match="mapping.txt"):
        datasets.load_segmentation_folder(tmp_path / "absent")


@pytest.mark.parametrize("arguments", [{"layout": "T"}, {"frames": 0}, {"window": 5}, {"tolerance": -1}])
def test_arguments_of_the_folder(tmp_path, arguments):
    with pytest.raises(ValueError, match="found"):
        datasets.load_segmentation_folder(make_folder(tmp_path / "set", make_clips()), **arguments)
