"""Results of tree-reweighted messages: pseudo-marginals, the upper bound on log Z, expectations of data sets.

For the formulas see `trw`, which sends the messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import IMPOSSIBLE, OK, inner, kernel
from ..tables import Schedules, fill_tables
from .feasible_search import largest_sequence
from .sum_product import add_up, entry_term, largest_shape, node_potentials, recall, record_run, remember
from .trw import (
    Reweighting,
    exponentiate_incoming,
    marginalise,
    pair_belief,
    reweighted_incoming,
    reweighted_messages,
    stretch_tables,
    take_maxima,
)


class Forests(NamedTuple):
    """The forests that split the model."""

    passes: Schedules  #                one a forest, from the leaves
    appearance: NDArray[np.float64]  #  [F]  ρ_f
    off: NDArray[np.int64]  #           [F]  see `Reweighting`


@inner
def _log_sum(values, at, count):
    """log Σ exp of a run, which becomes probabilities; -inf if all of it is -inf."""
    peak, total = -np.inf, 0.0
    for x in range(at, at + count):
        peak = max(peak, values[x])
    if peak == -np.inf:
        return -np.inf
    for x in range(at, at + count):
        values[x] = np.exp(values[x] - peak)
        total += values[x]
    for x in range(at, at + count):
        values[x] /= total
    return peak + np.log(total)


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
        log_norm = _log_sum(var_belief, at, shapes.card[v])
        if log_norm == -np.inf:
            return -np.inf
        total += share * log_norm
    for f in range(f0, shapes.fac_off[g + 1]):
        s0, table, size = shapes.scope_off[f], shapes.fac_table[f], shapes.fac_size[f]
        arity = shapes.scope_off[f + 1] - s0
        if arity < 2:
            at = shapes.state_off[v0 + shapes.scope[s0]] if arity == 1 else 0
            for x in range(size):
                belief[table + x] += var_belief[at + x]
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
            log_norm = _log_sum(scratch, 0, size)
        if log_norm == -np.inf or shift == -np.inf:
            return -np.inf
        total += rho[f] * (log_norm + shift) + peak[f - f0]
        for j in range(size):
            belief[table + j] += scratch[j]
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
                total += _log_sum(up, shapes.state_off[v], shapes.card[v])
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
    for j in range(shared):
        totals.expected[j] += belief[j]
