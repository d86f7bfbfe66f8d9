"""Cuts of a margin problem: sparse feature differences with the margins that they require, and inner products.

A cut n of a sequence (block) requires ⟨w, d_n⟩ ≥ ℓ_n − ξ. The inner product is that of features. Where a clique has an
observation kernel, it is defined by the kernel: weights are then scores of single positions, and moving one of them
moves all positions in proportion to their similarity (Altun & Hofmann 2003 eq. 12). Not here: multipliers
(`dual_ascent`), where cuts come from (`criteria.margin`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import fast_inner, inlined, inner, kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """The inner product of differences.

    The weights `start[b]` to `stop[b]` of each block b, a clique with a kernel, are scores of positions, `states[b]` of
    each; `gram[b]` holds the similarities of positions. Weights of different blocks, and all others, are orthogonal;
    the others have length 1.
    """

    start: Ints  #   [B]
    stop: Ints  #    [B]
    states: Ints  #  [B]
    gram: Floats  #  [B, P, P]  P: positions of the largest block


class Cuts(NamedTuple):
    """Cuts of blocks one after another. Each is that of one labelling, and no block has two of one labelling.

    A labelling is known by its states that are not those of the known labelling, each as variable · 2³² + state: two
    labellings may have the same d and ℓ, and sums that are added up in another order may differ for one labelling.
    """

    block_off: Ints  # [S+1]  cuts of a block
    off: Ints  #       [n+1]  entries of a cut
    weight: NDArray[np.int32]  # numbers of weights, ascending in a cut
    value: Floats  #           the entries of d
    other_off: Ints  # [n+1]  other states of the labelling of a cut
    other: Ints  #            ascending in a cut
    loss: Floats  #    [n]
    norm: Floats  #    [n]    ‖d‖²
    alpha: Floats  #   [n]


def empty_cuts(blocks: int) -> Cuts:
    """No cut for any block."""
    return Cuts(
        np.zeros(blocks + 1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0),
        np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0),
    )  # fmt: skip


@fast_inner
def margin_of(cuts, n, weights):
    total = 0.0
    for i in range(cuts.off[n], cuts.off[n + 1]):
        total += cuts.value[i] * weights[cuts.weight[i]]
    return total


@inlined
def block_of(weight, metric):
    """The block in which a weight is the score of a position; -1 for other weights."""
    for b in range(len(metric.start)):
        if metric.start[b] <= weight < metric.stop[b]:
            return b
    return -1


@inner
def similarity(weight, other, metric):
    """The similarity of two scores of positions; 0 for different states, and of different blocks."""
    b = block_of(weight, metric)
    if b != block_of(other, metric):
        return 0.0
    here, state = divmod(weight - metric.start[b], metric.states[b])
    there, other_state = divmod(other - metric.start[b], metric.states[b])
    return metric.gram[b, here, there] if state == other_state else 0.0


@inner
def product(cuts, n, m, metric):
    """⟨d_n, d_m⟩."""
    total = 0.0
    i, j = cuts.off[n], cuts.off[m]
    end, other = cuts.off[n + 1], cuts.off[m + 1]
    while i < end and j < other:
        if cuts.weight[i] == cuts.weight[j]:
            if block_of(cuts.weight[i], metric) < 0:
                total += cuts.value[i] * cuts.value[j]
            i += 1
            j += 1
        elif cuts.weight[i] < cuts.weight[j]:
            i += 1
        else:
            j += 1
    if len(metric.gram) > 0:
        total += _score_product(cuts, n, m, metric)
    return total


@inner
def _score_product(cuts, n, m, metric):
    """The part of ⟨d_n, d_m⟩ that belongs to scores of positions."""
    total = 0.0
    for i in range(cuts.off[n], cuts.off[n + 1]):
        if block_of(cuts.weight[i], metric) < 0:
            continue
        for j in range(cuts.off[m], cuts.off[m + 1]):
            if block_of(cuts.weight[j], metric) >= 0:
                total += cuts.value[i] * cuts.value[j] * similarity(cuts.weight[i], cuts.weight[j], metric)
    return total


@inner
def move(cuts, n, step, weights, metric):
    """w ← w + step d_n."""
    for i in range(cuts.off[n], cuts.off[n + 1]):
        weight, x = cuts.weight[i], step * cuts.value[i]
        b = block_of(weight, metric)
        if b < 0:
            weights[weight] += x
            continue
        start, stop, states = metric.start[b], metric.stop[b], metric.states[b]
        here, state = divmod(weight - start, states)
        for there in range((stop - start) // states):
            weights[start + there * states + state] += x * metric.gram[b, here, there]


@kernel
def measure_cuts(cuts, metric):
    """Fills in the norms of new cuts."""
    for n in range(len(cuts.norm)):
        cuts.norm[n] = product(cuts, n, n, metric)


@kernel
def combine_cuts(cuts, alpha, out):
    """Adds Σ α d to `out` [W] and returns it."""
    for n in range(len(alpha)):
        if alpha[n] != 0.0:
            for i in range(cuts.off[n], cuts.off[n + 1]):
                out[cuts.weight[i]] += alpha[n] * cuts.value[i]
    return out


@kernel
def margins_of(cuts, weights, out):
    """⟨w, d⟩ of every cut, into `out` [cuts]; returns it."""
    for n in range(len(out)):
        out[n] = margin_of(cuts, n, weights)
    return out


@kernel
def products_of(cuts, metric, num_weights):
    """⟨d_n, d_m⟩ of all pairs of cuts, [cuts, cuts]."""
    count, (blocks, positions, _) = len(cuts.alpha), metric.gram.shape
    out, most = np.empty((count, count)), 0
    for b in range(blocks):
        most = max(most, metric.states[b])
    plain, scores = np.zeros(num_weights), np.zeros((blocks, most, positions))
    for n in range(count):
        for i in range(cuts.off[n], cuts.off[n + 1]):
            weight, x = cuts.weight[i], cuts.value[i]
            b = block_of(weight, metric)
            if b >= 0:
                here, state = divmod(weight - metric.start[b], metric.states[b])
                for there in range(positions):
                    scores[b, state, there] += x * metric.gram[b, here, there]
            else:
                plain[weight] = x
        for m in range(n + 1):
            total = 0.0
            for j in range(cuts.off[m], cuts.off[m + 1]):
                weight = cuts.weight[j]
                b = block_of(weight, metric)
                if b >= 0:
                    there, state = divmod(weight - metric.start[b], metric.states[b])
                    total += cuts.value[j] * scores[b, state, there]
                else:
                    total += cuts.value[j] * plain[weight]
            out[n, m] = out[m, n] = total
        for i in range(cuts.off[n], cuts.off[n + 1]):
            weight = cuts.weight[i]
            b = block_of(weight, metric)
            if b >= 0:
                state = (weight - metric.start[b]) % metric.states[b]
                for there in range(positions):
                    scores[b, state, there] = 0.0
            else:
                plain[weight] = 0.0
    return out


@kernel
def is_repeated(cuts, others):
    """Whether the labelling of each of `others` has a cut in its block already, [others]."""
    out = np.zeros(len(others.loss), np.bool_)
    for i in range(len(cuts.block_off) - 1):
        for m in range(others.block_off[i], others.block_off[i + 1]):
            b, size = others.other_off[m], others.other_off[m + 1] - others.other_off[m]
            for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
                a = cuts.other_off[n]
                same = cuts.other_off[n + 1] - a == size
                e = 0
                while same and e < size:
                    same = cuts.other[a + e] == others.other[b + e]
                    e += 1
                if same:
                    out[m] = True
                    break
    return out


@kernel
def join_cuts(first, first_keeps, second, second_keeps):
    """The kept cuts of both, block by block, those of `first` before those of `second`."""
    blocks = len(first.block_off) - 1
    count, size, others = 0, 0, 0
    for source, keeps in ((first, first_keeps), (second, second_keeps)):
        for n in range(len(keeps)):
            if keeps[n]:
                count += 1
                size += source.off[n + 1] - source.off[n]
                others += source.other_off[n + 1] - source.other_off[n]
    block_off, off, other_off = (
        np.zeros(blocks + 1, np.int64),
        np.zeros(count + 1, np.int64),
        np.zeros(count + 1, np.int64),
    )
    weight, value, other = np.empty(size, np.int32), np.empty(size), np.empty(others, np.int64)
    loss, norm, alpha = np.empty(count), np.empty(count), np.empty(count)
    at, end, ended = 0, 0, 0
    for i in range(blocks):
        for source, keeps in ((first, first_keeps), (second, second_keeps)):
            for n in range(source.block_off[i], source.block_off[i + 1]):
                if not keeps[n]:
                    continue
                for e in range(source.off[n], source.off[n + 1]):
                    weight[end] = source.weight[e]
                    value[end] = source.value[e]
                    end += 1
                for e in range(source.other_off[n], source.other_off[n + 1]):
                    other[ended] = source.other[e]
                    ended += 1
                loss[at], norm[at], alpha[at] = source.loss[n], source.norm[n], source.alpha[n]
                at += 1
                off[at], other_off[at] = end, ended
        block_off[i + 1] = at
    return Cuts(block_off, off, weight, value, other_off, other, loss, norm, alpha)
