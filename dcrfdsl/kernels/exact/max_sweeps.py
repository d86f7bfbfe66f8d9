"""Max-marginals by a contraction program: the best score of a labelling in which a variable has a given state.

One sweep up is the program in (max, +). One sweep down computes, for each entry of a result, the best score of
everything outside of it:

    C[b, l, r] = max_k A[b, l, k] + B[b, k, r]
    A°[b, l, k] = max_r C°[b, l, r] + B[b, k, r]        B°[b, k, r] = max_l C°[b, l, r] + A[b, l, k]
    m_v(k) = max_{b, l} A[b, l, k] + A°[b, l, k],       v the variable that the step maximises over

The maximum of each result is taken out of it, so all m_v(k) are differences to the score of the best labelling, at
most 0. Results are parts of the arena; ° lies in a second one. Source: Dawid 1992 (max-propagation). Not here: which
labelling has such a score (`max_marginal_backtrace`), sums (`contraction`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ..runtime import LANES, add, broadcast, inlined, inner, largest, load, maximum, store, subtract
from ..tables import NARROW, WIDE, highest, load_some, store_some
from .contraction_steps import (
    Terms,
    add_by_index,
    best_sums,
    distance,
    group_sizes,
    offset_lists,
    operands,
    raise_by_index,
    turn_table,
)


class TurnedTables(NamedTuple):
    """Shared tables with their last two axes exchanged, where the first ones lie.   by: 1 + the pattern of the table
    that begins in a cell; 0: not turned yet.
    """

    value: Floats  # [shared cells]
    by: Ints  #      [shared cells]


@inlined
def take_out(value, at, size, amount):
    """value[at + j] -= amount."""
    whole = size // LANES * LANES
    shift = broadcast(NARROW, amount)
    for j in range(at, at + whole, LANES):
        store(value, j, subtract(load(NARROW, value, j), shift))
    for j in range(at + whole, at + size):
        value[j] -= amount


@inlined
def _two_rows(index, a_l, il, num_l, a0):
    """Where row il of A begins, and the next one; the same place twice if there is none."""
    return a0 + index[a_l + il], a0 + index[a_l + min(il + 1, num_l - 1)]


@inner
def contract_maxima(pattern, patterns, left, a, right, b, result, c, chosen, count):
    """C[b, l, r] = max_k A[b, l, k] + B[b, k, r] over the states chosen[0] … chosen[count − 1]; if empty 0, 1 …

    left, right, result: the arenas that hold A, B and C.
    """
    dims, index = patterns.dims, patterns.offsets
    num_b, num_l, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 3]
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    by_rows, x_row, out = dims[pattern, 4] == 1 and num_r > 1, dims[pattern, 6], c
    rows = num_l if x_row >= 0 else 1
    x_step, y_step = distance(index, a_k, dims[pattern, 2]), distance(index, b_k, dims[pattern, 2])
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
        if by_rows:
            for il in range(0, num_l, rows):
                x, y = Terms(left, a0 + index[a_l + il], x_step, x_row), Terms(right, b0, y_step, np.int64(1))
                best_sums(x, y, chosen, (count, rows, num_r), result, out, num_r)
                out += rows * num_r
            continue
        for il in range(num_l):
            x = a0 + index[a_l + il]
            for r in range(num_r):
                y, best = b0 + index[b_r + r], -np.inf
                for j in range(count):
                    k = chosen[j] if len(chosen) > 0 else j
                    best = max(best, left[x + index[a_k + k]] + right[y + index[b_k + k]])
                result[out] = best
                out += 1


@inner
def sweep_up(first, last, programs, patterns, value, top, every):
    """Runs the steps on logarithms; top[i]: the maximum taken out of step i's result, unless `top` is empty.

    every: the states 0, 1, 2 …, or empty.
    Returns the score of the best labelling, -inf if none is possible.
    """
    dims = patterns.dims
    best = 0.0
    for i in range(first, last):
        pattern, a, b, c = operands(i, programs)
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        if len(top) > 0:
            top[i] = 0.0
        if dims[pattern, 5]:
            add_by_index(value, a, value, b, value, c, pattern, patterns)
            continue
        contract_maxima(pattern, patterns, value, a, value, b, value, c, every, dims[pattern, 2])
        peak = highest(value, c, size)
        if peak == -np.inf:
            return -np.inf
        take_out(value, c, size, peak)
        if len(top) > 0:
            top[i] = peak
        best += peak
    return best


@inlined
def _pull_rows(registers, value, outside, x, y, b0, states, num_r, top, row, reach):
    """A° of two rows; `row` holds the two rows of C°, each with `reach` cells of which those beyond num_r are -inf."""
    index, a_k, b_k, count = states
    block = len(registers) * LANES
    low = broadcast(registers, -np.inf)
    for k in range(count):
        one, two, place = low, low, b0 + index[b_k + k]
        for at in range(0, num_r, block):
            table = load_some(registers, value, place + at, num_r - at)
            one = maximum(one, add(load(registers, row, at), table))
            two = maximum(two, add(load(registers, row, reach + at), table))
        at = index[a_k + k]
        outside[x + at] = max(outside[x + at], largest(one) - top)
        if x != y:
            outside[y + at] = max(outside[y + at], largest(two) - top)


@inner
def _pull_left_shared(pattern, patterns, value, outside, a, b, c, top, row, turned, none):
    """A° where B is a shared table with contiguous rows.   none: an empty list of states."""
    start, index = patterns.start, patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    out, one, together = c, np.int64(1), distance(index, a_k, num_k) == 1
    if turned.by[b] != pattern + 1:
        turned.by[b] = pattern + 1
        turn_table(pattern, patterns, value, b, turned.value, b)
    for ib in range(num_b):
        y = Terms(turned.value, b + ib * num_k * num_r, num_k, one)
        for il in range(0, num_l, 3):
            rows = min(3, num_l - il)
            best_sums(Terms(outside, out, one, num_r), y, none, (num_r, rows, num_k), row, 0, num_k)
            for m in range(rows):
                left = a + index[a_b + ib] + index[a_l + il + m] + index[a_k]
                if together:
                    _raise_run(outside, left, row, m * num_k, num_k, -top)
                    continue
                for k in range(num_k):
                    at = left + index[a_k + k]
                    outside[at] = max(outside[at], row[m * num_k + k] - top)
            out += num_r * rows


@inner
def _pull_left(pattern, patterns, value, outside, a, b, c, top, row):
    """A°.   row: workspace of two padded rows."""
    index = patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    contiguous, out, reach = patterns.dims[pattern, 4] == 1, c, len(row) // 2
    states = index, a_k, b_k, num_k
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
        if contiguous and num_r > 1:
            width = LANES if num_r <= LANES else 3 * LANES
            end = (num_r + width - 1) // width * width
            for il in range(0, num_l, 2):
                x, y = _two_rows(index, a_l, il, num_l, a0)
                second = out if x == y else out + num_r
                for r in range(num_r):
                    row[r], row[reach + r] = outside[out + r], outside[second + r]
                for r in range(num_r, end):
                    row[r] = row[reach + r] = -np.inf
                if num_r <= LANES:
                    _pull_rows(NARROW, value, outside, x, y, b0, states, num_r, top, row, reach)
                else:
                    _pull_rows(WIDE, value, outside, x, y, b0, states, num_r, top, row, reach)
                out += num_r * min(2, num_l - il)
            continue
        for il in range(num_l):
            x = a0 + index[a_l + il]
            for k in range(num_k):
                best, right = -np.inf, b0 + index[b_k + k]
                for r in range(num_r):
                    best = max(best, outside[out + r] + value[right + index[b_r + r]])
                at = x + index[a_k + k]
                outside[at] = max(outside[at], best - top)
            out += num_r


@inlined
def _raise_run(values, at, others, other, count, amount):
    """values[at + r] becomes at least others[other + r] + amount."""
    more = broadcast(NARROW, amount)
    for r in range(0, count, LANES):
        rest = count - r
        raised = add(load_some(NARROW, others, other + r, rest), more)
        store_some(values, at + r, rest, LANES, maximum(load_some(NARROW, values, at + r, rest), raised))


@inner
def _pull_right(pattern, patterns, value, outside, a, b, c, top):
    """B°."""
    dims, index = patterns.dims, patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    out = c
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
        for il in range(num_l):
            x = a0 + index[a_l + il]
            for k in range(num_k):
                score, right = value[x + index[a_k + k]] - top, b0 + index[b_k + k]
                if dims[pattern, 4] == 1:
                    _raise_run(outside, right, outside, out, num_r, score)
                    continue
                for r in range(num_r):
                    at = right + index[b_r + r]
                    outside[at] = max(outside[at], outside[out + r] + score)
            out += num_r


@inner
def _read_maxima(pattern, patterns, value, outside, a, b, c, local_end, top, maxima, states):
    """m_v of the variable that a step maximises over, into `maxima` from `states` on, which hold -inf before."""
    index = patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    together = a >= local_end and distance(index, a_k, num_k) == 1
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
        if together:
            for il in range(num_l):
                x = a0 + index[a_l + il] + index[a_k]
                for k in range(0, num_k, LANES):
                    at, rest = states + k, num_k - k
                    score = add(load_some(NARROW, value, x + k, rest), load_some(NARROW, outside, x + k, rest))
                    store_some(maxima, at, rest, LANES, maximum(load_some(NARROW, maxima, at, rest), score))
            continue
        for k in range(num_k):
            best, x, y = maxima[states + k], a0 + index[a_k + k], b0 + index[b_k + k]
            if a >= local_end:
                for il in range(num_l):
                    at = x + index[a_l + il]
                    best = max(best, value[at] + outside[at])
            elif b >= local_end:
                for r in range(num_r):
                    at = y + index[b_r + r]
                    best = max(best, value[at] + outside[at])
            else:
                for il in range(num_l):
                    score, out = value[x + index[a_l + il]], c + (ib * num_l + il) * num_r
                    for r in range(num_r):
                        best = max(best, score + value[y + index[b_r + r]] + outside[out + r] - top)
            maxima[states + k] = best


@inner
def sweep_down(first, last, programs, patterns, value, outside, top, spans, state_off, maxima, row, turned):
    """What lies outside of every result of a finished `sweep_up`, and the max-marginals of all variables.

    spans: (where local tables end, where results end).   state_off [V]: where the states of a variable lie in
    `maxima`; those of variables without a factor are left alone.   row: two rows of the widest table, each padded.
    turned: of the shared tables, which stay the same from call to call.
    """
    dims = patterns.dims
    local_end, arena_end = spans
    outside[local_end:arena_end] = -np.inf
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = operands(i, programs)
        if programs.step[i, 4]:
            outside[c] = 0.0
        if dims[pattern, 5]:
            raise_by_index(value, outside, a, b, c, pattern, patterns, a >= local_end, b >= local_end)
            continue
        if a >= local_end and b < len(turned.by) and dims[pattern, 4] == 1 and dims[pattern, 3] > 1:
            _pull_left_shared(pattern, patterns, value, outside, a, b, c, top[i], row, turned, programs.variable[:0])
        elif a >= local_end:
            _pull_left(pattern, patterns, value, outside, a, b, c, top[i], row)
        if b >= local_end:
            _pull_right(pattern, patterns, value, outside, a, b, c, top[i])
        v = programs.variable[i]
        if v >= 0:
            maxima[state_off[v] : state_off[v] + dims[pattern, 2]] = -np.inf
            _read_maxima(pattern, patterns, value, outside, a, b, c, local_end, top[i], maxima, state_off[v])
