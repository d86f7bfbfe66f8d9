"""Negative conditional log-likelihood and its gradient (Sutton 2004 eq. 7 and 8), and a penalty.

    L(λ) = Σ_i [log Z(x_i) − λ·F(y_i, x_i)] + P(λ),     ∂L/∂λ_k = E f_k − Ê f_k + ∂P/∂λ_k

Where labels are latent, missing or ambiguous, they are summed out: λ·F(y_i, x_i) becomes the log Z of the graph clamped
to what is known, and Ê f_k the expectation in it; L is then not convex. Where they have distributions, means under
these take the place of F(y_i, x_i) (`soft_labels`), and L stays convex.

With costs (`label_costs`) the score of each wrong labelling is raised by what it costs: log Z and E are those of
g(y) + cost(y), and Ê is as it was, since labellings that agree with what is known cost nothing (softmax-margin, Gimpel
& Smith 2010). L is then at least the log loss, and at least what the best labelling costs and leads by.

Under message passing log Z is Bethe's approximation and E the pseudo-marginals. With a maximum in place of the sum
this is the perceptron's loss: by how much the best labelling scores above the gold one (Collins 2002; Altun 2003 ref.
7),

    L(λ) = Σ_i [max_y λ·F(y, x_i) − λ·F(y_i, x_i)] ≥ 0,    a subgradient: Σ_i F(ŷ_i, x_i) − F(y_i, x_i)

Iterative scaling needs feature totals of the likelihood, and expectations by total (Lafferty 2001 §4):

    T(x) = max_y Σ_k f_k(y, x)        a_{k,t} = Σ over sequences with T(x) = t of E f_k

The total of a labelling is its score where every scaled weight is 1, so the best labelling under these weights has the
largest total. Biases and features of START and STOP count as well. Features that the gold labels never show are not
scaled. Not here: minimising it, the penalty P (`penalties`), steps (`optimizers.special`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, Ints, Ints32, data_error
from ..inference import (
    METHODS,
    BoundData,
    Expectations,
    IterativeMethod,
    MarginalInference,
    MaximumMethod,
    RunStatus,
    SequenceMethod,
    Workers,
    even_runs,
    iterative_methods,
    run_decoding,
    weighted,
)
from ..kernels.tables import add_bias_gradient, collect_gradient
from ..optimizers import PerceptronSchedule
from ..semantics import LikelihoodSettings, PerceptronSettings, TrainSettings
from .batches import SentenceBatches
from .criterion import Clamped, Criterion
from .label_costs import inference_beside, label_costs
from .penalties import Penalty
from .run_sums import GradientAccumulator, count_known
from .soft_labels import SoftLabels, soft_labels
from .training_problem import ResolvedInference, TrainingProblem

Build = Callable[[BoundData], MarginalInference]
FEWEST_SENTENCES = 64  # for a start on batches: with fewer, L-BFGS alone is as fast


class Likelihood(Criterion):
    """Objective over one data set. Deterministic: the same floats for any number of threads.

    counts: empirical feature counts Ê f [W] of the sentences that are wholly known.   clamped: the others, if there are
    any.   labelling: the known states of all variables, see `BoundData.labelling_off`; needed for batches only.
    inference: the method that the stage asks for.   build: builds the method for this data in another layout; by
    default `inference.build`.   factor [S]: how much each sentence counts, which the methods and `counts` already
    heed; None if all count once.   fixed [S]: what scores without weights add to the known labellings, each times its
    factor; None if nothing.   soft: the sentences with distributions, which `counts` heed; None without.
    """

    penalty: Penalty
    workers: Workers
    total_status = RunStatus()  # summed over all evaluations

    def __init__(
        self,
        data: BoundData,
        method: MarginalInference,
        counts: Floats,
        penalty: Penalty,
        workers: Workers,
        clamped: Clamped | None = None,
        labelling: Ints32 | None = None,
        inference: ResolvedInference | None = None,
        build: Build | None = None,
        factor: Floats | None = None,
        fixed: Floats | None = None,
        soft: SoftLabels | None = None,
    ):
        self.data, self.method, self.clamped, self.factor, self.fixed = data, method, clamped, factor, fixed
        self.soft = soft
        self.labelling, self.inference, self.num_weights = labelling, inference, data.num_weights
        self.inference_description = (
            inference.description(getattr(method, "method", method)) if inference is not None else ""
        )
        self._build = inference.build if build is None and inference is not None else build
        for one in self.iterative:
            one.remember()
        self.counts, self.penalty = counts, penalty
        self.workers = workers
        # the cut into runs depends on the model alone, and partial sums are added in order of runs
        self._sums = GradientAccumulator(data, workers, method.together)
        self._cells: Floats | None = None  # of the weights at the last evaluation
        if clamped is not None:
            self._known = GradientAccumulator(clamped.data, workers, runs=self._sums.runs)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """L(λ) in nats, penalty included, and its gradient [W] (a fresh array)."""
        potentials = self.data.potentials(weights, self._cells)
        self._cells = potentials.weights
        out = Expectations.empty(self.data, approximate=self.method.approximate)

        def run(first: int, last: int) -> None:
            gradient, expected = self._sums.of(first)
            self.method.expectations(potentials, first, last, out, gradient, expected)
            self.data.open_bundles(gradient)

        self._sums.visit(run)
        self.total_status = self.total_status + out.summary()
        gradient, penalty, score = self._sums.penalised(weights, self.penalty.precision, self.counts)
        value = float(out.log_z.sum()) - score + penalty + self.penalty.add_rest(weights, gradient)
        if self.fixed is not None:
            value -= float(self.fixed.sum())
        if self.clamped is not None:
            value -= self._subtract_clamped(self.clamped, weights, gradient)
        return value, gradient

    def _subtract_clamped(self, clamped: Clamped, weights: Floats, gradient: Floats) -> float:
        """Subtracts the expectations given the known labels from `gradient` [W]; returns the sum of clamped log Z."""
        potentials = clamped.data.potentials(weights)
        out = Expectations.empty(clamped.data, approximate=clamped.method.approximate)

        def run(first: int, last: int, known: Floats, expected: Floats) -> None:
            for begin, end in clamped.runs(first, last):
                clamped.method.expectations(potentials, begin, end, out, known, expected)

        gradient -= self._known.map(run)
        self.total_status = self.total_status + out.summary()
        return float(out.log_z[clamped.partly].sum())

    @property
    def iterative(self) -> list[IterativeMethod]:
        return iterative_methods(self.method) + iterative_methods(self.clamped)

    def remembered(self) -> dict[str, Any]:
        return {**super().remembered(), "methods": [method.memory() for method in self.iterative]}

    def recall(self, saved: Mapping[str, Any]) -> None:
        super().recall(saved)
        for method, memory in zip(self.iterative, saved["methods"], strict=True) if "methods" in saved else ():
            method.recall(memory)

    def batches(self, size: int | None = None) -> SentenceBatches | None:
        """The likelihood in batches of `size` sequences; without `size`, in as many as suit a start.

        None without `labelling`, or where the penalty is not quadratic. For a start also None with too few sentences,
        and where labels are not known: the objective is then not convex, and a start may lead to another optimum.
        """
        if self.labelling is None or (size is None and self.clamped is not None):
            return None
        return self.batches_under(self.penalty, size)

    def batches_under(self, penalty: Penalty, size: int | None = None) -> SentenceBatches | None:
        """Batches with another penalty; None where it is not quadratic, or there are too few sentences for a start."""
        if not penalty.is_quadratic or (size is None and self.data.num_sequences < FEWEST_SENTENCES):
            return None
        data, method, partial = self.data, self.method, self._sums.partial
        if size is not None and self._build is not None:
            data = data.unbundled()
            method, partial = self._build(data), data.partial_gradients(1)
        return SentenceBatches(
            data, method, penalty.precision, self.labelling, self.workers, partial, size, self.clamped,
            self.factor, self.fixed, self.soft, self._cells if size is None else None,
        )  # fmt: skip

    def scaling(self) -> LikelihoodScaling:
        """What iterative scaling needs. DcrfError where it would not end at the optimum."""
        if self.factor is not None:
            message = "`iis` counts each sentence once, and `importance` gives them other numbers"
            raise DcrfError(Diagnostic("cannot-weigh", message, help="train by `lbfgs`"))
        if self.inference is None or self.method.approximate:
            message = (
                f"`iis` needs exact expectations, and `{self.inference_description or 'inference'}` does not give them"
            )
            raise DcrfError(Diagnostic("cannot-scale", message, help="write `infer = exact`, or train by `lbfgs`"))
        if self.clamped is not None:
            message = "`iis` needs the label of every token, and some are not known"
            raise DcrfError(Diagnostic("cannot-scale", message, help="train by `lbfgs`, which sums them out"))
        if not self.penalty.is_quadratic or self.penalty.precision.any():
            raise DcrfError(Diagnostic("cannot-scale", "`iis` has no penalty", help="write `prior = none`"))
        if self.data.graph.has_fixed_scores:
            message = "`iis` scales features that have weights, and the model has scores without one"
            raise DcrfError(Diagnostic("cannot-scale", message, help="train by `lbfgs`"))
        size = np.ones(self.num_weights) if self.units is None else self.units.size
        return LikelihoodScaling(self.data, self.inference.build, self.counts, self.workers, size)

    def contradictions(self) -> tuple[int, ...]:
        return tuple(sorted({*super().contradictions(), *(() if self.soft is None else self.soft.impossible)}))

    @property
    def remarks(self) -> tuple[str, ...]:
        return () if self.soft is None else self.soft.remarks

    def gap(self, gradient: Floats) -> float | None:
        """Bound on L(λ) − min L by the penalty alone, which curves L by 1/v in each weight: ½ Σ_k v_k (∂L/∂λ_k)².

        None where a weight has no quadratic penalty, inference is approximate, or labels are summed out (L is not
        convex then).
        """
        return None if self.clamped is not None or self.method.approximate else self.penalty.gap(gradient)


def build_likelihood(problem: TrainingProblem, settings: TrainSettings) -> Likelihood:
    """The criterion of a stage, by the inference that it asks for. DcrfError where a cost does not suit the labels."""
    inference, factor = problem.inference(settings), problem.sentence_importance(settings)
    judged, criterion = problem, settings.criterion
    costs = label_costs(problem, criterion.cost if isinstance(criterion, LikelihoodSettings) else None)
    if costs is not None:
        judged = costs.augmented(problem, 1.0)
        inference = inference_beside(costs, judged, settings, inference, "cost")
    build = partial(build_weighted, inference.build, factor)
    data, clamped = judged.bind_for(inference.name), clamped_part(problem, inference, build)
    counts, soft = known_counts(judged, data, factor), soft_labels(problem, inference, build)
    return Likelihood(
        data, build(data), counts if soft is None else counts + soft.counts, problem.penalty(settings), problem.workers,
        clamped, judged.labelling, inference, build, factor, known_fixed(problem, factor), soft,
    )  # fmt: skip


def build_weighted(build: Build, factor: Floats | None, data: BoundData) -> MarginalInference:
    """A method in which each sentence counts by its factor [S]; None: all count once."""
    return weighted(build(data), data, factor)


def known_counts(problem: TrainingProblem, data: BoundData, factor: Floats | None) -> Floats:
    """Feature counts [W] of the wholly known sentences, each times its factor [S]."""
    if factor is None:
        return problem.counts
    mass = np.where(problem.gold.complete_sentences(problem.sentence_off), factor, 0.0)

    def count(first: int, last: int, gradient: Floats, expected: Floats) -> None:
        count_known(data, first, last, problem.labelling, mass, expected, gradient)

    return GradientAccumulator(data, problem.workers).map(count)


def known_fixed(problem: TrainingProblem, factor: Floats | None) -> Floats | None:
    """What scores without weights add to the wholly known sentences, each times its factor [S]; None if nothing."""
    if not problem.graph.has_fixed_scores:
        return None
    return problem.fixed_scores if factor is None else problem.fixed_scores * factor


def clamped_part(problem: TrainingProblem, inference: ResolvedInference, build: Build | None = None) -> Clamped | None:
    """The sentences with an unknown label, clamped to their known labels; None if all labels are known.

    build: the method; by default that of `inference`. DcrfError where it needs all labels.
    """
    partly = problem.gold.open_sentences(problem.sentence_off)
    if METHODS[inference.name].thin and partly.any():
        sentences = f"{int(partly.sum()):,} of {len(partly):,} sentences"
        message = (
            f"`{inference.name}` needs the label of every token in training, and in {sentences} some are not known"
        )
        raise data_error("cannot-prune", message, help="train with `infer = exact`, or leave these sentences out")
    return clamped_by(problem, inference, build or inference.build)


def clamped_by(problem: TrainingProblem, inference: ResolvedInference, build: Build) -> Clamped | None:
    """As `clamped_part`, whatever the method."""
    partly = problem.gold.open_sentences(problem.sentence_off)
    if not partly.any():
        return None
    known = problem.bind_known(programs=METHODS[inference.name].programs)
    return Clamped(known, build(known), partly)


# what iterative scaling needs -----------------------------------------------------------------------------------------


class LikelihoodScaling:
    """Scaling on a data set whose labels are all known, under exact inference. DcrfError where a feature is negative.

    counts [W]: Ê f.   build: builds the inference method of a data set.   size [W]: of the features, by which they are
    divided in totals.
    """

    def __init__(
        self, data: BoundData, build: Callable[[BoundData], SequenceMethod], counts: Floats, workers: Workers,
        size: Floats,
    ):  # fmt: skip
        if (data.rows.value < 0.0).any():
            message = "`iis` needs features that are not negative, and the data has negative numbers"
            raise DcrfError(Diagnostic("cannot-scale", message, help="shift the column, or train by `lbfgs`"))
        self.counts, self.workers = counts, workers
        self._cell_of = data.cell_of_weight()
        self.totals = self._largest_totals(data, build(data), size)
        self._order = np.argsort(self.totals, kind="stable")  # so that sequences of equal total are one run
        self.data = data.only(self._order)
        self.method = build(self.data)

    def _largest_totals(self, d: BoundData, decoder: SequenceMethod, size: Floats) -> Floats:
        potentials = d.potentials((self.counts > 0.0) / size)
        best = run_decoding(d, decoder, potentials, self.workers).score
        # totals of indicators are whole numbers, which sums of exponents and logarithms miss by a little
        rounded = np.round(best, 9)
        return np.where(np.isfinite(rounded), rounded, 0.0)

    def expectations_by_total(self, weights: Floats, totals: Floats) -> list[tuple[Ints, Floats]]:
        d = self.data
        potentials = d.potentials(weights)
        nothing, ascending = np.zeros(d.num_weights), self.totals[self._order]

        def expectation(first: int, last: int) -> list[tuple[Ints, Floats]]:
            expectations = []
            for total in totals[first:last].tolist():
                out, partial, expected = Expectations.empty(d), d.partial_gradients(1), np.zeros(len(d.hard))
                begin, end = np.searchsorted(ascending, [total, np.nextafter(total, np.inf)]).tolist()
                self.method.expectations(potentials, begin, end, out, partial[0], expected)
                d.open_bundles(partial[0])
                gradient = np.empty(d.num_weights)
                collect_gradient(0, len(gradient), partial, self._cell_of, nothing, nothing, nothing, gradient)
                add_bias_gradient(d.bindings, expected, gradient)
                positive = np.flatnonzero(gradient > 0.0)
                expectations.append((positive, gradient[positive]))
            return expectations

        return [part for run in self.workers.map(expectation, even_runs(len(totals))) for part in run]


# the loss of the perceptron -------------------------------------------------------------------------------------------


class PerceptronLoss(Likelihood):
    """The loss. `schedule` says how to train it."""

    solver = "perceptron"


def build_maximum(build: Callable[[BoundData], SequenceMethod], data: BoundData) -> MaximumMethod:
    """What finds the best labellings by an inference method."""
    return MaximumMethod(data, build(data))


def build_perceptron(problem: TrainingProblem, settings: TrainSettings[PerceptronSettings]) -> PerceptronLoss:
    """The criterion of a stage, which finds labellings by the inference that the stage asks for."""
    inference, factor = problem.inference(settings), problem.sentence_importance(settings)
    build = partial(build_weighted, partial(build_maximum, inference.build), factor)
    data, criterion = problem.bind(programs=METHODS[inference.name].programs), settings.criterion
    loss = PerceptronLoss(
        data, build(data), known_counts(problem, data, factor), Penalty.none(data.num_weights),
        problem.workers, clamped_by(problem, inference, build), problem.labelling, inference, build, factor,
        known_fixed(problem, factor),
    )  # fmt: skip
    loss.schedule = PerceptronSchedule(
        criterion.epochs, criterion.average or criterion.vote, criterion.vote, criterion.voters, settings.seed
    )
    return loss
