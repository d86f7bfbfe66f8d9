"""Running a contraction program: variable elimination as a list of small matrix products.

A step takes two tables A and B and makes C; indices fall into four groups, b (in both, kept), l (in A only),
k (in both, summed out), r (in B only):

    C[b, l, r] = Σ_k A[b, l, k] · B[b, k, r]           (contraction)
    C[i]       = A[i] · B[index[i]]                     (product: B's variables are among A's)

The offset of an entry in A is a_b[b] + a_l[l] + a_k[k] (likewise B); C is contiguous. The reverse sweep computes the
derivative of log Z by every table entry; times the entry this is the marginal (Sutton 2004 §3.2; the sweep is
reverse-mode differentiation of the program).

Linear space: each contraction's result is divided by its maximum, and the logarithms of the maxima are added up. An
underflow is never silent: as long as every positive entry is at least `TINY`, products of two entries are representable
and zero means zero. A step that leaves a smaller positive entry returns `UNDERFLOW`; the log-space twin takes over.

Source: bucket elimination in product form (Dechter 1996). Not here: choosing the order (`graph`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import IMPOSSIBLE, LANES, OK, UNDERFLOW, fast_inner, inner
from ..tables import NARROW, TINY, WIDE, scale_run
from .contraction_steps import SummedOut, contract_rows, highest, pull_rows, scale_positive

__all__ = [
    "backward_linear",
    "backward_log",
    "contract",
    "forward_linear",
    "forward_log",
    "forward_max",
    "pull",
    "trace_back",
]  # fmt: skip


@fast_inner
def forward_linear(first, last, programs, patterns, value, scale):
    """Runs the steps first … last − 1 in linear space on the arena `value`; writes to scale[i] the factor of step i.

    Returns (sum of the logarithms of all divisors, status): `UNDERFLOW` asks for `forward_log`.
    """
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    log_z = 0.0
    product = 1.0  # of divisors; its logarithm is taken only when it leaves the safe range
    for i in range(first, last):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        smallest_bad = False
        if dims[pattern, 5]:
            at = start[pattern, 0]
            left, result = value[a : a + size], value[c : c + size]
            for j in range(size):
                v = left[j] * value[b + index[at + j]]
                result[j] = v
                smallest_bad |= (v > 0.0) & (v < TINY)
            scale[i] = 1.0
        else:
            contract(pattern, dims, start, index, value, a, b, c)
            peak = highest(value, c, size)
            if not peak > 0.0:
                return 0.0, IMPOSSIBLE
            factor = 1.0 / peak
            smallest_bad = scale_positive(value, c, size, factor) < TINY
            scale[i] = factor
            product *= peak
            if product < 1e-140 or product > 1e140:
                log_z += np.log(product)
                product = 1.0
        if smallest_bad:
            return 0.0, UNDERFLOW
    return log_z + np.log(product), OK


@fast_inner
def contract(pattern, dims, start, index, value, a, b, c):
    """C[b, l, r] = Σ_k A[b, l, k] · B[b, k, r]"""
    num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
    a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
    contiguous, summed = dims[pattern, 4] == 1, SummedOut(index, a_k, b_k, num_k)
    out = c
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
        if contiguous and num_r > 1:
            for il in range(0, num_l, 2):
                left, other = a0 + index[a_l + il], a0 + index[a_l + min(il + 1, num_l - 1)]
                if num_r <= LANES:
                    contract_rows(NARROW, value, left, other, b0, summed, num_r, out)
                else:
                    contract_rows(WIDE, value, left, other, b0, summed, num_r, out)
                out += num_r * min(2, num_l - il)
            continue
        for il in range(num_l):
            left = a0 + index[a_l + il]
            if num_r == 1:
                mass = 0.0
                for k in range(num_k):
                    mass += value[left + index[a_k + k]] * value[b0 + index[b_k + k]]
                value[out] = mass
            else:
                value[out : out + num_r] = 0.0
                for k in range(num_k):
                    x, row = value[left + index[a_k + k]], b0 + index[b_k + k]
                    for r in range(num_r):
                        value[out + r] += x * value[row + index[b_r + r]]
            out += num_r


@fast_inner
def backward_linear(first, last, programs, patterns, value, scale, adjoint, state_off, marginal, root):
    """Adds ∂log Z/∂table to `adjoint` for every table that the steps read; `adjoint` of results must start at 0.

    The result of a root step is the normaliser of a connected component, 1 after scaling. Its adjoint is `root`: 1, or
    a factor of all results. The marginal of the variable that a step sums out is added to `marginal`
    from `state_off[v]` on, unless that is empty.
    """
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    wanted = len(marginal) > 0
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        if programs.step[i, 4]:
            adjoint[c] = root
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(size):
                other = b + index[at + j]
                adjoint[a + j] += adjoint[c + j] * value[other]
                adjoint[other] += adjoint[c + j] * value[a + j]
            continue
        scale_run(adjoint, c, size, scale[i])
        counted = wanted and programs.variable[i] >= 0
        states = state_off[programs.variable[i]] if counted else -1
        pull(pattern, dims, start, index, value, adjoint, a, b, c, marginal, states)


@fast_inner
def pull(pattern, dims, start, index, value, adjoint, a, b, c, marginal, states):
    """The reverse of `contract`: Ā[b, l, k] += Σ_r C̄[b, l, r] B[b, k, r] and B̄[b, k, r] += Σ_l A[b, l, k] C̄[b, l, r].

    states: where the marginal of the variable that is summed out begins, or -1.
    """
    num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
    a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
    contiguous, counted = dims[pattern, 4] == 1, states >= 0
    summed = SummedOut(index, a_k, b_k, num_k)
    out = c
    for ib in range(num_b):
        if contiguous and num_r > 1:
            a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
            for il in range(0, num_l, 2):
                left, other = a0 + index[a_l + il], a0 + index[a_l + min(il + 1, num_l - 1)]
                if num_r <= LANES:
                    pull_rows(NARROW, value, adjoint, left, other, b0, summed, num_r, out, marginal, states)
                else:
                    pull_rows(WIDE, value, adjoint, left, other, b0, summed, num_r, out, marginal, states)
                out += num_r * min(2, num_l - il)
            continue
        for il in range(num_l):
            a0 = a + index[a_b + ib] + index[a_l + il]
            b0 = b + index[b_b + ib]
            if num_r == 1:
                share = adjoint[out]
                for k in range(num_k):
                    x, row = a0 + index[a_k + k], b0 + index[b_k + k]
                    adjoint[x] += share * value[row]
                    adjoint[row] += share * value[x]
                    if counted:
                        marginal[states + k] += share * value[x] * value[row]
            else:
                for k in range(num_k):
                    x, row = a0 + index[a_k + k], b0 + index[b_k + k]
                    weight, mass = value[x], 0.0
                    for r in range(num_r):
                        at = row + index[b_r + r]
                        mass += adjoint[out + r] * value[at]
                        adjoint[at] += weight * adjoint[out + r]
                    adjoint[x] += mass
                    if counted:
                        marginal[states + k] += weight * mass
            out += num_r


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
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    best = 0.0
    for i in range(first, last):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
        size = num_b * num_l * num_r
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(size):
                value[c + j] = value[a + j] + value[b + index[at + j]]
            continue
        a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
        b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                a0 = a + index[a_b + ib] + index[a_l + il]
                b0 = b + index[b_b + ib]
                for r in range(num_r):
                    value[out + r] = -np.inf
                for k in range(num_k):
                    x, row = value[a0 + index[a_k + k]], b0 + index[b_k + k]
                    for r in range(num_r):
                        value[out + r] = max(value[out + r], x + value[row + index[b_r + r]])
                out += num_r
        top = -np.inf
        for j in range(c, out):
            top = max(top, value[j])
        if top == -np.inf:
            return -np.inf
        for j in range(c, out):
            value[j] -= top
        best += top
    return best


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
