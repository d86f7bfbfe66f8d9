"""The declaration of each statement of a template: from a node of the tree to an entry of the draft.

One function per statement, chosen by the table `DECLARE`. Not here: `use` (`resolution`), the meaning of names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from ...foundation import Span, did_you_mean
from ...syntax import ast
from ..schema import (
    CLIQUE_OPTIONS,
    GROUP_OPTIONS,
    LABEL_OPTIONS,
    LEXICON_OPTIONS,
    NO_OPTIONS,
    SEGMENT_LIMIT,
    SEGMENT_OPTIONS,
    Frozen,
    OptionReader,
    Path,
    SpanTable,
    model_spec as model,
    read_options,
)
from .conversion import Converter
from .draft import Draft

COLUMN_TYPES: tuple[str, ...] = ("str", "float", "int", "bag", "weighted_bag", "vector")
# Sources of columns that take a text, with an example. Which format has which is in `checks.data_rules`.
KEYED: Mapping[str, str] = {
    "feats": '"Case"',
    "misc": '"ner"',
    "joined": '"upos xpos feats"',
    "column": '"Part of speech"',
    "spans": '"entities"',
}


class Declarer:
    """The statements of one file; paths of lexicons and state files are relative to `directory`."""

    def __init__(self, draft: Draft, directory: FilePath):
        self.draft = draft
        self.directory = directory
        self.convert = Converter(draft.spans, draft.problems)

    def declare(self, statement: ast.Statement) -> None:
        DECLARE[type(statement)](self, statement)

    # helpers ------------------------------------------------------------------------------------------------

    def start(self, kind: type[Frozen], statement: ast.Statement, name: ast.Name | None) -> Path:
        """The path of the new declaration; records the spans of the statement and its name."""
        at = self.draft.path_of_next(kind)
        self.convert.note(at, statement)
        self.draft.spans[(*at, "keyword")] = statement.keyword
        if name is not None:
            self.convert.note((*at, "name"), name)
        return at

    def options(
        self, nodes: Sequence[ast.Setting], table: Mapping[str, OptionReader], word: str, at: Path
    ) -> dict[str, Any]:
        """Typed `with` options; the span of option NAME is recorded as field NAME of the declaration."""
        path = (*at, "with")
        settings = self.convert.settings(nodes, path)
        if not settings:
            return {}
        noted = ((*path, n, part) for n in range(len(settings)) for part in ("key", "value"))
        spans = SpanTable({place: self.draft.spans[place] for place in noted})
        options_read, problems = read_options(settings, table, word, path, spans)
        self.draft.problems.extend(problems)
        for n, setting in enumerate(settings):
            if setting.key[0] in options_read:
                self.draft.spans[(*at, setting.key[0])] = self.draft.spans[(*path, n, "value")]
        return options_read

    def remember_directory(self, name: str, domain: ast.Domain | None) -> None:
        if isinstance(domain, ast.StateFile):
            self.draft.directories[name] = self.directory


def _name_span(name: ast.Name | None, statement: ast.Statement) -> Span:
    return name.span if name is not None else statement.span


# data -------------------------------------------------------------------------------------------------------


def _data(self: Declarer, statement: ast.Data) -> None:
    if not self.draft.clear("data", statement.keyword):
        return
    self.convert.note(("data",), statement)
    self.convert.note(("data", "format"), statement.call.name)
    columns: list[model.Column] = []
    options: list[ast.Argument] = []
    for argument in statement.call.arguments:
        if isinstance(argument, ast.Argument) and argument.name is not None and _is_option(argument.value):
            options.append(argument)
            continue
        column = _column(self, argument)
        if column is not None:
            self.convert.note(("data", "columns", len(columns)), argument)
            columns.append(column)
    value = model.DataSpec(
        format=statement.call.name.text,
        columns=tuple(columns),
        options=self.convert.arguments(options, ("data", "options")),
        doc=statement.doc,
    )
    self.draft.set("data", value, statement.keyword)


def _is_option(value: ast.Value) -> bool:
    """`comment = "#"` and `header = yes` are options of the reader; `word = form` names a column."""
    if isinstance(value, ast.Reference):
        return value.name.text in ("yes", "no")
    return not isinstance(value, ast.Apply)


def _column(self: Declarer, argument: ast.Argument | ast.TypedArgument) -> model.Column | None:
    match argument:
        case ast.TypedArgument(name=name):
            return model.Column(name=name.text, source=name.text, type=_column_type(self, argument.type))
        case ast.Argument(name=None, value=ast.Reference(place=None) as column):
            return model.Column(name=column.name.text, source=column.name.text)
        case ast.Argument(name=ast.Name(text=name), value=ast.Reference(place=None) as source):
            return model.Column(name=name, source=source.name.text)
        case ast.Argument(name=ast.Name(text=name), value=ast.Apply() as source):
            return _keyed_column(self, name, source)
        case _:
            remedy = 'columns are `word`, `word = form`, `case = feats("Case")` or `height: float`'
            self.convert.complain("bad-argument", "expected a column", argument, "not a column", remedy)
            return None


def _keyed_column(self: Declarer, name: str, source: ast.Apply) -> model.Column:
    match source:
        case ast.Apply(
            function=ast.Name(text=kind),
            arguments=(ast.Argument(name=None, value=ast.Literal(value=str() as key)),),
            place=None,
        ) if kind in KEYED:
            return model.Column(name=name, source=kind, key=key)
        case _:
            keyed = ", ".join(f"`{kind}({example})`" for kind, example in KEYED.items())
            remedy = f"a column goes by its name, `{name} = form`, or has a key: {keyed}"
            message = "expected a column to read from"
            self.convert.complain("bad-argument", message, source, "not a column", remedy)
            return model.Column(name=name, source=name)


def _column_type(self: Declarer, call: ast.Call) -> model.ColumnType:
    name = call.name.text
    sizes = [a.value.value for a in call.arguments if isinstance(a, ast.Argument) and isinstance(a.value, ast.Literal)]
    if name not in COLUMN_TYPES:
        guess = did_you_mean(name, COLUMN_TYPES, {"string": "str", "text": "str", "number": "float", "integer": "int"})
        known = ", ".join(f"`{kind}`" for kind in COLUMN_TYPES)
        remedy = f"did you mean `{guess}`?" if guess else f"the types are {known}"
        self.convert.complain("unknown-name", f"`{name}` is not a column type", call, "unknown type", remedy)
        return model.ColumnType()
    if name == "vector":
        match sizes:
            case [int() as size] if size >= 1 and len(call.arguments) == 1:
                return model.ColumnType(name="vector", size=size)
        self.convert.complain("bad-argument", "`vector` takes its size, as in `vector(128)`", call)
        return model.ColumnType()
    if call.arguments:
        self.convert.complain("bad-argument", f"the column type `{name}` takes no argument", call)
    return model.ColumnType.model_validate({"name": name})


# variables --------------------------------------------------------------------------------------------------


def _label(self: Declarer, statement: ast.Label) -> None:
    at = self.start(model.Label, statement, statement.name)
    options = self.options(statement.settings, LABEL_OPTIONS, "label", at)
    domain = self.convert.domain(statement.domain, (*at, "domain")) if statement.domain else model.Learned()
    self.remember_directory(statement.name.text, statement.domain)
    per = self.convert.owner(statement.per, (*at, "per"))
    item = model.Label(name=statement.name.text, domain=domain, per=per, doc=statement.doc, **options)
    self.draft.add(item, statement.name.span)


def _latent(self: Declarer, statement: ast.Latent) -> None:
    at = self.start(model.Latent, statement, statement.name)
    self.options(statement.settings, NO_OPTIONS, "latent", at)
    domain = self.convert.domain(statement.domain, (*at, "domain"))
    self.remember_directory(statement.name.text, statement.domain)
    self.draft.add(model.Latent(name=statement.name.text, domain=domain, doc=statement.doc), statement.name.span)


def _memory(self: Declarer, statement: ast.Memory) -> None:
    at = self.start(model.Memory, statement, statement.name)
    if statement.initially is not None:
        self.convert.note((*at, "initially"), statement.initially)
    self.remember_directory(statement.name.text, statement.domain)
    item = model.Memory(
        name=statement.name.text,
        value=self.convert.value_if(statement.value, (*at, "value")),
        domain=self.convert.domain(statement.domain, (*at, "domain")) if statement.domain else None,
        initially=statement.initially.text if statement.initially else None,
        doc=statement.doc,
    )
    self.draft.add(item, statement.name.span)


def _view(self: Declarer, statement: ast.View) -> None:
    at = self.start(model.View, statement, statement.name)
    value = self.convert.value_if(statement.value, (*at, "value"))
    self.draft.add(model.View(name=statement.name.text, value=value, doc=statement.doc), statement.name.span)


# constants, lexicons, features ------------------------------------------------------------------------------


def _let(self: Declarer, statement: ast.Let) -> None:
    at = self.start(model.Let, statement, statement.name)
    item = model.Let(
        name=statement.name.text,
        value=self.convert.value(statement.value, (*at, "value")),
        tune=self.convert.call(statement.tune, (*at, "tune")) if statement.tune else None,
        doc=statement.doc,
    )
    self.draft.add(item, statement.name.span)


def _lexicon(self: Declarer, statement: ast.Lexicon) -> None:
    at = self.start(model.Lexicon, statement, statement.name)
    self.convert.note((*at, "path"), statement.path)
    self.draft.directories[statement.name.text] = self.directory
    options = self.options(statement.settings, LEXICON_OPTIONS, "lexicon", at)
    item = model.Lexicon(
        name=statement.name.text,
        path=str(statement.path.value),
        doc=statement.doc,
        **options,
    )
    self.draft.add(item, statement.name.span)


def _features(self: Declarer, statement: ast.FeatureGroup) -> None:
    at = self.start(model.FeatureGroup, statement, statement.name)
    options = self.options(statement.settings, GROUP_OPTIONS, "features", at)
    features = self.convert.features(statement.features, (*at, "features"))
    item = model.FeatureGroup(name=statement.name.text, features=features, doc=statement.doc, **options)
    self.draft.add(item, statement.name.span)


# cliques, pieces, constraints -------------------------------------------------------------------------------


def _clique(self: Declarer, statement: ast.Clique) -> None:
    at = self.start(model.CliqueSpec, statement, statement.name)
    options = self.options(statement.settings, CLIQUE_OPTIONS, "clique", at)
    item = model.CliqueSpec(
        sites=self.convert.sites(statement.sites, (*at, "sites")),
        where=self.convert.condition(statement.where, (*at, "where")) if statement.where else None,
        name=statement.name.text if statement.name else None,
        features=self.convert.features(statement.features, (*at, "features")),
        doc=statement.doc,
        **options,
    )
    self.draft.add(item, _name_span(statement.name, statement))


def _segment(self: Declarer, statement: ast.Segment) -> None:
    at = self.start(model.CliqueSpec, statement, statement.name)
    limit = ast.Setting(
        span=statement.limit.span, key=ast.Key(span=statement.limit.span, parts=("up_to",)), value=statement.limit
    )
    options = self.options((limit,), SEGMENT_LIMIT, "segment", at)
    options |= self.options(statement.settings, SEGMENT_OPTIONS, "segment", at)
    site = ast.Site(span=statement.variable.span, variable=statement.variable)
    item = model.CliqueSpec(
        sites=self.convert.sites((site,), (*at, "sites")),
        name=statement.name.text if statement.name else None,
        features=self.convert.features(statement.features, (*at, "features")),
        doc=statement.doc,
        **{"up_to": 1, **options},
    )
    self.draft.add(item, _name_span(statement.name, statement))


def _piece(self: Declarer, statement: ast.Piece) -> None:
    at = self.start(model.Piece, statement, statement.name)
    members = []
    for n, member in enumerate(statement.members):
        self.convert.note((*at, "members", n), member)
        self.convert.note((*at, "members", n, "clique"), member.clique)
        place = self.convert.place(member.place)
        members.append(model.Member(clique=member.clique.text, place=place, locked=member.locked))
    over = self.convert.sites(statement.over, (*at, "over"))
    item = model.Piece(name=statement.name.text, over=over, members=tuple(members), doc=statement.doc)
    self.draft.add(item, statement.name.span)


def _forbid(self: Declarer, statement: ast.Forbid) -> None:
    at = self.start(model.Constraint, statement, statement.name)
    item = model.Constraint(
        action="forbid",
        condition=self.convert.condition(statement.condition, (*at, "condition")),
        when=self.convert.condition(statement.when, (*at, "when")) if statement.when else None,
        name=statement.name.text if statement.name else None,
        doc=statement.doc,
    )
    self.draft.add(item, _name_span(statement.name, statement))


def _require(self: Declarer, statement: ast.Require) -> None:
    at = self.start(model.Constraint, statement, statement.name)
    item = model.Constraint(
        action="require",
        condition=self.convert.condition(statement.condition, (*at, "condition")),
        when=self.convert.condition(statement.when, (*at, "when")) if statement.when else None,
        name=statement.name.text if statement.name else None,
        doc=statement.doc,
    )
    self.draft.add(item, _name_span(statement.name, statement))


def _once(self: Declarer, statement: ast.Once) -> None:
    at = self.start(model.Once, statement, statement.name)
    self.convert.note((*at, "label"), statement.label)
    for n, state in enumerate(statement.free):
        self.convert.note((*at, "free", n), state)
    item = model.Once(
        label=statement.label.text,
        free=tuple(state.text for state in statement.free),
        name=statement.name.text if statement.name else None,
        doc=statement.doc,
    )
    self.draft.add(item, _name_span(statement.name, statement))


# inference, training, evaluation ----------------------------------------------------------------------------


def _method(self: Declarer, statement: ast.Infer | ast.Decode, *, field: str) -> None:
    if self.draft.clear(field, statement.keyword):
        call = self.convert.call(statement.call, (field,), statement.settings)
        self.draft.set(field, call, statement.keyword)


def _train(self: Declarer, statement: ast.Train) -> None:
    at = self.start(model.Stage, statement, statement.name)
    if statement.after is not None:
        self.convert.note((*at, "after"), statement.after)
    item = model.Stage(
        criterion=self.convert.call(statement.call, (*at, "criterion"), statement.settings),
        name=statement.name.text if statement.name else None,
        after=statement.after.text if statement.after else None,
        doc=statement.doc,
    )
    self.draft.add(item, statement.name.span if statement.name else statement.call.name.span)


def _evaluate(self: Declarer, statement: ast.Evaluate) -> None:
    if self.draft.clear("evaluate", statement.keyword):
        self.convert.note(("evaluate",), statement)
        calls = tuple(self.convert.call(call, ("evaluate", n)) for n, call in enumerate(statement.metrics))
        self.draft.set("evaluate", calls, statement.keyword)


_Declare: TypeAlias = Callable[[Declarer, Any], None]

DECLARE: Mapping[type[ast.Statement], _Declare] = {
    ast.Data: _data,
    ast.Label: _label,
    ast.Latent: _latent,
    ast.Memory: _memory,
    ast.View: _view,
    ast.Lexicon: _lexicon,
    ast.Let: _let,
    ast.FeatureGroup: _features,
    ast.Clique: _clique,
    ast.Segment: _segment,
    ast.Piece: _piece,
    ast.Forbid: _forbid,
    ast.Require: _require,
    ast.Once: _once,
    ast.Infer: partial(_method, field="infer"),
    ast.Decode: partial(_method, field="decode"),
    ast.Train: _train,
    ast.Evaluate: _evaluate,
}
