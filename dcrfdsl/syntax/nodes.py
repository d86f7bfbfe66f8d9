"""The nodes of the tree below a statement: places, values, terms, conditions, features, calls, settings and domains.

There is one tree. The parser builds it, the Python builder builds it, the checker complains at it, the formatter prints
it, and model files hold it as JSON. Names are names: what they stand for is found by the checker. Windows and ranges
stay as they are written; `features` expands them. Not here: statements (`statements`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from ..foundation import Source, Span

NOWHERE = Span(Source("<spec>", ""), 0, 0)
# Words that cannot be names, because they have a meaning of their own in an expression or a block.
RESERVED = frozenset({"and", "else", "has", "if", "in", "is", "locked", "matches", "not", "or", "where", "with"})
_ATOMS = frozenset({str, int, float, bool, type(None), type(...)})
_NAME = re.compile(r"[^\W\d]\w*")

PartSpans: TypeAlias = Mapping[str, "Span | tuple[Span, ...]"]


AnyNode = TypeVar("AnyNode", bound="Node")


class Node:
    """The base class of all nodes: frozen dataclasses that are made by keyword.

    span: the place of the node in a text, `NOWHERE` for one that no parser has read.
    part_spans: the places of its fields that are no nodes: `{"name": Span, "states": (Span, Span)}`.

    Places do not count where nodes are compared. A copy has those of the original.
    """

    span: ClassVar[Span] = NOWHERE
    part_spans: ClassVar[PartSpans] = {}
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    def at(self, span: Span, **part_spans: Span | tuple[Span, ...]) -> Self:
        """The same node, told its place. For whoever has just made it.

        span: of the node.
        part_spans: of its fields that are no nodes, by their names.
        """
        self.__dict__["span"] = span
        if part_spans:
            self.__dict__["part_spans"] = part_spans
        return self

    @property
    def is_written(self) -> bool:
        """Whether it was read from a text."""
        return self.span is not NOWHERE

    def place_of(self, part: str) -> Span:
        """The place of a field that is a text; that of the node if the field is not written.

        part: the name of the field.
        """
        place = self.part_spans.get(part)
        return place if isinstance(place, Span) else self.span

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with other values of some fields.

        update: the values, by the names of their fields.
        """
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.__dict__.update(update or {})
        return copied


def written_node(
    kind: type[AnyNode], fields: Mapping[str, Any], span: Span, part_spans: dict[str, Span | tuple[Span, ...]]
) -> AnyNode:
    """`kind(**fields).at(span, **part_spans)`, in a third of the time: the parser makes most nodes so."""
    node = object.__new__(kind)
    any_kind: Any = kind
    node.__dict__.update(_defaults(any_kind))
    node.__dict__.update(fields)
    node.__dict__["span"] = span
    if part_spans:
        node.__dict__["part_spans"] = part_spans
    return node


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    return {field.name: field.default for field in fields(kind)}


def field_names(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a class of nodes, `kind` left out."""
    any_kind: Any = kind  # mypy takes a class whose instances compare by fields for one that has no hash
    return tuple(name for name in _defaults(any_kind) if name != "kind")


def default_of(kind: type[Node], name: str) -> Any:
    """The default of a field."""
    any_kind: Any = kind
    return _defaults(any_kind)[name]


def relocated(part: Any, move: Callable[[Span], Span]) -> Any:
    """A node, or what stands in its fields, with all places moved."""
    kind = type(part)
    if kind in _ATOMS:
        return part
    if kind is Span:
        return move(part)
    if kind is tuple:
        return tuple([relocated(one, move) for one in part]) if part else part
    if kind is dict:
        return {name: relocated(one, move) for name, one in part.items()}
    if not isinstance(part, Node) or "span" not in part.__dict__:
        return part
    moved = object.__new__(kind)
    kept = moved.__dict__
    for name, one in part.__dict__.items():
        kept[name] = one if type(one) in _ATOMS else relocated(one, move)
    return moved


class LateField:
    """What pydantic's `Field` says of a type. Pydantic is loaded where JSON is read, as a layout does without it."""

    def __init__(self, **said: Any):
        self.said = said

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import Field

        return handler.generate_schema(Annotated[source, Field(**self.said)])


BY_KIND = LateField(discriminator="kind")  # `kind` says which of several nodes it is


# places -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Here(Node):
    """No index, or `[0]`: the current position t."""

    kind: Literal["here"] = "here"


@dataclass(frozen=True, kw_only=True)
class At(Node):
    """`[-1]`: t plus `offset`. `[0]` is `Here`."""

    kind: Literal["at"] = "at"
    offset: int


@dataclass(frozen=True, kw_only=True)
class Window(Node):
    """`[first..last]`, both included"""

    kind: Literal["window"] = "window"
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Several(Node):
    """`[-2, 0, 3]`"""

    kind: Literal["several"] = "several"
    offsets: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Named(Node):
    """`[i-1]`: a named position of a relational clique, shifted; `[all]` has the name `all`"""

    kind: Literal["named"] = "named"
    position: str
    shift: int = 0


Place: TypeAlias = Annotated[Here | At | Window | Several | Named, BY_KIND]
HERE = Here()
All = Named(position="all")


# values and terms ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Number(Node):
    """A number. `spelling` is how a text has it (`1e-3`), and does not count where numbers are compared."""

    kind: Literal["number"] = "number"
    value: int | float

    spelling: ClassVar[str] = ""


@dataclass(frozen=True, kw_only=True)
class Text(Node):
    """A text in quotes."""

    kind: Literal["text"] = "text"
    value: str


@dataclass(frozen=True, kw_only=True)
class Range(Node):
    """`1..4`, both included"""

    kind: Literal["range"] = "range"
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Regex(Node):
    """An RE2 pattern as written between the slashes."""

    kind: Literal["regex"] = "regex"
    pattern: str
    ignore_case: bool = False


@dataclass(frozen=True, kw_only=True)
class Reference(Node):
    """A declared name at a place: a column, label, view, memory, lexicon, feature group, state or constant."""

    kind: Literal["reference"] = "reference"
    name: str
    place: Place = HERE


@dataclass(frozen=True, kw_only=True)
class Argument(Node):
    """`word`, or `short = yes` with a `name`. `is_type`: it is `height: float`, a column of `data` with its type."""

    value: Value
    name: str | None = None

    is_type: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Apply(Node):
    """A function of its arguments, at a place: `lower(word)[-1]`, `prefix(word, 1..4)`."""

    kind: Literal["apply"] = "apply"
    function: str
    arguments: tuple[Argument, ...] = ()
    place: Place = HERE


Term: TypeAlias = Annotated[Reference | Apply, BY_KIND]
Value: TypeAlias = Annotated[Reference | Apply | Number | Text | Range | Regex, BY_KIND]


# conditions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Matches(Node):
    """The regex matches the whole value."""

    kind: Literal["matches"] = "matches"
    term: Term
    regex: Regex


@dataclass(frozen=True, kw_only=True)
class Has(Node):
    """The regex matches somewhere in the value."""

    kind: Literal["has"] = "has"
    term: Term
    regex: Regex


@dataclass(frozen=True, kw_only=True)
class Is(Node):
    """`chunk is O`, `chunk is not O`"""

    kind: Literal["is"] = "is"
    term: Term
    state: str
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class InLexicon(Node):
    """`word in places`, `word not in places`"""

    kind: Literal["in_lexicon"] = "in_lexicon"
    term: Term
    lexicon: str
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class InSet(Node):
    """`pos in {NN, NNS}`, `pos not in {NN, NNS}`"""

    kind: Literal["in_set"] = "in_set"
    term: Term
    states: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Equals(Node):
    """`word[i] = word[j]`, `word[i] != word[j]`"""

    kind: Literal["equals"] = "equals"
    left: Term
    right: Term
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Difference(Node):
    """`index[j] - index[i]`: a number less another"""

    kind: Literal["difference"] = "difference"
    left: Term
    right: Term


Quantity: TypeAlias = Annotated[Reference | Apply | Difference | Number, BY_KIND]
Sign: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]


@dataclass(frozen=True, kw_only=True)
class Compares(Node):
    """Two numbers compared: `length(word) > 3`; false where one of them is missing, also for `!=`"""

    kind: Literal["compares"] = "compares"
    left: Quantity
    sign: Sign
    right: Quantity


@dataclass(frozen=True, kw_only=True)
class Not(Node):
    """`not a`"""

    kind: Literal["not"] = "not"
    inner: Condition


@dataclass(frozen=True, kw_only=True)
class And(Node):
    """`a and b`"""

    kind: Literal["and"] = "and"
    parts: tuple[Condition, ...]


@dataclass(frozen=True, kw_only=True)
class Or(Node):
    """`a or b`"""

    kind: Literal["or"] = "or"
    parts: tuple[Condition, ...]


Condition: TypeAlias = Annotated[
    Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or, BY_KIND
]


@dataclass(frozen=True, kw_only=True)
class Cross(Node):
    """`a & b`: one feature for each combination of its factors' values"""

    kind: Literal["cross"] = "cross"
    factors: tuple[Condition, ...]


Feature: TypeAlias = Annotated[
    Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or | Cross, BY_KIND
]


@dataclass(frozen=True, kw_only=True)
class ValueIf(Node):
    """`value if condition else otherwise`; both may be absent together"""

    value: Condition
    condition: Condition | None = None
    otherwise: Condition | None = None


# calls and settings ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Setting(Node):
    """`key = value`; a dotted key is a tuple: `prior.words` is `("prior", "words")`"""

    key: Annotated[tuple[str, ...], LateField(min_length=1)]
    value: Value


@dataclass(frozen=True, kw_only=True)
class CallSpec(Node):
    """A method by name with its arguments (`trp(tolerance = 1e-3)`) and the settings of its block, as written."""

    name: str
    arguments: tuple[Argument, ...] = ()
    settings: tuple[Setting, ...] = ()


# sites and domains ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Site(Node):
    """`chunk[-1]` in a clique"""

    variable: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class Member(Node):
    """A member clique of a piece: `chain`, `chain[1]`, `locked words`"""

    clique: str
    place: Place
    locked: bool = False


@dataclass(frozen=True, kw_only=True)
class Learned(Node):
    """No declared domain: the states are those of the training data, in order of first appearance."""

    kind: Literal["learned"] = "learned"


@dataclass(frozen=True, kw_only=True)
class Enumerated(Node):
    """`{A, B}`: the states that are listed"""

    kind: Literal["enumerated"] = "enumerated"
    states: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Cardinality(Node):
    """`in 4`: the states 0, 1, 2, 3"""

    kind: Literal["cardinality"] = "cardinality"
    count: int


@dataclass(frozen=True, kw_only=True)
class Scheme(Node):
    """`bio(NP)`, `bioes(PER, ORG)`; no types: learned from the training data"""

    kind: Literal["scheme"] = "scheme"
    name: str
    types: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StateFile(Node):
    """`"states.txt"`: the states in a file, one a line"""

    kind: Literal["state_file"] = "state_file"
    path: str


@dataclass(frozen=True, kw_only=True)
class StatesOf(Node):
    """`states(role)`: the states of another variable"""

    kind: Literal["states_of"] = "states_of"
    variable: str


Domain: TypeAlias = Annotated[Learned | Enumerated | Cardinality | Scheme | StateFile | StatesOf, BY_KIND]


def is_plain_name(text: str) -> bool:
    """Whether a text can be written as a bare word: a name with a letter that is not a word of the language."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED and text.strip("_") != ""


def word_value(text: str) -> Reference | Text:
    """A text as a value: a bare word if it can be one, else in quotes."""
    return Reference(name=text) if is_plain_name(text) else Text(value=text)
