"""Inference methods of one's own: the page's example against exact inference, default labellings, what is no answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from helpers import ROOT, shared
from page_runner import steps_of
from strategies import FAMILIES, random_tables
from template_cases import CASES

import dcrfdsl
from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import METHODS, infer_graph
from dcrfdsl.inference.own_methods import InferenceMethod
from dcrfdsl.semantics import INFERENCE

PAGE = ROOT / "docs" / "how-to" / "own-inference.md"
EXACT = 1e-9
MOST_ENTRIES = 10**4  # of the largest table where plain numpy takes a known graph in seconds
TRAIN = "train likelihood: optimizer = lbfgs(max_iterations = 3)\n"


@pytest.fixture(autouse=True)
def no_method_stays() -> Iterator[None]:
    """What a test defines is gone after it."""
    before = dict(INFERENCE), dict(METHODS)
    yield
    INFERENCE._entries, METHODS._entries = before


@pytest.fixture
def elimination() -> InferenceMethod:
    """The method of the page, with its settings."""
    (text,) = (step.text for step in steps_of(PAGE.read_text(encoding="utf-8")) if step.name == "elimination.py")
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    method: InferenceMethod = namespace["Elimination"]()
    return method


def trained(name: str, infer: str) -> tuple[dcrfdsl.TrainedModel, Any]:
    case = CASES[name]
    resolved = dcrfdsl.load_text(f"{case.text.replace('infer exact', '')}infer {infer}\n{TRAIN}")
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows(case.sentences, data)
    return dcrfdsl.fit(resolved, corpus, threads=1), corpus


@pytest.mark.parametrize("name", CASES)
def test_the_example_trains_and_tags_as_exact_inference(name: str, elimination: InferenceMethod) -> None:
    own, corpus = trained(name, "elimination")
    exact, _ = trained(name, "exact")
    np.testing.assert_allclose(own.weights, exact.weights, atol=EXACT)
    found, expected = own.predict(corpus), exact.predict(corpus)
    assert {label: found.texts(label) for label in own.labels} == {x: expected.texts(x) for x in own.labels}
    assert found.status.converged and not found.status.approximate
    for label, table in exact.marginals(corpus)[0].items():
        np.testing.assert_allclose(own.marginals(corpus)[0][label], table, atol=EXACT)
    assert own.scores.log_likelihood(corpus) == pytest.approx(exact.scores.log_likelihood(corpus), abs=EXACT)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_example_and_default_labellings_on_graphs(name: str, zeros: float, elimination: InferenceMethod) -> None:
    """Against enumeration: log Z, marginals, the best labelling; the default labelling breaks no hard constraint."""
    cards, scopes = FAMILIES[name]
    graph = FactorGraph(cards, scopes, random_tables(cards, scopes, 1, 1.0, zeros))
    total = reference.joint(cards, scopes, graph.log_tables)
    found = infer_graph(graph, "mar", elimination)
    best = infer_graph(graph, "map", elimination)
    if np.isneginf(total.max()):
        assert found.log_z == -np.inf and best.assignment is None
        assert InferenceMethod.labelling(elimination, graph) is None
        return
    assert found.log_z == pytest.approx(reference.log_sum(total), abs=EXACT)
    assert found.marginals is not None and found.factor_marginals is not None and best.assignment is not None
    for scope, table in zip(scopes, found.factor_marginals, strict=True):
        np.testing.assert_allclose(table, reference.marginal(total, scope), atol=EXACT)
    for variable, states in enumerate(found.marginals):
        np.testing.assert_allclose(states, reference.marginal(total, (variable,)), atol=EXACT)
    assert best.score == pytest.approx(total.max(), abs=EXACT)
    if len({variable for scope in scopes for variable in scope}) == len(cards):
        states = InferenceMethod.labelling(elimination, graph)
        assert states is not None and total[tuple(states)] > -np.inf


@pytest.mark.long
def test_the_example_on_graphs_with_known_answers(elimination: InferenceMethod) -> None:
    checked = 0
    for path in sorted(shared("reference", "graphs").glob("*.npz")):
        answers = json.loads(path.with_suffix(".json").read_text())
        if max(answers["cards"]) ** answers["induced_width"] > MOST_ENTRIES:
            continue
        arrays = np.load(path)
        tables = tuple(arrays[f"t{n}"] for n in range(answers["n_factors"]))
        graph = FactorGraph(tuple(answers["cards"]), tuple(map(tuple, answers["scopes"])), tables)
        found = infer_graph(graph, "mar", elimination)
        assert found.log_z == pytest.approx(answers["exact"]["logZ"], rel=EXACT, abs=EXACT), path.name
        assert found.marginals is not None
        for own, known in zip(found.marginals, answers["exact"]["var_marginals"], strict=True):
            np.testing.assert_allclose(own, known, atol=1e-8)
        best = infer_graph(graph, "map", elimination)
        assert best.score == pytest.approx(answers["map"]["score"], rel=EXACT, abs=EXACT)
        checked += 1
    assert checked >= 10


# a constraint that the most probable states break ------------------------------------------------------------------


def test_where_the_most_probable_states_break_a_constraint_one_follows_the_other(elimination: InferenceMethod) -> None:
    """Each variable prefers state 0, and both may not be 0 together."""
    with np.errstate(divide="ignore"):
        table = np.log(np.array([[0.0, 0.25, 0.15], [0.2, 0.0, 0.1], [0.2, 0.1, 0.0]]))
    graph = FactorGraph((3, 3), ((0, 1),), (table,))
    _, (both,) = elimination.marginals(graph)
    assert both.sum(axis=0).argmax() == both.sum(axis=1).argmax() == 0
    assert InferenceMethod.labelling(elimination, graph) == [0, 1]


# what is refused -----------------------------------------------------------------------------------------------------


def answering(answer: Callable[[FactorGraph], Any], **own: Any) -> InferenceMethod:
    """A method named `mine` that answers so."""
    marginals = lambda self, graph: answer(graph)  # noqa: E731
    kind = type("Mine", (InferenceMethod,), {"method": "mine", "marginals": marginals, "__annotations__": {}, **own})
    method: InferenceMethod = kind()
    return method


def half(graph: FactorGraph) -> list[Any]:
    return [np.full(table.shape, 1.0 / table.size) for table in graph.log_tables]


@pytest.mark.parametrize(
    ("answer", "slug", "says"),
    [
        (lambda graph: (np.inf, half(graph)), "bad-result", "log Z = inf"),
        (lambda graph: (np.nan, half(graph)), "bad-result", "log Z = nan"),
        (lambda graph: (0.0, half(graph)[:1]), "bad-result", "1 tables, expected 2"),
        (lambda graph: (0.0, [table.ravel() for table in half(graph)]), "bad-result", "a table of shape (4,)"),
        (lambda graph: (0.0, [2 * table for table in half(graph)]), "bad-result", "that sums to 2, expected 1"),
        (lambda graph: 1 / 0, "feature-function-failed", "`infer mine` raises ZeroDivisionError: division by zero"),
    ],
)
def test_answers_that_are_none_are_said(answer: Any, slug: str, says: str) -> None:
    graph = FactorGraph((2, 2), ((0, 1), (0,)), (np.zeros((2, 2)), np.zeros(2)))
    with pytest.raises(dcrfdsl.DcrfError) as refused:
        infer_graph(graph, "mar", answering(answer))
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.slug == slug and says in diagnostic.message


@pytest.mark.parametrize("states", [[0], [0, 2], [-1, 0]])
def test_labellings_that_are_none_are_said(states: list[int]) -> None:
    graph = FactorGraph((2, 2), ((0, 1),), (np.zeros((2, 2)),))
    own = answering(lambda graph: (0.0, half(graph)), labelling=lambda self, graph: states)
    with pytest.raises(dcrfdsl.DcrfError, match="a state for each of 2 variables"):
        infer_graph(graph, "map", own)


def test_a_method_without_log_z_tags_and_does_not_train() -> None:
    answering(lambda graph: (np.nan, half(graph)), gives_log_z=False)
    text = CASES["chain"].text
    with pytest.raises(dcrfdsl.DcrfError, match="`mine` gives no log Z"):
        dcrfdsl.load_text(f"{text}infer mine\n{TRAIN}").require()
    resolved = dcrfdsl.load_text(f"{text}infer mine\n{TRAIN[:-2]}, tolerance = 1e-3), infer = exact\n")
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows(CASES["chain"].sentences, data)
    model = dcrfdsl.fit(resolved, corpus, threads=1)
    assert set(model.predict(corpus).texts("y")) == {model.states["y"][0]}
    assert model.marginals(corpus)[0]["y"] == pytest.approx(1 / 3)


def test_names_settings_and_files(tmp_path: Path) -> None:
    with pytest.raises(dcrfdsl.DcrfError, match="`exact` is a built-in inference method"):
        answering(half, method="exact")
    rounds: list[int] = []
    answering(lambda graph: (0.0, half(graph)), rounds=10, __annotations__={"rounds": int})
    answering(
        lambda graph: (0.0, half(graph)), rounds=10, __annotations__={"rounds": int},
        labelling=lambda self, graph: rounds.append(self.rounds) or [0] * len(graph.cards),
    )  # fmt: skip
    text = CASES["chain"].text
    resolved = dcrfdsl.load_text(f"{text}infer mine(rounds = 3)\n{TRAIN}")
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows(CASES["chain"].sentences, data)
    model = dcrfdsl.fit(resolved, corpus, threads=1)
    model.save(tmp_path / "model")
    dcrfdsl.load(tmp_path / "model").predict(corpus)
    assert set(rounds) == {3}
    with pytest.raises(dcrfdsl.DcrfError, match="`width` is not a setting of `mine`"):
        dcrfdsl.load_text(f"{text}infer mine(width = 3)\n{TRAIN}").require()
