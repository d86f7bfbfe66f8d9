"""Conditions and terms in the notation of a template, as names for output.

Places are written at the outermost function (`lower(word)[-1]`), wherever they were given. Not here: whole templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...semantics import place_text
from ...syntax import (
    And,
    Apply,
    Argument,
    At,
    Compares,
    Condition,
    Difference,
    Equals,
    Has,
    InLexicon,
    InSet,
    Is,
    Matches,
    Not,
    Number,
    Or,
    Place,
    Quantity,
    Range,
    Reference,
    Regex,
    Text,
    Value,
)
from .term_places import is_joint, place_name


def boundary_text(offset: int) -> str:
    """The value of every column `-offset` positions before the start (or `offset` after the end) of a sequence."""
    return f"⟨{offset:+d}⟩"


def condition_text(condition: Condition) -> str:
    """`word[-1] has /x/ and pos is NN`"""
    return _WRITERS[type(condition)](condition)


def term_text(term: Reference | Apply, place: str = "") -> str:
    """`lower(word)[-1]`; `place` is written after the term's own place"""
    if isinstance(term, Reference):
        return term.name + _place_text(term.place) + place
    arguments = ", ".join(_argument_text(argument) for argument in term.arguments)
    return f"{term.function}({arguments}){_place_text(term.place)}{place}"


def _place_text(place: Place) -> str:
    return f"[{place_name(place.offset)}]" if isinstance(place, At) and place.offset else place_text(place)


def _argument_text(argument: Argument) -> str:
    return f"{argument.name} = {_value_text(argument.value)}" if argument.name else _value_text(argument.value)


def _value_text(value: Value) -> str:
    match value:
        case Number():
            return str(value.value)
        case Text():
            return '"' + value.value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Range():
            return f"{value.first}..{value.last}"
        case Regex():
            return f"/{value.pattern}/{'i' if value.ignore_case else ''}"
    return term_text(value)


def _outer(term: Reference | Apply) -> str:
    """A term whose one place is written last, wherever it was given."""
    bare, place = _lifted(term)
    return term_text(bare, place)


def _lifted(term: Reference | Apply) -> tuple[Reference | Apply, str]:
    if isinstance(term, Reference):
        return Reference(name=term.name), _place_text(term.place)
    arguments, place = list(term.arguments), _place_text(term.place)
    if is_joint(term):  # whose arguments have places of their own
        return Apply(function=term.function, arguments=term.arguments), place
    if arguments and isinstance(arguments[0].value, Reference | Apply):
        inner, inner_place = _lifted(arguments[0].value)
        arguments[0] = Argument(value=inner, name=arguments[0].name)
        place = inner_place + place
    return Apply(function=term.function, arguments=tuple(arguments)), place


def _quantity_text(quantity: Quantity) -> str:
    match quantity:
        case Difference():
            return f"{_outer(quantity.left)} - {_outer(quantity.right)}"
        case Number():
            return _value_text(quantity)
    return _outer(quantity)


def _joined(word: str) -> Callable[..., str]:
    def write(condition: And | Or) -> str:
        return f" {word} ".join(_nested(part) for part in condition.parts)

    return write


def _nested(condition: Condition) -> str:
    text = condition_text(condition)
    return f"({text})" if isinstance(condition, And | Or) else text


def _set_text(condition: InSet) -> str:
    return f"{_outer(condition.term)} {_negation(condition)}in {{{', '.join(condition.states)}}}"


def _negation(condition: InLexicon | InSet) -> str:
    return "not " if condition.negated else ""


_WRITERS: Mapping[type, Callable[..., str]] = {
    Reference: _outer,
    Apply: _outer,
    Matches: lambda c: f"{_outer(c.term)} matches {_value_text(c.regex)}",
    Has: lambda c: f"{_outer(c.term)} has {_value_text(c.regex)}",
    Is: lambda c: f"{_outer(c.term)} is {'not ' if c.negated else ''}{c.state}",
    InLexicon: lambda c: f"{_outer(c.term)} {_negation(c)}in {c.lexicon}",
    InSet: _set_text,
    Equals: lambda c: f"{_outer(c.left)} {'!=' if c.negated else '='} {_outer(c.right)}",
    Not: lambda c: f"not {_nested(c.inner)}",
    Compares: lambda c: f"{_quantity_text(c.left)} {c.sign} {_quantity_text(c.right)}",
    And: _joined("and"),
    Or: _joined("or"),
}
