"""Criteria of models with given scores: as of the same model whose scores are numeric features with weights of 1.

Pieces take in the scores of their variables, which the other model's pieces do not: these are enumerated.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
import reference
from numpy.typing import NDArray
from offset_cases import CASES, Key, OffsetCase
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
NO = "prior = none"
ALIKE = {  # the value differs by half the squares of the weights of 1 where those are penalised
    "likelihood": f"likelihood: {NO}",
    "likelihood of costs": f'likelihood: {NO}, cost = cost(y, "P Q 2.5", "* P 0.4", others = 1.5)',
    "induce": f"induce: {NO}",
    "marginal": f"marginal: {NO}",
    "exponential": f"exponential: {NO}, weight = 0.4",
    "perceptron": "perceptron",
    "hmsvm": "hmsvm: slack = sequence, C = 0.7",
    "hmsvm of labellings": "hmsvm: slack = labelling, weight = 0.6",
    "hmsvm of costs": 'hmsvm: loss = cost(y, "P Q 2.5", "* P 0.4", others = 1.5), slack = sequence',
    "mce": f"mce: {NO}",
    "mce, difference": f"mce: {NO}, measure = difference",
    "mce by sums": f"mce: {NO}, psi = 2",
    "mce by means": f"mce: {NO}, psi = 1, normalise = yes",
    "mce, difference by sums": f"mce: {NO}, psi = 1, measure = difference",
    "mce of labels": f"mce: {NO}, loss = label(y)",
    "mce of segments": f"mce: {NO}, loss = fscore(y)",
    "pseudolikelihood": f"pseudolikelihood: {NO}",
    "memm": f"memm: {NO}",
    "bidirectional": f"bidirectional: {NO}",
}


@functools.cache
def both(name: str) -> tuple[tuple[Case, list[Key]], tuple[Case, list[Key]]]:
    """The case with offsets and with numbers, each with the keys of its weights."""
    case, given = CASES[name], CASES[name].given()
    found = []
    for text, rows in (case.with_offsets(given), case.with_numbers(at_first(given) if is_of_sentence(name) else given)):
        one = Case(f"{text}infer exact\n", rows)
        model = fit(load_text(f"{one.text}train likelihood: optimizer = lbfgs(max_iterations = 1)\n"), one.corpus())
        found.append((one, [row[:3] for row in model.explanations.iter_weights()]))
    return found[0], found[1]


def is_of_sentence(name: str) -> bool:
    return "for sentence" in CASES[name].text


def at_first(given: list[dict[str, Floats]]) -> list[dict[str, Floats]]:
    """A label of the sentence has the score of the first token, while numbers are features of all tokens."""
    return [{name: np.where(np.arange(len(x))[:, None] == 0, x, 0.0) for name, x in one.items()} for one in given]


def built(case: Case, train: str) -> Any:
    """The objective of a stage, or the slug with which it is refused."""
    errors = [one.slug for one in check(load_text(f"{case.text}train {train}\n")) if one.severity == "error"]
    if errors:
        return errors[0]
    try:
        problem, settings = problem_of(case, train)
        return CRITERIA[settings.criterion.method](problem, settings)
    except DcrfError as error:
        return error.diagnostics[0].slug


def spread(case: OffsetCase, weights: Floats, keys: list[Key], wide: list[Key]) -> tuple[Floats, list[int]]:
    """The weights of the model with numbers, and the places of the others among them."""
    place = {key: n for n, key in enumerate(keys)}
    all_weights = np.array([weights[place[key]] if key in place else case.weight(key) for key in wide], float)
    return all_weights, [wide.index(key) for key in keys]


@pytest.mark.parametrize("train", ALIKE)
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_those_of_numbers_with_weights_of_one(name: str, train: str) -> None:
    (one, keys), (other, wide) = both(name)
    objective, expected = built(one, ALIKE[train]), built(other, ALIKE[train])
    if isinstance(objective, str) or isinstance(expected, str):
        assert objective == expected
        return
    weights = np.random.default_rng(1).normal(0.0, 0.7, len(keys))
    all_weights, places = spread(CASES[name], weights, keys, wide)
    if train.startswith("hmsvm"):  # hidden labels are completed at weights of 0 first
        objective.complete(weights)
        expected.complete(all_weights)
    value, gradient = objective.value_and_gradient(weights)
    wanted, slopes = expected.value_and_gradient(all_weights)
    if train.startswith("hmsvm"):
        wanted -= 0.5 * (float(all_weights @ all_weights) - float(weights @ weights))
    assert value == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(gradient, slopes[places], atol=1e-9)


@pytest.mark.parametrize("train", ["exponential: prior = none", "adaboost", "adaboost: weight = 0.4"])
@pytest.mark.parametrize("name", ["chain", "factorial", "bio", "tested"])
def test_risks_begin_with_what_is_given(name: str, train: str) -> None:
    """At weights of 0 each sentence counts 1, or all together; the risks move as those of numbers do."""
    (one, keys), (other, wide) = both(name)
    objective = built(one, train)
    start = objective.value_and_gradient(np.zeros(len(keys)))[0]
    assert start == pytest.approx(len(one.sentences) if train.startswith("exp") else 1.0)
    weights = np.random.default_rng(1).normal(0.0, 0.7, len(keys))
    _, gradient = objective.value_and_gradient(weights)
    slopes = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, slopes, atol=1e-5 * max(1.0, float(np.abs(slopes).max())))
    if "weight" in train:  # the same for every labelling, so that both differ by a factor
        value, expected = objective.value_and_gradient(weights)[0], built(other, train)
        all_weights, places = spread(CASES[name], weights, keys, wide)
        wanted, slopes = expected.value_and_gradient(all_weights)
        np.testing.assert_allclose(gradient / value, slopes[places] / wanted, atol=1e-9)


@pytest.mark.parametrize("nota", [False, True])
@pytest.mark.parametrize("name", ["chain", "tested"])
def test_a_given_score_belongs_to_every_piece_that_has_its_variables(name: str, nota: bool) -> None:
    case, given = CASES[name], CASES[name].given()
    (one, keys), _ = both(name)
    objective = built(one, f"piecewise: {NO}{', nota = all' * nota}")
    weights = np.random.default_rng(1).normal(0.0, 0.7, len(keys))
    weight = dict(zip(keys, weights.tolist(), strict=True))
    states, total = case.states["y"], 0.0

    def loss(scores: dict[tuple[str, ...], float], gold: tuple[str, ...]) -> float:
        """Of a piece; NOTA is an outcome more, of score 0."""
        return reference.log_sum(np.array([*scores.values(), *[0.0] * nota])) - scores[gold]

    for sentence, table in zip(case.sentences, given, strict=True):
        words, labels = [row[0] for row in sentence], [row[1] for row in sentence]
        own = [
            {y: table["s"][t][k] + (table["r"][t][k] if words[t] == "a" and "r" in table else 0.0)
             for k, y in enumerate(states)}
            for t in range(len(words))
        ]  # fmt: skip
        for t, word in enumerate(words):
            features = ("bias", f"word={word}")
            of_words = {
                (y,): own[t][y] + sum(weight.get(("words", one, (y,)), 0.0) for one in features) for y in states
            }
            total += loss(of_words, (labels[t],))
            if t:
                pairs = itertools.product(states, states)
                moves = {
                    (a, b): own[t - 1][a] + own[t][b] + weight.get(("moves", "bias", (a, b)), 0.0) for a, b in pairs
                }
                total += loss(moves, (labels[t - 1], labels[t]))
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(total, rel=1e-9)
    slopes = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, slopes, atol=1e-6)


@pytest.mark.parametrize("train", ["piecewise", "pwpl", "piecewise: overlap = divide"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_pieces_are_those_of_their_values(name: str, train: str) -> None:
    (one, keys), _ = both(name)
    objective = built(one, f"{train}{',' if ':' in train else ':'} {NO}")
    if isinstance(objective, str):
        return
    weights = np.random.default_rng(1).normal(0.0, 0.7, len(keys))
    _, gradient = objective.value_and_gradient(weights)
    slopes = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, slopes, atol=1e-6)


def test_iterative_scaling_refuses_scores_without_weights() -> None:
    (one, _), _ = both("chain")
    with pytest.raises(DcrfError) as caught:
        fit(load_text(f"{one.text}train likelihood: optimizer = iis, prior = none\n"), one.corpus())
    assert caught.value.diagnostics[0].slug == "cannot-scale"


@pytest.mark.parametrize("optimizer", ["sgd(epochs = 2)", "adagrad", "bcfw(max_iterations = 3)"])
def test_batches_have_the_value_of_the_whole(optimizer: str) -> None:
    (one, keys), _ = both("chain")
    objective = built(one, "likelihood")
    weights = np.random.default_rng(1).normal(0.0, 0.7, len(keys))
    batches = objective.batches(2)
    batches.begin(weights.copy())
    value = sum(batches.gradient(n)[0] for n in range(batches.count))
    penalty = 0.5 * float(objective.penalty.precision @ weights**2)
    assert value + penalty == pytest.approx(objective.value_and_gradient(weights)[0], rel=1e-9)
