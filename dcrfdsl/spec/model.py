"""`ModelSpec`: what a `.dcrf` template, the Python builder and a model file all say, in one validated form.

Statements keep the order in which they were declared; `use` is already inlined and `--set` applied. Constants
declared by `let` stay visible: a setting refers to them by name (`Reference`), and `ModelSpec.constant` gives the
value. Paths of lexicons and state files are kept as written; `directory` of the declaring file is kept beside
them and is not part of the comparison of two specs. Not here: whether the model makes sense (`check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from .expressions import Argument, Condition, Feature, Frozen, Number, Place, Reference, Text, Value, ValueIf

__all__ = [
    "NUMERIC", "CallSpec", "Cardinality", "CliqueSpec", "Column", "ColumnType", "Constraint", "DataSpec", "Declaration",
    "Domain", "Enumerated", "FeatureGroup", "Label", "Latent", "Learned", "Let", "Lexicon", "Member", "Memory",
    "ModelSpec", "Piece", "Scheme", "Setting", "Site", "Stage", "StateFile", "StatesOf", "View",
]  # fmt: skip


class Setting(Frozen):
    """`key = value`; a dotted key is a tuple: `prior.words` is `("prior", "words")`"""

    key: tuple[str, ...]
    value: Value


class CallSpec(Frozen):
    """A plugin by name with its arguments (`trp(tolerance = 1e-3)`) and the settings of its block, as written."""

    name: str
    arguments: tuple[Argument, ...] = ()
    settings: tuple[Setting, ...] = ()


# data -------------------------------------------------------------------------------------------------------


class ColumnType(Frozen):
    """`str` (a state a token), `float`, `int`, `bag` (several values, split on spaces), `vector` with its `size`."""

    name: Literal["str", "float", "int", "bag", "vector"] = "str"
    size: int | None = None


NUMERIC = ("float", "int", "vector")  # types of numbers, whatever how many a token


class Column(Frozen):
    """One declared column. `source` is where it is read from: its own name, `form`, or a FEATS key.

    `feats("Case")` has the source `feats` and the key `Case`.
    """

    name: str
    source: str
    key: str | None = None
    type: ColumnType = ColumnType()


class DataSpec(Frozen):
    """`data FORMAT(columns…, option = value)`"""

    format: str
    columns: tuple[Column, ...]
    options: tuple[Argument, ...] = ()
    doc: tuple[str, ...] = ()


# domains ----------------------------------------------------------------------------------------------------


class Learned(Frozen):
    """No domain declared: the states are those of the training data, in order of first appearance."""

    kind: Literal["learned"] = "learned"


class Enumerated(Frozen):
    kind: Literal["enumerated"] = "enumerated"
    states: tuple[str, ...]


class Cardinality(Frozen):
    """`in 4`: the states 0, 1, 2, 3"""

    kind: Literal["cardinality"] = "cardinality"
    count: int


class Scheme(Frozen):
    """`bio(NP)`, `bioes(PER, ORG)`; no types: learned from the training data"""

    kind: Literal["scheme"] = "scheme"
    name: str
    types: tuple[str, ...] = ()


class StateFile(Frozen):
    kind: Literal["state_file"] = "state_file"
    path: str


class StatesOf(Frozen):
    """`states(role)`: the states of another variable"""

    kind: Literal["states_of"] = "states_of"
    variable: str


Domain: TypeAlias = Annotated[
    Learned | Enumerated | Cardinality | Scheme | StateFile | StatesOf, Field(discriminator="kind")
]


# variables --------------------------------------------------------------------------------------------------


class Label(Frozen):
    """An output variable, one instance a position, read from the column of its name."""

    kind: Literal["label"] = "label"
    name: str
    domain: Domain = Learned()
    others: str | None = None
    missing: str | None = None
    ambiguous: str | None = None
    constrain: bool = True
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
    options: tuple[Setting, ...] = ()
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


class CliqueSpec(Frozen):
    """A clique index {(Δt, variable)} with its features. `name` None: unnamed; `label` gives a readable name.

    `states` None means the default: `seen`, but `all` where the only feature is `bias`.
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
        """Whether its sites are named positions that `where` joins."""
        return self.where is not None or any(site.place.kind == "named" for site in self.sites)

    @property
    def positions(self) -> tuple[str, ...]:
        """The names of its positions, in the order of its sites: `("i", "j")`; empty if it is not relational."""
        return tuple(dict.fromkeys(site.place.position for site in self.sites if site.place.kind == "named"))

    @property
    def label(self) -> str:
        """Its name, or the clique index as it is written: `chunk[-1], chunk`."""
        return self.name or ", ".join(_site_text(site) for site in self.sites)


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


class Constraint(Frozen):
    """`forbid condition`, or `require condition [when …]`"""

    kind: Literal["constraint"] = "constraint"
    action: Literal["forbid", "require"]
    condition: Condition
    when: Condition | None = None
    name: str | None = None
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


Declaration: TypeAlias = Label | Latent | Memory | View | Lexicon | Let | FeatureGroup | CliqueSpec | Piece | Constraint


class ModelSpec(Frozen):
    """A whole model. Equality is equality of meaning: layout, comments and file names do not count."""

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
    infer: CallSpec = CallSpec(name="auto")
    decode: CallSpec | None = None  # None: what the criterion trains for
    stages: tuple[Stage, ...] = ()
    evaluate: tuple[CallSpec, ...] = ()
    doc: tuple[str, ...] = ()

    def named(self) -> Iterator[tuple[str, Declaration]]:
        """Every declaration that has a name, with it; columns are not declarations."""
        for part in (
            self.labels, self.latents, self.memories, self.views, self.lexicons, self.lets, self.groups, self.cliques,
            self.pieces, self.constraints,
        ):  # fmt: skip
            for item in part:
                if item.name is not None:
                    yield item.name, item

    def declaration(self, name: str) -> Declaration | None:
        """What `name` was declared as, or None (a column is found by `column`)."""
        return next((item for declared, item in self.named() if declared == name), None)

    def column(self, name: str) -> Column | None:
        columns = self.data.columns if self.data else ()
        return next((column for column in columns if column.name == name), None)

    def constant(self, name: str) -> Value | None:
        """The value of `let name`, or None."""
        return next((let.value for let in self.lets if let.name == name), None)

    def settled(self, value: Value) -> Value:
        """`value`, or what it stands for if it names a constant (itself where constants go round in a circle)."""
        passed: set[str] = set()
        while isinstance(value, Reference) and value.place.kind == "here" and value.name not in passed:
            found = self.constant(value.name)
            if found is None:
                return value
            passed.add(value.name)
            value = found
        return value


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
