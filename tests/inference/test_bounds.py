"""`decode certified` and `decode optimal`: bounds that hold, proofs that are never wrong, and branch and bound."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from strategies import FAMILIES, factor_graphs, random_tables
from template_cases import CASES

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import SearchLimits, bounded_labelling
from dcrfdsl.inference.decoding.bounded_decoding import _parts
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.decoding_settings import BoundingDecoding, decoding_text, read_decoding
from dcrfdsl.training.pipeline import fit

SHARED = Path(__file__).parents[2].parent / "shared" / "reference" / "graphs"
DUAL, SEARCH = SearchLimits(200, 1), SearchLimits(200, 100_000)


def random_graph(seed, *, whole=False, zeros=0.15):
    """Up to 7 variables of 1 to 3 states with factors on 1 to 3; `whole` tables make ties. Some variables are alone."""
    rng = np.random.default_rng(seed)
    cards = tuple(int(card) for card in rng.integers(1, 4, rng.integers(2, 8)))
    scopes = [tuple(int(v) for v in rng.permutation(len(cards))[: rng.integers(1, 4)]) for _ in range(rng.integers(12))]
    tables = []
    for scope in scopes:
        table = 2.0 * rng.normal(size=tuple(cards[v] for v in scope))
        table = np.round(table) if whole else table
        table[rng.random(table.shape) < zeros] = -np.inf
        tables.append(table)
    return FactorGraph(cards, tuple(scopes), tuple(tables), 1.5)


def best_score(graph):
    return max(graph.score(states) for states in itertools.product(*map(range, graph.cards)))


def assert_honest(graph, found, best):
    """The bound holds, and what is called the best is."""
    if best == -np.inf:
        assert found.labelling is None and found.score == -np.inf
        assert not found.is_best or found.bound == -np.inf
        return
    assert found.bound >= best - 1e-10
    assert 0.0 <= found.tolerance < 1e-10
    if found.labelling is None:
        assert not found.is_best and found.gap == np.inf
        return
    assert graph.score(found.labelling) == pytest.approx(found.score, abs=1e-10)
    assert found.gap >= 0.0 and found.is_best == (found.gap == 0.0)
    if found.is_best:
        assert found.score == pytest.approx(best, abs=1e-10)
    else:
        assert best <= found.score + found.gap + 1e-10


@pytest.mark.parametrize("whole", [False, True], ids=["no ties", "ties"])
def test_bounds_hold_and_the_search_ends_with_the_best(whole):
    certified = possible = 0
    for seed in range(150):
        graph = random_graph(seed, whole=whole)
        best = best_score(graph)
        dual, found = bounded_labelling(graph, DUAL), bounded_labelling(graph, SEARCH)
        assert_honest(graph, dual, best)
        assert_honest(graph, found, best)
        assert found.is_best and dual.nodes <= len(graph.cards)
        possible += best > -np.inf
        certified += best > -np.inf and dual.is_best
    assert certified > 0.8 * possible > 50


@settings(max_examples=30)
@given(factor_graphs())
def test_the_search_agrees_with_enumeration(graph):
    best = reference.joint(graph.cards, graph.scopes, graph.log_tables).max() + graph.constant
    found = bounded_labelling(graph, SEARCH)
    assert found.is_best
    assert_honest(graph, found, best)


@pytest.mark.parametrize("family", FAMILIES)
def test_trees_are_certified_without_a_search(family):
    """On graphs without loops the relaxation is tight, up to ties."""
    cards, scopes = FAMILIES[family]
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 3, 2.0, 0.0))
    joint = reference.joint(cards, scopes, graph.log_tables)
    found = bounded_labelling(graph, SearchLimits(5000, 1))
    assert_honest(graph, found, joint.max())
    if sum(len(scope) - 1 for scope in scopes if len(scope) > 1) < len(cards):  # no loop
        assert found.is_best


def frustrated(seed=0, size=5):
    """All pairs differ, which two states do not allow: the relaxation is not tight."""
    rng = np.random.default_rng(seed)
    pairs = tuple((a, b) for a in range(size) for b in range(a))
    tables = tuple(np.array([[0.0, 1.0], [1.0, 0.0]]) * rng.uniform(1, 2) for _ in pairs)
    return FactorGraph((2,) * size, pairs, tables)


def test_a_search_that_ends_early_says_so_with_a_bound_that_holds():
    graph = frustrated(size=9)
    best = best_score(graph)
    gaps = []
    for nodes in (1, 3, 10, 100_000):
        found = bounded_labelling(graph, SearchLimits(100, nodes))
        assert_honest(graph, found, best)
        assert found.nodes <= nodes
        gaps.append(found.gap)
    assert gaps[0] > 0.1 and gaps == sorted(gaps, reverse=True) and gaps[-1] == 0.0


def test_a_search_gives_the_same_answer_again():
    graph = frustrated(size=8)
    one, other = (bounded_labelling(graph, SearchLimits(50, 20)) for _ in range(2))
    assert (one.score, one.bound, one.nodes) == (other.score, other.bound, other.nodes)
    np.testing.assert_array_equal(one.labelling, other.labelling)


def test_a_labelling_that_is_known_is_kept_where_nothing_is_better():
    graph = frustrated()
    best = max(itertools.product(range(2), repeat=5), key=graph.score)
    found = bounded_labelling(graph, SearchLimits(1, 1), np.array(best))
    assert found.score == pytest.approx(graph.score(best), abs=1e-12) and not found.is_best


@given(factor_graphs())
@settings(max_examples=100, deadline=None)
def test_parts_of_a_graph_are_those_of_scipy(graph):
    size = len(graph.cards)
    links = np.array([(a, b) for scope in graph.scopes for a in scope for b in scope]).reshape(-1, 2).T
    _, part = connected_components(coo_array((np.ones(links.shape[1]), links), (size, size)), directed=False)
    found = _parts(graph)
    assert [members[0] for members, _ in found] == [np.flatnonzero(part == k)[0] for k in dict.fromkeys(part.tolist())]
    for members, factors in found:
        np.testing.assert_array_equal(members, np.flatnonzero(part == part[members[0]]))
        assert factors == [f for f, scope in enumerate(graph.scopes) if scope and part[scope[0]] == part[members[0]]]


def test_contradictions_huge_scores_and_empty_graphs():
    never = FactorGraph((2, 2), ((0, 1), (0,)), (np.full((2, 2), -np.inf), np.zeros(2)))
    assert bounded_labelling(never, DUAL).is_best and bounded_labelling(never, DUAL).labelling is None
    ring = frustrated(size=3)  # three differ: impossible, which no single factor shows
    hard = FactorGraph(ring.cards, ring.scopes, tuple(np.where(t > 0, 0.0, -np.inf) for t in ring.log_tables))
    assert bounded_labelling(hard, SEARCH).is_best and bounded_labelling(hard, SEARCH).labelling is None
    undecided = bounded_labelling(hard, DUAL)
    assert undecided.labelling is None and not undecided.is_best and math.isfinite(undecided.bound)
    huge = FactorGraph(ring.cards, ring.scopes, tuple(1e200 * table for table in ring.log_tables))
    assert bounded_labelling(huge, SEARCH).score == pytest.approx(best_score(huge))
    nothing = bounded_labelling(FactorGraph((), (), (), 2.0), DUAL)
    assert nothing.is_best and nothing.score == nothing.bound == 2.0
    assert bounded_labelling(FactorGraph((1, 3), (), ()), DUAL).is_best


@pytest.mark.skipif(not SHARED.is_dir(), reason="the graphs with known answers are not on this machine")
def test_certificates_on_graphs_with_known_answers():
    certified = 0
    for path in sorted(SHARED.glob("*.npz")):
        arrays, answer = np.load(path), json.loads(path.with_suffix(".json").read_text())["map"]["score"]
        count = int(arrays["nf"])
        graph = FactorGraph(
            tuple(int(card) for card in arrays["cards"]),
            tuple(tuple(int(v) for v in arrays[f"s{k}"]) for k in range(count)),
            tuple(np.asarray(arrays[f"t{k}"], float) for k in range(count)),
        )
        dual = bounded_labelling(graph, DUAL)
        assert dual.bound >= answer - 1e-9, path.name
        assert not dual.is_best or dual.score == pytest.approx(answer, abs=1e-9), path.name
        found = bounded_labelling(graph, SearchLimits(200, 2000))
        assert found.is_best and found.score == pytest.approx(answer, abs=1e-9), path.name
        certified += dual.is_best
    assert certified >= 20


# data sets ------------------------------------------------------------------------------------------------------------


def test_a_rule_travels_as_text():
    assert decoding_text(read_decoding("optimal( nodes=5 ,iterations = 200)")) == "optimal(nodes = 5)"
    assert decoding_text(read_decoding("joint")) == "joint"
    chosen = read_decoding("certified(iterations = 7)")
    assert isinstance(chosen, BoundingDecoding) and (chosen.iterations, chosen.most_nodes) == (7, 1)
    for text, words in [
        ("viterbi", "is not a way to decode"), ("optimal(nods = 3)", "not a setting"),
        ("joint(nodes = 3)", "not a setting"), ("optimal(nodes = 0)", "no value for `nodes`"),
        ("optimal(nodes", "not a way"), ("optimal(,)", "not a setting"),
    ]:  # fmt: skip
        with pytest.raises(DcrfError, match=words):
            read_decoding(text)


@pytest.mark.parametrize("name", ["factorial", "skip chain"])
def test_a_model_decodes_with_bounds(name):
    case = CASES[name]
    text = "\n".join(line for line in case.text.splitlines() if not line.startswith(("infer", "decode")))
    corpus = case.corpus()
    spec = load_text(f"{text}\ninfer trp(max_iterations = 1)\ndecode optimal(nodes = 500)")
    model = fit(spec, corpus, threads=1)
    exact = fit(load_text(f"{text}\ninfer exact"), corpus, threads=1)
    exact.weights[:] = model.weights
    prediction, best = model.predict(corpus), exact.predict(corpus)
    np.testing.assert_allclose(prediction.scores, best.scores, rtol=1e-10)
    assert prediction.certified is not None and prediction.certified.all()
    np.testing.assert_array_equal(prediction.bounds, prediction.scores)
    status = prediction.status
    assert (status.bounded, status.certified, status.gap) == (len(best.scores), len(best.scores), 0.0)
    assert not status.approximate
    at_once = exact.predict(corpus, decode="certified")
    np.testing.assert_array_equal(at_once.bounds, best.scores)
    assert best.bounds is None and best.certified is None
    rough = model.predict(corpus, decode="certified(iterations = 1)")
    assert (rough.bounds >= best.scores - 1e-10).all()
    np.testing.assert_array_equal(rough.certified, rough.bounds == rough.scores)
