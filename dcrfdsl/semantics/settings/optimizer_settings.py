"""Settings of optimizers: what each needs of a criterion, which penalties it treats, and its parameters.

To add one: a class here, a line in `OPTIMIZERS`, and the method itself in the room `optimizers`. `tolerance` is
relative: the norm of the gradient over that at the start, or the relative change of the objective.
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
    """Base of optimizers that use the gradient of all data in each iteration. They stop once ‖g‖/‖g₀‖ ≤ `tolerance` and
    the objective has stopped falling, or after `max_iterations`.
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
    """Base of optimizers that take a step after each sequence.

    `epochs`: passes over the data; `rate`: the first step size, by default the best one on a sample; `seed`: draws the
    order of the sequences, and the sample.
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
    """Stochastic gradient descent; stops when a pass changes the objective by at most `tolerance`, relatively."""

    method = "sgd"
    tolerance: float = Field(default=1e-4, gt=0, lt=1)


class GpdSettings(OnlineSettings):
    """Generalised probabilistic descent: one step per sequence; the step size falls linearly to 0 over all `epochs`."""

    method = "gpd"


class QuickpropSettings(StoppingSettings):
    """Quickprop: a secant step for each weight, at most `mu` times the previous one (Fahlman 1988).

    `online`: the number of passes by `gpd` before it; `rate` and `seed` belong to these passes.
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
    """Base of optimizers that maximise the dual of a margin problem until the gap to the primal is closed.

    `max_iterations`: passes that search for violated labellings.
    """

    needs = "margins"
    treats = NO_PENALTY
    max_iterations: int = Field(default=1000, ge=1)


class WorkingSetSettings(DualSettings):
    """Keeps the labellings that violated the margin, and solves for them (Altun & Hofmann 2003, Algorithm 1).

    `sweeps`: the largest number of sweeps over the kept labellings after each pass.
    """

    method = "working_set"
    sweeps: int = Field(default=10, ge=0)


class BcfwSettings(DualSettings):
    """Block-coordinate Frank–Wolfe: one step per sequence towards the labelling that violates the margin most
    (Lacoste-Julien et al. 2013).

    `average`: whether to keep the mean of the iterates if its objective is lower; `seed`: draws the order of sequences.
    """

    method = "bcfw"
    average: bool = True
    seed: int = Field(default=0, ge=0)


class AutoOptimizer(LbfgsSettings):
    """Chooses the optimizer: OWL-QN for a penalty with a corner, else L-BFGS; AdaGrad on batches of sentences goes
    before L-BFGS if that helps.

    `memory` is that of L-BFGS. `epochs`: passes of AdaGrad over the data; `rate`: about how far a weight moves in its
    first step; `seed`: draws the order of the batches.
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
