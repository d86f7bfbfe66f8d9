"""When optimizers say that they have converged: every one on objectives that have no such end, or have it elsewhere.

None says so unless the rule in its docstring holds, and none stops without a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dcrfdsl.kernels.optimization.dual_ascent import Cuts, Metric, empty_cuts
from dcrfdsl.optimizers.boosting_rounds import minimise_boosting
from dcrfdsl.optimizers.objective import Iteration, Objective, Outcome, PerceptronSchedule
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.optimizers.perceptron_steps import minimise_perceptron
from dcrfdsl.optimizers.run_state import RunState
from dcrfdsl.optimizers.separable import minimise_parts
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
Function = Callable[[Floats], tuple[float, Floats]]
CURVATURE = np.array([1.0, 30.0, 900.0])


def watch(step: Iteration, weights: Floats) -> bool:
    return False


# objectives of three weights ------------------------------------------------------------------------------------------


def bowl(w: Floats) -> tuple[float, Floats]:
    return 0.5 * float(CURVATURE @ (w - 1.0) ** 2), CURVATURE * (w - 1.0)


def kink(w: Floats) -> tuple[float, Floats]:
    """Falls towards w₁ = w₂ from both sides and along that crease to (1, 1, 1)."""
    value, gradient = bowl(w)
    gradient = gradient + 40.0 * np.sign(w[0] - w[1]) * np.array([1.0, -1.0, 0.0])
    return value + 40.0 * abs(w[0] - w[1]), gradient


def corner(w: Floats) -> tuple[float, Floats]:
    """Least in a corner: no gradient nearby is small."""
    return float(CURVATURE @ np.abs(w - 1.0)), CURVATURE * np.where(w >= 1.0, 1.0, -1.0)


def maximum_of_lines(w: Floats) -> tuple[float, Floats]:
    rows = np.array([[1.0, 2.0, -1.0], [-2.0, 0.5, 1.0], [0.5, -3.0, 0.5], [1.0, 1.0, 1.0]])
    values = rows @ w + np.array([1.0, -1.0, 2.0, 0.5])
    return float(values.max()) + 1e-3 * float(w @ w), rows[int(values.argmax())] + 2e-3 * w


def plateau(w: Floats) -> tuple[float, Floats]:
    """Level but for a pit around (9, 9, 9), whose slope is all but gone here."""
    away = w - 9.0
    pit = float(np.exp(-0.1 * away @ away))
    return 3.0 - pit, 0.2 * pit * away


def saddle(w: Floats) -> tuple[float, Floats]:
    """Falls to −1 along w₁ on both sides of 0, where its gradient is zero."""
    value = 0.25 * w[0] ** 4 - 0.5 * w[0] ** 2 + 0.5 * (w[1] ** 2 + w[2] ** 2)
    return float(value), np.array([w[0] ** 3 - w[0], w[1], w[2]])


def infinite_beyond(w: Floats) -> tuple[float, Floats]:
    if np.abs(w).max() > 1.5:
        return np.inf, np.zeros(3)
    return bowl(w)


def nan_beyond(w: Floats) -> tuple[float, Floats]:
    value, gradient = bowl(w)
    return (float("nan"), gradient * np.nan) if np.abs(w).max() > 1.5 else (value, gradient)


def nan_gradient_beyond(w: Floats) -> tuple[float, Floats]:
    value, gradient = bowl(w)
    return value, gradient * np.nan if w[2] > 0.5 else gradient


def nowhere_finite(w: Floats) -> tuple[float, Floats]:
    return np.inf, np.zeros(3)


def never_a_number(w: Floats) -> tuple[float, Floats]:
    return float("nan"), np.full(3, np.nan)


def bottomless(w: Floats) -> tuple[float, Floats]:
    return -float(np.exp(np.minimum(w.sum(), 800.0))), -np.full(3, np.exp(np.minimum(w.sum(), 800.0)))


def falls_forever(w: Floats) -> tuple[float, Floats]:
    return float(np.logaddexp(0.0, -w.sum())), -np.full(3, 1.0 / (1.0 + np.exp(np.minimum(w.sum(), 700.0))))


# name -> function, start
PROBLEMS: Mapping[str, tuple[Function, Sequence[float]]] = {
    "a bowl": (bowl, (0.0, 0.0, 0.0)),
    "a bowl from its bottom": (bowl, (1.0, 1.0, 1.0)),
    "a bowl from near its bottom": (bowl, (1.0 + 1e-13, 1.0, 1.0 - 1e-12)),
    "a kink": (kink, (0.0, 0.3, -2.0)),
    "a kink from another side": (kink, (3.0, -1.0, 0.5)),
    "a corner": (corner, (0.0, 0.2, 5.0)),
    "lines": (maximum_of_lines, (2.0, 2.0, 2.0)),
    "a plateau": (plateau, (0.0, 0.0, 0.0)),
    "a saddle": (saddle, (0.0, 0.0, 0.0)),
    "a ridge that leads to a saddle": (saddle, (0.0, 1.0, 2.0)),
    "beside a saddle": (saddle, (1e-9, 1.0, 2.0)),
    "an infinite region": (infinite_beyond, (-1.4, 0.0, 1.4)),
    "a region of nan": (nan_beyond, (-1.4, 0.0, 1.4)),
    "a region of nan gradients": (nan_gradient_beyond, (0.0, 0.0, 0.0)),
    "infinite everywhere": (nowhere_finite, (0.0, 0.0, 0.0)),
    "nan everywhere": (never_a_number, (0.0, 0.0, 0.0)),
    "without a bottom": (bottomless, (0.0, 0.0, 0.0)),
    "falling forever": (falls_forever, (0.0, 0.0, 0.0)),
}


class Plain(Objective):
    """A function as an objective that comes in one batch, or in as many parts as it has weights."""

    precision = share = np.zeros(3)
    count = 1

    def __init__(self, function: Function):
        self.function = function

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        with np.errstate(all="ignore"):
            return self.function(weights)

    def batches(self, size: int | None = None) -> Any:
        return self if size == 1 else None

    def begin(self, weights: Floats) -> None:
        self.weights = weights

    def gradient(self, number: int) -> tuple[float, NDArray[np.int32], Floats]:
        value, gradient = self.value_and_gradient(self.weights)
        return value, np.arange(3, dtype=np.int32), gradient.copy()

    def moved(self, number: int) -> None:
        pass


class Mistakes(Plain):
    """The same as the loss of a perceptron."""

    schedule = PerceptronSchedule(5, average=False, vote=False, voters=None, seed=0)


class Scaled(Plain):
    """What iterative scaling asks for; its steps are those of whatever gradient there is."""

    counts, totals = np.full(3, 2000.0), np.ones(1)

    def scaling(self) -> Scaled:
        return self

    def expectations_by_total(self, weights: Floats, totals: Floats) -> list[tuple[NDArray[np.int64], Floats]]:
        return []


class Apart(Plain):
    """The function beside a bowl of other weights."""

    @property
    def apart(self) -> list[tuple[NDArray[np.int64], Plain]]:
        return [(np.arange(3), Plain(self.function)), (np.arange(3, 6), Plain(bowl))]

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        parts = [own.value_and_gradient(weights[which]) for which, own in self.apart]
        return sum(value for value, _ in parts), np.concatenate([gradient for _, gradient in parts])


def _apart(function: Function, start: Floats) -> Outcome:
    return minimise_parts(
        OPTIMIZERS["lbfgs"], Apart(function), np.concatenate([start, np.zeros(3)]), LbfgsSettings(), watch, RunState()
    )


def _named(settings: Any, kind: type[Plain] = Plain) -> Callable[[Function, Floats], Outcome]:
    return lambda function, start: OPTIMIZERS[settings.method](kind(function), start, settings, watch)


SLOPED: Mapping[str, Callable[[Function, Floats], Outcome]] = {
    "lbfgs": _named(LbfgsSettings()), "owlqn": _named(OwlqnSettings()),
    "proximal": _named(ProximalSettings()), "cg": _named(CgSettings()),
    "auto": _named(AutoOptimizer()), "quickprop": _named(QuickpropSettings(online=0)),
    "quickprop after gpd": _named(QuickpropSettings(online=3, rate=1e-3)), "iis": _named(IisSettings(), Scaled),
    "parts apart": _apart,
}  # fmt: skip
ONLINE: Mapping[str, Callable[[Function, Floats], Outcome]] = {
    "sgd": _named(SgdSettings(rate=1e-3)), "sgd with long steps": _named(SgdSettings(rate=1e3)),
    "gpd": _named(GpdSettings(rate=1e-3)), "gpd with long steps": _named(GpdSettings(rate=1e3)),
    "perceptron": lambda function, start: minimise_perceptron(
        Mistakes(function), start, AutoOptimizer(), watch, RunState()
    ),
}  # fmt: skip


def run(optimizer: Callable[[Function, Floats], Outcome], name: str) -> tuple[Outcome, Function, Floats]:
    function, start = PROBLEMS[name]
    with np.errstate(all="ignore"):
        return optimizer(function, np.array(start)), function, np.array(start)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("optimizer", SLOPED)
def test_converged_means_a_small_gradient(optimizer: str, name: str) -> None:
    outcome, function, start = run(SLOPED[optimizer], name)
    assert outcome.reason and "\n" not in outcome.reason
    begun, (value, gradient) = function(start)[1], function(outcome.weights[:3])
    assert np.array_equal(start, PROBLEMS[name][1])
    if not outcome.converged:
        assert not (np.isfinite(value) and np.linalg.norm(gradient) == 0.0)  # no rule is stricter than that
        return
    assert np.isfinite(value) and np.isfinite(outcome.objective)
    longest = max(float(np.linalg.norm(begun)), 1.0 if "gpd" in optimizer or optimizer == "parts apart" else 0.0)
    norm, reach = float(np.linalg.norm(gradient)), max(1.0, float(np.linalg.norm(outcome.weights)))
    assert norm <= 1e-5 * longest or norm * reach <= 1e-12 * abs(value)


@pytest.mark.parametrize("optimizer", SLOPED)
def test_a_bowl_is_converged_to_from_anywhere(optimizer: str) -> None:
    for name in ("a bowl", "a bowl from its bottom"):
        if optimizer != "iis" or name != "a bowl":
            outcome, _, _ = run(SLOPED[optimizer], name)
            assert outcome.converged
            np.testing.assert_allclose(outcome.weights, 1.0, atol=0.02)


@pytest.mark.parametrize("name", ["infinite everywhere", "nan everywhere"])
@pytest.mark.parametrize("optimizer", [*SLOPED, *ONLINE])
def test_what_is_not_finite_has_not_converged(optimizer: str, name: str) -> None:
    outcome, _, _ = run({**SLOPED, **ONLINE}[optimizer], name)
    assert not outcome.converged
    assert "not finite" in outcome.reason or optimizer == "perceptron"


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("optimizer", ONLINE)
def test_passes_converge_by_their_own_rules(optimizer: str, name: str) -> None:
    seen: list[float] = []
    function, start = PROBLEMS[name]

    def counted(weights: Floats) -> tuple[float, Floats]:
        seen.append(function(weights)[0])
        return function(weights)

    with np.errstate(all="ignore"):
        outcome = ONLINE[optimizer](counted, np.array(start))
    passes = seen[:-1]  # the last evaluation is of the end
    assert outcome.reason
    if optimizer.startswith("gpd"):
        assert not outcome.converged
    elif outcome.converged and optimizer == "perceptron":
        assert not function(outcome.weights)[1].any()
    elif outcome.converged:
        assert abs(passes[-2] - passes[-1]) <= 1e-4 * abs(passes[-1])


# margins ----------------------------------------------------------------------------------------------------------


class Margins(Objective):
    """One sequence with one cut; labels that are not known change `changes` times when they are completed."""

    solver, each_counts, tolerance, num_weights = "working_set", False, 1e-3, 2
    no_block = np.zeros(0, np.int64)
    metric = Metric(no_block, no_block, no_block, np.zeros((0, 0, 0)))

    def __init__(self, loss: float, value: float, changes: int):
        self.limit, self.runs = np.ones(1), [(0, 1)]
        self.loss, self.value, self.changes = loss, value, changes

    def margin_problem(self) -> Margins:
        return self

    def find_cuts(self, scores: Floats, first: int, last: int) -> Cuts:
        if self.loss == 0.0:
            return empty_cuts(1)
        off = np.array([0, 1])
        return Cuts(
            off, off, np.array([0], np.int32), np.array([self.value]), off, np.array([1]), np.array([self.loss]),
            np.array([self.value**2]), np.zeros(1),
        )  # fmt: skip

    def metric_times(self, point: Floats) -> Floats:
        return point

    def complete(self, weights: Floats) -> bool:
        self.changes -= 1
        return self.changes >= 0

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        short = max(0.0, self.loss - self.value * float(weights[0]))
        return 0.5 * float(weights @ weights) + short, weights


MARGINS = {
    # loss, value of the only feature, changes of completion -> whether it converges
    "nothing can be wrong": (0.0, 1.0, 0, True),
    "a margin": (1.0, 1.0, 0, True),
    "labels that nothing tells apart": (1.0, 0.0, 0, True),
    "labels that come to rest": (1.0, 1.0, 5, True),
    "labels that never come to rest": (1.0, 1.0, 10**6, False),
    "an infinite loss": (np.inf, 1.0, 0, False),
    "a loss that is nan": (np.nan, 1.0, 0, False),
}


@pytest.mark.parametrize("settings", [WorkingSetSettings(), BcfwSettings(), AutoOptimizer()], ids=lambda s: s.method)
@pytest.mark.parametrize("name", MARGINS)
def test_margins_converge_by_the_gap_and_the_labels_that_they_were_solved_for(name: str, settings: Any) -> None:
    *own, expected = MARGINS[name]
    with np.errstate(all="ignore"):
        outcome = OPTIMIZERS[settings.method](Margins(*own), np.zeros(2), settings, watch)
    assert outcome.converged == expected and outcome.reason
    if outcome.converged:
        assert outcome.gap is not None and outcome.gap <= 1e-3 * outcome.objective


# boosting -----------------------------------------------------------------------------------------------------------


class Boosted(Objective):
    """A risk of one sequence and two weights, each between L = −1 and U = 1 with the mean `mean`."""

    rounds, tolerance, max_step, most_weights = 40, 1e-4, 1.0, 2

    def __init__(self, update: str, risk: float, mean: float):
        self.update, self.start, self.mean_of = update, risk, mean
        self.off, self.low, self.high = np.array([0, 1, 2]), np.full(2, -1.0), np.full(2, 1.0)
        self.ranges = self

    def boosting(self) -> Boosted:
        return self

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        down, up = 0.5 * (1.0 - self.mean_of), 0.5 * (1.0 + self.mean_of)
        parts = self.start * np.array([[down, up]]) * np.exp(np.stack([-weights, weights], axis=1))
        self.risk = float(parts.sum()) / 2.0
        self.slopes = 0.5 * (parts[:, 1] - parts[:, 0])
        return self.risk, self.slopes

    @property
    def shares(self) -> tuple[Floats, Floats]:
        return np.full(2, self.risk), 2.0 * self.slopes

    def mass(self, weight: int) -> float:
        return self.risk


@pytest.mark.parametrize("update", ["sequential", "parallel", "steepest"])
@pytest.mark.parametrize(("risk", "mean", "words"), [
    (1.0, 0.0, "lower the risk by more than the tolerance"), (0.0, 0.0, "the risk is 0"),
    (np.inf, 0.5, "not finite"), (np.nan, 0.5, "not finite"),
])  # fmt: skip
def test_boosting_says_why_it_ends(update: str, risk: float, mean: float, words: str) -> None:
    with np.errstate(all="ignore"):
        outcome = minimise_boosting(Boosted(update, risk, mean), np.zeros(2), AutoOptimizer(), watch, RunState())
    assert words in outcome.reason
    assert outcome.converged == bool(np.isfinite(risk))


# what is known of the distance ----------------------------------------------------------------------------------------

LOPSIDED = np.array([1e12, 1.0, 1e-3])  # the curvature of each weight


def lopsided(w: Floats) -> tuple[float, Floats]:
    """A bowl above 5, whose first weight makes up its gradient at 0: the others are done by no relative rule."""
    apart = w - np.array([1e-6, 3.0, 40.0])
    return 5.0 + 0.5 * float(LOPSIDED @ apart**2), LOPSIDED * apart


class Bounded(Plain):
    """A function whose distance from its least value is known."""

    def gap(self, gradient: Floats) -> float | None:
        return float(0.5 * np.sum(gradient**2 / LOPSIDED))


class Estimated(Plain):
    """A function of which each weight's own curvature is known."""

    def distance(self, gradient: Floats) -> float | None:
        return float(0.5 * np.sum(gradient**2 / LOPSIDED))


BY_RULE = (
    LbfgsSettings(), OwlqnSettings(), ProximalSettings(), CgSettings(), AutoOptimizer(), QuickpropSettings(online=0),
    SgdSettings(rate=1e-12),
)  # fmt: skip


@pytest.mark.parametrize("kind", [Bounded, Estimated])
@pytest.mark.parametrize("settings", BY_RULE, ids=lambda settings: settings.method)
def test_none_converges_while_the_distance_is_known_to_be_large(settings: Any, kind: type[Plain]) -> None:
    """The rule that is relative to the gradient at the start holds once the first weight is done, 5.3 above 5."""
    outcome = OPTIMIZERS[settings.method](kind(lopsided), np.zeros(3), settings, watch)
    assert outcome.reason
    if outcome.converged:
        assert outcome.objective - 5.0 <= (1.0 if kind is Bounded else 0.02) * outcome.objective
    if settings.method in ("lbfgs", "auto"):
        assert outcome.converged and outcome.objective == pytest.approx(5.0, abs=1.0)
