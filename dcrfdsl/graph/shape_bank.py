"""Collects unrolled graphs into the flat arrays that kernels take, each distinct shape once.

Sequences of equal length share a shape. Its program is made when it is added; arrays are written out on demand, once
for as long as no shape is added. A bank that data sets share is never added to: it is copied (`copy`).
Not here: the factors (`unroll`), the order of messages (`kernels.messages`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..foundation import Ints32, dataclass
from ..kernels.tables import Edges, Patterns, Programs, Shapes
from .contraction_programs import PatternBank, Turned
from .sequence_programs import Blocks, ProductPlace, Program, ProgramBuilder, cut_blocks
from .shapes import FactorArrays, GraphShape as GraphShape, offsets, offsets_of

WHOLE = 2**22  # arena cells (32 MiB) up to which a sequence is computed in one piece; longer ones use blocks …
BLOCK = 2**16  # … of about this many cells

Made = TypeVar("Made")


@dataclass
class ShapeBank:
    """Shapes of one model. `local_start` = number of shared cells; `order_of` gives the elimination order of a shape.

    Without `order_of` no contraction programs are made (message passing needs none). `unroll` gives the shape of a
    length, if lengths determine shapes; long sequences then get their programs by periods.   turned: where shared
    tables lie a second time, see `build_program`.   products: of shared tables, see `ProgramBuilder`.
    """

    local_start: int
    order_of: Callable[[GraphShape], Sequence[int]] | None = None
    unroll: Callable[[int], GraphShape] | None = None
    turned: Turned = field(default_factory=dict)
    products: Sequence[ProductPlace] = ()
    whole: int = WHOLE
    block: int = BLOCK
    shapes: list[GraphShape] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    forests: dict[tuple[int, int], list[list[int]]] = field(default_factory=dict)  # (shape, seed) → TRW's forests

    def __post_init__(self) -> None:
        self._builder = None
        self._made: dict[Hashable, object] = {}
        if self.order_of is not None:
            self._builder = ProgramBuilder(self.local_start, self.order_of, self.unroll, self.turned, self.products)

    def copy(self) -> ShapeBank:
        """A bank with the same shapes, to which others may be added while this one is in use."""
        other = replace(self, shapes=list(self.shapes), programs=list(self.programs), forests=dict(self.forests))
        other._builder = None if self._builder is None else self._builder.copy()
        return other

    @property
    def num_variables(self) -> int:
        """The variables of all shapes together, by which a bank's memory grows."""
        return sum(len(shape.cards) for shape in self.shapes)

    def once(self, what: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` returns, made once under the name `what` for the shapes of the bank."""
        if what not in self._made:
            self._made[what] = make()
        return cast(Made, self._made[what])

    def pattern_arrays(self) -> Patterns:
        """The index patterns of all steps."""
        return self.once("patterns", (PatternBank() if self._builder is None else self._builder.patterns).arrays)

    def add(self, shape: GraphShape) -> int:
        """Adds a shape and builds its program; returns its number. Arrays made earlier do not contain it."""
        if self._builder is not None:
            self.programs.append(self._builder.build(shape))
        self.shapes.append(shape)
        self._made.clear()
        return len(self.shapes) - 1

    def shape_arrays(self) -> Shapes:
        return self.once("shapes", self._shape_arrays)

    def _shape_arrays(self) -> Shapes:
        shapes = self.shapes
        factors = [shape.arrays() for shape in shapes]
        cards = [np.array(shape.cards, np.int32) for shape in shapes]
        local_end = [shape.local_end(self.local_start) for shape in shapes]
        arena_end = [program.arena_end for program in self.programs] or local_end
        return Shapes(
            var_off=offsets_of(cards),
            card=_joined(cards, np.int32),
            state_off=_joined([*(shape.state_places() for shape in shapes), np.zeros(1, np.int64)], np.int64),
            fac_off=offsets_of(f.kind for f in factors),
            fac_kind=_joined([f.kind for f in factors], np.int32),
            fac_anchor=_joined([f.anchor for f in factors], np.int32),
            fac_table=_joined([f.table for f in factors], np.int64),
            fac_size=_joined([f.size for f in factors], np.int64),
            scope_off=offsets(_joined([f.arity for f in factors], np.int64)),
            scope=_joined([f.scope for f in factors], np.int32),
            local_start=self.local_start,
            local_end=np.array(local_end, np.int64),
            arena_end=np.array(arena_end, np.int64),
            log_const=np.array(list(map(_log_states_of_isolated, cards, factors)), np.float64),
        )

    def program_arrays(self) -> Programs:
        return self.once("programs", self._program_arrays)

    def _program_arrays(self) -> Programs:
        programs = [program.laid_out() for program in self.programs]
        blocks = [
            cut_blocks(shape, program, self.local_start, self.block)
            if program.arena_end > self.whole
            else Blocks.none(program)
            for shape, program in zip(self.shapes, programs, strict=True)
        ]
        listed = offsets_of(b.factor for b in blocks)
        for b, at in zip(blocks, listed[:-1], strict=True):
            b.block[:, 7:] += at
        return Programs(
            step_off=offsets_of(p.step for p in programs),
            step=_joined([p.step for p in programs], np.int64, (0, 5)),
            variable=_joined([p.variable for p in programs], np.int32),
            step_card=_joined([p.step_card for p in programs], np.int32),
            axis_off=offsets(_joined([p.axis_count for p in programs], np.int32)),
            axis_var=_joined([p.axis_var for p in programs], np.int32),
            axis_stride=_joined([p.axis_stride for p in programs], np.int64),
            block_off=offsets_of(b.block for b in blocks),
            block=_joined([b.block for b in blocks], np.int64, (0, 9)),
            block_factor=_joined([b.factor for b in blocks], np.int32),
            workspace=np.array([b.room for b in blocks], np.int64),
        )

    def edge_arrays(self) -> Edges:
        return self.once("edges", self._edge_arrays)

    def _edge_arrays(self) -> Edges:
        shapes = self.shape_arrays()
        arity = np.diff(shapes.scope_off)
        several = arity > 1
        begin = offsets(np.where(several, arity, 0))  # the edges of each factor
        factor = np.repeat(np.arange(len(arity)), np.diff(begin))
        edge_off = begin[shapes.fac_off]
        shape, first_edge = np.repeat(np.arange(len(self.shapes)), np.diff(edge_off)), edge_off[:-1]
        variable = shapes.scope[np.repeat(several, arity)]
        numbered = shapes.var_off[shape] + variable  # through all shapes
        message_off = offsets(shapes.card[numbered])
        return Edges(
            edge_off=edge_off,
            edge_factor=(factor - shapes.fac_off[shape]).astype(np.int32),
            edge_var=variable,
            edge_axis=(np.arange(len(factor)) - begin[factor]).astype(np.int32),
            message_off=message_off[:-1] - message_off[first_edge][shape],
            first_edge=np.where(several, begin[:-1] - np.repeat(first_edge, np.diff(shapes.fac_off)), -1),
            var_edge_off=offsets(np.bincount(numbered, minlength=len(shapes.card))),
            var_edge=(np.argsort(numbered, kind="stable") - first_edge[shape]).astype(np.int32),
            messages=np.diff(message_off[edge_off]),
        )


def _log_states_of_isolated(cards: Ints32, factors: FactorArrays) -> float:
    isolated = np.ones(len(cards), np.bool_)
    isolated[factors.scope] = False
    return sum(math.log(card) for card in cards[isolated].tolist())


def _joined(parts: Sequence[NDArray], dtype: type, empty: tuple[int, ...] = (0,)) -> NDArray:
    """The parts laid end to end; a single part is not copied."""
    if len(parts) == 1 and parts[0].dtype == dtype:
        return parts[0]
    return np.concatenate([np.zeros(empty, dtype), *parts], dtype=dtype)
