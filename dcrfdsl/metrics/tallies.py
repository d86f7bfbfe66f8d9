"""Counts that become scores: counts of several parts of some data add up to those of the whole.

So data of any length is scored part by part, and the scores have the same digits however it was cut. Source of the
exact sum: Shewchuk, "Adaptive precision floating-point arithmetic" (1997), section 2. Not here: what is counted
(`metric_table`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from ..foundation import dataclass

Values: TypeAlias = dict[str, float | int]  # keys: the names of the `--json` contract


class ExactSum:
    """A sum of finite float64 without any rounding, so the order of its terms does not matter. `float` rounds it once.

    Infinite terms, and a sum that leaves the range of float64, are kept by themselves and decide the sum.
    """

    def __init__(self, terms: Iterable[float] = ()):
        self._parts: list[float] = []  # their exact sum is the sum; no two overlap
        self._special = 0.0  # the sum of the terms that are not finite
        for term in terms:
            self._take(float(term))

    def _take(self, term: float) -> None:
        """Adds a term: each addition of two floats is split into its rounded sum and what rounding took away."""
        if not math.isfinite(term):
            self._special += term
            return
        kept = []
        for part in self._parts:
            if abs(term) < abs(part):
                term, part = part, term
            high = term + part
            low = part - (high - term)
            if low:
                kept.append(low)
            term = high
        if not math.isfinite(term):
            self._special += term
            return
        self._parts = [*kept, term]

    def __add__(self, other: ExactSum | float) -> ExactSum:
        total = ExactSum()
        total._parts, total._special = list(self._parts), self._special
        for term in (*other._parts, other._special) if isinstance(other, ExactSum) else (other,):
            total._take(float(term))
        return total

    __radd__ = __add__

    def __float__(self) -> float:
        return self._special if self._special else math.fsum(self._parts)


Counts: TypeAlias = tuple[Any, ...]  # whole numbers, or what else adds up by `+` in any order


@dataclass(frozen=True)
class Tally:
    """What has been counted for one entry of the scores.

    name: of the entry.   values: makes the scores of name and counts.
    """

    name: str
    counts: Counts
    values: Callable[[str, Counts], Values]


def added(before: Sequence[Tally], more: Sequence[Tally]) -> list[Tally]:
    """The tallies of two parts of some data together. Both list the same entries; `before` is empty at first."""
    if not before:
        return list(more)
    return [
        Tally(one.name, tuple(a + b for a, b in zip(one.counts, other.counts, strict=True)), one.values)
        for one, other in zip(before, more, strict=True)
    ]


def values_of(tallies: Iterable[Tally]) -> Values:
    """The scores of what has been counted, in order."""
    values: Values = {}
    for tally in tallies:
        values |= tally.values(tally.name, tally.counts)
    return values
