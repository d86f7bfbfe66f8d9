"""Belief propagation on one unrolled graph of any arity: sum-product and max-product.

Only messages factor → variable are stored. The message variable → factor is the product of the variable's other
messages and its one-variable potentials. It is computed when needed, so nothing is ever divided and hard zeros are
exact (Sutton 2004 eq. 5, Yedidia 2000):

    m_{f→v}(x_v) = Σ_{x_f∖v} φ_f(x_f) Π_{u≠v} q_{u→f}(x_u),   q_{u→f} = Π_{g∋u, g≠f} m_{g→u}

The change of a message is the largest difference of entries normalised to sum 1, before damping. In log space, where an
entry of any size may matter, it is the largest difference of logarithms, which is never smaller.

Sums run in linear space. The log-space version (sum or max) takes over where a positive entry falls below the floor, so
that products of all messages at a variable stay representable. From converged messages come beliefs, log Z
and a labelling:

    b_v(x_v) ∝ Π_{f∋v} m_{f→v}(x_v),    b_f(x_f) ∝ φ_f(x_f) Π_{v∈f} q_{v→f}(x_v)                    (Sutton eq. 6)
    log Z_Bethe = Σ_f log Z_f + Σ_v (1 − d_v) log Z_v

with Z_f and Z_v the normalisers of those products and d_v the number of larger factors at v (Yedidia 2000, written
with messages). It is stationary in the messages at a fixed point and exact on trees. Not here: the order and number of
messages (`propagation`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import (
    IMPOSSIBLE,
    LANES,
    OK,
    UNDERFLOW,
    add,
    broadcast,
    entry,
    fast_inner,
    fma,
    inlined,
    inner,
    kernel,
    largest,
    least_positive,
    lowest,
    maximum,
    multiply,
    subtract,
    total,
)
from ..tables import (
    NARROW,
    WIDE,
    add_run,
    copy_run,
    entry_of,
    highest,
    load_some,
    matrix_times,
    multiply_run,
    scatter_gradient,
    store_some,
    times_matrix,
)

LEAST_RECALLED = 1e-30


class Limits(NamedTuple):
    """How a message is stored.

    Sums or maxima, numbers or logarithms: these choices are separate arguments, because they are constants with one
    compiled version for each value. In a NamedTuple they would be variables.
    """

    damping: float
    floor: float  # no positive entry of a linear message may fall below


class Scratch(NamedTuple):
    """Memory that each message overwrites."""

    q: Floats  #   [arity + 1, states]  messages variable → factor
    new: Floats  # [states]             the message


@inner
def largest_shape(g, shapes):
    """The most states of a variable, and the most variables of a factor but at least 2."""
    states, arity = 1, 2
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        states = max(states, shapes.card[v])
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        arity = max(arity, shapes.scope_off[f + 1] - shapes.scope_off[f])
    return states, arity


@entry
def node_potentials(g, shapes, value, log_space, node):
    """Product of the one-variable factors of each variable, divided by its maximum, [states of the shape].

    Returns (sum of the logarithms of the maxima, status).
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
        if log_space:
            add_run(value, table, shapes.card[v], node[at : at + shapes.card[v]])
        else:
            multiply_run(value, table, shapes.card[v], node[at : at + shapes.card[v]])
    total = 0.0
    for v in range(v0, shapes.var_off[g + 1]):
        at, states = shapes.state_off[v], shapes.card[v]
        peak, run, low = highest(node, at, states), node[at : at + states], 0
        if peak == zero:
            return 0.0, IMPOSSIBLE
        if log_space:
            run -= peak
        else:
            for x in range(states):
                run[x] /= peak
                low += 1 if (run[x] > 0.0) & (run[x] < 1e-100) else 0
        if low > 0:
            return 0.0, UNDERFLOW
        total += peak if log_space else np.log(peak)
    return total, OK


@inlined
def _incoming_block(registers, g, e, shapes, edges, node, message, log_space, at, out):
    """One block of `incoming`, from state `at` on."""
    e0 = edges.edge_off[g]
    v = shapes.var_off[g] + edges.edge_var[e0 + e]
    factor, left = edges.edge_factor[e0 + e], shapes.card[v] - at
    product = load_some(registers, node, shapes.state_off[v] + at, left)
    for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
        other = e0 + edges.var_edge[j]
        if edges.edge_factor[other] == factor:
            continue
        block_message = load_some(registers, message, edges.message_off[other] + at, left)
        product = add(product, block_message) if log_space else multiply(product, block_message)
    store_some(out, at, left, len(registers) * LANES, product)


@inner
def incoming(g, e, shapes, edges, node, message, log_space, out):
    """q_{u→f} for edge e = (f, u): the variable's own potential times its messages from other factors."""
    states = shapes.card[shapes.var_off[g] + edges.edge_var[edges.edge_off[g] + e]]
    if states <= LANES:
        _incoming_block(NARROW, g, e, shapes, edges, node, message, log_space, 0, out)
        return
    for at in range(0, states, 3 * LANES):
        _incoming_block(WIDE, g, e, shapes, edges, node, message, log_space, at, out)


@inlined
def entry_term(j, start, f, axis, shapes, v0, q, log_space):
    """(the state of the variable `axis` in entry j of factor f, `start` times the messages q[i] of the others).

    In log space their sum.   axis: -1 for none, so that all messages count.
    """
    rest, term, axis_state = j, start, 0
    for i in range(shapes.scope_off[f + 1] - shapes.scope_off[f] - 1, -1, -1):
        card = shapes.card[v0 + shapes.scope[shapes.scope_off[f] + i]]
        state = rest % card
        rest //= card
        if i == axis:
            axis_state = state
        else:
            term = term + q[i, state] if log_space else term * q[i, state]
    return axis_state, term


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
    # any arity: enumerate the entries of the table, twice for a stable log-sum
    for i in range(arity):
        if i != axis:
            incoming(g, first + i, shapes, edges, node, message, log_space, q[i])
    size = shapes.fac_size[f]
    if not log_space:
        for j in range(size):
            x, term = entry_term(j, value[table + j], f, axis, shapes, v0, q, False)
            new[x] += term
        return
    sums = q[arity]
    for x in range(states):
        sums[x] = 0.0
    for turn in range(1 if maximise else 2):
        for j in range(size):
            x, term = entry_term(j, value[table + j], f, axis, shapes, v0, q, True)
            if turn == 0:
                new[x] = max(new[x], term)
            elif new[x] > -np.inf:
                sums[x] += np.exp(term - new[x])
    if not maximise:
        for x in range(states):
            if new[x] > -np.inf:
                new[x] += np.log(sums[x])


@fast_inner
def _store_damped(new, states, message, target, m, damping, floor):
    """Normalises `new`, mixes it with the old `message` and writes it to target[m:]; returns (change, status)."""
    sent, before, after = new[:states], message[m : m + states], target[m : m + states]
    mass = 0.0
    for x in range(states):
        mass += sent[x]
    if not mass > 0.0:
        return 0.0, IMPOSSIBLE
    scale, kept_share, change, low = 1.0 / mass, 1.0 - damping, 0.0, 0
    for x in range(states):
        fresh, old = sent[x] * scale, before[x]
        moved = abs(fresh - old)
        change = moved if moved > change else change
        # a state that is impossible now stays impossible: zeros must not be averaged away
        kept = kept_share * fresh + damping * old if fresh > 0.0 else 0.0
        low += 1 if (kept > 0.0) & (kept < floor) else 0
        after[x] = kept
    return change, UNDERFLOW if low > 0 else OK


@inlined
def _store_blocks(registers, new, states, message, target, m, floor):
    """`_store_undamped` in blocks of `registers`."""
    block = len(registers) * LANES
    zero = broadcast(registers, 0.0)
    mass, moved, least = zero, zero, broadcast(registers, 1.0)
    for at in range(0, states, block):
        mass = add(mass, load_some(registers, new, at, states - at))
    sum_of_all = total(mass)
    if not sum_of_all > 0.0:
        return 0.0, IMPOSSIBLE
    scale = broadcast(registers, 1.0 / sum_of_all)
    for at in range(0, states, block):
        left = states - at
        fresh = multiply(load_some(registers, new, at, left), scale)
        old = load_some(registers, message, m + at, left)
        moved = maximum(moved, maximum(subtract(fresh, old), subtract(old, fresh)))
        least = least_positive(least, fresh)
        store_some(target, m + at, left, block, fresh)
    return largest(moved), UNDERFLOW if lowest(least) < floor else OK


@inlined
def _store_undamped(new, states, message, target, m, floor):
    if states <= LANES:
        return _store_blocks(NARROW, new, states, message, target, m, floor)
    return _store_blocks(WIDE, new, states, message, target, m, floor)


@fast_inner
def store_logs(new, states, message, target, m, damping):
    """Takes its maximum out of `new`, mixes it with the old `message` and writes it to target[m:]; (change, status)."""
    peak, change = -np.inf, 0.0
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


@fast_inner
def send(g, e, shapes, edges, value, node, message, target, log_space, maximise, limits, scratch):
    """Sends edge e: `target` gets the new message, normalised and damped. Returns (change, status).

    Linear messages sum to 1, log messages have maximum 0. Damping mixes old and new messages in the same space.
    """
    damping, floor = limits
    q, new = scratch
    outgoing(g, e, shapes, edges, value, node, message, log_space, maximise, q, new)
    e0 = edges.edge_off[g]
    m = edges.message_off[e0 + e]
    states = shapes.card[shapes.var_off[g] + edges.edge_var[e0 + e]]
    if not log_space:
        return _store_damped(new, states, message, target, m, damping, floor)
    return store_logs(new, states, message, target, m, damping)


@inlined
def send_pair(g, e, shapes, edges, value, node, message, target, floor, q, new):
    """`send` from a factor on two variables, in linear space and undamped: the most frequent case."""
    e0, v0 = edges.edge_off[g], shapes.var_off[g]
    table = shapes.fac_table[shapes.fac_off[g] + edges.edge_factor[e0 + e]]
    axis = edges.edge_axis[e0 + e]
    other, told = edges.first_edge[shapes.fac_off[g] + edges.edge_factor[e0 + e]] + 1 - axis, q[0]
    states, others = shapes.card[v0 + edges.edge_var[e0 + e]], shapes.card[v0 + edges.edge_var[e0 + other]]
    for at in range(0, others, 3 * LANES):
        _incoming_block(WIDE, g, other, shapes, edges, node, message, False, at, told)
    if axis == 1:
        times_matrix(told, others, value, table, states, new)
    else:
        matrix_times(value, table, states, told, others, new)
    return _store_undamped(new, states, message, target, edges.message_off[e0 + e], floor)


@inner
def recall(start, s, count, least, message):
    """Fills `message` [count] with what sequence s has left for this call, at least `least`. False if there is nothing.

    least: positive for linear messages: their zeros become tiny, as new messages decide what is impossible.
    """
    if len(start.value) == 0 or not start.is_kept[s]:
        return False
    out, stored = message[:count], start.value[start.off[s] : start.off[s] + count]
    for x in range(count):
        out[x] = max(stored[x], least)
    return True


@inner
def remember(start, s, state, message, count):
    """Leaves `message` [count] for the next call, in single precision, which is enough for a start."""
    if len(start.value) == 0:
        return
    start.is_kept[s] = state == OK
    out, current = start.value[start.off[s] : start.off[s] + count], message[:count]
    for x in range(count):
        out[x] = current[x]


@inner
def record_run(s, state, run, results):
    """Records how message passing ended on sequence s.   run: converged, rounds, residual, damped."""
    converged, rounds, left, damped = run
    results.status[s], results.damped[s] = state, damped
    results.iterations[s] = rounds if converged else -rounds
    results.residual[s] = left


@inner
def add_up(s, state, log_z, problem, var_belief, belief, totals, results, marginals):
    """Writes log Z and the marginals of sequence s, and adds its beliefs to the totals; unless `state` is OK: -inf."""
    shapes, kinds, bindings, rows = problem
    results.log_z[s] = log_z if state == OK else -np.inf
    if state != OK:
        return
    if len(marginals.value) > 0:
        at = marginals.off[s]
        for x in range(marginals.off[s + 1] - at):
            marginals.value[at + x] = var_belief[x]
    if len(totals.gradient) > 0:
        scatter_gradient(s, shapes, kinds, bindings, rows, belief, totals.expected, totals.gradient)


# beliefs, log Z and a labelling from converged messages ---------------------------------------------------------------


@fast_inner
def _normalise(values, at, count, log_space):
    """Normalises a run to sum 1 (log space: to probabilities in linear space). Returns log of the sum."""
    if log_space:
        return normalise_logs(values, at, count)
    run, total = values[at : at + count], 0.0
    for x in range(count):
        total += run[x]
    if total > 0.0:
        run *= 1.0 / total
    return np.log(total)


@inner
def normalise_logs(values, at, count):
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


@inlined
def _add_belief_columns(registers, value, start, q_row, mass, rows, q_column, column, columns, belief):
    """The columns of `_add_pair_belief` from `column` on, as many as a row of `registers` holds."""
    block, count = len(registers) * LANES, columns - column
    right = multiply(load_some(registers, q_column, column, count), broadcast(registers, 1.0 / mass))
    for i in range(rows):
        at = start + i * columns + column
        share, before = multiply(broadcast(registers, q_row[i]), right), load_some(registers, belief, at, count)
        store_some(belief, at, count, block, fma(share, load_some(registers, value, at, count), before))


@fast_inner
def _add_pair_belief(value, start, q_row, rows, q_column, columns, sums, belief):
    """Adds q_row φ q_column, normalised, to `belief` from `start` on; φ [rows × columns] begins at value[start].

    Returns the log of the normaliser.
    """
    matrix_times(value, start, rows, q_column, columns, sums)
    mass = 0.0
    for i in range(rows):
        mass += q_row[i] * sums[i]
    if not mass > 0.0:
        return -np.inf
    column = np.int64(0)
    while column < columns:
        if columns - column > 2 * LANES:
            _add_belief_columns(WIDE, value, start, q_row, mass, rows, q_column, column, columns, belief)
            column += len(WIDE) * LANES
        else:
            _add_belief_columns(NARROW, value, start, q_row, mass, rows, q_column, column, columns, belief)
            column += LANES
    return np.log(mass)


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
        of_variable = var_belief[at : at + states]
        copy_run(node, at, states, of_variable)
        for j in range(first, last):
            m = edges.message_off[e0 + edges.var_edge[j]]
            if log_space:
                add_run(message, m, states, of_variable)
            else:
                multiply_run(message, m, states, of_variable)
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
            add_run(var_belief, at, size, belief[table : table + size])
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
        add_run(scratch, 0, size, belief[table : table + size])
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
        score += log_value[shapes.fac_table[f] + entry_of(f, shapes, v0, assignment)]
    return score
