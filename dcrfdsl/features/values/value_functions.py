"""The built-in functions of one value, by what a template gives them.

Regular expressions are compiled by RE2 for matching against UTF-8: with texts, RE2 would also compute positions in
characters, which nobody uses. Not here: positions and spans, which need the sequence (`distinct_values`); conditions on
labels, and what is wrong with an expression (`semantics`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...foundation import Table, data_error
from ...syntax import Number, Range, Reference, Regex, Value
from .text_functions import TEXT_FUNCTIONS, TextFunction


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


def _extract(pattern: Regex) -> TextFunction:
    search = compiled(pattern).search

    def first_match(text: str) -> tuple[str, ...]:
        match = search(text.encode())
        return () if match is None else (match.group().decode(errors="replace"),)

    return first_match


# The arguments of a function in a template, see `arguments_of` → a function of one text.
FEATURES: Table[Callable[..., TextFunction]] = Table("feature function", {**TEXT_FUNCTIONS, "extract": _extract})


def arguments_of(bound: Mapping[str, Value]) -> list[Any]:
    """What a function is given beside its text: whole numbers, whether a shape is short, or a pattern."""
    return [_ARGUMENTS[type(value)](value) for name, value in bound.items() if name != "term"]


_ARGUMENTS: Mapping[type, Callable[[Any], Any]] = {
    Number: lambda number: [int(number.value)],
    Range: lambda numbers: list(range(numbers.first, numbers.last + 1)),
    Reference: lambda word: word == Reference(name="yes"),
    Regex: lambda pattern: pattern,
}
