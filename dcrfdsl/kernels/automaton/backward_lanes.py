"""β of an automaton, position by position, with a sequence in each lane, and expected counts; see `automaton_sums`."""

from __future__ import annotations

import numpy as np

from ..runtime import (
    LANES,
    accumulate,
    add,
    add_sums,
    any_below,
    broadcast,
    choose_below,
    fma,
    fold,
    inlined,
    inner,
    int_at,
    keep_rolled,
    load,
    load_at,
    multiply,
    prefetch,
    repeat,
    store,
)
from .forward_lanes import AT_END, LAST, SPARE, clear_lanes, combine_labels, sum_classes
from .transitions import CANCELLED, PENDING, STEPS

__all__ = ["retreat_lanes", "whole_registers"]

ONE = (0,)  # register
AHEAD = 24  # steps before the α of a class's states is read, when it is fetched
MOVES_FROM = 2 * LANES * LANES  # where counts of moves begin in `AutomatonWorkspace.recent`


@inlined
def whole_registers(count):
    """`count` rounded up to whole registers."""
    return (count + LANES - 1) // LANES * LANES


@inner
def _sum_out_of(n, at, automaton, tables, tail, lane):
    """Σ_j ψ(c, j) tail(j) state by state for the class c of step n, into a row of `lane`. at: where the row begins."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    g, seen, end = automaton.source_group[automaton.out_class[n]], automaton.out_off[n], automaton.out_off[n + 1]
    result = broadcast(registers, 0.0)
    for q in range(seen, end):
        following = load_at(registers, tail, at, automaton.out_at, q)
        result = fma(following, repeat(registers, tables.transition, automaton.out_move[q]), result)
    for m in range(automaton.reached_off[g], automaton.reached_off[g + 1]):
        j = automaton.reached[m]
        while seen < end and automaton.target[automaton.out_move[seen]] < j:
            seen += 1
        if seen == end or automaton.target[automaton.out_move[seen]] != j:
            step = np.int64(automaton.step_of[j])
            result = fma(load(registers, tail, at + step * lanes), repeat(registers, tables.state, step), result)
    store(lane, SPARE * lanes, result)


@inner
def _take_again(first, end, later, automaton, tables, workspace):
    """Takes β of the classes of the steps first … end − 1 again in the lanes where it has lost digits."""
    registers, lanes, partial = automaton.registers, len(automaton.registers) * LANES, workspace.partial
    bound = multiply(load(registers, partial, 0), broadcast(registers, CANCELLED))
    for n in range(first, end):
        row = (1 + n - first) * lanes
        beta = load(registers, partial, row)
        if tables.out_cancels[n] and any_below(beta, bound):
            _sum_out_of(n, later, automaton, tables, workspace.tail, workspace.lane)
            store(partial, row, choose_below(beta, bound, load(registers, workspace.lane, SPARE * lanes), beta))


@inlined
def _add_moves(counted, last, automaton, workspace):
    """Adds what is known of the moves counted … last − 1 to `counts`, `LANES` of them at once; where it has come to.

    The rest goes to the front of what is kept.
    """
    recent, moves, cell = workspace.recent, 3 * whole_registers(automaton.states), MOVES_FROM
    while counted + LANES <= last:
        add_sums(recent, cell, workspace.counts, moves + counted)
        counted += LANES
        cell += LANES * LANES
    for n in range(last - counted):
        store(recent, MOVES_FROM + n * LANES, load(ONE, recent, cell + n * LANES))
    return counted


@inlined
def _sum_moves(first, end, at, later, front, front_at, wanted, counted, automaton, tables, workspace):
    """β of the classes of the steps first … end − 1, of one group, into rows of `partial`, whose first row holds what
    the group reaches; the expected counts of the moves from them. Returns up to which move these are in `counts`.

    at: where the row of α begins.   later: the row of `tail` of the next position.   front_at: the row of classes.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    tail, recent, partial, nothing = workspace.tail, workspace.recent, workspace.partial, broadcast(ONE, 0.0)
    row = 0
    for n in range(first, end):
        row += lanes
        begin, last = int_at(automaton.out_off, n), int_at(automaton.out_off, n + 1)
        beta = load(registers, partial, 0)
        soon = int_at(automaton.class_off, min(n + AHEAD, automaton.classes - 1))
        prefetch(registers, workspace.alpha, at + int_at(automaton.class_state, soon) * lanes)
        if wanted:
            mass = load(registers, front, front_at + int_at(automaton.out_class, n) * lanes)
            cell = MOVES_FROM + (begin - counted) * LANES
            for q in range(begin, last):
                keep_rolled()
                following = load_at(registers, tail, later, automaton.out_at, q)
                beta = fma(following, repeat(registers, tables.out, q), beta)
                store(recent, cell, accumulate(mass, following, nothing))
                cell += LANES
            if last - counted >= PENDING:
                counted = _add_moves(counted, last, automaton, workspace)
        else:
            for q in range(begin, last):
                keep_rolled()
                following = load_at(registers, tail, later, automaton.out_at, q)
                beta = fma(following, repeat(registers, tables.out, q), beta)
        store(partial, row, beta)
    if tables.cancels:
        _take_again(first, end, later, automaton, tables, workspace)
    return counted


@inlined
def _split_combinations(automaton, combined, marginal):
    """Adds the marginals of the combinations of labels to those of the labels."""
    registers, lanes, variables = automaton.registers, len(automaton.registers) * LANES, len(automaton.cards)
    half = len(combined) // 2
    for n in range(len(automaton.combination_parts)):
        own = load(registers, combined, half + n // variables * lanes)
        place = int_at(automaton.combination_parts, n)
        store(marginal, place, add(load(registers, marginal, place), own))


@inlined
def _count_state(m, t, own, ends, automaton, workspace):
    """Counts the state of number m in `class_state`, `LANES` of them at once."""
    lanes, recent, padded = len(automaton.registers) * LANES, workspace.recent, whole_registers(automaton.states)
    cell = m % LANES * LANES
    store(recent, cell, fold(own))
    if ends:
        is_last = load(automaton.registers, workspace.lane, LAST * lanes)
        store(recent, LANES * LANES + cell, accumulate(own, is_last, broadcast(ONE, 0.0)))
    if m % LANES == LANES - 1 or m == automaton.states - 1:
        begin = m - m % LANES
        add_sums(recent, 0, workspace.counts, begin)
        if t == 0:
            add_sums(recent, 0, workspace.counts, padded + begin)
        if ends:
            add_sums(recent, LANES * LANES, workspace.counts, 2 * padded + begin)


@inlined
def _sum_blocks(g, later, automaton, tables, workspace):
    """What group g reaches: Σ_j state(j) tail(j) over the states that are reached from it.

    The sum over a block is kept for later groups. It is taken here, right before transitions lead to the same states,
    so that these are read from a cache.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    result = broadcast(registers, 0.0)
    if g < 0:
        return result
    for b in range(int_at(automaton.group_block_off, g), int_at(automaton.group_block_off, g + 1)):
        block = int_at(automaton.group_block, b)
        if int_at(automaton.is_new_block, b):
            found = broadcast(registers, 0.0)
            for n in range(int_at(automaton.block_off, block), int_at(automaton.block_off, block + 1)):
                following = load(registers, workspace.tail, later + n * lanes)
                found = fma(following, repeat(registers, tables.state, n), found)
            store(workspace.block, block * lanes, found)
            result = add(result, found)
        else:
            result = add(result, load(registers, workspace.block, block * lanes))
    return result


@inlined
def _pass_states(first, end, t, potential, scores, sums, base, ends, wanted, automaton, tables, workspace):
    """The marginals of the states of the classes of the steps first … end − 1, whose β are in rows of `partial`, and
    what the position before needs of them.

    potential, sums: those of combinations of labels, from `scores` and `base` on.   ends: whether a lane ends here.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    alpha, lane, zero = workspace.alpha, workspace.lane, broadcast(registers, 0.0)
    at, new, row = t * automaton.states * lanes, t % 2 * automaton.states * lanes, 0
    for n in range(first, end):
        row += lanes
        for m in range(int_at(automaton.class_off, n), int_at(automaton.class_off, n + 1)):
            k = int_at(automaton.class_state, m)
            forward, beta = load(registers, alpha, at + k * lanes), load(registers, workspace.partial, row)
            if ends:
                at_end = multiply(load(registers, lane, LAST * lanes), load(registers, lane, AT_END * lanes))
                beta = fma(at_end, repeat(registers, tables.end, k), beta)
            beta = choose_below(zero, forward, beta, zero)
            own = multiply(forward, beta)
            labels = int_at(automaton.combination_at, k)
            store(sums, base + labels, add(load(registers, sums, base + labels), own))
            if wanted:
                _count_state(m, t, own, ends, automaton, workspace)
            place = new + int_at(automaton.step_of, k) * lanes
            store(workspace.tail, place, multiply(beta, load(registers, potential, scores + labels)))


@inner
def retreat_lanes(t, longest, wanted, automaton, tables, workspace):
    """The marginals of position t in place of its scores, what the position before needs (`tail`), counts of moves.

    Some steps of a group at a time, and these twice over: few values then wait in registers at any moment.
    """
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    lane, marginal = workspace.lane, workspace.marginal
    at, scores = t * automaton.states * lanes, t * automaton.width * lanes
    later = (t + 1) % 2 * automaton.states * lanes
    front, front_at, follows = alpha, at, t + 1 < longest
    if automaton.is_split and wanted and follows:
        sum_classes(at, 0, automaton, alpha, workspace.front)
        front, front_at = workspace.front, 0
    clear_lanes(registers, marginal, 0, automaton.width)
    potential, row, sums, base = workspace.rows, scores, marginal, 0
    if len(automaton.combination_parts) > 0:
        potential, row, sums, base = workspace.combined, 0, workspace.combined, len(workspace.combined) // 2
        combine_labels(scores, automaton, workspace.rows, potential)
        clear_lanes(registers, sums, base, base // lanes)
    if not follows:
        clear_lanes(registers, workspace.partial, 0, STEPS + 1)
    ends = False
    for n in range(lanes):
        here = t + 1 == workspace.length[n]
        lane[LAST * lanes + n] = 1.0 if here else 0.0
        ends |= here
    n, group, counted = 0, np.int64(-2), 0
    while n < automaton.classes:
        g, end = int_at(automaton.source_group, int_at(automaton.out_class, n)), n + 1
        while end < min(n + STEPS, automaton.classes):
            if int_at(automaton.source_group, int_at(automaton.out_class, end)) != g:
                break
            end += 1
        if follows:
            if g != group:  # they ascend
                group = g
                store(workspace.partial, 0, _sum_blocks(g, later, automaton, tables, workspace))
            counted = _sum_moves(n, end, at, later, front, front_at, wanted, counted, automaton, tables, workspace)
        _pass_states(n, end, t, potential, row, sums, base, ends, wanted, automaton, tables, workspace)
        n = end
    if wanted and follows:  # the last sums reach beyond the last transition; there they are never read
        _add_moves(counted, whole_registers(len(automaton.source)), automaton, workspace)
    _split_combinations(automaton, workspace.combined, marginal)
    for c in range(0, automaton.width * lanes, lanes):  # only now are the scores of this position done with
        store(workspace.rows, scores + c, load(registers, marginal, c))
