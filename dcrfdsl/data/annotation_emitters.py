"""A corpus written as CoNLL-U or as texts with spans. See `emitters`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..foundation import data_error, json_text
from ..semantics import SCHEMES, Column, split_mark
from .conllu import CONLLU_COLUMNS, JOINED, TOKEN_ID, joined_columns, split_joined
from .conllu_writer import item_escaped
from .corpus import Corpus
from .emitters import Export, cell_texts, encoded_cells
from .raw_spans import MadeSpan
from .span_records import STYLES
from .span_tokens import MARKS, as_iob1, spans_of_marks, to_units
from .spans import SPANS, SpanOptions
from .studio_tasks import studio_task
from .vector_columns import shown

_ABSENT = "_"
_ID = "id"


class ConlluEmitter:
    """Ten columns a token; keys of FEATS are sorted, and what has no column is a key of MISC."""

    leaves_out: ClassVar[str] = "CoNLL-U has no place for it"

    def __init__(self, export: Export):
        self._export = export

    def write(self, corpus: Corpus) -> bytes:
        cells: dict[str, list[str]] = {}
        items: dict[str, list[tuple[str, list[str]]]] = {"feats": [], "misc": []}
        for column in self._export.columns:
            encode, why = _encoding(column)
            remedy = f'write it into MISC: `{column.name} = misc("{column.name}")`'
            texts = list(encoded_cells(corpus, column.name, self._export, encode, why, remedy))
            if column.source == JOINED:
                split = [split_joined(column, text) for text in texts]
                cells |= {source: [token[source] for token in split] for source in joined_columns(column)}
            elif column.key is None:
                cells[column.source] = texts
            else:
                items[column.source].append((column.key, texts))
        for source, pairs in items.items():
            if pairs:
                pairs.sort(key=lambda pair: pair[0].lower())
                cells[source] = _joined(cells.get(source), pairs, corpus.num_tokens)
        if "id" not in cells:
            cells["id"] = [str(number) for length in corpus.lengths().tolist() for number in range(1, length + 1)]
        absent = [_ABSENT] * corpus.num_tokens
        rows = map("\t".join, zip(*(cells.get(name, absent) for name in CONLLU_COLUMNS), strict=True))
        return "".join(
            "".join(f"{next(rows)}\n" for _ in range(length)) + "\n" for length in corpus.lengths().tolist()
        ).encode()

    def close(self) -> bytes:
        return b""


def _joined(whole: list[str] | None, pairs: list[tuple[str, list[str]]], num_tokens: int) -> list[str]:
    """`key=value|…` of each token; a value `_` leaves its key out."""
    joined = []
    for n in range(num_tokens):
        items = [f"{key}={texts[n]}" for key, texts in pairs if texts[n] != _ABSENT]
        if whole is not None and whole[n] != _ABSENT:
            items.insert(0, whole[n])
        joined.append("|".join(items) or _ABSENT)
    return joined


def _encoding(column: Column) -> tuple[Callable[[str], str | None], str]:
    """How the values of a column become cells, and why one cannot."""
    if column.source == JOINED:
        return partial(_joined_cell, column), _CELLS[JOINED][1]
    return _CELLS[column.source if column.key is not None or column.source == _ID else "column"]


def _joined_cell(column: Column, text: str) -> str | None:
    parts = split_joined(column, text)
    fits = all((_number if source == _ID else _cell)(part) is not None for source, part in parts.items())
    return text if fits else None


def _number(text: str) -> str | None:
    return text if TOKEN_ID.fullmatch(text) else None


def _cell(text: str) -> str | None:
    return None if not text or any(char in text for char in "\t\n\r") else text


def _feature(text: str) -> str | None:
    return None if not text or any(char in text for char in "\t\n\r|") else text


_CELLS: Mapping[str, tuple[Callable[[str], str | None], str]] = {
    _ID: (_number, "the ID of a token is a whole number in CoNLL-U"),
    "column": (_cell, "a cell of CoNLL-U has no TAB and no line end and is not empty"),
    JOINED: (_cell, "a cell of CoNLL-U has no TAB and no line end and is not empty, and an ID is a whole number"),
    "feats": (_feature, "a value in FEATS has no bar, no TAB and no line end and is not empty"),
    "misc": (item_escaped, "MISC cannot hold it"),
}


class SpansEmitter:
    """A text a line: the tokens joined by spaces, their offsets, and the segments of each column of marks as spans."""

    leaves_out: ClassVar[str] = "`spans` holds a text, its tokens and their segments"

    def __init__(self, export: Export):
        self._export, self._options = export, SpanOptions.of(export.data)
        self._token = next(column for column in export.columns if column.source == "token")
        self._space = next((column for column in export.columns if column.source == "space"), None)
        self._spans = [column for column in export.columns if column.source == SPANS]
        self._style, self._studio = STYLES[self._options.style], self._options.style == "label_studio"
        self._key = "label" if self._studio else self._style.key

    def write(self, corpus: Corpus) -> bytes:
        texts, tokens = self._texts(corpus)
        marked = {column.name: self._segments(column, corpus, tokens) for column in self._spans}
        off, lines = corpus.sentence_off.tolist(), []
        for s, text in enumerate(texts):
            units = to_units(text) if self._options.utf16 else None
            counted = units or range(len(text) + 1)
            places = [[counted[start], counted[end]] for start, end in tokens[off[s] : off[s + 1]]]
            of_key: dict[str, list[MadeSpan]] = {}
            for column in self._spans:
                of_key.setdefault(column.key or self._key, []).extend(
                    MadeSpan(counted[start], counted[end], label, text[start:end])
                    for start, end, label in marked[column.name][s]
                )
            for made in of_key.values():
                made.sort(key=lambda span: (span.start, -span.end))
            record: Any = {"text": text, "tokens": places}
            if self._studio:
                record = studio_task(text, places, of_key)
            else:
                record |= {key: [self._style.make(span) for span in made] for key, made in of_key.items()}
            lines.append(json_text(record, ensure_ascii=False))
        return "".join(f"{line}\n" for line in lines).encode()

    def _texts(self, corpus: Corpus) -> tuple[list[str], list[tuple[int, int]]]:
        """The text of each sentence, and the offsets of all tokens in theirs."""
        words = cell_texts(corpus, self._token.name, self._export)
        apart = [True] * corpus.num_tokens
        if self._space is not None:
            column = cell_texts(corpus, self._space.name, self._export)
            apart = [column.values[code] != "no" for code in column.codes.tolist()]
        texts, tokens = [], []
        off = corpus.sentence_off.tolist()
        for first, last in pairwise(off):
            parts: list[str] = []
            at = 0
            for n in range(first, last):
                word = words.text(n)
                if not word:
                    raise data_error(
                        "unwritable-cell", f"column `{self._token.name}` has an empty token, which no text can show",
                        file=corpus.file, line=int(corpus.token_line[n]),
                    )  # fmt: skip
                if n > first and apart[n]:
                    parts.append(" ")
                    at += 1
                parts.append(word)
                tokens.append((at, at + len(word)))
                at += len(word)
            texts.append("".join(parts))
        return texts, tokens

    def _segments(
        self, column: Column, corpus: Corpus, tokens: list[tuple[int, int]]
    ) -> list[list[tuple[int, int, str]]]:
        """The spans of each sentence; counts the marks that would be read back as others."""
        texts = cell_texts(corpus, column.name, self._export)
        marks = [texts.values[code] for code in texts.codes.tolist()]
        for token, mark in enumerate(marks):
            if split_mark(mark) is None and mark != _ABSENT:
                raise data_error(
                    "not-a-segment", f"column `{column.name}` has {shown(mark)}, which marks no segment",
                    file=corpus.file, line=int(corpus.token_line[token]),
                    help="columns of marks (`B-X`, `I-X`, `O`) are spans; leave out the others",
                )  # fmt: skip
        spans = spans_of_marks(marks, tokens, corpus.sentence_off)
        letters = {mark[0] for mark in texts.values if mark[1:2] == "-"}
        with_ends = [name for name, scheme in SCHEMES.items() if letters & set(scheme.marks[2:])]
        schemes = with_ends or ("bio", "iob1")
        changed = min(
            int(np.sum(np.array(marks, object) != np.array(_marks_again(spans, tokens, corpus, scheme), object)))
            for scheme in schemes
        )
        if changed:
            self._export.notes[f"tokens whose `{column.name}` breaks its scheme, read as conlleval does"] += changed
        return spans

    def close(self) -> bytes:
        return b""


def _marks_again(
    spans: list[list[tuple[int, int, str]]], tokens: list[tuple[int, int]], corpus: Corpus, scheme: str
) -> list[str]:
    """The marks that the spans are read back as."""
    marks = ["O"] * len(tokens)
    off = corpus.sentence_off.tolist()
    for s, (first, last) in enumerate(pairwise(off)):
        begins = {tokens[n][0]: n for n in range(first, last)}
        ends = {tokens[n][1]: n for n in range(first, last)}
        for start, end, label in spans[s]:
            marks[begins[start] : ends[end] + 1] = MARKS[scheme](label, ends[end] - begins[start] + 1)
        if scheme == "iob1":
            marks[first:last] = as_iob1(marks[first:last])
    return marks
