"""The exponential risk: by how much wrong labellings score above the known one, in all of them (Altun 2003 eq. 13).

    R(λ) = Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) = Σ_i w_i (Z_i / exp g(y_i) − 1)
    ∂R/∂λ = Σ_i w_i (Z_i / exp g(y_i)) (⟨F⟩_i − F(y_i))

Everything is computed through logarithms. Where nearly all the probability is on y_i, Z_i and exp g(y_i) are too close
for a difference, and the sums run over the other labellings alone (`graph.variants.excluding_gold`). Where labels are
latent or not known, g(y_i) = log Σ_h exp g(y_i, h). Not here: boosting, which minimises the same (`boosting_risk`).
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Mask, chosen_ranges
from ...errors import DcrfError, Diagnostic
from ...inference import BoundData, ExactMethod, Expectations, RunStatus
from ...semantics import ExponentialSettings, TrainSettings
from ..competing_labellings import data_excluding_gold
from ..gold_counts import gold_counts
from ..likelihood import clamped_part
from ..run_sums import FeatureSums
from ..supervision import Inference, Supervision
from .risk import Risk

__all__ = [
    "NEAR", "ExponentialRisk", "WrongLabellingSums", "build_exponential", "finite_or_zero", "log_wrong_ratio",
    "require_exact",
]  # fmt: skip

LARGEST = 80.0  # of log R; L-BFGS stores pairs of points in single precision
NEAR = 0.01  # log Z − g* below which sums run over the other labellings: the difference would lose digits


class _Source(NamedTuple):
    """A data set, and exact sums over its labellings."""

    data: BoundData
    method: ExactMethod
    sums: FeatureSums

    @classmethod
    def of(cls, data: BoundData, supervision: Supervision, inference: Inference) -> _Source:
        method = inference.build(data)
        assert isinstance(method, ExactMethod)
        return cls(data, method, FeatureSums(data, supervision.workers))

    def log_z(self, weights: Floats, chosen: Mask) -> tuple[Floats, RunStatus]:
        """log Z of the sequences that are `chosen` [S], and how inference ended; 0 for the others."""
        out, potentials, nothing = Expectations.empty(self.data), self.data.potentials(weights), np.zeros(0)

        def run(first: int, last: int) -> None:
            for begin, end in chosen_ranges(chosen[first:last], first):
                self.method.expectations(potentials, begin, end, out, nothing, np.zeros(len(self.data.hard)))

        self.sums.visit(run)
        return out.log_z, out.summary()

    def expected(self, weights: Floats, share: Floats) -> Floats:
        """Σ share ⟨F⟩, [W]; sequences with a share of 0 are skipped."""
        out, potentials, chosen = Expectations.empty(self.data), self.data.potentials(weights), share != 0.0
        if not chosen.any():
            return np.zeros(self.data.num_weights)

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            for begin, end in chosen_ranges(chosen[first:last], first):
                self.method.expectations(potentials, begin, end, out, gradient, expected, share)

        return self.sums.map(run)


class WrongLabellingSums:
    """Sums over the wrong labellings of each sequence, relative to the known one."""

    def __init__(self, supervision: Supervision, inference: Inference):
        self._supervision, self._exact = supervision, inference
        self._all = _Source.of(supervision.bind(programs=True), supervision, inference)
        self.clamped = clamped_part(supervision, inference)
        self._known = _Source.of(self.clamped.data, supervision, inference) if self.clamped is not None else None
        self._partly = self.clamped.partly if self.clamped is not None else np.zeros(self.num_sequences, np.bool_)
        self.gold = gold_counts(supervision)
        self.status = RunStatus()

    @property
    def num_sequences(self) -> int:
        return len(self._supervision.sentence_off) - 1

    @cached_property
    def _others(self) -> _Source:
        graph = self._supervision.graph
        return _Source.of(
            data_excluding_gold(self._supervision, range(graph.num_labels)), self._supervision, self._exact
        )

    def log_ratios(self, weights: Floats, chosen: Mask | None = None) -> tuple[Floats, Floats]:
        """log Σ_{y ≠ y_i} exp(g(y) − g(y_i)) and log Z_i − g(y_i) of the `chosen` sequences, [S].

        The latter is nan where the former was not computed from it; the former is -inf without wrong labellings.
        """
        chosen = np.ones(self.num_sequences, np.bool_) if chosen is None else chosen
        log_z, status = self._all.log_z(weights, chosen)
        self.status = self.status + status
        right = self.gold.times(weights)
        if self._known is not None:
            known, _ = self._known.log_z(weights, chosen & self._partly)
            right = np.where(self._partly, known, right)
        above = np.where(chosen, log_z - right, np.nan)
        near = above < NEAR
        ratio = log_wrong_ratio(above)
        if near.any():
            others, _ = self._others.log_z(weights, near)
            ratio = np.where(near, others - right, ratio)
            above = np.where(near, np.nan, above)
        return ratio, above

    def weighted(self, weights: Floats, log_weight: Floats, chosen: Mask | None = None) -> tuple[Floats, Floats]:
        """w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) of the `chosen` sequences, [S], 0 of the others; and the gradient [W] of
        their sum, all 0 where that is not finite.
        """
        ratio, above = self.log_ratios(weights, chosen)
        with np.errstate(over="ignore"):
            risk = np.where(np.isnan(ratio), 0.0, np.exp(log_weight + ratio))
            share = np.where(np.isnan(above), 0.0, np.exp(log_weight + np.where(np.isnan(above), 0.0, above)))
        if not np.isfinite(risk.sum() + share.sum()):
            return risk, np.zeros(self._supervision.parameters.num_weights)
        alone = np.where(np.isnan(above), risk, 0.0)
        of_known = share + alone
        gradient = self._all.expected(weights, share) - self.gold.total(of_known)
        if alone.any():
            gradient += self._others.expected(weights, alone)
        if self._known is not None:
            gradient -= self._known.expected(weights, np.where(self._partly, of_known, 0.0))
        return risk, gradient

    def check(self, weights: Floats, log_weight: Floats, written: float | str) -> None:
        """DcrfError where the risk overflows.   written: the setting behind `log_weight`, for the message."""
        logs = log_weight + self.log_ratios(weights)[0]
        worst = int(np.argmax(logs))
        if logs[worst] + np.log(len(logs)) > LARGEST:
            message = (
                f"the exponential risk of sentence {worst + 1} is e^{logs[worst]:.0f} with `weight = {written}`, "
                "more than training can begin with"
            )
            remedy = "write a smaller `weight`, or `weight = uniform`; or let it come `after` a stage of `likelihood`"
            raise DcrfError(Diagnostic("risk-overflow", message, help=remedy))


class ExponentialRisk(Risk):
    """The exponential risk of a data set, and a penalty. Convex where all labels are known."""

    is_steep = True

    def __init__(self, supervision: Supervision, settings: TrainSettings[ExponentialSettings], inference: Inference):
        criterion = settings.criterion
        self._wrong = WrongLabellingSums(supervision, inference)
        super().__init__(supervision, supervision.penalty(settings), self._wrong.clamped, "exact")
        labels = supervision.graph.num_labels * np.diff(supervision.sentence_off)
        self.log_weight = (
            -finite_or_zero(self._wrong.log_ratios(np.zeros(self.num_weights))[0])
            if criterion.weight == "uniform"
            else labels * np.log(criterion.weight)
        )
        self._written = criterion.weight

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`; the value is inf where it cannot be represented."""
        risk, gradient = self._wrong.weighted(weights, self.log_weight)
        self.total_status = self._wrong.status
        return float(risk.sum()) + self.penalty.add(weights, gradient), gradient

    def start(self, weights: Floats) -> Floats:
        """As `Criterion.start`. DcrfError where the risk cannot be represented there."""
        self._wrong.check(weights, self.log_weight, self._written)
        return weights

    def gap(self, gradient: Floats) -> float | None:
        """See `Likelihood.gap`."""
        return None if self.clamped is not None else self.penalty.gap(gradient)


def log_wrong_ratio(above: Floats) -> Floats:
    """log (e^d − 1), d = log Z − g*: the log ratio of all wrong labellings to the known one."""
    with np.errstate(divide="ignore"):
        ratio: Floats = above + np.log(-np.expm1(-np.maximum(above, 0.0)))
    return ratio


def finite_or_zero(logs: Floats) -> Floats:
    """These logarithms, with 0 in place of -inf."""
    return np.where(np.isneginf(logs), 0.0, logs)


def require_exact(supervision: Supervision, settings: TrainSettings) -> Inference:
    """Exact inference, whatever the stage asks for. DcrfError where its tables do not fit."""
    remedy = "write `infer = exact(max_table = …)` in the stage if there is memory for it, or train by `likelihood`"
    return supervision.exact_inference(settings, f"`{settings.criterion.method}`", remedy)


def build_exponential(supervision: Supervision, settings: TrainSettings[ExponentialSettings]) -> ExponentialRisk:
    """The criterion of a stage. DcrfError where exact inference does not fit."""
    return ExponentialRisk(supervision, settings, require_exact(supervision, settings))
