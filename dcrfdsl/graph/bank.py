"""Collects unrolled graphs into the flat arrays that kernels take, each distinct shape once.

A shape is a graph without numbers: variables with their states, factors with their scopes and the places of their
tables. Sequences of equal length share one. Programs and message edges are built when a shape is added. Not
here: what the factors are (`unroll`), in which order messages go (`forests`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..kernels.wiring import Edges, Programs, Shapes
from .contraction import ContractionProgram, PatternBank, build_program

__all__ = ["GraphShape", "ShapeBank"]


@dataclass(frozen=True)
class GraphShape:
    """One unrolled graph. Tables are row-major over their scope; `tables` are arena offsets.

    A factor whose table is below the bank's `local_start` is shared by all sequences, the others are per sequence.
    """

    cards: tuple[int, ...]  #               [V] states of a variable
    scopes: tuple[tuple[int, ...], ...]  #  [F] variables of a factor
    tables: tuple[int, ...]  #              [F] arena offset of its table
    kinds: tuple[int, ...] = ()  #          [F] index of its kind, empty for a graph with explicit tables
    anchors: tuple[int, ...] = ()  #        [F] position its features are read at

    def table_size(self, factor: int) -> int:
        return math.prod(self.cards[v] for v in self.scopes[factor])


@dataclass
class ShapeBank:
    """Shapes of one model. `local_start` = number of shared cells; `order_of` gives a shape's elimination order.

    With `order_of` None no contraction programs are made (message passing needs none).
    """

    local_start: int
    order_of: Callable[[GraphShape], Sequence[int]] | None = None
    shapes: list[GraphShape] = field(default_factory=list)
    patterns: PatternBank = field(default_factory=PatternBank)
    programs: list[ContractionProgram] = field(default_factory=list)
    pools: dict[tuple[int, int], list[list[int]]] = field(default_factory=dict)  # (shape, seed) → TRP passes

    def add(self, shape: GraphShape) -> int:
        """Adds a shape and builds its program; returns its number. Arrays made before do not know it."""
        if self.order_of is not None:
            end, order = self.local_end(shape), self.order_of(shape)  # which refuses a shape whose tables cannot fit
            self.programs.append(build_program(shape.scopes, shape.cards, shape.tables, order, self.patterns, end))
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def local_end(self, shape: GraphShape) -> int:
        """The arena offset after the shape's last local table."""
        ends = (place + shape.table_size(f) for f, place in enumerate(shape.tables) if place >= self.local_start)
        return max(ends, default=self.local_start)

    def shape_arrays(self) -> Shapes:
        shapes = self.shapes
        local_end = [self.local_end(shape) for shape in shapes]
        arena_end = [program.arena_end for program in self.programs] or local_end
        return Shapes(
            var_off=_offsets(len(s.cards) for s in shapes),
            card=_flat((s.cards for s in shapes), np.int32),
            state_off=np.concatenate([*(_starts(s.cards) for s in shapes), np.zeros(1, np.int64)]),
            fac_off=_offsets(len(s.scopes) for s in shapes),
            fac_kind=_flat((s.kinds or (-1,) * len(s.scopes) for s in shapes), np.int32),
            fac_anchor=_flat((s.anchors or (0,) * len(s.scopes) for s in shapes), np.int32),
            fac_table=_flat((s.tables for s in shapes), np.int64),
            fac_size=_flat(([s.table_size(f) for f in range(len(s.scopes))] for s in shapes), np.int64),
            scope_off=_offsets(len(scope) for s in shapes for scope in s.scopes),
            scope=_flat((scope for s in shapes for scope in s.scopes), np.int32),
            local_start=self.local_start,
            local_end=np.array(local_end, np.int64),
            arena_end=np.array(arena_end, np.int64),
            log_const=np.array([_log_states_of_isolated(s) for s in shapes], np.float64),
        )

    def program_arrays(self) -> Programs:
        variables = [v for program in self.programs for v in program.variables]
        cards = [
            shape.cards[v] if v >= 0 else 0
            for shape, p in zip(self.shapes, self.programs, strict=True)
            for v in p.variables
        ]
        axes = [table.axes for program in self.programs for pair in program.operands for table in pair]
        shape_cards = [
            shape.cards
            for shape, p in zip(self.shapes, self.programs, strict=True)
            for pair in p.operands
            for _ in pair
        ]
        strides = [_row_major([cards[v] for v in table]) for table, cards in zip(axes, shape_cards, strict=True)]
        return Programs(
            step_off=_offsets(len(program.steps) for program in self.programs),
            step=np.array([step for p in self.programs for step in p.steps], np.int64).reshape(-1, 5),
            variable=np.array(variables, np.int32),
            step_card=np.array(cards, np.int32),
            axis_off=_offsets(len(table) for table in axes),
            axis_var=_flat(axes, np.int32),
            axis_stride=_flat(strides, np.int64),
        )

    def edge_arrays(self) -> Edges:
        per_shape = [_shape_edges(shape) for shape in self.shapes]
        var_lists = [edges for one in per_shape for edges in one.at_variable]
        return Edges(
            edge_off=_offsets(len(one.factor) for one in per_shape),
            edge_factor=_flat((one.factor for one in per_shape), np.int32),
            edge_var=_flat((one.variable for one in per_shape), np.int32),
            edge_axis=_flat((one.axis for one in per_shape), np.int32),
            message_off=_flat((one.message for one in per_shape), np.int64),
            first_edge=_flat((one.first for one in per_shape), np.int64),
            var_edge_off=_offsets(len(edges) for edges in var_lists),
            var_edge=_flat(var_lists, np.int32),
            messages=np.array([one.length for one in per_shape], np.int64),
        )


@dataclass
class _ShapeEdges:
    factor: list[int] = field(default_factory=list)
    variable: list[int] = field(default_factory=list)
    axis: list[int] = field(default_factory=list)
    message: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    at_variable: list[list[int]] = field(default_factory=list)
    length: int = 0


def _shape_edges(shape: GraphShape) -> _ShapeEdges:
    out = _ShapeEdges(at_variable=[[] for _ in shape.cards])
    for factor, scope in enumerate(shape.scopes):
        out.first.append(len(out.factor) if len(scope) > 1 else -1)
        if len(scope) < 2:
            continue
        for axis, variable in enumerate(scope):
            out.at_variable[variable].append(len(out.factor))
            out.factor.append(factor)
            out.variable.append(variable)
            out.axis.append(axis)
            out.message.append(out.length)
            out.length += shape.cards[variable]
    return out


def _log_states_of_isolated(shape: GraphShape) -> float:
    touched = {v for scope in shape.scopes for v in scope}
    return sum(math.log(card) for v, card in enumerate(shape.cards) if v not in touched)


def _offsets(counts: Iterable[int]) -> NDArray[np.int64]:
    lengths = np.fromiter(counts, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _starts(cards: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(cards, np.int64))])[:-1]


def _flat(parts: Iterable[Iterable[int]], dtype: type) -> NDArray:
    return np.fromiter((x for part in parts for x in part), dtype)


def _row_major(sizes: Sequence[int]) -> list[int]:
    out = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        out[i] = out[i + 1] * sizes[i + 1]
    return out
