"""Training that starts from an earlier model: which weights are taken over, how soon it ends, a prior around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from template_cases import sentences

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.carried_weights import carried_weights
from dcrfdsl.training.pipeline import fit

CHAIN = "data conll(word, y)\nlabel y\nclique y: bias, word[-1..1]\nclique y[-1], y\ninfer exact\n"
PLAIN = CHAIN + "train likelihood: prior = gaussian(variance = 1)\n"
AROUND = CHAIN + "train likelihood: prior = gaussian(variance = {}, mean = model)\n"


def trained(text: str, labels: str = "PQ", *, seed: int = 0, words: str = "abcd", **how) -> TrainedModel:
    resolved = load_text(text)
    rows = sentences(labels, count=40, seed=seed, words=words)
    return fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1, **how)


def named(model: TrainedModel, weights: np.ndarray) -> dict[tuple, float]:
    return {row[:3]: row[3] for row in model.with_weights(weights, model.record).explanations.iter_weights()}


def slug(text: str, **how) -> str:
    with pytest.raises(DcrfError) as refused:
        trained(text, **how)
    return refused.value.diagnostics[0].slug


def test_on_the_same_data_it_ends_in_a_fifth_of_the_evaluations() -> None:
    weak = PLAIN.replace("variance = 1", "variance = 100")
    first = trained(weak, "PQRS", words="abcdefghij")
    again = trained(weak, "PQRS", words="abcdefghij", start=first)
    assert again.record.converged and again.record.evaluations < first.record.evaluations / 5
    assert again.record.objective == pytest.approx(first.record.objective, rel=1e-5)
    assert again.record.start is not None and first.record.start is None
    assert (again.record.start.carried, again.record.start.new, again.record.start.left_out) == (
        len(first.weights),
        0,
        0,
    )
    assert again.record.start.data_sha256 == first.record.data_sha256


@pytest.mark.parametrize(
    ("text", "labels", "words"),
    [
        pytest.param(PLAIN, "QRP", "abcd", id="a new label"),
        pytest.param(PLAIN, "PQ", "cdxy", id="other words"),
        pytest.param(PLAIN.replace("bias, word[-1..1]", "word, lower(word)"), "PQ", "abcd", id="other features"),
        pytest.param(PLAIN.replace("clique y[-1], y\n", "clique y[-1], y, y[1]\n"), "PQ", "abcd", id="another clique"),
        pytest.param(PLAIN.replace("clique y:", "clique y as words:"), "QP", "abcd", id="another name"),
        pytest.param(
            PLAIN.replace("clique y[-1], y\n", "clique y[-1], y with edges = pad\n"), "PQ", "abcd", id="padded"
        ),
    ],
)
def test_weights_are_taken_over_by_clique_feature_and_states(text: str, labels: str, words: str) -> None:
    first = trained(PLAIN)
    new = trained(text, labels, words=words, seed=1)
    weights, record = carried_weights(first, new)

    def sites(row: tuple) -> tuple:
        return (row[0].replace("words", "y"), *row[1:])

    before = {sites(row): weight for row, weight in named(first, first.weights).items()}
    now = {sites(row): weight for row, weight in named(new, weights).items()}
    assert {row: weight for row, weight in now.items() if row in before} == {
        row: weight for row, weight in before.items() if row in now
    }
    assert not any(weight for row, weight in now.items() if row not in before)
    shared = len(before.keys() & now.keys())
    assert shared > 0 and (record.carried, record.new, record.left_out) == (
        shared, len(now) - shared, len(before) - shared,
    )  # fmt: skip


def test_a_prior_around_the_model_has_its_optimum_where_the_gradients_cancel() -> None:
    first = trained(PLAIN)
    variance = 0.5
    near = trained(AROUND.format(variance), seed=1, start=first)
    centre, _ = carried_weights(first, near)
    free = load_text(CHAIN + "train likelihood: prior = none, optimizer = lbfgs(max_iterations = 1)\n")
    gradients = []

    def remember(self, weights):
        value, gradient = evaluate(self, weights)
        gradients.append((weights.copy(), gradient.copy()))
        return value, gradient

    criterion = CRITERIA["likelihood"]
    assert criterion is not None
    from dcrfdsl.criteria.likelihood import Likelihood

    evaluate = Likelihood.value_and_gradient
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Likelihood, "value_and_gradient", remember)
        rows = sentences("PQ", count=40, seed=1, words="abcd")
        fit(free, corpus_from_rows(rows, free.require().data), threads=1, start=near)
    at_optimum = next(gradient for weights, gradient in gradients if np.array_equal(weights, near.weights))
    np.testing.assert_allclose(at_optimum, (centre - near.weights) / variance, atol=2e-3)
    assert np.abs(near.weights - centre).max() > 0.1  # the data moved them


def test_a_narrow_prior_keeps_the_weights_of_the_model() -> None:
    first = trained(PLAIN)
    near = trained(AROUND.format(1e-9), seed=1, start=first)
    np.testing.assert_allclose(near.weights, carried_weights(first, near)[0], atol=1e-6)


def test_the_record_is_kept_in_the_model_file(tmp_path: Path) -> None:
    first = trained(PLAIN)
    again = trained(PLAIN, "PQR", start=first)
    again.save(tmp_path / "again.model")
    assert TrainedModel.load(tmp_path / "again.model").record.start == again.record.start
    assert "weights taken over" in again.record.start.description


def test_stages_after_the_first_start_where_the_first_ended() -> None:
    text = PLAIN.replace("train likelihood:", "train likelihood as ml:") + "train rescale after ml\n"
    both = trained(text, start=trained(PLAIN))
    assert both.record.stage == "rescale" and both.record.before[0]["evaluations"] < 20


def test_a_latent_model_goes_on_from_its_own_weights() -> None:
    cliques = "clique y, z\nclique z: bias, word\nclique z[-1], z\n"
    text = f"data conll(word, y)\nlabel y\nlatent z in 2\n{cliques}train likelihood\n"
    first = trained(text)
    again = trained(text, start=first)
    assert again.record.objective <= first.record.objective + 1e-6
    assert {step.start for step in again.record.curve} == {0}


def test_separate_pieces_go_on() -> None:
    text = CHAIN + "train piecewise: prior = gaussian(variance = 1)\n"
    first = trained(text)
    again = trained(text, start=first)
    assert again.record.converged and again.record.evaluations < first.record.evaluations
    assert again.record.objective == pytest.approx(first.record.objective, rel=1e-5)


@pytest.mark.parametrize("train", ["hmsvm", "hmm"])
def test_what_is_solved_without_a_start_refuses_one(train: str) -> None:
    text = CHAIN.replace("bias, word[-1..1]", "bias, word") + f"train {train}\n"
    assert slug(text, start=trained(PLAIN)) == "idle-start"


def test_wrong_starts_are_refused() -> None:
    first = trained(PLAIN)
    assert slug(PLAIN.replace("bias, word[-1..1]", "lower(word)"), labels="XY", start=first) == "cannot-start-from"
    assert slug(AROUND.format(1)) == "prior-without-model"
    text = CHAIN + "train likelihood: prior = gaussian(mean = model), optimizer = sgd\n"
    assert slug(text, start=first) == "prior-not-treated"
    with pytest.raises(TypeError, match="start"):
        trained(PLAIN, start="first.model")
