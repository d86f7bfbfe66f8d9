"""Exact sums along a walk of a forest of factors, both ways, for expectation propagation.

Messages sum to 1, and the logarithms of what they were divided by are summed. Tables, potentials, messages and
marginals are linear where `redo` is None, else all of them are logarithms: for graphs that linear space does not hold.
With its term put in, the marginals of a walk say what the term is projected to; for the formulas see
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


# numbers, or with `redo` their logarithms


@inlined
def times(x, y, redo):
    return x * y if redo is None else x + y


@inlined
def plus(x, y, redo):
    if redo is None:
        return x + y
    high = max(x, y)
    return high + np.log1p(np.exp(min(x, y) - high)) if high > -np.inf else high


@inlined
def from_log(x, redo):
    return np.exp(x) if redo is None else x


@inlined
def to_log(x, redo):
    return np.log(x) if redo is None else x


@inlined
def linear(x, redo):
    return x if redo is None else np.exp(x)


@fast_inner
def normalise_run(values, at, count, redo):
    """Divides a run by its sum. Returns the logarithm of the sum, -inf if it is 0."""
    total = from_log(-np.inf, redo)
    for x in range(at, at + count):
        total = plus(total, values[x], redo)
    taken = to_log(total, redo)
    if taken > -np.inf:
        scale_run_by(values, at, count, from_log(-taken, redo), redo)
    return taken


@inlined
def scale_run_by(values, at, count, factor, redo):
    for x in range(at, at + count):
        values[x] = times(values[x], factor, redo)


@inlined
def _add_times(values, at, count, factor, out, to, redo):
    for x in range(count):
        out[to + x] = plus(out[to + x], times(factor, values[at + x], redo), redo)


# sums along a walk ----------------------------------------------------------------------------------------------------


@inlined
def walk_term(j, start, item, target, u0, walks, cards, raised, redo):
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
            term = times(term, raised[walks.var_local[u] + x], redo)
    return state, term


@fast_inner
def sum_walk(w, walks, cards, longest, tables, redo):
    """Marginals of all items and variables of walk w into `belief` and `single`. Returns log Σ, -inf if it is 0.

    cards: states of the variables of the graph.   longest: the most of them.
    """
    i0, u0 = walks.walk_item[w], walks.walk_var[w]
    items, variables = walks.walk_item[w + 1] - i0, walks.walk_var[w + 1] - u0
    nothing, one, total_log = from_log(-np.inf, redo), from_log(0.0, redo), 0.0
    for x in range(walks.walk_states[w]):
        tables.raised[x] = tables.node[x]
        tables.down[x] = one
    for i in range(items - 1, -1, -1):
        item, at = i0 + i, walks.item_local[i0 + i]
        axis, message = walks.item_axis[item], i * longest
        above = u0 + walks.scope[walks.item_scope[item] + axis]
        states = cards[walks.var[above]]
        tables.up[message : message + states] = nothing
        for j in range(walks.item_size[item]):
            if tables.table[at + j] != nothing:
                state, term = walk_term(j, tables.table[at + j], item, axis, u0, walks, cards, tables.raised, redo)
                tables.up[message + state] = plus(tables.up[message + state], term, redo)
        total_log += normalise_run(tables.up, message, states, redo)
        if total_log == -np.inf:
            return -np.inf
        for x in range(states):
            raised = walks.var_local[above] + x
            tables.raised[raised] = times(tables.raised[raised], tables.up[message + x], redo)
    for n in range(variables):
        u = u0 + n
        if walks.var_is_top[u] == 0:
            continue
        at, states = walks.var_local[u], cards[walks.var[u]]
        copy_run(tables.raised, at, states, tables.single[at:])
        total_log += normalise_run(tables.single, at, states, redo)
        if total_log == -np.inf:
            return -np.inf
    for i in range(items):
        item, at = i0 + i, walks.item_local[i0 + i]
        scope, arity, axis = walks.item_scope[item], walks.item_arity[item], walks.item_axis[item]
        above = u0 + walks.scope[scope + axis]
        states, top = cards[walks.var[above]], walks.var_local[above]
        for x in range(states):
            value = times(tables.node[top + x], tables.down[top + x], redo)
            for sibling in range(walks.item_first[item], walks.item_last[item]):
                if sibling != i:
                    value = times(value, tables.up[sibling * longest + x], redo)
            tables.raised[top + x] = value  # from here on: without what this item says
        for a in range(arity):  # to each variable below
            if a == axis:
                continue
            u = u0 + walks.scope[scope + a]
            start = walks.var_local[u]
            tables.down[start : start + cards[walks.var[u]]] = nothing
        for j in range(walks.item_size[item]):
            _, whole = walk_term(j, tables.table[at + j], item, -1, u0, walks, cards, tables.raised, redo)
            tables.belief[at + j] = whole
            for target in range(arity):  # a message leaves out what comes from its receiver
                if target != axis:
                    state, term = walk_term(
                        j, tables.table[at + j], item, target, u0, walks, cards, tables.raised, redo
                    )
                    state += walks.var_local[u0 + walks.scope[scope + target]]
                    tables.down[state] = plus(tables.down[state], term, redo)
        if normalise_run(tables.belief, at, walks.item_size[item], redo) == -np.inf:
            return -np.inf
        for a in range(arity):
            if a == axis:
                continue
            u = u0 + walks.scope[scope + a]
            start, card = walks.var_local[u], cards[walks.var[u]]
            for x in range(start, start + card):
                tables.single[x] = times(tables.down[x], tables.raised[x], redo)
            if normalise_run(tables.single, start, card, redo) == -np.inf:
                return -np.inf
            normalise_run(tables.down, start, card, redo)
    return total_log


# a walk with its term put in ------------------------------------------------------------------------------------------


class TiltedTables(NamedTuple):
    """Room for a walk with its term put in."""

    kept: Floats  #        [states]   potentials of the cavity by themselves
    mean: Floats  #        [entries]  marginals of the items
    mean_single: Floats  # [states]   marginals of the variables
    joint: Floats  #       [entries]  marginals of the factor
    outside: Floats  #     [states]   what the rest of the forest says


@inner
def tilt(w, alpha, factor, sizes, logs, walks, cards, longest, tables, tilted, redo):
    """Marginals of p̂ along a walk and of the factor's variables, into `tilted`.

    `tables` hold the cavity, `tilted.outside` its messages from elsewhere. Returns log Σ f^α · cavity, -inf if it is 0.
    """
    kept, mean, mean_single, joint, outside = tilted
    u0, scope = walks.walk_var[w], walks.walk_scope[w]
    arity, size = sizes[0], sizes[1]
    nothing, peak = from_log(-np.inf, redo), -np.inf
    for j in range(size):
        peak = max(peak, logs[factor + j])
        joint[j] = nothing
    if peak == -np.inf:
        return -np.inf
    states, entries = walks.walk_states[w], walks.walk_table[w]
    for x in range(states):
        kept[x], mean_single[x] = times(tables.node[x], outside[x], redo), nothing
    mean[:entries] = nothing
    last = u0 + walks.term_scope[scope + arity - 1]
    card, at = cards[walks.var[last]], walks.var_local[last]
    top, sum_of = -np.inf, nothing
    for row in range(size // card):
        rest = row
        copy_run(kept, 0, states, tables.node)
        for a in range(arity - 2, -1, -1):  # fixed to one state each
            u = u0 + walks.term_scope[scope + a]
            one = rest % cards[walks.var[u]]
            rest //= cards[walks.var[u]]
            for x in range(cards[walks.var[u]]):
                if x != one:
                    tables.node[walks.var_local[u] + x] = nothing
        for x in range(card):
            potential = from_log(alpha * (logs[factor + row * card + x] - peak), redo)
            tables.node[at + x] = times(tables.node[at + x], potential, redo)
        log_sum = sum_walk(w, walks, cards, longest, tables, redo)
        if log_sum == -np.inf:
            continue
        if log_sum > top:
            scale = from_log(top - log_sum, redo)
            scale_run_by(joint, 0, size, scale, redo)
            scale_run_by(mean, 0, entries, scale, redo)
            scale_run_by(mean_single, 0, states, scale, redo)
            sum_of, top = times(sum_of, scale, redo), log_sum
        weight = from_log(log_sum - top, redo)
        sum_of = plus(sum_of, weight, redo)
        _add_times(tables.belief, 0, entries, weight, mean, 0, redo)
        _add_times(tables.single, 0, states, weight, mean_single, 0, redo)
        _add_times(tables.single, at, card, weight, joint, row * card, redo)
    copy_run(kept, 0, states, tables.node)
    if top == -np.inf:
        return -np.inf
    taken = to_log(sum_of, redo)
    scale = from_log(-taken, redo)
    scale_run_by(joint, 0, size, scale, redo)
    scale_run_by(mean, 0, entries, scale, redo)
    scale_run_by(mean_single, 0, states, scale, redo)
    return top + taken + alpha * peak


@inner
def _ratio(old, fresh, before, power, damping, redo):
    """The renewed logarithm of an entry of f̃: `power` · log(fresh / before), damped; what was impossible stays so."""
    old_log, new_log = to_log(before, redo), to_log(fresh, redo)
    if old == -np.inf or old_log == -np.inf:
        return old
    if new_log == -np.inf:
        return -np.inf
    return damping * old + (1.0 - damping) * power * (new_log - old_log)


@inner
def project(w, alpha, damping, walks, cards, tables, tilted, state, redo):
    """Renews f̃ by the marginals of p̂; `tables` have those of the cavity."""
    mean, mean_single, nothing = tilted.mean, tilted.mean_single, from_log(-np.inf, redo)
    cell = walks.walk_cell[w]
    for j in range(walks.walk_table[w]):
        state.term[cell + j] = _ratio(state.term[cell + j], mean[j], tables.belief[j], 1.0 / alpha, damping, redo)
    cell += walks.walk_table[w]
    for u in range(walks.walk_var[w], walks.walk_var[w + 1]):
        degree, at = walks.var_degree[u], walks.var_local[u]
        for x in range(cards[walks.var[u]]):
            if degree != 1 and (degree == 0 or mean_single[at + x] > nothing):  # else the items say what is impossible
                old, power = state.term[cell + at + x], (1.0 - degree) / alpha
                fresh, before = mean_single[at + x], tables.single[at + x]
                state.term[cell + at + x] = _ratio(old, fresh, before, power, damping, redo)
