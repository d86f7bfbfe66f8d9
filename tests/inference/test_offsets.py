"""Models with given scores against enumeration: every labelling's score is that without them plus what is given.

Approximate methods are compared with themselves on the same model whose scores are numeric features with weights of 1.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference
from numpy.typing import NDArray
from offset_cases import CASES
from template_twin import TemplateTwin

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.model.record import Calibration
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
BY_HAND = [name for name in CASES if name not in ("segments", "once", "of the sentence")]
TRAIN = "train likelihood: optimizer = lbfgs(max_iterations = 1)\n"


@functools.cache
def model_of(name: str, infer: str, impossible: float = 0.0) -> tuple[TrainedModel, Corpus, list[dict[str, Floats]]]:
    """A model with random weights, the corpus and what is given. -inf is never the score of a gold label here."""
    case, given = CASES[name], CASES[name].given(1)
    text, rows = case.with_offsets(given)
    resolved = load_text(f"{text}infer {infer}\n{TRAIN}")
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    model = model.with_weights(np.random.default_rng(2).normal(0.0, 0.8, model.num_weights), model.record)
    if impossible:
        given = case.given(1, impossible)
        for sentence in given:
            for numbers in sentence.values():
                numbers[(numbers == -np.inf).all(axis=1)] = 0.0
        rows = case.with_offsets(given)[1]
    return model, corpus_from_rows(rows, resolved.require().data), given


def joint(name: str, model: TrainedModel, number: int, given: Mapping[str, Floats]) -> Floats:
    """log potential of every labelling of a sentence; axis t · variables + variable."""
    case, sentence = CASES[name], CASES[name].sentences[number]
    spec = load_text(
        case.text.replace("offset(s), offset(r) & word is a", "bias")
        .replace("offset(s, scale = w), offset(r) & word is a", "bias")
        .replace("offset(s)", "bias")
        .replace("offset(m)", "bias")
    ).require()
    own = {(c, f, s): w for c, f, s, w in model.explanations.iter_weights()}
    twin = TemplateTwin(spec, model.states, own)
    words = [row[0] for row in sentence]
    columns = {one.name: [row[n] for row in sentence] for n, one in enumerate(spec.data.columns)}
    total = twin.joint(columns)
    names = list(model.states)
    for index in np.ndindex(*total.shape):
        if total[index] == -np.inf:
            continue
        labelling = {
            label: [model.states[label][index[t * len(names) + m]] for t in range(len(words))]
            for m, label in enumerate(names)
        }
        for column, of in case.scores.items():
            assignments = case.assignments(column)
            for t, word in enumerate(words):
                back = len(of) - 1 if len(set(of)) < len(of) else 0  # `scores(y, y)` is of a move
                if t < back or (column == "r" and word != "a"):
                    continue
                places = [t - back + n if back else t for n in range(len(of))]
                seen = tuple(twin.seen(labelling, one, at) for one, at in zip(of, places, strict=True))
                total[index] += case.scale.get(column, 1.0) * given[column][t, assignments.index(seen)]
    return total


@pytest.mark.parametrize("impossible", [0.0, 0.3])
@pytest.mark.parametrize("infer", ["exact", "auto"])
@pytest.mark.parametrize("name", BY_HAND)
def test_everything_equals_enumeration(name: str, infer: str, impossible: float) -> None:
    model, corpus, given = model_of(name, infer, impossible)
    names, labels = list(model.states), [one.name for one in model.spec.labels]
    marginals, status = model.marginals(corpus)
    predicted, best = model.predict(corpus), model.nbest(corpus, 3)
    cliques = list(model.events.clique_marginals(corpus))
    for s, table in enumerate(given):
        first, length = int(corpus.sentence_off[s]), int(corpus.lengths()[s])
        total = joint(name, model, s, table)
        if not np.isfinite(total).any():
            assert s in status.impossible
            continue
        axis = {(t, one): t * len(names) + m for t in range(length) for m, one in enumerate(names)}
        for t, one in itertools.product(range(length), marginals):
            wanted = reference.marginal(total, [axis[t, one]])
            np.testing.assert_allclose(marginals[one][first + t], wanted, atol=1e-9)
        hidden = tuple(at for (_, one), at in axis.items() if one not in labels)
        scores = reduced(total, hidden)
        order = np.sort(scores[np.isfinite(scores)].ravel())[::-1]
        assert predicted.scores[s] == pytest.approx(order[0], abs=1e-9)
        np.testing.assert_allclose(best.sentences[s].score, order[:3], atol=1e-9)
        np.testing.assert_allclose(
            best.sentences[s].probability, np.exp(order[:3] - reference.log_sum(scores)), atol=1e-9
        )
        codes = tuple(predicted.codes[one][first + t] for t in range(length) for one in labels)
        assert scores[codes] == pytest.approx(order[0], abs=1e-9)
        for found in cliques[s][0]:
            wanted = reference.marginal(total, [axis[t, one] for one, t in found.sites])
            np.testing.assert_allclose(found.table, wanted, atol=1e-9)
        state = model.states[labels[0]][0]
        event = model.events.probability(corpus.slice(s, s + 1), f"{labels[0]}[1] is not {state}")
        p = reference.marginal(total, [axis[0, labels[0]]])[0]
        assert event[0].value == pytest.approx(1.0 - p, abs=1e-9)


def reduced(total: Floats, axes: Sequence[int]) -> Floats:
    """The scores with some variables summed out."""
    with np.errstate(divide="ignore"):
        peak = total.max()
        return peak + np.log(np.exp(total - peak).sum(axis=tuple(axes)))


@pytest.mark.parametrize("name", ["chain", "factorial", "latent"])
def test_samples_have_the_frequencies_of_enumeration(name: str) -> None:
    model, corpus, given = model_of(name, "exact", 0.3)
    names, count = list(model.states), 4000
    codes = model.sample(corpus, count, seed=3).codes
    for s, table in enumerate(given):
        total = joint(name, model, s, table)
        for t, label in itertools.product(range(int(corpus.lengths()[s])), codes):
            p = reference.marginal(total, [t * len(names) + names.index(label)])
            found = np.bincount(codes[label][:, int(corpus.sentence_off[s]) + t], minlength=len(p)) / count
            np.testing.assert_allclose(found, p, atol=0.035)


@pytest.mark.parametrize("name", ["chain", "factorial", "bio"])
def test_a_temperature_scales_given_scores(name: str) -> None:
    model, corpus, given = model_of(name, "exact")
    tau, names = 0.6, list(model.states)
    warm = model.with_record(replace(model.record, calibration=Calibration(tau, 0.0, 0.0, 1)))
    marginals = warm.marginals(corpus)[0]
    for s, table in enumerate(given):
        total = tau * joint(name, model, s, table)
        for t, label in itertools.product(range(int(corpus.lengths()[s])), marginals):
            p = reference.marginal(total, [t * len(names) + names.index(label)])
            np.testing.assert_allclose(marginals[label][int(corpus.sentence_off[s]) + t], p, atol=1e-9)
    assert warm.scores.log_likelihood(corpus) != pytest.approx(model.scores.log_likelihood(corpus))
    assert np.array_equal(warm.predict(corpus).codes[names[0]], model.predict(corpus).codes[names[0]])


METHODS = {
    "bp": "bp(tolerance = 1e-12)",
    "trp": "trp(tolerance = 1e-12)",
    "mean_field": "mean_field",
    "trw": "trw(tolerance = 1e-9)",
    "gbp": "gbp",
    "ep": "ep",
    "automaton": "exact",
    "gibbs": "gibbs(samples = 200, seed = 1)",
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_methods_give_what_they_give_for_numbers_with_weights_of_one(name: str, method: str) -> None:
    """The factor of the scores lies beside that of their clique; of one variable, that makes no loop."""
    case, given = CASES[name], CASES[name].given(1)
    if "for sentence" in case.text:  # the score of the first token, and numbers of all
        given = [{n: np.where(np.arange(len(x))[:, None] == 0, x, 0.0) for n, x in one.items()} for one in given]
    exact = method == "automaton" or (name in ("chain", "alone", "padded", "bio") and method in ("bp", "trp"))
    alike = set(case.scores) == {"s"}
    if not exact and (not alike or method == "gibbs"):
        pytest.skip("another graph of factors, whose approximation differs")
    found: list[Any] = []
    for text, rows in (case.with_offsets(given), case.with_numbers(given)):
        try:
            resolved = load_text(f"{text}infer {METHODS[method]}\n{TRAIN.rstrip()}, infer = exact\n")
            corpus = corpus_from_rows(rows, resolved.require().data)
            model = fit(resolved, corpus, threads=1)
        except Exception as error:  # refused alike
            found.append(type(error).__name__)
            continue
        keys = [row[:3] for row in model.explanations.iter_weights()]
        own = sorted(key for key in keys if case.weight(key) is None)
        drawn = dict(zip(own, np.random.default_rng(2).normal(0.0, 0.5, len(own)).tolist(), strict=True))
        weights = np.array([case.weight(key) if case.weight(key) is not None else drawn[key] for key in keys], float)
        found.append(model.with_weights(weights, model.record).marginals(corpus)[0])
    if isinstance(found[0], str):
        assert found[0] == found[1]
        return
    for label, table in found[0].items():
        np.testing.assert_allclose(table, found[1][label], atol=1e-6 if exact else 2e-3)


def test_the_score_of_a_label_of_the_sentence_is_that_of_its_first_token() -> None:
    case, given = CASES["of the sentence"], CASES["of the sentence"].given(1)
    results = []
    for change in (0.0, 5.0):
        moved = [
            {"s": np.where(np.arange(len(one["s"]))[:, None] == 0, one["s"], one["s"] + [change, 0])} for one in given
        ]
        text, rows = case.with_offsets(moved)
        resolved = load_text(f"{text}infer exact\n{TRAIN}")
        corpus = corpus_from_rows(rows, resolved.require().data)
        model = fit(resolved, corpus, threads=1)
        results.append(model.with_weights(np.zeros(model.num_weights), model.record).marginals(corpus)[0]["y"])
    np.testing.assert_allclose(results[0], results[1])
    first = np.array([one["s"][0] for one in given])
    wanted = np.exp(first - np.logaddexp(first[:, 0], first[:, 1])[:, None])
    np.testing.assert_allclose(results[0][corpus.sentence_off[:-1]], wanted, atol=1e-9)
