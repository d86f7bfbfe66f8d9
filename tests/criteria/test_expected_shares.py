"""Expected shares against their definition: every labelling of short sentences, scored in texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import reference
from model_cases import columns, trained, twin_of
from template_cases import CASES, Case

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.expected_shares import SharePenalty, counting_problem
from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.inference import Workers
from dcrfdsl.semantics.settings.infer_settings import BpSettings, ExactSettings, TrpSettings
from dcrfdsl.semantics.settings.prior_settings import NoPrior
from dcrfdsl.semantics.settings.training_settings import LikelihoodSettings, TrainSettings
from dcrfdsl.training.untrained_model import assemble

Holds = Callable[[dict[str, Sequence[str]], Sequence[str], int], "bool | None"]  # None: the place does not count


class Asked(NamedTuple):
    """An `expect` statement, and the same in Python: states of the variables and words of the sentence, at a place."""

    text: str
    holds: Holds
    least: float
    most: float
    strength: float = 1.0


def state(name: str, *wanted: str) -> Holds:
    return lambda y, word, t: y[name][t] in wanted


P = Asked("expect y is P with share = 0.2", state("y", "P"), 0.2, 0.2)
NOT_P = Asked("expect y is not P with least = 0.05, most = 0.1", lambda y, word, t: y["y"][t] != "P", 0.05, 0.1)
FREE = Asked("expect y is P with least = 0.01, most = 0.99", state("y", "P"), 0.01, 0.99)
WORD = Asked(
    "expect y is P when word is a with share = 0.9, strength = 3",
    lambda y, word, t: None if word[t] != "a" else y["y"][t] == "P",
    0.9, 0.9, 3.0,
)  # fmt: skip
MOVE = Asked(
    "expect y[-1] is P and y is not P with share = 0.4",
    lambda y, word, t: None if t == 0 else y["y"][t - 1] == "P" and y["y"][t] != "P",
    0.4, 0.4,
)  # fmt: skip
MIXED = Asked(
    "expect y is P and word is b or y is Q and y[1] is Q with most = 0.05",
    lambda y, word, t: None
    if t + 1 >= len(word)
    else (y["y"][t] == "P" and word[t] == "b") or (y["y"][t] == "Q" == y["y"][t + 1]),
    0.0, 0.05,
)  # fmt: skip
PAIR = Asked(
    "expect y is P and z is S with least = 0.6", lambda y, word, t: (y["y"][t], y["z"][t]) == ("P", "S"), 0.6, 1
)
ENTITY = Asked("expect y is not O with share = 0.15", lambda y, word, t: y["y"][t] != "O", 0.15, 0.15)
LATENT = Case(
    'data conll(word, y)\nlabel y in {P, Q} with missing = "_"\nlatent h in 2\nclique y, h: bias, word\n'
    "clique y[-1], y\ninfer exact\n",
    [[("a", "P"), ("b", "_"), ("a", "Q")], [("b", "Q"), ("c", "P")], [("c", "_"), ("a", "P")]],
)
TABLE = [
    ("independent", P), ("chain", P), ("chain", NOT_P), ("chain", FREE), ("chain", WORD), ("chain", MOVE),
    ("chain", MIXED), ("padded chain", WORD), ("second order", P), ("second order", MIXED), ("factorial", PAIR),
    ("factorial", MOVE), ("skip chain", WORD), ("segments", ENTITY), ("numbers", P), ("latent", WORD),
    ("a view that ties weights", Asked("expect coarse is P with share = 0.2", state("y", "P1", "P2"), 0.2, 0.2)),
    ("latent", Asked("expect h is 0 with share = 0.3", state("h", "0"), 0.3, 0.3)),
]  # fmt: skip


def asking(name: str, *asked: Asked) -> Case:
    """The case with these statements, and room for what is kept of it."""
    case = LATENT if name == "latent" else CASES[name]
    text = f"{case.text.rstrip()}\n" + "".join(f"{one.text}\n" for one in asked)
    return Case(text, case.sentences, None if name == "latent" else case.allowed, case.joins, case.views)


def problem_of(case: Case) -> TrainingProblem:
    resolved, corpus = case.resolved(), case.corpus()
    begun = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, counts = begun.learn_parameters()
    problem = TrainingProblem(
        begun.spec, begun.graph, parameters, begun.rows, begun.relations, corpus.sentence_off, begun.gold, counts,
        Workers(2), states=tuple(begun.states[name] for name in begun.graph.variables), extractor=begun.extractor,
    )  # fmt: skip
    return replace(problem, counting=counting_problem(problem, corpus, begun.rows, begun.relations))


def settings_with(infer: Any = None) -> TrainSettings:
    return TrainSettings(criterion=LikelihoodSettings(), prior=NoPrior(), infer=infer or ExactSettings())


def by_enumeration(case: Case, asked: Sequence[Asked], weights: Any) -> tuple[float, Any]:
    """The penalty and its gradient: shares and covariances over all labellings of each sentence."""
    model, _ = trained(case)
    twin, value, gradient = twin_of(model, case), 0.0, np.zeros(len(weights))
    for one in asked:
        mass = places = 0.0
        covariance = np.zeros(len(weights))
        for sentence in case.sentences:
            table = columns(case, sentence)
            every, word = twin.enumerate(table), table["word"]
            scores = every.scores(weights)
            p = np.exp(scores - reference.log_sum(scores))
            held = np.zeros(len(p))
            for row, index in enumerate(every.index.reshape(len(p), len(word), -1)):
                y = {name: [model.states[name][s] for s in index[:, m]] for m, name in enumerate(every.states)}
                told = [one.holds(y, word, t) for t in range(len(word))]
                held[row] = sum(map(bool, told))
            places += sum(answer is not None for answer in told)
            mass += p @ held
            covariance += (p * held) @ every.counts - (p @ held) * (p @ every.counts)
        r = mass / places
        q = min(max(r, one.least), one.most)
        for a, b in ((q, r), (1 - q, 1 - r)):
            value += one.strength * places * a * np.log(a / b) if a > 0.0 else 0.0
        gradient += one.strength * (r - q) / (r * (1 - r)) * covariance
    return value, gradient


@pytest.mark.parametrize(("name", "asked"), TABLE, ids=[f"{name}: {asked.text}" for name, asked in TABLE])
def test_shares_and_covariances(name: str, asked: Asked) -> None:
    case = asking(name, asked)
    problem = problem_of(case)
    assert problem.counting is not None
    penalty = SharePenalty.of(problem.counting, settings_with())
    for scale in (0.0, 0.5, 1.5):
        weights = scale * np.random.default_rng(1).normal(size=problem.parameters.num_weights)
        value, gradient = penalty.value_and_gradient(weights)
        expected, slope = by_enumeration(case, [asked], weights)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(gradient, slope, atol=2e-6 * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize("name", ["chain", "factorial", "latent"])
def test_a_likelihood_with_several_shares(name: str) -> None:
    """Value and gradient are the sums; the value agrees with the gradient by differences."""
    case, asked = asking(name, P, MOVE, WORD), [P, MOVE, WORD]
    problem, settings = problem_of(case), settings_with()
    whole = CRITERIA["likelihood"](problem, settings)
    bare = CRITERIA["likelihood"](replace(problem, counting=None), settings)
    weights = np.random.default_rng(2).normal(size=problem.parameters.num_weights)
    value, gradient = whole.value_and_gradient(weights)
    expected, slope = by_enumeration(case, asked, weights)
    value_of_bare, gradient_of_bare = bare.value_and_gradient(weights)
    assert value == pytest.approx(value_of_bare + expected, rel=1e-9)
    np.testing.assert_allclose(gradient, gradient_of_bare + slope, atol=2e-6 * np.abs(slope).max())
    numeric = reference.finite_difference(lambda w: whole.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, numeric, atol=5e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("name", ["chain", "second order", "factorial"])
def test_nothing_is_added_between_the_bounds(name: str) -> None:
    problem, settings = problem_of(asking(name, FREE)), settings_with()
    weights = np.random.default_rng(3).normal(0.0, 0.3, problem.parameters.num_weights)
    value, gradient = CRITERIA["likelihood"](problem, settings).value_and_gradient(weights)
    bare = CRITERIA["likelihood"](replace(problem, counting=None), settings).value_and_gradient(weights)
    assert value == bare[0]
    np.testing.assert_array_equal(gradient, bare[1])


@pytest.mark.parametrize("method", [BpSettings(tolerance=1e-3), TrpSettings()])
def test_messages_are_sharp_enough_for_differences(method: Any) -> None:
    """On a tree messages are exact where they have converged."""
    problem = problem_of(asking("chain", WORD))
    assert problem.counting is not None
    weights = np.random.default_rng(4).normal(size=problem.parameters.num_weights)
    exact, messages = (
        SharePenalty.of(problem.counting, settings_with(infer)).value_and_gradient(weights) for infer in (None, method)
    )
    assert messages[0] == pytest.approx(exact[0], rel=1e-6)
    np.testing.assert_allclose(messages[1], exact[1], atol=1e-4 * np.abs(exact[1]).max())


def test_long_sentences_take_smaller_steps() -> None:
    """Where all labels of a sentence move together, counts have cumulants of powers of its length."""
    text = "data conll(word, y)\nlabel y in {P, Q}\nclique y: bias\nclique y[-1], y with states = all\n"
    case = Case(f"{text}expect y is P with share = 0.9\n", [[("a", "P"), ("a", "Q")] * 200])
    problem = problem_of(case)
    assert problem.counting is not None
    penalty = SharePenalty.of(problem.counting, settings_with())
    weights = np.array([0.0, 0.001, 9.0, 0.0, 0.0, 9.0])[: problem.parameters.num_weights]
    _, gradient = penalty.value_and_gradient(weights)
    numeric = reference.finite_difference(lambda w: penalty.value_and_gradient(w)[0], weights, step=1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4 * np.abs(numeric).max())
