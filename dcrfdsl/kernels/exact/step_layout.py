"""How a contraction step is laid out: operands, sizes of its four groups of axes, their offset lists.

What the letters mean stands in `contraction`, what the columns are in `tables.wiring`. Not here: running a step.
"""

from __future__ import annotations

import numpy as np

from ..runtime import inlined


@inlined
def operands(i, programs):
    """The pattern of step i, and where A, B and C begin."""
    return programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]


@inlined
def group_sizes(pattern, patterns):
    """The sizes of b, l, k and r."""
    dims = patterns.dims
    return dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]


@inlined
def offset_lists(pattern, patterns):
    """Where the lists a_b, a_l, a_k, b_b, b_k and b_r begin in `patterns.offsets`."""
    start = patterns.start
    return (
        start[pattern, 0], start[pattern, 1], start[pattern, 2],
        start[pattern, 3], start[pattern, 4], start[pattern, 5],
    )  # fmt: skip


@inlined
def operand_places(i, variable, programs, assignment):
    """Where the two operands of step i lie at the decided states: (start, stride) of each along `variable`.

    A variable in no factor (i negative) reads the constant in cell 0 twice.
    """
    at_a, stride_a, at_b, stride_b = 0, 0, 0, 0
    if i >= 0:
        at_a, stride_a = _operand_place(2 * i, programs.step[i, 1], variable, programs, assignment)
        at_b, stride_b = _operand_place(2 * i + 1, programs.step[i, 2], variable, programs, assignment)
    return at_a, stride_a, at_b, stride_b


@inlined
def _operand_place(operand, at, variable, programs, assignment):
    """The start and the stride of one operand, which begins at `at`."""
    stride = 0
    for j in range(programs.axis_off[operand], programs.axis_off[operand + 1]):
        if programs.axis_var[j] == variable:
            stride = programs.axis_stride[j]
        else:
            at += assignment[programs.axis_var[j]] * programs.axis_stride[j]
    return at, stride


@inlined
def best_state(value, places, states):
    """(the largest sum of both operands, the first state that has it); places: see `operand_places`."""
    at_a, stride_a, at_b, stride_b = places
    best, chosen = -np.inf, 0
    for x in range(states):
        score = value[at_a + x * stride_a] + value[at_b + x * stride_b]
        if score > best:
            best, chosen = score, x
    return best, chosen


@inlined
def log_normaliser(value, index, left, a_k, right, b_k, num_k):
    """(the maximum, Σ exp of the differences to it) of A + B over the states that are summed out; (-inf, 0) if all
    are impossible.   left, right: where A and B begin.   a_k, b_k: where the lists of their offsets begin in `index`.
    """
    peak, total = -np.inf, 0.0
    for k in range(num_k):
        peak = max(peak, value[left + index[a_k + k]] + value[right + index[b_k + k]])
    if peak > -np.inf:
        for k in range(num_k):
            total += np.exp(value[left + index[a_k + k]] + value[right + index[b_k + k]] - peak)
    return peak, total


@inlined
def turn_table(pattern, patterns, value, b, turned, there):
    """Writes the table B[b, k, r], whose rows are contiguous, as [b, r, k] to turned[there]."""
    num_b, _, num_k, num_r = group_sizes(pattern, patterns)
    _, _, _, b_b, b_k, _ = offset_lists(pattern, patterns)
    index = patterns.offsets
    for ib in range(num_b):
        here = b + index[b_b + ib]
        for k in range(num_k):
            row = here + index[b_k + k]
            for r in range(num_r):
                turned[there + r * num_k + k] = value[row + r]
        there += num_k * num_r
