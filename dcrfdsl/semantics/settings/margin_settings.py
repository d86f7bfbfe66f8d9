"""Settings of margin methods: the hidden Markov SVM, its losses and its observation kernels.

Source: Altun & Hofmann 2003 §5. Not here: the computations (`criteria.margin`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ...errors import Table
from .method_settings import CriterionSettings, MethodSettings

__all__ = [
    "KERNELS", "MARGIN_LOSSES", "HammingLoss", "HmsvmSettings", "KernelSettings", "LinearKernel", "PolyKernel",
    "RbfKernel", "ZeroOneLoss",
]  # fmt: skip


class KernelSettings(MethodSettings):
    """Base of observation kernels: the similarity k(x, x') of two positions by the features φ of a clique there."""


class LinearKernel(KernelSettings):
    """φ(x)·φ(x'): the same model as without a kernel, in dual form."""

    method = "linear"


class PolyKernel(KernelSettings):
    """(scale φ(x)·φ(x') + constant)^degree."""

    method = "poly"
    degree: int = Field(default=2, ge=1, le=20)
    scale: float = Field(default=1.0, gt=0)
    constant: float = Field(default=1.0, ge=0)


class RbfKernel(KernelSettings):
    """exp(−gamma ‖φ(x) − φ(x')‖²)."""

    method = "rbf"
    gamma: float = Field(default=0.1, gt=0)


class ZeroOneLoss(MethodSettings):
    """The loss of every wrong labelling is 1."""

    method = "zero_one"


class HammingLoss(MethodSettings):
    """The loss of a labelling is its number of wrong states of `labels` (default: all labels)."""

    method = "hamming"
    names = "labels"
    labels: tuple[str, ...] = ()


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
    """½ ‖λ‖² + C Σ ξ subject to (g(y*) − g(y)) / 2 ≥ loss(y) − ξ for all wrong labellings y (Altun & Hofmann 2003 §5).

    slack: one ξ per sequence (SVM1), or one per labelling (SVM2).   most, weight: with one ξ per labelling, the number
    of labellings that are kept for each sequence, and the base π of their weight π^(number of labels).   tolerance: of
    the duality gap, relative to the objective.   `kernel.CLIQUE` replaces the features of a clique by an observation
    kernel: see `TrainSettings.clique_kernels`.
    """

    method = "hmsvm"
    offers = ("margins",)
    takes_prior = False
    margin = True
    methods = {"loss": MARGIN_LOSSES}
    C: float = Field(default=1.0, gt=0, le=1e9)
    slack: Literal["sequence", "labelling"] = "sequence"
    loss: MethodSettings = ZeroOneLoss()
    most: int = Field(default=100, ge=1)
    weight: float = Field(default=1.0, gt=0, le=1)
    tolerance: float = Field(default=1e-4, gt=0, lt=1)
