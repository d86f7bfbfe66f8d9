"""Labellings that break no hard constraint: starts for sampling and ascent, and rounded results.

Without other preferences, max-product messages give a good start. A labelling that breaks a constraint is repaired in
three stages. First, states that no labelling can use are removed (arc consistency: in each factor, a state needs an
entry whose other states are still there). Then depth-first search visits the variables in order, states by preference,
and checks every factor with hard zeros at the variable. On a tree it never backtracks; on loops it may, within a
budget. Last, single variables are improved (iterated conditional modes, Besag 1986).

Tables are logarithms. Not here: the choice of preferences.
"""

import numpy as np

from ..runtime import GAVE_UP, IMPOSSIBLE, OK, fast_inner, inner, kernel
from ..tables import Control, Schedules, Sweeps, add_run, copy_run, fill_tables
from .propagation import ORDERED, propagate
from .sum_product import largest_shape, node_potentials, read_labelling, score_labelling

BUDGET = 20_000  # states that the search tries, and as many again …
BUDGET_OF_VARIABLE = 50  # … as this times the number of variables
ROUGH, ROUNDS = 1e-3, 50  # tolerance and iterations of the messages for a start
CLIMBS = 1000  # rounds of improvement at most; each but the last makes the score larger


@fast_inner
def conditional(g, v, shapes, edges, logs, node, labelling, out):
    """out[x] = log potential of state x of variable v (counted in the bank), all others as in `labelling`."""
    v0, e0, f0 = shapes.var_off[g], edges.edge_off[g], shapes.fac_off[g]
    at, states = shapes.state_off[v], shapes.card[v]
    for x in range(states):
        out[x] = node[at + x]
    for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
        f = f0 + edges.edge_factor[e0 + edges.var_edge[j]]
        entry, step, stride = shapes.fac_table[f], 0, 1
        for s in range(shapes.scope_off[f + 1] - 1, shapes.scope_off[f] - 1, -1):
            u = shapes.scope[s]
            if v0 + u == v:
                step = stride
            else:
                entry += stride * labelling[u]
            stride *= shapes.card[v0 + u]
        for x in range(states):
            out[x] += logs[entry + x * step]


@inner
def largest_sequence(shapes, rows, first, last):
    """The most cells of tables and states that a sequence of a run has."""
    cells, states = shapes.local_start, 1
    for s in range(first, last):
        g = rows.shape[s]
        cells = max(cells, shapes.local_end[g])
        v = shapes.var_off[g + 1] - 1
        if v >= shapes.var_off[g]:
            states = max(states, shapes.state_off[v] + shapes.card[v])
    return cells, states


@kernel
def find_hard(g, shapes, logs):
    """Whether each factor has two or more variables and forbids an assignment, [factors of the shape]."""
    f0 = shapes.fac_off[g]
    hard = np.zeros(shapes.fac_off[g + 1] - f0, np.bool_)
    for f in range(f0, shapes.fac_off[g + 1]):
        if shapes.scope_off[f + 1] - shapes.scope_off[f] > 1:
            for j in range(shapes.fac_table[f], shapes.fac_table[f] + shapes.fac_size[f]):
                hard[f - f0] |= logs[j] == -np.inf
    return hard


@inner
def _supported_states(g, f, axis, shapes, logs, allowed, labelling, seen):
    """seen[x]: whether the factor has an entry for state x of its variable `axis` that the others could take.

    A variable with a label takes that state only; one without (-1) any state not -inf in `allowed` [states].
    """
    v0, s0 = shapes.var_off[g], shapes.scope_off[f]
    arity = shapes.scope_off[f + 1] - s0
    seen[: shapes.card[v0 + shapes.scope[s0 + axis]]] = False
    for j in range(shapes.fac_size[f]):
        if logs[shapes.fac_table[f] + j] == -np.inf:
            continue
        rest, axis_state, possible = j, 0, True
        for i in range(arity - 1, -1, -1):
            u = shapes.scope[s0 + i]
            card = shapes.card[v0 + u]
            state = rest % card
            rest //= card
            if labelling[u] >= 0:
                possible &= labelling[u] == state
            else:
                possible &= allowed[shapes.state_off[v0 + u] + state] > -np.inf
            if i == axis:
                axis_state = state
        if possible:
            seen[axis_state] = True


@kernel
def _prune(g, shapes, edges, logs, hard, labelling, allowed, seen):
    """Sets `allowed` to -inf at states that no labelling can use. Returns whether every variable keeps a state."""
    v0, f0, e0 = shapes.var_off[g], shapes.fac_off[g], edges.edge_off[g]
    turn, changed = 0, True
    while changed:
        changed = False
        count = edges.edge_off[g + 1] - e0
        for i in range(count):
            e = e0 + (i if turn % 2 == 0 else count - 1 - i)
            if not hard[edges.edge_factor[e]]:
                continue
            v = v0 + edges.edge_var[e]
            _supported_states(g, f0 + edges.edge_factor[e], edges.edge_axis[e], shapes, logs, allowed, labelling, seen)
            left = False
            for x in range(shapes.card[v]):
                at = shapes.state_off[v] + x
                if allowed[at] > -np.inf and not seen[x]:
                    allowed[at] = -np.inf
                    changed = True
                left |= allowed[at] > -np.inf
            if not left:
                return False
        turn += 1
    return True


@inner
def _consistent(g, v, shapes, edges, logs, hard, allowed, labelling, seen):
    """Whether every hard factor at v still has an entry, given the variables decided so far."""
    e0, f0 = edges.edge_off[g], shapes.fac_off[g]
    state = labelling[v - shapes.var_off[g]]
    for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
        e = e0 + edges.var_edge[j]
        if hard[edges.edge_factor[e]]:
            _supported_states(g, f0 + edges.edge_factor[e], edges.edge_axis[e], shapes, logs, allowed, labelling, seen)
            if not seen[state]:
                return False
    return True


@kernel
def _search(g, shapes, edges, logs, hard, preference, labelling, seen):
    """Fills `labelling` [variables], all -1 before. Returns OK, IMPOSSIBLE (there is none) or GAVE_UP."""
    v0, count = shapes.var_off[g], shapes.var_off[g + 1] - shapes.var_off[g]
    tried = np.zeros(len(preference), np.bool_)
    budget = BUDGET + BUDGET_OF_VARIABLE * count
    v = 0
    while 0 <= v < count:
        at, states = shapes.state_off[v0 + v], shapes.card[v0 + v]
        best = -1
        for x in range(states):  # the most preferred state not yet tried; the first of equals
            free = not tried[at + x] and preference[at + x] > -np.inf
            if free and (best < 0 or preference[at + x] > preference[at + best]):
                best = x
        labelling[v] = best
        if best < 0:
            tried[at : at + states] = False
            v -= 1
            continue
        if budget == 0:
            return GAVE_UP
        budget -= 1
        tried[at + best] = True
        if _consistent(g, v0 + v, shapes, edges, logs, hard, preference, labelling, seen):
            v += 1
    return OK if v == count else IMPOSSIBLE


@kernel
def _climb(g, shapes, edges, logs, node, labelling):
    """Moves single variables to better states until none gains."""
    v0 = shapes.var_off[g]
    scores = np.empty(largest_shape(g, shapes)[0])
    for _ in range(CLIMBS):
        moved = False
        for v in range(v0, shapes.var_off[g + 1]):
            conditional(g, v, shapes, edges, logs, node, labelling, scores)
            best = labelling[v - v0]
            for x in range(shapes.card[v]):
                if scores[x] > scores[best]:
                    best = x
            moved |= best != labelling[v - v0]
            labelling[v - v0] = best
        if not moved:
            return


@kernel
def feasible_labelling(g, shapes, edges, logs, node, preference, hard, labelling):
    """A labelling of positive potential near the maxima of `preference` [states]; no single change improves it.

    node: log unary potentials (`node_potentials`). preference: set to -inf at impossible states.
    labelling: [variables], of any integer type. Returns OK, IMPOSSIBLE or GAVE_UP; -1 everywhere but after OK.
    """
    for x in range(len(preference)):
        if node[x] == -np.inf:
            preference[x] = -np.inf
    seen = np.empty(largest_shape(g, shapes)[0], np.bool_)
    labelling[:] = -1
    if hard.any() and not _prune(g, shapes, edges, logs, hard, labelling, preference, seen):
        return IMPOSSIBLE
    state = _search(g, shapes, edges, logs, hard, preference, labelling, seen)
    if state == OK:
        _climb(g, shapes, edges, logs, node, labelling)
    else:
        labelling[:] = -1
    return state


@kernel
def message_labelling(g, shapes, edges, logs, node, message, labelling):
    """The labelling read off max-product messages; where it breaks a hard constraint, one near it that does not.

    Returns OK, IMPOSSIBLE (then -1 everywhere), or GAVE_UP: the search failed, and the labelling of the messages, whose
    potential is zero, is kept. Overwrites `node`.
    """
    read_labelling(g, shapes, edges, logs, node, message, labelling)
    if score_labelling(g, shapes, logs, labelling) > -np.inf:
        return OK
    node_potentials(g, shapes, logs, True, node)  # `read_labelling` has overwritten it
    e0, last = edges.edge_off[g], shapes.var_off[g + 1] - 1
    preference = node[: shapes.state_off[last] + shapes.card[last]].copy()
    for e in range(edges.edge_off[g + 1] - e0):
        v = shapes.var_off[g] + edges.edge_var[e0 + e]
        add_run(message, edges.message_off[e0 + e], shapes.card[v], preference[shapes.state_off[v] :])
    mended = np.empty_like(labelling)
    state = feasible_labelling(g, shapes, edges, logs, node, preference, find_hard(g, shapes, logs), mended)
    if state != GAVE_UP:
        for v in range(len(mended)):  # assigning a slice would take two seconds to compile
            labelling[v] = mended[v]
    return state


@kernel
def start_labelling(g, shapes, edges, logs, node, hard, labelling):
    """As `feasible_labelling`, near the labelling of max-product messages: on a tree a best labelling."""
    count, messages = edges.edge_off[g + 1] - edges.edge_off[g], np.empty(edges.messages[g])
    passes, send = np.zeros(g + 2, np.int64), np.empty(2 * count, np.int32)
    passes[g + 1] = 1
    for e in range(count):  # there and back
        send[e], send[2 * count - 1 - e] = e, e
    both_ways = Schedules(passes, np.array([0, 2 * count]), send)
    sweeps = Sweeps(np.int64(ORDERED), both_ways)
    control = Control(ROUGH, np.int64(ROUNDS), 0.0, np.int64(0))
    _, _, _, state, _ = propagate(g, shapes, edges, logs, node, messages, sweeps, control, True, True, False)
    if state == IMPOSSIBLE:
        labelling[:] = -1
        return state
    read_labelling(g, shapes, edges, logs, node.copy(), messages, labelling)
    if score_labelling(g, shapes, logs, labelling) == -np.inf:
        return feasible_labelling(g, shapes, edges, logs, node, node.copy(), hard, labelling)
    _climb(g, shapes, edges, logs, node, labelling)
    return OK


@kernel
def round_marginals(first, last, problem, edges, potentials, marginals, status, labelling):
    """The labelling of each sequence that `feasible_labelling` finds near its likeliest states; -1 if it finds none.

    Sequences whose status is not OK are passed over.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, states = largest_sequence(shapes, rows, first, last)
    logs, node = np.empty(arena), np.empty(states)
    copy_run(log_base, 0, shapes.local_start, logs)
    for s in range(first, last):
        g, sequence_labels = rows.shape[s], labelling.value[labelling.off[s] : labelling.off[s + 1]]
        sequence_labels[:] = -1
        if status[s] != OK:
            continue
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        node_potentials(g, shapes, logs, True, node)
        preference = marginals.value[marginals.off[s] : marginals.off[s + 1]]
        hard = find_hard(g, shapes, logs)
        state = feasible_labelling(g, shapes, edges, logs, node, preference, hard, sequence_labels)
        status[s] = IMPOSSIBLE if state == IMPOSSIBLE else OK
