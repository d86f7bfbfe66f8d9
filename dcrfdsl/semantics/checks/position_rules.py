"""Rules on places in brackets: reversed windows, positions that nothing joins.

Not here: places of a clique's sites (`clique_rules`), lists that grow too long (`group_rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...foundation import Diagnostic, did_you_mean
from ..schema import (
    FUNCTIONS,
    Apply,
    At,
    Named,
    Node,
    Path,
    Place,
    Reference,
    Several,
    Window,
    nodes,
    place_text,
    value_if_nodes,
)
from .context import Context, Rule, listed
from .own_function_rules import is_whole
from .walk import every_node

WIDEST = 1000  # a larger window is a slip of the pen


def bad_window(context: Context) -> Iterator[Diagnostic]:
    places: list[tuple[Path, Place]] = [
        (path, node.place) for path, node in every_node(context.spec) if isinstance(node, Reference | Apply)
    ]
    for n, clique in enumerate(context.spec.cliques):
        places += [(("cliques", n, "sites", s), site.place) for s, site in enumerate(clique.sites)]
    for n, piece in enumerate(context.spec.pieces):
        places += [(("pieces", n, "over", s), site.place) for s, site in enumerate(piece.over)]
        places += [(("pieces", n, "members", m), member.place) for m, member in enumerate(piece.members)]
    for path, place in places:
        at = (*path, "place")
        if isinstance(place, Window) and place.first > place.last:
            message = f"the window `{place_text(place)}` is empty: it ends before it begins"
            remedy = f"write `[{place.last}..{place.first}]`"
            yield context.complaint("bad-window", message, at, "an empty window", help=remedy)
        elif isinstance(place, Window) and place.last - place.first >= WIDEST:
            width = place.last - place.first + 1
            message = f"the window `{place_text(place)}` has {width} places, at most {WIDEST} are allowed"
            yield context.complaint("bad-window", message, at, "too wide")
        elif isinstance(place, At | Named) and abs(offset := _offset(place)) > WIDEST:
            message = f"the offset {offset} is too far away, at most {WIDEST} is allowed"
            yield context.complaint("bad-window", message, at, "too far")


def _offset(place: At | Named) -> int:
    return place.offset if isinstance(place, At) else place.shift


def window_in_condition(context: Context) -> Iterator[Diagnostic]:
    """A condition that is true or false of one assignment cannot read several positions at once."""
    for n, constraint in enumerate(context.spec.constraints):
        for part, condition in (("condition", constraint.condition), ("when", constraint.when)):
            if condition is not None:
                yield from _windows(context, nodes(condition, ("constraints", n, part)))
    for n, memory in enumerate(context.spec.memories):
        yield from _windows(context, value_if_nodes(memory.value, ("memories", n, "value")))


def _windows(context: Context, nodes_with_paths: Iterable[tuple[Path, Node]]) -> Iterator[Diagnostic]:
    for at, node in nodes_with_paths:
        if isinstance(node, Reference | Apply) and isinstance(node.place, Window | Several):
            message = f"`{place_text(node.place)}` is several positions, and a condition on labels reads one at a time"
            remedy = "join the positions by `and` or `or`"
            yield context.complaint("window-in-condition", message, (*at, "place"), "several positions", help=remedy)


def unknown_position(context: Context) -> Iterator[Diagnostic]:
    """`word[i]` has a meaning only in a clique with sites `y[i], …`."""
    whole: set[Path] = set()  # `word[all]`, what a function of the user's reads of a sentence
    for path, node in every_node(context.spec):
        place = node.place if isinstance(node, Reference | Apply) else None
        if isinstance(node, Apply) and node.function not in FUNCTIONS and not context.named(node.function, "lexicon"):
            inside = ((*path, "arguments", n, "value") for n, one in enumerate(node.arguments) if is_whole(one.value))
            whole.update(inside)
        if not isinstance(place, Named) or path in whole:
            continue
        positions = _positions(context, path)
        if place.position in positions:
            continue
        message = f"`{place_text(place)}` is not a position of this clique"
        if not positions:
            message = f"`{place_text(place)}` is a named position, and no site here has one"
        guess = did_you_mean(place.position, positions)
        remedy = "the position itself needs no brackets, the one before is `[-1]`"
        if positions:
            remedy = f"did you mean `[{guess}]`?" if guess else f"its positions are {listed(positions)}"
        yield context.complaint("unknown-position", message, (*path, "place"), "which position?", help=remedy)


def _positions(context: Context, path: Path) -> list[str]:
    """Names of positions that are known at `path`."""
    part, number = path[:2]
    if part != "cliques" or not isinstance(number, int):
        return []
    places = [site.place for site in context.spec.cliques[number].sites]
    return list(dict.fromkeys(place.position for place in places if isinstance(place, Named)))


RULES: tuple[Rule, ...] = (
    bad_window,
    window_in_condition,
    unknown_position,
)
