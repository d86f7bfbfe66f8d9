"""Graphs and sentences that no labelling satisfies: every method says so, and where."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from strategies import factor_graphs

from dcrfdsl.cli.evaluate_command import evaluate
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import infer_graph
from dcrfdsl.inference.run_status import contradiction_message
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import INFERENCE, BpSettings
from dcrfdsl.training.pipeline import fit

NO = -np.inf
DIFFER = np.array([[NO, 0.0], [0.0, NO]])
EQUAL = np.array([[0.0, NO], [NO, 0.0]])
FIRST, SECOND = np.array([0.0, NO]), np.array([NO, 0.0])
THREE = np.full((2, 2, 2), NO)
THREE[0, 0, 0] = THREE[1, 1, 1] = 0.0

# Contradictions that show at some variable or factor, whatever else the graph has.
PLAIN = {
    "one variable": ((2,), ((0,), (0,)), (FIRST, SECOND)),
    "a factor without an entry": ((2, 2), ((0, 1),), (np.full((2, 2), NO),)),
    "the two ends of a pair": ((2, 2), ((0, 1), (0,), (1,)), (DIFFER, FIRST, FIRST)),
    "the two ends of a chain": (
        (2,) * 5, ((0, 1), (1, 2), (2, 3), (3, 4), (0,), (4,)), (EQUAL, EQUAL, DIFFER, EQUAL, FIRST, FIRST)
    ),
    "the two ends of a larger factor": ((2, 2, 2), ((0, 1, 2), (0,), (2,)), (THREE, FIRST, SECOND)),
    "two factors over the same pair": ((2, 2), ((0, 1), (1, 0), (0,)), (EQUAL, DIFFER, FIRST)),
    "one part of two": ((2, 2, 2), ((0, 1), (2,), (2,)), (np.zeros((2, 2)), FIRST, SECOND)),
}  # fmt: skip
# Contradictions around a loop: each factor alone, and each tree of factors, can be satisfied.
AROUND = {
    "two colours on a triangle": ((2,) * 3, ((0, 1), (1, 2), (0, 2)), (DIFFER,) * 3),
    "two colours on a ring of five": ((2,) * 5, tuple((v, (v + 1) % 5) for v in range(5)), (DIFFER,) * 5),
    "equal and different": ((2,) * 4, ((0, 1), (1, 2), (2, 3), (0, 3)), (EQUAL, EQUAL, EQUAL, DIFFER)),
}
OF_GRAPHS = [name for name in INFERENCE if name != "pruned"]  # which needs the sequences of a model
METHODS = [INFERENCE[name]() for name in OF_GRAPHS] + [BpSettings(schedule=s) for s in ("flood", "residual")]
IDS = [f"{m.method} {getattr(m, 'schedule', '')}".strip() for m in METHODS]


def assert_impossible(result):
    assert result.status.impossible == (0,)
    assert result.marginals is None and result.assignment is None
    assert result.log_z in (None, NO)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("name", PLAIN)
def test_every_method_sees_a_plain_contradiction(name, method):
    graph = FactorGraph(*PLAIN[name])
    assert_impossible(infer_graph(graph, "mar", method))
    assert_impossible(infer_graph(graph, "map", method))


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("name", AROUND)
def test_every_method_that_labels_sees_a_contradiction_around_a_loop(name, method):
    assert_impossible(infer_graph(FactorGraph(*AROUND[name]), "map", method))


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(graph=factor_graphs())
def test_messages_say_impossible_only_where_it_is_and_label_without_breaking_a_constraint(graph):
    total = reference.joint(graph.cards, graph.scopes, graph.log_tables)
    for method in (INFERENCE["trp"](max_iterations=50), BpSettings(schedule="flood", max_iterations=50)):
        marginals, labelling = infer_graph(graph, "mar", method), infer_graph(graph, "map", method)
        if np.isfinite(total).any():
            assert not marginals.status.impossible and not labelling.status.impossible
            assert np.isfinite(marginals.log_z)
            assert labelling.score == pytest.approx(total[tuple(labelling.assignment)])
            assert labelling.score > NO
        else:
            assert labelling.status.impossible == (0,)


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_a_zero_that_no_variable_is_left_in(method):
    pair = FactorGraph((2, 2), ((0, 1),), (np.array([[NO, 0.0], [0.5, 1.0]]),))
    tasks = ["pr", "mar", "map"] if method.gives_log_z else ["mar", "map"]
    for graph in (FactorGraph((), (), (), NO), FactorGraph((2,), (), (), NO), pair.with_evidence({0: 0, 1: 0})):
        for task in tasks:
            assert_impossible(infer_graph(graph, task, method))


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_evidence_on_every_variable_of_a_factor(method):
    """One labelling is left if all are observed: every method is exact. Otherwise `exact` is, by enumeration."""
    rng = np.random.default_rng(3)
    cards, scopes = (2, 3, 2), ((0, 1), (2, 0, 1), (2,), (1,))
    graph = FactorGraph(cards, scopes, tuple(rng.normal(size=[cards[v] for v in scope]) for scope in scopes))
    total = reference.joint(cards, scopes, graph.log_tables)
    for evidence in ({0: 1, 1: 2}, {0: 0, 1: 1, 2: 1}):
        if len(evidence) < len(cards) and method.method != "exact":
            infer_graph(graph.with_evidence(evidence), "mar", method)
            continue
        left = np.full(cards, NO)
        kept = tuple(evidence.get(v, slice(None)) for v in range(len(cards)))
        left[kept] = total[kept]
        result = infer_graph(graph.with_evidence(evidence), "mar", method)
        if method.gives_log_z:
            assert result.log_z == pytest.approx(reference.log_sum(left), abs=1e-9)
        for v, own in enumerate(result.marginals):
            np.testing.assert_allclose(own, reference.marginal(left, (v,)), atol=1e-9)
        labelling, score = reference.best(left)
        found = infer_graph(graph.with_evidence(evidence), "map", method)
        assert tuple(found.assignment) == labelling and found.score == pytest.approx(score)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (["a.txt:4"], "the sentence at a.txt:4"),
        (["a:4", "a:9"], "2 sentences, at a:4 and a:9"),
        (["a:1", "a:2", "b:3"], "3 sentences, at a:1, a:2 and b:3"),
        ([f"a:{n}" for n in range(1234)], "1,234 sentences, at a:0, a:1, a:2, a:3, a:4 and 1,229 more"),
    ],
)
def test_what_is_said_about_sentences_without_a_labelling(places, words):
    assert contradiction_message(places) == f"no labelling satisfies the constraints of the model in {words}"
    guarded = contradiction_message(places, certain=False)
    assert guarded == f"no labelling was found that satisfies the constraints of the model in {words}"


# sentences --------------------------------------------------------------------------------------------------------

ALTERNATING = """
data conll(word, y)
label y in {P, Q}
clique y: word
clique y[-1], y
forbid y[-1] is P and y is P
forbid y[-1] is Q and y is Q
forbid y[-2] is P and y is P
forbid y[-2] is Q and y is Q
"""  # so that two tokens can be labelled, and three cannot
SHORT = [[("a", "P")], [("a", "P"), ("b", "Q")]]
LONG = [*SHORT, [("a", "P"), ("b", "Q"), ("a", "P")], [("b", "Q")]]


@pytest.mark.parametrize("method", sorted(INFERENCE))
def test_every_method_lists_the_sentence(method):
    trainer = "" if INFERENCE[method].gives_log_z else "train likelihood: infer = trp\n"
    resolved = load_text(f"{ALTERNATING}infer {method}\n{trainer}")
    data = resolved.require().data
    model = fit(resolved, corpus_from_rows(SHORT, data), threads=1)
    assert model.predict(corpus_from_rows(SHORT, data)).status.impossible == ()
    assert model.predict(corpus_from_rows(LONG, data)).status.impossible == (2,)


def test_eval_says_where_it_is(tmp_path, capsys):
    resolved = load_text(f"{ALTERNATING}infer trp\n")
    fit(resolved, corpus_from_rows(SHORT, resolved.require().data), threads=1).save(tmp_path / "model")
    text = "\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in LONG)
    (tmp_path / "data").write_text(text + "\n")
    evaluate(model=str(tmp_path / "model"), data=[str(tmp_path / "data")])
    said = capsys.readouterr().err
    assert f"no labelling satisfies the constraints of the model in the sentence at {tmp_path / 'data'}:6" in said
