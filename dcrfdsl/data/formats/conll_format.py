"""The format `conll`: one token per line, one column per field, a blank line after each sentence.

Columns are split at white space, or at the one character `separator`; cells may then hold spaces or be empty.
`comment = "#"` skips the lines that start with it. White space means ASCII white space: a no-break space is part of a
word. `conllu` and `crfsuite` share the table of lines and cells.

Predictions are more columns, behind those of earlier ones, separated by a TAB if the first token of the chunk has one,
else by a space; so is a remark on a sentence, with the same text at every token: a line of its own could be read as a
token.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from ...foundation import DcrfError, Ints, data_error
from ...syntax import Column
from ..column_blocks import Block
from ..columns import Parsed, Wanted, absent_columns, interned
from ..corpus import BagColumn, Corpus, InternedColumn
from ..number_cells import shown
from . import format_interface as formats
from .written_cells import at_each_token, encoded_cells, refuse_leading_mark, text_of, unwritable, with_blank_rows


class LineTable:
    """The lines of a block: which lines hold cells, how many, and in which sentence."""

    def __init__(self, block: Block, separator: str | None, comment: str | None):
        # Numba is loaded when a file is read, not when the room is imported.
        from ...kernels.extraction import ANY_SPACE, BLANK, intern_cells, lines_and_cells

        self._intern = intern_cells
        self._first_line = block.first_line
        self.block = block
        self._bytes = np.frombuffer(block.text, np.uint8)
        byte = ANY_SPACE if separator is None else ord(separator)
        mark = np.frombuffer((comment or "").encode(), np.uint8)
        line_start, self._line_cells, self._start, self._end = lines_and_cells(self._bytes, byte, mark)
        self._line_start = line_start
        self.rows: Ints = np.flatnonzero(self._line_cells > BLANK)
        # Lines of one sentence have the same number of blank lines before them.
        self._blanks_before = np.cumsum(self._line_cells == BLANK)

    @property
    def row_cells(self) -> Ints:
        """Number of cells of each line that has cells, [R]."""
        cells: Ints = self._line_cells[self.rows]
        return cells

    def line_of(self, row: int) -> int:
        """Line of the file, from 1."""
        return int(self.rows[row]) + self._first_line

    def text_of(self, row: int) -> str:
        start = self._line_start[self.rows[row]]
        end = self.block.text.find(b"\n", start)
        return self.block.text[start : end if end >= 0 else None].decode()

    def column(self, number: int, width: int, kept: Ints | None = None) -> InternedColumn:
        """Cells `number` of the rows `kept` (default all). Every row must have `width` cells."""
        start, end = self._start[number::width], self._end[number::width]
        if kept is not None:
            start, end = start[kept], end[kept]
        start, end = np.ascontiguousarray(start), np.ascontiguousarray(end)
        codes, first = self._intern(self._bytes, start, end)
        cells = map(self.block.text.__getitem__, map(slice, start[first].tolist(), end[first].tolist()))
        return InternedColumn(codes, b"\n".join(cells).decode().split("\n") if len(first) else [])

    def first_empty_cell(self) -> int | None:
        """Number of the first empty cell of the block, counted over all rows."""
        empty = np.flatnonzero(self._start == self._end)
        return int(empty[0]) if len(empty) else None

    def sentence_len(self, rows: Ints) -> Ints:
        """Lengths of the runs of `rows` (line numbers of the block) between blank lines, [S]."""
        if not len(rows):
            return np.empty(0, np.int64)
        group = self._blanks_before[rows]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        return np.diff(starts, append=len(rows))

    def parsed(self, columns: Mapping[str, InternedColumn | BagColumn], rows: Ints) -> Parsed:
        return Parsed(columns, self.sentence_len(rows), rows + self._first_line)


class ConllReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 16

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        self._separator, self._comment = self._options.get("separator"), self._options.get("comment")
        self._columns: tuple[Column, ...] | None = None  # decided by the first line of cells

    def parse(self, block: Block) -> Parsed:
        table = LineTable(block, self._separator, self._comment)
        if not len(table.rows):
            return table.parsed({}, table.rows)
        if self._columns is None:
            self._columns = self._decide(table)
        width = len(self._columns)
        wrong = np.flatnonzero(table.row_cells != width)
        if len(wrong):
            raise self._wrong_count(table, int(wrong[0]), [self._columns])
        return table.parsed(
            {column.name: table.column(number, width) for number, column in enumerate(self._columns)}, table.rows
        )

    def _decide(self, table: LineTable) -> tuple[Column, ...]:
        wanted, num_cells = self._wanted, int(table.row_cells[0])
        found = f"found {num_cells} column{'s' * (num_cells != 1)}"
        choices = [wanted.columns]  # of two with as many columns, the first
        for left_out in (wanted.spare, wanted.spare | wanted.optional, wanted.optional):
            columns = wanted.without(left_out)
            if columns and len(columns) not in map(len, choices):
                choices.append(columns)
        for columns in choices:
            if len(columns) != num_cells:
                continue
            absent = [c.name for c in wanted.columns if c.name in wanted.required and c not in columns]
            if absent:
                raise absent_columns(absent, wanted, table.line_of(0), found)
            return columns
        labels = [c.name for c in wanted.columns if c.name in wanted.required]
        if labels and num_cells == len(wanted.columns) - len(labels):
            raise absent_columns(labels, wanted, table.line_of(0), found)
        raise self._wrong_count(table, 0, choices)

    def _wrong_count(self, table: LineTable, row: int, choices: Sequence[Sequence[Column]]) -> DcrfError:
        num_cells, line, text = int(table.row_cells[row]), table.line_of(row), table.text_of(row)
        expected = " or ".join(f"{len(columns)} (`{' '.join(c.name for c in columns)}`)" for columns in choices)
        remedy = None
        counts = {len(columns) for columns in choices}
        if self._comment is None and text.startswith("#"):
            remedy = 'if this line is a comment, declare `comment = "#"` in the `data` statement'
        elif self._separator is None and text.count("\t") + 1 in counts:
            remedy = 'if TABs alone separate the columns, declare `separator = "\\t"` in the `data` statement'
        elif self._separator is not None and len(text.split()) in counts:
            remedy = "if any white space separates the columns, leave `separator` out of the `data` statement"
        message = f"line {line} has {num_cells} column{'s' * (num_cells != 1)}, expected {expected}"
        return data_error("column-count", message, file=self._wanted.file, line=line, help=remedy)


def _tag_conll(chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
    from ...kernels.extraction import append_to_lines

    columns = [*predicted.values(), *at_each_token(chunk, remarks).values()]
    text, token_lines = chunk.block.text, chunk.corpus.token_line - chunk.block.first_line
    if not len(token_lines):
        return text
    separator, first = formats.text_options(chunk.data).get("separator"), int(token_lines[0])
    between = separator or ("\t" if b"\t" in text.split(b"\n", first + 1)[first] else " ")
    codes, cells = np.zeros(len(token_lines), np.int64), [""]
    for values in columns:
        numbered = interned(values, len(token_lines))
        before, ends = cells, [between + text_of(value) for value in numbered.values]
        codes, cells = codes * len(ends) + numbered.codes, ends
        if before != [""]:  # pairs of several columns
            used, codes = np.unique(codes, return_inverse=True)
            cells = [before[pair // len(ends)] + ends[pair % len(ends)] for pair in used.tolist()]
    encoded = [cell.encode() for cell in cells]
    cell_off = np.cumsum([0, *map(len, encoded)])
    joined, raw = np.frombuffer(b"".join(encoded), np.uint8), np.frombuffer(text, np.uint8)
    return append_to_lines(raw, token_lines, codes, joined, cell_off, separator is None).tobytes()


class ConllEmitter(formats.Emitter):
    def __init__(self, export: formats.Export):
        super().__init__(export)
        options = formats.text_options(export.data)
        self._separator, self._comment = options.get("separator"), options.get("comment")

    def write(self, corpus: Corpus) -> bytes:
        columns = [
            encoded_cells(corpus, column.name, self._export, self._encode, *self._words())
            for column in self._export.columns
        ]
        rows = map((self._separator or " ").join, zip(*columns, strict=True))
        text = "".join(f"{row}\n" for row in with_blank_rows(corpus, self._checked(rows, corpus)))
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


def _look(left: formats.LeftOut, chunk: formats.Chunk, kept: Collection[str]) -> None:
    comment = formats.text_options(chunk.data).get("comment")
    if comment is not None:
        left.counts["comments"] += lines_with(chunk.block.text, comment.encode())


def lines_with(text: bytes, mark: bytes) -> int:
    return text.count(b"\n" + mark) + text.startswith(mark)


FORMATS = {
    "conll": formats.DataFormat(
        ConllReader, partial(formats.ChunkTagger, _tag_conll), ConllEmitter, suffixes=(".conll", ".txt"), look=_look
    ),
}
