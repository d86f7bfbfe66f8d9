"""Sequences in lanes: those that advance together, and their score rows with one lane for each.

Sequences are taken in windows and sorted by length within them, so that most lanes have work until the last position.
What a lane computes never depends on the other lanes. A score row has the labels of all variables of a position side by
side, each in whole registers. Not here: what is computed from them (`automaton_sums`, `best_paths`).
"""

import numpy as np

from ..runtime import LANES, broadcast, inlined, inner, kernel, load, sort_ascending, store, transpose
from ..tables import move_packed
from .transitions import WINDOW

ONE = (0,)  # register


@inlined
def fill_score_row(s, t, automaton, kinds, bindings, rows, weights, score, begin):
    """Log scores of the labels at position t of sequence s into the row of `score` at `begin`."""
    packed = rows.packed
    for c in range(0, automaton.width, LANES):
        store(score, begin + c, broadcast(ONE, 0.0))
    for n in range(len(automaton.observed)):
        at, row = begin + automaton.row_start[automaton.visible + n], rows.first_row[automaton.observed[n], s] + t
        score[at : at + automaton.cards[automaton.visible + n]] = -np.inf
        score[at + rows.feature[rows.row_off[row]]] = 0.0
    for n in range(len(automaton.scored)):
        if t > 0 and automaton.at_first[n]:
            continue
        k = automaton.scored[n]
        at, row = begin + automaton.scored_at[n], rows.first_row[kinds.feature_set[k], s] + t
        if packed.is_packed[k]:
            size = (kinds.size[k] + LANES - 1) // LANES * LANES
            move_packed(packed, k, row + packed.shift[k], size, weights, score, at, False)
        else:
            valued = len(rows.value) > 0
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                x = rows.value[i] if valued else 1.0
                for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
                    score[at + bindings.entry[e]] += x * weights[packed.entry_shift[k] + e]
    if len(automaton.listed_off) > 0:
        token = rows.token_off[s] + t
        for i in range(automaton.listed_off[token], automaton.listed_off[token + 1]):
            score[begin + automaton.listed_at[i]] += weights[automaton.listed_cell[i]]


@inlined
def scatter_score_row(s, t, automaton, problem, marginal, begin, gradient):
    """Adds the marginals of position t of sequence s, in the row at `begin`, to the cells of the features that fire."""
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    packed, valued = rows.packed, len(rows.value) > 0
    for n in range(len(automaton.scored)):
        k = automaton.scored[n]
        if kinds.fixed[k] or (t > 0 and automaton.at_first[n]):
            continue
        at, row = begin + automaton.scored_at[n], rows.first_row[kinds.feature_set[k], s] + t
        if not packed.is_packed[k]:
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                x = rows.value[i] if valued else 1.0
                for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
                    gradient[packed.entry_shift[k] + e] += x * marginal[at + bindings.entry[e]]
            continue
        size = (kinds.size[k] + LANES - 1) // LANES * LANES
        move_packed(packed, k, row + packed.shift[k], size, gradient, marginal, at, True)
    if len(automaton.listed_off) > 0:
        token = rows.token_off[s] + t
        for i in range(automaton.listed_off[token], automaton.listed_off[token + 1]):
            gradient[automaton.listed_cell[i]] += marginal[begin + automaton.listed_at[i]]


@kernel
def list_rows(scored, scored_at, kinds, bindings, rows):
    """The features of the kinds `scored`, none of which is packed or has values, in one list for each token of the
    data: `listed_off`, `listed_cell` and `listed_at`, see `Automaton`. Segments have a kind for each length.
    """
    off = np.zeros(rows.token_off[-1] + 1, np.int64)
    cell, place = np.empty(0, np.int32), np.empty(0, np.int16)
    for filling in range(2):  # counts, then writes
        count = 0
        for s in range(len(rows.token_off) - 1):
            for token in range(rows.token_off[s], rows.token_off[s + 1]):
                for n in range(len(scored)):
                    k = scored[n]
                    row = rows.first_row[kinds.feature_set[k], s] + token - rows.token_off[s]
                    for i in range(rows.row_off[row], rows.row_off[row + 1]):
                        run = kinds.run_base[k] + rows.feature[i]
                        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
                            if filling:
                                cell[count] = rows.packed.entry_shift[k] + e
                                place[count] = scored_at[n] + bindings.entry[e]
                            count += 1
                off[token + 1] = count
        if not filling:
            cell, place = np.empty(count, np.int32), np.empty(count, np.int16)
    return off, cell, place


@inner
def sort_window(first, last, longest, token_off, order):
    """Puts the sequences first … last − 1 that have 1 to `longest` positions into `order`, by length. Their number."""
    count = 0
    for s in range(first, last):
        length = token_off[s + 1] - token_off[s]
        if 0 < length <= longest:
            order[count] = length * WINDOW + (s - first)
            count += 1
    sort_ascending(order, count)
    for n in range(count):
        order[n] = first + order[n] % WINDOW
    return count


@inlined
def load_lanes(begin, count, token_off, workspace):
    """Gives each lane a sequence: of `count` sorted ones those from `begin` on. Returns the greatest length."""
    lanes = len(workspace.sequence)
    most = 0
    for n in range(lanes):
        workspace.length[n] = 0
        if begin + n < count:
            s = workspace.order[begin + n]
            workspace.sequence[n] = s
            workspace.length[n] = token_off[s + 1] - token_off[s]
            most = max(most, workspace.length[n])
    return most


@inlined
def turn(rows, at, height, width, turned):
    """Transposes a table of height × width numbers, whole registers each, that begins at `at`.   turned: as large."""
    for c in range(0, width, LANES):
        for n in range(0, height, LANES):
            transpose(rows, at + n * width + c, width, turned, c * height + n, height)
    for c in range(0, height * width, LANES):
        store(rows, at + c, load(ONE, turned, c))


@inlined
def score_lanes(longest, automaton, problem, weights, workspace):
    """Log scores of the positions up to `longest` in lanes, into `rows`; -inf beyond a sequence's end.

    Sequence by sequence, since what is read of neighbouring positions is near, and only then in lanes.
    """
    width, lanes = automaton.width, len(automaton.registers) * LANES
    for n in range(lanes):
        for t in range(longest):
            begin = (t * lanes + n) * width
            if t < workspace.length[n]:
                fill_score_row(
                    workspace.sequence[n], t, automaton, problem.kinds, problem.bindings, problem.rows, weights,
                    workspace.rows, begin,
                )  # fmt: skip
            else:
                for c in range(begin, begin + width, LANES):
                    store(workspace.rows, c, broadcast(ONE, -np.inf))
    for t in range(longest):
        turn(workspace.rows, t * lanes * width, lanes, width, workspace.marginal)
