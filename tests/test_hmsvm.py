"""Hidden Markov SVM: its primal against enumeration, both solvers against a general solver, known margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import labellings_of
from numpy.typing import NDArray
from scipy.optimize import minimize
from template_cases import CASES, Case
from test_criteria import trained
from training_cases import objective_of

from dcrfdsl.criteria import Hmsvm
from dcrfdsl.optimizers import OPTIMIZERS, Iteration, Outcome
from dcrfdsl.spec.optimizers import BcfwSettings, WorkingSetSettings
from dcrfdsl.training import fit

Floats = NDArray[np.float64]
C = 0.7


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def hmsvm(case: Case, *overrides: str) -> Hmsvm:
    found = objective_of(case, "hmsvm", f"train.C={C}", *(f"train.{one}" for one in overrides))
    assert isinstance(found, Hmsvm)
    return found


def losses(gold: dict[str, list[str]], labels: dict[str, list[str]], kind: str) -> float:
    wrong = sum(a != b for name in gold for a, b in zip(gold[name], labels[name], strict=True))
    return float(wrong) if kind == "hamming" else float(wrong > 0)


def enumerated(case: Case, weights: Floats, kind: str, slack: str, weight: float = 1.0) -> float:
    """The primal by going through all labellings."""
    total = 0.5 * float(weights @ weights)
    for gold, every in labellings_of(case, weights):
        right = next(score for labels, score in every if labels == gold)
        short = [
            max(0.0, losses(gold, labels, kind) - 0.5 * (right - score)) for labels, score in every if labels != gold
        ]
        size = sum(map(len, gold.values()))
        total += C * (max(short, default=0.0) if slack == "sequence" else weight**size * sum(short))
    return total


EXACT = [name for name in CASES if name not in ("arcs",)]


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", EXACT)
def test_the_primal_counts_the_largest_violation_of_each_sentence(name: str, kind: str) -> None:
    model, _ = trained(CASES[name])
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}")
    value, gradient = objective.value_and_gradient(model.weights)
    assert value == pytest.approx(enumerated(CASES[name], model.weights, kind, "sequence"), rel=1e-9)
    numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], model.weights)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", ["chain", "padded chain", "a view that ties weights", "numbers"])
def test_with_a_slack_a_labelling_every_violation_counts(name: str, kind: str) -> None:
    weights = 0.3 * trained(CASES[name])[0].weights
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}", "slack=labelling", "most=100000", "weight=0.5")
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(enumerated(CASES[name], weights, kind, "labelling", 0.5), rel=1e-9)
    numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


# solvers ----------------------------------------------------------------------------------------------------------


def solve(objective: Hmsvm, settings: Any) -> Outcome:
    return OPTIMIZERS[settings.method](objective, np.zeros(objective.num_weights), settings, watch)


def solved_generally(objective: Hmsvm) -> float:
    """The least primal by a general solver of the dual over the cuts at hand; cuts are added while some are missing."""
    count, size = len(objective.limit), objective.num_weights
    rows, losses_of, owner = [], [], []
    weights = np.zeros(size)
    for _ in range(100):
        added = 0
        cuts = objective.find_cuts(weights, 0, count)
        known = list(zip(rows, losses_of, owner, strict=True))
        slack = [max([0.0, *(loss - row @ weights for row, loss, own in known if own == i)]) for i in range(count)]
        for i in range(count):
            for n in range(cuts.block_off[i], cuts.block_off[i + 1]):
                row = np.zeros(size)
                row[cuts.weight[cuts.off[n] : cuts.off[n + 1]]] = cuts.value[cuts.off[n] : cuts.off[n + 1]]
                if cuts.loss[n] - row @ weights > slack[i] + 1e-7:
                    rows.append(row)
                    losses_of.append(float(cuts.loss[n]))
                    owner.append(i)
                    added += 1
        if not added:
            break
        table, loss, own = np.array(rows), np.array(losses_of), np.array(owner)

        def negative_dual(alpha: Floats, table: Floats = table, loss: Floats = loss) -> tuple[float, Floats]:
            combined = alpha @ table
            return 0.5 * float(combined @ combined) - float(alpha @ loss), table @ combined - loss

        inside = [
            {"type": "ineq", "fun": lambda a, who=own == i, most=objective.limit[i]: most - a[who].sum(),
             "jac": lambda a, who=own == i: -who.astype(float)}
            for i in range(count)
        ]  # fmt: skip
        found = minimize(
            negative_dual, np.zeros(len(loss)), jac=True, bounds=[(0.0, None)] * len(loss), constraints=inside,
            method="SLSQP", options={"maxiter": 1000, "ftol": 1e-12},
        )  # fmt: skip
        weights = found.x @ table
    return objective.value_and_gradient(weights)[0]


SOLVED = ["chain", "factorial", "second order", "skip chain", "segments"]


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", SOLVED)
def test_both_solvers_reach_the_optimum_of_a_general_one(name: str, kind: str) -> None:
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}", "tolerance=1e-5")
    expected = solved_generally(objective)
    found = solve(objective, WorkingSetSettings())
    assert found.converged and found.gap is not None
    assert found.objective == pytest.approx(expected, rel=2e-5)
    assert found.gap <= 1e-5 * found.objective
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}", "tolerance=1e-2")
    other = solve(objective, BcfwSettings(max_iterations=5000))
    assert other.converged
    assert other.objective == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("name", ["chain", "factorial"])
def test_the_gap_is_what_primal_and_dual_differ_by(name: str) -> None:
    """The dual value cannot be above the optimum, and the primal not below it."""
    objective = hmsvm(CASES[name], "infer=exact", "tolerance=1e-6")
    best = solve(objective, WorkingSetSettings()).objective
    for passes in (2, 4, 6):
        for settings in (WorkingSetSettings(max_iterations=passes), BcfwSettings(max_iterations=passes)):
            early = solve(hmsvm(CASES[name], "infer=exact", "tolerance=1e-6"), settings)
            assert early.gap is not None
            assert early.objective == pytest.approx(objective.value_and_gradient(early.weights)[0], rel=1e-9)
            assert early.objective - early.gap <= best + 1e-9
            assert early.objective >= best * (1 - 1e-6)


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_with_a_slack_a_labelling_the_optimum_is_the_least_primal(weight: float) -> None:
    case = CASES["chain"]
    objective = hmsvm(case, "infer=exact", "slack=labelling", "most=100000", f"weight={weight}", "tolerance=1e-6")
    found = solve(objective, WorkingSetSettings())
    assert found.converged
    general = minimize(
        objective.value_and_gradient, found.weights + 0.01, jac=True, method="L-BFGS-B", options={"maxiter": 5000}
    )
    assert found.objective <= general.fun * (1 + 1e-6)
    other = solve(
        hmsvm(case, "infer=exact", "slack=labelling", "most=100000", f"weight={weight}", "tolerance=1e-2"),
        BcfwSettings(max_iterations=5000),
    )
    assert other.objective == pytest.approx(found.objective, rel=1e-2)


# known margins ----------------------------------------------------------------------------------------------------

TWO = "data conll(word, y)\nlabel y\nclique y with states = {states}: word\n"


@pytest.mark.parametrize(("states", "expected"), [("all", 1.0), ("seen", 2.0)])
def test_on_separable_data_the_margin_is_the_known_one(states: str, expected: float) -> None:
    """One word a class: with both weights of a word they are ½ (difference) each way, with one alone it does it all.

    Margin 1 = ½ (λ_right − λ_wrong): λ = ±1 is the shortest; where the wrong weight is not there, λ_right = 2.
    """
    case = Case(TWO.format(states=states), [[("a", "P")], [("b", "Q")]], None)
    objective = objective_of(case, "hmsvm", "train.C=100", "train.infer=exact", "train.tolerance=1e-8")
    assert isinstance(objective, Hmsvm)
    found = solve(objective, WorkingSetSettings())
    np.testing.assert_allclose(np.abs(found.weights), expected, atol=1e-5)
    margins = [
        0.5 * (right - max(score for labels, score in every if labels != gold))
        for gold, every in labellings_of(case, found.weights)
        for right in [next(score for labels, score in every if labels == gold)]
    ]
    np.testing.assert_allclose(margins, 1.0, atol=1e-4)


def test_as_much_slack_as_c_is_worth_and_no_more() -> None:
    """One sentence, two classes, one weight each: min ½·2 λ² + C max(0, 1 − λ) is λ = min(1, C / 2)."""
    case = Case(TWO.format(states="all"), [[("a", "P")], [("b", "Q")]], None)
    objective = objective_of(case, "hmsvm", "train.C=0.5", "train.infer=exact", "train.tolerance=1e-8")
    assert isinstance(objective, Hmsvm)
    found = solve(objective, WorkingSetSettings())
    np.testing.assert_allclose(np.abs(found.weights), 0.25, atol=1e-6)


# training ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("optimizer", ["working_set", "bcfw(max_iterations=5)"])
def test_training_is_the_same_for_any_number_of_threads(threads: int, optimizer: str) -> None:
    case = Case(CASES["chain"].text, CASES["chain"].sentences * 9, None)
    text = f"{case.text}\ntrain hmsvm: optimizer = {optimizer}\n"
    found = [
        fit(Case(text, case.sentences, None).resolved(), case.corpus(), threads=number).weights
        for number in (1, threads)
    ]
    np.testing.assert_array_equal(*found)
