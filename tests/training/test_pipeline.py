"""From a template and data to a model file and back; every step a user sees, on small data and on the real corpus."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import reference
from helpers import EXAMPLES, SHARED
from template_cases import CASES, sentences

from dcrfdsl.data import corpus_from_rows, read_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.objective import Objective
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.resolve.resolution import load_template, load_text
from dcrfdsl.semantics.settings.optimizer_settings import OPTIMIZERS as SETTINGS
from dcrfdsl.semantics.settings.training_settings import SMOOTH
from dcrfdsl.training.parts.corpus_parts import open_parts
from dcrfdsl.training.pipeline import fit

needs_data = pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the real corpora are not on this machine")


@pytest.mark.parametrize("name", CASES)
def test_a_model_file_predicts_what_the_model_predicts(name, tmp_path):
    case = CASES[name]
    corpus = case.corpus()
    model = fit(case.resolved("train.optimizer=lbfgs(max_iterations=5)"), corpus)
    model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    assert loaded.spec == model.spec
    assert loaded.record == model.record
    assert np.array_equal(loaded.weights, model.weights)
    for label, codes in model.predict(corpus).codes.items():
        assert np.array_equal(loaded.predict(corpus).codes[label], codes)
        np.testing.assert_array_equal(loaded.marginals(corpus)[0][label], model.marginals(corpus)[0][label])


def test_training_fits_a_rule_that_the_features_can_express():
    rows = [[(w, "P" if w in "ab" else "Q") for w in word] for word in ("abc", "cab", "cc", "a", "bcbc")] * 3
    resolved = load_text("data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\ntrain likelihood\n")
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data))
    unlabelled = corpus_from_rows([[("c", "Q"), ("a", "P")]], resolved.require().data)
    assert model.predict(unlabelled).texts("y") == ["Q", "P"]
    assert model.record.converged


def test_a_sentence_of_one_token_trains_and_tags():
    resolved = load_text("data conll(word, y)\nlabel y\nclique y: word\nclique y[-2], y[-1], y\n")
    corpus = corpus_from_rows([[("a", "P")]], resolved.require().data)
    assert fit(resolved, corpus).predict(corpus).texts("y") == ["P"]


def test_weights_do_not_depend_on_the_number_of_threads():
    case = CASES["factorial"]
    models = [fit(case.resolved(), case.corpus(), threads=threads) for threads in (1, 2, 4)]
    assert all(np.array_equal(models[0].weights, other.weights) for other in models[1:])


def test_a_request_to_stop_leaves_a_usable_model(tmp_path):
    case = CASES["chain"]
    seen = []
    model = fit(case.resolved(), case.corpus(), on_iteration=seen.append, should_stop=lambda: len(seen) >= 2)
    assert model.record.iterations == len(seen) == 2
    assert not model.record.converged
    model.save(tmp_path / "model")
    assert len(TrainedModel.load(tmp_path / "model").predict(case.corpus()).texts("y")) == case.corpus().num_tokens


def test_iterations_report_a_falling_objective_and_the_dev_score():
    case = CASES["chain"]
    seen = []
    fit(case.resolved(), case.corpus(), dev=case.corpus(), on_iteration=seen.append)
    assert [step.iteration for step in seen] == list(range(1, len(seen) + 1))
    assert all(b.objective <= a.objective + 1e-9 for a, b in itertools.pairwise(seen))
    assert all(0.0 <= step.dev <= 1.0 for step in seen)


def test_patience_keeps_the_weights_of_the_best_dev_score():
    case = CASES["chain"]
    other = corpus_from_rows(sentences("PQR", count=6, seed=9), case.resolved().require().data)
    model = fit(case.resolved("train.patience=2", "train.prior=none"), case.corpus(), dev=other)
    assert model.record.converged or "dev score" in model.record.reason


@pytest.mark.long
def test_a_prior_of_one_clique_replaces_the_general_one():
    text = CASES["chain"].text.replace("clique y[-1], y", "clique y[-1], y as moves")
    tight = load_text(
        text + "train likelihood: prior = gaussian(variance = 10), prior.moves = gaussian(variance = 1e-8)\n"
    )
    model = fit(tight, CASES["chain"].corpus())
    moves = [w for clique, _, _, w in model.explanations.iter_weights() if clique == "moves"]
    rest = [w for clique, _, _, w in model.explanations.iter_weights() if clique != "moves"]
    assert max(map(abs, moves)) < 1e-5 < max(map(abs, rest))


def test_stages_run_one_after_the_other():
    text = CASES["chain"].text + (
        "train likelihood as first: prior = gaussian(variance = 1)\n"
        "train likelihood as second after first: prior = none, optimizer = lbfgs(max_iterations = 1)\n"
    )
    model = fit(load_text(text), CASES["chain"].corpus())
    assert model.record.stage == "second"
    assert [record["stage"] for record in model.record.before] == ["first"]


def test_inference_that_did_not_converge_is_noted_once_with_numbers():
    case = CASES["three chains"]
    model = fit(
        case.resolved("infer=trp(max_iterations = 1)", "train.optimizer=lbfgs(max_iterations=2)"), case.corpus()
    )
    (note,) = model.record.notes
    assert "`trp` did not converge on" in note
    assert "damping" in note


def test_an_unknown_label_value_at_evaluation_is_counted():
    case = CASES["chain"]
    model = fit(case.resolved(), case.corpus())
    strange = corpus_from_rows([[("a", "NEW"), ("b", "P")]], case.resolved().require().data)
    scores = model.evaluate(strange)
    assert scores["unseen_labels"] == 1
    assert scores["accuracy(y)"] <= 0.5


def test_empty_data_is_an_error():
    case = CASES["chain"]
    with pytest.raises(DcrfError, match="there is nothing to train on"):
        fit(case.resolved(), corpus_from_rows([], case.resolved().require().data))


class Quadratic(Objective):
    """½ Σ s_k (w_k − k)², scales from 1 to 10⁴"""

    scales = np.logspace(0, 4, 12)

    def value_and_gradient(self, weights):
        gap = weights - np.arange(len(weights))
        return 0.5 * float(self.scales @ gap**2), self.scales * gap


@pytest.mark.parametrize("name", SMOOTH)
def test_optimizers_that_need_value_and_gradient_alone_find_a_known_minimum(name):
    seen = []
    outcome = OPTIMIZERS[name](
        Quadratic(), np.zeros(12), SETTINGS[name](tolerance=1e-9), lambda step, weights: bool(seen.append(step))
    )
    assert outcome.converged
    np.testing.assert_allclose(outcome.weights, np.arange(12), atol=1e-4)
    assert len(seen) == outcome.iterations


def test_the_gradient_at_the_optimum_vanishes():
    case = CASES["second order"]
    model = fit(case.resolved("train.optimizer=lbfgs(tolerance=1e-8)"), case.corpus())
    from model_cases import objective_of

    from dcrfdsl.semantics.settings.infer_settings import ExactSettings

    objective = objective_of(model, case.corpus(), ExactSettings(), precision=0.1)
    _, gradient = objective.value_and_gradient(model.weights)
    assert np.abs(gradient).max() < 1e-4
    numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], model.weights)
    np.testing.assert_allclose(numeric, gradient, atol=1e-5)


@pytest.mark.long
@needs_data
def test_the_chunking_template_has_as_many_weights_as_crfsuite():
    resolved = load_template(EXAMPLES / "08_crfsuite_chunking.dcrf", ["train.optimizer=lbfgs(max_iterations=1)"])
    corpus = read_corpus(SHARED / "data" / "conll2000" / "train.txt", resolved.require().data)
    assert fit(resolved, corpus).num_weights == 456_468


# what is not finite ---------------------------------------------------------------------------------------------------

NUMBERS = "data conll(x: float, y)\nlabel y in {A, B}\nclique y: bias, x\nclique y[-1], y\n"
TOO_LARGE = {
    "perceptron": (1e308, "perceptron"), "scores of a perceptron": (1e200, "perceptron"),
    "sgd": (1e160, "likelihood: optimizer = sgd"), "gpd": (1e200, "likelihood: optimizer = gpd"),
    "all data": (1e200, "likelihood"),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", TOO_LARGE)
def test_no_model_is_made_where_training_leaves_the_numbers(case):
    value, criterion = TOO_LARGE[case]
    resolved = load_text(f"{NUMBERS}train {criterion}\n")
    rows = [[(value, "A"), (2.0, "B")], [(3.0, "A"), (-value, "B")]]
    with pytest.raises(DcrfError, match="smaller `rate`") as caught:
        fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    assert [diagnostic.slug for diagnostic in caught.value.diagnostics] == ["not-finite"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_no_reader_takes_are_not_written(value, tmp_path):
    case, path = CASES["factorial"], tmp_path / "kept.model"
    model = fit(case.resolved("train.optimizer=lbfgs(max_iterations=2)"), case.corpus())
    model.save(path)
    before, weights = path.read_bytes(), model.weights.copy()
    weights[3] = value
    with pytest.raises(DcrfError) as caught:
        replace(model, weights=weights).save(path)
    assert caught.value.diagnostics[0].slug == "not-finite" and path.read_bytes() == before
    weights[3] = -np.inf  # the log of a relative frequency of 0
    model.with_weights(weights, model.record).save(path)
    assert TrainedModel.load(path).weights[3] == -np.inf


def test_training_tells_the_optimizer_what_an_evaluation_takes_but_not_on_data_in_parts(tmp_path, monkeypatch):
    """By the graph and the number of tokens, never by a clock: so that the weights are the same in each run."""
    asked = []
    monkeypatch.setattr("dcrfdsl.optimizers.auto.pairs_kept", lambda *given: asked.append(given) or 20)
    template = tmp_path / "chain.dcrf"
    template.write_text("data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\n")
    path = tmp_path / "data.txt"
    path.write_text("a X\nb Y\n\n" * 30)
    resolved = load_template(template)
    corpus = read_corpus(path, resolved.require().data)
    for part in (corpus, corpus.slice(0, 15)):
        fit(resolved, part)
    fit(resolved, open_parts(path, resolved, cache=tmp_path / "cache", part_tokens=20))
    (whole, half, parts), weights = zip(*((seconds, count) for _, seconds, count in asked), strict=True)
    assert whole == pytest.approx(2 * half) and half > 0.0
    assert parts == 0.0
    assert weights == (8, 8, 8)
