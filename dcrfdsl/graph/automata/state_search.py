"""The possible states of an automaton and the moves between them, found from the initial states on.

A position takes one of n symbols: the joint values of its variables that no hard constraint on one position forbids. A
state is a window of symbols, and of pads before the sequence. The search knows hard zeros alone, so what it finds is
all that is possible at any weights: of a label with a memory, only the pairs that some labelling reaches. Not here:
where factors lie (`placements`), which moves need a potential of their own (`automaton_graphs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask, cached_property
from .placements import FIRST, MOVE, STATE, Placement

MOST_TUPLES = 2**20  # joint values of a position's variables that are looked at
MOST_CODES = 2**24  # windows that could be states
MOST_MOVES = 2**23  # that are looked at
AT_ONCE = 2**20  # moves


@dataclass(frozen=True, eq=False)
class StateCodes:
    """Windows as numbers: digits in base n + 1, the oldest position first; digit n is a pad.

    symbols [n + 1, M]: the state of each variable; those of the pad are never read.
    base [kinds]: the shared cell where each kind's table begins.   cards [M].
    """

    window: int
    symbols: Ints32
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
        """The pads of states."""
        out = np.zeros(len(codes), np.int64)
        for slot in range(1 - self.window, 0):
            out += self.digit(codes, slot) == self.pad
        return out

    def after(self, codes: Ints) -> Ints:
        """The states that moves lead to; a move is a state with one more digit."""
        states: Ints = codes % self.radix**self.window
        return states

    def overlap_as_source(self, codes: Ints) -> Ints:
        """What a state shares with the states that follow it."""
        overlap: Ints = codes % self.radix ** (self.window - 1)
        return overlap

    def overlap_as_target(self, codes: Ints) -> Ints:
        """What a state shares with the states before it."""
        return codes // self.radix

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
    places: Sequence[Placement], window: int, cards: tuple[int, ...], base: Ints, hard: Floats
) -> tuple[StateCodes, Moves] | None:
    """All states that some labelling reaches and the moves between them; None if they are too many to be listed.

    base [kinds], hard [shared cells]: see `ModelGraph`.
    """
    symbols = _symbols(places, cards, base, hard)
    if symbols is None or len(symbols) ** window > MOST_CODES:
        return None
    codes = StateCodes(window, symbols, base, cards)
    allowed = _Allowed(codes, places, hard)
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
            if looked_at > MOST_MOVES:
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
    order = np.lexsort((source, target))
    return codes, Moves(states, np.isin(states, start), source[order], target[order], moves[order])


def _symbols(places: Sequence[Placement], cards: tuple[int, ...], base: Ints, hard: Floats) -> Ints32 | None:
    """The joint values that factors on one position allow, and a last row for the pad; None if they are too many."""
    if math.prod(cards) > MOST_TUPLES:
        return None
    tuples = np.stack(np.unravel_index(np.arange(math.prod(cards)), cards), axis=-1).astype(np.int32)
    each = StateCodes(1, tuples, base, cards)
    numbers = np.arange(len(tuples))
    for placement in places:
        if placement.everywhere:
            numbers = numbers[np.isfinite(hard[each.cells(placement, numbers)])]
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

        last: only factors whose last variable at the newest position has this number; by default all.
        """
        out = np.ones(len(codes), np.bool_)
        for placement in self._places:
            if placement.place == place and placement.pads == pads and last in (None, _last_variable(placement)):
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
        symbols = self._codes.symbols[:-1]  # in the order of their values
        out, before = [], np.zeros(1, np.int64)
        for variable in range(symbols.shape[1]):
            changes = (symbols[1:, : variable + 1] != symbols[:-1, : variable + 1]).any(axis=1)
            first = np.concatenate([[0], 1 + np.flatnonzero(changes)])
            out.append((first, np.append(np.searchsorted(first, before), len(first))))
            before = first
        return out


def _last_variable(placement: Placement) -> int:
    """The highest variable that a factor reads at the newest position; it reads one there."""
    return max(variable for slot, variable in placement.sites if slot == 0)
