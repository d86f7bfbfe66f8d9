"""What features look at: functions and tests of one value, as a template spells them.

A *node* is a list: its kind, then its parts. `["lower", ["column"]]` is the value of a column in lower case;
`["has", ["column"], "[0-9]"]` asks whether it has a digit. Not here: places in a sentence.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from ...features import COMPARISONS, TEXT_FUNCTIONS, TextFunction, number_of

Node: TypeAlias = Any  # a list: its kind, then its parts
ValueFunction: TypeAlias = Callable[[Any], tuple[str, ...]]  # a value → its texts, each once
ValueTest: TypeAlias = Callable[[Any], bool]
Result = TypeVar("Result")

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

    def looked_up(self, text: str) -> tuple[str, ...]:
        """The value of an entry, and nothing of any other text."""
        return (self[self.key(text)],) if self.holds(text) else ()

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


# texts --------------------------------------------------------------------------------------------------------------


def texts_of(node: Node, lexicons: Lexicons) -> ValueFunction:
    """The texts of a value: one, several (the parts of a bag, prefixes), or none."""
    kind = node[0]
    if is_weighted(node):
        weights = weights_of(node, lexicons)
        return lambda value: tuple(text for text, weight in weights(value).items() if weight != 0)
    if kind == "column":
        return lambda value: (value,)
    if kind == "each":  # of the tokens of a segment
        return lambda value: tuple(value)
    if kind == "bag":
        return lambda value: tuple(dict.fromkeys(parts_of(value)))
    inner = texts_of(node[-1], lexicons)
    function = _function_of(node, lexicons)
    return lambda value: tuple(dict.fromkeys(text for given in inner(value) for text in function(given)))


def is_weighted(node: Node) -> bool:
    """Whether a term is made of the names of a weighted bag."""
    return bool(node[0] == "weighted_bag") if len(node) == 1 else is_weighted(node[-1])


def weights_of(node: Node, lexicons: Lexicons) -> Callable[[Any], dict[str, float]]:
    """The texts that a term makes of the names of a weighted bag, with their weights; those of equal texts add up."""
    if node[0] == "weighted_bag":
        return dict
    inner, function = weights_of(node[-1], lexicons), _function_of(node, lexicons)

    def weights(value: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, weight in inner(value).items():
            for text in dict.fromkeys(function(name)):
                found[text] = found.get(text, 0.0) + weight
        return found

    return weights


def _first_match(pattern: str) -> TextFunction:
    search = re.compile(pattern).search

    def first(text: str) -> tuple[str, ...]:
        match = search(text)
        return () if match is None else (match[0],)

    return first


def _binned(edges: list[float], names: list[str]) -> TextFunction:
    """The name of the range between edges that a number lies in; an edge belongs to the range above it."""

    def name(text: str) -> tuple[str, ...]:
        number = number_of(text)
        return () if math.isnan(number) else (names[bisect_right(edges, number)],)

    return name


# The arguments of a function in a node → a function of one text.
FUNCTIONS: Mapping[str, Callable[..., Callable[[Any], tuple[Any, ...]]]] = {
    **TEXT_FUNCTIONS, "extract": _first_match, "exact_length": lambda: lambda text: (str(len(text)),), "bin": _binned,
    "scaled": lambda shift, unit: lambda text: ((number_of(text) - shift) / unit,),
}  # fmt: skip


def _function_of(node: Node, lexicons: Lexicons) -> TextFunction:
    """The function that a node `[name, argument …, inner]` calls with the texts of the inner one."""
    kind, *arguments, _ = node
    return lexicons[arguments[0]].looked_up if kind == "lookup" else FUNCTIONS[kind](*arguments)


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
    "in": _in,
    "in_lexicon": lambda node, lexicons: _any(node[1], lexicons, lexicons[node[2]].holds),
    "equal": _equal,
    "compare": _compare,
    "not": _not,
    "and": _all_of,
    "or": _one_of,
}
