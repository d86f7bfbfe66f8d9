"""Iterative scaling: totals and sums against enumeration, roots against those of polynomials, where it ends."""

from __future__ import annotations

import numpy as np
import pytest
from model_cases import columns, trained, twin_of
from numpy.typing import NDArray
from template_cases import CASES, Case
from training_cases import RIB_ROB, many, noisy_words, objective_of

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.optimizers.iis import NEVER, roots
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.optimizer_settings import IisSettings, LbfgsSettings

Floats = NDArray[np.float64]
FREE = ("train.prior=none", "train.infer=exact")


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def likelihood(case: Case) -> Likelihood:
    found = objective_of(case, "likelihood", *FREE)
    assert isinstance(found, Likelihood)
    return found


SEEN = {  # cases of which every weight belongs to a feature of some gold labelling, as those of `states = seen` do
    name: CASES[name]
    for name in (
        "independent", "chain", "seen transitions", "second order", "four-site clique", "segments", "skip chain",
        "two cliques over the same sites",
    )
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_totals_are_the_largest_of_any_labelling(name: str) -> None:
    case = SEEN[name]
    model, _ = trained(case)
    objective = likelihood(case)
    seen = objective.counts > 0.0
    # the score of a labelling is its total where the weight of each feature that gold labels show is 1
    twin = twin_of(model.with_weights(seen.astype(float), model.record), case)
    expected = [float(twin.joint(columns(case, sentence)).max()) for sentence in case.sentences]
    np.testing.assert_allclose(objective.scaling().totals, expected, atol=1e-9)


@pytest.mark.parametrize("name", SEEN)
def test_expectations_by_total_sum_to_those_of_the_gradient(name: str) -> None:
    objective = likelihood(many(SEEN[name], 3))
    weights = np.random.default_rng(2).normal(0.0, 0.5, objective.num_weights)
    _, gradient = objective.value_and_gradient(weights)
    scaling = objective.scaling()
    totals = np.unique(scaling.totals)
    summed = np.zeros_like(weights)
    for own, amount in scaling.expectations_by_total(weights, totals):
        summed[own] += amount
    assert len(totals) > 1
    np.testing.assert_allclose(summed, gradient + objective.counts, atol=1e-9)


def test_expectations_of_a_total_are_those_of_its_sentences_alone() -> None:
    case = many(SEEN["chain"], 2)
    objective = likelihood(case)
    scaling = objective.scaling()
    weights = np.random.default_rng(3).normal(0.0, 0.5, objective.num_weights)
    total = np.unique(scaling.totals)[1:2]
    ((own, amount),) = scaling.expectations_by_total(weights, total)
    chosen = np.flatnonzero(scaling.totals == total[0])
    part = objective.data.only(chosen)
    alone = Likelihood(part, objective.inference.build(part), objective.counts, objective.penalty, objective.workers)
    _, gradient = alone.value_and_gradient(weights)
    expected = gradient + objective.counts
    np.testing.assert_allclose(amount, expected[own], atol=1e-9)
    assert np.abs(np.delete(expected, own)).max(initial=0.0) < 1e-9


def test_updates_are_the_roots_of_polynomials() -> None:
    generator = np.random.default_rng(4)
    totals = np.array([2.0, 3.0, 7.0])
    amounts = generator.uniform(0.0, 2.0, (3, 20)) * (generator.random((3, 20)) < 0.7)
    amounts[0, amounts.sum(axis=0) == 0.0] = 1.0
    counts = generator.uniform(0.01, 50.0, 20)
    counts[3] = 0.0  # no update
    parts = [(np.flatnonzero(row), row[row > 0.0]) for row in amounts]
    found = roots(totals, parts, counts)
    assert found[3] == 0.0
    for k in np.flatnonzero(counts):
        polynomial = np.zeros(8)
        polynomial[7 - totals.astype(int)] = amounts[:, k]
        polynomial[7] = -counts[k]
        every = np.roots(polynomial)
        (positive,) = every[(np.abs(every.imag) < 1e-9) & (every.real > 0.0)].real
        assert found[k] == pytest.approx(float(np.log(positive)), abs=1e-9)


def test_with_one_total_the_root_is_the_update_of_s() -> None:
    counts, amount = np.array([3.0, 0.5, 9.0]), np.array([1.0, 2.0, 9.0])
    found = roots(np.array([6.0]), [(np.arange(3), amount)], counts)
    np.testing.assert_allclose(found, np.log(counts / amount) / 6.0, atol=1e-12)


def path(case: Case, algorithm: str, iterations: int = 30) -> list[Floats]:
    """The weights after each iteration."""
    seen: list[Floats] = []

    def note(step: Iteration, weights: Floats) -> bool:
        seen.append(weights.copy())
        return False

    objective = likelihood(case)
    settings = IisSettings(algorithm=algorithm, max_iterations=iterations)  # type: ignore[arg-type]
    OPTIMIZERS["iis"](objective, np.zeros(objective.num_weights), settings, note)
    return seen


def test_both_algorithms_go_the_same_way_where_totals_are_constant() -> None:
    """Words of three symbols each: every sequence has seven features."""
    case = Case(RIB_ROB, noisy_words(100))
    assert np.array_equal(np.unique(likelihood(case).scaling().totals), [7.0])
    for one, two in zip(path(case, "S"), path(case, "T"), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_they_go_different_ways_where_totals_differ() -> None:
    case = Case(RIB_ROB, noisy_words(60, (1, 2)))
    assert np.abs(path(case, "S", 3)[-1] - path(case, "T", 3)[-1]).max() > 1e-2


def test_the_first_step_of_s_is_the_formula() -> None:
    """δλ_k = log(Ê f_k / E f_k) / S from λ = 0, with S = 1 + 2 · (3 words · 3 symbols)."""
    case = Case(RIB_ROB, noisy_words(50, (1, 2, 3)))
    objective = likelihood(case)
    seen = objective.counts > 0.0
    start = np.where(seen, 0.0, NEVER)
    _, gradient = objective.value_and_gradient(start)
    expected = start.copy()
    expected[seen] += np.log(objective.counts[seen] / (gradient + objective.counts)[seen]) / 19.0
    np.testing.assert_allclose(path(case, "S", 1)[0], expected, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("words", [(1,), (1, 2, 3)], ids=["one total", "three totals"])
def test_both_reach_the_optimum_of_lbfgs(words: tuple[int, ...]) -> None:
    objective = likelihood(Case(RIB_ROB, noisy_words(300, words)))
    start = np.zeros(objective.num_weights)
    best = OPTIMIZERS["lbfgs"](objective, start, LbfgsSettings(tolerance=1e-8), watch)
    for algorithm in ("S", "T"):
        settings = IisSettings(algorithm=algorithm, tolerance=1e-6)  # type: ignore[arg-type]
        outcome = OPTIMIZERS["iis"](objective, start, settings, watch)
        assert outcome.converged
        assert outcome.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("algorithm", ["S", "T"])
@pytest.mark.parametrize("name", ["second order", "factorial", "skip chain", "views by tests, padded", "segments"])
def test_no_update_lowers_the_likelihood(name: str, algorithm: str) -> None:
    """On graphs of every kind; from weights that are not zero."""
    objective = likelihood(many(CASES[name], 2))
    values: list[float] = []

    def note(step: Iteration, weights: Floats) -> bool:
        values.append(step.objective)
        return False

    start = np.random.default_rng(5).normal(0.0, 0.5, objective.num_weights)
    settings = IisSettings(algorithm=algorithm, max_iterations=40)  # type: ignore[arg-type]
    OPTIMIZERS["iis"](objective, start, settings, note)
    assert len(values) == 40 and (np.diff(values) < 0.0).all()


@pytest.mark.long
def test_features_that_no_gold_labelling_shows_are_as_good_as_forbidden() -> None:
    """The moves of the automaton that never happen."""
    objective = likelihood(Case(RIB_ROB, noisy_words(50)))
    unseen = objective.counts == 0.0
    outcome = OPTIMIZERS["iis"](objective, np.zeros(objective.num_weights), IisSettings(), watch)
    assert unseen.any() and (outcome.weights[unseen] == NEVER).all()
    _, gradient = objective.value_and_gradient(outcome.weights)
    assert np.abs(gradient[unseen]).max() < 1e-6


REFUSED = {
    "a penalty": (CASES["chain"], ("train.infer=exact",), "no penalty"),
    "approximate inference": (CASES["chain"], ("train.prior=none", "train.infer=bp"), "`bp` does not give them"),
    "negative numbers": (CASES["numbers"], FREE, "negative numbers"),
    "labels that are not known": (
        Case(
            'data conll(word, y)\nlabel y with missing = "_"\nclique y: word\n',
            [[("a", "P"), ("b", "_")], [("a", "Q")]],
        ),
        FREE,
        "some are not known",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_scaling_does_not_maximise_is_refused(name: str) -> None:
    case, overrides, words = REFUSED[name]
    objective = objective_of(case, "likelihood", *overrides)
    with pytest.raises(DcrfError) as caught:
        OPTIMIZERS["iis"](objective, np.zeros(objective.num_weights), IisSettings(), watch)
    (found,) = caught.value.diagnostics
    assert found.slug == "cannot-scale" and words in found.message


def test_other_objectives_are_refused() -> None:
    objective = objective_of(CASES["chain"], "memm", "train.prior=none")
    with pytest.raises(DcrfError) as caught:
        OPTIMIZERS["iis"](objective, np.zeros(objective.num_weights), IisSettings(), watch)
    assert [d.slug for d in caught.value.diagnostics] == ["cannot-train"]
