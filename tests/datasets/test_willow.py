"""MAT files: the same clips from every variant, and every fault named with file, variable and clip."""

import os
import sys
import time

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from ordering import datasets
from ordering.datasets import _matlab
from tests.conftest import DATA, reference_clips

FULL = DATA / "sixty_clips.mat"


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


def test_optional_background():
    assert datasets.load_willow(FULL, background="optional").background == "optional"


# ----------------------------------------------------------------------------------------- damage and malice
def changed_v73(tmp_path, change):
    """A good file of version 7.3, changed: `change(file, item)` with the dataset of clip 0's features."""
    path = tmp_path / "bad.mat"
    save_v73(path, full_variables(*make_parts(2)))
    with h5py.File(path, "r+") as file:
        change(file, file[file["X"][0, 0]])
    return path


def sparse_group(data, rows, pointer, height=12):
    def change(file, item):
        name = item.name
        del file[name]
        group = file.create_group("new")
        group.attrs["MATLAB_sparse"], group.attrs["MATLAB_class"] = np.uint64(height), np.bytes_("double")
        for part, values in [("data", data), ("ir", rows), ("jc", pointer)]:
            group.create_dataset(part, data=np.array(values, np.float64 if part == "data" else np.int64))
        file["X"][0, 0] = group.ref
    return change


def replaced(make):
    """Clip 0's features are another object; `make(file)` gives it."""
    def change(file, item):
        file["X"][0, 0] = make(file).ref
    return change


def other_file(file):
    path = os.path.join(os.path.dirname(file.filename), "other")
    np.arange(48, dtype=np.uint8).tofile(path)
    return path


def external(file):
    return file.create_dataset("new", (12, 4), "u1", external=[(other_file(file), 0, 48)])


def virtual(file):
    with h5py.File(other_file(file) + ".h5", "w") as other:
        source = h5py.VirtualSource(other.create_dataset("x", (12, 4), data=np.ones((12, 4))))
    layout = h5py.VirtualLayout((12, 4), "f8")
    layout[:] = source
    return file.create_virtual_dataset("new", layout)


def doubling(file):
    item = file.create_dataset("deep", data=np.ones((3, 2)))
    for level in range(40):
        cell = file.create_dataset(f"cell{level}", (2,), h5py.ref_dtype)
        cell[:] = item.ref
        item = cell
    return item


def cyclic(file):
    cell = file.create_dataset("new", (1,), h5py.ref_dtype)
    cell[0] = cell.ref
    return cell


def marked_empty(file):
    item = file.create_dataset("new", data=np.array([12, 4], np.uint64))
    item.attrs["MATLAB_empty"] = np.uint8(1)
    return item


def text(file):
    item = file.create_dataset("new", data=np.ones((2, 3), np.uint16))
    item.attrs["MATLAB_class"] = np.bytes_("char")
    return item


def link(kind):
    def change(file, item):
        file.move("X", "hidden")
        file["X"] = h5py.SoftLink("/hidden") if kind == "soft" else h5py.ExternalLink(other_file(file), "/x")
    return change


DAMAGE = {
    "sparse, row far outside": sparse_group([1, 2], [10**7, 1], [0, 1, 2, 2, 2]),
    "sparse, row just outside": sparse_group([1, 2], [12, 1], [0, 1, 2, 2, 2]),
    "sparse, row negative": sparse_group([1, 2], [-1, 1], [0, 1, 2, 2, 2]),
    "sparse, columns fall": sparse_group([1, 2], [0, 1], [0, 2, 1, 2, 2]),
    "sparse, column negative": sparse_group([1, 2], [0, 1], [0, -5, 1, 2, 2]),
    "sparse, too few entries": sparse_group([1], [0], [0, 1, 2, 2, 2]),
    "sparse, no column": sparse_group([], [], []),
    "sparse, huge": sparse_group([], [], [0] * 1001, 10**15),
    "external storage": replaced(external), "virtual": replaced(virtual), "soft link": link("soft"),
    "external link": link("external"), "doubling": replaced(doubling), "cyclic": replaced(cyclic),
    "nothing stored": replaced(lambda file: file.create_dataset("new", (20_000, 20_000), "f8")),
    "no chunk stored": replaced(lambda file: file.create_dataset("new", (20_000, 20_000), "f8", chunks=(100, 100))),
    "more than any memory": replaced(lambda file: file.create_dataset("new", (2**30, 2**30), "f8")),
    "empty with a shape": replaced(marked_empty), "char": replaced(text),
    "h5py.Empty": replaced(lambda file: file.create_dataset("new", data=h5py.Empty("f8"))),
    "string": replaced(lambda file: file.create_dataset("new", data="abc")),
    "strings": replaced(lambda file: file.create_dataset("new", data=np.array([[b"a", b"b"]]))),
    "type": replaced(lambda file: file.__setitem__("new", np.dtype("f8")) or file["new"]),
    "complex": replaced(lambda file: file.create_dataset("new", data=np.ones((2, 3), complex))),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_v73(tmp_path, damage):
    path, start = changed_v73(tmp_path, DAMAGE[damage]), time.monotonic()
    with pytest.raises(ValueError, match="bad.mat: .*expected, .*found"):
        datasets.load_willow(path)
    assert time.monotonic() - start < 20


def test_sparse_v73(tmp_path):
    def change(file, item):
        dense = sp.csc_matrix(item[()].T)
        sparse_group(dense.data, dense.indices, dense.indptr, dense.shape[0])(file, item)
    features, labels, transcripts = make_parts(2)
    assert_same(datasets.load_willow(changed_v73(tmp_path, change)), features, labels, transcripts)


@pytest.mark.parametrize("variable", ["Y", "hw3"])
@pytest.mark.parametrize("make", [text, lambda file: file.create_dataset("new", data=h5py.Empty("f8"))])
def test_text_and_nothing_as_other_variables(tmp_path, variable, make):
    def change(file, item):
        place = file["Y"] if variable == "Y" else file["hw3/actid"]
        place[(0,) * place.ndim] = make(file).ref
    with pytest.raises(ValueError, match="bad.mat: .*expected, found"):
        datasets.load_willow(changed_v73(tmp_path, change))


@pytest.mark.parametrize("place, value", [("indices", 10**7), ("indices", 50), ("indices", -1), ("indptr", -5),
                                          ("indptr", 10**6)])
def test_sparse_indices_of_v5(tmp_path, place, value):
    features, labels, transcripts = make_parts(2)
    variables = full_variables(features, labels, transcripts)
    matrix = sp.csc_matrix(one_hot(labels[0]))
    variables["Y"] = cell([matrix, one_hot(labels[1])])
    savemat(tmp_path / "good.mat", variables)
    assert len(datasets.load_willow(tmp_path / "good.mat")) == 2
    good, numbers = (tmp_path / "good.mat").read_bytes(), getattr(matrix, place).astype("<i4")
    assert good.count(numbers.tobytes()) == 1
    bad = numbers.copy()
    bad[1] = value
    (tmp_path / "bad.mat").write_bytes(good.replace(numbers.tobytes(), bad.tobytes()))
    with pytest.raises(ValueError, match="bad.mat: "):
        datasets.load_willow(tmp_path / "bad.mat")


def test_v5_damaged_at_random(tmp_path):
    """Each of these either loads or is one ValueError; SciPy's reader alone crashes and hangs on such files."""
    save = tmp_path / "good.mat"
    savemat(save, full_variables(*make_parts(2)))
    good, rng, faults = np.frombuffer(save.read_bytes(), np.uint8), np.random.default_rng(0), 0
    for i in range(12):
        bad = good.copy()
        bad[rng.integers(128, 700 if i % 2 else len(bad), 6)] = rng.integers(0, 256, 6)
        (tmp_path / "bad.mat").write_bytes(bad.tobytes())
        try:
            datasets.load_willow(tmp_path / "bad.mat")
        except ValueError as error:
            faults += "bad.mat" in str(error)
    assert faults > 3


@pytest.mark.parametrize("body, seconds, message", [
    ("import os; os.abort()", 30, "damage that ends the reader"),
    ("import time; time.sleep(60)", 0.2, "nothing that can be read within 0 s"),
    ("print('{\"arrays\": 1, \"values\": 0}', flush=True)", 30, "expected, found"),
    ("print('x')", 30, "expected, found")])
def test_a_reader_that_crashes_or_hangs(tmp_path, monkeypatch, body, seconds, message):
    (tmp_path / "reader.py").write_text(body)
    (tmp_path / "bad.mat").write_bytes(b"x")
    monkeypatch.setattr(_matlab, "__file__", str(tmp_path / "reader.py"))
    monkeypatch.setattr(_matlab, "SECONDS", seconds)
    with pytest.raises(ValueError, match=f"bad.mat: .*{message}"):
        datasets.load_willow(tmp_path / "bad.mat")


def test_pipes_and_folders(tmp_path):
    os.mkfifo(tmp_path / "pipe.mat")
    for path in [tmp_path / "pipe.mat", tmp_path]:
        with pytest.raises(ValueError, match="a regular file expected"):
            datasets.load_willow(path)


def test_h5py_is_only_needed_for_v73(tmp_path, monkeypatch):
    save_v73(tmp_path / "set.mat", full_variables(*make_parts()))
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert len(datasets.load_willow(FULL)) == 60
    with pytest.raises(ImportError, match=r"h5py for MATLAB 7.3 files: pip install 'ordering\[mat\]'"):
        datasets.load_willow(tmp_path / "set.mat")


def test_one_matrix_many_times(tmp_path):
    """20,000 entries of a cell that are one matrix of 1 MB, 20 GB in all."""
    path = tmp_path / "bad.mat"
    with h5py.File(path, "w") as file:
        item = file.create_dataset("item", data=np.ones((64, 2000)), chunks=(64, 2000), compression="gzip")
        for name in "XY":
            cells = file.create_dataset(name, (20_000,), h5py.ref_dtype, data=np.full(20_000, item.ref, h5py.ref_dtype))
            cells.attrs["MATLAB_class"] = np.bytes_("cell")
        file["annot"] = np.ones((1, 1))
    with pytest.raises(ValueError, match="bad.mat: .*times the file's size expected, found more"):
        datasets.load_willow(path)


def test_cells_that_double_within_the_levels_allowed(tmp_path):
    """1,000 references to the same 1,000 references to the same: 10^9 entries in four levels."""
    def nested(file):
        item = file.create_dataset("deep", data=np.ones((3, 2)))
        for level in range(3):
            item = file.create_dataset(f"cell{level}", data=np.full(1000, item.ref, h5py.ref_dtype))
        return item
    start = time.monotonic()
    with pytest.raises(ValueError, match="bad.mat: .*times the file's size expected, found more"):
        datasets.load_willow(changed_v73(tmp_path, replaced(nested)))
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("save", ["v5", "v7.3"])
def test_a_sparse_matrix_of_almost_nothing(tmp_path, save):
    """One entry among 10^9: 8 GB once it is dense."""
    path = tmp_path / "bad.mat"
    if save == "v5":
        features, labels, transcripts = make_parts(2)
        variables = full_variables(features, labels, transcripts)
        variables["X"] = cell([sp.csc_matrix(([1.0], ([0], [0])), (10**6, 1000)), features[1]])
        savemat(path, variables)
    else:
        path = changed_v73(tmp_path, sparse_group([1], [0], [0] + [1] * 1000, 10**6))
    with pytest.raises(ValueError, match="bad.mat: .*a sparse matrix with more entries expected, found 1 of shape"):
        datasets.load_willow(path)


def test_test_matrices_of_text(tmp_path):
    good = split_variables(*make_parts())
    save_v5(tmp_path / "bad.mat", good | {"Ytest": np.array(["a" * 17] * len(good["Xtest"]), dtype="U17")})
    with pytest.raises(ValueError, match="bad.mat: Ytest: a matrix of 17 columns"):
        datasets.load_willow(tmp_path / "bad.mat", return_test=True)


def test_what_is_declared_and_not_stored_is_never_uninitialised_memory(tmp_path):
    """Small enough to be allowed; HDF5 then gives its fill value, even where the file says not to fill."""
    def unfilled(file):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple(file[file["X"][0, 0]].shape)
        return h5py.Dataset(h5py.h5d.create(file.id, b"new", h5py.h5t.IEEE_F64LE, space, plist))
    assert np.all(datasets.load_willow(changed_v73(tmp_path, replaced(unfilled)))[0].features == 0)


def test_labels_of_one_class(tmp_path):
    features, labels, transcripts = make_parts(2)
    variables = full_variables(features, labels, transcripts)
    variables["Y"] = cell([np.ones((len(part), 1)) for part in labels])
    save_v5(tmp_path / "bad.mat", variables)
    with pytest.raises(ValueError, match="(?s)bad.mat: .*Y: columns of at least one action and .*found 1"):
        datasets.load_willow(tmp_path / "bad.mat")


def test_structs_of_v73_without_actions(tmp_path):
    def change(file, item):
        del file["hw3/actid"]
    with pytest.raises(ValueError, match="bad.mat: hw3: structs with a field actid expected"):
        datasets.load_willow(changed_v73(tmp_path, change))
