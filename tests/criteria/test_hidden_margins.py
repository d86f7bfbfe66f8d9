"""Margins where labels are latent, missing or ambiguous: which labellings are wrong, and the optimum for a completion.

Against enumeration of every labelling of all variables and general solvers (SLSQP; L-BFGS-B on the dual).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hidden_cases import HIDDEN, Enumerated, enumerate_all, may_be
from mce_cases import labellings_with_hidden
from numpy.typing import NDArray
from scipy.optimize import minimize
from template_cases import Case
from training_cases import objective_of

from dcrfdsl.criteria.margin_objective import Hmsvm
from dcrfdsl.optimizers.objective import Iteration, Outcome
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.optimizer_settings import BcfwSettings, WorkingSetSettings
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
C = 0.3


def losses_of(own: Enumerated, kind: str) -> Floats:
    return {"zero_one": (own.wrong > 0), "hamming": own.wrong, "hamming(y)": own.of_y}[kind].astype(float)


def problem(every: list[Enumerated], completed: list[int], kind: str) -> list[tuple[Floats, Floats]]:
    """Of each sentence the differences ½ [F(known) − F(y)] and the losses of all wrong labellings y."""
    return [
        (0.5 * (own.features[best] - own.features)[own.wrong > 0], losses_of(own, kind)[own.wrong > 0])
        for own, best in zip(every, completed, strict=True)
    ]


def primal(cuts: list[tuple[Floats, Floats]], weights: Floats, slack: str) -> float:
    short = [np.maximum(loss - rows @ weights, 0.0) for rows, loss in cuts]
    total = sum(own.max(initial=0.0) if slack == "sequence" else own.sum() for own in short)
    return 0.5 * float(weights @ weights) + C * float(total)


def least_primal(cuts: list[tuple[Floats, Floats]], slack: str) -> float:
    """By SLSQP on weights and slacks; with a slack a labelling by L-BFGS-B on the dual, a quadratic in a box."""
    rows, loss = np.concatenate([own for own, _ in cuts]), np.concatenate([own for _, own in cuts])
    size, count = rows.shape[1], len(cuts)
    if slack == "labelling":
        gram = rows @ rows.T
        found = minimize(
            lambda a: (0.5 * a @ gram @ a - loss @ a, gram @ a - loss), np.zeros(len(loss)), jac=True,
            bounds=[(0.0, C)] * len(loss), method="L-BFGS-B", options={"maxiter": 20000, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        return primal(cuts, found.x @ rows, slack)
    owner = np.repeat(np.eye(count), [len(own) for _, own in cuts], axis=0)
    table = np.concatenate([rows, owner], axis=1)
    price = np.concatenate([np.zeros(size), np.full(count, C)])
    found = minimize(
        lambda x: (0.5 * x[:size] @ x[:size] + price @ x, np.concatenate([x[:size], np.zeros(count)]) + price),
        np.concatenate([np.zeros(size), np.full(count, loss.max())]), jac=True, method="SLSQP",
        bounds=[(None, None)] * size + [(0.0, None)] * count, options={"maxiter": 500, "ftol": 1e-13},
        constraints=[{"type": "ineq", "fun": lambda x: table @ x - loss, "jac": lambda x: table}],
    )  # fmt: skip
    return primal(cuts, found.x[:size], slack)


def best_right(every: list[Enumerated], weights: Floats) -> list[int]:
    return [int(np.where(own.wrong > 0, -np.inf, own.features @ weights).argmax()) for own in every]


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def hmsvm(case: Case, kind: str, slack: str, infer: str = "exact", tolerance: float = 1e-6) -> Hmsvm:
    most = ("train.most=100000",) if slack == "labelling" else ()
    found = objective_of(
        case, "hmsvm", f"train.C={C}", f"train.infer={infer}", f"train.loss={kind}", f"train.slack={slack}",
        f"train.tolerance={tolerance}", *most,
    )  # fmt: skip
    assert isinstance(found, Hmsvm)
    return found


def completion(objective: Hmsvm, every: list[Enumerated]) -> list[int]:
    """The labellings that stand for the known ones, by their number."""
    at, found = 0, []
    for own in every:
        known = objective._known[at : at + own.states.shape[1]]
        (number,) = np.flatnonzero((own.states == known).all(axis=1))
        found.append(int(number))
        at += len(known)
    return found


KINDS = [(name, kind) for name in HIDDEN for kind in ("zero_one", "hamming", "hamming(y)")
         if kind != "hamming(y)" or name == "factorial"]  # fmt: skip


@pytest.mark.parametrize("slack", ["sequence", "labelling"])
@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_only_labellings_that_contradict_what_is_known_have_margins(name: str, kind: str, slack: str) -> None:
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    objective = hmsvm(case, kind, slack)
    for seed in range(4):
        weights = np.random.default_rng(seed).normal(0.0, 0.8, objective.num_weights)
        objective.complete(np.random.default_rng(9 + seed).normal(0.0, 0.8, objective.num_weights))  # not the best here
        cuts = problem(every, completion(objective, every), kind)
        assert objective.value_and_gradient(weights)[0] == pytest.approx(primal(cuts, weights, slack), rel=1e-9)


def solve(objective: Hmsvm, settings: Any) -> Outcome:
    start = 0.01 * np.random.default_rng(0).normal(size=objective.num_weights)  # of two states of a latent none is best
    return OPTIMIZERS[settings.method](objective, start, settings, watch)


@pytest.mark.long
@pytest.mark.parametrize("slack", ["sequence", "labelling"])
@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_both_solvers_reach_the_optimum_for_their_completion(name: str, kind: str, slack: str) -> None:
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    for settings, near in ((WorkingSetSettings(), 1e-5), (BcfwSettings(max_iterations=3000), 0.02)):
        objective = hmsvm(case, kind, slack, tolerance=near / 10.0)
        outcome = solve(objective, settings)
        assert outcome.converged
        completed = completion(objective, every)
        best = least_primal(problem(every, completed, kind), slack)
        assert outcome.objective == pytest.approx(best, rel=near)
        assert outcome.objective >= best * (1.0 - 1e-6)
        for own, number, right in zip(every, completed, best_right(every, outcome.weights), strict=True):
            assert own.wrong[number] == 0
            scores = own.features @ outcome.weights
            assert scores[number] == pytest.approx(scores[right], abs=1e-6)


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", ["missing", "ambiguous"])
def test_with_a_kernel_it_is_the_same_problem(name: str, kind: str) -> None:
    case, found = HIDDEN[name], []
    stated = case.text.replace("clique y as seen:", "clique y as seen with states = all:")
    for kernel in ("", ", kernel.seen = linear"):
        text = f"{stated}infer exact\ntrain hmsvm: C = {C}, slack = labelling, most = 500, loss = {kind}"
        own = Case(f"{text}, tolerance = 1e-7{kernel}\n", case.sentences)
        found.append(fit(own.resolved(), own.corpus(), threads=1).record)
    assert all(record.converged for record in found)
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", HIDDEN)
def test_messages_find_no_right_labelling_to_be_wrong(name: str, kind: str) -> None:
    """On trees they find the most violated one, on loops one that is wrong at least."""
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    objective = hmsvm(case, kind, "sequence", infer="trp(tolerance=1e-8)")
    for seed in range(4):
        weights = np.random.default_rng(seed).normal(0.0, 0.8, objective.num_weights)
        objective.complete(weights)
        cuts = problem(every, completion(objective, every), kind)
        value, expected = objective.value_and_gradient(weights)[0], primal(cuts, weights, "sequence")
        assert value <= expected * (1.0 + 1e-9)
        assert value >= 0.9 * expected


def test_what_is_wholly_unknown_cannot_be_wrong() -> None:
    case = Case(HIDDEN["missing"].text, [[("a", "?"), ("b", "?")]])
    for slack in ("sequence", "labelling"):
        for infer in ("exact", "trp") if slack == "sequence" else ("exact",):
            objective = hmsvm(case, "zero_one", slack, infer)
            assert objective.value_and_gradient(np.ones(objective.num_weights))[0] == objective.num_weights / 2.0


def test_right_labellings_are_those_of_the_texts() -> None:
    """The enumeration itself, beside the one of other tests."""
    case = HIDDEN["ambiguous"]
    every = enumerate_all(case)
    weights = np.random.default_rng(0).normal(size=every[0].features.shape[1])
    for own, (texts, labellings) in zip(every, labellings_with_hidden(case, weights), strict=True):
        scores = [score for labels, score in labellings if all(map(may_be, texts, labels["y"]))]
        np.testing.assert_allclose(np.sort(own.features[own.wrong == 0] @ weights), np.sort(scores), atol=1e-12)
