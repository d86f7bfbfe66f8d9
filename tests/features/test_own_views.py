"""Functions of users in views: as functions of the language that give the same, and what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.features import feature
from dcrfdsl.foundation import DcrfError
from dcrfdsl.model import load
from dcrfdsl.semantics import load_text
from dcrfdsl.training import fit

HEAD = (
    "data conll(word, tag)\nlabel tag\nview coarse = {}\nclique tag: bias, word\nclique coarse[-1], coarse as moves\n"
)
ROWS = [[("a", "DT"), ("dog", "NN"), ("runs", "VBZ")], [("cats", "NNS"), ("run", "VB")]]


@feature
def start(tag: str, letters: int = 1) -> str:
    return tag[:letters]


@feature
def long(tag: str) -> bool:
    return len(tag) > 2


@feature
def some(tag: str) -> str | None:
    return None if tag == "NNS" else tag


@feature
def count(tag: str) -> int:
    return len(tag)


@feature
def fails(tag: str) -> str:
    raise ValueError(f"no {tag}")


REGISTERED = {one.name: one for one in (start, long, some, count, fails)}
ALIKE = {
    "start(tag)": "prefix(tag, 1)",
    "start(tag, 2)": "prefix(tag, 2)",
    "lower(start(tag))": "lower(prefix(tag, 1))",
    "long(tag)": "tag in {VBZ, NNS}",
    "start(tag) is N": "tag in {NN, NNS}",
    "more if long(tag) else start(tag)": "more if tag in {VBZ, NNS} else prefix(tag, 1)",
}


@pytest.mark.parametrize("own", ALIKE)
def test_a_function_of_states_is_as_one_of_the_language(own, tmp_path):
    corpus = corpus_from_rows(ROWS, load_text(HEAD.format("tag")).spec.data)
    by_own = fit(load_text(HEAD.format(own)), corpus, threads=1, registered=REGISTERED)
    built_in = fit(load_text(HEAD.format(ALIKE[own])), corpus, threads=1)
    np.testing.assert_array_equal(by_own.weights, built_in.weights)
    by_own.save(tmp_path / "own.model")
    read = load(tmp_path / "own.model")  # it needs no function
    assert read.spec == by_own.spec
    np.testing.assert_array_equal(read.marginals(corpus)[0]["tag"], built_in.marginals(corpus)[0]["tag"])
    assert read.scores.log_likelihood(corpus) == built_in.scores.log_likelihood(corpus)
    moves = [[one for one in model.explanations.iter_weights() if one[0] == "moves"] for model in (read, built_in)]
    assert moves[0] == moves[1]


WRONG = {
    "some(tag)": "bad-view]: view `coarse` gives no text for the state `NNS`",
    "count(tag)": "bad-view]: `count(tag)` gives no text for a state",
    "fails(tag)": "function `fails` raises ValueError on `DT` (states of `tag`:1): no DT",
    "start(word)": "bad-view]: view `coarse` reads no label",
    "start(tag[-1])": "bad-view]: view `coarse` reads `[-1]`",
    "start(tag[all])": "bad-view]: view `coarse` reads `[all]`",
    "nobody(tag)": "unknown-function]: `nobody` is not a feature function",
}


@pytest.mark.parametrize("own", WRONG)
def test_what_goes_wrong_is_one_message(own):
    resolved = load_text(HEAD.format(own))
    with pytest.raises(DcrfError) as raised:
        fit(resolved, corpus_from_rows(ROWS, resolved.spec.data), threads=1, registered=REGISTERED)
    assert WRONG[own] in str(raised.value)
