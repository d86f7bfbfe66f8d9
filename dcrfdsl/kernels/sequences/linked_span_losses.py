"""The losses of spans of chains whose moves have scores of their own at each position, and their gradient.

The factors of a sequence are summed to the scores of states and of moves; from there on everything is as on chains
whose moves are the same everywhere (`chain.span_losses`). Counts of states and moves go back to the tables of all
factors. Not here: which graphs are such chains (`inference.bound.linked_chains`), other graphs (`span_competitors`).
"""

from __future__ import annotations

import numpy as np

from ..chain import (
    GatheredCounts,
    Lattice,
    SoftRows,
    add_any_loss,
    add_false_segments,
    best_competitor,
    best_prefixes_and_suffixes,
    propagate_counts,
)
from ..runtime import IMPOSSIBLE, OK, inner, kernel
from ..tables import copy_run, fill_tables, scatter_gradient


@inner
def _sum_factors(g, shapes, value, length, states, width, score, pair, turned):
    """The scores of states and of moves of a sequence of shape g, from the tables of its factors in `value`."""
    step = width * width
    for at in range(length * width):
        score[at] = 0.0 if at % width < states else -np.inf
    for at in range(step * length):
        pair[at] = turned[at] = 0.0
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at, first = shapes.fac_table[f], shapes.scope_off[f]
        if shapes.scope_off[f + 1] - first == 1:
            row = shapes.scope[first] * width
            for k in range(states):
                score[row + k] += value[at + k]
            continue
        left, right = shapes.scope[first], shapes.scope[first + 1]
        base, forward = max(left, right) * step, left < right
        for a in range(states):
            for b in range(states):
                i, j = (a, b) if forward else (b, a)
                pair[base + i * width + j] += value[at + a * states + b]
                turned[base + j * width + i] += value[at + a * states + b]


@inner
def _collect(s, problem, length, states, width, belief, counts, holds, mass, sums):
    """Adds the counts of states and of moves to the sums, table by table; they are 0 afterwards."""
    shapes, kinds, bindings, rows = problem
    g, step = rows.shape[s], width * width
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at, first = shapes.fac_table[f], shapes.scope_off[f]
        if shapes.scope_off[f + 1] - first == 1:
            row = shapes.scope[first] * width
            for k in range(states):
                mass[at + k] += belief[row + k]
            continue
        left, right = shapes.scope[first], shapes.scope[first + 1]
        base, forward = max(left, right) * step, left < right
        for a in range(states):
            for b in range(states):
                i, j = (a, b) if forward else (b, a)
                mass[at + a * states + b] += counts[base + i * width + j]
    for j in range(shapes.local_start):
        sums.expected[j] += mass[j]
    scatter_gradient(s, shapes, kinds, bindings, rows, mass, sums.expected, sums.gradient)
    for j in range(shapes.local_end[g]):
        mass[j] = 0.0
    for t in range(length):
        for row in range(len(holds)):
            holds[row, t] = False
    for at in range(length * width):
        belief[at] = 0.0
    for at in range(length * step):
        counts[at] = 0.0


@kernel
def linked_competitors(first, last, row, problem, potentials, labelling, judging, right, wrong, status, memory):
    """Σ weight · ℓ(d) over the spans of each sequence, and its gradient, into `right`; of false segments into `wrong`.

    row: the registers of a block, the states, and the width of a row.   right, wrong: `ErrorSums`.   labelling: y*.
    status: IMPOSSIBLE where y* is impossible; the loss is then nan.   memory: a workspace of chains with rows of this
    width, and three times width² cells a position, all 0.
    """
    (registers, states, width), (workspace, links) = row, memory
    shapes, kinds, bindings, rows = problem
    spans, marks, smoothing, find_false, shares, psi = judging
    longest, cells, along, other, holds = workspace
    part, linked = longest * width, longest * width * width
    score, best, tail = cells[:part], cells[part : 2 * part], cells[2 * part : 3 * part]
    after, soft = cells[3 * part : 4 * part], SoftRows(cells[4 * part : 5 * part], cells[5 * part : 6 * part])
    into, gone, belief = cells[6 * part : 7 * part], cells[7 * part : 8 * part], cells[8 * part : 9 * part]
    pair, turned, counts = links[:linked], links[linked : 2 * linked], links[2 * linked : 3 * linked]
    arena = shapes.local_start
    for s in range(first, last):
        arena = max(arena, shapes.local_end[rows.shape[s]])
    value, mass = np.empty(arena), np.zeros(arena)
    copy_run(potentials.log_base, 0, shapes.local_start, value)
    value[0] = 0.0
    for s in range(first, last):
        length, g = rows.token_off[s + 1] - rows.token_off[s], rows.shape[s]
        right.loss[s], wrong.loss[s], status[s] = 0.0, 0.0, OK
        if length == 0:
            continue
        gold = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, value)
        _sum_factors(g, shapes, value, length, states, width, score, pair, turned)
        step = width * width
        best_prefixes_and_suffixes(length, registers, states, width, (pair, turned, step), score, best, tail, after)
        lattice = Lattice(
            length, states, width, pair, turned, marks.goes_on, gold, score, best, tail, after, step
        )  # fmt: skip
        gathered = GatheredCounts(into, gone, along, belief, counts, holds)
        for i in range(spans.off[s], spans.off[s + 1]):
            right.loss[s] += add_any_loss(
                spans.first[i], spans.last[i], spans.checked[i], spans.weight[i], shares[0], lattice, smoothing, psi,
                gathered, soft,
            )  # fmt: skip
        if np.isnan(right.loss[s]):
            status[s] = IMPOSSIBLE
        propagate_counts(lattice, gathered)
        _collect(s, problem, length, states, width, belief, counts, holds, mass, right)
        if find_false and best_competitor(lattice, other):
            wrong.loss[s] = add_false_segments(shares[1], lattice, marks, smoothing, psi, other, gathered, soft)
            propagate_counts(lattice, gathered)
            _collect(s, problem, length, states, width, belief, counts, holds, mass, wrong)
