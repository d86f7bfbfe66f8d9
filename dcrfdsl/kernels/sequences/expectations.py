"""Inference over a run of sequences in one call without the interpreter: tables, inference, expectations.

Each function takes sequences `first`..`last` of the rows and works through them with one arena. What a sequence
yields is written at its own index (log Z, status) or added to the caller's buffers (gradient), so runs may be
computed by different threads into different buffers. Nothing is allocated a sequence.

A sequence that leaves the range of linear space is computed again in log space (`redone`); one that no labelling
satisfies gets log Z = -inf. Sequences in blocks are passed over: `exact.checkpointing` answers for them.
"""

from __future__ import annotations

import numpy as np

from ..exact import backward_linear, backward_log, forward_linear, forward_log, forward_max, trace_back
from ..messages import (
    message_labelling,
    node_potentials,
    propagate,
    read_beliefs,
    read_labelling,
    recall,
    remember,
    score_labelling,
)
from ..runtime import BROKEN, GAVE_UP, IMPOSSIBLE, OK, UNDERFLOW, inner, kernel
from ..tables import add_run, copy_run, exponentiate, fill_tables, scatter_gradient, shared_peaks

__all__ = [
    "exact_decode", "exact_expectations", "mend_labellings", "message_decode", "message_expectations",
    "message_log_expectations", "score_labellings",
]  # fmt: skip


@inner
def _largest(shapes, rows, first, last):
    """Largest arena end, number of states and table over the shapes of a run of sequences."""
    arena, states, table = shapes.local_start, 1, 1
    for s in range(first, last):
        g = rows.shape[s]
        arena = max(arena, shapes.arena_end[g])
        v = shapes.var_off[g + 1] - 1
        if v >= shapes.var_off[g]:
            states = max(states, shapes.state_off[v] + shapes.card[v])
    for f in range(len(shapes.fac_size)):
        table = max(table, shapes.fac_size[f])
    return arena, states, table


@inner
def _longest_messages(rows, edges, first, last):
    """The most cells that the messages of one sequence take."""
    longest = 0
    for s in range(first, last):
        longest = max(longest, edges.messages[rows.shape[s]])
    return longest


@inner
def _workspace(shapes, programs, rows, first, last):
    """Arena cells, and steps up to the last one, that the sequences of a run need at once, but for those in blocks."""
    arena, steps = max(shapes.local_start, 1), 0
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] == programs.block_off[g + 1]:
            arena = max(arena, programs.workspace[g])
            steps = max(steps, programs.step_off[g + 1])
    return arena, steps


@kernel
def exact_expectations(
    first, last, problem, programs, patterns, potentials, totals, results, marginals, value, adjoint, share
):
    """log Z of each sequence by its contraction program, and expected feature counts.

    totals: added to, unless its gradient is empty (then only marginals are wanted).   marginals: in the state order of
    each shape.   share [S]: what the expectations of each sequence are multiplied by; empty: 1. With neither gradient
    nor marginals nothing but log Z is computed.
    value, adjoint: memory for the longest arena, overwritten; large, so that fresh pages at each call would cost time.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base, base, peaks, base_fits = potentials
    gradient, expected = totals
    log_z, status = results.log_z, results.status
    arena, steps = _workspace(shapes, programs, rows, first, last)
    logs, scale = np.empty(arena), np.empty(steps)
    shared = shapes.local_start
    copy_run(base, 0, shared, value)
    adjoint[:shared] = 0.0
    copy_run(log_base, 0, shared, logs)
    log_adjoint = np.zeros(shared)  # expectations of shared tables from sequences computed in log space
    wanted = len(marginals.value) > 0
    looked_at = wanted or len(gradient) > 0
    nothing = np.empty(0)
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1]:
            continue
        a, b = programs.step_off[g], programs.step_off[g + 1]
        local_end, arena_end = shapes.local_end[g], shapes.arena_end[g]
        state_off = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]]
        out = marginals.value[marginals.off[s] : marginals.off[s + 1]] if wanted else nothing
        root = share[s] if len(share) > 0 else 1.0
        state, total = UNDERFLOW, 0.0
        if base_fits:
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
            shift, fits = exponentiate(g, shapes, value)
            if fits:
                total, state = forward_linear(a, b, programs, patterns, value, scale)
                total += shift + shared_peaks(g, shapes, peaks)
        if state == OK and looked_at:
            adjoint[shared:arena_end] = 0.0
            backward_linear(a, b, programs, patterns, value, scale, adjoint, state_off, out, root)
            for j in range(shared, local_end):
                adjoint[j] *= value[j]
        elif state == UNDERFLOW:
            results.redone[s] = True
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
            logs[0] = 0.0
            total = forward_log(a, b, programs, patterns, logs)
            state = OK if total > -np.inf else IMPOSSIBLE
            if state == OK and looked_at:
                kept = adjoint[:shared].copy()
                adjoint[:arena_end] = 0.0
                backward_log(a, b, programs, patterns, logs, adjoint, state_off, out, root)
                add_run(adjoint, 0, shared, log_adjoint)
                copy_run(kept, 0, shared, adjoint)
        status[s] = state
        log_z[s] = total + shapes.log_const[g] if state == OK else -np.inf
        if state == OK and len(gradient) > 0:
            scatter_gradient(s, shapes, kinds, bindings, rows, adjoint, expected, gradient)
    for j in range(shared):
        expected[j] += adjoint[j] * base[j] + log_adjoint[j]


@kernel
def exact_decode(first, last, problem, programs, patterns, potentials, score, labelling):
    """The best labelling of each sequence (Viterbi), -1 if there is none; its score into `score` [S]."""
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, _ = _workspace(shapes, programs, rows, first, last)
    logs = np.empty(arena)
    copy_run(log_base, 0, shapes.local_start, logs)
    logs[0] = 0.0
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1]:
            continue
        a, b = programs.step_off[g], programs.step_off[g + 1]
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        sequence_labels[:] = 0
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        score[s] = forward_max(a, b, programs, patterns, logs)
        if score[s] > -np.inf:
            trace_back(a, b, programs, logs, sequence_labels)
        else:
            sequence_labels[:] = -1


@kernel
def score_labellings(first, last, problem, potentials, labelling, score):
    """Σ log φ at a given labelling of each sequence, into `score`; nan where a label is unknown (negative)."""
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, _, _ = _largest(shapes, rows, first, last)
    logs = np.empty(arena)
    copy_run(log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        if sequence_labels.min() < 0:
            score[s] = np.nan
            continue
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        score[s] = score_labelling(rows.shape[s], shapes, logs, sequence_labels)


# messages -----------------------------------------------------------------------------------------------------------


@inner
def _record(s, state, run, results):
    """Writes how messages ended on sequence s.   run: converged, rounds, residual, damped."""
    converged, rounds, left, damped = run
    results.status[s], results.damped[s] = state, damped
    results.iterations[s] = rounds if converged else -rounds
    results.residual[s] = left


@inner
def _add_up(s, state, log_z, problem, var_belief, belief, totals, results, marginals):
    """Writes what the beliefs of sequence s say, and adds them to the totals."""
    shapes, kinds, bindings, rows = problem
    results.log_z[s] = log_z if state == OK else -np.inf
    if state != OK:
        return
    if len(marginals.value) > 0:
        at = marginals.off[s]
        copy_run(var_belief, 0, marginals.off[s + 1] - at, marginals.value[at:])
    if len(totals.gradient) > 0:
        scatter_gradient(s, shapes, kinds, bindings, rows, belief, totals.expected, totals.gradient)


@kernel
def message_expectations(first, last, problem, edges, potentials, sweeps, control, totals, results, marginals, start):
    """As `exact_expectations`, by message passing: Bethe log Z and pseudo-marginals (Sutton eq. 6).

    A sequence that leaves linear space gets the status `UNDERFLOW` and is left to `message_log_expectations`: most data
    needs no such code, and it is not compiled then.   sweeps: see `propagate`.   start: where each sequence begins, and
    leaves its last messages: the next call, at weights nearby, needs fewer rounds and stays at the same fixed point of
    several.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base, base, peaks, base_fits = potentials
    arena, states, table = _largest(shapes, rows, first, last)
    shared = shapes.local_start
    value, belief = np.empty(arena), np.zeros(arena)
    node, var_belief, scratch = np.empty(states), np.empty(states), np.empty(table)
    message = np.empty(_longest_messages(rows, edges, first, last))
    copy_run(base, 0, shared, value)
    keeps = len(start.value) > 0
    for s in range(first, last):
        g = rows.shape[s]
        state, taken, shift = UNDERFLOW, 0.0, 0.0
        run = False, 0, 0.0, False
        if base_fits:
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
            shift, fits = exponentiate(g, shapes, value)
            shift += shared_peaks(g, shapes, peaks)
            if fits:
                taken, state = node_potentials(g, shapes, value, False, node)
                if state == OK:
                    warm = keeps and start.is_kept[s]
                    if warm:
                        recall(start.value[start.off[s] : start.off[s + 1]], edges.messages[g], message)
                    converged, rounds, left, state, damped = propagate(
                        g, shapes, edges, value, node, message, sweeps, control, False, False, warm
                    )
                    run = converged, rounds, left, damped
                    if keeps:
                        start.is_kept[s] = state == OK
                        remember(message, edges.messages[g], start.value[start.off[s] : start.off[s + 1]])
        if state == UNDERFLOW:
            results.redone[s], results.status[s] = True, UNDERFLOW
            continue
        bethe = -np.inf
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            bethe = read_beliefs(g, shapes, edges, value, node, message, False, var_belief, belief, scratch)
            if bethe == -np.inf:
                state = IMPOSSIBLE
        _record(s, state, run, results)
        _add_up(s, state, bethe + taken + shift, problem, var_belief, belief, totals, results, marginals)
    for j in range(shared):
        totals.expected[j] += belief[j]


@kernel
def message_log_expectations(first, last, problem, edges, potentials, sweeps, control, totals, results, marginals):
    """`message_expectations` in log space, of the sequences whose status is `UNDERFLOW` and of no other."""
    shapes, kinds, bindings, rows = problem
    arena, states, table = _largest(shapes, rows, first, last)
    shared = shapes.local_start
    logs, belief = np.empty(arena), np.zeros(arena)
    node, var_belief, scratch = np.empty(states), np.empty(states), np.empty(table)
    message = np.empty(_longest_messages(rows, edges, first, last))
    copy_run(potentials.log_base, 0, shared, logs)
    for s in range(first, last):
        g = rows.shape[s]
        if results.status[s] != UNDERFLOW:
            continue
        run = False, 0, 0.0, False
        fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, logs)
        taken, state = node_potentials(g, shapes, logs, True, node)
        if state == OK:
            converged, rounds, left, state, damped = propagate(
                g, shapes, edges, logs, node, message, sweeps, control, True, False, False
            )
            run = converged, rounds, left, damped
        bethe = -np.inf
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            bethe = read_beliefs(g, shapes, edges, logs, node, message, True, var_belief, belief, scratch)
            if bethe == -np.inf:
                state = IMPOSSIBLE
        _record(s, state, run, results)
        _add_up(s, state, bethe + taken, problem, var_belief, belief, totals, results, marginals)
    for j in range(shared):
        totals.expected[j] += belief[j]


@kernel
def _send_maxima(s, problem, edges, potentials, sweeps, control, logs, node, message):
    """Max-product messages of sequence s at rest. Returns (status, how they ended: see `_record`)."""
    shapes, kinds, bindings, rows = problem
    g = rows.shape[s]
    fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, logs)
    _, state = node_potentials(g, shapes, logs, True, node)
    if state != OK:
        return state, (False, 0, 0.0, False)
    converged, rounds, left, state, damped = propagate(
        g, shapes, edges, logs, node, message, sweeps, control, True, True, False
    )
    return state, (converged, rounds, left, damped)


@kernel
def message_decode(first, last, problem, edges, potentials, sweeps, control, results, labelling):
    """A good labelling of each sequence by max-product messages; best on trees, approximate on loops.

    Where what the messages show breaks a hard constraint, the status is `BROKEN`: `mend_labellings` must answer.
    """
    shapes, rows = problem.shapes, problem.rows
    arena, states, _ = _largest(shapes, rows, first, last)
    logs, node, message = np.empty(arena), np.empty(states), np.empty(_longest_messages(rows, edges, first, last))
    copy_run(potentials.log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        sequence_labels[:] = -1
        state, run = _send_maxima(s, problem, edges, potentials, sweeps, control, logs, node, message)
        if state == OK:
            read_labelling(rows.shape[s], shapes, edges, logs, node, message, sequence_labels)
            if score_labelling(rows.shape[s], shapes, logs, sequence_labels) == -np.inf:
                state = BROKEN
        _record(s, state, run, results)


@kernel
def mend_labellings(first, last, problem, edges, potentials, sweeps, control, results, labelling):
    """`message_decode` with a search, of the sequences whose status is `BROKEN` and of no other."""
    shapes, rows = problem.shapes, problem.rows
    arena, states, _ = _largest(shapes, rows, first, last)
    logs, node, message = np.empty(arena), np.empty(states), np.empty(_longest_messages(rows, edges, first, last))
    copy_run(potentials.log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        if results.status[s] != BROKEN:
            continue
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        sequence_labels[:] = -1
        state, run = _send_maxima(s, problem, edges, potentials, sweeps, control, logs, node, message)
        if state == OK:
            state = message_labelling(rows.shape[s], shapes, edges, logs, node, message, sequence_labels)
            if state == GAVE_UP:
                run, state = (False, run[1], np.inf, run[3]), OK
        _record(s, state, run, results)
