"""The spanning trees of TRP: a new random one in each iteration, whichever are drawn ahead; the same fixed points."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import reference
from strategies import FAMILIES, random_tables

from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import infer_graph
from dcrfdsl.inference.methods import message_method
from dcrfdsl.inference.single_graph import bind_factor_graph
from dcrfdsl.kernels.messages import first_trees
from dcrfdsl.semantics.settings.infer_settings import TrpSettings

FINE = {"tolerance": 1e-10, "max_iterations": 5000}
GRID = (
    (2,) * 9,
    tuple([(v, v + 1) for v in range(9) if v % 3 < 2] + [(v, v + 3) for v in range(6)] + [(0, 4, 8)]),
)
GRAPHS = FAMILIES | {"grid with a triple": GRID}


def drawn(graph, seed, cover, count):
    """The first trees of a graph as lists of (factor, variable) in the order in which they are sent."""
    data = bind_factor_graph(graph, None)
    edges = data.bank.edge_arrays()
    pass_off, send_off, send = first_trees(data.bank.shape_arrays(), edges, seed, cover, count)
    assert pass_off.tolist() == [0, count]
    ends = list(zip(edges.edge_factor.tolist(), edges.edge_var.tolist(), strict=True))
    return [[ends[e] for e in send[a:b]] for a, b in itertools.pairwise(send_off)]


def links(graph):
    """The graph whose spanning trees are drawn: variables, and factors of three or more as vertices of their own."""
    built = nx.MultiGraph()
    built.add_nodes_from(range(len(graph.cards)))
    for f, scope in enumerate(graph.scopes):
        if len(scope) == 2:
            built.add_edge(*scope, key=(f, None))
        elif len(scope) > 2:
            built.add_edges_from((("f", f), v, (f, v)) for v in scope)
    return built


def used(graph, sends):
    """The links of a tree."""
    return {(f, v if len(graph.scopes[f]) > 2 else None) for f, v in sends}


@pytest.mark.parametrize("cover", [False, True])
@pytest.mark.parametrize("family", GRAPHS)
def test_each_tree_spans_the_graph_and_is_sent_from_the_leaves_and_back(family, cover):
    cards, scopes = GRAPHS[family]
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 0))
    whole = links(graph)
    for sends in drawn(graph, 5, cover, 6):
        assert len(set(sends)) == len(sends)
        tree = nx.MultiGraph()
        tree.add_nodes_from(whole)
        tree.add_edges_from((a, b, key) for a, b, key in whole.edges(keys=True) if key in used(graph, sends))
        assert nx.number_connected_components(tree) == nx.number_connected_components(whole)
        assert tree.number_of_edges() == len(whole) - nx.number_connected_components(whole)
        # a message must follow all that it depends on, but for those that lead to it
        place = {send: i for i, send in enumerate(sends)}
        pairs = [f for f, scope in enumerate(scopes) if len(scope) == 2 and (f, scope[0]) in place]
        assert all((f, v) in place for f in pairs for v in scopes[f])
        for f in pairs:
            for v, u in (scopes[f], scopes[f][::-1]):
                behind = [place[g, u] for g in pairs if g != f and u in scopes[g]]
                late = [other for other in behind if other > place[f, v]]
                assert len(late) <= 1, "towards a root all but one neighbour has sent; away from it, all have"


@pytest.mark.parametrize("family", GRAPHS)
def test_cover_takes_the_edges_first_that_were_not_used_for_the_longest(family):
    cards, scopes = GRAPHS[family]
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 0))
    whole = links(graph)
    last = dict.fromkeys((key for _, _, key in whole.edges(keys=True)), -1)
    for number, sends in enumerate(drawn(graph, 1, True, 12)):
        tree = used(graph, sends)
        for a, b, key in whole.edges(keys=True):  # left out only if links that waited no less join its ends
            if key not in tree:
                joined = nx.MultiGraph()
                joined.add_nodes_from(whole)
                joined.add_edges_from(
                    (c, d) for c, d, k in whole.edges(keys=True) if k in tree and last[k] <= last[key]
                )
                assert nx.has_path(joined, a, b)
        last.update(dict.fromkeys(tree, number))
    assert min(last.values(), default=0) >= 0


def test_trees_differ_from_iteration_to_iteration_and_from_seed_to_seed():
    graph = FactorGraph(*GRID, random_tables(*GRID, 0))
    for cover in (False, True):
        trees = [frozenset(used(graph, sends)) for sends in drawn(graph, 0, cover, 40)]
        assert len(set(trees)) > 30
        assert trees[:5] != [frozenset(used(graph, sends)) for sends in drawn(graph, 1, cover, 5)]
        assert drawn(graph, 0, cover, 40)[:5] == drawn(graph, 0, cover, 5)


@pytest.mark.parametrize("trees", ["random", "cover"])
def test_it_does_not_matter_how_many_trees_are_drawn_ahead(trees, monkeypatch):
    graph = FactorGraph(*GRID, [2.0 * t for t in random_tables(*GRID, 4)])
    found = []
    for ahead in (1, 3, 32):
        monkeypatch.setattr(message_method, "FIRST_TREES", ahead)
        found.append(infer_graph(graph, "mar", TrpSettings(trees=trees, **FINE)))
    assert found[0].status.converged and found[0].status.iterations > 3
    for other in found[1:]:
        assert other.status == found[0].status
        np.testing.assert_array_equal(np.concatenate(other.marginals), np.concatenate(found[0].marginals))


@pytest.mark.parametrize("trees", ["random", "cover"])
@pytest.mark.parametrize("family", GRAPHS)
def test_it_converges_to_a_fixed_point(family, trees):
    cards, scopes = GRAPHS[family]
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 7))
    result = infer_graph(graph, "mar", TrpSettings(trees=trees, **FINE))
    assert result.status.converged
    assert reference.one_sweep(cards, scopes, graph.log_tables, result.factor_marginals) < 1e-8
