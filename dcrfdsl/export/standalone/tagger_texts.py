"""What features look at: functions and tests of one value, as a template spells them.

A *node* is a list: its kind, then its parts. `["lower", ["column"]]` is the value of a column in lower case;
`["has", ["column"], "[0-9]"]` asks whether it has a digit. Not here: places in a sentence.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any, Generic, TypeAlias, TypeVar

Node: TypeAlias = Any  # a list: its kind, then its parts
TextFunction: TypeAlias = Callable[[Any], tuple[str, ...]]  # a value → its texts, each once
ValueTest: TypeAlias = Callable[[Any], bool]
Result = TypeVar("Result")

LONG = 20  # all lengths from here on are one value
MOST_KEPT = 200_000  # results that a function remembers: a service that runs for months must not grow


class Memo(dict[Any, Result], Generic[Result]):
    """A function of one value that remembers its results. `None`, no value at all, has the result `nothing`."""

    def __init__(self, function: Callable[[Any], Result], nothing: Result):
        super().__init__({None: nothing})
        self.function, self.nothing = function, nothing

    def __missing__(self, value: Any) -> Result:
        if len(self) >= MOST_KEPT:
            self.clear()
            self[None] = self.nothing
        result = self[value] = self.function(value)
        return result


class Lexicon(dict[str, str]):
    """Entry → value; `""` in a set.   ignores_case: entries are case-folded, and what is looked up is too."""

    ignores_case = False

    def key(self, text: str) -> str:
        """The entry that a text would match."""
        return text.casefold() if self.ignores_case else text

    def holds(self, text: str) -> bool:
        """Whether a text is an entry."""
        return self.key(text) in self

    @cached_property
    def phrases(self) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
        """Every entry as words, and every beginning of an entry."""
        entries = {tuple(entry.split()) for entry in self} - {()}
        return entries, {entry[:n] for entry in entries for n in range(1, len(entry) + 1)}


SPACE = " \t\r\v\f\n"  # of ASCII: a no-break space is part of a word
PART = re.compile(f"[^{SPACE}]+")


def parts_of(text: str) -> list[str]:
    """The parts of a text between white space."""
    return PART.findall(text)


Lexicons: TypeAlias = Mapping[str, Lexicon]


class Shapes(dict[int, str]):
    """Code point → the character that stands for it in a shape, filled in on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        upper = char.isupper() or char.istitle()
        self[code] = "X" if upper else "x" if char.isalpha() else "d" if char.isdigit() else char
        return self[code]


SHAPES = Shapes()
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
# Comparisons of numbers and of arrays of them. Nothing holds of NaN, not even `!=`.
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
    "!=": lambda left, right: (left < right) | (left > right),
}  # fmt: skip


def shape(text: str, short: bool) -> str:
    """`Xxxx` of `Bath`; if `short`, `Xx`."""
    kinds = text.translate(SHAPES)
    return "".join(kind for kind, _ in groupby(kinds)) if short else kinds


def pieces(text: str, lengths: list[int]) -> list[str]:
    """All substrings of these lengths."""
    return [text[at : at + n] for n in lengths for at in range(len(text) - n + 1)]


def length(text: str) -> str:
    """The number of characters, as a text."""
    return str(len(text)) if len(text) < LONG else f"{LONG}+"


# texts --------------------------------------------------------------------------------------------------------------


def texts_of(node: Node, lexicons: Lexicons) -> TextFunction:
    """The texts of a value: one, several (the parts of a bag, prefixes), or none."""
    kind = node[0]
    if is_weighted(node):
        weights = weights_of(node, lexicons)
        return lambda value: tuple(text for text, weight in weights(value).items() if weight != 0)
    if kind == "column":
        return lambda value: (value,)
    if kind == "bag":
        return lambda value: tuple(dict.fromkeys(parts_of(value)))
    inner = texts_of(node[-1], lexicons)
    function = FUNCTIONS[kind](node, lexicons)
    return lambda value: tuple(dict.fromkeys(text for given in inner(value) for text in function(given)))


def is_weighted(node: Node) -> bool:
    """Whether a term is made of the names of a weighted bag."""
    return bool(node[0] == "weighted_bag") if len(node) == 1 else is_weighted(node[-1])


def weights_of(node: Node, lexicons: Lexicons) -> Callable[[Any], dict[str, float]]:
    """The texts that a term makes of the names of a weighted bag, with their weights; those of equal texts add up."""
    if node[0] == "weighted_bag":
        return dict
    inner, function = weights_of(node[-1], lexicons), FUNCTIONS[node[0]](node, lexicons)

    def weights(value: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, weight in inner(value).items():
            for text in dict.fromkeys(function(name)):
                found[text] = found.get(text, 0.0) + weight
        return found

    return weights


def _looked_up(entries: Lexicon) -> Callable[[str], list[str]]:
    return lambda text: [entries[entries.key(text)]] if entries.holds(text) else []


def _first_match(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    def first(text: str) -> list[str]:
        match = pattern.search(text)
        return [] if match is None else [match[0]]

    return first


def number_of(value: Any) -> float:
    """The number that a text is, or a number itself; NaN for any other text."""
    if isinstance(value, str):
        number = float(value) if NUMBER.fullmatch(value) else math.nan
        return number if math.isfinite(number) else math.nan
    return float(value)


def _binned(edges: list[float], names: list[str]) -> Callable[[Any], list[str]]:
    """The name of the range between edges that a number lies in; an edge belongs to the range above it."""

    def name(value: Any) -> list[str]:
        number = number_of(value)
        return [] if math.isnan(number) else [names[bisect_right(edges, number)]]

    return name


# A function of a template: its node and the lexicons → a function from one text to several.
FUNCTIONS: Mapping[str, Callable[[Node, Lexicons], Callable[[str], list[str]]]] = {
    "lower": lambda node, lexicons: lambda text: [text.lower()],
    "prefix": lambda node, lexicons: lambda text: [text[:n] for n in node[1] if n <= len(text)],
    "suffix": lambda node, lexicons: lambda text: [text[len(text) - n :] for n in node[1] if n <= len(text)],
    "part": lambda node, lexicons: lambda text: [part for n, part in enumerate(text.split(" "), 1) if n in node[1]],
    "shape": lambda node, lexicons: lambda text: [shape(text, node[1])],
    "length": lambda node, lexicons: lambda text: [length(text)],
    "chars": lambda node, lexicons: lambda text: pieces(text, node[1]),
    "extract": lambda node, lexicons: _first_match(re.compile(node[1])),
    "exact_length": lambda node, lexicons: lambda text: [str(len(text))],
    "bin": lambda node, lexicons: _binned(node[1], node[2]),
    "lookup": lambda node, lexicons: _looked_up(lexicons[node[1]]),
}


# tests --------------------------------------------------------------------------------------------------------------


def test_of(node: Node, lexicons: Lexicons) -> ValueTest:
    """A test of one value. A value with several texts passes if one of them does."""
    return TESTS[node[0]](node, lexicons)


def _any(term: Node, lexicons: Lexicons, passes: Callable[[str], Any]) -> ValueTest:
    texts = texts_of(term, lexicons)
    return lambda value: any(map(passes, texts(value)))


def _in(node: Node, lexicons: Lexicons) -> ValueTest:
    """`["in", term, texts]`"""
    return _any(node[1], lexicons, frozenset(node[2]).__contains__)


def _equal(node: Node, lexicons: Lexicons) -> ValueTest:
    """`["equal", left, right]`: both have a text, and it is the same."""
    left, right = texts_of(node[1], lexicons), texts_of(node[2], lexicons)

    def passes(value: Any) -> bool:
        ours, theirs = left(value), right(value)
        return bool(ours and theirs) and ours[0] == theirs[0]

    return passes


def quantity_of(node: Node, lexicons: Lexicons) -> Callable[[Any], float]:
    """`["given", number]`, `["less", left, right]`, `["read", term]`: the number at one place."""
    if node[0] == "given":
        return lambda value: float(node[1])
    if node[0] == "less":
        left, right = quantity_of(node[1], lexicons), quantity_of(node[2], lexicons)
        return lambda value: left(value) - right(value)
    texts = texts_of(node[1], lexicons)

    def number(value: Any) -> float:
        found = texts(value)
        return number_of(found[0]) if found else math.nan

    return number


def _compare(node: Node, lexicons: Lexicons) -> ValueTest:
    """`["compare", sign, left, right]`: false where one side is no number."""
    holds = COMPARISONS[node[1]]
    left, right = quantity_of(node[2], lexicons), quantity_of(node[3], lexicons)
    return lambda value: bool(holds(left(value), right(value)))


def _not(node: Node, lexicons: Lexicons) -> ValueTest:
    inner = test_of(node[1], lexicons)
    return lambda value: not inner(value)


def _all_of(node: Node, lexicons: Lexicons) -> ValueTest:
    tests = [test_of(part, lexicons) for part in node[1:]]
    return lambda value: all(test(value) for test in tests)


def _one_of(node: Node, lexicons: Lexicons) -> ValueTest:
    tests = [test_of(part, lexicons) for part in node[1:]]
    return lambda value: any(test(value) for test in tests)


# A test of a template: its node and the lexicons → a function of one value.
TESTS: Mapping[str, Callable[[Node, Lexicons], ValueTest]] = {
    "itself": lambda node, lexicons: bool,  # `first` and `last` are tests as they are
    "matches": lambda node, lexicons: _any(node[1], lexicons, re.compile(node[2]).fullmatch),
    "has": lambda node, lexicons: _any(node[1], lexicons, re.compile(node[2]).search),
    "missing": lambda node, lexicons: math.isnan,  # of a number
    "in": _in,
    "in_lexicon": lambda node, lexicons: _any(node[1], lexicons, lexicons[node[2]].holds),
    "equal": _equal,
    "compare": _compare,
    "not": _not,
    "and": _all_of,
    "or": _one_of,
}
