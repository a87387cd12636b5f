"""Loaders: the same clips from every variant of a file, and every fault named with file, variable and clip."""

import csv
import os

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from ordering import Clips, datasets
from tests.conftest import DATA, reference_clips

FULL = DATA / "full_dataset.mat"


# ---------------------------------------------------------------------------------------- MAT files
def cell(entries, shape=None):
    """A MATLAB cell, a column unless `shape` says otherwise."""
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape or (-1, 1))


def structs(transcripts):
    """Struct array (1, n) with a field actid, actions counted from 1."""
    array = np.empty((1, len(transcripts)), dtype=[("actid", object)])
    for i, transcript in enumerate(transcripts):
        array[0, i]["actid"] = np.array([transcript], dtype=float) + 1
    return array


def one_hot(labels, n_classes=17):
    return np.eye(n_classes)[labels]


def make_parts(n_clips=3, single_action=False, seed=0):
    """Features, labels and transcripts of a few random clips of 16 actions."""
    rng = np.random.default_rng(seed)
    features, labels, transcripts = [], [], []
    for _ in range(n_clips):
        transcript = rng.permutation(16)[:1 if single_action else rng.integers(1, 4)]
        states = np.full(2 * len(transcript) + 1, 16)
        states[1::2] = transcript
        label = np.repeat(states, rng.integers(1, 5, size=len(states)))
        features.append(rng.standard_normal((len(label), 6)).astype(np.float32))
        labels.append(label)
        transcripts.append(transcript)
    return features, labels, transcripts


def full_variables(features, labels, transcripts):
    return {"X": cell(features), "Y": cell([one_hot(y) for y in labels]), "hw3": structs(transcripts)}


def split_variables(features, labels, transcripts):
    rows = np.random.default_rng(1)
    return {"X": np.concatenate(features).astype(float), "Y": cell([one_hot(y) for y in labels]),
            "annot": cell([np.array([t], dtype=float) + 1 for t in transcripts], (1, -1)),
            "hw3": structs(transcripts), "Xtest": rows.standard_normal((7, 6)),
            "Ytest": one_hot(rows.integers(0, 17, 7))}


def save_v73(path, variables):
    """Write as MATLAB 7.3 does: HDF5 behind 512 bytes, axes reversed, references into the group #refs#."""
    kinds = {"f8": "double", "f4": "single", "u1": "uint8", "b1": "logical"}
    with h5py.File(path, "w", userblock_size=512) as file:
        references = file.create_group("#refs#")

        def point_to(value):
            name = f"a{len(references)}"
            write(references, name, value)
            return references[name].ref

        def write(group, name, value):
            if isinstance(value, np.ndarray) and value.dtype.names:
                item = group.create_group(name)
                for field in value.dtype.names:
                    if value.size == 1:
                        write(item, field, value.ravel()[0][field])
                    else:
                        write_references(item, field, value[field])
                kind = "struct"
            elif value.dtype == object:
                item, kind = write_references(group, name, value), "cell"
            elif value.size == 0:
                item, kind = group.create_dataset(name, data=np.array(value.shape, np.uint64)), "double"
                item.attrs["MATLAB_empty"] = np.uint8(1)
            else:
                stored = value.T.astype(np.uint8) if value.dtype == bool else value.T
                item, kind = group.create_dataset(name, data=stored), kinds[value.dtype.str[1:]]
            item.attrs["MATLAB_class"] = np.bytes_(kind)

        def write_references(group, name, values):
            item = group.create_dataset(name, values.T.shape, dtype=h5py.ref_dtype)
            for place in np.ndindex(values.shape):
                item[place[::-1]] = point_to(values[place])
            return item

        for name, value in variables.items():
            write(file, name, value)
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def save_v5(path, variables):
    savemat(path, variables, do_compression=True)


SAVERS = {"v5": save_v5, "v7.3": save_v73}


@pytest.fixture(params=SAVERS)
def save(request, tmp_path):
    def write(variables):
        path = tmp_path / "set.mat"
        SAVERS[request.param](path, variables)
        return path
    return write


def assert_same(clips, features, labels, transcripts):
    np.testing.assert_array_equal(clips.features, np.concatenate(features))
    np.testing.assert_array_equal(clips.labels, np.concatenate(labels))
    np.testing.assert_array_equal(clips.lengths, [len(y) for y in labels])
    assert [t.tolist() for t in clips.transcripts] == [list(t) for t in transcripts]
    assert (clips.n_actions, clips.background, clips.background_class) == (16, "around", 16)


def per_clip(clips):
    return [clip.features for clip in clips], [clip.labels for clip in clips], clips.transcripts


def test_reference_set():
    clips = datasets.load_willow(FULL)
    expected = reference_clips(range(60), dtype=np.float32)
    assert_same(clips, *per_clip(expected))
    assert len(clips) == 60 and clips.features.dtype == np.float32
    assert datasets.load_willow(str(FULL), background="between").background == "between"


def test_reference_set_as_v73(tmp_path):
    mat = loadmat(FULL, squeeze_me=False)
    save_v73(tmp_path / "full.mat", {name: mat[name] for name in ("X", "Y", "hw3")})
    old, new = datasets.load_willow(FULL), datasets.load_willow(tmp_path / "full.mat")
    assert_same(new, *per_clip(old))
    assert new.features.dtype == np.float32 and new.features.flags.c_contiguous


@pytest.mark.parametrize("n_clips", [1, 3])
@pytest.mark.parametrize("single_action", [False, True])
@pytest.mark.parametrize("layout", [full_variables, split_variables])
def test_few_clips_and_single_actions(save, layout, n_clips, single_action):
    parts = make_parts(n_clips, single_action)
    clips = datasets.load_willow(save(layout(*parts)))
    assert_same(clips, *parts)
    assert clips.features.dtype == (np.float32 if layout is full_variables else np.float64)


def test_test_matrices(save):
    parts = make_parts()
    variables = split_variables(*parts)
    clips, X_test, Y_test = datasets.load_willow(save(variables), return_test=True)
    assert_same(clips, *parts)
    np.testing.assert_array_equal(X_test, variables["Xtest"])
    np.testing.assert_array_equal(Y_test, variables["Ytest"])


def test_variants_of_the_split_file(save):
    features, labels, transcripts = make_parts()
    variables = split_variables(features, labels, transcripts)
    without_annot = {name: value for name, value in variables.items() if name != "annot"}
    as_cell = variables | {"X": cell(features, (1, -1)), "annot": variables["annot"].reshape(-1, 1)}
    logical = variables | {"Y": cell([one_hot(y).astype(bool) for y in labels])}
    for changed in (without_annot, as_cell, logical):
        assert_same(datasets.load_willow(save(changed)), features, labels, transcripts)


def test_single_clip_without_cells(save):
    (X,), (y,), (transcript,) = parts = make_parts(1)
    path = save({"X": X, "Y": one_hot(y), "annot": np.array([transcript + 1.0])})
    assert_same(datasets.load_willow(path), *parts)


def test_sparse_labels_and_no_action(tmp_path):
    features, labels, transcripts = make_parts(2)
    features, labels, transcripts = features + [features[0][:2]], labels + [np.array([16, 16])], transcripts + [[]]
    variables = full_variables(features, labels, transcripts)
    variables["Y"] = cell([sp.csc_matrix(one_hot(y)) for y in labels])
    save_v5(tmp_path / "sparse.mat", variables)
    assert_same(datasets.load_willow(tmp_path / "sparse.mat"), features, labels, transcripts)
    variables["Y"] = cell([one_hot(y) for y in labels])
    save_v73(tmp_path / "empty.mat", variables)
    assert_same(datasets.load_willow(tmp_path / "empty.mat"), features, labels, transcripts)


def change(variables, name, place, value):
    changed = variables[name].copy()
    changed[place] = value
    return variables | {name: changed}


def faulty_files():
    features, labels, transcripts = make_parts(3)
    good = split_variables(features, labels, transcripts)
    full = full_variables(features, labels, transcripts)
    Y1, X2 = one_hot(labels[1]), features[2].copy()
    Y1[2], X2[1, 3] = 0, np.nan
    return {
        "no Y": ({k: v for k, v in full.items() if k != "Y"}, "a variable Y expected"),
        "no X": ({k: v for k, v in full.items() if k != "X"}, "a variable X expected"),
        "no transcripts": ({k: full[k] for k in "XY"}, "annot or hw3"),
        "row without a class": (change(full, "Y", (1, 0), Y1), "Y, clip 1, row 2"),
        "two classes": (change(full, "Y", (2, 0), np.ones_like(one_hot(labels[2]))), "Y, clip 2, row 0"),
        "columns": (change(full, "Y", (1, 0), one_hot(labels[1], 18)), "Y, clip 1: 17 columns expected"),
        "rows of a clip": (change(full, "X", (1, 0), features[1][1:]), "X, clip 1: shape"),
        "width of a clip": (change(full, "X", (1, 0), features[1][:, 1:]), "X, clip 1: shape"),
        "clips": (full | {"X": full["X"][:2]}, "X: a cell of 3 clips expected"),
        "rows": (good | {"X": good["X"][1:]}, "X: [0-9]+ rows expected"),
        "Y without borders": (good | {"Y": np.concatenate(list(good["Y"].ravel()))}, "Y: a cell of 3 matrices"),
        "nan": (change(full, "X", (2, 0), X2), "clip 2: finite features .*found nan in its row 1.*column 3"),
        "action 0": (change(good, "annot", (0, 1), np.array([[0.0, 2.0]])), "annot, clip 1: action numbers from 1"),
        "action 1.5": (change(good, "annot", (0, 1), np.array([[1.5]])), "annot, clip 1: action numbers"),
        "action 17": (change(good, "annot", (0, 1), np.array([[17.0]])), r"clip 1: actions in \[0, 16\)"),
        "other actions": (change(full, "hw3", (0, 0), structs([[15, 14, 13]])[0, 0]), "clip 0: action runs"),
        "no actid": (full | {"hw3": np.zeros((1, 3), dtype=[("name", "f8")]).astype([("name", object)])}, "actid"),
    }


@pytest.mark.parametrize("fault", faulty_files())
def test_fault_in_a_mat_file(tmp_path, fault):
    variables, message = faulty_files()[fault]
    save_v5(tmp_path / "bad.mat", variables)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load_willow(tmp_path / "bad.mat")
    assert "bad.mat" in str(caught.value)


def test_all_faulty_clips_are_listed(tmp_path):
    features, labels, transcripts = make_parts(4)
    variables = full_variables(features, labels, transcripts)
    for i in (1, 3):
        variables["Y"][i, 0][0] = 0.5
    save_v5(tmp_path / "bad.mat", variables)
    with pytest.raises(ValueError, match="(?s)Y, clip 1, row 0.*Y, clip 3, row 0"):
        datasets.load_willow(tmp_path / "bad.mat")


def test_test_matrices_missing_or_wrong(tmp_path):
    good = split_variables(*make_parts())
    for changed, message in [({"Xtest": good["Xtest"][:, 1:]}, "Xtest: a matrix of 6 columns"),
                             ({"Ytest": good["Ytest"][1:]}, "Xtest, Ytest: equally many rows")]:
        save_v5(tmp_path / "bad.mat", good | changed)
        with pytest.raises(ValueError, match=message):
            datasets.load_willow(tmp_path / "bad.mat", return_test=True)
    with pytest.raises(ValueError, match="Xtest.*found none"):
        datasets.load_willow(FULL, return_test=True)


def test_files_that_are_no_mat_files(tmp_path):
    whole = FULL.read_bytes()
    v73 = tmp_path / "whole.mat"
    save_v73(v73, full_variables(*make_parts()))
    contents = {"text": b"not a MAT file\n" * 50, "empty": b"", "cut": whole[:len(whole) // 2],
                "cut v7.3": v73.read_bytes()[:3000]}
    for content in contents.values():
        (tmp_path / "bad.mat").write_bytes(content)
        with pytest.raises(ValueError, match="bad.mat"):
            datasets.load_willow(tmp_path / "bad.mat")
    with pytest.raises(FileNotFoundError):
        datasets.load_willow(tmp_path / "absent.mat")


def test_background_of_willow_labels():
    with pytest.raises(ValueError, match="background must be"):
        datasets.load_willow(FULL, background=None)


# --------------------------------------------------------------------------------- segmentation folders
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
    edges = datasets._intervals(n_frames, 10)
    assert np.diff(edges).tolist() == lengths and edges[0] == 0
    windows = datasets._windows(edges, 10, 30)
    assert all(0 <= w.start < w.stop <= n_frames and w.start <= edge for w, edge in
               zip(windows, edges[:-1], strict=True))


def test_majority_and_its_tie():
    labels = np.array([4, 4, 4, 1, 1, 1, 0, 0, 0, 0, 2, 2, 5])
    assert datasets._majority(labels, np.array([0, 6, 13])).tolist() == [4, 0]


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


# ------------------------------------------------------------------------------- motion-capture recordings
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


# --------------------------------------------------------------------------------------- labels to files
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
