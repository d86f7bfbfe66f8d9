"""Conjugate gradients, Quickprop, steps after single sequences: their rules by hand, repeatability, refusals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from optimizer_cases import Parabolas
from template_cases import CASES, Case
from training_cases import many, objective_of

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.kernels.optimization.descent import secant_steps
from dcrfdsl.optimizers.objective import Iteration, Objective
from dcrfdsl.optimizers.online import best_rate
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.method_settings import MethodSettings
from dcrfdsl.semantics.settings.optimizer_settings import (
    CgSettings,
    GpdSettings,
    OwlqnSettings,
    QuickpropSettings,
    SgdSettings,
)

Floats = NDArray[np.float64]


def watch(step: Iteration, weights: Floats) -> bool:
    return False


# their rules ----------------------------------------------------------------------------------------------------------


def test_conjugate_gradients_end_on_a_quadratic_in_as_many_steps_as_it_has_weights() -> None:
    """Nearly: the search along each direction is not exact."""

    class Quadratic(Objective):
        def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
            curvature = np.array([1.0, 10.0, 100.0, 1000.0])
            return 0.5 * float(curvature @ (weights - 1.0) ** 2), curvature * (weights - 1.0)

    outcome = OPTIMIZERS["cg"](Quadratic(), np.zeros(4), CgSettings(tolerance=1e-6), watch)
    assert outcome.converged and outcome.iterations <= 12
    assert outcome.weights == pytest.approx(1.0, abs=1e-3)


FAHLMAN = {
    # last move, slope before, slope now -> next move, with growth 1.75 and a gradient step of 0.1
    "to the lowest point of the parabola": (1.0, -3.0, -1.0, 0.5),
    "back over it": (1.0, -1.0, 1.0, -0.5),
    "no further than the growth": (1.0, -1.1, -1.0, 1.75),
    "the growth, backwards": (-2.0, 1.1, 1.0, -3.5),
    "along the gradient where it has not moved": (0.0, -1.0, -2.0, 0.2),
    "along the gradient where the parabola opens downwards": (1.0, -1.0, -2.0, 0.2),
    "along the gradient where the slope is the same": (1.0, -2.0, -2.0, 0.2),
    "nowhere at a slope of zero": (1.0, -2.0, 0.0, 0.0),
}


@pytest.mark.parametrize("name", FAHLMAN)
def test_a_weight_moves_by_fahlmans_rule(name: str) -> None:
    last, before, now, expected = FAHLMAN[name]
    moves = np.array([last])
    slope = secant_steps(np.array([now]), np.array([before]), 1.75, 0.1, moves)
    assert moves[0] == pytest.approx(expected)
    assert slope == pytest.approx(now * expected)


STEPS = {
    # step by its number, of 6 in two passes over three sequences
    "gpd": (GpdSettings(epochs=2, rate=0.4, seed=3), lambda t: 0.4 * (1.0 - t / 6.0)),
    # the mean precision is 0.5, a third of it is a sequence's
    "sgd": (SgdSettings(epochs=2, rate=0.4, seed=3), lambda t: 0.4 / (1.0 + 0.4 * 0.5 / 3.0 * t)),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_after_single_sequences_are_those_of_the_formula(name: str) -> None:
    settings, size = STEPS[name]
    objective = Parabolas()
    outcome = OPTIMIZERS[name](objective, np.zeros(4), settings, watch)
    weights = np.zeros(4)
    for t, (number, seen) in enumerate(objective.asked):
        np.testing.assert_allclose(seen, weights, atol=1e-14)
        for w, middle in ((0, 1.0), (number + 1, objective.MIDDLES[number + 1])):
            weights[w] = (weights[w] - size(t) * (weights[w] - middle)) / (1.0 + size(t) * objective.share[w])
    np.testing.assert_allclose(outcome.weights, weights, atol=1e-14)
    orders = [[number for number, _ in objective.asked[start : start + 3]] for start in (0, 3)]
    assert all(sorted(order) == [0, 1, 2] for order in orders)
    assert outcome.iterations == 2


@pytest.mark.parametrize(("rate", "converged"), [(1e-12, False), (1e-7, False), (0.1, True)])
def test_steps_that_lead_nowhere_have_not_converged(rate: float, converged: bool) -> None:
    start = np.full(4, 5.0)
    outcome = OPTIMIZERS["sgd"](Parabolas(), start, SgdSettings(epochs=1000, rate=rate, tolerance=1e-3), watch)
    assert outcome.converged is converged and ("too short" in outcome.reason) is not converged


@pytest.mark.parametrize("settings", [SgdSettings, GpdSettings, QuickpropSettings])
@pytest.mark.parametrize("rate", [np.nan, np.inf, 0.0, 1e-320, 1e308])
def test_a_rate_is_a_number_of_this_world(settings: type[SgdSettings], rate: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        settings(rate=rate)


def test_a_rate_is_the_best_of_those_tried() -> None:
    """By brute force over the same ladder: the sample is all three sequences."""

    def after(rate: float) -> float:
        weights = np.zeros(4)
        for number in range(3):
            for w, middle in ((0, 1.0), (number + 1, Parabolas.MIDDLES[number + 1])):
                weights[w] = (weights[w] - rate * (weights[w] - middle)) / (1.0 + rate * Parabolas.share[w])
        return Parabolas().value_and_gradient(weights)[0]

    found, _ = best_rate(Parabolas(), np.zeros(4), np.random.default_rng(0))
    ladder = 0.1 * 2.0 ** np.arange(-6, 7)
    assert found == min(ladder.tolist(), key=after)


def test_a_rate_that_is_too_high_is_lowered() -> None:
    class Steep(Parabolas):
        def gradient(self, number: int) -> tuple[float, NDArray[np.int32], Floats]:
            value, own, away = super().gradient(number)
            return 1000.0 * value, own, 1000.0 * away

    found, _ = best_rate(Steep(), np.zeros(4), np.random.default_rng(0))
    assert found < 2.0 / 1000.0


# repeatability --------------------------------------------------------------------------------------------------------

SEEDED: Mapping[str, MethodSettings] = {
    "sgd": SgdSettings(epochs=3),
    "gpd": GpdSettings(epochs=3),
    "quickprop": QuickpropSettings(online=2, max_iterations=8),
}


@pytest.mark.parametrize("name", SEEDED)
def test_weights_depend_on_the_seed_and_on_nothing_else(name: str) -> None:
    ends = []
    for threads, seed in ((1, 0), (2, 0), (1, 1)):
        objective = objective_of(many(CASES["factorial"], 8), "likelihood", threads=threads)
        settings = SEEDED[name].model_copy(update={"seed": seed})
        ends.append(OPTIMIZERS[name](objective, np.zeros(objective.num_weights), settings, watch).weights)
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


@pytest.mark.parametrize("name", ["owlqn", "cg", "sgd", "gpd", "quickprop"])
def test_they_stop_on_request_and_report_each_iteration(name: str) -> None:
    objective = objective_of(many(CASES["chain"], 4), "likelihood")
    settings = {**SEEDED, "owlqn": OwlqnSettings(), "cg": CgSettings()}[name]
    steps: list[Iteration] = []

    def note(step: Iteration, weights: Floats) -> bool:
        steps.append(step)
        return len(steps) == 3

    outcome = OPTIMIZERS[name](objective, np.zeros(objective.num_weights), settings, note)
    assert [step.iteration for step in steps] == [1, 2, 3]
    assert outcome.iterations == 3 and not outcome.converged and outcome.reason == "stopped on request"
    value, gradient = objective.value_and_gradient(outcome.weights)
    assert outcome.objective == pytest.approx(value, rel=1e-12)
    assert outcome.gradient_norm == pytest.approx(float(np.linalg.norm(gradient)), rel=1e-9)


def test_quickprop_counts_its_online_passes_as_iterations() -> None:
    objective = objective_of(many(CASES["chain"], 4), "likelihood")
    for limit in (2, 9):
        settings = QuickpropSettings(online=5, max_iterations=limit)
        outcome = OPTIMIZERS["quickprop"](objective, np.zeros(objective.num_weights), settings, watch)
        assert outcome.iterations == limit and outcome.reason == f"{limit} iterations done"


# hidden labels, and what has no sequences --------------------------------------------------------------------------

PARTLY = {
    "missing": Case(
        'data conll(word, y)\nlabel y with missing = "_"\nclique y: bias, word\nclique y[-1], y\n',
        [[("a", "P"), ("b", "_"), ("c", "Q")], [("b", "Q"), ("a", "P")], [("c", "_")], [("a", "Q"), ("c", "P")]],
    ),
    "latent": Case(
        "data conll(word, y)\nlabel y\nlatent h in 2\nclique y, h: bias, word\nclique h[-1], h\n",
        CASES["chain"].sentences,
    ),
}


@pytest.mark.parametrize("name", PARTLY)
def test_gradients_of_single_sequences_add_up_where_labels_are_summed_out(name: str) -> None:
    objective = objective_of(PARTLY[name], "likelihood", "train.infer=exact")
    weights = np.random.default_rng(6).normal(0.0, 0.7, objective.num_weights)
    value, gradient = objective.value_and_gradient(weights)
    assert objective.batches() is None
    batches = objective.batches(1)
    batches.begin(weights)
    for _ in range(2):  # again, since room is used again
        total, summed = 0.5 * float(batches.precision @ weights**2), batches.precision * weights
        for number in range(batches.count):
            own, touched, part = batches.gradient(number)
            total += own
            summed[touched] += part
    assert total == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(summed, gradient, atol=1e-10)


@pytest.mark.parametrize("name", ["sgd", "gpd"])
def test_an_objective_that_is_no_sum_over_sequences_is_refused(name: str) -> None:
    objective = objective_of(CASES["chain"], "likelihood", "train.prior=lphi(phi = 1.5)")
    with pytest.raises(DcrfError) as caught:
        OPTIMIZERS[name](objective, np.zeros(objective.num_weights), SEEDED[name], watch)
    assert [d.slug for d in caught.value.diagnostics] == ["cannot-train"]


def test_quickprop_does_without_sequences() -> None:
    objective = objective_of(CASES["chain"], "likelihood", "train.prior=lphi(phi = 1.5)")
    start = np.zeros(objective.num_weights)
    with_online = OPTIMIZERS["quickprop"](objective, start, QuickpropSettings(online=5, max_iterations=20), watch)
    without = OPTIMIZERS["quickprop"](objective, start, QuickpropSettings(online=0, max_iterations=20), watch)
    assert np.array_equal(with_online.weights, without.weights)
    assert with_online.objective < objective.value_and_gradient(start)[0]
