"""Exported taggers say what the model says: labels and probabilities of every structure, feature and kind of input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference
from export_cases import STRUCTURES, drawn
from random_templates import FAMILIES, draw
from template_twin import TemplateTwin

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.labels import encode_known_labels
from dcrfdsl.export import export_tagger
from dcrfdsl.export.standalone.tagger_model import Tagger
from dcrfdsl.export.standalone.tagger_tokens import TaggerError
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics import load_text
from dcrfdsl.training.pipeline import fit

EXACT = 1e-9
SCALES = (0.3, 1.0, 3.0)  # of the random weights
COUNT = 2 * len(FAMILIES)
# What no exported tagger can do, by the words of its refusal; every family meets the others often enough.
REFUSED = ("joins positions by `where`", "cannot be summed out before the labels")


def exported(model: TrainedModel, folder: Path) -> Tagger:
    """The tagger of a model, in this process."""
    return Tagger(export_tagger(model, folder / "tagger.py").arrays)


# features ------------------------------------------------------------------------------------------------------------


def seeds(count: int) -> list[object]:
    quick = len(STRUCTURES)
    return [pytest.param(seed, marks=() if seed < quick else pytest.mark.long) for seed in range(count)]


@pytest.mark.parametrize("seed", seeds(6 * len(STRUCTURES)))
def test_every_feature_over_every_structure(seed: int, tmp_path: Path) -> None:
    """On words that training did not see, longer and shorter than windows are wide."""
    case = drawn(seed, tmp_path)
    tagger = exported(case.model, tmp_path)
    expected, _ = case.model.marginals(case.corpus)
    found = tagger.marginals_all(case.sentences)
    prediction = case.model.predict(case.corpus)
    labels, without = tagger._labelled(case.sentences)
    assert without == list(prediction.status.impossible)
    off = case.corpus.sentence_off
    for s, tables in enumerate(found):
        one = slice(*off[s : s + 2].tolist())
        for label in case.model.labels:
            if s in prediction.status.impossible:
                assert np.isnan(tables[label]).all() and set(labels[s][label]) == {"_"}
                continue
            np.testing.assert_allclose(tables[label], expected[label][one], atol=EXACT, rtol=0, err_msg=case.text)
            assert labels[s][label] == prediction.texts(label)[one], case.text


def test_one_by_one_is_as_together(tmp_path: Path) -> None:
    case = drawn(3, tmp_path)
    tagger = exported(case.model, tmp_path)
    assert [tagger.tag(one) for one in case.sentences] == tagger.tag_all(case.sentences)
    assert tagger.tag_all(case.sentences) == case.model.tag_all(case.sentences)
    for one, together in zip(case.sentences, tagger.marginals_all(case.sentences), strict=True):
        for label, table in tagger.marginals(one).items():
            np.testing.assert_allclose(table, together[label], atol=1e-14)


def test_keys_beyond_64_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crosses of many factors are numbered in stages: here from a few values on, in the model and in the tagger."""
    monkeypatch.setattr("dcrfdsl.features.feature_alphabet.LARGEST", 40)
    monkeypatch.setattr("dcrfdsl.features.feature_alphabet.INTERNED", 1000)
    monkeypatch.setattr("dcrfdsl.features.feature_alphabet.DIRECT", 8)
    monkeypatch.setattr("dcrfdsl.export.tagger_description.LARGEST", 40)
    monkeypatch.setattr(
        "export_cases.FEATURES", ("word & pos & lower(word)[1] & pos[-1]", "pos & temp & word[-1] & word[1]") * 5
    )
    case = drawn(0, tmp_path)
    tagger = exported(case.model, tmp_path)
    assert any(template.stages for features in tagger._sets for template in features.templates)
    expected, _ = case.model.marginals(case.corpus)
    found = np.concatenate([table["y"] for table in tagger.marginals_all(case.sentences)])
    np.testing.assert_allclose(found, expected["y"], atol=EXACT)


# structures -----------------------------------------------------------------------------------------------------------


QUICK = ("factorial", "second order", "latent", "copying memory", "same sites")


def numbered(number: int) -> object:
    """One case of some families runs every time."""
    quick = number < len(FAMILIES) and list(FAMILIES)[number] in QUICK
    marks = () if quick else pytest.mark.long
    return pytest.param(number, id=f"{number} {list(FAMILIES)[number % len(FAMILIES)]}", marks=marks)


@pytest.mark.parametrize("number", [numbered(number) for number in range(COUNT)])
def test_random_templates_against_enumeration(number: int, tmp_path: Path) -> None:
    """Also conditioned on what is known of the labels; the labelling has the best score of all that there are."""
    case = draw(number)
    corpus = case.corpus()
    model = fit(case.resolved(), corpus, threads=1)
    weights = np.random.default_rng(number).normal(0, SCALES[number % len(SCALES)], model.num_weights)
    model = model.with_weights(weights, model.record)
    try:
        tagger = exported(model, tmp_path)
    except DcrfError as error:
        assert any(words in error.diagnostics[0].message for words in REFUSED), error
        return
    twin = TemplateTwin(
        model.spec, model.states, {(c, text, states): w for c, text, states, w in model.explanations.iter_weights()}
    )
    data = model.spec.data
    assert data is not None
    names = [column.name for column in data.columns]
    sentences = [{name: [row[n] for row in rows] for n, name in enumerate(names)} for rows in case.rows]
    known, _ = model.marginals(corpus, given=encode_known_labels(model.spec, model.states, corpus))
    conditioned = tagger.marginals_all(sentences, sentences)
    for s, table in enumerate(case.tables):
        enumerated = twin.enumerate(table)
        total = enumerated.joint(twin.weights)
        found, ((labels,), _) = tagger.marginals(sentences[s]), tagger._labelled([sentences[s]])
        for m, label in enumerate(model.labels):
            for t, row in enumerate(found[label]):
                variable = t * len(model.states) + m
                np.testing.assert_allclose(row, reference.marginal(total, (variable,)), atol=EXACT, err_msg=case.text)
            one = slice(*corpus.sentence_off[s : s + 2].tolist())
            np.testing.assert_allclose(conditioned[s][label], known[label][one], atol=EXACT, err_msg=case.text)
        of_labellings = enumerated.labellings(twin.weights, model.labels)
        length = len(sentences[s]["word"])
        chosen = tuple(model.states[label].index(labels[label][t]) for t in range(length) for label in model.labels)
        if model.decode == "joint":
            assert of_labellings[chosen] == pytest.approx(max(of_labellings.values()), abs=EXACT), case.text


def test_a_sentence_without_any_labelling(tmp_path: Path) -> None:
    text = "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\nforbid word is x and y is A\n"
    spec = load_text(f"{text}forbid word is x and y is B").require()
    corpus = corpus_from_rows([[{"word": "a", "y": "A"}, {"word": "b", "y": "B"}]], spec.data)
    model = fit(spec, corpus)
    tagger = exported(model, tmp_path)
    assert tagger.tag(["a", "b"]) == model.tag(["a", "b"]) == ["A", "B"]
    for ask in (tagger, model):
        with pytest.raises((TaggerError, DcrfError), match="no labelling"):
            ask.tag(["a", "x", "b"])
    with pytest.raises(TaggerError, match="no labelling is possible for sentence 3"):
        tagger.tag_all([["a"], [], ["x"], ["b", "x"]])
    assert tagger.tag(["a", "b"], given=["B", None]) == model.tag(["a", "b"], given=["B", None])
    assert np.isnan(tagger.marginals(["a", "x", "b"])["y"]).all()


def test_a_long_sentence_loses_no_digits(tmp_path: Path) -> None:
    case = drawn(0, tmp_path)
    tagger = exported(case.model, tmp_path)
    data = case.model.spec.data
    assert data is not None
    long = {name: values * 300 for name, values in case.sentences[4].items()}
    expected, _ = case.model.marginals(corpus_from_rows([long], data, optional=case.model.labels))
    np.testing.assert_allclose(tagger.marginals(long)["y"], expected["y"], atol=EXACT)
