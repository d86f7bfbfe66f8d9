"""Settings of optimizers. Which criteria and priors each can treat stands in `trainable`.

To add one: a class here, a line in `OPTIMIZERS`, lines in the tables of `trainable`, and the method itself in the
room of optimizers. `tolerance` is relative: of the gradient's norm to what it was at the start, or of the change of
the objective.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ...registry import Table
from .method_settings import MethodSettings

__all__ = [
    "OPTIMIZERS", "AutoOptimizer", "BcfwSettings", "CgSettings", "DualSettings", "GpdSettings", "IisSettings",
    "LbfgsSettings", "OnlineSettings", "OwlqnSettings", "QuickpropSettings", "SgdSettings", "StoppingSettings",
    "WorkingSetSettings",
]  # fmt: skip


class StoppingSettings(MethodSettings):
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


class CgSettings(StoppingSettings):
    """Nonlinear conjugate gradients by Polak and Ribière, with restarts."""

    method = "cg"


class OnlineSettings(MethodSettings):
    """Base of those that take a step after each sequence.

    `epochs`: passes over the data; `rate`: the first step size, by default the best one on a sample; `seed`: of the
    order of sequences, and of the sample.
    """

    epochs: int = Field(default=30, ge=1)
    rate: float | None = Field(default=None, gt=0)
    seed: int = Field(default=0, ge=0)


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
    mu: float = Field(default=1.75, gt=1)
    online: int = Field(default=10, ge=0)
    rate: float | None = Field(default=None, gt=0)
    seed: int = Field(default=0, ge=0)


class IisSettings(StoppingSettings):
    """Improved iterative scaling: `S` with a slack feature, `T` by the feature total of each sequence (Lafferty §4)."""

    method = "iis"
    algorithm: Literal["S", "T"] = "T"


class DualSettings(MethodSettings):
    """Base of those that climb the dual of a margin problem until the gap to the primal is closed.

    `max_iterations`: passes in which labellings are looked for.
    """

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
    memory: int = Field(default=20, ge=1, le=100)
    epochs: int = Field(default=3, ge=0)
    rate: float = Field(default=0.5, gt=0)
    seed: int = Field(default=0, ge=0)


OPTIMIZERS: Table[type[MethodSettings]] = Table(
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
