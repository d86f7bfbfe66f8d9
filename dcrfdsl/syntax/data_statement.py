"""`data`: how data is read, and its columns.

Not here: which format has which columns (`checks.data_rules`), reading files (`data`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from ..foundation import did_you_mean
from .nodes import HERE, Apply, Argument, CallSpec, Node, Number, Reference, Text, Value
from .statement_base import Part, Reading, Statement, is_plain

COLUMN_TYPES: tuple[str, ...] = ("str", "float", "int", "bag", "weighted_bag", "vector", "scores")
NUMERIC = ("float", "int", "vector")  # types of numbers, one or several per token
# Sources of columns that take a text, with an example. Which format has which is in `checks.data_rules`.
KEYED: Mapping[str, str] = {
    "feats": '"Case"',
    "misc": '"ner"',
    "joined": '"upos xpos feats"',
    "column": '"Part of speech"',
    "spans": '"entities"',
}


class ColumnType(Node):
    """`str` (a value per token), `float`, `int`, `bag` (several values, split at spaces), `weighted_bag` (names with
    weights), `vector` with its `size`, `scores` of the states `of` a variable or of several together, whose `size` a
    model sets where its template names the states.
    """

    name: Literal["str", "float", "int", "bag", "weighted_bag", "vector", "scores"] = "str"
    size: int | None = None
    of: tuple[str, ...] = ()


class Column(Node):
    """One declared column. `source` is where it is read from: its own name, `form`, or a FEATS key.

    `feats("Case")` has the source `feats` and the key `Case`.
    """

    name: str
    source: str
    key: str | None = None
    type: ColumnType = ColumnType()

    def argument(self) -> Argument:
        """The column as it is written in `data`."""
        if self.type != ColumnType():
            given: list[Value] = [Reference(name=one) for one in self.type.of]
            if self.type.size is not None and not given:
                given = [Number(value=self.type.size)]
            arguments = tuple(Argument(value=value) for value in given)
            value = Apply(function=self.type.name, arguments=arguments) if given else Reference(name=self.type.name)
            typed = Argument(value=value, name=self.name)
            typed.__dict__["is_type"] = True
            return typed
        source: Value = Reference(name=self.source)
        if self.key is not None:
            source = Apply(function=self.source, arguments=(Argument(value=Text(value=self.key)),))
        renamed = self.key is not None or self.source != self.name
        return Argument(value=source, name=self.name if renamed else None)


class SpanScheme(Node):
    """How spans become the states of a label.   types: the only ones that it reads, None for all."""

    label: str
    scheme: str
    types: tuple[str, ...] | None = None


class _Ours:
    """Keeps those that a model has set: a file has none, or what an earlier version wrote, and they are set anew."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import BeforeValidator  # here, as the layout of a template needs no pydantic

        return handler.generate_schema(Annotated[source, BeforeValidator(_of_this_model)])


def _of_this_model(given: Any) -> Any:
    return tuple(one for one in given if isinstance(one, SpanScheme)) if isinstance(given, list | tuple) else given


class DataSpec(Statement):
    """`data FORMAT(columns…, option = value)`; `schemes`, which a model sets, are those of labels read from spans."""

    shapes = {"data": (Part("call"),)}
    section = "data"

    format: str
    columns: tuple[Column, ...]
    options: tuple[Argument, ...] = ()
    doc: tuple[str, ...] = ()
    schemes: Annotated[tuple[SpanScheme, ...], _Ours()] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        call: CallSpec = reading.parts["call"]
        columns, options = [], []
        for argument in call.arguments:
            if _is_option(argument):
                options.append(argument)
            elif (column := _column(reading, argument)) is not None:
                columns.append(column.at(argument.span))
        reading.places["format"] = call.place_of("name")
        return cls(format=call.name, columns=tuple(columns), options=tuple(options))

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        columns = (column.argument() for column in self.columns)
        return {"call": CallSpec(name=self.format, arguments=(*columns, *self.options))}


def _is_option(argument: Argument) -> bool:
    """`comment = "#"` and `header = yes` are options of the reader; `word = form` names a column."""
    if argument.name is None or argument.is_type:
        return False
    if isinstance(argument.value, Reference):
        return argument.value.name in ("yes", "no")
    return not isinstance(argument.value, Apply)


def _column(reading: Reading, argument: Argument) -> Column | None:
    name, value = argument.name, argument.value
    if argument.is_type and name is not None:
        return Column(name=name, source=name, type=_column_type(reading, value))
    if isinstance(value, Reference) and is_plain(value):
        return Column(name=name or value.name, source=value.name)
    if isinstance(value, Apply) and name is not None:
        return _keyed_column(reading, name, value)
    remedy = 'columns are `word`, `word = form`, `case = feats("Case")` or `height: float`'
    reading.complain("bad-argument", "expected a column", argument.span, "not a column", remedy)
    return None


def _keyed_column(reading: Reading, name: str, source: Apply) -> Column:
    match source:
        case Apply(function=kind, arguments=(Argument(name=None, value=Text(value=key)),)) if (
            kind in KEYED and source.place == HERE and not source.place.is_written
        ):
            return Column(name=name, source=kind, key=key)
    keyed = ", ".join(f"`{kind}({example})`" for kind, example in KEYED.items())
    remedy = f"a column goes by its name, `{name} = form`, or has a key: {keyed}"
    reading.complain("bad-argument", "expected a column to read from", source.span, "not a column", remedy)
    return Column(name=name, source=name)


def _column_type(reading: Reading, written: Value) -> ColumnType:
    name = written.function if isinstance(written, Apply) else getattr(written, "name", "")
    arguments = written.arguments if isinstance(written, Apply) else ()
    if name not in COLUMN_TYPES:
        guess = did_you_mean(name, COLUMN_TYPES, {"string": "str", "text": "str", "number": "float", "integer": "int"})
        known = ", ".join(f"`{kind}`" for kind in COLUMN_TYPES)
        remedy = f"did you mean `{guess}`?" if guess else f"the types are {known}"
        reading.complain("unknown-name", f"`{name}` is not a column type", written.span, "unknown type", remedy)
        return ColumnType()
    if name == "vector":
        match arguments:
            case (Argument(value=Number(value=int() as size)),) if size >= 1:
                return ColumnType(name="vector", size=size)
        reading.complain("bad-argument", "`vector` takes its size, as in `vector(128)`", written.span)
        return ColumnType()
    if name == "scores":
        named = [one.value for one in arguments if one.name is None and isinstance(one.value, Reference)]
        if arguments and len(named) == len(arguments) and all(map(is_plain, named)):
            column_type = ColumnType(name="scores", of=tuple(one.name for one in named))
            return column_type.at(written.span, of=tuple(one.span for one in named))
        message = "`scores` takes the variable whose states it scores, as in `scores(tag)`, or several"
        reading.complain("bad-argument", message, written.span)
        return ColumnType()
    if arguments:
        reading.complain("bad-argument", f"the column type `{name}` takes no argument", written.span)
    return ColumnType(name=name)  # type: ignore[arg-type]
