"""Sums over an automaton in log space, for the sequences that leave the range of linear space.

Slow, one state after the other, and always right: what `automaton_sums` leaves over comes here where no other kernel
can take it.
"""

import numpy as np

from ..runtime import IMPOSSIBLE, OK, entry, inlined
from ..tables import copy_run
from .lane_scores import fill_score_row, scatter_score_row
from .transitions import Automaton


def log_cells(automaton: Automaton, longest: int) -> int:
    """Cells of memory for sequences of at most `longest` positions."""
    return longest * (automaton.width + automaton.states) + automaton.states + 2 * automaton.classes + automaton.width


@inlined
def _add(peak, total, x):
    """(peak, total) with log(total) + peak = log(old + exp x)."""
    if x == -np.inf:
        return peak, total
    if x > peak:
        return x, total * np.exp(peak - x) + 1.0
    return peak, total + np.exp(x - peak)


@inlined
def _local(automaton, tables, score, at, k):
    variables, found = len(automaton.cards), tables.state[k]
    for v in range(variables):
        found += score[at + automaton.parts[k * variables + v]]
    return found


@inlined
def _sum_classes(automaton, alpha, at, front):
    """The log sums of α over the classes of states, into `front`; at: where the position's α begins."""
    for n in range(automaton.classes):
        peak, total = -np.inf, 0.0
        for m in range(automaton.class_off[n], automaton.class_off[n + 1]):
            peak, total = _add(peak, total, alpha[at + automaton.class_state[m]])
        front[automaton.out_class[n]] = peak + np.log(total) if total > 0.0 else -np.inf


@inlined
def _forward(length, automaton, tables, score, alpha, front):
    """log α of every position. Returns log Z."""
    states = automaton.states
    for t in range(length):
        at = t * states
        if t > 0:
            _sum_classes(automaton, alpha, at - states, front)
        for j in range(states):
            peak, total = -np.inf, 0.0
            if t == 0:
                peak, total = _add(peak, total, tables.first[j])
            else:
                first, end, block = automaton.target_off[j], automaton.target_off[j + 1], automaton.block_of[j]
                for q in range(first, end):
                    peak, total = _add(peak, total, front[automaton.source[q]] + tables.transition[q])
                for b in range(automaton.block_group_off[block], automaton.block_group_off[block + 1]):
                    g, seen = automaton.block_group[b], first
                    for n in range(automaton.member_off[g], automaton.member_off[g + 1]):
                        i = automaton.member[n]
                        while seen < end and automaton.source[seen] < i:
                            seen += 1
                        if seen == end or automaton.source[seen] != i:
                            peak, total = _add(peak, total, front[i])
            found = _local(automaton, tables, score, t * automaton.width, j)
            alpha[at + j] = found + peak + np.log(total) if total > 0.0 and found > -np.inf else -np.inf
    peak, total = -np.inf, 0.0
    for j in range(states):
        peak, total = _add(peak, total, alpha[(length - 1) * states + j] + tables.last[j])
    return peak + np.log(total) if total > 0.0 else -np.inf


@inlined
def _sum_out_of(n, automaton, tables, tail):
    """log Σ_j ψ(c, j) tail(j) for the class c of step n."""
    peak, total = -np.inf, 0.0
    g, seen, end = automaton.source_group[automaton.out_class[n]], automaton.out_off[n], automaton.out_off[n + 1]
    for q in range(seen, end):
        move = automaton.out_move[q]
        peak, total = _add(peak, total, tables.transition[move] + tail[automaton.target[move]])
    if g >= 0:
        for m in range(automaton.reached_off[g], automaton.reached_off[g + 1]):
            j = automaton.reached[m]
            while seen < end and automaton.target[automaton.out_move[seen]] < j:
                seen += 1
            if seen == end or automaton.target[automaton.out_move[seen]] != j:
                peak, total = _add(peak, total, tail[j])
    return peak + np.log(total) if total > 0.0 else -np.inf


@inlined
def _backward(length, automaton, tables, score, alpha, buffer, log_z, root, wanted, sums):
    """Marginals into the rows of `score`, expected counts into `sums`; `root` is a factor of both."""
    states, variables, width = automaton.states, len(automaton.cards), automaton.width
    classes = automaton.classes
    front, beta, tail = buffer[:classes], buffer[classes : 2 * classes], buffer[2 * classes : 2 * classes + states]
    row = buffer[2 * classes + states :]
    for t in range(length - 1, -1, -1):
        at = t * states
        if t < length - 1 and wanted:
            _sum_classes(automaton, alpha, at, front)
            for q in range(len(automaton.source)):
                log_p = front[automaton.source[q]] + tables.transition[q] + tail[automaton.target[q]] - log_z
                sums.transition[q] += root * np.exp(log_p)
        for n in range(classes):
            beta[automaton.out_class[n]] = 0.0 if t == length - 1 else _sum_out_of(n, automaton, tables, tail)
        row[:width] = 0.0
        for i in range(states):
            back = beta[automaton.class_of[i]]
            if t == length - 1:
                back = tables.last[i]
            p = root * np.exp(alpha[at + i] + back - log_z)
            for v in range(variables):
                row[automaton.parts[i * variables + v]] += p
            if wanted:
                sums.state[i] += p
                if t == 0:
                    sums.first[i] += p
                if t == length - 1:
                    sums.last[i] += p
            tail[i] = back + _local(automaton, tables, score, t * width, i)
        copy_run(row, 0, width, score[t * width :])


@entry
def automaton_log_expectations(
    first, last, automaton, tables, problem, weights, totals, log_z, status, marginals, cells, share
):
    """As `automaton_expectations`, in log space. tables: logarithms.   cells: as many as `log_cells` says."""
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    gradient, sums = totals.gradient, totals.sums
    states, width, wanted = automaton.states, automaton.width, len(gradient) > 0
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        log_z[s], status[s] = 0.0, OK
        if length == 0:
            continue
        score = cells[: length * width]
        alpha = cells[length * width : length * (width + states)]
        buffer = cells[length * (width + states) :]
        for t in range(length):
            fill_score_row(s, t, automaton, kinds, bindings, rows, weights, score, t * width)
        log_z[s] = _forward(length, automaton, tables, score, alpha, buffer)
        if log_z[s] == -np.inf:
            status[s] = IMPOSSIBLE
            continue
        if not wanted and len(marginals.value) == 0:
            continue
        root = share[s] if len(share) > 0 else 1.0
        _backward(length, automaton, tables, score, alpha, buffer, log_z[s], root, wanted, sums)
        if len(marginals.value) > 0:
            at = marginals.off[s]
            for t in range(length):
                for v in range(automaton.visible):
                    for c in range(automaton.cards[v]):
                        marginals.value[at] = score[t * width + automaton.row_start[v] + c]
                        at += 1
        if wanted:
            for t in range(length):
                scatter_score_row(s, t, automaton, problem, score, t * width, gradient)
