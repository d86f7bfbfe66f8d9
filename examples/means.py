"""Means over draws, splits and cuts, with their intervals and the tests of pairs. Needs SciPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy import stats

LEVEL = 0.95  # of intervals
ROUNDING = 1e-9  # values that differ by less than this share do not differ


class Mean(NamedTuple):
    """half: of the interval around the mean.   p: of the test that the mean is 0. None of a single value, p also where
    no value differs from another.
    """

    mean: float
    half: float | None
    p: float | None


def average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def mean_of(values: Sequence[float]) -> Mean:
    """With the interval and the test of Student's t; of differences of pairs, the paired test."""
    count, mean = len(values), average(values)
    if count < 2:
        return Mean(mean, None, None)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * error
    return Mean(
        mean, half, float(2 * stats.t.sf(abs(mean) / error, count - 1)) if error > ROUNDING * abs(mean) else None
    )


def interval(value: Mapping[str, float | None], sign: str = "", digits: int = 2) -> str:
    """Of a `Mean` as a mapping; sign: `+` for differences."""
    shown = f"{value['mean']:{sign}.{digits}f}"
    return shown if value["half"] is None else f"{shown} ± {value['half']:.{digits}f}"
