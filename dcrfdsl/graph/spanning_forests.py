"""Spanning forests for tree-based reparameterization: a pool of passes that together send every message.

TRP (Wainwright 2001, Sutton 2004 §3.2) sends messages both ways along a random spanning tree of the graph, a new tree
in each iteration, preferring edges that have not been used. Trees are drawn once per shape into a pool that is checked
to cover every edge; each iteration takes the next pass of the pool. Vertices are the variables and the factors of three
or more variables; a factor of two is an edge between its variables.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from ..kernels.tables import Schedules
from .shape_bank import ShapeBank
from .shapes import GraphShape

if TYPE_CHECKING:
    import networkx as nx  # imported where a forest is drawn: other methods do without it

__all__ = ["bank_pools", "draw_pool", "pool_arrays"]

Vertex = tuple[str, int]  # ("v", variable) or ("f", factor)


def _link_graph(shape: GraphShape) -> nx.MultiGraph[Vertex]:
    """Vertices: ("v", variable) and ("f", factor); an edge carries its factor."""
    import networkx as nx

    graph: nx.MultiGraph[Vertex] = nx.MultiGraph()
    graph.add_nodes_from(("v", v) for v in range(len(shape.cards)))
    for factor, scope in enumerate(shape.scopes):
        if len(scope) == 2:
            graph.add_edge(("v", scope[0]), ("v", scope[1]), factor=factor)
        elif len(scope) > 2:
            for variable in scope:
                graph.add_edge(("f", factor), ("v", variable), factor=factor)
    return graph


def draw_pool(shape: GraphShape, seed: int) -> list[list[int]]:
    """Passes over the shape's edges, each up and then down one random spanning forest.

    Together they use every edge at least once, a factor of two in both directions.
    """
    import networkx as nx

    edge_of = _edge_numbers(shape)
    graph = _link_graph(shape)
    generator = random.Random(f"{seed}:{len(shape.cards)}:{len(shape.scopes)}")
    uncovered = set(range(len(edge_of)))
    used: set[tuple[frozenset[object], int]] = set()
    pool = []
    while uncovered:
        for a, b, key in graph.edges(keys=True):
            # unused edges come first: weights below 1 win in a minimum spanning tree
            graph[a][b][key]["weight"] = generator.random() + ((frozenset((a, b)), key) in used)
        forest = cast("nx.MultiGraph[Vertex]", nx.minimum_spanning_tree(graph))  # same class as its argument
        used.update((frozenset((a, b)), key) for a, b, key in forest.edges(keys=True))
        sends = list(_both_ways(forest, shape, edge_of, generator))
        uncovered.difference_update(sends)
        pool.append(sends)
    return pool


def _edge_numbers(shape: GraphShape) -> dict[tuple[int, int], int]:
    """(factor, axis) → number of the edge in the shape, in the order of `shape_bank`."""
    pairs = ((f, axis) for f, scope in enumerate(shape.scopes) if len(scope) > 1 for axis in range(len(scope)))
    return {pair: number for number, pair in enumerate(pairs)}


def _both_ways(
    forest: nx.MultiGraph[Vertex], shape: GraphShape, edge_of: dict[tuple[int, int], int], generator: random.Random
) -> Iterator[int]:
    """Edges to send, leaves to root and root to leaves, for each tree of the forest."""
    import networkx as nx

    for component in list(nx.connected_components(forest)):
        root = generator.choice(sorted(component))
        downward = list(nx.bfs_edges(forest, root))
        for parent, child in reversed(downward):
            yield from _sends(forest, child, parent, shape, edge_of)
        for parent, child in downward:
            yield from _sends(forest, parent, child, shape, edge_of)


def _sends(
    forest: nx.MultiGraph[Vertex],
    source: Vertex,
    target: Vertex,
    shape: GraphShape,
    edge_of: dict[tuple[int, int], int],
) -> Iterator[int]:
    """The message from `source` to `target`; messages of a variable to a large factor are made when they are read."""
    if target[0] == "f":
        return
    factor = next(iter(forest[source][target].values()))["factor"]
    yield edge_of[factor, shape.scopes[factor].index(target[1])]


def bank_pools(bank: ShapeBank, seed: int) -> list[list[list[int]]]:
    """The pools of a bank's shapes, drawn once for each shape and seed and kept in the bank."""
    for number, shape in enumerate(bank.shapes):
        if (number, seed) not in bank.pools:
            bank.pools[number, seed] = draw_pool(shape, seed)
    return [bank.pools[number, seed] for number in range(len(bank.shapes))]


def pool_arrays(pools: list[list[list[int]]]) -> Schedules:
    """The pools of all shapes as flat arrays."""
    passes = [sends for pool in pools for sends in pool]
    return Schedules(
        pass_off=np.cumsum([0, *(len(pool) for pool in pools)], dtype=np.int64),
        send_off=np.cumsum([0, *(len(sends) for sends in passes)], dtype=np.int64),
        send=np.fromiter((e for sends in passes for e in sends), np.int32),
    )
