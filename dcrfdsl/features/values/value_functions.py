"""The built-in functions of one value: a text in, its texts out.

`FEATURES` maps a name to a maker, which takes bound arguments and returns a function of one text. Signatures are in
`semantics.schema.function_signatures`. Regular expressions are compiled by RE2 for matching against UTF-8: with texts,
RE2 would also compute positions in characters, which nobody uses. Not here: positions and spans, which need the
sequence (`distinct_values`); conditions on labels, and what is wrong with an expression (`semantics`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from ...foundation import Table, data_error
from ...syntax import Number, Range, Reference, Regex, Value

# regular expressions --------------------------------------------------------------------------------------------------


def compiled(regex: Regex) -> Any:
    """The compiled pattern, without groups. Match it against encoded text."""
    import re2  # here only: a template without regexes needs no engine

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = not regex.ignore_case
    try:
        return re2.compile(regex.pattern, options)
    except re2.error as error:
        detail = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error.args[0]
        raise data_error("bad-regex", f"`/{regex.pattern}/` is no regular expression: {detail}") from None


TextFunction: TypeAlias = Callable[[str], tuple[str, ...]]

LONG = 20  # all lengths from here on are one value


def _lengths(value: Value) -> range:
    if isinstance(value, Range):
        return range(value.first, value.last + 1)
    assert isinstance(value, Number)  # `bind` accepts nothing else
    return range(int(value.value), int(value.value) + 1)


def _lower(_: Mapping[str, Value]) -> TextFunction:
    return lambda text: (text.lower(),)


def _prefix(arguments: Mapping[str, Value]) -> TextFunction:
    lengths = _lengths(arguments["lengths"])
    return lambda text: tuple([text[:n] for n in lengths if n <= len(text)])


def _suffix(arguments: Mapping[str, Value]) -> TextFunction:
    lengths = _lengths(arguments["lengths"])
    return lambda text: tuple([text[len(text) - n :] for n in lengths if n <= len(text)])


def _extract(arguments: Mapping[str, Value]) -> TextFunction:
    pattern = arguments["pattern"]
    assert isinstance(pattern, Regex)  # `bind` accepts nothing else
    search = compiled(pattern).search

    def first_match(text: str) -> tuple[str, ...]:
        match = search(text.encode())
        return () if match is None else (match.group().decode(errors="replace"),)

    return first_match


def _part(arguments: Mapping[str, Value]) -> TextFunction:
    numbers = _lengths(arguments["number"])

    def parts(text: str) -> tuple[str, ...]:
        split = text.split(" ")
        return tuple([split[n - 1] for n in numbers if n <= len(split)])

    return parts


def _shape(arguments: Mapping[str, Value]) -> TextFunction:
    short = arguments["short"] == Reference(name="yes")

    shapes = _Shapes()
    if short:
        return lambda text: ("".join(kind for kind, _ in groupby(text.translate(shapes))),)
    return lambda text: (text.translate(shapes),)


class _Shapes(dict[int, str]):
    """Code point → the character that replaces it in a shape, filled in on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        upper = char.isupper() or char.istitle()
        self[code] = "X" if upper else "x" if char.isalpha() else "d" if char.isdigit() else char
        return self[code]


def _length(_: Mapping[str, Value]) -> TextFunction:
    return lambda text: (str(len(text)) if len(text) < LONG else f"{LONG}+",)


def _chars(arguments: Mapping[str, Value]) -> TextFunction:
    lengths = _lengths(arguments["lengths"])
    return lambda text: tuple(dict.fromkeys(text[i : i + n] for n in lengths for i in range(len(text) - n + 1)))


FEATURES: Table[Callable[[Mapping[str, Value]], TextFunction]] = Table(
    "feature function",
    {
        "lower": _lower, "prefix": _prefix, "suffix": _suffix, "extract": _extract, "part": _part, "shape": _shape,
        "length": _length, "chars": _chars,
    },
)  # fmt: skip
