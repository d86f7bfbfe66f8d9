"""References, terms, conditions and features of a `ModelSpec`.

They have the shapes of a template's tree, without places in a text: names are still names (of a column, a label, a
feature group …; `ModelSpec.declaration` finds the declaration). Windows and ranges stay as written; `features` expands
them.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """Base class of all parts of a specification: immutable, without undeclared keys.

    The validator of a class is built on first use: a command needs only a few of these classes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


# places -----------------------------------------------------------------------------------------------------


class Here(Frozen):
    """No index: the current position t."""

    kind: Literal["here"] = "here"


class At(Frozen):
    """`[-1]`: t plus `offset`. `[0]` is `Here`."""

    kind: Literal["at"] = "at"
    offset: int


class Window(Frozen):
    """`[first..last]`, both included"""

    kind: Literal["window"] = "window"
    first: int
    last: int


class Several(Frozen):
    """`[-2, 0, 3]`"""

    kind: Literal["several"] = "several"
    offsets: tuple[int, ...]


class Named(Frozen):
    """`[i-1]`: a named position of a relational clique, shifted; `[all]` has the name `all`"""

    kind: Literal["named"] = "named"
    position: str
    shift: int = 0


Place: TypeAlias = Annotated[Here | At | Window | Several | Named, Field(discriminator="kind")]
All = Named(position="all")


# values and terms ---------------------------------------------------------------------------------------------


class Number(Frozen):
    kind: Literal["number"] = "number"
    value: int | float


class Text(Frozen):
    kind: Literal["text"] = "text"
    value: str


class Range(Frozen):
    """`1..4`, both included"""

    kind: Literal["range"] = "range"
    first: int
    last: int


class Regex(Frozen):
    """An RE2 pattern as written between the slashes."""

    kind: Literal["regex"] = "regex"
    pattern: str
    ignore_case: bool = False


class Reference(Frozen):
    """A declared name at a place: a column, label, view, memory, lexicon, feature group, state or constant."""

    kind: Literal["reference"] = "reference"
    name: str
    place: Place = Here()


class Argument(Frozen):
    value: Value
    name: str | None = None


class Apply(Frozen):
    """A function of its arguments, at a place: `lower(word)[-1]`, `prefix(word, 1..4)`."""

    kind: Literal["apply"] = "apply"
    function: str
    arguments: tuple[Argument, ...] = ()
    place: Place = Here()


Term: TypeAlias = Annotated[Reference | Apply, Field(discriminator="kind")]
Value: TypeAlias = Annotated[Reference | Apply | Number | Text | Range | Regex, Field(discriminator="kind")]


# conditions -----------------------------------------------------------------------------------------------------


class Matches(Frozen):
    """The regex matches the whole value."""

    kind: Literal["matches"] = "matches"
    term: Term
    regex: Regex


class Has(Frozen):
    """The regex matches somewhere in the value."""

    kind: Literal["has"] = "has"
    term: Term
    regex: Regex


class Is(Frozen):
    kind: Literal["is"] = "is"
    term: Term
    state: str
    negated: bool = False


class InLexicon(Frozen):
    kind: Literal["in_lexicon"] = "in_lexicon"
    term: Term
    lexicon: str
    negated: bool = False


class InSet(Frozen):
    kind: Literal["in_set"] = "in_set"
    term: Term
    states: tuple[str, ...]
    negated: bool = False


class Equals(Frozen):
    kind: Literal["equals"] = "equals"
    left: Term
    right: Term
    negated: bool = False


class Difference(Frozen):
    """`index[j] - index[i]`: a number less another"""

    kind: Literal["difference"] = "difference"
    left: Term
    right: Term


Quantity: TypeAlias = Annotated[Reference | Apply | Difference | Number, Field(discriminator="kind")]
Sign: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]


class Compares(Frozen):
    """Two numbers compared: `length(word) > 3`; false where one of them is missing, also for `!=`"""

    kind: Literal["compares"] = "compares"
    left: Quantity
    sign: Sign
    right: Quantity


class Not(Frozen):
    kind: Literal["not"] = "not"
    inner: Condition


class And(Frozen):
    kind: Literal["and"] = "and"
    parts: tuple[Condition, ...]


class Or(Frozen):
    kind: Literal["or"] = "or"
    parts: tuple[Condition, ...]


Condition: TypeAlias = Annotated[
    Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or,
    Field(discriminator="kind"),
]


class Cross(Frozen):
    """`a & b`: one feature for each combination of its factors' values"""

    kind: Literal["cross"] = "cross"
    factors: tuple[Condition, ...]


Feature: TypeAlias = Annotated[
    Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or | Cross,
    Field(discriminator="kind"),
]


class ValueIf(Frozen):
    """`value if condition else otherwise`; both may be absent together"""

    value: Condition
    condition: Condition | None = None
    otherwise: Condition | None = None
