"""One factor for all scores, by which they become the logarithms of probabilities as well as they can.

    τ = argmax_{τ > 0} Σ_i log p_τ(y_i | x_i),    p_τ(y | x) ∝ exp(τ g(y, x))

The sum is concave in τ where no label is summed out, and so has one maximum in log τ, over which is searched: first by
steps that enclose it, then by Brent's method. Source: Platt, "Probabilistic outputs for support vector machines"
(1999), without his offset, which cancels here. Not here: p (a function of τ is given).
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["best_temperature"]

STEP = 2.0  # in log τ
MOST_STEPS = 14  # to about 1e12 or 1e-12
LEVEL = 1e-12  # relative differences of sums that are none
TOLERANCE = 1e-6  # of log τ


def best_temperature(log_likelihood: Callable[[float], float]) -> float:
    """The τ > 0 of the highest log-likelihood; 0 or infinity where it rises, or is level, on the way there."""

    def loss(log_t: float) -> float:
        return -log_likelihood(math.exp(log_t))

    at, value = 0.0, loss(0.0)
    direction = STEP
    ahead, behind = loss(STEP), math.inf
    if _is_above(ahead, value):
        direction, ahead, behind = -STEP, loss(-STEP), ahead
    steps = 0
    while not _is_above(ahead, value):
        steps += 1
        if steps > MOST_STEPS:
            return math.inf if direction > 0 else 0.0
        at, behind, value = at + direction, value, ahead
        ahead = loss(at + direction)
    if not _is_above(behind, value):
        return 0.0 if direction > 0 else math.inf  # level on the side that this came from
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(loss, bracket=(at - STEP, at, at + STEP), method="brent", options={"xtol": TOLERANCE})
    return math.exp(float(found.x))


def _is_above(first: float, second: float) -> bool:
    return first > second + LEVEL * abs(second)
