"""The likelihood in batches: what steps on it rest upon, and where training that begins on batches ends."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from template_cases import CASES, Case

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.criteria.training_problem import ResolvedInference
from dcrfdsl.inference import METHODS, Binder, Workers
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.infer_settings import BpSettings, ExactSettings
from dcrfdsl.semantics.settings.method_settings import MethodSettings
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer, LbfgsSettings
from dcrfdsl.training.untrained_model import assemble

Floats = NDArray[np.float64]
MANY = 300  # sentences at least, by repetition: enough for batches
PRECISION = 0.5


class Problem(NamedTuple):
    objective: Likelihood
    precision: Floats


def problem(
    case: Case,
    settings: MethodSettings | None = None,
    threads: int = 1,
    packing: str = "bundled",
    sentences: int = MANY,
) -> Problem:
    settings = settings or ExactSettings()
    many = replace(case, sentences=case.sentences * -(-sentences // len(case.sentences)))
    resolved, corpus = many.resolved(), many.corpus()
    parts = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, counts = parts.learn_parameters()
    entry = METHODS[settings.method]
    binder = Binder(parts.graph, parameters, programs=entry.programs)
    data = binder.bind(parts.rows, corpus.sentence_off, parts.relations)
    data = {"plain": lambda: data, "packed": data.packed, "bundled": lambda: data.packed(bundled=True)}[packing]()
    precision = np.full(parameters.num_weights, PRECISION)
    labelling = parts.gold.codes.T.ravel()
    objective = Likelihood(
        data, entry.build(data, settings), counts, Penalty(precision), Workers(threads), None, labelling,
        ResolvedInference(settings.method, settings),
    )  # fmt: skip
    return Problem(objective, precision)


def watch(step: Iteration, weights: Floats) -> bool:
    return False


@pytest.mark.parametrize(("packing", "size"), [("plain", None), ("packed", None), ("bundled", None), ("bundled", 1)])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_batches_add_up_to_that_of_all(name: str, packing: str, size: int | None) -> None:
    objective, precision = problem(CASES[name], packing=packing)
    weights = np.random.default_rng(1).normal(0.0, 0.7, objective.num_weights)
    value, gradient = objective.value_and_gradient(weights)
    batches = objective.batches(size)
    assert batches is not None and batches.count == (objective.data.num_sequences if size else batches.count) > 1
    batches.begin(weights)
    total, summed, share = 0.0, np.zeros_like(weights), np.zeros_like(weights)
    for number in range(batches.count):
        own, touched, part = batches.gradient(number)
        assert len(np.unique(touched)) == len(touched)
        total += own
        summed[touched] += part
        share[touched] += batches.share[touched]
    fires = share > 0.0
    np.testing.assert_allclose(share[fires], precision[fires], rtol=1e-12)
    np.testing.assert_allclose(summed + precision * weights, gradient, atol=1e-9)
    assert total + 0.5 * float(precision @ weights**2) == pytest.approx(value, rel=1e-12)


def test_a_batch_sees_the_weights_that_were_moved() -> None:
    objective, _ = problem(CASES["chain"])
    batches = objective.batches()
    assert batches is not None
    weights = np.zeros(objective.num_weights)
    batches.begin(weights)
    _, touched, before = batches.gradient(1)
    weights[touched] += 0.3
    batches.moved(1)
    _, _, after = batches.gradient(1)
    fresh = objective.batches()
    assert fresh is not None
    fresh.begin(weights)
    _, _, expected = fresh.gradient(1)
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_allclose(after, expected, atol=1e-12)


@pytest.mark.parametrize("settings", [ExactSettings(), BpSettings()], ids=lambda s: s.method)
@pytest.mark.parametrize("name", ["chain", "factorial"])
def test_training_gives_the_same_floats_for_any_number_of_threads(name: str, settings: MethodSettings) -> None:
    ends = []
    for threads in (1, 2, 3):
        objective, _ = problem(CASES[name], settings, threads)
        start = np.zeros(objective.num_weights)
        ends.append(OPTIMIZERS["auto"](objective, start, AutoOptimizer(max_iterations=12), watch).weights)
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "optimizer"),  # one of the two on each graph: `auto` goes on as `lbfgs`
    [(name, (AutoOptimizer, LbfgsSettings)[n % 2](tolerance=1e-8)) for n, name in enumerate(CASES)],
    ids=list(CASES),
)
def test_every_optimizer_ends_where_another_library_does(name: str, optimizer: AutoOptimizer | LbfgsSettings) -> None:
    objective, _ = problem(CASES[name])
    start = np.zeros(objective.num_weights)
    outcome = OPTIMIZERS[optimizer.method](objective, start, optimizer, watch)
    other = minimize(
        objective.value_and_gradient, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-7, "ftol": 0}
    )
    assert outcome.converged
    assert outcome.objective == pytest.approx(other.fun, rel=1e-9)
    # the penalty curves by PRECISION at least, so points are as close as gradients are small
    assert np.abs(outcome.weights - other.x).max() < 1e-3


@pytest.mark.long
@pytest.mark.parametrize("iterations", [1, 5, 20])
def test_the_gap_bounds_how_far_the_optimum_is(iterations: int) -> None:
    objective, _ = problem(CASES["factorial"])
    start = np.zeros(objective.num_weights)
    best = OPTIMIZERS["lbfgs"](objective, start, LbfgsSettings(tolerance=1e-9), watch)
    stopped = OPTIMIZERS["lbfgs"](objective, start, LbfgsSettings(max_iterations=iterations), watch)
    assert best.gap is not None and stopped.gap is not None
    assert 0.0 < stopped.objective - best.objective <= stopped.gap
    assert best.gap < 1e-6


def test_there_is_no_bound_where_inference_is_approximate_or_a_weight_has_no_penalty() -> None:
    approximate, _ = problem(CASES["factorial"], BpSettings())
    free, precision = problem(CASES["factorial"])
    precision[0] = 0.0
    for objective in (approximate, free):
        _, gradient = objective.value_and_gradient(np.zeros(objective.num_weights))
        assert objective.gap(gradient) is None


def test_few_sentences_are_not_cut() -> None:
    objective, _ = problem(CASES["chain"], sentences=20)
    assert objective.batches() is None
