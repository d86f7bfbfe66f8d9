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
from .method_settings import LARGEST, LEAST, LONGEST, CriterionSettings, MethodSettings, setting


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


# `hmsvm` --------------------------------------------------------------------------------------------------------------


class KernelSettings(MethodSettings):
    """How alike two positions are, by the features of a clique there: Φ(x)·Φ(x') in a space of its own."""


class LinearKernel(KernelSettings):
    """φ(x)·φ(x'): the same model as without a kernel, by its dual."""

    method = "linear"
    example = "train hmsvm: kernel.words = linear"


class PolyKernel(KernelSettings):
    """(scale φ(x)·φ(x') + constant)^degree."""

    method = "poly"
    source = "Altun & Hofmann 2003, §5"
    example = "train hmsvm: kernel.words = poly(degree = 2)"
    degree: int = setting(2, "the power", ge=1, le=20)
    scale: float = setting(1.0, "the factor of φ(x)·φ(x')", ge=LEAST, le=LONGEST)
    constant: float = setting(1.0, "what is added before the power is taken", ge=0, le=LONGEST)


class RbfKernel(KernelSettings):
    """exp(−gamma ‖φ(x) − φ(x')‖²)."""

    method = "rbf"
    example = "train hmsvm: kernel.words = rbf(gamma = 0.05)"
    gamma: float = setting(
        0.1, "how fast likeness falls with the distance", unit="per squared distance", ge=LEAST, le=LARGEST
    )


class ZeroOneLoss(MethodSettings):
    """Every wrong labelling costs 1."""

    method = "zero_one"
    source = "Altun & Hofmann 2003, §5"
    example = "train hmsvm(loss = zero_one)"


class CostSettings(MethodSettings):
    """Base of what wrong labels cost, a sum over their places."""

    scale: float = setting(1.0, "what all of it is multiplied by", unit="times", ge=0, le=LONGEST)


class HammingLoss(CostSettings):
    """A wrong labelling costs as much as it has wrong states."""

    method = "hamming"
    source = "margin rescaling, Taskar et al. 2003; softmax-margin, Gimpel & Smith 2010"
    example = "train hmsvm(loss = hamming(chunk))"
    names = "labels"
    labels: tuple[str, ...] = setting((), "the labels that count; by default all")


class CostLoss(CostSettings):
    """A wrong labelling costs the sum over its wrong states: texts `"GOLD PREDICTED NUMBER"` for some pairs of states,
    `*` for any state. Of several texts for a pair the last one holds.
    """

    method = "cost"
    source = "margin rescaling, Tsochantaridis et al. 2005; softmax-margin, Gimpel & Smith 2010"
    example = 'train hmsvm(loss = cost(chunk, "B-NP O 3", "* I-NP 0.5", others = 1))'
    names = "labels"
    texts = "costs"
    labels: tuple[str, ...] = setting((), "the label")
    costs: tuple[str, ...] = setting(
        (), "texts of a gold state, a predicted state and what the pair costs, from 0 to 1e6"
    )
    others: float = setting(1.0, "what other wrong states cost", unit="per state", ge=0, le=LONGEST)


class SegmentsLoss(CostSettings):
    """A wrong labelling costs something for each gold segment that it does not have, and for each of its segments that
    is not a gold one: missed · FN + false · FP. A segment with a wrong end, or of a wrong type, costs both. Needs
    `exact`.
    """

    method = "segments"
    source = "margin rescaling, Tsochantaridis et al. 2005; counts of Suzuki 2006, §4"
    example = "train hmsvm(loss = segments(chunk))"
    names = "labels"
    labels: tuple[str, ...] = setting((), "the labels whose segments count, one or more")
    missed: float = setting(1.0, "what a gold segment costs that is missed", unit="per segment", ge=0, le=LONGEST)
    false: float = setting(1.0, "what a false segment costs", unit="per segment", ge=0, le=LONGEST)


_COST = "cost of wrong labels"
COST_PARTS: Table[type[MethodSettings]] = Table(
    _COST, {s.method: s for s in (HammingLoss, CostLoss, SegmentsLoss)}, {"label": "hamming", "fscore": "segments"}
)


class SumLoss(CostSettings):
    """The sum of several costs, as of several labels."""

    method = "sum"
    example = "train hmsvm(loss = sum(hamming(chunk), segments(chunk)))"
    names = "costs"
    methods = {"costs": COST_PARTS}
    costs: tuple[CostSettings, ...] = setting((), "the costs that are added")


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


KERNELS: Table[type[MethodSettings]] = Table(
    "observation kernel",
    {s.method: s for s in (LinearKernel, PolyKernel, RbfKernel)},
    {"polynomial": "poly", "gaussian": "rbf", "gauss": "rbf"},
)
MARGIN_LOSSES: Table[type[MethodSettings]] = Table(
    _COST,
    {ZeroOneLoss.method: ZeroOneLoss, **COSTS},
    {"label": "hamming", "sequence": "zero_one", "zero-one": "zero_one"},
)


class HmsvmSettings(CriterionSettings):
    """The hidden Markov support vector machine: ½ ‖λ‖² + C Σ ξ, where (g(y*) − g(y)) / 2 ≥ loss(y) − ξ for all wrong
    labellings y.

    `kernel.CLIQUE` replaces the features of a clique by an observation kernel: see `TrainSettings.clique_kernels`.
    """

    method = "hmsvm"
    source = "Altun & Hofmann 2003, §5"
    example = "train hmsvm(C = 1, loss = hamming)"
    offers = ("margins",)
    takes_prior = False
    margin = True
    methods = {"loss": MARGIN_LOSSES}
    idle_beside = dict.fromkeys(("most", "weight"), ("slack", "sequence"))
    C: float = setting(
        1.0, "the weight of the slacks: the larger, the fewer errors on the training data", ge=LEAST, le=1e9
    )
    slack: Literal["sequence", "labelling"] = setting(
        "sequence", "a slack ξ for each `sequence` (SVM1), or for each wrong `labelling` (SVM2)"
    )
    loss: MethodSettings = setting(ZeroOneLoss(), "what a wrong labelling costs")
    most: int = setting(
        100, "under `slack = labelling`, how many labellings of a sequence are looked at", unit="labellings", ge=1
    )
    weight: float = setting(
        1.0, "under `slack = labelling`, a sequence's slacks count this number to the power of its number of labels",
        gt=0, le=1,
    )  # fmt: skip
    tolerance: float = setting(
        1e-4, "it has converged where the duality gap is below this share of the objective", unit="relative", gt=0, lt=1
    )
