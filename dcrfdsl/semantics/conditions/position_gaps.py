"""The distances that a relation allows, where it bounds a difference of positions: `index[j] - index[i] < 20`.

Such a bound saves trying every pair. Not here: the test itself, which is made like any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..schema import Compares, Condition, Difference, ModelSpec, Named, Number, Reference, conjuncts

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def index_gaps(spec: ModelSpec, where: Condition, positions: Sequence[str]) -> tuple[int | None, int | None]:
    """The least and the largest j − i that `where` allows by comparisons of `index`, None for no bound.

    positions: the names of i and j.
    """
    least: int | None = None
    most: int | None = None
    for part in conjuncts(where):
        bound = _bound(spec, part, positions)
        if bound is None:
            continue
        sign, number = bound
        if sign in ("<", "<=", "="):
            high = math.ceil(number) - 1 if sign == "<" else math.floor(number)
            most = high if most is None else min(most, high)
        if sign in (">", ">=", "="):
            low = math.floor(number) + 1 if sign == ">" else math.ceil(number)
            least = low if least is None else max(least, low)
    return least, most


def _bound(spec: ModelSpec, part: Condition, positions: Sequence[str]) -> tuple[str, float] | None:
    """`j − i sign number`, if a part of the condition says that."""
    if not isinstance(part, Compares) or not isinstance(part.left, Difference) or spec.column("index") is not None:
        return None
    number = spec.settled(part.right) if isinstance(part.right, Reference) else part.right
    places = [
        side.place
        for side in (part.left.left, part.left.right)
        if isinstance(side, Reference) and side.name == "index" and isinstance(side.place, Named)
    ]
    if not isinstance(number, Number) or len(places) != 2 or len(positions) != 2 or part.sign == "!=":
        return None
    first, second = places
    bound = number.value - first.shift + second.shift
    if [first.position, second.position] == [positions[1], positions[0]]:
        return part.sign, bound
    if [first.position, second.position] == list(positions):
        return TURNED.get(part.sign, part.sign), -bound
    return None
