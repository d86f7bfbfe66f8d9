"""Conjugate gradients on the face of the dual that steps in single sequences have led to.

Steps in one sequence at a time soon find which multipliers are 0 and which sequences use all of U, but are slow to
balance what many sequences share. With those bounds held fast what is left is a quadratic without bounds, which
conjugate gradients climb; the way there is cut back to the bounds. Source: Moré & Toraldo 1991. Not here: single
sequences (`working_set`).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...kernels.optimization import bounded, dot, free_part, margins_of, products_of
from .dual_problem import Dual

__all__ = ["all_products", "climb_face"]

ENOUGH = 0.01  # of the slope's square at the start: the face will be another one by then
SHORTEST = 1.0 / 64.0  # of the way that conjugate gradients found


def all_products(dual: Dual) -> Floats | None:
    """Products of all pairs of cuts [cuts, cuts], where they cost less than to go by way of the weights; else None."""
    own = dual.objective
    return products_of(dual.cuts, own.metric, own.num_weights) if len(own.metric.gram) else None


def climb_face(dual: Dual, most: int, products: Floats | None) -> bool:
    """At most `most` iterations from the multipliers at hand; whether they were changed. products: `all_products`."""
    own, cuts = dual.objective, dual.cuts

    def free(slope: Floats) -> Floats:
        found: Floats = free_part(cuts, own.limit, own.each_counts, slope, np.zeros(len(slope)))
        return found

    def margins(scores: Floats) -> Floats:
        found: Floats = margins_of(cuts, scores, np.zeros(len(cuts.alpha)))
        return found

    def bend(alpha: Floats) -> Floats:
        return products @ alpha if products is not None else margins(own.metric_times(dual.combined(alpha)))

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
        moved = bounded(cuts, own.limit, own.each_counts, cuts.alpha + length * way)
        change = moved - cuts.alpha
        if dot(change, slope) - 0.5 * dot(change, bend(change)) > 0.0:
            cuts.alpha[:] = moved
            dual.scores += own.metric_times(dual.combined(change))
            return True
        length *= 0.5
    return False
