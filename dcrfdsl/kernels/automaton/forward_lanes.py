"""α of an automaton, position by position, with a sequence in each lane; see `automaton_sums`."""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
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
    int_at,
    keep_rolled,
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
from .transitions import CANCELLED, INTO_COLUMNS, LANE_ROWS

AHEAD = 24  # steps before a state's α is written, when its place is fetched
SLOTS_END, STATE, GROUP, LABELS = range(INTO_COLUMNS)  # of `Automaton.into_step`
SHIFT, LEAST_SCORE, LEAST_ALPHA, LEAST_HERE, PRODUCT, LOG, AT_END, LAST, REACHED, SPARE = range(
    LANE_ROWS
)  # rows of `AutomatonWorkspace.lane`


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
def combine_labels(row, automaton, rows, combined):
    """The potentials of the combinations of labels: the products of those of the score row at `row`."""
    registers, lanes, variables = automaton.registers, len(automaton.registers) * LANES, len(automaton.cards)
    for n in range(len(automaton.combination_parts) // variables):
        first = n * variables
        product = load_at(registers, rows, row, automaton.combination_parts, first)
        for v in range(1, variables):
            product = multiply(product, load_at(registers, rows, row, automaton.combination_parts, first + v))
        store(combined, n * lanes, product)


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
def _of_block(registers, block, group_off, group, shared):
    """What the states of a block are reached from: the sum over its groups, of the row of groups `shared`."""
    lanes = len(registers) * LANES
    result = broadcast(registers, 0.0)
    for b in range(int_at(group_off, block), int_at(group_off, block + 1)):
        result = add(result, load(registers, shared, int_at(group, b) * lanes))
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
def _begin(potential, automaton, tables, alpha):
    """α of the first position. potential: that of each combination of labels."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    for k in range(automaton.states):
        own = load_at(registers, potential, 0, automaton.combination_at, k)
        store(alpha, k * lanes, multiply(repeat(registers, tables.start, k), own))


@inner
def _take_again(block, front, before, old, potential, alpha, automaton, tables, lane):
    """Takes α of the states of a block again in the lanes where it has lost digits; whether there were any.

    alpha: the row of this position.   old: the sums over groups of the position before.
    """
    registers, lanes, any_lost = automaton.registers, len(automaton.registers) * LANES, False
    background = _of_block(registers, block, automaton.block_group_off, automaton.block_group, old)
    background = multiply(background, broadcast(registers, CANCELLED))
    for n in range(automaton.block_off[block], automaton.block_off[block + 1]):
        if not tables.into_cancels[n]:
            continue
        place = automaton.into_state[n] * lanes
        own = load_at(registers, potential, 0, automaton.combination_at, automaton.into_state[n])
        bound = multiply(multiply(background, repeat(registers, tables.state, n)), own)
        found = load(registers, alpha, place)
        if any_below(found, bound):
            _sum_into(n, block, front, before, automaton, tables, lane)
            again = multiply(load(registers, lane, SPARE * lanes), own)
            store(alpha, place, choose_below(found, bound, again, found))
            any_lost = True
    return any_lost


@inlined
def _keep(registers, found, step, into_step, potential, alpha, sums):
    """Writes α of the state of the step that begins at `step` in `into_step`, adds it to its group, and returns it.

    found: Σ_i α(i) ψ(i, j).
    """
    own = multiply(found, load(registers, potential, int_at(into_step, step + LABELS)))
    store(alpha, int_at(into_step, step + STATE), own)
    group = int_at(into_step, step + GROUP)
    store(sums, group, add(own, load(registers, sums, group)))
    return own


class _Arrays(NamedTuple):
    """The arrays that the loops over steps need, of an automaton and its tables, and no others: so the loops find them
    in registers.
    """

    block_off: Ints
    block_group_off: Ints
    block_group: Ints32
    pairs_end: Ints
    into_step: Ints32
    slot_at: Ints32
    state: Floats
    slot: Floats


@inner
def _follow(registers, front, old, potential, alpha, sums, lane, arrays):
    """α of a later position, its sums over groups, and the least positive number up to there.

    front: the row of classes of the position before.   old, sums: the rows of groups of that position and of this one.
    potential: that of each combination of labels.   alpha: the row of this position.
    """
    block_off, group_off, group, pairs_end, into_step, slot_at, state, weight = arrays
    lanes, steps = len(registers) * LANES, len(into_step) // INTO_COLUMNS
    least, slot, q = load(registers, lane, LEAST_ALPHA * lanes), 0, 0  # q: the next of `weight`
    for block in range(len(block_off) - 1):
        background = _of_block(registers, block, group_off, group, old)
        alone, end = int_at(pairs_end, block), int_at(block_off, block + 1)
        for n in range(int_at(block_off, block), alone, 2):
            step = n * INTO_COLUMNS
            soon = min(n + AHEAD, steps - 2) * INTO_COLUMNS
            prefetch(registers, alpha, int_at(into_step, soon + STATE))
            prefetch(registers, alpha, int_at(into_step, soon + INTO_COLUMNS + STATE))
            found = multiply(background, repeat(registers, state, n))
            other = multiply(background, repeat(registers, state, n + 1))
            for m in range(slot, int_at(into_step, step + SLOTS_END)):
                keep_rolled()
                mass = load_at(registers, front, 0, slot_at, m)
                found = fma(mass, repeat(registers, weight, q), found)
                other = fma(mass, repeat(registers, weight, q + 1), other)
                q += 2
            slot = int_at(into_step, step + SLOTS_END)
            least = least_positive(least, _keep(registers, found, step, into_step, potential, alpha, sums))
            step += INTO_COLUMNS
            least = least_positive(least, _keep(registers, other, step, into_step, potential, alpha, sums))
        for n in range(alone, end):
            step = n * INTO_COLUMNS
            found = multiply(background, repeat(registers, state, n))
            for m in range(slot, int_at(into_step, step + SLOTS_END)):
                keep_rolled()
                found = fma(load_at(registers, front, 0, slot_at, m), repeat(registers, weight, q), found)
                q += 1
            slot = int_at(into_step, step + SLOTS_END)
            least = least_positive(least, _keep(registers, found, step, into_step, potential, alpha, sums))
    store(lane, LEAST_HERE * lanes, least)


@inner
def _sum_states(alpha, sums, automaton, lane):
    """Adds a row of α up over groups, into the row of these `sums`; keeps the least positive number."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    clear_lanes(registers, sums, 0, automaton.groups + 1)
    least = load(registers, lane, LEAST_ALPHA * lanes)
    for step in range(0, automaton.states * INTO_COLUMNS, INTO_COLUMNS):
        own = load(registers, alpha, int_at(automaton.into_step, step + STATE))
        group = int_at(automaton.into_step, step + GROUP)
        store(sums, group, add(own, load(registers, sums, group)))
        least = least_positive(least, own)
    store(lane, LEAST_ALPHA * lanes, least)


@inner
def advance_lanes(t, automaton, tables, workspace):
    """α of position t, its sum into the row of `inverse`, its sums over classes and groups, and the least positive."""
    registers, lanes, lane = automaton.registers, len(automaton.registers) * LANES, workspace.lane
    at, groups = t * automaton.states * lanes, (automaton.groups + 1) * lanes
    old, sums = workspace.shared[(t + 1) % 2 * groups :], workspace.shared[t % 2 * groups :]
    front, now, before = workspace.alpha, at, at - automaton.states * lanes
    if automaton.is_split:
        front, now = workspace.front, t % 2 * automaton.classes * lanes
        before = (t + 1) % 2 * automaton.classes * lanes
    alpha, potential = workspace.alpha[at:], workspace.rows[t * automaton.width * lanes :]
    if len(automaton.combination_parts) > 0:
        combine_labels(t * automaton.width * lanes, automaton, workspace.rows, workspace.combined)
        potential = workspace.combined
    any_lost = t == 0
    if t == 0:
        _begin(potential, automaton, tables, alpha)
    else:
        clear_lanes(registers, sums, 0, automaton.groups + 1)
        arrays = _Arrays(
            automaton.block_off, automaton.block_group_off, automaton.block_group, automaton.pairs_end,
            automaton.into_step, automaton.slot_at, tables.state, tables.slot,
        )  # fmt: skip
        _follow(registers, front[before:], old, potential, alpha, sums, lane, arrays)
        for block in range(len(automaton.block_off) - 1 if tables.cancels else 0):
            any_lost |= _take_again(block, front, before, old, potential, alpha, automaton, tables, lane)
        if not any_lost:
            store(lane, LEAST_ALPHA * lanes, load(registers, lane, LEAST_HERE * lanes))
    if any_lost:
        _sum_states(alpha, sums, automaton, lane)
    sum_of_all = broadcast(registers, 0.0)
    for c in range(0, groups, lanes):
        sum_of_all = add(sum_of_all, load(registers, sums, c))
    store(workspace.inverse, t * lanes, sum_of_all)
    if automaton.is_split:
        sum_classes(at, now, automaton, workspace.alpha, front)


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
