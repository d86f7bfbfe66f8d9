"""Functions of users in conditions: the model is the one whose data has what they give as columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcrfdsl import DcrfError, TrainedModel, feature, fit, load, load_text
from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.features import FeatureExtractor, Lexicons, PartLearner, join_surveys

pytestmark = pytest.mark.filterwarnings("ignore::dcrfdsl.DcrfWarning")  # gold labels are all of one state

HEAD = """data conll(word, w_short, w_kind, w_size: float, w_longer, w_place, tag)
label tag in {A, B, C}
clique tag with states = all: bias, word
clique tag[-1], tag with states = all
"""
MEMORY = "memory seen = seen[-1] or (tag[-1] is A and {} is odd)\nforbid seen and tag is B"
SAME = "clique tag[i], tag[j] where {0}[i] = {0}[j] with states = all"
CASES = {  # by calls, on columns with their results, and labels that keep to it
    "a test": ("forbid tag is A when short(word)", "forbid tag is A when w_short is True", "B"),
    "a text": ("forbid tag is B and kind(word) is odd", "forbid tag is B and w_kind is odd", "C"),
    "a number": ("require tag is C when size(word) > 3", "require tag is C when w_size > 3", "C"),
    "a state": ("forbid tag = kind(word)", "forbid tag = w_kind", "B"),
    "two places": ("forbid tag is C when longer(word, word[-1])", "forbid tag is C when w_longer is True", "B"),
    "moved": ("forbid tag is C when short(word)[-1]", "forbid tag is C when w_short[-1] is True", "B"),
    "a sentence": ('forbid tag is A when place(word[all]) is "2"', 'forbid tag is A when w_place is "2"', "B"),
    "a memory": (MEMORY.format("kind(word[-1])"), MEMORY.format("w_kind[-1]"), "C"),
    "pairs": (SAME.format("kind(word)"), SAME.format("w_kind"), "B"),
}  # fmt: skip


@feature
def short(word: str) -> bool:
    return len(word) < 2


@feature
def kind(word: str) -> str:
    return "odd" if len(word) % 2 else "C"


@feature
def size(word: str) -> float:
    return float(len(word))


@feature
def longer(word: str, before: str | None) -> bool:
    return before is not None and len(word) > len(before)


@feature
def place(words: list[str]) -> list[str]:
    return [str(t + 1) for t in range(len(words))]


REGISTERED = {one.name: one for one in (short, kind, size, longer, place)}


def corpus_of(tag: str) -> Corpus:
    """Every sentence of two words, and two longer ones."""
    words = ("a", "bb", "ccc", "dddd")
    rows = []
    for sentence in [*itertools.product(words, repeat=2), ("bb", "a", "ccc", "a"), ("ccc", "ccc", "bb", "dddd", "a")]:
        read = zip(sentence, (None, *sentence[:-1]), place(list(sentence)), strict=True)
        rows.append([(w, str(short(w)), kind(w), str(size(w)), str(longer(w, b)), at, tag) for w, b, at in read])
    return corpus_from_rows(rows, load_text(HEAD).require().data)


def assert_same(one: TrainedModel, other: TrainedModel, corpus: Corpus) -> None:
    """At random weights, so that conditions decide."""
    weights = np.random.default_rng(0).normal(0.0, 1.0, one.num_weights)
    one, other = (model.with_weights(weights, model.record) for model in (one, other))
    np.testing.assert_array_equal(one.marginals(corpus)[0]["tag"], other.marginals(corpus)[0]["tag"])
    assert one.predict(corpus).texts("tag") == other.predict(corpus).texts("tag")
    np.testing.assert_array_equal(one.predict(corpus).scores, other.predict(corpus).scores)


@pytest.mark.parametrize("case", CASES)
def test_a_call_is_as_a_column_with_its_results(case, tmp_path):
    calls, columns, tag = CASES[case]
    corpus = corpus_of(tag)
    by_calls = fit(load_text(HEAD + calls), corpus, threads=1, registered=REGISTERED)
    by_columns = fit(load_text(HEAD + columns), corpus, threads=1)
    np.testing.assert_array_equal(by_calls.weights, by_columns.weights)
    assert by_calls.record.objective == by_columns.record.objective
    assert_same(by_calls, by_columns, corpus)
    if "clique" not in calls:  # the condition does something
        free = fit(load_text(HEAD), corpus, threads=1)
        with pytest.raises(AssertionError):
            assert_same(by_calls, free, corpus)
    by_calls.save(tmp_path / "own.model")
    assert_same(load(tmp_path / "own.model", registered=REGISTERED), by_columns, corpus)
    with pytest.raises(DcrfError, match="feature functions that are not loaded"):
        load(tmp_path / "own.model")


def test_labels_that_break_a_condition_are_named():
    template = load_text(HEAD + "forbid tag is A when short(word)")
    with pytest.raises(DcrfError, match="forbid"):
        fit(template, corpus_of("A"), threads=1, registered=REGISTERED)


def test_parts_know_what_conditions_call():
    spec = load_text(HEAD + "\n".join(CASES[case][0] for case in ("a test", "a number", "pairs"))).require()
    corpus = corpus_of("B")
    whole, _ = FeatureExtractor.learn(spec, corpus, resources=Lexicons(), registered=REGISTERED)
    learner = PartLearner(spec, Lexicons(), REGISTERED)
    survey = join_surveys(learner.survey(corpus.slice(start, start + 6)) for start in (0, 6, 12))
    assert survey.kinds == whole.metadata()["registered"] == {"short": "test", "size": "number", "kind": "value"}
