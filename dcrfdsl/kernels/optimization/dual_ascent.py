"""Cuts of a margin problem, and ascent on its dual, one sequence (block) at a time, over its current cuts.

A cut n of a sequence requires ⟨w, d_n⟩ ≥ ℓ_n − ξ: a sparse feature difference with the margin that it requires. The
inner product is that of features. Where a clique has an observation kernel, it is defined by the kernel: weights are
then scores of single positions, and moving one of them moves all positions in proportion to their similarity (Altun &
Hofmann 2003 eq. 12). The dual is

    max_α Σ_n α_n ℓ_n − ½ ‖w‖²,    w = Σ_n α_n d_n,    α_n ≥ 0,    Σ_{n in block i} α_n ≤ U_i   or   α_n ≤ U_i

The rest of U_i belongs to an empty cut (d = 0, ℓ = 0). Line searches are exact: between the cuts of a block with the
largest and the smallest slope (pairs), or towards the most violated cut (Frank–Wolfe). Sources: Altun
& Hofmann 2003, Algorithm 1; Lacoste-Julien et al. 2013. Not here: where cuts come from (`criteria.margin_objective`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ..runtime import fast_inner, inlined, inner, kernel

# cuts -----------------------------------------------------------------------------------------------------------------


class Metric(NamedTuple):
    """The inner product of differences.

    The weights `start[b]` to `stop[b]` of each block b, a clique with a kernel, are scores of positions, `states[b]` of
    each; `gram[b]` holds the similarities of positions. Weights of different blocks, and all others, are orthogonal;
    the others have length 1.
    """

    start: Ints  #  [B]
    stop: Ints  #   [B]
    states: Ints  # [B]
    gram: Floats  # [B, P, P]  P: positions of the largest block


class Cuts(NamedTuple):
    """Cuts of blocks one after another. Each is that of one labelling, and no block has two of one labelling.

    A labelling is known by its states that are not those of the known labelling, each as variable · 2³² + state: two
    labellings may have the same d and ℓ, and sums that are added up in another order may differ for one labelling.
    """

    block_off: Ints  # [S+1]  cuts of a block
    off: Ints  #       [n+1]  entries of a cut
    weight: Ints32  #  numbers of weights, ascending in a cut
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
    block_off = np.zeros(blocks + 1, np.int64)
    off, other_off = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
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


# ascent ---------------------------------------------------------------------------------------------------------------

SATURATED = 1e-12  # of U: multipliers whose sum is this close to U can only be exchanged
LEAST = 1e-14  # curvature (or excess over U, relatively) that counts as zero


@kernel
def projected_gradient(cuts, limit, each_counts, slope, out):
    """Projects the gradient `slope` [cuts] onto the face of the bounds that the multipliers lie on; returns `out`.

    Multipliers at a bound stay there. Where those of a block sum up to U, their components sum up to 0.
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
def project_to_bounds(cuts, limit, each_counts, moved):
    """Projects the multipliers `moved` [cuts] to the nearest point within the bounds, in place; returns them."""
    for i in range(len(limit)):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        total = 0.0
        for n in range(a, b):
            moved[n] = max(moved[n], 0.0)
            if each_counts:
                moved[n] = min(moved[n], limit[i])
            total += moved[n]
        # the excess is subtracted evenly until no multiplier is below 0 (Held, Wolfe & Crowder 1974)
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
def primal_and_gap(cuts, limit, each_counts, weights):
    """The loss of the cuts at some weights (the primal without its norm), and the gap between primal and dual."""
    total, gap = 0.0, 0.0
    for i in range(len(limit)):
        worst = 0.0
        for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
            slope = cuts.loss[n] - margin_of(cuts, n, weights)
            gap -= cuts.alpha[n] * slope
            worst = worst + max(slope, 0.0) if each_counts else max(worst, slope)
        total += limit[i] * worst
    return total, gap + total


@kernel
def most_violated(cuts, limit, each_counts, weights):
    """The Frank–Wolfe vertex, [cuts]: all of U at the most violated cut of each block, or at each violated one."""
    out = np.zeros(len(cuts.loss))
    for i in range(len(limit)):
        worst, where = 0.0, -1
        for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
            slope = cuts.loss[n] - margin_of(cuts, n, weights)
            if slope > 0.0 and each_counts:
                out[n] = limit[i]
            elif slope > worst:
                worst, where = slope, n
        if where >= 0 and not each_counts:
            out[where] = limit[i]
    return out


@kernel
def ascend(first, last, cuts, limit, each_counts, metric, weights, rounds, tolerance):
    """Steps in the blocks first … last − 1 until slopes are within `tolerance` (of a margin), at most `rounds` each.

    limit [S]: U.   each_counts: whether U limits each multiplier, not their sum.
    """
    for i in range(first, last):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        if each_counts:
            for _ in range(rounds):
                moved = 0.0
                for n in range(a, b):
                    slope = cuts.loss[n] - margin_of(cuts, n, weights)
                    if cuts.norm[n] <= LEAST:  # no weight tells this labelling from the known one: it costs all of U
                        goal = limit[i] if slope > 0.0 else cuts.alpha[n]
                    else:
                        goal = min(max(cuts.alpha[n] + slope / cuts.norm[n], 0.0), limit[i])
                    step = goal - cuts.alpha[n]
                    if step != 0.0:
                        moved = max(moved, abs(slope))
                        cuts.alpha[n] = goal
                        move(cuts, n, step, weights, metric)
                if moved <= tolerance:
                    break
            continue
        for _ in range(rounds):
            rest = limit[i]
            for n in range(a, b):
                rest -= cuts.alpha[n]
            best, worst, up, down = 0.0, np.inf, -1, -1
            if rest > SATURATED * limit[i]:  # less is rounding, and not worth a step
                worst = 0.0
            for n in range(a, b):
                slope = cuts.loss[n] - margin_of(cuts, n, weights)
                if slope > best:
                    best, up = slope, n
                if cuts.alpha[n] > 0.0 and slope < worst:
                    worst, down = slope, n
            if not best - worst > tolerance:
                break
            most = rest if down < 0 else cuts.alpha[down]
            curve = 0.0
            if up >= 0:
                curve += cuts.norm[up]
            if down >= 0:
                curve += cuts.norm[down]
            if up >= 0 and down >= 0:
                curve -= 2.0 * product(cuts, up, down, metric)
            step = most if curve <= LEAST else min(most, (best - worst) / curve)
            if up >= 0:
                cuts.alpha[up] += step
                move(cuts, up, step, weights, metric)
            if down >= 0:
                cuts.alpha[down] = 0.0 if step == most else cuts.alpha[down] - step
                move(cuts, down, -step, weights, metric)


@kernel
def frank_wolfe(first, last, cuts, goal, metric, weights, direction):
    """A step of each block towards the multipliers `goal` [cuts], with exact line search.

    direction [W]: zeros, before and after.
    """
    most = 0
    if len(metric.gram) > 0:
        most = cuts.off[cuts.block_off[last]] - cuts.off[cuts.block_off[first]]
    score, change_of = np.empty(most, np.int64), np.empty(most)
    for i in range(first, last):
        a, b = cuts.block_off[i], cuts.block_off[i + 1]
        gain, curve = 0.0, 0.0  # of the direction Σ (goal − α) d
        for n in range(a, b):
            change = goal[n] - cuts.alpha[n]
            if change == 0.0:
                continue
            gain += change * (cuts.loss[n] - margin_of(cuts, n, weights))
            for e in range(cuts.off[n], cuts.off[n + 1]):
                direction[cuts.weight[e]] += change * cuts.value[e]
        if len(metric.gram) > 0:
            curve += _score_curve(a, b, cuts, metric, direction, score, change_of)
        for n in range(a, b):
            for e in range(cuts.off[n], cuts.off[n + 1]):
                curve += direction[cuts.weight[e]] ** 2
                direction[cuts.weight[e]] = 0.0
        if not gain > 0.0:
            continue
        step = 1.0 if curve <= LEAST else min(1.0, gain / curve)
        for n in range(a, b):
            change = step * (goal[n] - cuts.alpha[n])
            if change != 0.0:
                cuts.alpha[n] += change
                move(cuts, n, change, weights, metric)


@inner
def _score_curve(a, b, cuts, metric, direction, weight, value):
    """The part of the direction's squared norm that belongs to scores of positions; sets these scores to 0.

    weight, value: scratch, as long as the entries of a block.
    """
    count = 0
    for e in range(cuts.off[a], cuts.off[b]):
        at = cuts.weight[e]
        if block_of(at, metric) >= 0 and direction[at] != 0.0:
            weight[count], value[count] = at, direction[at]
            direction[at] = 0.0
            count += 1
    total = 0.0
    for i in range(count):
        for j in range(count):
            total += value[i] * value[j] * similarity(weight[i], weight[j], metric)
    return total
