"""Upper bounds on an exponential risk after a step of one weight, minimised for every weight by itself.

    B(Δ) = total − Σ_g m_g + Σ_g [a_g e^{Δ L_g} + (m_g − a_g) e^{Δ U_g}],     a_g = (m_g U_g − E_g) / (U_g − L_g)

A group g holds sequences in which the weight has the same range of counts, from L to U. m is their part of the risk, E
their part of its derivative. Let P be the mass at exponents above 0 and p their mean, and N and −n the same below 0.
Since e^x is convex, no B is less than

    total − P − N + min_Δ [P e^{Δ p} + N e^{−Δ n}]

with the minimum at Δ = log(N n / (P p)) / (p + n), where Newton's method starts. Source: Altun &
Hofmann 2003 eq. 15 and 16. Not here: which sequences form a group, and their expectations (`sequences.feature_counts`).
"""

import numpy as np

from ..runtime import inner, kernel

EXTREME = 1e-12  # share of a group at either end, up to which it is rounding
MOST_STEPS = 100  # of Newton's method
LONGEST = 3.0  # step, by the exponent that it changes most
FURTHEST = 100.0  # start, likewise
EXACT = 1e-9  # step that ends it, likewise
ROUNDING = 1e-12  # of a bound, by the total


@inner
def _divide(a, b, low, high, mass, mean, left, right):
    """The masses of the groups a … b − 1 at either end, into `left` and `right` [G].

    Returns (total mass, the largest absolute exponent of a group that varies, whether such groups have mass at an
    exponent below 0, and above).
    """
    total_mass, rate, falls, rises = 0.0, 0.0, False, False
    for g in range(a, b):
        total_mass += mass[g]
        width = high[g] - low[g]
        left[g], right[g] = mass[g], 0.0
        if mass[g] > 0.0 and width > 0.0:
            # Mass that is rounding is none: where a constraint keeps a feature from one end, the bound has no minimum.
            left[g] = (mass[g] * high[g] - mean[g]) / width
            if left[g] <= EXTREME * mass[g]:
                left[g] = 0.0
            elif left[g] >= (1.0 - EXTREME) * mass[g]:
                left[g] = mass[g]
            right[g] = mass[g] - left[g]
            falls |= high[g] < 0.0 or (low[g] < 0.0 and left[g] > 0.0)
            rises |= low[g] > 0.0 or (high[g] > 0.0 and right[g] > 0.0)
            rate = max(rate, max(-low[g], high[g]))
    return total_mass, rate, falls, rises


@inner
def _two_points(a, b, low, high, left, right, max_step):
    """The minimiser of P e^{Δ p} + N e^{−Δ n}, and the decrease from Δ = 0 to it."""
    up, rise, down, fall = 0.0, 0.0, 0.0, 0.0
    for g in range(a, b):
        if low[g] < 0.0:
            down += left[g]
            fall -= left[g] * low[g]
        else:
            rise += left[g] * low[g]
            up += left[g] if low[g] > 0.0 else 0.0
        if high[g] > 0.0:
            up += right[g]
            rise += right[g] * high[g]
        else:
            fall -= right[g] * high[g]
            down += right[g] if high[g] < 0.0 else 0.0
    mean_rise, mean_fall = rise / up if up > 0.0 else 0.0, fall / down if down > 0.0 else 0.0
    if rise > 0.0 and fall > 0.0:
        step = (np.log(fall) - np.log(rise)) / (mean_rise + mean_fall)
    else:
        step = max_step if fall > 0.0 else -max_step
    return step, up + down - up * np.exp(step * mean_rise) - down * np.exp(-step * mean_fall)


@inner
def _bound(a, b, step, low, high, left, right):
    """Σ_g left e^{Δ L} + right e^{Δ U} over the groups a … b − 1 at Δ = step, and its first two derivatives."""
    value, slope, curve = 0.0, 0.0, 0.0
    for g in range(a, b):
        down = left[g] * np.exp(step * low[g]) if left[g] > 0.0 else 0.0
        up = right[g] * np.exp(step * high[g]) if right[g] > 0.0 else 0.0
        value += down + up
        slope += down * low[g] + up * high[g]
        curve += down * low[g] ** 2 + up * high[g] ** 2
    return value, slope, curve


@inner
def _least(a, b, low, high, left, right, rate, falls, rises, max_step):
    """The step that minimises the bound of the groups a … b − 1, and their part of the bound."""
    if not falls or not rises:
        x = max_step if falls else -max_step
        return x, _bound(a, b, x, low, high, left, right)[0]
    begin, _ = _two_points(a, b, low, high, left, right, max_step)
    x = min(max(begin, -FURTHEST / rate), FURTHEST / rate)
    nearest, furthest = -np.inf, np.inf  # bracket of the minimiser
    for _ in range(MOST_STEPS):
        _, slope, curve = _bound(a, b, x, low, high, left, right)
        if slope > 0.0:
            furthest = x
        else:
            nearest = x
        if not curve > 0.0:
            break
        move = min(max(slope / curve, -LONGEST / rate), LONGEST / rate)
        y = x - move
        if abs(move) * rate > EXACT and not nearest < y < furthest:
            y = 0.5 * (nearest + furthest)
        done = abs(y - x) * rate <= EXACT
        x = y
        if done:
            break
    return x, _bound(a, b, x, low, high, left, right)[0]


@kernel
def least_bounds(off, low, high, mass, mean, total, max_step, step, value):
    """For each weight the step Δ that minimises its bound on the risk, and the bound, into `step`, `value` [weights].

    off [weights + 1]: groups of each weight.   low, high [G]: L and U.   mass, mean [G]: m and E.   total: the risk
    before the step.   max_step: the limit of |Δ| where no mass is at an L below 0, or none at a U above.
    """
    left, right = np.empty(len(mass)), np.empty(len(mass))
    for k in range(len(step)):
        a, b = off[k], off[k + 1]
        group_mass, rate, falls, rises = _divide(a, b, low, high, mass, mean, left, right)
        step[k], value[k] = 0.0, total
        if group_mass > 0.0 and (falls or rises):
            step[k], part = _least(a, b, low, high, left, right, rate, falls, rises, max_step)
            value[k] = total - group_mass + part


@kernel
def least_bound(off, low, high, mass, mean, total, max_step):
    """The weight with the least bound (the first of several), its step and its bound, as in `least_bounds`.

    Minimises only the bounds of weights that may come below the best one so far.
    """
    left, right = np.empty(len(mass)), np.empty(len(mass))
    size = len(off) - 1
    lowest = np.empty(size)
    begin = 0
    for k in range(size):
        a, b = off[k], off[k + 1]
        lowest[k] = total
        group_mass, _, falls, rises = _divide(a, b, low, high, mass, mean, left, right)
        if group_mass > 0.0 and (falls or rises):
            lowest[k] = total - _two_points(a, b, low, high, left, right, max_step)[1]
        if lowest[k] < lowest[begin]:
            begin = k
    best, step, value = 0, 0.0, total
    for n in range(-1, size):
        k = n if n >= 0 else begin  # the most promising one goes first
        if lowest[k] > value + ROUNDING * total or lowest[k] == total:
            continue
        a, b = off[k], off[k + 1]
        group_mass, rate, falls, rises = _divide(a, b, low, high, mass, mean, left, right)
        x, part = _least(a, b, low, high, left, right, rate, falls, rises, max_step)
        bound = total - group_mass + part
        if bound < value or (bound == value and k < best):
            best, step, value = k, x, bound
    return best, step, value
