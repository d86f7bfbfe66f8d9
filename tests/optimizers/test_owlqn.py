"""OWL-QN: its optimum against another solver, the conditions of an optimum, zeros from several starts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from corner_cases import MODELS, watch
from numpy.typing import NDArray
from training_cases import many, objective_of

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer, LbfgsSettings, OwlqnSettings

Floats = NDArray[np.float64]
PRIORS = {
    "laplace": ("train.prior=laplace(scale = 2)",),
    "elastic net": ("train.prior=elastic_net(l1 = 0.4, l2 = 0.05)",),
    "one clique": ("train.prior=gaussian(variance = 3)", "train.prior.chain=laplace(scale = 1)"),
}


def built(model: str, prior: str, criterion: str = "likelihood") -> Likelihood:
    found = objective_of(many(MODELS[model], 4), criterion, *PRIORS[prior])
    assert isinstance(found, Likelihood)
    return found


def smooth_part(objective: Likelihood, weights: Floats) -> tuple[float, Floats]:
    """Value and gradient without Σ l1 |λ|, by taking it off."""
    value, gradient = objective.value_and_gradient(weights)
    l1 = objective.penalty.l1
    assert l1 is not None
    return value - float(l1 @ np.abs(weights)), gradient - l1 * np.sign(weights)


def proximal_gradient(objective: Likelihood, steps: int) -> tuple[float, Floats]:
    """Beck & Teboulle's accelerated method with restarts: gradient steps on the smooth part, then soft thresholds."""
    l1 = objective.penalty.l1
    assert l1 is not None
    at = before = np.zeros(objective.num_weights)
    pace, curvature = 1.0, 1.0
    for _ in range(steps):
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
        ahead = at + (pace - 1.0) / faster * (at - before)
        value, gradient = smooth_part(objective, ahead)
        while True:
            moved = ahead - gradient / curvature
            new = np.sign(moved) * np.maximum(np.abs(moved) - l1 / curvature, 0.0)
            step = new - ahead
            if smooth_part(objective, new)[0] <= value + gradient @ step + 0.5 * curvature * step @ step + 1e-12:
                break
            curvature *= 2.0
        pace = 1.0 if (ahead - new) @ (new - at) > 0.0 else faster
        before, at = at, new
    return objective.value_and_gradient(at)[0], at


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("model", MODELS)
def test_it_ends_where_another_method_does(model: str, prior: str) -> None:
    objective = built(model, prior)
    expected, weights = proximal_gradient(objective, 2000)
    outcome = OPTIMIZERS["owlqn"](objective, np.zeros(len(weights)), OwlqnSettings(tolerance=1e-7), watch)
    assert outcome.converged
    assert outcome.objective == pytest.approx(expected, rel=1e-8)
    assert np.array_equal(outcome.weights == 0.0, np.abs(weights) < 1e-6)
    assert 0 < (outcome.weights == 0.0).sum() < len(weights)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("model", MODELS)
def test_the_zeros_do_not_depend_on_the_start(model: str, prior: str) -> None:
    objective = built(model, prior)
    starts = [np.zeros(objective.num_weights), np.random.default_rng(1).normal(0.0, 1.0, objective.num_weights)]
    one, two = (OPTIMIZERS["owlqn"](objective, at, OwlqnSettings(tolerance=1e-7), watch) for at in starts)
    assert np.array_equal(one.weights == 0.0, two.weights == 0.0)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-3)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("model", MODELS)
def test_it_ends_where_no_subgradient_leads_down(model: str, prior: str) -> None:
    """At λ ≠ 0 the slope of the smooth part is −l1 sign(λ), at 0 it is at most l1."""
    objective = built(model, prior)
    outcome = OPTIMIZERS["owlqn"](objective, np.zeros(objective.num_weights), OwlqnSettings(tolerance=1e-7), watch)
    _, slope = smooth_part(objective, outcome.weights)
    l1 = objective.penalty.l1
    assert l1 is not None
    moved = outcome.weights != 0.0
    assert np.abs(slope + l1 * np.sign(outcome.weights))[moved].max() < 1e-4
    assert (np.abs(slope) - l1)[~moved].max() < 1e-4
    assert outcome.gradient_norm < 1e-4


def test_no_step_crosses_zero_and_none_goes_up() -> None:
    objective = built("factorial", "laplace")
    seen: list[tuple[float, Floats]] = []

    def note(step: Iteration, weights: Floats) -> bool:
        seen.append((step.objective, weights.copy()))
        return False

    OPTIMIZERS["owlqn"](objective, np.zeros(objective.num_weights), OwlqnSettings(max_iterations=40), note)
    for (value, weights), (next_value, next_weights) in itertools.pairwise(seen):
        assert next_value <= value
        assert not (weights * next_weights < 0.0).any()


def test_without_corners_it_ends_where_lbfgs_does() -> None:
    objective = objective_of(many(MODELS["factorial"], 4), "likelihood", "train.prior=gaussian(variance = 3)")
    start = np.zeros(objective.num_weights)
    one = OPTIMIZERS["owlqn"](objective, start, OwlqnSettings(tolerance=1e-8), watch)
    two = OPTIMIZERS["lbfgs"](objective, start, LbfgsSettings(tolerance=1e-8), watch)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)


def test_auto_takes_it_for_a_penalty_with_corners() -> None:
    objective = built("chain", "laplace")
    start = np.zeros(objective.num_weights)
    auto = OPTIMIZERS["auto"](objective, start, AutoOptimizer(), watch)
    own = OPTIMIZERS["owlqn"](objective, start, OwlqnSettings(), watch)
    assert np.array_equal(auto.weights, own.weights)


def test_pieces_are_trained_with_corners_too() -> None:
    objective = objective_of(many(MODELS["chain"], 4), "pseudolikelihood", *PRIORS["elastic net"])
    outcome = OPTIMIZERS["owlqn"](objective, np.zeros(objective.num_weights), OwlqnSettings(), watch)
    assert outcome.converged and (outcome.weights == 0.0).any()


@pytest.mark.parametrize("iterations", [2, 8])
def test_the_gap_bounds_how_far_the_optimum_is(iterations: int) -> None:
    objective = built("chain", "elastic net")
    start = np.zeros(objective.num_weights)
    best = OPTIMIZERS["owlqn"](objective, start, OwlqnSettings(tolerance=1e-8), watch)
    stopped = OPTIMIZERS["owlqn"](objective, start, OwlqnSettings(max_iterations=iterations), watch)
    assert stopped.gap is not None and 0.0 < stopped.objective - best.objective <= stopped.gap
