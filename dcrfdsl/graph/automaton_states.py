"""The possible states of an automaton, the moves between them, and where the factors of a model lie on these.

A state is a window of positions: it holds the variables of the last few. A move adds one position. A factor belongs to
the position of its last site: to the state if the window holds all its sites, else to the move into the state. Near the
ends, factors differ: positions before the sequence are pads of the window, so that a state with pads tells its
position.

A position takes one of n symbols: the joint values of its variables that no hard constraint on one position forbids. A
search from the initial states on finds all states and moves. It knows hard zeros alone, so what it finds is all that is
possible at any weights: of a label with a memory, only the pairs that some labelling reaches. Hard constraints between
positions that read observations, such as a memory that changes after a comma, add a variable to each position: the code
that the data has there (`Conditions`). A variable of the sequence is one of each position that never changes. Not here:
which moves need a potential of their own (`automaton_graphs`), numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from ..foundation import Floats, Ints, Ints32, Mask, cached_property, dataclass
from .templates import LAST, CliqueTemplate
from .unroll import ModelGraph

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


def is_condition(template: CliqueTemplate) -> bool:
    """Whether a template is a hard constraint that reads observations and is not of every single position."""
    is_hard = template.coded is not None and template.coded.dtype == np.bool_ and bool(template.observed)
    return is_hard and not template.relational and (any(template.offsets) or template.position is not None)


@dataclass
class Conditions:
    """What hard constraints read of a position, as variables of it. Their states are codes; the data knows them.

    cards [M]: of the model's variables, then of these.   feature_set: of each of these, where its codes are read.
    base [kinds, ..], hard [shared cells, one that forbids, ..]: as of `ModelGraph`, then of more tables.   read: by
    template, its table, whose last axis is the code, and the variable of that.   equal: by variable of the sequence,
    the table that lets it be what it was.
    """

    graph: ModelGraph
    cards: tuple[int, ...] = field(init=False)
    feature_set: tuple[int, ...] = field(init=False)
    read: dict[int, tuple[int, int]] = field(default_factory=dict)
    equal: dict[int, int] = field(default_factory=dict)
    base: Ints = field(init=False)
    hard: Floats = field(init=False)

    def __post_init__(self) -> None:
        graph, first, tables = self.graph, dict[object, CliqueTemplate](), [np.zeros(1, np.bool_)]
        for number, template in enumerate(graph.templates):
            if is_condition(template) and template.coded is not None:
                first.setdefault(template.observed, template)  # those that read the same have the same codes
                variable = len(graph.cards) + list(first).index(template.observed)
                self.read[number] = len(graph.kinds) + len(tables) - 1, variable
                table = template.coded[np.ix_(np.arange(template.num_codes), *template.seen_states)]
                tables.append(np.moveaxis(table, 0, -1).astype(np.bool_).ravel())
        self.cards = (*graph.cards, *(template.num_codes for template in first.values()))
        self.feature_set = tuple(template.feature_set for template in first.values())
        for variable in sorted(graph.of_sentence):
            self.equal[variable] = len(graph.kinds) + len(tables) - 1
            tables.append(np.eye(graph.cards[variable], dtype=np.bool_).ravel())
        more = np.where(np.concatenate(tables), 0.0, -np.inf)
        self.hard = np.concatenate([graph.shared.hard_cells(), more])
        begins = graph.num_shared + np.cumsum([table.size for table in tables])[:-1]
        self.base = np.concatenate([graph.shared.of_kinds, begins])


def window_of(graph: ModelGraph) -> int:
    """The positions that a state holds: as many as a factor spans, less one; at least one."""
    return max([1, *(t.span for t in graph.templates if not t.relational)])


def placements(conditions: Conditions) -> list[Placement] | None:
    """The places of all factors; None if some factor has none.

    Such factors join positions by data, have features without lying on one position, or lie at positions that windows
    do not tell.
    """
    graph = conditions.graph
    window = window_of(graph)
    out: list[Placement] = []
    for variable, kind in conditions.equal.items():
        sites = (-1, variable), (0, variable)
        out += [Placement(kind, sites, STATE, pads) for pads in range(window - 1)] or [Placement(kind, sites, MOVE, 0)]
    for number, template in enumerate(graph.templates):
        if template.segments is not None:  # it has no factors
            continue
        if not _is_regular(template, window):
            return None
        inside = list(_inside(graph, number, template, window))
        if number in conditions.read:  # at its anchor
            kind, variable = conditions.read[number]
            inside = [replace(one, kind=kind, sites=(*one.sites, (-max(template.offsets), variable))) for one in inside]
        out += inside
        out += _beyond_the_end(graph, number, template, window)
    return out


def _is_regular(template: CliqueTemplate, window: int) -> bool:
    low, high = min(template.offsets), max(template.offsets)
    if template.relational or (template.position is not None and template.pad):
        return False
    if template.feature_set >= 0 and not is_condition(template):
        return low == high == 0 and not template.pad and template.position in (None, 0)
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


MOST_TUPLES = 2**20  # joint values of a position's variables that are looked at
MOST_CODES = 2**24  # windows that could be states
MOST_MOVES = 2**23  # that are looked at
OF_SEGMENTS = 16  # times as many of both: their states have few moves, and any other form takes very much longer
AT_ONCE = 2**20  # moves


@dataclass(frozen=True, eq=False)
class StateCodes:
    """Windows as numbers: digits in base n + 1, the oldest position first; digit n is a pad.

    symbols [n + 1, M]: the state of each variable; those of the pad are never read.   order [M]: the variables as their
    values are counted, slowest first.   base [kinds]: the shared cell where each kind's table begins.   cards [M].
    """

    window: int
    symbols: Ints32
    order: tuple[int, ...]
    base: Ints
    cards: tuple[int, ...]

    @property
    def radix(self) -> int:
        return len(self.symbols)

    @property
    def pad(self) -> int:
        return len(self.symbols) - 1

    def digit(self, codes: Ints, slot: int) -> Ints:
        """The symbol at a slot: 0 for the newest position, -1 for the one before."""
        symbol: Ints = codes // self.radix**-slot % self.radix
        return symbol

    def pads(self, codes: Ints) -> Ints:
        out = np.zeros(len(codes), np.int64)
        for slot in range(1 - self.window, 0):
            out += self.digit(codes, slot) == self.pad
        return out

    def after(self, codes: Ints) -> Ints:
        """The states that moves lead to; a move is a state with one more digit."""
        states: Ints = codes % self.radix**self.window
        return states

    def cells(self, placement: Placement, codes: Ints) -> Ints:
        """The shared cells of a factor in states or moves."""
        index = np.zeros(len(codes), np.int64)
        for slot, variable in placement.sites:
            index *= self.cards[variable]
            index += self.symbols[self.digit(codes, slot), variable]
        index += self.base[placement.kind]
        return index


@dataclass(frozen=True, eq=False)
class Moves:
    """What the search found. states [S], ascending; initial [S]; source, target [moves]: numbers of states; codes
    [moves]: the source with the symbol that follows.
    """

    states: Ints
    initial: Mask
    source: Ints
    target: Ints
    codes: Ints


def search(
    places: Sequence[Placement], window: int, conditions: Conditions, most: int = 1
) -> tuple[StateCodes, Moves] | None:
    """All states that some labelling reaches and the moves between them; None if they are too many to be listed.

    most: how many times the usual limits are allowed.
    """
    order = tuple(sorted(range(len(conditions.cards)), key=lambda variable: variable not in conditions.equal))
    symbols = _symbols(places, order, conditions)
    if symbols is None or len(symbols) ** window > most * MOST_CODES:
        return None
    codes = StateCodes(window, symbols, order, conditions.base, conditions.cards)
    allowed = _Allowed(codes, places, conditions.hard)
    n = codes.pad
    empty = sum(n * codes.radix**power for power in range(1, window))
    start = empty + np.arange(n, dtype=np.int64)
    start = start[allowed.by(start, FIRST, window - 1) & allowed.states(start)]
    known = np.zeros(codes.radix**window, np.bool_)
    known[start] = True
    frontier, found, looked_at = start, [start], 0
    steps: list[Ints] = []
    while len(frontier):
        new = []
        for begin in range(0, len(frontier), max(1, AT_ONCE // n)):
            moves, tried = allowed.moves(frontier[begin : begin + max(1, AT_ONCE // n)])
            looked_at += tried
            if looked_at > most * MOST_MOVES:
                return None
            steps.append(moves)
            reached = np.unique(codes.after(moves))
            reached = reached[~known[reached]]
            known[reached] = True
            new.append(reached)
        frontier = np.concatenate(new)
        found.append(frontier)
    states = np.sort(np.concatenate(found))
    moves = np.concatenate([np.zeros(0, np.int64), *steps])
    source, target = np.searchsorted(states, moves // codes.radix), np.searchsorted(states, codes.after(moves))
    by_target = np.lexsort((source, target))
    return codes, Moves(states, np.isin(states, start), source[by_target], target[by_target], moves[by_target])


def _symbols(places: Sequence[Placement], order: tuple[int, ...], conditions: Conditions) -> Ints32 | None:
    """The joint values that factors on one position allow, and a last row for the pad; None if they are too many."""
    cards = conditions.cards
    if math.prod(cards) > MOST_TUPLES:
        return None
    values = np.unravel_index(np.arange(math.prod(cards)), [cards[variable] for variable in order])
    tuples = np.stack([values[order.index(variable)] for variable in range(len(cards))], axis=-1).astype(np.int32)
    each = StateCodes(1, tuples, order, conditions.base, cards)
    numbers = np.arange(len(tuples))
    for placement in places:
        if placement.everywhere:
            numbers = numbers[np.isfinite(conditions.hard[each.cells(placement, numbers)])]
    return np.concatenate([tuples[numbers], np.zeros((1, len(cards)), np.int32)])


class _Allowed:
    """Whether hard zeros allow states and moves."""

    def __init__(self, codes: StateCodes, places: Sequence[Placement], hard: Floats):
        self._codes, self._finite = codes, np.isfinite(hard)
        self._places = [p for p in places if not self._finite[self._table(p)].all()]

    def _table(self, placement: Placement) -> slice:
        first = int(self._codes.base[placement.kind])
        return slice(first, first + math.prod(self._codes.cards[variable] for _, variable in placement.sites))

    def by(self, codes: Ints, place: str, pads: int, last: int | None = None) -> Mask:
        """Whether factors at a place, in windows of so many pads, allow states or moves.

        last: only factors whose last variable at the newest position has this number in `order`; by default all.
        """
        out = np.ones(len(codes), np.bool_)
        for placement in self._places:
            if placement.place == place and placement.pads == pads and last in (None, self._last_variable(placement)):
                out &= self._finite[self._codes.cells(placement, codes)]
        return out

    def states(self, codes: Ints, last: int | None = None) -> Mask:
        return self._each(codes, self._codes.pads(codes), STATE, last)

    def _each(self, codes: Ints, pads: Ints, place: str, last: int | None = None) -> Mask:
        out = np.ones(len(codes), np.bool_)
        for count in np.unique(pads).tolist():
            chosen = pads == count
            out[chosen] = self.by(codes[chosen], place, count, last)
        return out

    def moves(self, states: Ints) -> tuple[Ints, int]:
        """The moves that leave states and are allowed, as are the states that they lead to, and how many were tried.

        The newest position is filled in variable by variable, so that a memory, which has one value after each state,
        does not multiply what is tried.
        """
        codes, tried = self._codes, 0
        pads = codes.pads(states)
        source, prefix = np.arange(len(states)), np.zeros(len(states), np.int64)
        for variable, (first, off) in enumerate(self._prefixes):
            counts = np.diff(off)[prefix]
            source = np.repeat(source, counts)
            prefix = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts - off[prefix], counts)
            moves = states[source] * codes.radix + first[prefix]
            tried += len(moves)
            kept = np.flatnonzero(self._each(moves, pads[source], MOVE, variable))
            kept = kept[self.states(codes.after(moves[kept]), variable)]
            source, prefix = source[kept], prefix[kept]
        return moves[kept], tried

    @cached_property
    def _prefixes(self) -> list[tuple[Ints, Ints]]:
        """For each variable: the first symbol of each joint value of the variables up to it, and where the values
        begin that go on from each joint value of those before it.
        """
        symbols = self._codes.symbols[:-1][:, self._codes.order]  # in the order of their values
        out, before = [], np.zeros(1, np.int64)
        for variable in range(symbols.shape[1]):
            changes = (symbols[1:, : variable + 1] != symbols[:-1, : variable + 1]).any(axis=1)
            first = np.concatenate([[0], 1 + np.flatnonzero(changes)])
            out.append((first, np.append(np.searchsorted(first, before), len(first))))
            before = first
        return out

    def _last_variable(self, placement: Placement) -> int:
        """The place in `order` of the last variable that a factor reads at the newest position; it reads one there."""
        return max(self._codes.order.index(variable) for slot, variable in placement.sites if slot == 0)
