"""Feature induction: crosses of features that fire together, and the gain in log-likelihood of a weight on each.

    gain = max_δ  δ n − Σ_i log(1 + p_i (e^δ − 1)) − P(δ)

for a cross that fires at the instances i of a clique and one assignment of the clique: n is its gold count at these
instances, p_i its probability at instance i, P the penalty of the weight. Sources: Della Pietra, Della Pietra,
Lafferty, "Inducing features of random fields" (1997), eq. 10; McCallum, "Efficiently inducing features of conditional
random fields" (2003), §4.
"""

from typing import NamedTuple

import numpy as np

from ..runtime import inner, kernel

BOUND = 20.0  # of |δ|: without a penalty there may be no maximum
MOST_STEPS = 60
EXACT = 1e-9  # of δ


class WeightPenalty(NamedTuple):
    """½ precision δ² + l1 |δ| + power |δ|^exponent / exponent"""

    precision: float
    l1: float
    power: float
    exponent: float


@kernel
def distinct_rows(row_off, feature, crossable):
    """The rows reduced to the features that may be crossed, each once: offsets [R+1] and features."""
    last = np.full(len(crossable), -1, np.int64)
    out_off = np.zeros(len(row_off), np.int64)
    out = np.empty(len(feature), np.int32)
    num = 0
    for r in range(len(row_off) - 1):
        for j in range(row_off[r], row_off[r + 1]):
            f = feature[j]
            if crossable[f] and last[f] != r:
                last[f] = r
                out[num] = f
                num += 1
        out_off[r + 1] = num
    return out_off, out[:num].copy()


@kernel
def rows_of_features(row_off, feature, num_features):
    """The rows in which each feature fires, ascending: offsets [F+1] and rows."""
    off = np.zeros(num_features + 1, np.int64)
    for f in feature:
        off[f + 1] += 1
    for f in range(num_features):
        off[f + 1] += off[f]
    fill = off[:-1].copy()
    rows = np.empty(len(feature), np.int32)
    for r in range(len(row_off) - 1):
        for j in range(row_off[r], row_off[r + 1]):
            rows[fill[feature[j]]] = r
            fill[feature[j]] += 1
    return off, rows


@kernel
def crosses(row_off, feature, fire_off, fire_row, min_count):
    """Pairs of features that fire together at least `min_count` times, but less often than either feature.

    Returns (often, seldom, count): of each pair the feature that fires more often, the other one, and the number of
    rows where both fire. Pairs with the same first feature are adjacent. fire_off, fire_row: see `rows_of_features`.
    """
    num_features = len(fire_off) - 1
    together = np.zeros(num_features, np.int64)
    touched = np.empty(num_features, np.int32)
    capacity, pairs = 1024, 0
    often, seldom, count = np.empty(capacity, np.int32), np.empty(capacity, np.int32), np.empty(capacity, np.int64)
    for a in range(num_features):
        total = fire_off[a + 1] - fire_off[a]
        if total <= min_count:
            continue
        num = 0
        for i in range(fire_off[a], fire_off[a + 1]):
            r = fire_row[i]
            for j in range(row_off[r], row_off[r + 1]):
                b = feature[j]
                other = fire_off[b + 1] - fire_off[b]
                if other < total or (other == total and b > a):
                    if together[b] == 0:
                        touched[num] = b
                        num += 1
                    together[b] += 1
        for b in touched[:num]:
            if together[b] >= min_count and together[b] < fire_off[b + 1] - fire_off[b]:
                if pairs == capacity:
                    capacity *= 2
                    often, seldom = _longer(often, capacity), _longer(seldom, capacity)
                    count = _longer(count, capacity)
                often[pairs], seldom[pairs], count[pairs] = a, b, together[b]
                pairs += 1
            together[b] = 0
    return often[:pairs].copy(), seldom[:pairs].copy(), count[:pairs].copy()


@kernel
def _longer(array, length):
    out = np.empty(length, array.dtype)
    out[: len(array)] = array
    return out


@kernel
def cross_gains(often, seldom, fire_off, fire_row, instance_of_row, gold, mark, marginal, possible, penalty):
    """The gain of every assignment of every cross.

    often, seldom: the crosses, as `crosses` returns them.   instance_of_row [R]: instance of the clique, -1 for none.
    gold [I]: its assignment.   mark [I]: random numbers; their sum identifies a set of instances.   marginal [I, A].
    possible [A]: assignments that may have a weight although no gold instance has them.

    Returns (cross, assignment, count, gain, sum of marks), ordered by the first two.
    """
    num_rows, size = len(instance_of_row), marginal.shape[1]
    stamp = np.full(num_rows, -1, np.int64)
    where, probability = np.empty(num_rows, np.int64), np.empty(num_rows)
    count = np.zeros(size)
    capacity, num_gains = 1024, 0
    cross, assignment = np.empty(capacity, np.int64), np.empty(capacity, np.int32)
    counts, gains, sums = np.empty(capacity), np.empty(capacity), np.empty(capacity)
    before = -1
    for c in range(len(often)):
        a, b = often[c], seldom[c]
        if a != before:
            for i in range(fire_off[a], fire_off[a + 1]):
                stamp[fire_row[i]] = a
            before = a
        num, total = 0, 0.0
        count.fill(0.0)
        for i in range(fire_off[b], fire_off[b + 1]):
            r = fire_row[i]
            if stamp[r] == a and instance_of_row[r] >= 0:
                where[num] = instance_of_row[r]
                count[gold[where[num]]] += 1.0
                total += mark[where[num]]
                num += 1
        for x in range(size):
            if count[x] == 0.0 and not possible[x]:
                continue
            for i in range(num):
                probability[i] = marginal[where[i], x]
            gain = _gain(count[x], probability[:num], penalty)
            if num_gains == capacity:
                capacity *= 2
                cross, assignment = _longer(cross, capacity), _longer(assignment, capacity)
                counts, gains, sums = _longer(counts, capacity), _longer(gains, capacity), _longer(sums, capacity)
            cross[num_gains], assignment[num_gains], counts[num_gains], gains[num_gains] = c, x, count[x], gain
            sums[num_gains] = total
            num_gains += 1
    return (
        cross[:num_gains].copy(),
        assignment[:num_gains].copy(),
        counts[:num_gains].copy(),
        gains[:num_gains].copy(),
        sums[:num_gains].copy(),
    )


@inner
def _gain(count, p, penalty):
    """The gain, by Newton's method on its decreasing slope in |δ|; bisects where a step leaves the bracket."""
    precision, l1, power, exponent = penalty
    slope = count - p.sum()
    side = 1.0 if slope > 0.0 else -1.0
    if abs(slope) <= l1:
        return 0.0
    low, high, size = 0.0, BOUND, 0.0
    for _ in range(MOST_STEPS):
        grown = np.expm1(side * size)
        expected, curved = 0.0, precision
        for q in p:
            share = q * (1.0 + grown) / (1.0 + q * grown)
            expected += share
            curved += share * (1.0 - share)
        rise = side * (count - expected) - precision * size - l1
        if power > 0.0 and size > 0.0:
            rise -= power * size ** (exponent - 1.0)
            curved += power * (exponent - 1.0) * size ** (exponent - 2.0)
        if rise > 0.0:
            low = size
        else:
            high = size
        new = size + rise / curved if curved > 0.0 else BOUND
        if not (low < new < high):
            new = 0.5 * (low + high)
        moved = abs(new - size)
        size = new
        if moved <= EXACT:
            break
    grown = np.expm1(side * size)
    gain = side * size * count - 0.5 * precision * size * size - l1 * size
    if power > 0.0:
        gain -= power * size**exponent / exponent
    for q in p:
        gain -= np.log1p(q * grown)
    return max(gain, 0.0)
