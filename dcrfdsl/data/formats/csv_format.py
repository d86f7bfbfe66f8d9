"""The formats `csv` and `tsv`: a row for each token below a row of names, in which columns are found by name.

Quotes follow RFC 4180 (`delimited_rows`). `csv` has them; `tsv` has none (as in IANA's text/tab-separated-values),
because a quote mark is a token of many corpora. A blank row, which may consist of separators alone, ends a sentence.
With `sentence = "NAME"` a new value in that column ends one too; an empty cell there continues the sentence above.
Columns that the template does not name are left alone.

Predictions are a new column `predicted_NAME` for each, or stand in place of an earlier prediction of the name. The rest
of the file stays byte for byte; a row of separators alone gets as many more as there are new columns. A text is
enclosed in quotes where it must be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import ClassVar

import numpy as np

from ...foundation import DcrfError, Ints, data_error
from ...syntax import Column, DataSpec
from ..column_blocks import Block
from ..columns import NOTHING, Parsed, Wanted
from ..corpus import Corpus, InternedColumn
from ..number_cells import shown
from . import format_interface as formats
from .delimited_rows import Dialect, RowTable, quoted
from .written_cells import at_each_token, encoded_cells, texts_of, unwritable, with_blank_rows

_SEPARATORS: Mapping[str, tuple[str, str]] = {"csv": (",", '"'), "tsv": ("\t", "none")}
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"(?!")')
_LONG_SENTENCE = 5_000  # rows without the end of a sentence that are worth a warning


def dialect_of(data: DataSpec) -> Dialect:
    """Separator and quotes of a `data` statement. `DcrfError` for options that cannot be used."""
    options = formats.text_options(data)
    separator, quote = _SEPARATORS[data.format]
    return Dialect(options.get("separator", separator), options.get("quote", quote) != "none")


class DelimitedReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 24

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        self._dialect = dialect_of(wanted.data)
        self._sentence_name = self._options.get("sentence")
        self._names: list[str] | None = None  # of the header
        self._numbers: dict[str, int] = {}  # column of the template → cell of a row
        self._sentence: int | None = None  # cell that tells sentences apart
        self._order = formats.SentenceOrder(wanted.file, "line")
        self._header_done = False  # whether a block with the header was parsed
        self._line = 1  # where the next block begins
        self._cut: RowTable | None = None

    def cut(self, text: bytes) -> int:
        table = RowTable(text, self._dialect)
        count = len(table) if table.complete else len(table) - 1
        ends = np.flatnonzero(table.blank[:count]) + 1
        if not self._header_done:  # the first block has the names and a token, so that both are tagged together
            ends = ends[np.cumsum(~table.blank)[ends - 1] > 1]
        last = int(ends[-1]) if len(ends) else 0
        if self._sentence_name is not None and count > 0 and table.stray() is None:
            rows = self._token_rows(table.first(count), self._line)
            rows = rows[table.widths[rows] == len(self._names or ())]
            starts = rows[1:][np.diff(self._ids(table, rows)[0]) != 0] if len(rows) else rows
            last = max(last, int(starts[-1]) if len(starts) else 0)
        self._cut = table.first(last) if last else None
        return int(table.row_end[last - 1]) if last else 0

    def parse(self, block: Block) -> Parsed:
        table = self._cut
        if table is None or table.text != block.text:
            table = RowTable(block.text, self._dialect)
        self._cut = None
        self._check_quotes(table, block)
        rows = self._token_rows(table, block.first_line)
        self._header_done |= self._names is not None
        self._line = block.first_line + block.text.count(b"\n")
        if not len(rows):
            return NOTHING
        lines = table.row_line + block.first_line
        self._check_widths(table, rows, lines)
        columns = {name: table.column(rows, number) for name, number in self._numbers.items()}
        self._check_header_again(columns, lines[rows])
        starts = np.diff(np.cumsum(table.blank)[rows], prepend=-1) != 0
        if self._sentence is not None:
            ids, column = self._ids(table, rows)
            starts[1:] |= np.diff(ids) != 0
            for n in np.flatnonzero(np.diff(ids, prepend=-1)).tolist():  # refuses rows that are not sorted
                self._order.begin(column.values[ids[n]], int(lines[rows[n]]))
        first = np.flatnonzero(starts)
        lengths = np.diff(first, append=len(rows))
        if self._sentence is None and lengths.max() > _LONG_SENTENCE and not self.warnings:
            at = int(lines[rows[first[np.argmax(lengths)]]])
            self.warnings.append(
                f"{self._wanted.file}:{at}: a sentence of {lengths.max():,} rows: a blank row ends a sentence; or name "
                'the column that tells sentences apart, `sentence = "NAME"`'
            )
        return Parsed(columns, lengths, lines[rows])

    # the header -------------------------------------------------------------------------------------------------

    def _token_rows(self, table: RowTable, first_line: int) -> Ints:
        """The rows of tokens. The first row that is not blank is the header."""
        rows = np.flatnonzero(~table.blank)
        if self._header_done or not len(rows):
            return rows
        if self._names is None:
            self._read_header(table, int(rows[0]), first_line + table.line_of(int(rows[0])))
        return rows[1:]

    def _read_header(self, table: RowTable, row: int, line: int) -> None:
        names, sentence = table.cells(row), self._sentence_name
        there = formats.named_columns(
            self._wanted, names, "the first row names", sentence, line=line, remedy=_remedy_of_header
        )
        self._names = names
        self._numbers = {column.name: names.index(formats.header_name(column)) for column in there}
        self._sentence = None if sentence is None else names.index(sentence)

    # rows -------------------------------------------------------------------------------------------------------

    def _ids(self, table: RowTable, rows: Ints) -> tuple[Ints, InternedColumn]:
        """[T] the code of each row's sentence value, which an empty cell takes from above, -1 if there is none; and the
        column.
        """
        assert self._sentence is not None
        column = table.column(rows, self._sentence)
        filled = np.array([bool(value.strip()) for value in column.values], bool)[column.codes]
        source = np.maximum.accumulate(np.where(filled, np.arange(len(rows)), -1))
        return np.where(source >= 0, column.codes[source].astype(np.int64), -1), column

    def _check_widths(self, table: RowTable, rows: Ints, lines: Ints) -> None:
        assert self._names is not None
        widths, expected = table.widths[rows], len(self._names)
        wrong = np.flatnonzero(widths != expected)
        if not len(wrong):
            return
        row = int(rows[wrong[0]])
        found, line = int(widths[wrong[0]]), int(lines[row])
        separator = "TAB" if self._dialect.separator == "\t" else self._dialect.separator
        enclose = f"a cell with `{separator}` in it is enclosed in quotes"
        message = f"line {line} has {found} cell{'s' * (found != 1)}, and the first row names {expected} columns"
        remedy = enclose if self._dialect.quotes and found > expected else None
        raise data_error("column-count", message, file=self._wanted.file, line=line, help=remedy)

    def _check_header_again(self, columns: Mapping[str, InternedColumn], lines: Ints) -> None:
        """`DcrfError` if a row repeats the names: files were joined."""
        assert self._names is not None
        again = np.ones(len(lines), bool)
        for name, column in columns.items():
            text = self._names[self._numbers[name]]
            if text not in column.values:
                return
            again &= column.codes == column.values.index(text)
        if len(columns) > 1 and again.any():
            line = int(lines[np.argmax(again)])
            message = f"line {line} repeats the names of the first row: it is no token"
            remedy = "leave the names out where files are joined"
            raise data_error("bad-header", message, file=self._wanted.file, line=line, help=remedy)

    def _check_quotes(self, table: RowTable, block: Block) -> None:
        stray, bare = table.stray(), table.bare_return()
        if bare is not None and (stray is None or bare < table.start[stray]):
            line, column = block.place(bare)
            message = f"a carriage return without a line feed in line {line}"
            raise data_error(
                "bad-line-end", message, file=self._wanted.file, line=line, column=column,
                help=r"if it ends a line, convert the file: tr '\r' '\n' < old > new",
            )  # fmt: skip
        if stray is not None:
            raise self._stray_quote(table, stray, block)
        if self._dialect.quotes:
            self._warn_of_lone_quotes(block)
        else:
            self._warn_of_quotes(table, block)

    def _stray_quote(self, table: RowTable, cell: int, block: Block) -> DcrfError:
        start, end = int(table.start[cell]), int(table.end[cell])
        text = block.text[start:end].decode()
        line, column = block.place(start)
        if not text.startswith('"'):
            cell_text = text.partition("\n")[0].partition(self._dialect.separator)[0]
            message = f"a quote inside the cell {shown(cell_text)} in line {line}"
        elif enclosed := _ENCLOSED.match(text):
            message = f"more text behind the quote that closes the cell {shown(enclosed[0])} in line {line}"
        else:
            message = f"the quote that opens a cell in line {line} is never closed"
        remedy = (
            'enclose the cell in quotes and double those inside it (`"5"" disk"`, `""""`); if quotes enclose nothing, '
            'declare `quote = "none"`'
        )
        return data_error("bad-quote", message, file=self._wanted.file, line=line, column=column, help=remedy)

    def _warn_of_lone_quotes(self, block: Block) -> None:
        """A quote mark as a token, not doubled, encloses the text up to the next one."""
        if self.warnings:
            return
        separator = self._dialect.separator.encode()
        at = block.text.find(b'\n"' + separator)
        while at >= 0:
            closing = block.text.find(b'"', at + 2)
            if b"\n" in block.text[at + 2 : closing] and closing >= 0:
                line = block.first_line + block.text.count(b"\n", 0, at + 1)
                self.warnings.append(
                    f"{self._wanted.file}:{line}: a quoted cell begins with a separator and runs over several lines; "
                    'if the quote mark is a token, write it as `""""`, or declare `quote = "none"` (said once)'
                )
                return
            at = block.text.find(b'\n"' + separator, at + 1)

    def _warn_of_quotes(self, table: RowTable, block: Block) -> None:
        """Cells that another program has enclosed in quotes."""
        if self.warnings or b'"' not in table.text:
            return
        raw = np.frombuffer(table.text, np.uint8)
        long = np.flatnonzero(table.end - table.start > 1)
        both = long[(raw[table.start[long]] == ord('"')) & (raw[table.end[long] - 1] == ord('"'))]
        if len(both):
            line = block.first_line + table.line_of(table.row_of(int(both[0])))
            self.warnings.append(
                f"{self._wanted.file}:{line}: a cell begins and ends with a quote, which is read as part of it; if "
                'quotes enclose cells, declare `quote = "\\""` (said once)'
            )


def _remedy_of_header(name: str, names: Sequence[str]) -> str:
    """What to do where the first row lacks a name."""
    if len(names) == 1 and (marks := [mark for mark in ";\t,|" if mark in names[0]]):
        mark = "\\t" if marks[0] == "\t" else marks[0]
        return f'if it is split otherwise, declare `separator = "{mark}"` in the `data` statement'
    spaced = next((other for other in names if other.strip() == name), None)
    if spaced is not None:
        return f"the name is {spaced!r} there: remove the white space around it"
    missing = "the first row holds the names of the columns; put one there if the file has none"
    return formats.near_column(name, names) or missing


_Edit = tuple[int, int, bytes]  # bytes of the block: first, last (excluded), and what replaces them


class DelimitedTagger(formats.Tagger):
    """Writes the chunks of one file or of several: the names are written once, for the first file."""

    def __init__(self) -> None:
        self._header: list[str] | None = None  # of the first file
        self._names: list[str] = []  # of the file that is being written

    def write(self, chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
        dialect, text = dialect_of(chunk.data), chunk.block.text
        table = RowTable(text, dialect)
        filled = np.flatnonzero(~table.blank)
        columns = {
            formats.PREFIX + name: texts_of(values)
            for name, values in {**predicted, **at_each_token(chunk, remarks)}.items()
        }
        edits: list[_Edit] = []
        again = False
        if chunk.block.first_line == 1 and len(filled):
            self._names = table.cells(int(filled[0]))
            again = self._header is not None
            if again and self._names != self._header:
                file = chunk.corpus.file
                message = f"`{file}` has other columns than the file before it, so that one table cannot hold both"
                raise data_error(
                    "bad-header", message, file=file, line=1, help="tag the files apart, or print `--json`"
                )
            self._header = self._names
            edits += self._header_edits(table, int(filled[0]), list(columns), again)
        lines = chunk.corpus.token_line - chunk.block.first_line
        rows = np.searchsorted(table.row_line, lines, side="right") - 1
        places = [self._names.index(name) if name in self._names else None for name in columns]
        edits += _token_edits(chunk, table, rows.tolist(), places, list(columns.values()))
        more = dialect.separator.encode() * places.count(None)
        of_separators = np.flatnonzero(table.blank & (table.widths > 1))  # as spreadsheets write a blank row
        ends = table.end[table.row_off[of_separators + 1] - 1].tolist() if more else []
        edits += [(end, end, more) for end in ends]
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
    chunk: formats.Chunk,
    table: RowTable,
    rows: Sequence[int],
    places: Sequence[int | None],
    columns: Sequence[Sequence[str]],
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


def _encoded(chunk: formats.Chunk, table: RowTable, rows: Sequence[int], texts: Sequence[str]) -> list[bytes]:
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


def _spliced(text: bytes, edits: Sequence[_Edit]) -> Iterator[bytes]:
    at = 0
    for start, end, new in edits:
        yield text[at:start]
        yield new
        at = end
    yield text[at:]


class DelimitedEmitter(formats.Emitter):
    """CSV or TSV: a row of names, a token a row, a blank line after each sentence or a column of sentence numbers."""

    def __init__(self, export: formats.Export):
        super().__init__(export)
        self._dialect = dialect_of(export.data)
        self._sentence = formats.text_options(export.data).get("sentence")
        self._numbers = count(1)

    def write(self, corpus: Corpus) -> bytes:
        names = [formats.header_name(column) for column in self._export.columns]
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
            rows = with_blank_rows(corpus, rows)
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
            may_be_blank = self._sentence is None and not self._dialect.quotes
            blank = may_be_blank and not row.strip(f" \t\v\f{self._dialect.separator}")
            if blank or row == header:
                what = "a blank row, which ends a sentence" if blank else "the same as the row of names"
                name = self._export.columns[0].name
                raise unwritable(corpus, token, name, row, f"the row would be {what}", "write `jsonl`")
            yield row


def _look(left: formats.LeftOut, chunk: formats.Chunk, kept: Collection[str]) -> None:
    if chunk.block.first_line != 1:
        return
    table = RowTable(chunk.block.text, dialect_of(chunk.data))
    filled = np.flatnonzero(~table.blank)
    read = {formats.header_name(column) for column in chunk.data.columns if column.name in kept}
    if len(filled):
        left.names.update((name, None) for name in table.cells(int(filled[0])) if name not in read)


def _columns_of_header(path: str, data: DataSpec) -> Sequence[Column]:
    table = RowTable(formats.beginning_of(path), dialect_of(data))
    header = next((row for row in range(len(table)) if not table.blank[row]), None)
    names = table.cells(header) if header is not None and table.stray() is None else []
    sentence = formats.text_options(data).get("sentence")
    return [Column(name=name, source="column", key=name) for name in names if name != sentence]


def _rows_of_sentence(lines: Sequence[str], done: int, first: int, last: int) -> formats.LineSpan:
    """From the first row to the blank line after the last one, if there is one. A quoted cell may hold line ends."""
    end = last + 1
    while end < len(lines) and "".join(lines[last:end]).count('"') % 2:
        end += 1
    return first, end + (end < len(lines) and not lines[end].strip(formats._SPACE))


_CSV = formats.DataFormat(
    DelimitedReader, DelimitedTagger, DelimitedEmitter,
    formats.SentenceLines(_rows_of_sentence, formats.add_blank_line), suffixes=(".csv",),
    columns_of=_columns_of_header, place_names=formats.header_places, look=_look,
)  # fmt: skip
FORMATS = {"csv": _CSV, "tsv": replace(_CSV, suffixes=(".tsv",))}
