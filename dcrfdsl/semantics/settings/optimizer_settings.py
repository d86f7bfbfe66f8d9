"""Settings of optimizers: what each needs of a criterion, which penalties it treats, and its parameters.

To add one: a class here, a line in `OPTIMIZERS`, and the method itself in the room `optimizers`. `tolerance` is
relative: the norm of the gradient over that at the start, or the relative change of the objective.
"""

from typing import Literal

from ...foundation import Table
from .method_settings import LARGEST, LEAST, LONGEST, OptimizerSettings, Shape, setting

SINGLE: tuple[Shape, ...] = ("none", "quadratic", "smooth", "corner")
EVERY_SHAPE: tuple[Shape, ...] = (*SINGLE, "groups")
QUADRATIC: tuple[Shape, ...] = ("none", "quadratic")
NO_PENALTY: tuple[Shape, ...] = ("none",)


class StoppingSettings(OptimizerSettings):
    """Base of those that take the gradient of all data in each iteration. They stop where ‖g‖/‖g₀‖ ≤ `tolerance` and
    the objective has come to rest as well, unless a bound shows that it may be far from the optimum, and after
    `max_iterations`.
    """

    tolerance: float = setting(
        1e-5, "it stops, converged, where the gradient's norm is at most this share of its norm at the start, and the "
        "objective fell by less than half of it, relatively, over ten iterations", unit="relative", gt=0, lt=1,
    )  # fmt: skip
    max_iterations: int = setting(1000, "it stops after so many iterations, converged or not", unit="iterations", ge=1)


class LbfgsSettings(StoppingSettings):
    """Limited-memory BFGS: quasi-Newton steps from the last gradients. What `auto` takes for smooth objectives."""

    method = "lbfgs"
    source = "Nocedal & Wright 2006, algorithm 7.4 and eq. 7.20"
    example = "train likelihood: optimizer = lbfgs(max_iterations = 200)"
    memory: int = setting(
        7, "how many of the last steps and changes of the gradient it keeps", unit="pairs", ge=1, le=100
    )


class OwlqnSettings(LbfgsSettings):
    """Orthant-wise limited-memory quasi-Newton, for penalties with a corner at zero, such as `laplace`."""

    method = "owlqn"
    source = "Andrew & Gao 2007"
    example = "train likelihood: prior = laplace(scale = 1), optimizer = owlqn"
    treats = SINGLE


class ProximalSettings(LbfgsSettings):
    """Proximal quasi-Newton, for penalties with a corner where single weights or whole groups are zero, such as
    `group_lasso`.
    """

    method = "proximal"
    source = "Lee, Sun & Saunders 2014"
    example = "train likelihood: prior = group_lasso(strength = 1), optimizer = proximal"
    treats = EVERY_SHAPE


class CgSettings(StoppingSettings):
    """Nonlinear conjugate gradients by Polak and Ribière, with restarts."""

    method = "cg"
    source = "Nocedal & Wright 2006, §5.2"
    example = "train likelihood: optimizer = cg"


class OnlineSettings(OptimizerSettings):
    """Base of those that take a step after each sequence."""

    needs = "sequences"
    treats = QUADRATIC
    epochs: int = setting(30, "passes over the data, at most", unit="passes", ge=1)
    rate: float | None = setting(
        None, "the first step size; by default the best one on a sample of the data", ge=LEAST, le=LARGEST
    )
    seed: int = setting(0, "draws the order of the sequences, and the sample on which the rate is chosen", ge=0)

    @property
    def passes(self) -> tuple[int, int]:
        return max(1, self.epochs // 2), self.epochs


class SgdSettings(OnlineSettings):
    """Stochastic gradient descent: a step after each sequence."""

    method = "sgd"
    example = "train likelihood: optimizer = sgd(epochs = 10, seed = 1)"
    tolerance: float = setting(
        1e-4, "it ends where a pass over the data changes the objective by at most this share", unit="relative", gt=0,
        lt=1,
    )  # fmt: skip


class GpdSettings(OnlineSettings):
    """Generalised probabilistic descent: a step a sequence, whose size falls linearly to 0 over all `epochs`."""

    method = "gpd"
    source = "Juang & Katagiri 1992"
    example = "train mce(loss = label(chunk)): optimizer = gpd(epochs = 10)"


class QuickpropSettings(StoppingSettings):
    """Quickprop: a secant for each weight by itself, after some passes by `gpd`."""

    method = "quickprop"
    source = "Fahlman 1988"
    example = "train mce(loss = label(chunk)): optimizer = quickprop(online = 5)"
    needs = "sequences"
    treats = QUADRATIC
    mu: float = setting(
        1.75, "a step of a weight is at most so many times the one before", unit="factor", gt=1, le=LONGEST
    )
    online: int = setting(10, "passes by `gpd` before the first secant", unit="passes", ge=0)
    rate: float | None = setting(
        None, "the first step size of these passes; by default the best one on a sample", ge=LEAST, le=LARGEST
    )
    seed: int = setting(0, "draws the order of the sequences in these passes", ge=0)


class IisSettings(StoppingSettings):
    """Improved iterative scaling: each weight takes the step that a bound of the likelihood allows."""

    method = "iis"
    source = "Lafferty 2001, §4, algorithms S and T"
    example = "train likelihood: prior = none, optimizer = iis(algorithm = T)"
    needs = "counts"
    treats = NO_PENALTY
    algorithm: Literal["S", "T"] = setting(
        "T", "`S` adds a slack feature; `T` goes by the number of features of each sequence, and takes larger steps"
    )


class DualSettings(OptimizerSettings):
    """Base of those that climb the dual of a margin problem until the gap to the primal is closed."""

    needs = "margins"
    treats = NO_PENALTY
    max_iterations: int = setting(
        1000, "passes in which the labelling that violates the margin most is looked for, at most", unit="passes", ge=1
    )


class WorkingSetSettings(DualSettings):
    """Keeps the labellings that violated their margin, and solves the problem of these."""

    method = "working_set"
    source = "Altun & Hofmann 2003, Algorithm 1"
    example = "train hmsvm(C = 1): optimizer = working_set"
    sweeps: int = setting(10, "sweeps over the labellings that are kept, after each pass, at most", unit="sweeps", ge=0)


class BcfwSettings(DualSettings):
    """Block-coordinate Frank–Wolfe: a step a sequence towards the labelling that violates its margin most."""

    method = "bcfw"
    source = "Lacoste-Julien et al. 2013"
    example = "train hmsvm(C = 1): optimizer = bcfw(seed = 1)"
    average: bool = setting(True, "keeps the mean of the weights on the way, where its objective is lower")
    seed: int = setting(0, "draws the order of the sequences", ge=0)


class AutoOptimizer(LbfgsSettings):
    """The optimizer that fits: OWL-QN for a penalty with a corner, `proximal` for one of groups, else L-BFGS, where it
    helps after a start by AdaGrad on batches of sentences.
    """

    method = "auto"
    example = "train likelihood: optimizer = auto(tolerance = 1e-6)"
    needs = None
    treats = EVERY_SHAPE
    memory: int = setting(
        20, "how many of the last steps and changes of the gradient L-BFGS keeps", unit="pairs", ge=1, le=100
    )
    epochs: int = setting(
        3, "passes over the data of the start by AdaGrad, which helps on large data", unit="passes", ge=0
    )
    rate: float = setting(
        0.5, "about how far a weight moves in the first step of the start", unit="weight", ge=LEAST, le=LARGEST
    )
    seed: int = setting(0, "draws the order of the batches of the start", ge=0)


OPTIMIZERS: Table[type[OptimizerSettings]] = Table(
    "optimizer",
    {
        s.method: s
        for s in (
            AutoOptimizer, LbfgsSettings, OwlqnSettings, ProximalSettings, CgSettings, SgdSettings, GpdSettings,
            QuickpropSettings, IisSettings, WorkingSetSettings, BcfwSettings,
        )
    },
    {"l-bfgs": "lbfgs", "bfgs": "lbfgs", "gis": "iis", "owl-qn": "owlqn", "fahlman": "quickprop", "sag": "sgd",
     "frank_wolfe": "bcfw", "fista": "proximal", "ista": "proximal", "proximal_gradient": "proximal"},
)  # fmt: skip
