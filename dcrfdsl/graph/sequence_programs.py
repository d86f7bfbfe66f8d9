"""Contraction programs of sequences: by repetition where they are long, in blocks where they are very long.

Far from the ends, every position does the same. Only short sequences get their programs step by step. Suppose that
inserting one more period (one position, or a few) into the program of a short sequence gives exactly the program of a
sequence longer by a period, and that two insertions give that of one longer by two. Then longer sequences get theirs by
inserting as many periods as they need. Elimination from left to right only looks at the tables that contain the current
variable, so a situation that recurs keeps recurring. Without a period, programs are built step by step.

A block is a run of steps with the tables and results in it, and the earlier results that it still reads. Kernels keep
only the latter between blocks and recompute a block when they return to it (`kernels.exact.checkpointing`), so that
exact inference needs the arena of one block at a time. Not here: single steps (`contraction_programs`), which tables
are multiplied beforehand (`shared_tables`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..foundation import Ints, Ints32, dataclass
from .contraction_programs import ContractionProgram, PatternBank, Turned, build_program
from .shapes import GraphShape, Run, offsets


class ProductPlace(NamedTuple):
    """A product over variables of a position, slowest first; the places of its parts and its own, all in the arena."""

    parts: frozenset[int]
    variables: tuple[int, ...]
    at: int


def multiplied(shape: GraphShape, products: Sequence[ProductPlace]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The scopes and tables of a regular graph's factors; a position that has all parts of a product has it instead."""
    of_part = {part: number for number, product in enumerate(products) for part in product.parts}
    factors = list(zip(shape.scopes, shape.tables, strict=True))
    owners = [of_part.get(table) for _, table in factors]
    found: dict[tuple[int, int], set[int]] = {}
    for (scope, table), owner in zip(factors, owners, strict=True):
        if owner is not None:
            found.setdefault((owner, scope[0] // shape.width), set()).add(table)
    scopes, tables = [], []
    for (scope, table), owner in zip(factors, owners, strict=True):
        position = scope[0] // shape.width if owner is not None else 0
        if owner is None or found[owner, position] != products[owner].parts:
            scopes.append(scope)
            tables.append(table)
        elif table == min(products[owner].parts):
            scopes.append(tuple(position * shape.width + variable for variable in products[owner].variables))
            tables.append(products[owner].at)
    return scopes, tables


MARGINS = (1, 2, 4)  # equal positions on both sides of the period, in spans of the widest factor
PERIODS = (1, 2, 3, 4)
FEWEST = 3  # insertions that make it worth while: finding a period takes two


def step_positions(program: ContractionProgram, width: int) -> Ints:
    """The position of the variables of each step, [n]; the last step of a variable sums it out."""
    sums = np.flatnonzero(program.variable >= 0)
    return program.variable[sums[np.searchsorted(sums, np.arange(len(program.variable)))]].astype(np.int64) // width


@dataclass(frozen=True, eq=False)
class RepeatedProgram:
    """`base` with its steps `first` to `last` repeated `turns` more times, each time `period` positions further right.

    Each repetition adds `local` cells of tables and `results` cells of intermediate results.
    """

    base: ContractionProgram
    first: int
    last: int
    turns: int
    variables: int  # of a turn
    local: int
    results: int
    local_start: int

    @property
    def arena_start(self) -> int:
        return self.base.arena_start + self.turns * self.local

    @property
    def arena_end(self) -> int:
        return self.base.arena_end + self.turns * (self.local + self.results)

    def laid_out(self) -> ContractionProgram:
        """All steps, written out anew at each call."""
        base, span = self.base, (self.first, self.last)
        place = base.step[:, 1:4]
        is_result = place >= base.arena_start
        move = np.zeros_like(base.step)
        move[:, 1:4] = np.where(is_result, self.results, np.where(place >= self.local_start, self.local, 0))
        begin = base.step.copy()
        begin[:, 1:4] += is_result * self.turns * self.local  # results lie after all tables
        ends = offsets(base.axis_count)
        axes = (int(ends[2 * self.first]), int(ends[2 * self.last]))
        return ContractionProgram(
            step=self._repeat(begin, span, move),
            variable=self._repeat(base.variable, span, np.where(base.variable >= 0, self.variables, 0)),
            step_card=self._repeat(base.step_card, span),
            axis_count=self._repeat(base.axis_count, (2 * self.first, 2 * self.last)),
            axis_var=self._repeat(base.axis_var, axes, np.full_like(base.axis_var, self.variables)),
            axis_stride=self._repeat(base.axis_stride, axes),
            arena_start=self.arena_start,
            arena_end=self.arena_end,
        )

    def _repeat(self, values: NDArray, span: tuple[int, int], move: NDArray | None = None) -> NDArray:
        """Rows `span` of `values` and their repetitions; `move` is added in each repetition."""
        first, last = span
        move = np.zeros_like(values) if move is None else move.astype(values.dtype)
        out = np.empty((len(values) + self.turns * (last - first), *values.shape[1:]), values.dtype)
        out[:first] = values[:first]
        middle = out[first : last + self.turns * (last - first)].reshape(self.turns + 1, *values[first:last].shape)
        turn = np.arange(self.turns + 1, dtype=values.dtype).reshape(-1, *[1] * values.ndim)
        np.multiply(turn, move[first:last], out=middle)
        middle += values[first:last]
        out[len(out) - (len(values) - last) :] = values[last:] + self.turns * move[last:]
        return out


Program = ContractionProgram | RepeatedProgram


@dataclass
class ProgramBuilder:
    """Builds the programs of a model's shapes into one bank of patterns.

    order_of: the elimination order of a shape, from left to right if it is regular.   unroll: the regular shape of a
    length, if there are any.   turned: see `build_program`.   products: of shared tables of a position; regular shapes
    get them in place of their parts.
    """

    local_start: int
    order_of: Callable[[GraphShape], Sequence[int]]
    unroll: Callable[[int], GraphShape] | None
    turned: Turned = field(default_factory=dict)
    products: Sequence[ProductPlace] = ()
    patterns: PatternBank = field(default_factory=PatternBank)
    _inserted: dict[_Place, RepeatedProgram | None] = field(default_factory=dict)

    def copy(self) -> ProgramBuilder:
        """A builder that goes on from what this one has built, and leaves it as it is."""
        return replace(self, patterns=self.patterns.copy(), _inserted=dict(self._inserted))

    def build(self, shape: GraphShape) -> Program:
        """The program of a shape: by periods if it is long enough and has one, else step by step."""
        if self.unroll is not None and shape.length:
            for place in _places(shape):
                program = self._insert(shape, place, self.unroll)
                if program is not None:
                    return program
        return self.build_in_steps(shape)

    def build_in_steps(self, shape: GraphShape) -> ContractionProgram:
        """The program of a shape, step by step."""
        order = self.order_of(shape)  # raises for a shape whose tables cannot fit
        end = shape.local_end(self.local_start)
        scopes, tables = multiplied(shape, self.products if shape.length else ())
        return build_program(scopes, shape.cards, tables, order, self.patterns, end, self.turned, self.local_start)

    def _insert(self, shape: GraphShape, place: _Place, unroll: Callable[[int], GraphShape]) -> RepeatedProgram | None:
        """The shape's program by insertion at a place, or None if nothing recurs there."""
        if place not in self._inserted:
            self._inserted[place] = self._one_turn(place, unroll)
        program = self._inserted[place]
        if program is None:
            return None
        turns = (shape.length - place.length) // place.period
        fits = _extends(unroll(place.length), shape, place, turns * program.local, self.local_start)
        return replace(program, turns=turns) if fits else None

    def _one_turn(self, place: _Place, unroll: Callable[[int], GraphShape]) -> RepeatedProgram | None:
        """The insertion of one period at a place, if inserting one and two gives the programs of longer sequences."""
        shapes = [unroll(place.length + turns * place.period) for turns in range(3)]
        base, *longer = [self.build_in_steps(shape) for shape in shapes]
        width = shapes[0].width
        positions = step_positions(base, width)
        if (np.diff(positions) < 0).any():
            return None
        first, last = np.searchsorted(positions, [place.cut, place.cut + place.period]).tolist()
        local = longer[0].arena_start - base.arena_start
        results = longer[0].arena_end - base.arena_end - local
        for turns, (shape, program) in enumerate(zip(shapes[1:], longer, strict=True), 1):
            repeated = RepeatedProgram(base, first, last, turns, place.period * width, local, results, self.local_start)
            laid = repeated.laid_out()
            is_same = all(np.array_equal(getattr(laid, f.name), getattr(program, f.name)) for f in fields(laid))
            if not is_same or not _extends(shapes[0], shape, place, turns * local, self.local_start):
                return None
        return replace(repeated, turns=1)


class _Place(NamedTuple):
    """The place of a period: after position `cut` in a sequence of `length` positions."""

    length: int
    cut: int
    period: int


def _places(shape: GraphShape) -> Iterator[_Place]:
    """Places where periods could be inserted to make this shape: in its longest run of equal positions."""
    ends = {0, shape.length}
    widest = 0
    for run in shape.runs:
        first, last = min(run.scope) // shape.width, max(run.scope) // shape.width
        ends.update((first, first + run.count))
        widest = max(widest, last - first)
    left, right = max(itertools.pairwise(sorted(ends)), key=lambda gap: gap[1] - gap[0], default=(0, 0))
    for margin in MARGINS:
        aside = margin * (widest + 2)
        for period in PERIODS:
            inserted = (right - left - 2 * aside) // period - 1
            if inserted >= FEWEST:
                yield _Place(shape.length - inserted * period, left + aside, period)


def _extends(base: GraphShape, shape: GraphShape, place: _Place, local: int, local_start: int) -> bool:
    """Whether a shape is `base` with positions, and their `local` cells, inserted at a place."""
    more = shape.length - base.length

    def moved(position: int) -> int | None:
        if place.cut < position < place.cut + place.period:
            return None
        return position if position <= place.cut else position + more

    if len(base.runs) != len(shape.runs):
        return False
    for old, new in zip(base.runs, shape.runs, strict=True):
        first = min(old.scope) // base.width
        start, end = moved(first), moved(first + old.count)
        if start is None or end is None:
            return False
        shift = start - first
        place_of = old.table + (local if shift and old.table >= local_start else 0)
        scope = tuple(v + shift * base.width for v in old.scope)
        if new != Run(scope, place_of, old.kind, old.anchor + shift, end - start, old.stride):
            return False
    return True


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of one shape; see `kernels.tables.wiring.Programs`."""

    block: Ints  #    [n, 9]
    factor: Ints32  # factors with local tables, block by block
    room: int  #      arena cells of the largest block, or of the whole; shared cells included

    @classmethod
    def none(cls, program: ContractionProgram) -> Blocks:
        """A shape that is computed in one piece."""
        return cls(np.zeros((0, 9), np.int64), np.zeros(0, np.int32), program.arena_end)


def cut_blocks(shape: GraphShape, program: ContractionProgram, local_start: int, cells: int) -> Blocks:
    """Blocks of whole positions, of about `cells` arena cells; none if elimination is not from left to right."""
    at_position = step_positions(program, shape.width) if shape.length else np.zeros(0, np.int64)
    if shape.length == 0 or (np.diff(at_position) < 0).any():
        return Blocks.none(program)
    total = program.arena_end - local_start
    positions = max(1, int(shape.length * cells / max(1, total)))
    starts = np.arange(0, shape.length, positions)
    bounds = np.append(starts, shape.length)
    steps = np.searchsorted(at_position, bounds)

    # results lie in the order of the steps; the results read by steps from a block on begin at its `reach`
    results = np.append(program.step[:, 3], program.arena_end)[steps]
    places = program.step[:, 1:4]
    lowest = np.where(places >= program.arena_start, places, program.arena_end).min(axis=1, initial=program.arena_end)
    reach = np.append(np.minimum.accumulate(lowest[::-1])[::-1], program.arena_end)[steps[:-1]]

    # tables are ordered by the first position of their scope, like the steps that read them
    factors = shape.arrays()
    local_factors = np.flatnonzero(factors.table >= local_start)
    first_variable = (
        np.minimum.reduceat(factors.scope, offsets(factors.arity)[:-1]) if len(local_factors) else factors.scope
    )
    block_of = first_variable[local_factors].astype(np.int64) // shape.width // positions
    order = np.argsort(block_of, kind="stable")
    counts = np.bincount(block_of, minlength=len(starts))
    sizes = np.bincount(block_of, weights=factors.size[local_factors], minlength=len(starts)).astype(np.int64)
    local = local_start + offsets(sizes)
    listed = offsets(counts)
    block = np.stack(
        [steps[:-1], steps[1:], local[:-1], local[1:], reach, results[:-1], results[1:], listed[:-1], listed[1:]],
        axis=1,
    )
    room = local_start + int((local[1:] - local[:-1] + results[1:] - reach).max(initial=0))
    return Blocks(block.astype(np.int64), local_factors[order].astype(np.int32), room)
