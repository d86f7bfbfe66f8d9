"""What is trained and decoded by pieces: local decoding, factors that calibrate, cases that a model chooses."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from model_cases import columns, trained, twin_of
from piece_twin import SHORTHANDS, PieceTwin, settings_of, supervised
from template_cases import CASES, Case, sentences

from dcrfdsl.criteria.likelihood import build_likelihood
from dcrfdsl.criteria.piece_likelihood import build_pieces
from dcrfdsl.criteria.rescale import build_rescaling
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph.piece_instances import piece_templates
from dcrfdsl.inference import Binder, Decoded
from dcrfdsl.inference.decoding.local_decoding import LocalDecoder
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.prior_settings import NoPrior
from dcrfdsl.semantics.settings.training_settings import (
    LikelihoodSettings,
    LikelyCases,
    RescaleSettings,
    TrainSettings,
)
from dcrfdsl.training.pipeline import fit


@pytest.mark.long
@pytest.mark.parametrize("shorthand", ["memm", "memm by slices", "reverse memm", "pseudolikelihood"])
@pytest.mark.parametrize("name", ["chain", "second order", "factorial", "three chains", "padded chain"])
def test_local_decoding_finds_the_best_product_of_local_distributions(name: str, shorthand: str) -> None:
    case = CASES[name]
    model, corpus = trained(case, scale=1.5)
    pieces = SHORTHANDS[shorthand](model.spec)
    rows = model.extractor.extract(corpus)
    data = Binder(model.graph, model.parameters, programs=False).bind(rows, corpus.sentence_off)
    decoder = LocalDecoder(data, piece_templates(model.spec, model.graph, pieces), model.graph)
    out = Decoded.empty(data)
    labelling = out.labelling
    decoder.decode(data.potentials(model.weights), 0, data.num_sequences, out)
    twin, labels = twin_of(model, case), list(model.states)
    for number, sentence in enumerate(case.sentences):
        table = columns(case, sentence)
        best, pieces_of = (-np.inf, {}), PieceTwin(twin, table, {})
        for labelled in twin.possible(table):
            best = max(best, (-pieces_of.of(labelled).loss(pieces), labelled), key=lambda pair: pair[0])
        found = labelling[data.labelling_off[number] : data.labelling_off[number + 1]].reshape(len(sentence), -1)
        assert out.score[number] == pytest.approx(best[0], abs=1e-9)
        assert [[model.states[label][state] for label, state in zip(labels, row, strict=True)] for row in found] == [
            [best[1][label][t] for label in labels] for t in range(len(sentence))
        ]


# rescaling, cases that a model chooses --------------------------------------------------------------------------------


@pytest.mark.parametrize("per", ["clique", "label", "source"])
@pytest.mark.parametrize("name", ["chain", "padded chain", "factorial", "a view that ties weights"])
def test_rescaling_is_the_likelihood_of_scaled_weights(name: str, per: str) -> None:
    given, weights = supervised(CASES[name])
    settings = TrainSettings(criterion=RescaleSettings(per=per), infer=ExactSettings())
    objective = build_rescaling(replace(given, weights=weights), settings)
    likelihood = build_likelihood(given, TrainSettings(criterion=LikelihoodSettings(), prior=NoPrior()))
    start = objective.start(weights)
    assert np.array_equal(objective.weights_of(start), weights)
    assert objective.value_and_gradient(start)[0] == pytest.approx(likelihood.value_and_gradient(weights)[0], rel=1e-12)
    factors = np.random.default_rng(3).uniform(0.5, 1.5, len(start))
    _, gradient = objective.value_and_gradient(factors)
    reference.assert_gradient(lambda a: objective.value_and_gradient(a)[0], factors, gradient, 2e-6)


@pytest.mark.parametrize("variance", [0.25, 3.0])
def test_a_prior_keeps_factors_near_one(variance: float) -> None:
    """Value and gradient are those without it and of Σ (α − 1)² / (2 variance)."""
    given, weights = supervised(CASES["chain"])
    free, kept = (
        build_rescaling(replace(given, weights=weights), TrainSettings(criterion=one, infer=ExactSettings()))
        for one in (RescaleSettings(per="label"), RescaleSettings(per="label", variance=variance))
    )
    factors = np.random.default_rng(4).uniform(-0.5, 2.5, free.num_subsets)
    (value, gradient), (with_prior, both) = free.value_and_gradient(factors), kept.value_and_gradient(factors)
    assert with_prior == pytest.approx(value + ((factors - 1) ** 2).sum() / (2 * variance), rel=1e-12)
    np.testing.assert_allclose(both, gradient + (factors - 1) / variance, rtol=1e-12)
    reference.assert_gradient(lambda a: kept.value_and_gradient(a)[0], factors, both, 2e-6)


def test_one_factor_belongs_to_each_source_state() -> None:
    given, weights = supervised(CASES["chain"])
    settings = TrainSettings(criterion=RescaleSettings(per="source"), infer=ExactSettings())
    objective = build_rescaling(replace(given, weights=weights), settings)
    (label,) = given.spec.labels
    states = given.graph.cards[0]
    assert label and objective.num_subsets == states
    clique, _, assignment = given.parameters.origins()
    for number, template in enumerate(given.graph.templates):
        own = clique == number
        first = np.unravel_index(assignment[own], template.full_cards)[0]
        for state in range(states):
            assert len(np.unique(objective.subset[own][first == state])) <= 1


STAGES = """
data conll(word, y)
label y
clique y as words: bias, word
clique y[-1], y as chain
piece next over y: chain, words
train piecewise(next) as pt: {nota}
train rescale as cal after pt: per = source
"""


def fitted(nota: str, stage: str) -> tuple[TrainedModel, Any]:
    resolved = load_text(STAGES.format(nota=f"nota = {nota}, decode = local"))
    corpus = corpus_from_rows(sentences("PQR", count=40, longest=6), resolved.require().data)
    return fit(resolved, corpus, stage=stage, threads=1), corpus


def test_rescaling_does_not_lower_the_likelihood() -> None:
    before, corpus = fitted("all", "pt")
    after, _ = fitted("all", "cal")
    assert after.scores.log_likelihood(corpus) > before.scores.log_likelihood(corpus)
    assert (after.record.stage, len(after.record.before)) == ("cal", 1)


@pytest.mark.parametrize("threshold", [0.05, 0.3])
def test_likely_cases_are_those_above_the_threshold(threshold: float) -> None:
    """Training goes on with the cases that the model finds likely after so many iterations."""
    paused, corpus = fitted("all", "pt")
    given, _ = supervised(Case(STAGES.format(nota="seed = 0"), sentences("PQR", count=40, longest=6)))
    nota = LikelyCases(threshold=threshold, after=3)
    objective = build_pieces(given, settings_of(pieces=("next",), nota=nota))
    assert objective.pause == 3
    objective.advance(paused.weights)
    cases = objective.parts[0].method.cases
    marginals, _ = paused.marginals(corpus)
    gold = given.gold.codes[0]
    expected = []
    for s in range(corpus.num_sentences):
        for t in range(corpus.sentence_off[s] + 1, corpus.sentence_off[s + 1]):
            own = marginals["y"][t - 1]
            expected.append([k for k in range(len(own)) if own[k] > threshold and k != gold[t - 1]])
    listed = [cases.case[a:b].tolist() for a, b in itertools.pairwise(cases.case_off.tolist())]
    # the first instance of a sentence conditions on nothing, and so has no other case
    starts = set(cases.instance[:-1].tolist())
    assert [own for n, own in enumerate(listed) if n not in starts] == expected
    assert sum(map(len, expected)) > 10


def test_cases_are_chosen_in_the_midst_of_training() -> None:
    model, corpus = fitted("above(threshold = 0.2, after = 5)", "pt")
    plain, _ = fitted("above(threshold = 0.99, after = 5)", "pt")
    assert model.record.iterations > 5 and model.record.converged
    assert model.record.objective > plain.record.objective  # each case adds a loss
    assert model.predict(corpus).codes["y"].tolist() != []


# constraints that are folded into a clique ----------------------------------------------------------------------------

FOLDED = (
    "data conll(word, y, z)\nlabel y in {A, B, C}\nclique y as one with states = all: bias\n"
    "clique y[-1], y as two: bias\nforbid y[-1] is A and y is C\ninfer exact\n"
)
ROWS = [("w", "C", "P"), ("w", "C", "Q"), ("w", "A", "P"), ("w", "B", "Q")]


def trained_from(text: str) -> tuple[TrainedModel, dict[tuple[str, tuple[str, ...]], float]]:
    """A model trained for a step from random weights, and its weights of biases by clique and states."""
    resolved = load_text(text + ", prior = none, optimizer = lbfgs(max_iterations = 1)\n")
    corpus = corpus_from_rows([ROWS], resolved.require().data)
    first = fit(resolved, corpus, threads=1)
    start = first.with_weights(np.random.default_rng(3).normal(size=first.num_weights), first.record)
    model = fit(resolved, corpus, threads=1, start=start)
    return model, {(clique, states): weight for clique, _, states, weight in model.explanations.iter_weights()}


def possible(length: int) -> list[tuple[str, ...]]:
    """The states of neighbours that no constraint forbids."""
    every = itertools.product("ABC", repeat=length)
    return [states for states in every if ("A", "C") not in itertools.pairwise(states)]


def test_a_piece_keeps_a_constraint_that_is_folded_into_the_clique_of_another() -> None:
    model, weight = trained_from(FOLDED + "clique y[-2], y[-1], y as three: bias\ntrain piecewise: overlap = count")
    y, expected = [row[1] for row in ROWS], 0.0
    for length, clique in ((1, "one"), (2, "two"), (3, "three")):
        scores = {states: weight.get((clique, states), 0.0) for states in possible(length)}
        for first in range(len(y) - length + 1):
            expected += reference.log_sum(np.array([*scores.values()])) - scores[tuple(y[first : first + length])]
    assert model.record.objective == pytest.approx(expected, rel=1e-9)


def test_nota_leaves_out_cases_that_a_folded_constraint_forbids() -> None:
    model, weight = trained_from(
        FOLDED + "label z in {P, Q}\nclique y, z as both: bias\nclique y[-1], z as across: bias\ntrain memm: nota = all"
    )
    expected = 0.0

    def score(clique: str, *states: str) -> float:
        return weight.get((clique, states), 0.0)

    for t, (_, here, beside) in enumerate(ROWS):
        before = ROWS[t - 1][1] if t else ""
        given = possible(1 + (t > 0))  # of the piece of z: y, and y before it
        for states in given:
            of_z = [score("both", states[-1], z) + (score("across", states[0], z) if t else 0.0) for z in "PQ"]
            expected += float(np.logaddexp(0.0, reference.log_sum(np.array(of_z))))
        expected -= score("both", here, beside) + (score("across", before, beside) if t else 0.0)
        for one in "ABC" if t else [""]:  # the piece of y
            of_y = [
                score("one", y) + (score("two", one, y) if t else 0.0) for y in "ABC" if not t or (one, y) != ("A", "C")
            ]
            expected += float(np.logaddexp(0.0, reference.log_sum(np.array(of_y))))
        expected -= score("one", here) + (score("two", before, here) if t else 0.0)
    assert model.record.objective == pytest.approx(expected, rel=1e-9)
