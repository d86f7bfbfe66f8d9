"""Settings of minimum classification error: the errors that a loss counts, and the functions that smooth the count.

Source: Suzuki, McDermott & Isozaki 2006. Not here: the computations (`criteria.mce`, `criteria.mce.measures`).
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from ...errors import Table
from .method_settings import CriterionSettings, MethodSettings

__all__ = [
    "LOSSES", "SMOOTHINGS", "BalancedLoss", "LabelLoss", "LogisticSmoothing", "MceSettings", "MeasureLoss",
    "SequenceLoss", "SigmoidSmoothing", "SmoothingSettings",
]  # fmt: skip


class SmoothingSettings(MethodSettings):
    """A smooth count ℓ(d) of errors. alpha: the slope α.   beta: β; None: −α where d is a `ratio`, else 0."""

    alpha: float = Field(default=1.0, gt=0)
    beta: float | None = None


class SigmoidSmoothing(SmoothingSettings):
    """ℓ(d) = 1 / (1 + exp(−α d − β)): between 0 and 1, not convex (eq. 8)."""

    method = "sigmoid"


class LogisticSmoothing(SmoothingSettings):
    """ℓ(d) = log(1 + exp(α d + β)) / α: convex in d, not bounded above (eq. 8)."""

    method = "logistic"


class SequenceLoss(MethodSettings):
    """Counts sequences: each is right or wrong as a whole (eq. 10)."""

    method = "sequence"


class LabelLoss(MethodSettings):
    """Counts positions: each position of `labels` is right or wrong (eq. 14)."""

    method = "label"
    names = "labels"
    labels: tuple[str, ...] = ()


class BalancedLoss(LabelLoss):
    """Like `label`, but every state has the same share of the sum, however often it occurs."""

    method = "balanced_accuracy"


class MeasureLoss(MethodSettings):
    """Base of measures computed from the counts of right and wrong segments of `labels` (eq. 13–16)."""

    names = "labels"
    labels: tuple[str, ...] = ()


class FscoreLoss(MeasureLoss):
    """(γ² FN + FP) / ((γ² + 1) TP), smallest where the F-score is largest (eq. 16)."""

    method = "fscore"


class PrecisionLoss(MeasureLoss):
    """FP / TP, smallest where precision is largest."""

    method = "precision"


class RecallLoss(MeasureLoss):
    """FN / TP, smallest where recall is largest."""

    method = "recall"


SMOOTHINGS: Table[type[SmoothingSettings]] = Table(
    "smoothing function", {s.method: s for s in (SigmoidSmoothing, LogisticSmoothing)}
)
LOSSES: Table[type[MethodSettings]] = Table(
    "loss",
    {s.method: s for s in (SequenceLoss, LabelLoss, BalancedLoss, FscoreLoss, PrecisionLoss, RecallLoss)},
    {"f1": "fscore", "segments": "fscore", "sentence_accuracy": "sequence", "accuracy": "label"},
)


class MceSettings(CriterionSettings):
    """ℓ(d), where d is how much better the best wrong labelling scores than the right one (Suzuki 2006 eq. 5–16).

    psi: ψ of the soft maximum over wrong labellings (eq. 7); inf is the maximum.   gamma: γ of `fscore`.
    normalise: whether the soft maximum averages (A = 1 / (|Y| − 1)).   measure: d is a difference of scores (eq. 7), or
    the difference of probabilities or the ratio of potentials of the appendix.
    """

    method = "mce"
    offers = ("gradient", "sequences")
    margin = True
    methods = {"loss": LOSSES, "smoothing": SMOOTHINGS}
    loss: MethodSettings = SequenceLoss()
    psi: float = Field(default=math.inf, gt=0)
    gamma: float = Field(default=1.0, gt=0)
    smoothing: SmoothingSettings = SigmoidSmoothing()
    normalise: bool = False
    measure: Literal["softmax", "difference", "ratio"] = "softmax"
