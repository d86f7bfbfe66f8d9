"""The working set: violated labellings are kept while they matter, and the dual is solved for them.

After each search for violated labellings the multipliers of a sequence are set to their optimum, the others fixed;
between searches the sequences are visited again, which needs no inference. Labellings whose multiplier is then zero are
dropped. Converged: by the rule of `dual_problem`, on the duality gap. Source: Altun & Hofmann 2003, Algorithm 1. Not
here: the gap and the stopping rule (`dual_problem`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import Floats
from ...kernels.optimization import Cuts, ascend, empty_cuts, join_cuts
from ...semantics import WorkingSetSettings
from ..objective import Objective, Outcome, Watch, require_part
from ..run_state import RunState
from .active_set import all_products, ascend_on_face
from .dual_problem import Dual, Measured, run_passes

PART = 0.2  # of the gap: closing it further for the current labellings is idle while others are missing
ITERATIONS = 30  # of conjugate gradients
ROUNDS = 10  # steps in a sequence at each visit
EASE = 0.1  # a sequence is skipped if no violation exceeds this part of the tolerance


def minimise_working_set(
    objective: Objective, start: Floats, settings: WorkingSetSettings, watch: Watch, state: RunState
) -> Outcome:
    """Trains from zero; `start` [W] only completes unknown labels. A pass counts as an iteration."""
    problem = require_part(objective.margin_problem(), "a margin problem")
    ease = EASE * problem.tolerance

    def step(dual: Dual, cuts: Cuts, first: int, last: int) -> None:
        limit = problem.limit[first:last]
        ascend(0, last - first, cuts, limit, problem.each_counts, problem.metric, dual.scores, ROUNDS, ease)

    def sweep(dual: Dual, measured: Measured) -> None:
        blocks, nothing = len(problem.limit), empty_cuts(len(problem.limit))
        products = all_products(dual)
        for _ in range(settings.sweeps):
            ascend(0, blocks, dual.cuts, problem.limit, problem.each_counts, problem.metric, dual.scores, ROUNDS, ease)
            if dual.gap_of_cuts() <= PART * measured.gap or not ascend_on_face(dual, ITERATIONS, products):
                break
        dual.cuts = join_cuts(dual.cuts, dual.cuts.alpha > 0.0, nothing, np.zeros(0, np.bool_))

    return run_passes(problem, start, settings.max_iterations, watch, state, step, sweep)[1]
