"""Checks of single arguments; every message reads "name: what is expected, found what was given"."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np


def is_integer(value: Any) -> bool:
    """True for Python's and NumPy's integers; truth values are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def integer(name: str, value: Any, least: int = 0) -> int:
    """The value as an int, if it is an integer of at least `least`.

    Examples
    --------
    >>> integer("n_iter", np.int64(3))
    3
    >>> integer("n_iter", -1)
    Traceback (most recent call last):
        ...
    ValueError: n_iter: an integer >= 0 expected, found -1
    """
    if not is_integer(value) or value < least:
        wanted = "a positive integer" if least == 1 else f"an integer >= {least}"
        raise ValueError(f"{name}: {wanted} expected, found {value!r}")
    return int(value)


def positive_integer(name: str, value: Any) -> int:
    """The value as an int, if it is an integer of at least 1."""
    return integer(name, value, least=1)


def number(name: str, value: Any, least: float | None = None, above: float | None = None) -> float:
    """The value as a float, if it is a finite real number, at least `least` and above `above`.

    Examples
    --------
    >>> number("lam", np.float32(0.5), above=0)
    0.5
    >>> number("lam", 0.0, above=0)
    Traceback (most recent call last):
        ...
    ValueError: lam: a finite number > 0 expected, found 0.0
    """
    try:
        found = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:
        found = np.inf
    low = (least is not None and found < least) or (above is not None and found <= above)
    if not np.isfinite(found) or low:
        bound = "" if least is None and above is None else f" >= {least}" if above is None else f" > {above}"
        raise ValueError(f"{name}: a finite number{bound} expected, found {value!r}")
    return found


def one_of(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """The value, if it is one of the choices.

    Examples
    --------
    >>> one_of("solver", "block", ["frank-wolfe", "block"])
    'block'
    """
    choices = list(choices)
    if value not in choices:
        raise ValueError(f"{name}: one of {choices} expected, found {value!r}")
    return value
