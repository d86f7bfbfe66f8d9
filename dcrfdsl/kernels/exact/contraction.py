"""Running a contraction program: variable elimination as a list of small matrix products.

A step takes two tables A and B and makes C; indices fall into four groups, b (in both, kept), l (in A only),
k (in both, summed out), r (in B only):

    C[b, l, r] = Σ_k A[b, l, k] · B[b, k, r]           (contraction)
    C[i]       = A[i] · B[index[i]]                     (product: B's variables are among A's)

The offset of an entry in A is a_b[b] + a_l[l] + a_k[k] (likewise B); C is contiguous. Here programs run on logarithms,
as sums or as maxima; `linear_sweeps` runs them on numbers, which is faster and may underflow.

Source: bucket elimination in product form (Dechter 1996). Not here: choosing the order (`graph`).
"""

import numpy as np

from ..runtime import inner
from .contraction_steps import best_state, group_sizes, log_normaliser, offset_lists, operand_places, operands
from .max_sweeps import sweep_up


@inner
def forward_log(first, last, programs, patterns, value, rescaled):
    """The same program on logarithms: C = log Σ exp(A + B). Returns log Z, -inf if no labelling is possible.

    rescaled: whether the maximum of each result is taken out of it, so that sums over 10⁶ positions keep their digits.
    """
    dims, index = patterns.dims, patterns.offsets
    log_z = 0.0
    for i in range(first, last):
        pattern, a, b, c = operands(i, programs)
        num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
        if dims[pattern, 5]:
            at = patterns.start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                value[c + j] = value[a + j] + value[b + index[at + j]]
            continue
        a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
        out, top = c, -np.inf
        for ib in range(num_b):
            for il in range(num_l):
                left = a + index[a_b + ib] + index[a_l + il]
                for r in range(num_r):
                    right = b + index[b_b + ib] + index[b_r + r]
                    peak, total = log_normaliser(value, index, left, a_k, right, b_k, num_k)
                    value[out] = peak + np.log(total) if peak > -np.inf else -np.inf
                    top = max(top, value[out])
                    out += 1
        if rescaled:
            if top == -np.inf:
                return -np.inf
            for j in range(c, out):
                value[j] -= top
            log_z += top
        elif programs.step[i, 4]:
            log_z += value[c]
    return log_z


@inner
def backward_log(first, last, programs, patterns, value, belief, state_off, marginal, root):
    """Marginals of every table from a finished `forward_log`: p(a, b, k) = p(c) · exp(A + B − C), summed.

    C lies in the arena less its maximum, so its normaliser is computed again. Adds to `belief`, which must
    be zero where results lie; `marginal` and `root` as in `backward_linear`.
    """
    dims, index = patterns.dims, patterns.offsets
    wanted = len(marginal) > 0
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = operands(i, programs)
        num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
        if programs.step[i, 4]:
            belief[c] = root
        if dims[pattern, 5]:
            at = patterns.start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                belief[a + j] += belief[c + j]
                belief[b + index[at + j]] += belief[c + j]
            continue
        a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
        counted = wanted and programs.variable[i] >= 0
        states = state_off[programs.variable[i]] if counted else 0
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                left = a + index[a_b + ib] + index[a_l + il]
                for r in range(num_r):
                    share = belief[out]
                    if share != 0.0:
                        right = b + index[b_b + ib] + index[b_r + r]
                        peak, total = log_normaliser(value, index, left, a_k, right, b_k, num_k)
                        share /= total
                        for k in range(num_k):
                            x, y = left + index[a_k + k], right + index[b_k + k]
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
        places = operand_places(i, v, programs, assignment)
        _, chosen = best_state(value, places, programs.step_card[i])
        assignment[v] = chosen
