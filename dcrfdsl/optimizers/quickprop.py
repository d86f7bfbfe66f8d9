"""Quickprop: each weight moves to the minimum of a parabola through its last two slopes.

    Δ ← Δ · S / (S_before − S),    |Δ| ≤ mu |Δ_before|,    S = ∂L/∂λ

with a step along the gradient if a weight has not moved or its parabola opens downwards. So every weight moves
downhill. If the joint step leads to a point higher than the last ones, because weights are not independent, it is
halved. A point higher than the last one alone is allowed: otherwise weights would be held at a kink, and objectives
made of best labellings are full of kinks. Converged: by the rule of `progress`, on the gradient; g₀ is the longer of
the gradients at the start and after the passes below. If the objective is a sum over sequences, the first passes take
steps after single sequences (`online`). Sources: Fahlman, "An empirical study of learning speed in back-propagation
networks" (1988); its use here: Suzuki 2006 §3.3 and §5.1.
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats, recalled
from ..kernels.optimization import secant_steps
from ..semantics import QuickpropSettings
from .line_search import DECREASE, MOST_TRIALS, NOISE
from .objective import Iteration, Objective, Outcome, Watch
from .online import Passes, run_descent
from .progress import ROUNDING, Progress, norm_of
from .run_state import RunState

MEMORY = 10  # iterations whose highest objective must not be exceeded (Grippo, Lampariello & Lucidi 1986)


class _Moves:
    """The last moves [W], the gradient [W] before them, the size of steps along the gradient, and the fraction of the
    moves that is tried first: twice the last one that led to a lower point.
    """

    def __init__(self, num_weights: int, state: RunState):
        nothing = np.zeros((2, num_weights))
        saved = state.take("moves") or {"last": nothing[0], "before": nothing[1]}
        self.last, self.before = recalled(saved, "last", num_weights), recalled(saved, "before", num_weights)
        self.step = saved.get("step", 0.0)
        self.part = saved.get("part", 1.0)
        state.keep("moves", lambda: {"last": self.last, "before": self.before, "step": self.step, "part": self.part})

    def forget(self) -> bool:
        had_moved = bool(self.last.any())
        self.last.fill(0.0)
        self.part = 1.0
        return had_moved


def minimise_quickprop(
    objective: Objective, start: Floats, settings: QuickpropSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]. Iterations are counted from the first online pass on."""
    online, point, seconds, spent, norm = 0, start, 0.0, 0, 0.0
    saved = state.take("after_passes")
    if saved is not None:
        seconds = saved["seconds"]  # all else is part of the progress
    elif settings.online and objective.batches(1) is not None:
        lower = state.below("online")
        norms = lower.take("norm") or {"norm": norm_of(objective.value_and_gradient(start)[1])}
        lower.keep("norm", lambda: norms)
        norm = float(norms["norm"])
        passes = Passes(objective, start, settings.seed, watch, lower)
        run_descent(passes, min(settings.online, settings.max_iterations), settings.rate)
        first = passes.outcome(False, "stopped on request")
        if passes.is_stopped:
            return first
        online, seconds, spent = first.iterations, first.seconds, first.evaluations
        point = first.weights if np.isfinite(first.objective) else start
    state.drop("online")
    state.keep("after_passes", lambda: {"seconds": seconds})

    def later(step: Iteration, weights: Floats) -> bool:
        return watch(step._replace(seconds=seconds + step.seconds), weights)

    progress = Progress(objective, point, settings, later, state)
    if saved is None:
        progress.start_norm = max(progress.start_norm, norm)
        progress.iterations, progress.evaluations = online, progress.evaluations + spent
    moves = _Moves(len(point), state)
    progress.run(lambda: _iterate(progress, moves, settings.mu), moves.forget)
    return progress.outcome()


def _iterate(progress: Progress, moves: _Moves, growth: float) -> bool:
    """One iteration; False if it finds no better point."""
    gradient = progress.gradient
    step = moves.step or min(1.0, 1.0 / progress.norm)
    direction = moves.last.copy()
    slope = float(secant_steps(gradient, moves.before, growth, step, direction))
    progress.is_flat = -slope <= 10.0 * ROUNDING * abs(progress.value)
    part, highest = moves.part, max([progress.value, *progress.values[-MEMORY:]])
    for _ in range(MOST_TRIALS):
        move = part * direction
        weights = progress.weights + move
        value, new_gradient = progress.evaluate(weights)
        rise = value - highest
        fits = rise <= DECREASE * part * slope
        if progress.is_flat and abs(rise) <= ROUNDING * abs(progress.value):
            fits = norm_of(new_gradient) < progress.norm
        if fits:
            moves.before, moves.last, moves.part = gradient, move, min(1.0, 2.0 * part)
            # as long as the secants of all weights together suggest: s·s / s·y
            curved = float(move @ (new_gradient - gradient))
            moves.step = float(move @ move) / curved if curved > 0.0 else step
            progress.accept(weights, value, new_gradient)
            return True
        if -slope * part <= NOISE * abs(progress.value):
            break
        part *= 0.5
    return False
