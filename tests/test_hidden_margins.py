"""Margins where labels are latent, missing or ambiguous: which labellings are wrong, and the optimum for a completion.

Against enumeration of every labelling of all variables and general solvers (SLSQP; L-BFGS-B on the dual).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from mce_cases import labellings_with_hidden
from numpy.typing import NDArray
from scipy.optimize import minimize
from template_cases import Case
from test_criteria import columns, trained, twin_of
from training_cases import objective_of

from dcrfdsl.criteria.criteria_table import Hmsvm
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS, Iteration, Outcome
from dcrfdsl.semantics.settings.optimizer_settings import BcfwSettings, WorkingSetSettings
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
C = 0.3

ONE = "data conll(word, y)\nlabel y in {P, Q, R}{how}\n"
TWO = 'data conll(word, y, z)\nlabel y in {P, Q} with missing = "?"\nlabel z in {S, T, U} with ambiguous = "|"\n'
LATENT = ONE.replace("{how}", "") + "latent h in 2\n"
MISSING = ONE.replace("{how}", ' with missing = "?"')
AMBIGUOUS = ONE.replace("{how}", ' with ambiguous = "|"')
CHAIN = "clique y as seen: bias, word\nclique y[-1], y\n"
SKIP = "clique y[i], y[j] where word[i] = word[j] as skip with min_gap = 2\n"
LABELLED = [[("a", "P"), ("b", "Q")], [("b", "R"), ("a", "Q"), ("b", "R")], [("a", "P")]]
PARTLY = [[("a", "P"), ("b", "?")], [("b", "R"), ("a", "Q"), ("b", "?")], [("a", "?")], [("b", "Q")]]
CHOICE = [[("a", "P|Q"), ("b", "Q")], [("b", "R|Q"), ("a", "P|R"), ("b", "R")], [("a", "Q|R")]]


def two_apart(table: Any) -> dict[tuple[int, int], list[str]]:
    words = table["word"]
    return {(i, i + 2): ["bias"] for i in range(len(words) - 2) if words[i] == words[i + 2]}


HIDDEN = {
    "latent": Case(LATENT + "clique y, h\nclique h as seen: word\nclique h[-1], h\n", LABELLED),
    "latent and missing": Case(
        LATENT.replace("R}", 'R} with missing = "?"') + "clique y, h\nclique h as seen: word\n", PARTLY, None
    ),
    "missing": Case(MISSING + CHAIN, PARTLY),
    "ambiguous": Case(AMBIGUOUS + CHAIN, CHOICE),
    "factorial": Case(
        TWO + "clique y as seen: bias, word\nclique z: word\nclique y[-1], y\nclique z[-1], z\nclique y, z\n",
        [[("a", "P", "S"), ("b", "?", "T|U")], [("b", "Q", "S|T"), ("a", "?", "U")], [("a", "?", "T")]],
    ),
    "missing, with skips": Case(MISSING + CHAIN + SKIP, PARTLY, joins={"skip": two_apart}),
    "ambiguous, with skips": Case(AMBIGUOUS + CHAIN + SKIP, CHOICE, joins={"skip": two_apart}),
}


class Enumerated(NamedTuple):
    """Every labelling of a sentence. features: their counts; wrong: how many known labels each contradicts, in all and
    of `y` alone; states: of all variables, flat as the engine has them.
    """

    features: Floats
    wrong: NDArray[np.int64]
    of_y: NDArray[np.int64]
    states: NDArray[np.int64]


def may_be(text: str, state: str) -> bool:
    return text == "?" or state in text.split("|")


def enumerate_all(case: Case) -> list[Enumerated]:
    model, _ = trained(case)
    size, found = model.num_weights, []
    tables = [columns(case, sentence) for sentence in case.sentences]
    raised = [twin_of(model.with_weights(row, model.record), case) for row in np.eye(size)]
    names, labels = list(model.states), [label.name for label in model.spec.labels]
    for table, sentence in zip(tables, case.sentences, strict=True):
        joint = np.array([twin.joint(table) for twin in raised])  # scores are linear in the weights
        cells = np.argwhere(np.isfinite(joint).all(axis=0))
        wrong = np.zeros((2, len(cells)), np.int64)
        for row, index in enumerate(cells.tolist()):
            for place, state in enumerate(index):
                t, name = place // len(names), names[place % len(names)]
                if name in labels and not may_be(table[name][t], model.states[name][state]):
                    wrong[:, row] += [1, name == "y"]
        features = joint[(slice(None), *cells.T)].T
        found.append(Enumerated(features, wrong[0], wrong[1], cells))
        assert len(sentence) * len(names) == cells.shape[1]
    return found


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
