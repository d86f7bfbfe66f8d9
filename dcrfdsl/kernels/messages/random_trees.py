"""Random spanning trees for tree-based reparameterization: a new one for each iteration, drawn from a seed.

TRP (Wainwright 2001, Sutton 2004 §3.2) sends messages both ways along a spanning tree of the graph. Vertices are the
variables and the factors of three or more variables; a factor of two is a link between its variables, a larger one has
a link to each of its variables. Kruskal's rule grows a tree, or a forest where the graph is not connected, from links
in random order; `cover` takes those first that have not been in a tree for the longest, so never-used ones before all
others. Consecutive trees then cover every edge soon, which a run must wait for before it can say that it has converged.
A tree is determined by the seed, its number and, with `cover`, the trees before it. So trees that are drawn once for
all sequences of a shape and those that a run draws when it needs more are the same. Not here: sending (`propagation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import inner, kernel, next_random, shuffle

Ints = NDArray[np.int64]


class Growth(NamedTuple):
    """The links of one graph with L links and N vertices, and memory that each tree overwrites."""

    edge: Ints  #       [L]     the edge of a link; of a factor of two variables its first one
    end: Ints  #        [L, 2]  vertices: the variable of that edge, and the other end
    pair: NDArray[np.bool_]  # [L]  whether both ends are variables
    order: Ints  #      [L]     links in the order in which they are tried
    tree: Ints  #       [L]     the links of the tree
    root: Ints  #       [N]     union-find: a vertex nearer to the representative
    near_off: Ints  #   [N+1]   links of the tree at a vertex
    near: Ints  #       [2L]
    queue: Ints  #      [N]     vertices, each after the one above it
    above: Ints  #      [N]     the link to the vertex above; -1 at a root, -2 before it is reached


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
    for i in range(chosen):
        growth.order[left + i] = growth.tree[i]
    return chosen, state


@inner
def _index_links(growth, chosen):
    """Lists the chosen links at each vertex."""
    off = growth.near_off
    for vertex in range(len(off)):
        off[vertex] = 0
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
            for i in range(sent):
                send[at + i] = sends[i]
            at += sent
            send_off[g * count + number + 1] = at
    pass_off[num_shapes] = num_shapes * count
    return pass_off, send_off, send[:at].copy()
