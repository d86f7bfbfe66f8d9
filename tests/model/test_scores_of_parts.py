"""Scores of data that comes in parts are those of the whole, to the last digit."""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl import DcrfError, TrainedModel, corpus_from_rows, fit, load_text
from dcrfdsl.cli import run
from dcrfdsl.data import Corpus, stream_corpus
from dcrfdsl.inference import RunStatus

TEMPLATE = """data conll(word, pos, chunk)
label pos in {N, V, D} with missing = "?"
label chunk in bio(X, Y) with ambiguous = "|", constrain = no
clique pos: bias, word
clique chunk: bias, word
clique pos, chunk
clique chunk[-1], chunk
infer exact
evaluate accuracy(pos), segments(chunk), joint_accuracy, sentence_accuracy, oov_accuracy(pos, word), log_likelihood, \
by_state(pos), by_state(chunk), by_type(chunk), confusion(chunk), segments(pos, runs), sentence_accuracy(pos), \
zero_one_risk, hamming_risk, rank_risk
"""
Rows = list[list[tuple[str, ...]]]
WORDS = "abcdefgh"
POS, CHUNKS = ("N", "V", "D"), ("B-X", "I-X", "B-Y", "O")
STRANGE_POS, STRANGE_CHUNKS = (*POS, "?", "W"), (*CHUNKS, "B-Z", "B-X|O")  # what the model does not know as well


def rows_of(
    count: int, seed: int, pos: Sequence[str], chunks: Sequence[str], words: str
) -> list[list[tuple[str, ...]]]:
    draw = np.random.default_rng(seed)
    return [
        [
            (words[draw.integers(len(words))], pos[draw.integers(len(pos))], chunks[draw.integers(len(chunks))])
            for _ in range(draw.integers(1, 7))
        ]
        for _ in range(count)
    ]


@functools.cache
def model() -> TrainedModel:
    resolved = load_text(TEMPLATE)
    return fit(resolved, corpus_from_rows(rows_of(20, 1, POS, CHUNKS, WORDS[:5]), resolved.require().data))


@functools.cache
def gold() -> Corpus:
    return corpus_from_rows(rows_of(24, 2, STRANGE_POS, STRANGE_CHUNKS, WORDS), model().spec.data)


def cut_at(*places: int) -> Callable[[Corpus], list[Corpus]]:
    def cut(corpus: Corpus) -> list[Corpus]:
        ends = [0, *places, corpus.num_sentences]
        return [corpus.slice(first, last) for first, last in itertools.pairwise(ends)]

    return cut


@pytest.mark.parametrize("cut", [cut_at(), cut_at(7), cut_at(*range(1, 24)), cut_at(3, 3, 20)])
def test_parts_score_as_the_whole(cut: Callable[[Corpus], list[Corpus]]) -> None:
    whole = model().evaluate(gold())
    assert list(whole)[-8:] == [
        "not_scored(pos)",
        "not_scored(chunk)",
        "ambiguous(chunk)",
        "not_scored(segments(chunk))",
        "not_judged(segments(chunk))",
        "not_scored(joint_accuracy)",
        "not_scored(segments(pos, runs))",
        "not_judged(segments(pos, runs))",
    ]
    assert whole["unseen_labels"] > 0
    assert all(whole[f"not_{how}(segments(chunk))"] > 0 for how in ("scored", "judged"))
    assert model().scores.evaluate_parts(cut(gold())) == whole
    assert model().scores.evaluate_parts(model().prepare(part) for part in cut(gold()) if part.num_tokens) == whole


def test_the_status_of_each_part_is_told() -> None:
    told: list[tuple[RunStatus, Corpus]] = []
    parts = cut_at(5)(gold())
    model().scores.evaluate_parts(parts, on_status=lambda status, part: told.append((status, part)))
    assert [(status.graphs, part) for status, part in told] == [(5, parts[0]), (19, parts[1])]


def test_a_metric_that_counts_in_some_part_is_no_metric_of_nothing() -> None:
    rows = [[("a", "N", "O")], [("b", "V", "B-X")]]
    corpus = corpus_from_rows(rows, model().spec.data)
    remarks: list[str] = []

    def remarks_of(*parts: Corpus) -> list[str]:
        remarks.clear()
        model().scores.evaluate_parts(parts, on_remark=lambda remark: remarks.append(remark.message))
        return [remark for remark in remarks if "segments" in remark]

    assert remarks_of(corpus.slice(0, 1)) == ["`segments(chunk)` measures nothing here: `chunk` has no segment"]
    assert remarks_of(corpus.slice(0, 1), corpus.slice(1, 2)) == []


def test_nothing_to_score_is_one_message() -> None:
    with pytest.raises(DcrfError, match="nothing to score"):
        model().scores.evaluate_parts([])


@pytest.mark.long
def test_eval_of_a_stream_prints_the_scores_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model().save(tmp_path / "m")
    lines = ["\n".join(" ".join(token) for token in row) + "\n" for row in rows_of(300, 3, STRANGE_POS, CHUNKS, WORDS)]
    (tmp_path / "gold.txt").write_text("\n".join(lines))
    whole = model().evaluate(corpus_from_rows(rows_of(300, 3, STRANGE_POS, CHUNKS, WORDS), model().spec.data))
    chunks = []

    def small(*args: object, **kwargs: object) -> object:
        for chunk in stream_corpus(*args, **kwargs, tokens_per_chunk=10):  # type: ignore[arg-type, misc]
            chunks.append(chunk)
            yield chunk

    monkeypatch.setattr("dcrfdsl.data.stream_corpus", small)
    assert run(["eval", str(tmp_path / "m"), str(tmp_path / "gold.txt"), "--json"]) == 0
    assert len(chunks) > 5
    assert json.loads(capsys.readouterr().out) == whole
    with open(tmp_path / "gold.txt") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert run(["eval", str(tmp_path / "m"), "-", "--json", "--threads", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == whole
