"""Results of generalised belief propagation: marginals, the Kikuchi log Z, expectations of data sets.

For the formulas see `region_messages`, which sends the messages.
"""

from __future__ import annotations

import numpy as np

from ..runtime import OK, fast_inner, inner, kernel
from ..tables import fill_tables
from .feasible_search import largest_sequence
from .region_messages import RegionTables, propagate_regions
from .sum_product import add_up, node_potentials, recall, record_run, remember


@fast_inner
def _fill_clusters(g, shapes, regions, logs, node, log_phi):
    """log φ_α: the sum of the factors and of the `node` potentials of variables that each cluster holds."""
    for a in range(regions.cluster_off[g], regions.cluster_off[g + 1]):
        for j in range(regions.table_off[a], regions.table_off[a] + regions.size[a]):
            log_phi[j] = 0.0
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if shapes.scope_off[f + 1] - shapes.scope_off[f] > 1:
            a, place = regions.fac_cluster[f], regions.fac_map[f]
            for j in range(regions.size[a]):
                log_phi[regions.table_off[a] + j] += logs[shapes.fac_table[f] + regions.map[place + j]]
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        a, place = regions.var_cluster[v], regions.var_map[v]
        for j in range(regions.size[a]):
            log_phi[regions.table_off[a] + j] += node[shapes.state_off[v] + regions.map[place + j]]


@inner
def _share(b, within, cluster, logs, at, regions, message):
    """Messages by which the clusters around region b, and not `cluster` alone, hold equal shares of a table."""
    links = regions.link_off[b + 1] - regions.link_off[b]
    for link in range(regions.link_off[b], regions.link_off[b + 1]):
        share = 1.0 / links - (1.0 if regions.link_cluster[link] == cluster else 0.0)
        for x in range(regions.states[b]):
            value = logs[at + regions.map[within + x]]
            if value > -np.inf:  # what is impossible in one cluster soon is in all
                message[regions.link_message[link] + x] += share * value


@inner
def _start_messages(g, shapes, regions, logs, node, message):
    """Messages that spread each factor over all clusters around it: so the order of clusters matters less."""
    for i in range(regions.messages[g]):
        message[i] = 0.0
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if regions.fac_region[f] >= 0:
            b, within = regions.fac_region[f], regions.fac_within[f]
            _share(b, within, regions.fac_cluster[f], logs, shapes.fac_table[f], regions, message)
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        if regions.var_region[v] >= 0:
            b, within = regions.var_region[v], regions.var_within[v]
            _share(b, within, regions.var_cluster[v], node, shapes.state_off[v], regions, message)


@fast_inner
def _read_clusters(g, shapes, regions, tables, var_belief, belief):
    """Marginals into `var_belief` [states], of factors added to `belief` in arena layout. Returns the Kikuchi log Z."""
    log_z = 0.0
    for a in range(regions.cluster_off[g], regions.cluster_off[g + 1]):
        for j in range(regions.table_off[a], regions.table_off[a] + regions.size[a]):
            if tables.table[j] > 0.0:
                log_z += tables.table[j] * (tables.log_phi[j] - np.log(tables.table[j]))
    for b in range(regions.region_off[g], regions.region_off[g + 1]):
        for x in range(regions.cell_off[b], regions.cell_off[b] + regions.states[b]):
            if tables.belief[x] > -np.inf:
                log_z -= regions.number[b] * np.exp(tables.belief[x]) * tables.belief[x]
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        at, a, place = shapes.state_off[v], regions.var_cluster[v], regions.var_map[v]
        for x in range(shapes.card[v]):
            var_belief[at + x] = 0.0
        for j in range(regions.size[a]):
            var_belief[at + regions.map[place + j]] += tables.table[regions.table_off[a] + j]
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        arity, out = shapes.scope_off[f + 1] - shapes.scope_off[f], shapes.fac_table[f]
        if arity > 1:
            a, place = regions.fac_cluster[f], regions.fac_map[f]
            for j in range(regions.size[a]):
                belief[out + regions.map[place + j]] += tables.table[regions.table_off[a] + j]
        elif arity == 1:
            at = shapes.state_off[shapes.var_off[g] + shapes.scope[shapes.scope_off[f]]]
            for x in range(shapes.fac_size[f]):
                belief[out + x] += var_belief[at + x]
    return log_z


@inner
def _largest_regions(rows, regions, first, last):
    """The most table entries, clusters, cells of shared regions, memory for one of them, and messages of a sequence."""
    tables, clusters, cells, longest, messages = 0, 0, 0, 1, 0
    for s in range(first, last):
        g = rows.shape[s]
        a, b = regions.cluster_off[g + 1] - 1, regions.region_off[g + 1] - 1
        if a >= regions.cluster_off[g]:
            tables = max(tables, regions.table_off[a] + regions.size[a])
        if b >= regions.region_off[g]:
            cells = max(cells, regions.cell_off[b] + regions.states[b])
        for region in range(regions.region_off[g], b + 1):
            links = regions.link_off[region + 1] - regions.link_off[region]
            longest = max(longest, (links + 1) * regions.states[region])
        messages = max(messages, regions.messages[g])
        clusters = max(clusters, regions.cluster_off[g + 1])
    return tables, clusters, cells, longest, messages


@kernel
def region_expectations(
    first, last, problem, edges, potentials, regions, control, doubling, totals, results, marginals, start
):
    """As `sequences.message_expectations`, by generalised belief propagation: log Z is the Kikuchi approximation."""
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, states = largest_sequence(shapes, rows, first, last)
    entries, clusters, cells, longest, messages = _largest_regions(rows, regions, first, last)
    shared = shapes.local_start
    logs, belief, node, var_belief = np.empty(arena), np.zeros(arena), np.empty(states), np.empty(states)
    tables = RegionTables(
        np.empty(entries), np.empty(entries), np.empty(clusters), np.empty(cells), np.empty(cells), np.empty(longest),
        np.empty(longest),
    )  # fmt: skip
    message = np.empty(messages)
    logs[:shared] = log_base
    for s in range(first, last):
        g = rows.shape[s]
        length = regions.messages[g]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        taken, state = node_potentials(g, shapes, logs, True, node)
        run, log_z = (False, 0, np.inf, False), -np.inf
        if state == OK:
            _fill_clusters(g, shapes, regions, logs, node, tables.log_phi)
            if not recall(start, s, length, -np.inf, message):
                _start_messages(g, shapes, regions, logs, node, message)
            converged, rounds, left, state, damped = propagate_regions(g, regions, control, doubling, tables, message)
            run = converged, rounds, left, damped
            remember(start, s, state, message, length)
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            log_z = taken + _read_clusters(g, shapes, regions, tables, var_belief, belief)
        record_run(s, state, run, results)
        add_up(s, state, log_z, problem, var_belief, belief, totals, results, marginals)
    for j in range(shared):
        totals.expected[j] += belief[j]
