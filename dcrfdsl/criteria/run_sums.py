"""Sums of feature counts over a data set, run by run: threads share the runs, and the floats do not depend on them.

Not here: what is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..foundation import Floats
from ..inference import BoundData, Workers
from ..kernels.tables import add_bias_gradient, add_runs, collect_gradient

GRADIENT_BYTES = 2**28  # memory that the partial gradients of all runs may take together
MOST_RUNS, FEWEST_RUNS = 16, 2
SLICES = 8  # of the weights, for threads


class GradientAccumulator:
    """A gradient [W] as the sum of what each run of sequences adds. The cut into runs depends on the data alone."""

    def __init__(self, data: BoundData, workers: Workers):
        self.data, self._workers = data, workers
        self.runs = data.chunks(gradient_runs(data.num_cells, len(data.rows.feature)))
        self._number = {first: number for number, (first, _) in enumerate(self.runs)}
        self._partial = data.partial_gradients(len(self.runs))
        self._expected = np.zeros((len(self.runs), len(data.hard)))
        self._cell_of = data.cell_of_weight()
        self._nothing = np.zeros(data.num_weights)

    def of(self, first: int) -> tuple[Floats, Floats]:
        """Accumulators of the run that begins at `first`, set to 0: gradient [cells], expected [shared cells]."""
        number = self._number[first]
        self._partial[number].fill(0.0)
        self._expected[number].fill(0.0)
        return self._partial[number], self._expected[number]

    def map(self, task: Callable[[int, int, Floats, Floats], None]) -> Floats:
        """Runs `task(first, last, gradient, expected)` for every run; returns the sum [W]."""
        self._workers.map(lambda first, last: task(first, last, *self.of(first)), self.runs)
        return self.total()

    def visit(self, task: Callable[[int, int], None]) -> None:
        """Runs `task(first, last)` for every run; nothing is summed."""
        self._workers.map(task, self.runs)

    def total(self) -> Floats:
        """The sum of all runs, [W]; overwrites their accumulators."""
        data, partial, out = self.data, self._partial, np.empty(self.data.num_weights)
        self._workers.map(lambda first, last: add_runs(first, last, partial), slices(data.num_cells))
        data.open_bundles(partial[0])

        def collect(first: int, last: int) -> None:
            collect_gradient(first, last, partial[:1], self._cell_of, self._nothing, self._nothing, self._nothing, out)

        self._workers.map(collect, slices(data.num_weights))
        add_bias_gradient(data.bindings, self._expected.sum(axis=0), out)
        return out


def gradient_runs(num_cells: int, num_firing: int) -> int:
    """The number of runs that the data is cut into; each has a partial gradient of `num_cells`.

    Few runs where features fire (`num_firing`) not much more often than that: else adding them up takes most time.
    """
    cells = max(1, num_cells)
    runs = int(np.clip(min(GRADIENT_BYTES // (8 * cells), num_firing // cells), FEWEST_RUNS, MOST_RUNS))
    return 1 << (runs.bit_length() - 1)  # two threads would share three runs as two and one


def slices(num_weights: int) -> list[tuple[int, int]]:
    """Ranges of the weights, for threads."""
    cuts = np.linspace(0, num_weights, SLICES + 1).astype(int).tolist()
    return list(itertools.pairwise(cuts))
