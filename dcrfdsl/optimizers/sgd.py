"""Stochastic gradient descent: a step after each sequence, in a new random order for each pass.

    η_t = η_0 / (1 + μ η_0 t),    μ = mean precision of the penalty / N

as in Bottou's crfsgd, where η_0 is tried on a sample. Without a penalty η is halved in HALF passes, since the loss
alone may have no curvature. Converged: a pass changed the objective, as summed during it, by no more than the
tolerance, relatively, and what is known of the distance from the least value agrees (`certificates`). Where a rate is
given and two passes are enough for it,
the gradient must have fallen, or the steps are too short. Source: Bottou, "Stochastic gradient descent tricks" (2012),
§5. Not here: the steps (`online`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..semantics import SgdSettings
from .objective import Objective, Outcome, Watch
from .online import NOT_FINITE, Passes
from .run_state import RunState

HALF = 10  # passes


def minimise_sgd(objective: Objective, start: Floats, settings: SgdSettings, watch: Watch, state: RunState) -> Outcome:
    """Minimises from `start` [W]. Each pass counts as an iteration; the objective that it reports was summed during the
    pass, while the weights moved. Deterministic given its seed.
    """
    passes = Passes(objective, start, settings.seed, watch, state)
    rate, count = passes.rate(settings.rate), passes.batches.count
    curvature = float(passes.batches.precision.mean()) / count
    fall = rate * curvature if curvature > 0.0 else 1.0 / (HALF * count)
    while True:
        before, value = [np.inf, np.inf, *passes.values][-2:]
        if passes.is_stopped:
            return passes.outcome(False, "stopped on request")
        if passes.count and not np.isfinite(value):
            return passes.outcome(False, NOT_FINITE)
        if passes.count and abs(before - value) <= settings.tolerance * abs(value):
            if passes.count == 2 and settings.rate is not None and passes.has_hardly_moved(start):
                return passes.outcome(False, "the steps are too short: they change the objective by next to nothing")
            if passes.is_near_least():
                return passes.outcome(True, "a pass changed the objective by less than the tolerance")
        if passes.count >= settings.epochs:
            return passes.outcome(False, f"{settings.epochs} passes done")
        passes.run_pass(lambda t: rate / (1.0 + fall * t))
