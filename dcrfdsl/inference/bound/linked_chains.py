"""Chains whose moves may have scores of their own at each position: features, positions, observed constraints.

A data set is one of linked chains if it has one label, and every factor of every sequence lies on one position or on
two neighbours. Not here: chains whose moves are the same everywhere, which have faster kernels (`chain_graphs`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...foundation import Ints32
from ...kernels.chain import SpanLoss, competitor_workspace
from ...kernels.runtime import aligned_zeros, block_registers, padded
from ...kernels.sequences import ErrorSums, linked_competitors
from ...kernels.tables import Potentials
from .chain_graphs import CompetitorTotals
from .potentials import BoundData

MOST_CELLS = 2**25  # of the moves of the longest sequence: 256 MB for each of three tables


class LinkedChains:
    """Losses of spans on a data set of linked chains, run by run."""

    def __init__(self, data: BoundData):
        self.data = data
        self._states = data.graph.cards[0]
        self._width, self._longest = padded(self._states), int(np.diff(data.rows.token_off).max(initial=0))

    @property
    def fits(self) -> bool:
        """Whether the scores of all moves of the longest sequence fit in memory."""
        return self._longest * self._width**2 <= MOST_CELLS

    def competitors(
        self, potentials: Potentials, first: int, last: int, labelling: Ints32, judging: SpanLoss,
        right: CompetitorTotals, wrong: CompetitorTotals, status: NDArray[np.int8],
    ) -> None:  # fmt: skip
        """See `kernels.sequences.linked_span_losses.linked_competitors`."""
        d, width = self.data, self._width
        row = (0,) * block_registers(self._states), self._states, width
        memory = competitor_workspace(self._longest, width), aligned_zeros(3 * self._longest * width**2)
        linked_competitors(
            first, last, row, d.problem, potentials, d.ragged(labelling), judging, ErrorSums(*right),
            ErrorSums(*wrong), status, memory,
        )  # fmt: skip


def linked_chains(data: BoundData) -> LinkedChains | None:
    """The runs that judge spans of this data set; None where its graphs are no linked chains, or too long for them."""
    graph, shapes = data.graph, data.shapes
    if len(graph.cards) != 1 or graph.of_sentence:
        return None
    sizes = np.diff(shapes.scope_off)
    pairs = shapes.scope_off[:-1][sizes == 2]
    apart = np.abs(shapes.scope[pairs] - shapes.scope[pairs + 1])
    if not np.isin(sizes, (1, 2)).all() or (apart != 1).any():
        return None
    runs = LinkedChains(data)
    return runs if runs.fits else None
