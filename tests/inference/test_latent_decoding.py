"""Decoding with latent variables whatever the method, sentences without any labelling, graphs that are too dense."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph.elimination import least_table, order_cost
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

TEXT = """data conll(word, y)
label y in {n, a, b}
latent h in 2
clique y: bias, word
clique y[-1], y
clique h, y
clique h[-1], h
"""
ROWS = [[("X", "a"), ("Y", "b")], [("X", "a")], [("Y", "b"), ("X", "a")]]


def trained(infer):
    resolved = load_text(TEXT + f"infer {infer}\ntrain likelihood: infer = exact, seed = 3\n")
    corpus = corpus_from_rows(ROWS, resolved.require().data)
    return fit(resolved, corpus, threads=1), corpus


def distribution(model):
    """p(y | x) of two tokens, all labellings: sums over the latent states, by the exact answer to each `given`."""
    data = model.spec.data
    scores = {}
    for labels in itertools.product("nab", repeat=2):
        rows = [[("X", labels[0]), ("Y", labels[1])]]
        scores[labels] = model.scores.log_likelihood(corpus_from_rows(rows, data), threads=1)
    return scores


METHODS = ["exact", "auto", "trp", "bp", "mean_field", "trw", "gbp", "ep", "gibbs(samples = 200)"]


@pytest.mark.parametrize("infer", METHODS)
def test_every_method_finds_the_same_labels(infer):
    model, corpus = trained(infer)
    assert model.predict(corpus, threads=1).texts("y") == ["a", "b", "a", "b", "a"]


@pytest.mark.parametrize("infer", METHODS)
def test_nbest_lists_every_labelling_once_with_its_probability(infer):
    model, _ = trained(infer)
    exact, _ = trained("exact")
    expected = distribution(exact.with_weights(model.weights, model.record))
    corpus = corpus_from_rows([[("X", "a"), ("Y", "b")]], model.spec.data)
    found = model.nbest(corpus, 9, threads=1).sentences[0]
    listed = [tuple(model.states["y"][code] for code in row) for row in found.codes["y"]]
    assert len(listed) == 9
    assert set(listed) == set(expected)
    assert found.exact
    np.testing.assert_allclose(np.log(found.probability), [expected[labels] for labels in listed], atol=1e-9)
    assert (np.diff(found.probability) <= 0).all()


def test_samples_give_no_likelihood():
    model, corpus = trained("gibbs")
    with pytest.raises(DcrfError, match="log Z"):
        model.scores.log_likelihood(corpus)


def test_where_no_labelling_is_possible_nothing_is_right():
    text = "data conll(word, y)\nlabel y in {a, b}\nclique y: bias, word\nrequire y is a when word is X\n"
    resolved = load_text(text + "forbid y is a and word is X\nevaluate accuracy(y), sentence_accuracy\n")
    data = resolved.spec.data
    model = fit(resolved, corpus_from_rows([[("Z", "a")], [("Y", "b")]], data), threads=1)
    scores = model.evaluate(corpus_from_rows([[("X", "a")], [("Y", "b")]], data), threads=1)
    assert (scores["accuracy(y)"], scores["sentence_accuracy"]) == (0.5, 0.5)


@pytest.mark.parametrize("seed", range(30))
def test_no_order_beats_the_bound_on_its_largest_table(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 8))
    cards = random.integers(1, 4, count).tolist()
    scopes = [tuple(random.choice(count, min(count, int(random.integers(1, 4))), replace=False).tolist())
              for _ in range(int(random.integers(0, 12)))]  # fmt: skip
    best = min(order_cost(scopes, cards, order).largest for order in itertools.permutations(range(count)))
    assert least_table(scopes, cards) <= best


def test_a_clique_is_shown_by_the_name_that_is_printed():
    model, _ = trained("exact")
    assert {name for name, *_ in model.explanations.strongest_weights(99, clique="y[-1], y")} == {"y[-1], y"}
