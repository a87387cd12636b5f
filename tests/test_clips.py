"""Clips: what is accepted, and every fault named with its clip."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from ordering import Clips


def make(features=None, lengths=(5, 4), transcripts=((0, 1), (1,)), n_actions=2, **kwargs):
    N = int(np.sum(lengths))
    return Clips(np.zeros((N, 3)) if features is None else features, lengths, transcripts, n_actions, **kwargs)


@pytest.mark.parametrize("background, states, n_classes, background_class", [
    ("around", [2, 0, 2, 1, 2], 3, 2), ("between", [0, 2, 1], 3, 2), (None, [0, 1], 2, None)])
def test_states(background, states, n_classes, background_class):
    clips = make(background=background)
    assert clips.states(0).tolist() == states
    assert (clips.n_classes, clips.background_class) == (n_classes, background_class)


def test_arguments_are_attributes_and_are_not_modified():
    X = np.arange(27, dtype=np.float32).reshape(9, 3)
    lengths, labels = np.array([5, 4]), np.array([2, 0, 2, 1, 2, 2, 1, 1, 2])
    copies = X.copy(), lengths.copy(), labels.copy()
    clips = Clips(X, lengths, [[0, 1], [1]], 2, labels=labels, action_names=["walk", "sit"], clip_names=["a", "b"])
    assert clips.features is X and clips.features.dtype == np.float32
    for given, copy in zip((X, lengths, labels), copies, strict=True):
        np.testing.assert_array_equal(given, copy)
    assert [t.tolist() for t in clips.transcripts] == [[0, 1], [1]]
    assert clips.transcripts[0].dtype.kind == "i"
    assert clips.action_names == ["walk", "sit"] and clips.clip_names == ["a", "b"]
    assert len(clips) == 2 and clips.background == "around" and clips.n_actions == 2
    clip = clips[1]
    np.testing.assert_array_equal(clip.features, X[5:])
    np.testing.assert_array_equal(clip.labels, labels[5:])
    assert clip.transcript.tolist() == [1] and clip.name == "b" and clips.subset([1])[0].name == "b"
    np.testing.assert_array_equal(clips[-1].features, clip.features)
    with pytest.raises(IndexError):
        clips[2]


def test_subset_keeps_the_order_given():
    X = np.arange(9.0)[:, None]
    clips = Clips(X, [2, 3, 4], [[0], [1], [2]], 3, background=None, labels=[0, 0, 1, 1, 1, 2, 2, 2, 2],
                  clip_names=["a", "b", "c"])
    picked = clips.subset([2, 0])
    assert picked.features.ravel().tolist() == [5, 6, 7, 8, 0, 1]
    assert picked.labels.tolist() == [2, 2, 2, 2, 0, 0]
    assert picked.lengths.tolist() == [4, 2] and picked.clip_names == ["c", "a"]
    assert picked.states(0).tolist() == [2]
    masked = clips.subset(np.array([False, True, True]))
    assert masked.features.ravel().tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert np.shares_memory(masked.features, X)
    assert len(clips.subset([])) == 0
    for wrong in ([3], [True, False], [0.5]):
        with pytest.raises(ValueError, match="expected"):
            clips.subset(np.array(wrong))


def test_sparse_and_memory_mapped_features_are_kept(tmp_path):
    X = sp.random(9, 3, density=0.5, format="csr", random_state=0)
    clips = make(X)
    assert sp.issparse(clips.features) and clips[1].features.shape == (4, 3)
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(9, 3))
    assert make(mapped).features is mapped
    assert isinstance(make(mapped).subset([1]).features, np.memmap)


def test_from_list_takes_names():
    X = [np.zeros((3, 2)), np.ones((4, 2))]
    clips = Clips.from_list(X, [["sit"], ["walk", "sit"]], background=None, action_names=["walk", "sit"],
                            labels=[[1, 1, 1], [0, 0, 1, 1]])
    assert [t.tolist() for t in clips.transcripts] == [[1], [0, 1]]
    assert clips.lengths.tolist() == [3, 4] and clips.labels.tolist() == [1, 1, 1, 0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"clip 1.*'jump'"):
        Clips.from_list(X, [["sit"], ["jump"]], action_names=["walk", "sit"])
    with pytest.raises(ValueError, match=r"clip 1.*\(4, 3\)"):
        Clips.from_list([np.zeros((3, 2)), np.zeros((4, 3))], [[0], [0]], n_actions=1)
    with pytest.raises(ValueError, match="n_actions"):
        Clips.from_list(X, [[0], [0]])


@pytest.mark.parametrize("labels, transcript", [
    ([2, 0, 0, 1, 2], [0, 1]),      # touching actions
    ([0, 0, 0, 1, 1], [0, 1]),      # no background at all
    ([0, 0, 0, 0, 0], [0, 0]),      # equal neighbours as one run
    ([0, 2, 0, 2, 2], [0, 0]),      # or as two
    ([2, 2, 2, 2, 2], []),
])
def test_labels_that_fit(labels, transcript):
    make(lengths=[5], transcripts=[transcript], labels=labels)


@pytest.mark.parametrize("labels, transcript", [
    ([2, 0, 2, 1, 2], [1, 0]), ([2, 0, 2, 0, 2], [0]), ([2, 2, 2, 2, 2], [0]), ([2, 0, 2, 2, 2], [])])
def test_labels_that_do_not_fit(labels, transcript):
    with pytest.raises(ValueError, match="clip 0: action runs"):
        make(lengths=[5], transcripts=[transcript], labels=labels)


@pytest.mark.parametrize("kwargs, words", [
    ({"transcripts": [[0, 1]]}, ["transcripts: 2 expected", "found 1"]),
    ({"features": np.zeros((8, 3))}, ["a sum of 8 expected", "found 9"]),
    ({"lengths": [9, 0]}, ["clip 1", "found 0"]),
    ({"lengths": [10, -1]}, ["clip 1", "found -1"]),
    ({"lengths": [5.5, 3.5]}, ["lengths", "ints expected"]),
    ({"transcripts": [[0, 2], [1]]}, ["clip 0", "[0, 2)", "[2]"]),
    ({"transcripts": [[0.5], [1]]}, ["clip 0", "ints expected"]),
    ({"labels": [0] * 8}, ["labels: 9 expected", "found 8"]),
    ({"labels": [2, 0, 2, 1, 3, 2, 1, 2, 2]}, ["clip 0", "[0, 3)", "[3]"]),
    ({"labels": [2, 0, 2, 1, 2, 2, -1, 2, 2]}, ["clip 1", "[-1]"]),
    ({"action_names": ["a"]}, ["action_names: 2 expected", "found 1"]),
    ({"action_names": ["a", "a"]}, ["'a'"]),
    ({"clip_names": ["a"]}, ["clip_names: 2 expected"]),
    ({"background": "everywhere"}, ["background", "everywhere"]),
    ({"n_actions": 0}, ["n_actions", "0"]),
    ({"features": np.zeros(9)}, ["(N, d)", "(9,)"]),
    ({"background": None, "transcripts": [[0, 1], []]}, ["clip 1", "at least one action"]),
])
def test_faults_say_what_was_expected_and_found(kwargs, words):
    with pytest.raises(ValueError) as error:
        make(**kwargs)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_feature_that_is_not_finite(value, kind):
    X = np.zeros((9, 3))
    X[6, 2] = value
    with pytest.raises(ValueError, match=r"clip 1 .*row 1 \(row 6 of all\), column 2") as error:
        make(kind(X), clip_names=["a", "b"])
    assert "b" in str(error.value)


def test_too_short_for_its_background():
    advice = 'S = 5 .*K = 2 .*T = 4; background="between", "optional" or None would fit'
    with pytest.raises(ValueError, match=advice):
        make(lengths=[4, 5], transcripts=[[0, 1], [1]])
    with pytest.raises(ValueError, match='T = 2; background="optional" or None would fit'):
        make(lengths=[2, 5])
    with pytest.raises(ValueError, match="T = 1$"):
        make(lengths=[1, 5])


def test_all_faults_of_all_clips_in_one_error():
    X = np.zeros((9, 3))
    X[0, 0] = np.nan
    with pytest.raises(ValueError) as error:
        Clips(X, [3, 4, 2], [[0, 1], [5], [0.5]], 2, labels=[2, 0, 2, 2, 1, 1, 7, 2, 2], clip_names=["a", "b", "c"])
    text = str(error.value)
    for word in ["clip 0 (a)", "clip 1 (b)", "clip 2 (c)", "nan", "[5]", "[7]", "T = 3", "ints expected"]:
        assert word in text
    assert "5 faults" in text or "6 faults" in text or "7 faults" in text


def test_after_twenty_faults_a_count():
    with pytest.raises(ValueError) as error:
        Clips(np.zeros((60, 1)), [2] * 30, [[0]] * 30, 1)
    assert "30 faults" in str(error.value) and "and 10 more" in str(error.value)
    assert str(error.value).count("clip ") == 20


def test_an_empty_transcript_is_all_background():
    clips = make(lengths=[5], transcripts=[[]])
    assert clips.states(0).tolist() == [2]


def test_faults_before_and_after_stacking_come_together():
    X = np.zeros((7, 2))
    X[1, 0] = np.nan
    with pytest.raises(ValueError) as error:
        Clips.from_list([X[:5], X[5:]], [["x", "zz"], ["y"]], action_names=["x", "y"], clip_names=["a", "b"])
    for word in ["clip 0 (a): names", "'zz'", "clip 1 (b): T >= 3", "clip 0 (a): finite"]:
        assert word in str(error.value)


def test_a_wrong_sum_hides_no_other_fault():
    X = np.zeros((9, 2))
    X[3, 1] = np.inf
    with pytest.raises(ValueError) as error:
        Clips(X, [5, 5], [[0, 7], [1]], 2)
    for word in ["a sum of 9", "[7]", "inf in row 3, column 1"]:
        assert word in str(error.value)


def test_many_bad_features_of_a_clip_are_one_fault_with_a_count():
    with pytest.raises(ValueError, match=r"(?s)2 faults.*clip 0: .*nan.* and 99 more times.*clip 1"):
        Clips(np.full((9, 20), np.nan), [5, 4], [[0, 1], [1]], 2)


def test_states_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        make().states(0)[:] = 1


def test_optional_background_needs_an_interval_an_action():
    clips = Clips(np.zeros((5, 1)), [2, 3], [[0, 1], []], 2, background="optional", labels=[0, 1, 2, 2, 2])
    assert clips.states(0).tolist() == [2, 0, 2, 1, 2] and clips.states(1).tolist() == [2]
    assert (clips.n_classes, clips.background_class) == (3, 2)
    with pytest.raises(ValueError, match="T >= 2 .*found T = 1"):
        Clips(np.zeros((1, 1)), [1], [[0, 1]], 2, background="optional")


def test_clips_without_labels_among_labelled_ones():
    clips = Clips.from_list([np.zeros((2, 1)), np.zeros((3, 1))], [[0], [1]], 2, background=None,
                            labels=[None, [1, 1, 1]])
    assert clips.labels.tolist() == [-1, -1, 1, 1, 1]
    with pytest.raises(ValueError, match=r"labels in \[0, 2\) expected, found \[-1\]"):
        Clips(np.zeros((2, 1)), [2], [[0]], 2, background=None, labels=[-1, 0])


@pytest.mark.parametrize("features, message", [
    (np.full((9, 2), 1e200), "finite features expected, found 1e"),
    (np.full((9, 2), 1e30, np.float32), "finite features expected, found 1.0"),
    (np.zeros((9, 0)), "at least one column expected"),
])
def test_features_that_no_sum_of_squares_survives(features, message):
    with pytest.raises(ValueError, match=message):
        Clips(features, [5, 4], [[0], [0]], 1)


def test_lengths_that_wrap_around_and_sparse_indices_outside():
    with pytest.raises(ValueError, match="a sum of 5 expected.*found 18446744073709551621"):
        Clips(np.zeros((5, 1)), [2**62] * 4 + [5], [[0]] * 5, 1)
    for outside in (50, -1):
        X = sp.csr_matrix(np.eye(9))
        X.indices[3] = outside
        with pytest.raises(ValueError, match="a valid CSR matrix expected"):
            make(X)


def test_every_bad_number_is_counted_without_a_loop_over_them():
    with pytest.raises(ValueError, match="clip 1.*row 0 .*and 299999 more times"):
        Clips(np.vstack([np.zeros((5, 50)), np.full((6000, 50), np.nan)]), [5, 6000], [[0], [0]], 1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("optional", [{}, {"labels": np.zeros(9, int), "action_names": ["\u00e4"],
                                           "clip_names": ["a", "b b"]}])
@pytest.mark.parametrize("background", ["around", "between", "optional", None])
def test_saved_clips_are_the_same_when_loaded(tmp_path, sparse, optional, background):
    X = np.eye(9, 3) if sparse else np.arange(27, dtype=np.float32).reshape(9, 3) + 1
    clips = Clips(X, [5, 4], [[0], [0]], 1, background=background, **optional)
    clips.save(tmp_path / "clips.npz")
    again = Clips.load(tmp_path / "clips.npz")
    assert repr(again) == repr(clips) and again.features.dtype == clips.features.dtype
    np.testing.assert_array_equal(again.features.toarray() if sparse else again.features, X)
    assert [t.tolist() for t in again.transcripts] == [t.tolist() for t in clips.transcripts]
    for name in ("lengths", "labels", "action_names", "clip_names"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clips, name))
    (tmp_path / "clips.npz").write_bytes((tmp_path / "clips.npz").read_bytes()[:200])
    with pytest.raises(ValueError, match="a file of Clips.save expected"):
        Clips.load(tmp_path / "clips.npz")


def test_slices_masks_and_other_features():
    clips = make(labels=[2, 0, 2, 1, 2, 2, 1, 1, 2])
    assert clips.n_intervals == 9 and len(clips[1:]) == 1 and clips[1:].lengths.tolist() == [4]
    assert clips.mask([1]).tolist() == [False] * 5 + [True] * 4
    other = clips.with_features(np.ones((9, 7)))
    assert other.features.shape == (9, 7) and other.labels is not None and other.background == "around"
    with pytest.raises(ValueError, match="a sum of 8"):
        clips.with_features(np.ones((8, 1)))
    assert clips.place(6) == "clip 1, its row 1"


def outside(matrix, name, place, value):
    """A sparse matrix whose own index leads out of it."""
    getattr(matrix, name)[place] = value
    return matrix


@pytest.mark.parametrize("kind, name, place, value", [
    (sp.csr_matrix, "indices", 3, 50), (sp.csr_matrix, "indices", 3, 10**8), (sp.csr_matrix, "indptr", 4, -5),
    (sp.csr_matrix, "indptr", 4, 10**8), (sp.csr_matrix, "indptr", 9, 10**6),
    (sp.csc_matrix, "indices", 3, 10**8), (sp.csc_matrix, "indices", 3, -1), (sp.csc_matrix, "indptr", 4, 10**8),
    (sp.bsr_matrix, "indices", 3, 10**8), (sp.coo_matrix, "row", 3, 10**8), (sp.coo_matrix, "col", 3, -1)])
@pytest.mark.parametrize("build", [make, lambda X: Clips.from_list([X], [[0, 1]], 2)])
def test_sparse_indices_outside_are_found_before_they_are_used(kind, name, place, value, build):
    X = outside(kind(np.eye(9)), name, place, value)
    with pytest.raises(ValueError, match="features: a valid CSR matrix expected"):
        build(X)


def test_a_bad_value_among_very_many_columns():
    X = sp.csr_matrix(([np.nan, 1.0, np.inf, np.nan], [10**6, 5, 3, 10**9], [0, 1, 2, 2, 2, 2, 3, 4, 4, 4]),
                      shape=(9, 2 * 10**9))
    with pytest.raises(ValueError, match="(?s)clip 0: .*nan in its row 0 .*column 1000000\n"
                                         ".*clip 1: .*inf in its row 0 .*column 3 and 1 more"):
        make(X)


@pytest.mark.parametrize("argument", ["lengths", "labels", "transcripts"])
def test_numbers_above_those_of_64_bits(argument):
    huge = np.array([2**64 - 1, 2**64 - 4], dtype=np.uint64)  # -1 and -4, if they wrapped around
    given = {"lengths": huge, "labels": np.full(9, huge[0]), "transcripts": [huge, [1]]}[argument]
    with pytest.raises(ValueError, match=r"ints below 2\*\*63 expected, found 18446744073709551615"):
        make(np.zeros((9, 3)), **{argument: given})


DAMAGE = {
    "row outside": {"indices": np.array([0, 50])}, "row negative": {"indices": np.array([0, -1])},
    "rows fall": {"indptr": np.array([0, 2, 1, 2, 2, 2, 2, 2, 2, 2])}, "too few": {"data": np.ones(1)},
    "rows negative": {"indptr": np.array([0, -5, 1, 2, 2, 2, 2, 2, 2, 2])}, "shape": {"shape": np.array([9])},
    "rows of text": {"indices": np.array(["0", "x"])}, "complex": {"data": np.ones(2, complex)},
    "actions, several": {"n_actions": np.array([2, 2])}, "actions, a fraction": {"n_actions": np.array(2.5)},
    "actions, text": {"n_actions": np.array("2")}, "lists negative": {"transcript_lengths": np.array([5, -2])},
    "lists too short": {"transcript_lengths": np.array([1, 1])}, "a list": {"transcripts": np.zeros((3, 1))},
    "lists wrap": {"transcript_lengths": np.array([2**62] * 4 + [3])},
    "lengths of lists as text": {"transcript_lengths": np.array(["2", "1"])},
    "labels": {"labels": np.full(9, 2**64 - 1, np.uint64)}, "background": {"background": np.array("x")},
    "pickle": {"action_names": np.array([None, "a"], dtype=object)}}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_of_clips(tmp_path, damage):
    path = tmp_path / "clips.npz"
    make(sp.csr_matrix((np.ones(2), [0, 1], [0, 1, 2, 2, 2, 2, 2, 2, 2, 2]), shape=(9, 3))).save(path)
    with np.load(path) as stored:
        parts = dict(stored)
    assert set(DAMAGE[damage]) <= {*parts, "labels", "action_names"}
    np.savez(path, **parts | DAMAGE[damage])
    with pytest.raises(ValueError, match="clips.npz: a file of Clips.save expected, found"):
        Clips.load(path)


def test_what_is_no_file_of_clips(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.npz"):
        Clips.load(tmp_path / "none.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    for path in (tmp_path / "pipe.npz", tmp_path):
        with pytest.raises(ValueError, match=f"{path.name}: a regular file expected"):
            Clips.load(path)
    np.save(tmp_path / "array.npz.npy", np.eye(3))
    (tmp_path / "array.npz.npy").rename(tmp_path / "array.npz")
    (tmp_path / "empty.npz").touch()
    make(np.ones((9, 3))).save(tmp_path / "good.npz")
    good = (tmp_path / "good.npz").read_bytes()
    assert b"'fortran_order': False, 'shape': (9, 3)" in good
    (tmp_path / "header.npz").write_bytes(good.replace(b"False, 'shape': (9, 3)", b"Fal \\ 'shape': (9, 3)"))
    for path in (tmp_path / "array.npz", tmp_path / "empty.npz", tmp_path / "header.npz"):
        with pytest.raises(ValueError, match=f"{path.name}: a file of Clips.save expected, found"):
            Clips.load(path)


@pytest.mark.parametrize("arguments, message", [
    ({"lengths": [], "transcripts": [], "features": np.zeros((0, 3))}, "lengths: at least one clip expected"),
    ({"transcripts": 3}, "transcripts: a sequence expected, found 3"),
    ({"labels": [[1], [1, 2]]}, "labels: a 1-D sequence of ints expected"),
    ({"features": [["x"] * 3] * 9}, "features of real numbers expected, found dtype <U1"),
    ({"features": np.zeros((9, 3), complex)}, "features of real numbers expected, found dtype complex128")])
def test_arguments_of_another_kind(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**{"features": np.zeros((9, 3))} | arguments)


@pytest.mark.parametrize("features", [[[1, 2, 3]] * 9, np.ones((9, 3), bool), np.ones((9, 3), ">f4"),
                                      sp.lil_matrix(np.ones((9, 3), np.int8)), sp.coo_array(np.ones((9, 3)))])
def test_other_numbers_become_float64(features):
    assert make(features).features.dtype == np.float64


def test_no_clip_at_all():
    with pytest.raises(ValueError, match="features: at least one clip expected, found an empty list"):
        Clips.from_list([], [])
