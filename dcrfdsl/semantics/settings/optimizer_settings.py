"""Settings of optimizers: what each needs of a criterion, which penalties it treats, and its numbers.

To add one: a class here and a line in `OPTIMIZERS`, and the method itself in the room of optimizers. `tolerance` is
relative: of the gradient's norm to what it was at the start, or of the change of the objective.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ...errors import Table
from .method_settings import OptimizerSettings, Shape

__all__ = [
    "OPTIMIZERS", "AutoOptimizer", "BcfwSettings", "CgSettings", "DualSettings", "GpdSettings", "IisSettings",
    "LbfgsSettings", "OnlineSettings", "OwlqnSettings", "QuickpropSettings", "SgdSettings", "StoppingSettings",
    "WorkingSetSettings",
]  # fmt: skip

EVERY_SHAPE: tuple[Shape, ...] = ("none", "quadratic", "smooth", "corner")
QUADRATIC: tuple[Shape, ...] = ("none", "quadratic")
NO_PENALTY: tuple[Shape, ...] = ("none",)


class StoppingSettings(OptimizerSettings):
    """Base of those that take the gradient of all data in each iteration. They stop at ‖g‖/‖g₀‖ < `tolerance`, where
    the objective has come to rest as well, and after `max_iterations`.
    """

    tolerance: float = Field(default=1e-5, gt=0, lt=1)
    max_iterations: int = Field(default=1000, ge=1)


class LbfgsSettings(StoppingSettings):
    """Limited-memory BFGS; `memory` is the number of pairs that it remembers."""

    method = "lbfgs"
    memory: int = Field(default=7, ge=1, le=100)


class OwlqnSettings(LbfgsSettings):
    """Orthant-wise limited-memory quasi-Newton, for penalties with a corner at zero (Andrew & Gao 2007)."""

    method = "owlqn"
    treats = EVERY_SHAPE


class CgSettings(StoppingSettings):
    """Nonlinear conjugate gradients by Polak and Ribière, with restarts."""

    method = "cg"


class OnlineSettings(OptimizerSettings):
    """Base of those that take a step after each sequence.

    `epochs`: passes over the data; `rate`: the first step size, by default the best one on a sample; `seed`: of the
    order of sequences, and of the sample.
    """

    needs = "sequences"
    treats = QUADRATIC
    epochs: int = Field(default=30, ge=1)
    rate: float | None = Field(default=None, gt=0)
    seed: int = Field(default=0, ge=0)

    @property
    def passes(self) -> tuple[int, int]:
        return max(1, self.epochs // 2), self.epochs


class SgdSettings(OnlineSettings):
    """Stochastic gradient descent; ends where a pass changes the objective by less than `tolerance`, relatively."""

    method = "sgd"
    tolerance: float = Field(default=1e-4, gt=0, lt=1)


class GpdSettings(OnlineSettings):
    """Generalised probabilistic descent: a step a sequence, whose size falls linearly to 0 over all `epochs`."""

    method = "gpd"


class QuickpropSettings(StoppingSettings):
    """Quickprop: a secant of its own for each weight, growing by `mu` at most (Fahlman 1988).

    `online`: passes by `gpd` before; `rate` and `seed` are of these.
    """

    method = "quickprop"
    needs = "sequences"
    treats = QUADRATIC
    mu: float = Field(default=1.75, gt=1)
    online: int = Field(default=10, ge=0)
    rate: float | None = Field(default=None, gt=0)
    seed: int = Field(default=0, ge=0)


class IisSettings(StoppingSettings):
    """Improved iterative scaling: `S` with a slack feature, `T` by the feature total of each sequence (Lafferty §4)."""

    method = "iis"
    needs = "counts"
    treats = NO_PENALTY
    algorithm: Literal["S", "T"] = "T"


class DualSettings(OptimizerSettings):
    """Base of those that climb the dual of a margin problem until the gap to the primal is closed.

    `max_iterations`: passes in which labellings are looked for.
    """

    needs = "margins"
    treats = NO_PENALTY
    max_iterations: int = Field(default=1000, ge=1)


class WorkingSetSettings(DualSettings):
    """Keeps the labellings that were violated, and solves for them (Altun & Hofmann 2003, Algorithm 1).

    `sweeps`: at most so many over what is kept, after each pass.
    """

    method = "working_set"
    sweeps: int = Field(default=10, ge=0)


class BcfwSettings(DualSettings):
    """Block-coordinate Frank–Wolfe: a step a sequence towards the labelling violated most (Lacoste-Julien et al. 2013).

    `average`: whether the mean of the weights on the way is kept where its objective is lower; `seed`: of the order.
    """

    method = "bcfw"
    average: bool = True
    seed: int = Field(default=0, ge=0)


class AutoOptimizer(LbfgsSettings):
    """The optimizer that fits: OWL-QN for a penalty with a corner, else L-BFGS, where it helps after a start by AdaGrad
    on batches of sentences.

    `memory` is that of L-BFGS. `epochs`: passes of the start over the data, `rate`: about how far a weight moves in its
    first step, `seed`: of the order of batches.
    """

    method = "auto"
    needs = None
    treats = EVERY_SHAPE
    memory: int = Field(default=20, ge=1, le=100)
    epochs: int = Field(default=3, ge=0)
    rate: float = Field(default=0.5, gt=0)
    seed: int = Field(default=0, ge=0)


OPTIMIZERS: Table[type[OptimizerSettings]] = Table(
    "optimizer",
    {
        s.method: s
        for s in (
            AutoOptimizer, LbfgsSettings, OwlqnSettings, CgSettings, SgdSettings, GpdSettings, QuickpropSettings,
            IisSettings, WorkingSetSettings, BcfwSettings,
        )
    },
    {"l-bfgs": "lbfgs", "bfgs": "lbfgs", "gis": "iis", "owl-qn": "owlqn", "fahlman": "quickprop", "sag": "sgd",
     "frank_wolfe": "bcfw"},
)  # fmt: skip
