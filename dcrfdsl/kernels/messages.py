"""Belief propagation on one unrolled graph of any arity: sum-product and max-product.

Only messages factor → variable are kept. What a variable tells a factor is the product of its other messages and its
own (one-variable) potentials, made when needed, so nothing is ever divided and hard zeros are exact
(Sutton 2004 eq. 5, Yedidia 2000):

    m_{f→v}(x_v) = Σ_{x_f∖v} φ_f(x_f) Π_{u≠v} q_{u→f}(x_u),   q_{u→f} = Π_{g∋u, g≠f} m_{g→u}

The change of a message is the largest difference of entries normalised to sum 1, before damping (in log space, where
an entry of any size may decide, the largest difference of logarithms: never less). A run has converged when no message
that was sent since every edge was last sent has moved by the tolerance or more.

Linear space for sums; the log-space twin (sum or max) takes over where a positive entry falls below the floor, so
that products of all messages at a variable stay representable. Not here: orders of sending (`graph.forests`,
`shuffle`), what is read off the messages (`beliefs`).
"""

from __future__ import annotations

import numpy as np

from .compiling import fast_inner, inner, kernel
from .contraction import IMPOSSIBLE, OK, UNDERFLOW
from .dense import add_run, copy_run, matrix_times, multiply_run, times_matrix
from .shuffle import direct_edges, shuffle

__all__ = [
    "FLOOD",
    "ORDERED",
    "RANDOM",
    "RESIDUAL",
    "incoming",
    "node_potentials",
    "outgoing",
    "propagate",
    "recall",
    "remember",
]  # fmt: skip

LEAST_RECALLED = 1e-30

ORDERED, RANDOM, FLOOD, RESIDUAL = 0, 1, 2, 3  # how the next edges to send are chosen


@inner
def node_potentials(g, shapes, value, log_space, node):
    """Product of the one-variable factors of each variable, [states of the shape], maximum taken out.

    Returns (log of what was taken out, status).
    """
    f0, v0 = shapes.fac_off[g], shapes.var_off[g]
    one, zero = (0.0, -np.inf) if log_space else (1.0, 0.0)
    for v in range(v0, shapes.var_off[g + 1]):
        at = shapes.state_off[v]
        node[at : at + shapes.card[v]] = one
    for f in range(f0, shapes.fac_off[g + 1]):
        s = shapes.scope_off[f]
        if shapes.scope_off[f + 1] - s != 1:
            continue
        v = v0 + shapes.scope[s]
        at, table = shapes.state_off[v], shapes.fac_table[f]
        for x in range(shapes.card[v]):
            node[at + x] = node[at + x] + value[table + x] if log_space else node[at + x] * value[table + x]
    total = 0.0
    for v in range(v0, shapes.var_off[g + 1]):
        at, states = shapes.state_off[v], shapes.card[v]
        peak = zero
        for x in range(states):
            peak = max(peak, node[at + x])
        if peak == zero:
            return 0.0, IMPOSSIBLE
        for x in range(states):
            if log_space:
                node[at + x] -= peak
            else:
                node[at + x] /= peak
                if 0.0 < node[at + x] < 1e-100:
                    return 0.0, UNDERFLOW
        total += peak if log_space else np.log(peak)
    return total, OK


@fast_inner
def incoming(g, e, shapes, edges, node, message, log_space, out):
    """q_{u→f} for edge e = (f, u): the variable's own potential times its messages from other factors."""
    e0 = edges.edge_off[g]
    u = edges.edge_var[e0 + e]
    v = shapes.var_off[g] + u
    at, states = shapes.state_off[v], shapes.card[v]
    copy_run(node, at, states, out)
    factor = edges.edge_factor[e0 + e]
    for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
        other = edges.var_edge[j]
        if edges.edge_factor[e0 + other] == factor:
            continue
        m = edges.message_off[e0 + other]
        if log_space:
            add_run(message, m, states, out)
        else:
            multiply_run(message, m, states, out)


@fast_inner
def outgoing(g, e, shapes, edges, value, node, message, log_space, maximise, q, new):
    """The message that edge e = (f, v) would send now, not normalised, into `new` [states of v]."""
    e0 = edges.edge_off[g]
    f = shapes.fac_off[g] + edges.edge_factor[e0 + e]
    s0 = shapes.scope_off[f]
    arity = shapes.scope_off[f + 1] - s0
    first = edges.first_edge[f]
    axis = edges.edge_axis[e0 + e]
    v0 = shapes.var_off[g]
    table = shapes.fac_table[f]
    states = shapes.card[v0 + edges.edge_var[e0 + e]]
    nothing = -np.inf if log_space else 0.0
    for x in range(states):
        new[x] = nothing
    if arity == 2:
        incoming(g, first + 1 - axis, shapes, edges, node, message, log_space, q[0])
        others = shapes.card[v0 + shapes.scope[s0 + 1 - axis]]
        if not log_space:
            if axis == 1:
                times_matrix(q[0], others, value, table, states, new)
            else:
                matrix_times(value, table, states, q[0], others, new)
            return
        step_x, step_u = (1, states) if axis == 1 else (others, 1)
        for x in range(states):
            peak = -np.inf
            for u in range(others):
                peak = max(peak, q[0, u] + value[table + x * step_x + u * step_u])
            if not maximise and peak > -np.inf:
                total = 0.0
                for u in range(others):
                    total += np.exp(q[0, u] + value[table + x * step_x + u * step_u] - peak)
                peak += np.log(total)
            new[x] = peak
        return
    # any arity: walk through the table with an odometer over the scope, twice for a stable log-sum
    for i in range(arity):
        if i != axis:
            incoming(g, first + i, shapes, edges, node, message, log_space, q[i])
    size = shapes.fac_size[f]
    if not log_space:
        for j in range(size):
            rest, term, x = j, value[table + j], 0
            for i in range(arity - 1, -1, -1):
                card = shapes.card[v0 + shapes.scope[s0 + i]]
                state = rest % card
                rest //= card
                if i == axis:
                    x = state
                else:
                    term *= q[i, state]
            new[x] += term
        return
    sums = q[arity]
    for x in range(states):
        sums[x] = 0.0
    for turn in range(1 if maximise else 2):
        for j in range(size):
            rest, term, x = j, value[table + j], 0
            for i in range(arity - 1, -1, -1):
                card = shapes.card[v0 + shapes.scope[s0 + i]]
                state = rest % card
                rest //= card
                if i == axis:
                    x = state
                else:
                    term += q[i, state]
            if turn == 0:
                new[x] = max(new[x], term)
            elif new[x] > -np.inf:
                sums[x] += np.exp(term - new[x])
    if not maximise:
        for x in range(states):
            if new[x] > -np.inf:
                new[x] += np.log(sums[x])


@fast_inner
def _store_linear(new, states, message, target, m, damping, floor):
    """Normalises and damps `new` into `target` from m on; returns (change against `message`, status)."""
    sent, before, after = new[:states], message[m : m + states], target[m : m + states]
    total = 0.0
    for x in range(states):
        total += sent[x]
    if not total > 0.0:
        return 0.0, IMPOSSIBLE
    scale, kept_share, change, low = 1.0 / total, 1.0 - damping, 0.0, 0
    for x in range(states):
        fresh, old = sent[x] * scale, before[x]
        moved = abs(fresh - old)
        change = moved if moved > change else change
        # a state that is impossible now stays impossible: zeros must not be averaged away
        kept = kept_share * fresh + damping * old if fresh > 0.0 else 0.0
        low += 1 if (kept > 0.0) & (kept < floor) else 0
        after[x] = kept
    return change, UNDERFLOW if low > 0 else OK


@fast_inner
def _send(g, e, shapes, edges, value, node, message, target, log_space, maximise, damping, floor, q, new):
    """Sends edge e: `target` gets the new message, normalised and damped. Returns (change, status).

    Linear messages sum to 1, log messages have maximum 0. Damping mixes old and new in the message's own space.
    """
    outgoing(g, e, shapes, edges, value, node, message, log_space, maximise, q, new)
    e0 = edges.edge_off[g]
    m = edges.message_off[e0 + e]
    states = shapes.card[shapes.var_off[g] + edges.edge_var[e0 + e]]
    change = 0.0
    if not log_space:
        return _store_linear(new, states, message, target, m, damping, floor)
    peak = -np.inf
    for x in range(states):
        peak = max(peak, new[x])
    if peak == -np.inf:
        return 0.0, IMPOSSIBLE
    for x in range(states):
        fresh, old = new[x] - peak, message[m + x]
        if fresh != old:  # equal infinities have not moved
            change = max(change, abs(fresh - old))
        if damping > 0.0 and fresh > -np.inf and old > -np.inf:
            fresh = (1.0 - damping) * fresh + damping * old
        target[m + x] = fresh
    return change, OK


@kernel
def propagate(
    g,
    shapes,
    edges,
    schedules,
    value,
    node,
    message,
    kind,
    tolerance,
    max_iterations,
    damping,
    seed,
    log_space,
    maximise,
    warm,
):
    """Sends messages by the schedule `kind` until they rest. Returns (converged, iterations, residual, status).

    `message` is filled here with uniform messages first, unless `warm` says that it holds some. An iteration is a pass
    of the pool (ORDERED), all edges one way and then the other (RANDOM), all edges at once (FLOOD), or as many sends
    as there are edges (RESIDUAL).
    """
    e0, count = edges.edge_off[g], edges.edge_off[g + 1] - edges.edge_off[g]
    largest, arity, degree = 1, 2, 1
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        largest = max(largest, shapes.card[v])
        degree = max(degree, edges.var_edge_off[v + 1] - edges.var_edge_off[v])
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        arity = max(arity, shapes.scope_off[f + 1] - shapes.scope_off[f])
    for e in range(count):
        m, states = edges.message_off[e0 + e], shapes.card[shapes.var_off[g] + edges.edge_var[e0 + e]]
        if not warm:
            message[m : m + states] = 0.0 if log_space else 1.0 / states
    if count == 0:
        return True, 0, 0.0, OK
    # products of `degree` messages, a potential and a table entry must stay normal doubles
    floor = 10.0 ** (-180.0 / (degree * (arity - 1) + 1))
    q, new = np.empty((arity + 1, largest)), np.empty(largest)
    if kind == RESIDUAL:
        return _propagate_residual(
            g,
            shapes,
            edges,
            value,
            node,
            message,
            tolerance,
            max_iterations,
            damping,
            log_space,
            maximise,
            floor,
            q,
            new,
        )
    order = np.empty(count, np.int64)
    half = 0
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(count)
    if kind == RANDOM:
        half = direct_edges(g, shapes, edges, order, state)
    passes = schedules.pass_off[g + 1] - schedules.pass_off[g] if kind == ORDERED else 0
    updated = np.full(count, -1, np.int64)  # iteration in which an edge was last sent
    pending = message.copy() if kind == FLOOD else message
    last_moved = -1
    recent = np.full(count, np.inf)  # change of each edge when last sent
    for iteration in range(max_iterations):
        first, last = 0, count
        if kind == ORDERED:
            chosen = iteration % passes
            p = schedules.pass_off[g] + chosen
            first, last = schedules.send_off[p], schedules.send_off[p + 1]
        elif kind == RANDOM:
            state = shuffle(order[:half], half, state)
            state = shuffle(order[half:], count - half, state)
        for i in range(first, last):
            e = schedules.send[i] if kind == ORDERED else (order[i] if kind == RANDOM else i)
            change, status = _send(
                g, e, shapes, edges, value, node, message, pending, log_space, maximise, damping, floor, q, new
            )
            if status != OK:
                return False, iteration + 1, np.inf, status
            updated[e], recent[e] = iteration, change
            if not change < tolerance:
                last_moved = iteration
        if kind == FLOOD:
            message[:] = pending
        oldest = iteration
        for e in range(count):
            oldest = min(oldest, updated[e])
        if oldest > last_moved:
            return True, iteration + 1, recent.max(), OK
    return False, max_iterations, recent.max(), OK


@kernel
def _propagate_residual(
    g, shapes, edges, value, node, message, tolerance, max_iterations, damping, log_space, maximise, floor, q, new
):
    """Always sends the message that would change most. A tournament tree over edges finds it in log time."""
    e0, count = edges.edge_off[g], edges.edge_off[g + 1] - edges.edge_off[g]
    leaves = 1
    while leaves < count:
        leaves *= 2
    best = np.full(2 * leaves, -1.0)  # best[1] is the largest change of all edges
    scratch = np.empty_like(message)
    for e in range(count):
        change, status = _send(
            g, e, shapes, edges, value, node, message, scratch, log_space, maximise, 0.0, floor, q, new
        )
        if status != OK:
            return False, 1, np.inf, status
        best[leaves + e] = change
    for i in range(leaves - 1, 0, -1):
        best[i] = max(best[2 * i], best[2 * i + 1])
    sends = 0
    while sends < max_iterations * count:
        if best[1] < tolerance:
            # a change too small to be sent may still matter further on: everything is sent both ways before resting
            moved = 0.0
            for i in range(2 * count):
                e = i if i < count else 2 * count - 1 - i
                change, status = _send(
                    g, e, shapes, edges, value, node, message, message, log_space, maximise, damping, floor, q, new
                )
                if status != OK:
                    return False, sends // count + 1, np.inf, status
                moved = max(moved, change)
            sends += 2 * count
            if moved < tolerance:
                return True, sends // count, moved, OK
            for e in range(count):
                _refresh(
                    g, e, shapes, edges, value, node, message, scratch, log_space, maximise, floor, q, new, best, leaves
                )
            continue
        sends += 1
        i = 1
        while i < leaves:
            i = 2 * i if best[2 * i] >= best[2 * i + 1] else 2 * i + 1
        e = i - leaves
        change, status = _send(
            g, e, shapes, edges, value, node, message, message, log_space, maximise, damping, floor, q, new
        )
        if status != OK:
            return False, sends // count + 1, np.inf, status
        # what this message feeds: the other edges of the other factors at its variable, and itself if damped
        _refresh(g, e, shapes, edges, value, node, message, scratch, log_space, maximise, floor, q, new, best, leaves)
        v = shapes.var_off[g] + edges.edge_var[e0 + e]
        for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
            entry = edges.var_edge[j]
            f = shapes.fac_off[g] + edges.edge_factor[e0 + entry]
            if edges.edge_factor[e0 + entry] == edges.edge_factor[e0 + e]:
                continue
            for i in range(shapes.scope_off[f + 1] - shapes.scope_off[f]):
                other = edges.first_edge[f] + i
                if other != entry:
                    _refresh(
                        g, other, shapes, edges, value, node, message, scratch, log_space, maximise, floor, q, new,
                        best, leaves,
                    )  # fmt: skip
    return False, max_iterations, best[1], OK


@inner
def _refresh(g, other, shapes, edges, value, node, message, scratch, log_space, maximise, floor, q, new, best, leaves):
    """Recomputes the change that sending `other` would make and repairs the tournament tree."""
    change, status = _send(
        g, other, shapes, edges, value, node, message, scratch, log_space, maximise, 0.0, floor, q, new
    )
    i = leaves + other
    best[i] = change if status != IMPOSSIBLE else np.inf
    while i > 1:
        i //= 2
        best[i] = max(best[2 * i], best[2 * i + 1])


@inner
def recall(kept, count, message):
    """Fills `message` [count] from single precision. Zeros become tiny: a message says itself what is impossible."""
    out, own = message[:count], kept[:count]
    for x in range(count):
        out[x] = max(own[x], LEAST_RECALLED)


@inner
def remember(message, count, kept):
    """Keeps `message` [count] in single precision, which is enough to begin from."""
    out, own = kept[:count], message[:count]
    for x in range(count):
        out[x] = own[x]
