"""Contraction programs in linear space: up, and back down for the derivatives of log Z.

A contraction's result is divided by its maximum if that leaves a safe range, and the logarithms of these maxima are
added up. An underflow is never silent: as long as every positive entry is at least `TINY`, products of two entries are
representable and zero means zero. A step that leaves a smaller positive entry returns `UNDERFLOW`; the log-space twin
takes over (`contraction`).

The reverse sweep computes the derivative of log Z by every table entry; times the entry this is the marginal (Sutton
2004 §3.2; the sweep is reverse-mode differentiation of the program). A table
that all sequences share is read by many steps. It is turned once, so that the derivative by its partner is a product of
rows like the result itself; and what the steps add to its own derivative waits (`SweepMemory`) until one product adds
up the terms of many steps. Not here: the loops of a step (`contraction_steps`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ..runtime import IMPOSSIBLE, LANES, OK, UNDERFLOW, fast_inner, inlined, kernel
from ..tables import TINY, add_run, copy_run, scale_run
from .contraction_steps import (
    Terms,
    add_listed,
    distance,
    dots,
    extremes,
    group_sizes,
    multiply_runs,
    offset_lists,
    operands,
    product,
    pull_rows,
    pull_runs,
    scale_rows,
    turn_table,
)

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


# the reverse of contraction steps: derivatives by the operands from those by the result -------------------------------

SLOTS = 8  # shared tables whose derivatives wait at the same time …
ROOM = 64  # … and rows of results that each of them waits for
FEW_COLUMNS = 4 * LANES  # a table with so few is turned even for one step


class SweepMemory(NamedTuple):
    """What reverse sweeps of one run of sequences need; the shared tables must stay the same meanwhile.

    P of slot i are the tables A, and the rows of C̄, of the steps that wait for each other; the last slot is for steps
    that do not wait.
    """

    mass: Floats  #    [..]              derivatives by some rows of A
    place: Ints  #     [(SLOTS + 1) · 2 · ROOM] where rows of A lie, and where those of C̄, slot by slot
    waiting: Ints  #   [SLOTS, 3]        shared table, pattern and number of rows of a slot
    turned: Floats  #  [shared cells, ..] shared tables B[b, k, r] as [b, r, k], and room for another
    turned_by: Ints  # [shared cells]   1 + the pattern of the table that begins here; 0: not turned yet


@kernel
def sweep_memory(patterns, shared):
    """Memory for reverse sweeps with these patterns and this many shared cells."""
    dims, most, table = patterns.dims, 1, 0
    for p in range(len(dims)):
        if dims[p, 5] == 0:
            most = max(most, dims[p, 1] * dims[p, 2])
            if dims[p, 1] >= LANES and dims[p, 3] <= FEW_COLUMNS:
                table = max(table, dims[p, 0] * dims[p, 2] * dims[p, 3])
    return SweepMemory(
        np.empty(most), np.empty((SLOTS + 1) * 2 * ROOM, np.int64), np.zeros((SLOTS, 3), np.int64),
        np.empty(shared + table), np.zeros(shared, np.int64),
    )  # fmt: skip


@inlined
def writes_operands(pattern, patterns):
    """Whether `pull`, and the reverse of a product, write the derivative of A, and of B, where these are results."""
    dims = patterns.dims
    if dims[pattern, 5]:
        return dims[pattern, 6] >= 0, False
    by_products = dims[pattern, 4] == 1 and dims[pattern, 3] > 1 and (dims[pattern, 1] > 1 or dims[pattern, 2] > 1)
    return by_products and dims[pattern, 0] == 1, by_products


@inlined
def clear_operands(pattern, patterns, adjoint, a, b, results, writes):
    """Sets the derivatives by the operands of a step to 0 where these are results, which lie from `results` on.

    Each result is the operand of one step. Here the cells are cleared while they are about to be in the cache.
    writes: whether those are left out that the step writes (`writes_operands`).
    """
    dims, start, index = patterns
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    last_a = num_b * num_l * num_r - 1  # the last entry of each group of axes lies last
    last_b = start[pattern, 0] + last_a
    if dims[pattern, 5]:
        last_b = index[last_b]
    else:
        a_b, a_l, a_k = start[pattern, 0] + num_b, start[pattern, 1] + num_l, start[pattern, 2] + num_k
        b_b, b_k, b_r = start[pattern, 3] + num_b, start[pattern, 4] + num_k, start[pattern, 5] + num_r
        last_a = index[a_b - 1] + index[a_l - 1] + index[a_k - 1]
        last_b = index[b_b - 1] + index[b_k - 1] + index[b_r - 1]
    of_a, of_b = writes_operands(pattern, patterns)
    if a >= results and not (writes and of_a):
        adjoint[a : a + last_a + 1] = 0.0
    if b >= results and not (writes and of_b):
        adjoint[b : b + last_b + 1] = 0.0


@fast_inner
def _wait(pattern, patterns, value, adjoint, a, b, c, memory):
    """Leaves B̄[b, k, r] += Σ_l A[b, l, k] C̄[b, l, r] for a shared B to the next `_settle`."""
    dims, start, index = patterns
    waiting, slot = memory.waiting, -1
    for i in range(SLOTS):
        if waiting[i, 2] > 0 and waiting[i, 0] == b and waiting[i, 1] == pattern:
            slot = i
    if slot < 0:
        slot = b % SLOTS
        for i in range(SLOTS):
            if waiting[i, 2] == 0:
                slot = i
        _settle(slot, patterns, value, adjoint, memory)
        waiting[slot, 0], waiting[slot, 1] = b, pattern
    rows, num_r, lists = start[pattern, 1], dims[pattern, 3], slot * 2 * ROOM
    for il in range(dims[pattern, 1]):
        if waiting[slot, 2] == ROOM:
            _settle(slot, patterns, value, adjoint, memory)
        at = lists + waiting[slot, 2]
        memory.place[at], memory.place[at + ROOM] = a + index[rows + il], c + il * num_r
        waiting[slot, 2] += 1


@inlined
def settle_all(patterns, value, adjoint, memory):
    """Adds what waits to the derivatives of shared tables."""
    for slot in range(SLOTS):
        _settle(slot, patterns, value, adjoint, memory)


@fast_inner
def _settle(slot, patterns, value, adjoint, memory):
    """Adds what waits in a slot to the derivative of its table."""
    b, pattern, count = memory.waiting[slot, 0], memory.waiting[slot, 1], memory.waiting[slot, 2]
    if count > 0:
        _add_right(pattern, patterns, value, adjoint, b, slot, count, memory, False)
        memory.waiting[slot, 2] = 0


@inlined
def _add_right(pattern, patterns, value, adjoint, b, slot, count, memory, is_new):
    """B̄[b, k, r] += Σ A[b, l, k] C̄[b, l, r], or =, over the first rows of a slot, which are those of batch 0."""
    start, index = patterns.start, patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    x_row, out_row = distance(index, start[pattern, 2], num_k), distance(index, start[pattern, 4], num_k)
    lists, sizes = slot * 2 * ROOM, (count, num_k, num_r)
    of_a, of_c = memory.place[lists : lists + ROOM], memory.place[lists + ROOM : lists + 2 * ROOM]
    for ib in range(num_b):
        x = value, index[start[pattern, 0] + ib], x_row, of_a
        y = adjoint, ib * num_l * num_r, of_c
        add_listed(x, y, sizes, adjoint, b + index[start[pattern, 3] + ib], out_row, is_new)


@inlined
def _turn(pattern, patterns, value, b, memory):
    """Turns B[b, k, r] to [b, r, k]. Returns where it lies: a shared table keeps its place for the next step."""
    at = len(memory.turned_by)
    if b < at:
        if memory.turned_by[b] == pattern + 1:
            return b
        memory.turned_by[b], at = pattern + 1, b
    turn_table(pattern, patterns, value, b, memory.turned, at)
    return at


@inlined
def _add_mass(pattern, patterns, value, adjoint, left, rows, marginal, states, mass, is_new):
    """Adds derivatives by some rows of A, which begin at the places `left`, to Ā, or writes them; see `pull`."""
    dims, start, index = patterns
    num_k, a_k = dims[pattern, 2], start[pattern, 2]
    places, first, a = left
    together = distance(index, a_k, num_k) == 1
    for m in range(rows):
        here, at = a + places[first + m], m * num_k
        if together and is_new:
            copy_run(mass, at, num_k, adjoint[here : here + num_k])
        elif is_new:
            for k in range(num_k):
                adjoint[here + index[a_k + k]] = mass[at + k]
        elif together:
            add_run(mass, at, num_k, adjoint[here : here + num_k])
        else:
            for k in range(num_k):
                adjoint[here + index[a_k + k]] += mass[at + k]
        if states >= 0:
            for k in range(num_k):
                marginal[states + k] += value[here + index[a_k + k]] * mass[at + k]


@inlined
def _pull_left(pattern, patterns, value, adjoint, a, b, c, marginal, states, memory, is_new):
    """Ā[b, l, k] += Σ_r C̄[b, l, r] B[b, k, r], where rows of B are contiguous; see `pull`."""
    dims, start, index = patterns
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, b_b, b_k = start[pattern, 0], start[pattern, 1], start[pattern, 3], start[pattern, 4]
    rows, mass, out, at = num_l if dims[pattern, 6] >= 0 else 1, memory.mass, c, 0
    # where A is the same in all batches, so is its derivative: one sum over all of them
    is_one = num_b > 1 and rows == num_l and index[a_b + num_b - 1] == index[a_b]
    is_turned = b < len(memory.turned_by) or (num_l >= LANES and num_r <= FEW_COLUMNS and not is_one)
    if is_turned:
        at = _turn(pattern, patterns, value, b, memory)
    batches = num_b if is_one and not is_turned else 1
    y_step, one = distance(index, b_k, num_k), np.int64(1)
    in_place = is_turned and is_new and states < 0 and distance(index, start[pattern, 2], num_k) == 1
    for ib in range(0, num_b, batches):
        for il in range(0, num_l, rows):
            if is_turned:
                x, y = Terms(adjoint, out, one, num_r), Terms(memory.turned, at + ib * num_k * num_r, num_k, one)
                if in_place:
                    here = a + index[a_b + ib] + index[a_l + il]
                    product(x, y, (num_r, rows, num_k), adjoint, here, dims[pattern, 6])
                    out += rows * num_r
                    continue
                product(x, y, (num_r, rows, num_k), mass, np.int64(0), num_k)
            else:
                x, y = (adjoint, out), (value, b, y_step)
                dots(x, y, (num_k, rows, num_r), (batches, index[b_b + ib : b_b + ib + batches]), mass)
            left = index, a_l + il, a + index[a_b + ib]
            _add_mass(pattern, patterns, value, adjoint, left, rows, marginal, states, mass, is_new)
            out += batches * rows * num_r


@inlined
def _pull_right(pattern, patterns, value, adjoint, a, b, c, shift, memory, is_new):
    """B̄[b, k, r] += Σ_l A[b, l, k] C̄[b, l, r], where rows of B are contiguous; see `pull_tangents` for `shift`.

    B̄ of a shared table waits for `settle_all`.
    """
    if b < len(memory.turned_by):
        _wait(pattern, patterns, value, adjoint, a + shift, b, c + shift, memory)
        return
    index, num_l, num_r = patterns.offsets, patterns.dims[pattern, 1], patterns.dims[pattern, 3]
    rows, lists = patterns.start[pattern, 1], SLOTS * 2 * ROOM
    for first in range(0, num_l, ROOM):
        count = min(ROOM, num_l - first)
        for n in range(count):
            memory.place[lists + n] = a + shift + index[rows + first + n]
            memory.place[lists + ROOM + n] = c + shift + (first + n) * num_r
        _add_right(pattern, patterns, value, adjoint, b, np.int64(SLOTS), count, memory, is_new and first == 0)


@inlined
def _pull_entries(pattern, patterns, value, adjoint, a, b, c, shift, marginal, states):
    """Ā and B̄ entry by entry; see `pull_tangents` for `shift`."""
    index = patterns.offsets
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    out = c + shift
    for ib in range(num_b):
        for il in range(num_l):
            a0, b0 = a + index[a_b + ib] + index[a_l + il], b + index[b_b + ib]
            if num_r == 1:
                share = adjoint[out]
                for k in range(num_k):
                    x, row = a0 + index[a_k + k], b0 + index[b_k + k]
                    adjoint[x] += share * value[row + shift]
                    adjoint[row] += share * value[x + shift]
                    if states >= 0:
                        marginal[states + k] += share * value[x] * value[row]
            else:
                for k in range(num_k):
                    x, row = a0 + index[a_k + k], b0 + index[b_k + k]
                    weight, mass = value[x + shift], 0.0
                    for r in range(num_r):
                        at = row + index[b_r + r]
                        mass += adjoint[out + r] * value[at + shift]
                        adjoint[at] += weight * adjoint[out + r]
                    adjoint[x] += mass
                    if states >= 0:
                        marginal[states + k] += weight * mass
            out += num_r


@fast_inner
def pull(pattern, patterns, value, adjoint, places, right, marginal, states, memory, results):
    """The reverse of `contract`: Ā[b, l, k] += Σ_r C̄[b, l, r] B[b, k, r] and B̄[b, k, r] += Σ_l A[b, l, k] C̄[b, l, r].

    places: of A, B and C.   right: whether B̄ is wanted. It waits for `settle_all` if B is a shared table.   states:
    where the marginal of the variable that is summed out begins, or -1.   results: derivatives by operands that lie
    from there on are written where `writes_operands` says so, and added to where not.
    """
    dims, (a, b, c), unshifted = patterns.dims, places, np.int64(0)
    by_rows = dims[pattern, 4] == 1 and dims[pattern, 3] > 1
    if by_rows and dims[pattern, 1] == 1 and dims[pattern, 2] == 1 and states < 0:
        pull_rows(pattern, patterns, value, adjoint, a, b, c, unshifted)
    elif by_rows:
        of_a, of_b = writes_operands(pattern, patterns)
        is_new = of_a and a >= results
        _pull_left(pattern, patterns, value, adjoint, a, b, c, marginal, states, memory, is_new)
        if right:
            _pull_right(pattern, patterns, value, adjoint, a, b, c, unshifted, memory, of_b and b >= results)
    else:
        _pull_entries(pattern, patterns, value, adjoint, a, b, c, unshifted, marginal, states)


@fast_inner
def pull_tangents(pattern, patterns, value, adjoint, places, half, local_end, memory):
    """The tangent of `pull`: Ā' += C̄' B + C̄ Ḃ and B̄' += A C̄' + Ȧ C̄.

    In `value` tangents lie `half` cells after what they are tangents of; in `adjoint` they lie first, and derivatives
    `half` cells after them. So each second term is the first one, read `half` cells further on. Those of tables are 0.
    """
    dims, (a, b, c), unshifted, nothing = patterns.dims, places, np.int64(0), value[:0]
    by_rows, none = dims[pattern, 4] == 1 and dims[pattern, 3] > 1, np.int64(-1)
    if by_rows and (dims[pattern, 1] > 1 or dims[pattern, 2] > 1):
        _pull_left(pattern, patterns, value, adjoint, a, b, c, nothing, none, memory, False)
        _pull_right(pattern, patterns, value, adjoint, a, b, c, unshifted, memory, False)
        if b >= local_end:
            _pull_left(pattern, patterns, value, adjoint, a, b + half, c + half, nothing, none, memory, False)
        if a >= local_end:
            _pull_right(pattern, patterns, value, adjoint, a, b, c, half, memory, False)
        return
    for shift in range(0, 1 + half if a >= local_end or b >= local_end else 1, half):
        if by_rows:
            pull_rows(pattern, patterns, value, adjoint, a, b, c, shift)
        else:
            _pull_entries(pattern, patterns, value, adjoint, a, b, c, shift, nothing, none)
