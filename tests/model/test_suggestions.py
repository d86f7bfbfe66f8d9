"""What to label next: scores against enumeration, the choice against its slow twin, and what has no score.

Not here: files to annotate (`tests/cli/test_suggest_command.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hidden_cases import HIDDEN
from model_cases import columns, trained, twin_of
from sentence_cases import Twin
from template_cases import CASES, Case, sentences

from dcrfdsl import DcrfError, fit, load_text
from dcrfdsl.model.predictor import ModelStructure
from dcrfdsl.model.record import Calibration
from dcrfdsl.model.suggestions import CANDIDATES

SKIP = CASES["skip chain"]
LOOPY = Case(SKIP.text.replace("infer exact", "infer bp"), SKIP.sentences, joins=SKIP.joins)
MODELS = {
    "chain": CASES["chain"],
    "second order": CASES["second order"],
    "factorial": CASES["factorial"],
    "segments": CASES["segments"],
    "skip chain": SKIP,
    "latent": HIDDEN["latent"],
    "hard constraints": CASES["a constraint across cliques"],
}
TEMPERATURE = 0.7


def tempered(case):
    """A model of random weights with a temperature, and its corpus."""
    model, corpus = trained(case, scale=1.5)
    return model.with_record(replace(model.record, calibration=Calibration(TEMPERATURE, 0.0, 0.0, 1))), corpus


def distribution(model, case, number):
    """The probability of each labelling of a sentence; latents summed out."""
    every = twin_of(model, case).enumerate(columns(case, case.sentences[number]))
    width, labels = len(model.states), range(len(model.labels))
    scores = TEMPERATURE * every.scores(model.weights)
    p = np.exp(scores - scores.max())
    found = Counter()
    for row, mass in zip(every.index.tolist(), (p / p.sum()).tolist(), strict=True):
        found[tuple(tuple(row[m::width]) for m in labels)] += mass
    return found


def entropy(masses):
    return -sum(p * math.log(p) for p in masses if p > 0.0)


def single(p):
    """Σ of the entropies of single labels."""
    labellings = list(p)
    places = [(m, t) for m, one in enumerate(labellings[0]) for t in range(len(one))]
    total = 0.0
    for m, t in places:
        states = Counter()
        for labelling in labellings:
            states[labelling[m][t]] += p[labelling]
        total += entropy(states.values())
    return total


def scored(model, corpus, by, **options):
    found = model.suggest(corpus, corpus.num_sentences, by=by, **options)
    return {one.sentence: one for one in found}


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_enumeration(name):
    case = MODELS[name]
    model, corpus = tempered(case)
    found = {by: scored(model, corpus, by) for by in ("entropy", "confidence", "margin")}
    for number in range(min(5, corpus.num_sentences)):
        p = distribution(model, case, number)
        first, second = sorted(p.values(), reverse=True)[:2]
        whole = single(p) if name == "latent" else entropy(p.values())
        assert found["confidence"][number].score == pytest.approx(1.0 - first, abs=1e-10)
        assert found["margin"][number].score == pytest.approx(second / first, rel=1e-9)
        assert found["entropy"][number].score == pytest.approx(whole, abs=1e-9)
        assert found["entropy"][number].exact == (name != "latent")
        assert name == "latent" or (found["confidence"][number].exact and found["margin"][number].exact)


def test_on_loops_scores_are_those_of_beliefs():
    model, corpus = tempered(LOOPY)
    assert model.inference_method == "bp"
    tables, _ = model.marginals(corpus)
    sure = model.calibration.confidences(corpus)
    found = {by: scored(model, corpus, by) for by in ("entropy", "confidence", "margin")}
    for s, (start, end) in enumerate(zip(corpus.sentence_off, corpus.sentence_off[1:], strict=False)):
        of_tokens = sum(entropy(row) for row in tables["y"][start:end].tolist())
        assert found["entropy"][s].score == pytest.approx(of_tokens, rel=1e-6) and not found["entropy"][s].exact
        assert found["confidence"][s].score == pytest.approx(1.0 - sure[s].sentence, abs=1e-4)
        assert 0.0 <= found["margin"][s].score <= 1.0


def test_scores_of_what_pruning_leaves(monkeypatch):
    """Where inference prunes and exact inference does not fit."""
    text = "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\ninfer pruned(threshold = 0, keep = 9)"
    case = Case(text, CASES["chain"].sentences)
    model, corpus = tempered(case)
    monkeypatch.setattr(ModelStructure, "sums_fit", False)
    found = {by: scored(model, corpus, by) for by in ("confidence", "entropy")}
    for number in range(corpus.num_sentences):
        p = distribution(model, case, number)
        assert found["confidence"][number].score == pytest.approx(1.0 - max(p.values()), abs=1e-9)
        assert found["entropy"][number].score == pytest.approx(single(p), abs=1e-9)
        assert not found["confidence"][number].exact and not found["entropy"][number].exact


def test_a_label_of_the_sentence_counts_once():
    twin = Twin("chain")
    model = fit(load_text(twin.text), twin.corpus)
    model = model.with_weights(twin.weights, model.record)
    found = {by: scored(model, twin.corpus, by) for by in ("entropy", "confidence", "margin")}
    loopy = fit(load_text(twin.text.replace("infer exact", "infer bp")), twin.corpus)
    beliefs = scored(loopy.with_weights(twin.weights, model.record), twin.corpus, "entropy")
    for s, sentence in enumerate(twin.sentences):
        scores = np.array([score for _, _, score, _ in twin.labellings(twin.words(sentence))])
        p = np.sort(np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum())[::-1]
        assert found["entropy"][s].score == pytest.approx(entropy(p.tolist()), abs=1e-9)
        assert found["confidence"][s].score == pytest.approx(1.0 - p[0], abs=1e-10)
        assert found["margin"][s].score == pytest.approx(p[1] / p[0])
        assert len(sentence) > 1 or beliefs[s].score == pytest.approx(entropy(p.tolist()), abs=2.0)
        most = math.log(3) * (1 + len(sentence))
        assert 0.0 <= beliefs[s].score <= most


# the choice -----------------------------------------------------------------------------------------------------------


def cosines(model, corpus):
    """Of each pair of sentences, from counts of features by their names, one at a time."""
    vectors = []
    for s in range(corpus.num_sentences):
        counts = Counter()
        for number, rows in enumerate(model.extractor.extract(corpus.slice(s, s + 1))):
            for feature in rows.feature.tolist():
                counts[number, feature] += 1.0
        vectors.append(counts)
    having = Counter(key for counts in vectors for key in counts)
    vectors = [
        {key: n * (1.0 + math.log((1 + len(vectors)) / (1 + having[key]))) for key, n in counts.items()}
        for counts in vectors
    ]
    norms = [math.sqrt(sum(value**2 for value in vector.values())) for vector in vectors]
    return [
        [
            sum(value * other.get(key, 0.0) for key, value in one.items()) / (n * m)
            for other, m in zip(vectors, norms, strict=True)
        ]
        for one, n in zip(vectors, norms, strict=True)
    ]


@pytest.mark.parametrize("diversity", [0.0, 0.5, 1.0, 3.0])
def test_the_choice_is_that_of_a_slow_twin(diversity):
    case = Case(CASES["factorial"].text, sentences("PQ", "RST", count=30, longest=6))
    model, corpus = trained(case, scale=1.0)
    table = scored(model, corpus, "entropy", diversity=0.0)
    near, chosen = cosines(model, corpus), []
    while len(chosen) < 12:
        worth = {
            s: table[s].score * max(0.0, 1.0 - max((near[s][c] for c in chosen), default=0.0)) ** diversity
            for s in table
            if s not in chosen
        }
        chosen.append(max(worth, key=worth.get))
    found = model.suggest(corpus, 12, by="entropy", diversity=diversity, threads=1)
    assert [one.sentence for one in found] == chosen
    assert found == model.suggest(corpus, 12, by="entropy", diversity=diversity, threads=3)


def test_of_copies_one_is_chosen_and_most_candidates_are_left_out():
    model, corpus = trained(CASES["chain"], scale=1.0)
    copies = corpus.take([s for s in range(corpus.num_sentences) for _ in range(3)])
    ones, thrice = model.suggest(corpus, 3), model.suggest(copies, 3)
    assert [one.sentence // 3 for one in thrice] == [one.sentence for one in ones] != [one.sentence // 3 for one in
                                                      model.suggest(copies, 3, diversity=0.0)]  # fmt: skip
    many = corpus.take(np.arange(2 * CANDIDATES) % corpus.num_sentences)
    assert model.suggest(many, 1)[0].score == ones[0].score
    assert len(model.suggest(many, 1000)) == 2 * CANDIDATES


def test_what_has_no_score():
    case = Case(
        "data conll(word, y)\nlabel y in {P, Q}\nclique y: word\nforbid y is P\nforbid y is Q and word is b\n",
        [[("a", "Q")], [("a", "Q")]],
    )
    model, _ = trained(case)
    pool = Case(case.text, [[("b", "Q")], [("a", "Q")]]).corpus()
    for by in ("entropy", "confidence", "margin"):
        (only,) = model.suggest(pool, 5, by=by)
        assert only[:2] == (1, pytest.approx(0.0, abs=1e-12)) and only.exact
    assert model.suggest(pool.slice(0, 0), 5) == []
    with pytest.raises(DcrfError, match="did you mean `margin`"):
        model.suggest(pool, 1, by="margn")
    with pytest.raises(DcrfError, match="at least 0: found -1"):
        model.suggest(pool, 1, diversity=-1)
    with pytest.raises(ValueError, match="`count` takes a whole number"):
        model.suggest(pool, 0)
