"""Sentences as Python values: their columns, checked and turned into texts and numbers; labels that are known before.

A sentence is a mapping of column → values, or a sequence of tokens; a token is a mapping of column → value, the values
in declared order, or, where there is one column, a text. Not here: files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tagger_texts import parts_of

Sentence: TypeAlias = Mapping[str, Sequence[Any]] | Sequence[Any]
FREE = "_"  # a label that is not known, whatever mark it has declared


class TaggerError(ValueError):
    """Input that cannot be tagged, or a model file that cannot be read."""


class Column(NamedTuple):
    """A declared column. source: its key in JSON lines.   type: `str`, `bag`, `float`, `int` or `vector` of `size`.
    missing: the mark of numbers that are not there, None if all are.   assignments: of `scores`, the names of what they
    are of, in their order; empty if nothing reads the column.
    """

    name: str
    source: str
    type: str
    size: int | None
    missing: str | None = None
    assignments: tuple[str, ...] = ()


class Label(NamedTuple):
    """A label: its states, and how its cells say that a value is unknown or one of several."""

    name: str
    states: tuple[str, ...]
    others: str | None
    missing: str | None
    ambiguous: str | None

    def allowed(self, cell: str | None) -> list[int]:
        """The numbers of the states that a cell of known labels allows; empty if it says nothing."""
        marks = (FREE, self.missing, None)
        if cell in marks or cell is None:
            return []
        members = [cell]
        if cell not in self.states and self.ambiguous and self.ambiguous in cell:
            members = cell.split(self.ambiguous)
            if any(member in marks for member in members):
                return []
        known = [self.others if self.others and member not in self.states else member for member in members]
        for member in known:
            if member not in self.states:
                raise TaggerError(f"label `{self.name}` has the value `{member}`, which the model does not know")
        return sorted({self.states.index(member) for member in known})


# columns ------------------------------------------------------------------------------------------------------------


def columns_of(sentence: Sentence, columns: Sequence[Column], optional: Sequence[str]) -> dict[str, list[Any]]:
    """The values of each column of a sentence. `optional` ones may be absent; they are left out then."""
    if isinstance(sentence, Mapping):
        found = {column.name: _listed(sentence[column.source], column) for column in columns
                 if column.source in sentence}  # fmt: skip
    elif isinstance(sentence, list | tuple):
        found = _of_tokens(sentence, columns, optional)
    else:
        raise TaggerError(f"found {shown(sentence)}, expected a sentence: columns with lists, or a list of tokens")
    absent = [f"`{column.name}`" for column in columns if column.name not in {*found, *optional}]
    if absent and (found or len(sentence)):
        raise TaggerError(f"a sentence lacks {', '.join(absent)}")
    lengths = {len(values) for values in found.values()}
    if len(lengths) > 1:
        listed = ", ".join(f"`{name}` has {len(values)}" for name, values in found.items())
        raise TaggerError(f"columns of unequal length: {listed}")
    return {c.name: CHECKS[c.type](found[c.name], c) for c in columns if c.name in found}


def _listed(values: Any, column: Column) -> list[Any]:
    if isinstance(values, np.ndarray):
        return list(values)
    if not isinstance(values, list | tuple):
        raise TaggerError(f"column `{column.name}`: found {shown(values)}, expected a list")
    return list(values)


def _of_tokens(tokens: Sequence[Any], columns: Sequence[Column], optional: Sequence[str]) -> dict[str, list[Any]]:
    if not tokens:
        return {}
    if all(isinstance(token, Mapping) for token in tokens):
        given = [column for column in columns if all(column.source in token for token in tokens)]
        return {column.name: [token[column.source] for token in tokens] for column in given}
    rows = [(token,) if isinstance(token, str) else token for token in tokens]
    if not all(isinstance(row, list | tuple) for row in rows):
        raise TaggerError(f"found {shown(rows[0])}, expected a token: all mappings, or all lists of values")
    needed = [column for column in columns if column.name not in optional]
    layout = next((one for one in (needed, columns) if len(one) == len(rows[0])), needed)
    odd = next((row for row in rows if len(row) != len(layout)), None)
    if odd is not None:
        names = " ".join(column.name for column in layout)
        raise TaggerError(f"found a token of {len(odd)} values, expected {len(layout)} (`{names}`)")
    return {column.name: [row[n] for row in rows] for n, column in enumerate(layout)}


def _texts(values: list[Any], column: Column) -> list[str]:
    for value in values:
        if not isinstance(value, str):
            raise TaggerError(f"column `{column.name}`: found {shown(value)}, expected a text")
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise TaggerError(f"column `{column.name}`: {value!r} holds half a surrogate pair, which is no text")
    return values


def _bags(values: list[Any], column: Column) -> list[str]:
    """Texts as they are, and lists of texts joined by spaces."""
    joined = [value if isinstance(value, str) else " ".join(_texts(_listed(value, column), column)) for value in values]
    return _texts(joined, column)


def _number(value: Any, column: Column) -> float:
    """A finite number, or a text of ASCII digits that spells one. NaN where it is missing, and may be."""
    number = math.nan
    if column.missing is not None and _is_missing(value, column.missing):
        return number
    plain = not isinstance(value, str) or (value.isascii() and "_" not in value)
    if plain and isinstance(value, str | Real) and not isinstance(value, bool | np.bool_):
        with suppress(ValueError, OverflowError):
            number = float(value)
    if not math.isfinite(number):
        raise TaggerError(f"column `{column.name}`: found {shown(value)}, expected a finite number")
    if column.type == "int" and not number.is_integer():
        raise TaggerError(f"column `{column.name}`: found {shown(value)}, expected a whole number")
    return number


def _is_missing(value: Any, mark: str) -> bool:
    if isinstance(value, str):
        return value == mark or value.lower() in ("nan", "null")
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, Real) and value != value)
    )


def _vector(value: Any, column: Column) -> list[float]:
    """A list of numbers; numbers in a text, with commas or spaces between; or the digits 0 and 1."""
    parts: Any = value
    if isinstance(value, str):
        parts = (
            list(value) if len(value) == column.size and set(value) <= {"0", "1"} else value.replace(",", " ").split()
        )
    if not isinstance(parts, list | tuple | np.ndarray) or len(parts) != column.size:
        raise TaggerError(f"column `{column.name}`: found {shown(value)}, expected {column.size} numbers")
    return [_number(part, column) for part in parts]


def _scores(value: Any, column: Column) -> list[float]:
    """A number or -inf for each assignment: in their order, nested or in a text, or by their names."""
    if not column.assignments:
        return []
    given = value
    if isinstance(value, str):
        parts = value.replace(",", " ").split()
        named = bool(parts) and all(":" in part for part in parts)
        given = {name: score for name, _, score in (part.rpartition(":") for part in parts)} if named else parts
    if isinstance(given, Mapping) and {*given} == {*column.assignments}:
        given = [given[name] for name in column.assignments]
    numbers = [] if isinstance(given, Mapping) else list(_flat(given))
    if len(numbers) != len(column.assignments):
        listed = ", ".join(column.assignments[:5]) + (", …" if len(column.assignments) > 5 else "")
        message = f"found {shown(value)}, expected {len(column.assignments)} scores, those of {listed}"
        raise TaggerError(f"column `{column.name}`: {message}")
    return [
        -math.inf if str(number).lower() in ("-inf", "-infinity") else _number(number, column) for number in numbers
    ]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _weighted_bag(value: Any, column: Column) -> tuple[tuple[str, float], ...]:
    """Names with weights: of a text of items `name:weight`, of a list of names, or of a mapping. Equal names add up."""
    found: dict[str, float] = {}
    if isinstance(value, str):
        items = [_item_of_text(text, column) for text in parts_of(value)]
    elif isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray):
        items = list(_items(value, "", column))
    else:
        raise TaggerError(f"column `{column.name}`: found {shown(value)}, expected names, or names with weights")
    for name, weight in items:
        found[name] = found.get(name, 0.0) + weight
        if not math.isfinite(found[name]):
            raise TaggerError(f"column `{column.name}`: the weights of `{name}` add up to no finite number")
    return tuple(found.items())


def _item_of_text(text: str, column: Column) -> tuple[str, float]:
    r"""`name`, `name:0.5` or, with escapes, `12\:30:2`."""
    name, weight = [], ""
    characters = iter(text)
    for character in characters:
        if character == ":":
            weight = "".join(characters)
            break
        name.append(next(characters, "\\") if character == "\\" else character)
    return "".join(name), _number(weight, column) if weight else 1.0


def _items(value: Any, prefix: str, column: Column) -> Iterator[tuple[str, float]]:
    """A number is the weight of its name, a text makes `name:text`, a list or mapping names that begin with `name:`."""
    named = value.items() if isinstance(value, Mapping) else ((name, 1.0) for name in value)
    for name, inner in named:
        (text,) = _texts([name], column)
        if isinstance(inner, str):
            yield f"{prefix}{text}:{inner}", 1.0
        elif isinstance(inner, bool | np.bool_):
            yield prefix + text, float(inner)
        elif isinstance(inner, Real):
            yield prefix + text, _number(inner, column)
        elif isinstance(inner, Mapping | list | tuple | set | frozenset):
            yield from _items(inner, f"{prefix}{text}:", column)
        else:
            raise TaggerError(f"column `{column.name}`: found {shown(inner)}, expected a number, a text or a list")


def _each(check: Callable[[Any, Column], Any]) -> Callable[[list[Any], Column], list[Any]]:
    return lambda values, column: [check(value, column) for value in values]


CHECKS: Mapping[str, Callable[[list[Any], Column], list[Any]]] = {
    "str": _texts, "bag": _bags, "float": _each(_number), "int": _each(_number), "vector": _each(_vector),
    "weighted_bag": _each(_weighted_bag), "scores": _each(_scores),
}  # fmt: skip


def numbers_of(values: list[Any], size: int, length: int) -> NDArray[np.float64]:
    """The numbers of B sentences of T tokens, [B, T] or [B, T, size of a vector]."""
    flat = np.array(values, np.float64)
    return flat.reshape(size, length, *flat.shape[1:])


def shown(value: Any) -> str:
    """A value for a message, cut if it is long."""
    text = repr(value)
    return f"`{text if len(text) <= 60 else text[:57] + '…'}`"
