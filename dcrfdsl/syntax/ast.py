"""The tree of a `.dcrf` text: one class for each construct of the language, each with its place in the text.

Places, layout and comments do not count when trees are compared, so "the same tree" is `==`. The tree holds what was
written, not its meaning: names are not resolved, settings are not typed. That is the business of `semantics`. This file
has the statements; the nodes below them are in `nodes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..foundation import Span
from .nodes import (
    And as And,
    Apply as Apply,
    Argument as Argument,
    Call as Call,
    Cardinality as Cardinality,
    Compares as Compares,
    Condition as Condition,
    Cross as Cross,
    Difference as Difference,
    Domain as Domain,
    Enumerated as Enumerated,
    Equals as Equals,
    Feature as Feature,
    Has as Has,
    InLexicon as InLexicon,
    InSet as InSet,
    Is as Is,
    Key as Key,
    Literal as Literal,
    Matches as Matches,
    Name as Name,
    Node as Node,
    Not as Not,
    Offset as Offset,
    Offsets as Offsets,
    Or as Or,
    Place as Place,
    Position as Position,
    Quantity as Quantity,
    Range as Range,
    Reference as Reference,
    Regex as Regex,
    Scheme as Scheme,
    Setting as Setting,
    State as State,
    StateFile as StateFile,
    Term as Term,
    TypedArgument as TypedArgument,
    Value as Value,
    ValueIf as ValueIf,
    Window as Window,
)


@dataclass(frozen=True)
class Trivia:
    """Comments of a statement: whole lines before it (`""` is a blank line) and one at the end of its line.

    `inside[i]` are the whole-line comments before line i of an indented block, `ends[i]` the comment at its end;
    one more item in `inside` holds the comments after its last line. Both are empty if there are none.
    """

    before: tuple[str, ...] = ()
    end: str = ""
    inside: tuple[tuple[str, ...], ...] = ()
    ends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    """The layout of a comma list: `block` = indented; `rows[i]` = number of items on line i of the block.

    The `where` and `with` lines of a clique's block are not rows. A block without `rows` has one item per line.
    """

    block: bool = False
    rows: tuple[int, ...] = ()


# statements --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Site(Node):
    variable: Name
    place: Place | None = None


@dataclass(frozen=True, kw_only=True)
class Statement(Node):
    """`keyword` is the place of the first word. `doc` is the text of the `##` lines before the statement."""

    keyword: Span = field(compare=False, repr=False)
    doc: tuple[str, ...] = ()
    trivia: Trivia = field(default=Trivia(), compare=False, repr=False)
    layout: Layout = field(default=Layout(), compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Data(Statement):
    call: Call


@dataclass(frozen=True, kw_only=True)
class Label(Statement):
    """`label intent in {A, B} for sentence`; `per` is what has one of it, a token by default"""

    name: Name
    domain: Domain | None = None
    per: Name | None = None
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Latent(Statement):
    name: Name
    domain: Domain
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Memory(Statement):
    name: Name
    value: ValueIf
    domain: Domain | None = None
    initially: State | None = None


@dataclass(frozen=True, kw_only=True)
class View(Statement):
    name: Name
    value: ValueIf


@dataclass(frozen=True, kw_only=True)
class Lexicon(Statement):
    name: Name
    path: Literal
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Let(Statement):
    name: Name
    value: Value
    tune: Call | None = None


@dataclass(frozen=True, kw_only=True)
class Use(Statement):
    path: Literal


@dataclass(frozen=True, kw_only=True)
class FeatureGroup(Statement):
    name: Name
    features: tuple[Feature, ...]
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Clique(Statement):
    sites: tuple[Site, ...]
    where: Condition | None = None
    name: Name | None = None
    settings: tuple[Setting, ...] = ()
    features: tuple[Feature, ...] = ()
    where_in_block: bool = field(default=False, compare=False)
    settings_in_block: bool = field(default=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Segment(Statement):
    """A clique over the segments of a label: `segment chunk up to 8 as spans: length, lower(joined(word))`"""

    variable: Name
    limit: Value
    name: Name | None = None
    settings: tuple[Setting, ...] = ()
    features: tuple[Feature, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Member(Node):
    """A member clique of a piece: `chain`, `chain[1]`, `locked words`"""

    clique: Name
    place: Place | None = None
    locked: bool = False


@dataclass(frozen=True, kw_only=True)
class Piece(Statement):
    name: Name
    over: tuple[Site, ...]
    members: tuple[Member, ...]


@dataclass(frozen=True, kw_only=True)
class Forbid(Statement):
    condition: Condition
    when: Condition | None = None
    name: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Require(Statement):
    condition: Condition
    when: Condition | None = None
    name: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Once(Statement):
    """`free` are the states, or types of segments, after `except`."""

    label: Name
    free: tuple[State, ...] = ()
    name: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Infer(Statement):
    call: Call
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decode(Statement):
    call: Call
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Train(Statement):
    call: Call
    name: Name | None = None
    after: Name | None = None
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Evaluate(Statement):
    metrics: tuple[Call, ...]


@dataclass(frozen=True, kw_only=True)
class Template(Node):
    """A whole file. `doc` is the `##` text at the top.

    `opening` are the comments before `dcrf 1`, `edition_end` the one on its line, `closing` those after the last
    statement.
    """

    statements: tuple[Statement, ...]
    edition: int | None = field(default=None, compare=False)
    doc: tuple[str, ...] = ()
    opening: tuple[str, ...] = field(default=(), compare=False, repr=False)
    edition_end: str = field(default="", compare=False, repr=False)
    closing: tuple[str, ...] = field(default=(), compare=False, repr=False)
