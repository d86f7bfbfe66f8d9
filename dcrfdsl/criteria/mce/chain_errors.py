"""Errors on spans of chains, counted in one pass over the data. Not here: the kernel (`kernels.chain.span_losses`)."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, Ints32
from ...inference import BoundData, ChainRuns, CompetitorTotals, Expectations, RunStatus, Workers, chain_of
from ...kernels.chain import SegmentMarks, Smoothing, SpanLoss, Spans
from ...kernels.tables import Potentials
from ..batches import SentenceBatches
from ..run_sums import FeatureSums
from .error_counts import ErrorCounts
from .measures import Counts, Measure

__all__ = ["ChainBatches", "ChainCounter", "chain_judge"]


def chain_judge(data: BoundData) -> ChainRuns | None:
    """The runs that judge spans of this data set; None where its graphs are not chains."""
    chain = chain_of(data.graph, data.kinds)
    runs = ChainRuns(data, chain) if chain is not None else None
    return runs if runs is not None and runs.finds_competitors else None


class ChainCounter:
    """Counts errors on spans of chains whose labels are all known, exactly."""

    approximate = False

    def __init__(
        self, runs: ChainRuns, labelling: Ints32, spans: Spans, marks: SegmentMarks,
        smoothing: Smoothing, find_false: bool, workers: Workers,
    ):  # fmt: skip
        self.data = runs.data
        self._runs, self._labelling, self._spans, self._marks = runs, labelling, spans, marks
        self._smoothing, self._find_false = smoothing, find_false
        self._right = FeatureSums(runs.data, workers)
        self._wrong = FeatureSums(runs.data, workers) if find_false else None
        self._workers = workers
        self.status = RunStatus()

    @property
    def num_spans(self) -> int:
        return len(self._spans.first)

    def count(self, weights: Floats) -> ErrorCounts:
        """See `Counter.count`."""
        data = self._runs.data
        potentials = data.potentials(weights)
        loss, false = np.zeros(data.num_sequences), np.zeros(data.num_sequences)
        status, unused = np.zeros(data.num_sequences, np.int8), np.zeros(0)

        def run(first: int, last: int) -> None:
            right = CompetitorTotals(*self._right.of(first), loss)
            nothing = CompetitorTotals(unused, np.zeros_like(data.hard), false)
            wrong = CompetitorTotals(*self._wrong.of(first), false) if self._wrong is not None else nothing
            judging = SpanLoss(self._spans, self._marks, self._smoothing, self._find_false, (1.0, 1.0))
            self._runs.competitors(potentials, first, last, self._labelling, judging, right, wrong, status)

        self._workers.map(run, self._right.runs)
        self.status = self.status + RunStatus(graphs=data.num_sequences)
        of_false = self._wrong.total() if self._wrong is not None else np.zeros(data.num_weights)
        return ErrorCounts(float(loss.sum()), float(false.sum()), self._right.total(), of_false)

    def judge(self, data: BoundData, shares: tuple[float, float]) -> _JudgingMethod:
        """The same counts as an inference method, for the data set in another layout.   shares: see there."""
        runs = chain_judge(data)
        assert runs is not None
        return _JudgingMethod(
            runs, self._labelling, self._spans, self._marks, self._smoothing, self._find_false, shares
        )


class _JudgingMethod:
    """An inference method with counts of errors in place of log Z, and their gradient in place of expectations.

    shares: the factors of ℓ of a judged span and of ℓ of a false segment.
    """

    approximate = False

    def __init__(
        self, runs: ChainRuns, labelling: Ints32, spans: Spans, marks: SegmentMarks,
        smoothing: Smoothing, find_false: bool, shares: tuple[float, float],
    ):  # fmt: skip
        self._runs, self._labelling, self._spans, self._marks = runs, labelling, spans, marks
        self._smoothing, self._find_false, self.shares = smoothing, find_false, shares
        self._loss, self._false, self._status = (
            np.zeros(runs.data.num_sequences), np.zeros(runs.data.num_sequences),
            np.zeros(runs.data.num_sequences, np.int8),
        )  # fmt: skip

    def remember(self) -> None:
        pass

    def sharpen(self) -> bool:
        return False

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """As `ExpectingMethod.expectations`."""
        right, wrong = (
            CompetitorTotals(gradient, expected, self._loss),
            CompetitorTotals(gradient, expected, self._false),
        )
        judging = SpanLoss(self._spans, self._marks, self._smoothing, self._find_false, self.shares)
        self._runs.competitors(potentials, first, last, self._labelling, judging, right, wrong, self._status)
        run = slice(first, last)
        out.log_z[run] = self.shares[0] * self._loss[run] + self.shares[1] * self._false[run]


class ChainBatches(SentenceBatches):
    """Counts of errors in batches. The derivatives of a measure by these counts are taken on the whole data set, where
    a pass begins (Suzuki 2006 §3.3, for single sequences).
    """

    def __init__(
        self, counter: ChainCounter, measure: Measure, precision: Floats, workers: Workers, data: BoundData, size: int
    ):
        self._counter, self._measure = counter, measure
        self._judging = counter.judge(data, (1.0, 0.0))
        super().__init__(data, self._judging, precision, None, workers, data.partial_gradients(1), size)

    def begin(self, weights: Floats) -> None:
        """As `SentenceBatches.begin`."""
        if self._measure.needs_false or self._measure.is_ratio:
            errors = self._counter.count(weights)
            measured = self._measure(Counts(self._counter.num_spans, errors.missed, errors.false))
            self._judging.shares = measured.by_missed, measured.by_false
        super().begin(weights)
