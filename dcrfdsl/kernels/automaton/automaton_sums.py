"""Sums over an automaton: log Z, marginals, expected counts. Sequences advance together, one in each lane.

With the local potentials of position t, exp s_t(k), and the potential ψ(i, j) between neighbours:

    α_t(j) = exp s_t(j) Σ_i α_{t-1}(i) ψ(i, j)        β_t(i) = Σ_j ψ(i, j) exp s_{t+1}(j) β_{t+1}(j)

ψ is a background, 1 within a group, and what listed transitions have beyond it, so a sum takes a step for each group
and one for each listed transition:

    Σ_i α(i) ψ(i, j) = Σ_{i in the group of j} α(i) + Σ_{i → j listed} α(i) (ψ(i, j) − background)

Where that cancels, the sum is taken again over the states that are not listed, so that what is lost is never more than
`CANCELLED` allows; it cannot cancel where no listed transition lowers the background by as much. A step is a load of
the lanes of one state and a multiplication by one number for all lanes: nothing is gathered. Large automata are bound
by two things: three multiplications for each listed transition, and rows of all states that come from or go to an outer
cache (α and what β needs). Their loops are written for the compiler: what they need of a state lies in one place
(`into_step`, `back_step`), what is added up for all states has a loop of its own, indices do not count from the end
(`int_at`), and short loops are not unrolled (`keep_rolled`). Going forward, two states that are reached from much the
same classes are taken at once.

The potentials of a position are divided by the sum of α in the position before, so α_t β_t are the marginals at every
position and β is at most 1/α. Hence only α can leave the range of linear space: as long as all positive ones are at
least `FLOOR`, products of three of them are representable. States that cannot be reached get β = 0. A sequence that
leaves the range has the status `UNDERFLOW`. Source: Rabiner 1989 §III and §V.A (scaling).
"""

import numpy as np

from ..runtime import LANES, OK, UNDERFLOW, broadcast, entry, inlined, store
from .backward_lanes import BEGIN, END, retreat_lanes
from .forward_lanes import (
    AT_END,
    LEAST_ALPHA,
    LEAST_SCORE,
    LOG,
    PRODUCT,
    SHIFT,
    advance_lanes,
    exponentiate_lanes,
    rescale_lanes,
)
from .lane_scores import load_lanes, scatter_score_row, score_lanes, sort_window, turn
from .transitions import BACK_COLUMNS, FLOOR, LOG_FLOOR, WINDOW, whole_registers

ONE = (0,)  # register


@inlined
def _begin(automaton, workspace):
    """Sets the numbers of each lane."""
    lanes, lane = len(automaton.registers) * LANES, workspace.lane
    lane[:] = 0.0
    lane[LEAST_ALPHA * lanes : (LEAST_ALPHA + 1) * lanes] = 1.0
    lane[PRODUCT * lanes : (PRODUCT + 1) * lanes] = 1.0
    workspace.state[:] = OK


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
def _pass_on(longest, automaton, problem, workspace, gradient, marginals):
    """Writes the marginals of all positions, and adds them to the features that fire."""
    width, lanes, rows = automaton.width, len(automaton.registers) * LANES, workspace.rows
    for t in range(longest):
        turn(rows, t * width * lanes, width, lanes, workspace.marginal)
    for n in range(lanes):
        if workspace.length[n] == 0:
            continue
        s = workspace.sequence[n]
        at = marginals.off[s]
        for t in range(workspace.length[n]):
            row = (t * lanes + n) * width
            for v in range(automaton.visible if len(marginals.value) > 0 else 0):
                for c in range(automaton.cards[v]):
                    marginals.value[at] = rows[row + automaton.row_start[v] + c]
                    at += 1
            if len(gradient) > 0:
                scatter_score_row(s, t, automaton, problem, rows, row, gradient)


@inlined
def _add_counts(automaton, tables, workspace, sums):
    counts, states, back_step = workspace.counts, automaton.states, automaton.back_step
    apart, place = whole_registers(states + len(automaton.source)), 0
    first = apart + whole_registers(states)
    last = first + whole_registers(states)
    for m in range(states):
        begin, end = back_step[m * BACK_COLUMNS + BEGIN], back_step[m * BACK_COLUMNS + END]
        if begin >= 0:
            for n in range(begin, end):
                q = automaton.out_move[n]
                sums.transition[q] += counts[place] * tables.transition[q]
                place += 1
        k = automaton.class_state[m]
        sums.state[k] += counts[place] + counts[apart + m]
        sums.first[k] += counts[first + m]
        sums.last[k] += counts[last + m]
        place += 1


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
            # apart from the sums, which would displace the weights from the cache
            score_lanes(longest, automaton, problem, weights, workspace)
            for t in range(longest):
                exponentiate_lanes(t, automaton, workspace)
                advance_lanes(t, automaton, tables, workspace)
                rescale_lanes(t, automaton, tables, workspace)
            _answer(automaton, tables, workspace, log_z, status, share)
            if wanted or len(marginals.value) > 0:
                for t in range(longest - 1, -1, -1):
                    retreat_lanes(t, longest, wanted, automaton, tables, workspace)
                _pass_on(longest, automaton, problem, workspace, gradient, marginals)
    if wanted:
        _add_counts(automaton, tables, workspace, totals.sums)
