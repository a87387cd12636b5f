"""Clips from a table with a row for each interval, and every fault named with its column, row or clip."""

import numpy as np
import pandas as pd
import pytest

from ordering import datasets


def table(**changes):
    """Clip a: idle, pour, stir; clip b: stir, without a label for pour."""
    columns = {"clip": ["a"] * 4 + ["b"] * 3, "x": np.arange(7.0), "y": np.arange(7),
               "what": ["idle", "pour", "pour", "stir", "stir", "stir", "idle"]}
    return pd.DataFrame(columns | changes)


def read(source, **arguments):
    return datasets.from_table(source, **({"action": "what", "background_name": "idle"} | arguments))


@pytest.mark.parametrize("kind", [lambda frame: frame, lambda frame: frame.to_dict("list"),
                                  lambda frame: frame.astype({"what": "category", "clip": "string", "y": "Int64"})])
def test_labels_and_lists_from_one_table(kind):
    clips = read(kind(table()))
    assert clips.clip_names == ["a", "b"] and clips.action_names == ["pour", "stir"]
    assert clips.labels.tolist() == [2, 0, 0, 1, 1, 1, 2] and clips.background == "optional"
    assert [t.tolist() for t in clips.transcripts] == [[0, 1], [1]]
    assert clips.features.dtype == np.float64 and clips.features[:, 0].tolist() == list(range(7))
    assert read(kind(table()), features=["y"]).features.shape == (7, 1)


def test_the_labels_found_fit_the_table():
    clips, source = read(table()), table()
    source["found"] = clips.labels
    assert source.groupby("found")["what"].first().tolist() == ["pour", "stir", "idle"]


@pytest.mark.parametrize("lists", [
    pd.DataFrame({"clip": ["b", "a", "a"], "what": ["stir", "pour", "stir"]}),
    {"a": ["pour", "stir"], "b": ["stir"]}])
def test_lists_of_their_own(lists):
    clips = read(table(), lists=lists)
    assert [t.tolist() for t in clips.transcripts] == [[0, 1], [1]]
    clips = read(table().drop(columns="what"), action=None,
                 lists=lists.rename(columns={"what": "action"}) if isinstance(lists, pd.DataFrame) else lists)
    assert clips.labels is None and clips.features.shape == (7, 2)


@pytest.mark.parametrize("empty", [None, np.nan, "", pd.NA, " "])
def test_clips_without_labels(empty):
    source = table(what=["idle", "pour", "pour", "stir"] + [empty] * 3)
    clips = read(source, lists={"b": ["idle", "stir"]})
    assert clips.labels.tolist() == [2, 0, 0, 1, -1, -1, -1]
    assert [t.tolist() for t in clips.transcripts] == [[0, 1], [1]]
    with pytest.raises(ValueError, match=r"clip 1 \(b\): labels or a list expected, found neither"):
        read(source)


def test_numbers_as_names_and_no_background():
    clips = read(table(clip=[7] * 4 + [9] * 3, what=[3.0, 1, 1, 2, 2, 2, np.nan][:6] + [3.0]), background_name=None)
    assert clips.clip_names == ["7", "9"] and clips.action_names == ["1", "2", "3"] and clips.background is None
    assert [t.tolist() for t in clips.transcripts] == [[2, 0, 1], [1, 2]]
    clips = read(table(), action_names=["stir", "pour", "rest"], background="between")
    assert clips.n_actions == 3 and clips.labels.tolist() == [3, 1, 1, 0, 0, 0, 3] and clips.background == "between"


@pytest.mark.parametrize("changes, arguments, message", [
    ({}, {"clip": "name"}, "a column 'name' expected, found .*'clip', 'x'"),
    ({}, {"features": ["x", "z"]}, "a column 'z' expected"), ({}, {"features": []}, "at least one column expected"),
    ({"x": list("1234567"), "y": list("123456x")}, {}, "column 'y': numbers expected, found .*'x'"),
    ({"clip": list("aabbaab")}, {}, "row 4: all rows of clip 'a' one after the other expected.*\n.*row 6.*'b'"),
    ({"clip": ["a"] * 6 + [None]}, {}, "row 6: the name of a clip expected"),
    ({"what": ["idle", None, "pour"] + ["stir"] * 4}, {}, r"clip 0 \(a\): a label in every row .* row 1"),
    ({}, {"action_names": ["pour"]}, r"action_names: all that occur expected, found none of \['stir'\]"),
    ({}, {"lists": {"a": ["pour", ""]}}, "lists, clip 'a': a name expected, found ''"),
    ({}, {"lists": {"c": ["pour"]}}, "lists: clips of the table expected, found 'c'"),
    ({}, {"lists": {"a": ["stir"], "b": ["stir"]}}, r"clip 0 \(a\): action runs"),
    ({"x": [0, 1, 2, 3, 4, np.inf, 6]}, {}, r"clip 1 \(b\): finite features .* \(row 5 of all\), column 0"),
    ({"x": np.ones(7) * 1j}, {}, "column 'x': numbers expected, found complex128"),
    ({"x": np.arange(7).astype("M8[D]")}, {}, "column 'x': numbers expected, found datetime64"),
    ({}, {"lists": {"a": "pour", "b": ["stir"]}}, "lists, clip 'a': a sequence of names expected, found 'pour'"),
    ({}, {"action": None, "features": ["x"]}, "labels or a list expected, found neither")])
def test_faults_of_tables(changes, arguments, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        read(table(**changes), **arguments)


@pytest.mark.parametrize("column, found", [(np.zeros((7, 2)), r"float64 of shape \(7, 2\)"),
                                           ([10**400] * 7, "int too large")])  # fmt: skip
def test_columns_that_no_table_of_pandas_has(column, found):
    with pytest.raises(ValueError, match=f"column 'x': numbers expected, found {found}"):
        read(table().to_dict("list") | {"x": column})


def test_columns_of_different_lengths():
    with pytest.raises(ValueError, match="column 'x': 7 rows expected, found 6"):
        read(table().to_dict("list") | {"x": [0.0] * 6})
