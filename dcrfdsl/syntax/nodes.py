"""The nodes of the tree below a statement: places, values, terms, conditions, features, calls, settings and domains.

There is one tree. The parser builds it, the Python builder builds it, the checker complains at it, the formatter prints
it, and model files hold it as JSON. Names are names: what they stand for is found by the checker. Windows and ranges
stay as they are written; `features` expands them. Not here: statements (`statements`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, dataclass_transform

from ..foundation import Label, Source, Span

NOWHERE = Span(Source("<spec>", ""), 0, 0)
# Words that cannot be names, because they have a meaning of their own in an expression or a block.
RESERVED = frozenset({"and", "else", "has", "if", "in", "is", "locked", "matches", "not", "or", "where", "with"})
_ATOMS = frozenset({str, int, float, bool, type(None), type(...)})
_NAME = re.compile(r"[^\W\d]\w*")

PartSpans: TypeAlias = Mapping[str, "Span | tuple[Span, ...]"]


AnyNode = TypeVar("AnyNode", bound="Node")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Node:
    """The base class of all nodes: each subclass is a frozen dataclass, which is made by keyword.

    kind: the word by which JSON tells it from others that may stand in its place, given with the class.
    span: the place of the node in a text, `NOWHERE` for one that no parser has read.
    part_spans: the places of its fields that are no nodes: `{"name": Span, "states": (Span, Span)}`.

    Places do not count where nodes are compared. A copy has those of the original.
    """

    kind: ClassVar[str] = ""
    span: ClassVar[Span] = NOWHERE
    part_spans: ClassVar[PartSpans] = {}
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    def __init_subclass__(cls, *, kind: str = "") -> None:
        if kind:  # a field as any other, the first one
            cls.__annotations__ = {"kind": Literal[kind], **cls.__annotations__}
            cls.kind = kind
        # Methods made for each class would take a sixth of the start of `fmt`, so all share those below.
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)

    def __init__(self, **given: Any) -> None:
        kind: Any = type(self)
        known = _defaults(kind)
        self.__dict__.update(known)
        self.__dict__.update(given)
        if len(self.__dict__) > len(known) or any(one is MISSING for one in self.__dict__.values()):
            wrong = [*(given.keys() - known), *(name for name, one in self.__dict__.items() if one is MISSING)]
            raise TypeError(f"{kind.__name__} has no such field, or needs it: {', '.join(sorted(wrong))}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """What a class does with its fields once it has them."""

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        kind: Any = type(self)
        return bool(_compared(kind)(self) == _compared(kind)(other)) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        kind: Any = type(self)
        return hash(_compared(kind)(self))

    def __repr__(self) -> str:
        kind: Any = type(self)
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(kind) if field.repr)
        return f"{kind.__qualname__}({', '.join(shown)})"

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

    def place_of(self, part: str, number: int | None = None) -> Span:
        """The place of a field; that of the node if the field is not written.

        part: the name of the field.
        number: of an entry, where the field is a list.
        """
        value, place = getattr(self, part, None), self.part_spans.get(part)
        if number is not None:
            value = value[number] if isinstance(value, tuple) else None
            place = place[number] if isinstance(place, tuple) else None
        if isinstance(value, Node) and value.is_written:
            return value.span
        return place if isinstance(place, Span) else self.span

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with other values of some fields.

        update: the values, by the names of their fields.
        """
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.__dict__.update(update or {})
        return copied


def label_at(place: Node | Span | None, text: str = "") -> Label | None:
    """The mark of a message at a place in a text; None for a node that no parser has read."""
    span = place.span if isinstance(place, Node) else place
    return None if span is None or span is NOWHERE else Label(span, text)


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


@cache
def _compared(kind: Any) -> Callable[[Any], Any]:
    """What of a node is compared."""
    return attrgetter("__class__", *(field.name for field in fields(kind) if field.compare))


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


class Here(Node, kind="here"):
    """No index, or `[0]`: the current position t."""


class At(Node, kind="at"):
    """`[-1]`: t plus `offset`. `[0]` is `Here`."""

    offset: int


class Window(Node, kind="window"):
    """`[first..last]`, both included"""

    first: int
    last: int


class Several(Node, kind="several"):
    """`[-2, 0, 3]`"""

    offsets: tuple[int, ...]


class Named(Node, kind="named"):
    """`[i-1]`: a named position of a relational clique, shifted; `[all]` has the name `all`"""

    position: str
    shift: int = 0


Place: TypeAlias = Annotated[Here | At | Window | Several | Named, BY_KIND]
HERE = Here()
All = Named(position="all")


# values and terms ---------------------------------------------------------------------------------------------


class Number(Node, kind="number"):
    """A number. `spelling` is how a text has it (`1e-3`), and does not count where numbers are compared."""

    value: int | float

    spelling: ClassVar[str] = ""


class Text(Node, kind="text"):
    """A text in quotes."""

    value: str


class Range(Node, kind="range"):
    """`1..4`, both included"""

    first: int
    last: int


class Regex(Node, kind="regex"):
    """An RE2 pattern as written between the slashes."""

    pattern: str
    ignore_case: bool = False


class Reference(Node, kind="reference"):
    """A declared name at a place: a column, label, view, memory, lexicon, feature group, state or constant."""

    name: str
    place: Place = HERE


class Argument(Node):
    """`word`, or `short = yes` with a `name`. `is_type`: it is `height: float`, a column of `data` with its type."""

    value: Value
    name: str | None = None

    is_type: ClassVar[bool] = False


class Apply(Node, kind="apply"):
    """A function of its arguments, at a place: `lower(word)[-1]`, `prefix(word, 1..4)`."""

    function: str
    arguments: tuple[Argument, ...] = ()
    place: Place = HERE


Term: TypeAlias = Annotated[Reference | Apply, BY_KIND]
Value: TypeAlias = Annotated[Reference | Apply | Number | Text | Range | Regex, BY_KIND]


# conditions -----------------------------------------------------------------------------------------------------


class Matches(Node, kind="matches"):
    """The regex matches the whole value."""

    term: Term
    regex: Regex


class Has(Node, kind="has"):
    """The regex matches somewhere in the value."""

    term: Term
    regex: Regex


class Is(Node, kind="is"):
    """`chunk is O`, `chunk is not O`"""

    term: Term
    state: str
    negated: bool = False


class InLexicon(Node, kind="in_lexicon"):
    """`word in places`, `word not in places`"""

    term: Term
    lexicon: str
    negated: bool = False


class InSet(Node, kind="in_set"):
    """`pos in {NN, NNS}`, `pos not in {NN, NNS}`"""

    term: Term
    states: tuple[str, ...]
    negated: bool = False


class Equals(Node, kind="equals"):
    """`word[i] = word[j]`, `word[i] != word[j]`"""

    left: Term
    right: Term
    negated: bool = False


class Difference(Node, kind="difference"):
    """`index[j] - index[i]`: a number less another"""

    left: Term
    right: Term


Quantity: TypeAlias = Annotated[Reference | Apply | Difference | Number, BY_KIND]
Sign: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]


class Compares(Node, kind="compares"):
    """Two numbers compared: `length(word) > 3`; false where one of them is missing, also for `!=`"""

    left: Quantity
    sign: Sign
    right: Quantity


class Not(Node, kind="not"):
    """`not a`"""

    inner: Condition


class And(Node, kind="and"):
    """`a and b`"""

    parts: tuple[Condition, ...]


class Or(Node, kind="or"):
    """`a or b`"""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Annotated[
    Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or, BY_KIND
]


class Cross(Node, kind="cross"):
    """`a & b`: one feature for each combination of its factors' values"""

    factors: tuple[Condition, ...]


Feature: TypeAlias = Annotated[
    Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or | Cross, BY_KIND
]


class ValueIf(Node):
    """`value if condition else otherwise`; both may be absent together"""

    value: Condition
    condition: Condition | None = None
    otherwise: Condition | None = None


# calls and settings ---------------------------------------------------------------------------------------------


class Setting(Node):
    """`key = value`; a dotted key is a tuple: `prior.words` is `("prior", "words")`"""

    key: Annotated[tuple[str, ...], LateField(min_length=1)]
    value: Value


class CallSpec(Node):
    """A method by name with its arguments (`trp(tolerance = 1e-3)`) and the settings of its block, as written."""

    name: str
    arguments: tuple[Argument, ...] = ()
    settings: tuple[Setting, ...] = ()


# sites and domains ----------------------------------------------------------------------------------------------


class Site(Node):
    """`chunk[-1]` in a clique"""

    variable: str
    place: Place


class Member(Node):
    """A member clique of a piece: `chain`, `chain[1]`, `locked words`"""

    clique: str
    place: Place
    locked: bool = False


class Learned(Node, kind="learned"):
    """No declared domain: the states are those of the training data, in order of first appearance."""


class Enumerated(Node, kind="enumerated"):
    """`{A, B}`: the states that are listed"""

    states: tuple[str, ...]


class Cardinality(Node, kind="cardinality"):
    """`in 4`: the states 0, 1, 2, 3"""

    count: int


class Scheme(Node, kind="scheme"):
    """`bio(NP)`, `bioes(PER, ORG)`; no types: learned from the training data"""

    name: str
    types: tuple[str, ...] = ()


class StateFile(Node, kind="state_file"):
    """`"states.txt"`: the states in a file, one a line"""

    path: str


class StatesOf(Node, kind="states_of"):
    """`states(role)`: the states of another variable"""

    variable: str


Domain: TypeAlias = Annotated[Learned | Enumerated | Cardinality | Scheme | StateFile | StatesOf, BY_KIND]


def is_plain_name(text: str) -> bool:
    """Whether a text can be written as a bare word: a name with a letter that is not a word of the language."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED and text.strip("_") != ""


def word_value(text: str) -> Reference | Text:
    """A text as a value: a bare word if it can be one, else in quotes."""
    return Reference(name=text) if is_plain_name(text) else Text(value=text)
