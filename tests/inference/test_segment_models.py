"""Models over segments from training to tagging: objectives, files, n-best lists, events, partly known labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from segment_cases import CASES, Twin, segments

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.run_sums import GradientAccumulator
from dcrfdsl.data import corpus_from_rows, encode_known_labels
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.inference.base import Expectations
from dcrfdsl.inference.methods.exact_method import AutomatonMethod
from dcrfdsl.model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.settings_reading import stage_settings
from dcrfdsl.training import fit

EXACT = 1e-9


def fitted(name):
    twin = Twin(CASES[name])
    model = fit(load_text(twin.case.text), twin.corpus, threads=1)
    twin.weights = model.weights
    return twin, model


def scores_of(twin, words, known=None):
    return np.array([score for _, score, _ in twin.labellings(words, known)])


@pytest.mark.parametrize("name", ["bio together", "runs"])
def test_the_objective_is_that_of_enumeration_and_its_gradient_that_of_differences(name):
    twin = Twin(CASES[name])
    objective = CRITERIA["likelihood"](twin.training_problem(), stage_settings(twin.spec))
    value, gradient = objective.value_and_gradient(twin.weights)
    expected = twin.weights @ twin.weights / 20.0 - twin.counts @ twin.weights
    expected += sum(np.logaddexp.reduce(scores_of(twin, [w for w, _ in s])) for s in twin.case.sentences)
    assert value == pytest.approx(expected, abs=EXACT)
    for weight in range(0, len(gradient), 7):
        step = np.zeros(len(gradient))
        step[weight] = 1e-5
        ends = [objective.value_and_gradient(twin.weights + sign * step)[0] for sign in (1, -1)]
        assert gradient[weight] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7)


def test_labels_that_are_not_known_are_summed_out():
    case = CASES["bio"]
    hidden = [[(word, "?" if t == 1 else state) for t, (word, state) in enumerate(s)] for s in case.sentences[:4]]
    label = f'{case.label} with missing = "?"'
    twin = Twin(replace(case, label=label, sentences=[*hidden, *case.sentences[4:]]))
    objective = CRITERIA["likelihood"](twin.training_problem(), stage_settings(twin.spec))
    value, _ = objective.value_and_gradient(twin.weights)
    expected = twin.weights @ twin.weights / 20.0
    for sentence in twin.case.sentences:
        words, known = [w for w, _ in sentence], [None if state == "?" else state for _, state in sentence]
        expected += np.logaddexp.reduce(scores_of(twin, words)) - np.logaddexp.reduce(scores_of(twin, words, known))
    assert value == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("name", ["bioes", "runs together"])
def test_a_model_from_its_file_gives_the_same_lists(name, tmp_path):
    twin, model = fitted(name)
    model.save(tmp_path / "spans.dcrfm")
    read = TrainedModel.load(tmp_path / "spans.dcrfm")
    assert read.spec == model.spec and np.array_equal(read.weights, model.weights)
    found = read.nbest(twin.corpus, 4)
    for sentence, labellings in zip(twin.case.sentences, found.sentences, strict=True):
        scores = np.sort(scores_of(twin, [w for w, _ in sentence]))[::-1]
        assert np.allclose(labellings.score, scores[:4], atol=EXACT)
        assert np.allclose(labellings.probability, np.exp(scores[:4] - np.logaddexp.reduce(scores)), atol=EXACT)
    assert found.exact
    log_likelihood = model.scores.log_likelihood(twin.corpus)
    by_hand = twin.counts @ twin.weights
    by_hand -= sum(np.logaddexp.reduce(scores_of(twin, [w for w, _ in s])) for s in twin.case.sentences)
    assert log_likelihood == pytest.approx(by_hand, abs=EXACT)


def test_the_probability_of_a_predicted_segment_is_that_of_enumeration():
    twin, model = fitted("bio")
    asked = 0
    for words, found in zip(twin.case.sentences, model.calibration.confidences(twin.corpus), strict=True):
        every = list(twin.labellings([w for w, _ in words]))
        share = np.exp([score for _, score, _ in every] - np.logaddexp.reduce([score for _, score, _ in every]))
        for one in found.segments:
            wanted = (one.first, one.last + 1, one.type)
            has = [wanted in segments(labels, "bio") for labels, _, _ in every]
            assert one.probability == pytest.approx(share @ has, abs=EXACT)
            asked += 1
    assert asked > 3


def test_labels_that_are_given_are_kept():
    twin, model = fitted("bio")
    given = [[("a", "_"), ("b", "O"), ("c", "_")]]
    corpus = corpus_from_rows(given, twin.spec.data)
    known = encode_known_labels(twin.spec, {"y": twin.states}, corpus)
    best = max(twin.labellings(["a", "b", "c"], [None, "O", None]), key=lambda one: one[1])[0]
    assert [twin.states[k] for k in model.predict(corpus, given=known).codes["y"]] == list(best)


def test_lengths_are_those_of_a_latent_counter():
    """The same distribution as labels beside a counter of the tokens of their run."""
    head = "dcrf 1\ndata conll(word, y)\nlabel y in {P, Q}\n"
    tail = "\ntrain likelihood: prior = gaussian(variance = 10)\n"
    counted = """latent age in 4
clique y: bias, word
clique y[-1], age[-1], y as ending with states = all, edges = pad: bias
require age is 0 when first
require age is 0 when y != y[-1]
require age is 1 when y = y[-1] and age[-1] is 0
require age is 2 when y = y[-1] and age[-1] is 1
require age is 3 when y = y[-1] and age[-1] in {2, 3}
"""
    spans = "clique y: bias, word\nsegment y up to 3 with states = all, longer = together: length\nclique y[-1], y\n"
    sentences = CASES["runs together"].sentences
    data = [[(w, "Q" if state == "R" else state) for w, state in s] for s in sentences]
    data += [[("a", "P")] * 5, [("b", "Q")] * 4, [("a", "Q")] * 2 + [("c", "P")] * 3]
    models = [load_text(head + text + tail) for text in (counted, spans)]
    corpus = corpus_from_rows(data, models[0].spec.data)
    counter, model = (fit(resolved, corpus, threads=1) for resolved in models)
    weights = {(clique, text, states): w for clique, text, states, w in model.explanations.iter_weights()}
    own = np.zeros(counter.num_weights)

    def length(state, age):
        text = "4 and more" if age == "3" else f"{int(age) + 1}"
        return weights["segments of y", f"length of segment={text}", (state,)]

    def move(before, after):
        return weights.get(("y[-1], y", "bias", (before, after)), 0.0)

    for number, (clique, text, states, _) in enumerate(counter.explanations.iter_weights()):
        if clique != "ending":
            own[number] = weights.get((clique, text, states), 0.0)
        elif states[2] == "STOP":
            own[number] = length(states[0], states[1])
        elif states[0] != "START":
            own[number] = move(states[0], states[2])
            own[number] += length(states[0], states[1]) if states[0] != states[2] else 0.0
    counter = counter.with_weights(own, counter.record)
    assert counter.scores.log_likelihood(corpus) == pytest.approx(model.scores.log_likelihood(corpus), abs=EXACT)
    for one, other in zip(counter.marginals(corpus)[0].values(), model.marginals(corpus)[0].values(), strict=False):
        assert np.allclose(one, other, atol=EXACT)


def test_a_longer_segment_of_the_data_is_an_error_with_its_line():
    twin = Twin(CASES["bio"])
    corpus = corpus_from_rows([[("a", "B-X"), *[("b", "I-X")] * 4]], twin.spec.data)
    with pytest.raises(DcrfError, match="segment-too-long") as raised:
        fit(load_text(twin.case.text), corpus)
    assert "up to 5" in str(raised.value) and "longer = together" in str(raised.value)


def test_samples_have_no_more_probability_than_their_labellings():
    twin, model = fitted("bio together")
    corpus = corpus_from_rows([[("a", "O"), ("b", "O"), ("c", "O")]], twin.spec.data)
    drawn = model.sample(corpus, 2000, seed=0).codes["y"]
    every = list(twin.labellings(["a", "b", "c"]))
    share = np.exp([score for _, score, _ in every] - np.logaddexp.reduce([score for _, score, _ in every]))
    numbers = {labels: n for n, (labels, _, _) in enumerate(every)}
    counts = np.bincount([numbers[tuple(twin.states[k] for k in row)] for row in drawn], minlength=len(every))
    assert np.allclose(counts / 2000, share, atol=0.05)


@pytest.mark.parametrize("name", ["bio together", "runs", "bioes"])
def test_the_features_of_all_lengths_are_read_from_one_list(name):
    """A list for each token has the same features as the rows of each length: sums agree to the last bit but two."""
    problem = Twin(CASES[name]).training_problem()
    found = []
    for data in (problem.bind_plain(programs=False), problem.bind(programs=False)):
        method = AutomatonMethod(data, ExactSettings())
        out, sums = Expectations.empty(data), GradientAccumulator(data, problem.workers)
        found.append((sums.expectations(method, data.potentials(problem.weights), out), out.log_z))
        lists = method.automaton.structure.listed_off
        assert len(lists) == (0 if data.packing is None else problem.sentence_off[-1] + 1)
    assert lists[-1] > 0
    for rows, listed in zip(*found, strict=True):
        np.testing.assert_allclose(listed, rows, rtol=1e-13, atol=1e-13)
