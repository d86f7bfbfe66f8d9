"""Generalised belief propagation: exact on junction trees of regions, else a stationary point of Kikuchi's log Z."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from model_cases import objective_of, trained
from strategies import FAMILIES, factor_graphs, random_tables
from template_cases import CASES

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph, regions
from dcrfdsl.graph.regions import ClusterLimits, bank_regions
from dcrfdsl.graph.shape_bank import ShapeBank
from dcrfdsl.inference import infer_graph
from dcrfdsl.semantics.settings.infer_settings import BpSettings, GbpSettings, TrpSettings

pytestmark = pytest.mark.long  # its kernels take a minute to compile

SHARED = Path(__file__).parents[2].parent / "shared" / "reference" / "graphs"
FINE = {"tolerance": 1e-12, "max_iterations": 20_000}
WHOLE = GbpSettings(clusters="join", size=20, **FINE)
GRID = ((2,) * 9, tuple([(v, v + 1) for v in range(9) if v % 3 < 2] + [(v, v + 3) for v in range(6)]))
GRAPHS = FAMILIES | {"grid": GRID}


def family_graph(name, scale=1.0, zeros=0.0, seed=1):
    cards, scopes = GRAPHS[name]
    return FactorGraph(cards, scopes, random_tables(cards, scopes, seed, scale, zeros))


def joint(graph):
    return reference.joint(graph.cards, graph.scopes, graph.log_tables)


def assert_exact(graph, result):
    total = joint(graph)
    log_z = reference.log_sum(total)
    if log_z == -np.inf:
        assert result.status.impossible == (0,)
        return
    assert result.status.converged
    assert result.log_z == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    p = np.exp(total - log_z)
    for v, marginal in enumerate(result.marginals):
        expected = p.sum(axis=tuple(u for u in range(p.ndim) if u != v))
        np.testing.assert_allclose(marginal, expected, atol=1e-9)
    for scope, table in zip(graph.scopes, result.factor_marginals, strict=True):
        order = sorted(scope)
        expected = p.sum(axis=tuple(u for u in range(p.ndim) if u not in scope))
        np.testing.assert_allclose(table, expected.transpose([order.index(v) for v in scope]), atol=1e-9)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0, 800.0])
@pytest.mark.parametrize("family", GRAPHS)
def test_a_join_without_bound_is_exact(family, scale, zeros):
    graph = family_graph(family, scale, zeros)
    assert_exact(graph, infer_graph(graph, "mar", WHOLE))


@settings(max_examples=150, deadline=None)
@given(factor_graphs())
def test_a_join_without_bound_is_exact_on_any_graph(graph):
    assert_exact(graph, infer_graph(graph, "mar", WHOLE))


@pytest.mark.parametrize("family", ["factorial", "three chains", "cycle", "chain", "tree", "second order"])
def test_loops_are_exact_where_they_form_a_junction_tree(family):
    """Loops of four on two chains, for one; three chains need more than that."""
    graph = family_graph(family, 2.0, 0.2)
    if family != "three chains":
        assert_exact(graph, infer_graph(graph, "mar", GbpSettings(**FINE)))
    assert_exact(graph, infer_graph(graph, "mar", GbpSettings(clusters="join", size=6, **FINE)))


@pytest.mark.parametrize("double", ["never", "always"])
@pytest.mark.parametrize("family", sorted(set(GRAPHS) - {"second order", "same scope twice"}))  # share two variables
def test_factors_alone_have_the_fixed_points_of_belief_propagation(family, double):
    graph = family_graph(family)
    tolerance = 1e-9 if double == "never" else 1e-6
    bethe = infer_graph(graph, "mar", BpSettings(**FINE))
    chosen = GbpSettings(clusters="factors", double_loop=double, tolerance=tolerance / 1e2, max_iterations=100_000)
    result = infer_graph(graph, "mar", chosen)
    assert result.status.converged
    assert result.log_z == pytest.approx(bethe.log_z, abs=tolerance)
    np.testing.assert_allclose(np.concatenate(result.marginals), np.concatenate(bethe.marginals), atol=10 * tolerance)


@pytest.mark.parametrize("clusters", ["factors", "loops", "join"])
@pytest.mark.parametrize("family", ["grid", "three chains", "four-variable clique", "second order"])
def test_log_z_is_stationary_so_its_derivatives_are_the_marginals(family, clusters):
    graph = family_graph(family)
    chosen = GbpSettings(clusters=clusters, size=3, **FINE)
    found = infer_graph(graph, "mar", chosen)
    assert found.status.converged
    for f, table in enumerate(graph.log_tables):
        for entry in list(np.ndindex(table.shape))[:4]:
            values = []
            for step in (1e-4, -1e-4):
                tables = [t.copy() for t in graph.log_tables]
                tables[f][entry] += step
                values.append(infer_graph(FactorGraph(graph.cards, graph.scopes, tuple(tables)), "pr", chosen).log_z)
            assert (values[0] - values[1]) / 2e-4 == pytest.approx(found.factor_marginals[f][entry], abs=1e-6)


@pytest.mark.parametrize("clusters", ["loops", "join"])
@pytest.mark.parametrize("family", GRAPHS)
def test_the_double_loop_comes_to_the_same_log_z_and_its_steps_do_not_lower_it(family, clusters):
    """log Z is minus the free energy, which each tangent lowers; on mild graphs there is one minimum."""
    graph = family_graph(family)
    single = infer_graph(graph, "mar", GbpSettings(clusters=clusters, size=3, **FINE))
    double = GbpSettings(clusters=clusters, size=3, double_loop="always", tolerance=1e-8, max_iterations=100_000)
    result = infer_graph(graph, "mar", double)
    assert single.status.converged and result.status.converged
    assert result.log_z == pytest.approx(single.log_z, abs=1e-5)
    np.testing.assert_allclose(np.concatenate(result.marginals), np.concatenate(single.marginals), atol=1e-4)


def test_the_double_loop_takes_over_where_messages_swing():
    """All pairs of five differ, which two states do not allow."""
    pairs = tuple((a, b) for a in range(5) for b in range(a))
    tie = -1.0 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    leaning = tuple(np.array([0.1 * v, 0.0]) for v in range(5))
    graph = FactorGraph((2,) * 5, (*pairs, *((v,) for v in range(5))), (*([tie] * len(pairs)), *leaning))
    fast = {"tolerance": 1e-6, "max_iterations": 20_000}
    never = infer_graph(graph, "mar", GbpSettings(double_loop="never", **fast))
    always = infer_graph(graph, "mar", GbpSettings(double_loop="always", **fast))
    result = infer_graph(graph, "mar", GbpSettings(**fast))
    assert not never.status.converged and result.status.converged and result.status.damped
    assert result.log_z == pytest.approx(always.log_z, abs=1e-5)


def test_messages_that_grow_without_end_are_not_called_converged():
    """All pairs of six agree: with loops that share so much, the free energy is least where probabilities are 0."""
    pairs = tuple((a, b) for a in range(6) for b in range(a))
    tie = np.array([[1.0, -1.0], [-1.0, 1.0]])
    graph = FactorGraph((2,) * 6, (*pairs, (0,)), (*([tie] * len(pairs)), np.array([0.1, 0.0])))
    for double in ("never", "fallback", "always"):
        result = infer_graph(graph, "mar", GbpSettings(double_loop=double, tolerance=1e-6, max_iterations=20_000))
        assert not result.status.converged and result.status.residual > 1.0


@pytest.mark.parametrize("clusters", ["factors", "loops", "join"])
@pytest.mark.parametrize("family", GRAPHS)
def test_counting_numbers_count_each_factor_and_variable_once(family, clusters):
    """Σ c over the clusters and regions around it is 1."""
    graph = family_graph(family)
    bank = ShapeBank(1)
    bank.add(graph.shape())
    limits = ClusterLimits(clusters, 3, 1000)
    found = bank_regions(bank, limits)
    scopes = [tuple(sorted(scope)) for scope in graph.scopes if len(scope) > 1]
    held = regions._clusters(graph.shape(), scopes, limits)
    shared = regions._shared(held, limits)
    counts = dict(zip(shared, found.number.tolist(), strict=True)) | dict.fromkeys(held, 1)
    for scope in {*scopes, *((v,) for v in range(len(graph.cards)))}:
        assert sum(count for region, count in counts.items() if set(scope) <= set(region)) == 1
    assert found.states.tolist() == [math.prod(graph.cards[v] for v in region) for region in shared]


def test_too_many_regions_are_an_error(monkeypatch):
    monkeypatch.setattr(regions, "MOST_REGIONS", 3)
    with pytest.raises(DcrfError, match="would need more than 3 regions"):
        infer_graph(family_graph("grid"), "mar", GbpSettings())


@pytest.mark.parametrize("name", ["factorial", "three chains", "padded second order", "skip chain", "segments"])
def test_the_gradient_of_training_equals_finite_differences(name):
    model, corpus = trained(CASES[name], scale=0.4)
    objective = objective_of(model, corpus, GbpSettings(**FINE), precision=0.2)
    _, gradient = objective.value_and_gradient(model.weights)
    assert objective.total_status.converged
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], model.weights, gradient, 1e-6)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the graphs with known answers are not on this machine")
@pytest.mark.parametrize("name", ["grid5x5_K3_gauss", "grid6x6_K2_attr_weak", "grid6x6_K2_attr_strong"])
def test_errors_on_grids_are_a_third_of_belief_propagations_or_less(name):
    arrays, answers = np.load(SHARED / f"{name}.npz"), json.loads((SHARED / f"{name}.json").read_text())["exact"]
    count = int(arrays["nf"])
    graph = FactorGraph(
        tuple(int(c) for c in arrays["cards"]),
        tuple(tuple(int(v) for v in arrays[f"s{k}"]) for k in range(count)),
        tuple(np.asarray(arrays[f"t{k}"], float) for k in range(count)),
    )
    exact = np.concatenate([np.asarray(marginal) for marginal in answers["var_marginals"]])
    errors = {}
    for chosen in (GbpSettings(tolerance=1e-5, max_iterations=5000), TrpSettings(tolerance=1e-5)):
        result = infer_graph(graph, "mar", chosen)
        assert result.status.converged
        errors[chosen.method] = abs(np.concatenate(result.marginals) - exact).mean()
    assert errors["gbp"] <= errors["trp"] / 3
