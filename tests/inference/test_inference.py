"""Inference on single graphs: every method × every family against enumeration, and the graphs with known answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from strategies import FAMILIES, TREES, factor_graphs, random_tables

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph, read_uai, read_uai_evidence
from dcrfdsl.inference import METHODS, infer_graph
from dcrfdsl.semantics.settings.infer_settings import AutoSettings, BpSettings, ExactSettings, TrpSettings

EXACT = 1e-10  # agreement with enumeration
SHARED = Path(__file__).parents[2].parent / "shared" / "reference"
needs_reference = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the graphs with known answers are not on this machine"
)

FINE = {"tolerance": 1e-11, "max_iterations": 20_000}
MESSAGE_PASSING = {
    "trp": TrpSettings(**FINE),
    "random": BpSettings(schedule="random", **FINE),
    "flood": BpSettings(schedule="flood", **FINE),
    "residual": BpSettings(schedule="residual", **FINE),
    "damped": BpSettings(schedule="flood", damping=0.3, **FINE),
}
SCALES = {"mild": 1.0, "strong": 4.0, "beyond doubles": 800.0, "flat": 0.0}


def family_graph(name: str, scale: float = 1.0, zeros: float = 0.0, seed: int = 1) -> FactorGraph:
    cards, scopes = FAMILIES[name]
    return FactorGraph(cards, scopes, random_tables(cards, scopes, seed, scale, zeros))


def assert_matches_enumeration(graph: FactorGraph, method) -> None:
    total = reference.joint(graph.cards, graph.scopes, graph.log_tables)
    result = infer_graph(graph, "mar", method)
    assert result.log_z == pytest.approx(reference.log_sum(total), rel=EXACT, abs=EXACT)
    for v, own in enumerate(result.marginals):
        np.testing.assert_allclose(own, reference.marginal(total, (v,)), atol=EXACT)
    for scope, own in zip(graph.scopes, result.factor_marginals, strict=True):
        np.testing.assert_allclose(own, reference.marginal(total, scope), atol=EXACT)
    found = infer_graph(graph, "map", method)
    assert found.score == pytest.approx(reference.best(total)[1], rel=EXACT, abs=EXACT)
    assert graph.score(found.assignment) == pytest.approx(found.score)


@pytest.mark.parametrize("zeros", [0.0, 0.3], ids=["positive", "hard zeros"])
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("family", FAMILIES)
def test_exact_equals_enumeration(family, scale, zeros):
    assert_matches_enumeration(family_graph(family, scale, zeros), ExactSettings())


@pytest.mark.parametrize("zeros", [0.0, 0.3], ids=["positive", "hard zeros"])
@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("method", MESSAGE_PASSING.values(), ids=MESSAGE_PASSING)
@pytest.mark.parametrize("family", TREES)
def test_message_passing_is_exact_on_trees(family, method, scale, zeros):
    assert_matches_enumeration(family_graph(family, scale, zeros), method)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(TREES)))
def test_all_schedules_rest_at_the_same_point_of_a_mild_loop(family):
    graph = family_graph(family, scale=0.5)
    results = {name: infer_graph(graph, "mar", method) for name, method in MESSAGE_PASSING.items()}
    first = results["trp"]
    for result in results.values():
        assert result.status.converged
        assert result.log_z == pytest.approx(first.log_z, abs=1e-8)
        for own, other in zip(result.marginals, first.marginals, strict=True):
            np.testing.assert_allclose(own, other, atol=1e-7)


@settings(max_examples=150, deadline=None)
@given(factor_graphs())
def test_exact_equals_enumeration_on_any_graph(graph):
    total = reference.joint(graph.cards, graph.scopes, graph.log_tables)
    if not np.isfinite(total).any():
        assert infer_graph(graph, "mar", ExactSettings()).status.impossible == (0,)
        assert infer_graph(graph, "map", ExactSettings()).status.impossible == (0,)
    else:
        assert_matches_enumeration(graph, ExactSettings())


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(factor_graphs())
def test_beliefs_of_a_run_that_says_it_converged_agree_with_each_other(graph):
    for method in (TrpSettings(tolerance=1e-10, max_iterations=300), BpSettings(tolerance=1e-10, max_iterations=300)):
        result = infer_graph(graph, "mar", method)
        if result.status.converged and not result.status.impossible:
            gap = reference.one_sweep(graph.cards, graph.scopes, graph.log_tables, result.factor_marginals)
            assert gap < 1e-7


def test_a_graph_that_no_labelling_satisfies_is_reported():
    forbidden = FactorGraph(
        (2, 2), ((0, 1), (0,)), (np.array([[-np.inf, -np.inf], [0.0, 1.0]]), np.array([0.0, -np.inf]))
    )
    for method in (ExactSettings(), TrpSettings(), BpSettings()):
        result = infer_graph(forbidden, "mar", method)
        assert result.log_z == -np.inf
        assert result.status.impossible == (0,)
        assert result.marginals is None


def test_a_frustrated_loop_does_not_claim_to_have_converged():
    """Strong ties that contradict each other around a loop: flooding oscillates."""
    tie, opposite = np.array([[6.0, -6.0], [-6.0, 6.0]]), np.array([[-6.0, 6.0], [6.0, -6.0]])
    graph = FactorGraph(
        (2, 2, 2, 2), ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (0,)),
        (tie, tie, tie, opposite, opposite, np.array([0.3, 0.0])),
    )  # fmt: skip
    result = infer_graph(graph, "mar", BpSettings(schedule="flood", tolerance=1e-10, max_iterations=200))
    assert not result.status.converged
    assert result.status.residual > 1e-3
    assert result.status.iterations == 200


def test_exact_refuses_a_table_that_does_not_fit_in_words():
    cards, scopes = (8,) * 6, tuple((a, b) for a in range(6) for b in range(a))
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 0))
    with pytest.raises(DcrfError, match=r"table of 3\.28e\+04 entries over 5 variables.*max_table") as caught:
        infer_graph(graph, "mar", ExactSettings(max_table=1000))
    assert "trp" in caught.value.diagnostics[0].help
    auto = infer_graph(graph, "mar", AutoSettings(max_table=1000))
    assert auto.status.approximate


def test_ties_go_to_the_lowest_state():
    graph = FactorGraph((3, 3), ((0, 1), (0,)), (np.zeros((3, 3)), np.zeros(3)))
    for method in (ExactSettings(), TrpSettings(), BpSettings()):
        assert infer_graph(graph, "map", method).assignment.tolist() == [0, 0]


def test_the_same_seed_gives_the_same_run():
    graph = family_graph("factorial", 3.0)
    for method in (TrpSettings(seed=3), BpSettings(seed=3)):
        one, two = infer_graph(graph, "mar", method), infer_graph(graph, "mar", method)
        assert one.status == two.status
        assert all(np.array_equal(a, b) for a, b in zip(one.marginals, two.marginals, strict=True))


OTHERS = {"mean_field", "gibbs", "automaton", "pruned", "segments"}  # a bound, samples, of templates alone


@pytest.mark.parametrize("method", sorted(set(METHODS) - OTHERS))
def test_every_listed_method_answers_every_task(method):
    from dcrfdsl.semantics.settings.infer_settings import INFERENCE

    graph = family_graph("chain")
    total = reference.joint(graph.cards, graph.scopes, graph.log_tables)
    chosen = INFERENCE[method]()
    assert infer_graph(graph, "pr", chosen).log_z == pytest.approx(reference.log_sum(total), abs=1e-3)
    assert infer_graph(graph, "map", chosen).assignment.tolist() == list(reference.best(total)[0])


# graphs with answers from independent tools -----------------------------------------------------------------------

NAMES = sorted(path.stem for path in (SHARED / "graphs").glob("*.npz")) if SHARED.is_dir() else ["absent"]


def stored(name: str) -> tuple[FactorGraph, dict]:
    arrays = np.load(SHARED / "graphs" / f"{name}.npz")
    count = int(arrays["nf"])
    graph = FactorGraph(
        tuple(int(c) for c in arrays["cards"]),
        tuple(tuple(int(v) for v in arrays[f"s{k}"]) for k in range(count)),
        tuple(np.asarray(arrays[f"t{k}"], float) for k in range(count)),
    )
    return graph, json.loads((SHARED / "graphs" / f"{name}.json").read_text())


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_known_graphs_exactly(name):
    graph, answers = stored(name)
    result = infer_graph(graph, "mar", ExactSettings())
    assert result.log_z == pytest.approx(answers["exact"]["logZ"], rel=1e-9, abs=1e-9)
    for own, known in zip(result.marginals, answers["exact"]["var_marginals"], strict=True):
        np.testing.assert_allclose(own, known, atol=1e-9)
    for own, known in zip(result.factor_marginals, answers["exact"]["factor_marginals"], strict=True):
        np.testing.assert_allclose(own.ravel(), np.ravel(known), atol=1e-9)
    best = infer_graph(graph, "map", ExactSettings())
    assert best.score == pytest.approx(answers["map"]["score"], rel=1e-9, abs=1e-9)


RUNS = [TrpSettings(tolerance=1e-10, max_iterations=5000, seed=seed) for seed in range(4)]
RUNS += [
    BpSettings(schedule=schedule, damping=damping, tolerance=1e-10, max_iterations=2000)
    for schedule in ("random", "flood", "residual")
    for damping in (0.0, 0.5)
]


@needs_reference
@pytest.mark.parametrize("name", NAMES)
def test_known_graphs_by_messages_rest_at_a_known_fixed_point(name):
    graph, answers = stored(name)
    points = answers["loopy_bp"]["fixed_points"]
    if not points:  # a graph on which no tool converged: nothing may claim to
        points = [{"var_marginals": answers["exact"]["var_marginals"], "bethe_logZ": answers["exact"]["logZ"]}]
    for method in RUNS:
        result = infer_graph(graph, "mar", method)
        if not result.status.converged:
            assert result.status.residual >= 1e-10
            continue
        gaps = [
            max(np.abs(own - known).max() for own, known in zip(result.marginals, point["var_marginals"], strict=True))
            for point in points
        ]
        nearest = int(np.argmin(gaps))
        if gaps[nearest] > 1e-6 and "unique_bp" not in answers["tags"]:
            beliefs = result.factor_marginals
            assert reference.one_sweep(graph.cards, graph.scopes, graph.log_tables, beliefs) < 1e-9, method
            continue
        assert gaps[nearest] < 1e-6, method
        assert result.log_z == pytest.approx(points[nearest]["bethe_logZ"], rel=1e-9, abs=1e-9), method


@needs_reference
@pytest.mark.long
@pytest.mark.parametrize(
    "name", sorted(p.stem for p in (SHARED / "uai").glob("*.uai")) if SHARED.is_dir() else ["absent"]
)
def test_competition_models_to_their_digits(name):
    path = SHARED / "uai" / f"{name}.uai"
    graph = read_uai(path)
    graph = graph.with_evidence(read_uai_evidence(f"{path}.evid", graph))
    result = infer_graph(graph, "mar", ExactSettings())
    log10_z = float(Path(f"{path}.PR").read_text().split()[1])
    assert result.log_z / np.log(10) == pytest.approx(log10_z, rel=1e-5)
    numbers = Path(f"{path}.MAR").read_text().split()[1:] if Path(f"{path}.MAR").exists() else []
    if numbers:
        at = 1 if int(numbers[0]) == len(graph.cards) else 2
        for own in result.marginals:
            count = int(numbers[at])
            np.testing.assert_allclose(own, [float(x) for x in numbers[at + 1 : at + 1 + count]], atol=2e-6)
            at += 1 + count
    if Path(f"{path}.MAP").exists():
        known = np.array([int(x) for x in Path(f"{path}.MAP").read_text().split()[1:]][-len(graph.cards) :])
        assert infer_graph(graph, "map", ExactSettings()).score == pytest.approx(graph.score(known), rel=1e-9)
