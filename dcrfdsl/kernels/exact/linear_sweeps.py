"""Contraction programs in linear space: up, and back down for the derivatives of log Z.

A contraction's result is divided by its maximum if that leaves a safe range, and the logarithms of these maxima are
added up. An underflow is never silent: as long as every positive entry is at least `TINY`, products of two entries are
representable and zero means zero. A step that leaves a smaller positive entry returns `UNDERFLOW`; the log-space twin
takes over (`contraction`).

The reverse sweep computes the derivative of log Z by every table entry; times the entry this is the marginal (Sutton
2004 §3.2; the sweep is reverse-mode differentiation of the program). Not here: its steps (`reverse_steps`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, fast_inner, inlined
from ..tables import TINY, scale_run
from .contraction_steps import Terms, extremes, product
from .reverse_steps import clear_operands, distance, pull, settle_all
from .run_products import multiply_runs, pull_runs, scale_rows
from .step_layout import group_sizes, offset_lists, operands

LOW, HIGH = 1e-10, 1e10  # a result whose maximum lies between these is left as it is


@fast_inner
def forward_linear(first, last, programs, patterns, value, scale):
    """Runs the steps first … last − 1 in linear space on the arena `value`; writes to scale[i] the factor of step i.

    Returns (sum of the logarithms of all divisors, status): `UNDERFLOW` asks for `forward_log`.
    """
    dims, start, index = patterns
    log_z = 0.0
    for i in range(first, last):
        pattern, a, b, c = operands(i, programs)
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        smallest_bad = False
        if dims[pattern, 5]:
            scale[i] = 1.0
            run, at = dims[pattern, 6], start[pattern, 0]
            if run >= 0:
                smallest_bad = multiply_runs(value, a, b, c, size, run, index, at) < TINY
            else:
                left, result = value[a : a + size], value[c : c + size]
                for j in range(size):
                    v = left[j] * value[b + index[at + j]]
                    result[j] = v
                    smallest_bad |= (v > 0.0) & (v < TINY)
        else:
            contract(pattern, patterns, value, a, b, c)
            peak, least = extremes(value, c, size)
            if not peak > 0.0:
                return 0.0, IMPOSSIBLE
            scale[i] = 1.0
            if peak < LOW or peak > HIGH or least < TINY or programs.step[i, 4]:
                scale[i] = 1.0 / peak
                scale_run(value, c, size, scale[i])
                smallest_bad = least * scale[i] < TINY
                log_z += np.log(peak)
        if smallest_bad:
            return 0.0, UNDERFLOW
    return log_z, OK


@inlined
def contract(pattern, patterns, value, a, b, c):
    """C[b, l, r] = Σ_k A[b, l, k] · B[b, k, r]"""
    dims, index = patterns.dims, patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    by_rows, x_row, out = dims[pattern, 4] == 1 and num_r > 1, dims[pattern, 6], c
    rows = num_l if by_rows and x_row >= 0 else 1
    x_step, y_step = distance(index, a_k, num_k), distance(index, b_k, num_k)
    if by_rows and num_l == 1 and num_k == 1:
        scale_rows(pattern, patterns, value, a, b, c)
        return
    for ib in range(num_b):
        right = b + index[b_b + ib]
        for il in range(0, num_l, rows):
            left = a + index[a_b + ib] + index[a_l + il]
            if by_rows:
                x, y = Terms(value, left, x_step, x_row), Terms(value, right, y_step, np.int64(1))
                product(x, y, (num_k, rows, num_r), value, out, num_r)
            elif num_r == 1:
                mass = 0.0
                for k in range(num_k):
                    mass += value[left + k * x_step] * value[right + k * y_step]
                value[out] = mass
            else:
                value[out : out + num_r] = 0.0
                for k in range(num_k):
                    x_k, row = value[left + index[a_k + k]], right + index[b_k + k]
                    for r in range(num_r):
                        value[out + r] += x_k * value[row + index[b_r + r]]
            out += rows * num_r


@fast_inner
def backward_linear(
    first, last, programs, patterns, value, scale, adjoint, marginals, root, memory, results, of_right_tables
):
    """Adds ∂log Z/∂table to `adjoint` for every table that the steps read; writes those by the results of these steps.

    The result of a root step is the normaliser of a connected component, 1 after scaling. Its adjoint is `root`: 1, or
    a factor of all results.   marginals: (state_off, sums); the marginal of the variable v that a step sums out is
    added to `sums` from `state_off[v]` on, unless that is empty.   memory: `sweep_memory` of the run of sequences.
    results: where results begin in the arena.   of_right_tables: whether tables that are right operands of
    contractions are wanted too.
    """
    dims, start, index = patterns
    state_off, marginal = marginals
    wanted = len(marginal) > 0
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = operands(i, programs)
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        if programs.step[i, 4]:
            adjoint[c] = root
        clear_operands(pattern, patterns, adjoint, a, b, results, True)
        if dims[pattern, 5]:
            run, at = dims[pattern, 6], start[pattern, 0]
            if run >= 0:
                pull_runs(value, adjoint, a, b, c, size, run, index, at, np.int64(0), a >= results)
                continue
            for j in range(size):
                other = b + index[at + j]
                adjoint[a + j] += adjoint[c + j] * value[other]
                adjoint[other] += adjoint[c + j] * value[a + j]
            continue
        if scale[i] != 1.0:
            scale_run(adjoint, c, size, scale[i])
        counted = wanted and programs.variable[i] >= 0
        states = state_off[programs.variable[i]] if counted else -1
        right = of_right_tables or b >= results
        pull(pattern, patterns, value, adjoint, (a, b, c), right, marginal, states, memory, results)
    settle_all(patterns, value, adjoint, memory)
