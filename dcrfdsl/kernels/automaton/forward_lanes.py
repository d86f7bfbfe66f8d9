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
    prefetch,
    repeat,
    store,
    subtract,
)
from .transitions import CANCELLED

__all__ = [
    "AT_END", "LAST", "LEAST_ALPHA", "LEAST_SCORE", "LOG", "PRODUCT", "SHIFT", "SPARE", "advance_lanes", "clear_lanes",
    "exponentiate_lanes", "label_potential", "over_unlisted", "rescale_lanes", "sum_classes",
]  # fmt: skip

AHEAD = 24  # steps before a state's α is written, when its place is fetched
SHIFT, LEAST_SCORE, LEAST_ALPHA, PRODUCT, LOG, AT_END, LAST, SPARE = range(8)  # rows of `AutomatonWorkspace.lane`


@inlined
def exponentiate_lanes(t, automaton, workspace):
    """exp(score − maximum of its variable) at position t, in place; adds up the maxima and keeps the least score.

    Those of the first variable are divided by the sum of the position before.
    """
    registers, lanes, rows = automaton.registers, len(automaton.registers) * LANES, workspace.rows
    zero, bottom = broadcast(registers, 0.0), broadcast(registers, -np.inf)
    shift, least = load(registers, workspace.lane, SHIFT * lanes), load(registers, workspace.lane, LEAST_SCORE * lanes)
    factor = broadcast(registers, 1.0)
    if t > 0:
        factor = load(registers, workspace.inverse, (t - 1) * lanes)
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
            store(rows, c, multiply(exp(centred), factor))
        factor = broadcast(registers, 1.0)
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


@inner
def sum_classes(at, begin, automaton, alpha, front):
    """The sums over classes of the row of α at `at`, into the row of `front` at `begin`."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    for n in range(automaton.classes):
        found = broadcast(registers, 0.0)
        for m in range(automaton.class_off[n], automaton.class_off[n + 1]):
            found = add(found, load(registers, alpha, at + automaton.class_state[m] * lanes))
        store(front, begin + automaton.out_class[n] * lanes, found)


@inlined
def _sum_groups(block, front, before, automaton, shared):
    """The sum of the row of classes at `before` over the groups of a block.

    That over a group is kept in `shared` for later blocks. It is taken here, right before transitions leave the same
    classes, so that these are read from a cache.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    result = broadcast(registers, 0.0)
    for b in range(automaton.block_group_off[block], automaton.block_group_off[block + 1]):
        g = np.int64(automaton.block_group[b])
        if automaton.is_new_group[b]:
            found = broadcast(registers, 0.0)
            for n in range(automaton.member_off[g], automaton.member_off[g + 1]):
                found = add(found, load(registers, front, before + automaton.member[n] * lanes))
            store(shared, g * lanes, found)
            result = add(result, found)
        else:
            result = add(result, load(registers, shared, g * lanes))
    return result


@inlined
def over_unlisted(n, block, front, before, automaton, is_sum):
    """The sum, or the maximum, over the classes of a block's groups that have no listed transition into the state of
    step n. before: where the row of classes begins in `front`.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    first, end = automaton.into_off[n], automaton.into_off[n + 1]
    result = broadcast(registers, 0.0 if is_sum else -np.inf)
    for b in range(automaton.block_group_off[block], automaton.block_group_off[block + 1]):
        g, seen = automaton.block_group[b], first
        for m in range(automaton.member_off[g], automaton.member_off[g + 1]):
            c = automaton.member[m]
            while seen < end and automaton.source[automaton.into_move[seen]] < c:
                seen += 1
            if seen == end or automaton.source[automaton.into_move[seen]] != c:
                own = load(registers, front, before + c * lanes)
                result = add(result, own) if is_sum else maximum(result, own)
    return result


@inner
def _sum_into(n, block, front, before, automaton, tables, lane):
    """Σ_c α(c) ψ(c, j) class by class for the state j of step n, into a row of `lane`."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    listed = broadcast(registers, 0.0)
    for q in range(automaton.into_off[n], automaton.into_off[n + 1]):
        mass = load_at(registers, front, before, automaton.into_at, q)
        listed = fma(mass, repeat(registers, tables.transition, automaton.into_move[q]), listed)
    others = over_unlisted(n, block, front, before, automaton, True)
    store(lane, SPARE * lanes, fma(others, repeat(registers, tables.state, n), listed))


@inlined
def _begin(automaton, tables, workspace):
    """α of the first position, its sum and the least positive."""
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    least, sum_of_all = load(registers, workspace.lane, LEAST_ALPHA * lanes), broadcast(registers, 0.0)
    for k in range(automaton.states):
        own = multiply(repeat(registers, tables.start, k), label_potential(k, 0, automaton, workspace.rows))
        store(alpha, k * lanes, own)
        least, sum_of_all = least_positive(least, own), add(sum_of_all, own)
    return least, sum_of_all


@inlined
def _follow(t, front, before, automaton, tables, workspace):
    """α of a later position, its sum and the least positive."""
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    lane, rows, cancelled = workspace.lane, workspace.rows, broadcast(registers, CANCELLED)
    at, row = t * automaton.states * lanes, t * automaton.width * lanes
    least, sum_of_all = load(registers, lane, LEAST_ALPHA * lanes), broadcast(registers, 0.0)
    for block in range(len(automaton.block_off) - 1):
        background = _sum_groups(block, front, before, automaton, workspace.shared)
        for n in range(automaton.block_off[block], automaton.block_off[block + 1]):
            j = np.int64(automaton.into_state[n])
            soon = np.int64(automaton.into_state[min(n + AHEAD, automaton.states - 1)])
            prefetch(registers, alpha, at + soon * lanes)
            found = multiply(background, repeat(registers, tables.state, n))
            bound = multiply(found, cancelled)
            for q in range(automaton.into_off[n], automaton.into_off[n + 1]):
                mass = load_at(registers, front, before, automaton.into_at, q)
                found = fma(mass, repeat(registers, tables.into, q), found)
            if tables.into_cancels[n] and any_below(found, bound):
                _sum_into(n, block, front, before, automaton, tables, lane)
                found = choose_below(found, bound, load(registers, lane, SPARE * lanes), found)
            own = multiply(found, label_potential(j, row, automaton, rows))
            store(alpha, at + j * lanes, own)
            least, sum_of_all = least_positive(least, own), add(sum_of_all, own)
    return least, sum_of_all


@inner
def advance_lanes(t, automaton, tables, workspace):
    """α of position t, its sum into the row of `inverse`, its sums over classes, and the least positive."""
    lanes, alpha = len(automaton.registers) * LANES, workspace.alpha
    now = t * automaton.states * lanes
    front, before = alpha, now - automaton.states * lanes
    if automaton.is_split:
        front, now = workspace.front, t % 2 * automaton.classes * lanes
        before = (t + 1) % 2 * automaton.classes * lanes
    if t == 0:
        least, sum_of_all = _begin(automaton, tables, workspace)
    else:
        least, sum_of_all = _follow(t, front, before, automaton, tables, workspace)
    store(workspace.lane, LEAST_ALPHA * lanes, least)
    store(workspace.inverse, t * lanes, sum_of_all)
    if automaton.is_split:
        sum_classes(t * automaton.states * lanes, now, automaton, alpha, front)


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
