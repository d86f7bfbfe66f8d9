"""Vectors of numbers: the value of a `vector(n)` column at a token, from a text or from Python values.

A text holds n numbers separated by commas or spaces, or exactly n characters `0` and `1`. Numbers are kept in double
precision, like those of `float` columns. Problems are raised as `ValueError`s that say "found …, expected …". Not here:
their place in a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, shortened

_BITS = frozenset("01")


def vector_of_text(text: str, size: int) -> Floats:
    """`0,1,0.5`, `0 1 0.5` or, for zeros and ones, `010`, as an array [size]. ValueError for any other text."""
    if len(text) == size and _BITS.issuperset(text):
        return np.frombuffer(text.encode(), np.uint8).astype(np.float64) - ord("0")
    parts = text.replace(",", " ").split()
    if len(parts) != size:
        if len(text) > 1 and _BITS.issuperset(text):
            raise ValueError(f"found {len(text)} zeros and ones in {shown(text)}, expected {size}")
        raise ValueError(f"found {_counted(len(parts))} in {shown(text)}, expected {size}")
    try:
        vector = np.array(parts, np.float64)
    except ValueError:
        vector = np.full(size, np.nan)
    if np.isfinite(vector).all() and _is_plain(text):
        return vector
    return np.array([_member(part, place, number_of_text) for place, part in enumerate(parts, 1)])


def vectors_of_values(values: Sequence[Any] | NDArray[Any], size: int) -> Floats:
    """The vectors of T tokens, [T, size], from an array or a list of arrays, of lists of numbers or of texts."""
    vectors = _plain_array(values)
    if vectors is not None and vectors.shape == (len(values), size) and np.isfinite(vectors).all():
        return np.array(vectors, np.float64)  # a copy: the caller's array may change
    return np.array([_vector_of_value(value, size) for value in values]).reshape(-1, size)


def _plain_array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """The values as an array of numbers, if no value needs to be checked by itself; else None.

    NumPy reads a boolean among numbers as 0 or 1; only arrays of booleans alone are accepted as vectors.
    """
    if any(isinstance(value, list | tuple) and bool in set(map(type, value)) for value in values):
        return None
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # unequal lengths
        return None
    return array if array.dtype.kind in "iuf" or (array is values and array.dtype.kind == "b") else None


def _vector_of_value(value: Any, size: int) -> Floats:
    if isinstance(value, str):
        return vector_of_text(value, size)
    if not isinstance(value, list | tuple | np.ndarray) or np.ndim(value) != 1:
        raise ValueError(f"found {shown(value)}, expected a list of numbers")
    if len(value) != size:
        raise ValueError(f"found {_counted(len(value))} in {shown(value)}, expected {size}")
    if isinstance(value, np.ndarray) and value.dtype.kind == "b":
        return value.astype(np.float64)
    return np.array([_member(part, place, _number_of_value) for place, part in enumerate(value, 1)])


def _number_of_value(value: Any) -> float:
    if isinstance(value, str):
        return number_of_text(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ValueError(f"found {shown(value)}, expected a number")
    try:
        return _finite(float(value), shown(value))
    except OverflowError:
        raise ValueError(f"found {shown(value)}, which is larger than any number here") from None


def number_of_text(text: str) -> float:
    """The finite number that a text spells; ValueError for any other text."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"found {shown(text)}, expected a number") from None
    if not _is_plain(text):
        raise ValueError(f"found {shown(text)}, expected a number of the digits 0 to 9 alone")
    return _finite(number, shown(text))


def _is_plain(text: str) -> bool:
    """Whether numbers have the common spelling: Python also accepts `1_000` and the digits of any script."""
    return text.isascii() and "_" not in text


def _finite(number: float, written: str) -> float:
    if not math.isfinite(number):
        raise ValueError(f"found {written}, expected a finite number")
    return number


def _member(value: Any, place: int, number: Callable[[Any], float]) -> float:
    try:
        return number(value)
    except ValueError as error:
        raise ValueError(f"number {place}: {error}") from None


def _counted(numbers: int) -> str:
    return "1 number" if numbers == 1 else f"{numbers} numbers"


def shown(value: object) -> str:
    """A value for a message, cut if it is long."""
    return f"`{shortened(value)}`"
