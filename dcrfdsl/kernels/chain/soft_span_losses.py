"""The loss of a span of a chain where d has a soft maximum over the states of the span, and its gradient.

A labelling u of the span alone has the score of the best labelling of the sequence that has it (eq. 15 of Suzuki 2006),
and d compares that of y* with a soft maximum over all others (eq. 7):

    g(u, s) = max {g(y): y has the states u on s}        d(s) = −g(y*, s) + (1/ψ) log Σ_{u ≠ y*} exp ψ g(u, s)

So the sums run over the states inside the span and maxima over what lies outside, which start and end them:

    a_first(k) = ψ best_first(k)        a_t(k) = ψ s_t(k) + log Σ_i exp(a_{t-1}(i) + ψ ψ(i, k))

Two such sums are kept, over the states that differ from y* at t or before, and along y* itself: the difference of a sum
over all and the term of y* would lose all digits where y* is far above the rest. ψ → ∞ gives `span_losses`. Where the
continuation of y* is checked, the best other continuation of y* is one more labelling. Not here: gathering
(`span_count_gradients`), ψ = ∞ (`span_losses`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import inlined, inner
from .span_count_gradients import BELIEF, GONE, INTO, add_continuation, smooth
from .viterbi import best_agreeing, best_continuation


class SoftRows(NamedTuple):
    """log sums over the states of a span up to a position, and from it on, [longest, width] each, flat."""

    forward: Floats
    backward: Floats


@inlined
def _log_add(a, b):
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@inner
def _sum_forward(first, last, psi, lattice, forward):
    """Fills `forward` with the sums over states that differ from y*. Returns ψ times the score of y* up to `last`."""
    states, width, pair, gold, score = lattice.states, lattice.width, lattice.pair, lattice.gold, lattice.score
    for k in range(states):
        forward[first * width + k] = psi * lattice.best[first * width + k] if k != gold[first] else -np.inf
    along = psi * lattice.best[first * width + gold[first]]
    for t in range(first + 1, last + 1):
        move, base = t * lattice.step + gold[t - 1] * width, t * lattice.step
        for k in range(states):
            peak = along + psi * pair[move + k] if k != gold[t] else -np.inf
            apart = peak
            for i in range(states):
                peak = max(peak, forward[(t - 1) * width + i] + psi * pair[base + i * width + k])
            found = -np.inf
            if peak > -np.inf:
                summed = np.exp(apart - peak)
                for i in range(states):
                    summed += np.exp(forward[(t - 1) * width + i] + psi * pair[base + i * width + k] - peak)
                found = peak + np.log(summed) + psi * score[t * width + k]
            forward[t * width + k] = found
        along += psi * (pair[move + gold[t]] + score[t * width + gold[t]])
    return along


@inner
def _sum_backward(first, last, psi, lattice, backward):
    """Fills `backward` with the sums over the states after a position of the span."""
    states, width, pair, score = lattice.states, lattice.width, lattice.pair, lattice.score
    for k in range(states):
        backward[last * width + k] = psi * lattice.tail[last * width + k]
    for t in range(last - 1, first - 1, -1):
        later, base = (t + 1) * width, (t + 1) * lattice.step
        for i in range(states):
            peak = -np.inf
            for k in range(states):
                peak = max(peak, psi * (pair[base + i * width + k] + score[later + k]) + backward[later + k])
            found = -np.inf
            if peak > -np.inf:
                summed = 0.0
                for k in range(states):
                    summed += np.exp(psi * (pair[base + i * width + k] + score[later + k]) + backward[later + k] - peak)
                found = peak + np.log(summed)
            backward[t * width + i] = found


@inner
def _gather(first, last, psi, total, apart, pull, lattice, soft, gathered):
    """Gathers `pull` times the counts of the labellings in the soft maximum, whose sum is exp `total`.

    apart: ψ times the score of y* that goes on otherwise after the span.   Returns the mass of y* up to `last`.
    """
    states, width, pair, gold, score = lattice.states, lattice.width, lattice.pair, lattice.gold, lattice.score
    forward, backward = soft
    into, gone, belief, pairs, holds = gathered.into, gathered.gone, gathered.belief, gathered.pairs, gathered.holds
    for k in range(states):
        at = last * width + k
        gone[at] += pull * np.exp(forward[at] + backward[at] - total)
    holds[GONE, last] = True
    on_gold = pull * np.exp(apart - total)
    step = lattice.step
    at_end, along = on_gold, psi * lattice.best[first * width + gold[first]]
    for t in range(first + 1, last + 1):
        along += psi * (pair[t * step + gold[t - 1] * width + gold[t]] + score[t * width + gold[t]])
    for t in range(last, first, -1):
        row, base = t * width, t * step
        move = base + gold[t - 1] * width
        holds[BELIEF, t] = True
        belief[row + gold[t]] += on_gold
        pairs[move + gold[t]] += on_gold
        along -= psi * (pair[move + gold[t]] + score[row + gold[t]])  # up to t − 1
        for k in range(states):
            from_here = psi * score[row + k] + backward[row + k] - total
            if from_here == -np.inf:
                continue
            for i in range(states):
                mass = pull * np.exp(forward[row - width + i] + psi * pair[base + i * width + k] + from_here)
                belief[row + k] += mass
                pairs[base + i * width + k] += mass
            if k != gold[t]:
                mass = pull * np.exp(along + psi * pair[move + k] + from_here)
                belief[row + k] += mass
                pairs[move + k] += mass
                on_gold += mass
    for k in range(states):
        at = first * width + k
        into[at] += pull * np.exp(forward[at] + backward[at] - total)
    into[first * width + gold[first]] += on_gold
    holds[INTO, first] = True
    return at_end


@inner
def add_soft_span_loss(first, last, checked, weight, share, lattice, smoothing, psi, gathered, soft):
    """As `_add_span_loss` of `span_losses`, with ψ finite."""
    width, gold = lattice.width, lattice.gold
    along = _sum_forward(first, last, psi, lattice, soft.forward)
    _sum_backward(first, last, psi, lattice, soft.backward)
    rest, state = best_agreeing(last, checked, lattice)
    right = along / psi + rest
    if right == -np.inf:
        return np.nan
    total, apart, other = -np.inf, -np.inf, -1
    for k in range(lattice.states):
        at = last * width + k
        total = _log_add(total, soft.forward[at] + psi * lattice.tail[at])
    if checked and last + 1 < lattice.length:
        best, other = best_continuation(last, False, lattice)
        apart = along + psi * best
        total = _log_add(total, apart)
    if total == -np.inf:
        return weight * smooth(smoothing, -np.inf)[0]
    value, slope = smooth(smoothing, total / psi - right)
    pull = share * weight * slope
    # the best agreeing labelling: the best one before the span, y* on it, then the best continuation
    gathered.into[first * width + gold[first]] -= pull
    gathered.along[first + 1] -= pull
    gathered.along[last + 1] += pull
    gathered.holds[INTO, first] = True
    add_continuation(last, state, -pull, lattice, gathered)
    mass = _gather(first, last, psi, total, apart, pull, lattice, soft, gathered)
    if other >= 0:
        add_continuation(last, other, mass, lattice, gathered)
    return weight * value
