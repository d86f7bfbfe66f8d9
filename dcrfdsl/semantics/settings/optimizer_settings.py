"""Settings of optimizers: what each needs of a criterion, which penalties it treats, and its parameters.

To add one: a class here, a line in `OPTIMIZERS`, and the method itself in the room `optimizers`. `tolerance` is
relative: the norm of the gradient over that at the start, or the relative change of the objective.
"""

from typing import Literal

from .method_settings import LARGEST, LEAST, LONGEST, OptimizerSettings, Shape, methods_of, setting

SINGLE: tuple[Shape, ...] = ("none", "quadratic", "smooth", "corner")
EVERY_SHAPE: tuple[Shape, ...] = (*SINGLE, "groups")
QUADRATIC: tuple[Shape, ...] = ("none", "quadratic")
NO_PENALTY: tuple[Shape, ...] = ("none",)


class StoppingSettings(OptimizerSettings):
    """Base of those that take the gradient of all data in each iteration. They stop where ‖g‖/‖g₀‖ ≤ `tolerance` and
    the objective has come to rest as well, unless a bound shows that it may be far from the optimum, and after
    `max_iterations`.
    """

    tolerance: float = setting(1e-5, unit="relative", gt=0, lt=1)
    max_iterations: int = setting(1000, unit="iterations", ge=1)


class LbfgsSettings(StoppingSettings):
    method = "lbfgs"
    memory: int = setting(7, unit="pairs", ge=1, le=100)


class OwlqnSettings(LbfgsSettings):
    method = "owlqn"
    treats = SINGLE


class ProximalSettings(LbfgsSettings):
    method = "proximal"
    treats = EVERY_SHAPE


class CgSettings(StoppingSettings):
    method = "cg"


class OnlineSettings(OptimizerSettings):
    """Base of those that take a step after each sequence."""

    needs = "sequences"
    treats = QUADRATIC
    epochs: int = setting(30, unit="passes", ge=1)
    rate: float | None = setting(None, ge=LEAST, le=LARGEST)
    seed: int = setting(0, ge=0)

    @property
    def passes(self) -> tuple[int, int]:
        return max(1, self.epochs // 2), self.epochs


class SgdSettings(OnlineSettings):
    method = "sgd"
    tolerance: float = setting(1e-4, unit="relative", gt=0, lt=1)


class GpdSettings(OnlineSettings):
    method = "gpd"


class QuickpropSettings(StoppingSettings):
    method = "quickprop"
    needs = "sequences"
    treats = QUADRATIC
    mu: float = setting(1.75, unit="factor", gt=1, le=LONGEST)
    online: int = setting(10, unit="passes", ge=0)
    rate: float | None = setting(None, ge=LEAST, le=LARGEST)
    seed: int = setting(0, ge=0)


class IisSettings(StoppingSettings):
    method = "iis"
    needs = "counts"
    treats = NO_PENALTY
    algorithm: Literal["S", "T"] = "T"


class DualSettings(OptimizerSettings):
    """Base of those that climb the dual of a margin problem until the gap to the primal is closed."""

    needs = "margins"
    treats = NO_PENALTY
    max_iterations: int = setting(1000, unit="passes", ge=1)


class WorkingSetSettings(DualSettings):
    method = "working_set"
    sweeps: int = setting(10, unit="sweeps", ge=0)


class BcfwSettings(DualSettings):
    method = "bcfw"
    average: bool = True
    seed: int = setting(0, ge=0)


class AutoOptimizer(StoppingSettings):
    method = "auto"
    needs = None
    treats = EVERY_SHAPE
    memory: int | None = setting(None, unit="pairs", ge=1, le=100)
    epochs: int = setting(3, unit="passes", ge=0)
    rate: float = setting(0.5, unit="weight", ge=LEAST, le=LARGEST)
    seed: int = setting(0, ge=0)


OPTIMIZERS = methods_of(
    "optimizer", AutoOptimizer, LbfgsSettings, OwlqnSettings, ProximalSettings, CgSettings, SgdSettings,
    GpdSettings, QuickpropSettings, IisSettings, WorkingSetSettings, BcfwSettings,
)  # fmt: skip
