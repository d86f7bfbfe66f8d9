"""Sums of feature counts over a data set, run by run: threads share the runs, and the floats do not depend on them.

Also counts of known labels. Not here: criteria.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..foundation import Codes, Floats, Ints32
from ..inference import BoundData, Expectations, MarginalInference, Workers
from ..kernels.lattice import count_contexts
from ..kernels.optimization import count_labellings
from ..kernels.tables import Potentials, add_bias_gradient, add_runs, collect_gradient

GRADIENT_BYTES = 2**28  # memory that the partial gradients of all runs may take together
MOST_RUNS, FEWEST_RUNS = 16, 2
SLICES = 8  # of the weights, for threads


class GradientAccumulator:
    """A gradient [W] as the sum of what each run of sequences adds. The cut into runs depends on the data alone.

    together: see `BoundData.chunks`.   runs: those of another accumulator, for the same sequences.
    partial [runs, cells]: the gradients of the runs, overwritten.
    """

    def __init__(self, data: BoundData, workers: Workers, together: int = 1, runs: list[tuple[int, int]] | None = None):
        self.data, self._workers = data, workers
        self.runs = runs or data.chunks(gradient_runs(data.num_cells, len(data.rows.feature)), together)
        self._number = {first: number for number, (first, _) in enumerate(self.runs)}
        self.partial = data.partial_gradients(len(self.runs))
        self._expected = np.zeros((len(self.runs), len(data.hard)))
        self._cell_of = data.cell_of_weight()
        self._nothing = np.zeros(data.num_weights)

    def of(self, first: int) -> tuple[Floats, Floats]:
        """Accumulators of the run that begins at `first`, set to 0: gradient [cells], expected [shared cells]."""
        number = self._number[first]
        self.partial[number].fill(0.0)
        self._expected[number].fill(0.0)
        return self.partial[number], self._expected[number]

    def map(self, task: Callable[[int, int, Floats, Floats], None]) -> Floats:
        """Runs `task(first, last, gradient, expected)` for every run; returns the sum [W]."""
        self.visit(lambda first, last: task(first, last, *self.of(first)))
        return self.total()

    def visit(self, task: Callable[[int, int], None]) -> None:
        """Runs `task(first, last)` for every run; nothing is summed."""
        self._workers.map(task, self.runs)

    def expectations(
        self, method: MarginalInference, potentials: Potentials, out: Expectations, *share: Floats
    ) -> Floats:
        """Σ ⟨F⟩ by an inference method, [W].   share: the factor of each sequence [S], which `exact` alone takes."""

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            method.expectations(potentials, first, last, out, gradient, expected, *share)

        return self.map(run)

    def labellings(self, labellings: Codes, mass: Floats) -> Floats:
        """Σ mass F of L labellings of every sequence, [W].   labellings [L, flat].   mass [L, S]."""
        data = self.data

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            belief = np.zeros(int(data.shapes.local_end.max(initial=0)))
            count_labellings(
                first, last, data.shapes, data.kinds, data.bindings, data.rows, labellings, data.labelling_off, mass,
                belief, expected, gradient,
            )  # fmt: skip

        return self.map(run)

    def total(self) -> Floats:
        """The sum of all runs, [W]; overwrites their accumulators."""
        return self.penalised(self._nothing, self._nothing, self._nothing)[0]

    def penalised(self, weights: Floats, precision: Floats, counts: Floats) -> tuple[Floats, float, float]:
        """The sum of all runs plus `precision` λ less `counts`; and Σ ½ precision λ² and Σ counts λ.   All [W]."""
        data, partial, out = self.data, self.partial, np.empty(self.data.num_weights)
        self._workers.map(lambda first, last: add_runs(first, last, partial), slices(data.num_cells))
        data.open_bundles(partial[0])

        def collect(first: int, last: int) -> tuple[float, float]:
            penalty, score = collect_gradient(first, last, partial[:1], self._cell_of, weights, precision, counts, out)
            return penalty, score

        penalties, scores = zip(*self._workers.map(collect, slices(data.num_weights)), strict=True)
        add_bias_gradient(data.bindings, self._expected.sum(axis=0), out)
        return out, sum(penalties), sum(scores)


def count_known(
    data: BoundData, first: int, last: int, labelling: Ints32, mass: Floats, expected: Floats, gradient: Floats
) -> None:
    """Adds the counts of the known labels of some sequences, each times its mass [S], to `gradient` [cells] and
    `expected` [shared cells]. Where the mass is 0, labels may be unknown.
    """
    belief = np.zeros(int(data.shapes.local_end.max(initial=0)))
    count_labellings(
        first, last, data.shapes, data.kinds, data.bindings, data.rows, labelling[None, :], data.labelling_off,
        mass[None, :], belief, expected, gradient,
    )  # fmt: skip
    if data.contexts is not None:
        cuts = np.flatnonzero(np.diff(mass[first:last])) + first + 1
        for begin, end in itertools.pairwise([first, *cuts.tolist(), last]):
            if mass[begin]:
                once = np.zeros_like(expected)
                count_contexts(begin, end, data.contexts, data.rows.token_off, labelling, once)
                expected += mass[begin] * once


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
