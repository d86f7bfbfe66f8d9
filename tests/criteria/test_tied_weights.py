"""Priors around another clique: the penalty by names of weights, and the optimum by another library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
TEXT = """data conll(word, y, z)
label y
label z
clique y as first: bias, word
clique z as second: bias, word
clique z as third: word[-1]
clique y, z as pair
"""
SENTENCES = [
    [("a", "P", "Q"), ("b", "Q", "Q"), ("a", "P", "P")],
    [("c", "R", "Q"), ("b", "Q", "P"), ("d", "Q", "R")],
    [("b", "Q", "Q"), ("a", "P", "P"), ("e", "P", "S")],
]
TIED = "likelihood: prior = gaussian(variance = 2), prior.second = gaussian(variance = 0.5, mean = first)"


def penalty_by_name(weights: Floats, keys: list[Any]) -> float:
    """Σ (λ_k − λ_p)² / 2v for the tied clique, with 0 for what has no counterpart; Σ λ² / 2v for the others."""
    value = dict(zip(keys, weights.tolist(), strict=True))
    total = 0.0
    for (clique, feature, states), weight in value.items():
        if clique == "second":
            total += (weight - value.get(("first", feature, states), 0.0)) ** 2 / (2 * 0.5)
        else:
            total += weight**2 / (2 * 2.0)
    return total


def built(train: str) -> tuple[Any, list[Any]]:
    """The objective, and clique, feature and states of each weight."""
    problem, settings = problem_of(Case(TEXT, SENTENCES, None), train)
    spec = load_text(f"{TEXT}train {train}\n").require()
    model = fit(spec, corpus_from_rows(SENTENCES, spec.data), threads=1)
    by_number = [(clique, feature, states) for clique, feature, states, _ in model.explanations.iter_weights()]
    return CRITERIA[settings.criterion.method](problem, settings), by_number


def test_the_penalty_and_its_gradient() -> None:
    (tied, keys), (free, _) = built(TIED), built("likelihood: prior = none")
    assert sum(key[0] == "second" and ("first", *key[1:]) in keys for key in keys) > 3
    weights = np.random.default_rng(0).normal(size=len(keys))
    value, gradient = tied.value_and_gradient(weights)
    plain, plain_gradient = free.value_and_gradient(weights)
    assert value - plain == pytest.approx(penalty_by_name(weights, keys), rel=1e-10)
    for k in range(len(keys)):
        unit = np.eye(len(keys))[k] * 1e-5
        ends = [penalty_by_name(weights + side * unit, keys) for side in (1, -1)]
        assert gradient[k] - plain_gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)
    assert tied.gap(gradient) is None and tied.batches(1) is None


@pytest.mark.parametrize("criterion", ["likelihood", "pseudolikelihood", "piecewise"])
def test_the_optimum_is_that_of_another_library(criterion: str) -> None:
    train = TIED.replace("likelihood", criterion, 1)
    (objective, keys), (free, _) = built(train), built(f"{criterion}: prior = none")
    found = minimize(
        lambda w: free.value_and_gradient(w)[0] + penalty_by_name(w, keys),
        np.zeros(len(keys)), method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9, "maxfun": 10**6},
    )  # fmt: skip
    spec = load_text(f"{TEXT}train {train}, optimizer = lbfgs(tolerance = 1e-8)\n").require()
    model = fit(spec, corpus_from_rows(SENTENCES, spec.data), threads=1)
    assert model.record.objective == pytest.approx(found.fun, rel=1e-6)
    assert model.weights == pytest.approx(found.x, abs=2e-3)
    assert objective.value_and_gradient(model.weights)[0] == pytest.approx(model.record.objective, rel=1e-9)
