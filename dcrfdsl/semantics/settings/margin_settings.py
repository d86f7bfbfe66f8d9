"""Settings of margin methods: the hidden Markov SVM, its losses and its observation kernels.

Source: Altun & Hofmann 2003 §5. Not here: the computations (`criteria.margin`).
"""

from __future__ import annotations

from typing import Literal

from ...foundation import Table
from .method_settings import CriterionSettings, MethodSettings, setting

__all__ = [
    "KERNELS", "MARGIN_LOSSES", "HammingLoss", "HmsvmSettings", "KernelSettings", "LinearKernel", "PolyKernel",
    "RbfKernel", "ZeroOneLoss",
]  # fmt: skip


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
    scale: float = setting(1.0, "the factor of φ(x)·φ(x')", gt=0)
    constant: float = setting(1.0, "what is added before the power is taken", ge=0)


class RbfKernel(KernelSettings):
    """exp(−gamma ‖φ(x) − φ(x')‖²)."""

    method = "rbf"
    example = "train hmsvm: kernel.words = rbf(gamma = 0.05)"
    gamma: float = setting(0.1, "how fast likeness falls with the distance", unit="per squared distance", gt=0)


class ZeroOneLoss(MethodSettings):
    """Every wrong labelling costs 1."""

    method = "zero_one"
    source = "Altun & Hofmann 2003, §5"
    example = "train hmsvm(loss = zero_one)"


class HammingLoss(MethodSettings):
    """A wrong labelling costs as much as it has wrong states."""

    method = "hamming"
    example = "train hmsvm(loss = hamming(chunk))"
    names = "labels"
    labels: tuple[str, ...] = setting((), "the labels that count; by default all")


KERNELS: Table[type[MethodSettings]] = Table(
    "observation kernel",
    {s.method: s for s in (LinearKernel, PolyKernel, RbfKernel)},
    {"polynomial": "poly", "gaussian": "rbf", "gauss": "rbf"},
)
MARGIN_LOSSES: Table[type[MethodSettings]] = Table(
    "loss of a margin",
    {s.method: s for s in (ZeroOneLoss, HammingLoss)},
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
    C: float = setting(1.0, "the weight of the slacks: the larger, the fewer errors on the training data", gt=0, le=1e9)
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
