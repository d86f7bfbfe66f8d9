"""Bounds on what a step of one weight leaves of an exponential risk, made least for every weight by itself.

A group is of sequences in which the weight counts as much. Source: Altun & Hofmann 2003 eq. 15 and 16. Not here: which
sequences these are, and what they expect (`counts`).
"""

from __future__ import annotations

import numpy as np

from .compiling import inner, kernel

__all__ = ["least_bounds"]

EXTREME = 1e-12  # shares of a group at either end, below which they are rounding
MOST_STEPS = 100  # of Newton's method
LONGEST = 3.0  # step, by the exponent that it changes most
EXACT = 1e-9  # step that ends it, likewise


@inner
def _bound(a, b, step, low, high, left, right):
    """Σ_g left e^{Δ L} + right e^{Δ U} over the groups a..b at Δ = step, and its first two derivatives."""
    value, slope, curve = 0.0, 0.0, 0.0
    for g in range(a, b):
        down = left[g] * np.exp(step * low[g]) if left[g] > 0.0 else 0.0
        up = right[g] * np.exp(step * high[g]) if right[g] > 0.0 else 0.0
        value += down + up
        slope += down * low[g] + up * high[g]
        curve += down * low[g] ** 2 + up * high[g] ** 2
    return value, slope, curve


@kernel
def least_bounds(off, low, high, mass, mean, total, max_step, step, value):
    """Of each weight the step Δ that makes its bound on what is left of `total` least, and the bound, into `step` and
    `value` [weights].

        B(Δ) = total − Σ_g m_g + Σ_g [a_g e^{Δ L_g} + (m_g − a_g) e^{Δ U_g}],     a_g = (m_g U_g − E_g) / (U_g − L_g)

    off [weights + 1]: groups of each weight.   low, high [G]: L and U.   mass, mean [G]: m and E, the sum of what the
    group's labellings count more than the known ones.   |Δ| ≤ max_step where no L is below 0, or no U above.
    """
    left, right = np.empty(len(mass)), np.empty(len(mass))
    for k in range(len(step)):
        a, b = off[k], off[k + 1]
        own, rate, falls, rises = 0.0, 0.0, False, False
        for g in range(a, b):
            own += mass[g]
        step[k], value[k] = 0.0, total
        if not own > 0.0:
            continue
        for g in range(a, b):
            width = high[g] - low[g]
            left[g], right[g] = mass[g], 0.0
            if mass[g] > 0.0 and width > 0.0:
                left[g] = min(max((mass[g] * high[g] - mean[g]) / width, EXTREME * mass[g]), (1.0 - EXTREME) * mass[g])
                right[g] = mass[g] - left[g]
                falls |= low[g] < 0.0
                rises |= high[g] > 0.0
                rate = max(rate, max(-low[g], high[g]))
        if not falls and not rises:
            continue
        x = 0.0
        if not falls or not rises:
            x = max_step if falls else -max_step
        else:
            nearest, furthest = -np.inf, np.inf  # between which the least bound lies
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
        step[k] = x
        value[k] = total - own + _bound(a, b, x, low, high, left, right)[0]
