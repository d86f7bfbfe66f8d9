"""Problems with an independently known optimum, optimizers with their accuracy, and the pairs that are refused.

An optimizer that needs more than value and gradient is refused if the objective does not offer it. For such a pair the
table has the missing part, or the slug of the checker's complaint if the objective comes from a template. Not here:
rules of single optimizers, and objectives without an optimum (`test_stopping`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from template_cases import CASES, Case
from training_cases import RIB_ROB, many, noisy_words, objective_of

from dcrfdsl.optimizers import Objective
from dcrfdsl.semantics.settings.method_settings import MethodSettings
from dcrfdsl.semantics.settings.optimizer_settings import (
    AutoOptimizer,
    BcfwSettings,
    CgSettings,
    GpdSettings,
    IisSettings,
    LbfgsSettings,
    OwlqnSettings,
    ProximalSettings,
    QuickpropSettings,
    SgdSettings,
    WorkingSetSettings,
)

Floats = NDArray[np.float64]

# method -> its settings, and the largest relative distance of its objective from the optimum
METHODS: Mapping[str, tuple[MethodSettings, float]] = {
    "auto": (AutoOptimizer(tolerance=1e-8), 1e-9),
    "lbfgs": (LbfgsSettings(tolerance=1e-8), 1e-9),
    "owlqn": (OwlqnSettings(tolerance=1e-8), 1e-9),
    "proximal": (ProximalSettings(tolerance=1e-8), 1e-9),
    "cg": (CgSettings(tolerance=1e-8), 1e-9),
    "quickprop": (QuickpropSettings(tolerance=1e-8), 1e-8),
    "quickprop alone": (QuickpropSettings(tolerance=1e-8, online=0), 1e-6),
    "sgd": (SgdSettings(epochs=300, tolerance=1e-7), 1e-3),
    "gpd": (GpdSettings(epochs=300), 1e-4),
    "iis by S": (IisSettings(algorithm="S", tolerance=1e-6), 1e-6),
    "iis by T": (IisSettings(algorithm="T", tolerance=1e-6), 1e-6),
    "working_set": (WorkingSetSettings(), 1e-5),
    "bcfw": (BcfwSettings(max_iterations=3000), 0.02),
}


# objectives by formula ------------------------------------------------------------------------------------------------

CURVATURE = np.logspace(0, 3, 40)
MINIMUM = np.linspace(-1.0, 1.0, 40)
VALUE = 1000.0  # at the minimum


class Quadratic(Objective):
    """½ Σ c_i (x_i − m_i)² + VALUE, rounded to multiples of `step`; `tighten_tolerance` makes the step ten times
    smaller.
    """

    def __init__(self, step: float, sharpest: float):
        self.step, self.sharpest = step, sharpest

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        away = weights - MINIMUM
        value = VALUE + 0.5 * float(CURVATURE @ away**2)
        if self.step:
            value = self.step * np.floor(value / self.step)
        return value, CURVATURE * away

    def tighten_tolerance(self) -> bool:
        if self.step <= self.sharpest:
            return False
        self.step *= 0.1
        return True


class Valley(Objective):
    """Rosenbrock's function in pairs of weights: a curved valley with its floor at (1, 1); infinite far from it."""

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        if np.abs(weights).max() > 3.0:
            return np.inf, np.full_like(weights, np.nan)
        x, y = weights[::2], weights[1::2]
        bend = y - x**2
        gradient = np.empty_like(weights)
        gradient[::2], gradient[1::2] = -400.0 * bend * x - 2.0 * (1.0 - x), 200.0 * bend
        return float(np.sum(100.0 * bend**2 + (1.0 - x) ** 2)), gradient


class Parabolas(Objective):
    """f_i = ½ (λ_i − m_i)² + ½ (λ_0 − 1)²: sequence i has the weights 0 and i. Records the requested gradients."""

    MIDDLES = np.array([0.0, 3.0, -2.0, 5.0])
    BEST = np.array([3.0 / 3.5, 2.0, -4.0 / 3.0, 10.0 / 3.0])
    precision = np.full(4, 0.5)
    share = np.array([0.5 / 3.0, 0.5, 0.5, 0.5])

    def __init__(self) -> None:
        self.asked: list[tuple[int, Floats]] = []

    @property
    def count(self) -> int:
        return 3

    def begin(self, weights: Floats) -> None:
        self.weights = weights

    def gradient(self, number: int) -> tuple[float, NDArray[np.int32], Floats]:
        columns = np.array([0, number + 1], np.int32)
        away = self.weights[columns] - [1.0, self.MIDDLES[number + 1]]
        self.asked.append((number, self.weights.copy()))
        return 0.5 * float(away @ away), columns, away

    def moved(self, number: int) -> None:
        pass

    # the whole

    def batches(self, size: int | None = None) -> Parabolas | None:
        return self if size == 1 else None

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        gradient = weights - self.MIDDLES
        gradient[0] = 3.0 * (weights[0] - 1.0)
        value = 0.5 * float((weights - self.MIDDLES)[1:] @ gradient[1:]) + 1.5 * (weights[0] - 1.0) ** 2
        return value + 0.25 * float(weights @ weights), gradient + 0.5 * weights


# objectives of templates ----------------------------------------------------------------------------------------------


def least_smooth(objective: Any) -> float:
    """The optimum by SciPy's L-BFGS-B, restarted once from where it stops."""
    at = np.zeros(objective.num_weights)
    for _ in range(2):
        at = minimize(
            objective.value_and_gradient, at, jac=True, method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10},
        ).x  # fmt: skip
    return float(objective.value_and_gradient(at)[0])


def least_with_corners(objective: Any) -> float:
    """The optimum by L-BFGS-B on λ = a − b with a, b ≥ 0, where the penalty Σ l1 (a + b) is smooth."""
    size, l1 = objective.num_weights, objective.penalty.l1

    def split(both: Floats) -> tuple[float, Floats]:
        weights = both[:size] - both[size:]
        value, gradient = objective.value_and_gradient(weights)
        smooth, slope = value - float(l1 @ np.abs(weights)), gradient - l1 * np.sign(weights)
        return smooth + float(l1 @ (both[:size] + both[size:])), np.concatenate([slope + l1, l1 - slope])

    at = np.zeros(2 * size)
    for _ in range(3):
        at = minimize(
            split, at, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * (2 * size),
            options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10},
        ).x  # fmt: skip
    return float(objective.value_and_gradient(at[:size] - at[size:])[0])


def least_primal(objective: Any) -> float:
    """The least primal by a general solver of the dual over the known cuts; cuts are added while some are violated."""
    count, size = len(objective.limit), objective.num_weights
    rows, losses_of, owner = [], [], []
    weights = np.zeros(size)
    for _ in range(100):
        added = 0
        cuts = objective.find_cuts(weights, 0, count)
        known = list(zip(rows, losses_of, owner, strict=True))
        slack = [
            max([0.0, *(loss - row @ weights for row, loss, sequence in known if sequence == i)]) for i in range(count)
        ]
        for i in range(count):
            for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
                row = np.zeros(size)
                row[cuts.weight[cuts.off[n] : cuts.off[n + 1]]] = cuts.value[cuts.off[n] : cuts.off[n + 1]]
                if cuts.loss[n] - row @ weights > slack[i] + 1e-7:
                    rows.append(row)
                    losses_of.append(float(cuts.loss[n]))
                    owner.append(i)
                    added += 1
        if not added:
            break
        table, loss, sequence = np.array(rows), np.array(losses_of), np.array(owner)

        def negative_dual(alpha: Floats, table: Floats = table, loss: Floats = loss) -> tuple[float, Floats]:
            combined = alpha @ table
            return 0.5 * float(combined @ combined) - float(alpha @ loss), table @ combined - loss

        inside = [
            {"type": "ineq", "fun": lambda a, who=sequence == i, most=objective.limit[i]: most - a[who].sum(),
             "jac": lambda a, who=sequence == i: -who.astype(float)}
            for i in range(count)
        ]  # fmt: skip
        result = minimize(
            negative_dual, np.zeros(len(loss)), jac=True, bounds=[(0.0, None)] * len(loss), constraints=inside,
            method="SLSQP", options={"maxiter": 1000, "ftol": 1e-12},
        )  # fmt: skip
        weights = result.x @ table
    return objective.value_and_gradient(weights)[0]


# the table ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """make: builds the objective.   best: its least value, computed independently.   refused: method -> the missing
    part, or the slug.

    near: the tightest relative accuracy that is required.   within: for a formula, the largest distance of a converged
    method from the least value, and of any weight from `where`.   template: the template of the objective, if any.
    unsuited: methods that are not tried on it.
    """

    make: Callable[[], Any]
    start: Floats | None  # zeros
    best: Callable[[Any], float]
    refused: Mapping[str, str]
    near: float = 0.0
    where: Floats | None = None
    within: tuple[float, float] = (np.inf, np.inf)
    template: Case | None = None
    unsuited: tuple[str, ...] = ()


def needing(reason: str, *methods: str) -> dict[str, str]:
    return dict.fromkeys(methods, reason)


NO_SEQUENCES = needing("batches", "sgd", "gpd")
NO_TOTALS = needing("scaling", "iis by S", "iis by T")
NO_CUTS = needing("margin problem", "working_set", "bcfw")
# parts that an objective may offer
OFFERED: Mapping[str, Callable[[Objective], object]] = {
    "batches": lambda objective: objective.batches(1),
    "scaling": lambda objective: objective.scaling(),
    "margin problem": lambda objective: objective.margin_problem(),
}
LONG_WAY = 1e-8 * float(
    np.linalg.norm(CURVATURE * MINIMUM)
)  # the curvature is at least 1, so no weight can be further off


def of_template(
    case: Case, criterion: str, overrides: tuple[str, ...], best: Callable[[Any], float], refused: Mapping[str, str],
    near: float = 0.0,
) -> Problem:  # fmt: skip
    sets = "".join(f"    {text.removeprefix('train.').replace('=', ' = ', 1)}\n" for text in overrides)
    template = Case(f"{case.text}\ntrain {criterion}:\n{sets}", case.sentences)
    return Problem(lambda: objective_of(case, criterion, *overrides), None, best, refused, near, template=template)


GAUSSIAN = ("train.prior=gaussian(variance = 2)",)
LAPLACE = ("train.prior=laplace(scale = 2)",)
FREE = ("train.prior=none", "train.infer=exact")
# Without a prior, weights of features that the gold labels never show are best at minus infinity. Methods with a
# fixed step size, or with steps that grow at most by a factor, never get there.
AT_INFINITY = "an optimum at infinity"
NEVER_THERE = needing(AT_INFINITY, "sgd", "gpd", "quickprop", "quickprop alone")
MARGINS = ("train.C=0.7", "train.tolerance=1e-6")
NO_PRIOR_FOR_SCALING = needing("prior-not-treated", "iis by S", "iis by T")
NO_MARGINS = needing("cannot-train", "working_set", "bcfw")
# Odd numbers of states: with two, moving weight from one state to the other changes no penalty.
WINDOW = Case("data conll(word, y)\nlabel y\nclique y: word[-1..1]\nclique y[-1], y\n", CASES["chain"].sentences)

PROBLEMS: Mapping[str, Problem] = {
    "a quadratic": Problem(
        lambda: Quadratic(0.0, 0.0), np.zeros(40), lambda _: VALUE, NO_SEQUENCES | NO_TOTALS | NO_CUTS,
        where=MINIMUM, within=(0.5 * LONG_WAY**2 + 1e-9, LONG_WAY),
    ),
    "a curved valley": Problem(
        Valley, np.tile([-1.2, 1.0], 10), lambda _: 0.0,
        NO_SEQUENCES | NO_TOTALS | NO_CUTS,
        unsuited=("quickprop", "quickprop alone"),  # a secant of each weight alone does not follow a bend
        where=np.ones(20), within=(1e-9, 1e-5),
    ),
    "parabolas of three sequences": Problem(
        Parabolas, np.zeros(4), lambda problem: problem.value_and_gradient(problem.BEST)[0], NO_TOTALS | NO_CUTS,
        where=Parabolas.BEST, within=(1e-3, 0.1),
    ),
    "chain": of_template(
        many(CASES["chain"], 6), "likelihood", GAUSSIAN, least_smooth, NO_PRIOR_FOR_SCALING | NO_MARGINS
    ),
    "factorial": of_template(
        many(CASES["factorial"], 6), "likelihood", GAUSSIAN, least_smooth, NO_PRIOR_FOR_SCALING | NO_MARGINS
    ),
    "pieces": of_template(
        many(CASES["factorial"], 6), "pseudolikelihood", GAUSSIAN, least_smooth,
        needing("cannot-train", "iis by S", "iis by T") | NO_MARGINS,
    ),
    "a penalty with corners": of_template(
        many(WINDOW, 4), "likelihood", LAPLACE, least_with_corners,
        needing("prior-not-treated", "lbfgs", "cg", "sgd", "gpd", "quickprop", "quickprop alone")
        | NO_PRIOR_FOR_SCALING | NO_MARGINS,
    ),
    "rib and rob, one total": of_template(
        Case(RIB_ROB, noisy_words(300, (1,))), "likelihood", FREE, least_smooth, NO_MARGINS | NEVER_THERE,
        near=1e-6,
    ),
    "rib and rob, three totals": of_template(
        Case(RIB_ROB, noisy_words(300, (1, 2, 3))), "likelihood", FREE, least_smooth,
        NO_MARGINS | NEVER_THERE,
        near=1e-6,
    ),
    "margins": of_template(
        CASES["chain"], "hmsvm", MARGINS, least_primal,
        needing("cannot-train", *(name for name in METHODS if name not in ("auto", "working_set", "bcfw"))), near=1e-5,
    ),
}  # fmt: skip


@cache
def least(problem: str) -> float:
    """The least objective, computed once for all methods."""
    problem_class = PROBLEMS[problem]
    return problem_class.best(problem_class.make())
