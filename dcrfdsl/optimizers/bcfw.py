"""Block-coordinate Frank–Wolfe: each sequence in turn takes its best step towards its most violated labelling.

The average of the iterates, w̄ ← k/(k+2) w̄ + 2/(k+2) w after pass k = 0, 1, …, is often better than the last weights
early on. Source: Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013, Algorithms 3 and 4. Here a run of sequences
is decoded at one point, since steps in a direction that was best a moment ago still lead uphill. Converged: by the rule
of `dual_problem`, on the duality gap. Not here: the gap and the stopping rule (`dual_problem`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..foundation import Floats, recalled
from ..kernels.optimization import Cuts, empty_cuts, frank_wolfe, join_cuts, most_violated
from ..semantics import BcfwSettings
from .dual_problem import Dual, Measured, run_passes
from .objective import Objective, Outcome, Watch, require_part
from .run_state import RunState, generator_from, generator_state

LEAST = 1e-12  # of U: smaller multipliers are dropped, since steps of Frank–Wolfe can only shrink them


def minimise_bcfw(
    objective: Objective, start: Floats, settings: BcfwSettings, watch: Watch, state: RunState
) -> Outcome:
    """Trains from zero; `start` [W] only completes unknown labels. A pass counts as an iteration."""
    problem = require_part(objective.margin_problem(), "a margin problem")
    generator = np.random.default_rng(settings.seed)
    direction = np.zeros(problem.num_weights)
    mean, steps = np.zeros(problem.num_weights), 0
    saved = state.take("mean")
    if saved is not None:
        mean, steps = recalled(saved, "mean", problem.num_weights), saved["steps"]
        generator = generator_from(saved["generator"])
    state.keep("mean", lambda: {"mean": mean, "steps": steps, "generator": generator_state(generator)})

    def step(dual: Dual, cuts: Cuts, first: int, last: int) -> None:
        goal = most_violated(cuts, problem.limit[first:last], problem.each_counts, dual.scores)
        frank_wolfe(0, last - first, cuts, goal, problem.metric, dual.scores, direction)

    def average(dual: Dual, measured: Measured) -> None:
        nonlocal mean, steps
        mean += 2.0 / (steps + 2.0) * (dual.point - mean)
        steps += 1
        least = LEAST * np.repeat(problem.limit, np.diff(dual.cuts.block_off))
        dual.cuts = join_cuts(dual.cuts, dual.cuts.alpha > least, empty_cuts(len(problem.limit)), np.zeros(0, np.bool_))

    def order() -> list[int]:
        numbers: list[int] = generator.permutation(len(problem.runs)).tolist()
        return numbers

    _, outcome = run_passes(problem, start, settings.max_iterations, watch, state, step, average, order)
    if not settings.average or outcome.converged:
        return outcome
    value, _ = objective.value_and_gradient(mean)
    if not value < outcome.objective:
        return outcome
    assert outcome.gap is not None
    gap = max(outcome.gap - (outcome.objective - value), 0.0)  # the dual is the same; below 0 by rounding alone
    return replace(
        outcome, weights=mean, objective=value, gap=gap, reason=f"{outcome.reason}, the mean of their weights kept"
    )
