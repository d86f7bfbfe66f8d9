"""Settings of minimum classification error: losses that count what is measured, and functions that smooth the count.

Source: Suzuki, McDermott & Isozaki 2006. Not here: what they compute (`criteria.mce`, `criteria.mce.measures`).
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
    """A smooth count ℓ(d) of errors. alpha: how steep.   beta: added to α d; None: −α where d is a `ratio`, else 0."""

    alpha: float = Field(default=1.0, gt=0)
    beta: float | None = None


class SigmoidSmoothing(SmoothingSettings):
    """ℓ(d) = 1 / (1 + exp(−α d − β)): from 0 to 1, not convex (eq. 8)."""

    method = "sigmoid"


class LogisticSmoothing(SmoothingSettings):
    """ℓ(d) = log(1 + exp(α d + β)) / α: above the count of errors (eq. 8)."""

    method = "logistic"


class SequenceLoss(MethodSettings):
    """A whole sequence is right or wrong (eq. 10)."""

    method = "sequence"


class LabelLoss(MethodSettings):
    """Each position of these labels is right or wrong (eq. 14)."""

    method = "label"
    names = "labels"
    labels: tuple[str, ...] = ()


class BalancedLoss(LabelLoss):
    """As `label`, every state with the same share of the sum, however often it occurs."""

    method = "balanced_accuracy"


class MeasureLoss(MethodSettings):
    """A measure of the counts of right and wrong segments of these labels (eq. 13–16)."""

    names = "labels"
    labels: tuple[str, ...] = ()


class FscoreLoss(MeasureLoss):
    """(γ² FN + FP) / ((γ² + 1) TP), least where the F-score is greatest (eq. 16)."""

    method = "fscore"


class PrecisionLoss(MeasureLoss):
    """FP / TP, least where precision is greatest."""

    method = "precision"


class RecallLoss(MeasureLoss):
    """FN / TP, least where recall is greatest."""

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
    """ℓ(d), d = how much better the best wrong labelling is than the right one (Suzuki 2006 eq. 5–16).

    psi: of the soft maximum over wrong labellings (eq. 7), inf for the maximum.   gamma: of `fscore`.
    normalise: whether the soft maximum is a mean (A = 1 / (|Y| − 1)).   measure: d on scores (eq. 7), or the
    difference of probabilities or the ratio of potentials of the appendix.
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
