"""Expectation propagation with a forest of factors: marginals, log Z, expectations of data sets.

q(x) ∝ Π_t φ_t(x_t) Π_f f̃(x): the factors of the forest, and for each other factor f, a *term*, tables on the items of
its walk through the forest. So q sums exactly. A term is renewed as a whole (Minka & Qi 2003, tree-structured EP; power
α by Minka 2004). All of it is divided out, f itself is put in, and the marginals along the walk are projected back:

    p̂ ∝ f^α q / f̃^α,    q' = Π_t p̂(x_t) / Π_v p̂(x_v)^{d_v − 1},    f̃ ← (q' / (q / f̃^α))^{1/α}

p̂ is summed exactly by fixing all variables of f but the last (conditioning). It rests where q and each p̂ have the same
marginals along the walk. There

    log Z ≈ log Σ Π_t φ_t Π_f f̃ + Σ_f 1/α log E_q[f^α / f̃^α]

is stationary in the f̃, so its gradient by a factor's logarithm is the marginal of q, or for a term that of p̂. Where
the forest has all factors this is exact; where it has none, fixed points are those of belief propagation (α = 1).

Numbers of terms are logarithms; what is impossible is counted apart, so that it can be divided out again. Sums are
linear; a sequence that linear space does not hold is left to a second call, in which they are logarithms too. A renewal
sums along its walk alone: what the rest of the forest says comes from messages that stay, and of which only those are
computed anew that lead from the last walks to this one. Not here: these messages (`cached_forest_messages`), sums along
walks (`forest_walks`), the forest (`graph.factor_forests`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, inner, kernel
from ..tables import LOG_TINY, add_run, copy_run, fill_tables
from .cached_forest_messages import KeptMessages, forget, know_all, messages_around
from .feasible_search import largest_sequence
from .forest_walks import TiltedTables, WalkTables, from_log, linear, project, sum_walk, tilt, times
from .sum_product import add_up, node_potentials, recall, record_run, remember


class _State(NamedTuple):
    """The potentials of q as sums of logarithms, without −inf, and how many of these there were."""

    table: Floats  # [entries of the forest]
    table_zeros: Ints
    node: Floats  #  [states]
    node_zeros: Ints
    term: Floats  #  [cells]   log f̃


@inner
def _add(logs, zeros, at, value, sign, alpha):
    """Multiplies a potential by exp(alpha · value), or divides it (sign −1). With alpha < 1 the impossible stays so."""
    if value > -np.inf:
        logs[at] += sign * alpha * value
    elif alpha == 1.0:
        zeros[at] += sign


@inner
def _exponentiate(logs, zeros, cell, count, out, at, redo):
    """out[at + j] = exp(logs[cell + j] − their maximum), and 0 where `zeros` is not. Returns the maximum; -inf if there
    is none, or linear space does not hold the rest.
    """
    peak, least = -np.inf, np.inf
    for j in range(cell, cell + count):
        if zeros[j] == 0:
            peak, least = max(peak, logs[j]), min(least, logs[j])
    for j in range(count):
        out[at + j] = from_log(logs[cell + j] - peak if zeros[cell + j] == 0 else -np.inf, redo)
    return -np.inf if redo is None and least - peak < 2.0 * LOG_TINY else peak


@inner
def _load(w, whole, walks, offsets, cards, state, tables, full_of, item_of, redo):
    """The potentials of q on a walk into its own tables, or into those of the whole forest where `whole` is its walk.

    Returns the logarithm taken out, -inf if nothing is left, or linear space does not hold what is.
    """
    taken = 0.0
    for item in range(walks.walk_item[w], walks.walk_item[w + 1]):
        place = item if whole < 0 else walks.walk_item[whole] + item_of[walks.item_tree[item]]
        cell, size, at = walks.item_cell[item], walks.item_size[item], walks.item_local[place]
        taken += _exponentiate(state.table, state.table_zeros, cell, size, tables.table, at, redo)
    for u in range(walks.walk_var[w], walks.walk_var[w + 1]):
        v = walks.var[u]
        at = walks.var_local[u if whole < 0 else walks.walk_var[whole] + full_of[v]]
        taken += _exponentiate(state.node, state.node_zeros, offsets[v], cards[v], tables.node, at, redo)
    return taken


@inner
def _start(g, shapes, walks, logs, node, state):
    """q without terms: the factors that the forest holds, and those of one variable."""
    f0 = shapes.fac_off[g]
    for j in range(walks.tree_cells[g]):
        state.table[j], state.table_zeros[j] = 0.0, 0
    for h in range(walks.held_end[g], walks.held_end[g + 1]):
        table = shapes.fac_table[f0 + walks.held_factor[h]]
        for j in range(walks.held_size[h]):
            at, value = walks.held_cell[h] + j, logs[table + walks.map[walks.held_map[h] + j]]
            _add(state.table, state.table_zeros, at, value, 1, 1.0)
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        for x in range(shapes.state_off[v], shapes.state_off[v] + shapes.card[v]):
            state.node[x], state.node_zeros[x] = 0.0, 0
            _add(state.node, state.node_zeros, x, node[x], 1, 1.0)


@inner
def _exchange(w, alpha, sign, walks, offsets, cards, state):
    """Divides f̃^α out of q (sign −1), or multiplies it in."""
    cell = walks.walk_cell[w]
    for item in range(walks.walk_item[w], walks.walk_item[w + 1]):
        for j in range(walks.item_size[item]):
            value = state.term[cell + walks.item_local[item] + j]
            _add(state.table, state.table_zeros, walks.item_cell[item] + j, value, sign, alpha)
    cell += walks.walk_table[w]
    for u in range(walks.walk_var[w], walks.walk_var[w + 1]):
        for x in range(cards[walks.var[u]]):
            value = state.term[cell + walks.var_local[u] + x]
            _add(state.node, state.node_zeros, offsets[walks.var[u]] + x, value, sign, alpha)


@inner
def _renew(w, f, whole, alpha, damping, update, shapes, logs, walks, sites, state, memory, spare, redo):
    """Renews a term, if `update`; p̂(x_f) in `term.joint`. Returns (change of marginals, log E_q[f^α / f̃^α] or -inf)."""
    (offsets, cards, longest), (tables, full) = sites, memory
    table, sizes = shapes.fac_table[f], (shapes.scope_off[f + 1] - shapes.scope_off[f], shapes.fac_size[f])
    term, full_of, item_of, kept, own, own_single = spare
    mean, mean_single, outside = term.mean, term.mean_single, term.outside
    states, entries = walks.walk_states[w], walks.walk_table[w]
    if not messages_around(w, whole, walks, sites, full, full_of, item_of, kept, outside, redo):
        return 0.0, -np.inf
    # q itself on the walk, as it is before the renewal
    before = _load(w, -1, walks, offsets, cards, state, tables, full_of, item_of, redo)
    for x in range(states):
        tables.node[x] = times(tables.node[x], outside[x], redo)
    before += sum_walk(w, walks, cards, longest, tables, redo)
    if before == -np.inf:
        return 0.0, -np.inf
    copy_run(tables.single, 0, states, own_single)
    copy_run(tables.belief, 0, entries, own)
    _exchange(w, alpha, -1, walks, offsets, cards, state)
    taken = _load(w, -1, walks, offsets, cards, state, tables, full_of, item_of, redo)
    _exchange(w, alpha, 1, walks, offsets, cards, state)
    taken += tilt(w, alpha, table, sizes, logs, walks, cards, longest, tables, term, redo)
    if taken == -np.inf:
        return 0.0, -np.inf
    if update:
        copy_run(term.kept, 0, states, tables.node)
        if sum_walk(w, walks, cards, longest, tables, redo) == -np.inf:
            return 0.0, -np.inf
        _exchange(w, 1.0, -1, walks, offsets, cards, state)
        project(w, alpha, damping, walks, cards, tables, term, state, redo)
        _exchange(w, 1.0, 1, walks, offsets, cards, state)
        _load(w, whole, walks, offsets, cards, state, full, full_of, item_of, redo)
        forget(w, whole, walks, full_of, item_of, kept)
    difference = 0.0
    for x in range(states):
        difference = max(difference, abs(linear(mean_single[x], redo) - linear(own_single[x], redo)))
    for j in range(entries):
        difference = max(difference, abs(linear(mean[j], redo) - linear(own[j], redo)))
    return difference, taken - before


@inner
def _read_forest(g, whole, shapes, walks, offsets, cards, full, var_belief, belief, redo):
    """Marginals of q after a sum over the whole forest: into `var_belief`, of the factors of q added to `belief`."""
    f0 = shapes.fac_off[g]
    for h in range(walks.held_end[g], walks.held_end[g + 1]):
        table = shapes.fac_table[f0 + walks.held_factor[h]]
        for item in range(walks.walk_item[whole], walks.walk_item[whole + 1]):
            if walks.item_cell[item] == walks.held_cell[h]:
                for j in range(walks.held_size[h]):
                    entry = table + walks.map[walks.held_map[h] + j]
                    belief[entry] += linear(full.belief[walks.item_local[item] + j], redo)
    for u in range(walks.walk_var[whole], walks.walk_var[whole + 1]):
        v = walks.var[u]
        for x in range(cards[v]):
            var_belief[offsets[v] + x] = linear(full.single[walks.var_local[u] + x], redo)
    for f in range(f0, shapes.fac_off[g + 1]):
        if shapes.scope_off[f + 1] - shapes.scope_off[f] == 1:
            at = offsets[shapes.scope[shapes.scope_off[f]]]
            add_run(var_belief, at, shapes.fac_size[f], belief[shapes.fac_table[f] :])


@kernel
def _walk_tables(entries, states, items, longest):
    return WalkTables(
        np.empty(entries), np.empty(states), np.empty(items * longest), np.empty(states), np.empty(states),
        np.empty(longest), np.empty(entries), np.empty(states),
    )  # fmt: skip


@kernel
def forest_expectations(
    first, last, problem, edges, potentials, walks, control, alpha, redo, totals, results, marginals, start
):
    """As `sequences.message_expectations`, by expectation propagation.

    redo: None, or for those whose status is `UNDERFLOW` alone, which are then computed in log space, anything else.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    arena, states = largest_sequence(shapes, rows, first, last)
    shared, longest, entries, cells, variables, items, largest = shapes.local_start, 1, 1, 1, 1, 1, 1
    for s in range(first, last):
        g = rows.shape[s]
        entries, cells = max(entries, walks.tree_cells[g]), max(cells, walks.cells[g])
        variables = max(variables, shapes.var_off[g + 1] - shapes.var_off[g])
        w = walks.walk_end[g + 1] - 1
        items = max(items, walks.walk_item[w + 1] - walks.walk_item[w])
        for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
            longest = max(longest, shapes.card[v])
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            largest = max(largest, shapes.fac_size[f])
    logs, belief, node, var_belief = np.empty(arena), np.zeros(arena), np.empty(states), np.empty(states)
    state = _State(
        np.zeros(entries), np.zeros(entries, np.int64), np.zeros(states), np.zeros(states, np.int64), np.zeros(cells)
    )
    tables, full = _walk_tables(entries, states, items, longest), _walk_tables(entries, states, items, longest)
    full_of, item_of = np.zeros(variables, np.int64), np.zeros(items, np.int64)
    kept = KeptMessages(
        np.zeros(items, np.bool_), np.zeros(variables, np.bool_), np.zeros(items + variables + 1, np.int64),
        np.zeros(items, np.bool_),
    )  # fmt: skip
    term = TiltedTables(np.empty(states), np.empty(entries), np.empty(states), np.empty(largest), np.empty(states))
    spare = (term, full_of, item_of, kept, np.empty(entries), np.empty(states))
    memory, joint, settled = (tables, full), term.joint, np.empty(shared)
    cards, offsets = np.empty(variables, np.int64), np.empty(variables, np.int64)
    sites = (offsets, cards, longest)
    logs[:shared] = log_base
    lost = UNDERFLOW if redo is None else IMPOSSIBLE  # a sum that is 0
    for s in range(first, last):
        if redo is not None and results.status[s] != UNDERFLOW:
            continue
        g = rows.shape[s]
        f0, v0 = shapes.fac_off[g], shapes.var_off[g]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        taken, code = node_potentials(g, shapes, logs, True, node)
        w0, whole = walks.walk_end[g], walks.walk_end[g + 1] - 1
        for v in range(v0, shapes.var_off[g + 1]):
            cards[v - v0], offsets[v - v0] = shapes.card[v], shapes.state_off[v]
        for u in range(walks.walk_var[whole], walks.walk_var[whole + 1]):
            full_of[walks.var[u]] = u - walks.walk_var[whole]
        for item in range(walks.walk_item[whole], walks.walk_item[whole + 1]):
            item_of[walks.item_tree[item]] = item - walks.walk_item[whole]
        damping = max(0.0, control.damping)
        rounds, left, calm, lowest, waited = 0, np.inf, False, np.inf, 0
        if code == OK:
            _start(g, shapes, walks, logs, node, state)
            if recall(start, s, walks.cells[g], -np.inf, state.term):
                for w in range(w0, whole):
                    _exchange(w, 1.0, 1, walks, offsets, cards, state)
            else:
                state.term[: walks.cells[g]] = 0.0
            # All messages at once; from here on those that a renewal changes and another one asks for.
            if (
                _load(whole, -1, walks, offsets, cards, state, full, full_of, item_of, redo) == -np.inf
                or sum_walk(whole, walks, cards, longest, full, redo) == -np.inf
            ):
                code = lost
            know_all(whole, walks, kept)
            while rounds < control.max_iterations and code == OK and not calm:
                left = 0.0
                for step in range(whole - w0):
                    w = w0 + step if rounds % 2 == 0 else whole - 1 - step
                    f = f0 + walks.walk_factor[w]
                    change, value = _renew(
                        w, f, whole, alpha, damping, True, shapes, logs, walks, sites, state, memory, spare, redo
                    )
                    if value == -np.inf:
                        code = lost
                        break
                    left = max(left, change)
                rounds += 1
                calm = left < control.tolerance
                waited += 1
                if left < 0.9 * lowest:
                    lowest, waited = left, 0
                elif waited >= 15 and damping < 0.9:  # it swings
                    damping, lowest, waited = 0.5 * (1.0 + damping), np.inf, 0
        remember(start, s, code, state.term, walks.cells[g])
        run, log_z = (calm, rounds, left, damping > max(0.0, control.damping)), -np.inf
        if code == OK:
            belief[shared : shapes.local_end[g]] = 0.0
            log_z = taken
            copy_run(belief, 0, shared, settled)
            for w in range(w0, whole):
                f = f0 + walks.walk_factor[w]
                _, value = _renew(
                    w, f, whole, alpha, 0.0, False, shapes, logs, walks, sites, state, memory, spare, redo
                )
                log_z += value / alpha
                if log_z == -np.inf:
                    break
                for j in range(shapes.fac_size[f]):
                    belief[shapes.fac_table[f] + j] += linear(joint[j], redo)
            log_z += _load(whole, -1, walks, offsets, cards, state, full, full_of, item_of, redo)
            log_z += sum_walk(whole, walks, cards, longest, full, redo)
            code = OK if log_z > -np.inf else lost
            if code == OK:
                _read_forest(g, whole, shapes, walks, offsets, cards, full, var_belief, belief, redo)
            else:
                copy_run(settled, 0, shared, belief)
        results.redone[s] = code == UNDERFLOW or redo is not None
        record_run(s, code, run, results)
        add_up(s, code, log_z, problem, var_belief, belief, totals, results, marginals)
    add_run(belief, 0, shared, totals.expected)
