"""Conditions, features and terms as one tree, which is walked, folded and rewritten alike for all kinds of nodes.

The places in brackets are here, too: as they are written, and as offsets. Not here: the meaning of each kind, which
belongs to the code that evaluates, checks or writes conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from ...syntax import Condition, Node, Place, nodes as syntax, value_text
from .function_signatures import reads_window

T = TypeVar("T")
N = TypeVar("N", bound=Node)

# The fields of each kind that hold further nodes; a kind that is not here is a leaf.
_INSIDE: Mapping[type[Node], tuple[str, ...]] = {
    syntax.Apply: ("arguments",),
    syntax.Matches: ("term", "regex"),
    syntax.Has: ("term", "regex"),
    syntax.Is: ("term",),
    syntax.InLexicon: ("term",),
    syntax.InSet: ("term",),
    syntax.Equals: ("left", "right"),
    syntax.Compares: ("left", "right"),
    syntax.Difference: ("left", "right"),
    syntax.Not: ("inner",),
    syntax.And: ("parts",),
    syntax.Or: ("parts",),
    syntax.Cross: ("factors",),
}


# walking --------------------------------------------------------------------------------------------------------


def children(node: Node) -> Iterator[Node]:
    """The nodes right below `node`, from left to right."""
    for name in _INSIDE.get(type(node), ()):
        value = getattr(node, name)
        for part in value if isinstance(value, tuple) else (value,):
            yield part.value if isinstance(part, syntax.Argument) else part


def nodes(node: Node, *, in_windows: bool = True) -> Iterator[Node]:
    """`node` and everything inside it, outermost first.   in_windows: also inside of `mean(temp[-3..3])`."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        yield inner
        if in_windows or not reads_window(inner):
            waiting.extend(reversed([*children(inner)]))


def value_if_nodes(value: syntax.ValueIf) -> Iterator[Node]:
    """Everything inside a `value if condition else otherwise`."""
    for node in (value.value, value.condition, value.otherwise):
        if node is not None:
            yield from nodes(node)


def terms(node: Node) -> Iterator[syntax.Reference | syntax.Apply]:
    """The terms of a condition, from left to right, without the terms inside them."""
    if isinstance(node, syntax.Reference | syntax.Apply):
        yield node
        return
    for inner in children(node):
        yield from terms(inner)


def term_places(node: Node) -> Iterator[Place]:
    """The places of all terms, those inside functions too, but for the windows of statistics."""
    outer = nodes(node, in_windows=False)
    return (inner.place for inner in outer if isinstance(inner, syntax.Reference | syntax.Apply))


def reference_names(visited: Iterable[Node]) -> Iterator[str]:
    """The names that nodes refer to."""
    return (node.name for node in visited if isinstance(node, syntax.Reference))


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """The conditions that must all hold for `condition` to hold."""
    return condition.parts if isinstance(condition, syntax.And) else (condition,)


# folding ------------------------------------------------------------------------------------------------------------


class Connectives(NamedTuple, Generic[T]):
    """The results of `not`, `and` and `or` from those of their operands."""

    negation: Callable[[T], T]
    conjunction: Callable[[list[T]], T]
    disjunction: Callable[[list[T]], T]


def fold(
    condition: Condition,
    connectives: Connectives[T],
    leaf: Callable[[Condition], T],
    is_leaf: Callable[[Condition], bool] = lambda condition: False,
) -> T:
    """The results of `leaf`, combined by the connectives. A condition for which `is_leaf` holds is not taken apart."""

    def one(part: Condition) -> T:
        return fold(part, connectives, leaf, is_leaf)

    if not is_leaf(condition):
        match condition:
            case syntax.Not(inner=inner):
                return connectives.negation(one(inner))
            case syntax.And(parts=parts):
                return connectives.conjunction([one(part) for part in parts])
            case syntax.Or(parts=parts):
                return connectives.disjunction([one(part) for part in parts])
    return leaf(condition)


# rewriting ------------------------------------------------------------------------------------------------------------


def with_children(node: N, fresh: Iterable[Node]) -> N:
    """`node` with `fresh` in place of its children, in the order of `children`."""
    left = iter(fresh)

    def renewed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(renewed, value))
        return value.model_copy(update={"value": next(left)}) if isinstance(value, syntax.Argument) else next(left)

    inside = _INSIDE.get(type(node), ())
    return node.model_copy(update={name: renewed(getattr(node, name)) for name in inside}) if inside else node


def rewritten(node: N, change: Callable[[Any], Node]) -> N:
    """`node` with `change` applied to each of its children."""
    return with_children(node, [change(inner) for inner in children(node)])


def place_text(place: Place) -> str:
    """A place as it is written, `[-1]`; "" for the current position."""
    return f"[{value_text(place)}]" if place_offset(place) != 0 else ""


def place_offset(place: Place) -> int | None:
    """The one offset that a place stands for; None if it is a window or a named position."""
    return place.offset if isinstance(place, syntax.At) else 0 if isinstance(place, syntax.Here) else None


def shift_of_site(place: Place) -> int:
    """The offset of a clique's site from its anchor, or from its named position."""
    return place.shift if isinstance(place, syntax.Named) else place_offset(place) or 0
