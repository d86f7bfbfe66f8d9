"""Products of shared tables: where they are made, their layout, and programs with them beside programs without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from model_cases import objective_of, trained
from template_cases import CASES, Case, sentences

from dcrfdsl.graph import ModelGraph
from dcrfdsl.graph.shared_tables import TableProduct, candidate_products
from dcrfdsl.semantics.settings.infer_settings import ExactSettings

TIED = ["three chains", "tied layers"]
LAYERS = "data conll(word, x, y, z)\nlabel x\nlabel y\nlabel z\nclique x: word\nclique y: word\nclique z: word\n"


def graph_of(text: str, *values: str) -> ModelGraph:
    model, _ = trained(Case(text, sentences(*values, count=30)))
    graph: ModelGraph = model.graph
    return graph


def without_products(graph: ModelGraph) -> ModelGraph:
    """The same graph without products; the cells of all other tables keep their places."""
    plain = replace(graph)
    plain.shared = replace(plain.shared, products=())
    return plain


@pytest.mark.parametrize("name", TIED)
def test_ties_inside_a_position_have_a_product(name: str) -> None:
    (product,) = trained(CASES[name])[0].graph.shared.products
    assert sorted(product.variables) == [0, 1, 2]
    assert len(product.kinds) >= 3


@pytest.mark.parametrize(
    "cliques",
    [
        "clique x, y\nclique x[-1], x\nclique y[-1], y\n",  # one tie
        "clique x, y\nclique y, z\n",  # no chain: each is summed out by itself
        "clique x, y: word\nclique y, z: word\nclique x[-1], x\nclique y[-1], y\nclique z[-1], z\n",  # features
    ],
)
def test_no_product_table_where_programs_gain_nothing(cliques: str) -> None:
    assert graph_of(LAYERS + cliques, "AB", "CDE", "FG").shared.products == ()


def test_no_product_table_for_large_ties() -> None:
    states = [f"s{n}" for n in range(40)]
    text = LAYERS.replace(
        "label x\nlabel y\nlabel z", "\n".join(f"label {y} in {{{', '.join(states)}}}" for y in "xyz")
    )
    rows = [[("a", states[i], states[i], states[i]) for i in range(3)]]
    model, _ = trained(Case(text + "clique x, y\nclique y, z\nclique x, z\n", rows))
    assert candidate_products(model.graph.kinds, model.graph.cards, ()) == []


def test_layers_that_are_tied_apart_have_a_product_each() -> None:
    text = "data conll(word, a, b, c, d)\n" + "".join(f"label {y}\nclique {y}: word\n" for y in "abcd")
    text += "clique a, b as one\nclique b, a as two\nclique c, d as three\nclique d, c as four\n"
    graph = graph_of(text, "AB", "CD", "EF", "GH")
    found = candidate_products(graph.kinds, graph.cards, ())
    assert sorted(product.variables for product in found) == [(0, 1), (2, 3)]


def test_entries_of_a_product() -> None:
    graph = trained(CASES["tied layers"])[0].graph
    (product,) = graph.shared.products
    assert isinstance(product, TableProduct)
    hard = product.hard(graph.kinds).reshape(product.cards)
    at = [product.variables.index(variable) for variable in (0, 1)]
    forbidden = np.argwhere(np.isneginf(hard))
    assert {(row[at[0]], row[at[1]]) for row in forbidden.tolist()} == {(2, 2)}  # x is C and y is Q
    assert len(forbidden) == 2  # for both states of z


@pytest.mark.parametrize("scale", [1.0, 40.0])
@pytest.mark.parametrize("name", TIED)
def test_the_same_as_without(name: str, scale: float) -> None:
    model, corpus = trained(CASES[name], scale=scale)
    plain = model.with_weights(model.weights, model.record)
    object.__setattr__(plain, "graph", without_products(model.graph))
    assert plain.graph.num_shared < model.graph.num_shared
    value, gradient = objective_of(model, corpus, ExactSettings()).value_and_gradient(model.weights)
    wanted, by_plain = objective_of(plain, corpus, ExactSettings()).value_and_gradient(model.weights)
    assert value == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, by_plain, rtol=1e-9, atol=1e-12)


def test_a_product_beyond_linear_space_leaves_messages_there() -> None:
    model, corpus = trained(CASES["three chains"])
    weights = np.where(np.random.default_rng(5).random(model.num_weights) < 0.5, -150.0, 0.0)  # three: e^-450
    exact = objective_of(model, corpus, ExactSettings())
    potentials = exact.data.potentials(weights)
    assert potentials.fits
    assert not potentials.products_fit
    plain = model.with_weights(weights, model.record)
    object.__setattr__(plain, "graph", without_products(model.graph))
    wanted, by_plain = objective_of(plain, corpus, ExactSettings()).value_and_gradient(weights)
    value, gradient = exact.value_and_gradient(weights)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(gradient, by_plain, rtol=1e-9, atol=1e-12)


def test_long_sequences_get_theirs_by_repetition() -> None:
    graph = trained(CASES["tied layers"])[0].graph
    bank = graph.bank(programs=True)
    bank.add(graph.shape(60))
    at = graph.shared.product_places()[0].at
    read = (bank.program_arrays().step[:, 1:3] == at).sum()
    assert read == 60
