"""Statistics of the numbers in a window; those that are missing are left out. Needs numpy alone: exported taggers hold
this file as it is.

    mean, max, min       of the numbers that are there
    spread               √(Σ (x - mean)² / n), of two or more
    change               the last number less the first
    slope                Σ (t - mean t)(x - mean x) / Σ (t - mean t)², t the positions of the numbers

All windows are put together of windows half as wide, so that time grows with the logarithm of the width, and the
rounding in one place knows nothing of numbers far from it. Source: Chan, Golub & LeVeque (1983), "Algorithms for
computing the sample variance", eq. 2.1 (two sets put together). Not here: which window is read (`number_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Joins: TypeAlias = Callable[[Array, Array], Array]  # what is known of two runs of positions → of both


def in_windows(name: str, numbers: Array, first: int, last: int) -> Array:
    """The statistic at each position t, [..., T], of the numbers [..., T] at t + first … t + last; NaN for none."""
    length = numbers.shape[-1]
    first, last = max(first, 1 - length), min(last, length - 1)
    if first > last:  # every window lies outside
        return np.full(numbers.shape, np.nan)
    ends = [(0, 0)] * (numbers.ndim - 1)
    padded = np.pad(numbers, [*ends, (max(0, -first), max(0, last))], constant_values=np.nan)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = STATISTICS[name](padded[..., max(0, first) :], last - first + 1)[..., :length]
    return np.where(np.isfinite(found), found, np.nan)


def _joined(join: Joins, single: Array, width: int) -> Array:
    """What is known of each run of `width` positions, [..., L - width + 1], from each position, [..., L]."""
    length, at, size = single.shape[-1] - width + 1, 0, 1
    joined: Array | None = None
    while True:  # `single` holds runs of `size` positions
        if width & size:
            part = single[..., at : at + length]
            joined, at = part if joined is None else join(joined, part), at + size
        if 2 * size > width:
            assert joined is not None  # the highest bit of `width` is set
            return joined
        single, size = join(single[..., :-size], single[..., size:]), 2 * size


def joined_moments(one: Array, other: Array) -> Array:
    """n, mean a, mean b and Σ (a - mean a)(b - mean b) of two sets together, [4, ...]."""
    n = one[0] + other[0]
    share = other[0] / np.maximum(n, 1.0)
    a, b = other[1] - one[1], other[2] - one[2]
    return np.stack([n, one[1] + share * a, one[2] + share * b, one[3] + other[3] + a * b * one[0] * share])


def _moments(a: Array, b: Array, width: int) -> Array:
    """Of each window, [4, ..., L - width + 1], NaN where b, which is NaN where there is no number, has none."""
    known = ~np.isnan(b)
    single = [known, np.where(known, a, 0.0), np.where(known, b, 0.0), np.zeros(b.shape)]
    found = _joined(joined_moments, np.stack(single), width)
    return np.asarray(np.where(found[0] > 0, found, np.nan))


def _spread(numbers: Array, width: int) -> Array:
    n, _, _, squares = _moments(numbers, numbers, width)
    return np.asarray(np.sqrt(squares / np.where(n > 1, n, np.nan)))


def _slope(numbers: Array, width: int) -> Array:
    t = np.broadcast_to(np.arange(numbers.shape[-1], dtype=np.float64), numbers.shape)
    products, squares = (_moments(t, one, width)[3] for one in (numbers, np.where(np.isnan(numbers), np.nan, t)))
    return np.asarray(products / np.where(squares > 0, squares, np.nan))


def _change(numbers: Array, width: int) -> Array:
    first = _joined(lambda one, other: np.where(np.isnan(one), other, one), numbers, width)
    return _joined(lambda one, other: np.where(np.isnan(other), one, other), numbers, width) - first


# Numbers [..., L] and the width of a window → [..., L - width + 1].
STATISTICS: Mapping[str, Callable[[Array, int], Array]] = {
    "mean": lambda numbers, width: _moments(numbers, numbers, width)[2],
    "max": lambda numbers, width: _joined(np.fmax, numbers, width),
    "min": lambda numbers, width: _joined(np.fmin, numbers, width),
    "spread": _spread,
    "change": _change,
    "slope": _slope,
}
