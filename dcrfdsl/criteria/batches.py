"""A criterion as a sum over batches: runs of whole sequences. The gradient of one batch costs part of a pass.

The data is cut into batches once. A batch touches few weights: those of the features that fire in it, and the biases.
Its gradient is zero elsewhere, so inference and steps skip all other weights. The penalty of a weight is divided evenly
among the batches that touch it. Not here: steps (`optimizers.auto`), the exact objective (`likelihood`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, Ints32, chosen_ranges
from ..inference import BoundData, Expectations, MarginalInference, Workers, iterative_methods
from ..kernels.optimization import collect_touched, copy_to_cells, firing_runs, list_touched
from ..kernels.tables import Potentials, add_bias_gradient, base_tables, exponentiate_base
from .criterion import Clamped
from .run_sums import count_known
from .soft_labels import SoftLabels

MOST_BATCHES = 64  # the number of passes that follow is about the same for 32 to 256 batches
SENTENCES = 8  # of a batch, at least; with fewer, the fixed cost of each call of inference dominates
PARTS = 2  # of a batch, which threads share


class _Batch(NamedTuple):
    """A run of sequences and the weights that it touches. Only gold counts that are not 0 are stored."""

    first: int
    last: int
    parts: list[tuple[int, int]]  # for threads
    fires: Ints32  # features in the order of their cells; with the biases they say which weights are touched
    counted: Ints32  # indices into the touched weights
    counts: NDArray  # float32 if it holds them all, else float64


class SentenceBatches:
    """Batches of a data set. Results are the same floats for any number of threads.

    partial [PARTS or more, cells]: workspace for gradients, overwritten.   precision [W]: of the quadratic penalty.
    labelling: the known states, see `BoundData.labelling_off`; None where the method itself subtracts their counts.
    size: sequences of a batch.   clamped: the sentences with an unknown label.   factor [S]: how much each counts,
    which the methods already heed; None if all count once.   soft: the sentences whose labels have distributions.
    cells: those of potentials that are no longer needed, overwritten.
    """

    def __init__(
        self,
        data: BoundData,
        method: MarginalInference,
        precision: Floats,
        labelling: Ints32 | None,
        workers: Workers,
        partial: Floats,
        size: int | None = None,
        clamped: Clamped | None = None,
        factor: Floats | None = None,
        fixed: Floats | None = None,
        soft: SoftLabels | None = None,
        cells: Floats | None = None,
    ):
        self.data, self.method, self.workers = data, method, workers
        self.precision = precision
        self._cell_of, self._reused = data.cell_of_weight(), cells
        self._partial = partial[:PARTS]
        self._partial.fill(0.0)
        self._expected = np.zeros((len(self._partial), len(data.hard)))
        self._out = Expectations.empty(data, approximate=method.approximate)
        self._clamped, self._factor, self._fixed, self._soft = clamped, factor, fixed, soft
        if clamped is not None:
            self._known = np.zeros(data.num_weights)
            self._known_out = Expectations.empty(clamped.data, approximate=clamped.method.approximate)
        self._batches = self._cut(labelling, self._runs(size))
        times = np.zeros(data.num_weights, np.int32)
        for batch in self._batches:
            times[self._touched(batch)] += 1
        self.share = precision / np.maximum(times, 1)
        self.begin(np.zeros(data.num_weights))

    @property
    def count(self) -> int:
        return len(self._batches)

    def _runs(self, size: int | None) -> list[tuple[int, int]]:
        """Runs of `size` sequences; without `size`, as many runs of about equal length in tokens as suit a start."""
        count = self.data.num_sequences
        if size is None:
            return self.data.chunks(min(MOST_BATCHES, count // SENTENCES))
        return [(first, min(first + size, count)) for first in range(0, count, size)]

    def _touched(self, batch: _Batch) -> Ints32:
        """Numbers of weights, biases first. Made when they are needed: a batch a sentence times all biases is much."""
        bindings = self.data.bindings
        touched: Ints32 = list_touched(bindings.num_bias, batch.fires, bindings.run_off)
        return touched

    def _cut(self, labelling: Ints32 | None, runs: Sequence[tuple[int, int]]) -> list[_Batch]:
        d, cell_of, gradient = self.data, self._cell_of, self._partial
        bindings, num_bias = d.bindings, d.bindings.num_bias
        lengths = np.diff(bindings.run_off)
        seen = np.zeros(len(lengths), np.bool_)
        nothing = np.zeros(0, np.int32), np.zeros(0)
        mass = np.ones(d.num_sequences) if self._factor is None else self._factor
        batches = []
        for first, last in runs:
            fires = firing_runs(first, last, d.shapes, d.kinds, d.rows, seen)
            fires = fires[lengths[fires] > 0]
            fires = fires[np.argsort(cell_of[num_bias + bindings.run_off[fires]], kind="stable")].astype(np.int32)
            touched = list_touched(num_bias, fires, bindings.run_off)
            counts = np.zeros(len(touched))
            if labelling is not None:
                expected = np.zeros(len(d.hard))
                for begin, end in self._known_runs(first, last):
                    count_known(d, begin, end, labelling, mass, expected, gradient[0])
                d.open_bundles(gradient[0])
                collect_touched(touched, cell_of, gradient, *nothing, self.precision, counts)
                add_bias_gradient(bindings, expected, counts)  # biases come first in every list
            if self._soft is not None:
                counts += self._soft.counts_of(first, last)[touched]
            counted = np.flatnonzero(counts).astype(np.int32)
            cuts = np.unique(np.linspace(first, last, len(self._partial) + 1).astype(int)).tolist()
            kept: NDArray = counts[counted]
            with np.errstate(over="ignore"):
                narrow = kept.astype(np.float32)
            kept = narrow if (narrow == kept).all() else kept
            batches.append(_Batch(first, last, list(itertools.pairwise(cuts)), fires, counted, kept))
        return batches

    def _known_runs(self, first: int, last: int) -> list[tuple[int, int]]:
        known = np.ones(last - first, np.bool_)
        if self._clamped is not None:
            known &= ~self._clamped.partly[first:last]
        if self._soft is not None:
            known &= ~self._soft.sentences[first:last]
        return list(chosen_ranges(known, first))

    def begin(self, weights: Floats) -> None:
        """Takes gradients at `weights` [W] from now on. The caller changes this array in place; see `moved`."""
        for method in iterative_methods(self.method):
            method.remember()
        self._weights = weights
        self._cells = self.data.potentials(weights, self._reused).weights

    def gradient(self, number: int) -> tuple[float, Ints32, Floats]:
        """Value of a batch in nats without its penalty, the weights that it touches, and its gradient in these."""
        d, batch = self.data, self._batches[number]
        log_base = base_tables(self._weights, d.bindings, d.hard)
        potentials = Potentials(self._cells, log_base, *exponentiate_base(log_base, d.kinds))
        number_of = {begin: part for part, (begin, _) in enumerate(batch.parts)}

        def run(begin: int, end: int) -> None:
            part = number_of[begin]
            self.method.expectations(potentials, begin, end, self._out, self._partial[part], self._expected[part])
            d.open_bundles(self._partial[part])

        self._expected.fill(0.0)
        self.workers.map(run, batch.parts)
        touched = self._touched(batch)
        gradient = np.empty(len(touched))
        score = collect_touched(
            touched, self._cell_of, self._partial, batch.counted, batch.counts.astype(np.float64, copy=False),
            self._weights, gradient,
        )  # fmt: skip
        add_bias_gradient(d.bindings, self._expected.sum(axis=0), gradient)
        value = float(self._out.log_z[batch.first : batch.last].sum()) - score
        if self._fixed is not None:
            value -= float(self._fixed[batch.first : batch.last].sum())
        if self._clamped is not None:
            value -= self._subtract_clamped(self._clamped, batch, touched, gradient)
        return value, touched, gradient

    def _subtract_clamped(self, clamped: Clamped, batch: _Batch, touched: Ints32, gradient: Floats) -> float:
        """Subtracts the expectations given the known labels from `gradient`; returns the sum of the clamped log Z."""
        runs = list(clamped.runs(batch.first, batch.last))
        if not runs:
            return 0.0
        potentials = clamped.data.potentials(self._weights)
        out, expected = self._known_out, np.zeros_like(clamped.data.hard)
        for begin, end in runs:
            clamped.method.expectations(potentials, begin, end, out, self._known, expected)
        clamped_gradient = self._known[touched]
        self._known[touched] = 0.0
        add_bias_gradient(clamped.data.bindings, expected, clamped_gradient)  # biases come first in every list
        gradient -= clamped_gradient
        return float(sum(out.log_z[begin:end].sum() for begin, end in runs))

    def moved(self, number: int) -> None:
        """Reports that the weights which a batch touches have changed."""
        copy_to_cells(self._touched(self._batches[number]), self._cell_of, self._weights, self._cells)
        self.data.sum_bundles(self._cells)
