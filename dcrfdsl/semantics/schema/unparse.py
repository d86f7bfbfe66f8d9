"""From a `ModelSpec` back to a template: the third side of the triangle of text, specification and Python.

Reading the text again gives the same specification. What the specification does not hold (comments, layout, `use`) is
laid out anew: one blank line between kinds of statements, long lists as blocks. Not here: printing (`syntax.format`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from ...foundation import require_kind
from ...syntax import ast, format_statement, format_template, format_value
from . import expressions as ex, model_spec as model
from .unparsed_terms import (
    NOWHERE,
    argument_nodes,
    call_node,
    condition_node,
    condition_nodes,
    domain_node,
    maybe_name_node,
    name_node,
    option_nodes,
    option_value,
    place_node,
    setting_nodes,
    state_node,
    term_node,
    value_if_node,
    value_node,
)

_Options: TypeAlias = Callable[..., tuple[ast.Setting, ...]]  # `option_nodes`, perhaps of every option
_RELATIONAL = ("min_gap", "max_gap", "link", "order")  # options of cliques that `where` joins
_INLINE = 3  # features or members that still fit on the statement's line


def to_text(spec: model.ModelSpec, *, every_option: bool = False) -> str:
    """The canonical text of a specification; reading it again gives an equal specification.

    spec: a `ModelSpec`, as `m.spec()`, `load_template(…).require()` and `model.spec` are.
    every_option: writes the options of statements that have their default value, too.

    >>> print(to_text(load_text("label   tag in {A,B}").spec).splitlines()[1])
    label tag in {A, B}
    """
    require_kind(spec, model.ModelSpec, "spec", "a ModelSpec")
    return format_template(to_template(spec, every_option=every_option))


def to_template(spec: model.ModelSpec, *, every_option: bool = False) -> ast.Template:
    """The tree of a template that resolves to `spec`. All its places are the same, empty one."""
    options = partial(option_nodes, every=every_option)
    sections: list[list[ast.Statement]] = [
        [_data(spec.data)] if spec.data else [],
        [_let(item) for item in spec.lets],
        [*(_label(item, options) for item in spec.labels), *map(_latent, spec.latents)],
        [_lexicon(item, options) for item in spec.lexicons],
        [*map(_memory, spec.memories), *map(_view, spec.views)],
        [_group(item, options) for item in spec.groups],
        [_segment(item, options) if item.segmental else _clique(item, options) for item in spec.cliques],
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
    return ast.Template(span=NOWHERE, statements=tuple(statements), edition=1, doc=spec.doc)


def value_text(value: ex.Value) -> str:
    """`10`, `gaussian(variance = 1)`: a value in the notation of a template."""
    return format_value(value_node(value))


def statement_text(
    item: model.Label | model.Constraint | model.DataSpec | model.Once | model.Piece | model.Stage,
) -> str:
    """A declaration in the notation of a template, without its doc comment."""
    writers: Mapping[type, Callable[[Any], ast.Statement]] = {
        model.Label: _label,
        model.DataSpec: _data,
        model.Once: _once,
        model.Piece: _piece,
        model.Stage: _stage,
    }
    return format_statement(writers.get(type(item), _constraint)(item.model_copy(update={"doc": ()})))


def _common(doc: tuple[str, ...] = (), rows: int = 0) -> dict[str, Any]:
    """Places, doc comment, and a block of `rows` lines (0: on the statement's line)."""
    return {"span": NOWHERE, "keyword": NOWHERE, "doc": doc, "layout": ast.Layout(block=rows > 0, rows=(1,) * rows)}


def _rows(items: Sequence[object]) -> int:
    return len(items) if len(items) > _INLINE else 0


def _data(data: model.DataSpec) -> ast.Data:
    columns = [_column(column) for column in data.columns]
    arguments = (*columns, *argument_nodes(data.options))
    return ast.Data(**_common(data.doc), call=ast.Call(span=NOWHERE, name=name_node(data.format), arguments=arguments))


def _column(column: model.Column) -> ast.Argument | ast.TypedArgument:
    if column.type != model.ColumnType():
        size = () if column.type.size is None else (ex.Argument(value=ex.Number(value=column.type.size)),)
        kind = call_node(model.CallSpec(name=column.type.name, arguments=size))
        return ast.TypedArgument(span=NOWHERE, name=name_node(column.name), type=kind)
    source: ex.Reference | ex.Apply = ex.Reference(name=column.source)
    if column.key is not None:
        source = ex.Apply(function=column.source, arguments=(ex.Argument(value=ex.Text(value=column.key)),))
    renamed = column.key is not None or column.source != column.name
    return ast.Argument(span=NOWHERE, value=term_node(source), name=name_node(column.name) if renamed else None)


def _let(let: model.Let) -> ast.Let:
    tune = None if let.tune is None else call_node(let.tune)
    return ast.Let(**_common(let.doc), name=name_node(let.name), value=value_node(let.value), tune=tune)


def _label(label: model.Label, options: _Options = option_nodes) -> ast.Label:
    idle = () if isinstance(label.domain, model.Scheme) else ("constrain",)
    return ast.Label(
        **_common(label.doc),
        name=name_node(label.name),
        domain=domain_node(label.domain),
        per=None if label.per == "token" else name_node(label.per),
        settings=options(label, ("others", "missing", "ambiguous", "constrain"), idle=idle),
    )


def _latent(latent: model.Latent) -> ast.Latent:
    domain = domain_node(latent.domain)
    if domain is None:
        raise ValueError(f"latent variable {latent.name!r} needs its states")
    return ast.Latent(**_common(latent.doc), name=name_node(latent.name), domain=domain)


def _lexicon(lexicon: model.Lexicon, options: _Options = option_nodes) -> ast.Lexicon:
    path = ast.Literal(span=NOWHERE, value=lexicon.path)
    return ast.Lexicon(
        **_common(lexicon.doc), name=name_node(lexicon.name), path=path, settings=options(lexicon, ("case",))
    )


def _memory(memory: model.Memory) -> ast.Memory:
    return ast.Memory(
        **_common(memory.doc),
        name=name_node(memory.name),
        value=value_if_node(memory.value),
        domain=None if memory.domain is None else domain_node(memory.domain),
        initially=None if memory.initially is None else state_node(memory.initially),
    )


def _view(view: model.View) -> ast.View:
    return ast.View(**_common(view.doc), name=name_node(view.name), value=value_if_node(view.value))


def _group(group: model.FeatureGroup, options: _Options = option_nodes) -> ast.FeatureGroup:
    return ast.FeatureGroup(
        **_common(group.doc, len(group.features)),
        name=name_node(group.name),
        features=condition_nodes(group.features),
        settings=options(group, ("min_count", "outside")),
    )


def _site(site: model.Site) -> ast.Site:
    return ast.Site(span=NOWHERE, variable=name_node(site.variable), place=place_node(site.place))


def _clique(clique: model.CliqueSpec, options: _Options = option_nodes) -> ast.Clique:
    idle = ("edges",) if clique.relational else _RELATIONAL
    settings = options(clique, ("states", "edges", *_RELATIONAL), idle=idle)
    in_block = clique.where is not None
    rows = len(clique.features) if in_block else _rows(clique.features)
    common = _common(clique.doc, rows)
    if in_block and not rows:
        common["layout"] = ast.Layout(block=True)
    return ast.Clique(
        **common,
        sites=tuple(map(_site, clique.sites)),
        where=None if clique.where is None else condition_node(clique.where),
        name=maybe_name_node(clique.name),
        settings=settings,
        features=condition_nodes(clique.features),
        where_in_block=in_block,
        settings_in_block=in_block and bool(settings),
    )


def _segment(clique: model.CliqueSpec, options: _Options = option_nodes) -> ast.Segment:
    return ast.Segment(
        **_common(clique.doc, _rows(clique.features)),
        variable=name_node(clique.sites[0].variable),
        limit=option_value(clique.up_to or 1),
        name=maybe_name_node(clique.name),
        settings=options(clique, ("states", "longer", "min_count")),
        features=condition_nodes(clique.features),
    )


def _constraint(constraint: model.Constraint) -> ast.Statement:
    common, condition = _common(constraint.doc), condition_node(constraint.condition)
    name, when = maybe_name_node(constraint.name), constraint.when
    statement = ast.Forbid if constraint.action == "forbid" else ast.Require
    return statement(**common, condition=condition, when=None if when is None else condition_node(when), name=name)


def _once(once: model.Once) -> ast.Once:
    free = tuple(map(state_node, once.free))
    return ast.Once(**_common(once.doc), label=name_node(once.label), free=free, name=maybe_name_node(once.name))


def _piece(piece: model.Piece) -> ast.Piece:
    members = tuple(
        ast.Member(span=NOWHERE, clique=name_node(member.clique), place=place_node(member.place), locked=member.locked)
        for member in piece.members
    )
    over = tuple(map(_site, piece.over))
    return ast.Piece(**_common(piece.doc, _rows(members)), name=name_node(piece.name), over=over, members=members)


def _method(kind: type[ast.Infer] | type[ast.Decode], call: model.CallSpec) -> ast.Infer | ast.Decode:
    rows = len(call.settings) if len(call.settings) > 1 else 0
    return kind(**_common(rows=rows), call=call_node(call), settings=setting_nodes(call.settings))


def _stage(stage: model.Stage) -> ast.Train:
    settings = setting_nodes(stage.criterion.settings)
    return ast.Train(
        **_common(stage.doc, len(settings) if len(settings) > 1 else 0),
        call=call_node(stage.criterion),
        name=maybe_name_node(stage.name),
        after=maybe_name_node(stage.after),
        settings=settings,
    )


def _evaluate(metrics: Sequence[model.CallSpec]) -> ast.Evaluate:
    return ast.Evaluate(**_common(), metrics=tuple(map(call_node, metrics)))
