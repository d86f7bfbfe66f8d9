"""Exact inference on long sequences, block by block. It needs memory for one block and for results between blocks.

The forward sweep keeps only the results that later blocks read. The backward sweep takes the blocks from the last to
the first. It computes the tables and results of each block again from what was kept, and then treats the block as a
sequence of its own (checkpointing, Griewank 1992; with one level the work grows by one forward sweep). Each block moves
to the front of the arena, where the kernels for whole sequences run on a copy of its wiring with other offsets. The
kernels here are called, and therefore compiled, only for data whose sequences have blocks. Not here: where blocks are
cut (`graph.sequence_programs`).
"""

import numpy as np

from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, kernel
from ..tables import (
    Problem,
    Programs,
    Shapes,
    add_run,
    copy_run,
    exponentiate,
    fill_tables,
    multiply_run,
    scatter_gradient,
    shared_peaks,
)
from .contraction import backward_log, forward_log, forward_max, trace_back
from .linear_sweeps import backward_linear, forward_linear, sweep_memory

LINEAR, LOG, MAX = 0, 1, 2  # what the arena holds: numbers, logarithms to be summed, or logarithms to be maximised
FIRST_STEP, LAST_STEP, FIRST_CELL, LAST_CELL, REACH, FIRST_RESULT, LAST_RESULT, FIRST_FACTOR, LAST_FACTOR = range(9)


@kernel
def _factors_of(g, block, problem, programs):
    """The problem restricted to a block's local factors in shape g, with their tables at the front of the arena."""
    shapes = problem.shapes
    bounds = programs.block[block]
    count = bounds[LAST_FACTOR] - bounds[FIRST_FACTOR]
    kind, anchor = np.empty(count, np.int32), np.empty(count, np.int32)
    table, size = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        f = shapes.fac_off[g] + programs.block_factor[bounds[FIRST_FACTOR] + i]
        kind[i], anchor[i], size[i] = shapes.fac_kind[f], shapes.fac_anchor[f], shapes.fac_size[f]
        table[i] = shapes.fac_table[f] - bounds[FIRST_CELL] + shapes.local_start
    fac_off = np.zeros_like(shapes.fac_off)
    fac_off[g + 1] = count
    block_shapes = Shapes(
        shapes.var_off, shapes.card, shapes.state_off, fac_off, kind, anchor, table, size, shapes.scope_off,
        shapes.scope, shapes.local_start, shapes.local_end, shapes.arena_end, shapes.log_const,
    )  # fmt: skip
    return Problem(block_shapes, problem.kinds, problem.bindings, problem.rows)


@kernel
def _steps_of(g, block, shapes, programs):
    """A program of the block's steps alone. In its arena, results of earlier blocks follow the tables, then its own."""
    bounds = programs.block[block]
    a, b = programs.step_off[g] + bounds[FIRST_STEP], programs.step_off[g] + bounds[LAST_STEP]
    step = programs.step[a:b].copy()
    table_move = bounds[FIRST_CELL] - shapes.local_start
    result_move = bounds[REACH] - _first_result(block, shapes, programs)
    for i in range(b - a):
        for operand in range(1, 4):
            if step[i, operand] >= shapes.local_end[g]:
                step[i, operand] -= result_move
            elif step[i, operand] >= shapes.local_start:
                step[i, operand] -= table_move
    return Programs(
        programs.step_off, step, programs.variable[a:b], programs.step_card[a:b], programs.axis_off[2 * a : 2 * b + 1],
        programs.axis_var, programs.axis_stride, programs.block_off, programs.block, programs.block_factor,
        programs.workspace,
    )  # fmt: skip


@kernel
def _first_result(block, shapes, programs):
    """Where in the arena the results that a block reads begin: after its tables."""
    return shapes.local_start + programs.block[block, LAST_CELL] - programs.block[block, FIRST_CELL]


@kernel
def _passed_on(block, shapes, programs):
    """(from, to) in the arena of a block: the results, its own and earlier ones, that the next block reads."""
    at = _first_result(block, shapes, programs) - programs.block[block, REACH]
    return at + programs.block[block + 1, REACH], at + programs.block[block, LAST_RESULT]


@kernel
def _sweep_up(s, space, factors, steps, patterns, potentials, value, scale):
    """Computes the tables and results of a block. Returns (its part of log Z or of the score, status)."""
    shapes, kinds, bindings, rows = factors
    count = len(steps.step)
    fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, value)
    if space == LINEAR:
        shift, fits = exponentiate(rows.shape[s], shapes, value)
        if not fits:
            return 0.0, UNDERFLOW
        total, state = forward_linear(np.int64(0), count, steps, patterns, value, scale)
        return total + shift, state
    if space == LOG:
        total = forward_log(np.int64(0), count, steps, patterns, value, True)
    else:
        total = forward_max(np.int64(0), count, steps, patterns, value)
    return total, OK if total > -np.inf else IMPOSSIBLE


@kernel
def _first_sweep(s, space, problem, programs, patterns, potentials, value, scale, kept, kept_off):
    """Runs all blocks from the first to the last; the arena is left with the last one.

    kept: the results that each block reads from earlier ones, laid end to end. Returns (log Z or score, status).
    """
    shapes, g = problem.shapes, problem.rows.shape[s]
    first, last = programs.block_off[g], programs.block_off[g + 1]
    total = 0.0
    for block in range(first, last):
        n = block - first
        at = _first_result(block, shapes, programs)
        copy_run(kept, kept_off[n], kept_off[n + 1] - kept_off[n], value[at:])
        factors, steps = _factors_of(g, block, problem, programs), _steps_of(g, block, shapes, programs)
        part, state = _sweep_up(s, space, factors, steps, patterns, potentials, value, scale)
        if state != OK:
            return -np.inf, state
        total += part
        if block + 1 < last:
            a, b = _passed_on(block, shapes, programs)
            copy_run(value, a, b - a, kept[kept_off[n + 1] :])
    return total, OK


@kernel
def _workspace_between(g, programs):
    """Offsets [blocks + 1] of the results that each block reads from earlier ones; and the most steps of a block."""
    blocks = programs.block[programs.block_off[g] : programs.block_off[g + 1]]
    kept_off, steps = np.zeros(len(blocks) + 1, np.int64), 0
    for n in range(len(blocks)):
        kept_off[n + 1] = kept_off[n] + blocks[n, FIRST_RESULT] - blocks[n, REACH]
        steps = max(steps, blocks[n, LAST_STEP] - blocks[n, FIRST_STEP])
    return kept_off, steps


@kernel
def _expectations(s, space, problem, programs, patterns, potentials, totals, out, value, adjoint, root):
    """log Z of sequence s, and its expectations times `root`, which are added to the totals unless these are empty.

    space: LINEAR or LOG. The shared cells of `value` hold the base tables in that space. To those of `adjoint` are
    added the derivatives of log Z by them (LINEAR) or their expectations (LOG). out: marginals of the sequence's
    states, or empty. Returns (log Z but for constants, status); after UNDERFLOW nothing was added.
    """
    shapes, kinds, bindings, rows = problem
    g = rows.shape[s]
    first, last, shared = programs.block_off[g], programs.block_off[g + 1], shapes.local_start
    kept_off, most = _workspace_between(g, programs)
    kept, scale = np.empty(kept_off[-1]), np.empty(most)
    total, state = _first_sweep(s, space, problem, programs, patterns, potentials, value, scale, kept, kept_off)
    if state != OK:
        return total, state
    state_off, memory = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]], sweep_memory(patterns, shared)
    pulled = np.empty(0)  # the adjoints of what later blocks read
    for block in range(last - 1, first - 1, -1):
        n, at = block - first, _first_result(block, shapes, programs)
        factors, steps = _factors_of(g, block, problem, programs), _steps_of(g, block, shapes, programs)
        count, num_read = len(steps.step), kept_off[n + 1] - kept_off[n]
        end = at + programs.block[block, LAST_RESULT] - programs.block[block, REACH]
        adjoint[shared:end] = 0.0
        if block + 1 < last:
            copy_run(kept, kept_off[n], num_read, value[at:])
            _sweep_up(s, space, factors, steps, patterns, potentials, value, scale)
            a, b = _passed_on(block, shapes, programs)
            copy_run(pulled, 0, b - a, adjoint[a:])
        if space == LINEAR:
            backward_linear(
                np.int64(0), count, steps, patterns, value, scale, adjoint, (state_off, out), root, memory, at, True
            )
            multiply_run(value, shared, at - shared, adjoint[shared:at])
        else:
            backward_log(np.int64(0), count, steps, patterns, value, adjoint, state_off, out, root)
        if len(totals.gradient) > 0:
            scatter_gradient(s, factors.shapes, kinds, bindings, rows, adjoint, totals.expected, totals.gradient)
        pulled = adjoint[at : at + num_read].copy()
    return total, OK


@kernel
def _decode(s, problem, programs, patterns, potentials, logs, assignment):
    """Writes the best labelling of sequence s to `assignment`, all 0 before. Returns its score, -inf if there is none.

    The shared cells of `logs` hold the base tables.
    """
    shapes, g = problem.shapes, problem.rows.shape[s]
    first, last = programs.block_off[g], programs.block_off[g + 1]
    kept_off, _ = _workspace_between(g, programs)
    kept, scale = np.empty(kept_off[-1]), np.empty(0)
    space = np.int64(MAX)
    score, state = _first_sweep(s, space, problem, programs, patterns, potentials, logs, scale, kept, kept_off)
    if state != OK:
        return -np.inf
    for block in range(last - 1, first - 1, -1):
        n, at = block - first, _first_result(block, shapes, programs)
        factors, steps = _factors_of(g, block, problem, programs), _steps_of(g, block, shapes, programs)
        if block + 1 < last:
            copy_run(kept, kept_off[n], kept_off[n + 1] - kept_off[n], logs[at:])
            _sweep_up(s, space, factors, steps, patterns, potentials, logs, scale)
        trace_back(np.int64(0), len(steps.step), steps, logs, assignment)
    return score


@kernel
def blocked_expectations(
    first, last, problem, programs, patterns, potentials, totals, results, marginals, value, adjoint, share
):
    """As `sequences.exact_expectations`, for those sequences of the run that are computed in blocks."""
    shapes, rows, base, expected = problem.shapes, problem.rows, potentials.base, totals.expected
    shared = shapes.local_start
    cells = max(shared, 1)
    for s in range(first, last):
        if programs.block_off[rows.shape[s]] < programs.block_off[rows.shape[s] + 1]:
            cells = max(cells, programs.workspace[rows.shape[s]])
    logs, log_adjoint, kept = np.empty(cells), np.zeros(shared), np.empty(shared)
    copy_run(base, 0, shared, value)
    copy_run(potentials.log_base, 0, shared, logs)
    logs[0] = 0.0
    adjoint[:shared] = 0.0
    nothing = np.empty(0)
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] == programs.block_off[g + 1]:
            continue
        out = marginals.value[marginals.off[s] : marginals.off[s + 1]] if len(marginals.value) > 0 else nothing
        root = share[s] if len(share) > 0 else 1.0
        state, total = UNDERFLOW, 0.0
        if potentials.fits and potentials.products_fit:
            total, state = _expectations(
                s, np.int64(LINEAR), problem, programs, patterns, potentials, totals, out, value, adjoint, root
            )
            total += shared_peaks(g, shapes, potentials.peaks)
        if state == UNDERFLOW:
            results.redone[s] = True
            copy_run(adjoint, 0, shared, kept)
            adjoint[:shared] = 0.0
            total, state = _expectations(
                s, np.int64(LOG), problem, programs, patterns, potentials, totals, out, logs, adjoint, root
            )
            add_run(adjoint, 0, shared, log_adjoint)
            copy_run(kept, 0, shared, adjoint)
        results.status[s] = state
        results.log_z[s] = total + shapes.log_const[g] if state == OK else -np.inf
    for j in range(shared):
        expected[j] += adjoint[j] * base[j] + log_adjoint[j]


@kernel
def blocked_decode(first, last, problem, programs, patterns, potentials, score, labelling):
    """As `sequences.exact_decode`, for those sequences of the run that are computed in blocks."""
    shapes, rows = problem.shapes, problem.rows
    cells = max(shapes.local_start, 1)
    for s in range(first, last):
        if programs.block_off[rows.shape[s]] < programs.block_off[rows.shape[s] + 1]:
            cells = max(cells, programs.workspace[rows.shape[s]])
    logs = np.empty(cells)
    copy_run(potentials.log_base, 0, shapes.local_start, logs)
    logs[0] = 0.0
    for s in range(first, last):
        g = rows.shape[s]
        if programs.block_off[g] == programs.block_off[g + 1]:
            continue
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        sequence_labels[:] = 0
        score[s] = _decode(s, problem, programs, patterns, potentials, logs, sequence_labels)
        if score[s] == -np.inf:
            sequence_labels[:] = -1
