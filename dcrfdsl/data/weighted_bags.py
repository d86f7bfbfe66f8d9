r"""Weighted bags: the value of a `weighted_bag` column at a token, from texts or from Python values.

An item is written `name` or `name:weight`; a colon in a name is written `\:` and a backslash `\\`, as in the data of
CRFsuite (chokkan.org/software/crfsuite/manual.html). A cell holds items separated by spaces. A Python value is such a
text, a list of names, or a mapping: a number is the weight of its name, a text makes `name:text` with weight 1, and a
list or mapping makes names that begin with `name:`. A name that comes twice has the sum of its weights. Problems are
raised as `ValueError`s that say "found …, expected …". Not here: their place in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from ..foundation import Codes, Floats, Ints, Offsets, parts_of
from .corpus import BagColumn, InternedColumn, joined_ranges
from .number_cells import number_of_text, shown

Item: TypeAlias = tuple[str, float]  # name, weight

_DEEPEST = 50  # mappings within mappings


def mapped(value: Any) -> Any:
    """A map, which Arrow gives as pairs, as a dict; lists of maps alike."""
    if not isinstance(value, list):
        return value
    if value and all(isinstance(item, tuple) for item in value):
        return dict(value)
    return [mapped(item) if isinstance(item, list) else item for item in value]


def item_of_text(text: str) -> Item:
    """`name`, `name:0.5` or, with escapes, `12\\:30:2`. ValueError if the weight is no finite number."""
    if ":" not in text and "\\" not in text:
        return text, 1.0
    name, weight = [], None
    characters = iter(text)
    for character in characters:
        if character == ":":
            weight = "".join(characters)
            break
        name.append(next(characters, "\\") if character == "\\" else character)
    if not weight:  # `name:` has no weight either
        return "".join(name), 1.0
    try:
        return "".join(name), number_of_text(weight)
    except ValueError as error:
        raise ValueError(f"{error} after the colon of {shown(text)}; a colon in a name is written `\\:`") from None


def text_of_item(name: str, weight: float) -> str:
    """The way back: `12\\:30:2`; a weight of 1 is not written."""
    return escaped(name) if weight == 1.0 else f"{escaped(name)}:{weight!r}"


def escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


def unescaped(text: str) -> str:
    """What a text without a weight says: a backslash takes the next character as it is."""
    return re.sub(r"\\(.)", r"\1", text)


def items_of_value(value: Any) -> list[Item]:
    """The items of a token that a program or a JSON file gives. ValueError for any other value."""
    if isinstance(value, str):
        return [item_of_text(text) for text in parts_of(value)]
    if not isinstance(value, Mapping | list | tuple | AbstractSet | np.ndarray):
        raise ValueError(f"found {shown(value)}, expected names, or a mapping from names to weights")
    return list(_items(value, "", 0))


def _items(value: Any, prefix: str, depth: int) -> Iterator[Item]:
    if depth > _DEEPEST:
        raise ValueError(f"found mappings nested more than {_DEEPEST} deep in `{prefix[:20]}…`")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _item(prefix + _name(name), inner, depth)
    else:
        for name in (
            sorted(value, key=str) if isinstance(value, AbstractSet) else value
        ):  # the order of a set is by chance
            yield prefix + _name(name), 1.0


def _item(name: str, value: Any, depth: int) -> Iterator[Item]:
    if isinstance(value, str):
        yield f"{name}:{value}", 1.0
    elif isinstance(value, Real | np.bool_):
        try:
            weight = float(value)
        except OverflowError:
            weight = np.inf
        if not np.isfinite(weight):
            raise ValueError(f"found {shown(value)} for `{name}`, expected a finite number")
        yield name, weight
    elif isinstance(value, Mapping | list | tuple | AbstractSet):
        yield from _items(value, f"{name}:", depth + 1)
    else:
        raise ValueError(f"found {shown(value)} for `{name}`, expected a number, a text, a list or a mapping")


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"found {shown(name)}, expected a name")
    return name


# columns ----------------------------------------------------------------------------------------------------------


def bag_column(bags: Sequence[Sequence[Item]]) -> BagColumn:
    """The column of N tokens with these items."""
    off = np.zeros(len(bags) + 1, np.int64)
    np.cumsum([len(bag) for bag in bags], out=off[1:])
    numbers: dict[str, int] = {}
    items = list(chain.from_iterable(bags))
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name, _ in items), np.int32, len(items))
    weights = np.fromiter((weight for _, weight in items), np.float64, len(items))
    return merged(off, codes, weights, list(numbers))


def bags_of_cells(cells: InternedColumn, items: Sequence[Sequence[Item]]) -> BagColumn:
    """The column of tokens whose cells have these `items`, given once for each distinct cell [V]."""
    distinct = bag_column(items)
    off, at = joined_ranges(distinct.off, cells.codes)
    weights = distinct.weights[at] if len(distinct.weights) else distinct.weights
    return BagColumn(off, distinct.codes[at], weights, distinct.names)


def merged(off: Offsets, codes: Codes, weights: Floats, names: Sequence[str]) -> BagColumn:
    """The column of these items, of which a token may have several of one name: their weights are added."""
    from ..kernels.extraction import merge_items  # Numba is loaded when bags are read, not when the room is imported

    off, codes, weights = merge_items(off, codes, weights, len(names))
    return BagColumn(off, codes, np.empty(0) if (weights == 1.0).all() else weights, names)


def joined_bags(parts: Iterable[BagColumn]) -> BagColumn:
    """The column of the tokens of all parts, one part after the other."""
    numbers: dict[str, int] = {}
    offs: list[Ints] = [np.zeros(1, np.int64)]
    codes: list[Codes] = [np.empty(0, np.int32)]
    weights: list[Floats] = [np.empty(0)]
    for part in parts:
        of_part = np.array([numbers.setdefault(name, len(numbers)) for name in part.names], np.int32)
        offs.append(part.off[1:] + offs[-1][-1])
        codes.append(of_part[part.codes])
        weights.append(part.weights if len(part.weights) else np.ones(len(part.codes)))
    weight = np.concatenate(weights)
    unit = bool((weight == 1.0).all())
    return BagColumn(np.concatenate(offs), np.concatenate(codes), np.empty(0) if unit else weight, list(numbers))
