"""Settings of minimum classification error: the errors that a loss counts, and the functions that smooth the count.

Source: Suzuki, McDermott & Isozaki 2006. Not here: the computations (`criteria.mce`, `criteria.mce.measures`).
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from ...foundation import Table
from .method_settings import LEAST, LONGEST, CriterionSettings, MethodSettings, setting


class SmoothingSettings(MethodSettings):
    """Base of smooth counts ℓ(d) of errors."""

    alpha: float = setting(
        1.0, "α: the larger, the nearer the count is to 0 and 1", unit="per unit of score", ge=LEAST, le=LONGEST
    )
    beta: float | None = setting(
        None, "β: added to α d; by default 0, and −α where `measure = ratio`", ge=-LONGEST, le=LONGEST
    )


class SigmoidSmoothing(SmoothingSettings):
    """ℓ(d) = 1 / (1 + exp(−α d − β)): from 0 to 1, not convex."""

    method = "sigmoid"
    source = "Suzuki 2006, eq. 8"
    example = "train mce(loss = label(chunk), smoothing = sigmoid(alpha = 2))"


class LogisticSmoothing(SmoothingSettings):
    """ℓ(d) = log(1 + exp(α d + β)) / α: it grows with d without a bound."""

    method = "logistic"
    source = "Suzuki 2006, eq. 8"
    example = "train mce(smoothing = logistic(alpha = 2))"


class SequenceLoss(MethodSettings):
    """A whole sequence is right or wrong."""

    method = "sequence"
    source = "Suzuki 2006, eq. 10"
    example = "train mce(loss = sequence)"


class LabelLoss(MethodSettings):
    """Each position of these labels is right or wrong."""

    method = "label"
    source = "Suzuki 2006, eq. 14"
    example = "train mce(loss = label(chunk))"
    names = "labels"
    labels: tuple[str, ...] = setting((), "the labels that count, one or more")


class BalancedLoss(LabelLoss):
    """As `label`, every state with the same share of the sum, however often it occurs: this weighs rare classes up."""

    method = "balanced_accuracy"
    source = ""
    example = "train mce(loss = balanced_accuracy(chunk))"


class MeasureLoss(MethodSettings):
    """Base of measures of the counts of right and wrong segments."""

    source = "Suzuki 2006, eq. 13–16"
    names = "labels"
    labels: tuple[str, ...] = setting((), "the labels whose segments count, one or more")


class FscoreLoss(MeasureLoss):
    """(γ² FN + FP) / ((γ² + 1) TP) of segments, least where their F-score is greatest."""

    method = "fscore"
    example = "train mce(loss = fscore(chunk), gamma = 1)"


class PrecisionLoss(MeasureLoss):
    """FP / TP of segments, least where their precision is greatest."""

    method = "precision"
    example = "train mce(loss = precision(chunk))"


class RecallLoss(MeasureLoss):
    """FN / TP of segments, least where their recall is greatest."""

    method = "recall"
    example = "train mce(loss = recall(chunk))"


SMOOTHINGS: Table[type[SmoothingSettings]] = Table(
    "smoothing function", {s.method: s for s in (SigmoidSmoothing, LogisticSmoothing)}
)
LOSSES: Table[type[MethodSettings]] = Table(
    "loss",
    {s.method: s for s in (SequenceLoss, LabelLoss, BalancedLoss, FscoreLoss, PrecisionLoss, RecallLoss)},
    {"f1": "fscore", "segments": "fscore", "sentence_accuracy": "sequence", "accuracy": "label"},
)


class MceSettings(CriterionSettings):
    """Minimum classification error: a smooth count ℓ(d) of errors, where d is how much higher the best wrong labelling
    scores than the right one.
    """

    method = "mce"
    source = "Suzuki 2006, eq. 5–16"
    example = (
        "train likelihood as map\ntrain mce(loss = fscore(chunk)) as errors after map: prior = gaussian(variance = 1e5)"
    )
    offers = ("gradient", "sequences")
    margin = True
    methods = {"loss": LOSSES, "smoothing": SMOOTHINGS}
    loss: MethodSettings = setting(SequenceLoss(), "what is counted")
    psi: float = setting(
        math.inf, "ψ: the sharpness of the soft maximum (eq. 7), a sum over all wrong labellings of the sentence; "
        "where `loss` judges spans, over all wrong states of the span, each with the best labels around it, if one "
        "label is joined to its neighbours alone. At most 1e6, or `inf`, which is the maximum", ge=LEAST,
    )  # fmt: skip
    gamma: float = setting(1.0, "γ: the weight of recall in `fscore`", ge=LEAST, le=LONGEST)
    segments: Literal["conlleval", "literal"] = setting(
        "conlleval", "when a labelling has a segment of the gold one in `fscore`, `precision` and `recall`: if it also "
        "ends there, as evaluation counts (`conlleval`), or if its states are the same there, whatever follows "
        "(`literal`, eq. 15)",
    )  # fmt: skip
    smoothing: SmoothingSettings = setting(SigmoidSmoothing(), "what makes the count smooth")
    normalise: bool = setting(
        False, "whether the soft maximum is a mean over wrong labellings: A = 1 / (|Y| − 1) in eq. 7, or n / (|Y| − n) "
        "where n labellings agree with what is known of a sentence, so that d = 0 where all score the same",
    )  # fmt: skip
    measure: Literal["softmax", "difference", "ratio"] = setting(
        "softmax", "d of scores (`softmax`, eq. 7), or of the paper's appendix the `difference` of probabilities or "
        "the `ratio` of potentials",
    )  # fmt: skip

    @property
    def ease(self) -> float:
        """An error counts 1 at most, and in a ratio of counts one over their number. Times the variance of a
        likelihood, 10, these are the paper's C: 10³, and 10⁵ for the F-score.
        """
        return 1e4 if isinstance(self.loss, MeasureLoss) else 100.0

    @field_validator("psi")
    @classmethod
    def _not_too_sharp(cls, psi: float) -> float:
        if LONGEST < psi < math.inf:
            raise PydanticCustomError("too_sharp", "at most 1e6, or `inf`")
        return psi
