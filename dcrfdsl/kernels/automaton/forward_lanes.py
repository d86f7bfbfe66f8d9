"""α of an automaton, position by position, with a sequence in each lane; see `automaton_sums`."""

from __future__ import annotations

import numpy as np

from ..runtime import (
    IMPOSSIBLE,
    LANES,
    add,
    any_below,
    broadcast,
    choose_below,
    exp,
    fma,
    inlined,
    inner,
    least_finite,
    least_positive,
    load,
    load_at,
    maximum,
    multiply,
    repeat,
    store,
    subtract,
)

__all__ = [
    "AT_END", "CANCELLED", "LAST", "LEAST_ALPHA", "LEAST_SCORE", "LOG", "PRODUCT", "SHIFT", "SPARE", "advance_lanes",
    "clear_lanes", "exponentiate_lanes", "label_potential", "rescale_lanes", "sum_classes", "sum_group",
]  # fmt: skip

CANCELLED = 1e-4  # of a sum over a group: less than that has lost digits to subtraction
SHIFT, LEAST_SCORE, LEAST_ALPHA, PRODUCT, LOG, AT_END, LAST, SPARE = range(8)  # rows of `AutomatonWorkspace.lane`


@inlined
def exponentiate_lanes(t, automaton, workspace):
    """exp(score − maximum of its variable) at position t, in place; adds up the maxima and keeps the least score."""
    registers, lanes, rows = automaton.registers, len(automaton.registers) * LANES, workspace.rows
    zero, bottom = broadcast(registers, 0.0), broadcast(registers, -np.inf)
    shift, least = load(registers, workspace.lane, SHIFT * lanes), load(registers, workspace.lane, LEAST_SCORE * lanes)
    for v in range(len(automaton.cards)):
        begin = (t * automaton.width + automaton.row_start[v]) * lanes
        end = begin + automaton.cards[v] * lanes
        peak = bottom
        for c in range(begin, end, lanes):
            peak = maximum(peak, load(registers, rows, c))
        peak = choose_below(bottom, peak, peak, zero)  # beyond a sequence's end all are -inf, and remain so
        shift = add(shift, peak)
        for c in range(begin, end, lanes):
            centred = subtract(load(registers, rows, c), peak)
            least = least_finite(least, centred)
            store(rows, c, exp(centred))
    store(workspace.lane, SHIFT * lanes, shift)
    store(workspace.lane, LEAST_SCORE * lanes, least)


@inlined
def label_potential(k, at, automaton, rows):
    """The product of the potentials of a state's labels; at: where the position's row begins."""
    registers, variables = automaton.registers, len(automaton.cards)
    result = load_at(registers, rows, at, automaton.part_at, k * variables)
    for v in range(1, variables):
        result = multiply(result, load_at(registers, rows, at, automaton.part_at, k * variables + v))
    return result


@inlined
def clear_lanes(registers, values, begin, count):
    """Writes `count` values of 0."""
    lanes = len(registers) * LANES
    for c in range(begin, begin + count * lanes, lanes):
        store(values, c, broadcast(registers, 0.0))


@inlined
def sum_group(g, current, sum_of_group, mass, registers, shared, begin):
    """Adds `mass` to group g; the sum of the group `current` is kept in a register. Returns it and its group."""
    lanes = len(registers) * LANES
    if g != current:
        if current >= 0:
            store(shared, begin + current * lanes, sum_of_group)
        if g >= 0:
            sum_of_group = load(registers, shared, begin + g * lanes)
    return g, add(sum_of_group, mass)


@inner
def sum_classes(at, begin, automaton, alpha, front):
    """The sums over classes of the row of α at `at`, into the row of `front` at `begin`."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    clear_lanes(registers, front, begin, automaton.classes)
    for k in range(automaton.states):
        cell = begin + automaton.class_at[k]
        store(front, cell, add(load(registers, front, cell), load(registers, alpha, at + k * lanes)))


@inner
def _sum_into(j, front, before, automaton, tables, lane):
    """Σ_c α(c) ψ(c, j) class by class, into a row of `lane`."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    g, seen, end = automaton.target_group[j], automaton.target_off[j], automaton.target_off[j + 1]
    listed, others = broadcast(registers, 0.0), broadcast(registers, 0.0)
    for q in range(seen, end):
        mass = load_at(registers, front, before, automaton.source_at, q)
        listed = fma(mass, repeat(registers, tables.transition, q), listed)
    for n in range(automaton.member_off[g], automaton.member_off[g + 1]):
        c = automaton.member[n]
        while seen < end and automaton.source[seen] < c:
            seen += 1
        if seen == end or automaton.source[seen] != c:
            others = add(others, load(registers, front, before + c * lanes))
    store(lane, SPARE * lanes, fma(others, repeat(registers, tables.state, j), listed))


@inner
def advance_lanes(t, automaton, tables, workspace):
    """α of position t, its sum into the row of `inverse`, its sums over classes and groups, and the least positive."""
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    shared, lane, rows, groups = workspace.shared, workspace.lane, workspace.rows, automaton.groups * lanes
    at, row, old, new = t * automaton.states * lanes, t * automaton.width * lanes, (t + 1) % 2 * groups, t % 2 * groups
    front, before, now = alpha, at - automaton.states * lanes, at
    if automaton.is_split:
        front, now = workspace.front, t % 2 * automaton.classes * lanes
        before = (t + 1) % 2 * automaton.classes * lanes
    zero, cancelled = broadcast(registers, 0.0), broadcast(registers, CANCELLED)
    factor = broadcast(registers, 1.0)
    if t > 0:
        factor = load(registers, workspace.inverse, (t - 1) * lanes)
    least = load(registers, lane, LEAST_ALPHA * lanes)
    sum_of_all = zero
    for j in range(automaton.states):
        found = zero
        if t == 0:
            found = repeat(registers, tables.start, j)
        else:
            g, bound = np.int64(automaton.target_group[j]), zero
            if g >= 0:
                found = multiply(load(registers, shared, old + g * lanes), repeat(registers, tables.state, j))
                bound = multiply(found, cancelled)
            for q in range(automaton.target_off[j], automaton.target_off[j + 1]):
                mass = load_at(registers, front, before, automaton.source_at, q)
                found = fma(mass, repeat(registers, tables.beyond, q), found)
            if any_below(found, bound):
                _sum_into(j, front, before, automaton, tables, lane)
                found = choose_below(found, bound, load(registers, lane, SPARE * lanes), found)
        own = multiply(multiply(found, factor), label_potential(j, row, automaton, rows))
        store(alpha, at + j * lanes, own)
        least = least_positive(least, own)
        sum_of_all = add(sum_of_all, own)
    store(lane, LEAST_ALPHA * lanes, least)
    store(workspace.inverse, t * lanes, sum_of_all)
    if automaton.is_split:
        sum_classes(at, now, automaton, alpha, front)
    clear_lanes(registers, shared, new, automaton.groups)
    current, sum_of_group = np.int64(-1), zero
    for c in range(automaton.classes):
        mass = load(registers, front, now + c * lanes)
        group = np.int64(automaton.source_group[c])
        current, sum_of_group = sum_group(group, current, sum_of_group, mass, registers, shared, new)
    if current >= 0:
        store(shared, new + current * lanes, sum_of_group)


@inlined
def rescale_lanes(t, automaton, tables, workspace):
    """Accounts for the sums of α_t, and replaces them by their inverses; ends sequences whose last position is t."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    lane, inverse, length = workspace.lane, workspace.inverse, workspace.length
    ending = False
    for n in range(lanes):
        ending |= t + 1 == length[n]
    if ending:
        at, weighted = t * automaton.states * lanes, broadcast(registers, 0.0)
        for k in range(automaton.states):
            weighted = fma(load(registers, workspace.alpha, at + k * lanes), repeat(registers, tables.end, k), weighted)
        store(lane, SPARE * lanes, weighted)
    for n in range(lanes):
        if t >= length[n]:
            inverse[t * lanes + n] = 0.0
            continue
        scale = inverse[t * lanes + n]
        if t + 1 == length[n]:
            scale = lane[SPARE * lanes + n]
            lane[AT_END * lanes + n] = scale
        if not scale > 0.0:
            workspace.state[n] = IMPOSSIBLE
            inverse[t * lanes + n] = 0.0
            continue
        inverse[t * lanes + n] = 1.0 / scale
        product = lane[PRODUCT * lanes + n] * scale
        if product < 1e-140 or product > 1e140:
            lane[LOG * lanes + n] += np.log(product)
            product = 1.0
        lane[PRODUCT * lanes + n] = product
