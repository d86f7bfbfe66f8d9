"""The marginal risk: −log of the probability of every known label by itself (Altun 2003 eq. 10, Kakade 2002).

    R(λ) = −Σ_v log p(y_v | x),      ∂R/∂λ = Σ_v (⟨F⟩ − ⟨F⟩ given y_v)

It bounds the number of wrong labels where each is decoded by itself. Labels that are latent or not known are summed
out and not measured; so is one that is known to be one of several. Not convex. On loops under message passing p is the
pseudo-marginal, and the gradient a difference of expectations where the potentials of all known states are raised.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, Ints32
from ...graph import raised_graph, raised_parameters, raised_rows
from ...inference import METHODS, Binder, ExactMethod, Expectations, LabelLogMarginals
from ...semantics import TrainSettings
from ..likelihood import clamped_part
from ..run_sums import FeatureSums
from ..supervision import Inference, Supervision
from .risk import Risk

__all__ = ["Marginal", "build_marginal"]

STEP = 1e-4
TOLERANCE = 1e-9  # of messages; what they still move by is divided by STEP
LEAST = 1e-200  # of a probability


class Marginal(Risk):
    """The marginal risk of a data set by exact inference, and a penalty."""

    def __init__(self, given: Supervision, settings: TrainSettings, inference: Inference):
        super().__init__(given, given.penalty(settings), clamped_part(given, inference), inference.name)
        data = given.bind(programs=True)
        method = inference.build(data)
        assert isinstance(method, ExactMethod)
        self._data, self._sums = data, FeatureSums(data, given.workers)
        self._tangents = LabelLogMarginals(data, method, measured(given))

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; inf where a probability is too small for a number."""
        out, potentials = Expectations.empty(self._data), self._data.potentials(weights)

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            self._tangents.add(potentials, first, last, out, gradient, expected)

        gradient = self._sums.map(run)
        self.total_status = self.total_status + out.summary()
        return float(out.log_z.sum()) + self.penalty.add(weights, gradient), gradient


class ApproximateMarginal(Risk):
    """The marginal risk by a method that is not exact, and a penalty.

    With E(ε) the expectations where the potential of every known state is multiplied by 1 + ε / μ_v(y_v), which moves
    probabilities by about ε however small μ is, the gradient is −E'(0) ≈ (3 E(0) − 4 E(ε) + E(2ε)) / 2ε.
    """

    def __init__(self, given: Supervision, settings: TrainSettings, inference: Inference):
        super().__init__(given, given.penalty(settings), clamped_part(given, inference), "")
        graph = raised_graph(given.graph, len(given.parameters.cliques), len(given.rows))
        parameters = raised_parameters(given.graph, given.parameters)
        rows = (*given.rows, *raised_rows(given.graph, given.gold))
        binder = Binder(graph, parameters, programs=METHODS[inference.name].programs)
        self._data = binder.bind(rows, given.sentence_off, given.relations)
        tolerance = min(TOLERANCE, float(getattr(inference.settings, "tolerance", TOLERANCE)))
        self._method = METHODS[inference.name].build(
            self._data, inference.settings.model_copy(update={"tolerance": tolerance})
        )
        self._method.remember()
        self.inference_description = inference.description(self._method)
        self._sums = FeatureSums(self._data, given.workers)
        codes = given.gold.codes[: given.graph.num_labels]
        self._raised = self._data.rows.value[-codes.size :].reshape(codes.shape)  # a view: what is set here is read
        self._ones = np.ones(parameters.num_weights - self.num_weights)
        ends = np.cumsum(given.graph.cards)[: given.graph.num_labels] - given.graph.cards[: given.graph.num_labels]
        self._known, self._place = codes >= 0, (np.maximum(codes, 0) + ends[:, None]).astype(np.int64)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; inf where a probability is too small for a number."""
        free, marginals = self._expected(weights, np.zeros(self._known.shape))
        own = np.take_along_axis(marginals, self._place.T, axis=1).T
        probability = np.where(self._known, own, 1.0)
        if not (probability > LEAST).all():
            return np.inf, np.zeros(self.num_weights)
        near, far = (
            self._expected(weights, np.where(self._known, np.log1p(step / probability), 0.0))[0]
            for step in (STEP, 2.0 * STEP)
        )
        gradient = (3.0 * free - 4.0 * near + far) / (2.0 * STEP)
        return float(-np.log(probability).sum()) + self.penalty.add(weights, gradient), gradient

    def _expected(self, weights: Floats, raised: Floats) -> tuple[Floats, Floats]:
        """⟨F⟩ [W] and marginals [N, states of all variables] where log potentials of known states are raised."""
        self._raised[:] = raised
        data, method = self._data, self._method
        out = Expectations.empty(data, marginals=True, approximate=method.approximate)
        potentials = data.potentials(np.concatenate([weights, self._ones]))

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            method.expectations(potentials, first, last, out, gradient, expected)

        expected = self._sums.map(run)
        self.total_status = self.total_status + out.summary()
        return expected[: self.num_weights], out.marginals.reshape(-1, sum(data.graph.cards))


def measured(given: Supervision) -> Ints32:
    """The known states of labels, see `BoundData.labelling_off`; negative where not known, and of what is no label."""
    codes = given.gold.codes.copy()
    codes[given.graph.num_labels :] = -1
    return np.ascontiguousarray(codes.T).ravel()


def build_marginal(given: Supervision, settings: TrainSettings) -> Risk:
    """The criterion of a stage, by the inference that it asks for."""
    inference = given.inference(settings)
    kind = Marginal if METHODS[inference.name].programs else ApproximateMarginal
    return kind(given, settings, inference)
