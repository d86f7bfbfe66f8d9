"""Inference over a run of sequences in one call without the interpreter: tables, inference, expectations.

Each function takes sequences `first`..`last` of the rows and works through them with one arena. What a sequence
yields is written at its own index (log Z, status) or added to the caller's buffers (gradient), so runs may be
computed by different threads into different buffers. Nothing is allocated a sequence.

A sequence that leaves the range of linear space is computed again in log space (`REDONE`); one that no labelling
satisfies gets log Z = -inf. Sequences that are computed in blocks are passed over: `blocks` answers for them.
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
from ..runtime import GAVE_UP, IMPOSSIBLE, OK, UNDERFLOW, inner, kernel
from ..tables import add_run, copy_run, exponentiate, fill_tables, scatter_gradient, shared_peaks

__all__ = ["BROKEN", "exact_decode", "exact_expectations", "message_decode", "message_expectations", "score_labellings"]

BROKEN = 4  # the status of a labelling of probability zero, beside those of `contraction` and `search`


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
def _room(shapes, programs, rows, first, last):
    """Arena cells, and steps up to the last one, that the sequences of a run need at once, but for those in blocks."""
    arena, steps = max(shapes.local_start, 1), 0
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] == programs.block_off[g + 1]:
            arena = max(arena, programs.room[g])
            steps = max(steps, programs.step_off[g + 1])
    return arena, steps


@kernel
def exact_expectations(
    first, last, shapes, kinds, bindings, rows, programs, patterns, weights, log_base, base, peaks, base_fits,
    gradient, expected, log_z, status, redone, marginals, marginal_off, value, adjoint, share,
):  # fmt: skip
    """log Z of each sequence by its contraction program, and expected feature counts.

    gradient [weights] and expected [shared cells] are added to, unless `gradient` is empty (then only marginals are
    wanted). marginals: flat array in which sequence s owns `marginal_off[s]` on, in its shape's state order, or empty.
    share [S]: what the expectations of each sequence are multiplied by; empty: 1. With neither gradient nor marginals
    nothing but log Z is computed.
    value, adjoint: room for the longest arena, overwritten; large, so that fresh pages at each call would cost time.
    """
    arena, steps = _room(shapes, programs, rows, first, last)
    logs, scale = np.empty(arena), np.empty(steps)
    shared = shapes.local_start
    copy_run(base, 0, shared, value)
    adjoint[:shared] = 0.0
    copy_run(log_base, 0, shared, logs)
    log_adjoint = np.zeros(shared)  # expectations of shared tables from sequences computed in log space
    wanted = len(marginals) > 0
    looked_at = wanted or len(gradient) > 0
    nothing = np.empty(0)
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1]:
            continue
        a, b = programs.step_off[g], programs.step_off[g + 1]
        local_end, arena_end = shapes.local_end[g], shapes.arena_end[g]
        state_off = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]]
        out = marginals[marginal_off[s] : marginal_off[s + 1]] if wanted else nothing
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
            redone[s] = True
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
def exact_decode(
    first, last, shapes, kinds, bindings, rows, programs, patterns, weights, log_base, score, labelling, off
):
    """The best labelling of each sequence (Viterbi). `labelling[off[s] + v]` is the state of variable v; -1 if none."""
    arena, _ = _room(shapes, programs, rows, first, last)
    logs = np.empty(arena)
    copy_run(log_base, 0, shapes.local_start, logs)
    logs[0] = 0.0
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1]:
            continue
        a, b = programs.step_off[g], programs.step_off[g + 1]
        own = labelling[off[s] : off[s + 1]]
        own[:] = 0
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        score[s] = forward_max(a, b, programs, patterns, logs)
        if score[s] > -np.inf:
            trace_back(a, b, programs, logs, own)
        else:
            own[:] = -1


@kernel
def message_expectations(
    first, last, shapes, kinds, bindings, rows, edges, schedules, weights, log_base, base, peaks, base_fits,
    schedule, tolerance, max_iterations, damping, seed,
    gradient, expected, log_z, status, redone, damped, iterations, residual, marginals, marginal_off,
    kept, kept_off, is_kept, residual_too, again,
):  # fmt: skip
    """As `exact_expectations`, by message passing: Bethe log Z and pseudo-marginals (Sutton eq. 6).

    again: None; a sequence that leaves linear space then gets the status `UNDERFLOW`. Not None: those sequences, and no
    others, in log space. These are two kernels, of which most data needs one. residual_too: see `propagate`.
    iterations[s] is negative if sequence s did not converge, damped[s] set if it oscillated and was damped for that.
    If `kept` is not empty, sequence s begins with the messages kept[kept_off[s]:kept_off[s + 1]] where is_kept[s] says
    so, and leaves its last ones there: the next call, at weights nearby, needs fewer rounds and stays at the same fixed
    point of several.
    """
    arena, states, table = _largest(shapes, rows, first, last)
    longest = 0
    for s in range(first, last):
        longest = max(longest, edges.messages[rows.shape[s]])
    shared = shapes.local_start
    value, logs, belief = np.empty(arena), np.empty(arena), np.zeros(arena)
    node, var_belief, message, scratch = np.empty(states), np.empty(states), np.empty(longest), np.empty(table)
    copy_run(base, 0, shared, value)
    copy_run(log_base, 0, shared, logs)
    for s in range(first, last):
        g = rows.shape[s]
        state, taken, shift, log_space = UNDERFLOW, 0.0, 0.0, False
        converged, rounds, left, more = False, 0, 0.0, False
        if again is None:
            if base_fits:
                fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
                shift, fits = exponentiate(g, shapes, value)
                shift += shared_peaks(g, shapes, peaks)
                if fits:
                    taken, state = node_potentials(g, shapes, value, False, node)
                    if state == OK:
                        warm = len(kept) > 0 and is_kept[s]
                        if warm:
                            recall(kept[kept_off[s] : kept_off[s + 1]], edges.messages[g], message)
                        converged, rounds, left, state, more = propagate(
                            g, shapes, edges, schedules, value, node, message, schedule, tolerance, max_iterations,
                            damping, seed, False, False, warm, residual_too,
                        )  # fmt: skip
                        if len(kept) > 0:
                            is_kept[s] = state == OK
                            remember(message, edges.messages[g], kept[kept_off[s] : kept_off[s + 1]])
            if state == UNDERFLOW:
                redone[s], status[s] = True, UNDERFLOW
                continue
        else:
            if status[s] != UNDERFLOW:
                continue
            log_space = True
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
            taken, state = node_potentials(g, shapes, logs, True, node)
            if state == OK:
                converged, rounds, left, state, more = propagate(
                    g, shapes, edges, schedules, logs, node, message, schedule, tolerance, max_iterations, damping,
                    seed, True, False, False, residual_too,
                )  # fmt: skip
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            bethe = read_beliefs(
                g, shapes, edges, logs if log_space else value, node, message, log_space, var_belief, belief, scratch
            )
            log_z[s] = bethe + taken + shift
            if bethe == -np.inf:
                state = IMPOSSIBLE
        status[s], damped[s] = state, more
        iterations[s] = rounds if converged else -rounds
        residual[s] = left
        if state != OK:
            log_z[s] = -np.inf
            continue
        if len(marginals) > 0:
            count = marginal_off[s + 1] - marginal_off[s]
            copy_run(var_belief, 0, count, marginals[marginal_off[s] :])
        if len(gradient) > 0:
            scatter_gradient(s, shapes, kinds, bindings, rows, belief, expected, gradient)
    for j in range(shared):
        expected[j] += belief[j]


@kernel
def message_decode(
    first, last, shapes, kinds, bindings, rows, edges, schedules, weights, log_base,
    schedule, tolerance, max_iterations, damping, seed, status, damped, iterations, residual, labelling, off,
    residual_too, again,
):  # fmt: skip
    """A good labelling of each sequence by max-product messages; best on trees, approximate on loops.

    again: None; where what the messages show breaks a hard constraint, the status is `BROKEN`. Not None: those
    sequences, and no others; a search mends them.
    """
    arena, states, _ = _largest(shapes, rows, first, last)
    longest = 0
    for s in range(first, last):
        longest = max(longest, edges.messages[rows.shape[s]])
    logs, node, message = np.empty(arena), np.empty(states), np.empty(longest)
    copy_run(log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        g = rows.shape[s]
        if again is not None and status[s] != BROKEN:
            continue
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        _, state = node_potentials(g, shapes, logs, True, node)
        converged, rounds, left, more = False, 0, 0.0, False
        own = labelling[off[s] : off[s + 1]]
        own[:] = -1
        if state == OK:
            converged, rounds, left, state, more = propagate(
                g, shapes, edges, schedules, logs, node, message, schedule, tolerance, max_iterations, damping, seed,
                True, True, False, residual_too,
            )  # fmt: skip
        if state == OK:
            if again is None:
                read_labelling(g, shapes, edges, logs, node, message, own)
                if score_labelling(g, shapes, logs, own) == -np.inf:
                    state = BROKEN
            else:
                state = message_labelling(g, shapes, edges, logs, node, message, own)
                if state == GAVE_UP:
                    converged, left, state = False, np.inf, OK
        status[s], damped[s] = state, more
        iterations[s] = rounds if converged else -rounds
        residual[s] = left


@kernel
def score_labellings(first, last, shapes, kinds, bindings, rows, weights, log_base, labelling, off, score):
    """Σ log φ at a given labelling of each sequence, into `score`; nan where a label is unknown (negative)."""
    arena, _, _ = _largest(shapes, rows, first, last)
    logs = np.empty(arena)
    copy_run(log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        own = labelling[off[s] : off[s + 1]]
        if own.min() < 0:
            score[s] = np.nan
            continue
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        score[s] = score_labelling(rows.shape[s], shapes, logs, own)
