"""Names, terms, values, conditions and settings of a specification as parts of a template's tree.

Not here: statements (`unparse`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...foundation import Source, Span
from ...syntax import RESERVED, ast
from . import expressions as ex, model_spec as model

NOWHERE = Span(Source("<spec>", ""), 0, 0)
_NAME = re.compile(r"[^\W\d]\w*")


def is_plain_name(text: str) -> bool:
    """Whether a text can be written as a bare word: a name with a letter that is not a word of the language."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED and text.strip("_") != ""


# names, places, expressions ----------------------------------------------------------------------------------


def name_node(text: str) -> ast.Name:
    return ast.Name(span=NOWHERE, text=text)


def maybe_name_node(text: str | None) -> ast.Name | None:
    return None if text is None else name_node(text)


def state_node(text: str) -> ast.State:
    return ast.State(span=NOWHERE, text=text)


def place_node(place: ex.Place) -> ast.Place | None:
    match place:
        case ex.Here():
            return None
        case ex.At():
            return ast.Offset(span=NOWHERE, value=place.offset)
        case ex.Window():
            return ast.Window(span=NOWHERE, first=place.first, last=place.last)
        case ex.Several():
            return ast.Offsets(span=NOWHERE, values=place.offsets)
        case ex.Named():
            return ast.Position(span=NOWHERE, name=place.position, shift=place.shift)


def term_node(term: ex.Reference | ex.Apply) -> ast.Reference | ast.Apply:
    if isinstance(term, ex.Reference):
        return ast.Reference(span=NOWHERE, name=name_node(term.name), place=place_node(term.place))
    return ast.Apply(
        span=NOWHERE,
        function=name_node(term.function),
        arguments=argument_nodes(term.arguments),
        place=place_node(term.place),
    )


def quantity_node(quantity: ex.Quantity) -> ast.Quantity:
    match quantity:
        case ex.Difference():
            return ast.Difference(span=NOWHERE, left=term_node(quantity.left), right=term_node(quantity.right))
        case ex.Number():
            return ast.Literal(span=NOWHERE, value=quantity.value)
    return term_node(quantity)


def argument_nodes(arguments: Sequence[ex.Argument]) -> tuple[ast.Argument, ...]:
    return tuple(ast.Argument(span=NOWHERE, value=value_node(a.value), name=maybe_name_node(a.name)) for a in arguments)


def value_node(value: ex.Value) -> ast.Value:
    match value:
        case ex.Number() | ex.Text():
            return ast.Literal(span=NOWHERE, value=value.value)
        case ex.Range():
            return ast.Range(span=NOWHERE, first=value.first, last=value.last)
        case ex.Regex():
            return regex_node(value)
        case ex.Reference() | ex.Apply():
            return term_node(value)


def regex_node(regex: ex.Regex) -> ast.Regex:
    return ast.Regex(span=NOWHERE, pattern=regex.pattern, ignore_case=regex.ignore_case)


def condition_node(condition: ex.Feature) -> Any:
    if isinstance(condition, ex.Reference | ex.Apply):
        return term_node(condition)
    fields = {name: _FIELDS[name](value) for name, value in condition if name != "kind"}
    return SYNTAX[type(condition)](span=NOWHERE, **fields)


def condition_nodes(conditions: Sequence[ex.Feature]) -> tuple[Any, ...]:
    return tuple(map(condition_node, conditions))


# The node of a text for each kind of condition; the fields of the two have the same names.
SYNTAX: Mapping[type[ex.Frozen], type[ast.Node]] = {
    ex.Matches: ast.Matches,
    ex.Has: ast.Has,
    ex.Is: ast.Is,
    ex.InLexicon: ast.InLexicon,
    ex.InSet: ast.InSet,
    ex.Equals: ast.Equals,
    ex.Compares: ast.Compares,
    ex.Not: ast.Not,
    ex.And: ast.And,
    ex.Or: ast.Or,
    ex.Cross: ast.Cross,
}
_FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "term": term_node,
    "left": quantity_node,
    "right": quantity_node,
    "sign": str,
    "regex": regex_node,
    "state": state_node,
    "states": lambda states: tuple(map(state_node, states)),
    "lexicon": name_node,
    "negated": bool,
    "inner": condition_node,
    "parts": condition_nodes,
    "factors": condition_nodes,
}


def value_if_node(value: ex.ValueIf) -> ast.ValueIf:
    return ast.ValueIf(
        span=NOWHERE,
        value=condition_node(value.value),
        condition=None if value.condition is None else condition_node(value.condition),
        otherwise=None if value.otherwise is None else condition_node(value.otherwise),
    )


# calls, settings, domains ------------------------------------------------------------------------------------


def call_node(call: model.CallSpec) -> ast.Call:
    return ast.Call(span=NOWHERE, name=name_node(call.name), arguments=argument_nodes(call.arguments))


def setting_nodes(settings: Sequence[model.Setting]) -> tuple[ast.Setting, ...]:
    return tuple(setting_node(".".join(setting.key), value_node(setting.value)) for setting in settings)


def setting_node(key: str, value: ast.Value) -> ast.Setting:
    return ast.Setting(span=NOWHERE, key=ast.Key(span=NOWHERE, parts=tuple(key.split("."))), value=value)


def option_nodes(
    item: ex.Frozen, names: Sequence[str], *, every: bool = False, idle: Sequence[str] = ()
) -> tuple[ast.Setting, ...]:
    """`with` options that differ from their defaults.   every: those with their defaults, too, where these are values
    and mean something: none of `idle`.
    """
    written = []
    for name in names:
        value, default = getattr(item, name), type(item).model_fields[name].default
        if value != default or (every and value is not None and name not in idle):
            written.append((name, value))
    return tuple(setting_node(name, option_value(value)) for name, value in written)


def option_value(value: bool | int | str | ex.Reference) -> ast.Value:
    if isinstance(value, ex.Reference):
        return term_node(value)
    if isinstance(value, bool):
        return term_node(ex.Reference(name="yes" if value else "no"))
    if isinstance(value, str) and is_plain_name(value):
        return term_node(ex.Reference(name=value))
    return ast.Literal(span=NOWHERE, value=value)


def domain_node(domain: model.Domain) -> ast.Domain | None:
    match domain:
        case model.Learned():
            return None
        case model.Enumerated(states=states):
            return ast.Enumerated(span=NOWHERE, states=tuple(map(state_node, states)))
        case model.Cardinality(count=count):
            return ast.Cardinality(span=NOWHERE, count=count)
        case model.StateFile(path=path):
            return ast.StateFile(span=NOWHERE, path=path)
        case model.StatesOf(variable=variable):
            return scheme_node("states", (variable,))
        case model.Scheme(name=name, types=types):
            return scheme_node(name, types)


def scheme_node(name: str, words: Sequence[str]) -> ast.Scheme:
    arguments = tuple(ex.Argument(value=word_value(word)) for word in words)
    return ast.Scheme(span=NOWHERE, call=call_node(model.CallSpec(name=name, arguments=arguments)))


def word_value(text: str) -> ex.Reference | ex.Text:
    return ex.Reference(name=text) if is_plain_name(text) else ex.Text(value=text)


# statements --------------------------------------------------------------------------------------------------
