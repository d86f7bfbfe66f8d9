"""Criteria of models with a `segment` statement beside the likelihood: against enumeration of all labellings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from segment_cases import CASES, Twin

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.settings_reading import stage_settings
from dcrfdsl.training import fit

EXACT = 1e-9
NAMES = ["bio", "bio all", "bio together", "bioes together", "runs", "runs together", "features of moves", "constraint"]
LIKELIHOOD = "train likelihood: prior = gaussian(variance = 10)"


def trained_by(name, stage, **changes):
    """A case whose stage is another one, and its objective."""
    twin = Twin(replace(CASES[name], **changes))
    resolved = load_text(twin.case.text.replace(LIKELIHOOD, stage))
    assert not resolved.diagnostics, resolved.diagnostics
    criterion = CRITERIA[resolved.spec.stages[0].criterion.name]
    return twin, criterion(twin.training_problem(), stage_settings(resolved.spec))


def of_sentences(twin):
    """Gold labels, gold counts, and all labellings with score and counts, of each sentence."""
    for sentence in twin.case.sentences:
        words, gold = [w for w, _ in sentence], tuple(state for _, state in sentence)
        yield gold, twin.counts_of(words, gold), list(twin.labellings(words))


@pytest.mark.parametrize("name", NAMES)
def test_the_perceptrons_loss_and_subgradient(name):
    twin, objective = trained_by(name, "train perceptron")
    value, gradient = objective.value_and_gradient(twin.weights)
    loss, pull = 0.0, np.zeros(len(gradient))
    for _, own, every in of_sentences(twin):
        _, score, counts = max(every, key=lambda one: one[1])
        loss += score - own @ twin.weights
        pull += counts - own
    assert value == pytest.approx(loss, abs=EXACT)
    assert np.allclose(gradient, pull, atol=EXACT)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stage", ["train perceptron", "train likelihood: optimizer = sgd"])
def test_batches_have_the_gradients_of_their_sentences(name, stage):
    twin, objective = trained_by(name, stage)
    batches = objective.batches(1)
    weights = np.zeros(len(twin.weights))
    batches.begin(weights)
    for number, (_, own, every) in enumerate(of_sentences(twin)):
        weights[:] = twin.weights * (1 + number / 10)
        for k in range(batches.count):
            batches.moved(k)
        scores = np.array([counts @ weights for _, _, counts in every])
        counts = np.array([counts for _, _, counts in every])
        value, touched, gradient = batches.gradient(number)
        found = np.zeros(len(weights))
        found[touched] = gradient
        if "perceptron" in stage:
            expected, wanted = scores.max(), counts[scores.argmax()]
        else:
            expected = np.logaddexp.reduce(scores)
            wanted = np.exp(scores - expected) @ counts
        assert value == pytest.approx(expected - own @ weights, abs=EXACT)
        assert np.allclose(found, wanted - own, atol=EXACT)


def wrong_states(gold, labels):
    return sum(a != b for a, b in zip(gold, labels, strict=True))


COSTS = {
    "zero_one": lambda gold, labels: float(gold != labels),
    "hamming": wrong_states,
    "cost(y, others = 0.25)": lambda gold, labels: 0.25 * wrong_states(gold, labels),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("loss", list(COSTS))
def test_the_margins_are_those_of_enumeration(name, loss):
    twin, objective = trained_by(name, f"train hmsvm: loss = {loss}, C = 0.7")
    for weights in (twin.weights, 0.1 * twin.weights):
        value, gradient = objective.value_and_gradient(weights)
        total, pull = 0.5 * weights @ weights, weights.copy()
        for gold, own, every in of_sentences(twin):
            short = [COSTS[loss](gold, y) - 0.5 * (own - counts) @ weights for y, _, counts in every if y != gold]
            if short and max(short) > 0.0:
                total += 0.7 * max(short)
                counts = [counts for y, _, counts in every if y != gold][int(np.argmax(short))]
                pull -= 0.35 * (own - counts)
        assert value == pytest.approx(total, abs=EXACT)
        assert np.allclose(gradient, pull, atol=EXACT)
        for weight in range(0, len(gradient), 11):
            step = np.zeros(len(gradient))
            step[weight] = 1e-6
            ends = [objective.value_and_gradient(weights + sign * step)[0] for sign in (1, -1)]
            assert gradient[weight] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_labels_that_are_not_known_take_the_best_ones_in_a_perceptron():
    case = CASES["bio"]
    hidden = [[(word, "?" if t == 1 else state) for t, (word, state) in enumerate(s)] for s in case.sentences]
    twin, objective = trained_by("bio", "train perceptron", label=f'{case.label} with missing = "?"', sentences=hidden)
    value, gradient = objective.value_and_gradient(twin.weights)
    loss, pull = 0.0, np.zeros(len(gradient))
    for sentence in hidden:
        words, known = [w for w, _ in sentence], [None if state == "?" else state for _, state in sentence]
        best, right = (max(twin.labellings(words, k), key=lambda one: one[1]) for k in (None, known))
        loss += best[1] - right[1]
        pull += best[2] - right[2]
    assert value == pytest.approx(loss, abs=EXACT)
    assert np.allclose(gradient, pull, atol=EXACT)


def test_importance_counts_a_sentence_as_often():
    case = CASES["bio"]
    head = case.text.replace("conll(word, y)", "conll(word, w: float, y)")
    resolved, plain = load_text(head.replace(LIKELIHOOD, f"{LIKELIHOOD}, importance = w")), load_text(head)
    assert not resolved.diagnostics
    times = [1 + n % 3 for n in range(len(case.sentences))]
    rows = [[(w, str(k), y) for w, y in s] for s, k in zip(case.sentences, times, strict=True)]
    once = corpus_from_rows(rows, resolved.spec.data)
    often = corpus_from_rows([row for row, k in zip(rows, times, strict=True) for _ in range(k)], plain.spec.data)
    weighed, repeated = fit(resolved, once, threads=1), fit(plain, often, threads=1)
    one, other = ({tuple(w[:3]): w[3] for w in m.explanations.iter_weights()} for m in (weighed, repeated))
    assert one.keys() == other.keys()
    assert np.allclose([one[key] for key in one], [other[key] for key in one], atol=1e-4)


STAGES = [
    "train perceptron", "train perceptron: average = no", "train perceptron: vote = yes", "train hmsvm",
    "train hmsvm: loss = hamming", "train likelihood: optimizer = sgd",
    pytest.param("train hmsvm: loss = hamming, optimizer = bcfw", marks=pytest.mark.long),
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_models_train_alike_on_any_number_of_threads_and_live_in_files(stage, tmp_path):
    case = CASES["bio"]
    resolved = load_text(case.text.replace(LIKELIHOOD, stage))
    assert not resolved.diagnostics, resolved.diagnostics
    corpus = corpus_from_rows(case.sentences * 4, resolved.spec.data)
    one, *more = (fit(resolved, corpus, threads=n) for n in (1, 2, 3))
    assert all(np.array_equal(one.weights, other.weights) for other in more)
    one.save(tmp_path / "m.dcrfm")
    read = TrainedModel.load(tmp_path / "m.dcrfm")
    found = read.predict(corpus)
    assert np.array_equal(found.codes["y"], one.predict(corpus).codes["y"])
    gold = [state for s in case.sentences * 4 for _, state in s]
    twin = Twin(case)
    assert np.mean([a == twin.states[k] for a, k in zip(gold, found.codes["y"], strict=True)]) > 0.7
