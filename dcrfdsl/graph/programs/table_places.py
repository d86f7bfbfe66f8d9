"""Where the entries of groups of axes lie in a table. Not here: which groups (`contraction_programs`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...foundation import Ints

OVERHEAD = 8  # starting an inner loop costs as much as this many of its iterations
IRREGULAR = -1  # for the distance of places that are not equally distant


def strides_of(sizes: Sequence[int]) -> list[int]:
    """Row-major strides: the last axis is contiguous."""
    out = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        out[i] = out[i + 1] * sizes[i + 1]
    return out


def places_of(sizes: Sequence[int], strides: Sequence[int]) -> Ints:
    """The place of each assignment of a group of axes, the last axis varying fastest."""
    places = np.zeros(1, np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        places = (places[:, None] + stride * np.arange(size, dtype=np.int64)[None, :]).ravel()
    return places


def distance_of(places: Ints) -> int:
    """How far equally distant places are from each other, 0 for a single one."""
    gaps = np.diff(places)
    return 0 if not len(gaps) else int(gaps[0]) if (gaps == gaps[0]).all() else IRREGULAR


def run_of_places(lookup: Ints) -> int:
    """The length of the runs in which a list goes on by one; `IRREGULAR` where they are too short for vectors."""
    breaks = np.flatnonzero(np.diff(lookup) != 1) + 1
    run = int(np.gcd.reduce(breaks, initial=len(lookup)))
    return run if run >= min(OVERHEAD, len(lookup)) else IRREGULAR
