"""Labels of whole sentences against enumeration: log Z, gradients, marginals, labellings, lists, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from sentence_cases import INTENTS, MODELS, STATES, Twin

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.data import corpus_from_rows, encode_known_labels
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import model_cost
from dcrfdsl.model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.settings_reading import inference_settings, stage_settings
from dcrfdsl.training import fit

EXACT = 1e-9


def log_sum(scores):
    return float(np.logaddexp.reduce(list(scores)))


@pytest.mark.parametrize("automaton", [False, True])
@pytest.mark.parametrize("large", [1.0, 300.0])
@pytest.mark.parametrize("name", MODELS)
def test_log_z_expected_counts_and_marginals_are_those_of_enumeration(name, large, automaton, monkeypatch):
    monkeypatch.setattr(model_cost, "LEAST", 0.0)
    monkeypatch.setattr(model_cost, "automaton_pays", lambda found, seconds: automaton)
    twin = Twin(name, large=large)
    log_z, gradient, marginals = twin.expectations()
    expected, token = np.zeros(len(gradient)), 0
    for s, sentence in enumerate(twin.sentences):
        every = list(twin.labellings(twin.words(sentence)))
        scores = np.array([score for _, _, score, _ in every])
        assert log_z[s] == pytest.approx(log_sum(scores), rel=EXACT)
        share = np.exp(scores - log_sum(scores))
        expected += share @ np.array([counts for *_, counts in every])
        for t in range(len(sentence)):
            for k, intent in enumerate(INTENTS):
                assert marginals[0][token, k] == pytest.approx(share @ [one[0] == intent for one in every], abs=EXACT)
            for k, state in enumerate(STATES if twin.tokens else ()):
                assert marginals[1][token, k] == pytest.approx(share @ [one[1][t] == state for one in every], abs=EXACT)
            token += 1
    assert np.allclose(gradient, expected, atol=EXACT)


@pytest.mark.parametrize("method", ["bp", "trp", "gbp"])
@pytest.mark.parametrize("name", ["alone", "apart", "star"])
def test_messages_are_exact_where_the_graph_is_a_tree(name, method):
    twin = Twin(name, infer=f"{method}(tolerance = 1e-12)")
    settings = inference_settings(twin.spec)
    exact, found = twin.expectations(), twin.expectations(method, settings)
    assert np.allclose(found[0], exact[0], atol=1e-7)
    for one, other in zip(found[2], exact[2], strict=True):
        assert np.allclose(one, other, atol=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("name", ["star", "chain", "three", "view"])
def test_bounds_are_bounds_and_sampling_comes_near(name):
    twin = Twin(name)
    exact = twin.expectations()
    for method, side in (("mean_field", -1), ("trw", 1)):
        settings = inference_settings(Twin(name, infer=method).spec)
        assert (side * (twin.expectations(method, settings)[0] - exact[0]) > -1e-6).all()
    settings = inference_settings(Twin(name, infer="gibbs(samples = 20000, seed = 1)").spec)
    for one, other in zip(twin.expectations("gibbs", settings)[2], exact[2], strict=True):
        assert np.abs(one - other).max() < 0.05


@pytest.mark.parametrize("name", ["alone", "chain", "rule", "three"])
def test_the_objective_is_that_of_enumeration_also_where_labels_are_missing(name):
    drawn = Twin(name).sentences
    hidden = [[(*row[:1], "?", *row[2:]) for row in drawn[0]]]  # no intent at all
    hidden += [[row if t == len(s) - 1 else (row[0], "?", *row[2:]) for t, row in enumerate(s)] for s in drawn[1:3]]
    hidden += [[(*row[:2], "?") if t == 0 and len(row) > 2 else row for t, row in enumerate(s)] for s in drawn[3:4]]
    twin = Twin(name, sentences=[*hidden, *drawn[4:]])
    objective = CRITERIA["likelihood"](twin.training_problem(), stage_settings(twin.spec))
    value, gradient = objective.value_and_gradient(twin.weights)
    expected = twin.weights @ twin.weights / 20.0
    for sentence in twin.sentences:
        words = twin.words(sentence)
        every = [score for *_, score, _ in twin.labellings(words)]
        expected += log_sum(every) - log_sum(s for *_, s, _ in twin.labellings(words, twin.gold(sentence)))
    assert value == pytest.approx(expected, abs=EXACT)
    for weight in range(0, len(gradient), 5):
        step = np.zeros(len(gradient))
        step[weight] = 1e-5
        ends = [objective.value_and_gradient(twin.weights + sign * step)[0] for sign in (1, -1)]
        assert gradient[weight] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("decode", ["certified", "optimal"])
@pytest.mark.parametrize("name", ["alone", "star", "chain", "view"])
def test_bounds_of_the_best_labellings_hold_and_a_search_finds_these(name, decode):
    twin = Twin(name, infer="trp", large=2.0)
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    model = model.with_weights(twin.weights, model.record)
    predicted, at = model.predict(twin.corpus, decode=decode), 0
    assert predicted.bounds is not None
    for s, sentence in enumerate(twin.sentences):
        scores = {one[:2]: one[2] for one in twin.labellings(twin.words(sentence))}
        intents = predicted.texts("intent")[at : at + len(sentence)]
        assert set(intents) == {intents[0]}
        found = scores[intents[0], tuple(predicted.texts("y")[at : at + len(sentence)]) if twin.tokens else ()]
        assert predicted.bounds[s] >= max(scores.values()) - EXACT
        if decode == "optimal":
            assert found == pytest.approx(max(scores.values()), abs=EXACT)
        at += len(sentence)


@pytest.mark.parametrize("infer", ["exact", "bp", "trp"])
@pytest.mark.parametrize("name", ["alone", "star", "chain", "rule", "view"])
def test_the_best_labellings_are_those_of_enumeration_and_say_the_same_at_every_token(name, infer, tmp_path):
    twin = Twin(name, infer=infer)
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    model.save(tmp_path / "whole.dcrfm")
    model = TrainedModel.load(tmp_path / "whole.dcrfm")
    twin.weights = model.weights
    predicted, lists = model.predict(twin.corpus), model.nbest(twin.corpus, 5)
    at = 0
    for sentence, found in zip(twin.sentences, lists.sentences, strict=True):
        every = sorted(twin.labellings(twin.words(sentence)), key=lambda one: -one[2])
        scores = np.array([score for _, _, score, _ in every])
        if infer == "exact":
            assert np.allclose(found.score, scores[:5], atol=EXACT)
            assert np.allclose(found.probability, np.exp(scores[:5] - log_sum(scores)), atol=EXACT)
        for rank in range(len(found)):
            intents = found.codes["intent"][rank]
            assert (intents == intents[0]).all()
        length = len(sentence)
        intents = predicted.texts("intent")[at : at + length]
        labels = tuple(predicted.texts("y")[at : at + length]) if twin.tokens else ()
        assert set(intents) == {intents[0]}
        if infer == "exact" or name in ("alone", "star"):
            score = next(score for i, y, score, _ in every if (i, y) == (intents[0], labels))
            assert score == pytest.approx(scores[0], abs=EXACT)
        at += length


def test_samples_have_the_probabilities_of_enumeration():
    twin = Twin("chain", sentences=[[("a", "BUY", "P"), ("b", "BUY", "Q")], [("b", "GO", "P")]])
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    twin.weights = model.weights
    codes = model.sample(twin.corpus, 20_000, seed=3).codes
    assert (codes["intent"][:, 0] == codes["intent"][:, 1]).all()
    every = list(twin.labellings(["a", "b"]))
    share = np.exp([one[2] for one in every] - np.float64(log_sum(one[2] for one in every)))
    for intent in range(3):
        expected = share @ [one[0] == INTENTS[intent] for one in every]
        assert np.mean(codes["intent"][:, 0] == intent) == pytest.approx(expected, abs=0.02)


def test_what_is_known_of_the_sentence_is_kept():
    twin = Twin("chain")
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    twin.weights = model.weights
    corpus = corpus_from_rows([[("a", "_", "_"), ("b", "GO", "_"), ("a", "_", "P")]], twin.spec.data)
    known = encode_known_labels(twin.spec, twin.problem.states, corpus)
    best = max(twin.labellings(["a", "b", "a"], ("GO", ["?", "?", "P"])), key=lambda one: one[2])
    found = model.predict(corpus, given=known)
    assert list(found.texts("intent")) == ["GO"] * 3 and tuple(found.texts("y")) == best[1]


def test_the_graph_has_one_variable_of_the_sentence():
    graph = Twin("chain").problem.graph
    shape = graph.shape(5)
    assert [card for card in shape.cards if card > 1] == [3, 3, 3, 3, 3, 3]  # five tokens and one sentence
    assert sum(0 in scope and len(scope) == 1 for scope in shape.scopes) == 1
    assert sum(0 in scope and len(scope) == 2 for scope in shape.scopes) == 5


def test_perceptrons_train_it_too():
    sentences = [[("a", "BUY", "P"), ("b", "BUY", "Q")], [("b", "GO", "P"), ("b", "GO", "P")], [("a", "SAY", "R")]]
    twin = Twin("chain", sentences=sentences)
    text = twin.text.replace("train likelihood: prior = gaussian(variance = 10)", "train perceptron")
    model = fit(load_text(text), twin.corpus, threads=1)
    assert list(model.predict(twin.corpus).texts("intent")) == [row[1] for sentence in sentences for row in sentence]


def test_a_sentence_with_two_values_is_an_error_with_its_line():
    twin = Twin("chain")
    rows = [[("a", "BUY", "P")], [("a", "?", "P"), ("b", "GO", "P"), ("b", "SAY", "Q")]]
    corpus = corpus_from_rows(rows, twin.spec.data)
    with pytest.raises(DcrfError, match="mixed-sentence") as raised:
        fit(load_text(twin.text), corpus)
    assert "`GO` and `SAY`" in str(raised.value)


BESIDE = {
    "joined positions": "clique y[-1], y as c\nclique y[i], y[j] as skip:\n    where word[i] = word[j]\n    bias\n",
    "latent": "latent h in 2\nclique h, intent as hi: bias, word\nclique h, y as hy\n",
    "memory": "memory seen = seen[-1] or y[-1] is Q\nclique seen, y as sy\n",
    "views": "view k = A if y is P else B\nview ki = BUY if intent is BUY else Z\nclique k[-1], ki, k as kk\n",
    "padding": "clique y[-1], y as c with edges = pad\n",
    "constraints": "clique y[-1], y as c\nforbid y is Q and intent is GO and first\nforbid y is R and y[-1] is Q\n",
    "far": "clique y[-2], intent, y as c: word\n",
}


@pytest.mark.parametrize("name", BESIDE)
def test_it_is_a_chain_of_its_own_that_never_changes(name):
    """The same distribution as a label of tokens that is held constant by a constraint, beside everything else."""
    head = "dcrf 1\ndata conll(word, intent, y)\nlabel y in {P, Q, R}\nlabel intent in {BUY, GO, SAY}"
    cliques = "clique y as w with states = all: bias, word\nclique intent as iw with states = all: word\n"
    cliques += "clique intent, y as tie with states = all: bias, word\n" + BESIDE[name]
    cliques += "train likelihood: optimizer = lbfgs(max_iterations = 2)\n"
    rows = [[(word, intent, "P") for word, intent, _ in sentence] for sentence in Twin("chain", seed=4).sentences]
    models = []
    for text in (f"{head} for sentence\n{cliques}", f"{head}\n{cliques}require intent = intent[-1]\n"):
        resolved = load_text(text)
        corpus = corpus_from_rows(rows, resolved.spec.data)
        models.append((fit(resolved, corpus, threads=1), corpus))
    (one, corpus), (other, its) = models
    place = {key[:3]: n for n, key in enumerate(one.explanations.iter_weights())}
    wanted = np.random.default_rng(2).normal(size=other.num_weights)
    own = np.zeros(one.num_weights)
    own[[place[key[:3]] for key in other.explanations.iter_weights()]] = wanted
    one, other = one.with_weights(own, one.record), other.with_weights(wanted, other.record)
    assert one.scores.log_likelihood(corpus) == pytest.approx(other.scores.log_likelihood(its), abs=EXACT)
    for label, shares in one.marginals(corpus)[0].items():
        assert np.allclose(shares, other.marginals(its)[0][label], atol=EXACT)
    for mine, theirs in zip(one.nbest(corpus, 3).sentences, other.nbest(its, 3).sentences, strict=True):
        assert np.allclose(mine.score, theirs.score, atol=EXACT)
    for label, codes in one.predict(corpus).codes.items():
        assert np.array_equal(codes, other.predict(its).codes[label])


def test_a_feature_that_a_sentence_has_several_times_counts_as_often_in_training():
    """Many sentences, so that frequent features are bundled: a multinomial regression on counts of words."""
    random = np.random.default_rng(5)
    sentences = []
    for _ in range(300):
        intent = str(random.choice(INTENTS))
        words = random.choice(list("abcdef"), size=int(random.integers(1, 13)), p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
        sentences.append([(str(word), intent) for word in words])
    text = "dcrf 1\ndata conll(word, intent)\nlabel intent for sentence\n"
    text += "clique intent with states = all: word, lower(word)\n"
    resolved = load_text(text + "train likelihood: prior = gaussian(variance = 10)\n")
    model = fit(resolved, corpus_from_rows(sentences, resolved.spec.data), threads=1)
    weight = {(feature.split("=")[1], state): 0.0 for _, feature, (state,), _ in model.explanations.iter_weights()}
    penalty = 0.0
    for _, feature, (state,), value in model.explanations.iter_weights():
        weight[feature.split("=")[1], state] += value  # the word, and the same in lower case
        penalty += value**2 / 20.0
    loss = 0.0
    for sentence in sentences:
        scores = {intent: sum(weight[word, intent] for word, _ in sentence) for intent in model.states["intent"]}
        loss += log_sum(scores.values()) - scores[sentence[0][1]]
    assert model.record.objective == pytest.approx(loss + penalty, rel=1e-9)
    assert model.scores.log_likelihood(corpus_from_rows(sentences, resolved.spec.data)) == pytest.approx(
        -loss, rel=1e-9
    )


def test_events_of_a_sentence_label_are_the_same_at_every_position():
    twin = Twin("chain", seed=3)
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    corpus = next(
        twin.corpus.slice(n, n + 1) for n in range(twin.corpus.num_sentences) if twin.corpus.lengths()[n] >= 2
    )
    shares = dict(zip(model.states["intent"], model.marginals(corpus)[0]["intent"][0].tolist(), strict=True))
    for intent, share in shares.items():
        events = [f"intent[{t}] is {intent}" for t in (1, 2)]
        assert [one.value for one in model.events.probability(corpus, events)[0]] == pytest.approx([share, share])
    never = ["intent[1] is BUY and intent[2] is GO", "not intent[1] = intent[2]"]
    assert [one.value for one in model.events.probability(corpus, never)[0]] == [0.0, 0.0]
    best = model.predict(corpus).texts("intent")[0]
    ((same, known),) = model.events.probability(
        corpus, ["intent[2] = predicted", f"intent[1] is {best} and intent[2] is {best}"]
    )
    assert same.value == pytest.approx(shares[best]) and known.value == pytest.approx(shares[best])


def test_an_explanation_names_a_sentence_label_once():
    twin = Twin("chain", seed=3)
    model = fit(load_text(twin.text), twin.corpus, threads=1)
    number = int(np.argmax(twin.corpus.lengths()))
    sentence = twin.corpus.slice(number, number + 1)
    for position in range(sentence.num_tokens):
        changes = model.explain(sentence, position, label="intent").changes
        assert [place for name, place in changes if name == "intent"] == [position]
        of_token = model.explain(sentence, position, label="y").changes
        assert [place for name, place in of_token if name == "intent"] in ([], [0])
