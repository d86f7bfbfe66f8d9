"""Schedules of belief propagation on one unrolled graph: which message is sent next, and when a run has converged.

A run has converged when no message that was sent since every edge was last sent has moved by the tolerance or more
(`sum_product` says what the change of a message is).

A run that oscillates is damped. When the residual has not fallen for `PATIENCE` rounds, new messages are mixed with
half of the old ones, then with three quarters, and so on up to `MOST_DAMPING`. Changes are measured before damping, so
they remain comparable; damping does not move fixed points.

Trees are for tree-based reparameterization (Wainwright 2001, Sutton 2004 §3.2), which sends messages both ways along a
new spanning tree of the graph in each iteration. Vertices are the variables and the factors of three or more variables;
a factor of two is a link between its variables, a larger one has a link to each of its variables. Kruskal's rule grows
a tree, or a forest where the graph is not connected, from links in random order; `cover` takes those first that have
not been in a tree for the longest, so never-used ones before all others. Consecutive trees then cover every edge soon,
which a run must wait for before it can say that it has converged. A tree is determined by the seed, its number and,
with `cover`, the trees before it. So trees that are drawn once for all sequences of a shape and those that a run draws
when it needs more are the same. Not here: single messages (`sum_product`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Mask
from ..runtime import IMPOSSIBLE, OK, inner, kernel, next_random, shuffle
from ..tables import copy_run
from .sum_product import Limits, Scratch, largest_shape, send, send_pair

ORDERED, RANDOM, FLOOD, RESIDUAL, TREES, COVER = 0, 1, 2, 3, 4, 5  # how the next edges to send are chosen
PATIENCE = 100  # rounds within which the residual must fall; runs that converge by themselves need fewer …
FALL = 0.99  # … to this share of its value; in a run that approaches a cycle it falls ever less
MOST_DAMPING = 0.95


class Visits(NamedTuple):
    """For the edges of a graph: an order to send, the iteration when each was last sent, and its change then."""

    order: Ints
    updated: Ints
    recent: Floats
    scratch: Scratch


@inner
def _direct_edges(g, shapes, edges, order, state):
    """Gives every factor a random direction. Edges along it go into `order[:half]`, the others after. Returns half."""
    half, back = 0, edges.edge_off[g + 1] - edges.edge_off[g]
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if edges.first_edge[f] < 0:
            continue
        arity = shapes.scope_off[f + 1] - shapes.scope_off[f]
        state, draw = next_random(state)
        chosen = np.int64(draw % np.uint64(arity))
        for i in range(arity):
            if i == chosen:
                order[half] = edges.first_edge[f] + i
                half += 1
            else:
                back -= 1
                order[back] = edges.first_edge[f] + i
    return half


@inner
def _dampened(damping):
    """The next stronger damping: halves the share of new messages, up to `MOST_DAMPING` (or the initial damping)."""
    return max(damping, min(MOST_DAMPING, 0.5 * (1.0 + damping)))


@inner
def _send_all(g, shapes, edges, value, node, message, pending, sweeps, turn, visits, log_space, maximise):
    """Sends the messages of an iteration into `pending`; records the edges and their changes in `visits`.

    turn: its number, the range of edges that it sends, whether those of the schedule, the tolerance, and `Limits`.
    Returns (whether one moved by the tolerance or more, status).
    """
    (number, first, last, listed, tolerance, limits), kind, scratch = turn, sweeps.kind, visits.scratch
    moved = False
    for i in range(first, last):
        e = sweeps.passes.send[i] if listed else (i if kind == FLOOD else visits.order[i])
        f = shapes.fac_off[g] + edges.edge_factor[edges.edge_off[g] + e]
        if not log_space and limits.damping == 0.0 and shapes.scope_off[f + 1] - shapes.scope_off[f] == 2:
            change, status = send_pair(
                g, e, shapes, edges, value, node, message, pending, limits.floor, scratch.q, scratch.new
            )
        else:
            change, status = send(
                g, e, shapes, edges, value, node, message, pending, log_space, maximise, limits, scratch
            )
        if status != OK:
            return moved, status
        visits.updated[e], visits.recent[e] = number, change
        moved |= not change < tolerance
    return moved, OK


@kernel
def propagate(g, shapes, edges, value, node, message, sweeps, control, log_space, maximise, warm):
    """Sends messages until they converge.

    Returns (converged, iterations, residual, status, whether it was damped more than `control` says).

    sweeps: a schedule in rounds, or None for RESIDUAL: always the message that would change most. Its type decides
    which of the two is compiled. `message` is first filled with uniform messages, unless `warm` says that it already
    holds messages. An iteration is a pass of the schedule, over and over (ORDERED), a new tree (TREES, COVER; the
    schedule holds the first ones), all edges one way and then the other (RANDOM), all edges at once (FLOOD), or as many
    sends as there are edges (RESIDUAL).
    """
    e0, count = edges.edge_off[g], edges.edge_off[g + 1] - edges.edge_off[g]
    (largest, arity), degree = largest_shape(g, shapes), 1
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        degree = max(degree, edges.var_edge_off[v + 1] - edges.var_edge_off[v])
    for e in range(count):
        m, states = edges.message_off[e0 + e], shapes.card[shapes.var_off[g] + edges.edge_var[e0 + e]]
        if not warm:
            message[m : m + states] = 0.0 if log_space else 1.0 / states
    if count == 0:
        return True, 0, 0.0, OK, False
    # products of `degree` messages, a potential and a table entry must stay normal doubles
    floor = 10.0 ** (-180.0 / (degree * (arity - 1) + 1))
    scratch = Scratch(np.empty((arity + 1, largest)), np.empty(largest))
    if sweeps is None:
        return _propagate_residual(g, shapes, edges, value, node, message, control, log_space, maximise, floor, scratch)
    kind, schedules = sweeps
    tolerance, max_iterations, damping, seed = control
    order = np.empty(count, np.int64)
    half = 0
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(count)
    if kind == RANDOM:
        half = _direct_edges(g, shapes, edges, order, state)
    by_trees = kind in (TREES, COVER)
    passes = schedules.pass_off[g + 1] - schedules.pass_off[g] if kind == ORDERED or by_trees else 0
    growth = prepare_growth(g, shapes, edges, False)
    updated = np.full(count, -1, np.int64)  # iteration in which an edge was last sent
    pending = message.copy() if kind == FLOOD else message
    last_moved = -1
    recent = np.full(count, np.inf)  # change of each edge when last sent
    visits = Visits(order, updated, recent, scratch)
    asked, lowest, waited, begun = damping, np.inf, 0, 0
    for iteration in range(max_iterations):
        first, last = 0, count
        listed = kind == ORDERED or (by_trees and iteration < passes)
        if listed:
            p = schedules.pass_off[g] + iteration % passes
            first, last = schedules.send_off[p], schedules.send_off[p + 1]
        elif by_trees:
            if iteration == passes:
                growth = prepare_growth(g, shapes, edges, True)
                for number in range(passes if kind == COVER else 0):
                    draw_tree(number, seed, True, growth, order)
            last = draw_tree(iteration, seed, kind == COVER, growth, order)
        elif kind == RANDOM:
            state = shuffle(order[:half], half, state)
            state = shuffle(order[half:], count - half, state)
        turn = iteration, first, last, listed, tolerance, Limits(damping, floor)
        moved, status = _send_all(
            g, shapes, edges, value, node, message, pending, sweeps, turn, visits, log_space, maximise
        )
        if status != OK:
            return False, iteration + 1, np.inf, status, damping > asked
        if moved:
            last_moved = iteration
        if kind == FLOOD:
            copy_run(pending, 0, len(message), message)
        oldest, residual = iteration, 0.0
        for e in range(count):
            oldest, residual = min(oldest, updated[e]), max(residual, recent[e])
        if oldest > last_moved:
            return True, iteration + 1, residual, OK, damping > asked
        if oldest < begun:
            continue  # a round ends when every edge has been sent in it
        waited, begun = waited + 1, iteration + 1
        if residual < FALL * lowest:
            lowest, waited = residual, 0
        elif waited >= PATIENCE:
            damping, lowest, waited = _dampened(damping), np.inf, 0
    return False, max_iterations, recent.max(), OK, damping > asked


@kernel
def _propagate_residual(g, shapes, edges, value, node, message, control, log_space, maximise, floor, scratch):
    """Always sends the message that would change most. A tournament tree over edges finds it in log time."""
    tolerance, max_iterations, damping, _ = control
    e0, count = edges.edge_off[g], edges.edge_off[g + 1] - edges.edge_off[g]
    leaves = 1
    while leaves < count:
        leaves *= 2
    best = np.full(2 * leaves, -1.0)  # best[1] is the largest change of all edges
    trial, undamped = np.empty_like(message), Limits(0.0, floor)  # trial: messages computed but not sent
    for e in range(count):
        change, status = send(g, e, shapes, edges, value, node, message, trial, log_space, maximise, undamped, scratch)
        if status != OK:
            return False, 1, np.inf, status, False
        best[leaves + e] = change
    for i in range(leaves - 1, 0, -1):
        best[i] = max(best[2 * i], best[2 * i + 1])
    asked, lowest, waited, watched = damping, np.inf, 0, 0
    sends = 0
    while sends < max_iterations * count:
        if sends >= watched + count:
            watched, waited = sends, waited + 1
            if best[1] < FALL * lowest:
                lowest, waited = best[1], 0
            elif waited >= PATIENCE:
                damping, lowest, waited = _dampened(damping), np.inf, 0
        if best[1] < tolerance:
            # changes too small to be sent may still add up: before stopping, everything is sent both ways
            moved, limits = 0.0, Limits(damping, floor)
            for i in range(2 * count):
                e = i if i < count else 2 * count - 1 - i
                change, status = send(
                    g, e, shapes, edges, value, node, message, message, log_space, maximise, limits, scratch
                )
                if status != OK:
                    return False, sends // count + 1, np.inf, status, damping > asked
                moved = max(moved, change)
            sends += 2 * count
            if moved < tolerance:
                return True, sends // count, moved, OK, damping > asked
            for e in range(count):
                _refresh(g, e, shapes, edges, value, node, message, trial, log_space, maximise, undamped, scratch, best)
            continue
        sends += 1
        i = 1
        while i < leaves:
            i = 2 * i if best[2 * i] >= best[2 * i + 1] else 2 * i + 1
        e = i - leaves
        change, status = send(
            g, e, shapes, edges, value, node, message, message, log_space, maximise, Limits(damping, floor), scratch
        )
        if status != OK:
            return False, sends // count + 1, np.inf, status, damping > asked
        # this message affects the other edges of the other factors at its variable, and itself if damped
        _refresh(g, e, shapes, edges, value, node, message, trial, log_space, maximise, undamped, scratch, best)
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
                        g, other, shapes, edges, value, node, message, trial, log_space, maximise, undamped, scratch,
                        best,
                    )  # fmt: skip
    return False, max_iterations, best[1], OK, damping > asked


@inner
def _refresh(g, other, shapes, edges, value, node, message, trial, log_space, maximise, limits, scratch, best):
    """Recomputes the change that sending `other` would make and repairs the tournament tree `best`."""
    change, status = send(g, other, shapes, edges, value, node, message, trial, log_space, maximise, limits, scratch)
    i = len(best) // 2 + other
    best[i] = change if status != IMPOSSIBLE else np.inf
    while i > 1:
        i //= 2
        best[i] = max(best[2 * i], best[2 * i + 1])


# random spanning trees ------------------------------------------------------------------------------------------------


class Growth(NamedTuple):
    """The links of one graph with L links and N vertices, and memory that each tree overwrites."""

    edge: Ints  #     [L]     the edge of a link; of a factor of two variables its first one
    end: Ints  #      [L, 2]  vertices: the variable of that edge, and the other end
    pair: Mask  #     [L]  whether both ends are variables
    order: Ints  #    [L]     links in the order in which they are tried
    tree: Ints  #     [L]     the links of the tree
    root: Ints  #     [N]     union-find: a vertex nearer to the representative
    near_off: Ints  # [N+1]   links of the tree at a vertex
    near: Ints  #     [2L]
    queue: Ints  #    [N]     vertices, each after the one above it
    above: Ints  #    [N]     the link to the vertex above; -1 at a root, -2 before it is reached


@kernel
def prepare_growth(g, shapes, edges, wanted):
    """The links of graph g; without any if they are not `wanted`."""
    e0, f0 = edges.edge_off[g], shapes.fac_off[g]
    variables = shapes.var_off[g + 1] - shapes.var_off[g]
    links = vertices = 0
    if wanted:
        vertices = variables + shapes.fac_off[g + 1] - f0
        for e in range(edges.edge_off[g + 1] - e0):
            f = f0 + edges.edge_factor[e0 + e]
            links += shapes.scope_off[f + 1] - shapes.scope_off[f] > 2 or edges.edge_axis[e0 + e] == 0
    growth = Growth(
        np.empty(links, np.int64), np.empty((links, 2), np.int64), np.empty(links, np.bool_), np.empty(links, np.int64),
        np.empty(links, np.int64), np.empty(vertices, np.int64), np.empty(vertices + 1, np.int64),
        np.empty(2 * links, np.int64), np.empty(vertices, np.int64), np.empty(vertices, np.int64),
    )  # fmt: skip
    n = 0
    for e in range(edges.edge_off[g + 1] - e0 if wanted else 0):
        f = f0 + edges.edge_factor[e0 + e]
        pair = shapes.scope_off[f + 1] - shapes.scope_off[f] == 2
        if pair and edges.edge_axis[e0 + e] > 0:
            continue
        growth.edge[n], growth.pair[n], growth.end[n, 0] = e, pair, edges.edge_var[e0 + e]
        growth.end[n, 1] = edges.edge_var[e0 + e + 1] if pair else variables + edges.edge_factor[e0 + e]
        n += 1
    return growth


@inner
def _representative(root, vertex):
    """The representative of a vertex; halves the way to it."""
    while root[vertex] != vertex:
        root[vertex] = root[root[vertex]]
        vertex = root[vertex]
    return vertex


@inner
def _choose_links(growth, anew, state):
    """Kruskal's rule, in the order at hand or (`anew`) a new one. Chosen links become the last in it, in random order.

    Returns (how many are in `tree`, state).
    """
    links, vertices = len(growth.edge), len(growth.root)
    if anew:
        for link in range(links):
            growth.order[link] = link
        state = shuffle(growth.order, links, state)
    for vertex in range(vertices):
        growth.root[vertex] = vertex
    chosen, left = np.int64(0), np.int64(0)
    for i in range(links):
        link = growth.order[i]
        a = _representative(growth.root, growth.end[link, 0])
        b = _representative(growth.root, growth.end[link, 1])
        if a != b:
            growth.root[a], growth.tree[chosen] = b, link
            chosen += 1
        else:
            growth.order[left] = link
            left += 1
    state = shuffle(growth.tree, chosen, state)
    copy_run(growth.tree, 0, chosen, growth.order[left:])
    return chosen, state


@inner
def _index_links(growth, chosen):
    """Lists the chosen links at each vertex."""
    off = growth.near_off
    off[:] = 0
    for i in range(chosen):
        off[growth.end[growth.tree[i], 0]] += 1
        off[growth.end[growth.tree[i], 1]] += 1
    for vertex in range(1, len(off)):
        off[vertex] += off[vertex - 1]
    for i in range(chosen):  # from the ends of the lists down, so that the offsets are their starts afterwards
        for side in range(2):
            vertex = growth.end[growth.tree[i], side]
            off[vertex] -= 1
            growth.near[off[vertex]] = growth.tree[i]


@inner
def _walk(growth, first):
    """Breadth first from a root in each component. Returns how many vertices the queue holds."""
    vertices, reached, done = len(growth.root), np.int64(0), np.int64(0)
    for vertex in range(vertices):
        growth.above[vertex] = -2
    for i in range(vertices):
        root = (first + i) % vertices
        if growth.above[root] != -2:
            continue
        growth.above[root], growth.queue[reached] = -1, root
        reached += 1
        while done < reached:
            vertex = growth.queue[done]
            done += 1
            for j in range(growth.near_off[vertex], growth.near_off[vertex + 1]):
                link = growth.near[j]
                other = growth.end[link, 0] + growth.end[link, 1] - vertex
                if growth.above[other] == -2:
                    growth.above[other], growth.queue[reached] = link, other
                    reached += 1
    return reached


@inner
def draw_tree(number, seed, cover, growth, sends):
    """Draws tree `number`; writes its edges to `sends`, leaves to roots and back. Returns how many.

    With `cover` the trees before it must have been drawn, one after the other.
    Messages of a variable to a large factor are made when they are read, so only those to variables are listed.
    """
    links = len(growth.edge)
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(links)
    state, draw = next_random(state)
    state = draw ^ (np.uint64(number) * np.uint64(0xD1342543DE82EF95))
    chosen, state = _choose_links(growth, not cover or number == 0, state)
    _index_links(growth, chosen)
    state, draw = next_random(state)
    reached = _walk(growth, np.int64(draw % np.uint64(max(1, len(growth.root)))))
    count = 0
    for downwards in range(2):
        for i in range(reached):
            vertex = growth.queue[i if downwards == 1 else reached - 1 - i]
            link = growth.above[vertex]
            if link < 0:
                continue
            # the edge of a link leads to its end 0; that of a factor of two has a twin to the other end
            to_first = (growth.end[link, 0] == vertex) == (downwards == 1)
            if to_first or growth.pair[link]:
                sends[count] = growth.edge[link] + (0 if to_first else 1)
                count += 1
    return count


@kernel
def first_trees(shapes, edges, seed, cover, count):
    """The first `count` trees of each shape: (`pass_off`, `send_off`, `send`) as in `wiring.Schedules`."""
    num_shapes = len(edges.messages)
    total, longest = 0, 0
    for g in range(num_shapes):
        length = edges.edge_off[g + 1] - edges.edge_off[g]
        total, longest = total + length, max(longest, length)
    pass_off, send_off = np.empty(num_shapes + 1, np.int64), np.zeros(num_shapes * count + 1, np.int64)
    send, sends = np.empty(total * count, np.int32), np.empty(longest, np.int64)
    at = 0
    for g in range(num_shapes):
        pass_off[g] = g * count
        growth = prepare_growth(g, shapes, edges, True)
        for number in range(count):
            sent = draw_tree(number, seed, cover, growth, sends)
            copy_run(sends, 0, sent, send[at:])
            at += sent
            send_off[g * count + number + 1] = at
    pass_off[num_shapes] = num_shapes * count
    return pass_off, send_off, send[:at].copy()
