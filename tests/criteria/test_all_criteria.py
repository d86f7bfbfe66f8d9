"""Every criterion × every structure: value and gradient equal enumeration, or the checker refuses in words.

    PYTHONPATH=tests/support python tests/criteria/test_all_criteria.py

prints the list of pairs with the largest deviations.

The structures are written by hand (`criteria_cases`), what criteria are worth too (`criteria_twin`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import reference
from criteria_cases import STRUCTURES, Structure
from criteria_pieces import Cases, by_variable, directed, likely_cases, pieces
from criteria_rows import NO, ROWS, Row, word_penalty
from criteria_twin import (
    Problem,
    joint_log_probability,
    least_bound,
    perceptron_steps,
    scaled,
)
from numpy.typing import NDArray
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.optimizers.perceptron_steps import minimise_perceptron
from dcrfdsl.optimizers.run_state import RunState
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
TOKENS = ("chain", "factorial", "skip", "latent", "missing")
OF_SEGMENTS = ("segments", "segments beside")
FAMILIES = (*TOKENS, *OF_SEGMENTS)
HIDDEN = ("latent", "missing")
EXACT = 1e-9
NUMERIC = 1e-6  # central differences of enumerated values
SCALE = 0.7  # of the random weights


@functools.cache
def problem(name: str, kind: str) -> tuple[Case, Problem]:
    """A structure for the engine, and enumerated."""
    structure: Structure = STRUCTURES[name, kind]
    case = Case(structure.text, structure.sentences, None)
    model = fit(case.resolved("train.optimizer=lbfgs(max_iterations=1)"), case.corpus(), threads=1)
    keys = {(clique, text, states): k for k, (clique, text, states, _) in enumerate(model.explanations.iter_weights())}
    return case, Problem(structure, keys)


def refusal(case: Case, train: str) -> str | None:
    """The slug of what the checker says against it, if anything."""
    errors = [d for d in check(load_text(f"{case.text}\ntrain {train}\n")) if d.severity == "error"]
    return errors[0].slug if errors else None


def weights_of(own: Problem, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(0.0, SCALE, len(own.keys))


def built(case: Case, train: str) -> Any:
    """The objective of a stage."""
    problem, settings = problem_of(case, train)
    return CRITERIA[settings.criterion.method](problem, settings)


@dataclass(frozen=True)
class Deviation:
    """Of values, relative, and of a gradient, relative to its largest entry or 1."""

    value: float
    gradient: float


def deviation(row: Row, name: str) -> Deviation:
    """At three points the value; at the second one the gradient as well, against differences of enumerated values."""
    case, own = problem(name, row.kind)
    objective = built(case, row.train)
    enumerated = row.on_skip if row.on_skip is not None and name == "skip" else row.value
    worst, slope = 0.0, 0.0
    for seed in range(3):
        weights = weights_of(own, seed)
        row.prepare(objective, weights)
        value, gradient = objective.value_and_gradient(weights)
        expected = enumerated(own, weights)
        worst = max(worst, abs(value - expected) / max(1.0, abs(expected)))
        if seed == 1:
            numeric = reference.finite_difference(lambda w: enumerated(own, w), weights)
            slope = float(np.abs(gradient - numeric).max()) / max(1.0, float(np.abs(numeric).max()))
    return Deviation(worst, slope)


def outcome(label: str, name: str) -> Deviation | str:
    """The deviations of a pair, or the slug with which it is refused: by the checker, or by the criterion in words."""
    row = ROWS[label]
    case, _ = problem(name, row.kind)
    refused = refusal(case, row.train)
    if refused:
        return refused
    try:
        return deviation(row, name)
    except DcrfError as error:
        return error.diagnostics[0].slug


# What is refused: how the row begins, structure, slug.
BY_PIECES = ("piecewise", "pwpl", "pseudolikelihood", "memm", "bidirectional")
ONE_BY_ONE = ("pwpl", "pseudolikelihood", "memm", "bidirectional")
REFUSED: list[tuple[str, str, str]] = [
    *((f"adaboost{more}", name, "cannot-sum-out") for more in ("", ", weight = 0.4", ", segments") for name in HIDDEN),
    *((f"mce, psi = {psi}", name, "cannot-sum-out") for psi in ("0.5", "2") for name in HIDDEN),
    *((f"mce, loss = {loss}", "missing", "cannot-sum-out") for loss in ("fscore", "precision", "recall")),
    *(("mce, soft", name, "loss-settings") for name in ("factorial", "skip", "latent")),
    ("mce, soft label", "missing", "loss-settings"),
    *((f"mce, soft {measure}", "missing", "cannot-sum-out") for measure in ("fscore", "precision", "recall")),
    *((f"{name} segments", "missing", "cannot-sum-out") for name in ("hmsvm,", "likelihood, cost of")),
    *((f"piecewise, nota = {nota}", "skip", "piece-too-large") for nota in ("all", "all(reach = one)")),
    *((name, "skip", "no-order") for name in ("pwpl", "memm", "bidirectional")),
    *((name, "latent", "piece-conditions-on-latent") for name in ONE_BY_ONE),
    *((name, "missing", "piece-conditions-on-unknown") for name in ONE_BY_ONE),
    *((criterion, name, "cannot-segment") for criterion in ("induce", *BY_PIECES) for name in OF_SEGMENTS),
    *(("mce, soft", name, "loss-settings") for name in OF_SEGMENTS),
]


def refused_with(label: str, name: str) -> str | None:
    """The slug that a pair is to be refused with."""
    found = {slug for start, structure, slug in REFUSED if label.startswith(start) and structure == name}
    assert len(found) <= 1
    return found.pop() if found else None


def pairs() -> Iterator[Any]:
    for label in ROWS:
        for name in FAMILIES:
            yield pytest.param(label, name)


@pytest.mark.parametrize(("label", "name"), list(pairs()))
def test_value_and_gradient_equal_enumeration(label: str, name: str) -> None:
    found = outcome(label, name)
    if isinstance(found, str):
        assert found == refused_with(label, name)
    else:
        assert refused_with(label, name) is None
        assert found.value < EXACT and found.gradient < NUMERIC


# what is no value and gradient ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("per", ["clique", "label", "source"])
@pytest.mark.parametrize("name", TOKENS)
def test_rescaling_is_the_likelihood_of_scaled_weights(name: str, per: str) -> None:
    case, own = problem(name, "plain")
    trained, settings = problem_of(
        replace(case, text=f"{case.text}train likelihood as map\n"), f"rescale after map: per = {per}"
    )
    weights = weights_of(own, 3)
    objective = CRITERIA["rescale"](replace(trained, weights=weights), settings)
    keys, expected = scaled(own, weights, per)
    factors = np.random.default_rng(4).uniform(0.5, 1.5, len(set(keys)))
    value, gradient = objective.value_and_gradient(factors)
    assert value == pytest.approx(expected(factors), rel=EXACT)
    np.testing.assert_allclose(gradient, reference.finite_difference(expected, factors), atol=NUMERIC)


@pytest.mark.parametrize("average", [True, False], ids=["average", "last"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_steps_of_the_perceptron(name: str, average: bool) -> None:
    """From random weights, at which no two labellings score the same."""
    case, own = problem(name, "plain")
    objective = built(case, f"perceptron: epochs = 3, average = {'yes' if average else 'no'}")
    start = weights_of(own, 5)
    found = minimise_perceptron(objective, start, AutoOptimizer(), lambda step, weights: False, RunState())
    np.testing.assert_allclose(found.weights, perceptron_steps(own, start, 3, average), atol=1e-12)


@pytest.mark.parametrize("weight", ["uniform", "0.4"])
@pytest.mark.parametrize("name", ["chain", "factorial", "skip"])
def test_each_round_of_boosting_takes_the_best_bound(name: str, weight: str) -> None:
    """Its weight is the one whose best step promises most, with bounds of each sequence, and the step is that one."""
    case, own = problem(name, "plain")
    before = np.zeros(len(own.keys))
    for rounds in range(1, 9):
        text = f"{case.text}\ntrain adaboost: rounds = {rounds}, weight = {weight}\n"
        after = fit(load_text(text), case.corpus(), threads=1).weights
        (k,) = np.flatnonzero(after - before)
        least, promise = least_bound(own, before, None if weight == "uniform" else float(weight), 1.0)
        assert promise(k, float(after[k] - before[k])) <= least.min() + 1e-6
        before = after


@pytest.mark.parametrize("name", ["latent", "missing"])
@pytest.mark.parametrize("criterion", ["hmm", "induce"])
def test_what_counts_gold_labels_refuses_hidden_ones(name: str, criterion: str) -> None:
    case, _ = problem(name, "plain")
    if refusal(case, criterion) is None:
        with pytest.raises(DcrfError):
            fit(load_text(f"{case.text}\ntrain {criterion}\n"), case.corpus(), threads=1)


@pytest.mark.parametrize("name", ["factorial", "skip"])
def test_models_that_are_no_hmm_are_refused(name: str) -> None:
    assert refusal(problem(name, "plain")[0], "hmm") == "cannot-count"


def test_an_hmm_scores_log_p_of_labels_and_words() -> None:
    """Every labelling of every training sentence, by counting."""
    case, own = problem("chain", "plain")
    hmm = built(case, "hmm: smoothing = 0.3, moves = 0.2")
    log_p = joint_log_probability(own, 0.3, 0.2)
    for sentence in own.sentences:
        expected = [log_p(sentence, n) for n in range(len(sentence.labellings))]
        np.testing.assert_allclose(sentence.counts @ hmm.solution, expected, rtol=EXACT)
    gold = sum(log_p(sentence, int(np.flatnonzero(sentence.agrees)[0])) for sentence in own.sentences)
    assert hmm.value_and_gradient(hmm.solution)[0] == pytest.approx(-gold, rel=EXACT)


@pytest.mark.parametrize("criterion, rule", [("pseudolikelihood", by_variable), ("memm", directed())])
@pytest.mark.parametrize("name", ["chain", "factorial"])
def test_nota_of_likely_cases(name: str, criterion: str, rule: Any) -> None:
    """Those whose marginal under the model is above the threshold, chosen once."""
    case, own = problem(name, "plain")
    objective = built(case, f"{criterion}: {NO}, nota = above(threshold = 0.3, after = 2)")
    weights, chosen_at = weights_of(own, 6), weights_of(own, 7)
    nothing = Cases(chosen=lambda sentence, at: False)
    assert objective.value_and_gradient(weights)[0] == pytest.approx(pieces(rule, nothing)(own, weights), rel=EXACT)
    objective.advance(chosen_at)
    expected = pieces(rule, likely_cases(chosen_at, 0.3))
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(expected(own, weights), rel=EXACT)
    numeric = reference.finite_difference(lambda w: expected(own, w), weights)
    np.testing.assert_allclose(gradient, numeric, atol=NUMERIC)


def test_the_penalty_of_one_clique() -> None:
    case, own = problem("factorial", "plain")
    text = "likelihood: prior = gaussian(variance = 3), prior.y_words = gaussian(variance = 0.5)"
    weights = weights_of(own)
    value, gradient = built(case, text).value_and_gradient(weights)
    assert value == pytest.approx(word_penalty(own, weights), rel=EXACT)
    np.testing.assert_allclose(
        gradient, reference.finite_difference(lambda w: word_penalty(own, w), weights), atol=NUMERIC
    )


def test_no_criterion_is_left_out() -> None:
    here = {row.train.partition(":")[0].partition("(")[0] for row in ROWS.values()} | {"rescale", "hmm"}
    assert here == set(CRITERIA)


def main() -> None:
    """The list of pairs: largest deviation of a value and of a gradient, or the slug of the refusal."""
    wanted = tuple(sys.argv[1:])
    for label in ROWS:
        if label.startswith(wanted or label):
            for name in FAMILIES:
                found = outcome(label, name)
                words = found if isinstance(found, str) else f"{found.value:.0e} {found.gradient:.0e}"
                print(f"{label:48} {name:10} {words}", flush=True)


if __name__ == "__main__":
    main()
