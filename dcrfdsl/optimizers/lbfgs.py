"""Limited-memory BFGS.

The first guess of the inverse Hessian is γI, or γI + γ' diag(1/h) if the curvature h of each weight is known: γI alone
is slow in frequent features, the other in features that duplicate each other. Converged: by the rule of `progress`, on
the gradient. Sources: Nocedal & Wright, "Numerical optimization", algorithm 7.4 and eq. 7.20; the method's use for
CRFs: Sutton 2004 §3.3. Not here: the remembered pairs (`lbfgs_memory`), the search along a direction (`line_search`),
the stopping rule (`progress`).
"""

from __future__ import annotations

from ..foundation import Floats
from ..kernels.optimization import dot
from ..semantics import LbfgsSettings
from .lbfgs_memory import PairMemory
from .line_search import line_search
from .objective import Objective, Outcome, Watch
from .progress import ROUNDING, Progress
from .run_state import RunState


def minimise_lbfgs(
    objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]; `watch` is called after each iteration and may stop it. Returns the best point.

    If the line search fails because the objective is inexact (message passing stops at a tolerance), the objective is
    asked to be more exact and the search continues from the best point.
    """
    progress = Progress(objective, start, settings, watch, state)
    descend(progress, settings.memory, None, state)
    return progress.outcome()


def descend(progress: Progress, size: int, metric: Floats | None, state: RunState) -> None:
    """Continues from the point of `progress` until a rule stops it.

    size: the number of remembered pairs.   metric [W]: the inverse of each weight's curvature, if it is known.
    """
    memory = PairMemory(progress.objective, len(progress.weights), size, metric, state)
    progress.run(lambda: _iterate(progress, memory), memory.forget)


def _iterate(progress: Progress, memory: PairMemory) -> bool:
    """One iteration; False if it finds no better point."""
    direction = memory.direction(progress.gradient)
    slope = float(dot(progress.gradient, direction))
    if not slope < 0.0:
        return False
    first = 1.0 if memory.scaled else min(1.0, 1.0 / progress.norm)
    progress.is_flat = -slope * first <= 10.0 * ROUNDING * abs(progress.value)
    point = line_search(progress, direction, slope, first)
    if point is None:
        return False
    weights, value, gradient = point
    memory.add(weights, progress.weights, gradient, progress.gradient)
    progress.accept(weights, value, gradient)
    return True
