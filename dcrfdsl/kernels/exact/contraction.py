"""Running a contraction program: variable elimination as a list of small matrix products.

A step takes two tables A and B and makes C; indices fall into four groups, b (in both, kept), l (in A only),
k (in both, summed out), r (in B only):

    C[b, l, r] = Σ_k A[b, l, k] · B[b, k, r]           (contraction)
    C[i]       = A[i] · B[index[i]]                     (product: B's variables are among A's)

The offset of an entry in A is a_b[b] + a_l[l] + a_k[k] (likewise B); C is contiguous. Here programs run on logarithms,
as sums or as maxima; `linear_sweeps` runs them on numbers, which is faster and may underflow.

Source: bucket elimination in product form (Dechter 1996). Not here: choosing the order (`graph`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import inner
from .max_sweeps import sweep_up


@inner
def forward_log(first, last, programs, patterns, value):
    """The same program on logarithms: C = log Σ exp(A + B). Returns log Z, -inf if no labelling is possible."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    log_z = 0.0
    for i in range(first, last):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                value[c + j] = value[a + j] + value[b + index[at + j]]
            continue
        a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
        b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
        out, top = c, -np.inf
        for ib in range(num_b):
            for il in range(num_l):
                a0 = a + index[a_b + ib] + index[a_l + il]
                b0 = b + index[b_b + ib]
                for r in range(num_r):
                    right = b0 + index[b_r + r]
                    peak = -np.inf
                    for k in range(num_k):
                        peak = max(peak, value[a0 + index[a_k + k]] + value[right + index[b_k + k]])
                    total = 0.0
                    if peak > -np.inf:
                        for k in range(num_k):
                            total += np.exp(value[a0 + index[a_k + k]] + value[right + index[b_k + k]] - peak)
                        value[out] = peak + np.log(total)
                    else:
                        value[out] = -np.inf
                    top = max(top, value[out])
                    out += 1
        if top == -np.inf:
            return -np.inf
        # the maximum is subtracted here too: sums over 10⁶ positions keep their digits
        for j in range(c, out):
            value[j] -= top
        log_z += top
    return log_z


@inner
def backward_log(first, last, programs, patterns, value, belief, state_off, marginal, root):
    """Marginals of every table from a finished `forward_log`: p(a, b, k) = p(c) · exp(A + B − C), summed.

    C lies in the arena less its maximum, so its normaliser is computed again. Adds to `belief`, which must
    be zero where results lie; `marginal` and `root` as in `backward_linear`.
    """
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    wanted = len(marginal) > 0
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
        if programs.step[i, 4]:
            belief[c] = root
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                belief[a + j] += belief[c + j]
                belief[b + index[at + j]] += belief[c + j]
            continue
        a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
        b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
        counted = wanted and programs.variable[i] >= 0
        states = state_off[programs.variable[i]] if counted else 0
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                a0 = a + index[a_b + ib] + index[a_l + il]
                b0 = b + index[b_b + ib]
                for r in range(num_r):
                    share = belief[out]
                    if share != 0.0:
                        right = b0 + index[b_r + r]
                        peak = -np.inf
                        for k in range(num_k):
                            peak = max(peak, value[a0 + index[a_k + k]] + value[right + index[b_k + k]])
                        total = 0.0
                        for k in range(num_k):
                            total += np.exp(value[a0 + index[a_k + k]] + value[right + index[b_k + k]] - peak)
                        share /= total
                        for k in range(num_k):
                            x, y = a0 + index[a_k + k], right + index[b_k + k]
                            p = share * np.exp(value[x] + value[y] - peak)
                            belief[x] += p
                            belief[y] += p
                            if counted:
                                marginal[states + k] += p
                    out += 1


@inner
def forward_max(first, last, programs, patterns, value):
    """The program in (max, +). Returns the score of the best labelling, -inf if none is possible."""
    return sweep_up(first, last, programs, patterns, value, value[:0], programs.variable[:0])


@inner
def trace_back(first, last, programs, value, assignment):
    """Best states from a finished `forward_max`, in reverse order of elimination; ties to the lowest state.

    `assignment` [V] must hold 0 where a variable is in no factor.
    """
    for i in range(last - 1, first - 1, -1):
        v = programs.variable[i]
        if v < 0:
            continue
        at_a, stride_a = programs.step[i, 1], 0
        for j in range(programs.axis_off[2 * i], programs.axis_off[2 * i + 1]):
            if programs.axis_var[j] == v:
                stride_a = programs.axis_stride[j]
            else:
                at_a += assignment[programs.axis_var[j]] * programs.axis_stride[j]
        at_b, stride_b = programs.step[i, 2], 0
        for j in range(programs.axis_off[2 * i + 1], programs.axis_off[2 * i + 2]):
            if programs.axis_var[j] == v:
                stride_b = programs.axis_stride[j]
            else:
                at_b += assignment[programs.axis_var[j]] * programs.axis_stride[j]
        best, chosen = -np.inf, 0
        for x in range(programs.step_card[i]):
            score = value[at_a + x * stride_a] + value[at_b + x * stride_b]
            if score > best:
                best, chosen = score, x
        assignment[v] = chosen
