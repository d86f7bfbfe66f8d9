"""Terms in Python: references with places, tests, crosses, conditions, and the values of settings.

Each object wraps a node of `syntax.nodes`; operators return new objects and change none. Not here:
statements (`template_builder`), feature functions (`term_functions`).
"""

from __future__ import annotations

import operator
import re
from numbers import Real
from types import EllipsisType
from typing import SupportsIndex, TypeAlias

from ..foundation import dataclass, plain_number
from ..semantics import validated
from ..syntax import nodes as ex


class Expression:
    """A condition or a feature. `&` crosses features, and means `and` in a condition. `|` is or, `~` is not.

    node: the part of a specification that it stands for. Expressions are made by terms, never by hand.

    It has no truth value in Python: `and`, `or`, `not` and `if` raise TypeError.

    >>> i, j = positions("i", "j")
    >>> word = Term("word")
    >>> same_capital = (word[i] == word[j]) & word[i].matches("[A-Z].*")
    """

    def __init__(self, node: ex.Feature):
        self.node = validated(node)

    def __and__(self, other: Expression) -> Expression:
        parts = [*_factors(self), *_factors(as_feature(other))]
        return Expression(ex.Cross(factors=tuple(parts)))

    def __or__(self, other: Expression) -> Expression:
        return any_of(self, other)

    def __invert__(self) -> Expression:
        return Expression(ex.Not(inner=as_condition(self)))

    def __bool__(self) -> bool:
        raise TypeError(
            "a condition of a template has no truth value in Python: use & | ~ for `and or not`, and .in_()"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node!r})"


class _Ordered:
    """Comparisons of what has a number: a term, or a term less another."""

    node: ex.Reference | ex.Apply | ex.Difference

    def __lt__(self, other: Quantity) -> Expression:
        """`length("word") < 3`, `temp[-1] < temp`: the condition that a number is less than another."""
        return _compared(self, "<", other)

    def __le__(self, other: Quantity) -> Expression:
        return _compared(self, "<=", other)

    def __gt__(self, other: Quantity) -> Expression:
        return _compared(self, ">", other)

    def __ge__(self, other: Quantity) -> Expression:
        return _compared(self, ">=", other)


class Term(_Ordered, Expression):
    """Something with a value at each position: a column, a label, `lower(word)`, a feature group.

    node: the name of a column, label or group, as methods of `Template` return them.

    Index it to look around: `word[-1]` is the value one position before. `word.window(-2, 2)` are five features. `==`
    and `!=` compare with a term or a state.

    >>> word = Term("word")
    >>> around = (word[-1], word.window(-2, 2), word[-2, 0, 2])
    """

    node: ex.Reference | ex.Apply

    def __init__(self, node: ex.Reference | ex.Apply | str):
        super().__init__(ex.Reference(name=node) if isinstance(node, str) else node)

    __iter__ = None  # indexing never ends, so a term must not be iterable

    def __getitem__(self, key: PlaceKey) -> Term:
        """The term at another place: `word[-1]`, at several, `word[-2, 0]`, at a position by name, `word[i - 1]`, or
        all.
        """
        return self._at(as_place(key))

    def window(self, first: int, last: int) -> Term:
        """The term at every offset from `first` to `last`, both included: `word[-2..2]` is `word.window(-2, 2)`.

        first, last: offsets from the position, first ≤ last. ValueError if the term has a place already.

        >>> around = Term("word").window(-2, 2)
        """
        return self._at(ex.Window(first=operator.index(first), last=operator.index(last)))

    def _at(self, place: ex.Place) -> Term:
        if self.node.place != ex.HERE:
            raise ValueError("this term has a place already; give it once")
        return Term(self.node.model_copy(update={"place": place}))

    def matches(self, pattern: str, *, ignore_case: bool = False) -> Expression:
        """The condition that the whole value matches a pattern.

        pattern: of RE2, which runs in linear time: no look-around, no back references.
        ignore_case: whether `a` matches `A`.

        >>> capitalised = Term("word").matches("[A-Z][a-z]+")
        """
        return Expression(ex.Matches(term=self.node, regex=_regex(pattern, ignore_case)))

    def has(self, pattern: str, *, ignore_case: bool = False) -> Expression:
        """The condition that a pattern matches somewhere in the value.

        pattern: of RE2, as in `matches`.
        ignore_case: whether `a` matches `A`.

        >>> has_digit = Term("word").has("[0-9]")
        """
        return Expression(ex.Has(term=self.node, regex=_regex(pattern, ignore_case)))

    def is_(self, state: str) -> Expression:
        """The condition that the value is a state or text.

        state: as the data writes it.

        >>> is_noun = Term("pos").is_("NN")
        """
        return Expression(ex.Is(term=self.node, state=state))

    def is_not(self, state: str) -> Expression:
        """The condition that the value is not a state or text.

        state: as the data writes it.

        >>> in_a_role = Term("role").is_not("O")
        """
        return Expression(ex.Is(term=self.node, state=state, negated=True))

    def in_(self, *where: Lexicon | str) -> Expression:
        """The condition that the value is in a lexicon, or one of some states.

        where: one lexicon, or some states. TypeError for anything else.

        >>> is_noun = Term("pos").in_("NN", "NNS")
        """
        return _in(self, where, negated=False)

    def not_in(self, *where: Lexicon | str) -> Expression:
        """The condition that the value is not in a lexicon, or none of some states.

        where: one lexicon, or some states. TypeError for anything else.

        >>> is_no_noun = Term("pos").not_in("NN", "NNS")
        """
        return _in(self, where, negated=True)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        """`word[i] == word[j]`; with a text the same as `is_`."""
        return _equals(self, other, negated=False)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _equals(self, other, negated=True)

    __hash__ = object.__hash__

    def __sub__(self, other: Term) -> Difference:
        """`index[j] - index[i]`: a number to compare."""
        if not isinstance(other, Term):
            raise TypeError(f"a term less a term gives a number to compare, found {other!r}")
        return Difference(ex.Difference(left=self.node, right=other.node))


class Difference(_Ordered):
    """A number less another, to compare: `index[j] - index[i] < 20`. Made by `-`.

    node: the part of a specification that it stands for.
    """

    def __init__(self, node: ex.Difference):
        self.node = node

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _compared(self, "=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _compared(self, "!=", other)

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Lexicon:
    """A declared lexicon: a set in `word.in_(places)`, a map as a function, `brill(word)`. Made by `Template.lexicon`.

    name: in the template.
    """

    name: str

    def __call__(self, term: Term | str) -> Term:
        return Term(ex.Apply(function=self.name, arguments=(ex.Argument(value=as_term(term).node),)))


@dataclass(frozen=True)
class Constant:
    """A declared constant or piece, which can replace a value. Made by `Template.let` and `Template.piece`.

    name: in the template.
    """

    name: str


@dataclass(frozen=True)
class Clique:
    """A declared clique. In a piece, `chain[1]` is the one at the next position. Made by `Template.clique`.

    name: in the template, or None.
    """

    name: str | None

    def __getitem__(self, key: PlaceKey) -> ex.Member:
        return ex.Member(clique=self.named(), place=as_place(key))

    def named(self) -> str:
        """The name of the clique; ValueError if it has none."""
        if self.name is None:
            raise ValueError('only a named clique can be referred to: m.clique(…, name="chain")')
        return self.name


# A method, metric or prior with its arguments: made by `call`, `gaussian`, `accuracy` …
Call: TypeAlias = ex.CallSpec
Value: TypeAlias = "Term | Call | Constant | Lexicon | Clique | str | int | float | bool | range | ex.Regex"


def all_of(*conditions: Expression) -> Expression:
    """The condition that all conditions hold (`and`).

    conditions: at least two; ValueError for fewer.

    >>> word = Term("word")
    >>> dashed_number = all_of(word.has("-"), word.has("[0-9]"))
    """
    return Expression(ex.And(parts=tuple(_parts(conditions, ex.And))))


def any_of(*conditions: Expression) -> Expression:
    """The condition that at least one condition holds (`or`); the same as `a | b`.

    conditions: at least two; ValueError for fewer.

    >>> word = Term("word")
    >>> odd = any_of(word.has("-"), word.has("[0-9]"))
    """
    return Expression(ex.Or(parts=tuple(_parts(conditions, ex.Or))))


def if_else(value: Expression | str, condition: Expression, otherwise: Expression | str) -> ex.ValueIf:
    """The value of a memory or view: `value` where the condition holds, and otherwise `otherwise`.

    value, otherwise: a state as a term or text, or a condition.
    condition: over labels and observations.

    >>> role = Term("role")
    >>> coarse = if_else(Term("yes"), role.is_not("O"), Term("no"))
    """
    return ex.ValueIf(value=as_condition(value), condition=as_condition(condition), otherwise=as_condition(otherwise))


# to nodes of the specification ------------------------------------------------------------------------------


def as_term(what: Term | str) -> Term:
    """A term; a text names a column, label or group."""
    if isinstance(what, Term):
        return what
    if isinstance(what, str):
        return Term(what)
    raise TypeError(f"expected a column, label or feature, found {what!r}")


def as_feature(what: Expression | str) -> Expression:
    """A feature; a text names a column or group."""
    return what if isinstance(what, Expression) else as_term(what)


def as_condition(what: Expression | str) -> ex.Condition:
    """The node of a condition; crossed conditions are joined by `and`."""
    node = as_feature(what).node
    return ex.And(parts=node.factors) if isinstance(node, ex.Cross) else node


def _factors(expression: Expression) -> tuple[ex.Condition, ...]:
    node = expression.node
    return node.factors if isinstance(node, ex.Cross) else (node,)


def _parts(conditions: tuple[Expression, ...], kind: type[ex.And] | type[ex.Or]) -> list[ex.Condition]:
    """The conditions, with those of the same kind flattened; at least two."""
    parts: list[ex.Condition] = []
    for condition in map(as_condition, conditions):
        parts.extend(condition.parts if isinstance(condition, kind) else (condition,))
    if len(parts) < 2:
        raise ValueError("expected at least two conditions")
    return parts


def _regex(pattern: str, ignore_case: bool) -> ex.Regex:
    """The pattern between slashes: a slash in it is escaped, unless it is in brackets."""
    escaped = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]|/", lambda match: r"\/" if match[0] == "/" else match[0], pattern)
    return ex.Regex(pattern=escaped, ignore_case=ignore_case)


def _in(term: Term, where: tuple[Lexicon | str, ...], *, negated: bool) -> Expression:
    match where:
        case (Lexicon() as lexicon,):
            return Expression(ex.InLexicon(term=term.node, lexicon=lexicon.name, negated=negated))
        case (_, *_) if all(isinstance(state, str) for state in where):
            return Expression(ex.InSet(term=term.node, states=tuple(map(str, where)), negated=negated))
    raise TypeError('expected one lexicon or some states: word.in_(places), pos.in_("NN", "NNS")')


def _equals(term: Term, other: object, *, negated: bool) -> Expression:
    if isinstance(other, str):
        return Expression(ex.Is(term=term.node, state=other, negated=negated))
    if isinstance(other, Real) and not isinstance(other, bool):
        return _compared(term, "!=" if negated else "=", other)
    if isinstance(other, Term):
        return Expression(ex.Equals(left=term.node, right=other.node, negated=negated))
    raise TypeError(f"a term is compared with a term, a state or a number, found {other!r}")


Quantity: TypeAlias = "Term | Constant | int | float"


def _compared(left: _Ordered, sign: ex.Sign, other: object) -> Expression:
    right: ex.Quantity
    match other:
        case Term():
            right = other.node
        case Constant():
            right = ex.Reference(name=other.name)
        case Real() if not isinstance(other, bool):
            right = ex.Number(value=plain_number(other))
        case _:
            raise TypeError(f"a number is compared with a number, a term or a constant, found {other!r}")
    return Expression(ex.Compares(left=left.node, sign=sign, right=right))


@dataclass(frozen=True)
class Position:
    """A named position of a relational clique. Made by `positions`; adding a number gives one further on.

    name: in the template.
    shift: how far from it, in positions.

    >>> i, j = positions("i", "j")
    >>> i - 1
    Position(name='i', shift=-1)
    """

    name: str
    shift: int = 0

    def __add__(self, other: int) -> Position:
        return Position(self.name, self.shift + operator.index(other))

    def __sub__(self, other: int) -> Position:
        return self + -operator.index(other)


def positions(*names: str) -> tuple[Position, ...]:
    """Names for the positions of a relational clique, one `Position` each.

    names: as they will stand in the template.

    >>> i, j = positions("i", "j")
    >>> i - 1
    Position(name='i', shift=-1)
    """
    return tuple(Position(name) for name in names)


PlaceKey: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | Position | EllipsisType


def as_place(key: PlaceKey) -> ex.Place:
    """The place for an index. Raises TypeError for a slice: a slice of Python leaves its end out, a window does not."""
    match key:
        case EllipsisType():
            return ex.All
        case Position():
            return ex.Named(position=key.name, shift=key.shift)
        case slice():
            raise TypeError("a slice leaves out its end; a window has both its ends: word.window(-2, 2)")
        case tuple():
            return ex.Several(offsets=tuple(operator.index(offset) for offset in key))
        case _:
            offset = operator.index(key)
            return ex.Here() if offset == 0 else ex.At(offset=offset)
