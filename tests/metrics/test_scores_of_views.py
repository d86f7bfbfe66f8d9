"""Scores of a view are those of the texts that it maps the label's texts to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from metric_cases import measure

from dcrfdsl import corpus_from_rows, fit, load_text, read_corpus
from dcrfdsl.metrics import AMBIGUOUS, MISSING, Evaluation, Seen, View, label_tables
from dcrfdsl.syntax import Argument, CallSpec, Reference

KNOWN = ("N s", "N p", "V s", "O")  # the states of a model, then a text that occurs only in the gold data
TEXTS = (*KNOWN, "V p")
SETS = ((0, 1), (1, 2), (2, 4))


def of_first_part(texts: Sequence[str]) -> Seen:
    parts = [text.split()[0] for text in texts]
    states = tuple(dict.fromkeys(parts))
    return Seen(states, np.array([states.index(part) for part in parts], np.int64))


def evaluation(gold: Sequence[int], predicted: Sequence[int]) -> Evaluation:
    return Evaluation(
        {"y": np.array(gold, np.int64)}, {"y": np.array(predicted, np.int64)}, {"y": TEXTS}, np.array([0, len(gold)]),
        known={"y": len(KNOWN)}, sets={"y": SETS}, views={"part": View("y", of_first_part)},
    )  # fmt: skip


def call(name: str, *arguments: str) -> CallSpec:
    return CallSpec(name=name, arguments=tuple(Argument(value=Reference(name=text)) for text in arguments))


gold_codes = st.sampled_from([0, 1, 2, 3, 4, MISSING, *(AMBIGUOUS - n for n in range(len(SETS)))])
pairs = st.lists(st.tuples(gold_codes, st.integers(-1, 3)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=200)
@given(pairs)
def test_accuracy_is_that_of_mapped_texts(codes: list[tuple[int, int]]) -> None:
    right = scored = 0
    for gold, predicted in codes:
        if gold == MISSING:
            continue
        allowed = SETS[AMBIGUOUS - gold] if gold <= AMBIGUOUS else (gold,)
        scored += 1
        right += predicted >= 0 and TEXTS[predicted].split()[0] in {TEXTS[code].split()[0] for code in allowed}
    found = measure(evaluation(*zip(*codes, strict=True)), [call("accuracy", "part"), call("accuracy", "y")])
    assert found["accuracy(part)"] == (right / scored if scored else 0.0)
    assert found["accuracy(y)"] <= found["accuracy(part)"]


def test_tables_are_those_of_the_states_of_the_view() -> None:
    judged = evaluation([0, 1, 2, 4, 3], [1, 1, 0, 2, 3])
    assert set(label_tables(judged)) == {"y"}  # a view has tables where a metric names it
    tables = label_tables(judged, [call("by_state", "part")])
    assert list(tables) == ["y", "part"]
    rows = tables["part"].by_state.rows
    assert {state: (row.precision, row.recall, row.support) for state, row in rows.items()} == {
        "N": (pytest.approx(2 / 3), 1.0, 2), "V": (1.0, 0.5, 2), "O": (1.0, 1.0, 1),
    }  # fmt: skip


TEMPLATE = """
data conllu(word = form, tag = joined("upos feats"))
label tag
view upos = part(tag, 1)
clique tag: bias, word
clique upos[-1], upos as moves
infer exact
evaluate accuracy(upos), accuracy(tag), oov_accuracy(upos, word), sentence_accuracy(upos)
"""


def token(number: int, word: str, upos: str, feats: str) -> str:
    return f"{number}\t{word}\t_\t{upos}\t_\t{feats}\t_\t_\t_\t_\n"


def test_joined_columns_are_read_learned_and_scored_by_part(tmp_path: Any) -> None:
    train, test = tmp_path / "train.conllu", tmp_path / "test.conllu"
    train.write_text((token(1, "a", "D", "_") + token(2, "b", "N", "X=1") + "\n") * 5, encoding="utf-8")
    # `N X=2` was not seen as a whole; its part of speech was
    test.write_text(
        token(1, "a", "D", "_") + token(2, "b", "N", "X=2") + token(3, "a", "V", "_") + "\n", encoding="utf-8"
    )
    resolved = load_text(TEMPLATE)
    data = resolved.require().data
    model = fit(resolved, read_corpus(train, data))
    assert model.states["tag"] == ("D _", "N X=1")
    scores = model.evaluate(read_corpus(test, data))
    assert scores["accuracy(upos)"] == pytest.approx(2 / 3)
    assert scores["accuracy(tag)"] == pytest.approx(1 / 3)
    assert scores["sentence_accuracy(upos)"] == 0.0
    assert scores["unseen_labels"] == 2


def test_a_view_is_scored_where_values_of_several_kinds_are_ambiguous() -> None:
    text = 'data conll(word, y)\nlabel y in {A, B, C} with ambiguous = "|"\nview first = y is A\nclique y: bias, word\n'
    resolved = load_text(text + "evaluate accuracy(first)\n")
    data = resolved.require().data
    model = fit(resolved, corpus_from_rows([[("a", "A"), ("b", "B"), ("c", "C")]] * 5, data))
    remarks: list[object] = []
    gold = corpus_from_rows([[("a", "B|C"), ("a", "A|B"), ("b", "B"), ("c", "A")]], data)
    assert model.evaluate(gold, on_remark=remarks.append)["accuracy(first)"] == 0.5
    assert remarks == []
