"""Naive mean field: the best product of single-variable distributions, by coordinate ascent.

    log Z ≥ L(q) = Σ_f E_q log φ_f + Σ_v H(q_v),    q_v(x) ∝ exp Σ_{f∋v} E_q[log φ_f | x_v = x]

(Wainwright & Jordan 2008 §5.3; Sutton 2004 §5 names it). One variable is updated at a time, so L never falls, not
even with damping, since L is concave in each q_v. Factors have any arity. Tables are logarithms, and 0 · log 0 counts
as 0: a product with mass on a forbidden entry has L = -inf. Where entries are forbidden, the ascent therefore starts at
a good feasible labelling (`feasible_search`), whose score is a lower bound on the final L. From there, mass can spread
to possible states only.

q is flat, [states of the shape]. Not here: linear space, which has no advantage for sums of logarithms.
"""

import numpy as np

from ..runtime import GAVE_UP, OK, fast_inner, inner, kernel, next_random
from ..tables import Control, add_run, fill_tables, matrix_times, times_matrix
from .feasible_search import find_hard, largest_sequence, start_labelling
from .sum_product import add_up, largest_shape, node_potentials, recall, record_run, remember

UNEVEN = 0.1  # noise of the uniform start, which leads away from saddle points of symmetric models


@fast_inner
def _add_expected(g, e, shapes, edges, logs, hard, q, product, field):
    """field[x] += E_q[log φ_f | x_v = x] for edge e = (f, v). hard: whether a factor of the shape forbids anything."""
    v0, e0 = shapes.var_off[g], edges.edge_off[g]
    f = shapes.fac_off[g] + edges.edge_factor[e0 + e]
    axis, table, s0 = edges.edge_axis[e0 + e], shapes.fac_table[f], shapes.scope_off[f]
    arity = shapes.scope_off[f + 1] - s0
    if arity == 2:
        u = v0 + shapes.scope[s0 + 1 - axis]
        others, at = shapes.card[u], shapes.state_off[u]
        states = shapes.card[v0 + shapes.scope[s0 + axis]]
        if not hard[edges.edge_factor[e0 + e]]:
            if axis == 1:
                times_matrix(q[at:], others, logs, table, states, product)
            else:
                matrix_times(logs, table, states, q[at:], others, product)
            add_run(product, 0, states, field)
            return
        step_x, step_u = (1, states) if axis == 1 else (others, 1)
        for y in range(others):
            p = q[at + y]
            if p > 0.0:
                for x in range(states):
                    field[x] += p * logs[table + x * step_x + y * step_u]
        return
    for j in range(shapes.fac_size[f]):
        rest, p, axis_state = j, 1.0, 0
        for i in range(arity - 1, -1, -1):
            u = v0 + shapes.scope[s0 + i]
            state = rest % shapes.card[u]
            rest //= shapes.card[u]
            if i == axis:
                axis_state = state
            else:
                p *= q[shapes.state_off[u] + state]
        if p > 0.0:
            field[axis_state] += p * logs[table + j]


@fast_inner
def _update(g, v, shapes, edges, logs, hard, node, damping, q, product, field):
    """Sets q_v to its optimum given the others. Returns its change before damping; -1 if nothing is possible."""
    at, states = shapes.state_off[v], shapes.card[v]
    for x in range(states):
        field[x] = node[at + x]
    for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
        _add_expected(g, edges.var_edge[j], shapes, edges, logs, hard, q, product, field)
    peak, total, change = -np.inf, 0.0, 0.0
    for x in range(states):
        peak = max(peak, field[x])
    if peak == -np.inf:
        return -1.0
    for x in range(states):
        field[x] = np.exp(field[x] - peak)
        total += field[x]
    for x in range(states):
        fresh, old = field[x] / total, q[at + x]
        change = max(change, abs(fresh - old))
        # a state that is impossible now stays impossible: zeros must not be averaged away
        q[at + x] = (1.0 - damping) * fresh + damping * old if fresh > 0.0 else 0.0
    if damping > 0.0:
        total = 0.0
        for x in range(states):
            total += q[at + x]
        for x in range(states):
            q[at + x] /= total
    return change


@inner
def _initialise(g, shapes, node, seed, q):
    """Sets q_v to the uniform distribution over the possible states, with a little noise."""
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D)
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        at, total = shapes.state_off[v], 0.0
        for x in range(at, at + shapes.card[v]):
            state, draw = next_random(state)
            q[x] = 1.0 + UNEVEN * (np.float64(draw >> np.uint64(11)) * 2.0**-53 - 0.5) if node[x] > -np.inf else 0.0
            total += q[x]
        for x in range(at, at + shapes.card[v]):
            q[x] /= total


@kernel
def mean_field(g, shapes, edges, logs, node, control, warm, q):
    """Ascends to a local optimum. Returns (converged, iterations, residual, status); q [states] is the result.

    node: log unary potentials. `warm` says that q holds a start. An iteration updates every variable once, left to
    right and right to left in turn; it has converged when none of its updates moved a probability by the tolerance.
    """
    tolerance, max_iterations, damping, seed = control
    v0, count = shapes.var_off[g], shapes.var_off[g + 1] - shapes.var_off[g]
    largest, _ = largest_shape(g, shapes)
    hard = find_hard(g, shapes, logs)
    if not warm:
        if hard.any():
            labelling = np.empty(count, np.int32)
            state = start_labelling(g, shapes, edges, logs, node, hard, labelling)
            if state != OK:
                return False, 0, np.inf, state
            q[:] = 0.0
            for v in range(count):
                q[shapes.state_off[v0 + v] + labelling[v]] = 1.0
        else:
            _initialise(g, shapes, node, seed, q)
    field, product, residual = np.empty(largest), np.empty(largest), np.inf
    for iteration in range(max_iterations):
        residual = 0.0
        for i in range(count):
            v = v0 + (i if iteration % 2 == 0 else count - 1 - i)
            change = _update(g, v, shapes, edges, logs, hard, node, damping, q, product, field)
            if change < 0.0:
                return False, iteration + 1, np.inf, GAVE_UP
            residual = max(residual, change)
        if residual < tolerance:
            return True, iteration + 1, residual, OK
    return False, max_iterations, residual, OK


@kernel
def mean_field_beliefs(g, shapes, logs, q, belief):
    """Adds the products of q to `belief`, in arena layout. Returns L(q), a lower bound on log Z."""
    v0, bound = shapes.var_off[g], 0.0
    for v in range(v0, shapes.var_off[g + 1]):
        at = shapes.state_off[v]
        for x in range(at, at + shapes.card[v]):
            if q[x] > 0.0:
                bound -= q[x] * np.log(q[x])
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        s0, table = shapes.scope_off[f], shapes.fac_table[f]
        arity = shapes.scope_off[f + 1] - s0
        if arity == 2:
            left, right = v0 + shapes.scope[s0], v0 + shapes.scope[s0 + 1]
            columns, at = shapes.card[right], shapes.state_off[right]
            for x in range(shapes.card[left]):
                share, row = q[shapes.state_off[left] + x], table + x * columns
                for y in range(columns):
                    p = share * q[at + y]
                    if p > 0.0:
                        bound += p * logs[row + y]
                        belief[row + y] += p
            continue
        for j in range(shapes.fac_size[f]):
            rest, p = j, 1.0
            for i in range(arity - 1, -1, -1):
                u = v0 + shapes.scope[s0 + i]
                p *= q[shapes.state_off[u] + rest % shapes.card[u]]
                rest //= shapes.card[u]
            if p > 0.0:
                bound += p * logs[table + j]
                belief[table + j] += p
    return bound


@kernel
def mean_field_expectations(first, last, problem, edges, potentials, control, totals, results, marginals, start):
    """As `sequences.message_expectations`, by mean field: log Z is a lower bound, nan where no start was found.

    start: marginals that each sequence starts from and leaves for the next call.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    tolerance, max_iterations, damping, seed = control
    arena, states = largest_sequence(shapes, rows, first, last)
    shared = shapes.local_start
    logs, belief, node, q = np.empty(arena), np.zeros(arena), np.empty(states), np.empty(states)
    logs[:shared] = log_base
    for s in range(first, last):
        g = rows.shape[s]
        count = marginals.off[s + 1] - marginals.off[s]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        _, state = node_potentials(g, shapes, logs, True, node)
        converged, rounds, left = False, 0, np.inf
        if state == OK:
            warm = recall(start, s, count, -np.inf, q)
            seeded = Control(tolerance, max_iterations, damping, seed + s)
            converged, rounds, left, state = mean_field(g, shapes, edges, logs, node[:count], seeded, warm, q[:count])
            remember(start, s, state, q, count)
        log_z = np.nan
        if state == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            log_z = mean_field_beliefs(g, shapes, logs, q, belief)
        add_up(s, state, log_z, problem, q, belief, totals, results, marginals)
        if state == GAVE_UP:
            state, results.log_z[s] = OK, log_z
        record_run(s, state, (converged, max(rounds, 1), left, False), results)
    add_run(belief, 0, shared, totals.expected)
