"""Elimination orders: the order in which variables are summed out, and its cost.

The cost of an order is the work of its contractions: for each eliminated variable, the size of the table over it and
its neighbours at that moment. One graph gets the cheaper of greedy minimum fill and greedy minimum table size; so does
each sentence in which the data joins positions. Other sequences are eliminated position by position, with the best
order inside a position; that is optimal for chains and keeps the work local in long sequences. Source: Sutton 2004 §3.2
(exact inference by junction tree).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..foundation import data_error, dataclass
from .shapes import GraphShape

if TYPE_CHECKING:
    import networkx as nx

Scopes = Sequence[Sequence[int]]
Score = Callable[["nx.Graph[int]", int, Sequence[int]], float]  # quoted: networkx's classes take no index at run time
BEYOND_MEMORY = 1e18  # entries of a table
MAX_PERMUTED = 5  # with up to this many variables per position, every order inside the position is tried


@dataclass(frozen=True)
class OrderCost:
    """`work` = multiply-adds of the elimination; `largest` = entries of the largest table; `width` = its variables.

    `culprit` is the variable whose elimination makes the largest table.
    """

    work: float
    largest: float
    width: int
    culprit: int


def interaction_graph(scopes: Scopes, num_variables: int) -> nx.Graph[int]:
    """The graph that joins variables which share a factor."""
    import networkx as nx  # here only: chains and coupled chains are eliminated without it

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(num_variables))
    for scope in scopes:
        graph.add_edges_from(itertools.combinations(scope, 2))
    return graph


def order_cost(scopes: Scopes, cards: Sequence[int], order: Iterable[int]) -> OrderCost:
    """Simulates elimination in `order` on sets of neighbours; no table is made.

    Stops at a table too large for any machine: then `work` is infinite, and the rest describes the tables so far.
    """
    neighbours = _neighbour_sets(scopes, len(cards))
    states = [float(card) for card in cards]  # their product may be infinite
    work, largest, width, culprit = 0.0, 1.0, 0, -1
    for variable in order:
        around = neighbours[variable]
        size = math.prod(states[v] for v in around)
        work += size * states[variable]
        if size > largest:
            largest, culprit = size, variable
        width = max(width, len(around))
        if size > BEYOND_MEMORY:
            return OrderCost(math.inf, largest, width, culprit)
        _eliminate(neighbours, variable)
    return OrderCost(work, largest, width, culprit)


def _neighbour_sets(scopes: Scopes, num_variables: int) -> list[set[int]]:
    neighbours: list[set[int]] = [set() for _ in range(num_variables)]
    for scope in scopes:
        for variable in scope:
            neighbours[variable].update(scope)
    for variable, around in enumerate(neighbours):
        around.discard(variable)
    return neighbours


def _eliminate(neighbours: list[set[int]], variable: int) -> None:
    around = neighbours[variable]
    for other in around:
        neighbours[other] |= around
        neighbours[other].discard(other)
        neighbours[other].discard(variable)
    neighbours[variable] = set()


def _greedy(graph: nx.Graph[int], cards: Sequence[int], score: Score) -> list[int]:
    """Repeatedly eliminates the variable of the lowest score; ties go to the lowest number."""
    graph = graph.copy()
    scores = {v: score(graph, v, cards) for v in graph}
    order = []
    while scores:
        variable = min(scores, key=lambda v: (scores[v], v))
        order.append(variable)
        around = list(graph[variable])
        touched = set(around)
        for u, w in itertools.combinations(around, 2):
            if not graph.has_edge(u, w):
                graph.add_edge(u, w)
                touched.update(graph[u], graph[w])
        graph.remove_node(variable)
        del scores[variable]
        touched.discard(variable)
        for other in touched:
            scores[other] = score(graph, other, cards)
    return order


def _fill(graph: nx.Graph[int], variable: int, cards: Sequence[int]) -> float:
    """Weighted fill: the edges that eliminating `variable` adds, each weighted by the size of its table."""
    return sum(cards[u] * cards[w] for u, w in itertools.combinations(graph[variable], 2) if not graph.has_edge(u, w))


def _table(graph: nx.Graph[int], variable: int, cards: Sequence[int]) -> float:
    return math.prod(cards[v] for v in graph[variable])


def least_table(scopes: Scopes, cards: Sequence[int]) -> float:
    """A lower bound of the largest table's entries in any elimination order. Takes linear time.

    In any order, some variable is eliminated with at least as many neighbours as the largest core has degrees.
    """
    import networkx as nx

    edges = len({(min(scope), max(scope)) for scope in scopes if len(scope) == 2})
    # the largest core has at least half the mean degree
    dense = math.prod(map(float, sorted(cards)[: edges // max(1, len(cards))]))
    if dense > BEYOND_MEMORY:  # known without the graph, which would take long
        return dense
    graph = interaction_graph(scopes, len(cards))
    degree = max(nx.core_number(graph).values(), default=0)
    return math.prod(map(float, sorted(cards)[:degree]))


def forest_order(scopes: Scopes, num_variables: int) -> list[int] | None:
    """Leaves first, in linear time, if the graph is a forest; else None. No table has more than two variables then."""
    if any(len(scope) > 2 for scope in scopes):
        return None
    neighbours = _neighbour_sets(scopes, num_variables)
    order = [variable for variable in range(num_variables) if len(neighbours[variable]) < 2]
    for variable in order:  # it grows on the way
        for other in neighbours[variable]:
            neighbours[other].discard(variable)
            if len(neighbours[other]) == 1:
                order.append(other)
        neighbours[variable] = set()
    return order if len(order) == num_variables else None


def best_order(scopes: Scopes, cards: Sequence[int]) -> list[int]:
    """A good elimination order for one graph: the cheaper of greedy minimum fill and greedy minimum table size."""
    graph = interaction_graph(scopes, len(cards))
    candidates = [_greedy(graph, cards, _fill), _greedy(graph, cards, _table)]
    return min(candidates, key=lambda order: order_cost(scopes, cards, order).work)


def slice_order(scopes: Scopes, cards: Sequence[int], num_labels: int, last: Sequence[int] = ()) -> list[int]:
    """The best order of the variables *inside* a position, for a sequence eliminated from left to right.

    Variables are numbered t·`num_labels` + label. The order is chosen on a graph that should be a short sequence of the
    template; it is then used at every position of every sequence.   last: labels that are not in it, as they are of
    the whole sequence: each is one variable, at the first position, and is eliminated after all others.
    """
    length = len(cards) // num_labels
    labels = [label for label in range(num_labels) if label not in last]
    candidates: Iterable[Sequence[int]] = itertools.permutations(labels)
    if len(labels) > MAX_PERMUTED:
        inside = sorted(labels, key=lambda label: -cards[label])
        candidates = [inside, inside[::-1], labels]
    best, least = list[int](), math.inf
    for one in candidates:
        order = (*(t * num_labels + label for t in range(length) for label in one), *last)
        work = order_cost(scopes, cards, order).work
        if not best or work < least:
            best, least = list(one), work
    return best


MOST_ENTRIES = 2**24  # of a table


def joined_order(shape: GraphShape) -> list[int]:
    """A good order for one graph; DcrfError if its tables cannot fit."""
    order = forest_order(shape.scopes, len(shape.cards))
    if order is not None:
        return order
    least = least_table(shape.scopes, shape.cards)
    order = best_order(shape.scopes, shape.cards) if least <= MOST_ENTRIES else []
    largest = order_cost(shape.scopes, shape.cards, order).largest if order else least
    if largest > MOST_ENTRIES:
        raise data_error(
            "too-wide",
            f"`exact` would build a table of {largest:.3g} entries on the graph of a sentence, "
            f"{MOST_ENTRIES:,} are possible",
            help="use `infer trp`, or join fewer positions (`max_gap`, `link = next`, a stricter `where`)",
        )
    return order
