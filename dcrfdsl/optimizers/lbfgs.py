"""Limited-memory BFGS, with this project's stopping rule, progress and interruption.

Stops when ‖g‖ / ‖g₀‖ is below the tolerance *and* the objective fell by less than half the tolerance, relatively,
over the last ten iterations: the gradient alone can be small while the objective still creeps (on CoNLL-2000 chunking
it stops 0.12 nats above an optimum of 3395.53, both rules together 0.03).

The first guess of the inverse Hessian is γI, or γI + γ' diag(1/h) where the curvature h of each weight is known: the
one alone is slow in frequent features, the other in features that say the same. Sources: Nocedal & Wright, "Numerical
optimization", algorithms 3.5, 7.4 and eq. 7.20; the method's use for CRFs: Sutton 2004 §3.3. Not here: the pairs that
it remembers (`memory`).
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ..kernels.descent import dot
from ..spec.settings import LbfgsSettings
from .memory import PairMemory
from .objective import Iteration, Objective, Outcome, PartedObjective, Watch

__all__ = ["Progress", "descend", "minimise_lbfgs"]

Floats = NDArray[np.float64]
WINDOW = 10  # iterations over which the objective must have come to rest
DECREASE, FLATTENING = 1e-4, 0.9  # the conditions of Wolfe
MOST_TRIALS = 30  # of a line search
NOISE = 1e-15  # relative changes of the objective that mean nothing
ROUNDING = 1e-12  # relative changes that may be errors of summation; slopes are trusted there


def _norm(vector: Floats) -> float:
    return float(np.sqrt(dot(vector, vector)))


class _Stop(Exception):
    """Raised to leave the loops; the state is in `Progress`."""


class Progress:
    """The point at hand, and everything that is reported of the way to it."""

    def __init__(self, objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch):
        self.objective, self.settings, self.watch = objective, settings, watch
        self.begun = time.perf_counter()
        self.evaluations = 0
        self.iterations = 0
        self.converged = False
        self.stalled = False
        self.is_flat = False  # a whole step is expected to change the objective by no more than errors of summation
        self.reason = ""
        self.values: list[float] = []  # objective after each iteration
        self.weights = start
        self.evaluate_again()
        self.start_norm = self.norm

    def evaluate(self, weights: Floats) -> tuple[float, Floats]:
        self.evaluations += 1
        return self.objective.value_and_gradient(weights)

    def evaluate_again(self) -> None:
        """Value and gradient of the point at hand: it is new, or the objective has become more exact."""
        self.value, self.gradient = self.evaluate(self.weights)
        self.norm = _norm(self.gradient)

    def accept(self, weights: Floats, value: float, gradient: Floats) -> None:
        """After an iteration: remembers the point, reports it, and stops where the rule says so."""
        self.weights, self.value, self.gradient = weights, value, gradient
        self.norm = _norm(gradient)
        stop = self.report(value, self.norm, weights)
        self.values.append(value)
        if self.norm <= self.settings.tolerance * self.start_norm and self._rests():
            self.converged, self.reason = True, "the gradient is below its tolerance"
            raise _Stop
        if stop:
            self.reason = "stopped on request"
            raise _Stop

    def _rests(self) -> bool:
        """Whether the objective has stopped falling; a gradient far below the tolerance is enough by itself."""
        if self.norm <= 0.01 * self.settings.tolerance * self.start_norm:
            return True
        fall = self.values[-1 - WINDOW] - self.value if len(self.values) > WINDOW else np.inf
        return bool(fall <= 0.5 * self.settings.tolerance * abs(self.value))

    def report(self, value: float, norm: float, weights: Floats) -> bool:
        """Counts and reports an iteration; True if it is to be the last."""
        self.iterations += 1
        seconds = time.perf_counter() - self.begun
        return self.watch(Iteration(self.iterations, value, norm, seconds), weights)

    def outcome(self) -> Outcome:
        seconds = time.perf_counter() - self.begun
        gap = self.objective.gap(self.gradient) if isinstance(self.objective, PartedObjective) else None
        return Outcome(
            self.weights,
            self.value,
            self.iterations,
            self.evaluations,
            self.converged,
            seconds,
            self.reason,
            self.stalled,
            self.norm,
            gap,
        )


def minimise_lbfgs(objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch) -> Outcome:
    """Minimises from `start` [W]; `watch` is called after each iteration, may ask to stop. Returns the best point.

    Where the line search fails because the objective is not exact (message passing stops at a tolerance), the
    objective is asked to be more exact and the search goes on from the best point.
    """
    progress = Progress(objective, start, settings, watch)
    descend(progress, None)
    return progress.outcome()


def descend(progress: Progress, curvature: Floats | None) -> None:
    """Goes on from the point of `progress` until a rule says stop; `curvature` [W] of each weight, if it is known."""
    if progress.norm == 0.0:
        progress.converged, progress.reason = True, "the gradient is zero at the start"
        return
    memory = PairMemory(progress.objective, len(progress.weights), progress.settings.memory, curvature)
    try:
        while progress.iterations < progress.settings.max_iterations:
            if _iterate(progress, memory):
                continue
            if progress.is_flat:
                progress.converged, progress.reason = True, "no step changes the objective by more than rounding does"
                return
            if memory.pairs:
                memory.forget()  # the pairs may be what is wrong: once more downhill
            elif progress.objective.sharpen():
                progress.evaluate_again()
            else:
                progress.stalled, progress.reason = True, "the line search found no better point"
                return
        progress.reason = f"{progress.settings.max_iterations} iterations done"
    except _Stop:
        pass


def _iterate(progress: Progress, memory: PairMemory) -> bool:
    """One iteration; False if no better point was found."""
    direction = memory.direction(progress.gradient)
    slope = float(dot(progress.gradient, direction))
    if not slope < 0.0:
        return False
    first = 1.0 if memory.scaled else min(1.0, 1.0 / progress.norm)
    progress.is_flat = -slope * first <= 10.0 * ROUNDING * abs(progress.value)
    found = _line_search(progress, direction, slope, first)
    if found is None:
        return False
    weights, value, gradient = found
    memory.add(weights, progress.weights, gradient, progress.gradient)
    progress.accept(weights, value, gradient)
    return True


def _line_search(
    progress: Progress, direction: Floats, slope: float, step: float
) -> tuple[Floats, float, Floats] | None:
    """A point on the ray that satisfies the weak conditions of Wolfe, by interpolation and bisection.

    None if there is none; one that is lower at least, if that is all that was found.
    """
    low, high = 0.0, np.inf
    lower: tuple[Floats, float, Floats] | None = None
    for _ in range(MOST_TRIALS):
        weights = progress.weights + step * direction
        value, gradient = progress.evaluate(weights)
        rise, end_slope = value - progress.value, float(dot(gradient, direction))
        fits = rise <= DECREASE * step * slope
        if progress.is_flat and abs(rise) <= ROUNDING * abs(progress.value):
            fits = end_slope <= (2.0 * DECREASE - 1.0) * slope  # the approximate condition of Hager and Zhang (2005)
        if not fits:
            high = step
            # the parabola through both values and the slope, kept away from the ends
            bottom = -0.5 * slope * step**2 / (rise - slope * step) if np.isfinite(rise) else 0.0
            step = min(max(bottom, low + 0.1 * (high - low)), low + 0.5 * (high - low))
        else:
            if lower is None or value < lower[1]:
                lower = (weights, value, gradient)
            if end_slope >= FLATTENING * slope:
                return weights, value, gradient
            low = step
            step = 2.0 * step if high == np.inf else 0.5 * (low + high)
        if -slope * step <= NOISE * abs(progress.value):
            break
    return lower
