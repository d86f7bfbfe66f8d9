"""The perceptron: its loss against enumeration, its steps by hand, where it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference
from model_cases import columns, gold_of, trained, twin_of
from numpy.typing import NDArray
from template_cases import CASES, Case
from training_cases import many, objective_of

from dcrfdsl.criteria.likelihood import PerceptronLoss
from dcrfdsl.optimizers.objective import Iteration, Objective, PerceptronSchedule
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def perceptron(case: Case, *overrides: str, threads: int = 1) -> PerceptronLoss:
    found = objective_of(case, "perceptron", *overrides, threads=threads)
    assert isinstance(found, PerceptronLoss)
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_how_far_the_best_labelling_scores_above_the_gold_one(name: str) -> None:
    case = CASES[name]
    model, _ = trained(case)
    twin = twin_of(model, case)
    expected = 0.0
    for sentence in case.sentences:
        table = columns(case, sentence)
        joint = twin.joint(table)
        gold = float(np.logaddexp.reduce(joint, axis=None)) - twin.loss(table, gold_of(model, table))
        expected += float(joint.max()) - gold
    objective = perceptron(case, "train.infer=exact")
    value, _ = objective.value_and_gradient(model.weights)
    assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_its_gradient_equals_finite_differences(name: str) -> None:
    """At random weights no two labellings score the same."""
    objective = perceptron(CASES[name], "train.infer=exact")
    weights = np.random.default_rng(7).normal(0.0, 1.0, objective.num_weights)
    _, gradient = objective.value_and_gradient(weights)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 1e-6)
    batches = objective.batches(1)
    assert batches is not None
    batches.begin(weights)
    summed = np.zeros_like(weights)
    for number in range(batches.count):
        _, touched, part = batches.gradient(number)
        summed[touched] += part
    np.testing.assert_allclose(summed, gradient, atol=1e-9)


class Scripted(Objective):
    """Three sequences of two weights; sequence i is wrong while weight i is below i + 1."""

    solver, average = "perceptron", True
    precision = share = np.zeros(3)
    count = 3

    def __init__(self) -> None:
        self.order: list[int] = []

    def batches(self, size: int | None = None) -> Scripted:
        assert size == 1
        return self

    def begin(self, weights: Floats) -> None:
        self.weights = weights

    def gradient(self, number: int) -> tuple[float, NDArray[np.int32], Floats]:
        self.order.append(number)
        wrong = float(self.weights[number] < number + 1)
        return wrong, np.array([number], np.int32), np.array([-wrong])

    def moved(self, number: int) -> None:
        pass

    @property
    def schedule(self) -> PerceptronSchedule:
        return PerceptronSchedule(4, self.average, vote=False, voters=None, seed=5)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        return 0.0, np.zeros(3)


@pytest.mark.parametrize("average", [True, False])
def test_the_weights_are_the_mean_over_all_sequences_or_the_last_ones(average: bool) -> None:
    objective = Scripted()
    objective.average = average
    outcome = OPTIMIZERS["auto"](objective, np.zeros(3), AutoOptimizer(), watch)
    weights, after = np.zeros(3), []
    for number in objective.order:
        weights[number] += weights[number] < number + 1
        after.append(weights.copy())
    # weight i is right after i + 1 passes, so that the fourth makes no mistake
    assert outcome.converged and outcome.iterations == 4
    assert np.array_equal(after[-1], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(outcome.weights, np.mean(after, axis=0) if average else after[-1])


SEPARABLE = many(CASES["chain"], 3)


@pytest.mark.parametrize("inference", ["exact", "bp", "trp"])
def test_it_ends_without_a_mistake_where_the_data_can_be_separated(inference: str) -> None:
    case = replace(SEPARABLE, text=SEPARABLE.text + f"infer {inference}\ntrain perceptron: epochs = 30\n")
    corpus = case.corpus()
    model = fit(case.resolved(), corpus, threads=1)
    assert model.record.converged and model.record.reason == "a pass changed no weight"
    assert model.record.inference == inference
    gold = [row[1] for sentence in case.sentences for row in sentence]
    assert [model.states["y"][code] for code in model.predict(corpus).codes["y"]] == gold


def test_labels_that_are_not_known_are_taken_from_the_best_labelling_that_agrees() -> None:
    """Of `b` the data says once that it is Q, and once nothing."""
    text = 'data conll(word, y)\nlabel y with missing = "_"\nclique y: word\ntrain perceptron\n'
    case = Case(text, [[("a", "P"), ("b", "_")], [("a", "P"), ("b", "Q")], [("b", "Q")]])
    corpus = case.corpus()
    model = fit(case.resolved(), corpus, threads=1)
    assert model.record.objective == 0.0
    assert [model.states["y"][code] for code in model.predict(corpus).codes["y"]] == ["P", "Q", "P", "Q", "Q"]


def test_the_same_weights_for_any_number_of_threads_and_others_for_another_seed() -> None:
    case = many(CASES["factorial"], 6)
    ends = []
    for threads, seed in ((1, 0), (2, 0), (1, 1)):
        objective = perceptron(case, f"train.seed={seed}", threads=threads)
        ends.append(OPTIMIZERS["auto"](objective, np.zeros(objective.num_weights), AutoOptimizer(), watch).weights)
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_a_prior_is_said_to_change_nothing() -> None:
    case = replace(CASES["chain"], text=CASES["chain"].text + "train perceptron: prior = gaussian(variance = 2)\n")
    (found,) = check(case.resolved())
    assert (found.slug, found.severity) == ("idle-setting", "warning")
    assert found.primary is not None and found.primary.span.text == "gaussian(variance = 2)"
