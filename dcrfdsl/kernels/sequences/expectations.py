"""Inference over a run of sequences in one call without the interpreter: tables, inference, expectations.

Each function processes the sequences first … last − 1 with one arena. Results are written at the index of the sequence
(log Z, status) or added to the caller's buffers (gradient), so threads may compute runs into different buffers. In
linear space, exact inference allocates nothing per sequence.

A sequence that leaves the range of linear space is computed again in log space (`redone`), by a kernel of its own; one
without a possible labelling gets log Z = -inf. The exact kernels skip sequences in blocks, which `exact.checkpointing`
computes.
"""

import numpy as np

from ..exact import backward_linear, backward_log, forward_linear, forward_log, forward_max, sweep_memory, trace_back
from ..messages import (
    LEAST_RECALLED,
    add_up,
    largest_sequence,
    message_labelling,
    node_potentials,
    propagate,
    read_beliefs,
    read_labelling,
    recall,
    record_run,
    remember,
    score_labelling,
)
from ..runtime import BROKEN, GAVE_UP, IMPOSSIBLE, OK, UNDERFLOW, inner, kernel
from ..tables import add_run, copy_run, exponentiate, fill_tables, multiply_run, scatter_gradient, shared_peaks


@inner
def _largest_table(shapes):
    most = 1
    for f in range(len(shapes.fac_size)):
        most = max(most, shapes.fac_size[f])
    return most


@inner
def _longest_messages(rows, edges, first, last):
    """The most cells that the messages of one sequence take."""
    longest = 0
    for s in range(first, last):
        longest = max(longest, edges.messages[rows.shape[s]])
    return longest


@inner
def _workspace(shapes, programs, rows, first, last):
    """Arena cells and steps that the sequences of a run need, without those in blocks."""
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

    A sequence that leaves linear space gets the status `UNDERFLOW` and is left to `exact_log_expectations`, which most
    data does not need and which is then not compiled.
    totals: added to; an empty gradient means that only marginals are wanted.   marginals: in the state order of each
    shape.   share [S]: a factor of the expectations of each sequence; empty: 1.   Without gradient and marginals only
    log Z is computed.
    value, adjoint: memory for the longest arena, overwritten. The caller owns it because it is large, and allocating it
    in each call would cost time.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base, base, peaks, base_fits, products_fit = potentials
    gradient, expected = totals
    log_z, status = results.log_z, results.status
    _, steps = _workspace(shapes, programs, rows, first, last)
    scale, shared = np.empty(steps), shapes.local_start
    copy_run(base, 0, shared, value)
    adjoint[:shared] = 0.0
    wanted = len(marginals.value) > 0
    looked_at = wanted or len(gradient) > 0
    nothing, memory = np.empty(0), sweep_memory(patterns, shared)
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1]:
            continue
        a, b = programs.step_off[g], programs.step_off[g + 1]
        local_end = shapes.local_end[g]
        state, total = UNDERFLOW, 0.0
        if base_fits and products_fit:
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
            shift, fits = exponentiate(g, shapes, value)
            if fits:
                total, state = forward_linear(a, b, programs, patterns, value, scale)
                total += shift + shared_peaks(g, shapes, peaks)
        if state == OK and looked_at:
            state_off = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]]
            out = marginals.value[marginals.off[s] : marginals.off[s + 1]] if wanted else nothing
            root = share[s] if len(share) > 0 else 1.0
            adjoint[shared:local_end] = 0.0
            backward_linear(
                a, b, programs, patterns, value, scale, adjoint, (state_off, out), root, memory, local_end, True
            )
            multiply_run(value, shared, local_end - shared, adjoint[shared:local_end])
        status[s], results.redone[s] = state, state == UNDERFLOW
        log_z[s] = total + shapes.log_const[g] if state == OK else -np.inf
        if state == OK and len(gradient) > 0:
            scatter_gradient(s, shapes, kinds, bindings, rows, adjoint, expected, gradient)
    for j in range(shared):
        expected[j] += adjoint[j] * base[j]


@kernel
def exact_log_expectations(
    first, last, problem, programs, patterns, potentials, totals, results, marginals, value, adjoint, share
):
    """`exact_expectations` in log space, for the sequences whose status is `UNDERFLOW` only."""
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    gradient, expected = totals
    shared, looked_at = shapes.local_start, len(marginals.value) > 0 or len(gradient) > 0
    copy_run(log_base, 0, shared, value)
    value[0] = 0.0
    nothing, log_adjoint = np.empty(0), np.zeros(shared)
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1] or results.status[s] != UNDERFLOW:
            continue
        a, b = programs.step_off[g], programs.step_off[g + 1]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
        total = forward_log(a, b, programs, patterns, value, True)
        state = OK if total > -np.inf else IMPOSSIBLE
        if state == OK and looked_at:
            state_off = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]]
            out = marginals.value[marginals.off[s] : marginals.off[s + 1]] if len(marginals.value) > 0 else nothing
            adjoint[: shapes.arena_end[g]] = 0.0
            root = share[s] if len(share) > 0 else 1.0
            backward_log(a, b, programs, patterns, value, adjoint, state_off, out, root)
            add_run(adjoint, 0, shared, log_adjoint)
        results.status[s] = state
        results.log_z[s] = total + shapes.log_const[g] if state == OK else -np.inf
        if state == OK and len(gradient) > 0:
            scatter_gradient(s, shapes, kinds, bindings, rows, adjoint, expected, gradient)
    add_run(log_adjoint, 0, shared, expected)


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
    """Σ log φ at the labelling of each sequence, into `score` [S]; nan where a label is unknown (negative)."""
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, _ = largest_sequence(shapes, rows, first, last)
    logs = np.empty(arena)
    copy_run(log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        if len(sequence_labels) > 0 and sequence_labels.min() < 0:
            score[s] = np.nan
            continue
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        score[s] = score_labelling(rows.shape[s], shapes, logs, sequence_labels)


# messages -----------------------------------------------------------------------------------------------------------


@kernel
def message_expectations(first, last, problem, edges, potentials, sweeps, control, totals, results, marginals, start):
    """As `exact_expectations`, by message passing: Bethe log Z and pseudo-marginals (Sutton eq. 6).

    A sequence that leaves linear space gets the status `UNDERFLOW` and is left to `message_log_expectations`, which
    most data does not need and which is then not compiled.   sweeps: see `propagate`.   start: messages that each
    sequence starts from and leaves. At nearby weights, the next call then needs fewer rounds and stays at the same
    fixed point.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base, base, peaks, base_fits, _ = potentials
    arena, states = largest_sequence(shapes, rows, first, last)
    shared = shapes.local_start
    value, belief = np.empty(arena), np.zeros(arena)
    node, var_belief, scratch = np.empty(states), np.empty(states), np.empty(_largest_table(shapes))
    message = np.empty(_longest_messages(rows, edges, first, last))
    copy_run(base, 0, shared, value)
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
                    warm = recall(start, s, edges.messages[g], LEAST_RECALLED, message)
                    converged, rounds, left, state, damped = propagate(
                        g, shapes, edges, value, node, message, sweeps, control, False, False, warm
                    )
                    run = converged, rounds, left, damped
                    remember(start, s, state, message, edges.messages[g])
        if state == UNDERFLOW:
            results.redone[s], results.status[s] = True, UNDERFLOW
            continue
        bethe = -np.inf
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            bethe = read_beliefs(g, shapes, edges, value, node, message, False, var_belief, belief, scratch)
            if bethe == -np.inf:
                state = IMPOSSIBLE
        record_run(s, state, run, results)
        add_up(s, state, bethe + taken + shift, problem, var_belief, belief, totals, results, marginals)
    add_run(belief, 0, shared, totals.expected)


@kernel
def message_log_expectations(first, last, problem, edges, potentials, sweeps, control, totals, results, marginals):
    """`message_expectations` in log space, for the sequences whose status is `UNDERFLOW` only."""
    shapes, kinds, bindings, rows = problem
    arena, states = largest_sequence(shapes, rows, first, last)
    shared = shapes.local_start
    logs, belief = np.empty(arena), np.zeros(arena)
    node, var_belief, scratch = np.empty(states), np.empty(states), np.empty(_largest_table(shapes))
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
        record_run(s, state, run, results)
        add_up(s, state, bethe + taken, problem, var_belief, belief, totals, results, marginals)
    add_run(belief, 0, shared, totals.expected)


@kernel
def message_decode(first, last, problem, edges, potentials, sweeps, control, results, labelling, mending):
    """A good labelling of each sequence by max-product messages; best on trees, approximate on loops.

    Where the labelling breaks a hard constraint, the status is `BROKEN`. A second call then looks for one that does
    not, for these sequences alone.   mending: True in that call, else None, whose type decides what is compiled.
    """
    shapes, kinds, bindings, rows = problem
    arena, states = largest_sequence(shapes, rows, first, last)
    logs, node, message = np.empty(arena), np.empty(states), np.empty(_longest_messages(rows, edges, first, last))
    copy_run(potentials.log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        if mending is not None and results.status[s] != BROKEN:
            continue
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        sequence_labels[:] = -1
        fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, logs)
        run, (_, state) = (False, 0, 0.0, False), node_potentials(rows.shape[s], shapes, logs, True, node)
        if state == OK:
            converged, rounds, left, state, damped = propagate(
                rows.shape[s], shapes, edges, logs, node, message, sweeps, control, True, True, False
            )
            run = converged, rounds, left, damped
        if state == OK:
            if mending is None:
                read_labelling(rows.shape[s], shapes, edges, logs, node, message, sequence_labels)
                if score_labelling(rows.shape[s], shapes, logs, sequence_labels) == -np.inf:
                    state = BROKEN
            else:
                state = message_labelling(rows.shape[s], shapes, edges, logs, node, message, sequence_labels)
                if state == GAVE_UP:
                    run, state = (False, run[1], np.inf, run[3]), OK
        record_run(s, state, run, results)
