"""The best labelling of a chain (Viterbi), and the best ones that agree or disagree with a known labelling y*.

    best_t(j) = s_t(j) + max_i best_{t-1}(i) + log ψ(i, j)

The maximum of each row is subtracted and added up separately, so sums over a million positions keep their digits. No
back pointers are stored: the backward pass searches the best move into each state again. Source: Rabiner 1989 §III.B.

For competitors the best prefixes and suffixes are kept, ψ standing for its logarithm:

    best_t(j) = s_t(j) + max_i best_{t-1}(i) + ψ(i, j)        tail_t(i) = max_j ψ(i, j) + s_{t+1}(j) + tail_{t+1}(j)

Both maxima, of labellings that agree with y* on a span and of those that do not, take one pass over the span: the best
disagreeing labelling first differs from y* at some position t of the span. It equals y* on the span before t, and is
the best one before the span and after t. Some segment schemes show the end of a segment only by the next label (IOB2).
Then y agrees only if the segment goes on after the span in both labellings or in neither. Where the span is the whole
sequence, this is the best labelling other than the known one; where the known one is best, the second best.

Ties go to the first position and the lowest state. Sources: Suzuki 2006 eq. 5–8; Altun & Hofmann 2003 §5. On chunks and
tags of CoNLL-2000, 20 and 42 states at trained weights, the best other labelling is found 2.2 to 2.4 times as fast as
by `sequences.span_competitors`, which does it on other graphs. Not here: losses made of these scores (`span_losses`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints32, Mask
from ..runtime import (
    LANES,
    add,
    aligned_zeros,
    block_registers,
    broadcast,
    choose_below,
    entry,
    inlined,
    kernel,
    largest,
    load,
    lowest,
    maximum,
    multiply,
    padded,
    repeat,
    store,
    subtract,
)
from .chain_scores import score_positions


@inlined
def _best_moves(chain, best, before, c):
    """max_i best(i) + log ψ(i, j) for the block of states j that begins at c; `before` is where the row best(i) is."""
    registers, width, pair = chain.registers, chain.width, chain.pair
    even, odd = broadcast(registers, -np.inf), broadcast(registers, -np.inf)
    row = c
    for i in range(0, chain.states, 2):  # beyond the states `best` is -inf
        even = maximum(even, add(repeat(registers, best, before + i), load(registers, pair, row)))
        odd = maximum(odd, add(repeat(registers, best, before + i + 1), load(registers, pair, row + width)))
        row += 2 * width
    return maximum(even, odd)


@inlined
def _forward_max(length, chain, score, best):
    """best_t(j) = s_t(j) + max_i best_{t-1}(i) + log ψ(i, j), less each maximum. Returns the sum of the maxima."""
    registers, width = chain.registers, chain.width
    block = len(registers) * LANES
    lowest_of_all = broadcast(registers, -np.inf)
    result = 0.0
    for t in range(length):
        at = t * width
        high = lowest_of_all
        for c in range(0, width, block):
            block_best = load(registers, score, at + c)
            if t > 0:
                block_best = add(block_best, _best_moves(chain, best, at - width, c))
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


class Moves(NamedTuple):
    """Logarithms ψ(i, j) of the moves of a chain, in rows of `width` cells; -inf beyond the states."""

    registers: tuple[int, ...]  # of a block, see `machine_vectors`
    states: int
    width: int
    pair: Floats  #        [width · width]  i → j
    pair_turned: Floats  # [width · width]  j → i


def moves_of(between: Floats) -> Moves:
    """The form of moves [L, L] that `decode_scores` reads."""
    states = len(between)
    width = padded(states)
    pair, turned = aligned_zeros(width * width), aligned_zeros(width * width)
    for flat, table in ((pair, between), (turned, between.T)):
        flat[:] = -np.inf
        flat.reshape(width, width)[:states, :states] = table
    return Moves((0,) * block_registers(states), states, width, pair, turned)


@entry
def sum_rows(off, codes, values, table, moves, score):
    """Fills score [N · width], row n with the sum of values · rows of the table [.., width], listed from off[n] on."""
    registers, width = moves.registers, moves.width
    for n in range(len(off) - 1):
        for c in range(0, width, len(registers) * LANES):
            row = broadcast(registers, 0.0)
            for m in range(off[n], off[n + 1]):
                of_code = load(registers, table, np.int64(codes[m]) * width + c)
                row = add(row, multiply(repeat(registers, values, m), of_code))
            store(score, n * width + c, row)


@entry
def decode_scores(sequence_off, moves, score, labelling):
    """The best labelling [N] of sequences whose scores [N · width], 0 beyond the states, make room for their best_t(j).

    As in `chain_decode`, but nothing is subtracted: sums are those of the formula, in its order, and so are ties.
    """
    registers, width = moves.registers, moves.width
    for s in range(len(sequence_off) - 1):
        first, last = sequence_off[s], sequence_off[s + 1]
        for t in range(first + 1, last):
            for c in range(0, width, len(registers) * LANES):
                at = t * width + c
                store(score, at, add(_best_moves(moves, score, (t - 1) * width, c), load(registers, score, at)))
        if last > first:
            _trace_back(last - first, moves, score[first * width : last * width], labelling[first:last])


# labellings that agree or disagree with the known one on a span -------------------------------------------------------


COUNTED = np.arange(512.0)  # at least as many numbers as a block of registers has cells


class Lattice(NamedTuple):
    """One sequence: transition scores, the known labelling, and the best score of paths through every state.

    The scores of moves into position t begin at t · step of `pair` and of `turned`; step 0: all positions share them.
    """

    registers: tuple[int, ...]
    length: int
    states: int
    width: int
    pair: Floats
    turned: Floats
    goes_on: Mask
    gold: Ints32
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
def best_but(but, start, scores, at, further, place, lattice):
    """max_j start + scores[at + j] + further[place + j] over the states j ≠ `but`, and the lowest state that has it."""
    registers, block = lattice.registers, len(lattice.registers) * LANES
    bottom, excluded, number = broadcast(registers, -np.inf), broadcast(registers, but), load(registers, COUNTED, 0)
    high, which = bottom, broadcast(registers, 0.0)
    for c in range(0, lattice.width, block):
        found = add(
            add(broadcast(registers, start), load(registers, scores, at + c)), load(registers, further, place + c)
        )
        other = choose_below(number, excluded, found, choose_below(excluded, number, found, bottom))
        which = choose_below(high, other, number, which)
        high = maximum(high, other)
        number = add(number, broadcast(registers, float(block)))
    peak = largest(high)
    state = lowest(choose_below(high, broadcast(registers, peak), broadcast(registers, np.inf), which))
    return peak, np.int64(state)


@inlined
def best_continuation(last, agrees, lattice):
    """The best score after y* at `last` where the segment goes on as in y*, or, without `agrees`, not; its state."""
    gold, goes_on, later = lattice.gold, lattice.goes_on, (last + 1) * lattice.width
    move, peak, state = (last + 1) * lattice.step + gold[last] * lattice.width, -np.inf, -1
    for j in range(lattice.states):
        found = lattice.pair[move + j] + lattice.after[later + j]
        if found > peak and (goes_on[gold[last], j] == goes_on[gold[last], gold[last + 1]]) == agrees:
            peak, state = found, j
    return peak, state


@inlined
def best_agreeing(last, checked, lattice):
    """The best score of a path after `last`, the end of a span that agrees with y*, and the path's first state.

    The state is -1 where nothing restricts the path: at the end of the sequence, or if not `checked`.
    """
    if last == lattice.length - 1 or not checked:
        return lattice.tail[last * lattice.width + lattice.gold[last]], -1
    return best_continuation(last, True, lattice)


@inlined
def best_disagreeing(first, last, checked, lattice):
    """The best labelling that disagrees with y* on a span.

    Returns (its score, the score of y* up to `last`, the first position where it differs, its state there). The
    position is last + 1 if only the continuation of the last segment differs.
    """
    _, length, _, width, pair, _, _, gold, score, best, tail, after, step = lattice
    at = first * width
    start = best[at + gold[first]]
    peak, which = best_but(float(gold[first]), 0.0, best, at, tail, at, lattice)
    where, which = first, which if peak > -np.inf else -1
    for t in range(first + 1, last + 1):
        move = t * step + gold[t - 1] * width
        found, state = best_but(float(gold[t]), start, pair, move, after, t * width, lattice)
        if found > peak:
            peak, where, which = found, t, state
        start += pair[move + gold[t]] + score[t * width + gold[t]]
    if checked and last + 1 < length:
        rest, state = best_continuation(last, False, lattice)
        if start + rest > peak:
            peak, where, which = start + rest, last + 1, state
    return peak, start, where, which


@inlined
def best_competitor(lattice, labelling):
    """The best labelling other than y* into `labelling`; False if there is none."""
    _, length, _, width, pair, _, _, gold, _, _, _, after, step = lattice
    peak, _, where, state = best_disagreeing(0, length - 1, False, lattice)
    if peak == -np.inf:
        return False
    for t in range(where):
        labelling[t] = gold[t]
    labelling[where] = state
    for t in range(where + 1, length):
        _, state = best_but(-1.0, 0.0, pair, t * step + state * width, after, t * width, lattice)
        labelling[t] = state
    return True


# the best labelling other than the known one --------------------------------------------------------------------------

COMPETITOR_ROWS = 4  # rows of states per position in the workspace


@kernel
def chain_decode_competitor(first, last, chain, problem, weights, known, labelling, workspace):
    """Writes the competitors to `labelling`; -1 where there is none.   known: laid out as `labelling.value`.

    The tables of `chain` are logarithms.   workspace: `COMPETITOR_ROWS` rows per position, enough for every sequence.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    longest, cells = workspace
    off = labelling.off
    part = longest * chain.width
    score, best, tail = cells[:part], cells[part : 2 * part], cells[2 * part : 3 * part]
    after = cells[3 * part : 4 * part]
    goes_on = np.zeros((1, 1), np.bool_)  # no span asks for it
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        if length == 0:
            continue
        sequence_labels = labelling.value[off[s] : off[s + 1]]
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        moves = chain.pair, chain.pair_turned, 0
        best_prefixes_and_suffixes(length, chain.registers, chain.states, chain.width, moves, score, best, tail, after)
        lattice = Lattice(
            chain.registers, length, chain.states, chain.width, chain.pair, chain.pair_turned, goes_on,
            known[off[s] : off[s + 1]], score, best, tail, after, 0,
        )  # fmt: skip
        if not best_competitor(lattice, sequence_labels):
            sequence_labels[:] = -1
