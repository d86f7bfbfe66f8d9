"""Exact inference over a data set: contraction programs, and a special kernel for chains."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints32, Mask
from ...cached_values import cached_property
from ...kernels.exact import blocked_decode, blocked_expectations
from ...kernels.runtime import IMPOSSIBLE
from ...kernels.sequences import exact_decode, exact_expectations
from ...kernels.tables import Patterns, Potentials, Programs, Ragged, Totals
from ...semantics import AutoSettings, ExactSettings
from ..base import Expectations
from ..bound import BoundData, ChainRuns, chain_of

__all__ = ["ExactMethod"]

Kernel = Callable[..., None]
NOTHING = np.zeros(0)


@dataclass(eq=False)
class ExactMethod:
    """Variable elimination by contraction programs; exact on any graph whose tables fit.

    A chain with one table between neighbours has a special kernel; the programs take the sequences that it leaves.
    """

    data: BoundData
    settings: ExactSettings | AutoSettings
    approximate: bool = False

    def __post_init__(self) -> None:
        chain = chain_of(self.data.graph, self.data.kinds)
        self.chain = ChainRuns(self.data, chain) if chain is not None else None
        self._per_thread = threading.local()

    # A chain needs these only if its kernel leaves sequences.

    @cached_property
    def programs(self) -> Programs:
        return self.data.bank.program_arrays()

    @cached_property
    def patterns(self) -> Patterns:
        return self.data.bank.pattern_arrays()

    @cached_property
    def in_blocks(self) -> Mask:
        """Which sequences are so long that they are computed block by block, [S]."""
        return np.diff(self.programs.block_off)[self.data.rows.shape] > 0

    def _arenas(self) -> tuple[Floats, Floats]:
        """Two arenas that belong to the calling thread."""
        if not hasattr(self._per_thread, "arenas"):
            shapes = self.data.shapes
            size = max(int(shapes.arena_end.max(initial=0)), shapes.local_start)
            self._per_thread.arenas = np.empty(size), np.empty(size)
        arenas: tuple[Floats, Floats] = self._per_thread.arenas
        return arenas

    def _kernels(self, begin: int, end: int, whole: Kernel, in_blocks: Kernel) -> list[Kernel]:
        """Those of the two kernels that a run of sequences needs; a kernel that is never called is not compiled."""
        blocked = self.in_blocks[begin:end]
        return [kernel for kernel, needed in ((whole, not blocked.all()), (in_blocks, blocked.any())) if needed]

    def remember(self) -> None:
        pass

    def sharpen(self) -> bool:
        return False

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats,
        share: Floats = NOTHING,
    ) -> None:  # fmt: skip
        """As `ExpectingMethod.expectations`. share [S]: a factor on each sequence's expectations; 1 if empty."""
        d, p, left = self.data, potentials, [(first, last)]
        if self.chain is not None:
            left = self.chain.expectations(
                p, first, last, out.log_z, out.status, out.marginals, gradient, expected, share
            )
        for begin, end in left:
            for run in self._kernels(begin, end, exact_expectations, blocked_expectations):
                run(
                    begin, end, d.problem, self.programs, self.patterns, p, Totals(gradient, expected), out.results,
                    Ragged(out.marginals, d.marginal_off), *self._arenas(), share,
                )  # fmt: skip

    def decode(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        d, p, left = self.data, potentials, [(first, last)]
        if self.chain is not None:
            left = self.chain.decode(p, first, last, out.log_z, out.status, labelling)
        for begin, end in left:
            for run in self._kernels(begin, end, exact_decode, blocked_decode):
                run(begin, end, d.problem, self.programs, self.patterns, p, out.log_z, d.ragged(labelling))
            out.status[begin:end] = np.where(np.isneginf(out.log_z[begin:end]), IMPOSSIBLE, 0)
