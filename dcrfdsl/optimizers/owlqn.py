"""OWL-QN: L-BFGS for an objective with the penalty Σ l1 |λ|, which has a corner wherever a weight is zero.

Within an orthant the objective is smooth. Each step follows the direction of L-BFGS for the smooth part, without the
entries whose sign disagrees with the steepest descent, and stops at the border of the orthant: such weights become
zero, and stay so while no slope there exceeds that of the penalty. The search stops on the pseudo-gradient, the
subgradient of least norm, by the rule of `progress`. Weights without a corner move as in L-BFGS. Source: Andrew & Gao,
"Scalable training of L1-regularized log-linear models" (2007). Not here: pairs (`lbfgs`), the stopping rule
(`progress`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from ..semantics import LbfgsSettings
from .lbfgs import PairMemory
from .line_search import DECREASE, MOST_TRIALS, NOISE
from .objective import Objective, Outcome, Watch
from .progress import ROUNDING, Progress
from .run_state import RunState


class _CornerProgress(Progress):
    """Progress by the pseudo-gradient. l1 [W]: strengths of the corners."""

    def __init__(
        self, objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState, l1: Floats
    ):
        self.l1 = l1
        super().__init__(objective, start, settings, watch, state)

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        """The gradient; in corners the least slope of both sides, which is 0 if the objective rises on both."""
        in_corner = (weights == 0.0) & (self.l1 > 0.0)
        least: Floats = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
        return np.where(in_corner, least, gradient)

    def smooth(self, weights: Floats, gradient: Floats) -> Floats:
        """The gradient of the objective without the part that has corners."""
        return gradient - self.l1 * np.sign(weights)


def minimise_owlqn(
    objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]; without corners it is L-BFGS with a simpler line search."""
    l1 = objective.l1
    progress = _CornerProgress(objective, start, settings, watch, state, np.zeros(len(start)) if l1 is None else l1)
    memory = PairMemory(objective, len(start), settings.memory, None, state)
    progress.run(lambda: _iterate(progress, memory), memory.forget)
    return progress.outcome()


def _iterate(progress: _CornerProgress, memory: PairMemory) -> bool:
    """One iteration; False if it finds no better point."""
    before, has_corner = progress.weights, progress.l1 > 0.0
    steepest = progress.steepest(before, progress.gradient)
    direction = memory.direction(steepest)
    direction[has_corner & (direction * steepest >= 0.0)] = 0.0
    if not float(dot(steepest, direction)) < 0.0:
        return False
    orthant = np.where(before != 0.0, np.sign(before), -np.sign(steepest))
    step = 1.0 if memory.scaled else min(1.0, 1.0 / progress.norm)
    for trial in range(MOST_TRIALS):
        weights = before + step * direction
        weights[has_corner & (weights * orthant <= 0.0)] = 0.0
        slope = float(dot(steepest, weights - before))
        if trial == 0:
            progress.is_flat = -slope <= 10.0 * ROUNDING * abs(progress.value)
        if -slope <= NOISE * abs(progress.value) and not progress.goes_by_slopes:
            return False
        value, gradient = progress.evaluate(weights)
        fits = value - progress.value <= DECREASE * slope
        if progress.is_flat and abs(value - progress.value) <= ROUNDING * abs(progress.value):
            end_slope = float(dot(progress.steepest(weights, gradient), weights - before))
            fits = end_slope <= (2.0 * DECREASE - 1.0) * slope  # see `line_search`
        if fits:
            # the curvature of the weights that move: the slopes of the others do not belong to steps in this orthant
            free = ~has_corner | (weights != 0.0) | (before != 0.0)
            slopes = (progress.smooth(weights, gradient), progress.smooth(before, progress.gradient))
            memory.add(weights, before, *(np.where(free, slope, 0.0) for slope in slopes))
            progress.accept(weights, value, gradient)
            return True
        # the minimum of the parabola through both values and the slope
        bottom = 0.5 * slope / (slope - (value - progress.value)) if np.isfinite(value) else 0.0
        step *= min(max(bottom, 0.1), 0.5)
    return False
