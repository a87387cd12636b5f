"""MAT files: the same clips from every variant, and every fault named with file, variable and clip."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from ordering import datasets
from tests.conftest import DATA, reference_clips

FULL = DATA / "full_dataset.mat"


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
    with pytest.raises(ValueError, match="background: .* expected"):
        datasets.load_willow(FULL, background=None)
