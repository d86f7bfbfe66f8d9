"""Tree-reweighted sum-product: a convex upper bound on log Z and its pseudo-marginals, for factors of any arity.

Wainwright, Jaakkola & Willsky 2005. The pool holds T forests of factors, each without a loop; ρ_f is the share of
forests that contain factor f. (For pairwise factors these are spanning trees and edge appearance probabilities. For
larger factors, a forest is a set whose factor graph has no loop; the bound needs no more.) Messages go factor →
variable:

    m_{f→v}(x_v) ∝ Σ_{x_f∖v} φ_f(x_f)^{1/ρ_f} Π_{u≠v} q_{u→f}(x_u),    q_{u→f} = b_u / m_{f→u}
    b_v ∝ φ_v Π_{f∋v} m_{f→v}^{ρ_f},    b_f ∝ φ_f^{1/ρ_f} Π_{v∈f} q_{v→f}

*Any* messages split the model into the T forests θᵗ with Σ_t θᵗ/T = θ: forest t has the potentials b_v of variables and
φ_f^{1/ρ_f} / Π_v m_{f→v} of its factors. log Z is convex, so Σ_t log Z(θᵗ)/T ≥ log Z. This average
is returned: it is a bound for any messages, and least at a fixed point. There its gradient is the pseudo-marginals.

Messages are logarithms with maximum 0. Sums run over linear tables where these and the incoming messages fit, else over
logarithms: 1/ρ stretches the range of a table. Not here: drawing the forests (`graph.factor_forests`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Mask
from ..runtime import IMPOSSIBLE, OK, fast_inner, inner, kernel
from ..tables import Schedules, add_run, fill_tables, matrix_times, times_matrix
from .feasible_search import largest_sequence
from .sum_product import (
    add_up,
    entry_term,
    largest_shape,
    node_potentials,
    normalise_logs,
    recall,
    record_run,
    remember,
    store_logs,
)

LINEAR_RANGE = -600.0  # log of the least product of a table entry and incoming messages in linear space


class Reweighting(NamedTuple):
    """The tables of one graph at a time, raised to 1/ρ_f and divided by their maxima."""

    rho: Floats  #   [F]
    off: Ints  #     [F]     where a factor's table begins, counted from its shape's first
    table: Floats  # [2, ..] as logarithms, and exp of them
    peak: Floats  #  [factors of the shape]  the maximum of log φ_f
    fits: Mask  #    [factors of the shape]  whether the exp may stand in sums


@kernel
def stretch_tables(g, shapes, logs, reweighting):
    """Writes log φ_f^{1/ρ_f} and its exp to the tables of `reweighting`.

    Returns OK, or IMPOSSIBLE if a factor forbids every assignment.
    """
    rho, stretched_off, stretched, peak, fits = reweighting
    f0 = shapes.fac_off[g]
    for f in range(f0, shapes.fac_off[g + 1]):
        arity = shapes.scope_off[f + 1] - shapes.scope_off[f]
        if arity < 2:
            continue
        table, at, size = shapes.fac_table[f], stretched_off[f], shapes.fac_size[f]
        top, low = -np.inf, 0.0
        for j in range(size):
            top = max(top, logs[table + j])
        if top == -np.inf:
            return IMPOSSIBLE
        for j in range(size):
            x = (logs[table + j] - top) / rho[f]
            stretched[0, at + j] = x
            stretched[1, at + j] = np.exp(x)
            if x > -np.inf:
                low = min(low, x)
        peak[f - f0], fits[f - f0] = top, low > LINEAR_RANGE / arity
    return OK


@fast_inner
def reweighted_incoming(g, v, told, shapes, edges, rho, node, message, out):
    """out = log q_{v→f} for the edge `told` = (f, v), or log b_v with -1; v counts from the bank's first variable."""
    e0, f0 = edges.edge_off[g], shapes.fac_off[g]
    at, states = shapes.state_off[v], shapes.card[v]
    for x in range(states):
        out[x] = node[at + x]
    for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
        other = edges.var_edge[j]
        weight = rho[f0 + edges.edge_factor[e0 + other]] - (1.0 if other == told else 0.0)
        m = edges.message_off[e0 + other]
        for x in range(states):
            # a state that a factor rules out stays so, even with a weight of 0 or below
            out[x] = out[x] + weight * message[m + x] if message[m + x] > -np.inf else -np.inf


@fast_inner
def take_maxima(f, axis, shapes, v0, q):
    """Subtracts its maximum from each q[i], for all variables of the factor but `axis` (-1: for all).

    Returns (the sum of the maxima, -inf if nothing is possible; whether exp of the rest fits linear space).
    """
    s0 = shapes.scope_off[f]
    arity = shapes.scope_off[f + 1] - s0
    shift, linear = 0.0, True
    for i in range(arity):
        if i == axis:
            continue
        card = shapes.card[v0 + shapes.scope[s0 + i]]
        peak, low = -np.inf, np.inf
        for x in range(card):
            peak = max(peak, q[i, x])
            low = min(low, q[i, x] if q[i, x] > -np.inf else np.inf)
        if peak == -np.inf:
            return -np.inf, False
        linear &= low - peak > LINEAR_RANGE / arity
        shift += peak
        for x in range(card):
            q[i, x] -= peak
    return shift, linear


@fast_inner
def exponentiate_incoming(f, axis, shapes, v0, q):
    """exp of q[i] in place, for all variables of the factor but `axis` (-1: for all)."""
    for i in range(shapes.scope_off[f + 1] - shapes.scope_off[f]):
        if i != axis:
            for x in range(shapes.card[v0 + shapes.scope[shapes.scope_off[f] + i]]):
                q[i, x] = np.exp(q[i, x])


@fast_inner
def pair_belief(f, shapes, v0, stretched, at, q, out):
    """out = the product of a table of two variables and the linear q, as probabilities. Returns log of its sum."""
    s0, total = shapes.scope_off[f], 0.0
    rows, columns = shapes.card[v0 + shapes.scope[s0]], shapes.card[v0 + shapes.scope[s0 + 1]]
    right = q[1, :columns]
    for x in range(rows):
        share, table, row = q[0, x], stretched[1, at + x * columns : at + (x + 1) * columns], out[x * columns :]
        for y in range(columns):
            row[y] = share * table[y] * right[y]
            total += row[y]
    for j in range(rows * columns):
        out[j] /= total
    return np.log(total)


@fast_inner
def marginalise(f, axis, shapes, v0, stretched, at, fit, maximise, q, new):
    """new[x] = log Σ φ_f^{1/ρ} Π_{i≠axis} exp q[i] over the entries whose variable `axis` is in state x; or log max.

    Overwrites q. new is -inf everywhere if nothing is possible.
    """
    s0 = shapes.scope_off[f]
    arity, size = shapes.scope_off[f + 1] - s0, shapes.fac_size[f]
    states = shapes.card[v0 + shapes.scope[s0 + axis]]
    for x in range(states):
        new[x] = -np.inf
    shift, linear = take_maxima(f, axis, shapes, v0, q)
    if shift == -np.inf:
        return
    if linear and fit and not maximise:
        exponentiate_incoming(f, axis, shapes, v0, q)
        if arity == 2 and axis == 1:
            times_matrix(q[0], shapes.card[v0 + shapes.scope[s0]], stretched[1], at, states, new)
        elif arity == 2:
            matrix_times(stretched[1], at, states, q[1], shapes.card[v0 + shapes.scope[s0 + 1]], new)
        else:
            for x in range(states):
                new[x] = 0.0
            for j in range(size):
                axis_state, term = entry_term(j, stretched[1, at + j], f, axis, shapes, v0, q, False)
                new[axis_state] += term
        for x in range(states):
            new[x] = np.log(new[x]) + shift if new[x] > 0.0 else -np.inf
        return
    sums = q[axis]  # unused: the target sends no message to itself
    for x in range(states):
        sums[x] = 0.0
    for turn in range(1 if maximise else 2):  # the largest term first, so that the sum is stable
        for j in range(size):
            axis_state, term = entry_term(j, stretched[0, at + j], f, axis, shapes, v0, q, True)
            if turn == 0:
                new[axis_state] = max(new[axis_state], term)
            elif new[axis_state] > -np.inf:
                sums[axis_state] += np.exp(term - new[axis_state])
    for x in range(states):
        if new[x] > -np.inf:
            new[x] += shift if maximise else np.log(sums[x]) + shift


@kernel
def reweighted_messages(g, shapes, edges, reweighting, node, control, maximise, warm, message):
    """Sends messages until they converge, sums or (`maximise`) maxima: (converged, iterations, residual, status).

    An iteration sends all messages, in order of factors and in reverse in turn. The change of a message is the largest
    difference of logarithms before damping. The run has converged after two iterations with all changes below the
    tolerance.
    """
    rho, stretched_off, stretched, _, fits = reweighting
    e0, f0, v0 = edges.edge_off[g], shapes.fac_off[g], shapes.var_off[g]
    count = edges.edge_off[g + 1] - e0
    if not warm:
        message[: edges.messages[g]] = 0.0
    if count == 0:
        return True, 0, 0.0, OK
    largest, most = largest_shape(g, shapes)
    q, new = np.empty((most, largest)), np.empty(largest)
    residual, before = np.inf, np.inf
    for iteration in range(control.max_iterations):
        before, residual = residual, 0.0
        for turn in range(count):
            e = turn if iteration % 2 == 0 else count - 1 - turn
            f, axis = f0 + edges.edge_factor[e0 + e], edges.edge_axis[e0 + e]
            for i in range(shapes.scope_off[f + 1] - shapes.scope_off[f]):
                if i != axis:
                    u = v0 + shapes.scope[shapes.scope_off[f] + i]
                    reweighted_incoming(g, u, edges.first_edge[f] + i, shapes, edges, rho, node, message, q[i])
            marginalise(f, axis, shapes, v0, stretched, stretched_off[f], fits[f - f0], maximise, q, new)
            states = shapes.card[v0 + edges.edge_var[e0 + e]]
            change, state = store_logs(new, states, message, message, edges.message_off[e0 + e], control.damping)
            if state != OK:
                return False, iteration + 1, np.inf, state
            residual = max(residual, change)
        if max(before, residual) < control.tolerance:
            return True, iteration + 1, max(before, residual), OK
    return False, control.max_iterations, residual, OK


# pseudo-marginals, the upper bound on log Z, expectations of data sets ------------------------------------------------


class Forests(NamedTuple):
    """The forests that split the model."""

    passes: Schedules  #  one a forest, from the leaves
    appearance: Floats  # [F]  ρ_f
    off: Ints  #          [F]  see `Reweighting`


@kernel
def reweighted_beliefs(g, shapes, edges, reweighting, node, message, var_belief, belief, scratch):
    """b_v into `var_belief` [states], b_f added to `belief` in arena layout. `scratch` holds the largest table.

    Returns Σ_f ρ_f log Z_f + Σ_v (1 − Σ_{f∋v} ρ_f) log Z_v, Z the normalisers: the bound, but only at a fixed point.
    It is -inf where a belief is zero everywhere: then no labelling is possible.
    """
    rho, stretched_off, stretched, peak, fits = reweighting
    v0, f0 = shapes.var_off[g], shapes.fac_off[g]
    largest, most = largest_shape(g, shapes)
    q, total = np.empty((most, largest)), 0.0
    for v in range(v0, shapes.var_off[g + 1]):
        at, share = shapes.state_off[v], 1.0
        reweighted_incoming(g, v, -1, shapes, edges, rho, node, message, var_belief[at : at + shapes.card[v]])
        for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
            share -= rho[f0 + edges.edge_factor[edges.edge_off[g] + edges.var_edge[j]]]
        log_norm = normalise_logs(var_belief, at, shapes.card[v])
        if log_norm == -np.inf:
            return -np.inf
        total += share * log_norm
    for f in range(f0, shapes.fac_off[g + 1]):
        s0, table, size = shapes.scope_off[f], shapes.fac_table[f], shapes.fac_size[f]
        arity = shapes.scope_off[f + 1] - s0
        if arity < 2:
            at = shapes.state_off[v0 + shapes.scope[s0]] if arity == 1 else 0
            add_run(var_belief, at, size, belief[table:])
            continue
        for i in range(arity):
            u = v0 + shapes.scope[s0 + i]
            reweighted_incoming(g, u, edges.first_edge[f] + i, shapes, edges, rho, node, message, q[i])
        shift, linear = take_maxima(f, -1, shapes, v0, q)
        if linear and arity == 2 and fits[f - f0]:
            exponentiate_incoming(f, -1, shapes, v0, q)
            log_norm = pair_belief(f, shapes, v0, stretched, stretched_off[f], q, scratch)
        else:
            for j in range(size):
                _, scratch[j] = entry_term(j, stretched[0, stretched_off[f] + j], f, -1, shapes, v0, q, True)
            log_norm = normalise_logs(scratch, 0, size)
        if log_norm == -np.inf or shift == -np.inf:
            return -np.inf
        total += rho[f] * (log_norm + shift) + peak[f - f0]
        add_run(scratch, 0, size, belief[table:])
    return total


@kernel
def reweighted_bound(g, shapes, edges, passes, reweighting, node, message):
    """Σ_t log Z(θᵗ)/T over the forests of the pool: an upper bound on log Z for any messages.

    Each forest is summed out from its leaves: a send is an edge (f, v) along which factor f, after all messages from
    its other variables, sends to v.
    """
    rho, stretched_off, stretched, peak, fits = reweighting
    e0, f0, v0 = edges.edge_off[g], shapes.fac_off[g], shapes.var_off[g]
    largest, most = largest_shape(g, shapes)
    q, new = np.empty((most, largest)), np.empty(largest)
    log_b, up, under = np.empty_like(node), np.empty_like(node), np.empty(shapes.var_off[g + 1] - v0, np.bool_)
    for v in range(v0, shapes.var_off[g + 1]):
        at = shapes.state_off[v]
        reweighted_incoming(g, v, -1, shapes, edges, rho, node, message, log_b[at : at + shapes.card[v]])
    total = 0.0
    for t in range(passes.pass_off[g], passes.pass_off[g + 1]):
        up[:] = log_b
        under[:] = False
        for i in range(passes.send_off[t], passes.send_off[t + 1]):
            e = e0 + passes.send[i]
            f, axis = f0 + edges.edge_factor[e], edges.edge_axis[e]
            for other in range(shapes.scope_off[f + 1] - shapes.scope_off[f]):
                u = shapes.scope[shapes.scope_off[f] + other]
                m, at = edges.message_off[e0 + edges.first_edge[f] + other], shapes.state_off[v0 + u]
                if other != axis:
                    under[u] = True
                    for x in range(shapes.card[v0 + u]):
                        q[other, x] = up[at + x] - message[m + x] if up[at + x] > -np.inf else -np.inf
            marginalise(f, axis, shapes, v0, stretched, stretched_off[f], fits[f - f0], False, q, new)
            m, at = edges.message_off[e], shapes.state_off[v0 + edges.edge_var[e]]
            for x in range(shapes.card[v0 + edges.edge_var[e]]):
                if up[at + x] > -np.inf:  # elsewhere the message may be -inf too
                    up[at + x] += new[x] - message[m + x]
        for v in range(v0, shapes.var_off[g + 1]):
            if not under[v - v0]:
                total += normalise_logs(up, shapes.state_off[v], shapes.card[v])
    total /= passes.pass_off[g + 1] - passes.pass_off[g]
    for f in range(f0, shapes.fac_off[g + 1]):
        if shapes.scope_off[f + 1] - shapes.scope_off[f] > 1:
            total += peak[f - f0]
    return total


@inner
def _largest_tables(shapes, rows, edges, first, last):
    """The most entries of tables of two or more variables, factors and message cells of a sequence of the run."""
    tables, factors, longest = 0, 0, 0
    for s in range(first, last):
        g = rows.shape[s]
        entries = 0
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            if shapes.scope_off[f + 1] - shapes.scope_off[f] > 1:
                entries += shapes.fac_size[f]
        tables, longest = max(tables, entries), max(longest, edges.messages[g])
        factors = max(factors, shapes.fac_off[g + 1] - shapes.fac_off[g])
    return tables, factors, longest


@kernel
def reweighted_expectations(
    first, last, problem, edges, potentials, forests, control, maximise, totals, results, marginals, start
):
    """As `sequences.message_expectations`, tree-reweighted: log Z is an upper bound, converged or not.

    With `maximise` marginals are max-marginals, for labellings, and nothing else is worth reading.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, states = largest_sequence(shapes, rows, first, last)
    tables, factors, longest = _largest_tables(shapes, rows, edges, first, last)
    shared = shapes.local_start
    logs, belief, node, var_belief = np.empty(arena), np.zeros(arena), np.empty(states), np.empty(states)
    peak, fits = np.zeros(factors), np.zeros(factors, np.bool_)
    reweighting = Reweighting(forests.appearance, forests.off, np.empty((2, tables)), peak, fits)
    message, scratch = np.empty(longest), np.empty(max(1, tables))
    logs[:shared] = log_base
    for s in range(first, last):
        g = rows.shape[s]
        count, length = marginals.off[s + 1] - marginals.off[s], edges.messages[g]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        taken, state = node_potentials(g, shapes, logs, True, node)
        converged, rounds, left, log_z = False, 0, np.inf, -np.inf
        if state == OK:
            state = stretch_tables(g, shapes, logs, reweighting)
        if state == OK:
            warm = recall(start, s, length, -np.inf, message)
            converged, rounds, left, state = reweighted_messages(
                g, shapes, edges, reweighting, node[:count], control, maximise, warm, message
            )
            remember(start, s, state, message, length)
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            free_energy = reweighted_beliefs(
                g, shapes, edges, reweighting, node[:count], message, var_belief, belief, scratch
            )
            if free_energy == -np.inf:
                state = IMPOSSIBLE
        if state == OK:
            log_z = taken + reweighted_bound(g, shapes, edges, forests.passes, reweighting, node[:count], message)
        record_run(s, state, (converged, rounds, left, False), results)
        add_up(s, state, log_z, problem, var_belief, belief, totals, results, marginals)
    add_run(belief, 0, shared, totals.expected)
