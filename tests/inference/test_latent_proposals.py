"""The best labellings where latent variables cannot be summed out first: ranked by sums, exact only if proven."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from model_cases import columns, twin_of
from template_cases import Case, sentences

from dcrfdsl.data import corpus_from_rows, encode_known_labels
from dcrfdsl.semantics.conditions.implied_memories import is_once_memory
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

CHAINS = (
    "data conll(word, y)\nlabel y in {P, Q}\nlatent h in 2\nclique y as o with states = all: bias, word\n"
    "clique y[-1], y as t\nclique h[-1], h as v\nclique y, h as yh with states = all: bias, word\n"
)
LAST = "infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n"
GOLD = {"a scheme": ("I-P", "O"), "one run": "QQ", "constraints on labels": "PQ", "constraints on latents": "QP"}
WORDS = sentences("PQ", count=5, words="ab", longest=4, seed=2)
CASES = {
    "two chains": CHAINS,
    "a latent behind a latent": (
        "data conll(word, y)\nlabel y in {P, Q}\nlatent h in 2\nlatent g in {a, b}\nclique y: bias, word\n"
        "clique y[-1], y\nclique h, y\nclique g, h\nclique g[-1], g\n"
    ),
    "constraints on latents": CHAINS + "forbid h is 1 and h[-1] is 1\nrequire y is P when h is 1 and last\n",
    "constraints on labels": CHAINS + "forbid y is Q and y[-1] is Q\n",
    "a memory": CHAINS + "memory m = m[-1] or y[-1] is Q\nclique y, m\nclique h, m\n",
    "a scheme": CHAINS.replace("{P, Q}", "iob1(P)"),
    "two labels": CHAINS.replace("word, y)", "word, y, z)") + "label z in {A, B}\nclique z, h\nclique z, y\n",
    "one run": CHAINS + "once y except {Q}\n",
}  # fmt: skip


def weights_of(rng: np.random.Generator, size: int, kind: str) -> np.ndarray:
    """Small ones, large ones, and a few equal ones, which make ties."""
    if kind == "ties":
        return np.where(rng.random(size) < 0.3, 4.0, 0.0)
    return rng.normal(size=size) * {"small": 0.5, "large": 6.0}[kind]


def kept_to_once(labelling: tuple[int, ...], width: int) -> bool:
    """Whether the first label's state P comes in one run at most."""
    codes = labelling[::width]
    return sum(code == 0 and (t == 0 or codes[t - 1] != 0) for t, code in enumerate(codes)) <= 1


def checked(found, truth: dict[tuple[int, ...], float], labels: list[str], count: int) -> bool:
    """Holds a list to the log sums of all labellings; returns whether it calls itself exact."""
    assert len(found) <= min(count, len(truth))
    log_z = np.logaddexp.reduce(list(truth.values()))
    listed = [
        tuple(np.stack([found.codes[label][rank] for label in labels], axis=1).ravel().tolist())
        for rank in range(len(found))
    ]
    assert len(set(listed)) == len(listed)
    np.testing.assert_allclose(found.score, [truth[one] for one in listed], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.probability, np.exp([truth[one] - log_z for one in listed]), rtol=1e-6, atol=1e-9)
    if found.exact:
        best = sorted(truth.values(), reverse=True)[:count]
        np.testing.assert_allclose(found.score, best, rtol=1e-9, atol=1e-9)
    return found.exact


@pytest.mark.parametrize("kind", ["small", "large", "ties"])
@pytest.mark.parametrize("name", CASES)
def test_lists_are_those_of_enumeration_wherever_they_call_themselves_exact(name, kind):
    labels = ["y", "z"] if name == "two labels" else ["y"]
    rows = sentences("PQ", "AB", count=4, words="ab", longest=3, seed=2) if len(labels) == 2 else WORDS
    if name in GOLD:  # labels that keep to the rules
        rows = [[(word, GOLD[name][t % 2]) for t, (word, _) in enumerate(sentence)] for sentence in rows]
    case = Case(CASES[name] + LAST, rows, allowed=None)
    corpus = case.corpus()
    model = fit(case.resolved(), corpus, threads=1)
    rng = np.random.default_rng(5)
    tables = [columns(case, sentence) for sentence in rows]
    twin = twin_of(model, case)
    twin.states = {name: states for name, states in twin.states.items() if not is_once_memory(name)}
    every = [twin.enumerate(table) for table in tables]
    exact = asked = 0
    for _ in range(6):
        weights = weights_of(rng, model.num_weights, kind)
        at = model.with_weights(weights, model.record)
        shown = np.array([weight for *_, weight in at.explanations.iter_weights()])
        truths = [one.labellings(shown, labels) for one in every]
        if name == "one run":
            truths = [{y: score for y, score in one.items() if kept_to_once(y, 1)} for one in truths]
        for count in (1, 3, 16):
            found = at.nbest(corpus, count, threads=1)
            for own, truth in zip(found.sentences, truths, strict=True):
                asked += 1
                exact += checked(own, truth, labels, count)
                if count == 16 and kind != "large":
                    assert len(own) == min(count, len(truth))
        decoded = at.predict(corpus, threads=1)
        if not decoded.status.approximate:
            np.testing.assert_allclose(decoded.scores, [max(one.values()) for one in truths], rtol=1e-9, atol=1e-9)
    assert exact > asked / 2  # most of such short sentences are proven


def test_a_labelling_that_many_pairs_make_up_is_found():
    """Sixteen pairs of one score hide it: its own pairs are among the best, and few of them at the top."""
    rows = [[(word, "P") for word in "abcab"]]
    resolved = load_text(CHAINS + LAST)
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    keys = [(clique, feature, states) for clique, feature, states, _ in model.explanations.iter_weights()]
    large = {("t", "bias", ("Q", "P")), ("v", "bias", ("0", "0")), ("yh", "bias", ("Q", "1")),
             ("yh", "word=a", ("P", "0")), ("yh", "word=a", ("P", "1"))}  # fmt: skip
    at = model.with_weights(np.array([5.0 if key in large else 0.0 for key in keys]), model.record)
    found = at.nbest(corpus, 1, threads=1).sentences[0]
    assert at.predict(corpus, threads=1).texts("y") == list("QPQPQ")
    assert found.exact
    assert found.probability[0] == pytest.approx(0.2438, abs=1e-4)


def test_known_labels_are_kept_to():
    case = Case(CHAINS + LAST, WORDS, allowed=None)
    model = fit(case.resolved(), case.corpus(), threads=1)
    rng = np.random.default_rng(8)
    for _ in range(8):
        at = model.with_weights(rng.normal(size=model.num_weights) * 3, model.record)
        shown = np.array([weight for *_, weight in at.explanations.iter_weights()])
        given = [[(word, "P" if t == 1 else "_") for t, (word, _) in enumerate(sentence)] for sentence in WORDS]
        corpus = corpus_from_rows(given, model.spec.data)
        known = encode_known_labels(model.spec, model.states, corpus)
        for own, sentence in zip(at.nbest(corpus, 2, given=known, threads=1).sentences, WORDS, strict=True):
            truth = twin_of(at, case).enumerate(columns(case, sentence)).labellings(shown, ["y"])
            checked(own, {y: s for y, s in truth.items() if len(y) < 2 or y[1] == 0}, ["y"], 2)


def test_a_label_of_the_sentence_counts_once():
    """Each labelling's own probability is an independent answer: that of the sentence with these labels given."""
    text = (
        "data conll(word, kind, y)\nlabel kind in {A, B} for sentence\nlabel y in {P, Q}\nlatent h in 2\n"
        "clique kind: bias, word\nclique kind, y\nclique y[-1], y\nclique h[-1], h\nclique y, h: bias, word\n"
    )
    rows = [[("a", "A", "P"), ("b", "A", "Q"), ("b", "A", "P")], [("b", "B", "Q")], [("b", "B", "P"), ("a", "B", "Q")]]
    resolved = load_text(text + LAST)
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    rng = np.random.default_rng(3)
    for scale in (0.5, 3.0, 6.0):
        at = model.with_weights(rng.normal(size=model.num_weights) * scale, model.record)
        for count in (1, 4, 16):
            for own, sentence in zip(at.nbest(corpus, count, threads=1).sentences, rows, strict=True):
                truth = {}
                for kind, *states in itertools.product("AB", *["PQ"] * len(sentence)):
                    one = [(word, kind, state) for (word, *_), state in zip(sentence, states, strict=True)]
                    truth[kind, *states] = at.scores.log_likelihood(corpus_from_rows([one], model.spec.data), threads=1)
                listed = [
                    ("AB"[kinds[0]], *("PQ"[code] for code in codes))
                    for kinds, codes in zip(own.codes["kind"].tolist(), own.codes["y"].tolist(), strict=True)
                ]
                assert len(set(listed)) == len(listed)
                np.testing.assert_allclose(np.log(own.probability), [truth[one] for one in listed], atol=1e-7)
                if own.exact:
                    best = sorted(truth.values(), reverse=True)[:count]
                    np.testing.assert_allclose([truth[one] for one in listed], best, atol=1e-9)
                assert len(own) == min(count, len(truth))
