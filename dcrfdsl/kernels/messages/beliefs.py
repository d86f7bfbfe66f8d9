"""Results of converged messages: beliefs, the Bethe log partition function, and a labelling.

    b_v(x_v) ∝ Π_{f∋v} m_{f→v}(x_v),    b_f(x_f) ∝ φ_f(x_f) Π_{v∈f} q_{v→f}(x_v)                    (Sutton eq. 6)
    log Z_Bethe = Σ_f log Z_f + Σ_v (1 − d_v) log Z_v

with Z_f and Z_v the normalisers of those products and d_v the number of larger factors at v (Yedidia 2000, written
with messages). It is stationary in the messages at a fixed point and exact on trees.
"""

from __future__ import annotations

import numpy as np

from ..runtime import fast_inner, inner, kernel
from ..tables import matrix_times
from .sum_product import entry_term, incoming, largest_shape, outgoing


@fast_inner
def _normalise(values, at, count, log_space):
    """Normalises a run to sum 1 (log space: to probabilities in linear space). Returns log of the sum."""
    run = values[at : at + count]
    if not log_space:
        total = 0.0
        for x in range(count):
            total += run[x]
        if total > 0.0:
            run *= 1.0 / total
        return np.log(total)
    peak = -np.inf
    for x in range(count):
        peak = max(peak, values[at + x])
    if peak == -np.inf:
        return -np.inf
    total = 0.0
    for x in range(count):
        values[at + x] = np.exp(values[at + x] - peak)
        total += values[at + x]
    for x in range(count):
        values[at + x] /= total
    return peak + np.log(total)


@fast_inner
def _add_pair_belief(value, start, q_row, rows, q_column, columns, sums, belief):
    """Adds q_row φ q_column, normalised, to `belief` from `start` on; φ [rows × columns] begins at value[start].

    Returns the log of the normaliser.
    """
    matrix_times(value, start, rows, q_column, columns, sums)
    right = q_column[:columns]
    total = 0.0
    for i in range(rows):
        total += q_row[i] * sums[i]
    if not total > 0.0:
        return -np.inf
    for i in range(rows):
        share = q_row[i] / total
        at = start + i * columns
        entries, out = value[at : at + columns], belief[at : at + columns]
        for j in range(columns):
            out[j] += share * entries[j] * right[j]
    return np.log(total)


@kernel
def read_beliefs(g, shapes, edges, value, node, message, log_space, var_belief, belief, scratch):
    """Beliefs of variables into `var_belief` [states]; of factors, in arena layout, *added* to `belief`.

    Adding lets shared tables collect their expectations over positions. Returns log Z_Bethe of the tables and node
    potentials as they are, divided by their maxima. `scratch` has room for the largest table.

    A zero in a message excludes a state from every labelling. So where a belief is zero everywhere, no labelling is
    possible, and log Z is -inf.
    """
    v0, e0 = shapes.var_off[g], edges.edge_off[g]
    log_z = 0.0
    for v in range(v0, shapes.var_off[g + 1]):
        at, states = shapes.state_off[v], shapes.card[v]
        first, last = edges.var_edge_off[v], edges.var_edge_off[v + 1]
        for x in range(states):
            total = node[at + x]
            for j in range(first, last):
                m = message[edges.message_off[e0 + edges.var_edge[j]] + x]
                total = total + m if log_space else total * m
            var_belief[at + x] = total
        log_norm = _normalise(var_belief, at, states, log_space)
        if log_norm == -np.inf:
            return -np.inf
        log_z += (1 - (last - first)) * log_norm
    largest, arity = largest_shape(g, shapes)
    q = np.empty((arity, largest))
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        s0, size, table = shapes.scope_off[f], shapes.fac_size[f], shapes.fac_table[f]
        arity = shapes.scope_off[f + 1] - s0
        if arity == 1:
            at = shapes.state_off[v0 + shapes.scope[s0]]
            for x in range(size):
                belief[table + x] += var_belief[at + x]
            continue
        for i in range(arity):
            incoming(g, edges.first_edge[f] + i, shapes, edges, node, message, log_space, q[i])
        if arity == 2:
            rows, columns = shapes.card[v0 + shapes.scope[s0]], shapes.card[v0 + shapes.scope[s0 + 1]]
            if not log_space:
                log_z += _add_pair_belief(value, table, q[0], rows, q[1], columns, scratch, belief)
                continue
            for i in range(rows):
                at = i * columns
                for j in range(columns):
                    scratch[at + j] = q[0, i] + value[table + at + j] + q[1, j]
        else:
            for j in range(size):
                _, scratch[j] = entry_term(j, value[table + j], f, -1, shapes, v0, q, log_space)
        log_norm = _normalise(scratch, 0, size, log_space)
        if log_norm == -np.inf:
            return -np.inf
        log_z += log_norm
        for j in range(size):
            belief[table + j] += scratch[j]
    return log_z


@kernel
def read_labelling(g, shapes, edges, value, node, message, assignment):
    """A labelling from max-product messages (log space): variables in order, each its best state given those before.

    The messages of a decided variable allow its state only, so ties and constraints inside a factor stay consistent;
    on a tree the result is the Viterbi labelling. Overwrites `node` with the decisions.
    """
    v0, e0 = shapes.var_off[g], edges.edge_off[g]
    largest, arity = largest_shape(g, shapes)
    q, new = np.empty((arity + 1, largest)), np.empty(largest)
    total = np.empty(largest)
    for v in range(v0, shapes.var_off[g + 1]):
        at, states = shapes.state_off[v], shapes.card[v]
        for x in range(states):
            total[x] = node[at + x]
        for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
            e = edges.var_edge[j]
            f = shapes.fac_off[g] + edges.edge_factor[e0 + e]
            decided = False
            for s in range(shapes.scope_off[f], shapes.scope_off[f + 1]):
                decided |= shapes.scope[s] < v - v0
            if decided:
                outgoing(g, np.int64(e), shapes, edges, value, node, message, True, True, q, new)
                for x in range(states):
                    total[x] += new[x]
            else:
                m = edges.message_off[e0 + e]
                for x in range(states):
                    total[x] += message[m + x]
        best = 0
        for x in range(1, states):
            if total[x] > total[best]:
                best = x
        assignment[v - v0] = best
        for x in range(states):
            if x != best:
                node[at + x] = -np.inf


@inner
def score_labelling(g, shapes, log_value, assignment):
    """Σ_f log φ_f at a labelling, from log tables in the arena."""
    v0, score = shapes.var_off[g], 0.0
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        entry = 0
        for s in range(shapes.scope_off[f], shapes.scope_off[f + 1]):
            v = shapes.scope[s]
            entry = entry * shapes.card[v0 + v] + assignment[v]
        score += log_value[shapes.fac_table[f] + entry]
    return score
