"""Expectation propagation: exact where loops share cliques of the tree alone, else log Z is stationary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import reference
from model_cases import objective_of, trained
from strategies import FAMILIES, random_tables
from template_cases import CASES

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph, factor_forests
from dcrfdsl.inference import infer_graph
from dcrfdsl.semantics.settings.infer_settings import BpSettings, EpSettings, ExactSettings, TrpSettings

pytestmark = pytest.mark.long  # its kernels take a minute to compile

SHARED = Path(__file__).parents[2].parent / "shared" / "reference" / "graphs"
FINE = {"tolerance": 1e-11, "max_iterations": 2000}
CYCLE = ((2, 3, 2, 3), ((0, 1), (1, 2), (2, 3), (3, 0), (0,), (2,)))
TRIPLES = ((2, 2, 3, 2, 2), ((0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 4), (3,), (1, 0)))
COMB = ((2, 3) * 4, tuple([(2 * t, 2 * t + 1) for t in range(4)] + [(v, v + 2) for v in range(6)]))
GRID = ((2,) * 9, tuple([(v, v + 1) for v in range(9) if v % 3 < 2] + [(v, v + 3) for v in range(6)]))
APART = ((2, 1, 3, 2, 2, 2), ((0, 1), (0, 2), (2, 1), (4, 5), (5,)))
GRAPHS = FAMILIES | {"cycle": CYCLE, "triples": TRIPLES, "comb": COMB, "grid": GRID, "parts": APART}


def graph_of(name, scale=1.0, zeros=0.0, seed=1):
    cards, scopes = GRAPHS[name]
    return FactorGraph(cards, scopes, random_tables(cards, scopes, seed, scale, zeros), 0.5)


def exact(graph):
    """log Z, and the marginals of variables and factors."""
    total = reference.joint(graph.cards, graph.scopes, graph.log_tables)
    log_z = reference.log_sum(total)
    p = np.exp(total - log_z)
    singles = [p.sum(axis=tuple(u for u in range(p.ndim) if u != v)) for v in range(p.ndim)]
    tables = []
    for scope in graph.scopes:
        order = sorted(scope)
        table = p.sum(axis=tuple(u for u in range(p.ndim) if u not in scope))
        tables.append(table.transpose([order.index(v) for v in scope]))
    return log_z + graph.constant, singles, tables


def assert_exact(graph, result):
    log_z, singles, tables = exact(graph)
    assert result.status.converged
    assert result.log_z == pytest.approx(log_z, abs=1e-9)
    for found, expected in zip((*result.marginals, *result.factor_marginals), (*singles, *tables), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def has_a_loop(name):
    scopes = GRAPHS[name][1]
    large = {tuple(sorted(scope)) for scope in scopes if len(scope) > 1}
    shape = graph_of(name).shape()
    forest = factor_forests.upward_edges(shape, factor_forests.grown_forest(shape, range(len(scopes))))
    return not all(any(set(scope) <= set(scopes[f]) for f, _ in forest) for scope in large)


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_without_loops_are_exact_at_once(name, zeros):
    graph = graph_of(name, zeros=zeros)
    if np.isneginf(exact(graph)[0]):
        assert infer_graph(graph, "mar", EpSettings(**FINE)).status.impossible == (0,)
    elif not has_a_loop(name):
        result = infer_graph(graph, "mar", EpSettings(**FINE))
        assert_exact(graph, result)
        assert result.status.iterations == 1


WIDE_TABLE = FactorGraph((1, 2), ((1,), (0, 1)), (np.array([-160.7, -np.inf]), np.array([[-379.6, 391.2]])))
TWO_TABLES = FactorGraph((1, 3), ((1,), (0, 1)), (np.array([0.0, -800.0, -600.0]), np.array([[-2000.0, 0.0, -1000.0]])))


@pytest.mark.parametrize("graph", [WIDE_TABLE, TWO_TABLES], ids=["hard zeros", "no zeros"])
def test_a_least_entry_that_is_all_that_is_left_counts(graph):
    """Its share of its table is e^-770 and less, which no double holds."""
    result = infer_graph(graph, "mar", EpSettings(**FINE))
    assert_exact(graph, result)
    assert result.status.redone == 1
    assert infer_graph(graph, "map", EpSettings(**FINE)).score == pytest.approx(exact(graph)[0])


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("name", GRAPHS)
def test_wide_tables_are_impossible_only_where_enumeration_says_so(name, zeros, power):
    for seed in range(4):
        graph = graph_of(name, scale=400.0, zeros=zeros, seed=seed)
        result = infer_graph(graph, "mar", EpSettings(power=power))
        if np.isneginf(exact(graph)[0]):
            assert result.status.impossible == (0,)
            continue
        assert not result.status.impossible
        assert np.isfinite(result.log_z)
        np.testing.assert_allclose([own.sum() for own in result.marginals], 1.0, atol=1e-9)
        if power == 1.0 and not has_a_loop(name):
            assert_exact(graph, result)


@pytest.mark.parametrize("name", ["cycle", "comb", "parts"])
def test_loops_that_share_cliques_of_the_tree_alone_are_exact(name):
    graph = graph_of(name)
    if name == "comb":  # by its cliques as of a model: the tree is a comb
        order = sorted(range(len(graph.scopes)), key=lambda f: (graph.scopes[f][0] % 2, graph.scopes[f][1] % 2))
        graph = FactorGraph(
            graph.cards, tuple(graph.scopes[f] for f in order), tuple(graph.log_tables[f] for f in order)
        )
    assert_exact(graph, infer_graph(graph, "mar", EpSettings(**FINE)))


@pytest.mark.parametrize("largest", [2, 3])
def test_messages_that_stay_are_those_of_the_whole_tree(largest):
    """Two long chains, tied at each place, some by cliques of three: exact, after renewals all along the tree."""
    length = 40
    cards = (2, 3) * length
    scopes = [(2 * t, 2 * t + 1) for t in range(length)]
    scopes += [(2 * t, 2 * t + 1, 2 * t + 2) for t in range(0, length - 1, 5)] if largest == 3 else []
    scopes += [(v, v + 2) for v in range(0, 2 * length - 2, 2)] + [(v, v + 2) for v in range(1, 2 * length - 2, 2)]
    graph = FactorGraph(cards, tuple(scopes), random_tables(cards, scopes, 3, 1.0, 0.0))
    found = infer_graph(graph, "mar", EpSettings(**FINE))
    best = infer_graph(graph, "mar", ExactSettings())
    assert found.status.converged
    if largest == 2:
        assert found.log_z == pytest.approx(best.log_z, abs=1e-9)
        for mine, true in zip(found.factor_marginals, best.factor_marginals, strict=True):
            np.testing.assert_allclose(mine, true, atol=1e-9)
    again = infer_graph(graph, "mar", EpSettings(**FINE))
    assert again.log_z == found.log_z
    assert abs(found.log_z - best.log_z) < 0.1


@pytest.mark.parametrize("name", ["cycle", "triples", "grid", "comb"])
def test_without_a_tree_it_is_belief_propagation(name):
    graph = graph_of(name)
    found = infer_graph(graph, "mar", EpSettings(family="factored", **FINE))
    messages = infer_graph(graph, "mar", BpSettings(tolerance=1e-12, max_iterations=5000))
    assert found.status.converged and messages.status.converged
    assert found.log_z == pytest.approx(messages.log_z, abs=1e-8)
    np.testing.assert_allclose(np.concatenate(found.marginals), np.concatenate(messages.marginals), atol=1e-8)


@pytest.mark.parametrize(("family", "power"), [("tree", 1.0), ("tree", 0.6), ("factored", 0.5)])
@pytest.mark.parametrize("name", ["triples", "grid"])
def test_marginals_are_the_gradient_of_log_z(name, family, power):
    """log Z is stationary in the tables of terms, so only the factors themselves move it."""
    graph, chosen = graph_of(name), EpSettings(family=family, power=power, **FINE)
    result, step = infer_graph(graph, "mar", chosen), 1e-5
    assert result.status.converged
    for f in range(len(graph.scopes)):
        entry = tuple(card - 1 for card in graph.log_tables[f].shape)
        values = []
        for sign in (1, -1):
            tables = [table.copy() for table in graph.log_tables]
            tables[f][entry] += sign * step
            moved = FactorGraph(graph.cards, graph.scopes, tuple(tables), graph.constant)
            values.append(infer_graph(moved, "mar", chosen).log_z)
        slope = (values[0] - values[1]) / (2 * step)
        assert result.factor_marginals[f][entry] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_hard_zeros_stay_impossible(seed, power):
    graph = graph_of("triples", scale=1.5, zeros=0.25, seed=seed)
    log_z, singles, _ = exact(graph)
    result = infer_graph(graph, "mar", EpSettings(power=power, tolerance=1e-8))
    if np.isneginf(log_z):
        assert result.status.impossible == (0,) or result.marginals is not None
        return
    assert result.status.converged and np.isfinite(result.log_z)
    assert abs(result.log_z - log_z) < 1.0
    for found, expected in zip(result.marginals, singles, strict=True):
        assert found.sum() == pytest.approx(1.0) and (found[expected > 1e-6] > 0).all()


def test_strong_ties_and_huge_numbers_end_in_a_status():
    graph = graph_of("grid", scale=200.0)
    result = infer_graph(graph, "mar", EpSettings(max_iterations=50))
    assert np.isfinite(result.log_z) and np.isfinite(np.concatenate(result.marginals)).all()
    short = infer_graph(graph_of("grid", scale=3.0), "mar", EpSettings(max_iterations=1, tolerance=1e-9))
    assert not short.status.converged and short.status.residual > 1e-9


def test_too_many_cells_are_an_error(monkeypatch):
    monkeypatch.setattr(factor_forests, "MOST_CELLS", 3)
    with pytest.raises(DcrfError, match="would need more than 3 numbers"):
        infer_graph(graph_of("grid"), "mar", EpSettings())


@pytest.mark.parametrize("name", ["factorial", "three chains", "padded second order", "skip chain", "segments"])
def test_the_gradient_of_training_equals_finite_differences(name):
    model, corpus = trained(CASES[name], scale=0.4)
    objective = objective_of(model, corpus, EpSettings(**FINE), precision=0.2)
    _, gradient = objective.value_and_gradient(model.weights)
    assert objective.total_status.converged
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], model.weights, gradient, 1e-6)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the graphs with known answers are not on this machine")
def test_errors_on_graphs_with_known_answers():
    errors = {"ep": [], "trp": []}
    for path in sorted(SHARED.glob("*.npz")):
        arrays, answers = np.load(path), json.loads(path.with_suffix(".json").read_text())["exact"]
        count = int(arrays["nf"])
        graph = FactorGraph(
            tuple(int(card) for card in arrays["cards"]),
            tuple(tuple(int(v) for v in arrays[f"s{k}"]) for k in range(count)),
            tuple(np.asarray(arrays[f"t{k}"], float) for k in range(count)),
        )
        expected = np.concatenate([np.asarray(marginal) for marginal in answers["var_marginals"]])
        for chosen in (EpSettings(tolerance=1e-5), TrpSettings(tolerance=1e-5)):
            result = infer_graph(graph, "mar", chosen)
            errors[chosen.method].append(abs(np.concatenate(result.marginals) - expected).mean())
            assert chosen.method == "trp" or result.status.converged, path.name
    assert np.mean(errors["ep"]) < 0.25 * np.mean(errors["trp"])
