"""Predictions in CSV and TSV: a new column `predicted_NAME` for each, or in place of an earlier prediction of the name.

The rest of the file stays byte for byte; a row of separators alone gets as many more as there are new columns. A text
is enclosed in quotes where it must be. Not here: reading (`delimited`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..foundation import DcrfError, data_error
from .delimited import dialect_of
from .delimited_rows import RowTable, quoted
from .readers import Chunk
from .vector_columns import shown
from .written_lines import Predicted, Remarks, at_each_token, texts_of

PREFIX = "predicted_"  # what the names of new columns begin with, so that no column of the file is lost

_Edit = tuple[int, int, bytes]  # bytes of the block: first, last (excluded), and what replaces them


class DelimitedWriter:
    """Writes the chunks of one file or of several: the names are written once, for the first file."""

    def __init__(self) -> None:
        self._header: list[str] | None = None  # of the first file
        self._names: list[str] = []  # of the file that is being written

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        """The bytes of the chunk with a cell more for each prediction and each remark on its sentence."""
        dialect, text = dialect_of(chunk.data), chunk.block.text
        table = RowTable(text, dialect)
        filled = np.flatnonzero(~table.blank)
        columns = {
            f"{PREFIX}{name}": texts_of(values)
            for name, values in {**predicted, **at_each_token(chunk, remarks)}.items()
        }
        edits: list[_Edit] = []
        again = False
        if chunk.block.first_line == 1 and len(filled):
            self._names = table.cells(int(filled[0]))
            again = self._header is not None
            if again and self._names != self._header:
                raise _other_header(chunk)
            self._header = self._names
            edits += self._header_edits(table, int(filled[0]), list(columns), again)
        lines = chunk.corpus.token_line - chunk.block.first_line
        rows = np.searchsorted(table.row_line, lines, side="right") - 1
        places = [self._names.index(name) if name in self._names else None for name in columns]
        edits += _token_edits(chunk, table, rows.tolist(), places, list(columns.values()))
        more = dialect.separator.encode() * places.count(None)
        edits += [(int(end), int(end), more) for end in _separator_rows(table) if more]
        written = b"".join(_spliced(text, sorted(edits, key=lambda edit: edit[:2])))
        return written if again else chunk.block.bom + written

    def _header_edits(self, table: RowTable, row: int, names: Sequence[str], again: bool) -> list[_Edit]:
        if again:
            return [(0, int(table.row_end[row]), b"")]
        new = [name for name in names if name not in self._names]
        end = int(table.end[table.row_off[row + 1] - 1])
        cells = [quoted(name, table.dialect) or name for name in new]
        return [(end, end, "".join(table.dialect.separator + cell for cell in cells).encode())]


def _token_edits(
    chunk: Chunk, table: RowTable, rows: Sequence[int], places: Sequence[int | None], columns: Sequence[Sequence[str]]
) -> Iterator[_Edit]:
    """New cells at the end of each row, and cells in place of earlier predictions."""
    cells = [_encoded(chunk, table, rows, texts) for texts in columns]
    first = table.row_off[:-1][rows]
    for place, column in zip(places, cells, strict=True):
        if place is not None:
            start, end = table.start[first + place].tolist(), table.end[first + place].tolist()
            yield from zip(start, end, column, strict=True)
    added = [column for place, column in zip(places, cells, strict=True) if place is None]
    if added:
        ends = table.end[table.row_off[1:][rows] - 1].tolist()
        separator = table.dialect.separator.encode()
        new = (separator + separator.join(row) for row in zip(*added, strict=True))
        yield from zip(ends, ends, new, strict=True)


def _encoded(chunk: Chunk, table: RowTable, rows: Sequence[int], texts: Sequence[str]) -> list[bytes]:
    """The cells of a column. `DcrfError` for the first text that no cell can hold."""
    known = {text: quoted(text, table.dialect) for text in dict.fromkeys(texts)}
    if None in known.values():
        token = next(n for n, text in enumerate(texts) if known[text] is None)
        line = table.line_of(rows[token]) + chunk.block.first_line
        message = f"{shown(repr(texts[token]))} cannot be written: it holds a separator or a line end, without quotes"
        raise data_error(
            "unwritable-cell", message, file=chunk.corpus.file, line=line, help='declare `quote = "\\""` in `data`'
        )
    encoded = {text: (cell or "").encode() for text, cell in known.items()}
    return [encoded[text] for text in texts]


def _separator_rows(table: RowTable) -> Sequence[int]:
    """Where the rows end that consist of separators alone, as spreadsheets write a blank row."""
    rows = np.flatnonzero(table.blank & (table.widths > 1))
    ends: list[int] = table.end[table.row_off[rows + 1] - 1].tolist()
    return ends


def _spliced(text: bytes, edits: Sequence[_Edit]) -> Iterator[bytes]:
    at = 0
    for start, end, new in edits:
        yield text[at:start]
        yield new
        at = end
    yield text[at:]


def _other_header(chunk: Chunk) -> DcrfError:
    message = f"`{chunk.corpus.file}` has other columns than the file before it, so that one table cannot hold both"
    return data_error(
        "bad-header", message, file=chunk.corpus.file, line=1, help="tag the files apart, or print `--json`"
    )
