"""Isotonic regression: the rising function that fits 0-1 outcomes best.

    min Σ (f(p_i) − right_i)²        over all f with f(p) ≤ f(q) for p ≤ q

Solved exactly by pooling neighbours that fall (Ayer et al. 1955; for probabilities, Zadrozny & Elkan 2002). Between the
points where it was fitted f is linear, and constant outside of them. Not here: which probabilities are fitted.
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats, Mask


def isotonic_fit(probabilities: Floats, right: Mask) -> tuple[Floats, Floats]:
    """The corners of f: probabilities, rising strictly, and its values there. At least one pair is given."""
    points, which = np.unique(probabilities, return_inverse=True)
    weights = np.bincount(which).astype(np.float64)
    means = np.bincount(which, right.astype(np.float64)) / weights
    # blocks of neighbouring points with one value: its mean, weight and number of points
    blocks: list[tuple[float, float, int]] = []
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        value, mass, size = mean, weight, 1
        while blocks and blocks[-1][0] >= value:
            before, more, points_before = blocks.pop()
            value = (before * more + value * mass) / (more + mass)
            mass, size = mass + more, size + points_before
        blocks.append((value, mass, size))
    fitted = np.repeat([value for value, _, _ in blocks], [size for _, _, size in blocks])
    corner = np.ones(len(points), np.bool_)  # the first and the last point of each block
    corner[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    return points[corner], fitted[corner]
