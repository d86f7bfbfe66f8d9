"""The searches of methods with a direction: along a ray, to the Wolfe conditions, and along a path that may bend.

Source: Nocedal & Wright, "Numerical optimization", §3.1 and §3.5. Not here: directions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from .progress import ROUNDING as ROUNDING, Progress

Point = tuple[Floats, float, Floats]  # weights, value and gradient there
DECREASE, FLATTENING = 1e-4, 0.9  # the Wolfe conditions
MOST_TRIALS = 30  # of a line search
DOUBTFUL = 6  # of these without a lower point: an objective that can get more exact is asked to
NOISE = 1e-15  # relative changes of the objective without a meaning


def line_search(
    progress: Progress,
    direction: Floats,
    slope: float,
    step: float,
    *,
    flattening: float = FLATTENING,
    steepest: float = np.inf,
) -> Point | None:
    """A point on the ray that satisfies the weak Wolfe conditions, by interpolation and bisection; the strong ones if
    the slope there may only be `steepest` times the one at the start, upwards.

    slope: of the ray at its start.   step: the first trial.   If there is no such point: a lower point if one was
    found, else None.
    """
    low, high, low_slope = 0.0, np.inf, slope
    lower: Point | None = None
    for number in range(MOST_TRIALS):
        if number == DOUBTFUL and lower is None and progress.sharpen():
            return None
        weights = step * direction
        weights += progress.weights
        value, gradient = progress.evaluate(weights)
        rise, end_slope = value - progress.value, float(dot(gradient, direction))
        fits = rise <= DECREASE * step * slope
        if progress.is_flat and abs(rise) <= ROUNDING * abs(progress.value):
            fits = end_slope <= (2.0 * DECREASE - 1.0) * slope  # the approximate condition of Hager and Zhang (2005)
            if not fits and progress.goes_by_slopes:
                high, step = step, _between(low, step, low_slope, end_slope)
                continue
        if not fits:
            high = step
            # the minimum of the parabola through both values and the slope, kept away from the ends
            bottom = -0.5 * slope * step**2 / (rise - slope * step) if np.isfinite(rise) else 0.0
            step = min(max(bottom, low + 0.1 * (high - low)), low + 0.5 * (high - low))
        else:
            if lower is None or value < lower[1]:
                lower = (weights, value, gradient)
            if end_slope > -steepest * slope:  # beyond the minimum: to the root of the secant of the slopes
                high, step = step, _between(low, step, low_slope, end_slope)
                continue
            if end_slope >= flattening * slope:
                return weights, value, gradient
            low, low_slope = step, end_slope
            step = 2.0 * step if high == np.inf else 0.5 * (low + high)
        if -slope * step <= NOISE * abs(progress.value):
            break
    return lower


def backtrack(
    progress: Progress, trial: Callable[[float], tuple[Floats, float]], step: float, *, tries_first: bool = False
) -> Point | None:
    """The first point of a path where the objective falls enough, by shorter and shorter steps; None if none was found.

    The path may bend, as where weights that would change their sign become 0.

    trial: the weights [W] at a step, and the fall there as the slope at the start has it, below 0.   step: the first
    one.   tries_first: whether the first step is tried even if it cannot change the objective beyond rounding.
    """
    before = progress.weights
    for number in range(MOST_TRIALS):
        weights, slope = trial(step)
        if number == 0:
            progress.is_flat = -slope <= 10.0 * ROUNDING * abs(progress.value)
        is_too_short = -slope <= NOISE * abs(progress.value) and not progress.goes_by_slopes
        if is_too_short and not (number == 0 and tries_first):
            return None
        value, gradient = progress.evaluate(weights)
        rise = value - progress.value
        fits = rise <= DECREASE * slope
        if progress.is_flat and abs(rise) <= ROUNDING * abs(progress.value):
            end_slope = float(dot(progress.steepest(weights, gradient), weights - before))
            fits = end_slope <= (2.0 * DECREASE - 1.0) * slope  # as in `line_search`
        if fits:
            return weights, value, gradient
        # the minimum of the parabola through both values and the slope
        bottom = 0.5 * slope / (slope - rise) if np.isfinite(value) else 0.0
        step *= min(max(bottom, 0.1), 0.5)
    return None


def _between(low: float, high: float, low_slope: float, high_slope: float) -> float:
    """The root of the secant of the slopes at two steps, kept away from both."""
    level = low + (high - low) * low_slope / (low_slope - high_slope)
    return min(max(level, low + 0.1 * (high - low)), high - 0.1 * (high - low))
