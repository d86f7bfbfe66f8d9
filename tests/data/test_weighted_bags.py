"""Weighted bags from texts and values, and the formats that have all features in one column."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dcrfdsl.data import (
    BagColumn,
    Corpus,
    InternedColumn,
    corpus_from_frame,
    corpus_from_rows,
    read_corpus,
    repeated,
    stream_corpus,
    tagged,
)
from dcrfdsl.data.weighted_bags import bag_column, item_of_text, items_of_value, text_of_item
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.syntax import DataSpec


def data_of(text: str) -> DataSpec:
    data = load_text(f"data {text}\n").spec.data
    assert data is not None
    return data


def tokens(corpus: Corpus) -> list[list[tuple[Any, ...]]]:
    """The corpus as its sentences of tokens: texts, and bags as dicts."""
    columns = [
        [dict(column.items(n)) for n in range(corpus.num_tokens)]
        if isinstance(column, BagColumn)
        else [column.text(n) for n in range(corpus.num_tokens)]
        for column in corpus.columns.values()
        if not isinstance(column, np.ndarray)
    ]
    rows = list(zip(*columns, strict=True))
    return [rows[a:b] for a, b in pairwise(corpus.sentence_off.tolist())]


CRFSUITE = data_of("crfsuite(y, a: weighted_bag)")
GRMM = data_of("grmm(pos, chunk, a: bag)")
WEIGHTED_GRMM = data_of("grmm(y, a: weighted_bag)")
CONLL = data_of('conll(a: weighted_bag, y, separator = "\\t")')
JSONL = data_of("jsonl(a: weighted_bag, y)")

GOOD: dict[str, tuple[DataSpec, str, list[list[tuple[Any, ...]]]]] = {
    "crfsuite": (
        CRFSUITE,
        "A\tw=the\tlength:3\n\nB\tw=dog\tlength:-0.5e1\n",
        [[("A", {"w=the": 1, "length": 3})], [("B", {"w=dog": 1, "length": -5})]],
    ),
    "crfsuite: escapes": (
        CRFSUITE,
        "A\\\\B\tt=12\\:30:2\tc\\\\\n",
        [[("A\\B", {"t=12:30": 2, "c\\": 1})]],
    ),
    "crfsuite: colon without a weight": (CRFSUITE, "A\tx:\n", [[("A", {"x": 1})]]),
    "crfsuite: no attribute, then one": (CRFSUITE, "A\nB\tx\n", [[("A", {}), ("B", {"x": 1})]]),
    "crfsuite: empty cells": (CRFSUITE, "A\t\tx\t\r\n", [[("A", {"x": 1})]]),
    "crfsuite: no label": (CRFSUITE, "\tx\n", [[("", {"x": 1})]]),
    "crfsuite: an attribute twice": (CRFSUITE, "A\tx:2\tx\ty\tx:0.5\n", [[("A", {"x": 3.5, "y": 1})]]),
    "crfsuite: a label that is an attribute": (CRFSUITE, "x\tx\n", [[("x", {"x": 1})]]),
    "crfsuite: spaces and unicode": (CRFSUITE, "B-é\tw=New York\tß:2\n", [[("B-é", {"w=New York": 1, "ß": 2})]]),
    "grmm": (
        GRMM,
        "DT  O ---- W=a LOW\nNN B ---- W=b\n\nNN B ----\n",
        [[("DT", "O", "W=a LOW"), ("NN", "B", "W=b")], [("NN", "B", "")]],
    ),
    "grmm: dashes are a feature, too": (GRMM, "DT O ---- a ---- b\n", [[("DT", "O", "a ---- b")]]),
    "grmm: weights": (WEIGHTED_GRMM, "A ---- x:2 y\n", [[("A", {"x": 2, "y": 1})]]),
    "conll: a no-break space is part of an item": (CONLL, "x\u00a0z:2 y\tA\n", [[({"x\u00a0z": 2, "y": 1}, "A")]]),
    "conll": (CONLL, "x:2 y\tA\n\tB\n\nx:2 y\tA\n", [[({"x": 2, "y": 1}, "A"), ({}, "B")], [({"x": 2, "y": 1}, "A")]]),
    "jsonl": (
        JSONL,
        '{"y": ["A", "B", "A", "B"], '
        '"a": [{"x": 2, "cap": true, "low": false, "w": "the"}, ["p", "q", "p"], "x:3 y", {}]}\n'
        '[{"a": {"n": {"k": 1.5, "l": ["u", "v"], "m": {"w": "z"}}}, "y": "A"}]',
        [
            [
                ({"x": 2, "cap": 1, "low": 0, "w:the": 1}, "A"),
                ({"p": 2, "q": 1}, "B"),
                ({"x": 3, "y": 1}, "A"),
                ({}, "B"),
            ],
            [({"n:k": 1.5, "n:l:u": 1, "n:l:v": 1, "n:m:w:z": 1}, "A")],
        ],
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_text_reads_as_these_sentences(name: str, tmp_path: Path) -> None:
    data, text, expected = GOOD[name]
    path = tmp_path / "data.txt"
    path.write_bytes(text.encode())
    assert tokens(read_corpus(path, data)) == expected


@pytest.mark.parametrize("name", GOOD)
def test_a_stream_of_single_sentences_is_the_same_text(name: str) -> None:
    data, text, expected = GOOD[name]
    chunks = list(stream_corpus(io.BytesIO(text.encode()), data, tokens_per_chunk=1))
    assert [sentence for chunk in chunks for sentence in tokens(chunk.corpus) if chunk.corpus.num_tokens] == expected
    assert b"".join(chunk.block.bom + chunk.block.text for chunk in chunks) == text.encode()


BAD = {
    "weight": (CRFSUITE, "A\tx\nB\ty:z\n", "bad-value", ":2", "column `a`: found `z`, expected a number after"),
    "two colons": (CRFSUITE, "A\ta:b:2\n", "bad-value", ":1", "a colon in a name is written `\\:`"),
    "no finite weight": (CRFSUITE, "A\ta:inf\n", "bad-value", ":1", "expected a finite number"),
    "weight of a sentence": (CRFSUITE, "A\tx\n\n@weight:2\nB\tx\n", "bad-value", ":3", "all weigh the same"),
    "a label too few": (GRMM, "DT O ---- x\nDT ---- x\n", "column-count", ":2", "1 label before `----`, expected 2"),
    "labels missing later": (GRMM, "DT O ---- x\nx y z\n", "column-count", ":2", "no label before `----`"),
    "labels missing": (GRMM, "x y z\n", "missing-column", ":1", "columns `pos`, `chunk` missing: no label comes"),
    "weight in conll": (CONLL, "x\tA\nx:y\tA\n", "bad-value", ":2", "found `y`, expected a number"),
    "null": (JSONL, '{"a": [null], "y": ["A"]}', "bad-value", ":1", "found `None`, expected names, or a mapping"),
    "null weight": (JSONL, '{"a": [{"x": null}], "y": ["A"]}', "bad-value", ":1", "found `None` for `x`"),
    "a number as a name": (JSONL, '{"a": [[1]], "y": ["A"]}', "bad-value", ":1", "found `1`, expected a name"),
    "a large number": (JSONL, '{"a": [{"x": 1e999}], "y": ["A"]}', "bad-value", ":1", "expected a finite number"),
    "half a surrogate pair": (JSONL, '{"a": [["\\ud800"]], "y": ["A"]}', "bad-value", ":1", "half a surrogate pair"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_text_is_one_message_with_its_place(name: str, tmp_path: Path) -> None:
    data, text, slug, place, words = BAD[name]
    path = tmp_path / "data.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DcrfError) as caught:
        read_corpus(path, data)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.slug, diagnostic.location) == (slug, f"{path}{place}")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text", ["crfsuite(y)", "crfsuite(y, a)", "crfsuite(y, z, a: weighted_bag)", "grmm(y: float, a: bag)"]
)
def test_columns_that_a_format_cannot_have_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("A\tx\n")
    with pytest.raises(DcrfError, match="column-type"):
        read_corpus(tmp_path / "data.txt", data_of(text))


def test_lines_without_labels_are_read_where_labels_are_optional(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("W=a x\n---- W=b\n", encoding="utf-8")
    corpus = read_corpus(tmp_path / "data.txt", GRMM, optional=["pos", "chunk"])
    assert tokens(corpus) == [[("W=a x",), ("W=b",)]]


# values ---------------------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(NAMES, st.floats(allow_nan=False, allow_infinity=False))
def test_an_item_survives_its_text(name: str, weight: float) -> None:
    assert item_of_text(text_of_item(name, weight)) == (name, weight)


@given(st.text(max_size=8))
def test_any_text_is_an_item_or_a_value_error(text: str) -> None:
    try:
        item_of_text(text)
    except ValueError as error:
        assert "expected a" in str(error)


def test_a_value_nested_too_deeply_is_an_error() -> None:
    value: dict[str, Any] = {}
    value["x"] = value
    with pytest.raises(ValueError, match="nested more than"):
        items_of_value(value)


BAGS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from([1.0, 0.5, -1.0])), max_size=4), max_size=8
)


def summed(items: Sequence[tuple[str, float]]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, weight in items:
        out[name] = out.get(name, 0.0) + weight
    return out


@given(BAGS, st.data())
def test_a_column_holds_its_items_and_so_does_a_slice(bags: list[list[tuple[str, float]]], data: st.DataObject) -> None:
    column = bag_column(bags)
    assert [dict(column.items(n)) for n in range(len(bags))] == [summed(bag) for bag in bags]
    assert len(set(column.names)) == len(column.names)
    first = data.draw(st.integers(0, len(bags)))
    last = data.draw(st.integers(first, len(bags)))
    part = column.slice(first, last)
    assert [part.items(n) for n in range(last - first)] == [column.items(n) for n in range(first, last)]
    fresh = bag_column(bags[first:last])
    assert tuple(part.names) == tuple(fresh.names)
    for ours, theirs in ((part.off, fresh.off), (part.codes, fresh.codes), (part.weights, fresh.weights)):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_and_frames_hold_bags() -> None:
    data = data_of("jsonl(a: weighted_bag, y)")
    expected = [[({"x": 2, "y": 1}, "A"), ({}, "B")]]
    assert tokens(corpus_from_rows([[({"x": 2, "y": True}, "A"), (set(), "B")]], data)) == expected
    assert tokens(corpus_from_rows([{"a": [{"x": 2, "y": 1}, []], "y": ["A", "B"]}], data)) == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sentence": [1, 1], "a": [{"x": 2, "y": 1}, {}], "y": ["A", "B"]})
    assert tokens(corpus_from_frame(frame, data)) == expected


# written back --------------------------------------------------------------------------------------------------------

WRITTEN = {
    "crfsuite": (
        CRFSUITE,
        "A\tw\tx:2\r\n_\n\nB\tw\n\n",
        {"y": ["B", "C:é", "A"], "p:B": [0.25, 1.0, 0.5]},
        {"rank": ["1", "2"]},
        "B\tw\tx:2\tp\\:B:0.25\trank=1\r\nC\\:é\tp\\:B:1\trank=1\n\nA\tw\tp\\:B:0.5\trank=2\n\n",
    ),
    "crfsuite: a label that looks like the weight of a sentence": (
        CRFSUITE,
        "A\tw\nB\tw\n",
        {"y": ["@weight", "@weight:2"]},
        {},
        "\\@weight\tw\n@weight\\:2\tw\n",
    ),
    "grmm": (
        GRMM,
        "DT O ---- a b\n\nNN B ---- c\n\n",
        {"chunk": ["I", "O"], "p(I)": [0.25, 0.5]},
        {},
        "DT I ---- a b p(I)=0.25\n\nNN O ---- c p(I)=0.5\n\n",
    ),
    "grmm: only ASCII white space is between cells": (
        GRMM,
        "D\u00a0T O ---- a\u00a0b c\x1cd\nNN\u3000 B ---- e\n\n",
        {"chunk": ["I\u00a0", "O"]},
        {},
        "D\u00a0T I\u00a0 ---- a\u00a0b c\x1cd\nNN\u3000 O ---- e\n\n",
    ),
    "grmm without labels": (GRMM, "a b\n", {"pos": ["N"], "chunk": ["B"]}, {}, "N B ---- a b\n"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_predictions_take_the_places_of_labels(name: str) -> None:
    data, text, predictions, remarks, expected = WRITTEN[name]
    (chunk,) = stream_corpus(io.BytesIO(text.encode()), data, optional=["pos", "chunk"])
    assert tagged(chunk, predictions, remarks).decode() == expected
    (again,) = stream_corpus(io.BytesIO(expected.encode()), data)
    for label in {"y", "pos", "chunk"} & predictions.keys():
        column = again.corpus.columns[label]
        assert isinstance(column, InternedColumn)
        assert [column.text(n) for n in range(again.corpus.num_tokens)] == predictions[label]


def test_copies_of_sentences() -> None:
    (chunk,) = stream_corpus(io.BytesIO(b"A\tx\n\nB\ty\n\n"), CRFSUITE)
    twice = repeated(chunk, [1, 2])
    assert tagged(twice, {"y": ["1", "2", "3"]}) == b"1\tx\n\n2\ty\n\n3\ty\n\n"


def test_labels_hold_texts_and_attributes_bags() -> None:
    corpus = corpus_from_rows(json.loads('[[[["x"], "A"]]]'), JSONL)
    assert isinstance(corpus.columns["y"], InternedColumn) and isinstance(corpus.columns["a"], BagColumn)
