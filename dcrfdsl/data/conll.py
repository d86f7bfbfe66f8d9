"""The format `conll`: one token per line, one column per field, a blank line after each sentence.

Columns are split at white space, or at the one character `separator`; cells may then hold spaces or be empty.
`comment = "#"` skips the lines that start with it. White space means ASCII white space: a no-break space is part of a
word. `conllu` shares the table of lines and cells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..foundation import DcrfError, Ints, data_error
from ..semantics import Column
from .column_blocks import Block
from .columns import Parsed
from .corpus import BagColumn, InternedColumn
from .formats import Wanted, absent_columns, text_options

_BLANK_LINE = re.compile(rb"\n[ \t\r\v\f]*\n")
_TAIL = 1 << 14  # bytes at the end of a block that usually contain a sentence end


def cut_at_blank_line(text: bytes) -> int:
    """End of the last blank line of `text`, 0 if it has none. The first line is not considered."""
    for start in (max(0, len(text) - _TAIL), 0):  # the tail first: searching all of a block is slow
        unix, windows = text.rfind(b"\n\n", start), text.rfind(b"\n\r\n", start)
        if max(unix, windows) >= 0:
            return max(unix + 2 if unix >= 0 else 0, windows + 3 if windows >= 0 else 0)
    return max((match.end() for match in _BLANK_LINE.finditer(text)), default=0)


class LineTable:
    """The lines of a block: which lines hold cells, how many, and in which sentence."""

    def __init__(self, block: Block, separator: str | None, comment: str | None):
        # Numba is loaded when a file is read, not when the room is imported.
        from ..kernels.extraction import ANY_SPACE, BLANK, intern_cells, lines_and_cells

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


class ConllReader:
    bytes_per_token: ClassVar[int] = 16

    def __init__(self, wanted: Wanted):
        self._wanted = wanted
        options = text_options(wanted.data)
        self._separator, self._comment = options.get("separator"), options.get("comment")
        self._columns: tuple[Column, ...] | None = None  # decided by the first line of cells
        self.warnings: list[str] = []

    def cut(self, text: bytes) -> int:
        return cut_at_blank_line(text)

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
                raise absent_columns(absent, wanted, table.line_of(0), f"found {num_cells} {_columns_word(num_cells)}")
            return columns
        labels = [c.name for c in wanted.columns if c.name in wanted.required]
        if labels and num_cells == len(wanted.columns) - len(labels):
            raise absent_columns(labels, wanted, table.line_of(0), f"found {num_cells} {_columns_word(num_cells)}")
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
        return data_error(
            "column-count",
            f"line {line} has {num_cells} {_columns_word(num_cells)}, expected {expected}",
            file=self._wanted.file,
            line=line,
            help=remedy,
        )


def _columns_word(number: int) -> str:
    return "column" if number == 1 else "columns"
