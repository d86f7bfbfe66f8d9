"""The marginal risk: −log of the marginal probability of every known label (Altun 2003 eq. 10, Kakade 2002).

    R(λ) = −Σ_v c_v log p(y_v | x),      ∂R/∂λ = Σ_v c_v (⟨F⟩ − ⟨F⟩ given y_v),      c_v: importance, by default 1

It bounds the number of wrong labels where each is decoded by itself. Labels that are latent or not known are summed
out and have no term; so are labels known to be one of several. Not convex. On loops under message passing, p is the
pseudo-marginal, and the gradient is a difference of expectations with raised potentials of the known states.
"""

from __future__ import annotations

import numpy as np

from ...foundation import Floats, Ints32
from ...graph import perturbed_graph, raised_parameters, raised_rows
from ...inference import METHODS, Binder, ExactMethod, Expectations, LabelLogMarginals
from ...semantics import TrainSettings
from ..likelihood import clamped_part
from ..run_sums import GradientAccumulator
from ..supervision import ResolvedInference, TrainingProblem
from .risk import Risk

STEP = 1e-4
TOLERANCE = 1e-9  # of messages; their error is divided by STEP
LEAST = 1e-200  # smallest probability whose logarithm is taken


class MarginalRisk(Risk):
    """The marginal risk of a data set by exact inference, and a penalty."""

    def __init__(self, supervision: TrainingProblem, settings: TrainSettings, inference: ResolvedInference):
        super().__init__(
            supervision, supervision.penalty(settings), clamped_part(supervision, inference), inference.name
        )
        data = supervision.bind(programs=True)
        method = inference.build(data)
        assert isinstance(method, ExactMethod)
        self._data, self._sums = data, GradientAccumulator(data, supervision.workers)
        importance = label_importance(supervision, settings)
        self._tangents = LabelLogMarginals(data, method, measured_states(supervision), importance.T.ravel())

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; inf where a probability is too small for a number."""
        out, potentials = Expectations.empty(self._data), self._data.potentials(weights)

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            self._tangents.add(potentials, first, last, out, gradient, expected)

        gradient = self._sums.map(run)
        self.total_status = self.total_status + out.summary()
        return float(out.log_z.sum()) + self.penalty.add(weights, gradient), gradient


class ApproximateMarginalRisk(Risk):
    """The marginal risk by a method that is not exact, and a penalty.

    Let E(ε) be the expectations with the potential of every known state multiplied by 1 + ε / μ_v(y_v), which moves
    probabilities by about ε however small μ is. The gradient is −E'(0) ≈ (3 E(0) − 4 E(ε) + E(2ε)) / 2ε.
    """

    def __init__(self, supervision: TrainingProblem, settings: TrainSettings, inference: ResolvedInference):
        super().__init__(supervision, supervision.penalty(settings), clamped_part(supervision, inference), "")
        graph = perturbed_graph(supervision.graph, len(supervision.parameters.cliques), len(supervision.rows))
        parameters = raised_parameters(supervision.graph, supervision.parameters)
        rows = (*supervision.rows, *raised_rows(supervision.graph, supervision.gold))
        binder = Binder(graph, parameters, programs=METHODS[inference.name].programs)
        self._data = binder.bind(rows, supervision.sentence_off, supervision.relations)
        tolerance = min(TOLERANCE, float(getattr(inference.settings, "tolerance", TOLERANCE)))
        self._method = METHODS[inference.name].build(
            self._data, inference.settings.model_copy(update={"tolerance": tolerance})
        )
        self._method.remember()
        self.inference_description = inference.description(self._method)
        self._sums = GradientAccumulator(self._data, supervision.workers)
        codes = supervision.gold.codes[: supervision.graph.num_labels]
        self._raised = self._data.rows.value[-codes.size :].reshape(codes.shape)  # a view, which inference reads
        self._ones = np.ones(parameters.num_weights - self.num_weights)
        ends = (
            np.cumsum(supervision.graph.cards)[: supervision.graph.num_labels]
            - supervision.graph.cards[: supervision.graph.num_labels]
        )
        importance = label_importance(supervision, settings)[: len(codes)]
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
        potentials = data.potentials(np.concatenate([weights, self._ones]))

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            method.expectations(potentials, first, last, out, gradient, expected)

        expected = self._sums.map(run)
        self.total_status = self.total_status + out.summary()
        return expected[: self.num_weights], out.marginals.reshape(-1, sum(data.graph.cards))


def measured_states(supervision: TrainingProblem) -> Ints32:
    """The known states of labels, see `BoundData.labelling_off`; negative where unknown, and for latent variables."""
    codes = supervision.gold.codes.copy()
    codes[supervision.graph.num_labels :] = -1
    return np.ascontiguousarray(codes.T).ravel()


def label_importance(supervision: TrainingProblem, settings: TrainSettings) -> Floats:
    """The factor of each variable at each token, [variables, N]; empty if all are 1."""
    token = supervision.token_importance(settings)
    return np.zeros((0, 0)) if token is None else np.tile(token, (len(supervision.graph.cards), 1))


def build_marginal(supervision: TrainingProblem, settings: TrainSettings) -> Risk:
    """The criterion of a stage, by the inference that it asks for."""
    inference = supervision.inference(settings)
    kind = MarginalRisk if METHODS[inference.name].programs else ApproximateMarginalRisk
    return kind(supervision, settings, inference)
