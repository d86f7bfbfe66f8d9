"""`ModelSpec`: the common, validated form of a `.dcrf` template, the Python builder and a model file.

Statements keep the order of their declaration; `use` is already inlined and `--set` applied. Constants declared by
`let` stay visible: a setting refers to them by name (`Reference`), and `ModelSpec.constant` returns the value. Paths of
lexicons and state files are kept as written; the `directory` of the declaring file is kept beside them and does not
count when two specs are compared. Not here: whether the model is meaningful (`checks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from .constraint_specs import Constraint as Constraint, Once as Once
from .domains import (
    Cardinality as Cardinality,
    Domain as Domain,
    Enumerated as Enumerated,
    Learned as Learned,
    Scheme as Scheme,
    SpanSchemes,
    StateFile as StateFile,
    StatesOf as StatesOf,
    span_scheme,
)
from .expressions import Argument, Condition, Feature, Frozen, Number, Place, Reference, Text, Value, ValueIf
from .segment_options import SegmentOptions
from .shown_spec import ShownSpec


class Setting(Frozen):
    """`key = value`; a dotted key is a tuple: `prior.words` is `("prior", "words")`"""

    key: Annotated[tuple[str, ...], Field(min_length=1)]
    value: Value


class CallSpec(Frozen):
    """A method by name with its arguments (`trp(tolerance = 1e-3)`) and the settings of its block, as written."""

    name: str
    arguments: tuple[Argument, ...] = ()
    settings: tuple[Setting, ...] = ()


# data -------------------------------------------------------------------------------------------------------


class ColumnType(Frozen):
    """`str` (a value per token), `float`, `int`, `bag` (several values, split at spaces), `weighted_bag` (names with
    weights), `vector` with its `size`.
    """

    name: Literal["str", "float", "int", "bag", "weighted_bag", "vector"] = "str"
    size: int | None = None


NUMERIC = ("float", "int", "vector")  # types of numbers, one or several per token


class Column(Frozen):
    """One declared column. `source` is where it is read from: its own name, `form`, or a FEATS key.

    `feats("Case")` has the source `feats` and the key `Case`.
    """

    name: str
    source: str
    key: str | None = None
    type: ColumnType = ColumnType()


class DataSpec(Frozen):
    """`data FORMAT(columns…, option = value)`; `schemes`, which a model sets, are those of labels read from spans."""

    format: str
    columns: tuple[Column, ...]
    options: tuple[Argument, ...] = ()
    doc: tuple[str, ...] = ()
    schemes: SpanSchemes = ()


# variables --------------------------------------------------------------------------------------------------


class Label(Frozen):
    """An output variable, read from the column with its name: one for each token, or one for a sentence."""

    kind: Literal["label"] = "label"
    name: str
    domain: Domain = Learned()
    others: str | None = None
    missing: str | None = None
    ambiguous: str | None = None
    constrain: bool = True
    per: Literal["token", "sentence"] = "token"
    doc: tuple[str, ...] = ()


class Latent(Frozen):
    kind: Literal["latent"] = "latent"
    name: str
    domain: Domain
    doc: tuple[str, ...] = ()


class Memory(Frozen):
    kind: Literal["memory"] = "memory"
    name: str
    value: ValueIf
    domain: Domain | None = None
    initially: str | None = None
    doc: tuple[str, ...] = ()


class View(Frozen):
    kind: Literal["view"] = "view"
    name: str
    value: ValueIf
    doc: tuple[str, ...] = ()


# the rest of the declarations ---------------------------------------------------------------------------------


class Lexicon(Frozen):
    kind: Literal["lexicon"] = "lexicon"
    name: str
    path: str
    case: Literal["exact", "ignore"] = "exact"
    doc: tuple[str, ...] = ()


class Let(Frozen):
    """A constant; `tune` is its search range."""

    kind: Literal["let"] = "let"
    name: str
    value: Value
    tune: CallSpec | None = None
    doc: tuple[str, ...] = ()


class FeatureGroup(Frozen):
    kind: Literal["features"] = "features"
    name: str
    features: tuple[Feature, ...]
    min_count: int | Reference = 1
    outside: Literal["boundary", "skip"] = "boundary"
    doc: tuple[str, ...] = ()


class Site(Frozen):
    variable: str
    place: Place


class CliqueSpec(SegmentOptions):
    """A clique index {(Δt, variable)} with its features. `name` None: unnamed; `label` is a readable name.

    `states` None: `seen`, or `all` if the only feature is `bias`. With `up_to`: over the segments of its only site.
    """

    kind: Literal["clique"] = "clique"
    sites: tuple[Site, ...]
    where: Condition | None = None
    name: str | None = None
    states: Literal["seen", "all"] | None = None
    edges: Literal["inside", "pad"] = "inside"
    link: Literal["next", "all"] = "next"
    order: Literal["forward", "any"] = "forward"
    min_gap: int | Reference = 1
    max_gap: int | Reference | None = None
    features: tuple[Feature, ...] = ()
    doc: tuple[str, ...] = ()

    @property
    def relational(self) -> bool:
        """Whether its sites are named positions joined by `where`."""
        return self.where is not None or any(site.place.kind == "named" for site in self.sites)

    @property
    def positions(self) -> tuple[str, ...]:
        """The names of its positions, in the order of its sites: `("i", "j")`; empty if it is not relational."""
        return tuple(dict.fromkeys(site.place.position for site in self.sites if site.place.kind == "named"))

    @property
    def label(self) -> str:
        """Its name, or the clique index as written: `chunk[-1], chunk`."""
        return self.name or "segments of " * self.segmental + self.sites_text

    @property
    def sites_text(self) -> str:
        """The clique index as written: `chunk[-1], chunk`."""
        return ", ".join(_site_text(site) for site in self.sites)


class Member(Frozen):
    clique: str
    place: Place
    locked: bool = False


class Piece(Frozen):
    kind: Literal["piece"] = "piece"
    name: str
    over: tuple[Site, ...]
    members: tuple[Member, ...]
    doc: tuple[str, ...] = ()


class Stage(Frozen):
    """A `train` statement: `criterion` with its arguments and settings, started from the stage `after`."""

    kind: Literal["stage"] = "stage"
    criterion: CallSpec
    name: str | None = None
    after: str | None = None
    doc: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.name or self.criterion.name


Declaration: TypeAlias = (
    Label | Latent | Memory | View | Lexicon | Let | FeatureGroup | CliqueSpec | Piece | Constraint | Once
)


class ModelSpec(ShownSpec):
    """A whole model as data: what a template, a `Template` or a model file says. Immutable.

    data: the reader and its columns; None for a model without a `data` statement.
    labels, latents, memories, views, lexicons, lets, groups, cliques, pieces, constraints, onces: the declarations
        in order.
    infer, decode, stages, evaluate: the methods, the stages of training and the metrics.
    doc: the lines of the comment at its top.

    Equality means equal meaning: layout, comments and file names do not count.

    >>> spec = load_template("address.dcrf").require()
    >>> [clique.label for clique in spec.cliques]
    ['part', 'part[-1], part']
    """

    data: DataSpec | None = None
    labels: tuple[Label, ...] = ()
    latents: tuple[Latent, ...] = ()
    memories: tuple[Memory, ...] = ()
    views: tuple[View, ...] = ()
    lexicons: tuple[Lexicon, ...] = ()
    lets: tuple[Let, ...] = ()
    groups: tuple[FeatureGroup, ...] = ()
    cliques: tuple[CliqueSpec, ...] = ()
    pieces: tuple[Piece, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    onces: tuple[Once, ...] = ()
    infer: CallSpec = CallSpec(name="auto")
    decode: CallSpec | None = None  # None: the rule that fits the criterion
    stages: tuple[Stage, ...] = ()
    evaluate: tuple[CallSpec, ...] = ()
    doc: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        self._tell_schemes()
        return self

    def _tell_schemes(self) -> None:
        """The data learns the schemes of the labels that it reads from spans."""
        data = self.data
        if data is None or all(column.source != "spans" for column in data.columns):
            return
        schemes = tuple(filter(None, (span_scheme(one.name, one.domain, one.others) for one in self.labels)))
        if schemes != data.schemes:  # the model is frozen for everybody else
            self.__dict__["data"] = data.model_copy(update={"schemes": schemes})

    def named(self) -> Iterator[tuple[str, Declaration]]:
        """Yields every named declaration with its name; columns are not declarations. It takes no argument.

        >>> [name for name, _ in load_template("address.dcrf").spec.named()]
        ['part', 'token']
        """
        for part in (
            self.labels, self.latents, self.memories, self.views, self.lexicons, self.lets, self.groups, self.cliques,
            self.pieces, self.constraints, self.onces,
        ):  # fmt: skip
            for item in part:
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

    def constant(self, name: str) -> Value | None:
        """The value of the constant `name` (`let`), or None."""
        return self._constants.get(name)

    def settled(self, value: Value) -> Value:
        """`value`, or the value of the constant that it names (itself if constants form a cycle)."""
        passed: dict[str, None] = {}
        while isinstance(value, Reference) and value.place.kind == "here" and value.name not in passed:
            next_value = self._settled.get(value.name, self._constants.get(value.name))
            if next_value is None:
                break
            passed[value.name] = None
            value = next_value
        # kept, so that a long chain is followed once; a constant on a cycle stands for itself
        names = list(passed)
        circle = names.index(value.name) if isinstance(value, Reference) and value.name in passed else len(names)
        self._settled.update(dict.fromkeys(names[:circle], value))
        self._settled.update((name, Reference(name=name)) for name in names[circle:])
        return value

    # Kept after the first use, so that a look-up does not visit the whole model. They are not part of the model: a copy
    # with other declarations computes its own.

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values of the fields in `update`; `deep` as in pydantic.

        >>> without_metrics = load_template("address.dcrf").spec.model_copy(update={"evaluate": ()})
        """
        copied = super().model_copy(update=update, deep=deep)
        for name in [name for name in copied.__dict__ if name not in type(self).model_fields]:
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
    def _constants(self) -> Mapping[str, Value]:
        return {let.name: let.value for let in reversed(self.lets)}

    @cached_property
    def _settled(self) -> dict[str, Value]:
        """The final values of constants that were asked for."""
        return {}

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


def _site_text(site: Site) -> str:
    place = site.place
    texts = {"here": lambda: "", "at": lambda: f"[{place.offset}]", "named": lambda: f"[{place.position}]"}  # type: ignore[union-attr]
    return site.variable + texts.get(place.kind, lambda: f"[{place.kind}]")()


def plain(value: Value) -> int | float | str | None:
    """The Python value of a number, a text or a bare word; None for anything else."""
    if isinstance(value, Number | Text):
        return value.value
    if isinstance(value, Reference):
        return value.name
    return None
