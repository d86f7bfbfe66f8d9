"""Generalised belief propagation on one graph: messages between clusters of variables and the regions that they share.

The Kikuchi free energy (Yedidia, Freeman & Weiss 2005) of clusters α, which hold the potentials, and shared regions β,
which are their intersections, the intersections of those, and so on, with counting numbers c_β = 1 − Σ_{γ ⊃ β} c_γ:

    log Z ≈ Σ_α (E_{Q_α}[log φ_α] + H(Q_α)) + Σ_β c_β H(Q_β),    Q_α(x_β) = Q_β(x_β) for each β ⊂ α

Its stationary points are found by messages both ways (Heskes 2003, two-way algorithm). With n_β clusters around β:

    μ_{α→β} = Q_α(x_β) / μ_{β→α}                   Q_β ∝ Π_α μ_{α→β}^{1/(n_β + c_β)}
    μ_{β→α} = Q_β / μ_{α→β}                        Q_α ∝ φ_α Π_{β⊂α} μ_{β→α}

where Q_α is multiplied by Q_β / Q_α(x_β) at once. It needs n_β + c_β > 0, and may swing. Then the double loop takes
over, which converges: the entropies with c_β < 0 are replaced by their tangents at the last Q_β. That adds
−c_β/n_β log Q_β (`slant`) to the potentials of each cluster around β and leaves a convex problem, on which the messages
above, with max(c_β, 0) for c_β, converge. Its solution gives the next tangents; each lowers the free energy.

Clusters are normalised tables, rebuilt from logarithms in each sweep, so nothing is lost by underflow and rounding
errors do not add up. Messages are logarithms. Not here: the regions (`graph.regions`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import IMPOSSIBLE, OK, fast_inner, inner, kernel
from ..tables import add_run, copy_run, fill_tables
from .feasible_search import largest_sequence
from .sum_product import add_up, node_potentials, recall, record_run, remember

SLOW = 0.8  # damping where regions lie within regions: faster messages swing, or settle in a mode of many
FALL = 0.99  # the residual must fall to this share …
PATIENCE = 20  # … within so many sweeps; else messages are damped
LONG_PATIENCE = 100  # … and so many where they are; else the double loop begins
RUNAWAY = 1e9  # a change of a logarithm beyond this comes from messages that grow without end
STEEP = 500.0  # factors beyond exp of this are not multiplied into tables: these are built anew
TINY = 1e-250  # below, a marginal is summed from logarithms
INNER = 50  # sweeps for one tangent, at most


class RegionTables(NamedTuple):
    """The tables of one graph at a time."""

    log_phi: Floats  #  [tables]   log φ_α of each cluster
    table: Floats  #    [tables]   Q_α
    norm: Floats  #     [clusters] log of what Q_α was divided by
    belief: Floats  #   [cells]    log Q_β
    slant: Floats  #    [cells]    what the double loop adds to the potentials of the clusters around β
    marginal: Floats  # [longest]  rows of memory for one region, one a cluster
    logs: Floats  #     [longest]  the same for logarithms


@fast_inner
def _rebuild(a, regions, tables, message):
    """Q_α from logarithms. Returns IMPOSSIBLE if nothing is left."""
    at, size = regions.table_off[a], regions.size[a]
    table = tables.table[at : at + size]
    copy_run(tables.log_phi, at, size, table)
    for i in range(regions.around_off[a], regions.around_off[a + 1]):
        link = regions.around[i]
        m, cell = regions.link_message[link], regions.cell_off[regions.link_region[link]]
        place = regions.map[regions.link_map[link] : regions.link_map[link] + size]
        for j in range(size):
            x = place[j]
            table[j] += message[m + x] + tables.slant[cell + x]
    peak, total = -np.inf, 0.0
    for j in range(size):
        peak = max(peak, table[j])
    if peak == -np.inf:
        return IMPOSSIBLE
    for j in range(size):
        table[j] = np.exp(table[j] - peak)
        total += table[j]
    for j in range(size):
        table[j] /= total
    tables.norm[a] = peak + np.log(total)
    return OK


@fast_inner
def _log_marginal(a, link, state, regions, tables, message):
    """log Q_α(x_β = state), summed from logarithms."""
    at, size = regions.table_off[a], regions.size[a]
    place = regions.link_map[link]
    peak, total = -np.inf, 0.0
    for turn in range(2):
        for j in range(size):
            if regions.map[place + j] != state:
                continue
            term = tables.log_phi[at + j]
            for i in range(regions.around_off[a], regions.around_off[a + 1]):
                other = regions.around[i]
                x = regions.map[regions.link_map[other] + j]
                cell = regions.cell_off[regions.link_region[other]]
                term += message[regions.link_message[other] + x] + tables.slant[cell + x]
            if turn == 0:
                peak = max(peak, term)
            else:
                total += np.exp(term - peak)
        if peak == -np.inf:
            return -np.inf
    return peak + np.log(total) - tables.norm[a]


@fast_inner
def _gather(b, regions, tables, message):
    """The marginals of the clusters around region b, into `marginal` and (as logarithms) `logs`, a row each."""
    states, cell = regions.states[b], regions.cell_off[b]
    first = regions.link_off[b]
    for link in range(first, regions.link_off[b + 1]):
        a, row = regions.link_cluster[link], (link - first) * states
        at, size = regions.table_off[a], regions.size[a]
        table, marginal = tables.table[at : at + size], tables.marginal[row : row + states]
        place = regions.map[regions.link_map[link] : regions.link_map[link] + size]
        marginal[:states] = 0.0
        for j in range(size):
            marginal[place[j]] += table[j]
        for x in range(states):
            if tables.belief[cell + x] == -np.inf:  # impossible once, impossible for ever
                tables.logs[row + x] = -np.inf
            elif marginal[x] > TINY:
                tables.logs[row + x] = np.log(marginal[x])
            else:
                tables.logs[row + x] = _log_marginal(a, link, x, regions, tables, message)


@fast_inner
def _update(b, weight, damping, regions, tables, message):
    """Updates region b and the clusters around it. Returns (largest change, status).

    weight: n_β + c_β.   The change is that of the logarithm of a probability, the region's own or a cluster's, before
    damping: so a probability that nears 0 or 1 counts as long as it moves.
    """
    states, cell = regions.states[b], regions.cell_off[b]
    first, last = regions.link_off[b], regions.link_off[b + 1]
    _gather(b, regions, tables, message)
    peak, total, change = -np.inf, 0.0, 0.0
    before = tables.marginal[(last - first) * states : (last - first + 1) * states]
    for x in range(states):
        before[x] = tables.belief[cell + x]
        term = 0.0
        for link in range(first, last):
            log_marginal = tables.logs[(link - first) * states + x]
            # an impossible state has a message of -inf, whose difference to itself is none
            term += log_marginal - message[regions.link_message[link] + x] if log_marginal > -np.inf else -np.inf
        tables.belief[cell + x] = term / weight
        peak = max(peak, term / weight)
    if peak == -np.inf:
        return 0.0, IMPOSSIBLE
    for x in range(states):
        total += np.exp(tables.belief[cell + x] - peak)
    for x in range(states):
        tables.belief[cell + x] -= peak + np.log(total)
        if tables.belief[cell + x] > -np.inf:
            change = max(change, abs(tables.belief[cell + x] - before[x]))
    for link in range(first, last):
        a, row, m = regions.link_cluster[link], (link - first) * states, regions.link_message[link]
        at, size = regions.table_off[a], regions.size[a]
        steep = False
        for x in range(states):
            ratio = tables.belief[cell + x] - tables.logs[row + x]
            if tables.belief[cell + x] == -np.inf:
                tables.marginal[row + x], message[m + x] = 0.0, -np.inf
                continue
            change, ratio = max(change, abs(ratio)), ratio * (1.0 - damping)
            message[m + x] += ratio
            steep |= abs(ratio) > STEEP or tables.marginal[row + x] <= TINY
            tables.marginal[row + x] = np.exp(ratio)
        if steep:
            if _rebuild(a, regions, tables, message) != OK:
                return 0.0, IMPOSSIBLE
            continue
        table, factor = tables.table[at : at + size], tables.marginal[row : row + states]
        place = regions.map[regions.link_map[link] : regions.link_map[link] + size]
        for j in range(size):
            table[j] *= factor[place[j]]
    return change, OK


@inner
def _sweep(g, backwards, doubled, damping, regions, tables, message):
    """Updates every region once. Returns (largest change, status)."""
    for a in range(regions.cluster_off[g], regions.cluster_off[g + 1]):
        if _rebuild(a, regions, tables, message) != OK:
            return 0.0, IMPOSSIBLE
    first, last = regions.region_off[g], regions.region_off[g + 1]
    residual = 0.0
    for i in range(last - first):
        b = last - 1 - i if backwards else first + i
        count = regions.number[b]
        weight = regions.link_off[b + 1] - regions.link_off[b] + (max(0.0, count) if doubled else count)
        change, status = _update(b, weight, damping, regions, tables, message)
        if status != OK:
            return 0.0, status
        residual = max(residual, change)
    return residual, OK


@inner
def _lay_tangents(g, regions, tables, message):
    """Sets `slant` by the beliefs at hand; messages make up for it, so that clusters stay as they are."""
    for b in range(regions.region_off[g], regions.region_off[g + 1]):
        share = max(0.0, -regions.number[b]) / (regions.link_off[b + 1] - regions.link_off[b])
        for x in range(regions.states[b]):
            cell = regions.cell_off[b] + x
            fresh = share * tables.belief[cell] if tables.belief[cell] > -np.inf else 0.0
            for link in range(regions.link_off[b], regions.link_off[b + 1]):
                message[regions.link_message[link] + x] += tables.slant[cell] - fresh
            tables.slant[cell] = fresh


@inner
def _weights(g, regions):
    """The least and the largest n_β + c_β."""
    least, most = 1.0, 1.0
    for b in range(regions.region_off[g], regions.region_off[g + 1]):
        weight = regions.link_off[b + 1] - regions.link_off[b] + regions.number[b]
        least, most = min(least, weight), max(most, weight)
    return least, most


@kernel
def propagate_regions(g, regions, control, doubling, tables, message):
    """Sends messages until they converge: (converged, sweeps, residual, status, whether damped or doubled unasked).

    doubling: 0 never, 1 where single messages do not converge, 2 from the start.   `tables.log_phi` and `message` are
    filled.
    control: a negative damping leaves the choice of it here.   The residual of the single loop is the largest change in
    a sweep; that of the double loop is the largest change from tangent to tangent, or of the last sweep if larger.
    """
    tolerance, max_iterations, damping, _ = control
    first, last = regions.region_off[g], regions.region_off[g + 1]
    cells = 0 if first == last else regions.cell_off[last - 1] + regions.states[last - 1]
    before = np.empty(cells)
    for b in range(first, last):
        for x in range(regions.states[b]):
            tables.slant[regions.cell_off[b] + x] = 0.0
            tables.belief[regions.cell_off[b] + x] = -np.log(regions.states[b])
    if first == last:
        _, status = _sweep(g, False, False, 0.0, regions, tables, message)
        return True, 0, 0.0, status, False
    least, most = _weights(g, regions)
    if damping < 0.0:  # messages as those of belief propagation need none, on a junction tree they are exact at once
        damping = SLOW if most > 1.0 else 0.0
    asked, lowest, waited, residual = damping, np.inf, 0, np.inf
    doubled = doubling == 2 or (doubling == 1 and least < 0.5)
    switched = doubled and doubling == 1
    inner, moved = 0, np.inf
    for iteration in range(max_iterations):
        if doubled and inner == 0:
            if iteration > 0:
                _lay_tangents(g, regions, tables, message)
            copy_run(tables.belief, 0, cells, before)
        change, status = _sweep(g, iteration % 2 == 1, doubled, damping, regions, tables, message)
        if status != OK:
            return False, iteration + 1, np.inf, status, switched or damping > asked
        if change > RUNAWAY:
            residual = change
            if doubled or doubling == 0:
                break  # the single loop diverges; or the free energy is least where some probability is 0
            message[: regions.messages[g]] = 0.0
            for i in range(cells):
                tables.belief[i] = before[i] = 0.0
            doubled, switched, damping = True, True, 0.0
            continue
        if not doubled:
            residual = change
            if residual < tolerance:
                break
            waited += 1
            if residual < FALL * lowest:
                lowest, waited = residual, 0
            elif waited >= (PATIENCE if damping < SLOW else LONG_PATIENCE):
                lowest, waited = np.inf, 0
                if damping < SLOW:
                    damping = SLOW
                elif doubling == 1:
                    doubled, switched, damping = True, True, 0.0
            continue
        inner += 1
        if change < 0.1 * tolerance or inner == INNER:
            moved = 0.0
            for i in range(cells):
                moved = max(moved, abs(tables.belief[i] - before[i]) if tables.belief[i] > -np.inf else 0.0)
            residual, inner = max(moved, change), 0
            if residual < tolerance and iteration > 0:
                break
    for b in range(first, last):  # messages that the single loop would have here, for the next call
        for x in range(regions.states[b]):
            for link in range(regions.link_off[b], regions.link_off[b + 1]):
                message[regions.link_message[link] + x] += tables.slant[regions.cell_off[b] + x]
            tables.slant[regions.cell_off[b] + x] = 0.0
    for a in range(regions.cluster_off[g], regions.cluster_off[g + 1]):
        if _rebuild(a, regions, tables, message) != OK:
            return False, iteration + 1, np.inf, IMPOSSIBLE, switched or damping > asked
    return residual < tolerance, iteration + 1, residual, OK, switched or damping > asked


# marginals, the Kikuchi log Z, expectations of data sets --------------------------------------------------------------


@fast_inner
def _fill_clusters(g, shapes, regions, logs, node, log_phi):
    """log φ_α: the sum of the factors and of the `node` potentials of variables that each cluster holds."""
    for a in range(regions.cluster_off[g], regions.cluster_off[g + 1]):
        log_phi[regions.table_off[a] : regions.table_off[a] + regions.size[a]] = 0.0
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
    message[: regions.messages[g]] = 0.0
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
        var_belief[at : at + shapes.card[v]] = 0.0
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
            add_run(var_belief, at, shapes.fac_size[f], belief[out:])
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
    add_run(belief, 0, shared, totals.expected)
