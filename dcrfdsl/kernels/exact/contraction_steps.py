"""Contraction steps on matrices by machine vectors: two rows of C at a time, with sums in registers.

    C[l, r] = Σ_k A[l, k] B[k, r]        Ā[l, k] += Σ_r C̄[l, r] B[k, r]        B̄[k, r] += Σ_l A[l, k] C̄[l, r]

Entries of A and rows of B may lie anywhere, but each row of B is contiguous. Not here: programs, other steps
(`contraction`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import (
    LANES,
    broadcast,
    fma,
    inlined,
    largest,
    least_positive,
    load,
    load_part,
    lowest,
    maximum,
    multiply,
    repeat,
    total,
)
from ..tables import NARROW, load_some, store_some

__all__ = ["SummedOut", "contract_rows", "highest", "pull_rows", "scale_positive"]


class SummedOut(NamedTuple):
    """The states that a step sums out: `offsets[in_a + k]` and `offsets[in_b + k]` say where state k lies."""

    offsets: NDArray[np.int64]
    in_a: int
    in_b: int
    states: int


@inlined
def highest(value, at, size):
    """The maximum of a run of non-negative numbers."""
    high = broadcast(NARROW, 0.0)
    for j in range(0, size, LANES):
        high = maximum(high, load_some(NARROW, value, at + j, size - j))
    return largest(high)


@inlined
def scale_positive(value, at, size, factor):
    """Multiplies a run by a factor; returns the smallest positive result, at most 1."""
    least, share = broadcast(NARROW, 1.0), broadcast(NARROW, factor)
    for j in range(0, size, LANES):
        scaled = multiply(load_some(NARROW, value, at + j, size - j), share)
        least = least_positive(least, scaled)
        store_some(value, at + j, size - j, LANES, scaled)
    return lowest(least)


@inlined
def contract_rows(registers, value, left, other, right, summed, num_r, out):
    """Two rows of C, where the rows of B are contiguous. `left` and `other`: where the two rows of A begin.

    They are equal if there is only one row.
    """
    index, a_k, b_k, num_k = summed
    block = len(registers) * LANES
    zero = broadcast(registers, 0.0)
    for at in range(0, num_r, block):
        rest = num_r - at
        row_sum, next_row_sum = zero, zero
        if rest >= block:
            for k in range(num_k):
                row, x = load(registers, value, right + index[b_k + k] + at), index[a_k + k]
                row_sum = fma(repeat(registers, value, left + x), row, row_sum)
                next_row_sum = fma(repeat(registers, value, other + x), row, next_row_sum)
        else:
            for k in range(num_k):
                row, x = load_part(registers, value, right + index[b_k + k] + at, rest), index[a_k + k]
                row_sum = fma(repeat(registers, value, left + x), row, row_sum)
                next_row_sum = fma(repeat(registers, value, other + x), row, next_row_sum)
        store_some(value, out + at, rest, block, row_sum)
        if other != left:
            store_some(value, out + num_r + at, rest, block, next_row_sum)


@inlined
def pull_rows(registers, value, adjoint, left, other, right, summed, num_r, out, marginal, states):
    """The reverse of `contract_rows`. states: where the marginal of the variable that is summed out begins, or -1."""
    index, a_k, b_k, num_k = summed
    block = len(registers) * LANES
    zero = broadcast(registers, 0.0)
    single = other == left
    for at in range(0, num_r, block):
        rest = num_r - at
        pull = load_some(registers, adjoint, out + at, rest)
        next_pull = zero if single else load_some(registers, adjoint, out + num_r + at, rest)
        for k in range(num_k):
            x, y, row = left + index[a_k + k], other + index[a_k + k], right + index[b_k + k] + at
            right_row = load_some(registers, value, row, rest)
            sum_right = fma(repeat(registers, value, x), pull, load_some(registers, adjoint, row, rest))
            sum_right = fma(repeat(registers, value, y), next_pull, sum_right)
            store_some(adjoint, row, rest, block, sum_right)
            mass = total(multiply(pull, right_row))
            adjoint[x] += mass
            share = value[x] * mass
            if not single:
                mass = total(multiply(next_pull, right_row))
                adjoint[y] += mass
                share += value[y] * mass
            if states >= 0:
                marginal[states + k] += share
