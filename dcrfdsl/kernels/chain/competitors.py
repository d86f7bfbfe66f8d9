"""The best labellings of a chain that agree and that disagree with the known one on stretches of it, and their counts.

A stretch s = (first, last) of a sequence is judged by d(s) = max{g(y): y disagrees with y* on s} − max{g(y): y agrees}
and a smooth count ℓ(d) of errors (Suzuki 2006 eq. 5–8, 14, 15). With the best prefixes and suffixes

    best_t(j) = s_t(j) + max_i best_{t-1}(i) + ψ(i, j)        tail_t(i) = max_j ψ(i, j) + s_{t+1}(j) + tail_{t+1}(j)

both maxima take one look at each position of s: a labelling that disagrees does so first at some position t of it, is
y* on s before t, and is best before s and after t. Where a segment scheme shows the end of a segment only by what
follows it (IOB2), y agrees only if the segment goes on after s in both or in neither.

The gradient Σ ℓ'(d) [F(best that disagrees) − F(best that agrees)] is summed without walking along each labelling: what
ends in a state by the best way there is gathered in that state, and one walk from each end to the other hands it on.
Ties go to the lowest state. Not here: sums over labellings (`chain`), other graphs
(`inference.decoding.constrained_decoding`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import IMPOSSIBLE, LANES, OK, UNDERFLOW, add, broadcast, inlined, inner, load, maximum, repeat, store
from .chain_scores import score_positions
from .forward_backward import scatter_rows, sum_states

__all__ = [
    "LARGEST", "LOGISTIC", "SIGMOID", "SegmentMarks", "Smoothing", "Stretches", "best_both_ways", "best_other",
    "chain_rivals", "rival_room",
]  # fmt: skip

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]

SIGMOID, LOGISTIC = range(2)
BUFFERS = 7  # rows of states a position
INTO, GONE, BELIEF = range(3)  # of which rows hold something
LARGEST = 700.0  # of logarithms of ratios


class Smoothing(NamedTuple):
    """ℓ(d): SIGMOID 1 / (1 + exp(−α d − β)), LOGISTIC log(1 + exp(α d + β)) / α; of exp d where `of_ratio`."""

    kind: int
    alpha: float
    beta: float
    of_ratio: bool


class Stretches(NamedTuple):
    """Stretches of sequences that are judged. `checked`: whether what follows must go on alike, see the module."""

    off: Ints  #     [S+1]
    first: Small  #  [n]  positions in their sequence
    last: Small  #   [n]
    checked: NDArray[np.bool_]  # [n]
    weight: Floats  # [n]  of ℓ in the sum


class SegmentMarks(NamedTuple):
    """What states say of segments: of each state the number of the type, -1 outside; and of pairs of neighbours."""

    kind: Small  #               [K]
    opens: NDArray[np.bool_]  #  [K]     whether only what follows shows if the segment of a state has ended
    starts: NDArray[np.bool_]  # [K+1, K] whether a segment starts, by the state before (row K: none) and the one here
    goes_on: NDArray[np.bool_]  # [K, K] whether the segment of a state goes on in the one after it


def rival_room(longest: int, width: int) -> int:
    """Cells of memory, all 0, that sequences of at most `longest` positions need."""
    return BUFFERS * longest * width + 8


@inlined
def smooth(smoothing, d):
    """ℓ(d) and its slope."""
    inner_slope = 1.0
    if smoothing.of_ratio:
        d = inner_slope = np.exp(min(d, LARGEST))
    z = smoothing.alpha * d + smoothing.beta
    small = np.exp(-abs(z))
    sigmoid = 1.0 / (1.0 + small) if z >= 0.0 else small / (1.0 + small)
    if smoothing.kind == SIGMOID:
        return sigmoid, inner_slope * smoothing.alpha * small / (1.0 + small) ** 2
    return (max(z, 0.0) + np.log1p(small)) / smoothing.alpha, inner_slope * sigmoid


@inlined
def best_both_ways(length, chain, score, best, tail, after):
    """`best` and `tail` of every position, and after_t = s_t + tail_t."""
    registers, states, width = chain.registers, chain.states, chain.width
    pair, turned = chain.pair, chain.pair_turned
    block = len(registers) * LANES
    lowest = broadcast(registers, -np.inf)
    end = (length - 1) * width
    for c in range(0, width, block):
        store(best, c, load(registers, score, c))
        store(tail, end + c, broadcast(registers, 0.0))
        store(after, end + c, load(registers, score, end + c))
    left, right = 0, end
    for _ in range(1, length):
        for c in range(0, width, block):
            even, odd, even_back, odd_back = lowest, lowest, lowest, lowest
            row = c
            for i in range(0, states, 2):  # beyond the states `best` and `after` are -inf
                even = maximum(even, add(repeat(registers, best, left + i), load(registers, pair, row)))
                even_back = maximum(even_back, add(repeat(registers, after, right + i), load(registers, turned, row)))
                odd = maximum(odd, add(repeat(registers, best, left + i + 1), load(registers, pair, row + width)))
                odd_back = maximum(
                    odd_back, add(repeat(registers, after, right + i + 1), load(registers, turned, row + width))
                )
                row += 2 * width
            store(best, left + width + c, add(maximum(even, odd), load(registers, score, left + width + c)))
            back = maximum(even_back, odd_back)
            store(tail, right - width + c, back)
            store(after, right - width + c, add(back, load(registers, score, right - width + c)))
        left += width
        right -= width


@inlined
def _agreeing(last, checked, length, states, width, pair, goes_on, gold, tail, after):
    """The best of what follows y* on a stretch that ends at `last`, and the state that it begins with, -1 if any will.

    -1: the best way on from the gold state.
    """
    state = gold[last]
    if last == length - 1 or not checked:
        return tail[last * width + state], -1
    gold_goes, best, found = goes_on[state, gold[last + 1]], -np.inf, 0
    for j in range(states):
        own = pair[state * width + j] + after[(last + 1) * width + j]
        if own > best and goes_on[state, j] == gold_goes:
            best, found = own, j
    return best, found


@inlined
def _disagreeing(first, last, checked, length, states, width, pair, goes_on, gold, score, best, tail, after):
    """The best labelling that disagrees: its score; that of y* up to `last`; where it differs first; its state there.

    Position last + 1 stands for what goes on differently.
    """
    peak, where, which = -np.inf, first, -1
    at = first * width
    start = best[at + gold[first]]
    for j in range(states):
        own = best[at + j] + tail[at + j]
        if own > peak and j != gold[first]:
            peak, which = own, j
    for t in range(first + 1, last + 1):
        move = gold[t - 1] * width
        for j in range(states):
            own = start + pair[move + j] + after[t * width + j]
            if own > peak and j != gold[t]:
                peak, where, which = own, t, j
        start += pair[move + gold[t]] + score[t * width + gold[t]]
    if checked and last + 1 < length:
        move, gold_goes = gold[last] * width, goes_on[gold[last], gold[last + 1]]
        for j in range(states):
            own = start + pair[move + j] + after[(last + 1) * width + j]
            if own > peak and goes_on[gold[last], j] != gold_goes:
                peak, where, which = own, last + 1, j
    return peak, start, where, which


@inner
def _judge(
    first, last, checked, weight, share, length, states, width, pair, goes_on, smoothing, gold, score, best, tail,
    after, into, gone, along, belief, pairs, holds,
):  # fmt: skip
    """Adds `share` times what a stretch brings to the gradient; returns its weighted ℓ(d), nan where y* is impossible.

    into, gone [length, width]: what comes to a state by the best way, and what goes on from one.   along [length + 1]:
    changes of what goes along y*.   holds [3, length]: which rows of into, gone and belief are not all 0.
    """
    wrong, start, where, which = _disagreeing(
        first, last, checked, length, states, width, pair, goes_on, gold, score, best, tail, after
    )
    rest, state = _agreeing(last, checked, length, states, width, pair, goes_on, gold, tail, after)
    right = start + rest
    if right == -np.inf:
        return np.nan
    if wrong == -np.inf:
        return weight * smooth(smoothing, -np.inf)[0]
    value, slope = smooth(smoothing, wrong - right)
    pull = share * weight * slope
    # what agrees: y* up to `last`, then the best that may follow
    if where == first:
        into[first * width + gold[first]] -= pull
        into[first * width + which] += pull
        holds[INTO, first] = True
    along[first + 1] -= pull
    along[last + 1] += pull
    if state < 0:
        gone[last * width + gold[last]] -= pull
        holds[GONE, last] = True
    else:
        pairs[gold[last] * width + state] -= pull
        belief[(last + 1) * width + state] -= pull
        gone[(last + 1) * width + state] -= pull
        holds[BELIEF, last + 1] = holds[GONE, last + 1] = True
    # what disagrees: y* before `where`, then the best
    if where > first:
        along[first + 1] += pull
        along[where] -= pull
        pairs[gold[where - 1] * width + which] += pull
        belief[where * width + which] += pull
        holds[BELIEF, where] = True
    gone[where * width + which] += pull
    holds[GONE, where] = True
    return weight * value


@inner
def _walk(length, states, width, pair, turned, gold, best, after, into, gone, along, belief, pairs, holds):
    """Hands on what was gathered in states: counts of states into `belief`, of moves into `pairs`.

    `into`, `gone` and `along` are 0 afterwards.
    """
    for t in range(length - 1, -1, -1):
        if not holds[INTO, t]:
            continue
        holds[INTO, t], holds[BELIEF, t] = False, True
        for j in range(states):
            mass = into[t * width + j]
            if mass == 0.0:
                continue
            into[t * width + j] = 0.0
            belief[t * width + j] += mass
            if t > 0:
                peak, found = -np.inf, 0
                for i in range(states):
                    own = best[(t - 1) * width + i] + turned[j * width + i]
                    if own > peak:
                        peak, found = own, i
                pairs[found * width + j] += mass
                into[(t - 1) * width + found] += mass
                holds[INTO, t - 1] = True
    mass = 0.0
    for t in range(length + 1):
        mass += along[t]
        along[t] = 0.0
        if mass != 0.0 and t < length:
            belief[t * width + gold[t]] += mass
            pairs[gold[t - 1] * width + gold[t]] += mass
            holds[BELIEF, t] = True
    for t in range(length):
        if not holds[GONE, t]:
            continue
        holds[GONE, t] = False
        for i in range(states):
            mass = gone[t * width + i]
            if mass == 0.0:
                continue
            gone[t * width + i] = 0.0
            if t + 1 < length:
                peak, found = -np.inf, 0
                for j in range(states):
                    own = pair[i * width + j] + after[(t + 1) * width + j]
                    if own > peak:
                        peak, found = own, j
                pairs[i * width + found] += mass
                belief[(t + 1) * width + found] += mass
                gone[(t + 1) * width + found] += mass
                holds[GONE, t + 1] = holds[BELIEF, t + 1] = True


@inlined
def _count(s, length, chain, kinds, rows, belief, holds, sums, gradient):
    """Adds the counts of states of sequence s to sums and gradient, stretch by stretch; `belief` is 0 afterwards."""
    width = chain.width
    sum_states(length, chain, belief, sums)
    t = 0
    while t < length:
        begin = t
        while t < length and holds[BELIEF, t]:
            holds[BELIEF, t] = False
            t += 1
        if t > begin:
            scatter_rows(s, begin, t, chain, kinds, rows, belief, gradient)
            for c in range(begin * width, t * width):
                belief[c] = 0.0
        t += 1


@inlined
def best_other(length, states, width, pair, goes_on, gold, score, best, tail, after, rival):
    """The best labelling other than y* into `rival`; False if there is none."""
    peak, _, where, state = _disagreeing(
        0, length - 1, False, length, states, width, pair, goes_on, gold, score, best, tail, after
    )
    if peak == -np.inf:
        return False
    for t in range(where):
        rival[t] = gold[t]
    rival[where] = state
    for t in range(where + 1, length):
        peak, found = -np.inf, 0
        for j in range(states):
            own = pair[state * width + j] + after[t * width + j]
            if own > peak:
                peak, found = own, j
        rival[t] = state = found
    return True


@inlined
def _starts(marks, labels, t):
    """Whether a segment starts at position t of a labelling."""
    return marks.starts[labels[t - 1] if t > 0 else len(marks.kind), labels[t]]


@inlined
def _end(marks, labels, length, t):
    """The last position of the segment that starts at t."""
    while t + 1 < length and marks.goes_on[labels[t], labels[t + 1]]:
        t += 1
    return t


@inner
def _judge_false(
    share, length, states, width, pair, marks, smoothing, gold, rival, score, best, tail, after, into, gone, along,
    belief, pairs, holds,
):  # fmt: skip
    """As `_judge`, for the segments of the best wrong labelling that are none of y*."""
    loss = 0.0
    for t in range(length):
        if not _starts(marks, rival, t):
            continue
        end = _end(marks, rival, length, t)
        same = _starts(marks, gold, t) and marks.kind[gold[t]] == marks.kind[rival[t]]
        if same and _end(marks, gold, length, t) == end:
            continue
        loss += _judge(
            t, end, marks.opens[gold[end]], 1.0, share, length, states, width, pair, marks.goes_on, smoothing, gold,
            score, best, tail, after, into, gone, along, belief, pairs, holds,
        )  # fmt: skip
    return loss


@inner
def chain_rivals(
    first, last, longest, chain, kinds, bindings, rows, weights, labelling, off, stretches, marks, smoothing,
    find_false, shares, gradient, sums, false_gradient, false_sums, loss, false_loss, status, room, along, rival, holds,
):  # fmt: skip
    """Σ weight · ℓ(d) of the stretches of each sequence into `loss` [S], and their gradient into `gradient` and `sums`.

    find_false: the segments of the best wrong labelling that are none of y* too, into the `false_…` arguments.
    shares: what the gradients of both are multiplied by. The
    pair tables of `chain` are logarithms; `sums.pair` gets counts.   status: UNDERFLOW for sequences longer than
    `longest`, IMPOSSIBLE where y* is.   room: `rival_room` cells, along [longest + 2], holds [3, longest + 2]: 0, and
    left so.   rival [longest]: overwritten.
    """
    states, width, pair = chain.states, chain.width, chain.pair
    part = longest * width
    score, best, tail, after = room[:part], room[part : 2 * part], room[2 * part : 3 * part], room[3 * part : 4 * part]
    into, gone, belief = room[4 * part : 5 * part], room[5 * part : 6 * part], room[6 * part : 7 * part]
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        loss[s], false_loss[s], status[s] = 0.0, 0.0, OK
        if length == 0:
            continue
        if length > longest:
            status[s] = UNDERFLOW
            continue
        gold = labelling[off[s] : off[s + 1]]
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        best_both_ways(length, chain, score, best, tail, after)
        for i in range(stretches.off[s], stretches.off[s + 1]):
            loss[s] += _judge(
                stretches.first[i], stretches.last[i], stretches.checked[i], stretches.weight[i], shares[0],
                length, states, width,
                pair, marks.goes_on, smoothing, gold, score, best, tail, after, into, gone, along, belief, sums.pair,
                holds,
            )  # fmt: skip
        if np.isnan(loss[s]):
            status[s] = IMPOSSIBLE
        _walk(
            length, states, width, pair, chain.pair_turned, gold, best, after, into, gone, along, belief, sums.pair,
            holds,
        )  # fmt: skip
        _count(s, length, chain, kinds, rows, belief, holds, sums, gradient)
        if find_false and best_other(length, states, width, pair, marks.goes_on, gold, score, best, tail, after, rival):
            false_loss[s] = _judge_false(
                shares[1], length, states, width, pair, marks, smoothing, gold, rival, score, best, tail, after, into,
                gone, along, belief, false_sums.pair, holds,
            )  # fmt: skip
            _walk(
                length, states, width, pair, chain.pair_turned, gold, best, after, into, gone, along, belief,
                false_sums.pair, holds,
            )  # fmt: skip
            _count(s, length, chain, kinds, rows, belief, holds, false_sums, false_gradient)
