"""The built-in functions of one text, the numbers that texts are, and comparisons of these.

Needs the standard library alone: exported taggers hold this file as it is. Signatures are in
`semantics.schema.function_signatures`. Not here: regular expressions, lexicons, bins.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, TypeAlias

TextFunction: TypeAlias = Callable[[str], tuple[str, ...]]

LONG = 20  # all lengths from here on are one value


class Shapes(dict[int, str]):
    """Code point → the character that stands for it in a shape, filled in on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        upper = char.isupper() or char.istitle()
        self[code] = "X" if upper else "x" if char.isalpha() else "d" if char.isdigit() else char
        return self[code]


SHAPES = Shapes()


def shape(short: bool) -> TextFunction:
    """`Xxxx` of `Bath`; if `short`, `Xx`."""
    if short:
        return lambda text: ("".join(kind for kind, _ in groupby(text.translate(SHAPES))),)
    return lambda text: (text.translate(SHAPES),)


def part(numbers: Iterable[int]) -> TextFunction:
    """The parts between single spaces that have these numbers, from 1; equal ones once."""

    def parts(text: str) -> tuple[str, ...]:
        split = text.split(" ")
        return tuple(dict.fromkeys(split[n - 1] for n in numbers if n <= len(split)))

    return parts


# The arguments of a function in a template → a function of one text.
TEXT_FUNCTIONS: Mapping[str, Callable[..., TextFunction]] = {
    "lower": lambda: lambda text: (text.lower(),),
    "prefix": lambda lengths: lambda text: tuple([text[:n] for n in lengths if n <= len(text)]),
    "suffix": lambda lengths: lambda text: tuple([text[len(text) - n :] for n in lengths if n <= len(text)]),
    "part": part,
    "shape": shape,
    "length": lambda: lambda text: (str(len(text)) if len(text) < LONG else f"{LONG}+",),
    "chars": lambda lengths: (
        lambda text: tuple(dict.fromkeys(text[at : at + n] for n in lengths for at in range(len(text) - n + 1)))
    ),
}


# numbers --------------------------------------------------------------------------------------------------------------


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
# Comparisons of numbers and of arrays of them. Nothing holds of NaN, not even `!=`.
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
    "!=": lambda left, right: (left < right) | (left > right),
}  # fmt: skip


def number_of(value: str | float) -> float:
    """The number that a text is, with a decimal point, or a number itself; NaN for any other text, and beyond 64-bit
    numbers.
    """
    if isinstance(value, str):
        number = float(value) if NUMBER.fullmatch(value) else math.nan
        return number if math.isfinite(number) else math.nan
    return float(value)
