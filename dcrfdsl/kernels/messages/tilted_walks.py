"""The marginals of a walk with its term put in, and the term that they are projected to, for expectation propagation.

For the formulas see `expectation_propagation`. Not here: sums along walks (`forest_walks`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import inner
from .forest_walks import sum_walk

Floats = NDArray[np.float64]


class TiltedTables(NamedTuple):
    """Room for a walk with its term put in, linear numbers."""

    kept: Floats  #         [states]   potentials of the cavity by themselves
    mean: Floats  #         [entries]  marginals of the items
    mean_single: Floats  #  [states]   marginals of the variables
    joint: Floats  #        [entries]  marginals of the factor
    outside: Floats  #      [states]   what the rest of the forest says


@inner
def tilt(w, alpha, factor, sizes, logs, walks, cards, longest, tables, tilted):
    """Marginals of p̂ along a walk and of the factor's variables, into `tilted`.

    `tables` hold the cavity, `tilted.outside` its messages from elsewhere. Returns log Σ f^α · cavity, -inf if it is 0.
    """
    kept, mean, mean_single, joint, outside = tilted
    u0, scope = walks.walk_var[w], walks.walk_scope[w]
    arity, size = sizes[0], sizes[1]
    peak = -np.inf
    for j in range(size):
        peak = max(peak, logs[factor + j])
        joint[j] = 0.0
    if peak == -np.inf:
        return -np.inf
    states, entries = walks.walk_states[w], walks.walk_table[w]
    for x in range(states):
        kept[x], mean_single[x] = tables.node[x] * outside[x], 0.0
    for j in range(entries):
        mean[j] = 0.0
    last = u0 + walks.term_scope[scope + arity - 1]
    card, at = cards[walks.var[last]], walks.var_local[last]
    top, sum_of = -np.inf, 0.0
    for row in range(size // card):
        rest = row
        for x in range(states):
            tables.node[x] = kept[x]
        for a in range(arity - 2, -1, -1):  # fixed to one state each
            u = u0 + walks.term_scope[scope + a]
            one = rest % cards[walks.var[u]]
            rest //= cards[walks.var[u]]
            for x in range(cards[walks.var[u]]):
                if x != one:
                    tables.node[walks.var_local[u] + x] = 0.0
        for x in range(card):
            tables.node[at + x] *= np.exp(alpha * (logs[factor + row * card + x] - peak))
        log_sum = sum_walk(w, walks, cards, longest, tables)
        if log_sum == -np.inf:
            continue
        if log_sum > top:
            scale = np.exp(top - log_sum)
            for j in range(size):
                joint[j] *= scale
            for j in range(entries):
                mean[j] *= scale
            for x in range(states):
                mean_single[x] *= scale
            sum_of *= scale
            top = log_sum
        weight = np.exp(log_sum - top)
        sum_of += weight
        for j in range(entries):
            mean[j] += weight * tables.belief[j]
        for x in range(states):
            mean_single[x] += weight * tables.single[x]
        for x in range(card):
            joint[row * card + x] += weight * tables.single[at + x]
    for x in range(states):
        tables.node[x] = kept[x]
    if top == -np.inf:
        return -np.inf
    for j in range(size):
        joint[j] /= sum_of
    for j in range(entries):
        mean[j] /= sum_of
    for x in range(states):
        mean_single[x] /= sum_of
    return top + np.log(sum_of) + alpha * peak


@inner
def _ratio(old, fresh, before, power, damping):
    """The renewed logarithm of an entry of f̃: `power` · log(fresh / before), damped; what was impossible stays so."""
    if old == -np.inf or before <= 0.0:
        return old
    if fresh <= 0.0:
        return -np.inf
    return damping * old + (1.0 - damping) * power * (np.log(fresh) - np.log(before))


@inner
def project(w, alpha, damping, walks, cards, tables, tilted, state):
    """Renews f̃ by the marginals of p̂; `tables` have those of the cavity."""
    mean, mean_single = tilted.mean, tilted.mean_single
    cell = walks.walk_cell[w]
    for j in range(walks.walk_table[w]):
        state.term[cell + j] = _ratio(state.term[cell + j], mean[j], tables.belief[j], 1.0 / alpha, damping)
    cell += walks.walk_table[w]
    for u in range(walks.walk_var[w], walks.walk_var[w + 1]):
        degree, at = walks.var_degree[u], walks.var_local[u]
        for x in range(cards[walks.var[u]]):
            if degree != 1 and (degree == 0 or mean_single[at + x] > 0.0):  # else the items say what is impossible
                old, power = state.term[cell + at + x], (1.0 - degree) / alpha
                state.term[cell + at + x] = _ratio(old, mean_single[at + x], tables.single[at + x], power, damping)
