"""Calls of functions that a person has registered: what they may read. Problems are collected by a `TermReader`.

Not here: what such a function returns, which is known on data alone (`features.values.user_calls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..schema import (
    Apply,
    Argument,
    Named,
    Node,
    Number,
    Path,
    Reference,
    Several,
    Text,
    Value,
    Window,
    nodes,
    place_text,
)

if TYPE_CHECKING:
    from .term_rules import TermReader, TermType

ONE_VALUE: Mapping[str, str] = {"vector": "a vector", "weighted bag": "a weighted bag"}


def is_whole(value: Node) -> bool:
    """Whether an argument is the values at all positions of a sentence, `word[all]`."""
    return isinstance(value, Reference | Apply) and isinstance(value.place, Named) and value.place.position == "all"


def read_own_call(reader: TermReader, term: Apply, path: Path) -> TermType:
    """`vowels(word)`, `ending(word, 3)`, `agree(word, pos[-1])`, `longest(word[all])`."""
    subject: Value | None = term.arguments[0].value if term.arguments else None
    if not isinstance(subject, Reference | Apply):
        message = f"`{term.function}` takes a column, or a function of one, first"
        reader.complain("bad-argument", message, (*path, "function"))
        return "anything"
    read = [(n, argument.value) for n, argument in enumerate(term.arguments) if n == 0 or _is_read(reader, argument)]
    whole = [is_whole(value) for _, value in read]
    joint = len(read) > 1 or any(whole)
    for n, value in read:
        at = (*path, "arguments", n, "value")
        kind = reader.term(value, at)  # type: ignore[arg-type]  # what is read is a term
        if kind in ONE_VALUE or (joint and kind == "texts"):
            what = ONE_VALUE.get(kind, "several values")
            message = f"`{term.function}` is called with single values, and this is {what}"
            remedy = "compute what it gives beforehand, as another column"
            reader.complain("not-a-text", message, at, what, remedy)
        if joint and any(whole) and not is_whole(value):
            message = f"`{term.function}` reads a whole sentence, and here one place of it"
            reader.complain("bad-argument", message, at, "one place", "write `[all]` behind every column that it reads")
        elif joint:
            _refuse_places(reader, term, value, at)
    for n, argument in enumerate(term.arguments):
        if n not in dict(read) and not _is_constant(reader, argument):
            message = f"the further arguments of `{term.function}` are columns, numbers, texts or constants"
            reader.complain("bad-argument", message, (*path, "arguments", n))
    return "anything"


def _refuse_places(reader: TermReader, term: Apply, value: Value, at: Path) -> None:
    """Windows and named positions stand behind a call that reads several values, not inside it."""
    for path, node in nodes(value, at):
        place = node.place if isinstance(node, Reference | Apply) else None
        if isinstance(place, Window | Several) or (isinstance(place, Named) and not is_whole(node)):
            message = f"`{term.function}` reads several columns, and `{place_text(place)}` is no single place in it"
            remedy = f"write it behind the call, `{term.function}(…){place_text(place)}`"
            reader.complain("bad-argument", message, (*path, "place"), "not inside", remedy)


def _is_read(reader: TermReader, argument: Argument) -> bool:
    """Whether an argument reads the data: a name, or a function, that is no constant."""
    value = argument.value
    return argument.name is None and isinstance(value, Reference | Apply) and not _is_constant(reader, argument)


def _is_constant(reader: TermReader, argument: Argument) -> bool:
    return argument.name is None and isinstance(reader.context.spec.settled(argument.value), Number | Text)
