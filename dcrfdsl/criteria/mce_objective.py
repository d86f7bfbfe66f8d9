"""Minimum classification error: a smooth count of errors, or a measure made of such counts, and a penalty.

`loss` chooses what is counted. If ψ = inf and inference is exact, one pass counts it (`span_errors`), as on spans of
chains with any ψ. Otherwise whole sentences are compared with their wrong labellings (`sequence_errors`), and
errors on shorter spans are counted by constrained decoding.
Source: Suzuki, McDermott & Isozaki 2006. To add a measure: `error_counts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats
from ..inference import RunStatus, Workers, competing_chains, linked_chains
from ..kernels.chain import SpanLoss
from ..kernels.sequences import WHOLE, LabelledSpans
from ..semantics import LabelLoss, MceSettings, MeasureLoss, NoPrior, SentenceImportance, SequenceLoss, TrainSettings
from .competing_labellings import wrong_labelling_search, wrong_states
from .criterion import Clamped, Criterion
from .error_counts import MEASURES, Counter, Measure, smoothing_of
from .judged_spans import (
    JudgedSpans,
    joined_spans,
    judged_labels,
    judged_positions,
    judged_segments,
    judged_sequences,
    segment_marks,
)
from .likelihood import build_likelihood, clamped_part
from .penalties import Penalty
from .sequence_errors import SequenceCounter, SoftSequenceCounter
from .span_errors import ConstrainedCounter, ErrorBatches, SpanCounter, program_judge
from .training_problem import ResolvedInference, TrainingProblem


class Mce(Criterion):
    """A measure of smooth counts of errors, and a penalty: an objective that is not convex."""

    penalty: Penalty
    workers: Workers

    def __init__(
        self, counter: Counter, measure: Measure, problem: TrainingProblem, penalty: Penalty,
        inference_description: str, clamped: Clamped | None, downhill: Callable[[], Floats],
    ):  # fmt: skip
        """downhill: the gradient of the likelihood at 0."""
        self.counter, self.measure, self.penalty, self._downhill = counter, measure, penalty, downhill
        self.workers, self.clamped, self.inference_description = problem.workers, clamped, inference_description
        self.num_weights = problem.parameters.num_weights

    @property
    def total_status(self) -> RunStatus:
        return self.counter.status

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The measure and the penalty, and the gradient [W]."""
        errors = self.counter.count(weights)
        measured = self.measure(self.counter.num_spans, errors.missed, errors.false)
        gradient = measured.by_missed * errors.gradient
        if measured.by_false:
            gradient += measured.by_false * errors.false_gradient
        return measured.value + self.penalty.add(weights, gradient), gradient

    def start(self, weights: Floats) -> Floats:
        """These weights, unless all are 0. There all labellings tie, and no direction leads down; so the search then
        begins a small step down the negative log-likelihood.
        """
        if weights.any():
            return weights
        return self.downhill_from_zero(self._downhill())

    def batches(self, size: int | None = None) -> ErrorBatches | None:
        """Batches of `size` sequences, under a quadratic penalty if one pass counts the errors exactly; else None, as
        without `size`.
        """
        if size is None or not isinstance(self.counter, SpanCounter) or not self.penalty.is_quadratic:
            return None
        data = self.counter.data.unbundled()
        return ErrorBatches(self.counter, self.measure, self.penalty.precision, self.workers, data, size)


def build_mce(problem: TrainingProblem, settings: TrainSettings[MceSettings]) -> Mce:
    """The criterion of a stage. DcrfError where the loss cannot be counted on these labels or this graph."""
    criterion = settings.criterion
    inference = _inference(problem, settings)
    is_measure = isinstance(criterion.loss, MeasureLoss)
    measure = MEASURES[criterion.loss.method](criterion) if is_measure else Measure()
    counter = _counter(problem, settings, inference, measure.false > 0.0)
    if is_measure and counter.num_spans == 0:
        message = f"`{criterion.loss.method}` counts segments, and the training data has none"
        raise DcrfError(Diagnostic("no-segments", message, help="train by `likelihood`, or look at the labels"))

    downhill = partial(_downhill, problem, settings)
    clamped = clamped_part(problem, inference)
    return Mce(counter, measure, problem, problem.penalty(settings), inference.name, clamped, downhill)


def _downhill(problem: TrainingProblem, settings: TrainSettings) -> Floats:
    """The gradient of the likelihood at 0, [W]."""
    importance = settings.importance if isinstance(settings.importance, SentenceImportance) else None
    free = settings.model_copy(update={"prior": NoPrior(), "clique_priors": {}, "importance": importance})
    return build_likelihood(problem, free).value_and_gradient(np.zeros(problem.parameters.num_weights))[1]


def _inference(problem: TrainingProblem, settings: TrainSettings[MceSettings]) -> ResolvedInference:
    """The inference that the stage asks for; `exact` where the objective sums over all labellings."""
    criterion = settings.criterion
    remedy = "write `infer = exact(max_table = …)` in the stage if there is memory for it"
    if math.isfinite(criterion.psi):
        return problem.exact_inference(settings, f"`psi = {criterion.psi:g}`", f"write `psi = inf`, or {remedy}")
    if criterion.measure == "difference":
        remedy = f"write `measure = softmax`, or {remedy}"
        return problem.exact_inference(settings, "`measure = difference`", remedy)
    return problem.inference(settings)


def _judged(
    problem: TrainingProblem, criterion: MceSettings, loss_variables: list[int], importance: Floats | None
) -> list[JudgedSpans]:
    """The spans of each of these labels; none where whole sentences are counted."""
    codes, off = problem.gold.codes, problem.sentence_off
    judged, loss, literal = [], criterion.loss, criterion.segments == "literal"
    for variable in loss_variables:
        if isinstance(loss, LabelLoss):
            judged.append(judged_positions(variable, codes[variable], off, loss).times(importance))
        elif isinstance(loss, MeasureLoss):
            name, states = problem.graph.variables[variable], problem.states[variable]
            judged.append(judged_segments(variable, name, codes[variable], states, off, loss, literal))
    return judged


def _importance(problem: TrainingProblem, settings: TrainSettings[MceSettings]) -> Floats | None:
    """The factor of each token, [N]; None if all are 1. DcrfError where the loss is no sum."""
    if isinstance(settings.criterion.loss, MeasureLoss) and settings.importance is not None:
        method = settings.criterion.loss.method
        message = f"`{method}` is a ratio of counts over the whole data, in which no sentence counts by itself"
        raise DcrfError(Diagnostic("cannot-weigh", message, help="remove `importance`, or write `loss = label(…)`"))
    return problem.token_importance(settings)


def _counter(
    problem: TrainingProblem, settings: TrainSettings[MceSettings], inference: ResolvedInference, find_false: bool
) -> Counter:
    criterion = settings.criterion
    loss_variables = problem.labels_named(
        criterion.loss.labels if isinstance(criterion.loss, LabelLoss | MeasureLoss) else ()
    )
    all_known = not (problem.gold.codes < 0).any()
    judged = _judged(problem, criterion, loss_variables, _importance(problem, settings))
    literal = criterion.segments == "literal"
    smoothing, states = smoothing_of(criterion), [problem.states[variable] for variable in loss_variables]
    of_spans = math.isinf(criterion.psi) or bool(judged)
    if of_spans and criterion.measure != "difference" and inference.name in ("exact", "auto"):
        whole = judged_sequences(problem.sentence_off, None if judged else problem.sentence_importance(settings))
        data = problem.bind(programs=False)
        builds = (competing_chains, linked_chains) if math.isfinite(criterion.psi) else (competing_chains,)
        build = next((build for build in builds if all_known and build(data) is not None), None)
        if build is not None:
            spans = judged[0].spans if judged else whole
            marks = segment_marks(problem.states[0], literal)
            judging = SpanLoss(spans, marks, smoothing, find_false, (1.0, 1.0), criterion.psi)
            return SpanCounter(data, build, problem.labelling, judging, problem.workers)
        _check_maximum(criterion)
        data = problem.bind(programs=inference.name == "exact")
        if inference.name == "exact" and (judged or all_known) and program_judge(data) is not None:
            spans, label = whole, np.full(len(whole.first), WHOLE, np.int32)
            if judged:
                spans, label = joined_spans(judged, problem.sentence_off)
            labels, wrong = judged_labels(loss_variables, states, literal), wrong_states(problem, loss_variables)
            of_labels = LabelledSpans(spans, label, labels, wrong, smoothing, find_false, (1.0, 1.0))
            return SpanCounter(data, program_judge, problem.labelling, of_labels, problem.workers)
    if isinstance(criterion.loss, SequenceLoss):
        return _sequence_counter(problem, settings, inference, loss_variables)
    return ConstrainedCounter(problem, judged, inference, smoothing, find_false=find_false, literal=literal)


def _check_maximum(criterion: MceSettings) -> None:
    """DcrfError where the soft maximum is one over the states of spans, which only chains have."""
    if math.isfinite(criterion.psi):
        message = (
            f"`psi = {criterion.psi:g}` with `loss = {criterion.loss.method}` sums over the states of spans, which is "
            "done where one label is known everywhere and joined to its neighbours alone"
        )
        raise DcrfError(Diagnostic("loss-settings", message, help="write `psi = inf`, or `loss = sequence`"))


def _sequence_counter(
    problem: TrainingProblem, settings: TrainSettings[MceSettings], inference: ResolvedInference,
    loss_variables: list[int],
) -> Counter:  # fmt: skip
    psi = settings.criterion.psi
    if math.isinf(psi):
        completing = problem.exact_if_it_fits(settings) or inference
        competitors = wrong_labelling_search(problem, inference, loss_variables)
        return SequenceCounter(problem, settings, inference, completing, competitors)
    if psi != 1.0 and (problem.gold.codes < 0).any():
        message = f"`psi = {psi:g}` cannot sum out labels that are latent or not known"
        raise DcrfError(Diagnostic("cannot-sum-out", message, help="write `psi = 1` or `psi = inf`"))
    return SoftSequenceCounter(problem, settings, inference)
