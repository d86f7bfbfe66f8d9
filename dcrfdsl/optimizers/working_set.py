"""The working set: violated labellings are kept while they matter, and the dual is solved for them.

After each search for violated labellings the multipliers of a sequence are set to their optimum, the others fixed;
between searches the sequences are visited again, which needs no inference. Labellings whose multiplier is then zero are
dropped. Converged: by the rule of `dual_problem`, on the duality gap. Source: Altun & Hofmann 2003, Algorithm 1.

Steps in one sequence at a time soon find which multipliers are 0 and which sequences use all of U, but balance slowly
what many sequences share. With these bounds fixed, the rest is a quadratic without bounds, which conjugate gradients
climb; the step is cut back to the bounds. Source: Moré & Toraldo 1991. Not here: the gap and the stopping rule
(`dual_problem`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import (
    Cuts,
    ascend,
    dot,
    empty_cuts,
    join_cuts,
    margins_of,
    primal_and_gap,
    products_of,
    project_to_bounds,
    projected_gradient,
)
from ..semantics import WorkingSetSettings
from .dual_problem import Dual, Measured, run_passes
from .objective import Objective, Outcome, Watch, require_part
from .run_state import RunState

# conjugate gradients on a face ----------------------------------------------------------------------------------------


ENOUGH = 0.01  # of the square of the first slope: by then the active set will have changed
SHORTEST = 1.0 / 64.0  # of the step that conjugate gradients found


def all_products(dual: Dual) -> Floats | None:
    """Products of all pairs of cuts [cuts, cuts], if they cost less than a detour by the weights; else None."""
    objective = dual.objective
    return products_of(dual.cuts, objective.metric, objective.num_weights) if len(objective.metric.gram) else None


def ascend_on_face(dual: Dual, most: int, products: Floats | None) -> bool:
    """At most `most` iterations from the multipliers; returns whether they changed. products: `all_products`."""
    objective, cuts = dual.objective, dual.cuts

    def free(slope: Floats) -> Floats:
        projected: Floats = projected_gradient(
            cuts, objective.limit, objective.each_counts, slope, np.zeros(len(slope))
        )
        return projected

    def margins(scores: Floats) -> Floats:
        values: Floats = margins_of(cuts, scores, np.zeros(len(cuts.alpha)))
        return values

    def bend(alpha: Floats) -> Floats:
        return products @ alpha if products is not None else margins(objective.metric_times(dual.combined(alpha)))

    slope = cuts.loss - margins(dual.scores)
    residual = free(slope)
    direction, way = residual.copy(), np.zeros_like(residual)
    square = first = dot(residual, residual)
    if first == 0.0:
        return False
    for _ in range(most):
        bent = bend(direction)
        curve = dot(direction, bent)
        if not curve > 0.0:
            break
        step = square / curve
        way += step * direction
        residual -= step * free(bent)
        before, square = square, dot(residual, residual)
        if square <= ENOUGH**2 * first:
            break
        direction = residual + square / before * direction
    length = 1.0
    while length >= SHORTEST:
        moved = project_to_bounds(cuts, objective.limit, objective.each_counts, cuts.alpha + length * way)
        change = moved - cuts.alpha
        if dot(change, slope) - 0.5 * dot(change, bend(change)) > 0.0:
            cuts.alpha[:] = moved
            dual.scores += objective.metric_times(dual.combined(change))
            return True
        length *= 0.5
    return False


# the working set ------------------------------------------------------------------------------------------------------


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
        blocks, products = len(problem.limit), all_products(dual)
        for _ in range(settings.sweeps):
            ascend(0, blocks, dual.cuts, problem.limit, problem.each_counts, problem.metric, dual.scores, ROUNDS, ease)
            gap = primal_and_gap(dual.cuts, problem.limit, problem.each_counts, dual.scores)[1]
            if gap <= PART * measured.gap or not ascend_on_face(dual, ITERATIONS, products):
                break
        dual.cuts = join_cuts(dual.cuts, dual.cuts.alpha > 0.0, empty_cuts(blocks), np.zeros(0, np.bool_))

    return run_passes(problem, start, settings.max_iterations, watch, state, step, sweep)[1]
