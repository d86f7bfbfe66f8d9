"""Nonlinear conjugate gradients by Polak and Ribière, with restarts. They remember a single direction, so they need
less memory than L-BFGS, and more passes.

    d ← −g + β d_before,    β = max(0, g · (g − g_before) / ‖g_before‖²)

The method restarts along −g if d is not a descent direction, and if two successive gradients are far from orthogonal
(Powell). Converged: by the rule of `progress`, on the gradient; a tiny last step, as at a kink, is not enough. Source:
Nocedal & Wright, "Numerical optimization", §5.2. Not here: the search along d (`line_search`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats, recalled
from ..kernels.optimization import dot
from ..semantics import CgSettings
from .line_search import line_search
from .objective import Objective, Outcome, Watch
from .progress import ROUNDING, Progress, norm_of
from .run_state import RunState

FLATTENING = 0.1  # of the slope by a line search, up and down: conjugate directions need an end close to the minimum
SIMILAR = 0.2  # of the gradient's square: a larger product with the previous gradient causes a restart


class _Ray:
    """The last direction and the data of the point where it began."""

    def __init__(self, num_weights: int, state: RunState) -> None:
        saved = state.take("ray") or {}
        self.direction, self.gradient = np.zeros(0), np.zeros(0)
        if len(saved.get("direction", ())):  # none before the first step, and after a restart
            self.direction = recalled(saved, "direction", num_weights)
            self.gradient = recalled(saved, "gradient", num_weights)
        self.fall = saved.get("fall", 0.0)  # −slope · step of the last search
        state.keep("ray", lambda: {"direction": self.direction, "gradient": self.gradient, "fall": self.fall})

    def forget(self) -> bool:
        had_one = len(self.direction) > 0
        self.direction = np.zeros(0)
        return had_one


def minimise_cg(objective: Objective, start: Floats, settings: CgSettings, watch: Watch, state: RunState) -> Outcome:
    """Minimises from `start` [W]."""
    progress, last = Progress(objective, start, settings, watch, state), _Ray(len(start), state)
    progress.run(lambda: _iterate(progress, last), last.forget)
    return progress.outcome()


def _iterate(progress: Progress, last: _Ray) -> bool:
    """One iteration; False if it finds no better point."""
    gradient = progress.gradient
    square = float(dot(gradient, gradient))
    direction, slope, step = -gradient, -square, min(1.0, 1.0 / progress.norm)
    if len(last.direction):
        common = float(dot(gradient, last.gradient))
        factor = max(0.0, (square - common) / float(dot(last.gradient, last.gradient)))
        bent = factor * last.direction - gradient
        bent_slope = float(dot(gradient, bent))
        if abs(common) < SIMILAR * square and bent_slope < 0.0:
            direction, slope = bent, bent_slope
        step = last.fall / -slope
    progress.is_flat = -slope * step <= 10.0 * ROUNDING * abs(progress.value)
    point = line_search(progress, direction, slope, step, flattening=FLATTENING, steepest=FLATTENING)
    if point is None:
        return False
    weights, value, new_gradient = point
    taken = norm_of(weights - progress.weights) / norm_of(direction)
    last.direction, last.gradient, last.fall = direction, gradient, -slope * taken
    progress.accept(weights, value, new_gradient)
    return True
