"""The format `conllu` (universaldependencies.org/format.html): ten columns split by TAB, comments, blank lines.

Lines of multiword tokens (`1-2`) and empty nodes (`1.1`) are not tokens here; the writers keep them. A column of the
template is one of the ten, one key of FEATS or MISC, or several of the ten joined by spaces. `Case=Nom,Acc` is the
single value `Nom,Acc`. If a key occurs twice in a cell, the first value counts, with one warning per file. Not here:
whether heads and relations form a tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..foundation import DcrfError, data_error, did_you_mean
from ..semantics import Column
from .column_blocks import Block
from .columns import Parsed
from .conll import LineTable, cut_at_blank_line
from .corpus import InternedColumn
from .formats import Wanted, text_options

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
JOINED = "joined"
_ABSENT = "_"
_MOST_KEYS = 30  # that a warning lists
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"p": "|", "t": "\t", "n": "\n", "r": "\r", "s": " "}


def _unescaped(text: str) -> str:
    """A value of MISC, in which a bar, a backslash and line ends are escaped as in CoNLL-U's own SpacesAfter."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text) if "\\" in text else text


KEYED_CELLS: Mapping[str, Callable[[str], str]] = {"feats": str, "misc": _unescaped}  # cells of `key=value|…`
TOKEN_ID = re.compile(r"[0-9]+")
_OTHER_ID = re.compile(r"[0-9]+(-|\.)[0-9]+")


class ConlluReader:
    bytes_per_token: ClassVar[int] = 70

    def __init__(self, wanted: Wanted):
        text_options(wanted.data)
        for column in wanted.columns:
            if column.source == JOINED and set(joined_columns(column)) <= set(CONLLU_COLUMNS):
                continue
            if column.source not in CONLLU_COLUMNS or (column.key is not None and column.source not in KEYED_CELLS):
                raise _unknown_source(column, wanted)
        self._wanted = wanted
        self.warnings: list[str] = []
        self._keys: dict[str, dict[str, None]] = {source: {} for source in KEYED_CELLS}  # of the cells read so far

    def cut(self, text: bytes) -> int:
        return cut_at_blank_line(text)

    def parse(self, block: Block) -> Parsed:
        table = LineTable(block, separator="\t", comment="#")
        width = len(CONLLU_COLUMNS)
        wrong = np.flatnonzero(table.row_cells != width)
        if len(wrong):
            raise self._wrong_count(table, int(wrong[0]))
        empty = table.first_empty_cell()
        if empty is not None:
            row, number = divmod(empty, width)
            message = (
                f"line {table.line_of(row)} has nothing in column `{CONLLU_COLUMNS[number]}`, expected at least `_`"
            )
            raise data_error("empty-cell", message, file=self._wanted.file, line=table.line_of(row))
        kept = np.flatnonzero(self._is_token(table, table.column(0, width)))
        read = {source: table.column(CONLLU_COLUMNS.index(source), width, kept) for source in self._sources()}
        rows = table.rows[kept]
        lines = rows + block.first_line
        return table.parsed({column.name: self._column(read, column, lines) for column in self._wanted.columns}, rows)

    def _sources(self) -> set[str]:
        return {source for column in self._wanted.columns for source in (joined_columns(column) or (column.source,))}

    def _column(self, read: Mapping[str, InternedColumn], column: Column, lines: np.ndarray) -> InternedColumn:
        if column.source == JOINED:
            return _joined([read[source] for source in joined_columns(column)])
        return read[column.source] if column.key is None else self._keyed(read[column.source], column, lines)

    def _is_token(self, table: LineTable, ids: InternedColumn) -> np.ndarray:
        """[R] whether the row is a token, by its ID; `DcrfError` for an invalid ID."""
        plain = np.empty(len(ids.values), np.bool_)
        for code, text in enumerate(ids.values):
            plain[code] = TOKEN_ID.fullmatch(text) is not None
            if not plain[code] and not _OTHER_ID.fullmatch(text):
                line = table.line_of(int(np.argmax(ids.codes == code)))
                message = f"`{text}` is no token number; expected `1`, a range `1-2` or an empty node `1.1`"
                raise data_error("bad-id", message, file=self._wanted.file, line=line)
        return plain[ids.codes]

    def _keyed(self, cells: InternedColumn, column: Column, token_line: np.ndarray) -> InternedColumn:
        """The values of one key of FEATS or MISC, looked up once per distinct value of the column."""
        key, read, known = column.key, KEYED_CELLS[column.source], self._keys[column.source]
        code_of: dict[str, int] = {}
        of_cells = np.empty(len(cells.values), np.int32)
        for code, text in enumerate(cells.values):
            pairs = [pair.partition("=") for pair in text.split("|")]
            known.update(dict.fromkeys(name for name, _, _ in pairs))
            values = [value for name, _, value in pairs if name == key]
            if len(values) > 1 and not self.warnings:
                line = int(token_line[np.argmax(cells.codes == code)])
                self.warnings.append(
                    f"{self._wanted.file}:{line}: `{key}` comes more than once in `{text}`; "
                    "the first value of a repeated key counts (said once)"
                )
            of_cells[code] = code_of.setdefault(read(values[0]) if values else _ABSENT, len(code_of))
        return InternedColumn(of_cells[cells.codes], list(code_of))

    def absent_keys(self) -> list[str]:
        """A warning for each column whose key no token had, in all that was read; it lists the keys that are there."""
        said = []
        for column in self._wanted.columns:
            keys = [key for key in self._keys.get(column.source, ()) if key != _ABSENT]
            if column.key is None or column.source not in self._keys or column.key in keys:
                continue
            cell, guess = column.source.upper(), did_you_mean(column.key, keys)
            listed = ", ".join(f"`{key}`" for key in keys[:_MOST_KEYS])
            more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
            said.append(
                f"{self._wanted.file}: no token has the key `{column.key}` in {cell}, so `{column.name}` is `_` "
                f"everywhere; " + (f"did you mean `{guess}`? " if guess else "")
                + (f"{cell} has {listed}{more}" if keys else f"{cell} has no key at all")
            )  # fmt: skip
        return said

    def _wrong_count(self, table: LineTable, row: int) -> DcrfError:
        num_cells, line = int(table.row_cells[row]), table.line_of(row)
        return data_error(
            "column-count",
            f"line {line} has {num_cells} {'column' if num_cells == 1 else 'columns'}, expected the 10 of CoNLL-U",
            file=self._wanted.file,
            line=line,
            help="columns are split by one TAB" if len(table.text_of(row).split()) >= len(CONLLU_COLUMNS) else None,
        )


def joined_columns(column: Column) -> tuple[str, ...]:
    """The columns that `joined(…)` joins; none for another column."""
    return tuple((column.key or "").split(" ")) if column.source == JOINED else ()


def split_joined(column: Column, text: str) -> dict[str, str]:
    """The value of each column that `joined(…)` joins. A text without so many parts, as `_`, is the value of all."""
    names, parts = joined_columns(column), text.split(" ")
    return dict(zip(names, parts if len(parts) == len(names) else [text] * len(names), strict=True))


def _joined(columns: Sequence[InternedColumn]) -> InternedColumn:
    """The values of several columns with spaces between, made once for each combination that occurs."""
    codes, texts = columns[0].codes.astype(np.int64), [str(text) for text in columns[0].values]
    for column in columns[1:]:
        width = len(column.values)
        pairs, codes = np.unique(codes * width + column.codes, return_inverse=True)
        texts = [f"{texts[pair // width]} {column.values[pair % width]}" for pair in pairs.tolist()]
    return InternedColumn(codes.astype(np.int32), texts)


def _unknown_source(column: Column, wanted: Wanted) -> DcrfError:
    if column.source in CONLLU_COLUMNS:
        message = f"`{column.name}` asks for a key of `{column.source}`; only `feats` and `misc` have keys"
        return data_error("unknown-column", message, file=wanted.file)
    guess = did_you_mean(column.source, CONLLU_COLUMNS, {"word": "form", "token": "form", "pos": "upos", "tag": "xpos"})
    listed = " ".join(CONLLU_COLUMNS)
    return data_error(
        "unknown-column",
        f"`{column.source}` is no column of CoNLL-U, which has `{listed}`",
        file=wanted.file,
        help=f"did you mean `{column.name} = {guess}`?" if guess else None,
    )
