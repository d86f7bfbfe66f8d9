"""The working set: labellings that were violated are kept while they matter, and the dual is solved for them.

After each look for violated labellings the multipliers of a sequence are set to their best, the others being as they
are; between looks the sequences are gone through again, which needs no inference. Labellings whose multiplier is zero
after that are dropped. Converged: by the rule of `dual`, on the duality gap. Source: Altun & Hofmann 2003, Algorithm 1.
Not here: the gap and when to stop (`dual_problem`).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...kernels.optimization import Cuts, ascend, join_cuts, no_cuts
from ...semantics import WorkingSetSettings
from ..objective import Objective, Outcome, Watch, needed
from .active_set import all_products, climb_face
from .dual_problem import Dual, Measured, run_passes

__all__ = ["minimise_working_set"]

PART = 0.2  # of the gap: closing it further for the labellings at hand is idle while others are missing
ITERATIONS = 30  # of conjugate gradients
ROUNDS = 10  # steps in a sequence each time that it is looked at
EASE = 0.1  # a sequence is left alone where nothing is violated by more than this part of the tolerance


def minimise_working_set(objective: Objective, start: Floats, settings: WorkingSetSettings, watch: Watch) -> Outcome:
    """Trains from nothing; `start` [W] only completes labels that are not known. A pass counts as an iteration."""
    own = needed(objective.margin_problem(), "a margin problem")
    ease = EASE * own.tolerance

    def step(dual: Dual, cuts: Cuts, first: int, last: int) -> None:
        limit = own.limit[first:last]
        ascend(0, last - first, cuts, limit, own.each_counts, own.metric, dual.scores, ROUNDS, ease)

    def sweep(dual: Dual, measured: Measured) -> None:
        blocks, nothing = len(own.limit), no_cuts(len(own.limit))
        products = all_products(dual)
        for _ in range(settings.sweeps):
            ascend(0, blocks, dual.cuts, own.limit, own.each_counts, own.metric, dual.scores, ROUNDS, ease)
            if dual.gap_of_cuts() <= PART * measured.gap or not climb_face(dual, ITERATIONS, products):
                break
        dual.cuts = join_cuts(dual.cuts, dual.cuts.alpha > 0.0, nothing, np.zeros(0, np.bool_))

    return run_passes(own, start, settings.max_iterations, watch, step, sweep)[1]
