"""Exact sums along a walk of a forest of factors, both ways, for expectation propagation.

Tables and potentials are linear; messages sum to 1, and the logarithms of what they were divided by are summed. With
its term put in, the marginals of a walk say what the term is projected to; for the formulas see
`expectation_propagation`. Not here: what the tables hold (there), the walks (`graph.factor_forests`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import fast_inner, inlined, inner
from ..tables import copy_run


class WalkTables(NamedTuple):
    """Memory for one walk at a time. T: entries of its tables.   X: states of its variables."""

    table: Floats  #  [T]  potentials of items
    node: Floats  #   [X]  potentials of variables, with what comes from outside of the walk
    up: Floats  #     [U]  messages of items to the variables above them, a run of `longest` each
    raised: Floats  # [X]  a variable's potential with all messages from below
    down: Floats  #   [X]  messages to variables from the items above them
    coming: Floats  # [longest]
    belief: Floats  # [T]  marginals of items
    single: Floats  # [X]  marginals of variables


@inlined
def walk_term(j, start, item, target, u0, walks, cards, raised):
    """(the state of one variable of an item in entry j, `start` times the `raised` numbers of the others).

    target: its place in the item's scope, -1 for none.   u0: the walk's first variable.
    """
    rest, term, state = j, start, 0
    for a in range(walks.item_arity[item] - 1, -1, -1):
        u = u0 + walks.scope[walks.item_scope[item] + a]
        x = rest % cards[walks.var[u]]
        rest //= cards[walks.var[u]]
        if a == target:
            state = x
        else:
            term *= raised[walks.var_local[u] + x]
    return state, term


@fast_inner
def sum_walk(w, walks, cards, longest, tables):
    """Marginals of all items and variables of walk w into `belief` and `single`. Returns log Σ, -inf if it is 0.

    cards: states of the variables of the graph.   longest: the most of them.
    """
    i0, u0 = walks.walk_item[w], walks.walk_var[w]
    items, variables = walks.walk_item[w + 1] - i0, walks.walk_var[w + 1] - u0
    total_log = 0.0
    for x in range(walks.walk_states[w]):
        tables.raised[x] = tables.node[x]
        tables.down[x] = 1.0
    for i in range(items - 1, -1, -1):
        item, at = i0 + i, walks.item_local[i0 + i]
        axis, message = walks.item_axis[item], i * longest
        above = u0 + walks.scope[walks.item_scope[item] + axis]
        states = cards[walks.var[above]]
        tables.up[message : message + states] = 0.0
        for j in range(walks.item_size[item]):
            if tables.table[at + j] != 0.0:
                state, term = walk_term(j, tables.table[at + j], item, axis, u0, walks, cards, tables.raised)
                tables.up[message + state] += term
        total = 0.0
        for x in range(states):
            total += tables.up[message + x]
        if not total > 0.0:
            return -np.inf
        total_log += np.log(total)
        for x in range(states):
            tables.up[message + x] /= total
            tables.raised[walks.var_local[above] + x] *= tables.up[message + x]
    for n in range(variables):
        u = u0 + n
        if walks.var_is_top[u] == 0:
            continue
        at, states, total = walks.var_local[u], cards[walks.var[u]], 0.0
        for x in range(states):
            total += tables.raised[at + x]
        if not total > 0.0:
            return -np.inf
        total_log += np.log(total)
        for x in range(states):
            tables.single[at + x] = tables.raised[at + x] / total
    for i in range(items):
        item, at = i0 + i, walks.item_local[i0 + i]
        scope, arity, axis = walks.item_scope[item], walks.item_arity[item], walks.item_axis[item]
        above = u0 + walks.scope[scope + axis]
        states, top = cards[walks.var[above]], walks.var_local[above]
        for x in range(states):
            value = tables.node[top + x] * tables.down[top + x]
            for sibling in range(walks.item_first[item], walks.item_last[item]):
                if sibling != i:
                    value *= tables.up[sibling * longest + x]
            tables.raised[top + x] = value  # from here on: without what this item says
        total = 0.0
        for a in range(arity):  # to each variable below
            if a == axis:
                continue
            u = u0 + walks.scope[scope + a]
            start = walks.var_local[u]
            tables.down[start : start + cards[walks.var[u]]] = 0.0
        for j in range(walks.item_size[item]):
            _, whole = walk_term(j, tables.table[at + j], item, -1, u0, walks, cards, tables.raised)
            tables.belief[at + j] = whole
            total += whole
            for target in range(arity):  # a message leaves out what comes from its receiver
                if target != axis:
                    state, term = walk_term(j, tables.table[at + j], item, target, u0, walks, cards, tables.raised)
                    tables.down[walks.var_local[u0 + walks.scope[scope + target]] + state] += term
        if not total > 0.0:
            return -np.inf
        for j in range(walks.item_size[item]):
            tables.belief[at + j] /= total
        for a in range(arity):
            if a == axis:
                continue
            u = u0 + walks.scope[scope + a]
            start, card = walks.var_local[u], cards[walks.var[u]]
            mass, joint = 0.0, 0.0
            for x in range(card):
                mass += tables.down[start + x]
                joint += tables.down[start + x] * tables.raised[start + x]
            for x in range(card):
                tables.single[start + x] = tables.down[start + x] * tables.raised[start + x] / joint
                tables.down[start + x] /= mass
    return total_log


# a walk with its term put in ------------------------------------------------------------------------------------------


class TiltedTables(NamedTuple):
    """Room for a walk with its term put in, linear numbers."""

    kept: Floats  #        [states]   potentials of the cavity by themselves
    mean: Floats  #        [entries]  marginals of the items
    mean_single: Floats  # [states]   marginals of the variables
    joint: Floats  #       [entries]  marginals of the factor
    outside: Floats  #     [states]   what the rest of the forest says


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
    mean[:entries] = 0.0
    last = u0 + walks.term_scope[scope + arity - 1]
    card, at = cards[walks.var[last]], walks.var_local[last]
    top, sum_of = -np.inf, 0.0
    for row in range(size // card):
        rest = row
        copy_run(kept, 0, states, tables.node)
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
    copy_run(kept, 0, states, tables.node)
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
