"""Changes of counts that losses of spans of a chain cause, gathered in states and propagated along best moves; ℓ(d).

Counts of best paths that meet in a state are gathered there; one pass in each direction then propagates them along the
best moves. Not here: the losses (`span_losses`, `soft_span_losses`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Mask
from ..runtime import inlined, inner
from .forward_backward import scatter_rows, sum_states
from .viterbi import best_but

SIGMOID, LOGISTIC = range(2)
INTO, GONE, BELIEF = range(3)  # rows of `holds`
LARGEST = 700.0  # exponent that is taken where d is a ratio
NEGLIGIBLE = 1e-16  # what two labellings that go the same way leave of a count: rounding


class Smoothing(NamedTuple):
    """ℓ(d): SIGMOID 1 / (1 + exp(−α d − β)), LOGISTIC log(1 + exp(α d + β)) / α; of exp d where `of_ratio`."""

    kind: int
    alpha: float
    beta: float
    of_ratio: bool


class GatheredCounts(NamedTuple):
    """Changes of counts, gathered in states before they are propagated. Tables are flat.

    into, gone [length, width]: counts of the best paths that end in a state, and of those that begin after it.
    along [length + 1]: differences of the counts of paths along y*.   belief, pairs: counts of states and of moves,
    the latter where `Lattice.pair` has their scores.
    holds [3, length]: which rows of into, gone and belief may differ from 0.
    """

    into: Floats
    gone: Floats
    along: Floats
    belief: Floats
    pairs: Floats
    holds: Mask


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
def add_continuation(last, state, amount, lattice, gathered):
    """Counts what follows y* at `last`: the best path, or with a state ≥ 0 the best one that goes on in that state."""
    _, gone, _, belief, pairs, holds = gathered
    if state < 0:
        gone[last * lattice.width + lattice.gold[last]] += amount
        holds[GONE, last] = True
        return
    later = (last + 1) * lattice.width + state
    pairs[(last + 1) * lattice.step + lattice.gold[last] * lattice.width + state] += amount
    belief[later] += amount
    gone[later] += amount
    holds[BELIEF, last + 1] = holds[GONE, last + 1] = True


@inner
def propagate_counts(lattice, gathered):
    """Propagates the gathered counts along the best moves: counts of states into `belief`, of moves into `pairs`.

    `into`, `gone` and `along` are 0 afterwards.
    """
    _, length, states, width, pair, turned, _, gold, _, best, _, after, step = lattice
    into, gone, along, belief, pairs, holds = gathered
    for t in range(length - 1, -1, -1):
        if not holds[INTO, t]:
            continue
        holds[INTO, t] = False
        for j in range(states):
            mass = into[t * width + j]
            into[t * width + j] = 0.0
            if abs(mass) <= NEGLIGIBLE:
                continue
            holds[BELIEF, t] = True
            belief[t * width + j] += mass
            if t > 0:
                _, best_state = best_but(-1.0, 0.0, best, (t - 1) * width, turned, t * step + j * width, lattice)
                pairs[t * step + best_state * width + j] += mass
                into[(t - 1) * width + best_state] += mass
                holds[INTO, t - 1] = True
    mass = 0.0
    for t in range(length + 1):
        mass += along[t]
        along[t] = 0.0
        if abs(mass) > NEGLIGIBLE and t < length:
            belief[t * width + gold[t]] += mass
            pairs[t * step + gold[t - 1] * width + gold[t]] += mass
            holds[BELIEF, t] = True
    for t in range(length):
        if not holds[GONE, t]:
            continue
        holds[GONE, t] = False
        for i in range(states):
            mass = gone[t * width + i]
            gone[t * width + i] = 0.0
            if abs(mass) <= NEGLIGIBLE:
                continue
            if t + 1 < length:
                moves = (t + 1) * step + i * width
                _, best_state = best_but(-1.0, 0.0, pair, moves, after, (t + 1) * width, lattice)
                pairs[(t + 1) * step + i * width + best_state] += mass
                belief[(t + 1) * width + best_state] += mass
                gone[(t + 1) * width + best_state] += mass
                holds[GONE, t + 1] = holds[BELIEF, t + 1] = True


@inlined
def collect_counts(s, length, chain, kinds, bindings, rows, belief, holds, sums, gradient):
    """Adds the counts of states of sequence s to sums and gradient, run by run; `belief` is 0 afterwards."""
    width = chain.width
    sum_states(length, chain, belief, sums)
    t = 0
    while t < length:
        begin = t
        while t < length and holds[BELIEF, t]:
            holds[BELIEF, t] = False
            t += 1
        if t > begin:
            scatter_rows(s, begin, t, chain, kinds, bindings, rows, belief, gradient)
            belief[begin * width : t * width] = 0.0
        t += 1
