"""The checks of single arguments, and runs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordering._check import integer, number, one_of, positive_integer
from ordering._runs import runs


@pytest.mark.parametrize("value", [1, np.int32(1), np.uint8(1)])
def test_integers(value):
    assert type(positive_integer("n", value)) is int


@pytest.mark.parametrize("value", [0, -1, 1.0, True, np.True_, "1", None, np.ones(1, int)])
def test_not_positive_integers(value):
    with pytest.raises(ValueError, match="^n: a positive integer expected, found "):
        positive_integer("n", value)


def test_another_least_integer():
    assert integer("n", 0) == 0
    with pytest.raises(ValueError, match="^n: an integer >= 2 expected, found 1"):
        integer("n", 1, least=2)


@pytest.mark.parametrize("value", [2, 0.5, np.float32(0.5), np.int8(2), Fraction(1, 2)])
def test_numbers(value):
    found = number("lam", value, above=0)
    assert type(found) is float and found == value


@pytest.mark.parametrize("value", [0, -0.0, -1, np.nan, np.inf, True, "1", None, 1j, np.ones(2), 10**400])
def test_not_positive_numbers(value):
    with pytest.raises(ValueError, match="^lam: a finite number > 0 expected, found "):
        number("lam", value, above=0)


def test_bounds_of_numbers():
    assert number("x", 0, least=0) == 0 and number("x", -3) == -3
    for options, wanted in (({}, "a finite number expected"), ({"least": 0}, "a finite number >= 0 expected")):
        with pytest.raises(ValueError, match=wanted):
            number("x", -np.inf, **options)


def test_choices():
    assert one_of("match", "best", {"ordered": 1, "best": 2}) == "best"
    with pytest.raises(ValueError, match=r"^match: one of \['ordered'\] expected, found \[\]"):
        one_of("match", [], ["ordered"])


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), max_size=5))
def test_runs_are_those_of_a_loop(clips):
    expected, row = [], 0
    for labels in clips:
        for t, label in enumerate(labels):
            if t and labels[t - 1] == label:
                expected[-1][1] += 1
            else:
                expected.append([row, row + 1])
            row += 1
    labels = np.array(sum(clips, []), dtype=int)
    start, stop = runs(labels, np.cumsum([len(labels) for labels in clips], dtype=int))
    assert [*map(list, zip(start.tolist(), stop.tolist(), strict=True))] == expected
