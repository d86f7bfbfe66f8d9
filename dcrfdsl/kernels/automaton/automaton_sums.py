"""Sums over an automaton: log Z, marginals, expected counts. Sequences advance together, one in each lane.

With the local potentials of position t, exp s_t(k), and the potential ψ(i, j) between neighbours:

    α_t(j) = exp s_t(j) Σ_i α_{t-1}(i) ψ(i, j)        β_t(i) = Σ_j ψ(i, j) exp s_{t+1}(j) β_{t+1}(j)

ψ is a background, 1 within a group, and what listed transitions have beyond it, so a sum takes a step for each group
and one for each listed transition:

    Σ_i α(i) ψ(i, j) = Σ_{i in the group of j} α(i) + Σ_{i → j listed} α(i) (ψ(i, j) − background)

Where that cancels, the sum is taken again over the states that are not listed, so that what is lost is never more than
`CANCELLED` allows. A step is a load of the lanes of one state and a multiplication by one number for all lanes: nothing
is gathered.

Each α_t is divided by its sum in the position before, and β_t by the same number, so α_t β_t are the marginals at every
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
    inlined,
    inner,
    load,
    load_at,
    multiply,
    repeat,
    store,
    transpose,
)
from .forward_lanes import (
    AT_END,
    CANCELLED,
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
    sum_group,
)  # fmt: skip
from .lane_groups import load_lanes, score_lanes, sort_window
from .score_rows import scatter_score_row
from .transitions import FLOOR, LOG_FLOOR, WINDOW

__all__ = ["automaton_expectations"]

ONE = (0,)  # register


@inlined
def _whole(count):
    """`count` rounded up to whole registers."""
    return (count + LANES - 1) // LANES * LANES


@inner
def _sum_out_of(c, at, automaton, tables, tail, lane):
    """Σ_j ψ(c, j) tail(j) state by state, into a row of `lane`."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    g, seen, end = automaton.source_group[c], automaton.source_off[c], automaton.source_off[c + 1]
    result = broadcast(registers, 0.0)
    for n in range(seen, end):
        following = load_at(registers, tail, at, automaton.target_at, n)
        result = fma(following, repeat(registers, tables.transition, automaton.source_order[n]), result)
    for n in range(automaton.target_member_off[g], automaton.target_member_off[g + 1]):
        j = automaton.target_member[n]
        while seen < end and automaton.target[automaton.source_order[seen]] < j:
            seen += 1
        if seen == end or automaton.target[automaton.source_order[seen]] != j:
            result = fma(load(registers, tail, at + j * lanes), repeat(registers, tables.state, j), result)
    store(lane, SPARE * lanes, result)


@inner
def _sum_moves(t, wanted, automaton, tables, workspace):
    """β of each class at position t, and the expected counts of the moves from it to position t + 1."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    shared, lane, tail, counts = workspace.shared, workspace.lane, workspace.tail, workspace.counts
    old, old_tail = (t + 1) % 2 * automaton.groups * lanes, (t + 1) % 2 * automaton.states * lanes
    front, at = workspace.alpha, t * automaton.states * lanes
    if automaton.is_split and wanted:
        sum_classes(at, 0, automaton, front, workspace.front)
        front, at = workspace.front, 0
    zero, cancelled, nothing = broadcast(registers, 0.0), broadcast(registers, CANCELLED), broadcast(ONE, 0.0)
    factor = load(registers, workspace.inverse, t * lanes)
    recent, mask = workspace.recent, len(workspace.recent) // LANES - 1
    moves = 3 * _whole(automaton.states)
    flushed = 0
    for c in range(automaton.classes):
        g, beta, bound = np.int64(automaton.source_group[c]), zero, zero
        if g >= 0:
            beta = load(registers, shared, old + g * lanes)
            bound = multiply(beta, cancelled)
        first, last = automaton.source_off[c], automaton.source_off[c + 1]
        if wanted:
            mass = multiply(load(registers, front, at + c * lanes), factor)
            for n in range(first, last):
                following = load_at(registers, tail, old_tail, automaton.target_at, n)
                beta = fma(following, repeat(registers, tables.beyond_out, n), beta)
                store(recent, (n & mask) * LANES, accumulate(mass, following, nothing))
            while flushed + LANES <= last:
                add_sums(recent, (flushed & mask) * LANES, counts, moves + flushed)
                flushed += LANES
        else:
            for n in range(first, last):
                following = load_at(registers, tail, old_tail, automaton.target_at, n)
                beta = fma(following, repeat(registers, tables.beyond_out, n), beta)
        if any_below(beta, bound):
            _sum_out_of(c, old_tail, automaton, tables, tail, lane)
            beta = choose_below(beta, bound, load(registers, lane, SPARE * lanes), beta)
        store(workspace.beta, c * lanes, multiply(beta, factor))
    if wanted and flushed < len(automaton.source):  # what lies beyond the last transition is never read
        add_sums(recent, (flushed & mask) * LANES, counts, moves + flushed)


@inner
def _retreat(t, longest, wanted, automaton, tables, workspace):
    """The marginals of position t, and what the position before needs of it."""
    registers, lanes, alpha = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    shared, lane, rows, tail = workspace.shared, workspace.lane, workspace.rows, workspace.tail
    counts, marginal = workspace.counts, workspace.marginal
    at, row = t * automaton.states * lanes, t * automaton.width * lanes
    new, new_tail = t % 2 * automaton.groups * lanes, t % 2 * automaton.states * lanes
    zero, one = broadcast(registers, 0.0), broadcast(registers, 1.0)
    follows = t + 1 < longest
    if follows:
        _sum_moves(t, wanted, automaton, tables, workspace)
    clear_lanes(registers, shared, new, automaton.groups)
    clear_lanes(registers, marginal, 0, automaton.width)
    ends = False
    for n in range(lanes):
        here = t + 1 == workspace.length[n]
        lane[LAST * lanes + n] = 1.0 if here else 0.0
        ends |= here
    is_last, at_end = load(registers, lane, LAST * lanes), load(registers, lane, AT_END * lanes)
    at_end = multiply(is_last, at_end)
    recent, nothing, padded = workspace.recent, broadcast(ONE, 0.0), _whole(automaton.states)
    current, sum_of_group, variables = np.int64(-1), zero, len(automaton.cards)
    for k in range(automaton.states):
        front, beta = load(registers, alpha, at + k * lanes), zero
        if follows:
            beta = load_at(registers, workspace.beta, 0, automaton.class_at, k)
        if ends:
            beta = fma(at_end, repeat(registers, tables.end, k), beta)
        beta = choose_below(zero, front, beta, zero)
        own = multiply(front, beta)
        for v in range(variables):
            cell = automaton.part_at[k * variables + v]
            store(marginal, cell, add(load(registers, marginal, cell), own))
        if wanted:
            cell = k % LANES * LANES
            store(recent, cell, accumulate(own, one, nothing))
            if ends:
                store(recent, LANES * LANES + cell, accumulate(own, is_last, nothing))
            if k % LANES == LANES - 1 or k == automaton.states - 1:
                begin = k - k % LANES
                add_sums(recent, 0, counts, begin)
                if t == 0:
                    add_sums(recent, 0, counts, padded + begin)
                if ends:
                    add_sums(recent, LANES * LANES, counts, 2 * padded + begin)
        beta = multiply(beta, label_potential(k, row, automaton, rows))
        store(tail, new_tail + k * lanes, beta)
        mass, group = multiply(beta, repeat(registers, tables.state, k)), np.int64(automaton.target_group[k])
        current, sum_of_group = sum_group(group, current, sum_of_group, mass, registers, shared, new)
    if current >= 0:
        store(shared, new + current * lanes, sum_of_group)


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
            transpose(workspace.marginal, c * lanes + n, lanes, workspace.label, n * width + c, width)
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
    for k in range(automaton.states):
        sums.state[k] += counts[k]
        sums.first[k] += counts[padded + k]
        sums.last[k] += counts[2 * padded + k]
    for n in range(len(automaton.source_order)):
        q = automaton.source_order[n]
        sums.transition[q] += counts[3 * padded + n] * tables.transition[q]


@entry
def automaton_expectations(
    first, last, automaton, tables, problem, weights, gradient, sums, log_z, status, marginals, workspace, share
):
    """log Z of the sequences first … last − 1, and their expected feature counts, as `chain_expectations`.

    tables: see `linear_tables`.   sums: added to, if there is a gradient.   marginals: of each position, the labels of
    all variables side by side.   status: `UNDERFLOW` where another kernel must answer, as for sequences longer than
    the workspace allows.
    """
    token_off = problem.rows.token_off
    lanes = len(automaton.registers) * LANES
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
            for t in range(longest):
                score_lanes(t, automaton, problem, weights, workspace, workspace.rows)
                exponentiate_lanes(t, automaton, workspace)
                advance_lanes(t, automaton, tables, workspace)
                rescale_lanes(t, automaton, tables, workspace)
            _answer(automaton, tables, workspace, log_z, status, share)
            if wanted or len(marginals.value) > 0:
                for t in range(longest - 1, -1, -1):
                    _retreat(t, longest, wanted, automaton, tables, workspace)
                    _pass_on(t, automaton, problem, workspace, gradient, marginals)
    if wanted:
        _add_counts(automaton, tables, workspace, sums)
