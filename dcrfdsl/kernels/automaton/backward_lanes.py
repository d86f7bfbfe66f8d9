"""β of an automaton, position by position, with a sequence in each lane, and expected counts; see `automaton_sums`."""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints32
from ..runtime import (
    LANES,
    add,
    add_sums,
    any_below,
    broadcast,
    choose_below,
    fma,
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
    store_dot,
)
from .forward_lanes import AT_END, LAST, REACHED, SPARE, clear_lanes, combine_labels, sum_classes
from .transitions import BACK_COLUMNS, CANCELLED, PENDING, whole_registers

ONE = (0,)  # register
PART = LANES // 2  # numbers of which a count is the sum, before it is added up
AHEAD = 4  # states before a state's α is read, when it is fetched
BEGIN, END, CLASS, STATE, TAIL, LABELS, STEP = range(BACK_COLUMNS)  # of `Automaton.back_step`


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


@inlined
def _add_counts(counted, known, recent, counts):
    """Adds the counts of numbers counted … known − 1 to `counts`, `LANES` of them at once; where it has come to.

    The rest goes to the front of what is kept.
    """
    cell = 0
    while counted + LANES <= known:
        add_sums(recent, cell, counts, counted)
        counted += LANES
        cell += LANES * PART
    for n in range(0, (known - counted) * PART, LANES):
        store(recent, n, load(ONE, recent, cell + n))
    return counted


class _Arrays(NamedTuple):
    """The arrays that the loops over states need, of an automaton, its tables and its workspace, and no others: so the
    loops find them in registers.
    """

    back_step: Ints32
    out_at: Ints32
    out: Floats
    end: Floats
    tail: Floats
    passed: Floats
    recent: Floats
    lane: Floats


class _Position(NamedTuple):
    """What a position reads and writes, and what happens there."""

    front: Floats  #     its rows of classes …
    alpha: Floats  #     … and of states
    potential: Floats  # of combinations of labels
    marginal: Floats  #  of these too
    counts: Floats  #    where its counts go
    new: int  #          where its row of `tail` begins …
    later: int  #        … and that of the next position
    follows: bool  #     whether a sequence goes on
    ends: bool  #        whether one ends here
    is_counted: bool
    is_kept: bool  #     whether marginals go to `passed` as well


@inner
def _pass_states(first, end, counted, known, position, arrays, automaton, tables):
    """The marginals of the states first … end − 1 of `back_step`, and what the position before needs of them; counts of
    them and of the transitions out of their classes.

    counted, known: so many counts are in `counts`, so many are known; returns the same.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    front, alpha, potential, marginal, counts, new, later, follows, ends, is_counted, is_kept = position
    back_step, out_at, out, end_factor, tail, passed, recent, lane = arrays
    zero, reached = broadcast(registers, 0.0), load(registers, lane, REACHED * lanes)
    summed, beta, mass, labels = zero, zero, zero, int_at(back_step, first * BACK_COLUMNS + LABELS)
    for m in range(first, end):
        step = m * BACK_COLUMNS
        begin, last = int_at(back_step, step + BEGIN), int_at(back_step, step + END)
        soon = min(m + AHEAD, automaton.states - 1) * BACK_COLUMNS
        prefetch(registers, front, int_at(back_step, soon + CLASS))
        if begin >= 0:
            mass = load(registers, front, int_at(back_step, step + CLASS))
            beta = reached
            if is_counted and follows:
                cell = (known - counted) * PART
                for q in range(begin, last):
                    keep_rolled()
                    following = load_at(registers, tail, later, out_at, q)
                    beta = fma(following, repeat(registers, out, q), beta)
                    store_dot(recent, cell, mass, following)
                    cell += PART
                known += last - begin
            elif follows:
                for q in range(begin, last):
                    keep_rolled()
                    following = load_at(registers, tail, later, out_at, q)
                    beta = fma(following, repeat(registers, out, q), beta)
            if follows and tables.cancels and tables.out_cancels[int_at(back_step, step + STEP)]:
                bound = multiply(reached, broadcast(registers, CANCELLED))
                if any_below(beta, bound):
                    _sum_out_of(int_at(back_step, step + STEP), later, automaton, tables, tail, lane)
                    beta = choose_below(beta, bound, load(registers, lane, SPARE * lanes), beta)
        forward, own_beta = mass, beta
        if automaton.is_split:
            forward = load(registers, alpha, int_at(back_step, step + STATE))
        if ends:
            at_end = multiply(load(registers, lane, LAST * lanes), load(registers, lane, AT_END * lanes))
            state = int_at(back_step, step + STATE) // lanes
            own_beta = fma(at_end, repeat(registers, end_factor, state), own_beta)
        own_beta = choose_below(zero, forward, own_beta, zero)
        own = multiply(forward, own_beta)
        here = int_at(back_step, step + LABELS)
        if labels != here:  # most neighbours have the same labels: their sum stays in registers
            store(marginal, labels, add(load(registers, marginal, labels), summed))
            summed, labels = zero, here
        summed = add(summed, own)
        if is_counted:
            store_dot(recent, (known - counted) * PART, forward, own_beta)
            known += 1
            if known - counted >= PENDING:
                counted = _add_counts(counted, known, recent, counts)
        if is_kept:
            store(passed, m * lanes, own)
        store(tail, new + int_at(back_step, step + TAIL), multiply(own_beta, load(registers, potential, here)))
    store(marginal, labels, add(load(registers, marginal, labels), summed))
    return counted, known


@inner
def _count_ends(t, ends, automaton, workspace):
    """Counts the states of a first position, and those of last ones, from `passed`."""
    registers, lanes, passed = automaton.registers, len(automaton.registers) * LANES, workspace.passed
    recent, counts, padded = workspace.recent, workspace.counts, whole_registers(automaton.states)
    at_first = whole_registers(automaton.states + len(automaton.source)) + padded
    is_last = load(registers, workspace.lane, LAST * lanes)
    for begin in range(0, automaton.states, LANES):
        for n in range(min(LANES, automaton.states - begin)):
            own = load(registers, passed, (begin + n) * lanes)
            store_dot(recent, n * PART, own, broadcast(registers, 1.0))
            store_dot(recent, (LANES + n) * PART, own, is_last)
        if t == 0:
            add_sums(recent, 0, counts, at_first + begin)
        if ends:
            add_sums(recent, LANES * PART, counts, at_first + padded + begin)


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
def _sum_blocks(r, later, automaton, tables, workspace):
    """What the group of run r reaches: Σ_j state(j) tail(j) over the states that are reached from it.

    The sum over a block is kept for later groups. It is taken here, right before transitions lead to the same states,
    so that these are read from a cache.
    """
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    result = broadcast(registers, 0.0)
    for b in range(int_at(automaton.run_block_off, r), int_at(automaton.run_block_off, r + 1)):
        block = int_at(automaton.run_block, b)
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


@inner
def retreat_lanes(t, longest, wanted, automaton, tables, workspace):
    """The marginals of position t in place of its scores, what the position before needs (`tail`), counts of moves."""
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    lane, marginal = workspace.lane, workspace.marginal
    at, scores = t * automaton.states * lanes, t * automaton.width * lanes
    new, later = t % 2 * automaton.states * lanes, (t + 1) % 2 * automaton.states * lanes
    front, front_at, follows = alpha, at, t + 1 < longest
    if automaton.is_split and wanted and follows:
        sum_classes(at, 0, automaton, alpha, workspace.front)
        front, front_at = workspace.front, 0
    clear_lanes(registers, marginal, 0, automaton.width)
    potential, sums = workspace.rows[scores:], marginal
    if len(automaton.combination_parts) > 0:
        half = len(workspace.combined) // 2
        potential, sums = workspace.combined, workspace.combined[half:]
        combine_labels(scores, automaton, workspace.rows, potential)
        clear_lanes(registers, sums, 0, half // lanes)
    clear_lanes(registers, lane, REACHED * lanes, 1)
    ends = False
    for n in range(lanes):
        here = t + 1 == workspace.length[n]
        lane[LAST * lanes + n] = 1.0 if here else 0.0
        ends |= here
    counted, known, counts = 0, 0, workspace.counts
    if not follows:  # nor are there transitions
        counts = counts[whole_registers(automaton.states + len(automaton.source)) :]
    is_kept = wanted and automaton.counts_ends and (ends or t == 0)
    position = _Position(
        front[front_at:], alpha[at:], potential, sums, counts, new, later, follows, ends, wanted, is_kept
    )
    arrays = _Arrays(
        automaton.back_step, automaton.out_at, tables.out, tables.end, workspace.tail, workspace.passed,
        workspace.recent, lane,
    )  # fmt: skip
    for r in range(len(automaton.run_off) - 1):
        first, end = automaton.run_off[r], automaton.run_off[r + 1]
        if follows:
            store(lane, REACHED * lanes, _sum_blocks(r, later, automaton, tables, workspace))
        counted, known = _pass_states(first, end, counted, known, position, arrays, automaton, tables)
    if wanted:  # the last sums reach beyond the last count; there they are never read
        _add_counts(counted, whole_registers(known), workspace.recent, counts)
    if is_kept:
        _count_ends(t, ends, automaton, workspace)
    _split_combinations(automaton, workspace.combined, marginal)
    for c in range(0, automaton.width * lanes, lanes):  # only now are the scores of this position done with
        store(workspace.rows, scores + c, load(registers, marginal, c))
