"""Conditions and terms in the notation of a template, as names for output.

Places are written at the outermost function (`lower(word)[-1]`), wherever they were given. Not here: whole templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...semantics import place_text
from ...syntax import nodes as ex
from .term_places import is_joint, place_name


def boundary_text(offset: int) -> str:
    """The value of every column `-offset` positions before the start (or `offset` after the end) of a sequence."""
    return f"⟨{offset:+d}⟩"


def condition_text(condition: ex.Condition) -> str:
    """`word[-1] has /x/ and pos is NN`"""
    return _WRITERS[type(condition)](condition)


def term_text(term: ex.Reference | ex.Apply, place: str = "") -> str:
    """`lower(word)[-1]`; `place` is written after the term's own place"""
    if isinstance(term, ex.Reference):
        return term.name + _place_text(term.place) + place
    named = ((f"{argument.name} = " if argument.name else "", argument.value) for argument in term.arguments)
    arguments = ", ".join(name + _value_text(value) for name, value in named)
    return f"{term.function}({arguments}){_place_text(term.place)}{place}"


def _place_text(place: ex.Place) -> str:
    return f"[{place_name(place.offset)}]" if isinstance(place, ex.At) and place.offset else place_text(place)


def _value_text(value: ex.Value) -> str:
    match value:
        case ex.Number():
            return str(value.value)
        case ex.Text():
            return '"' + value.value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case ex.Range():
            return f"{value.first}..{value.last}"
        case ex.Regex():
            return f"/{value.pattern}/{'i' if value.ignore_case else ''}"
    return term_text(value)


def _outer(term: ex.Reference | ex.Apply) -> str:
    """A term whose one place is written last, wherever it was given."""
    bare, place = _lifted(term)
    return term_text(bare, place)


def _lifted(term: ex.Reference | ex.Apply) -> tuple[ex.Reference | ex.Apply, str]:
    if isinstance(term, ex.Reference):
        return ex.Reference(name=term.name), _place_text(term.place)
    arguments, place = list(term.arguments), _place_text(term.place)
    if is_joint(term):  # whose arguments have places of their own
        return ex.Apply(function=term.function, arguments=term.arguments), place
    if arguments and isinstance(arguments[0].value, ex.Reference | ex.Apply):
        inner, inner_place = _lifted(arguments[0].value)
        arguments[0] = ex.Argument(value=inner, name=arguments[0].name)
        place = inner_place + place
    return ex.Apply(function=term.function, arguments=tuple(arguments)), place


def _quantity_text(quantity: ex.Quantity) -> str:
    match quantity:
        case ex.Difference():
            return f"{_outer(quantity.left)} - {_outer(quantity.right)}"
        case ex.Number():
            return _value_text(quantity)
    return _outer(quantity)


def _joined(word: str) -> Callable[..., str]:
    return lambda condition: f" {word} ".join(map(_nested, condition.parts))


def _nested(condition: ex.Condition) -> str:
    text = condition_text(condition)
    return f"({text})" if isinstance(condition, ex.And | ex.Or) else text


def _negation(condition: ex.InLexicon | ex.InSet) -> str:
    return "not " if condition.negated else ""


_WRITERS: Mapping[type, Callable[..., str]] = {
    ex.Reference: _outer,
    ex.Apply: _outer,
    ex.Matches: lambda c: f"{_outer(c.term)} matches {_value_text(c.regex)}",
    ex.Has: lambda c: f"{_outer(c.term)} has {_value_text(c.regex)}",
    ex.Is: lambda c: f"{_outer(c.term)} is {'not ' if c.negated else ''}{c.state}",
    ex.InLexicon: lambda c: f"{_outer(c.term)} {_negation(c)}in {c.lexicon}",
    ex.InSet: lambda c: f"{_outer(c.term)} {_negation(c)}in {{{', '.join(c.states)}}}",
    ex.Equals: lambda c: f"{_outer(c.left)} {'!=' if c.negated else '='} {_outer(c.right)}",
    ex.Not: lambda c: f"not {_nested(c.inner)}",
    ex.Compares: lambda c: f"{_quantity_text(c.left)} {c.sign} {_quantity_text(c.right)}",
    ex.And: _joined("and"),
    ex.Or: _joined("or"),
}
