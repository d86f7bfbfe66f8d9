"""Score rows of the positions of a sequence: the labels of all variables side by side, each in whole registers.

Not here: what is computed from them (`automaton_sums`, `best_paths`).
"""

from __future__ import annotations

from ..runtime import LANES, add, broadcast, inlined, load, store
from ..tables import add_single, scatter_single

ONE, FOUR = (0,), (0, 0, 0, 0)  # registers


@inlined
def _add_rows(registers, packed, row, cell, width, weights, score, at):
    """score[at …] + the weights of the dense features of a packed row."""
    block = load(registers, score, at)
    for q in range(packed.dense_off[row], packed.dense_off[row + 1]):
        block = add(block, load(registers, weights, cell + packed.dense[q] * width))
    store(score, at, block)


@inlined
def _scatter_rows(registers, packed, row, cell, width, marginal, at, gradient):
    block = load(registers, marginal, at)
    for q in range(packed.dense_off[row], packed.dense_off[row + 1]):
        place = cell + packed.dense[q] * width
        store(gradient, place, add(block, load(registers, gradient, place)))


@inlined
def fill_score_row(s, t, automaton, kinds, bindings, rows, weights, score, begin):
    """Log scores of the labels at position t of sequence s into the row of `score` at `begin`."""
    packed = rows.packed
    for c in range(0, automaton.width, LANES):
        store(score, begin + c, broadcast(ONE, 0.0))
    for n in range(len(automaton.scored)):
        k = automaton.scored[n]
        at, row = begin + automaton.scored_at[n], rows.first_row[kinds.feature_set[k], s] + t
        if packed.is_packed[k]:
            row += packed.shift[k]
            size, width, start = kinds.size[k], packed.width[k], packed.dense_start[k]
            c = 0
            while c + 3 * LANES < size:
                _add_rows(FOUR, packed, row, start + c, width, weights, score, at + c)
                c += 4 * LANES
            while c < size:
                _add_rows(ONE, packed, row, start + c, width, weights, score, at + c)
                c += LANES
            add_single(packed, k, row, weights, score, at)
        else:
            valued = len(rows.value) > 0
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                x = rows.value[i] if valued else 1.0
                for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
                    score[at + bindings.entry[e]] += x * weights[packed.entry_shift[k] + e]


@inlined
def scatter_score_row(s, t, automaton, problem, marginal, begin, gradient):
    """Adds the marginals of position t of sequence s, in the row at `begin`, to the cells of the features that fire."""
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    packed, valued = rows.packed, len(rows.value) > 0
    for n in range(len(automaton.scored)):
        k = automaton.scored[n]
        if kinds.fixed[k]:
            continue
        at, row = begin + automaton.scored_at[n], rows.first_row[kinds.feature_set[k], s] + t
        if not packed.is_packed[k]:
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                x = rows.value[i] if valued else 1.0
                for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
                    gradient[packed.entry_shift[k] + e] += x * marginal[at + bindings.entry[e]]
            continue
        row += packed.shift[k]
        size, width, start = kinds.size[k], packed.width[k], packed.dense_start[k]
        scatter_single(packed, k, row, marginal, at, gradient)
        c = 0
        while c + 3 * LANES < size:
            _scatter_rows(FOUR, packed, row, start + c, width, marginal, at + c, gradient)
            c += 4 * LANES
        while c < size:
            _scatter_rows(ONE, packed, row, start + c, width, marginal, at + c, gradient)
            c += LANES
