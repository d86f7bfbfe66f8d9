"""Optimizers on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dcrfdsl.optimizers import OPTIMIZERS, Iteration
from dcrfdsl.spec.settings import LbfgsSettings

Floats = NDArray[np.float64]
CURVATURE = np.logspace(0, 3, 40)
MINIMUM = np.linspace(-1.0, 1.0, 40)
VALUE = 1000.0  # at the minimum


class Quadratic:
    """½ Σ c_i (x_i − m_i)² + VALUE, cut to multiples of `step`; `sharpen` makes the step ten times smaller."""

    def __init__(self, step: float, sharpest: float):
        self.step, self.sharpest = step, sharpest

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        away = weights - MINIMUM
        value = VALUE + 0.5 * float(CURVATURE @ away**2)
        if self.step:
            value = self.step * np.floor(value / self.step)
        return value, CURVATURE * away

    def sharpen(self) -> bool:
        if self.step <= self.sharpest:
            return False
        self.step *= 0.1
        return True


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def rough(weights: Floats) -> tuple[float, Floats]:
    """A value that rises in every direction that its gradient calls downhill."""
    return -float(weights @ weights), weights - MINIMUM


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_the_minimum_of_a_quadratic_is_found(name: str) -> None:
    outcome = OPTIMIZERS[name](Quadratic(0.0, 0.0), np.zeros(40), LbfgsSettings(tolerance=1e-8), watch)
    assert outcome.converged
    assert outcome.objective == pytest.approx(VALUE, abs=1e-9)
    # the curvature is at least 1, so no weight is further off than the gradient is long
    assert outcome.weights == pytest.approx(MINIMUM, abs=1e-8 * float(np.linalg.norm(CURVATURE * MINIMUM)))


def test_an_inexact_objective_is_asked_to_be_more_exact() -> None:
    objective = Quadratic(1.0, 1e-12)
    outcome = OPTIMIZERS["lbfgs"](objective, np.zeros(40), LbfgsSettings(tolerance=1e-7), watch)
    assert outcome.converged
    assert objective.step < 1.0
    assert outcome.weights == pytest.approx(MINIMUM, abs=1e-4)


def test_an_objective_that_stays_inexact_is_said_to_stop_the_search() -> None:
    class Rough(Quadratic):
        def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
            return rough(weights)

    outcome = OPTIMIZERS["lbfgs"](Rough(0.0, 0.0), np.full(40, 5.0), LbfgsSettings(), watch)
    assert not outcome.converged
    assert outcome.stalled
    assert "line search" in outcome.reason
