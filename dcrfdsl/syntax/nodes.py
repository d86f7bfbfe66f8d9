"""The nodes of the tree below a statement: names, places, terms, conditions, features, calls, settings and domains.

Not here: statements, comments and layout (`ast`, which re-exports these nodes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ..foundation import Span


@dataclass(frozen=True, kw_only=True)
class Node:
    span: Span = field(compare=False, repr=False)


# names, places, literals ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Name(Node):
    text: str


@dataclass(frozen=True, kw_only=True)
class Offset(Node):
    """`[-1]`"""

    value: int


@dataclass(frozen=True, kw_only=True)
class Window(Node):
    """`[-2..2]`, both ends included"""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Offsets(Node):
    """`[-2, 0, 3]`"""

    values: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Position(Node):
    """`[i]`, `[i-1]`, `[all]`: a named position of a relational clique, shifted"""

    name: str
    shift: int = 0


Place: TypeAlias = Offset | Window | Offsets | Position


@dataclass(frozen=True, kw_only=True)
class State(Node):
    """One value of a variable, as its bare text (`B-NP`)."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Literal(Node):
    """A number or a quoted string; `value` is its Python value, `written` its spelling (`1e-3`) in a text."""

    value: int | float | str
    written: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Range(Node):
    """`1..4`, both ends included"""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Regex(Node):
    """`/pattern/` or `/pattern/i`; `pattern` is the text between the slashes, as written"""

    pattern: str
    ignore_case: bool = False


# terms, conditions, features --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Reference(Node):
    """`word`, `word[-1]`, `token[-3..3]`"""

    name: Name
    place: Place | None = None


@dataclass(frozen=True, kw_only=True)
class Apply(Node):
    """`lower(word)[-1]`; also a call in a setting, `gaussian(variance = 10)`, and a bare call `lbfgs()`"""

    function: Name
    arguments: tuple[Argument, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, kw_only=True)
class Argument(Node):
    """`word`, or `short = yes` with a `name`"""

    value: Value
    name: Name | None = None


@dataclass(frozen=True, kw_only=True)
class TypedArgument(Node):
    """`temp:float`, `pixels: vector(128)` in a `data` statement"""

    name: Name
    type: Call


Term: TypeAlias = Reference | Apply
Value: TypeAlias = Reference | Apply | Literal | Range | Regex


@dataclass(frozen=True, kw_only=True)
class Matches(Node):
    term: Term
    regex: Regex


@dataclass(frozen=True, kw_only=True)
class Has(Node):
    term: Term
    regex: Regex


@dataclass(frozen=True, kw_only=True)
class Is(Node):
    term: Term
    state: State
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class InLexicon(Node):
    """`word in places`, `word not in places`"""

    term: Term
    lexicon: Name
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class InSet(Node):
    term: Term
    states: tuple[State, ...]
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Equals(Node):
    left: Term
    right: Term
    negated: bool = False


@dataclass(frozen=True, kw_only=True)
class Difference(Node):
    """`index[j] - index[i]`, in a comparison of numbers"""

    left: Term
    right: Term


Quantity: TypeAlias = Reference | Apply | Difference | Literal


@dataclass(frozen=True, kw_only=True)
class Compares(Node):
    """`length(word) > 3`: numbers, by one of `<`, `<=`, `>`, `>=`, `=`, `!=`"""

    left: Quantity
    sign: str
    right: Quantity


@dataclass(frozen=True, kw_only=True)
class Not(Node):
    inner: Condition


@dataclass(frozen=True, kw_only=True)
class And(Node):
    parts: tuple[Condition, ...]


@dataclass(frozen=True, kw_only=True)
class Or(Node):
    parts: tuple[Condition, ...]


Condition: TypeAlias = Reference | Apply | Matches | Has | Is | InLexicon | InSet | Equals | Compares | Not | And | Or


@dataclass(frozen=True, kw_only=True)
class Cross(Node):
    """`a & b & c`: a feature that fires with the combined value of its factors"""

    factors: tuple[Condition, ...]


Feature: TypeAlias = Condition | Cross


@dataclass(frozen=True, kw_only=True)
class ValueIf(Node):
    """`value if condition else otherwise`; without a condition only `value`"""

    value: Condition
    condition: Condition | None = None
    otherwise: Condition | None = None


# calls and settings --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Call(Node):
    """A plugin with its arguments: `trp(tolerance = 1e-3)`, `bio(NP)`, `exact`."""

    name: Name
    arguments: tuple[Argument | TypedArgument, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Key(Node):
    """`prior`, `prior.words`"""

    parts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Setting(Node):
    key: Key
    value: Value


# domains ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Enumerated(Node):
    """`{B-NP, I-NP, O}`"""

    states: tuple[State, ...]


@dataclass(frozen=True, kw_only=True)
class Cardinality(Node):
    """`in 4`: the states 0 to 3"""

    count: int


@dataclass(frozen=True, kw_only=True)
class Scheme(Node):
    """`bio(NP, VP)`, `states(role)`"""

    call: Call


@dataclass(frozen=True, kw_only=True)
class StateFile(Node):
    """`in "states.txt"`: one state a line"""

    path: str


Domain: TypeAlias = Enumerated | Cardinality | Scheme | StateFile
