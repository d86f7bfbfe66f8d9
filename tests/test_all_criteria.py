"""Every criterion × every structure: value and gradient equal enumeration, or the checker refuses in words.

    python tests/test_all_criteria.py        prints the list of pairs with the largest deviations

The structures are written by hand (`criteria_cases`), what criteria are worth too (`criteria_twin`).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import reference
from criteria_cases import STRUCTURES, Structure
from criteria_twin import (
    PENALTIES,
    Cases,
    Problem,
    Value,
    boosted,
    both_ways,
    by_clique,
    by_site,
    by_variable,
    directed,
    exponential,
    hmsvm,
    joint_log_probability,
    least_bound,
    likelihood,
    likely_cases,
    logistic,
    marginal,
    mce_label,
    mce_segments,
    mce_sequence,
    perceptron,
    perceptron_steps,
    pieces,
    scaled,
    sigmoid,
)
from numpy.typing import NDArray
from template_cases import Case
from training_cases import objective_of, problem_of

from dcrfdsl.criteria import CRITERIA
from dcrfdsl.errors import DcrfError
from dcrfdsl.optimizers.perceptron import minimise_perceptron
from dcrfdsl.spec.check import check
from dcrfdsl.spec.resolve import load_text
from dcrfdsl.training import fit

Floats = NDArray[np.float64]
FAMILIES = ("chain", "factorial", "skip", "latent", "missing")
HIDDEN = ("latent", "missing")
EXACT = 1e-9
NUMERIC = 1e-6  # central differences of enumerated values
SCALE = 0.7  # of the random weights


@dataclass(frozen=True)
class Row:
    """train: the criterion with its settings.   value: by enumeration.   kind: of states.   refused: the structures
    that it cannot train, and the slug of the refusal.
    """

    train: str
    value: Value
    kind: str = "plain"
    refused: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Any, Floats], None] = lambda objective, weights: None
    broken: Mapping[str, str] = field(default_factory=dict)  # known faults, with the reason


def complete(objective: Any, weights: Floats) -> None:
    """What is hidden is filled in at the weights."""
    objective.complete(weights)


def advance(objective: Any, weights: Floats) -> None:
    """The cases of NOTA are chosen at the weights."""
    objective.advance(weights)


def penalised(prior: str) -> Value:
    return lambda problem, weights: likelihood(problem, weights) + PENALTIES[prior](weights)


def word_penalty(problem: Problem, weights: Floats) -> float:
    own = np.array([key[0].endswith("y_words") for key in problem.keys])
    return likelihood(problem, weights) + float((weights[own] ** 2).sum()) + float((weights[~own] ** 2).sum()) / 6.0


NO = "prior = none"
HARD, SOFT = sigmoid(0.8, 0.3), logistic(1.4, 0.2)
HARD_TEXT, SOFT_TEXT = "smoothing = sigmoid(alpha = 0.8, beta = 0.3)", "smoothing = logistic(alpha = 1.4, beta = 0.2)"
UNKNOWN: dict[str, str] = {}
ROWS: dict[str, Row] = {
    # sums over labellings
    **{f"likelihood, {prior}": Row(f"likelihood: prior = {prior}", penalised(prior)) for prior in PENALTIES},
    "likelihood, segments": Row(f"likelihood: {NO}", likelihood, "bio"),
    "induce": Row(f"induce: {NO}", likelihood),
    "marginal": Row(f"marginal: {NO}", marginal),
    "marginal, segments": Row(f"marginal: {NO}", marginal, "bio"),
    "exponential": Row(f"exponential: {NO}", exponential(None)),
    "exponential, weight = 0.4": Row(f"exponential: {NO}, weight = 0.4", exponential(0.4)),
    "exponential, segments": Row(f"exponential: {NO}", exponential(None), "bio"),
    "adaboost": Row("adaboost", boosted(None)),
    "adaboost, weight = 0.4": Row("adaboost: weight = 0.4", boosted(0.4)),
    "adaboost, segments": Row("adaboost", boosted(None), "bio"),
    # the best labellings
    "perceptron": Row("perceptron", perceptron),
    "perceptron, segments": Row("perceptron", perceptron, "bio"),
    **{
        f"hmsvm, {loss}, slack = {slack}{', segments' if kind == 'bio' else ''}": Row(
            f"hmsvm: C = 0.7, loss = {loss}, slack = {slack}{', most = 10000, weight = 0.6' if slack == 'labelling' else ''}",
            hmsvm(loss, slack, 0.7, 0.6 if slack == "labelling" else 1.0), kind, prepare=complete,
        )
        for loss in ("zero_one", "hamming") for slack in ("sequence", "labelling") for kind in ("plain", "bio")
    },
    # error rates
    **{
        f"mce, psi = {psi}, {name}": Row(f"mce: {NO}, psi = {psi}, {text}", mce_sequence(smooth, float(psi)))
        for psi in ("inf", "1", "0.5") for name, text, smooth in (("sigmoid", HARD_TEXT, HARD), ("logistic", SOFT_TEXT, SOFT))
    },
    "mce, psi = 2, normalise": Row(f"mce: {NO}, psi = 2, normalise = yes, {HARD_TEXT}", mce_sequence(HARD, 2.0, True)),
    "mce, psi = 1, normalise": Row(f"mce: {NO}, psi = 1, normalise = yes, {HARD_TEXT}", mce_sequence(HARD, 1.0, True)),
    **{
        f"mce, {measure}, psi = {psi}": Row(
            f"mce: {NO}, psi = {psi}, measure = {measure}, {HARD_TEXT}", mce_sequence(HARD, float(psi), measure=measure)
        )
        for measure in ("ratio", "difference") for psi in ("inf", "1")
    },
    "mce, ratio, beta = -alpha": Row(
        f"mce: {NO}, psi = 1, measure = ratio, smoothing = sigmoid(alpha = 0.8)",
        mce_sequence(sigmoid(0.8, -0.8), 1.0, measure="ratio"),
    ),
    "mce, segments": Row(f"mce: {NO}, {HARD_TEXT}", mce_sequence(HARD), "bio"),
    "mce, loss = label": Row(f"mce: {NO}, loss = label(y), {SOFT_TEXT}", mce_label(SOFT)),
    "mce, loss = label, segments": Row(f"mce: {NO}, loss = label(y), {HARD_TEXT}", mce_label(HARD), "bio"),
    "mce, loss = balanced_accuracy": Row(
        f"mce: {NO}, loss = balanced_accuracy(y), {HARD_TEXT}", mce_label(HARD, balanced=True), "bio"
    ),
    **{
        f"mce, loss = {measure}": Row(
            f"mce: {NO}, loss = {measure}(y), gamma = 2, {HARD_TEXT}", mce_segments(HARD, measure, 2.0), "bio"
        )
        for measure in ("fscore", "precision", "recall")
    },
    # pieces
    **{
        f"{text}{nota and ', nota = ' + nota_text}": Row(
            f"{text}: {NO}{nota and ', nota = ' + nota_text}", pieces(rule, cases)
        )
        for text, rule in (
            ("piecewise", by_clique), ("pwpl", by_site), ("pseudolikelihood", by_variable), ("memm", directed()),
            ("memm(by = slice)", directed(by_slice=True)), ("memm(order = reverse)", directed(first=True)),
            ("bidirectional", both_ways),
        )
        for nota, nota_text, cases in (
            ("", "", None), ("all", "all", Cases()), ("one", "all(reach = one)", Cases(reach="one"))
        )
    },
    **{
        f"{text}, overlap = divide": Row(f"{text}: {NO}, overlap = divide", pieces(rule, divide=True))
        for text, rule in (("pwpl", by_site), ("pseudolikelihood", by_variable), ("bidirectional", both_ways))
    },
}  # fmt: skip


@functools.cache
def problem(name: str, kind: str) -> tuple[Case, Problem]:
    """A structure for the engine, and enumerated."""
    structure: Structure = STRUCTURES[name, kind]
    case = Case(structure.text, structure.sentences, None)
    model = fit(case.resolved("train.optimizer=lbfgs(max_iterations=1)"), case.corpus(), threads=1)
    keys = {(clique, text, states): k for k, (clique, text, states, _) in enumerate(model.show_weights())}
    return case, Problem(structure, keys)


def refusal(case: Case, train: str) -> str | None:
    """The slug of what the checker says against it, if anything."""
    errors = [d for d in check(load_text(f"{case.text}\ntrain {train}\n")) if d.severity == "error"]
    return errors[0].slug if errors else None


def weights_of(own: Problem, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(0.0, SCALE, len(own.keys))


def built(case: Case, train: str) -> Any:
    """The objective of a stage."""
    supervision, settings = problem_of(case, train)
    return CRITERIA[settings.criterion.method](supervision, settings)


@dataclass(frozen=True)
class Deviation:
    """Of values, relative, and of a gradient, relative to its largest entry or 1."""

    value: float
    gradient: float


def deviation(row: Row, name: str) -> Deviation:
    """At three points the value; at the second one the gradient as well, against differences of enumerated values."""
    case, own = problem(name, row.kind)
    objective = built(case, row.train)
    worst, slope = 0.0, 0.0
    for seed in range(3):
        weights = weights_of(own, seed)
        row.prepare(objective, weights)
        value, gradient = objective.value_and_gradient(weights)
        expected = row.value(own, weights)
        worst = max(worst, abs(value - expected) / max(1.0, abs(expected)))
        if seed == 1:
            numeric = reference.finite_difference(lambda w: row.value(own, w), weights)
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


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("label", ROWS)
def test_value_and_gradient_equal_enumeration(label: str, name: str) -> None:
    found = outcome(label, name)
    expected = REFUSED.get((ROWS[label].train.partition(":")[0], name))
    print(label, name, found)
    if isinstance(found, str):
        assert found == expected
    else:
        assert expected is None
        assert found.value < EXACT and found.gradient < NUMERIC


REFUSED: dict[tuple[str, str], str] = {}


def table() -> Iterator[tuple[str, str, str]]:
    for label in ROWS:
        for name in FAMILIES:
            found = outcome(label, name)
            words = found if isinstance(found, str) else f"{found.value:.0e} {found.gradient:.0e}"
            yield label, name, words


if __name__ == "__main__":
    import sys
    ROWS = {k: v for k, v in ROWS.items() if not sys.argv[1:] or k.startswith(tuple(sys.argv[1:]))}
    for label, name, words in table():
        print(f"{label:45} {name:10} {words}", flush=True)
