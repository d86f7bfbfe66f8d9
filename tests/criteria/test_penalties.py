"""Priors: penalties against their formulas and finite differences, alone and within the objectives of criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import reference
from numpy.typing import NDArray
from template_cases import CASES
from training_cases import objective_of, problem_of

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.semantics.settings.prior_settings import (
    PRIORS,
    ElasticNetPrior,
    GaussianPrior,
    GroupLassoPrior,
    LaplacePrior,
    LphiPrior,
    NoPrior,
    Prior,
)

Floats = NDArray[np.float64]

# prior as written -> its penalty by the book
FORMULAS: Mapping[str, Callable[[Floats], float]] = {
    "none": lambda w: 0.0,
    "gaussian(variance = 4)": lambda w: float(w @ w) / 8.0,
    "laplace(scale = 2)": lambda w: float(np.abs(w).sum()) / 2.0,
    "lphi(phi = 1, C = 5)": lambda w: float(np.abs(w).sum()) / 5.0,
    "lphi(phi = 1.5, C = 3)": lambda w: float((np.abs(w) ** 1.5).sum()) / 4.5,
    "lphi(phi = 2, C = 3)": lambda w: float(w @ w) / 6.0,
    "lphi(phi = 3.5, C = 0.5)": lambda w: float((np.abs(w) ** 3.5).sum()) / 1.75,
    "elastic_net(l1 = 0.3, l2 = 0.2)": lambda w: 0.3 * float(np.abs(w).sum()) + 0.2 * float(w @ w),
    "elastic_net(l1 = 0, l2 = 0.2)": lambda w: 0.2 * float(w @ w),
}
CRITERIA = ("likelihood", "memm")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("prior", FORMULAS)
def test_a_prior_adds_its_formula_and_its_derivative(criterion: str, prior: str) -> None:
    case = CASES["chain"]
    free = objective_of(case, criterion, "train.prior=none")
    objective = objective_of(case, criterion, f"train.prior={prior}")
    weights = np.random.default_rng(3).normal(0.0, 1.0, free.num_weights)
    (loss, slope), (value, gradient) = free.value_and_gradient(weights), objective.value_and_gradient(weights)
    assert value - loss == pytest.approx(FORMULAS[prior](weights), rel=1e-9, abs=1e-12)
    numeric = reference.finite_difference(FORMULAS[prior], weights)
    np.testing.assert_allclose(gradient - slope, numeric, atol=1e-7)


def test_every_prior_is_tested() -> None:
    of_groups = {"group_lasso"}  # in `test_grouped_weights`
    assert {name.partition("(")[0] for name in FORMULAS} | of_groups == set(PRIORS)


@pytest.mark.parametrize("prior", ["lphi(phi = 2, C = 7)", "elastic_net(l1 = 0, l2 = 0.0714285714285714285)"])
def test_what_is_a_gaussian_trains_as_one(prior: str) -> None:
    weights = np.random.default_rng(4).normal(0.0, 1.0, 42)
    gaussian = objective_of(CASES["chain"], "likelihood", "train.prior=gaussian(variance = 7)")
    other = objective_of(CASES["chain"], "likelihood", f"train.prior={prior}")
    for one, two in zip(gaussian.value_and_gradient(weights), other.value_and_gradient(weights), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-14)
    assert isinstance(other, Likelihood) and other.penalty.is_quadratic


def test_a_clique_has_a_prior_of_its_own() -> None:
    """The weights of `one`, `two` and the others are penalised by their own formula each."""
    case = CASES["two cliques over the same sites"]
    own = ("train.prior.one=laplace(scale = 2)", "train.prior.two=lphi(phi = 1.5, C = 3)")
    objective = objective_of(case, "likelihood", "train.prior=gaussian(variance = 4)", *own)
    free = objective_of(case, "likelihood", "train.prior=none")
    weights = np.random.default_rng(5).normal(0.0, 1.0, free.num_weights)
    problem, _ = problem_of(case, "likelihood")
    first, one, two = (weights[problem.parameters.of_clique(c)] for c in range(3))
    expected = (
        FORMULAS["gaussian(variance = 4)"](first)
        + FORMULAS["laplace(scale = 2)"](one)
        + FORMULAS["lphi(phi = 1.5, C = 3)"](two)
    )
    added = objective.value_and_gradient(weights)[0] - free.value_and_gradient(weights)[0]
    assert added == pytest.approx(expected, rel=1e-9)


SHAPES: Mapping[str, tuple[Prior, str]] = {
    "none": (NoPrior(), "none"),
    "gaussian": (GaussianPrior(), "quadratic"),
    "laplace": (LaplacePrior(), "corner"),
    "lphi 1": (LphiPrior(phi=1.0), "corner"),
    "lphi 1.2": (LphiPrior(phi=1.2), "smooth"),
    "lphi 2": (LphiPrior(phi=2.0), "quadratic"),
    "lphi 3": (LphiPrior(phi=3.0), "smooth"),
    "elastic net": (ElasticNetPrior(l1=0.1, l2=0.1), "corner"),
    "ridge": (ElasticNetPrior(l1=0.0, l2=0.1), "quadratic"),
    "groups": (GroupLassoPrior(), "groups"),
    "no net": (ElasticNetPrior(l1=0.0, l2=0.0), "none"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_a_penalty_is_known_without_computing_it(name: str) -> None:
    prior, shape = SHAPES[name]
    assert prior.shape == shape
