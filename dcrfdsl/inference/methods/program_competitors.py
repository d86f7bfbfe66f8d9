"""Competitors on graphs with contraction programs, run by run. Not here: chains (`bound.chain_graphs`), kernels."""

from __future__ import annotations

import numpy as np

from ...foundation import Ints32, Mask
from ...kernels.sequences import ErrorSums, LabelledSpans, WrongStates, exact_competitors, exact_decode_wrong
from ...kernels.tables import Potentials
from ..bound import BoundData, CompetitorTotals


class ProgramCompetitors:
    """data: bound with contraction programs.   in_blocks [S]: sequences so long that they are computed block by block;
    these have no competitors here.
    """

    def __init__(self, data: BoundData):
        self.data = data
        self._programs, self._patterns = data.bank.program_arrays(), data.bank.pattern_arrays()

    @property
    def in_blocks(self) -> Mask:
        """Which sequences are so long that they are computed block by block, [S]; they have no competitors here."""
        blocks: Mask = np.diff(self._programs.block_off)[self.data.rows.shape] > 0
        return blocks

    def competitors(
        self, potentials: Potentials, first: int, last: int, labelling: Ints32, judging: LabelledSpans,
        right: CompetitorTotals, wrong: CompetitorTotals, status: np.ndarray[tuple[int], np.dtype[np.int8]],
    ) -> None:  # fmt: skip
        """See `kernels.sequences.span_competitors.exact_competitors`."""
        d = self.data
        exact_competitors(
            first, last, d.problem, self._programs, self._patterns, potentials, d.ragged(labelling), judging,
            ErrorSums(*right), ErrorSums(*wrong), status,
        )  # fmt: skip

    def decode_wrong(
        self, potentials: Potentials, first: int, last: int, wrong: WrongStates,
        status: np.ndarray[tuple[int], np.dtype[np.int8]], labelling: Ints32,
    ) -> None:  # fmt: skip
        """Writes the best labelling of each sequence that contradicts the known labels, -1 if there is none."""
        d = self.data
        exact_decode_wrong(
            first, last, d.problem, self._programs, self._patterns, potentials, wrong, status, d.ragged(labelling)
        )
