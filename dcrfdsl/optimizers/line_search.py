"""The line search of methods with a direction: the Wolfe conditions, by interpolation and bisection.

Source: Nocedal & Wright, "Numerical optimization", §3.1 and §3.5. Not here: directions.
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from .progress import ROUNDING as ROUNDING, Progress

Point = tuple[Floats, float, Floats]  # weights, value and gradient there
DECREASE, FLATTENING = 1e-4, 0.9  # the Wolfe conditions
MOST_TRIALS = 30  # of a line search
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
    for _ in range(MOST_TRIALS):
        weights = progress.weights + step * direction
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


def _between(low: float, high: float, low_slope: float, high_slope: float) -> float:
    """The root of the secant of the slopes at two steps, kept away from both."""
    level = low + (high - low) * low_slope / (low_slope - high_slope)
    return min(max(level, low + 0.1 * (high - low)), high - 0.1 * (high - low))
