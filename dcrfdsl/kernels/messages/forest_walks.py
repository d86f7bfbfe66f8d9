"""Exact sums along a walk of a forest of factors, both ways, for expectation propagation.

Tables and potentials are linear; messages sum to 1, and the logarithms of what they were divided by are summed. Not
here: what the tables hold (`expectation_propagation`), the walks (`graph.approximations`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import fast_inner

Floats = NDArray[np.float64]


class WalkTables(NamedTuple):
    """Memory for one walk at a time. T: entries of its tables.   X: states of its variables."""

    table: Floats  #   [T]  potentials of items
    node: Floats  #    [X]  potentials of variables, with what comes from outside of the walk
    up: Floats  #      [U]  messages of items to the variables above them, a run of `longest` each
    raised: Floats  #  [X]  a variable's potential with all messages from below
    down: Floats  #    [X]  messages to variables from the items above them
    coming: Floats  #  [longest]
    belief: Floats  #  [T]  marginals of items
    single: Floats  #  [X]  marginals of variables


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
        scope, arity, axis = walks.item_scope[item], walks.item_arity[item], walks.item_axis[item]
        above = u0 + walks.scope[scope + axis]
        states, message = cards[walks.var[above]], i * longest
        for x in range(states):
            tables.up[message + x] = 0.0
        for j in range(walks.item_size[item]):
            value, rest, mine = tables.table[at + j], j, 0
            if value == 0.0:
                continue
            for a in range(arity - 1, -1, -1):
                u = u0 + walks.scope[scope + a]
                card = cards[walks.var[u]]
                x = rest % card
                rest //= card
                if a == axis:
                    mine = x
                else:
                    value *= tables.raised[walks.var_local[u] + x]
            tables.up[message + mine] += value
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
            tables.coming[x] = value
        total = 0.0
        for a in range(arity):  # to each variable below
            if a == axis:
                continue
            u = u0 + walks.scope[scope + a]
            start = walks.var_local[u]
            for x in range(cards[walks.var[u]]):
                tables.down[start + x] = 0.0
        for j in range(walks.item_size[item]):
            whole, rest = tables.table[at + j], j
            for a in range(arity - 1, -1, -1):
                u = u0 + walks.scope[scope + a]
                card = cards[walks.var[u]]
                x = rest % card
                rest //= card
                whole *= tables.coming[x] if a == axis else tables.raised[walks.var_local[u] + x]
            tables.belief[at + j] = whole
            total += whole
            # a message leaves out what comes from its receiver
            for target in range(arity):
                if target == axis:
                    continue
                value, rest, mine = tables.table[at + j], j, 0
                for a in range(arity - 1, -1, -1):
                    u = u0 + walks.scope[scope + a]
                    card = cards[walks.var[u]]
                    x = rest % card
                    rest //= card
                    if a == target:
                        mine = walks.var_local[u] + x
                    elif a == axis:
                        value *= tables.coming[x]
                    else:
                        value *= tables.raised[walks.var_local[u] + x]
                tables.down[mine] += value
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
