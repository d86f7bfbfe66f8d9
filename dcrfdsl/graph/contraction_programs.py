"""Compiles elimination into a contraction program: steps on tables with fixed places in an arena.

To eliminate a variable, the tables that contain it are reduced to two: a table whose variables are among another's is
multiplied into it by index, and tables that still differ are multiplied out pair by pair. The two then meet in one
matrix product that sums the variable out. No table over the whole neighbourhood is made if two smaller ones suffice:
with two chains of 45 and 3 states a step is a 3×45 by 45×45 product.

The program depends only on the shape of the graph. Not here: the order (`elimination`), running it (`kernels`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from ..foundation import Ints, Ints32, cached_property, dataclass
from ..kernels.tables import Patterns

OVERHEAD = 8  # starting an inner loop costs as much as this many of its iterations
IRREGULAR = -1  # for the distance of places that are not equally distant


def strides_of(sizes: Sequence[int]) -> list[int]:
    """Row-major strides: the last axis is contiguous."""
    out = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        out[i] = out[i + 1] * sizes[i + 1]
    return out


def places_of(sizes: Sequence[int], strides: Sequence[int]) -> Ints:
    """The place of each assignment of a group of axes, the last axis varying fastest."""
    places = np.zeros(1, np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        places = (places[:, None] + stride * np.arange(size, dtype=np.int64)[None, :]).ravel()
    return places


def distance_of(places: Ints) -> int:
    """How far equally distant places are from each other, 0 for a single one."""
    gaps = np.diff(places)
    return 0 if not len(gaps) else int(gaps[0]) if (gaps == gaps[0]).all() else IRREGULAR


def run_of_places(lookup: Ints) -> int:
    """The length of the runs in which a list goes on by one; `IRREGULAR` where they are too short for vectors."""
    breaks = np.flatnonzero(np.diff(lookup) != 1) + 1
    run = int(np.gcd.reduce(breaks, initial=len(lookup)))
    return run if run >= min(OVERHEAD, len(lookup)) else IRREGULAR


INDEXED = 0.15  # an indexed loop runs at this share of the speed of a contiguous one
KEPT = 1.2  # the speed of a step whose right table is shared: the sums for its derivative wait for other steps
MANY = 64  # tables that are compared with each other
RESULTS = 2**60  # where results lie in steps that hold for many tables
ONE_CELL = 0  # the arena's first cell holds the constant 1: the partner of a table that is summed out alone


Turned = Mapping[int, Sequence[tuple[tuple[int, ...], int]]]


class _Table(NamedTuple):
    """A table in the arena: its variables, slowest first, and where it starts."""

    axes: tuple[int, ...]
    place: int


@dataclass
class PatternBank:
    """Index patterns shared by all programs of a model. A pattern depends only on the sizes and order of axes."""

    known: dict[tuple[object, ...], int] = field(default_factory=dict)
    dims: list[tuple[int, ...]] = field(default_factory=list)
    start: list[tuple[int, ...]] = field(default_factory=list)
    index: list[Ints] = field(default_factory=list)
    length: int = 0
    sums: dict[tuple[object, ...], tuple[_Steps, _Table]] = field(default_factory=dict)  # see `_summed_out`

    def copy(self) -> PatternBank:
        parts = dict(self.known), list(self.dims), list(self.start), list(self.index), self.length, dict(self.sums)
        return PatternBank(*parts)

    def _add(self, values: Ints) -> int:
        at, self.length = self.length, self.length + len(values)
        self.index.append(values)
        return at

    def product(self, a: _Table, b: _Table, cards: Sequence[int]) -> int:
        """The pattern of C[i] = A[i] · B[index[i]]; the variables of B are among those of A."""
        sizes = tuple(cards[v] for v in a.axes)
        key = ("product", sizes, tuple(a.axes.index(v) for v in b.axes))
        if key not in self.known:
            strides = dict(zip(b.axes, strides_of([cards[v] for v in b.axes]), strict=True))
            lookup = places_of(sizes, [strides.get(v, 0) for v in a.axes])
            self.known[key] = len(self.dims)
            self.dims.append((len(lookup), 1, 1, 1, 1, 1, run_of_places(lookup)))
            self.start.append((self._add(lookup), 0, 0, 0, 0, 0))
        return self.known[key]

    def contraction(self, a: _Table, b: _Table, groups: tuple[tuple[int, ...], ...], cards: Sequence[int]) -> int:
        """The pattern of C[b, l, r] = Σ_k A[b, l, k] · B[b, k, r]; `groups` are the variables b, l, k, r in order."""
        local = {v: i for i, v in enumerate(dict.fromkeys((*a.axes, *b.axes)))}
        key = (
            tuple(local[v] for v in a.axes), tuple(local[v] for v in b.axes),
            tuple(cards[v] for v in local), tuple(tuple(local[v] for v in group) for group in groups),
        )  # fmt: skip
        if key not in self.known:
            batch, left, summed, right = groups
            stride_a = dict(zip(a.axes, strides_of([cards[v] for v in a.axes]), strict=True))
            stride_b = dict(zip(b.axes, strides_of([cards[v] for v in b.axes]), strict=True))

            def place(group: tuple[int, ...], strides: dict[int, int]) -> Ints:
                return places_of([cards[v] for v in group], [strides.get(v, 0) for v in group])

            right_places = place(right, stride_b)
            contiguous = bool(np.array_equal(right_places, np.arange(len(right_places))))
            sizes = [math.prod(cards[v] for v in group) for group in groups]
            self.known[key] = len(self.dims)
            left_places = place(left, stride_a)
            self.dims.append((*sizes, int(contiguous), 0, distance_of(left_places)))
            a_b, a_l, a_k = (
                self._add(places) for places in (place(batch, stride_a), left_places, place(summed, stride_a))
            )
            b_b, b_k = (self._add(place(group, stride_b)) for group in (batch, summed))
            self.start.append((a_b, a_l, a_k, b_b, b_k, self._add(right_places)))
        return self.known[key]

    def arrays(self) -> Patterns:
        return Patterns(
            dims=np.array(self.dims, np.int64).reshape(-1, 7),
            start=np.array(self.start, np.int64).reshape(-1, 6),
            offsets=np.concatenate([np.zeros(0, np.int64), *self.index]),
        )


@dataclass(frozen=True, eq=False)
class ContractionProgram:
    """The steps for one graph. `kernels.tables.wiring.Programs` describes the columns."""

    step: Ints  #         [n, 5]
    variable: Ints32  #     [n]
    step_card: Ints32  #    [n]
    axis_count: Ints32  #   [2n]  axes of A (2i) and B (2i+1)
    axis_var: Ints32  #     [sum of axis_count]
    axis_stride: Ints  #  [sum of axis_count]
    arena_start: int  #                      where results begin …
    arena_end: int  #                        … and end; they lie in the order of the steps

    def laid_out(self) -> ContractionProgram:
        return self


@dataclass
class _Steps:
    """A program under construction."""

    arena_end: int
    turned: Turned
    steps: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    variables: list[int] = field(default_factory=list)
    axis_count: list[int] = field(default_factory=list)
    axis_var: list[int] = field(default_factory=list)
    axis_stride: list[int] = field(default_factory=list)

    def layouts(self, *tables: _Table) -> Iterator[tuple[_Table, ...]]:
        """The tables in every combination of the layouts that the arena has them in, first as they are."""
        return itertools.product(*map(self._layouts, tables))

    def is_turned(self, table: _Table) -> bool:
        """Whether the arena has the table in both layouts."""
        return table.place in self.turned or table.place in self._turned_places

    @cached_property
    def _turned_places(self) -> frozenset[int]:
        return frozenset(place for layouts in self.turned.values() for _, place in layouts)

    def _layouts(self, table: _Table) -> tuple[_Table, ...]:
        others = self.turned.get(table.place, ())
        return table, *(_Table(tuple(table.axes[axis] for axis in order), place) for order, place in others)

    def finished(self, cards: Sequence[int], arena_start: int) -> ContractionProgram:
        return ContractionProgram(
            step=np.array(self.steps, np.int64).reshape(-1, 5),
            variable=np.array(self.variables, np.int32),
            step_card=np.array([cards[v] if v >= 0 else 0 for v in self.variables], np.int32),
            axis_count=np.array(self.axis_count, np.int32),
            axis_var=np.array(self.axis_var, np.int32),
            axis_stride=np.array(self.axis_stride, np.int64),
            arena_start=arena_start,
            arena_end=self.arena_end,
        )


def build_program(
    scopes: Sequence[Sequence[int]],
    cards: Sequence[int],
    places: Sequence[int],
    order: Sequence[int],
    patterns: PatternBank,
    arena_start: int,
    turned: Turned,
    shared_end: int = 0,
) -> ContractionProgram:
    """The program that eliminates `order` from tables at `places`; results go to `arena_start` and beyond.

    turned: the orders of axes in which tables lie again, and where; by the place of the first.   shared_end: tables
    that lie before are those of all graphs.
    """
    program = _Steps(arena_start, turned)
    holding: dict[int, dict[int, _Table]] = {v: {} for v in range(len(cards))}  # by identity, in order
    for scope, place in zip(scopes, places, strict=True):
        table = _Table(tuple(scope), int(place))
        for variable in scope:
            holding[variable][id(table)] = table
    for variable in order:
        tables = list(holding.pop(variable).values())
        if not tables:
            continue
        for table in tables:
            for other in table.axes:
                if other != variable:
                    del holding[other][id(table)]
        result = _summed_out(program, tables, variable, cards, patterns, shared_end)
        for other in result.axes:
            holding[other][id(result)] = result
    return program.finished(cards, arena_start)


def _summed_out(
    program: _Steps, tables: list[_Table], variable: int, cards: Sequence[int], patterns: PatternBank, shared_end: int
) -> _Table:
    """Emits the steps that sum out a variable; what is found once holds for all tables that are alike.

    In these steps, variables are numbered as the tables name them first; a place is that of a shared table, -1 - i of
    the i-th table, or counts from `RESULTS`.
    """
    local: dict[int, int] = {}
    for table in tables:
        for v in table.axes:
            local.setdefault(v, len(local))
    own = tuple(local)
    alike = [
        _Table(tuple(local[v] for v in table.axes), table.place if table.place < shared_end else -1 - i)
        for i, table in enumerate(tables)
    ]
    sizes = tuple(cards[v] for v in own)
    key = local[variable], sizes, tuple(alike)
    if key not in patterns.sums:
        steps = _Steps(RESULTS, program.turned)
        result = _sum_out(steps, _bring_down(steps, alike, sizes, patterns), local[variable], sizes, patterns)
        patterns.sums[key] = steps, result
    steps, result = patterns.sums[key]
    start = program.arena_end - RESULTS

    def place(at: int) -> int:
        return at + start if at >= RESULTS else at if at >= 0 else tables[-1 - at].place

    program.steps += [(pattern, place(a), place(b), c + start, last) for pattern, a, b, c, last in steps.steps]
    program.variables += [own[v] if v >= 0 else v for v in steps.variables]
    program.axis_count += steps.axis_count
    program.axis_var += [own[v] for v in steps.axis_var]
    program.axis_stride += steps.axis_stride
    program.arena_end += steps.arena_end - RESULTS
    return _Table(tuple(own[v] for v in result.axes), program.steps[-1][3])


def _bring_down(program: _Steps, tables: list[_Table], cards: Sequence[int], patterns: PatternBank) -> list[_Table]:
    """Multiplies tables together until at most two are left."""

    def size(table: _Table) -> int:
        return math.prod(cards[v] for v in table.axes)

    if len(tables) > MANY:  # those alike first, one after another: a hub may have one table a position
        alike: dict[tuple[int, ...], _Table] = {}
        for table in tables:
            known = alike.get(table.axes)
            alike[table.axes] = table if known is None else _multiply_in(program, known, table, (), cards, patterns)
        tables = list(alike.values())
    remaining = sorted(tables, key=size)
    done: list[_Table] = []
    while remaining and len(done) + len(remaining) > 2:
        smallest = remaining.pop(0)
        holders = [t for t in remaining if set(smallest.axes) <= set(t.axes)]
        if holders:
            # the smallest table that covers it means the least work
            holder = min(holders, key=size)
            place = remaining.index(holder)
            others = [t for t in remaining if t is not holder and set(holder.axes) <= set(t.axes)]
            guide = max(others, key=size).axes if others else ()
            remaining[place] = _multiply_in(program, holder, smallest, guide, cards, patterns)
        else:
            done.append(smallest)
    done.extend(remaining)  # the contraction takes the last two, however their variables overlap
    while len(done) > 2:
        done.sort(key=size)
        a, b, *rest = done
        common = tuple(v for v in b.axes if v in a.axes)
        groups = (common, tuple(v for v in a.axes if v not in common), (), tuple(v for v in b.axes if v not in common))
        axes = (*groups[0], *groups[1], *groups[3])
        done = [*rest, _emit(program, patterns.contraction(a, b, groups, cards), a, b, axes, -1, cards)]
    return done


def _multiply_in(
    program: _Steps, holder: _Table, other: _Table, guide: tuple[int, ...], cards: Sequence[int], patterns: PatternBank
) -> _Table:
    """holder · other, whose variables are among the holder's. Runs on which `other` is constant are scaled whole.

    guide: the axes of a table that the result is multiplied into next, or none.
    """

    def run_of(holder: _Table, other: _Table) -> tuple[int, ...]:
        return tuple(v for i, v in enumerate(holder.axes) if not set(holder.axes[i:]) & set(other.axes))

    def vectors(tables: tuple[_Table, ...]) -> tuple[bool, int]:
        """Whether the axes are those of the guide, and how long runs need no index: there `other` is constant, or both
        tables go on together.
        """
        holder, other = tables
        agrees = not guide or holder.axes == tuple(v for v in guide if v in holder.axes)
        ends = holder.axes[len(holder.axes) - len(other.axes) :] == other.axes
        return agrees, math.prod(cards[v] for v in (other.axes if ends else run_of(holder, other)))

    holder, other = max(program.layouts(holder, other), key=vectors)
    run = run_of(holder, other)
    if math.prod(cards[v] for v in run) < OVERHEAD:
        return _emit(program, patterns.product(holder, other, cards), holder, other, holder.axes, -1, cards)
    groups = (holder.axes[: len(holder.axes) - len(run)], (), (), run)
    return _emit(program, patterns.contraction(other, holder, groups, cards), other, holder, holder.axes, -1, cards)


def _sum_out(
    program: _Steps, tables: list[_Table], variable: int, cards: Sequence[int], patterns: PatternBank
) -> _Table:
    a, b = (tables[0], _Table((), ONE_CELL)) if len(tables) == 1 else (tables[0], tables[1])
    best: tuple[float, _Table, _Table, tuple[tuple[int, ...], ...]] | None = None
    for left_table, right_table in (*program.layouts(a, b), *program.layouts(b, a)):
        speed_up = KEPT if program.is_turned(right_table) else 1.0
        batch = tuple(v for v in left_table.axes if v in right_table.axes and v != variable)
        left = tuple(v for v in left_table.axes if v not in right_table.axes and v != variable)
        right = tuple(v for v in right_table.axes if v not in left_table.axes and v != variable)
        # The right group is the inner loop: it should be long and contiguous in its table. If it is not contiguous, its
        # last axes may be; the others then become an outer loop (a batch on which A does not depend).
        inner = tuple(v for i, v in enumerate(right_table.axes) if set(right_table.axes[i:]) <= set(right))
        outer = tuple(v for v in right if v not in inner)
        splits = [((*batch, *outer), inner, 1.0)] if inner or not outer else []
        if outer:
            splits.append((batch, right, INDEXED))
        for before, group, speed in splits:
            length = math.prod(cards[v] for v in group)
            rank = speed_up * speed * length / (length + OVERHEAD)
            if best is None or rank > best[0]:
                summed = (variable,) if variable in left_table.axes else ()
                best = rank, left_table, right_table, (before, left, summed, group)
    assert best is not None
    _, a, b, (batch, left, _, right) = best
    if variable not in a.axes or variable not in b.axes:
        a, b = (a, b) if variable in a.axes else (b, a)  # a single table: B is the constant 1
        batch, left, right = (), tuple(v for v in a.axes if v != variable), ()
    groups = (batch, left, (variable,), right)
    return _emit(program, patterns.contraction(a, b, groups, cards), a, b, (*batch, *left, *right), variable, cards)


def _emit(
    program: _Steps, pattern: int, a: _Table, b: _Table, axes: tuple[int, ...], variable: int, cards: Sequence[int]
) -> _Table:
    result = _Table(axes, program.arena_end)
    program.arena_end += math.prod(cards[v] for v in axes)
    program.steps.append((pattern, a.place, b.place, result.place, int(variable >= 0 and not axes)))
    program.variables.append(variable)
    for table in (a, b):
        program.axis_count.append(len(table.axes))
        program.axis_var.extend(table.axes)
        program.axis_stride.extend(strides_of([cards[v] for v in table.axes]))
    return result
