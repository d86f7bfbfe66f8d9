"""Ascent on the dual of a margin problem, one sequence (block) at a time, over the cuts that it has been given.

    max_α Σ_n α_n ℓ_n − ½ ‖w‖²,    w = Σ_n α_n d_n,    α_n ≥ 0,    Σ_{n in block i} α_n ≤ U_i   or   α_n ≤ U_i

A cut n says λ·d_n ≥ ℓ_n − ξ. What is left of U_i belongs to a cut that says nothing (d = 0, ℓ = 0). The norm is that of
features, or where a clique has an observation kernel the one that the kernel gives: weights are then scores of single
positions, and moving one of them moves all positions by how alike they are (Altun & Hofmann 2003 eq. 12).

Steps are exact: between the cut that gains most and the one that gains least of a block (pairs), or towards the cut
that is violated most (Frank–Wolfe). Sources: Altun & Hofmann 2003, Algorithm 1; Lacoste-Julien et al. 2013. Not here:
finding cuts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import fast_inner, inlined, inner, kernel

__all__ = [
    "Cuts", "Metric", "ascend", "bounded", "combine_cuts", "frank_wolfe", "free_part", "gaps_of", "is_repeated",
    "join_cuts", "margins_of", "measure_cuts", "no_cuts", "products_of", "violated_most",
]  # fmt: skip

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SATURATED = 1e-12  # of U: multipliers that sum up to U but for this can only be exchanged
LEAST = 1e-14  # a step's curvature and gain below which nothing is to be gained


class Metric(NamedTuple):
    """The inner product of differences: that of their entries, but from weight `start` to `stop` weights are scores of
    positions, `states` of each, and two positions are as alike as `gram` [positions, positions] says.
    """

    start: int
    stop: int
    states: int
    gram: Floats


class Cuts(NamedTuple):
    """Cuts of blocks one after another."""

    block_off: Ints  # [S+1]  cuts of a block
    off: Ints  #       [n+1]  entries of a cut
    weight: NDArray[np.int32]  # numbers of weights, ascending in a cut
    value: Floats  #           what they are multiplied by
    loss: Floats  #    [n]
    norm: Floats  #    [n]    ‖d‖²
    alpha: Floats  #   [n]


def no_cuts(blocks: int) -> Cuts:
    """None for any block."""
    return Cuts(
        np.zeros(blocks + 1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0),
        np.zeros(0), np.zeros(0),
    )  # fmt: skip


@fast_inner
def _dot(cuts, n, weights):
    total = 0.0
    for i in range(cuts.off[n], cuts.off[n + 1]):
        total += cuts.value[i] * weights[cuts.weight[i]]
    return total


@inlined
def _is_score(weight, metric):
    """Whether a weight is the score of a position."""
    return metric.start <= weight < metric.stop


@inner
def _alike(cuts, i, j, metric):
    """How alike two entries are that are scores of positions."""
    here, state = divmod(cuts.weight[i] - metric.start, metric.states)
    there, other = divmod(cuts.weight[j] - metric.start, metric.states)
    return metric.gram[here, there] if state == other else 0.0


@inner
def _product(cuts, n, m, metric):
    """⟨d_n, d_m⟩."""
    total = 0.0
    i, j = cuts.off[n], cuts.off[m]
    end, other = cuts.off[n + 1], cuts.off[m + 1]
    while i < end and j < other:
        if cuts.weight[i] == cuts.weight[j]:
            if not _is_score(cuts.weight[i], metric):
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
    """The part of ⟨d_n, d_m⟩ that lies in scores of positions."""
    total = 0.0
    for i in range(cuts.off[n], cuts.off[n + 1]):
        if not _is_score(cuts.weight[i], metric):
            continue
        for j in range(cuts.off[m], cuts.off[m + 1]):
            if _is_score(cuts.weight[j], metric):
                total += cuts.value[i] * cuts.value[j] * _alike(cuts, i, j, metric)
    return total


@inner
def _move(cuts, n, step, weights, metric):
    """w ← w + step d_n."""
    for i in range(cuts.off[n], cuts.off[n + 1]):
        weight, x = cuts.weight[i], step * cuts.value[i]
        if not _is_score(weight, metric):
            weights[weight] += x
            continue
        here, state = divmod(weight - metric.start, metric.states)
        at = metric.start + state
        for there in range(metric.gram.shape[1]):
            weights[at] += x * metric.gram[here, there]
            at += metric.states


@kernel
def measure_cuts(cuts, metric):
    """Fills in the norms of new cuts."""
    for n in range(len(cuts.norm)):
        cuts.norm[n] = _product(cuts, n, n, metric)


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
        out[n] = _dot(cuts, n, weights)
    return out


@kernel
def products_of(cuts, metric, num_weights):
    """⟨d_n, d_m⟩ of all pairs of cuts, [cuts, cuts]."""
    count, positions = len(cuts.alpha), len(metric.gram)
    out = np.empty((count, count))
    plain, scores = np.zeros(num_weights), np.zeros((metric.states, positions))
    for n in range(count):
        for i in range(cuts.off[n], cuts.off[n + 1]):
            weight, x = cuts.weight[i], cuts.value[i]
            if _is_score(weight, metric):
                here, state = divmod(weight - metric.start, metric.states)
                for there in range(positions):
                    scores[state, there] += x * metric.gram[here, there]
            else:
                plain[weight] = x
        for m in range(n + 1):
            total = 0.0
            for j in range(cuts.off[m], cuts.off[m + 1]):
                weight = cuts.weight[j]
                if _is_score(weight, metric):
                    there, state = divmod(weight - metric.start, metric.states)
                    total += cuts.value[j] * scores[state, there]
                else:
                    total += cuts.value[j] * plain[weight]
            out[n, m] = out[m, n] = total
        for i in range(cuts.off[n], cuts.off[n + 1]):
            weight = cuts.weight[i]
            if _is_score(weight, metric):
                state = (weight - metric.start) % metric.states
                for there in range(positions):
                    scores[state, there] = 0.0
            else:
                plain[weight] = 0.0
    return out


@kernel
def free_part(cuts, limit, each_counts, slope, out):
    """The direction of steepest ascent in which no multiplier leaves its bounds at once, [cuts]; returns it.

    Multipliers at a bound stay there. Where those of a block sum up to U, what they move by sums up to 0.
    """
    for i in range(len(limit)):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        total, mean, count = 0.0, 0.0, 0
        for n in range(a, b):
            total += cuts.alpha[n]
            is_free = cuts.alpha[n] > 0.0 and (not each_counts or cuts.alpha[n] < limit[i])
            out[n] = slope[n] if is_free else 0.0
            if is_free:
                mean += slope[n]
                count += 1
        if not each_counts and total >= limit[i] * (1.0 - SATURATED) and count > 0:
            for n in range(a, b):
                if cuts.alpha[n] > 0.0:
                    out[n] -= mean / count
    return out


@kernel
def bounded(cuts, limit, each_counts, moved):
    """The point nearest to the multipliers `moved` [cuts] that keeps the bounds; changed in place, and returned."""
    for i in range(len(limit)):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        total = 0.0
        for n in range(a, b):
            moved[n] = max(moved[n], 0.0)
            if each_counts:
                moved[n] = min(moved[n], limit[i])
            total += moved[n]
        # what is too much is taken off evenly, until nothing is below 0 (Held, Wolfe & Crowder 1974)
        while not each_counts and total > limit[i] * (1.0 + LEAST):
            count = 0
            for n in range(a, b):
                if moved[n] > 0.0:
                    count += 1
            less, total = (total - limit[i]) / count, 0.0
            for n in range(a, b):
                if moved[n] > 0.0:
                    moved[n] = max(moved[n] - less, 0.0)
                    total += moved[n]
    return moved


@kernel
def gaps_of(cuts, limit, each_counts, weights):
    """What the cuts cost at some weights (the primal without its norm), and by how much that is above the dual."""
    total, gap = 0.0, 0.0
    for i in range(len(limit)):
        worst = 0.0
        for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
            slope = cuts.loss[n] - _dot(cuts, n, weights)
            gap -= cuts.alpha[n] * slope
            worst = worst + max(slope, 0.0) if each_counts else max(worst, slope)
        total += limit[i] * worst
    return total, gap + total


@kernel
def is_repeated(cuts, others):
    """Whether each of `others` is among the cuts of its block, [others]."""
    out = np.zeros(len(others.loss), np.bool_)
    for i in range(len(cuts.block_off) - 1):
        for m in range(others.block_off[i], others.block_off[i + 1]):
            b, size = others.off[m], others.off[m + 1] - others.off[m]
            for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
                a = cuts.off[n]
                if cuts.off[n + 1] - a != size or cuts.loss[n] != others.loss[m]:
                    continue
                same = True
                for e in range(size):
                    same &= cuts.weight[a + e] == others.weight[b + e]
                    same &= cuts.value[a + e] == others.value[b + e]
                if same:
                    out[m] = True
    return out


@kernel
def violated_most(cuts, limit, each_counts, weights):
    """Multipliers that the dual would rise fastest towards: all of U at the cut of each block that is violated most, or
    at all that are violated, [cuts].
    """
    out = np.zeros(len(cuts.loss))
    for i in range(len(limit)):
        worst, where = 0.0, -1
        for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
            slope = cuts.loss[n] - _dot(cuts, n, weights)
            if slope > 0.0 and each_counts:
                out[n] = limit[i]
            elif slope > worst:
                worst, where = slope, n
        if where >= 0 and not each_counts:
            out[where] = limit[i]
    return out


@kernel
def ascend(first, last, cuts, limit, each_counts, metric, weights, rounds, tolerance):
    """Steps in the blocks first..last until none gains more than `tolerance` (of a margin), at most `rounds` a block.

    limit [S]: U.   each_counts: whether it is of each cut, and not of their sum.
    """
    for i in range(first, last):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        if each_counts:
            for _ in range(rounds):
                moved = 0.0
                for n in range(a, b):
                    if cuts.norm[n] <= LEAST:
                        continue
                    slope = cuts.loss[n] - _dot(cuts, n, weights)
                    goal = min(max(cuts.alpha[n] + slope / cuts.norm[n], 0.0), limit[i])
                    step = goal - cuts.alpha[n]
                    if step != 0.0:
                        moved = max(moved, abs(slope))
                        cuts.alpha[n] = goal
                        _move(cuts, n, step, weights, metric)
                if moved <= tolerance:
                    break
            continue
        for _ in range(rounds):
            rest = limit[i]
            for n in range(a, b):
                rest -= cuts.alpha[n]
            best, worst, up, down = 0.0, np.inf, -1, -1
            if rest > SATURATED * limit[i]:  # less is rounding, and no step that is worth its while
                worst = 0.0
            for n in range(a, b):
                slope = cuts.loss[n] - _dot(cuts, n, weights)
                if slope > best:
                    best, up = slope, n
                if cuts.alpha[n] > 0.0 and slope < worst:
                    worst, down = slope, n
            if not best - worst > tolerance:
                break
            room = rest if down < 0 else cuts.alpha[down]
            curve = 0.0
            if up >= 0:
                curve += cuts.norm[up]
            if down >= 0:
                curve += cuts.norm[down]
            if up >= 0 and down >= 0:
                curve -= 2.0 * _product(cuts, up, down, metric)
            step = room if curve <= LEAST else min(room, (best - worst) / curve)
            if up >= 0:
                cuts.alpha[up] += step
                _move(cuts, up, step, weights, metric)
            if down >= 0:
                cuts.alpha[down] = 0.0 if step == room else cuts.alpha[down] - step
                _move(cuts, down, -step, weights, metric)


@kernel
def frank_wolfe(first, last, cuts, goal, metric, weights, direction):
    """A step of each block towards the multipliers `goal` [cuts], as long as is best.

    direction [W]: zeros, and left so.
    """
    for i in range(first, last):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        gain, curve = 0.0, 0.0  # of the direction Σ (goal − α) d
        for n in range(a, b):
            change = goal[n] - cuts.alpha[n]
            if change == 0.0:
                continue
            gain += change * (cuts.loss[n] - _dot(cuts, n, weights))
            for e in range(cuts.off[n], cuts.off[n + 1]):
                if not _is_score(cuts.weight[e], metric):
                    direction[cuts.weight[e]] += change * cuts.value[e]
        for n in range(a, b):
            for e in range(cuts.off[n], cuts.off[n + 1]):
                if not _is_score(cuts.weight[e], metric):
                    curve += direction[cuts.weight[e]] ** 2
                    direction[cuts.weight[e]] = 0.0
        if len(metric.gram) > 0:
            curve += _score_curve(a, b, cuts, goal, metric)
        if not gain > 0.0:
            continue
        step = 1.0 if curve <= LEAST else min(1.0, gain / curve)
        for n in range(a, b):
            change = step * (goal[n] - cuts.alpha[n])
            if change != 0.0:
                cuts.alpha[n] += change
                _move(cuts, n, change, weights, metric)


@inner
def _score_curve(a, b, cuts, goal, metric):
    """The part of the direction's square that lies in scores of positions."""
    total = 0.0
    for n in range(a, b):
        own = goal[n] - cuts.alpha[n]
        for m in range(a, b):
            other = goal[m] - cuts.alpha[m]
            if own != 0.0 and other != 0.0:
                total += own * other * _score_product(cuts, n, m, metric)
    return total


@kernel
def join_cuts(first, first_keeps, second, second_keeps):
    """The cuts of both that are kept, block by block, those of the first before those of the second."""
    blocks = len(first.block_off) - 1
    count, size = 0, 0
    for n in range(len(first_keeps)):
        if first_keeps[n]:
            count += 1
            size += first.off[n + 1] - first.off[n]
    for n in range(len(second_keeps)):
        if second_keeps[n]:
            count += 1
            size += second.off[n + 1] - second.off[n]
    block_off, off = np.zeros(blocks + 1, np.int64), np.zeros(count + 1, np.int64)
    weight, value = np.empty(size, np.int32), np.empty(size)
    loss, norm, alpha = np.empty(count), np.empty(count), np.empty(count)
    at, end = 0, 0
    for i in range(blocks):
        for own, keeps in ((first, first_keeps), (second, second_keeps)):
            for n in range(own.block_off[i], own.block_off[i + 1]):
                if not keeps[n]:
                    continue
                for e in range(own.off[n], own.off[n + 1]):
                    weight[end] = own.weight[e]
                    value[end] = own.value[e]
                    end += 1
                loss[at], norm[at], alpha[at] = own.loss[n], own.norm[n], own.alpha[n]
                at += 1
                off[at] = end
        block_off[i + 1] = at
    return Cuts(block_off, off, weight, value, loss, norm, alpha)
