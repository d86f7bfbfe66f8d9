"""Calls of functions that a person has registered: what they may read. Problems are collected by a `TermReader`.

Not here: what such a function returns, which is known on data alone (`features.values.user_calls`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..schema import Apply, Argument, Number, Path, Reference, Text, Value

if TYPE_CHECKING:
    from .term_rules import TermReader, TermType

__all__ = ["read_own_call"]


def read_own_call(reader: TermReader, term: Apply, path: Path) -> TermType:
    """`vowels(word)`, `ending(word, 3)`."""
    subject: Value | None = term.arguments[0].value if term.arguments else None
    if not isinstance(subject, Reference | Apply):
        message = f"`{term.function}` takes a column, or a function of one, first"
        reader.complain("bad-argument", message, (*path, "function"))
        return "anything"
    at = (*path, "arguments", 0, "value")
    if (kind := reader.term(subject, at)) in ("vector", "weighted bag"):
        message = f"`{term.function}` is called with single values, and this is a {kind}"
        reader.complain("not-a-text", message, at, f"a {kind}", "compute what it gives beforehand, as another column")
    for n, argument in enumerate(term.arguments[1:], start=1):
        if not _is_constant(reader, argument):
            message = f"the further arguments of `{term.function}` are numbers, texts or constants"
            reader.complain("bad-argument", message, (*path, "arguments", n))
    return "anything"


def _is_constant(reader: TermReader, argument: Argument) -> bool:
    return argument.name is None and isinstance(reader.context.spec.settled(argument.value), Number | Text)
