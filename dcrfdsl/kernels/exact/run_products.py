"""Products of two tables without a sum, run by run, by machine vectors; and their reverse.

Not here: steps that sum a variable out (`contraction_steps`), programs (`linear_sweeps`).
"""

from __future__ import annotations

from ..runtime import LANES, broadcast, fma, inlined, least_positive, lowest, multiply, total
from ..tables import NARROW, load_some, store_some

__all__ = ["multiply_runs", "pull_rows", "pull_runs", "scale_rows"]


@inlined
def multiply_runs(value, a, b, c, size, run, index, places):
    """C[i] = A[i] · B[index[i]], where `index` goes on by one in runs. Returns the smallest positive result, at most 1.

    places: where the list begins.
    """
    least = broadcast(NARROW, 1.0)
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, start + j, b + index[places + start] + j
            x = multiply(load_some(NARROW, value, a + at, left), load_some(NARROW, value, other, left))
            least = least_positive(least, x)
            store_some(value, c + at, left, LANES, x)
    return lowest(least)


@inlined
def pull_runs(value, adjoint, a, b, c, size, run, index, places):
    """The reverse of `multiply_runs`."""
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, start + j, b + index[places + start] + j
            bar = load_some(NARROW, adjoint, c + at, left)
            x, y = load_some(NARROW, value, a + at, left), load_some(NARROW, value, other, left)
            store_some(adjoint, a + at, left, LANES, fma(bar, y, load_some(NARROW, adjoint, a + at, left)))
            store_some(adjoint, other, left, LANES, fma(bar, x, load_some(NARROW, adjoint, other, left)))


@inlined
def scale_rows(pattern, patterns, value, a, b, c):
    """C[b, r] = A[b] · B[b, r]"""
    dims, start, index = patterns
    num_r, a_b, b_b = dims[pattern, 3], start[pattern, 0], start[pattern, 3]
    for ib in range(dims[pattern, 0]):
        factor, row, out = broadcast(NARROW, value[a + index[a_b + ib]]), b + index[b_b + ib], c + ib * num_r
        for j in range(0, num_r, LANES):
            scaled = multiply(factor, load_some(NARROW, value, row + j, num_r - j))
            store_some(value, out + j, num_r - j, LANES, scaled)


@inlined
def pull_rows(pattern, patterns, value, adjoint, a, b, c):
    """The reverse of `scale_rows`."""
    dims, start, index = patterns
    num_r, a_b, b_b = dims[pattern, 3], start[pattern, 0], start[pattern, 3]
    for ib in range(dims[pattern, 0]):
        at, row, out = a + index[a_b + ib], b + index[b_b + ib], c + ib * num_r
        factor, sums = broadcast(NARROW, value[at]), broadcast(NARROW, 0.0)
        for j in range(0, num_r, LANES):
            left = num_r - j
            bar = load_some(NARROW, adjoint, out + j, left)
            sums = fma(bar, load_some(NARROW, value, row + j, left), sums)
            store_some(adjoint, row + j, left, LANES, fma(factor, bar, load_some(NARROW, adjoint, row + j, left)))
        adjoint[at] += total(sums)
