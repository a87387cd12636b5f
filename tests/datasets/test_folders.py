"""Segmentation folders: the same clips from every variant of a file, and every fault named with its file."""

import os
import time
import tracemalloc
import unicodedata
import warnings

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
    with pytest.warns(UserWarning, match="no other file tells"):
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
    with pytest.raises(ValueError, match="set: (?s:.*)features/b.npy: finite .* found inf in frame 35, column 2$"):
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


@pytest.mark.parametrize("arguments", [
    {"layout": "T"}, {"frames": 0}, {"window": 5}, {"tolerance": -1}, {"frames": "10"}, {"frames": None},
    {"frames": 2.5}, {"frames": True}, {"window": "30"}, {"tolerance": None}, {"d": 0}, {"d": 5.0}, {"fps": 0},
    {"fps": "25"}, {"split": 3}, {"split": b"s"}, {"split": "s" * 5000}, {"split": "\0"}])
def test_arguments_of_the_folder(tmp_path, arguments):
    with pytest.raises(ValueError, match="found"):
        datasets.load_segmentation_folder(make_folder(tmp_path / "set", make_clips()), **arguments)


def test_root_is_a_path():
    with pytest.raises(ValueError, match="root: a path expected, found 3"):
        datasets.load_segmentation_folder(3)


# ------------------------------------------------------------------------------------ files as people have them
def simple(root, T=(200, 224), d=16, annotated=True, layout="dT"):
    """Clips a, b of idle, pour, stir, idle: numbers 0, 1, 2."""
    for name in ("features", "splits", "groundTruth" if annotated else "transcripts"):
        (root / name).mkdir(parents=True)
    write_lines(root / "mapping.txt", ["0 idle", "1 pour", "2 stir"])
    for name, t in zip("ab", T, strict=False):
        X = np.random.default_rng(0).normal(size=(d, t)).astype("f4")
        np.save(root / "features" / f"{name}.npy", X if layout == "dT" else X.T)
        if annotated:
            write_lines(root / "groundTruth" / f"{name}.txt", truth_of(t))
        else:
            write_lines(root / "transcripts" / f"{name}.txt", ["pour", "stir"])
    return root


def truth_of(t):
    return frames_of(("idle", 40), ("pour", 80), ("stir", t - 160), ("idle", 40))


def load(root, **arguments):
    """As in a script where a warning would be seen: none is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return datasets.load_segmentation_folder(root, background_name="idle", **arguments)


@pytest.fixture
def root(tmp_path):
    return simple(tmp_path / "set")


def same(clips, expected):
    return (clips.clip_names == expected.clip_names and np.array_equal(clips.labels, expected.labels)
            and np.array_equal(clips.features, expected.features)
            and [t.tolist() for t in clips.transcripts] == [t.tolist() for t in expected.transcripts])


@pytest.mark.parametrize("lines", [["#bundle", "./data/groundTruth/a.txt"], ["# a comment", "", "a.npy"],
                                   ["\ufeff#bundle", "data\\groundTruth\\a.txt", ""]])
def test_header_and_comments_of_split_files(root, lines):  # case 1
    write_lines(root / "splits" / "s.bundle", lines, "\r\n")
    assert load(root, split="s.bundle").clip_names == ["a"]


def test_files_that_begin_with_a_dot(root):  # case 2
    expected = load(root)
    for folder, suffix in [("features", "npy"), ("groundTruth", "txt")]:
        (root / folder / f"._a.{suffix}").write_bytes(b"\0\5\x16\7" * 44)
    assert same(load(root), expected)


@pytest.mark.parametrize("T, arguments, found", [
    ((200, 224), {}, "as in most clips, found 2.."), ((300, 300), {"d": 16}, "16 features expected, found 300")])
def test_rows_for_frames_without_labels_are_an_error(tmp_path, T, arguments, found):  # case 3
    root = simple(tmp_path / "set", T, annotated=False, layout="Td")
    with pytest.raises(ValueError, match=f'{found}; layout="Td" would fit'):
        load(root, **arguments)
    assert load(root, layout="Td").features.shape[1] == load(root, layout="Td", d=16).features.shape[1] == 16


@pytest.mark.parametrize("T", [(300, 300), (300,)])
@pytest.mark.parametrize("layout", ["dT", "Td"])
def test_nothing_tells_frames_from_features(tmp_path, T, layout):  # case 3
    root = simple(tmp_path / "set", T, d=200, annotated=False, layout=layout)
    with pytest.warns(UserWarning, match='no other file tells whether this is right; layout="dT" or layout="Td"'):
        datasets.load_segmentation_folder(root, background_name="idle")
    assert load(root, layout=layout).features.shape[1] == 200
    if layout == "dT":
        assert load(root, d=200).features.shape[1] == 200


def test_square_features_with_labels_tell_nothing(tmp_path):
    root = simple(tmp_path / "set", (205, 205), d=200)
    with pytest.warns(UserWarning, match="no other file tells"):
        datasets.load_segmentation_folder(root, background_name="idle")


def test_labels_of_some_clips_tell_the_layout(tmp_path):
    root = simple(tmp_path / "set", (300, 300), layout="Td")
    (root / "transcripts").mkdir()
    write_lines(root / "transcripts" / "b.txt", ["pour", "stir"])
    (root / "groundTruth" / "b.txt").unlink()
    with pytest.raises(ValueError, match='layout="Td" would fit'):
        load(root)


@pytest.mark.parametrize("annotated", [True, False])
def test_a_feature_for_many_frames(tmp_path, annotated):  # case 4
    root = simple(tmp_path / "set", (27, 50), annotated=annotated)
    with pytest.raises(ValueError, match="frames=1, window=1"):
        load(root)
    if not annotated:
        assert load(root, frames=1, window=1).lengths.tolist() == [27, 50]


def test_a_feature_for_64_frames_with_labels_of_each(tmp_path):  # cases 4 and 5
    root = simple(tmp_path / "set", (27, 50))
    for name, T in [("a", 27), ("b", 50)]:
        lines = [line for line in truth_of(10 * T) for _ in range(64)]
        write_lines(root / "groundTruth" / f"{name}.txt", lines[::10])
    with pytest.warns(UserWarning, match="64 labels for each frame of features.*frames=1, window=1"):
        clips = datasets.load_segmentation_folder(root, background_name="idle", frames=1, window=1)
    assert clips.lengths.tolist() == [27, 50] and clips[0].labels.tolist() == [2] * 4 + [0] * 8 + [1] * 11 + [2] * 4


def test_labels_at_25_frames_a_second_and_features_at_one(tmp_path):  # case 5
    root = simple(tmp_path / "set")
    expected = load(root)
    for name, T in [("a", 200), ("b", 224)]:
        lines = [line for line in truth_of(T) for _ in range(25)]
        write_lines(root / "groundTruth" / f"{name}.txt", lines[:len(lines) - 11])
    with pytest.warns(UserWarning, match="25 labels for each frame of features"):
        assert same(datasets.load_segmentation_folder(root, background_name="idle"), expected)
    write_lines(root / "groundTruth" / "b.txt", truth_of(224))
    write_lines(root / "transcripts.txt", [])
    with pytest.raises(ValueError, match="labels for each frame of features expected as in most clips, found"):
        load(root)


@pytest.mark.parametrize("suffix", ["txt", "npy"])
def test_numbers_instead_of_names(root, suffix):  # case 6
    expected = load(root)
    for name, T in [("a", 200), ("b", 224)]:
        (root / "groundTruth" / f"{name}.txt").unlink()
        numbers = np.array([["idle", "pour", "stir"].index(label) for label in truth_of(T)])
        if suffix == "npy":
            np.save(root / "groundTruth" / f"{name}.npy", numbers.astype("f4" if name == "a" else "u1"))
        else:
            write_lines(root / "groundTruth" / f"{name}.txt", map(str, numbers), "\r\n")
    assert same(load(root), expected)
    write_lines(root / "mapping.txt", ["0 idle", "1 pour", "3 stir"])
    with pytest.raises(ValueError, match=f"a.{suffix}, line 121: a number of mapping.txt expected, found 2"):
        load(root)


def test_names_as_an_array(root):
    expected = load(root)
    (root / "groundTruth" / "a.txt").unlink()
    np.save(root / "groundTruth" / "a.npy", np.array(truth_of(200))[:, None])
    (root / "transcripts").mkdir()
    np.save(root / "transcripts" / "b.npy", np.array([1, 2]))
    assert same(load(root), expected)
    for wrong, message in [(["idle"] * 199 + ["swim"], "entry 199: a name of mapping.txt expected, found 'swim'"),
                           ([0.5] * 200, "whole numbers or names"), (np.zeros((200, 2)), "1-D array")]:
        np.save(root / "groundTruth" / "a.npy", np.array(wrong))
        with pytest.raises(ValueError, match=f"groundTruth/a.npy.*{message}"):
            load(root)


def test_labels_of_some_clips_and_lists_of_all(root):  # case 7
    (root / "transcripts").mkdir()
    for name in "ab":
        write_lines(root / "transcripts" / f"{name}.txt", ["idle", "pour", "stir", "idle"])
    expected = load(root)
    (root / "groundTruth" / "b.txt").unlink()
    clips = load(root)
    assert np.array_equal(clips[0].labels, expected[0].labels) and set(clips[1].labels) == {-1}
    assert [t.tolist() for t in clips.transcripts] == [[0, 1], [0, 1]]
    (root / "transcripts" / "b.txt").unlink()
    with pytest.raises(ValueError, match="groundTruth/b.txt or transcripts/b.txt expected beside features/b.npy"):
        load(root)


STRETCHES = {  # case 8: last frame included, first frame after it, seconds, a table with a line of names
    "included": ["41 120 pour", "121 {end} stir"], "with a dash": ["41-120 pour", "121-{end} stir"],
    "from 0": ["0 39 idle", "40 119 pour", "120 {last} stir"], "after": ["40 120 pour", "120 {end} stir"],
    "seconds": ["1.6 4.8 pour", "4.8 {seconds:.2f} stir"], "numbers": ["40\t120\t1", "120\t{end}\t2"],
    "table": ["start,end,label", "40,120,pour", "120,{end},stir"],
    "background too": ["0 40 idle", "40 120 pour", "120 {end} stir", "{end} {T} idle"],
    "out of order": ["120 {end} stir", "40 120 pour"]}


@pytest.mark.parametrize("form", STRETCHES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_stretches_of_time(root, form, end):
    expected = load(root)
    for name, T in [("a", 200), ("b", 224)]:
        lines = [line.format(end=T - 40, last=T - 41, seconds=(T - 40) / 25, T=T) for line in STRETCHES[form]]
        write_lines(root / "groundTruth" / f"{name}.txt", lines, end, end)
    assert same(load(root, fps=25), expected)
    if form == "seconds":
        with pytest.raises(ValueError, match="groundTruth/a.txt: fps expected, frames a second"):
            load(root)


def test_stretches_as_lists_and_whole_seconds(root):
    for name in "ab":
        write_lines(root / "groundTruth" / f"{name}.txt", ["2 5 pour", "5 7 stir"])
    with pytest.warns(UserWarning, match="a: annotation up to frame 7 of 200; times in seconds .* decimal point"):
        datasets.load_segmentation_folder(root, background_name="idle", frames=1, window=1)
    (root / "groundTruth").rename(root / "transcripts")
    assert [t.tolist() for t in load(root).transcripts] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("lines, message", [
    (["40 120 pour", "100 160 stir"], "found 100 to 160 .number 2"), (["40 20 pour"], "found 40 to 20"),
    (["40 120 swim"], "line 1: a name of mapping.txt expected, found 'swim'"),
    (["0 99999999999 pour"], "found 0 to 1e"), (["40 120 pour", "stir"], "line 1: a name of mapping.txt")])
def test_faults_of_stretches(root, lines, message):
    write_lines(root / "groundTruth" / "a.txt", lines)
    with pytest.raises(ValueError, match=f"groundTruth/a.txt.*{message}"):
        load(root)


def test_stretches_without_background(root):
    for name, T in [("a", 200), ("b", 224)]:
        write_lines(root / "groundTruth" / f"{name}.txt", ["0 40 idle", "40 120 pour", f"120 {T - 40} stir",
                                                           f"{T - 40} {T} idle"])
    assert datasets.load_segmentation_folder(root, background_name=None)[0].transcript.tolist() == [0, 1, 2, 0]
    write_lines(root / "groundTruth" / "a.txt", ["0 40 idle", "50 120 pour"])
    with pytest.raises(ValueError, match="a label for every frame expected without background, .* frame 40"):
        datasets.load_segmentation_folder(root, background_name=None)


def test_frames_of_clips_are_returned(tmp_path):  # case 9: 206 frames at 25 fps last 8.24 s
    clips, n_frames = load(simple(tmp_path / "set", (206, 224)), return_frames=True)
    assert clips.lengths.tolist() == [21, 22] and n_frames.tolist() == [206, 224]
    rows = datasets.segments(np.zeros(43, int), clips, seconds_per_interval=10 / 25, durations=n_frames / 25)
    assert [row["end_seconds"] for row in rows] == [8.24, 8.96]


def test_two_spellings_of_one_name(root):  # case 10
    composed = "Rührei"
    decomposed = unicodedata.normalize("NFD", composed)
    (root / "features" / "a.npy").rename(root / "features" / f"{decomposed}.npy")
    (root / "groundTruth" / "a.txt").rename(root / "groundTruth" / f"{composed}.txt")
    write_lines(root / "splits" / "s", [composed])
    write_lines(root / "mapping.txt", ["0 idle", f"1 {decomposed}", "2 stir"])
    lines = [line.replace("pour", composed) for line in truth_of(200)]
    write_lines(root / "groundTruth" / f"{composed}.txt", lines)
    clips = load(root, split="s")
    assert clips.clip_names == [composed] and clips.action_names == [composed, "stir"]


@pytest.mark.parametrize("lines", [["0 idle", "1 ", "2 stir"], ["0 idle", "", "1 pour"]])
def test_an_empty_name_is_a_fault(root, lines):  # case 10
    write_lines(root / "mapping.txt", lines)
    with pytest.raises(ValueError, match="mapping.txt: (?s:.*)line 2: a number and a name expected"):
        load(root)


def test_bad_value_names_the_frame(root):  # case 11
    X = np.load(root / "features" / "a.npy")
    X[3, 7] = X[5, 9] = np.nan
    np.save(root / "features" / "a.npy", X)
    with pytest.raises(ValueError, match="features/a.npy: finite .* nan in frame 7, column 3 and 1 more times"):
        load(root)


@pytest.mark.parametrize("change", [
    lambda X: np.asfortranarray(X), lambda X: X.astype(">f4"), lambda X: X.astype("f2"), lambda X: X.astype(">f8"),
    lambda X: (20 * X).astype("i1"), lambda X: (20 * X).astype(">i4"), lambda X: X > 0])
def test_arrays_of_every_kind(root, change):
    for name in "ab":
        X = change(np.load(root / "features" / f"{name}.npy"))
        np.save(root / "features" / f"{name}.npy", X)
    clips = load(root, frames=1, window=1)
    assert clips.features.dtype == (np.float64 if X.dtype.itemsize == 8 else np.float32)
    np.testing.assert_array_equal(clips[1].features, X.T)


def test_byte_order_mark_tabs_and_gaps(tmp_path):
    root = simple(tmp_path / "an odd name ä")
    expected = load(root)
    (root / "mapping.txt").write_bytes(b"\xef\xbb\xbf0\tidle\r\n17\tpour\r\n300\tstir\r\n")
    for path in (root / "groundTruth").iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert same(load(root), expected)


def test_background_inside_lists_and_single_actions(root):
    (root / "transcripts").mkdir()
    write_lines(root / "mapping.txt", ["0 SIL", "1 pour milk", "2 stir"])
    for name, T in [("a", 200), ("b", 224)]:
        lines = [{"idle": "SIL", "pour": "pour milk", "stir": "SIL"}[line] for line in truth_of(T)]
        write_lines(root / "groundTruth" / f"{name}.txt", lines)
        write_lines(root / "transcripts" / f"{name}.txt", ["SIL", "pour milk", "SIL"])
    clips = datasets.load_segmentation_folder(root, background_name="SIL", background="optional")
    assert [t.tolist() for t in clips.transcripts] == [[0], [0]] and clips.background == "optional"


def test_a_million_frames(tmp_path):
    root = simple(tmp_path / "set", (1_000_000,), d=2)
    assert load(root).lengths.tolist() == [100_000]
    assert load(root, frames=1, window=1).lengths.tolist() == [1_000_000]


@pytest.mark.parametrize("write", [
    lambda path, X: np.savez(path.with_suffix(".npz"), X),
    lambda path, X: np.savez(path.with_suffix(".npz"), a=1, X=X),
    lambda path, X: np.savetxt(path.with_suffix(".csv"), X.T, "%.9g", ","),
    lambda path, X: np.savetxt(path.with_suffix(".csv"), X.T, "%.9g", ";", "\r\n", "a;" * 15 + "b", comments=""),
    lambda path, X: np.savetxt(path.with_suffix(".csv"), X.T, "%.9g", "\t", header="\ufeffa", comments="",
                               encoding="utf-8")])
def test_features_in_other_files(root, write):
    expected = load(root)
    for name in "ab":
        path = root / "features" / f"{name}.npy"
        write(path, np.load(path))
        path.unlink()
    clips = load(root)
    np.testing.assert_allclose(clips.features, expected.features, rtol=1e-6, atol=1e-7)
    assert clips.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize("name, content, message", [
    ("a.csv", "1,2\n3,x\n", "numbers expected"), ("a.csv", "1,2\n3\n", "numbers expected"), ("a.csv", "", "a row"),
    ("a.csv", b"\xff\xfe1", "UTF-8")])
def test_faults_of_tables(root, name, content, message):
    (root / "features" / "a.npy").unlink()
    (root / "features" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=f"features/{name}: .*{message}"):
        load(root)


def test_one_file_for_each_clip(root):
    (root / "features" / "a.csv").write_text("1,2\n")
    with pytest.raises(ValueError, match="features/a.npy: one file for each clip expected, found a.csv too"):
        load(root)


# ------------------------------------------------------------------------------------------------ what broke
def header(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def shaped(shape, kind="<f4"):
    return header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n".encode()) + b"\0" * 960


@pytest.mark.parametrize("content", [
    b"PK\x03\x04 and no zip", header(b"{'descr': "), shaped("(True, 60)"), shaped("(10**9, 10**9)"),
    shaped("(1000000000000, 8000)"), shaped("(16, -1)"), shaped("(16, 200)", "|O"), shaped("(16,)"), shaped("()"),
    shaped("(0, 200)"), shaped("(16, 15)", "<U1"), shaped("(16, 15)", "<c8"), b"", b"\x93NUMPY",
    b"\x93NUMPY\x07\x00", header(b"(" * 3000), header(b"[" * 200 + b"\n")])
def test_damaged_arrays(root, content):
    (root / "features" / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match="1 fault(?s:.*)features/a.npy: .* expected, found"):
        load(root)


def test_pickles_are_never_loaded(root):
    np.save(root / "features" / "a.npy", np.array([[object()]]), allow_pickle=True)
    np.savez(root / "features" / "c.npz", np.array([[object()]]))
    with pytest.raises(ValueError, match="(?s)features/a.npy: .*features/c.npz: "):
        write_lines(root / "groundTruth" / "c.txt", ["idle"])
        load(root)


def test_archive_of_several_arrays(root):
    (root / "features" / "a.npy").unlink()
    np.savez(root / "features" / "a.npz", one=np.zeros((16, 200)), two=np.zeros(3))
    with pytest.raises(ValueError, match=r"features/a.npz: .*\['one', 'two'\], none of them features or X"):
        load(root)


@pytest.mark.parametrize("path", ["features/a.npy", "groundTruth/a.txt", "mapping.txt"])
def test_a_pipe_does_not_hang(root, path):
    (root / path).unlink()
    os.mkfifo(root / path)
    with pytest.raises(ValueError, match=f"{path}: a regular file expected"):
        load(root)


def test_a_bad_byte_joins_the_list(root):
    (root / "groundTruth" / "a.txt").write_bytes(b"idle\n\xff\n")
    (root / "features" / "b.npy").write_bytes(b"")
    with pytest.raises(ValueError, match="(?s)2 faults.*groundTruth/a.txt: a text file in UTF-8.*features/b.npy"):
        load(root)


def test_a_long_mapping_takes_linear_time(root):
    more = [f"{i} action {i}" for i in range(3, 40_000)]
    write_lines(root / "mapping.txt", ["0 idle", "1 pour", "2 stir", *more])
    start = time.process_time()
    datasets._reading.read_mapping(root / "mapping.txt", "idle")
    assert time.process_time() - start < 1
    with pytest.raises(ValueError, match="background_name: .* and 39990 more, found 'SIL'") as caught:
        datasets.load_segmentation_folder(root, background_name="SIL")
    assert len(str(caught.value)) < 1000


def test_long_lines_are_cut_in_messages(root):
    write_lines(root / "groundTruth" / "a.txt", ["x" * 10**6])
    write_lines(root / "groundTruth" / "b.txt", ["9" * 5000])
    with pytest.raises(ValueError, match="(?s)2 faults") as caught:
        load(root)
    assert len(str(caught.value)) < 2000
    write_lines(root / "mapping.txt", ["9" * 5000 + " idle"])
    with pytest.raises(ValueError, match="line 1: a number and a name expected"):
        load(root)


def test_many_notes_are_cut(tmp_path):
    root = simple(tmp_path / "set", (203, 227))
    for i in range(30):
        (root / "features" / f"c{i}.npy").write_bytes((root / "features" / "a.npy").read_bytes())
        write_lines(root / "groundTruth" / f"c{i}.txt", truth_of(200))
    with pytest.warns(UserWarning, match="and 10 more"):
        datasets.load_segmentation_folder(root, background_name="idle")


# ------------------------------------------------ new recordings of known actions, and the interval that fits
def test_classes_as_a_model_knows_them(tmp_path):
    """Whatever the numbers of the folder, and without its mapping.txt."""
    root = make_folder(tmp_path / "set", make_clips())
    known = {"background_name": "background", "action_names": ["stir", "sit", "pour milk", "take cup"]}
    expected = [[3, 2], [0, 0]]
    clips = datasets.load_segmentation_folder(root, **known)
    assert clips.action_names == known["action_names"] and [t.tolist() for t in clips.transcripts] == expected
    write_lines(root / "groundTruth" / "b.txt", frames_of(("7", 20), ("1", 30), ("7", 30), ("1", 20)))
    assert [t.tolist() for t in datasets.load_segmentation_folder(root, **known).transcripts] == expected
    write_lines(root / "groundTruth" / "b.txt", make_clips()["b"][1])
    (root / "mapping.txt").unlink()
    assert [t.tolist() for t in datasets.load_segmentation_folder(root, **known).transcripts] == expected
    with pytest.raises(ValueError, match="groundTruth/b.txt, line 1: .* found 'stir'"):
        datasets.load_segmentation_folder(root, **known | {"action_names": ["pour milk", "take cup"]})


def test_features_alone(tmp_path):
    root = make_folder(tmp_path / "set", make_clips())
    for name in ("a clip", "b"):
        (root / "groundTruth" / f"{name}.txt").unlink()
    (root / "mapping.txt").unlink()
    for background_name in ("background", None):
        clips, n_frames = datasets.load_segmentation_folder(
            root, action_names=["stir"], background_name=background_name, lists=False, d=5, return_frames=True)
        assert clips.labels is None and [t.tolist() for t in clips.transcripts] == [[0], [0]]
        assert n_frames.tolist() == [100, 100] and clips.clip_names == ["a clip", "b"]


@pytest.mark.parametrize("run, frames", [(4, 1), (100, 5), (200, 10), (800, 10)])
def test_frames_that_fit(tmp_path, run, frames):
    truth = frames_of(("stir", run), ("pour milk", run))
    root = make_folder(tmp_path / "set", {"a": (np.ones((len(truth), 5)), truth, None)})
    assert datasets.frames_that_fit(root) == frames


def test_frames_that_fit_leave_the_shortest_clip_its_list(tmp_path):
    long = frames_of(("stir", 300), ("pour milk", 300))
    short = frames_of(("stir", 4), ("pour milk", 5))
    made = {name: (np.random.default_rng(0).normal(size=(len(truth), 5)), truth, None)
            for name, truth in [("a", long), ("b", long), ("c", short)]}
    root = make_folder(tmp_path / "set", made)
    assert datasets.frames_that_fit(root) == 2
    (root / "groundTruth" / "c.txt").write_text("stir\nfly\n")
    with pytest.raises(ValueError, match="groundTruth/c.txt, line 2"):
        datasets.frames_that_fit(root)


def test_frames_that_fit_where_features_stand_for_many_frames(tmp_path):
    truth = frames_of(("stir", 3000), ("pour milk", 3000))
    root = make_folder(tmp_path / "set", {"a": (np.ones((240, 5)), truth, None)})
    assert datasets.frames_that_fit(root) == 1


# ------------------------------------------------------------------------------------------- odd arguments
@pytest.mark.parametrize("arguments", [
    {name: value} for name in ("frames", "window", "tolerance", "d", "fps") for value in
    ("10", b"1", -1, True, np.nan, [25], 1j, *((2.5,) if name != "fps" else (0, np.inf)))]
    + [{"frames": None}, {"frames": 10**30, "window": 1}, {"background_name": 3}, {"background_name": b"idle"},
       {"background_name": ["idle", 3]}, {"layout": ["dT"]}, {"layout": "td"}, {"background": "nowhere"},
       {"split": 3}, {"split": b"s"}, {"split": "x" * 5000}, {"split": "a\0b"}, {"split": ""}, {"split": ".."}])
def test_odd_arguments_are_named(root, arguments):
    with pytest.raises(ValueError, match=f"{list(arguments)[-1]}.*expected|must be one of"):
        datasets.load_segmentation_folder(root, **{"background_name": "idle"} | arguments)


def test_intervals_longer_than_any_clip(root):
    write_lines(root / "groundTruth" / "a.txt", ["stir"] * 200)
    write_lines(root / "groundTruth" / "b.txt", ["stir"] * 224)
    clips = load(root, frames=10**30, window=10**31, background="optional")
    assert clips.lengths.tolist() == [1, 1] and clips.labels.tolist() == [1, 1]
    assert len(set(map(tuple, load(root, window=10**30)[0].features))) == 1  # each window is the clip


@pytest.mark.parametrize("value", [3, None, b"set"])
def test_an_odd_root(value):
    with pytest.raises(ValueError, match="root: a path expected, found"):
        datasets.load_segmentation_folder(value)


# ------------------------------------------------------------------------------------------- memory and names
def peak_of(root, **arguments):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as caught:
            load(root, **arguments)
        return tracemalloc.get_traced_memory()[1], str(caught.value)
    finally:
        tracemalloc.stop()


def test_a_far_end_takes_no_memory(tmp_path):
    """Labels up to frame 190 million for 200,000 frames of features: 1.5 GB from a line."""
    root = simple(tmp_path / "set", (200_000, 224), d=4)
    write_lines(root / "groundTruth" / "a.txt", ["0 190000000 pour"])
    peak, message = peak_of(root)
    assert peak < 50e6 and "groundTruth/a.txt: stretches" in message


def test_one_long_number_among_many_lines(root):
    lines = [f"{i} {i + 1} pour" for i in range(20_000)] + ["9" * 5000 + " 1 pour"]
    write_lines(root / "groundTruth" / "a.txt", lines)
    peak, message = peak_of(root)
    assert peak < 50e6 and "groundTruth/a.txt: stretches" in message


def test_a_table_of_a_line_of_names(root):
    (root / "features" / "a.npy").unlink()
    (root / "features" / "a.csv").write_text("height,speed\n")
    with pytest.raises(ValueError, match="features/a.csv: .*expected, found"):
        load(root)


@pytest.mark.parametrize("folder", ["features", "groundTruth"])
def test_names_of_files_that_are_no_text(root, folder):
    with open(os.fsencode(root / folder) + b"/\xff.npy", "wb"):
        pass
    with pytest.raises(ValueError, match=f"{folder}: names of files in UTF-8 expected, found '.*udcff.npy'"):
        load(root)


def test_text_files_of_old_systems(root):
    """Carriage returns alone, and with a line feed and a byte order mark, in every text file."""
    expected = load(root)
    for mark, end in [(b"", b"\r"), (b"\xef\xbb\xbf", b"\r\n")]:
        for path in [root / "mapping.txt", *(root / "groundTruth").iterdir()]:
            text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            path.write_bytes(mark + text.replace(b"\n", end))
        assert same(load(root), expected)


def test_a_bad_byte_in_a_split_file(root):
    (root / "splits" / "s").write_bytes(b"a\n\xff\n")
    with pytest.raises(ValueError, match="splits/s: a text file in UTF-8 expected"):
        load(root, split="s")
