"""Values as they are written: predictions for the lines of a chunk, and the columns of a corpus as cells or JSON.

Not here: the formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...foundation import ASCII_SPACE, DcrfError, parts_of
from ...syntax import Column, ColumnType
from ..columns import interned
from ..corpus import BagColumn, Corpus, InternedColumn, NumericColumn, token_error
from ..number_cells import NumberFormat, shown
from ..weighted_bags import text_of_item
from .format_interface import Chunk, Export, Remarks

UNKNOWN = "_"


def at_each_token(chunk: Chunk, remarks: Remarks) -> dict[str, list[str | float | None]]:
    """The remarks on sentences, [S], repeated for each of their tokens, [N]."""
    lengths = chunk.corpus.lengths().tolist()
    return {
        name: [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]
        for name, values in remarks.items()
    }


def lines_of(chunk: Chunk) -> list[str]:
    """The lines of the chunk, without their line feeds."""
    return chunk.block.text.decode().split("\n")


def ending_of(line: str) -> str:
    """The rest of the line's end after splitting at line feeds."""
    return "\r" if line.endswith("\r") else ""


def token_lines(chunk: Chunk) -> list[int]:
    """The line of each token in the text of the block, from 0."""
    if chunk.places is not None:
        return np.repeat(chunk.places, chunk.corpus.lengths()).tolist()
    lines: list[int] = (chunk.corpus.token_line - chunk.block.first_line).tolist()
    return lines


def texts_of(values: Sequence[str | float | None]) -> list[str]:
    return [text_of(value) for value in values]


def text_of(value: str | float | None) -> str:
    """A value as it is written in a cell: numbers with six digits, `_` for what is unknown."""
    if value is None:
        return UNKNOWN
    return value if isinstance(value, str) else format(value, ".6g")


def cell_texts(corpus: Corpus, name: str, export: Export) -> InternedColumn:
    """The values of a column as they stand in a cell."""
    column = corpus.columns[name]
    if isinstance(column, InternedColumn):
        return column
    if isinstance(column, BagColumn):
        return interned(_bag_texts(corpus, name, column), corpus.num_tokens)
    kind = export.types[name]
    if kind.of:
        return interned(_score_texts(corpus, name, column, export.numbers), corpus.num_tokens)
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
    if column.names:
        return [dict(zip(column.names, one, strict=True)) for one in numbers]
    if kind.size is not None or kind.of:
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


def _score_texts(corpus: Corpus, name: str, column: NumericColumn, numbers: NumberFormat) -> Iterator[str]:
    """The scores of each token, with the names of states if the data names them."""
    separator = "," if numbers.decimal == "." else " "
    for state in column.names:
        if any(char in ASCII_SPACE or char in (",", numbers.decimal) for char in state):
            why = "scores of several variables, or of states with separators, have no names in a cell"
            raise unwritable(corpus, 0, name, state, why, "write `jsonl` or `parquet`")
    before = [f"{state}:" for state in column.names] or [""] * column.values.shape[1]
    for scores in column.values.tolist():
        yield separator.join(
            f"{state}{numbers.written(score, repr)}" for state, score in zip(before, scores, strict=True)
        )


def encoded_cells(
    corpus: Corpus, name: str, export: Export, encode: Callable[[str], str | None], why: str, remedy: str | None
) -> Iterator[str]:
    """The N cells of a column. `DcrfError` for the first token with a zero byte, or whose text `encode` refuses."""
    texts = cell_texts(corpus, name, export)
    if any("\0" in value for value in texts.values):
        encode, why, remedy = (lambda text: None if "\0" in text else text), NO_ZERO, "write `jsonl`"
    cells = [encode(value) for value in texts.values]
    odd = [code for code, cell in enumerate(cells) if cell is None]
    if odd:
        token = int(np.argmax(np.isin(texts.codes, odd)))
        if texts.codes[token] in odd:
            raise unwritable(corpus, token, name, texts.text(token), why, remedy)
    return (cells[code] or "" for code in texts.codes.tolist())


NO_ZERO = "a file with a zero byte is not read as text"


def refuse_leading_mark(corpus: Corpus, column: Column, text: str) -> None:
    """`DcrfError` if the text of a file begins with U+FEFF, which readers take for a byte order mark."""
    if text.startswith("\ufeff"):
        why = "U+FEFF at the beginning of a file is read as its byte order mark"
        raise unwritable(corpus, 0, column.name, text.partition("\n")[0], why, "write `csv` or `jsonl`")


def unwritable(corpus: Corpus, token: int, name: str, text: str, why: str, remedy: str | None) -> DcrfError:
    message = f"column `{name}` has {shown(repr(text))}, and {why}"
    return token_error(corpus, token, "unwritable-cell", message, remedy)


def _vector(numbers: Sequence[float]) -> str:
    return ",".join(map(repr, numbers))


_SPELLINGS: Mapping[str, Callable[[float], str]] = {"float": repr, "int": lambda number: str(int(number))}


def with_blank_rows(corpus: Corpus, rows: Iterator[str]) -> Iterator[str]:
    """The rows with an empty one after each sentence."""
    for length in corpus.lengths().tolist():
        for _ in range(length):
            yield next(rows)
        yield ""
