"""A corpus written as text in another format: what `dcrfdsl convert` does with each chunk.

An emitter is made for one output. `write` returns the bytes of a chunk, `close` the last ones, and `notes` counts what
the format changed. A value that the format cannot hold is a `DcrfError` with its place in the source: nothing is bent
silently. Here are the formats of rows and of JSON; those of annotation are in `annotation_emitters`, Parquet is in
`parquet_emitter`. Not here: which columns are written (`export_columns`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from ..foundation import ASCII_SPACE, DcrfError, data_error, json_text, parts_of
from ..semantics import Column, ColumnType, DataSpec
from .columns import interned
from .corpus import BagColumn, Corpus, InternedColumn
from .delimited import dialect_of, header_name
from .delimited_rows import quoted
from .formats import text_options
from .number_cells import NumberFormat
from .vector_columns import shown
from .weighted_bags import text_of_item


@dataclass(frozen=True)
class Export:
    """The statement of the output, whose columns are named as those of the source, and the types of these."""

    data: DataSpec
    types: Mapping[str, ColumnType]
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.data.columns

    @property
    def numbers(self) -> NumberFormat:
        """How numbers are written."""
        return NumberFormat.of(self.data)


class Emitter(Protocol):
    leaves_out: ClassVar[str]  # why some columns have no place, for the note about them

    def __init__(self, export: Export): ...
    def write(self, corpus: Corpus) -> bytes: ...
    def close(self) -> bytes: ...


def cell_texts(corpus: Corpus, name: str, export: Export) -> InternedColumn:
    """The values of a column as they stand in a cell."""
    column = corpus.columns[name]
    if isinstance(column, InternedColumn):
        return column
    if isinstance(column, BagColumn):
        return interned(_bag_texts(corpus, name, column), corpus.num_tokens)
    kind = export.types[name]
    if kind.size is not None:
        return interned(map(_vector, column.values.tolist()), corpus.num_tokens)
    spell, numbers = _SPELLINGS[kind.name], export.numbers
    return interned([numbers.written(number, spell) for number in column.values.tolist()], corpus.num_tokens)


def values_of(corpus: Corpus, name: str, kind: ColumnType) -> list[Any]:
    """The values of a column as JSON has them: texts, numbers, lists; None for a number that is missing."""
    column = corpus.columns[name]
    if isinstance(column, InternedColumn):
        values: Sequence[Any] = [parts_of(value) for value in column.values] if kind.name == "bag" else column.values
        return [values[code] for code in column.codes.tolist()]
    if isinstance(column, BagColumn):
        return [dict(column.items(token)) for token in range(corpus.num_tokens)]
    numbers: list[Any] = column.values.tolist()
    if kind.size is not None:
        return numbers
    number = int if kind.name == "int" else float
    return [None if math.isnan(one) else number(one) for one in numbers]


def _bag_texts(corpus: Corpus, name: str, column: BagColumn) -> Iterator[str]:
    """The items of each token, separated by spaces."""
    odd = np.array([not item or any(char in ASCII_SPACE for char in item) for item in column.names], bool)
    where = np.flatnonzero(odd[column.codes])
    if len(where):
        token = int(np.searchsorted(column.off, where[0], side="right")) - 1
        why = "items of a cell are separated by white space"
        raise unwritable(corpus, token, name, column.names[column.codes[where[0]]], why, "write `jsonl` or `crfsuite`")
    for token in range(corpus.num_tokens):
        yield " ".join(text_of_item(*item) for item in column.items(token))


def encoded_cells(
    corpus: Corpus, name: str, export: Export, encode: Callable[[str], str | None], why: str, remedy: str | None
) -> Iterator[str]:
    """The N cells of a column. `DcrfError` for the first token with a zero byte, or whose text `encode` refuses."""
    texts = cell_texts(corpus, name, export)
    if any("\0" in value for value in texts.values):
        encode, why, remedy = _without_zero, NO_ZERO, "write `jsonl`"
    cells = [encode(value) for value in texts.values]
    odd = [code for code, cell in enumerate(cells) if cell is None]
    if odd:
        token = int(np.argmax(np.isin(texts.codes, odd)))
        if texts.codes[token] in odd:
            raise unwritable(corpus, token, name, texts.text(token), why, remedy)
    return (cells[code] or "" for code in texts.codes.tolist())


NO_ZERO = "a file with a zero byte is not read as text"


def _without_zero(text: str) -> str | None:
    return None if "\0" in text else text


def refuse_leading_mark(corpus: Corpus, column: Column, text: str) -> None:
    """`DcrfError` if the text of a file begins with U+FEFF, which readers take for a byte order mark."""
    if text.startswith("\ufeff"):
        why = "U+FEFF at the beginning of a file is read as its byte order mark"
        raise unwritable(corpus, 0, column.name, text.partition("\n")[0], why, "write `csv` or `jsonl`")


def unwritable(corpus: Corpus, token: int, name: str, text: str, why: str, remedy: str | None) -> DcrfError:
    """The error about a value that the output cannot hold."""
    return data_error(
        "unwritable-cell", f"column `{name}` has {shown(repr(text))}, and {why}",
        file=corpus.file, line=int(corpus.token_line[token]), help=remedy,
    )  # fmt: skip


def _vector(numbers: Sequence[float]) -> str:
    return ",".join(map(repr, numbers))


_SPELLINGS: Mapping[str, Callable[[float], str]] = {"float": repr, "int": lambda number: str(int(number))}


def _sentences(corpus: Corpus, rows: Iterator[str]) -> Iterator[str]:
    """The rows with an empty one after each sentence."""
    for length in corpus.lengths().tolist():
        for _ in range(length):
            yield next(rows)
        yield ""


class ConllEmitter:
    """A token a line, a blank line after each sentence."""

    leaves_out: ClassVar[str] = "`conll` has no place for it"

    def __init__(self, export: Export):
        self._export = export
        options = text_options(export.data)
        self._separator, self._comment = options.get("separator"), options.get("comment")
        self._begun = False

    def write(self, corpus: Corpus) -> bytes:
        columns = [
            encoded_cells(corpus, column.name, self._export, self._encode, *self._words())
            for column in self._export.columns
        ]
        rows = map((self._separator or " ").join, zip(*columns, strict=True))
        text = "".join(f"{row}\n" for row in _sentences(corpus, self._checked(rows, corpus)))
        if text and not self._begun:
            refuse_leading_mark(corpus, self._export.columns[0], text)
            self._begun = True
        return text.encode()

    def _encode(self, text: str) -> str | None:
        if self._separator is None:
            return text if text and not any(char in text for char in " \t\n\v\f\r") else None
        return None if any(char in text for char in (self._separator, "\n", "\r")) else text

    def _words(self) -> tuple[str, str]:
        if self._separator is None:
            why = "a cell of `conll` has no white space and is not empty"
            return why, "split the columns by TABs: `--to 'conll(…, separator = \"\\t\")'`"
        return f"a cell of `conll` has no {shown(repr(self._separator))} and no line end", "write `csv` or `jsonl`"

    def _checked(self, rows: Iterator[str], corpus: Corpus) -> Iterator[str]:
        """The rows; `DcrfError` for one that would be read as the end of a sentence or as a comment."""
        for token, row in enumerate(rows):
            if not row.strip(" \t\v\f") or (self._comment and row.startswith(self._comment)):
                what = "the end of a sentence" if not row.strip() else "a comment"
                name = self._export.columns[0].name
                raise unwritable(corpus, token, name, row, f"such a line is {what}", "write `csv` or `jsonl`")
            yield row

    def close(self) -> bytes:
        return b""


class DelimitedEmitter:
    """CSV or TSV: a row of names, a token a row, a blank line after each sentence or a column of sentence numbers."""

    leaves_out: ClassVar[str] = "there is no place for it"

    def __init__(self, export: Export):
        self._export, self._dialect = export, dialect_of(export.data)
        self._sentence = text_options(export.data).get("sentence")
        self._numbers = count(1)
        self._begun = False

    def write(self, corpus: Corpus) -> bytes:
        names = [header_name(column) for column in self._export.columns]
        why = f"a cell of `{self._export.data.format}` without quotes has no separator and no line end"
        remedy = f'enclose cells: `--to \'{self._export.data.format}(…, quote = "\\"")\'`'
        columns = [
            encoded_cells(corpus, column.name, self._export, self._cell, why, remedy) for column in self._export.columns
        ]
        join = self._dialect.separator.join
        rows: Iterator[str] = map(join, zip(*columns, strict=True))
        header = join(map(self._name, names))
        rows = self._checked(rows, corpus, header if len(names) > 1 else None)  # a word may be `word`
        if self._sentence is None:
            rows = _sentences(corpus, rows)
        else:
            numbers = [str(next(self._numbers)) for _ in range(corpus.num_sentences)]
            repeated = np.repeat(np.arange(corpus.num_sentences), corpus.lengths()).tolist()
            rows = (join((numbers[s], row)) for s, row in zip(repeated, rows, strict=True))
            header = join((self._name(self._sentence), header))
        text = "".join(f"{row}\n" for row in rows)
        if not self._begun:
            text, self._begun = f"{header}\n{text}", True
        return text.encode()

    def _cell(self, text: str) -> str | None:
        return quoted(text, self._dialect)

    def _name(self, name: str) -> str:
        cell = quoted(name, self._dialect)
        if cell is None or "\0" in cell or cell.startswith("\ufeff"):
            odd = "a separator, a line end, a zero byte or a byte order mark"
            message = f"{shown(repr(name))} cannot be the name of a column: it has {odd}"
            raise data_error(
                "unwritable-cell", message, help='declare `quote = "\\""`, or give the column another name'
            )
        return cell

    def _checked(self, rows: Iterator[str], corpus: Corpus, header: str | None) -> Iterator[str]:
        """The rows; `DcrfError` for one that would be read as the end of a sentence or as the names again."""
        for token, row in enumerate(rows):
            blank = (
                self._sentence is None
                and not self._dialect.quotes
                and not row.strip(f" \t\v\f{self._dialect.separator}")
            )
            if blank or row == header:
                what = "a blank row, which ends a sentence" if blank else "the same as the row of names"
                name = self._export.columns[0].name
                raise unwritable(corpus, token, name, row, f"the row would be {what}", "write `jsonl`")
            yield row

    def close(self) -> bytes:
        return b""


class JsonlEmitter:
    """A sentence a line: an object with a list for each column."""

    leaves_out: ClassVar[str] = "there is no place for it"

    def __init__(self, export: Export):
        self._export = export

    def write(self, corpus: Corpus) -> bytes:
        columns = {c.source: values_of(corpus, c.name, self._export.types[c.name]) for c in self._export.columns}
        off = corpus.sentence_off.tolist()
        lines = [
            json_text({name: values[start:end] for name, values in columns.items()}, ensure_ascii=False)
            for start, end in pairwise(off)
        ]
        return "".join(f"{line}\n" for line in lines).encode()

    def close(self) -> bytes:
        return b""
