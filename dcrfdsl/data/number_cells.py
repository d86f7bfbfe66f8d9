"""Numbers and vectors of numbers, from texts or Python values: how they are written, and which are missing.

    how = NumberFormat.of(data)      # `missing = "?"` and `decimal = ","` of a `data` statement
    how.number("1,5")                # 1.5;  of "?" NaN

The value of a `vector(n)` column at a token is a text with n numbers separated by commas or spaces, or with exactly n
characters `0` and `1`. Numbers are kept in double precision. Problems are raised as `ValueError`s that say "found …,
expected …"; `BadNumbers` counts the cells of a column that hold none. Not here: columns (`columns`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..foundation import Diagnostic, Floats, dataclass, shortened
from ..semantics import missing_mark, plain
from ..syntax import ColumnType, DataSpec

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


def scores_of_text(text: str) -> tuple[list[float], tuple[str, ...]]:
    """The scores of `-0.5 2 -inf`, or `-0.5,2,-inf`; of `O:-0.5 B:2` also the states that they are of, else none."""
    parts = text.replace(",", " ").split()
    if parts and all(":" in part for part in parts):
        named = [part.rpartition(":") for part in parts]
        return _named([(name, _score_of_text(number)) for name, _, number in named])
    return [_score_of_text(part) for part in parts], ()


def scores_of_values(values: Sequence[Any] | NDArray[Any], of: ColumnType) -> tuple[Floats, tuple[str, ...]]:
    """The scores of T tokens, [T, n], and the states that they are of, if the values name them.

    values: an array [T, n], or with an axis for each of several variables, or a list of arrays, of lists of numbers,
    also nested, of mappings from states to numbers or of texts.
    """
    array = _plain_array(values)
    if array is not None and array.ndim > 1 and array.dtype.kind != "b":
        numbers = np.array(array, np.float64).reshape(len(array), -1)  # a copy: the caller's array may change
        _check_count(numbers.shape[1] if len(numbers) else of.size, of)
        return numbers, ()
    return scores_in_order([_scores_of_value(value) for value in values], of)


def _check_count(found: int | None, of: ColumnType) -> None:
    if of.size not in (None, found):
        states = f"those of the states of `{'` and `'.join(of.of)}`, in the order that `dcrfdsl check` shows"
        raise ValueError(f"found {_counted(found or 0)}, expected {of.size}: {states}")


def scores_in_order(
    read: Sequence[tuple[Sequence[float], tuple[str, ...]]], of: ColumnType
) -> tuple[Floats, tuple[str, ...]]:
    """Scores that were read one by one, as `scores_of_values` gives them.

    ValueError where there are more or fewer than states, or tokens differ in states.
    """
    for numbers, given in read:
        if not given:
            _check_count(len(numbers), of)
    if not read:
        return np.empty((0, 0)), ()
    first, names = read[0]
    rows = []
    for numbers, given in read:
        if len(numbers) != len(first) or len(given) != len(names) or {*given} != {*names}:
            found = " ".join(given) or _counted(len(numbers))
            expected = " ".join(names) or _counted(len(first))
            raise ValueError(f"found scores of {found} here, and of {expected} before: one of them is wrong")
        rows.append(numbers if given == names else [dict(zip(given, numbers, strict=True))[name] for name in names])
    return np.array(rows, np.float64), names


def _scores_of_value(value: Any) -> tuple[Sequence[float], tuple[str, ...]]:
    if isinstance(value, str):
        return scores_of_text(value)
    if isinstance(value, Mapping):
        return _named(list(_assignments(value)))
    array = _plain_array(value) if isinstance(value, list | tuple | np.ndarray) else None
    if array is not None and array.ndim and array.dtype.kind != "b":
        return array.astype(np.float64).ravel().tolist(), ()
    if not isinstance(value, list | tuple):
        raise ValueError(f"found {shown(value)}, expected a list of scores, or a mapping from states to scores")
    numbers: list[float] = []
    for part in value:
        numbers.extend(_scores_of_value(part)[0] if isinstance(part, list | tuple) else [_score_of_value(part)])
    return numbers, ()


def _assignments(value: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """Each assignment with its score: of `{"O": {"X": 1}}` that of `O X`."""
    for state, score in value.items():
        if isinstance(score, Mapping):
            yield from ((f"{state} {others}", number) for others, number in _assignments(score))
        else:
            yield str(state), _score_of_value(score)


def _named(scores: Sequence[tuple[str, float]]) -> tuple[list[float], tuple[str, ...]]:
    names = tuple(name for name, _ in scores)
    if len({*names}) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise ValueError(f"found two scores of {shown(twice)}")
    return [number for _, number in scores], names


def _score_of_value(value: Any) -> float:
    if isinstance(value, str):
        return _score_of_text(value)
    return float(value) if isinstance(value, float | np.floating) else _number_of_value(value)


def _score_of_text(text: str) -> float:
    """A number, or -inf: what else is no score is said where its token is known."""
    return number_of_text(text) if text.lower().lstrip("+-") not in ("inf", "infinity", "nan") else float(text)


def _plain_array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """The values as an array of numbers, if no value needs to be checked by itself; else None.

    NumPy reads a boolean among numbers as 0 or 1; only arrays of booleans alone are accepted as vectors.
    """
    if not isinstance(values, np.ndarray) and _holds_boolean(values):
        return None
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # unequal lengths
        return None
    return array if array.dtype.kind in "iuf" or (array is values and array.dtype.kind == "b") else None


def _holds_boolean(values: Sequence[Any]) -> bool:
    """Whether a boolean is among the values, or in a list among them."""
    types = {*map(type, values)}
    if types.isdisjoint((list, tuple)):
        return not types.isdisjoint((bool, np.bool_))
    return any(_holds_boolean(one) for one in values if isinstance(one, list | tuple))


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


NULL = "null"  # what stands for a value that a program does not have, where texts are read
_MISSING_WORDS = frozenset(("", "-", "--", ".", "?", "_", "*", "#n/a", "n/a", "na", "nan", "nil", "none", NULL))
_GAP = re.compile(r"\b(nan|null|none|na)\b", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_POINT = "."


def is_null(value: Any) -> bool:
    """Whether a Python value stands for none: None, or the marks of pandas that equal nothing."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a file are written: the mark of missing ones, None if none may be, and the decimal sign."""

    missing: str | None = None
    decimal: str = _POINT

    @classmethod
    def of(cls, data: DataSpec) -> NumberFormat:
        """As the options of a `data` statement say."""
        decimal = next((str(plain(option.value)) for option in data.options if option.name == "decimal"), _POINT)
        return cls(missing_mark(data), decimal)

    def number(self, text: str) -> float:
        """The finite number that a cell holds, NaN for a missing one. ValueError for any other text."""
        if self.missing is not None and (text == self.missing or text.lower() in ("nan", NULL)):
            return math.nan
        if self.decimal != _POINT:
            if _POINT in text:
                raise ValueError(f"found {shown(text)}, expected a number with a decimal comma")
            text = text.replace(self.decimal, _POINT)
        return number_of_text(text)

    def written(self, number: float, spell: Callable[[float], str]) -> str:
        """The cell of a number, the mark (or `nan`) of a missing one."""
        if math.isnan(number):
            return "nan" if self.missing is None else self.missing
        return spell(number).replace(_POINT, self.decimal)


@dataclass
class BadNumbers:
    """The cells of a column that hold no number, counted; the first of them is kept."""

    column: str
    type: ColumnType
    data: DataSpec
    count: int = 0
    first: tuple[str, str, int] = field(default=("", "", 0))  # its text, what is wrong with it, and its line

    def add(self, text: str, reason: str, line: int, count: int) -> None:
        """Counts cells of one block, of which the first is given."""
        self.first = self.first if self.count else (text, reason, line)
        self.count += count

    def diagnostic(self, file: str) -> Diagnostic:
        text, reason, line = self.first
        more = f" (the first of {self.count:,} such cells)" if self.count > 1 else ""
        message = f"column `{self.column}`: {reason}{more}"
        return Diagnostic("bad-value", message, location=f"{file}:{line}", help=self._remedy(text))

    def _remedy(self, text: str) -> str | None:
        how, is_word = NumberFormat.of(self.data), not any(char.isdigit() for char in text)
        if self.type.size is not None:
            gap = "a vector has all of its numbers: declare a column for each number that may be missing"
            return gap if text == "" or _GAP.search(text) else None
        if _COMMA.fullmatch(text) and how.decimal == _POINT:
            if self.data.format in ("csv", "tsv"):
                return 'if the comma is the decimal sign, declare `decimal = ","` in `data`'
            return "write a decimal point in place of the comma"
        if how.missing is None and is_word:
            mark = "" if text.lower() in ("nan", NULL) else text
            return f'if it stands for a number that is not known, declare `missing = "{mark}"` in `data`'
        if is_word:
            return f'missing are numbers that are written as `missing = "{how.missing}"` says, and `nan` and `null`'
        return f"correct it, or declare texts: `{self.column}` in place of `{self.column}: {self.type.name}`"
