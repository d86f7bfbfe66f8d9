"""Generalised probabilistic descent: a step after each sequence, whose size falls linearly to 0 over all passes.

    η_t = η_0 (1 − t / T),    T = passes · N

Source: Juang & Katagiri, "Discriminative learning for minimum error classification" (1992); before Quickprop in Suzuki
2006 §5.1. Not here: the steps (`online`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..semantics import GpdSettings
from .objective import Objective, Outcome, Watch
from .online import NOT_FINITE, Passes
from .run_state import RunState


def run_descent(passes: Passes, epochs: int, rate: float | None) -> None:
    """All passes, or those until `watch` stops them or the objective is no longer finite."""
    first, total = passes.rate(rate), epochs * passes.batches.count
    while passes.count < epochs and np.isfinite(passes.values).all() and not passes.is_stopped:
        passes.run_pass(lambda t: first * (1.0 - t / total))


def minimise_gpd(objective: Objective, start: Floats, settings: GpdSettings, watch: Watch, state: RunState) -> Outcome:
    """Descends from `start` [W]. Each pass counts as an iteration; the objective that it reports was summed during the
    pass, while the weights moved. There is no rule of convergence: the steps become 0. Deterministic given its seed.
    """
    passes = Passes(objective, start, settings.seed, watch, state)
    run_descent(passes, settings.epochs, settings.rate)
    if passes.is_stopped:
        return passes.outcome(False, "stopped on request")
    if not np.isfinite(passes.values).all():
        return passes.outcome(False, NOT_FINITE)
    return passes.outcome(False, f"the steps fell to 0 in {settings.epochs} passes")
