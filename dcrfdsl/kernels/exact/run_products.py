"""Products of two tables without a sum, run by run, by machine vectors; and their reverse. Also as sums of logarithms.

Not here: steps that sum a variable out (`contraction_steps`), programs (`linear_sweeps`).
"""

from __future__ import annotations

from ..runtime import LANES, add, broadcast, fma, inlined, least_positive, lowest, maximum, multiply, total
from ..tables import NARROW, load_some, store_some


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
def tangents_of_runs(value, a, b, c, size, run, index, places, shift):
    """Ċ[i] = Ȧ[i] · B[index[i]] + A[i] · Ḃ[index[i]], where tangents lie `shift` cells after their values."""
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, a + start + j, b + index[places + start] + j
            by_left = multiply(load_some(NARROW, value, at + shift, left), load_some(NARROW, value, other, left))
            x, y = load_some(NARROW, value, at, left), load_some(NARROW, value, other + shift, left)
            store_some(value, c + shift + start + j, left, LANES, fma(x, y, by_left))


@inlined
def pull_runs(value, adjoint, a, b, c, size, run, index, places, shift, is_new):
    """The reverse of `multiply_runs`: Ā[i] += C̄[i] · B[index[i]], B̄[index[i]] += C̄[i] · A[i].

    is_new: whether Ā is written, and not added to.   shift: A, B and C̄ are read this far behind their places; see
    `reverse_steps.pull_tangents`.
    """
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, start + j, b + index[places + start] + j
            bar = load_some(NARROW, adjoint, c + shift + at, left)
            x, y = load_some(NARROW, value, a + shift + at, left), load_some(NARROW, value, other + shift, left)
            before = broadcast(NARROW, 0.0) if is_new else load_some(NARROW, adjoint, a + at, left)
            store_some(adjoint, a + at, left, LANES, fma(bar, y, before))
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
def pull_rows(pattern, patterns, value, adjoint, a, b, c, shift):
    """The reverse of `scale_rows`.   shift: see `pull_runs`."""
    dims, start, index = patterns
    num_r, a_b, b_b = dims[pattern, 3], start[pattern, 0], start[pattern, 3]
    for ib in range(dims[pattern, 0]):
        at, row, out = a + index[a_b + ib], b + index[b_b + ib], c + ib * num_r
        factor, sums = broadcast(NARROW, value[at + shift]), broadcast(NARROW, 0.0)
        for j in range(0, num_r, LANES):
            left = num_r - j
            bar = load_some(NARROW, adjoint, out + shift + j, left)
            sums = fma(bar, load_some(NARROW, value, row + shift + j, left), sums)
            store_some(adjoint, row + j, left, LANES, fma(factor, bar, load_some(NARROW, adjoint, row + j, left)))
        adjoint[at] += total(sums)


@inlined
def add_by_index(left, a, right, b, result, c, pattern, patterns):
    """C[i] = A[i] + B[index[i]]"""
    dims, at, index = patterns.dims, patterns.start[pattern, 0], patterns.offsets
    size, run = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3], dims[pattern, 6]
    if run < 0:
        for j in range(size):
            result[c + j] = left[a + j] + right[b + index[at + j]]
        return
    for first in range(0, size, run):
        other = b + index[at + first]
        for j in range(0, run, LANES):
            x, y = load_some(NARROW, left, a + first + j, run - j), load_some(NARROW, right, other + j, run - j)
            store_some(result, c + first + j, run - j, LANES, add(x, y))


@inlined
def raise_by_index(value, outside, a, b, c, pattern, patterns, wants_left, wants_right):
    """A° and B° of `add_by_index`. Only this step reads A, but several entries may read one of B."""
    dims, at, index = patterns.dims, patterns.start[pattern, 0], patterns.offsets
    size, run = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3], dims[pattern, 6]
    if run < 0:
        for j in range(size):
            other = b + index[at + j]
            if wants_left:
                outside[a + j] = outside[c + j] + value[other]
            if wants_right:
                outside[other] = max(outside[other], outside[c + j] + value[a + j])
        return
    for first in range(0, size, run):
        other = b + index[at + first]
        for j in range(0, run, LANES):
            rest, here, there = run - j, first + j, other + j
            around = load_some(NARROW, outside, c + here, rest)
            if wants_left:
                store_some(outside, a + here, rest, LANES, add(around, load_some(NARROW, value, there, rest)))
            if wants_right:
                through = add(around, load_some(NARROW, value, a + here, rest))
                best = maximum(load_some(NARROW, outside, there, rest), through)
                store_some(outside, there, rest, LANES, best)
