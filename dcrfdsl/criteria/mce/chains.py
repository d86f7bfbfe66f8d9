"""Stretches of chains, judged in one pass over the data set. Not here: the kernel (`kernels.rivals`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...inference import BoundData, RunStatus, Workers
from ...inference.chains import ChainRuns, RivalSums, chain_of
from ...kernels.rivals import SegmentMarks, Smoothing, Stretches
from ..sums import FeatureSums
from .counted import Counted

__all__ = ["ChainCounter", "judging_chain"]

Floats = NDArray[np.float64]


def judging_chain(data: BoundData) -> ChainRuns | None:
    """What judges stretches of this data set, if its graphs are chains."""
    chain = chain_of(data.graph, data.kinds)
    runs = ChainRuns(data, chain) if chain is not None else None
    return runs if runs is not None and runs.judges else None


class ChainCounter:
    """Counts errors on stretches of chains whose labels are all known. Exact."""

    approximate = False

    def __init__(
        self, runs: ChainRuns, labelling: NDArray[np.int32], stretches: Stretches, marks: SegmentMarks,
        smoothing: Smoothing, find_false: bool, workers: Workers,
    ):  # fmt: skip
        self._runs, self._labelling, self._stretches, self._marks = runs, labelling, stretches, marks
        self._smoothing, self._find_false = smoothing, find_false
        self._right = FeatureSums(runs.data, workers)
        self._wrong = FeatureSums(runs.data, workers) if find_false else None
        self._workers = workers
        self.status = RunStatus()

    @property
    def num_stretches(self) -> int:
        return len(self._stretches.first)

    def count(self, weights: Floats) -> Counted:
        """See `Counter.count`."""
        data = self._runs.data
        potentials = data.potentials(weights)
        loss, false = np.zeros(data.num_sequences), np.zeros(data.num_sequences)
        status, unused = np.zeros(data.num_sequences, np.int8), np.zeros(0)

        def run(first: int, last: int) -> None:
            right = RivalSums(*self._right.of(first), loss)
            nothing = RivalSums(unused, np.zeros_like(data.hard), false)
            wrong = RivalSums(*self._wrong.of(first), false) if self._wrong is not None else nothing
            self._runs.rivals(
                potentials, first, last, self._labelling, self._stretches, self._marks, self._smoothing,
                self._find_false, right, wrong, status,
            )  # fmt: skip

        self._workers.map(run, self._right.runs)
        self.status = self.status + RunStatus(graphs=data.num_sequences)
        of_false = self._wrong.total() if self._wrong is not None else np.zeros(data.num_weights)
        return Counted(float(loss.sum()), float(false.sum()), self._right.total(), of_false)
