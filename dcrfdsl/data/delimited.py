"""The formats `csv` and `tsv`: a row for each token below a row of names, in which columns are found by name.

Quotes follow RFC 4180 (`delimited_rows`). `csv` has them; `tsv` has none (as in IANA's text/tab-separated-values),
because a quote mark is a token of many corpora. A blank row, which may consist of separators alone, ends a sentence.
With `sentence = "NAME"` a new value in that column ends one too; an empty cell there continues the sentence above.
Columns that the template does not name are left alone. Not here: writing (`delimited_writer`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ..foundation import DcrfError, Ints, Mask, data_error, did_you_mean
from ..semantics import Column, DataSpec
from .column_blocks import Block
from .columns import NOTHING, Parsed
from .corpus import InternedColumn
from .delimited_rows import Dialect, RowTable
from .formats import Wanted, absent_columns, text_options
from .sentence_order import SentenceOrder
from .vector_columns import shown

_SEPARATORS: Mapping[str, tuple[str, str]] = {"csv": (",", '"'), "tsv": ("\t", "none")}
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"(?!")')
_LONG_SENTENCE = 5_000  # rows without the end of a sentence that are worth a warning


def dialect_of(data: DataSpec) -> Dialect:
    """Separator and quotes of a `data` statement. `DcrfError` for options that cannot be used."""
    options = text_options(data)
    separator, quote = _SEPARATORS[data.format]
    return Dialect(options.get("separator", separator), options.get("quote", quote) != "none")


def header_name(column: Column) -> str:
    """The name of a column in the first row: `pos`, or the text of `column("Part of speech")`."""
    return column.source if column.key is None else column.key


class DelimitedReader:
    bytes_per_token: ClassVar[int] = 24

    def __init__(self, wanted: Wanted):
        self._wanted = wanted
        self._dialect = dialect_of(wanted.data)
        self._sentence_name = text_options(wanted.data).get("sentence")
        self._names: list[str] | None = None  # of the header
        self._numbers: dict[str, int] = {}  # column of the template → cell of a row
        self._sentence: int | None = None  # cell that tells sentences apart
        self._order = SentenceOrder(wanted.file, "line")
        self._header_done = False  # whether a block with the header was parsed
        self._line = 1  # where the next block begins
        self._cut: RowTable | None = None
        self.warnings: list[str] = []

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
            starts = rows[self._changes(table, rows)] if len(rows) else rows
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
            starts |= self._changes(table, rows)
            self._check_order(table, rows, lines)
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
        wanted, names = self._wanted, table.cells(row)
        wanted_names = {column.name: header_name(column) for column in wanted.columns}
        there = [column for column in wanted.columns if wanted_names[column.name] in names]
        absent = [column for column in wanted.columns if column not in there]
        unlabelled = {column.name for column in absent} == wanted.optional.intersection(wanted_names)
        asked = [*(wanted_names[column.name] for column in absent)] if absent else []
        if absent and (not unlabelled or wanted.required.intersection(column.name for column in absent)):
            raise self._absent(asked, names, line)
        if self._sentence_name is not None and self._sentence_name not in names:
            raise self._absent([self._sentence_name], names, line)
        used = [*(wanted_names[column.name] for column in there), *filter(None, [self._sentence_name])]
        twice = next((name for name in used if names.count(name) > 1), None)
        if twice is not None:
            message = f"the first row names {names.count(twice)} columns `{twice}`, and one is to be read"
            raise data_error(
                "bad-header", message, file=wanted.file, line=line, help="give each column a name of its own"
            )
        self._names = names
        self._numbers = {column.name: names.index(wanted_names[column.name]) for column in there}
        self._sentence = None if self._sentence_name is None else names.index(self._sentence_name)

    def _absent(self, asked: list[str], names: list[str], line: int) -> DcrfError:
        listed = " ".join(f"`{name}`" for name in names[:12])
        error = absent_columns(asked, self._wanted, line, f"the first row names {listed}")
        (problem,) = error.diagnostics
        name = asked[0]
        spaced = next((other for other in names if other.strip() == name), None)
        marks = [mark for mark in ";\t,|" if len(names) == 1 and mark in names[0]]
        if marks:
            mark = "\\t" if marks[0] == "\t" else marks[0]
            remedy: str | None = f'if it is split otherwise, declare `separator = "{mark}"` in the `data` statement'
        elif spaced is not None:
            remedy = f"the name is {spaced!r} there: remove the white space around it"
        elif guess := did_you_mean(name, names):
            plain = guess.isidentifier()
            remedy = f"did you mean `{name} = {guess}`?" if plain else f'did you mean `{name} = column("{guess}")`?'
        else:
            remedy = "the first row holds the names of the columns; put one there if the file has none"
        return data_error(problem.slug, problem.message, file=self._wanted.file, line=line, help=remedy)

    # rows -------------------------------------------------------------------------------------------------------

    def _changes(self, table: RowTable, rows: Ints) -> Mask:
        """[T] rows whose sentence is another than that of the row above; an empty cell is no change."""
        ids = self._ids(table, rows)
        changed: Mask = np.diff(ids, prepend=ids[:1]) != 0
        return changed

    def _ids(self, table: RowTable, rows: Ints) -> Ints:
        """[T] the number of each row's sentence value, which an empty cell takes from above; -1 if there is none."""
        assert self._sentence is not None
        column = table.column(rows, self._sentence)
        filled = np.array([bool(value.strip()) for value in column.values], bool)[column.codes]
        source = np.maximum.accumulate(np.where(filled, np.arange(len(rows)), -1))
        return np.where(source >= 0, column.codes[source].astype(np.int64), -1)

    def _check_order(self, table: RowTable, rows: Ints, lines: Ints) -> None:
        """`DcrfError` if a sentence comes again after another one: the rows are not sorted."""
        assert self._sentence is not None
        ids, column = self._ids(table, rows), table.column(rows, self._sentence)
        for n in np.flatnonzero(np.diff(ids, prepend=-1)).tolist():
            self._order.begin(column.values[ids[n]], int(lines[rows[n]]))

    def _check_widths(self, table: RowTable, rows: Ints, lines: Ints) -> None:
        assert self._names is not None
        widths, expected = table.widths[rows], len(self._names)
        wrong = np.flatnonzero(widths != expected)
        if not len(wrong):
            return
        row = int(rows[wrong[0]])
        found, line = int(widths[wrong[0]]), int(lines[row])
        enclose = f"a cell with `{_named(self._dialect.separator)}` in it is enclosed in quotes"
        raise data_error(
            "column-count",
            f"line {line} has {found} {'cell' if found == 1 else 'cells'}, and the first row names {expected} columns",
            file=self._wanted.file,
            line=line,
            help=enclose if self._dialect.quotes and found > expected else None,
        )

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
            raise data_error(
                "bad-header",
                message,
                file=self._wanted.file,
                line=line,
                help="leave the names out where files are joined",
            )

    def _check_quotes(self, table: RowTable, block: Block) -> None:
        stray, bare = table.stray(), table.bare_return()
        if bare is not None and (stray is None or bare < table.start[stray]):
            line = block.first_line + block.text.count(b"\n", 0, bare)
            column = bare - block.text.rfind(b"\n", 0, bare)
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
        line = block.first_line + block.text.count(b"\n", 0, start)
        column = start - block.text.rfind(b"\n", 0, start)
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


def _named(separator: str) -> str:
    return "TAB" if separator == "\t" else separator
