"""`bin(age, 4)` and `bin(age, 18, 30, 65)`: the arguments, and the names of the bins.

Not here: edges from data, the bin of a number (`features.values.number_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...syntax import Apply, Number, Value

MOST_BINS = 1000


@dataclass(frozen=True)
class Bins:
    """`count` bins by quantiles of the training data, or bins between given `edges` (then `count` is None)."""

    count: int | None
    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class BinProblem:
    """A problem of the argument number `index`."""

    index: int
    message: str
    help: str


def read_bins(term: Apply, settled: Callable[[Value], Value]) -> Bins | BinProblem:
    """The bins of `bin(term, …)`, whose numbers `bind` has checked. One number is a count, several are edges."""
    values = [settled(argument.value) for argument in term.arguments[1:]]
    numbers = [value.value for value in values if isinstance(value, Number)]
    if len(numbers) == 1:
        (count,) = numbers
        if isinstance(count, int) and 2 <= count <= MOST_BINS:
            return Bins(count)
        message = f"one number is how many bins there are, from 2 to {MOST_BINS}, found `{count}`"
        return BinProblem(1, message, f"a single edge is a test, as in `age >= {count}`")
    for index, (low, high) in enumerate(pairwise(numbers), start=2):
        if low >= high:
            return BinProblem(index, f"edges of bins ascend, and `{low}` stands before `{high}`", "sort them")
    if len(numbers) >= MOST_BINS:
        return BinProblem(1, f"{len(numbers):,} edges: at most {MOST_BINS - 1} are possible", "take fewer")
    return Bins(None, tuple(map(float, numbers)))


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """What the bins are called, from the lowest to the highest.

    >>> bin_names([18.0, 30.0])
    ('[-inf,18)', '[18,30)', '[30,inf)')
    """
    texts = [str(int(edge)) if edge.is_integer() and abs(edge) < 1e15 else repr(edge) for edge in edges]
    return tuple(f"[{low},{high})" for low, high in pairwise(("-inf", *texts, "inf")))
