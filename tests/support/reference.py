"""Slow and obvious reference: joint tables, log Z, marginals, best labellings, finite differences, in NumPy alone.

Every kernel is compared with a function of this file, which uses nothing of the package.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def joint(cards: Sequence[int], scopes: Sequence[Sequence[int]], tables: Sequence[Floats]) -> Floats:
    """log potential of every labelling, one axis a variable."""
    total = np.zeros(tuple(cards))
    for labelling in itertools.product(*(range(card) for card in cards)):
        total[labelling] = sum(
            table[tuple(labelling[v] for v in scope)] for scope, table in zip(scopes, tables, strict=True)
        )
    return total


def log_sum(values: Floats) -> float:
    peak = values.max()
    return float(peak + np.log(np.exp(values - peak).sum())) if np.isfinite(peak) else -np.inf


def marginal(total: Floats, scope: Sequence[int]) -> Floats:
    """Probability of every state of the variables in `scope`, axes in scope order."""
    p = np.exp(total - log_sum(total))
    summed = p.sum(axis=tuple(v for v in range(p.ndim) if v not in scope))
    return np.transpose(summed, np.argsort(np.argsort(scope)))


def best(total: Floats) -> tuple[tuple[int, ...], float]:
    """The best labelling (the first one in order of states) and its score."""
    labelling = np.unravel_index(int(np.argmax(total)), total.shape)
    return tuple(int(x) for x in labelling), float(total.max())


def finite_difference(function: Callable[[Floats], float], at: Floats, step: float = 1e-5) -> Floats:
    """Central differences of `function` in every coordinate."""
    out = np.empty_like(at)
    for k in range(len(at)):
        up, down = at.copy(), at.copy()
        up[k] += step
        down[k] -= step
        out[k] = (function(up) - function(down)) / (2 * step)
    return out


def assert_gradient(
    function: Callable[[Floats], float], at: Floats, gradient: Floats, tolerance: float, directions: int = 8
) -> None:
    """Central differences of `function` along random directions that move every coordinate, and along some coordinates.

    A wrong entry shows in nearly every direction, so that a few cost less than all coordinates and find as much.
    tolerance: of the difference along a direction of length 1.
    """
    generator, step = np.random.default_rng(len(at)), 1e-5
    along = generator.choice((-1.0, 1.0), (directions, len(at))) / np.sqrt(len(at))
    for direction in (*along, *np.eye(len(at))[generator.permutation(len(at))[:directions]]):
        change = (function(at + step * direction) - function(at - step * direction)) / (2 * step)
        np.testing.assert_allclose(gradient @ direction, change, rtol=0, atol=tolerance)


def one_sweep(
    cards: Sequence[int], scopes: Sequence[Sequence[int]], tables: Sequence[Floats], beliefs: Sequence[Floats]
) -> float:
    """The largest difference between the marginals of a variable according to different clique beliefs."""
    seen: dict[int, Floats] = {}
    worst = 0.0
    for scope, belief in zip(scopes, beliefs, strict=True):
        for axis, v in enumerate(scope):
            marginal = belief.sum(axis=tuple(a for a in range(belief.ndim) if a != axis))
            worst = max(worst, float(np.abs(marginal - seen.setdefault(v, marginal)).max()))
    return worst
