"""Unrolled graphs without numbers: variables with their states, factors with their scopes and the places of tables.

Factors that repeat from position to position are kept as one `Run`, so a graph of 10⁶ positions is a few lines; arrays
and tuples are written out on demand. Not here: the factors of a template (`unroll`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence, Sized
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..foundation import Integers, Ints, Ints32, cached_property, dataclass


@dataclass(frozen=True)
class Run:
    """`count` factors of one kind at consecutive anchors; `scope`, `anchor` and `table` belong to the first.

    From one factor to the next, the scope moves by one position and the table by `stride` cells.
    """

    scope: tuple[int, ...]
    table: int
    kind: int = -1
    anchor: int = 0
    count: int = 1
    stride: int = 0


class FactorArrays(NamedTuple):
    """All factors of a graph, in order; see `kernels.tables.wiring.Shapes`."""

    kind: Ints32  #   [F]
    anchor: Ints32  # [F]
    table: Ints  #    [F]
    size: Ints  #     [F]
    arity: Ints  #    [F]
    scope: Ints32  #  [sum of arity]


@dataclass(frozen=True)
class GraphShape:
    """One unrolled graph. Tables are row-major over their scope; their places are arena offsets.

    A factor whose table is below the bank's `local_start` is shared by all sequences; the others are per sequence.
    A position has `width` variables. `length` is the number of positions of a regular graph, which is determined by its
    length alone and has tables in the order of `by_position`; else it is 0. `room` are the states that marginals have
    room for at each of the variables of a position, if some of these have fewer.
    """

    cards: tuple[int, ...]  # [V] states of each variable
    runs: tuple[Run, ...]
    width: int = 0
    length: int = 0
    room: tuple[int, ...] = ()

    @classmethod
    def of(cls, cards: tuple[int, ...], scopes: Iterable[Sequence[int]], tables: Iterable[int]) -> GraphShape:
        """The graph of factors with these variables and with tables at these places; each is of a kind of its own."""
        lists = enumerate(zip(scopes, tables, strict=True))
        return cls(cards, tuple(Run(tuple(scope), int(at), kind) for kind, (scope, at) in lists))

    def run_sizes(self) -> list[int]:
        """Entries of one table of each run."""
        return [math.prod(self.cards[v] for v in run.scope) for run in self.runs]

    def state_places(self) -> Ints:
        """Where the states of each variable lie in marginals, [V]: at the end of their room."""
        cards = np.array(self.cards, np.int64)
        if not self.room:
            return offsets(cards)[:-1]
        return offsets(np.tile(np.array(self.room, np.int64), len(cards) // len(self.room)))[1:] - cards

    def arrays(self) -> FactorArrays:
        """Every factor, written out anew at each call."""
        runs = self.runs
        counts = np.array([run.count for run in runs], np.int64)
        arities = np.array([len(run.scope) for run in runs], np.int64)
        which = np.repeat(np.arange(len(runs)), counts)
        turn = np.arange(len(which)) - np.repeat(offsets(counts)[:-1], counts)
        arity = arities[which]
        axis = np.arange(int(arity.sum())) - np.repeat(offsets(arity)[:-1], arity)
        scopes = np.fromiter(itertools.chain.from_iterable(run.scope for run in runs), np.int32)
        scope = scopes[np.repeat(offsets(arities)[:-1][which], arity) + axis]
        scope += np.repeat((self.width * turn).astype(np.int32), arity)

        def each(numbers: Iterable[int], dtype: type) -> NDArray:
            return np.fromiter(numbers, dtype)[which]

        return FactorArrays(
            kind=each((run.kind for run in runs), np.int32),
            anchor=each((run.anchor for run in runs), np.int32) + turn.astype(np.int32),
            table=each((run.table for run in runs), np.int64) + each((run.stride for run in runs), np.int64) * turn,
            size=each(self.run_sizes(), np.int64),
            arity=arity,
            scope=scope,
        )

    def local_end(self, local_start: int) -> int:
        """The arena offset after the last table that is not shared."""
        ends = [
            run.table + (run.count - 1) * run.stride + size
            for run, size in zip(self.runs, self.run_sizes(), strict=True)
            if run.table >= local_start
        ]
        return max(ends, default=local_start)

    # one Python number per factor, for code that visits factors one by one

    @cached_property
    def scopes(self) -> tuple[tuple[int, ...], ...]:
        """Variables of each factor."""
        return tuple(tuple(v + turn * self.width for v in run.scope) for run in self.runs for turn in range(run.count))

    @cached_property
    def tables(self) -> tuple[int, ...]:
        """Arena offset of each factor's table."""
        return tuple(run.table + turn * run.stride for run in self.runs for turn in range(run.count))

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """Index of each factor's kind."""
        return tuple(run.kind for run in self.runs for _ in range(run.count))

    @cached_property
    def anchors(self) -> tuple[int, ...]:
        """The position at which each factor's features are read."""
        return tuple(run.anchor + turn for run in self.runs for turn in range(run.count))


def offsets(counts: Integers | Sequence[int]) -> Ints:
    """Offsets of runs of these lengths, and the end of the last one, [n + 1]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def offsets_of(parts: Iterable[Sized]) -> Ints:
    """Offsets of the parts laid end to end, and the end of the last one, [n + 1]."""
    return offsets(list(map(len, parts)))


class Columns(defaultdict[str, list[int]]):
    """Arrays of numbers by name, while they are collected."""

    def __init__(self) -> None:
        super().__init__(list)

    def put(self, **numbers: int) -> None:
        """Appends a number to each of these."""
        for name, number in numbers.items():
            self[name].append(number)


# where local tables lie ---------------------------------------------------------------------------------------------


def in_order(runs: Iterable[Run], is_local: Sequence[bool], sizes: Sequence[int], at: int) -> tuple[Run, ...]:
    """Places local tables from `at` on, factor by factor. `sizes`: entries of one table of each run."""
    out = []
    for run, local, size in zip(runs, is_local, sizes, strict=True):
        out.append(Run(run.scope, at, run.kind, run.anchor, run.count, size) if local else run)
        at += run.count * size if local else 0
    return tuple(out)


def by_position(
    runs: Sequence[Run], is_local: Sequence[bool], sizes: Sequence[int], at: int, width: int
) -> tuple[Run, ...]:
    """As `in_order`, but position by position: a table lies at the first position of its scope, where it is eliminated.

    A range of positions is then a range of the arena. A run is cut where the tables of a position change.
    """
    first = [min(run.scope) // width for run in runs]
    pieces: list[list[Run]] = [[] if local else [run] for run, local in zip(runs, is_local, strict=True)]
    local_runs = [number for number, local in enumerate(is_local) if local]
    cuts = sorted({first[n] + end for n in local_runs for end in (0, runs[n].count)})
    for low, high in itertools.pairwise(cuts):
        here = [n for n in local_runs if first[n] <= low < first[n] + runs[n].count]
        stride = sum(sizes[n] for n in here)
        place = at
        for n in here:
            turn = low - first[n]
            scope = tuple(v + turn * width for v in runs[n].scope)
            pieces[n].append(Run(scope, place, runs[n].kind, runs[n].anchor + turn, high - low, stride))
            place += sizes[n]
        at += stride * (high - low)
    return tuple(itertools.chain.from_iterable(pieces))
