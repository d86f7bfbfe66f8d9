"""`Corpus.take`: some sentences in any order, as if only they had been read."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dcrfdsl import load_text
from dcrfdsl.data import BagColumn, Corpus, NumericColumn, stream_corpus

TEMPLATE = "data jsonl(word, size: float, at: vector(2), marks: weighted_bag, y)\nlabel y\nclique y: word, marks\n"
SENTENCES = [
    '{"word": ["a"], "size": [1], "at": [[0, 1]], "marks": [{"p": 1}], "y": ["N"]}',
    '{"word": ["b", "a"], "size": [2, 3], "at": [[1, 1], [2, 2]], "marks": [{"q": 0.5, "p": 1}, {}], "y": ["V", "N"]}',
    '{"word": ["c"], "size": [4], "at": [[3, 3]], "marks": [{"r": 2}], "y": ["D"]}',
    '{"word": ["d", "b"], "size": [5, 6], "at": [[4, 4], [5, 5]], "marks": [{}, {"p": 1}], "y": ["N", "N"]}',
]


def read(lines: list[str]) -> Corpus:
    data = load_text(TEMPLATE).require().data
    assert data is not None
    (chunk,) = stream_corpus(io.BytesIO("".join(f"{line}\n" for line in lines).encode()), data)
    return chunk.corpus


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3], [1, 3], [2], [3, 0], [0, 0, 2]])
def test_taking_sentences_equals_reading_these_alone(chosen: list[int]) -> None:
    found, expected = read(SENTENCES).take(chosen), read([SENTENCES[s] for s in chosen])
    assert found.sentence_off.tolist() == expected.sentence_off.tolist()
    for name in ("word", "y"):
        assert list(found.text_column(name).values) == list(expected.text_column(name).values)
        assert found.text_column(name).codes.tolist() == expected.text_column(name).codes.tolist()
    for name in ("size", "at"):
        ours, theirs = found.columns[name], expected.columns[name]
        assert isinstance(ours, NumericColumn) and isinstance(theirs, NumericColumn)
        assert np.array_equal(ours.values, theirs.values)
    ours, theirs = found.columns["marks"], expected.columns["marks"]
    assert isinstance(ours, BagColumn) and isinstance(theirs, BagColumn)
    assert list(ours.names) == list(theirs.names)
    assert [ours.items(t) for t in range(found.num_tokens)] == [theirs.items(t) for t in range(found.num_tokens)]


def test_lines_stay_those_of_the_file_and_a_slice_is_the_same() -> None:
    corpus = read(SENTENCES)
    assert corpus.take([3, 1]).token_line.tolist() == [4, 4, 2, 2]
    taken, sliced = corpus.take(range(1, 3)), corpus.slice(1, 3)
    assert taken.token_line.tolist() == sliced.token_line.tolist()
    assert taken.text_column("word").values == sliced.text_column("word").values
    assert corpus.take([]).num_sentences == 0 and corpus.take([]).num_tokens == 0
