"""Errors on spans, counted exactly in one pass over the data: on chains, and on any graph with contraction programs.

Not here: the kernels (`kernels.chain.span_losses`, `kernels.sequences.span_competitors`), other methods of inference
(`constrained_errors`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...foundation import Floats, Ints32
from ...inference import (
    BoundData,
    ChainRuns,
    CompetitorTotals,
    Expectations,
    LinkedChains,
    ProgramCompetitors,
    RunStatus,
    StatelessMethod,
    Workers,
    chain_of,
)
from ...kernels.chain import SpanLoss
from ...kernels.sequences import LabelledSpans
from ...kernels.tables import Potentials
from ..batches import SentenceBatches
from ..run_sums import GradientAccumulator
from .error_counts import ErrorCounts
from .measures import Counts, Measure

Judge = ChainRuns | LinkedChains | ProgramCompetitors
Judging = SpanLoss | LabelledSpans  # what chains take, and what a ProgramCompetitors takes


def chain_judge(data: BoundData) -> ChainRuns | None:
    """The runs that judge spans of this data set; None where its graphs are not chains."""
    chain = chain_of(data.graph, data.kinds)
    runs = ChainRuns(data, chain) if chain is not None else None
    return runs if runs is not None and runs.finds_competitors else None


def program_judge(data: BoundData) -> ProgramCompetitors | None:
    """The runs that judge spans of this data set, bound with contraction programs; None where some are in blocks."""
    runs = ProgramCompetitors(data)
    return None if runs.in_blocks.any() else runs


class SpanCounter:
    """Counts errors on spans whose labels are all known, exactly.

    build: `chain_judge`, `linked_chains` or `program_judge`, for `data` in any layout.   judging: its shares are
    replaced.
    """

    approximate = False

    def __init__(
        self, data: BoundData, build: Callable[[BoundData], Judge | None], labelling: Ints32, judging: Judging,
        workers: Workers,
    ):  # fmt: skip
        runs = build(data)
        assert runs is not None
        self.data, self._build, self._runs = data, build, runs
        self._labelling, self._judging, self._workers = labelling, judging, workers
        self._right = GradientAccumulator(data, workers)
        self._wrong = GradientAccumulator(data, workers) if judging.find_false else None
        self.status = RunStatus()

    @property
    def num_spans(self) -> int:
        return len(self._judging.spans.first)

    def count(self, weights: Floats) -> ErrorCounts:
        """See `Counter.count`."""
        data = self.data
        potentials = data.potentials(weights)
        loss, false = np.zeros(data.num_sequences), np.zeros(data.num_sequences)
        status, unused = np.zeros(data.num_sequences, np.int8), np.zeros(0)
        runs: Any = self._runs  # takes the kind of `judging` that it was made with
        judging = self._judging._replace(shares=(1.0, 1.0))

        def run(first: int, last: int) -> None:
            right = CompetitorTotals(*self._right.of(first), loss)
            nothing = CompetitorTotals(unused, np.zeros_like(data.hard), false)
            wrong = CompetitorTotals(*self._wrong.of(first), false) if self._wrong is not None else nothing
            runs.competitors(potentials, first, last, self._labelling, judging, right, wrong, status)

        self._workers.map(run, self._right.runs)
        self.status = self.status + RunStatus(graphs=data.num_sequences)
        of_false = self._wrong.total() if self._wrong is not None else np.zeros(data.num_weights)
        return ErrorCounts(float(loss.sum()), float(false.sum()), self._right.total(), of_false)

    def judge(self, data: BoundData, shares: tuple[float, float]) -> _JudgingMethod:
        """The same counts as an inference method, for the data set in another layout.

        shares: the factors of ℓ of a judged span and of ℓ of a false segment.
        """
        runs = self._build(data)
        assert runs is not None
        return _JudgingMethod(runs, self._labelling, self._judging._replace(shares=shares))


class _JudgingMethod(StatelessMethod):
    """An inference method with counts of errors in place of log Z, and their gradient in place of expectations."""

    approximate = False

    def __init__(self, runs: Judge, labelling: Ints32, judging: Judging):
        self._runs: Any = runs
        self._labelling, self.judging = labelling, judging
        self._loss, self._false, self._status = (
            np.zeros(runs.data.num_sequences), np.zeros(runs.data.num_sequences),
            np.zeros(runs.data.num_sequences, np.int8),
        )  # fmt: skip

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """As `MarginalInference.expectations`."""
        right, wrong = (
            CompetitorTotals(gradient, expected, self._loss),
            CompetitorTotals(gradient, expected, self._false),
        )
        self._runs.competitors(potentials, first, last, self._labelling, self.judging, right, wrong, self._status)
        run, (of_missed, of_false) = slice(first, last), self.judging.shares
        out.log_z[run] = of_missed * self._loss[run] + of_false * self._false[run]


class ErrorBatches(SentenceBatches):
    """Counts of errors in batches. The derivatives of a measure by these counts are taken on the whole data set, where
    a pass begins (Suzuki 2006 §3.3, for single sequences).
    """

    def __init__(
        self, counter: SpanCounter, measure: Measure, precision: Floats, workers: Workers, data: BoundData, size: int
    ):
        self._counter, self._measure = counter, measure
        self._method = counter.judge(data, (1.0, 0.0))
        super().__init__(data, self._method, precision, None, workers, data.partial_gradients(1), size)

    def begin(self, weights: Floats) -> None:
        """As `SentenceBatches.begin`."""
        if self._measure.needs_false or self._measure.is_ratio:
            errors = self._counter.count(weights)
            measured = self._measure(Counts(self._counter.num_spans, errors.missed, errors.false))
            judging = self._method.judging
            self._method.judging = judging._replace(shares=(measured.by_missed, measured.by_false))
        super().begin(weights)
