"""The best labelling of a chain (Viterbi), by the same vectors as its sums.

    best_t(j) = s_t(j) + max_i best_{t-1}(i) + log ψ(i, j)

The maximum of each row is subtracted and added up separately, so sums over a million positions keep their digits. No
back pointers are stored: the backward pass searches the best move into each state again. Source: Rabiner 1989 §III.B.
"""

from __future__ import annotations

import numpy as np

from ..runtime import LANES, add, broadcast, entry, inlined, largest, load, maximum, repeat, store, subtract
from .chain_scores import score_positions


@inlined
def _forward_max(length, chain, score, best):
    """best_t(j) = s_t(j) + max_i best_{t-1}(i) + log ψ(i, j), less each maximum. Returns the sum of the maxima."""
    registers, states, width = chain.registers, chain.states, chain.width
    pair = chain.pair
    block = len(registers) * LANES
    lowest_of_all = broadcast(registers, -np.inf)
    result = 0.0
    for t in range(length):
        at = t * width
        high = lowest_of_all
        for c in range(0, width, block):
            block_best = load(registers, score, at + c)
            if t > 0:
                before = at - width
                even, odd = lowest_of_all, lowest_of_all
                row = c
                for i in range(0, states, 2):  # beyond the states `best` is -inf
                    even = maximum(even, add(repeat(registers, best, before + i), load(registers, pair, row)))
                    odd = maximum(odd, add(repeat(registers, best, before + i + 1), load(registers, pair, row + width)))
                    row += 2 * width
                block_best = add(block_best, maximum(even, odd))
            store(best, at + c, block_best)
            high = maximum(high, block_best)
        peak = largest(high)
        if not peak > -np.inf:
            return -np.inf
        result += peak
        taken = broadcast(registers, peak)
        for c in range(0, width, block):
            store(best, at + c, subtract(load(registers, best, at + c), taken))
    return result


@inlined
def _trace_back(length, chain, best, labelling):
    """The states of the best labelling from a finished `_forward_max`; ties to the lowest state."""
    states, width = chain.states, chain.width
    row = best[(length - 1) * width : (length - 1) * width + states]
    state = 0
    for i in range(1, states):
        if row[i] > row[state]:
            state = i
    labelling[length - 1] = state
    for t in range(length - 2, -1, -1):
        row = best[t * width : t * width + states]
        move = chain.pair_turned[state * width : state * width + states]
        state, peak = 0, row[0] + move[0]
        for i in range(1, states):
            x = row[i] + move[i]
            if x > peak:
                state, peak = i, x
        labelling[t] = state


@entry
def chain_decode(first, last, chain, problem, weights, score_of, labelling, workspace):
    """The best labelling of each sequence (Viterbi), as `sequences.exact_decode`, and its score into `score_of` [S].

    The score is nan where a sequence is longer than the workspace allows. The tables of `chain` are logarithms.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    longest, cells = workspace
    part = longest * chain.width
    score, best = cells[:part], cells[part : 2 * part]
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        score_of[s] = 0.0
        if length == 0:
            continue
        if length > longest:
            score_of[s] = np.nan
            continue
        sequence_labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        score_of[s] = _forward_max(length, chain, score, best) + (length - 1) * chain.pair_peak
        if score_of[s] > -np.inf:
            _trace_back(length, chain, best, sequence_labels)
        else:
            sequence_labels[:] = -1
