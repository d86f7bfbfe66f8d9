"""Upper bounds on the best score of one graph by sequential reparameterization, with a labelling beside each bound.

The potentials are moved between factors and their variables by δ_{fi}(x_i), which leaves every score as it is:

    θ̃_i = θ_i + Σ_f δ_{fi},    θ̃_f = θ_f − Σ_i δ_{fi},    max_x score(x) ≤ Σ_i max θ̃_i + Σ_f max θ̃_f

This is the dual of the linear relaxation (Sontag, Globerson & Jaakkola 2011); the bound holds at any δ. Variables are
visited in order and back again: each takes max_{x_f∖i} θ̃_f from the factors that an earlier variable has filled, and
leaves equal shares of what it then has to those that a later one will empty. On pairs that is TRW-S (Kolmogorov 2006),
on larger factors SRMP (Kolmogorov 2015). On a chain in order one visit gives the best score itself.

States that no allowed state of the other variables goes with are struck out before (arc consistency), so that all δ are
finite. Not here: branching (`inference.decoding.bounded_decoding`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ..runtime import inner, kernel

ROUNDING = 2.0**-53  # the relative error of an addition


class DualGraph(NamedTuple):
    """One graph. Edges join a factor and a variable of its scope: edge e is entry e of `scope`."""

    state_off: Ints  #   [V+1]
    scope_off: Ints  #   [F+1]
    scope: Ints  #       [E]    variables; the last one varies fastest
    table_off: Ints  #   [F+1]
    table: Floats  #     [..]   θ_f
    delta_off: Ints  #   [E+1]
    edge_off: Ints  #    [V+1]  edges of a variable …
    edge: Ints  #        [E]    … in the order of factors
    edge_factor: Ints  # [E]


@inner
def _begin(graph, f, digits):
    """The first joint state of a factor."""
    digits[: graph.scope_off[f + 1] - graph.scope_off[f]] = 0


@inner
def _advance(graph, f, digits):
    """The next joint state of a factor, in the order of its table."""
    first = graph.scope_off[f]
    for axis in range(graph.scope_off[f + 1] - first - 1, -1, -1):
        v = graph.scope[first + axis]
        digits[axis] += 1
        if digits[axis] < graph.state_off[v + 1] - graph.state_off[v]:
            return
        digits[axis] = 0


@inner
def _is_allowed(graph, f, digits, allowed):
    first = graph.scope_off[f]
    for e in range(first, graph.scope_off[f + 1]):
        if not allowed[graph.state_off[graph.scope[e]] + digits[e - first]]:
            return False
    return True


@kernel
def prune_states(graph, unary, allowed):
    """Strikes out of `allowed` [states] what cannot be in any labelling by one factor. False if a variable has none."""
    variables, factors = len(graph.state_off) - 1, len(graph.scope_off) - 1
    digits, held = np.zeros(64, np.int64), np.zeros(len(allowed), np.bool_)
    for v in range(variables):
        left = 0
        for x in range(graph.state_off[v], graph.state_off[v + 1]):
            allowed[x] = allowed[x] and unary[x] > -np.inf
            left += allowed[x]
        if left == 0:
            return False
    changed = True
    while changed:
        changed = False
        for f in range(factors):
            _begin(graph, f, digits)
            first, last = graph.scope_off[f], graph.scope_off[f + 1]
            for e in range(first, last):
                v = graph.scope[e]
                held[graph.state_off[v] : graph.state_off[v + 1]] = False
            for j in range(graph.table_off[f], graph.table_off[f + 1]):
                if graph.table[j] > -np.inf and _is_allowed(graph, f, digits, allowed):
                    for e in range(first, last):
                        held[graph.state_off[graph.scope[e]] + digits[e - first]] = True
                _advance(graph, f, digits)
            for e in range(first, last):
                v, left = graph.scope[e], 0
                for x in range(graph.state_off[v], graph.state_off[v + 1]):
                    if allowed[x] and not held[x]:
                        allowed[x], changed = False, True
                    left += allowed[x]
                if left == 0:
                    return False
    return True


@inner
def _maxima(graph, edge, allowed, delta, digits, best):
    """max_{x_f∖i} θ̃_f for each state of the variable of `edge`, into `best`. Returns the largest of them."""
    f, v, peak = graph.edge_factor[edge], graph.scope[edge], -np.inf
    first, last = graph.scope_off[f], graph.scope_off[f + 1]
    best[: graph.state_off[v + 1] - graph.state_off[v]] = -np.inf
    _begin(graph, f, digits)
    for j in range(graph.table_off[f], graph.table_off[f + 1]):
        value = graph.table[j]
        if value > -np.inf and _is_allowed(graph, f, digits, allowed):
            for e in range(first, last):
                value -= delta[graph.delta_off[e] + digits[e - first]]
            x = digits[edge - first]
            best[x], peak = max(best[x], value), max(peak, value)
        _advance(graph, f, digits)
    return peak


@inner
def _collect(graph, edge, allowed, delta, node, digits, best):
    """Moves max_{x_f∖i} θ̃_f from a factor to the variable of `edge`."""
    v = graph.scope[edge]
    at = graph.state_off[v]
    _maxima(graph, edge, allowed, delta, digits, best)
    for x in range(graph.state_off[v + 1] - at):
        if allowed[at + x]:
            delta[graph.delta_off[edge] + x] += best[x]
            node[at + x] += best[x]


@inner
def _visit(graph, v, order, forward, allowed, delta, node, digits, best):
    """Collects at variable v from the factors behind it, and leaves shares to those before it."""
    behind, before = 0, 0
    for i in range(graph.edge_off[v], graph.edge_off[v + 1]):
        f = graph.edge_factor[graph.edge[i]]
        is_behind, is_before = False, False
        for e in range(graph.scope_off[f], graph.scope_off[f + 1]):
            u = graph.scope[e]
            earlier = order[u] < order[v] if forward else order[u] > order[v]
            is_behind |= earlier
            is_before |= u != v and not earlier
        if is_behind:
            _collect(graph, graph.edge[i], allowed, delta, node, digits, best)
        behind, before = behind + is_behind, before + is_before
    if before == 0:
        return
    at, share = graph.state_off[v], 1.0 / max(behind, before)
    count = graph.state_off[v + 1] - at
    for x in range(count):
        best[x] = share * node[at + x]
    for i in range(graph.edge_off[v], graph.edge_off[v + 1]):
        f, is_before = graph.edge_factor[graph.edge[i]], False
        for e in range(graph.scope_off[f], graph.scope_off[f + 1]):
            u = graph.scope[e]
            is_before |= u != v and (order[u] > order[v] if forward else order[u] < order[v])
        if is_before:
            for x in range(count):
                if allowed[at + x]:
                    delta[graph.delta_off[graph.edge[i]] + x] -= best[x]
                    node[at + x] -= best[x]


@inner
def _bound(graph, unary, allowed, delta, node, digits):
    """Rebuilds `node` = θ̃_i from δ. Returns the bound and the most that rounding may have taken off it."""
    bound, size, error = 0.0, 0.0, 0.0
    variables, factors = len(graph.state_off) - 1, len(graph.scope_off) - 1
    for v in range(variables):
        peak, largest = -np.inf, 0.0
        edges = graph.edge_off[v + 1] - graph.edge_off[v]
        for x in range(graph.state_off[v], graph.state_off[v + 1]):
            if not allowed[x]:
                continue
            node[x], absolute = unary[x], abs(unary[x])
            for i in range(graph.edge_off[v], graph.edge_off[v + 1]):
                value = delta[graph.delta_off[graph.edge[i]] + x - graph.state_off[v]]
                node[x] += value
                absolute += abs(value)
            peak, largest = max(peak, node[x]), max(largest, absolute)
        bound, size, error = bound + peak, size + abs(peak), error + edges * largest
    for f in range(factors):
        peak, largest = -np.inf, 0.0
        first, last = graph.scope_off[f], graph.scope_off[f + 1]
        _begin(graph, f, digits)
        for j in range(graph.table_off[f], graph.table_off[f + 1]):
            if graph.table[j] > -np.inf and _is_allowed(graph, f, digits, allowed):
                value, absolute = graph.table[j], abs(graph.table[j])
                for e in range(first, last):
                    moved = delta[graph.delta_off[e] + digits[e - first]]
                    value -= moved
                    absolute += abs(moved)
                peak, largest = max(peak, value), max(largest, absolute)
            _advance(graph, f, digits)
        bound, size, error = bound + peak, size + abs(peak), error + (last - first) * largest
    # each sum of n additions is off by at most n (1 + n u) u Σ|terms|; 1.01 covers the second order
    return bound, 1.01 * ROUNDING * (error + (variables + factors) * size)


@inner
def _score(graph, unary, labelling):
    """Σ log φ at a labelling [V], and the most that rounding may have changed it by."""
    total, size = 0.0, 0.0
    for v in range(len(labelling)):
        value = unary[graph.state_off[v] + labelling[v]]
        total, size = total + value, size + abs(value)
    factors = len(graph.scope_off) - 1
    for f in range(factors):
        entry = 0
        for e in range(graph.scope_off[f], graph.scope_off[f + 1]):
            v = graph.scope[e]
            entry = entry * (graph.state_off[v + 1] - graph.state_off[v]) + labelling[v]
        value = graph.table[graph.table_off[f] + entry]
        total, size = total + value, size + abs(value)
    return total, 1.01 * ROUNDING * (factors + len(labelling)) * size


@inner
def _round(graph, sequence, allowed, delta, node, digits, best, total, labelling):
    """A labelling, variable by variable: the best state beside the states that were chosen before."""
    labelling[:] = -1
    for v in sequence:
        at, count = graph.state_off[v], graph.state_off[v + 1] - graph.state_off[v]
        total[:count] = 0.0
        for i in range(graph.edge_off[v], graph.edge_off[v + 1]):
            edge = graph.edge[i]
            f = graph.edge_factor[edge]
            first, last = graph.scope_off[f], graph.scope_off[f + 1]
            best[:count] = -np.inf
            _begin(graph, f, digits)
            for j in range(graph.table_off[f], graph.table_off[f + 1]):
                value, fits = graph.table[j], True
                for e in range(first, last):
                    chosen = labelling[graph.scope[e]]
                    fits &= chosen < 0 or chosen == digits[e - first]
                if fits and value > -np.inf and _is_allowed(graph, f, digits, allowed):
                    for e in range(first, last):
                        value -= delta[graph.delta_off[e] + digits[e - first]]
                    x = digits[edge - first]
                    best[x] = max(best[x], value)
                _advance(graph, f, digits)
            for x in range(count):
                total[x] += best[x]
        top, state = -np.inf, -1
        for x in range(count):
            if allowed[at + x] and node[at + x] + total[x] > top:
                top, state = node[at + x] + total[x], x
        if state < 0:
            return False
        labelling[v] = state
    return True


@kernel
def state_bounds(graph, allowed, delta, node, bound, most):
    """What no labelling with each state scores more than, into `most` [states]. bound: at this δ, with θ̃_i in `node`.

    θ̃_i(x) and max θ̃_f with x_i = x take the place of their maxima in the sum.
    """
    variables = len(graph.state_off) - 1
    digits = np.zeros(64, np.int64)
    for v in range(variables):
        at = graph.state_off[v]
        last = graph.state_off[v + 1]
        peak = -np.inf
        for x in range(at, last):
            if allowed[x]:
                peak = max(peak, node[x])
        for x in range(at, last):
            most[x] = bound + node[x] - peak if allowed[x] else -np.inf
        best = np.empty(last - at)
        for i in range(graph.edge_off[v], graph.edge_off[v + 1]):
            peak = _maxima(graph, graph.edge[i], allowed, delta, digits, best)
            for x in range(at, last):
                most[x] += best[x - at] - peak


@kernel
def ascend_dual(graph, unary, allowed, sequence, iterations, delta, node, labelling, score, fall):
    """Up to `iterations` visits there and back. Returns (bound, tolerance, score, iterations taken).

    allowed: after `prune_states`.   sequence [V]: the order of visits.   delta: δ, at first and of the best bound.
    node: θ̃_i of the best bound.   labelling [V], score: the best one known, -inf for none; replaced by a better one.
    It ends where the bound is within `tolerance` of the score, which is what rounding may amount to, or has fallen by
    less than `fall` of the gap in 10 iterations.
    """
    variables = len(graph.state_off) - 1
    longest = 1
    for v in range(variables):
        longest = max(longest, graph.state_off[v + 1] - graph.state_off[v])
    digits, best, sums = np.zeros(64, np.int64), np.empty(longest), np.empty(longest)
    found, order = np.empty(variables, np.int64), np.empty(variables, np.int64)
    for n in range(variables):
        order[sequence[n]] = n
    moving, here = delta.copy(), np.zeros(len(unary))
    bound, error = _bound(graph, unary, allowed, moving, here, digits)
    node[:] = here
    slack = 0.0
    if score > -np.inf:
        score, slack = _score(graph, unary, labelling)
    taken, last = 0, bound
    backwards = sequence[::-1].copy()
    while taken < iterations and bound - score > error + slack:
        for turn in range(2):
            way = sequence if turn == 0 else backwards
            for n in range(variables):
                _visit(graph, way[n], order, turn == 0, allowed, moving, here, digits, best)
            value, rounding = _bound(graph, unary, allowed, moving, here, digits)
            if _round(graph, backwards if turn == 0 else sequence, allowed, moving, here, digits, best, sums, found):
                total, off = _score(graph, unary, found)
                if total > score:
                    score, slack = total, off
                    labelling[:] = found
            if value < bound:
                bound, error = value, rounding
                delta[:] = moving
                node[:] = here
            if bound - score <= error + slack:
                break
        taken += 1
        if taken % 10 == 0:
            if last - bound <= fall * (bound - score if score > -np.inf else max(1.0, abs(bound))):
                break
            last = bound
    return bound, error + slack, score, taken
