"""The best labellings of a chain that agree and that disagree with the known one, y*, on a span of it.

With the best prefixes and suffixes

    best_t(j) = s_t(j) + max_i best_{t-1}(i) + ψ(i, j)        tail_t(i) = max_j ψ(i, j) + s_{t+1}(j) + tail_{t+1}(j)

both maxima take one pass over the span: the best disagreeing labelling first differs from y* at some position t of the
span. It equals y* on the span before t, and is the best one before the span and after t. Some segment schemes show the
end of a segment only by the next label (IOB2). Then y agrees only if the segment goes on after the span in both
labellings or in neither.

Ties go to the lowest state. Source: Suzuki 2006 eq. 5–8. Not here: the losses computed from these scores
(`span_losses`), other graphs (`inference.decoding.constrained_decoding`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import LANES, add, broadcast, inlined, load, maximum, repeat, store

Floats = NDArray[np.float64]


class Lattice(NamedTuple):
    """One sequence: transition scores, the known labelling, and the best score of paths through every state.

    The scores of moves into position t begin at t · step of `pair` and of `turned`; step 0: all positions share them.
    """

    length: int
    states: int
    width: int
    pair: Floats
    turned: Floats
    goes_on: NDArray[np.bool_]
    gold: NDArray[np.int32]
    score: Floats
    best: Floats
    tail: Floats
    after: Floats
    step: int


@inlined
def best_prefixes_and_suffixes(length, registers, states, width, moves, score, best, tail, after):
    """`best` and `tail` of every position, and after_t = s_t + tail_t.   moves: pair, turned and step of `Lattice`."""
    pair, turned, step = moves
    block = len(registers) * LANES
    lowest = broadcast(registers, -np.inf)
    end = (length - 1) * width
    for c in range(0, width, block):
        store(best, c, load(registers, score, c))
        store(tail, end + c, broadcast(registers, 0.0))
        store(after, end + c, load(registers, score, end + c))
    left, right = 0, end
    for t in range(1, length):
        for c in range(0, width, block):
            even, odd, even_back, odd_back = lowest, lowest, lowest, lowest
            row, back_row = t * step + c, (length - t) * step + c
            for i in range(0, states, 2):  # beyond the states `best` and `after` are -inf
                even = maximum(even, add(repeat(registers, best, left + i), load(registers, pair, row)))
                even_back = maximum(
                    even_back, add(repeat(registers, after, right + i), load(registers, turned, back_row))
                )
                odd = maximum(odd, add(repeat(registers, best, left + i + 1), load(registers, pair, row + width)))
                odd_back = maximum(
                    odd_back, add(repeat(registers, after, right + i + 1), load(registers, turned, back_row + width))
                )
                row += 2 * width
                back_row += 2 * width
            store(best, left + width + c, add(maximum(even, odd), load(registers, score, left + width + c)))
            back = maximum(even_back, odd_back)
            store(tail, right - width + c, back)
            store(after, right - width + c, add(back, load(registers, score, right - width + c)))
        left += width
        right -= width


@inlined
def best_agreeing(last, checked, lattice):
    """The best score of a path after `last`, the end of a span that agrees with y*, and the path's first state.

    The state is -1 where nothing restricts the path: at the end of the sequence, or if not `checked`.
    """
    length, states, width, pair, _, goes_on, gold, _, _, tail, after, step = lattice
    state = gold[last]
    if last == length - 1 or not checked:
        return tail[last * width + state], -1
    gold_goes_on, best, best_state = goes_on[state, gold[last + 1]], -np.inf, 0
    for j in range(states):
        score_of_state = pair[(last + 1) * step + state * width + j] + after[(last + 1) * width + j]
        if score_of_state > best and goes_on[state, j] == gold_goes_on:
            best, best_state = score_of_state, j
    return best, best_state


@inlined
def best_disagreeing(first, last, checked, lattice):
    """The best labelling that disagrees with y* on a span.

    Returns (its score, the score of y* up to `last`, the first position where it differs, its state there). The
    position is last + 1 if only the continuation of the last segment differs.
    """
    length, states, width, pair, _, goes_on, gold, score, best, tail, after, step = lattice
    peak, where, which = -np.inf, first, -1
    at = first * width
    start = best[at + gold[first]]
    for j in range(states):
        score_of_state = best[at + j] + tail[at + j]
        if score_of_state > peak and j != gold[first]:
            peak, which = score_of_state, j
    for t in range(first + 1, last + 1):
        move = t * step + gold[t - 1] * width
        for j in range(states):
            score_of_state = start + pair[move + j] + after[t * width + j]
            if score_of_state > peak and j != gold[t]:
                peak, where, which = score_of_state, t, j
        start += pair[move + gold[t]] + score[t * width + gold[t]]
    if checked and last + 1 < length:
        move, gold_goes = (last + 1) * step + gold[last] * width, goes_on[gold[last], gold[last + 1]]
        for j in range(states):
            score_of_state = start + pair[move + j] + after[(last + 1) * width + j]
            if score_of_state > peak and goes_on[gold[last], j] != gold_goes:
                peak, where, which = score_of_state, last + 1, j
    return peak, start, where, which


@inlined
def best_competitor(lattice, labelling):
    """The best labelling other than y* into `labelling`; False if there is none."""
    length, states, width, pair, _, _, gold, _, _, _, after, step = lattice
    peak, _, where, state = best_disagreeing(0, length - 1, False, lattice)
    if peak == -np.inf:
        return False
    for t in range(where):
        labelling[t] = gold[t]
    labelling[where] = state
    for t in range(where + 1, length):
        peak, best_state = -np.inf, 0
        for j in range(states):
            score_of_state = pair[t * step + state * width + j] + after[t * width + j]
            if score_of_state > peak:
                peak, best_state = score_of_state, j
        labelling[t] = state = best_state
    return True
