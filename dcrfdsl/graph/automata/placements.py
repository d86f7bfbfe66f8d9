"""Where the factors of a model lie on an automaton whose states are windows of positions.

A state holds the variables of the last `window` positions; a move adds one position. A factor belongs to the position
of its last site: to the state if the window holds all its sites, else to the move into the state. Near the ends,
factors differ: positions before the sequence are pads of the window, so that a state with pads tells its position.
Not here: the states (`state_search`), numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..templates import LAST, CliqueTemplate
from ..unroll import ModelGraph

STATE, FIRST, LAST_STATE, MOVE = "state", "first", "last", "move"


@dataclass(frozen=True)
class Placement:
    """One kind of factors at one place.

    sites: (slot, variable) in the order of the table's axes; slot 0 is the newest position, -1 the one before.
    place: `state` (whenever the state is taken), `first`, `last` (at the ends of a sequence), or `move`.
    pads: the positions before the sequence in the state, or in the state that a move leaves.
    everywhere: whether the factor lies on every position, with all its sites there.
    """

    kind: int
    sites: tuple[tuple[int, int], ...]
    place: str
    pads: int
    everywhere: bool = False


def window_of(graph: ModelGraph) -> int:
    """The positions that a state holds: as many as a factor spans, less one; at least one."""
    return max([1, *(max(t.offsets) - min(t.offsets) for t in graph.templates if not t.relational)])


def placements(graph: ModelGraph) -> list[Placement] | None:
    """The places of all factors; None if some factor has none, or a variable is of the whole sequence.

    Such factors join positions by data, have features or read observations without lying on one position, or lie at
    positions that windows do not tell.
    """
    if graph.of_sentence:
        return None
    window = window_of(graph)
    out: list[Placement] = []
    for number, template in enumerate(graph.templates):
        if template.segments is not None:  # it has no factors
            continue
        if not _is_regular(template, window):
            return None
        out += _inside(graph, number, template, window)
        out += _beyond_the_end(graph, number, template, window)
    return out


def _is_regular(template: CliqueTemplate, window: int) -> bool:
    low, high = min(template.offsets), max(template.offsets)
    if template.relational or (template.position is not None and template.pad):
        return False
    if template.feature_set >= 0:
        return low == high == 0 and not template.pad and template.position is None
    if template.position == LAST:
        return low == high == 0
    if template.position is not None:
        return low <= 0 and template.position + high < window
    return template.pad or low <= 0 <= high


def _inside(graph: ModelGraph, number: int, template: CliqueTemplate, window: int) -> Iterator[Placement]:
    """Factors whose last site lies in the sequence, at each of the first positions and at all later ones."""
    low, high = min(template.offsets), max(template.offsets)
    local = template.position is None and high - low < window  # in a full window, the state holds it
    if template.position == LAST:
        kind = graph.kind_of(number, template.inside)
        sites = tuple((0, variable) for variable in template.variables)
        yield from (Placement(kind, sites, LAST_STATE, pads) for pads in range(window))
        return
    for moment in range(window + 1):  # the position of the last site; `window` stands for all later ones
        if template.position is not None and (moment != template.position + high or template.position + low < 0):
            continue
        before = [moment < window and moment + o - high < 0 for o in template.offsets]
        if any(before) and not template.pad:
            continue
        pattern = tuple(-int(outside) for outside in before)
        sites = tuple(
            (o - high, variable)
            for o, variable, outside in zip(template.offsets, template.variables, before, strict=True)
            if not outside
        )
        kind = graph.kind_of(number, pattern)
        if moment == window:
            everywhere = low == high and not template.pad
            yield Placement(kind, sites, STATE if local else MOVE, 0, everywhere)
        elif local and moment == window - 1:
            continue  # the window is full, and `moment == window` speaks of its state
        elif moment == 0:
            yield Placement(kind, sites, FIRST, window - 1)
        elif moment < window - 1:
            yield Placement(kind, sites, STATE, window - 1 - moment)
        else:
            yield Placement(kind, sites, MOVE, 1)


def _beyond_the_end(graph: ModelGraph, number: int, template: CliqueTemplate, window: int) -> Iterator[Placement]:
    """Factors of padded cliques with sites after the sequence."""
    for pads in range(window if template.pad else 0):
        length = window - pads  # of a sequence that ends in a state with so many pads, or longer if there are none
        for anchor in template.anchors(length):
            pattern = template.pattern(anchor, length)
            if 0 in pattern and 1 in pattern:
                sites = tuple(
                    (anchor + o - length + 1, variable)
                    for o, variable, outside in zip(template.offsets, template.variables, pattern, strict=True)
                    if not outside
                )
                yield Placement(graph.kind_of(number, pattern), sites, LAST_STATE, pads)
