"""`tag`, `marginals` and `nbest` of one sentence say what `predict`, `marginals` and `nbest` say of a corpus.

Bit for bit: the sentence is predicted by the path of single sentences, and the corpus, in which it comes twice, by that
of several.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest
from model_cases import trained
from template_cases import CASES, Case

from dcrfdsl import TrainedModel, corpus_from_rows
from dcrfdsl.data import Corpus, encode_known_labels
from dcrfdsl.foundation.errors import DcrfError

NEW_WORDS = ("zebra", "a", "B-é", "")


@functools.cache
def model_of(name: str) -> tuple[TrainedModel, list[Any]]:
    """A model of a case with random weights, and sentences without labels, some with words that training lacked."""
    model, _ = trained(CASES[name], seed=3)
    columns = [column.name for column in model.spec.data.columns]
    kept = [n for n, column in enumerate(columns) if column not in model.labels]
    sentences = [[tuple(token[n] for n in kept) for token in sentence] for sentence in CASES[name].sentences]
    first = next(n for n in kept if model.spec.data.columns[n].type.name == "str")
    new = [[swapped(token, kept.index(first), t) for t, token in enumerate(sentence)] for sentence in sentences[:3]]
    return model, sentences + new


def swapped(token: tuple[Any, ...], place: int, t: int) -> tuple[Any, ...]:
    return (*token[:place], NEW_WORDS[t % len(NEW_WORDS)], *token[place + 1 :])


def twice(model: TrainedModel, sentence: Any) -> Corpus:
    return corpus_from_rows([sentence, sentence], model.spec.data, optional=model.labels)


def by_label(model: TrainedModel, answer: Any) -> dict[str, Any]:
    return {model.labels[0]: answer} if len(model.labels) == 1 else answer


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_is_tagged_as_in_a_corpus(name: str) -> None:
    model, sentences = model_of(name)
    for sentence in sentences * 2:  # texts and shapes are known the second time
        corpus = twice(model, sentence)
        prediction, size = model.predict(corpus, threads=1), len(sentence)
        if prediction.status.impossible:
            with pytest.raises(DcrfError, match="no labelling satisfies"):
                model.tag(sentence)
            continue
        tagged = by_label(model, model.tag(sentence))
        assert tagged == {label: prediction.texts(label)[:size] for label in model.labels}
        tables, _ = model.marginals(corpus, threads=1)
        for label, probabilities in by_label(model, model.marginals(sentence)).items():
            assert [list(row) for row in probabilities] == [list(model.states[label])] * size
            assert [list(row.values()) for row in probabilities] == tables[label][:size].tolist()


@pytest.mark.parametrize("name", CASES)
def test_the_best_labellings_of_a_sentence_are_those_in_a_corpus(name: str) -> None:
    model, sentences = model_of(name)
    for sentence in sentences[:4]:
        best = model.nbest(twice(model, sentence), 3, threads=1).sentences[0]
        if not len(best):
            continue
        ranked = model.nbest(sentence, 3, threads=1)
        assert [one.score for one in ranked] == best.score.tolist()
        assert np.array_equal([one.probability for one in ranked], best.probability, equal_nan=True)
        for rank, one in enumerate(ranked):
            codes = {label: best.codes[label][rank].tolist() for label in model.labels}
            assert by_label(model, one.labels) == {n: [model.states[n][c] for c in row] for n, row in codes.items()}


@pytest.mark.parametrize("name", CASES)
def test_labels_may_be_given(name: str) -> None:
    """As a corpus gives them to `predict`, by the columns of labels."""
    model, sentences = model_of(name)
    label, sentence = model.labels[0], sentences[1]
    for state in model.states[label][:2]:
        given = [state, *[None] * (len(sentence) - 1)]
        rows = [
            {**row, **dict.fromkeys(model.labels, "_"), label: "_" if t else state}
            for t, row in enumerate(as_dicts(model, sentence))
        ]
        corpus = corpus_from_rows([rows, rows], model.spec.data)
        known = encode_known_labels(model.spec, model.states, corpus)
        prediction = model.predict(corpus, given=known, threads=1)
        if prediction.status.impossible:
            continue
        tagged = by_label(model, model.tag(sentence, given={label: given}))
        assert tagged[label] == prediction.texts(label)[: len(sentence)] and tagged[label][0] == state


def as_dicts(model: TrainedModel, sentence: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    names = [column.name for column in model.spec.data.columns if column.name not in model.labels]
    return [dict(zip(names, token, strict=True)) for token in sentence]


@pytest.mark.parametrize("name", ["chain", "factorial", "numbers"])
def test_every_form_of_a_sentence_is_the_same_sentence(name: str) -> None:
    model, sentences = model_of(name)
    rows = as_dicts(model, sentences[1])
    tagged = model.tag(sentences[1])
    assert model.tag(rows) == tagged
    assert model.tag({column: [row[column] for row in rows] for column in rows[0]}) == tagged
    assert model.tag([list(token) for token in sentences[1]]) == tagged
    assert model.tag_all([sentences[1], [], rows]) == [tagged, model.tag([]), tagged]
    labelled = CASES[name].sentences[1]
    assert model.tag(labelled) == tagged  # labels that are there are not looked at


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("abc", "found `'abc'`, expected a sentence"),
        ([1], "found `1`, expected a token"),
        ([("a", "P", "more")], "found a token of 3"),
        ([("a",), ("b", "P")], "found a token of 2"),
        ([(5,)], "column `word`: found `5`, expected a text"),
        (["\ud800"], "half a surrogate pair"),
        ({"wrod": []}, "missing"),
        ({}, "missing"),
        ([{"word": "a"}, {}], "missing"),
        (None, "expected a sentence"),
    ],
)
def test_anything_but_a_sentence_is_refused_in_words(sentence: Any, words: str) -> None:
    model, _ = model_of("chain")
    for ask in (model.tag, model.marginals, lambda one: model.nbest(one, 2), lambda one: model.tag_all([one])):
        with pytest.raises(DcrfError, match=re.escape(words)):
            ask(sentence)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ([None], DcrfError, "1 labels `y` are known beforehand, and the sentence has 2 tokens"),
        ("PQ", TypeError, "found the text 'PQ'"),
        (5, TypeError, "found an int"),
        ([1, None], DcrfError, "expected texts and None"),
        ({"y": "PQ"}, DcrfError, "expected texts and None"),
        ({"x": [None, None]}, DcrfError, "`x` is no label of the model"),
        (["X", None], DcrfError, "label `y` has the value `X`, which the model does not know"),
    ],
)
def test_labels_that_cannot_be_given_are_refused_in_words(given: Any, error: type[Exception], words: str) -> None:
    model, _ = model_of("chain")
    with pytest.raises(error, match=re.escape(words)):
        model.tag(["a", "b"], given=given)


def test_one_list_is_not_enough_for_several_labels() -> None:
    model, sentences = model_of("factorial")
    with pytest.raises(DcrfError, match="give a dict of lists by label"):
        model.tag(sentences[0], given=[None] * len(sentences[0]))


def test_a_sentence_without_tokens_has_no_labels() -> None:
    model, _ = model_of("chain")
    assert model.tag([]) == model.tag(()) == model.tag({"word": []}) == model.marginals([]) == []
    assert model.tag_all([[], []]) == [[], []] and model.tag_all([]) == []
    assert [tuple(one) for one in model.nbest([], 3)] == [([], 0.0, 1.0)]
    assert model_of("factorial")[0].tag([]) == {label: [] for label in model_of("factorial")[0].labels}


def test_sentences_without_a_labelling_are_named() -> None:
    model, _ = trained(Case(IMPOSSIBLE, [[("a", "P"), ("b", "Q")], [("c", "P")]]))
    assert model.tag(["b", "a"]) == ["Q", "P"] or model.tag(["b", "a"]) == ["Q", "Q"]
    with pytest.raises(DcrfError, match="no labelling satisfies the constraints of the model in the sentence at"):
        model.tag(["b"], given=["P"])
    with pytest.raises(DcrfError, match="in 2 sentences, at <rows>:2 and <rows>:4"):
        model.tag_all([["a"], ["d"], [], ["d", "a"]])


IMPOSSIBLE = """
data conll(word, y)
label y in {P, Q}
clique y: bias, word
clique y[-1], y
require y is Q when word is b
require y is Q when word is d
require y is P when word is d
"""
