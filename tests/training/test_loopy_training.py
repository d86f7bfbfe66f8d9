"""Training by messages on graphs with loops: one fixed point is followed, and what the record says holds anew."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from broken_trainings import Broken, breaking_after
from model_cases import objective_of

from dcrfdsl import Checkpoint, TrainedModel, corpus_from_rows, fit
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.semantics.settings.infer_settings import TrpSettings

VARIANCE, TOLERANCE = 10.0, 1e-5  # of the prior, and of L-BFGS
PAIRS = """data conll(word, row, column, y)
label y
clique y: bias, word
clique y[i], y[j] as across:
    where row[i] = row[j]
    with max_gap = 50, link = {link}
    bias
"""
DOWN = """clique y[i], y[j] as down:
    where column[i] = column[j]
    with max_gap = 50, link = next
    bias
"""
SIDE = 4
GRAPHS = {
    "all pairs": [(a, b) for a in range(9) for b in range(a + 1, 9)],
    "grid": [
        (v, u)
        for v in range(SIDE * SIDE)
        for u in ([v + 1] if (v + 1) % SIDE else []) + ([v + SIDE] if v + SIDE < SIDE * SIDE else [])
    ],
}
TIES = {"attract": np.eye(2), "repel": -np.eye(2), "frustrated": np.array([[1.0, -0.4], [0.2, -0.8]])}
KINDS = [(graph, tie, strength) for graph in GRAPHS for tie in TIES for strength in (0.3, 1.2)]


def _template(graph: str, infer: str = "trp", optimizer: str = "lbfgs") -> Resolved:
    text = PAIRS.format(link="all" if graph == "all pairs" else "next") + (DOWN if graph == "grid" else "")
    return load_text(
        text + f"infer {infer}\ntrain likelihood: optimizer = {optimizer}, prior = gaussian(variance = {VARIANCE})\n"
    )


@cache
def _corpus(graph: str, tie: str, strength: float) -> Corpus:
    """Labels drawn by Gibbs sampling from ties of one strength and fields of each site; half of the words tell them."""
    draw, edges = np.random.default_rng(7), GRAPHS[graph]
    sites, table = max(map(max, edges)) + 1, strength * TIES[tie]
    sentences = []
    for _ in range(12):
        field, y = draw.normal(scale=0.5, size=(sites, 2)), draw.integers(2, size=sites)
        for _ in range(30):
            for v in range(sites):
                score = field[v].copy()
                for a, b in edges:
                    score += table[:, y[b]] if a == v else table[y[a]] if b == v else 0.0
                y[v] = draw.random() < 1.0 / (1.0 + np.exp(score[0] - score[1]))
        words = [f"w{y[v]}{draw.integers(4)}" if draw.random() < 0.5 else f"n{draw.integers(9)}" for v in range(sites)]
        rows = ["r" if graph == "all pairs" else f"r{v // SIDE}" for v in range(sites)]
        sentences.append([(words[v], rows[v], f"c{v % SIDE}", f"s{y[v]}") for v in range(sites)])
    data = _template(graph).require().data
    assert data is not None
    return corpus_from_rows(sentences, data)


@cache
def _trained(graph: str, tie: str, strength: float) -> TrainedModel:
    return fit(_template(graph), _corpus(graph, tie, strength), threads=1)


def _anew(model: TrainedModel, corpus: Corpus, weights: Any) -> tuple[float, float]:
    """Objective, and norm of its gradient, by messages that begin from nothing and are exact to 1e-6."""
    objective = objective_of(model, corpus, TrpSettings(tolerance=1e-6), precision=1.0 / VARIANCE)
    value, gradient = objective.value_and_gradient(weights)
    return value, float(np.linalg.norm(gradient))


@pytest.mark.parametrize(("graph", "tie", "strength"), KINDS)
def test_a_training_converges_or_says_that_there_are_several_fixed_points(
    graph: str, tie: str, strength: float
) -> None:
    model, corpus = _trained(graph, tie, strength), _corpus(graph, tie, strength)
    record = model.record
    value, norm = _anew(model, corpus, model.weights)
    _, first = _anew(model, corpus, np.zeros(model.num_weights))
    assert record.objective == pytest.approx(value, rel=1e-6)
    if record.converged:
        assert norm <= 1.1 * TOLERANCE * first
    else:
        assert "messages have several fixed points" in record.reason
        assert any("trw" in note for note in record.notes)


def test_both_ends_are_met_and_weak_ties_converge() -> None:
    converged = {kind: _trained(*kind).record.converged for kind in KINDS}
    assert {True, False} == set(converged.values())
    assert all(converged[kind] for kind in KINDS if kind[0] == "grid" and kind[2] < 1.0)


def test_a_rejected_point_leaves_no_trace() -> None:
    kind = ("all pairs", "attract", 0.3)
    model = _trained(*kind)
    objective = objective_of(model, _corpus(*kind), TrpSettings(), precision=0.1)
    objective.value_and_gradient(0.5 * model.weights)
    objective.begin_inference()
    near = objective.value_and_gradient(0.51 * model.weights)
    objective.value_and_gradient(-20.0 * model.weights)  # of other fixed points
    again = objective.value_and_gradient(0.51 * model.weights)
    assert near[0] == again[0] and np.array_equal(near[1], again[1])


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_gradient_is_the_derivative_along_the_followed_fixed_point(graph: str, tie: str) -> None:
    kind = (graph, tie, 1.2)
    weights = np.random.default_rng(3).normal(scale=0.3, size=_trained(*kind).num_weights)
    objective = objective_of(_trained(*kind), _corpus(*kind), TrpSettings(tolerance=1e-12, max_iterations=5000), 0.1)
    objective.value_and_gradient(weights)
    objective.begin_inference()
    _, gradient = objective.value_and_gradient(weights)
    assert objective.total_status.converged
    reference.assert_gradient(lambda at: objective.value_and_gradient(at)[0], weights, gradient, 2e-6)


def test_a_new_beginning_does_not_depend_on_the_path() -> None:
    kind = ("all pairs", "attract", 1.2)
    model = _trained(*kind)
    objective = objective_of(model, _corpus(*kind), TrpSettings(), precision=0.1)
    assert objective.begin_inference("always") and not objective.begin_inference("once")
    before = objective.value_and_gradient(model.weights)
    objective.value_and_gradient(-model.weights)
    objective.begin_inference()
    after = objective.value_and_gradient(model.weights)
    assert before[0] == after[0] and np.array_equal(before[1], after[1])


def _hard() -> tuple[str, str, float]:
    """A kind with several fixed points."""
    return next(kind for kind in KINDS if not _trained(*kind).record.converged)


def test_the_same_bits_for_any_number_of_threads() -> None:
    graph, *ties = kind = _hard()
    one = _trained(*kind)
    for threads in (2, 3):
        many = fit(_template(graph), _corpus(graph, *ties), threads=threads)
        assert np.array_equal(many.weights, one.weights)
        assert (many.record.objective, many.record.reason) == (one.record.objective, one.record.reason)


def test_a_resumed_training_is_the_same(tmp_path: Path) -> None:
    graph, *ties = kind = _hard()
    whole, path = _trained(*kind), tmp_path / "checkpoint"
    for count in (2, whole.record.iterations - 2):  # in each of the two parts
        with pytest.raises(Broken):
            fit(
                _template(graph), _corpus(graph, *ties), threads=1, on_iteration=breaking_after(count),
                checkpoint=Checkpoint(path, seconds=0.0),
            )  # fmt: skip
        resumed = fit(_template(graph), _corpus(graph, *ties), threads=1, checkpoint=Checkpoint(path, resume=True))
        assert np.array_equal(resumed.weights, whole.weights)
        assert resumed.record.evaluations == whole.record.evaluations
        assert resumed.record.reason == whole.record.reason
        path.unlink(missing_ok=True)
