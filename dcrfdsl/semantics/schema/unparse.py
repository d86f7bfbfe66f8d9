"""From a `ModelSpec` back to a template: the third side of the triangle of text, specification and Python.

Reading the text again gives the same specification. What the specification does not hold (comments, layout, `use`) is
laid out anew: one blank line between kinds of statements, long lists as blocks. Not here: printing (`syntax.format`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...foundation import Source, Span, require_kind
from ...syntax import RESERVED, ast, format_statement, format_template, format_value
from . import expressions as ex, model_spec as model

__all__ = ["SYNTAX", "is_plain_name", "statement_text", "to_template", "to_text", "value_text"]

_NOWHERE = Span(Source("<spec>", ""), 0, 0)
_NAME = re.compile(r"[^\W\d]\w*")
_INLINE = 3  # features or members that still fit on the statement's line


def to_text(spec: model.ModelSpec) -> str:
    """The canonical text of a specification; reading it again gives an equal specification.

    spec: a `ModelSpec`, as `m.spec()`, `load_template(…).require()` and `model.spec` are.

    >>> print(to_text(load_text("label   tag in {A,B}").spec).splitlines()[1])
    label tag in {A, B}
    """
    require_kind(spec, model.ModelSpec, "spec", "a ModelSpec")
    return format_template(to_template(spec))


def to_template(spec: model.ModelSpec) -> ast.Template:
    """The tree of a template that resolves to `spec`. All its places are the same, empty one."""
    sections: list[list[ast.Statement]] = [
        [_data(spec.data)] if spec.data else [],
        [_let(item) for item in spec.lets],
        [*map(_label, spec.labels), *map(_latent, spec.latents)],
        [_lexicon(item) for item in spec.lexicons],
        [*map(_memory, spec.memories), *map(_view, spec.views)],
        [_group(item) for item in spec.groups],
        [_segment(item) if item.segmental else _clique(item) for item in spec.cliques],
        [*map(_constraint, spec.constraints), *map(_once, spec.onces)],
        [_piece(item) for item in spec.pieces],
        [
            _method(ast.Infer, spec.infer),
            *([_method(ast.Decode, spec.decode)] if spec.decode else []),
            *map(_stage, spec.stages),
            *([_evaluate(spec.evaluate)] if spec.evaluate else []),
        ],
    ]
    statements: list[ast.Statement] = []
    blank = ast.Trivia(before=("",))
    for section in filter(None, sections):
        first, *rest = section
        statements += [replace(first, trivia=blank) if statements or spec.doc else first, *rest]
    return ast.Template(span=_NOWHERE, statements=tuple(statements), edition=1, doc=spec.doc)


def value_text(value: ex.Value) -> str:
    """`10`, `gaussian(variance = 1)`: a value in the notation of a template."""
    return format_value(_value(value))


def statement_text(item: model.Label | model.Constraint | model.DataSpec | model.Once) -> str:
    """A declaration in the notation of a template, without its doc comment."""
    writers: Mapping[type, Callable[[Any], ast.Statement]] = {
        model.Label: _label,
        model.DataSpec: _data,
        model.Once: _once,
    }
    return format_statement(writers.get(type(item), _constraint)(item.model_copy(update={"doc": ()})))


def is_plain_name(text: str) -> bool:
    """Whether a text can be written as a bare word: a name with a letter that is not a word of the language."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED and text.strip("_") != ""


# names, places, expressions ----------------------------------------------------------------------------------


def _name(text: str) -> ast.Name:
    return ast.Name(span=_NOWHERE, text=text)


def _maybe_name(text: str | None) -> ast.Name | None:
    return None if text is None else _name(text)


def _state(text: str) -> ast.State:
    return ast.State(span=_NOWHERE, text=text)


def _place(place: ex.Place) -> ast.Place | None:
    match place:
        case ex.Here():
            return None
        case ex.At():
            return ast.Offset(span=_NOWHERE, value=place.offset)
        case ex.Window():
            return ast.Window(span=_NOWHERE, first=place.first, last=place.last)
        case ex.Several():
            return ast.Offsets(span=_NOWHERE, values=place.offsets)
        case ex.Named():
            return ast.Position(span=_NOWHERE, name=place.position, shift=place.shift)


def _term(term: ex.Reference | ex.Apply) -> ast.Reference | ast.Apply:
    if isinstance(term, ex.Reference):
        return ast.Reference(span=_NOWHERE, name=_name(term.name), place=_place(term.place))
    return ast.Apply(
        span=_NOWHERE, function=_name(term.function), arguments=_arguments(term.arguments), place=_place(term.place)
    )


def _quantity(quantity: ex.Quantity) -> ast.Quantity:
    match quantity:
        case ex.Difference():
            return ast.Difference(span=_NOWHERE, left=_term(quantity.left), right=_term(quantity.right))
        case ex.Number():
            return ast.Literal(span=_NOWHERE, value=quantity.value)
    return _term(quantity)


def _arguments(arguments: Sequence[ex.Argument]) -> tuple[ast.Argument, ...]:
    return tuple(ast.Argument(span=_NOWHERE, value=_value(a.value), name=_maybe_name(a.name)) for a in arguments)


def _value(value: ex.Value) -> ast.Value:
    match value:
        case ex.Number() | ex.Text():
            return ast.Literal(span=_NOWHERE, value=value.value)
        case ex.Range():
            return ast.Range(span=_NOWHERE, first=value.first, last=value.last)
        case ex.Regex():
            return _regex(value)
        case ex.Reference() | ex.Apply():
            return _term(value)


def _regex(regex: ex.Regex) -> ast.Regex:
    return ast.Regex(span=_NOWHERE, pattern=regex.pattern, ignore_case=regex.ignore_case)


def _condition(condition: ex.Feature) -> Any:
    if isinstance(condition, ex.Reference | ex.Apply):
        return _term(condition)
    fields = {name: _FIELDS[name](value) for name, value in condition if name != "kind"}
    return SYNTAX[type(condition)](span=_NOWHERE, **fields)


def _conditions(conditions: Sequence[ex.Feature]) -> tuple[Any, ...]:
    return tuple(map(_condition, conditions))


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
    "term": _term,
    "left": _quantity,
    "right": _quantity,
    "sign": str,
    "regex": _regex,
    "state": _state,
    "states": lambda states: tuple(map(_state, states)),
    "lexicon": _name,
    "negated": bool,
    "inner": _condition,
    "parts": _conditions,
    "factors": _conditions,
}


def _value_if(value: ex.ValueIf) -> ast.ValueIf:
    return ast.ValueIf(
        span=_NOWHERE,
        value=_condition(value.value),
        condition=None if value.condition is None else _condition(value.condition),
        otherwise=None if value.otherwise is None else _condition(value.otherwise),
    )


# calls, settings, domains ------------------------------------------------------------------------------------


def _call(call: model.CallSpec) -> ast.Call:
    return ast.Call(span=_NOWHERE, name=_name(call.name), arguments=_arguments(call.arguments))


def _settings(settings: Sequence[model.Setting]) -> tuple[ast.Setting, ...]:
    return tuple(_setting(".".join(setting.key), _value(setting.value)) for setting in settings)


def _setting(key: str, value: ast.Value) -> ast.Setting:
    return ast.Setting(span=_NOWHERE, key=ast.Key(span=_NOWHERE, parts=tuple(key.split("."))), value=value)


def _options(item: ex.Frozen, names: Sequence[str]) -> tuple[ast.Setting, ...]:
    """`with` options that differ from their defaults."""
    defaults: Mapping[str, Any] = {name: type(item).model_fields[name].default for name in names}
    changed = [(name, getattr(item, name)) for name in names if getattr(item, name) != defaults[name]]
    return tuple(_setting(name, _option_value(value)) for name, value in changed)


def _option_value(value: bool | int | str | ex.Reference) -> ast.Value:
    if isinstance(value, ex.Reference):
        return _term(value)
    if isinstance(value, bool):
        return _term(ex.Reference(name="yes" if value else "no"))
    if isinstance(value, str) and is_plain_name(value):
        return _term(ex.Reference(name=value))
    return ast.Literal(span=_NOWHERE, value=value)


def _domain(domain: model.Domain) -> ast.Domain | None:
    match domain:
        case model.Learned():
            return None
        case model.Enumerated(states=states):
            return ast.Enumerated(span=_NOWHERE, states=tuple(map(_state, states)))
        case model.Cardinality(count=count):
            return ast.Cardinality(span=_NOWHERE, count=count)
        case model.StateFile(path=path):
            return ast.StateFile(span=_NOWHERE, path=path)
        case model.StatesOf(variable=variable):
            return _scheme("states", (variable,))
        case model.Scheme(name=name, types=types):
            return _scheme(name, types)


def _scheme(name: str, words: Sequence[str]) -> ast.Scheme:
    arguments = tuple(ex.Argument(value=_word(word)) for word in words)
    return ast.Scheme(span=_NOWHERE, call=_call(model.CallSpec(name=name, arguments=arguments)))


def _word(text: str) -> ex.Reference | ex.Text:
    return ex.Reference(name=text) if is_plain_name(text) else ex.Text(value=text)


# statements --------------------------------------------------------------------------------------------------


def _common(doc: tuple[str, ...] = (), rows: int = 0) -> dict[str, Any]:
    """Places, doc comment, and a block of `rows` lines (0: on the statement's line)."""
    return {"span": _NOWHERE, "keyword": _NOWHERE, "doc": doc, "layout": ast.Layout(block=rows > 0, rows=(1,) * rows)}


def _rows(items: Sequence[object]) -> int:
    return len(items) if len(items) > _INLINE else 0


def _data(data: model.DataSpec) -> ast.Data:
    columns = [_column(column) for column in data.columns]
    arguments = (*columns, *_arguments(data.options))
    return ast.Data(**_common(data.doc), call=ast.Call(span=_NOWHERE, name=_name(data.format), arguments=arguments))


def _column(column: model.Column) -> ast.Argument | ast.TypedArgument:
    if column.type != model.ColumnType():
        size = () if column.type.size is None else (ex.Argument(value=ex.Number(value=column.type.size)),)
        kind = _call(model.CallSpec(name=column.type.name, arguments=size))
        return ast.TypedArgument(span=_NOWHERE, name=_name(column.name), type=kind)
    source: ex.Reference | ex.Apply = ex.Reference(name=column.source)
    if column.key is not None:
        source = ex.Apply(function=column.source, arguments=(ex.Argument(value=ex.Text(value=column.key)),))
    renamed = column.key is not None or column.source != column.name
    return ast.Argument(span=_NOWHERE, value=_term(source), name=_name(column.name) if renamed else None)


def _let(let: model.Let) -> ast.Let:
    tune = None if let.tune is None else _call(let.tune)
    return ast.Let(**_common(let.doc), name=_name(let.name), value=_value(let.value), tune=tune)


def _label(label: model.Label) -> ast.Label:
    options = _options(label, ("others", "missing", "ambiguous", "constrain"))
    return ast.Label(**_common(label.doc), name=_name(label.name), domain=_domain(label.domain), settings=options)


def _latent(latent: model.Latent) -> ast.Latent:
    domain = _domain(latent.domain)
    if domain is None:
        raise ValueError(f"latent variable {latent.name!r} needs its states")
    return ast.Latent(**_common(latent.doc), name=_name(latent.name), domain=domain)


def _lexicon(lexicon: model.Lexicon) -> ast.Lexicon:
    path = ast.Literal(span=_NOWHERE, value=lexicon.path)
    options = _options(lexicon, ("case",))
    return ast.Lexicon(**_common(lexicon.doc), name=_name(lexicon.name), path=path, settings=options)


def _memory(memory: model.Memory) -> ast.Memory:
    return ast.Memory(
        **_common(memory.doc),
        name=_name(memory.name),
        value=_value_if(memory.value),
        domain=None if memory.domain is None else _domain(memory.domain),
        initially=None if memory.initially is None else _state(memory.initially),
    )


def _view(view: model.View) -> ast.View:
    return ast.View(**_common(view.doc), name=_name(view.name), value=_value_if(view.value))


def _group(group: model.FeatureGroup) -> ast.FeatureGroup:
    return ast.FeatureGroup(
        **_common(group.doc, len(group.features)),
        name=_name(group.name),
        features=_conditions(group.features),
        settings=_options(group, ("min_count", "outside")),
    )


def _site(site: model.Site) -> ast.Site:
    return ast.Site(span=_NOWHERE, variable=_name(site.variable), place=_place(site.place))


def _clique(clique: model.CliqueSpec) -> ast.Clique:
    options = _options(clique, ("states", "edges", "min_gap", "max_gap", "link", "order"))
    in_block = clique.where is not None
    rows = len(clique.features) if in_block else _rows(clique.features)
    common = _common(clique.doc, rows)
    if in_block and not rows:
        common["layout"] = ast.Layout(block=True)
    return ast.Clique(
        **common,
        sites=tuple(map(_site, clique.sites)),
        where=None if clique.where is None else _condition(clique.where),
        name=_maybe_name(clique.name),
        settings=options,
        features=_conditions(clique.features),
        where_in_block=in_block,
        settings_in_block=in_block and bool(options),
    )


def _segment(clique: model.CliqueSpec) -> ast.Segment:
    return ast.Segment(
        **_common(clique.doc, _rows(clique.features)),
        variable=_name(clique.sites[0].variable),
        limit=_option_value(clique.up_to or 1),
        name=_maybe_name(clique.name),
        settings=_options(clique, ("states", "longer", "min_count")),
        features=_conditions(clique.features),
    )


def _constraint(constraint: model.Constraint) -> ast.Statement:
    common, condition = _common(constraint.doc), _condition(constraint.condition)
    name, when = _maybe_name(constraint.name), constraint.when
    statement = ast.Forbid if constraint.action == "forbid" else ast.Require
    return statement(**common, condition=condition, when=None if when is None else _condition(when), name=name)


def _once(once: model.Once) -> ast.Once:
    free = tuple(map(_state, once.free))
    return ast.Once(**_common(once.doc), label=_name(once.label), free=free, name=_maybe_name(once.name))


def _piece(piece: model.Piece) -> ast.Piece:
    members = tuple(
        ast.Member(span=_NOWHERE, clique=_name(member.clique), place=_place(member.place), locked=member.locked)
        for member in piece.members
    )
    over = tuple(map(_site, piece.over))
    return ast.Piece(**_common(piece.doc, _rows(members)), name=_name(piece.name), over=over, members=members)


def _method(kind: type[ast.Infer] | type[ast.Decode], call: model.CallSpec) -> ast.Infer | ast.Decode:
    rows = len(call.settings) if len(call.settings) > 1 else 0
    return kind(**_common(rows=rows), call=_call(call), settings=_settings(call.settings))


def _stage(stage: model.Stage) -> ast.Train:
    settings = _settings(stage.criterion.settings)
    return ast.Train(
        **_common(stage.doc, len(settings) if len(settings) > 1 else 0),
        call=_call(stage.criterion),
        name=_maybe_name(stage.name),
        after=_maybe_name(stage.after),
        settings=settings,
    )


def _evaluate(metrics: Sequence[model.CallSpec]) -> ast.Evaluate:
    return ast.Evaluate(**_common(), metrics=tuple(map(_call, metrics)))
