"""Conjugate gradients on a face of the dual's feasible set: that of the active bounds.

Steps in one sequence at a time soon find which multipliers are 0 and which sequences use all of U, but balance slowly
what many sequences share. With these bounds fixed, the rest is a quadratic without bounds, which conjugate gradients
climb; the step is cut back to the bounds. Source: Moré & Toraldo 1991. Not here: single sequences (`working_set`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import Floats
from ...kernels.optimization import dot, margins_of, products_of, project_to_bounds, projected_gradient
from .dual_problem import Dual

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
