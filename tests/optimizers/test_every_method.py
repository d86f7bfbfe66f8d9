"""Every optimizer on every problem with a known optimum: it comes as near as it says, or the pair is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from optimizer_cases import AT_INFINITY, METHODS, OFFERED, PROBLEMS, least

from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.optimizers import Iteration
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.checks.checker import check

PAIRS = [(method, problem) for problem in PROBLEMS for method in METHODS if method not in PROBLEMS[problem].unsuited]
REACHED = [(method, problem) for method, problem in PAIRS if method not in PROBLEMS[problem].refused]
REFUSED = [pair for pair in PAIRS if pair not in REACHED]


def watch(step: Iteration, weights: NDArray[np.float64]) -> bool:
    return False


def test_no_optimizer_is_left_out() -> None:
    assert {settings.method for settings, _ in METHODS.values()} == set(OPTIMIZERS)
    assert {method for method, _ in REACHED} == set(METHODS)


@pytest.mark.parametrize(("method", "problem"), REACHED)
def test_the_optimum_is_reached(method: str, problem: str) -> None:
    (settings, near), own = METHODS[method], PROBLEMS[problem]
    objective, best = own.make(), least(problem)
    start = np.zeros(objective.num_weights) if own.start is None else own.start.copy()
    outcome = OPTIMIZERS[settings.method](objective, start, settings, watch)
    assert outcome.objective == pytest.approx(best, rel=max(near, own.near), abs=1e-9)
    exact = 1e-12 if own.template is None else 1e-9  # how well the least value is known
    assert outcome.objective >= best - max(exact, own.near) * abs(best)
    assert np.array_equal(start, np.zeros_like(start) if own.start is None else own.start)  # it is not changed
    if own.where is not None:
        value, weight = own.within
        assert outcome.converged or method in ("sgd", "gpd")
        assert outcome.objective - best <= value
        np.testing.assert_allclose(outcome.weights, own.where, rtol=0, atol=weight)


@pytest.mark.parametrize(("method", "problem"), REFUSED)
def test_a_refused_pair_is_refused_for_that_reason(method: str, problem: str) -> None:
    """By the checker, where a template asks for the pair; a formula does not offer what the method steps by."""
    own, name = PROBLEMS[problem], METHODS[method][0].method
    reason = own.refused[method]
    if reason == AT_INFINITY:
        objective = own.make()
        start, (settings, _) = np.zeros(objective.num_weights), METHODS["lbfgs"]
        assert np.abs(OPTIMIZERS["lbfgs"](objective, start, settings, watch).weights).max() > 20.0
        return
    if own.template is None:
        objective = own.make()
        assert OFFERED[reason](objective) is None
        with pytest.raises((DcrfError, TypeError)):
            OPTIMIZERS[name](objective, own.start, METHODS[method][0], watch)
        return
    case = replace(own.template, text=f"{own.template.text}    optimizer = {name}\n")
    assert [d.slug for d in check(case.resolved()) if d.severity == "error"] == [reason]
