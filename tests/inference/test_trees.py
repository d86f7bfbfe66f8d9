"""Cliques along the arcs of random trees: exact inference against enumeration, in linear time whatever the shape."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from counting import counted

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph.elimination import forest_order, order_cost
from dcrfdsl.inference import METHODS, Binder, Expectations
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import BpSettings, ExactSettings
from dcrfdsl.training import fit
from dcrfdsl.training.untrained_model import assemble

STATES = ("P", "Q", "R")
HEAD = "dcrf 1\ndata conll(word, id, head, y)\nlabel y in {P, Q, R}\nclique y as words: bias, word\n"
ARC = "clique y[i], y[j] as arc:\n    where id[j] = head[i]\n    with order = any\n    bias, word[i]\n"
CHAIN = "clique y[-1], y as chain\n"
MODELS = {"tree": HEAD + ARC, "tree beside chain": HEAD + ARC + CHAIN}


def tree(random, length):
    """The head of each token, 0 for roots: a random forest."""
    order = random.permutation(length)
    heads = [0] * length
    for n, token in enumerate(order.tolist()):
        heads[token] = int(order[random.integers(n)]) + 1 if n and random.random() < 0.9 else 0
    return heads


def drawn(seed, count=6, longest=5):
    random = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        length = int(random.integers(1, longest + 1))
        heads = tree(random, length)
        words, states = random.choice(list("ab"), length), random.choice(STATES, length)
        out.append(
            [(str(w), str(t + 1), str(heads[t]), str(y)) for t, (w, y) in enumerate(zip(words, states, strict=True))]
        )
    return out


class Twin:
    """A model learned by the package, with weights drawn, and the same distribution by enumeration."""

    def __init__(self, name, sentences):
        self.text, self.sentences, self.chained = MODELS[name] + "infer exact\n", sentences, "chain" in name
        resolved = load_text(self.text)
        self.corpus = corpus_from_rows(sentences, resolved.spec.data)
        self.problem = assemble(resolved.spec, self.corpus, resolved.directories, {})
        self.parameters, _ = self.problem.learn_parameters()
        self.weights = np.random.default_rng(5).normal(size=self.parameters.num_weights)
        self.names = {}
        for weight, clique, feature, assignment in self.parameters.walk():
            template = self.problem.graph.templates[clique]
            text = "bias" if feature < 0 else self.problem.extractor.describe(template.feature_set, feature)
            self.names[template.name, text, assignment] = weight

    def counts(self, sentence, states):
        out = np.zeros(len(self.weights))

        def add(*name):
            if name in self.names:
                out[self.names[name]] += 1

        for t, (word, _, head, _) in enumerate(sentence):
            add("words", "bias", states[t])
            add("words", f"word={word}", states[t])
            if head != "0":
                pair = 3 * states[t] + states[int(head) - 1]
                add("arc", "bias", pair)
                add("arc", f"word[i]={word}", pair)
            if self.chained and t:
                add("chain", "bias", 3 * states[t - 1] + states[t])
        return out

    def every(self, sentence):
        """The states and counts of every labelling."""
        labellings = list(itertools.product(range(3), repeat=len(sentence)))
        return labellings, np.array([self.counts(sentence, states) for states in labellings])

    def expectations(self, method, settings):
        entry = METHODS[method]
        data = Binder(self.problem.graph, self.parameters, programs=entry.programs).bind(
            self.problem.rows, self.corpus.sentence_off, self.problem.relations
        )
        out, gradient = Expectations.empty(data, marginals=True), np.zeros(data.num_weights)
        expected = np.zeros(len(data.hard))
        built = entry.build(data, settings)
        built.expectations(data.potentials(self.weights), 0, data.num_sequences, out, gradient, expected)
        for cell, weight in zip(data.bindings.bias_cell, data.bindings.bias_weight, strict=True):
            gradient[weight] += expected[cell]
        return out.log_z, gradient, out.marginals.reshape(-1, 3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [1, 2])
def test_sums_and_marginals_are_those_of_enumeration(name, seed):
    twin = Twin(name, drawn(seed))
    log_z, gradient, marginals = twin.expectations("exact", ExactSettings())
    wanted, at = np.zeros(len(gradient)), 0
    for s, sentence in enumerate(twin.sentences):
        labellings, counts = twin.every(sentence)
        scores = counts @ twin.weights
        assert log_z[s] == pytest.approx(np.logaddexp.reduce(scores), abs=1e-9)
        share = np.exp(scores - np.logaddexp.reduce(scores))
        wanted += share @ counts
        for t in range(len(sentence)):
            shares = [share[[states[t] == k for states in labellings]].sum() for k in range(3)]
            assert np.allclose(marginals[at + t], shares, atol=1e-9)
        at += len(sentence)
    assert np.allclose(gradient, wanted, atol=1e-9)


@pytest.mark.parametrize("seed", [3, 4])
def test_messages_are_exact_on_trees(seed):
    twin = Twin("tree", drawn(seed))
    exact = twin.expectations("exact", ExactSettings())
    messages = twin.expectations("bp", BpSettings(tolerance=1e-12))
    for one, other in zip(exact, messages, strict=True):
        assert np.allclose(one, other, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_the_best_labellings_are_those_of_enumeration(name):
    twin = Twin(name, drawn(6))
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    twin.weights = model.weights
    predicted, at = model.predict(twin.corpus).codes["y"], 0
    for sentence, found in zip(twin.sentences, model.nbest(twin.corpus, 4).sentences, strict=True):
        _, counts = twin.every(sentence)
        scores = np.sort(counts @ twin.weights)[::-1]
        assert np.allclose(found.score, scores[:4], atol=1e-9)
        states = predicted[at : at + len(sentence)]
        assert twin.counts(sentence, states) @ twin.weights == pytest.approx(scores[0], abs=1e-9)
        at += len(sentence)


def test_the_order_of_a_forest_is_linear_and_makes_no_wider_tables():
    random = np.random.default_rng(0)
    for length in [1, 2, 30, 400]:
        heads = tree(random, length)
        scopes = [(t,) for t in range(length)] + [(t, head - 1) for t, head in enumerate(heads) if head]
        scopes += [scope[::-1] for scope in scopes if len(scope) > 1][:2]  # two cliques on an arc are one edge
        order = forest_order(scopes, length)
        assert sorted(order) == list(range(length))
        cost = order_cost(scopes, [7] * length, order)
        assert cost.width <= 1 and cost.largest <= 7
        assert cost.work == 49 * sum(head > 0 for head in heads) + 7 * sum(head == 0 for head in heads)


def test_what_has_a_loop_is_no_forest():
    assert forest_order([(0, 1), (1, 2), (2, 0)], 4) is None
    assert forest_order([(0, 1, 2)], 3) is None
    assert forest_order([], 3) == [0, 1, 2]


def test_a_long_tree_takes_no_more_a_token_than_short_ones():
    """Of Python; that the order of its variables takes no more is asserted above."""
    random = np.random.default_rng(1)
    twin = Twin("tree", drawn(7))
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    work = {}
    for length in (3000, 1000, 3000):  # kernels are compiled at the first
        rows = [(random.choice(list("ab")), str(t + 1), str(h), "P") for t, h in enumerate(tree(random, length))]
        corpus = corpus_from_rows([rows], load_text(twin.text).spec.data)
        prediction, work[length] = counted(lambda corpus=corpus: model.predict(corpus))
        assert len(prediction.codes["y"]) == length
    assert work[3000] < 4 * work[1000]
