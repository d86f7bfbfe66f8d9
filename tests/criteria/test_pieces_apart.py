"""Pieces that share no weight, trained apart: the same objective and optimum, and each part has its own weights."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import reference
from piece_twin import settings_of, supervised
from template_cases import CASES

from dcrfdsl.criteria.piece_likelihood import (
    IndependentPieces,
    PieceObjective,
    build_pieces,
    build_piecewise,
    restricted_to_cliques,
)
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph.piece_instances import PieceTemplate, independent_pieces, piece_templates
from dcrfdsl.inference.piece_methods import PieceMethod, SharedPieceMethod
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.optimizers.run_state import RunState
from dcrfdsl.optimizers.separable import minimise_parts
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.optimizer_settings import LbfgsSettings
from dcrfdsl.semantics.settings.piece_shorthands import pieces_of
from dcrfdsl.semantics.settings.training_settings import (
    PieceSettings,
    PiecewiseSettings,
    PseudolikelihoodSettings,
    TrainSettings,
)
from dcrfdsl.training.pipeline import fit

APART = ["chain", "factorial", "three chains"]


def piece(name: str, *cliques: int) -> PieceTemplate:
    return PieceTemplate(name, ((0, 0),), tuple((clique, 0, False) for clique in cliques))


def watch(step: Iteration, weights: object) -> bool:
    return False


def test_pieces_that_share_a_clique_belong_together() -> None:
    pieces = [piece("a", 0), piece("b", 1, 2), piece("c", 3), piece("d", 2, 4), piece("e", 0)]
    assert [[p.name for p in group] for group in independent_pieces(pieces)] == [["a", "e"], ["b", "d"], ["c"]]


@pytest.mark.parametrize("name", APART)
def test_apart_the_objective_is_the_same(name: str) -> None:
    given, weights = supervised(CASES[name])
    apart = build_pieces(given, settings_of())
    settings = settings_of()
    assert isinstance(settings.criterion, PiecewiseSettings) and isinstance(apart, IndependentPieces)
    together = build_piecewise(
        given, settings, piece_templates(given.spec, given.graph, pieces_of(given.spec, settings.criterion))
    )
    value, gradient = apart.value_and_gradient(weights)
    expected, expected_gradient = together.value_and_gradient(weights)
    assert len(apart.apart) == len(given.spec.cliques)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10)
    reference.assert_gradient(lambda w: apart.value_and_gradient(w)[0], weights, gradient, 2e-6)
    assert sorted(np.concatenate([own for own, _ in apart.apart])) == list(range(given.parameters.num_weights))


@pytest.mark.parametrize("name", APART)
def test_apart_the_optimum_is_the_same(name: str) -> None:
    given, _ = supervised(CASES[name])
    settings = LbfgsSettings(tolerance=1e-8)
    start = np.zeros(given.parameters.num_weights)
    apart = build_pieces(given, settings_of())
    together = build_pieces(given, settings_of().model_copy(update={"patience": 5}))
    assert isinstance(apart, IndependentPieces) and isinstance(together, PieceObjective)
    found = minimise_parts(OPTIMIZERS["lbfgs"], apart, start, settings, watch, RunState())
    expected = OPTIMIZERS["lbfgs"](together, start, settings, watch, RunState())
    assert found.converged and found.gap is not None and found.gap < 1e-6
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-3)


@pytest.mark.parametrize("overlap", ["count", "divide"])
@pytest.mark.parametrize("name", ["factorial", "second order", "forbidden moves", "padded second order"])
def test_pieces_without_features_are_functions_of_counts(name: str, overlap: str) -> None:
    given, weights = supervised(CASES[name])
    plain = [c for c, template in enumerate(given.graph.templates) if template.clique == c and template.feature_set < 0]
    part, own = restricted_to_cliques(given, plain)
    settings = settings_of(overlap=overlap)
    templates = piece_templates(given.spec, given.graph, pieces_of(given.spec, settings.criterion))
    held = [template for template in templates if template.members[0][0] in plain]
    objective = build_piecewise(part, settings, held)
    (loss,) = objective.parts
    assert isinstance(loss.method, SharedPieceMethod)
    value, gradient = loss.value_and_gradient(weights[own])
    loss.method = loss.method._method
    expected, expected_gradient = loss.value_and_gradient(weights[own])
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-11)


def test_steps_are_counted_through_and_can_be_stopped() -> None:
    given, _ = supervised(CASES["factorial"])
    apart = build_pieces(given, settings_of())
    assert isinstance(apart, IndependentPieces)
    steps: list[Iteration] = []

    def stop_at_tenth(step: Iteration, weights: np.ndarray) -> bool:
        steps.append(step)
        value, gradient = apart.value_and_gradient(weights)
        assert step.objective == pytest.approx(value, rel=1e-9)
        assert step.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-6)
        return len(steps) == 10

    start = np.zeros(given.parameters.num_weights)
    settings = LbfgsSettings(tolerance=1e-3, max_iterations=4)
    outcome = minimise_parts(OPTIMIZERS["lbfgs"], apart, start, settings, stop_at_tenth, RunState())
    assert [step.iteration for step in steps] == list(range(1, 11))
    assert all(later.objective <= earlier.objective for earlier, later in itertools.pairwise(steps))
    assert outcome.iterations == 10 and not outcome.converged


def test_weights_that_no_piece_trains_keep_their_values() -> None:
    given, weights = supervised(CASES["factorial"])
    settings = settings_of()
    held = piece_templates(given.spec, given.graph, pieces_of(given.spec, settings.criterion))[:1]
    objective = build_piecewise(given, settings, held)
    _, gradient = objective.value_and_gradient(weights)
    own = given.parameters.of_clique(0)
    assert np.abs(gradient[own]).min() > 0.0
    assert not np.delete(gradient, own).any()
    assert objective.gap(gradient) is not None


TEMPLATE = """
data conll(word, a, b)
label a
label b
features near: word[-1..1]
clique a as words_a: bias, near
clique b as words_b: bias, near
clique a[-1], a as chain_a
clique b[-1], b as chain_b
clique a, b as both
piece firsts over a: words_a, chain_a
piece seconds over b: words_b, chain_b
infer exact
train likelihood as whole: optimizer = lbfgs(tolerance = 1e-3)
train piecewise(firsts, seconds) as parts after whole: optimizer = {optimizer}
"""


def sentences(seed: int, count: int) -> list[list[tuple[str, ...]]]:
    generator = np.random.default_rng(seed)
    words = [f"w{n}" for n in range(30)]
    return [
        [(words[n], "xyz"[n % 3], "uv"[(n // 7) % 2]) for n in generator.integers(30, size=6).tolist()]
        for _ in range(count)
    ]


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["lbfgs(tolerance = 1e-6)", "auto(tolerance = 1e-6)"])
def test_a_stage_trains_its_pieces_apart_and_leaves_the_rest(optimizer: str) -> None:
    resolved = load_text(TEMPLATE.format(optimizer=optimizer))
    corpus = corpus_from_rows(sentences(0, 80), resolved.require().data)
    before = fit(resolved, corpus, stage="whole")
    fits = [fit(resolved, corpus, threads=threads) for threads in (1, 2, 3)]
    model = fits[0]
    assert model.record.converged and "2 independent parts" in model.record.inference
    last = model.parameters.of_clique(4)
    assert np.array_equal(model.weights[last], before.weights[last])
    assert not np.allclose(model.weights[:4], before.weights[:4])
    for other in fits[1:]:
        assert np.array_equal(other.weights, model.weights)


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("name", ["factorial", "three chains", "skip chain"])
@pytest.mark.parametrize("criterion", [PiecewiseSettings(), PseudolikelihoodSettings()], ids=lambda s: s.method)
def test_batches_of_pieces_sum_to_the_objective(name: str, criterion: PieceSettings, size: int | None) -> None:
    case = CASES[name]
    given, weights = supervised(replace(case, sentences=case.sentences * (70 // len(case.sentences) + 1)))
    built = build_pieces(given, TrainSettings(criterion=criterion))
    objectives = [objective for _, objective in built.apart] if isinstance(built, IndependentPieces) else [built]
    for objective, own in zip(objectives, numbers_of(built), strict=True):
        value, gradient = objective.value_and_gradient(weights[own])
        batches = objective.batches(size)
        method = objective.parts[0].method
        if not isinstance(method, PieceMethod) and not (isinstance(method, SharedPieceMethod) and size):
            assert batches is None  # a piece over whole sequences, or nothing that a start on batches would help
            continue
        assert batches is not None and batches.count > 1
        at = weights[own]
        batches.begin(at)
        total, summed = 0.5 * float(objective.penalty.precision @ at**2), objective.penalty.precision * at
        for number in range(batches.count):
            part, touched, found = batches.gradient(number)
            total += part
            summed[touched] += found
        assert total == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(summed, gradient, atol=1e-9)


def numbers_of(built: PieceObjective | IndependentPieces) -> list[np.ndarray]:
    return (
        [numbers for numbers, _ in built.apart]
        if isinstance(built, IndependentPieces)
        else [np.arange(built.num_weights)]
    )
