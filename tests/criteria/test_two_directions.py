"""Pieces that read in opposite directions with functions of their own (McCallum & Sutton 2004, Figure 1)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from model_cases import columns, gold_of, trained, twin_of
from piece_twin import PieceTwin, settings_of, supervised
from template_cases import Case, sentences

from dcrfdsl.criteria.piece_likelihood import build_pieces
from dcrfdsl.semantics.checks import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.implied_settings import decode_rule
from dcrfdsl.training.pipeline import fit

CHAIN = """
data conll(word, y)
label y in {A, B, C}
clique y[-1], y as from_left: bias, word
clique y as seen_from_left: word, word[-1]
clique y[-1], y as from_right
clique y as seen_from_right: word, word[1]
piece left  over y: from_left, seen_from_left
piece right over y: from_right[1], seen_from_right
train piecewise(left, right): prior = gaussian(variance = 10)
"""
LAYERS = """
data conll(word, x, y)
label x in {A, B}
label y in {P, Q}
clique x[-1], x as x_left
clique x[-1], x as x_right
clique x as x_words: word
clique x as x_next: word[1]
clique y[-1], y as y_left
clique y[-1], y as y_right
clique x, y as both
clique x, y as again: word
piece x_forward  over x: x_left, x_words
piece x_backward over x: x_right[1], x_next
piece y_forward  over y: y_left, both
piece y_backward over y: y_right[1], again
train piecewise(x_forward, x_backward, y_forward, y_backward): prior = gaussian(variance = 10)
"""
CASES = {
    "a chain": Case(CHAIN, sentences("ABC", seed=1)),
    "two layers": Case(LAYERS, sentences("AB", "PQ", longest=3, seed=2)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name: str) -> None:
    case = CASES[name]
    given, weights = supervised(case)
    model, expected = trained(case)[0].with_weights(weights, trained(case)[0].record), 0.0
    for sentence in case.sentences:
        table = columns(case, sentence)
        expected += PieceTwin(twin_of(model, case), table, gold_of(model, table)).loss(model.spec.pieces)
    names = tuple(piece.name for piece in model.spec.pieces)
    criterion = build_pieces(given, settings_of(pieces=names))
    value, gradient = criterion.value_and_gradient(weights)
    assert value - 0.05 * float(weights @ weights) == pytest.approx(expected, rel=1e-10)
    reference.assert_gradient(lambda w: criterion.value_and_gradient(w)[0], weights, gradient, 2e-6)


@pytest.mark.parametrize("name", CASES)
def test_decoding_is_by_the_product_of_both_directions(name: str) -> None:
    case = CASES[name]
    assert decode_rule(case.resolved().require()).name == "local"
    model, corpus = trained(case, scale=2.0)
    codes = model.predict(corpus, threads=1).codes
    start = 0
    for sentence in case.sentences:
        table, count = columns(case, sentence), len(sentence)
        twin = PieceTwin(twin_of(model, case), table, gold_of(model, table))
        found = {name: [model.states[name][code] for code in codes[name][start : start + count]] for name in codes}
        every = [
            dict(zip(model.states, chosen, strict=True))
            for chosen in itertools.product(
                *([list(one) for one in itertools.product(states, repeat=count)] for states in model.states.values())
            )
        ]
        least = min(twin.of(one).loss(model.spec.pieces) for one in every)
        assert twin.of(found).loss(model.spec.pieces) == pytest.approx(least, rel=1e-10)
        start += count


def test_each_direction_is_trained_as_if_it_were_alone() -> None:
    """Their functions are their own, so the least objective is the sum of those of two local models."""
    case = CASES["a chain"]
    ends = {"left": "left", "right": "right", "both": "left, right"}
    tight = "train piecewise({}): prior = gaussian(variance = 10), optimizer = lbfgs(tolerance = 1e-9)\n"
    head = CHAIN[: CHAIN.index("train")]
    least = {
        name: fit(load_text(head + tight.format(pieces)), case.corpus(), threads=1).record.objective
        for name, pieces in ends.items()
    }
    assert least["both"] == pytest.approx(least["left"] + least["right"], rel=1e-8)


def test_bits_are_equal_for_any_number_of_threads() -> None:
    case = CASES["a chain"]
    weights = [fit(case.resolved(), case.corpus(), threads=threads).weights for threads in (1, 2, 3)]
    for other in weights[1:]:
        np.testing.assert_array_equal(weights[0], other)


def test_twins_of_a_clique_in_two_pieces_are_no_repetition() -> None:
    assert not check(load_text(CHAIN.replace(": word, word[-1]", ": word").replace(": word, word[1]", ": word")))
    together = CHAIN.replace("left, right", "left").replace("from_left, ", "from_left, from_right, ")
    (found,) = check(
        load_text(together.replace("clique y[-1], y as from_left: bias, word", "clique y[-1], y as from_left"))
    )
    assert found.slug == "same-clique"
