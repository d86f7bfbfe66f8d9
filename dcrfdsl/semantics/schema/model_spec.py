"""`ModelSpec`: the common, checked form of a `.dcrf` template, the Python builder and a model file.

Statements keep the order of their declaration; `use` is already inlined and `--set` applied. Constants declared by
`let` stay visible: a setting refers to them by name (`Reference`), and `ModelSpec.constant` returns the value. Paths of
lexicons and state files are kept as written; the `directory` of the declaring file is kept beside them and does not
count when two specs are compared. Not here: the statements themselves (`syntax`), whether the model is meaningful
(`checks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import chain
from math import prod
from typing import Any, Literal, Self, TypeVar

from ...foundation import require_kind
from ...syntax import (
    NAMED_STATEMENTS,
    CliqueSpec,
    Column,
    Constraint,
    Declaration,
    Declarations,
    Evaluate,
    Expectation,
    Label,
    Latent,
    Memory,
    Method,
    SpanScheme,
    Statement,
    View,
    format_plainly,
    nodes as ex,
)
from .segment_schemes import listed_states

AnyNode = TypeVar("AnyNode", bound=ex.Node)


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter  # here, as checking a template needs no JSON

    return TypeAdapter(kind)


def json_adapter(kind: type[ex.Node]) -> Any:
    """What pydantic knows of a class of nodes: how it is checked, its JSON and the schema of that."""
    any_kind: Any = kind
    return _adapter(any_kind)


def checked_node(kind: type[AnyNode], fields: Mapping[str, Any]) -> AnyNode:
    """A node with these fields, as Python or JSON has them. Raises pydantic's `ValidationError` for a wrong type."""
    node: AnyNode = json_adapter(kind).validate_python(fields)
    return node


def validated(node: AnyNode) -> AnyNode:
    """The same node, its fields checked, but not the nodes in them. Raises pydantic's `ValidationError`."""
    return checked_node(type(node), {name: getattr(node, name) for name in ex.field_names(type(node))})


class ModelSpec(Declarations):
    """A whole model as data: what a template, a `Template` or a model file says. Immutable.

    data: the reader and its columns; None for a model without a `data` statement.
    labels, latents, memories, views, lexicons, lets, groups, cliques, pieces, constraints, onces, runs, expectations:
        the declarations in order.
    infer, decode, stages, evaluate: the methods, the stages of training and the metrics.
    doc: the lines of the comment at its top.

    Equality means equal meaning: layout, comments and file names do not count.

    >>> spec = load_template("address.dcrf").require()
    >>> [clique.label for clique in spec.cliques]
    ['part', 'part[-1], part']
    """

    def __post_init__(self) -> None:
        self._tell_schemes()

    def __repr__(self) -> str:
        parts = [f"labels {', '.join(label.name for label in self.labels) or 'none'}", f"{len(self.cliques):,} cliques"]
        if self.stages:
            parts.append(f"stages {', '.join(stage.label for stage in self.stages)}")
        return f"<{type(self).__name__}: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the canonical template."""
        from .spec_display import template_html  # here, as it loads the highlighter

        return template_html(to_text(self))

    @classmethod
    def model_validate(cls, values: Mapping[str, Any]) -> Self:
        """The specification with the fields of `values`, as `model_dump` or the JSON of a model file has them.

        Raises pydantic's `ValidationError` where one has another type.

        >>> spec = ModelSpec.model_validate({"labels": [{"name": "tag"}]})
        """
        return checked_node(cls, values)

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """The specification that `model_dump_json` wrote. Raises pydantic's `ValidationError` for anything else.

        text: of the JSON.

        >>> spec = ModelSpec.model_validate_json('{"labels": [{"name": "tag"}]}')
        """
        spec: Self = json_adapter(cls).validate_json(text)
        return spec

    def model_dump_json(self, **options: Any) -> str:
        """All fields as JSON.

        options: of pydantic, such as `indent`.

        >>> json = load_template("address.dcrf").spec.model_dump_json(indent=2)
        """
        text: bytes = json_adapter(type(self)).dump_json(self, **options)
        return text.decode()

    def model_dump(self, *, mode: Literal["python", "json"] = "python", **options: Any) -> dict[str, Any]:
        """All fields as dictionaries, lists and plain values.

        mode: `json` has lists in place of tuples.
        options: of pydantic, such as `exclude_defaults`.

        >>> load_template("address.dcrf").spec.model_dump()["labels"][0]["name"]
        'part'
        """
        values: dict[str, Any] = json_adapter(type(self)).dump_python(self, mode=mode, **options)
        return values

    def _tell_schemes(self) -> None:
        """The data learns the schemes of the labels that it reads from spans, and how many scores are of states."""
        data = self.data
        if data is None:
            return
        columns = tuple(self._sized(column) if column.type.of else column for column in data.columns)
        schemes = data.schemes
        if any(column.source == "spans" for column in columns):
            schemes = tuple(filter(None, (span_scheme(one.name, one.domain, one.others) for one in self.labels)))
        if (schemes, columns) != (data.schemes, data.columns):  # the model is frozen for everybody else
            self.__dict__["data"] = data.model_copy(update={"schemes": schemes, "columns": columns})

    def _sized(self, column: Column) -> Column:
        """A column of scores that knows how many they are, if labels say all of their states."""
        scored = [label for name in column.type.of for label in self.labels if label.name == name]
        states = [{*(listed_states(one.domain) or ()), one.others} - {None} for one in scored]
        known = len(scored) == len(column.type.of) and all(listed_states(one.domain) for one in scored)
        size = prod(map(len, states)) if known else None
        return column.model_copy(update={"type": column.type.model_copy(update={"size": size})})

    def named(self) -> Iterator[tuple[str, Declaration]]:
        """Yields every named declaration with its name; columns are not declarations. It takes no argument.

        >>> [name for name, _ in load_template("address.dcrf").spec.named()]
        ['part', 'token']
        """
        for kind in NAMED_STATEMENTS:
            for item in getattr(self, kind.section):
                if item.name is not None:
                    yield item.name, item

    def declaration(self, name: str) -> Declaration | None:
        """The declaration of `name`, or None; `column` finds columns.

        >>> load_template("address.dcrf").spec.declaration("part").domain.types
        ('STREET', 'TOWN')
        """
        return self._declarations.get(name)

    def column(self, name: str) -> Column | None:
        """The column `name`, or None."""
        return self._columns.get(name)

    def constant(self, name: str) -> ex.Value | None:
        """The value of the constant `name` (`let`), or None."""
        return self._constants.get(name)

    def settled(self, value: ex.Value) -> ex.Value:
        """`value`, or the value of the constant that it names (itself if constants form a cycle)."""
        passed: dict[str, None] = {}
        while isinstance(value, ex.Reference) and value.place.kind == "here" and value.name not in passed:
            next_value = self._settled.get(value.name, self._constants.get(value.name))
            if next_value is None:
                break
            passed[value.name] = None
            value = next_value
        # kept, so that a long chain is followed once; a constant on a cycle stands for itself
        names = list(passed)
        circle = names.index(value.name) if isinstance(value, ex.Reference) and value.name in passed else len(names)
        self._settled.update(dict.fromkeys(names[:circle], value))
        self._settled.update((name, ex.Reference(name=name)) for name in names[circle:])
        return value

    # Kept after the first use, so that a look-up does not visit the whole model. They are not part of the model: a copy
    # with other declarations computes its own.

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with other values of the fields in `update`. Its parts never change, so it shares them.

        >>> without_metrics = load_template("address.dcrf").spec.model_copy(update={"evaluate": ()})
        """
        copied = super().model_copy(update=update)
        for name in copied.__dict__.keys() - {*ex.field_names(type(self)), "span", "part_spans"}:
            del copied.__dict__[name]
        copied._tell_schemes()
        return copied

    @cached_property
    def _declarations(self) -> Mapping[str, Declaration]:
        return dict(reversed(list(self.named())))  # the first of two with the same name

    @cached_property
    def _columns(self) -> Mapping[str, Column]:
        return {column.name: column for column in reversed(self.data.columns if self.data else ())}

    @cached_property
    def _constants(self) -> Mapping[str, ex.Value]:
        return {let.name: let.value for let in reversed(self.lets)}

    @cached_property
    def _settled(self) -> dict[str, ex.Value]:
        """The final values of constants that were asked for."""
        return {}

    @property
    def variables(self) -> tuple[Label | Latent | Memory, ...]:
        """All that have states: labels, latent variables, memories, in the order of their numbers."""
        return (*self.labels, *self.latents, *self.memories)

    @property
    def laws(self) -> tuple[Constraint, ...]:
        """The constraints that no labelling may break: those without a cost."""
        return tuple(one for one in self.constraints if one.cost is None)

    @property
    def rules(self) -> tuple[Constraint | Expectation, ...]:
        """What has a condition on labels: constraints and expectations."""
        return (*self.constraints, *self.expectations)

    @cached_property
    def hidden_names(self) -> frozenset[str]:
        """Labels, latent variables and memories: the variables with a state at each position."""
        return frozenset(item.name for part in (self.labels, self.latents, self.memories) for item in part)

    @cached_property
    def labels_by_name(self) -> Mapping[str, Label]:
        return {label.name: label for label in reversed(self.labels)}

    @cached_property
    def memories_by_name(self) -> Mapping[str, Memory]:
        return {memory.name: memory for memory in reversed(self.memories)}

    @cached_property
    def stage_numbers(self) -> Mapping[str, int]:
        return {stage.label: n for n, stage in enumerate(self.stages)}

    @cached_property
    def clique_names(self) -> tuple[Mapping[str, None], tuple[str, ...]]:
        """The names of named cliques: for look-up, and in their order."""
        names = tuple(clique.name for clique in self.cliques if clique.name)
        return dict.fromkeys(names), names

    @cached_property
    def views_by_name(self) -> Mapping[str, View]:
        return {view.name: view for view in reversed(self.views)}

    @cached_property
    def label_of_view(self) -> dict[str, str | None]:
        """The label of each view that was asked for (`condition_tables.view_label`)."""
        return {}


def longest_segment(spec: ModelSpec, clique: CliqueSpec) -> int:
    """The most tokens of a segment of a `segment` statement that fires features of its own."""
    return whole_number(spec, clique.up_to) or 1


def shortest_segment(spec: ModelSpec, clique: CliqueSpec) -> int:
    """The fewest tokens of a segment of a `segment` statement."""
    return whole_number(spec, clique.least) or 1


def whole_number(spec: ModelSpec, value: int | ex.Reference | None) -> int | None:
    """The number that an option or a constant stands for; 1 for a constant that is none, which the checker refuses."""
    if isinstance(value, ex.Reference):
        settled = spec.settled(value)
        return settled.value if isinstance(settled, ex.Number) and isinstance(settled.value, int) else 1
    return value


def span_scheme(label: str, domain: ex.Domain, others: str | None) -> SpanScheme | None:
    """How spans become states of a domain; None if it says nothing of it. `others` are the states of unknown values."""
    if isinstance(domain, ex.Scheme):
        name, types = domain.name, domain.types
    elif isinstance(domain, ex.Enumerated):
        marks = [state.partition("-") for state in domain.states if state[1:2] == "-"]
        name = "bioes" if {mark for mark, _, _ in marks} & {"E", "S"} else "bio"
        types = tuple(dict.fromkeys(kind for _, _, kind in marks))
    else:
        return None
    return SpanScheme(label=label, scheme=name, types=types if types and others == "O" else None)


def plain(value: ex.Value) -> int | float | str | None:
    """The Python value of a number, a text or a bare word; None for anything else."""
    if isinstance(value, ex.Number | ex.Text):
        return value.value
    if isinstance(value, ex.Reference):
        return value.name
    return None


# text -------------------------------------------------------------------------------------------------------

# The declarations in the order of a canonical text, where a blank line parts one tuple from the next.
_METHODS = ("infer", "decode", "stages", "evaluate")
_FIRST = (
    ("data",), ("lets",), ("labels", "latents"), ("lexicons",), ("memories", "views"), ("groups",), ("cliques",),
    ("constraints", "onces", "runs"), ("pieces",),
)  # fmt: skip
_SECTIONS = (
    *_FIRST,
    *((name,) for name in ex.field_names(Declarations) if name not in ("doc", *_METHODS, *chain.from_iterable(_FIRST))),
    _METHODS,
)


def to_text(spec: ModelSpec, *, every_option: bool = False) -> str:
    """The canonical text of a specification; reading it again gives an equal specification.

    spec: a `ModelSpec`, as `m.spec()`, `load_template(…).require()` and `model.spec` are.
    every_option: writes the options of statements that have their default value, too.

    >>> print(to_text(load_text("label   tag in {A,B}").spec).splitlines()[1])
    label tag in {A, B}
    """
    require_kind(spec, ModelSpec, "spec", "a ModelSpec")
    sections = [[one for name in names for one in _statements(spec, name)] for names in _SECTIONS]
    return format_plainly(sections, spec.doc, every_option=every_option)


def _statements(spec: ModelSpec, name: str) -> tuple[Statement, ...]:
    """The statements that a field of a specification stands for."""
    value = getattr(spec, name)
    if isinstance(value, ex.CallSpec):
        return (Method(step=name, call=value),)
    if name == "evaluate" and value:
        return (Evaluate(metrics=value),)
    return value if isinstance(value, tuple) else () if value is None else (value,)
