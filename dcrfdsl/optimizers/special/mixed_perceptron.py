"""The perceptron on data in parts: each part takes a pass of its own from the same weights, and the changes are mixed.

    λ ← λ + 1/P Σ_p (λ_p − λ),        λ_p: after a pass of the perceptron over part p that began at λ

So parts are independent within a pass, and the weights separate the data after finitely many passes if any weights do.
The mean is that of the weights after each sequence, over all parts and passes. Converged: a pass changed no weight.
Source: McDonald, Hall & Mann, "Distributed training strategies for the structured perceptron" (2010), figure 3, with
uniform mixing. Not here: the pass over one part (`perceptron_steps`).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...foundation import Floats, recalled
from ...semantics import AutoOptimizer
from ..objective import Iteration, Objective, Outcome, Watch, require_part
from ..online import NOT_FINITE
from ..progress import norm_of
from ..run_state import RunState


def minimise_mixed_perceptron(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Trains from `start` [W] for as many passes as the objective says, fewer if one changes no weight.

    Each pass counts as an iteration; the reported value was summed during the pass, while the weights moved.
    """
    begun, parted = time.perf_counter(), require_part(objective.parted_passes(), "passes over parts")
    schedule = parted.schedule
    weights, summed = start.copy(), np.zeros_like(start)  # summed: Σ over passes, parts and sequences of the weights
    seen, passes, mistakes = 0, 0, 1
    saved = state.take("mixed")
    if saved is not None:
        weights, summed = (recalled(saved, name, len(start)) for name in ("weights", "summed"))
        seen, passes, mistakes = saved["counts"]
        begun -= saved["seconds"]

    def remember() -> dict[str, Any]:
        return {
            "weights": weights, "summed": summed, "counts": [seen, passes, mistakes],
            "seconds": time.perf_counter() - begun,
        }  # fmt: skip

    def result() -> Floats:
        return summed / seen if schedule.average and seen else weights

    state.keep("mixed", remember)
    reason, converged, stop = f"{schedule.epochs} passes done", False, False
    while True:
        if passes and not mistakes:
            reason, converged = "a pass changed no weight", True
            break
        if stop:
            reason = "stopped on request"
            break
        if passes == schedule.epochs:
            break
        done = parted.one_pass(weights, passes)
        summed += done.sequences * weights + done.weighted
        weights = weights + done.change / done.parts
        seen, passes, mistakes = seen + done.sequences, passes + 1, done.mistakes
        stop = watch(Iteration(passes, done.loss, norm_of(done.change), time.perf_counter() - begun), result())
    final = result()
    value, gradient = objective.value_and_gradient(final)
    if not np.isfinite(value):
        reason, converged = NOT_FINITE, False
    return Outcome(
        final.copy(), value, passes, passes + 1, converged, time.perf_counter() - begun, reason,
        gradient_norm=norm_of(gradient),
    )  # fmt: skip
