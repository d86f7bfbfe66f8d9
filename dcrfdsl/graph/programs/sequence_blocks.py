"""Blocks of positions of long sequences, so that exact inference needs the arena of one block at a time.

A block is a run of steps with the tables and results in it, and the earlier results that it still reads. Kernels keep
only the latter between blocks and recompute a block when they return to it (`kernels.exact.checkpointing`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...foundation import Ints, Ints32
from ..shapes import GraphShape, offsets
from .contraction_programs import ContractionProgram
from .periods import step_positions


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
