"""The rows and cells of a block of CSV or TSV text (RFC 4180), found by array operations.

A quote that is not inside quotes opens a cell and is doubled inside it, so the number of quotes before a separator or a
line feed tells whether that byte ends a cell. A text that breaks this rule has a cell with a stray quote, which is an
error: nothing is guessed. Cells keep their bytes and therefore their place in the file.
Not here: what the cells mean, and which rows form a sentence (`csv_format`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import Ints, Mask, dataclass
from ..corpus import InternedColumn

_LINE_FEED, _RETURN, _QUOTE = 10, 13, 34
_WHITE = np.frombuffer(b" \t\v\f\r\n", np.uint8)


@dataclass(frozen=True)
class Dialect:
    """separator: one ASCII character.   quotes: whether `"` encloses cells."""

    separator: str
    quotes: bool


class RowTable:
    """The rows of `text`. Line numbers count from 0.

    start, end: [C] the bytes of each cell, with its quotes and without its line end.
    row_off: [R + 1] the first cell of each row.
    row_end: [R] the byte after the row with its line end.
    row_line: [R] the line where the row begins.
    blank: [R] rows without any text: blank lines, and rows of empty cells alone.
    complete: whether a line feed ends the last row.
    """

    def __init__(self, text: bytes, dialect: Dialect):
        self.text, self.dialect = text, dialect
        self._raw = raw = np.frombuffer(text, np.uint8)
        feeds = raw == _LINE_FEED
        ends_cell = feeds | (raw == ord(dialect.separator))
        self._quotes_before: Ints | None = None  # [B + 1]
        if dialect.quotes and b'"' in text:
            self._quotes_before = _counts(raw == _QUOTE)
            ends_cell &= self._quotes_before[:-1] % 2 == 0
        end = np.flatnonzero(ends_cell)
        last = feeds[end]  # the cell ends its row
        self.complete = not len(raw) or (bool(len(end)) and bool(last[-1]) and int(end[-1]) == len(raw) - 1)
        if not self.complete:
            end, last = np.append(end, len(raw)), np.append(last, True)
        start = np.concatenate([np.zeros(min(1, len(end)), np.int64), end[:-1] + 1])
        self.row_end = np.minimum(end[last] + 1, len(raw))
        self.row_off = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(last) + 1])
        row_start = start[self.row_off[:-1]]
        self.row_line = _counts(feeds)[row_start]
        white = np.isin(raw, _WHITE) | (raw == ord(dialect.separator))
        filled = _counts(~white)
        self.blank: Mask = filled[self.row_end] == filled[row_start]
        returned = last & (end > start) & (raw[end - 1] == _RETURN) if len(end) else last
        self.start, self.end = start, end - returned

    def __len__(self) -> int:
        return len(self.row_end)

    @property
    def widths(self) -> Ints:
        """[R] the number of cells of each row."""
        return np.diff(self.row_off)

    def first(self, count: int) -> RowTable:
        """The table of the first `count` rows alone."""
        table = object.__new__(RowTable)
        table.__dict__.update(self.__dict__)
        cells = int(self.row_off[count])
        table.row_off, table.row_end = self.row_off[: count + 1], self.row_end[:count]
        table.row_line, table.blank = self.row_line[:count], self.blank[:count]
        table.start, table.end = self.start[:cells], self.end[:cells]
        table.text = self.text[: int(table.row_end[-1])] if count else b""
        table.complete = self.complete or count < len(self)
        return table

    def row_start(self, row: int) -> int:
        return int(self.start[self.row_off[row]])

    def cells(self, row: int) -> list[str]:
        """The texts of a row. Its quotes must be those of `stray`."""
        return [self._decoded(int(c)) for c in range(int(self.row_off[row]), int(self.row_off[row + 1]))]

    def column(self, rows: Ints, number: int) -> InternedColumn:
        """Cell `number` of the `rows`, which all have it and have no stray quote."""
        from ...kernels.extraction import intern_cells

        cells = self.row_off[rows] + number
        start, end = self.start[cells], self.end[cells]
        if self._quotes_before is not None:
            enclosed = (end > start) & (self._raw[np.minimum(start, len(self._raw) - 1)] == _QUOTE)
            start, end = start + enclosed, end - enclosed
        codes, first = intern_cells(self._raw, np.ascontiguousarray(start), np.ascontiguousarray(end))
        return InternedColumn(codes, [self._decoded(int(cells[n])) for n in first.tolist()])

    def _decoded(self, cell: int) -> str:
        text = self.text[self.start[cell] : self.end[cell]].decode()
        return text[1:-1].replace('""', '"') if self.dialect.quotes and text.startswith('"') else text

    def stray(self) -> int | None:
        """The first cell with a quote where none may be: in a cell that does not begin with one, or not doubled."""
        if self._quotes_before is None or not len(self.start):
            return None
        many = self._quotes_before[self.end] - self._quotes_before[self.start]
        held = np.flatnonzero(many)
        opens, closes = self._raw[self.start[held]] == _QUOTE, self._raw[self.end[held] - 1] == _QUOTE
        bad = held[~opens | ~closes | (many[held] < 2)]
        doubled = held[opens & closes & (many[held] > 2)]
        odd = next((int(c) for c in doubled if b'"' in self._inside(int(c)).replace(b'""', b"")), None)
        found = [int(bad[0])] if len(bad) else []
        return min(found + ([] if odd is None else [odd]), default=None)

    def _inside(self, cell: int) -> bytes:
        return self.text[self.start[cell] + 1 : self.end[cell] - 1]

    def bare_return(self) -> int | None:
        """The first carriage return outside quotes that no line feed follows, as a byte of the text."""
        if b"\r" not in self.text:
            return None
        at = np.flatnonzero(self._raw[: len(self.text)] == _RETURN)
        at = at[at < len(self.text) - 1]
        at = at[self._raw[at + 1] != _LINE_FEED]
        if self._quotes_before is not None:
            at = at[self._quotes_before[at] % 2 == 0]
        return int(at[0]) if len(at) else None

    def row_of(self, cell: int) -> int:
        return int(np.searchsorted(self.row_off, cell, side="right")) - 1

    def line_of(self, row: int) -> int:
        return int(self.row_line[row])


def quoted(text: str, dialect: Dialect) -> str | None:
    """The text as a cell; None if the dialect has no way to write it."""
    if not any(char in text for char in (dialect.separator, '"', "\n", "\r")) and text.strip():
        return text
    if dialect.quotes:
        return '"' + text.replace('"', '""') + '"'
    return None if any(char in text for char in (dialect.separator, "\n", "\r")) else text


def _counts(mask: Mask) -> Ints:
    """[B + 1] how many are true before each place."""
    counts = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask, out=counts[1:])
    return counts
