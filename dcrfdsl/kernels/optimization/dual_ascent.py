"""Ascent on the dual of a margin problem, one sequence (block) at a time, over its current cuts.

    max_α Σ_n α_n ℓ_n − ½ ‖w‖²,    w = Σ_n α_n d_n,    α_n ≥ 0,    Σ_{n in block i} α_n ≤ U_i   or   α_n ≤ U_i

The rest of U_i belongs to an empty cut (d = 0, ℓ = 0). Line searches are exact: between the cuts of a block with the
largest and the smallest slope (pairs), or towards the most violated cut (Frank–Wolfe). Sources: Altun
& Hofmann 2003, Algorithm 1; Lacoste-Julien et al. 2013. Not here: products and norms (`cuts`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import inner, kernel
from .cuts import block_of, margin_of, move, product, similarity

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
                    if (
                        cuts.norm[n] <= LEAST
                    ):  # no weight separates this labelling from the known one, so it costs all of U
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
