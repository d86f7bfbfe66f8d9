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

from ...foundation import Floats, Ints, Ints32
from ..runtime import LANES, add, broadcast, inlined, inner, largest, load, load_part, maximum, repeat, store, subtract
from ..tables import NARROW, WIDE, highest, load_some, store_some
from .contraction_steps import add_by_index, group_sizes, offset_lists, operands, raise_by_index, turn_table


class TurnedTables(NamedTuple):
    """Shared tables with their last two axes exchanged, where the first ones lie.   by: 1 + the pattern of the table
    that begins in a cell; 0: not turned yet.
    """

    value: Floats  # [shared cells]
    by: Ints  #      [shared cells]


class _States(NamedTuple):
    """The states that a step maximises over.   a_k, b_k: where the lists of their places in A and B begin in `offsets`.
    chosen: the first `number` are meant; if empty 0, 1 …
    """

    offsets: Ints
    a_k: int
    b_k: int
    chosen: Ints32
    number: int


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


@inlined
def _maximum_rows(registers, left, x, y, right, b0, states, num_r, result, out):
    """Two rows of C, where the rows of B are contiguous; x, y: where the two rows of A begin, equal if only one."""
    index, a_k, b_k, chosen, count = states
    block, listed = len(registers) * LANES, len(chosen) > 0
    low = broadcast(registers, -np.inf)
    for at in range(0, num_r, block):
        rest = num_r - at
        row_best, next_best = low, low
        if rest >= block:
            for j in range(count):
                k = chosen[j] if listed else j
                row, place = load(registers, right, b0 + index[b_k + k] + at), index[a_k + k]
                row_best = maximum(row_best, add(repeat(registers, left, x + place), row))
                next_best = maximum(next_best, add(repeat(registers, left, y + place), row))
        else:
            for j in range(count):
                k = chosen[j] if listed else j
                row, place = load_part(registers, right, b0 + index[b_k + k] + at, rest), index[a_k + k]
                row_best = maximum(row_best, add(repeat(registers, left, x + place), row))
                next_best = maximum(next_best, add(repeat(registers, left, y + place), row))
        store_some(result, out + at, rest, block, row_best)
        if x != y:
            store_some(result, out + num_r + at, rest, block, next_best)


@inner
def contract_maxima(pattern, patterns, left, a, right, b, result, c, chosen, count):
    """C[b, l, r] = max_k A[b, l, k] + B[b, k, r] over the states chosen[0] … chosen[count − 1]; if empty 0, 1 …

    left, right, result: the arenas that hold A, B and C.
    """
    dims, index = patterns.dims, patterns.offsets
    num_b, num_l, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 3]
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    contiguous, out, states = patterns.dims[pattern, 4] == 1, c, _States(index, a_k, b_k, chosen, count)
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
        if contiguous and num_r > 1:
            for il in range(0, num_l, 2):
                x, y = _two_rows(index, a_l, il, num_l, a0)
                if num_r <= LANES:
                    _maximum_rows(NARROW, left, x, y, right, b0, states, num_r, result, out)
                else:
                    _maximum_rows(WIDE, left, x, y, right, b0, states, num_r, result, out)
                out += num_r * min(2, num_l - il)
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
    index, a_k, b_k, _, count = states
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


@inlined
def _maximum_turned(registers, outside, x, y, table, place, num_r, num_k, row, reach):
    """Two rows of max_r C°[l, r] + B[r, k] into `row`; x, y: where the rows of C° begin, equal if only one."""
    block = len(registers) * LANES
    low = broadcast(registers, -np.inf)
    for at in range(0, num_k, block):
        rest, here = num_k - at, place + at
        one, two = low, low
        if rest >= block:
            for r in range(num_r):
                right = load(registers, table, here)
                one = maximum(one, add(repeat(registers, outside, x + r), right))
                two = maximum(two, add(repeat(registers, outside, y + r), right))
                here += num_k
        else:
            for r in range(num_r):
                right = load_part(registers, table, here, rest)
                one = maximum(one, add(repeat(registers, outside, x + r), right))
                two = maximum(two, add(repeat(registers, outside, y + r), right))
                here += num_k
        store_some(row, at, rest, block, one)
        store_some(row, reach + at, rest, block, two)


@inner
def _pull_left_shared(pattern, patterns, value, outside, a, b, c, top, row, turned):
    """A° where B is a shared table with contiguous rows."""
    start, index = patterns.start, patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    out, reach = c, len(row) // 2
    if turned.by[b] != pattern + 1:
        turned.by[b] = pattern + 1
        turn_table(pattern, patterns, value, b, turned.value, b)
    for ib in range(num_b):
        place = b + ib * num_k * num_r
        for il in range(0, num_l, 2):
            x, y = out, out + num_r if il + 1 < num_l else out
            if num_k <= LANES:
                _maximum_turned(NARROW, outside, x, y, turned.value, place, num_r, num_k, row, reach)
            else:
                _maximum_turned(WIDE, outside, x, y, turned.value, place, num_r, num_k, row, reach)
            left = a + index[a_b + ib] + index[a_l + il]
            for k in range(num_k):
                at = left + index[a_k + k]
                outside[at] = max(outside[at], row[k] - top)
            if x != y:
                left = a + index[a_b + ib] + index[a_l + il + 1]
                for k in range(num_k):
                    at = left + index[a_k + k]
                    outside[at] = max(outside[at], row[reach + k] - top)
            out += num_r * min(2, num_l - il)


@inner
def _pull_left(pattern, patterns, value, outside, a, b, c, top, row, every):
    """A°.   row: workspace of two padded rows.   every: an empty list of states."""
    index = patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    contiguous, out, reach = patterns.dims[pattern, 4] == 1, c, len(row) // 2
    states = _States(index, a_k, b_k, every, num_k)
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
def _raise_run(values, at, other, count, amount):
    """values[at + r] becomes at least values[other + r] + amount."""
    more = broadcast(NARROW, amount)
    for r in range(0, count, LANES):
        rest = count - r
        raised = add(load_some(NARROW, values, other + r, rest), more)
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
                    _raise_run(outside, right, out, num_r, score)
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
    for ib in range(num_b):
        a0, b0 = a + index[a_b + ib], b + index[b_b + ib]
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
            _pull_left_shared(pattern, patterns, value, outside, a, b, c, top[i], row, turned)
        elif a >= local_end:
            _pull_left(pattern, patterns, value, outside, a, b, c, top[i], row, programs.variable[:0])
        if b >= local_end:
            _pull_right(pattern, patterns, value, outside, a, b, c, top[i])
        v = programs.variable[i]
        if v >= 0:
            maxima[state_off[v] : state_off[v] + dims[pattern, 2]] = -np.inf
            _read_maxima(pattern, patterns, value, outside, a, b, c, local_end, top[i], maxima, state_off[v])
