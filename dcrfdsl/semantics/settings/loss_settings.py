"""Settings of `mce` and `hmsvm`: the errors that their losses count, smoothing functions, observation kernels.

Costs of wrong labels are those of `hmsvm` and of the likelihood. Sources: Suzuki, McDermott & Isozaki 2006 (minimum
classification error); Altun & Hofmann 2003 §5 (the hidden Markov SVM). Not here: the computations (`criteria.mce`,
`criteria.label_costs`, `criteria.margin_objective`).
"""

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from ...foundation import Table
from .method_settings import LARGEST, LEAST, LONGEST, CriterionSettings, MethodSettings, methods_of, setting


class SmoothingSettings(MethodSettings):
    """Base of smooth counts ℓ(d) of errors."""

    alpha: float = setting(1.0, unit="per unit of score", ge=LEAST, le=LONGEST)
    beta: float | None = setting(None, ge=-LONGEST, le=LONGEST)


class SigmoidSmoothing(SmoothingSettings):
    method = "sigmoid"


class LogisticSmoothing(SmoothingSettings):
    method = "logistic"


class SequenceLoss(MethodSettings):
    method = "sequence"


class LabelLoss(MethodSettings):
    method = "label"
    names = "labels"
    labels: tuple[str, ...] = ()


class BalancedLoss(LabelLoss):
    method = "balanced_accuracy"


class MeasureLoss(MethodSettings):
    """Base of measures of the counts of right and wrong segments."""

    names = "labels"
    labels: tuple[str, ...] = ()


class FscoreLoss(MeasureLoss):
    method = "fscore"


class PrecisionLoss(MeasureLoss):
    method = "precision"


class RecallLoss(MeasureLoss):
    method = "recall"


SMOOTHINGS = methods_of("smoothing function", SigmoidSmoothing, LogisticSmoothing)
LOSSES = methods_of("loss", SequenceLoss, LabelLoss, BalancedLoss, FscoreLoss, PrecisionLoss, RecallLoss)


class MceSettings(CriterionSettings):
    method = "mce"
    offers = ("gradient", "sequences")
    margin = True
    methods = {"loss": LOSSES, "smoothing": SMOOTHINGS}
    loss: MethodSettings = SequenceLoss()
    psi: float = setting(math.inf, ge=LEAST)
    gamma: float = setting(1.0, ge=LEAST, le=LONGEST)
    segments: Literal["conlleval", "literal"] = "conlleval"
    smoothing: SmoothingSettings = SigmoidSmoothing()
    normalise: bool = False
    measure: Literal["softmax", "difference", "ratio"] = "softmax"

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


# `hmsvm` --------------------------------------------------------------------------------------------------------------


class KernelSettings(MethodSettings):
    """How alike two positions are, by the features of a clique there: Φ(x)·Φ(x') in a space of its own."""


class LinearKernel(KernelSettings):
    method = "linear"


class PolyKernel(KernelSettings):
    method = "poly"
    degree: int = setting(2, ge=1, le=20)
    scale: float = setting(1.0, ge=LEAST, le=LONGEST)
    constant: float = setting(1.0, ge=0, le=LONGEST)


class RbfKernel(KernelSettings):
    method = "rbf"
    gamma: float = setting(0.1, unit="per squared distance", ge=LEAST, le=LARGEST)


class ZeroOneLoss(MethodSettings):
    method = "zero_one"


class CostSettings(MethodSettings):
    """Base of what wrong labels cost, a sum over their places."""

    scale: float = setting(1.0, unit="times", ge=0, le=LONGEST)


class HammingLoss(CostSettings):
    method = "hamming"
    names = "labels"
    labels: tuple[str, ...] = ()


class CostLoss(CostSettings):
    method = "cost"
    names = "labels"
    texts = "costs"
    labels: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    others: float = setting(1.0, unit="per state", ge=0, le=LONGEST)


class SegmentsLoss(CostSettings):
    method = "segments"
    names = "labels"
    labels: tuple[str, ...] = ()
    missed: float = setting(1.0, unit="per segment", ge=0, le=LONGEST)
    false: float = setting(1.0, unit="per segment", ge=0, le=LONGEST)


_COST = "cost of wrong labels"
COST_PARTS: Table[type[MethodSettings]] = Table(
    _COST, {s.method: s for s in (HammingLoss, CostLoss, SegmentsLoss)}, {"label": "hamming", "fscore": "segments"}
)


class SumLoss(CostSettings):
    method = "sum"
    names = "costs"
    methods = {"costs": COST_PARTS}
    costs: tuple[CostSettings, ...] = ()


COSTS: Table[type[MethodSettings]] = Table(
    _COST, {**COST_PARTS, SumLoss.method: SumLoss}, {"label": "hamming", "fscore": "segments"}
)


def cost_parts(cost: MethodSettings | None) -> tuple[CostSettings, ...]:
    """The costs that make up one, each by itself; nothing of a loss that is no sum over places."""
    if isinstance(cost, SumLoss):
        return cost.costs
    return (cost,) if isinstance(cost, CostSettings) else ()


def state_costs(settings: CostLoss, states: Sequence[str]) -> list[list[float]]:
    """What each predicted state costs for each gold state; 0 for the gold state itself.

    ValueError, with the text, where a text is no pair of states and a number.
    """
    number = {state: n for n, state in enumerate(states)}
    table = [[0.0 if n == m else settings.others for m in range(len(states))] for n in range(len(states))]
    for text in settings.costs:
        try:
            gold, predicted, written = text.split()
            cost = float(written)
        except ValueError:
            raise ValueError(text) from None
        if not 0.0 <= cost <= LONGEST or any(s != "*" and s not in number for s in (gold, predicted)):
            raise ValueError(text)
        if gold == predicted != "*":
            raise ValueError(text)
        for n in range(len(states)) if gold == "*" else [number[gold]]:
            for m in range(len(states)) if predicted == "*" else [number[predicted]]:
                table[n][m] = 0.0 if n == m else cost
    return table


KERNELS = methods_of("observation kernel", LinearKernel, PolyKernel, RbfKernel)
MARGIN_LOSSES: Table[type[MethodSettings]] = Table(
    _COST,
    {ZeroOneLoss.method: ZeroOneLoss, **COSTS},
    {"label": "hamming", "sequence": "zero_one", "zero-one": "zero_one"},
)


class HmsvmSettings(CriterionSettings):
    """`kernel.CLIQUE` has a kernel in place of a clique's features: see `TrainSettings.clique_kernels`."""

    method = "hmsvm"
    offers = ("margins",)
    takes_prior = False
    margin = True
    methods = {"loss": MARGIN_LOSSES}
    idle_beside = dict.fromkeys(("most", "weight"), ("slack", "sequence"))
    C: float = setting(1.0, ge=LEAST, le=1e9)
    slack: Literal["sequence", "labelling"] = "sequence"
    loss: MethodSettings = ZeroOneLoss()
    most: int = setting(100, unit="labellings", ge=1)
    weight: float = setting(1.0, gt=0, le=1)
    tolerance: float = setting(1e-4, unit="relative", gt=0, lt=1)
