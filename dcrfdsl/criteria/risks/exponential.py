"""The exponential risk: by how much wrong labellings score above the known one, in all of them (Altun 2003 eq. 13).

    R(λ) = Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) = Σ_i w_i (Z_i / exp g(y_i) − 1)
    ∂R/∂λ = Σ_i w_i (Z_i / exp g(y_i)) (⟨F⟩_i − F(y_i))

Not here: the sums (`wrong_labelling_sums`), boosting, which minimises the same (`boosting_risk`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import DcrfError, Diagnostic, Floats
from ...semantics import ExponentialSettings, TrainSettings
from ..supervision import ResolvedInference, TrainingProblem
from ..wrong_labelling_sums import WrongLabellingSums, finite_or_zero
from .risk import Risk

LARGEST = 80.0  # of log R; L-BFGS stores pairs of points in single precision


class ExponentialRisk(Risk):
    """The exponential risk of a data set, and a penalty. Convex where all labels are known."""

    is_steep = True

    def __init__(
        self, supervision: TrainingProblem, settings: TrainSettings[ExponentialSettings], inference: ResolvedInference
    ):
        criterion = settings.criterion
        self._wrong = WrongLabellingSums(supervision, inference)
        super().__init__(supervision, supervision.penalty(settings), self._wrong.clamped, "exact")
        labels = supervision.graph.num_labels * np.diff(supervision.sentence_off)
        self.log_weight = (
            -finite_or_zero(self._wrong.log_ratios(np.zeros(self.num_weights))[0])
            if criterion.weight == "uniform"
            else labels * np.log(criterion.weight)
        )
        self.log_weight = self.log_weight + log_importance(supervision, settings)
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
        """See `Likelihood.gap`."""
        return None if self.clamped is not None else self.penalty.gap(gradient)


def log_importance(supervision: TrainingProblem, settings: TrainSettings) -> Floats:
    """The logarithms of the factors of sentences, [S]; -inf leaves one out."""
    factor = supervision.sentence_importance(settings)
    if factor is None:
        return np.zeros(len(supervision.sentence_off) - 1)
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


def require_exact(supervision: TrainingProblem, settings: TrainSettings) -> ResolvedInference:
    """Exact inference, whatever the stage asks for. DcrfError where its tables do not fit."""
    remedy = "write `infer = exact(max_table = …)` in the stage if there is memory for it, or train by `likelihood`"
    return supervision.exact_inference(settings, f"`{settings.criterion.method}`", remedy)


def build_exponential(supervision: TrainingProblem, settings: TrainSettings[ExponentialSettings]) -> ExponentialRisk:
    """The criterion of a stage. DcrfError where exact inference does not fit."""
    return ExponentialRisk(supervision, settings, require_exact(supervision, settings))
