"""OWL-QN: L-BFGS for an objective with the penalty Σ l1 |λ|, which has a corner wherever a weight is zero.

Within an orthant the objective is smooth. Each step follows the direction of L-BFGS for the smooth part, without the
entries whose sign disagrees with the steepest descent, and stops at the border of the orthant: such weights become
zero, and stay so while no slope there exceeds that of the penalty. Converged: by the rule of `progress`, on the
pseudo-gradient, which is the subgradient of least norm. Weights without a corner move as in L-BFGS. Source: Andrew &
Gao, "Scalable training of L1-regularized log-linear models" (2007). Not here: pairs (`lbfgs`), the pseudo-gradient
(`corners`), the stopping rule (`progress`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from ..semantics import LbfgsSettings
from .corners import Corners
from .lbfgs import PairMemory
from .line_search import backtrack
from .objective import Objective, Outcome, Watch
from .progress import Progress
from .run_state import RunState


def minimise_owlqn(
    objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]; without corners it is L-BFGS with a simpler line search."""
    corners = Corners(np.zeros(len(start)) if objective.l1 is None else objective.l1, None)
    progress = Progress(objective, start, settings, watch, state, corners)
    memory = PairMemory(objective, len(start), settings.memory, None, state)
    progress.run(lambda: _iterate(progress, memory, corners), memory.forget)
    return progress.outcome()


def _iterate(progress: Progress, memory: PairMemory, corners: Corners) -> bool:
    """One iteration; False if it finds no better point."""
    before, has_corner = progress.weights, np.asarray(corners.l1) > 0.0
    steepest = progress.steepest(before, progress.gradient)
    direction = memory.direction(steepest)
    direction[has_corner & (direction * steepest >= 0.0)] = 0.0
    if not float(dot(steepest, direction)) < 0.0:
        return False
    orthant = np.where(before != 0.0, np.sign(before), -np.sign(steepest))

    def trial(step: float) -> tuple[Floats, float]:
        weights = before + step * direction
        weights[has_corner & (weights * orthant <= 0.0)] = 0.0
        return weights, float(dot(steepest, weights - before))

    point = backtrack(progress, trial, 1.0 if memory.scaled else min(1.0, 1.0 / progress.norm))
    if point is None:
        return False
    weights, value, gradient = point
    # the curvature of the weights that move: the slopes of the others do not belong to steps in this orthant
    free = corners.moving(before) | corners.moving(weights)
    slopes = (corners.smooth(weights, gradient), corners.smooth(before, progress.gradient))
    memory.add(weights, before, *(np.where(free, slope, 0.0) for slope in slopes))
    progress.accept(weights, value, gradient)
    return True
