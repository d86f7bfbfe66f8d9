"""Proximal quasi-Newton: for objectives with corners where single weights, or whole groups of weights, are zero.

Each iteration takes the smooth part by its quasi-Newton model and the corners as they are, finds the point that makes
both together least, and searches on the way there. So a weight or group becomes exactly zero in one step, and stays so
while the slope of the smooth part does not exceed its strength. It stops on the subgradient of least norm, which is 0
at an optimum: there every group of zeros has a smooth gradient no longer than its strength. Sources: Lee, Sun &
Saunders, "Proximal Newton-type methods" (2014); Scheinberg & Tang (2016). Not here: the model and its least point
(`proximal_memory`), corners (`corners`), the stopping rule (`progress`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from ..semantics import LbfgsSettings
from .corners import Corners
from .line_search import DECREASE, MOST_TRIALS, NOISE
from .objective import Objective, Outcome, Watch
from .progress import ROUNDING, Progress
from .proximal_memory import ProximalMemory
from .run_state import RunState


class _CornerProgress(Progress):
    """Progress by the subgradient of least norm."""

    def __init__(
        self, objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState,
        corners: Corners,
    ):  # fmt: skip
        self.corners = corners
        super().__init__(objective, start, settings, watch, state)

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        """As `Progress.steepest`."""
        return self.corners.least(weights, gradient)


def minimise_proximal(
    objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]; without corners it is L-BFGS with a simpler line search."""
    corners = Corners(objective.l1, objective.groups)
    progress = _CornerProgress(objective, start, settings, watch, state, corners)
    memory = ProximalMemory(objective, len(start), settings.memory, state)
    progress.run(lambda: _iterate(progress, memory), memory.forget)
    return progress.outcome()


def _iterate(progress: _CornerProgress, memory: ProximalMemory) -> bool:
    """One iteration; False if it finds no better point."""
    corners, before = progress.corners, progress.weights
    smooth = corners.smooth(before, progress.gradient)
    goal = memory.least(before, smooth, corners, max(1.0, progress.norm))
    if goal is None:
        return False
    direction = goal - before
    # how much the model falls, its curvature left out: an upper bound of the slope
    slope = float(dot(smooth, direction)) + corners.rise(before, direction)
    if not slope < 0.0:
        return False
    progress.is_flat = -slope <= 10.0 * ROUNDING * abs(progress.value)
    step = 1.0
    for _ in range(MOST_TRIALS):
        weights = goal if step == 1.0 else before + step * direction
        if step < 1.0 and -slope * step <= NOISE * abs(progress.value) and not progress.goes_by_slopes:
            return False
        value, gradient = progress.evaluate(weights)
        rise = value - progress.value
        fits = rise <= DECREASE * step * slope
        if progress.is_flat and abs(rise) <= ROUNDING * abs(progress.value):
            end_slope = float(dot(progress.steepest(weights, gradient), direction))
            fits = end_slope <= (2.0 * DECREASE - 1.0) * slope  # see `line_search`
        if fits:
            # the curvature of what moves: slopes of weights that stay 0 do not belong to steps among the others
            free = corners.moving(before) | corners.moving(weights)
            change = np.where(free, corners.smooth(weights, gradient) - smooth, 0.0)
            memory.add(weights - before, change)
            progress.accept(weights, value, gradient)
            return True
        # the minimum of the parabola through both values and the slope
        bottom = 0.5 * slope * step / (slope * step - rise) if np.isfinite(value) else 0.0
        step *= min(max(bottom, 0.1), 0.5)
    return False
