"""Places in Python: what stands in brackets, as in `word[-1]` and `y[...]`. Not here: terms (`builder_terms`)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import EllipsisType
from typing import SupportsIndex, TypeAlias

from ..syntax import nodes as ex


@dataclass(frozen=True)
class Position:
    """A named position of a relational clique. Made by `positions`; adding a number gives one further on.

    name: in the template.
    shift: how far from it, in positions.

    >>> i, j = positions("i", "j")
    >>> i - 1
    Position(name='i', shift=-1)
    """

    name: str
    shift: int = 0

    def __add__(self, other: int) -> Position:
        return Position(self.name, self.shift + operator.index(other))

    def __sub__(self, other: int) -> Position:
        return self + -operator.index(other)


def positions(*names: str) -> tuple[Position, ...]:
    """Names for the positions of a relational clique, one `Position` each.

    names: as they will stand in the template.

    >>> i, j = positions("i", "j")
    >>> i - 1
    Position(name='i', shift=-1)
    """
    return tuple(Position(name) for name in names)


HERE = ex.HERE
PlaceKey: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | Position | EllipsisType


def as_place(key: PlaceKey) -> ex.Place:
    """The place for an index. Raises TypeError for a slice: a slice of Python leaves its end out, a window does not."""
    match key:
        case EllipsisType():
            return ex.All
        case Position():
            return ex.Named(position=key.name, shift=key.shift)
        case slice():
            raise TypeError("a slice leaves out its end; a window has both its ends: word.window(-2, 2)")
        case tuple():
            return ex.Several(offsets=tuple(operator.index(offset) for offset in key))
        case _:
            offset = operator.index(key)
            return ex.Here() if offset == 0 else ex.At(offset=offset)
