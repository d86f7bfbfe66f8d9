"""Pieces of parameter independence diagrams against textbook objectives, summed state by state in texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from helpers import SHARED
from model_cases import TINY, columns, gold_of, tiny_model, trained, twin_of
from piece_twin import SHORTHANDS, PieceTwin, settings_of, supervised
from template_cases import CASES, Case, free

from dcrfdsl.criteria.likelihood import Likelihood, build_likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.criteria.piece_likelihood import build_pieces
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.labels import encode_labels
from dcrfdsl.graph.piece_instances import piece_templates
from dcrfdsl.inference import Binder, Workers
from dcrfdsl.inference.piece_methods import PieceMethod, no_cases
from dcrfdsl.kernels.piecewise.piece_losses import ALL, ONE
from dcrfdsl.model.predictor import gold_of as full_gold
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.piece_shorthands import by_clique, by_site, by_variable
from dcrfdsl.semantics.settings.prior_settings import NoPrior
from dcrfdsl.semantics.settings.training_settings import AllCases, LikelihoodSettings, PwplSettings, TrainSettings
from dcrfdsl.syntax import Member, Piece, Site
from dcrfdsl.syntax.nodes import Here, Named
from dcrfdsl.training import fit

PLAIN = {
    name: case
    for name, case in CASES.items()
    if case.allowed is free and not case.joins and not case.resolved().require().constraints
}


def piece_objective(
    model: TrainedModel, corpus: Any, pieces: Sequence[Piece], *, packed: bool = False, threads: int = 1, **kwargs: Any
) -> Likelihood:
    rows, relations = model.extractor.extract(corpus), model.extractor.relations(model.extractor.values(corpus))
    gold = full_gold(model.spec, model.states, model.extractor, corpus, encode_labels(model.spec, model.states, corpus))
    data = Binder(model.graph, model.parameters, programs=False).bind(rows, corpus.sentence_off, relations)
    data = data.packed() if packed else data
    nota = kwargs.pop("nota", None)
    if nota is not None:
        kwargs["cases"] = no_cases(data.num_sequences)._replace(mode=nota)
    method = PieceMethod(data, piece_templates(model.spec, model.graph, pieces), gold, **kwargs)
    zeros = np.zeros(model.num_weights)
    return Likelihood(data, method, zeros, Penalty(zeros), Workers(threads))


def expected_loss(model: TrainedModel, case: Case, pieces: Sequence[Piece], **kwargs: Any) -> float:
    twin, total = twin_of(model, case), 0.0
    for sentence in case.sentences:
        table = columns(case, sentence)
        total += PieceTwin(twin, table, gold_of(model, table)).loss(pieces, **kwargs)
    return total


def assert_gradient_fits(objective: Likelihood, weights: Any) -> None:
    _, gradient = objective.value_and_gradient(weights)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 2e-6)


@pytest.mark.parametrize("shorthand", SHORTHANDS)
@pytest.mark.parametrize("name", PLAIN)
def test_shorthands_are_their_textbook_objectives(name: str, shorthand: str) -> None:
    case = PLAIN[name]
    model, corpus = trained(case)
    pieces = SHORTHANDS[shorthand](model.spec)
    for packed in (False, True):
        objective = piece_objective(model, corpus, pieces, packed=packed)
        value, _ = objective.value_and_gradient(model.weights)
        assert value == pytest.approx(expected_loss(model, case, pieces), rel=1e-10)
        assert_gradient_fits(objective, model.weights)


MIRRORED = {"likelihood": "likelihood", "pseudolikelihood": "pseudolikelihood", "pwpl": "pwpl",
            "piecewise": "piecewise", "memm": "memm(order = reverse)"}  # fmt: skip


@pytest.mark.parametrize("criterion", MIRRORED)
def test_reversed_sentences_give_mirrored_weights(criterion: str) -> None:
    """START is to the first label what STOP is to the last one."""
    text = "data conll(word, y)\nlabel y in {A, B}\nclique y[-1], y with edges = pad\ninfer exact\n"

    def weights(criterion: str, sentences: Sequence[str]) -> dict[tuple[str, str], float]:
        resolved = load_text(text + f"train {criterion}: prior = gaussian(variance = 10), optimizer = lbfgs\n")
        rows = [[{"word": "w", "y": y} for y in sentence] for sentence in sentences]
        model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
        return {(a, b): value for _, _, (a, b), value in model.explanations.iter_weights()}

    sentences = ["AB", "AAB", "B", "ABB"]
    found = weights(criterion, sentences)
    turned = weights(MIRRORED[criterion], [sentence[::-1] for sentence in sentences])
    other = {"START": "STOP", "STOP": "START"}
    assert len(found) == 8 and min(abs(found[end]) for end in found if end[0] == "START" or end[1] == "STOP") > 0.1
    for (a, b), value in found.items():
        assert value == pytest.approx(turned[other.get(b, b), other.get(a, a)], abs=1e-3)


def test_a_piece_with_a_constraint_alone_is_none() -> None:
    """`forbid` touches the first label, and the piece of the clique's second one is not there."""
    text = "data conll(word, y)\nlabel y in {A, B, C}\nclique y[-1], y\nforbid y is A and word is b\ninfer exact\n"
    resolved = load_text(text + "train pwpl: prior = gaussian(variance = 1e-12)\n")
    rows = [[{"word": x, "y": y} for x, y in zip("abc", "ABC", strict=True)]]
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    assert model.record.objective == pytest.approx(2 * np.log(3) + 2 * np.log(2))


@pytest.mark.parametrize("name", CASES)
def test_pseudolikelihood_is_every_variable_given_all_others(name: str) -> None:
    case = CASES[name]
    model, corpus = trained(case)
    spec: ModelSpec = model.spec
    if any(template.clique < 0 for template in model.graph.templates):
        pytest.skip("a hard constraint joins variables that no clique does, and is no part of a piece")
    twin, expected = twin_of(model, case), 0.0
    for sentence in case.sentences:
        table = columns(case, sentence)
        total = twin.joint(table)
        gold = gold_of(model, table)
        index = [model.states[name].index(gold[name][t]) for t in range(len(sentence)) for name in model.states]
        for axis in range(len(index)):
            around = tuple(slice(None) if a == axis else own for a, own in enumerate(index))
            if np.ptp(total[around]) > 0.0:  # else no clique touches it: a constant, which no piece has
                expected += reference.log_sum(total[around]) - total[tuple(index)]
    value, _ = piece_objective(model, corpus, by_variable(spec)).value_and_gradient(model.weights)
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("nota", [ALL, ONE], ids=["all", "one"])
@pytest.mark.parametrize("shorthand", ["memm", "pseudolikelihood", "pwpl", "piecewise"])
@pytest.mark.parametrize("name", ["chain", "second order", "factorial", "padded chain", "numbers"])
def test_nota_is_right_wherever_what_is_conditioned_on_is_wrong(name: str, shorthand: str, nota: int) -> None:
    case = CASES[name]
    model, corpus = trained(case, scale=0.6)
    pieces = SHORTHANDS[shorthand](model.spec)
    objective = piece_objective(model, corpus, pieces, nota=nota)
    value, _ = objective.value_and_gradient(model.weights)
    assert value == pytest.approx(expected_loss(model, case, pieces, nota=nota), rel=1e-10)
    assert_gradient_fits(objective, model.weights)


OBSERVED = Case(
    "data conll(word, y)\nlabel y in {P, Q, R}\nclique y[-1], y as move\nforbid y is P and word is b\n",
    [[("b", "Q")], [("a", "P"), ("b", "R"), ("a", "Q")], [("b", "R"), ("a", "P"), ("c", "R")]],
)


@pytest.mark.parametrize("nota", [None, ALL], ids=["", "nota"])
def test_where_constraints_alone_apply_there_is_no_instance(nota: int | None) -> None:
    """By enumeration of pwpl: each variable of each move given the other one, in the states that its word allows."""
    given, weights = supervised(OBSERVED)
    model, _ = trained(OBSERVED)
    twin, expected = twin_of(model.with_weights(weights, model.record), OBSERVED), 0.0
    for sentence in OBSERVED.sentences:
        table = columns(OBSERVED, sentence)
        gold = gold_of(model, table)
        pieces = PieceTwin(twin, table, gold)
        free = [[s for s in "PQR" if not (s == "P" and word == "b")] for word, _ in sentence]
        for t in range(1, len(sentence)):
            for own, other in ((t - 1, t), (t, t - 1)):

                def scores(neighbour: str, own: int = own, other: int = other, t: int = t) -> list[float]:
                    cells = [(("y", own), ("y", other), s, neighbour) for s in free[own]]  # noqa: B023
                    found = [pieces.clique_score("move", t, pieces.changed(c[:2], c[2:])) for c in cells]  # noqa: B023
                    assert None not in found
                    return [score for score in found if score is not None] + [0.0] * (nota is not None)

                right = pieces.clique_score("move", t, gold)
                assert right is not None
                expected += reference.log_sum(np.array(scores(gold["y"][other]))) - right
                wrong = [s for s in free[other] if s != gold["y"][other]] if nota is not None else []
                expected += sum(reference.log_sum(np.array(scores(s))) for s in wrong)
    criterion = PwplSettings(nota=AllCases() if nota is not None else None)
    settings = TrainSettings(criterion=criterion, prior=NoPrior(), infer=ExactSettings())
    value, _ = build_pieces(given, settings).value_and_gradient(weights)
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", ["chain", "second order", "factorial", "three chains"])
def test_divided_overlap_counts_each_clique_once(name: str) -> None:
    case = CASES[name]
    model, corpus = trained(case)
    pieces = by_variable(model.spec)
    objective = piece_objective(model, corpus, pieces, divide=True)
    value, _ = objective.value_and_gradient(model.weights)
    assert value == pytest.approx(expected_loss(model, case, pieces, divide=True), rel=1e-10)
    assert_gradient_fits(objective, model.weights)


STORED = {"pl": by_variable, "pw": by_clique, "pwpl": by_site}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the stored answers are not on this machine")
@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("run", STORED)
def test_stored_answers_of_a_tiny_factorial_model(run: str, name: str) -> None:
    model, corpus, given, order, answers = tiny_model(name)
    stored = next(own for own in answers["results"] if own["run"] == f"{run}/-")
    objective = piece_objective(model, corpus, STORED[run](model.spec))
    value, gradient = objective.value_and_gradient(model.weights)
    assert -value == pytest.approx(stored["log_likelihood_unpenalized"], abs=1e-8)
    found = {key: -g for key, g in zip(order, gradient, strict=True) if key in given}
    assert found == pytest.approx(dict(zip(given, stored["gradient_unpenalized_brute"], strict=True)), abs=1e-8)


def test_locked_cliques_take_part_and_are_not_trained() -> None:
    case = CASES["factorial"]
    model, corpus = trained(case)
    (piece, *_) = by_variable(model.spec)
    locked = piece.members[0].clique
    members = tuple(Member(clique=m.clique, place=m.place, locked=m.clique == locked) for m in piece.members)
    free_value, free_gradient = piece_objective(model, corpus, [piece]).value_and_gradient(model.weights)
    value, gradient = piece_objective(
        model, corpus, [piece.model_copy(update={"members": members})]
    ).value_and_gradient(model.weights)
    number = [clique.label for clique in model.spec.cliques].index(locked)
    own = model.parameters.of_clique(number)
    others = np.setdiff1d(np.arange(model.num_weights), own)
    assert value == pytest.approx(free_value, rel=1e-12)
    assert np.abs(free_gradient[own]).max() > 0.1
    assert not gradient[own].any()
    np.testing.assert_allclose(gradient[others], free_gradient[others], atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_piece_over_everything_is_the_likelihood(name: str) -> None:
    given, weights = supervised(CASES[name])
    spec = given.spec
    over = tuple(Site(variable=label.name, place=Named(position="all")) for label in spec.labels)
    members = tuple(Member(clique=clique.label, place=Here()) for clique in spec.cliques)
    whole = Piece(name="whole", over=over, members=members)
    with_piece = replace(given, spec=spec.model_copy(update={"pieces": (whole,)}))
    value, gradient = build_pieces(with_piece, settings_of(pieces=("whole",))).value_and_gradient(weights)
    settings = TrainSettings(criterion=LikelihoodSettings(), infer=ExactSettings())
    expected, expected_gradient = build_likelihood(given, settings).value_and_gradient(weights)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10 * np.abs(expected_gradient).max())


def test_a_chain_given_the_other_is_conditioned_on() -> None:
    """A piece over all of `a`, with `b` in its cliques: −log p(a | b, x), which the joint model gives as well."""
    given, weights = supervised(CASES["factorial"])
    spec = given.spec
    first, *others = [label.name for label in spec.labels]
    held = [c for c in spec.cliques if any(site.variable == first for site in c.sites)]
    piece = Piece(
        name="a",
        over=(Site(variable=first, place=Named(position="all")),),
        members=tuple(Member(clique=clique.label, place=Here()) for clique in held),
    )
    with_piece = replace(given, spec=spec.model_copy(update={"pieces": (piece,)}))
    objective = build_pieces(with_piece, settings_of(pieces=("a",)))
    value, gradient = objective.value_and_gradient(weights)
    trained_by_it = np.concatenate([given.parameters.of_clique(spec.cliques.index(clique)) for clique in held])
    penalty = 0.5 * float(weights[trained_by_it] @ weights[trained_by_it]) / 10.0
    case, expected = CASES["factorial"], 0.0
    model, _ = trained(case)
    twin = twin_of(model.with_weights(weights, model.record), case)
    for sentence in case.sentences:
        table = columns(case, sentence)
        gold = gold_of(model, table)
        total = twin.joint(table)
        labels = list(model.states)
        index = tuple(
            slice(None) if name == first else model.states[name].index(gold[name][t])
            for t in range(len(sentence))
            for name in labels
        )
        right = tuple(model.states[name].index(gold[name][t]) for t in range(len(sentence)) for name in labels)
        expected += reference.log_sum(total[index]) - total[right]
    assert others
    assert value - penalty == pytest.approx(expected, rel=1e-10)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 2e-6)


def test_pieces_give_the_same_floats_for_any_number_of_threads() -> None:
    model, corpus = trained(CASES["three chains"])
    found = [
        piece_objective(model, corpus, by_clique(model.spec), threads=threads).value_and_gradient(model.weights)
        for threads in (1, 2, 3)
    ]
    for value, gradient in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(gradient, found[0][1])
