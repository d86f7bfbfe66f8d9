"""From the arguments of the builder's methods to nodes of the specification: values, settings, columns, domains, sites.

One function for each kind of argument, with the Python forms that it accepts. Not here: terms and conditions
(`builder_terms`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

from ..foundation import plain_number, require_kind, require_list
from ..semantics import checked_node, validated
from ..syntax import Column, ColumnType, nodes as ex
from .builder_terms import Call, Clique, Constant, Expression, Lexicon, Term, Value, as_condition, as_feature, as_term

Domain: TypeAlias = "Sequence[str] | int | ex.Domain | None"
_COLUMN = re.compile(r"\s*(\w+)\s*(?::\s*(\w+)\s*(?:\(\s*(?:(\d+)|(\w[\w\s,]*))\))?\s*)?")


def as_value_if(what: Expression | ex.ValueIf | str) -> ex.ValueIf:
    """The value of a memory or a view."""
    return what if isinstance(what, ex.ValueIf) else ex.ValueIf(value=as_condition(what))


def as_value(what: Value) -> ex.Value:
    """An argument or setting: numbers, `True`/`False` as `yes`/`no`, a bare word or a quoted text."""
    if isinstance(what, Real) and not isinstance(what, bool):
        what = plain_number(what)
    match what:
        case Term():
            return what.node
        case ex.CallSpec(name=name, arguments=()):
            return ex.Reference(name=name)
        case ex.CallSpec(name=name, arguments=arguments):
            return ex.Apply(function=name, arguments=arguments)
        case Constant() | Lexicon():
            return ex.Reference(name=what.name)
        case Clique():
            return ex.Reference(name=what.named())
        case ex.Regex():
            return what
        case bool():
            return ex.Reference(name="yes" if what else "no")
        case float() if math.isinf(what) and what > 0:
            return ex.Reference(name="inf")
        case int() | float() if math.isfinite(what):
            return ex.Number(value=what)
        case str():
            return ex.word_value(what)
        case range():
            if what.step != 1 or len(what) == 0:
                raise ValueError(f"a range counts up by 1 and is not empty, found {what!r}")
            return ex.Range(first=what[0], last=what[-1])
        case _:
            raise TypeError(f"{what!r} is no value of a template")


def as_setting_value(what: Value | None) -> ex.Value:
    """Like `as_value`; `None` is the bare word `none`."""
    return ex.Reference(name="none") if what is None else as_value(what)


def as_settings(settings: Mapping[str, Any]) -> tuple[ex.Setting, ...]:
    """Keyword arguments as the settings of a block; a dot separates the parts of a key."""
    return tuple(
        ex.Setting(key=tuple(key.split(".")), value=as_setting_value(value)) for key, value in settings.items()
    )


def as_doc(text: str) -> tuple[str, ...]:
    require_kind(text, str, "doc", "a text")
    return tuple(line.strip() for line in text.strip().splitlines())


def as_column(text: str) -> Column:
    """`"word"`, `"height:float"`, `"pixels:vector(128)"`, `"logits:scores(tag)"`"""
    require_kind(text, str, "columns", 'texts such as "word" or "height:float"')
    match = _COLUMN.fullmatch(text)
    if match is None:
        raise ValueError(f'expected a column such as "word", "height:float" or "pixels:vector(128)", found {text!r}')
    name, kind, size, of = match.groups()
    variables = () if of is None else tuple(map(str.strip, of.split(",")))
    column_type = {"name": kind or "str", "size": None if size is None else int(size), "of": variables}
    return Column(name=name, source=name, type=checked_node(ColumnType, column_type))


def as_option(value: Value) -> ex.Value:
    """Options of a reader: a text is always quoted, never a bare word that would read as a column."""
    return ex.Text(value=value) if isinstance(value, str) else as_value(value)


def as_domain(domain: Domain) -> ex.Domain:
    match domain:
        case None:
            return ex.Learned()
        case int() | Integral():
            return ex.Cardinality(count=int(domain))
        case ex.Node():
            return domain
        case set() | frozenset():
            raise TypeError("expected a list of states: a set has no order, and the order of the states decides ties")
        case str():
            raise TypeError(f"expected a list of states, found {domain!r}; a file of states is state_file({domain!r})")
        case _:
            require_list(domain, "domain", "states")
            return validated(ex.Enumerated(states=tuple(domain)))


def as_count(value: int | Constant) -> int | ex.Reference:
    return ex.Reference(name=value.name) if isinstance(value, Constant) else value


def as_features(features: Sequence[Expression | str]) -> tuple[ex.Feature, ...]:
    require_list(features, "features", "features")
    return tuple(as_feature(feature).node for feature in features)


def as_sites(sites: Sequence[Term | str]) -> tuple[ex.Site, ...]:
    require_list(sites, "over", "variables")
    nodes = []
    for site in sites:
        node = as_term(site).node
        if not isinstance(node, ex.Reference):
            raise TypeError(f"a clique holds variables, not features of them: found {node.function}(…)")
        nodes.append(ex.Site(variable=node.name, place=node.place))
    return tuple(nodes)


def as_member(member: Clique | ex.Member | str) -> ex.Member:
    if isinstance(member, ex.Member):
        return member
    return validated(ex.Member(clique=member.named() if isinstance(member, Clique) else member, place=ex.HERE))


def as_call(method: str | Call, settings: tuple[ex.Setting, ...]) -> ex.CallSpec:
    if isinstance(method, ex.CallSpec):
        return method.model_copy(update={"settings": settings})
    return validated(ex.CallSpec(name=method, settings=settings))
