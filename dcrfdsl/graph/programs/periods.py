"""Contraction programs of long sequences by repetition: far from the ends, every position does the same.

Only short sequences get their programs step by step. Suppose that inserting one more period (one position, or a few)
into the program of a short sequence gives exactly the program of a sequence longer by a period, and that two insertions
give that of one longer by two. Then longer sequences get theirs by inserting as many periods as they need. Elimination
from left to right only looks at the tables that contain the current variable, so a situation that recurs keeps
recurring. Without a period, programs are built step by step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...foundation import Ints
from ..shapes import GraphShape, Run, offsets
from .contraction_programs import ContractionProgram, PatternBank, Turned, build_program
from .product_places import ProductPlace, multiplied

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
            if not _extends(shapes[0], shape, place, turns * local, self.local_start) or not _equal(repeated, program):
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


def _equal(one: RepeatedProgram, other: ContractionProgram) -> bool:
    laid = one.laid_out()
    return all(np.array_equal(getattr(laid, f.name), getattr(other, f.name)) for f in fields(laid))
