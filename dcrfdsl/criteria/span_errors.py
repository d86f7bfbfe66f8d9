"""Errors on spans: the best labelling that agrees with y* on a span is compared with the best one that does not.

On chains, and on any graph with contraction programs, one pass over the data counts them exactly. Otherwise constrained
decoding finds the labellings: one that disagrees does so first at some position of the span, so the best one is the
best of as many decodings as the span is long. This is exact where decoding is. With messages on loops, the labellings
may not be the best ones, but their scores are exact. Not here: the kernels (`kernels.chain.span_losses`,
`kernels.sequences.span_competitors`), decoding (`inference.decoding.constrained_decoding`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..data import mark_table, segments_of
from ..foundation import Codes, Floats, Ints, Ints32, Mask, dataclass
from ..graph import ANY_STATE, any_but, only_state, state_set
from ..inference import (
    BoundData,
    ChainRuns,
    Expectations,
    LinkedChains,
    ProgramCompetitors,
    RunStatus,
    StateConstraints,
    StatelessMethod,
    Workers,
)
from ..kernels.chain import Smoothing, SpanLoss
from ..kernels.sequences import ErrorSums, LabelledSpans
from ..kernels.tables import Potentials
from .batches import SentenceBatches
from .competing_labellings import constrained_decoder_of, wrong_labelling_search
from .error_counts import ErrorCounts, Measure, smoothed
from .judged_spans import GOES_ON, JudgedSpans, segment_marks, spans_of
from .run_sums import GradientAccumulator
from .training_problem import ResolvedInference, TrainingProblem

Judge = ChainRuns | LinkedChains | ProgramCompetitors
Judging = SpanLoss | LabelledSpans  # what chains take, and what a ProgramCompetitors takes


def program_judge(data: BoundData) -> ProgramCompetitors | None:
    """The runs that judge spans of this data set, bound with contraction programs; None where some are in blocks."""
    runs = ProgramCompetitors(data)
    return None if runs.in_blocks.any() else runs


class SpanCounter:
    """Counts errors on spans whose labels are all known, exactly.

    build: `competing_chains`, `linked_chains` or `program_judge`, for `data` in any layout.   judging: its shares are
    replaced.
    """

    approximate = False

    def __init__(
        self, data: BoundData, build: Callable[[BoundData], Judge | None], labelling: Ints32, judging: Judging,
        workers: Workers,
    ):  # fmt: skip
        runs = build(data)
        assert runs is not None
        self.data, self.build, self._runs = data, build, runs
        self.labelling, self.judging, self._workers = labelling, judging, workers
        self.num_spans = len(judging.spans.first)
        self._right = GradientAccumulator(data, workers)
        self._wrong = GradientAccumulator(data, workers) if judging.find_false else None
        self.status = RunStatus()

    def count(self, weights: Floats) -> ErrorCounts:
        data = self.data
        potentials = data.potentials(weights)
        loss, false = np.zeros(data.num_sequences), np.zeros(data.num_sequences)
        status, unused = np.zeros(data.num_sequences, np.int8), np.zeros(0)
        runs: Any = self._runs  # takes the kind of `judging` that it was made with
        judging = self.judging._replace(shares=(1.0, 1.0))

        def run(first: int, last: int) -> None:
            right = ErrorSums(*self._right.of(first), loss)
            nothing = ErrorSums(unused, np.zeros_like(data.hard), false)
            wrong = ErrorSums(*self._wrong.of(first), false) if self._wrong is not None else nothing
            runs.competitors(potentials, first, last, self.labelling, judging, right, wrong, status)

        self._workers.map(run, self._right.runs)
        self.status = self.status + RunStatus(graphs=data.num_sequences)
        of_false = self._wrong.total() if self._wrong is not None else np.zeros(data.num_weights)
        return ErrorCounts(float(loss.sum()), float(false.sum()), self._right.total(), of_false)


class _JudgingMethod(StatelessMethod):
    """An inference method with counts of errors in place of log Z, and their gradient in place of expectations.

    judging: its shares are the factors of ℓ of a judged span and of ℓ of a false segment.
    """

    approximate = False

    def __init__(self, runs: Judge, labelling: Ints32, judging: Judging):
        self._runs: Any = runs
        self._labelling, self.judging = labelling, judging
        self._loss, self._false = np.zeros((2, runs.data.num_sequences))
        self._status = np.zeros(runs.data.num_sequences, np.int8)

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        right, wrong = (ErrorSums(gradient, expected, counts) for counts in (self._loss, self._false))
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
        runs = counter.build(data)
        assert runs is not None
        self._method = _JudgingMethod(runs, counter.labelling, counter.judging._replace(shares=(1.0, 0.0)))
        super().__init__(data, self._method, precision, None, workers, data.partial_gradients(1), size)

    def begin(self, weights: Floats) -> None:
        if self._measure.found:
            errors = self._counter.count(weights)
            measured = self._measure(self._counter.num_spans, errors.missed, errors.false)
            judging = self._method.judging
            self._method.judging = judging._replace(shares=(measured.by_missed, measured.by_false))
        super().begin(weights)


# by constrained decoding ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _SpanConstraints:
    """The constraints of some spans. span [R]: the span of each.   agrees [R]: whether it keeps y* there."""

    constraints: StateConstraints
    span: Ints
    agrees: Mask


class ConstrainedCounter:
    """Counts errors on spans in which the label is known everywhere.

    judged: the spans of each variable.   find_false: whether the false segments of the best wrong labellings are judged
    as well.   literal: whether what follows a false segment is not looked at.
    """

    def __init__(
        self, problem: TrainingProblem, judged: Sequence[JudgedSpans], inference: ResolvedInference,
        smoothing: Smoothing, *, find_false: bool, literal: bool = False,
    ):  # fmt: skip
        self._problem, self._judged, self._smoothing, self._literal = problem, tuple(judged), smoothing, literal
        variables = [spans.variable for spans in judged]
        self._decoder = constrained_decoder_of(problem, inference, variables)
        self._competitors = wrong_labelling_search(problem, inference, variables) if find_false else None
        self._goes_on = {variable: segment_marks(problem.states[variable]).goes_on for variable in variables}
        self._span_constraints = [self._constraints(spans) for spans in judged]
        self.approximate, self.num_spans = inference.name != "exact", sum(len(spans.sentence) for spans in judged)

    @property
    def status(self) -> RunStatus:
        """How decoding ended, over all calls."""
        return self._decoder.status + (self._competitors.status if self._competitors is not None else RunStatus())

    def count(self, weights: Floats) -> ErrorCounts:
        size = len(weights)
        missed, gradient, false, false_gradient = 0.0, np.zeros(size), 0.0, np.zeros(size)
        for judged, constraints in zip(self._judged, self._span_constraints, strict=True):
            value, span_gradient = self._judge(weights, constraints, judged.spans.weight)
            missed, gradient = missed + value, gradient + span_gradient
        if self._competitors is not None:
            labelling = self._competitors.best(weights)
            for judged in self._judged:
                segments = self._false_segments(judged, labelling[judged.variable])
                value, span_gradient = self._judge(weights, self._constraints(segments), segments.spans.weight)
                false, false_gradient = false + value, false_gradient + span_gradient
        return ErrorCounts(missed, false, gradient, false_gradient)

    def _false_segments(self, judged: JudgedSpans, competitor: Codes) -> JudgedSpans:
        """The segments of a labelling [N] that are not gold segments. Sentences without a labelling (-1) have none."""
        off, gold = self._problem.sentence_off, self._problem.gold.codes[judged.variable]
        mark, kind, kinds = mark_table(self._problem.states[judged.variable])
        found = segments_of(np.where(competitor < 0, gold, competitor), mark, kind, off)
        right = segments_of(gold, mark, kind, off)
        keys, known = ((one.start * len(gold) + one.end) * len(kinds) + one.kind for one in (found, right))
        is_new = ~np.isin(keys, known)
        start, end = found.start[is_new], found.end[is_new]
        of = np.searchsorted(off, start, side="right") - 1
        checked = np.isin(mark[gold[end]], GOES_ON) & (not self._literal)
        return JudgedSpans(judged.variable, of, spans_of(of, start, end, checked, off))

    def _constraints(self, judged: JudgedSpans) -> _SpanConstraints:
        """The constraints of every span: first the one that agrees, then each way to disagree."""
        graph, variable, off = self._problem.graph, judged.variable, self._problem.sentence_off
        codes, card, goes = self._problem.gold.codes[variable], graph.cards[variable], self._goes_on[variable]
        blocks: list[Codes] = []
        sentence: list[int] = []
        span: list[int] = []
        agrees: list[bool] = []
        spans = judged.spans
        parts = (spans.first.tolist(), spans.last.tolist(), spans.checked.tolist(), judged.sentence.tolist())
        for n, (first, last, checked, s) in enumerate(zip(*parts, strict=True)):
            gold = codes[off[s] : off[s + 1]]
            right = np.full(len(gold), ANY_STATE, np.int32)
            right[first : last + 1] = only_state(gold[first : last + 1])
            ways = []
            for t in range(first, last + 1):
                wrong = np.full(len(gold), ANY_STATE, np.int32)
                wrong[first:t] = right[first:t]
                wrong[t] = any_but(gold[t], card)
                ways.append(wrong)
            if checked and last + 1 < len(gold):
                sets = [state_set(gold[last], card), state_set(card + gold[last], card)]
                if not goes[gold[last], gold[last + 1]]:
                    sets.reverse()
                wrong = right.copy()
                right[last + 1], wrong[last + 1] = sets
                ways.append(wrong)
            blocks += [right, *ways]
            count = 1 + len(ways)
            sentence += [s] * count
            span += [n] * count
            agrees += [True, *[False] * len(ways)]
        every = np.full((graph.num_labels, sum(map(len, blocks))), ANY_STATE, np.int32)
        every[judged.variable] = np.concatenate([np.zeros(0, np.int32), *blocks])
        constraints = StateConstraints(np.array(sentence, np.int64), every)
        return _SpanConstraints(constraints, np.array(span, np.int64), np.array(agrees, np.bool_))

    def _judge(self, weights: Floats, span_constraints: _SpanConstraints, weight: Floats) -> tuple[float, Floats]:
        """Σ weight · ℓ of spans, and its gradient [W]."""
        if not len(span_constraints.span):
            return 0.0, np.zeros(len(weights))
        decoded = self._decoder.decode(weights, span_constraints.constraints)
        begin = np.flatnonzero(span_constraints.agrees)
        right = decoded.score[begin]
        wrong_score = np.where(span_constraints.agrees, -np.inf, decoded.score)
        wrong = np.maximum.reduceat(wrong_score, begin)
        ways = np.split(wrong_score, begin[1:])
        best = begin + np.array([int(np.argmax(way_scores)) for way_scores in ways])
        with np.errstate(invalid="ignore"):
            value, slope = smoothed(self._smoothing, wrong - right)
        pull = np.where(np.isfinite(wrong) & np.isfinite(right), weight * slope, 0.0)
        mass = np.zeros(len(span_constraints.span))
        mass[best] += pull
        mass[begin] -= pull
        sums = GradientAccumulator(decoded.data, self._problem.workers)
        return float((weight * value).sum()), sums.labellings(decoded.labelling[None, :], mass[None, :])
