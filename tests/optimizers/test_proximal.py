"""The proximal optimizer: its optimum against a slow twin and others, the conditions of an optimum, and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corner_cases import MODELS, watch
from numpy.typing import NDArray
from training_cases import many, objective_of

from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.optimizers.corners import Corners, WeightGroups
from dcrfdsl.optimizers.objective import Objective
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.optimizers.proximal import ProximalMemory
from dcrfdsl.optimizers.run_state import RunState
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer, LbfgsSettings, OwlqnSettings, ProximalSettings

Floats = NDArray[np.float64]
PRIORS = {
    "templates": ("train.prior=group_lasso(strength = 1)",),
    "features": ("train.prior=group_lasso(strength = 0.7, groups = features)",),
    "features and corners": (
        "train.prior=group_lasso(strength = 0.5, groups = features)",
        "train.prior.chain=laplace(scale = 1)",
    ),
    "one clique": ("train.prior=gaussian(variance = 3)", "train.prior.chain=group_lasso(strength = 2)"),
}


def built(model: str, prior: str, criterion: str = "likelihood") -> Criterion:
    found: Criterion = objective_of(many(MODELS[model], 4), criterion, *PRIORS[prior])
    return found


def solved(objective: Criterion, tolerance: float = 1e-8, **more: Any) -> Any:
    settings = ProximalSettings(tolerance=tolerance, **more)
    return OPTIMIZERS["proximal"](objective, np.zeros(objective.num_weights), settings, watch)


def members(groups: WeightGroups) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(groups.number == g) for g in range(len(groups.strength))]


def corner_value(objective: Criterion, weights: Floats) -> float:
    """Σ l1 |λ| + Σ strength ‖λ_g‖ by loops."""
    total = 0.0
    for k, weight in enumerate(weights.tolist()):
        total += 0.0 if objective.l1 is None else float(objective.l1[k]) * abs(weight)
    assert objective.groups is not None
    for own, strength in zip(members(objective.groups), objective.groups.strength.tolist(), strict=True):
        total += strength * float(np.linalg.norm(weights[own]))
    return total


def smooth_part(objective: Criterion, weights: Floats) -> tuple[float, Floats]:
    """Value and gradient without the corners, by taking them off."""
    value, gradient = objective.value_and_gradient(weights)
    value, gradient = value - corner_value(objective, weights), gradient.copy()
    if objective.l1 is not None:
        gradient -= objective.l1 * np.sign(weights)
    assert objective.groups is not None
    for own, strength in zip(members(objective.groups), objective.groups.strength.tolist(), strict=True):
        if weights[own].any():
            gradient[own] -= strength * weights[own] / np.linalg.norm(weights[own])
    return value, gradient


def shrunk(objective: Criterion, point: Floats, step: float) -> Floats:
    """The proximal point, group by group."""
    new = point.copy()
    if objective.l1 is not None:
        new = np.sign(point) * np.maximum(np.abs(point) - step * objective.l1, 0.0)
    assert objective.groups is not None
    for own, strength in zip(members(objective.groups), objective.groups.strength.tolist(), strict=True):
        size = float(np.linalg.norm(new[own]))
        new[own] *= max(0.0, 1.0 - step * strength / size) if size else 0.0
    return new


def proximal_gradient(objective: Criterion, steps: int) -> tuple[float, Floats]:
    """Beck & Teboulle's accelerated method with restarts: gradient steps on the smooth part, then proximal points."""
    at = before = np.zeros(objective.num_weights)
    pace, curvature = 1.0, 1.0
    for _ in range(steps):
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
        ahead = at + (pace - 1.0) / faster * (at - before)
        value, gradient = smooth_part(objective, ahead)
        while True:
            new = shrunk(objective, ahead - gradient / curvature, 1.0 / curvature)
            step = new - ahead
            if smooth_part(objective, new)[0] <= value + gradient @ step + 0.5 * curvature * step @ step + 1e-12:
                break
            curvature *= 2.0
        pace = 1.0 if (ahead - new) @ (new - at) > 0.0 else faster
        before, at = at, new
    return objective.value_and_gradient(at)[0], at


@pytest.mark.parametrize(("model", "prior"), [("chain", "templates"), ("chain", "features and corners")])
def test_it_ends_where_a_slow_twin_does(model: str, prior: str) -> None:
    objective = built(model, prior)
    expected, weights = proximal_gradient(objective, 800)
    outcome = solved(objective)
    assert outcome.converged
    assert outcome.objective == pytest.approx(expected, rel=1e-7)
    assert outcome.objective <= expected + 1e-9
    np.testing.assert_allclose(outcome.weights, weights, atol=5e-3)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("model", MODELS)
def test_it_ends_where_no_subgradient_leads_down(model: str, prior: str) -> None:
    """At λ_g ≠ 0 the slope of the smooth part is −strength λ_g / ‖λ_g‖, at 0 it is at most as long as the strength."""
    objective = built(model, prior)
    outcome = solved(objective, 1e-7)
    _, slope = smooth_part(objective, outcome.weights)
    groups, zeros = objective.groups, 0
    assert outcome.converged and groups is not None
    for own, strength in zip(members(groups), groups.strength.tolist(), strict=True):
        size = float(np.linalg.norm(outcome.weights[own]))
        zeros += size == 0.0
        if size == 0.0:
            assert np.linalg.norm(slope[own]) <= strength + 1e-5
        else:
            assert outcome.weights[own].all() or prior == "one clique"
            np.testing.assert_allclose(slope[own], -strength * outcome.weights[own] / size, atol=1e-5)
    if objective.l1 is not None:
        alone = (objective.l1 > 0.0) & (outcome.weights == 0.0)
        assert (np.abs(slope) - objective.l1)[alone].max(initial=0.0) <= 1e-5
    outside = groups.number < 0
    if objective.l1 is None:
        np.testing.assert_allclose(slope[outside], 0.0, atol=1e-5)
    assert zeros > 0 or prior == "one clique" or model == "factorial"


@pytest.mark.parametrize("prior", PRIORS)
def test_the_groups_that_are_left_do_not_depend_on_the_start(prior: str) -> None:
    objective = built("chain", prior)
    starts = [np.zeros(objective.num_weights), np.random.default_rng(1).normal(0.0, 1.0, objective.num_weights)]
    settings = ProximalSettings(tolerance=1e-8)
    one, two = (OPTIMIZERS["proximal"](objective, at, settings, watch) for at in starts)
    assert np.array_equal(one.weights == 0.0, two.weights == 0.0)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-3)


@pytest.mark.parametrize("prior", ["laplace(scale = 2)", "elastic_net(l1 = 0.4, l2 = 0.05)", "gaussian(variance = 3)"])
def test_without_groups_it_ends_where_other_methods_do(prior: str) -> None:
    objective = objective_of(many(MODELS["factorial"], 4), "likelihood", f"train.prior={prior}")
    start = np.zeros(objective.num_weights)
    kind, settings = ("lbfgs", LbfgsSettings) if "gaussian" in prior else ("owlqn", OwlqnSettings)
    other = OPTIMIZERS[kind](objective, start, settings(tolerance=1e-8), watch)
    own = solved(objective)
    assert own.objective == pytest.approx(other.objective, rel=1e-10)
    assert np.array_equal(own.weights == 0.0, other.weights == 0.0)


def test_with_a_large_strength_nothing_is_left() -> None:
    objective = objective_of(MODELS["chain"], "likelihood", "train.prior=group_lasso(strength = 1000)")
    outcome = solved(objective)
    assert outcome.converged and not outcome.weights.any() and outcome.iterations == 0


def test_auto_takes_it_for_a_penalty_on_groups() -> None:
    objective = built("chain", "templates")
    auto = OPTIMIZERS["auto"](objective, np.zeros(objective.num_weights), AutoOptimizer(), watch)
    assert np.array_equal(auto.weights, solved(objective, 1e-5).weights)


@pytest.mark.parametrize("criterion", ["pseudolikelihood", "marginal", "exponential"])
def test_other_criteria_are_trained_with_groups_too(criterion: str) -> None:
    objective = built("chain", "features", criterion)
    outcome = solved(objective, 1e-6, max_iterations=300)
    _, slope = smooth_part(objective, outcome.weights)
    assert objective.groups is not None
    for own, strength in zip(members(objective.groups), objective.groups.strength.tolist(), strict=True):
        if not outcome.weights[own].any():
            assert np.linalg.norm(slope[own]) <= strength * (1 + 1e-4)
    assert outcome.converged


# the parts --------------------------------------------------------------------------------------------------------


def some_corners(seed: int) -> tuple[Corners, np.random.Generator]:
    rng = np.random.default_rng(seed)
    number = np.array([0, 1, -1, 0, 2, 1, -1, 1, 0, -1])
    l1 = np.where(number < 0, [0.0] * 6 + [0.7] + [0.0] * 2 + [0.3], 0.0)
    return Corners(l1, WeightGroups(number, np.array([0.8, 1.5, 0.4]))), rng


@pytest.mark.parametrize("seed", range(5))
def test_a_proximal_point_is_the_least_one(seed: int) -> None:
    corners, rng = some_corners(seed)
    at, curvature = rng.normal(size=10), 1.7

    def value(z: Floats) -> float:
        away = z - at
        return 0.5 * curvature * float(away @ away) + corners.rise(np.zeros(10), z)

    found = corners.proximal(at, curvature)
    for _ in range(200):
        near = found.point + rng.normal(size=10) * 10.0 ** rng.uniform(-5, 0)
        assert value(found.point) <= value(near) + 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_the_derivative_of_a_proximal_point(seed: int) -> None:
    corners, rng = some_corners(seed)
    at = 2.0 * rng.normal(size=10)
    found = corners.proximal(at, 1.7)
    assert found.across is not None
    jacobian = np.diag(found.slope)
    for g, own in enumerate(members(found.across.groups)):
        direction = np.zeros(10)
        direction[own] = found.across.direction[own]
        jacobian += found.across.share[g] * np.outer(direction, direction)
    for k in range(10):
        unit = np.eye(10)[k] * 1e-6
        ends = [corners.proximal(at + side * unit, 1.7).point for side in (1, -1)]
        np.testing.assert_allclose(jacobian[:, k], (ends[0] - ends[1]) / 2e-6, atol=1e-5)


def test_the_rise_is_exact_where_a_difference_is_not() -> None:
    corners, _ = some_corners(0)
    at, move = np.full(10, 1e8), np.full(10, 1e-8)
    norms = [np.sqrt(3.0), np.sqrt(3.0), 1.0]
    expected = 1e-8 * (0.8 * norms[0] + 1.5 * norms[1] + 0.4 * norms[2] + 1.0)
    assert corners.rise(at, move) == pytest.approx(expected, rel=0.2)
    assert corners.rise(np.ones(10), move) == pytest.approx(expected, rel=1e-7)


class Curved(Objective):
    """½ xᵀAx − bᵀx: only its memory of pairs is used."""

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        raise NotImplementedError


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pairs", [1, 3, 5])
def test_the_least_point_of_the_model_is_that_of_a_slow_method(pairs: int, seed: int) -> None:
    corners, rng = some_corners(seed)
    root = rng.normal(size=(10, 10))
    matrix = root @ root.T + 0.1 * np.eye(10)
    memory = ProximalMemory(Curved(), 10, 4, RunState())
    for _ in range(pairs):
        move = rng.normal(size=10)
        memory.add(move, matrix @ move)
    at, gradient = rng.normal(size=10), rng.normal(size=10)
    found = memory.least(at, gradient, corners, 1.0)
    assert found is not None

    # B by the textbook's recursion, from σI, over the pairs in single precision
    rows = memory.pairs
    model = memory.sigma * np.eye(10)
    for row in rows:
        s, y = memory._moves[row].astype(float), memory._changes[row].astype(float)
        model = model - np.outer(model @ s, model @ s) / (s @ model @ s) + np.outer(y, y) / (s @ y)

    z, largest = at.copy(), float(np.linalg.eigvalsh(model)[-1])
    for _ in range(20_000):
        z = corners.proximal(z - (gradient + model @ (z - at)) / largest, largest).point
    np.testing.assert_allclose(found, z, atol=1e-5)
    assert np.array_equal(found == 0.0, z == 0.0)
