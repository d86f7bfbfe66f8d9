"""A temperature: one factor for all scores that turns them into log probabilities as well as possible.

    τ = argmax_{τ > 0} Σ_i log p_τ(y_i | x_i),    p_τ(y | x) ∝ exp(τ g(y, x))

If no label is summed out, the sum is concave in τ, so it has one maximum in log τ. The search first encloses it in
steps, then uses Brent's method. Source: Platt, "Probabilistic outputs for support vector machines" (1999), without his
offset, which cancels here. Not here: p (the caller passes a function of τ).
"""

from __future__ import annotations

import math
from collections.abc import Callable

STEP = 2.0  # in log τ
MOST_STEPS = 14  # up to about 1e12 or 1e-12
LEVEL = 1e-12  # smaller relative differences of sums are no differences
TOLERANCE = 1e-6  # of log τ
CERTAIN = 1e-6  # nats that all labels together may lack: then only rounding decides between higher temperatures


def best_temperature(log_likelihood: Callable[[float], float]) -> float:
    """The τ > 0 of the highest log-likelihood; 0 or infinity if it rises, or is level, in that direction; infinity as
    well where some τ makes everything certain.
    """

    def loss(log_t: float) -> float:
        return -log_likelihood(math.exp(log_t))

    at, value = 0.0, loss(0.0)
    direction = STEP
    ahead, behind = loss(STEP), math.inf
    if _is_above(ahead, value):
        direction, ahead, behind = -STEP, loss(-STEP), ahead
    steps = 0
    while not _is_above(ahead, value):
        if direction > 0 and ahead < CERTAIN:
            return math.inf
        steps += 1
        if steps > MOST_STEPS:
            return math.inf if direction > 0 else 0.0
        at, behind, value = at + direction, value, ahead
        ahead = loss(at + direction)
    if not _is_above(behind, value):
        return 0.0 if direction > 0 else math.inf  # level on the side where the search began
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(loss, bracket=(at - STEP, at, at + STEP), method="brent", options={"xtol": TOLERANCE})
    return math.exp(float(minimum.x))


def _is_above(first: float, second: float) -> bool:
    return first > second + LEVEL * abs(second)
