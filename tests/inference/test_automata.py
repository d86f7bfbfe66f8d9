"""Automata against the general path and enumeration: the same numbers, sentence by sentence, weight by weight. And the
same bits from any number of threads.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from automaton_cases import AUTOMATA, BoundCase, one

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.labels import encode_known_labels
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import assignment_states, model_cost
from dcrfdsl.graph.automaton_graphs import automaton_graph
from dcrfdsl.inference import Binder, Decoded, Expectations
from dcrfdsl.inference.methods import exact_method
from dcrfdsl.inference.methods.exact_method import ExactMethod
from dcrfdsl.inference.methods.method_table import METHODS
from dcrfdsl.kernels.tables import add_bias_gradient
from dcrfdsl.semantics import ExactSettings
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Automata are taken whether they pay or not."""
    monkeypatch.setattr(model_cost, "LEAST", 0.0)
    monkeypatch.setattr(model_cost, "automaton_pays", lambda found, seconds: True)


@pytest.fixture(scope="module", params=AUTOMATA)
def bound(request: pytest.FixtureRequest) -> BoundCase:
    return BoundCase(AUTOMATA[request.param])


SCALES = [0.0, 1.0, 10.0]


@pytest.mark.parametrize("scale", SCALES)
def test_an_automaton_has_the_same_gradient(bound: BoundCase, scale: float) -> None:
    weights = bound.weights(scale)
    value, gradient = bound.gradient(weights, automaton=True)
    plain_value, plain_gradient = bound.gradient(weights, automaton=False)
    assert value == pytest.approx(plain_value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scale", SCALES)
def test_an_automaton_has_the_same_answers(bound: BoundCase, scale: float) -> None:
    weights = bound.weights(scale)
    special, plain = bound.answers(weights, automaton=True), bound.answers(weights, automaton=False)
    for name, values in plain.items():
        np.testing.assert_allclose(special[name], values, rtol=1e-9, atol=1e-11, err_msg=name)


def test_an_automaton_is_done_by_its_kernel(bound: BoundCase) -> None:
    data, runs = bound.packed, bound.method(bound.packed, automaton=True).automaton
    assert runs is not None
    count, potentials = data.num_sequences, data.potentials(bound.weights(1.0))
    log_z, status = np.zeros(count), np.zeros(count, np.int8)
    sums = np.zeros(data.num_cells), np.zeros(len(data.hard))
    assert runs.expectations(potentials, 0, count, log_z, status, np.zeros(0), *sums) == []
    assert runs.decode(potentials, 0, count, log_z, status, np.zeros(int(data.labelling_off[-1]), np.int32)) == []


@pytest.mark.parametrize("factor", [0.0, np.inf], ids=["by the automaton in log space", "by programs"])
@pytest.mark.parametrize("scale", [300.0, 3000.0])
def test_what_leaves_linear_space_is_summed(
    bound: BoundCase, scale: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_method, "LOG_SPACE", factor)
    weights = bound.weights(scale)
    value, gradient = bound.gradient(weights, automaton=True)
    plain_value, plain_gradient = bound.gradient(weights, automaton=False)
    assert value == pytest.approx(plain_value, rel=1e-10)
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same_bits(bound: BoundCase, threads: int) -> None:
    weights = bound.weights(1.0)
    value, gradient = bound.gradient(weights, automaton=True)
    other_value, other_gradient = bound.gradient(weights, automaton=True, threads=threads)
    assert value == other_value
    np.testing.assert_array_equal(gradient, other_gradient)


@pytest.mark.parametrize("order", [2, 3])
def test_the_states_of_a_higher_order_are_the_contexts_that_were_seen(order: int) -> None:
    """And, where a context was not seen, the longest suffix that was."""
    cliques = "".join(
        f"clique {', '.join(f'y[-{back}]' for back in range(length, 0, -1))}, y with states = seen\n"
        for length in range(1, order + 1)
    )
    case = one("clique y: word\n" + cliques, "PQRSTUV", spread=2)
    known = assemble(case.resolved().require(), case.corpus(), {}, {})
    parameters, _ = known.learn_parameters()
    found = automaton_graph(known.graph, parameters.bias_places(known.graph)[1])
    assert found is not None
    labels = [[row[1] for row in rows] for rows in case.sentences]
    seen = {tuple(y[t : t + size]) for y in labels for size in range(1, order + 1) for t in range(len(y) - size + 1)}
    assert found.states == len(seen)


# where no table of elimination fits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 300.0, 3000.0])
def test_log_space_has_the_same_numbers(bound: BoundCase, scale: float) -> None:
    data, weights = bound.packed, bound.weights(scale)
    runs, count = bound.method(data, automaton=True).automaton, data.num_sequences
    assert runs is not None
    general, out = bound.method(data, automaton=False), Expectations.empty(data, marginals=True)
    potentials, log_z, status = data.potentials(weights), np.zeros(count), np.zeros(count, np.int8)
    marginals = np.zeros_like(out.marginals)
    ours, theirs = ((np.zeros(data.num_cells), np.zeros(len(data.hard))) for _ in range(2))
    share = np.linspace(0.5, 1.5, count)
    assert runs.log_expectations(potentials, 0, count, log_z, status, marginals, *ours, share) == []
    general.expectations(potentials, 0, count, out, *theirs, share)
    np.testing.assert_allclose(log_z, out.log_z, rtol=1e-11, atol=1e-10)
    np.testing.assert_array_equal(status, out.status)
    cell, weight = data.bindings.bias_cell, data.bindings.bias_weight  # a weight may have several cells
    counts = [np.bincount(weight, expected[cell]) for _, expected in (ours, theirs)]
    np.testing.assert_allclose(*counts, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-8, atol=1e-8)


def test_exact_inference_goes_on_where_only_an_automaton_fits() -> None:
    """With `max_table` below the table of elimination: the same weights, marginals and labels as without."""
    case = AUTOMATA["memories in a row"]
    corpus = case.corpus()
    few = "train.optimizer=lbfgs(max_iterations=5)"
    wide, narrow = (
        fit(load_text(case.text, overrides=[f"infer={infer}", few]), corpus, threads=1)
        for infer in ("exact", "exact(max_table = 300)")
    )
    assert narrow.graph.exact_cost.largest > 300
    np.testing.assert_allclose(narrow.weights, wide.weights, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(narrow.predict(corpus).codes["y"], wide.predict(corpus).codes["y"])
    for name, table in wide.marginals(corpus)[0].items():
        np.testing.assert_allclose(narrow.marginals(corpus)[0][name], table, atol=1e-6)
    given = encode_known_labels(narrow.spec, narrow.states, corpus)
    assert narrow.marginals(corpus, given=given)[1].converged
    assert not narrow.nbest(corpus, 2).exact
    with pytest.raises(DcrfError, match="drawing labellings needs exact inference"):
        narrow.sample(corpus, 1, seed=0)
    with pytest.raises(DcrfError, match="would build a table"):
        fit(load_text(case.text, overrides=["infer=exact(max_table = 20)", few]), corpus, threads=1)


def test_a_chain_decodes_where_that_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes are the automaton's and best labellings the table's, with the same scores."""
    data = BoundCase(AUTOMATA["moves that were seen"]).plain
    potentials, scores = data.potentials(np.random.default_rng(2).normal(size=data.num_weights)), []
    for is_faster in (True, False):
        monkeypatch.setattr(exact_method, "chain_decodes", lambda found, graph, says=is_faster: says)
        method = METHODS["exact"].build(data, ExactSettings())
        assert isinstance(method, ExactMethod)
        assert method._decoders == ([method.chain] if is_faster else [method.automaton, method.chain])
        best = Decoded.empty(data)
        method.decode(potentials, 0, data.num_sequences, best)
        scores.append(best.score)
    np.testing.assert_allclose(*scores, rtol=1e-12)


@pytest.mark.parametrize(("labels", "moves", "by_table"), [(100, 5000, True), (60, 1800, True), (121, 500, False)])
def test_how_much_must_be_seen_for_a_chain_to_decode(labels: int, moves: int, by_table: bool) -> None:
    found, graph = SimpleNamespace(states=labels, terms=moves), SimpleNamespace(cards=(labels,))
    assert model_cost.chain_decodes(found, graph) == by_table  # type: ignore[arg-type]


def test_a_memory_that_words_change_is_that_of_enumeration() -> None:
    source = (
        "data conll(word, y)\nlabel y in {P, Q, R}\n"
        "memory last in states(y) = y[-1] if word[-1] is c else last[-1] initially P\n"
        "clique y as words: word\nclique y[-1], y as moves\nclique y, last as ties\n"
    )
    draw, spec = np.random.default_rng(3), load_text(source).require()
    texts = [[str(word) for word in draw.choice(list("abc"), n)] for n in (1, 2, 3, 4, 4, 4)]
    corpus = corpus_from_rows([[(word, str(draw.choice(list("PQR")))) for word in words] for words in texts], spec.data)
    problem = assemble(spec, corpus, {}, {})
    parameters, _ = problem.learn_parameters()
    weights, graph = draw.normal(size=parameters.num_weights), problem.graph
    states = [problem.states[name] for name in graph.variables]
    named = {}
    for weight, clique, feature, assignment in parameters.walk():
        template = graph.templates[clique]
        text = "" if feature < 0 else problem.extractor.describe(template.feature_set, feature)
        named[template.name, text, assignment_states(template, assignment, states)] = weight
    data = Binder(graph, parameters, programs=True).bind(problem.rows, corpus.sentence_off, {})
    method, out = ExactMethod(data, ExactSettings()), Expectations.empty(data, marginals=True)
    assert method.automaton is not None
    gradient, expected = np.zeros(data.num_weights), np.zeros(len(data.hard))
    method.expectations(data.potentials(weights), 0, len(texts), out, gradient, expected)
    add_bias_gradient(data.bindings, expected, gradient)
    counts, chances, token = np.zeros(len(weights)), data.by_variable(out.marginals)[0], 0
    for s, words in enumerate(texts):
        every = list(itertools.product("PQR", repeat=len(words)))
        found = np.zeros((len(every), len(weights)))
        for row, labels in zip(found, every, strict=True):
            last = "P"
            for t, (word, label) in enumerate(zip(words, labels, strict=True)):
                if t and words[t - 1] == "c":
                    last = labels[t - 1]
                read = [("words", f"word={word}", (label,)), ("ties", "", (label, last))]
                read += [("moves", "", (labels[t - 1], label))] if t else []
                for key in read:
                    row[[named[key]] if key in named else []] += 1
        scores = found @ weights
        assert out.log_z[s] == pytest.approx(np.logaddexp.reduce(scores), rel=1e-12)
        share = np.exp(scores - np.logaddexp.reduce(scores))
        counts += share @ found
        for t in range(len(words)):
            for k, state in enumerate("PQR"):
                assert chances[token, k] == pytest.approx(share @ [one[t] == state for one in every], abs=1e-12)
            token += 1
    np.testing.assert_allclose(gradient, counts, atol=1e-10)


def test_states_right_after_a_change_need_no_moves_of_their_own() -> None:
    """All moves into such a state come from one label, so that what it weighs is the state's: of n³ moves none is left,
    but for the memory's first value, which is that of first positions too.
    """
    case = one(
        "memory last in states(y) = y[-1] if word[-1] is w1 else last[-1] initially P\n"
        "clique y: word\nclique y[-1], y with states = all\nclique y, last\n",
        "PQRST",
    )
    known = assemble(case.resolved().require(), case.corpus(), {}, {})
    parameters, _ = known.learn_parameters()
    found = automaton_graph(known.graph, parameters.bias_places(known.graph)[1])
    assert found is not None
    assert (found.states, found.moves, len(set(found.source_group.tolist()))) == (2 * 5**2, 5**3 + 5**2, 5)
