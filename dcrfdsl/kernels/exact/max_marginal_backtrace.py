"""Counts of best labellings, after both sweeps of `max_sweeps`: many labellings at once, each followed only where it
is alone.

A best labelling that passes through an entry of a result is two paths: inside of it along the maximising states down
to the tables, and outside of it up to the root, with a path inside of every table that it meets. Masses that meet in
an entry travel on together. First those outside go up, then those inside go down; what arrives in an entry of a table
is the count of that entry.

A labelling that must keep given states in a range of positions has its own results on the way from the first of these
positions to the last, and shares all others (`follow_range`). Ties go to the first of the maximising states. Not here:
which labellings (`sequences.span_competitors`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints32, Mask
from ..runtime import LANES, any_below, broadcast, inlined, inner, maximum, subtract
from ..tables import NARROW, load_some
from .contraction_steps import add_by_index, group_sizes, offset_lists, operands
from .max_sweeps import contract_maxima, take_out

FREE, MIXED = -1, -2  # codes of `limit`: any state, or one of `mixed`


class PathWorkspace(NamedTuple):
    """Memory for one sequence. Masses and marks are 0 between two sequences."""

    value: Floats  #        [arena]  of `sweep_up`
    outside: Floats  #      [arena]  of `sweep_down`
    top: Floats  #          [steps]
    inside_mass: Floats  #     [arena]
    outside_mass: Floats  #    [arena]
    has_inside: Mask  #                  [steps]  whether the step's result may hold a mass
    has_outside: Mask  #                 [steps]
    producer: Ints32  #     [arena]  the step whose result begins in a cell
    root: Ints32  #         [steps]  the step that ends the component of a step
    covered: Floats  #      [steps]  mass of the labellings that have a path of their own in the component of a root
    sum_step: Ints32  #     [V]      the step that maximises over a variable, -1 if it is in no factor
    own: Floats  #          [arena]  results of a labelling with given states
    is_own: Mask  #                 [steps]
    cell: Ints32  #         [steps]  the entry of the step's own result that its labelling passes
    limit: Ints32  #        [V]      the state that a variable must have; FREE or MIXED
    every: Ints32  #        [largest number of states]  0, 1, 2 …
    mixed: Ints32  #        [largest number of states]


@inlined
def _next_mass(mass, at, j, count, together):
    """The first of j … count − 1 whose mass, one of a run that begins at `at`, is not 0; `count` if there is none.

    together: whether the masses are such a run; if not, j itself, of which the caller reads the mass.
    """
    zero = broadcast(NARROW, 0.0)
    while together and j < count:
        masses = load_some(NARROW, mass, at + j, count - j)
        if any_below(zero, maximum(masses, subtract(zero, masses))):
            while mass[at + j] == 0.0:
                j += 1
            return j
        j += LANES
    return min(j, count)


@inlined
def _mark(has_mass, producer, place, local_end):
    if place >= local_end:
        has_mass[producer[place]] = True


@inlined
def _best_partner(outside, out, stride, value, other, offsets, first, count):
    """The first of `count` entries of C° and of the other operand that maximise their sum, and this maximum.

    stride: between the entries of C°.   first: where the list of the other operand's offsets begins.
    """
    best, which = -np.inf, 0
    for j in range(count):
        score = outside[out + j * stride] + value[other + offsets[first + j]]
        if score > best:
            best, which = score, j
    return best, which


@inlined
def _move_up(w, at, out, other, counts):
    """Moves the mass outside of an operand's entry on to the entry of C° at `out`, and to the other operand's if that
    counts.
    """
    mass = w.outside_mass[at]
    w.outside_mass[at] = 0.0
    w.outside_mass[out] += mass
    if counts:
        w.inside_mass[other] += mass


@inlined
def _pass_left(i, programs, patterns, local_end, w, counting, labelling):
    """Passes the masses outside of A, the left operand of a contraction, on to C° and B."""
    index = patterns.offsets
    pattern, a, b, c = operands(i, programs)
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    outside, mass_out, counts = w.outside, w.outside_mass, counting or b >= local_end
    v, together = programs.variable[i], index[a_k + num_k - 1] - index[a_k] == num_k - 1
    for ib in range(num_b):
        for il in range(num_l):
            x, out, k = a + index[a_b + ib] + index[a_l + il], c + (ib * num_l + il) * num_r, -1
            while True:
                k = _next_mass(mass_out, x + index[a_k], k + 1, num_k, together)
                if k == num_k:
                    break
                at = x + index[a_k + k]
                if mass_out[at] == 0.0:
                    continue
                right = b + index[b_b + ib] + index[b_k + k]
                best, r = _best_partner(outside, out, 1, w.value, right, index, b_r, num_r)
                if best - w.top[i] < outside[at]:  # A does not depend on all of b; another one is better
                    continue
                _move_up(w, at, out + r, right + index[b_r + r], counts)
                if v >= 0 and len(labelling) > 0:
                    labelling[v] = k
    w.has_outside[i] = True
    _mark(w.has_inside, w.producer, b, local_end)


@inlined
def _pass_right(i, programs, patterns, local_end, w, counting, labelling):
    """Passes the masses outside of B on to C° and A."""
    index = patterns.offsets
    pattern, a, b, c = operands(i, programs)
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    outside, mass_out, counts = w.outside, w.outside_mass, counting or a >= local_end
    v, together = programs.variable[i], patterns.dims[pattern, 4] == 1
    for ib in range(num_b):
        for k in range(num_k):
            row, r = b + index[b_b + ib] + index[b_k + k], -1
            while True:
                r = _next_mass(mass_out, row, r + 1, num_r, together)
                if r == num_r:
                    break
                at = row + index[b_r + r]
                if mass_out[at] == 0.0:
                    continue
                left, out = a + index[a_b + ib] + index[a_k + k], c + ib * num_l * num_r + r
                _, il = _best_partner(outside, out, num_r, w.value, left, index, a_l, num_l)
                _move_up(w, at, out + il * num_r, left + index[a_l + il], counts)
                if v >= 0 and len(labelling) > 0:
                    labelling[v] = k
    w.has_outside[i] = True
    _mark(w.has_inside, w.producer, a, local_end)


@inlined
def _pass_product(i, programs, patterns, local_end, w, counting, from_left):
    """As `_pass_left` or `_pass_right` for a product by index."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    pattern, a, b, c = operands(i, programs)
    at, mass_in, mass_out = start[pattern, 0], w.inside_mass, w.outside_mass
    size, j = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3], -1
    while True:
        j = _next_mass(mass_out, a, j + 1, size, from_left)
        if j == size:
            break
        left, right = a + j, b + index[at + j]
        source, other = (left, right) if from_left else (right, left)
        mass = mass_out[source]
        if mass == 0.0 or (not from_left and w.outside[c + j] + w.value[left] < w.outside[right]):
            continue
        mass_out[source] = 0.0
        mass_out[c + j] += mass
        if counting or other >= local_end:
            mass_in[other] += mass
    w.has_outside[i] = True
    _mark(w.has_inside, w.producer, b if from_left else a, local_end)


@inlined
def _best_states(left, x, a_k, right, y, b_k, index, chosen, count):
    """The first of the states that maximise A + B."""
    best, which = -np.inf, 0
    for j in range(count):
        score = left[x + index[a_k + chosen[j]]] + right[y + index[b_k + chosen[j]]]
        if score > best:
            best, which = score, chosen[j]
    return which


@inlined
def _pass_down(i, programs, patterns, local_end, w, counting, labelling):
    """Passes the masses inside of C on to A and B."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    pattern, a, b, c = operands(i, programs)
    num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
    value, mass_in, v = w.value, w.inside_mass, programs.variable[i]
    a_counts, b_counts = counting or a >= local_end, counting or b >= local_end
    _mark(w.has_inside, w.producer, a, local_end)
    _mark(w.has_inside, w.producer, b, local_end)
    if dims[pattern, 5]:
        at = start[pattern, 0]
        size, j = num_b * num_l * num_r, _next_mass(mass_in, c, 0, num_b * num_l * num_r, True)
        while j < size:
            mass, mass_in[c + j] = mass_in[c + j], 0.0
            if a_counts:
                mass_in[a + j] += mass
            if b_counts:
                mass_in[b + index[at + j]] += mass
            j = _next_mass(mass_in, c, j + 1, size, True)
        return
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    for ib in range(num_b):
        for il in range(num_l):
            x, out = a + index[a_b + ib] + index[a_l + il], c + (ib * num_l + il) * num_r
            r = _next_mass(mass_in, out, 0, num_r, True)
            while r < num_r:
                mass, mass_in[out + r] = mass_in[out + r], 0.0
                y = b + index[b_b + ib] + index[b_r + r]
                k = _best_states(value, x, a_k, value, y, b_k, index, w.every, num_k)
                if a_counts:
                    mass_in[x + index[a_k + k]] += mass
                if b_counts:
                    mass_in[y + index[b_k + k]] += mass
                if v >= 0 and len(labelling) > 0:
                    labelling[v] = k
                r = _next_mass(mass_in, out, r + 1, num_r, True)


@inner
def pass_counts(first, last, programs, patterns, local_end, w, counting, labelling):
    """Passes all masses on until only tables hold some: counts of their entries, unless not `counting`.

    labelling: empty, or the states of the labelling if all masses belong to one.
    """
    dims = patterns.dims
    for i in range(first, last):
        pattern, a, b, c = operands(i, programs)
        from_left = a >= local_end and w.has_outside[w.producer[a]]
        from_right = b >= local_end and w.has_outside[w.producer[b]]
        if from_left:
            w.has_outside[w.producer[a]] = False
            if dims[pattern, 5]:
                _pass_product(i, programs, patterns, local_end, w, counting, True)
            else:
                _pass_left(i, programs, patterns, local_end, w, counting, labelling)
        if from_right:
            w.has_outside[w.producer[b]] = False
            if dims[pattern, 5]:
                _pass_product(i, programs, patterns, local_end, w, counting, False)
            else:
                _pass_right(i, programs, patterns, local_end, w, counting, labelling)
        if programs.step[i, 4]:
            w.outside_mass[c], w.has_outside[i] = 0.0, False
    for i in range(last - 1, first - 1, -1):
        if w.has_inside[i]:
            w.has_inside[i] = False
            _pass_down(i, programs, patterns, local_end, w, counting, labelling)


@inner
def add_best_with(v, state, mass, programs, patterns, local_end, w, counting, labelling):
    """Adds a mass to the best labelling in which variable v has a state: to its path in the component of v."""
    i = w.sum_step[v]
    if i < 0:
        if len(labelling) > 0:
            labelling[v] = state
        return
    dims, index = patterns.dims, patterns.offsets
    pattern, a, b, c = operands(i, programs)
    num_b, num_l, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 3]
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    best, left, right, result, out = -np.inf, 0, 0, 0, c
    for ib in range(num_b):
        x, y = a + index[a_b + ib] + index[a_k + state], b + index[b_b + ib] + index[b_k + state]
        for il in range(num_l):
            at = x + index[a_l + il]
            for r in range(num_r):
                score = w.value[at] + w.value[y + index[b_r + r]] + w.outside[out]
                if score > best:
                    best, left, right, result = score, at, y + index[b_r + r], out
                out += 1
    if best == -np.inf:
        return
    if counting or a >= local_end:
        w.inside_mass[left] += mass
    if counting or b >= local_end:
        w.inside_mass[right] += mass
    w.outside_mass[result] += mass
    if programs.step[i, 4]:
        w.outside_mass[result] = 0.0
    else:
        w.has_outside[i] = True
    _mark(w.has_inside, w.producer, a, local_end)
    _mark(w.has_inside, w.producer, b, local_end)
    if counting:
        w.covered[w.root[i]] += mass
    if len(labelling) > 0:
        labelling[v] = state


@inner
def follow_range(begin, end, programs, patterns, local_end, w, num_mixed):
    """The best labelling that keeps the states of `limit`, which only binds variables of the steps begin … end.

    num_mixed: the number of states in `mixed`. Returns (its score less that of the best labelling, the last step that
    has its own result); call `trace_range` afterwards.
    """
    dims, value, own, is_own, producer = patterns.dims, w.value, w.own, w.is_own, w.producer
    pending, score, i = 0, 0.0, begin
    while True:
        pattern, a, b, c = operands(i, programs)
        v = programs.variable[i]
        limit = w.limit[v] if v >= 0 else FREE
        own_a, own_b = a >= local_end and is_own[producer[a]], b >= local_end and is_own[producer[b]]
        if limit != FREE or own_a or own_b:
            size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
            left, right = own if own_a else value, own if own_b else value
            if dims[pattern, 5]:
                add_by_index(left, a, right, b, own, c, pattern, patterns)
            else:
                if limit == MIXED:
                    contract_maxima(pattern, patterns, left, a, right, b, own, c, w.mixed, num_mixed)
                elif limit == FREE:
                    contract_maxima(pattern, patterns, left, a, right, b, own, c, w.every, dims[pattern, 2])
                else:
                    contract_maxima(pattern, patterns, left, a, right, b, own, c, w.every[limit:], 1)
                take_out(own, c, size, w.top[i])
            is_own[i], w.cell[i] = True, -1
            pending += 1 - own_a - own_b
            if programs.step[i, 4]:
                score, w.cell[i] = score + own[c], 0
                pending -= 1
            elif i >= end and pending == 1:
                best, which = -np.inf, 0
                for j in range(size):
                    total = own[c + j] + w.outside[c + j]
                    if total > best:
                        best, which = total, j
                w.cell[i] = which
                return score + best, i
            if i >= end and pending == 0:
                return score, i
        i += 1


@inner
def trace_range(begin, end, mass, programs, patterns, local_end, w, num_mixed):
    """Adds a mass to the labelling of `follow_range`, and forgets its results.   end: the last step that has one."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    value, own, is_own, cell, producer = w.value, w.own, w.is_own, w.cell, w.producer
    for i in range(end, begin - 1, -1):
        if not is_own[i]:
            continue
        at = cell[i]
        if at < 0 or mass == 0.0:
            continue
        pattern, a, b, c = operands(i, programs)
        if i == end and not programs.step[i, 4]:
            w.outside_mass[c + at] += mass
            w.has_outside[i] = True
        if i == end or programs.step[i, 4]:
            w.covered[w.root[i]] += mass
        own_a, own_b = a >= local_end and is_own[producer[a]], b >= local_end and is_own[producer[b]]
        if dims[pattern, 5]:
            x, y = a + at, b + index[start[pattern, 0] + at]
        else:
            num_l, num_r, v = dims[pattern, 1], dims[pattern, 3], programs.variable[i]
            r, il, ib = at % num_r, at // num_r % num_l, at // (num_r * num_l)
            a_k, b_k = start[pattern, 2], start[pattern, 4]
            x = a + index[start[pattern, 0] + ib] + index[start[pattern, 1] + il]
            y = b + index[start[pattern, 3] + ib] + index[start[pattern, 5] + r]
            left, right = own if own_a else value, own if own_b else value
            k = w.limit[v] if v >= 0 else FREE
            if k == MIXED:
                k = _best_states(left, x, a_k, right, y, b_k, index, w.mixed, num_mixed)
            elif k == FREE:
                k = _best_states(left, x, a_k, right, y, b_k, index, w.every, dims[pattern, 2])
            x, y = x + index[a_k + k], y + index[b_k + k]
        if own_a:
            cell[producer[a]] = x - a
        else:
            w.inside_mass[x] += mass
            _mark(w.has_inside, producer, a, local_end)
        if own_b:
            cell[producer[b]] = y - b
        else:
            w.inside_mass[y] += mass
            _mark(w.has_inside, producer, b, local_end)
    is_own[begin : end + 1] = False
