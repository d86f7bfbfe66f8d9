"""Columns that only training reads: other data may be without them, by themselves or with the labels."""

from __future__ import annotations

import pytest

from dcrfdsl.data import read_corpus, stream_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import spare_columns
from dcrfdsl.semantics.resolve.resolution import load_text

TEXT = "data {}(word, y, trust: float)\nlabel y in {{A, B}}\nclique y: word\ntrain likelihood: importance = trust\n"
FILES = {  # with all columns, without the numbers, with the words alone
    "conll": ("a A 1\nb B 1\n", "a A\nb B\n", "a\nb\n"),
    "csv": ("word,y,trust\na,A,1\nb,B,1\n", "word,y\na,A\nb,B\n", "word\na\nb\n"),
    "jsonl": (
        '{"word": ["a", "b"], "y": ["A", "B"], "trust": [1, 1]}\n',
        '{"word": ["a", "b"], "y": ["A", "B"]}\n',
        '{"word": ["a", "b"]}\n',
    ),
}


@pytest.mark.parametrize("form", FILES)
def test_a_file_is_read_with_and_without_them(form, tmp_path):
    spec = load_text(TEXT.format(form)).spec
    spare = spare_columns(spec)
    assert spare == ("trust",)
    wanted = [{"word", "y", "trust"}, {"word", "y"}, {"word"}]
    for text, columns in zip(FILES[form], wanted, strict=True):
        (tmp_path / "data").write_text(text, encoding="utf-8")
        corpus = read_corpus(tmp_path / "data", spec.data, optional=["y"], spare=spare)
        assert set(corpus.columns) == columns and corpus.num_tokens == 2
        chunks = list(stream_corpus(tmp_path / "data", spec.data, optional=["y"], spare=spare))
        assert [set(chunk.corpus.columns) for chunk in chunks] == [columns]


@pytest.mark.parametrize("form", FILES)
def test_what_trains_needs_them(form, tmp_path):
    spec = load_text(TEXT.format(form)).spec
    (tmp_path / "data").write_text(FILES[form][1], encoding="utf-8")
    with pytest.raises(DcrfError):
        read_corpus(tmp_path / "data", spec.data, required=["y"])


def test_a_column_that_a_feature_reads_is_not_spare():
    text = TEXT.format("conll").replace("clique y: word", "clique y: word, trust")
    assert spare_columns(load_text(text).spec) == ()
    assert spare_columns(load_text(text.partition("train")[0]).spec) == ()
