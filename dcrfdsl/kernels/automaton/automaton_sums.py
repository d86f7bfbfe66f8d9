"""Sums over an automaton: log Z, marginals, expected counts. Sequences advance together, one in each lane.

With the local potentials of position t, exp s_t(k), and the potential ψ(i, j) between neighbours:

    α_t(j) = exp s_t(j) Σ_i α_{t-1}(i) ψ(i, j)        β_t(i) = Σ_j ψ(i, j) exp s_{t+1}(j) β_{t+1}(j)

ψ is a background, 1 within a group, and what listed transitions have beyond it, so a sum takes a step for each group
and one for each listed transition:

    Σ_i α(i) ψ(i, j) = Σ_{i in the group of j} α(i) + Σ_{i → j listed} α(i) (ψ(i, j) − background)

Where that cancels, the sum is taken again over the states that are not listed, so that what is lost is never more than
`CANCELLED` allows; it cannot cancel where no listed transition lowers the background by as much. A step is a load of
the lanes of one state and a multiplication by one number for all lanes: nothing is gathered. Large automata are bound
by two things: three multiplications for each listed transition, and five times a row of all states that comes from or
goes to an outer cache (α is written once and read twice, what β needs is written and read once).

The potentials of a position are divided by the sum of α in the position before, so α_t β_t are the marginals at every
position and β is at most 1/α. Hence only α can leave the range of linear space: as long as all positive ones are at
least `FLOOR`, products of three of them are representable. States that cannot be reached get β = 0. A sequence that
leaves the range has the status `UNDERFLOW`. Source: Rabiner 1989 §III and §V.A (scaling).
"""

from __future__ import annotations

import numpy as np

from ..runtime import (
    LANES,
    OK,
    UNDERFLOW,
    accumulate,
    add,
    add_sums,
    any_below,
    broadcast,
    choose_below,
    entry,
    fma,
    fold,
    inlined,
    inner,
    load,
    load_at,
    multiply,
    prefetch,
    repeat,
    store,
    transpose,
)
from .forward_lanes import (
    AT_END,
    LAST,
    LEAST_ALPHA,
    LEAST_SCORE,
    LOG,
    PRODUCT,
    SHIFT,
    SPARE,
    advance_lanes,
    clear_lanes,
    exponentiate_lanes,
    label_potential,
    rescale_lanes,
    sum_classes,
)  # fmt: skip
from .lane_groups import load_lanes, score_lanes, sort_window
from .score_rows import scatter_score_row
from .transitions import CANCELLED, FLOOR, LOG_FLOOR, WINDOW

__all__ = ["automaton_expectations"]

ONE = (0,)  # register
AHEAD = 24  # states before a state's α is read, when it is fetched
MOVES_FROM = 2 * LANES * LANES  # where counts of moves begin in `AutomatonWorkspace.recent`


@inlined
def _whole(count):
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


@inlined
def _sum_moves(n, mass, background, later, wanted, automaton, tables, workspace):
    """β of the class of step n, and the expected counts of the moves from it to the next position.

    background: what its group reaches.   later: where the row of `tail` of the next position begins.
    """
    registers = automaton.registers
    tail, recent, nothing = workspace.tail, workspace.recent, broadcast(ONE, 0.0)
    beta, bound = background, multiply(background, broadcast(registers, CANCELLED))
    first, last = automaton.out_off[n], automaton.out_off[n + 1]
    if wanted:
        ring, begin = (len(recent) - MOVES_FROM) // LANES - 1, MOVES_FROM
        moves = 3 * _whole(automaton.states)
        for q in range(first, last):
            following = load_at(registers, tail, later, automaton.out_at, q)
            beta = fma(following, repeat(registers, tables.out, q), beta)
            store(recent, begin + (q & ring) * LANES, accumulate(mass, following, nothing))
        for q in range(first // LANES * LANES, last - LANES + 1, LANES):
            add_sums(recent, begin + (q & ring) * LANES, workspace.counts, moves + q)
    else:
        for q in range(first, last):
            following = load_at(registers, tail, later, automaton.out_at, q)
            beta = fma(following, repeat(registers, tables.out, q), beta)
    if tables.out_cancels[n] and any_below(beta, bound):
        _sum_out_of(n, later, automaton, tables, tail, workspace.lane)
        place = SPARE * len(registers) * LANES
        beta = choose_below(beta, bound, load(registers, workspace.lane, place), beta)
    return beta


@inlined
def _add_label(k, own, cell, sum_of_label, automaton, marginal):
    """Adds to the marginals of a state's labels; the sum of the only variable's label at `cell` is kept in a register.
    Returns it and its cell.
    """
    registers, variables = automaton.registers, len(automaton.cards)
    if variables == 1:
        place = np.int64(automaton.part_at[k])
        if place != cell:
            store(marginal, cell, sum_of_label)
            sum_of_label = load(registers, marginal, place)
        return place, add(sum_of_label, own)
    for v in range(variables):
        place = np.int64(automaton.part_at[k * variables + v])
        store(marginal, place, add(load(registers, marginal, place), own))
    return cell, sum_of_label


@inlined
def _count_state(m, t, own, is_last, ends, automaton, workspace):
    """Counts the state of number m in `class_state`, `LANES` of them at once."""
    recent, nothing, padded = workspace.recent, broadcast(ONE, 0.0), _whole(automaton.states)
    cell = m % LANES * LANES
    store(recent, cell, fold(own))
    if ends:
        store(recent, LANES * LANES + cell, accumulate(own, is_last, nothing))
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
    for b in range(automaton.group_block_off[g], automaton.group_block_off[g + 1]):
        block = np.int64(automaton.group_block[b])
        if automaton.is_new_block[b]:
            found = broadcast(registers, 0.0)
            for n in range(automaton.block_off[block], automaton.block_off[block + 1]):
                following = load(registers, workspace.tail, later + n * lanes)
                found = fma(following, repeat(registers, tables.state, n), found)
            store(workspace.block, block * lanes, found)
            result = add(result, found)
        else:
            result = add(result, load(registers, workspace.block, block * lanes))
    return result


@inner
def _retreat(t, longest, wanted, automaton, tables, workspace):
    """The marginals of position t in place of its scores, what the position before needs (`tail`), counts of moves."""
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    lane, marginal = workspace.lane, workspace.marginal
    at, row = t * automaton.states * lanes, t * automaton.width * lanes
    new, old = t % 2 * automaton.states * lanes, (t + 1) % 2 * automaton.states * lanes
    front, front_at, zero, follows = alpha, at, broadcast(registers, 0.0), t + 1 < longest
    if automaton.is_split and wanted and follows:
        sum_classes(at, 0, automaton, alpha, workspace.front)
        front, front_at = workspace.front, 0
    clear_lanes(registers, marginal, 0, automaton.width)
    ends = False
    for n in range(lanes):
        here = t + 1 == workspace.length[n]
        lane[LAST * lanes + n] = 1.0 if here else 0.0
        ends |= here
    is_last = load(registers, lane, LAST * lanes)
    at_end = multiply(is_last, load(registers, lane, AT_END * lanes))
    cell, sum_of_label = np.int64(0), zero
    group, background = np.int64(-1), zero
    for n in range(automaton.classes):
        later = zero
        if follows:
            mass, g = zero, np.int64(automaton.source_group[automaton.out_class[n]])
            if g != group:  # they ascend
                group, background = g, _sum_blocks(g, old, automaton, tables, workspace)
            if wanted:
                mass = load(registers, front, front_at + automaton.out_class[n] * lanes)
            later = _sum_moves(n, mass, background, old, wanted, automaton, tables, workspace)
        for m in range(automaton.class_off[n], automaton.class_off[n + 1]):
            k = np.int64(automaton.class_state[m])
            prefetch(registers, alpha, at + (k + AHEAD) * lanes)
            forward, beta = load(registers, alpha, at + k * lanes), later
            if ends:
                beta = fma(at_end, repeat(registers, tables.end, k), beta)
            beta = choose_below(zero, forward, beta, zero)
            own = multiply(forward, beta)
            cell, sum_of_label = _add_label(k, own, cell, sum_of_label, automaton, marginal)
            if wanted:
                _count_state(m, t, own, is_last, ends, automaton, workspace)
            place = new + automaton.step_of[k] * lanes
            store(workspace.tail, place, multiply(beta, label_potential(k, row, automaton, workspace.rows)))
    if len(automaton.cards) == 1:
        store(marginal, cell, sum_of_label)
    for c in range(0, automaton.width * lanes, lanes):  # only now are the scores of this position done with
        store(workspace.rows, row + c, load(registers, marginal, c))
    moves, begin = 3 * _whole(automaton.states), len(automaton.source) // LANES * LANES
    if wanted and follows and begin < len(automaton.source):  # what lies beyond the last transition is never read
        ring = (len(workspace.recent) - MOVES_FROM) // LANES - 1
        add_sums(workspace.recent, MOVES_FROM + (begin & ring) * LANES, workspace.counts, moves + begin)


@inlined
def _begin(automaton, workspace):
    """Sets the numbers of each lane."""
    lanes = len(automaton.registers) * LANES
    for n in range(lanes):
        for row in range(8):
            workspace.lane[row * lanes + n] = 0.0
        workspace.lane[LEAST_ALPHA * lanes + n] = 1.0
        workspace.lane[PRODUCT * lanes + n] = 1.0
        workspace.state[n] = OK


@inlined
def _answer(automaton, tables, workspace, log_z, status, share):
    """Writes log Z and the status of every lane; a lane without an answer is left out from now on."""
    lanes, lane, length = len(automaton.registers) * LANES, workspace.lane, workspace.length
    low = LOG_FLOOR / len(automaton.cards)  # the product of a state's labels must not fall below the floor
    for n in range(lanes):
        if length[n] == 0:
            continue
        s = workspace.sequence[n]
        state = workspace.state[n]
        if lane[LEAST_SCORE * lanes + n] < low or lane[LEAST_ALPHA * lanes + n] < FLOOR:
            state = UNDERFLOW
        status[s] = state
        if state == OK:
            log_z[s] = (
                lane[LOG * lanes + n] + np.log(lane[PRODUCT * lanes + n]) + lane[SHIFT * lanes + n]
                + tables.start_peak + (length[n] - 1) * tables.peak + tables.end_peak
            )  # fmt: skip
            lane[AT_END * lanes + n] = (share[s] if len(share) > 0 else 1.0) / lane[AT_END * lanes + n]
        else:
            log_z[s] = -np.inf
            length[n] = 0


@inlined
def _pass_on(t, automaton, problem, workspace, gradient, marginals):
    """Writes the marginals of position t, and adds them to the features that fire."""
    width, lanes = automaton.width, len(automaton.registers) * LANES
    for c in range(0, width, LANES):
        for n in range(0, lanes, LANES):
            transpose(workspace.rows, (t * width + c) * lanes + n, lanes, workspace.label, n * width + c, width)
    for n in range(lanes):
        if t >= workspace.length[n]:
            continue
        s = workspace.sequence[n]
        if len(marginals.value) > 0:
            steps = 0
            for v in range(automaton.visible):
                steps += automaton.cards[v]
            at = marginals.off[s] + t * steps
            for v in range(automaton.visible):
                for c in range(automaton.cards[v]):
                    marginals.value[at] = workspace.label[n * width + automaton.row_start[v] + c]
                    at += 1
        if len(gradient) > 0:
            scatter_score_row(s, t, automaton, problem, workspace.label, n * width, gradient)


@inlined
def _add_counts(automaton, tables, workspace, sums):
    """Adds the counts to `sums`."""
    counts, padded = workspace.counts, _whole(automaton.states)
    for m in range(automaton.states):
        k = automaton.class_state[m]
        sums.state[k] += counts[m]
        sums.first[k] += counts[padded + m]
        sums.last[k] += counts[2 * padded + m]
    for n in range(len(automaton.out_move)):
        q = automaton.out_move[n]
        sums.transition[q] += counts[3 * padded + n] * tables.transition[q]


@entry
def automaton_expectations(
    first, last, automaton, tables, problem, weights, totals, log_z, status, marginals, workspace, share
):
    """log Z of the sequences first … last − 1, and their expected feature counts, as `chain_expectations`.

    tables: see `linear_tables`.   totals: the sums are added to if there is a gradient.   marginals: of each position,
    the labels of all variables side by side.   status: `UNDERFLOW` where another kernel must answer, as for sequences
    longer than the workspace allows.
    """
    token_off = problem.rows.token_off
    lanes = len(automaton.registers) * LANES
    gradient = totals.gradient
    wanted = len(gradient) > 0
    for c in range(0, len(workspace.counts) if wanted else 0, LANES):
        store(workspace.counts, c, broadcast(ONE, 0.0))
    for s in range(first, last):
        empty = token_off[s + 1] == token_off[s]
        status[s] = OK if empty else UNDERFLOW
        log_z[s] = 0.0 if empty else -np.inf
    for begin in range(first, last, WINDOW):
        count = sort_window(begin, min(last, begin + WINDOW), workspace.longest, token_off, workspace.order)
        for at in range(0, count, lanes):
            longest = load_lanes(at, count, token_off, workspace)
            _begin(automaton, workspace)
            for t in range(longest):  # apart from the sums, which would displace the weights from the cache
                score_lanes(t, automaton, problem, weights, workspace, workspace.rows)
            for t in range(longest):
                exponentiate_lanes(t, automaton, workspace)
                advance_lanes(t, automaton, tables, workspace)
                rescale_lanes(t, automaton, tables, workspace)
            _answer(automaton, tables, workspace, log_z, status, share)
            if wanted or len(marginals.value) > 0:
                for t in range(longest - 1, -1, -1):
                    _retreat(t, longest, wanted, automaton, tables, workspace)
                for t in range(longest):
                    _pass_on(t, automaton, problem, workspace, gradient, marginals)
    if wanted:
        _add_counts(automaton, tables, workspace, totals.sums)
