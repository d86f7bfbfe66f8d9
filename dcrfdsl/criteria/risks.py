"""Risks: sums over sequences that may not be convex and are not trained in batches.

The exponential risk is by how much wrong labellings score above the known one, in all of them (Altun 2003 eq. 13):

    R(λ) = Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) = Σ_i w_i (Z_i / exp g(y_i) − 1)
    ∂R/∂λ = Σ_i w_i (Z_i / exp g(y_i)) (⟨F⟩_i − F(y_i))

The marginal risk is −log of the marginal probability of every known label (Altun 2003 eq. 10, Kakade 2002):

    R(λ) = −Σ_v c_v log p(y_v | x),      ∂R/∂λ = Σ_v c_v (⟨F⟩ − ⟨F⟩ given y_v),      c_v: importance, by default 1

It bounds the number of wrong labels where each is decoded by itself. Labels that are latent or not known are summed
out and have no term; so are labels known to be one of several. A label with a distribution q has the term
−c_v Σ_s q(s) log p(y_v = s | x) over the states s that constraints leave at its place. On loops under message passing,
p is the pseudo-marginal, and the gradient is a difference of expectations with raised potentials of the known states.

Not here: the sums over wrong labellings (`wrong_labelling_sums`), boosting, which minimises the exponential risk
(`boosting_risk`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, data_error
from ..graph import raised_rows, scored_graph
from ..inference import (
    METHODS,
    Binder,
    ExactMethod,
    Expectations,
    LabelLogMarginals,
    RunStatus,
    Workers,
    iterative_methods,
)
from ..kernels.tables import Potentials
from ..semantics import ExponentialSettings, TrainSettings
from .criterion import Clamped, Criterion
from .likelihood import clamped_part
from .penalties import Penalty
from .run_sums import GradientAccumulator
from .soft_labels import soft_layers
from .training_problem import ResolvedInference, TrainingProblem
from .wrong_labelling_sums import WrongLabellingSums, finite_or_zero


class Risk(Criterion):
    """An objective that may not be convex and is not trained in batches."""

    penalty: Penalty
    workers: Workers
    total_status = RunStatus()  # summed over all evaluations

    def __init__(self, problem: TrainingProblem, penalty: Penalty, clamped: Clamped | None, inference_description: str):
        self.penalty, self.clamped, self.inference_description = penalty, clamped, inference_description
        self.num_weights, self.workers = problem.parameters.num_weights, problem.workers


# the exponential risk -------------------------------------------------------------------------------------------------

LARGEST = 80.0  # of log R; L-BFGS stores pairs of points in single precision


class ExponentialRisk(Risk):
    """The exponential risk of a data set, and a penalty. Convex where all labels are known.

    DcrfError where exact inference does not fit.
    """

    is_steep = True

    def __init__(self, problem: TrainingProblem, settings: TrainSettings[ExponentialSettings]):
        criterion = settings.criterion
        self._wrong = WrongLabellingSums(problem, require_exact(problem, settings))
        super().__init__(problem, problem.penalty(settings), self._wrong.clamped, "exact")
        labels = problem.graph.num_labels * np.diff(problem.sentence_off)
        self.log_weight = (
            -finite_or_zero(self._wrong.log_ratios(np.zeros(self.num_weights))[0])
            if criterion.weight == "uniform"
            else labels * np.log(criterion.weight)
        )
        self.log_weight = self.log_weight + log_importance(problem, settings)
        self._written = criterion.weight

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; the value is inf where it cannot be represented."""
        risk, gradient = self._wrong.weighted(weights, self.log_weight)
        self.total_status = self._wrong.status
        return float(risk.sum()) + self.penalty.add(weights, gradient), gradient

    def start(self, weights: Floats) -> Floats:
        """As `Criterion.start`. DcrfError where the risk cannot be represented there."""
        check_start(self.log_weight + self._wrong.log_ratios(weights)[0], self._written)
        return weights

    def gap(self, gradient: Floats) -> float | None:
        return None if self.clamped is not None else self.penalty.gap(gradient)


def log_importance(problem: TrainingProblem, settings: TrainSettings) -> Floats:
    """The logarithms of the factors of sentences, [S]; -inf leaves one out."""
    factor = problem.sentence_importance(settings)
    if factor is None:
        return np.zeros(len(problem.sentence_off) - 1)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(factor)
    return logs


def check_start(logs: Floats, written: float | str) -> None:
    """DcrfError where the risk overflows. logs: of each sentence.   written: its weight in the template."""
    worst = int(np.argmax(logs))
    if logs[worst] + np.log(len(logs)) > LARGEST:
        message = (
            f"the exponential risk of sentence {worst + 1} is e^{logs[worst]:.0f} with `weight = {written}`, "
            "more than training can begin with"
        )
        remedy = "write a smaller `weight`, or `weight = uniform`; or let it come `after` a stage of `likelihood`"
        raise DcrfError(Diagnostic("risk-overflow", message, help=remedy))


def require_exact(problem: TrainingProblem, settings: TrainSettings) -> ResolvedInference:
    """Exact inference, whatever the stage asks for. DcrfError where its tables do not fit."""
    remedy = "write `infer = exact(max_table = …)` in the stage if there is memory for it, or train by `likelihood`"
    return problem.exact_inference(settings, f"`{settings.criterion.method}`", remedy)


# the marginal risk ----------------------------------------------------------------------------------------------------

STEP = 1e-4
TOLERANCE = 1e-9  # of messages; their error is divided by STEP
LEAST = 1e-200  # smallest probability whose logarithm is taken


class MarginalRisk(Risk):
    """The marginal risk of a data set by exact inference, and a penalty."""

    def __init__(self, problem: TrainingProblem, settings: TrainSettings, inference: ResolvedInference):
        super().__init__(problem, problem.penalty(settings), clamped_part(problem, inference), inference.name)
        data = problem.bind(programs=True)
        method = inference.build(data)
        assert isinstance(method, ExactMethod)
        self._data, self._sums = data, GradientAccumulator(data, problem.workers)
        importance, states = label_importance(problem, settings), problem.gold.codes.copy()
        states[problem.graph.num_labels :] = -1  # only labels count
        self._tangents = [
            LabelLogMarginals(data, method, np.ascontiguousarray(known.T).ravel(), factor.T.ravel())
            for known, factor in soft_layers(problem, data, method, states, importance)
        ]

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; inf where a probability is too small for a number."""
        potentials, gradient = self._data.potentials(weights), np.zeros(self.num_weights)
        value = self.penalty.add(weights, gradient)
        for tangents in self._tangents:
            out, more = self._term(tangents, potentials)
            self.total_status = self.total_status + out.summary()
            value, gradient = value + float(out.log_z.sum()), gradient + more
        return value, gradient

    def _term(self, tangents: LabelLogMarginals, potentials: Potentials) -> tuple[Expectations, Floats]:
        out = Expectations.empty(self._data)

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            tangents.add(potentials, first, last, out, gradient, expected)

        return out, self._sums.map(run)


class ApproximateMarginalRisk(Risk):
    """The marginal risk by a method that is not exact, and a penalty.

    Let E(ε) be the expectations with the potential of every known state multiplied by 1 + ε / μ_v(y_v), which moves
    probabilities by about ε however small μ is. The gradient is −E'(0) ≈ (3 E(0) − 4 E(ε) + E(2ε)) / 2ε.
    """

    def __init__(self, problem: TrainingProblem, settings: TrainSettings, inference: ResolvedInference):
        super().__init__(problem, problem.penalty(settings), clamped_part(problem, inference), "")
        graph = scored_graph(problem.graph, len(problem.rows), "raised")
        rows = (*problem.rows, *raised_rows(problem.graph, problem.gold))
        binder = Binder(graph, problem.parameters, programs=METHODS[inference.name].programs)
        self._data = binder.bind(rows, problem.sentence_off, problem.relations)
        tolerance = min(TOLERANCE, float(getattr(inference.settings, "tolerance", TOLERANCE)))
        self._method = METHODS[inference.name].build(
            self._data, inference.settings.model_copy(update={"tolerance": tolerance})
        )
        for one in iterative_methods(self._method):
            one.remember()
        self.inference_description = inference.description(self._method)
        self._sums = GradientAccumulator(self._data, problem.workers)
        codes = problem.gold.codes[: problem.graph.num_labels]
        self._raised = self._data.rows.value[-codes.size :].reshape(codes.shape)  # a view, which inference reads
        ends = (
            np.cumsum(problem.graph.cards)[: problem.graph.num_labels] - problem.graph.cards[: problem.graph.num_labels]
        )
        importance = label_importance(problem, settings)[: len(codes)]
        self._importance = importance if importance.size else np.ones(codes.shape)
        self._known, self._place = codes >= 0, (np.maximum(codes, 0) + ends[:, None]).astype(np.int64)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; inf where a probability is too small for a number."""
        free, marginals = self._expected(weights, np.zeros(self._known.shape))
        known_marginals = np.take_along_axis(marginals, self._place.T, axis=1).T
        probability = np.where(self._known & (self._importance > 0.0), known_marginals, 1.0)
        if not (probability > LEAST).all():
            return np.inf, np.zeros(self.num_weights)
        near, far = (
            self._expected(weights, np.where(self._known, np.log1p(step * self._importance / probability), 0.0))[0]
            for step in (STEP, 2.0 * STEP)
        )
        gradient = (3.0 * free - 4.0 * near + far) / (2.0 * STEP)
        return float(-(self._importance * np.log(probability)).sum()) + self.penalty.add(weights, gradient), gradient

    def _expected(self, weights: Floats, raised: Floats) -> tuple[Floats, Floats]:
        """⟨F⟩ [W] and marginals [N, states of all variables] where log potentials of known states are `raised`."""
        self._raised[:] = raised
        data, method = self._data, self._method
        out = Expectations.empty(data, marginals=True, approximate=method.approximate)
        expected = self._sums.expectations(method, data.potentials(weights), out)
        self.total_status = self.total_status + out.summary()
        return expected, out.marginals.reshape(-1, sum(data.graph.cards))


def label_importance(problem: TrainingProblem, settings: TrainSettings) -> Floats:
    """The factor of each variable at each token, [variables, N]; empty if all are 1."""
    token = problem.token_importance(settings)
    return np.zeros((0, 0)) if token is None else np.tile(token, (len(problem.graph.cards), 1))


def build_marginal(problem: TrainingProblem, settings: TrainSettings) -> Risk:
    """The criterion of a stage, by the inference that it asks for."""
    inference = problem.inference(settings)
    kind = MarginalRisk if METHODS[inference.name].programs else ApproximateMarginalRisk
    if problem.gold.soft and kind is ApproximateMarginalRisk:
        message = f"`marginal` with distributions of labels needs exact inference, and `{inference.name}` is not"
        raise data_error("soft-labels", message, help="write `infer = exact` in the stage, or train by `likelihood`")
    return kind(problem, settings, inference)
