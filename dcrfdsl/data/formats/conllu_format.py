"""The format `conllu` (universaldependencies.org/format.html): ten columns split by TAB, comments, blank lines.

Lines of multiword tokens (`1-2`) and empty nodes (`1.1`) are not tokens here; an output keeps them. A column of the
template is one of the ten, one key of FEATS or MISC, or several of the ten joined by spaces. `Case=Nom,Acc` is the
single value `Nom,Acc`. If a key occurs twice in a cell, the first value counts, with one warning per file.

Predictions go to the columns and the keys that the labels are read from: `upos` to UPOS, the parts of `joined("upos
feats")` to UPOS and FEATS, `feats("Case")` to that key of FEATS and `misc("ner")` to that of MISC. A key stays where it
stands, and as it is written if its value is the predicted one; `_` removes it. A new key of FEATS stands in the order
of the format (sorted without regard to case), one of MISC at the end. What has no column of its own (marginals, a label
that the data does not declare, an ID) becomes `name=value` in MISC, in place of an earlier prediction of the name. With
the option `predictions = "misc"` every label does. A remark on a sentence is a comment. All other cells and lines stay.
Not here: whether heads and relations form a tree.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from ...foundation import DcrfError, Diagnostic, data_error, did_you_mean
from ...syntax import Column
from ..column_blocks import Block
from ..columns import Parsed, Wanted
from ..corpus import Corpus, InternedColumn
from . import format_interface as formats
from .conll_format import LineTable, lines_with
from .written_cells import encoded_cells, ending_of, lines_of, texts_of, token_lines, with_blank_rows

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


class ConlluReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 70

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        for column in wanted.columns:
            if column.source == JOINED and set(joined_columns(column)) <= set(CONLLU_COLUMNS):
                continue
            if column.source not in CONLLU_COLUMNS or (column.key is not None and column.source not in KEYED_CELLS):
                raise _unknown_source(column, wanted)
        self._keys: dict[str, dict[str, None]] = {source: {} for source in KEYED_CELLS}  # of the cells read so far

    def parse(self, block: Block) -> Parsed:
        table = LineTable(block, separator="\t", comment="#")
        width = len(CONLLU_COLUMNS)
        wrong = np.flatnonzero(table.row_cells != width)
        if len(wrong):
            raise self._wrong_count(table, int(wrong[0]))
        empty = table.first_empty_cell()
        if empty is not None:
            row, number = divmod(empty, width)
            line, name = table.line_of(row), CONLLU_COLUMNS[number]
            message = f"line {line} has nothing in column `{name}`, expected at least `_`"
            raise data_error("empty-cell", message, file=self._wanted.file, line=line)
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
        message = f"line {line} has {num_cells} column{'s' * (num_cells != 1)}, expected the 10 of CoNLL-U"
        remedy = "columns are split by one TAB" if len(table.text_of(row).split()) >= len(CONLLU_COLUMNS) else None
        return data_error("column-count", message, file=self._wanted.file, line=line, help=remedy)


def joined_columns(column: Column) -> tuple[str, ...]:
    """The columns that `joined(…)` joins; none for another column."""
    return tuple((column.key or "").split(" ")) if column.source == JOINED else ()


def split_joined(column: Column, text: str) -> dict[str, str]:
    """The value of each column that `joined(…)` joins. A text without so many parts, as `_`, is the value of all.

    Of another column the text itself.
    """
    names, parts = joined_columns(column) or (column.source,), text.split(" ")
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
    message = f"`{column.source}` is no column of CoNLL-U, which has `{listed}`"
    remedy = f"did you mean `{column.name} = {guess}`?" if guess else None
    return data_error("unknown-column", message, file=wanted.file, help=remedy)


_WHITE = " \t\r\v\f"
_ID_SOURCE = "id"
_FEATS, _MISC = map(CONLLU_COLUMNS.index, ("feats", "misc"))
# `|` separates the items of MISC; the escapes are those of CoNLL-U's own SpacesAfter.
_CELL_ESCAPES = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})
_ITEM_ESCAPES = {**_CELL_ESCAPES, **str.maketrans({"\\": r"\\", "|": r"\p"})}

_Put = Callable[[list[str], str], None]  # writes a text into the ten cells of a token


def _tag_conllu(chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
    """The chunk with the predictions for its tokens, and a comment for each remark on a sentence."""
    lines = lines_of(chunk)
    own = formats.text_options(chunk.data).get("predictions") != "misc"
    columns = {column.name: column for column in chunk.data.columns} if own else {}
    puts = [_place(name, columns.get(name)) for name in predicted]
    for n, texts in zip(token_lines(chunk), zip(*map(texts_of, predicted.values()), strict=True), strict=True):
        cells = lines[n].removesuffix("\r").split("\t")
        for put, text in zip(puts, texts, strict=True):
            put(cells, text)
        lines[n] = "\t".join(cells) + ending_of(lines[n])
    if remarks:
        _add_comments(chunk, {name: texts_of(values) for name, values in remarks.items()}, lines)
    return "\n".join(lines).encode()


def _place(name: str, column: Column | None) -> _Put:
    """What writes the predictions of this name into the cells of a token."""
    if column is None or column.source == _ID_SOURCE:
        return lambda cells, text: _put_key(cells, _MISC, name, text)
    if column.key is not None and column.source != JOINED:
        number, key = CONLLU_COLUMNS.index(column.source), column.key
        return lambda cells, text: _put_key(cells, number, key, text)

    @functools.cache  # few values come again and again
    def cells_of(text: str) -> list[tuple[int, str]]:
        parts = split_joined(column, text).items()
        return [(CONLLU_COLUMNS.index(source), part.translate(_CELL_ESCAPES) or _ABSENT) for source, part in parts]

    def put(cells: list[str], text: str) -> None:
        for number, part in cells_of(text):
            cells[number] = part

    return put


def _put_key(cells: list[str], number: int, key: str, text: str) -> None:
    """Replaces a key of FEATS or MISC where it stands; one that comes again is removed: the first one counts."""
    items = [] if cells[number] == _ABSENT else cells[number].split("|")
    there = [n for n, item in enumerate(items) if item.partition("=")[0] == key]
    read, escapes = _KEYED[number]
    if (read(items[there[0]].partition("=")[2]) if there else _ABSENT) == text:
        return
    kept = [item for n, item in enumerate(items) if n not in there]
    if text not in (_ABSENT, ""):
        place = there[0] if there else len(kept)
        if number == _FEATS and not there:  # which are sorted
            later = (n for n, item in enumerate(kept) if item.partition("=")[0].lower() > key.lower())
            place = next(later, len(kept))
        kept.insert(place, f"{key}={text.translate(escapes)}")
    cells[number] = "|".join(kept) or _ABSENT


# for each cell with keys: how a value is read, and what is escaped where it is written
_KEYED: Mapping[int, tuple[Callable[[str], str], Mapping[int, str]]] = {
    _FEATS: (KEYED_CELLS["feats"], _CELL_ESCAPES),
    _MISC: (KEYED_CELLS["misc"], _ITEM_ESCAPES),
}


def _add_comments(chunk: formats.Chunk, remarks: Mapping[str, Sequence[str]], lines: list[str]) -> None:
    """Adds a comment `# name = value` for each remark, after the sentence's own comments."""
    ours = tuple(f"# {name} =" for name in remarks)
    rows, starts = token_lines(chunk), chunk.corpus.sentence_off[:-1].tolist()
    for s in range(len(starts) - 1, -1, -1):  # backwards: earlier lines keep their numbers
        first = rows[starts[s]]
        while first and lines[first - 1].strip(_WHITE) and not lines[first - 1].startswith("#"):
            first -= 1  # a multiword token's range comes before its first token
        top = first
        while top and lines[top - 1].startswith("#"):
            top -= 1
        kept = [line for line in lines[top:first] if not line.startswith(ours)]
        said = [f"# {name} = {values[s]}{ending_of(lines[first])}" for name, values in remarks.items()]
        lines[top:first] = [*kept, *said]


class ConlluEmitter(formats.Emitter):
    """Ten columns a token; keys of FEATS are sorted, and what has no column is a key of MISC."""

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
                cells[source] = _joined_items(cells.get(source), pairs, corpus.num_tokens)
        if "id" not in cells:
            cells["id"] = [str(number) for length in corpus.lengths().tolist() for number in range(1, length + 1)]
        absent = [_ABSENT] * corpus.num_tokens
        rows = map("\t".join, zip(*(cells.get(name, absent) for name in CONLLU_COLUMNS), strict=True))
        return "".join(f"{row}\n" for row in with_blank_rows(corpus, rows)).encode()


def _joined_items(whole: list[str] | None, pairs: list[tuple[str, list[str]]], num_tokens: int) -> list[str]:
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
        return partial(_checked_joined, column), _CELLS[JOINED][1]
    return _CELLS[column.source if column.key is not None or column.source == _ID_SOURCE else "column"]


def _checked_joined(column: Column, text: str) -> str | None:
    parts = split_joined(column, text)
    fits = all((_number if source == _ID_SOURCE else _cell)(part) is not None for source, part in parts.items())
    return text if fits else None


def _number(text: str) -> str | None:
    return text if TOKEN_ID.fullmatch(text) else None


def _cell(text: str) -> str | None:
    return None if not text or any(char in text for char in "\t\n\r") else text


def _feature(text: str) -> str | None:
    return None if not text or any(char in text for char in "\t\n\r|") else text


_CELLS: Mapping[str, tuple[Callable[[str], str | None], str]] = {
    _ID_SOURCE: (_number, "the ID of a token is a whole number in CoNLL-U"),
    "column": (_cell, "a cell of CoNLL-U has no TAB and no line end and is not empty"),
    JOINED: (_cell, "a cell of CoNLL-U has no TAB and no line end and is not empty, and an ID is a whole number"),
    "feats": (_feature, "a value in FEATS has no bar, no TAB and no line end and is not empty"),
    "misc": (lambda text: text.translate(_ITEM_ESCAPES), "MISC cannot hold it"),
}


_RANGE, _EMPTY_NODE = re.compile(rb"^[0-9]+-[0-9]+\t", re.MULTILINE), re.compile(rb"^[0-9]+\.[0-9]+\t", re.MULTILINE)


def _look(left: formats.LeftOut, chunk: formats.Chunk, kept: Collection[str]) -> None:
    text = chunk.block.text
    left.counts["comments"] += lines_with(text, b"#")
    left.counts["ranges of multiword tokens"] += len(_RANGE.findall(text))
    left.counts["empty nodes"] += len(_EMPTY_NODE.findall(text))
    kept_columns = [column for column in chunk.data.columns if column.name in kept]
    whole = {column.source for column in kept_columns if column.key is None}
    whole.update(source for column in kept_columns for source in joined_columns(column))
    keys = {(column.source, column.key) for column in kept_columns}
    unread = [n for n, name in enumerate(CONLLU_COLUMNS) if name not in {*whole, "id"}]
    lines = text.decode().split("\n")
    seen: set[tuple[int, str]] = set()
    for line in (chunk.corpus.token_line - chunk.block.first_line).tolist() if unread else ():
        cells = lines[line].removesuffix("\r").split("\t")
        seen.update((n, cells[n]) for n in unread)
    for n, cell in sorted(seen):
        if cell != "_":
            left.names.update((name, None) for name in _unread_names(CONLLU_COLUMNS[n], cell, keys))


def _unread_names(source: str, cell: str, keys: Collection[tuple[str, str | None]]) -> Iterator[str]:
    """What of a cell no column has: the column, or the keys of FEATS or MISC."""
    if source not in KEYED_CELLS or all(of != source for of, _ in keys):
        yield source
        return
    for item in cell.split("|"):
        key = item.partition("=")[0]
        if (source, key) not in keys:
            yield f"{source}({key})"


_CONLLU_NAMES: Mapping[str, str] = {
    **{name: name for name in CONLLU_COLUMNS},
    **dict.fromkeys(formats.FORM_NAMES, "form"),
    **dict.fromkeys(("pos", "tag", "postag", "pos_tag"), "upos"),
}


_NO_KEY = "|=\t\n\r\0"  # of FEATS and MISC


def _placed(columns: Sequence[Column], segments: Collection[str]) -> formats.Placed:
    placed: list[Column] = []
    taken: set[str] = set()
    left: list[str] = []
    for column in columns:
        wish = _CONLLU_NAMES.get(column.name.lower())
        if column.source in ("feats", "misc", JOINED) and column.key is not None:
            taken.update(joined_columns(column))
            placed.append(column)
        elif column.source in CONLLU_COLUMNS and column.key is None and column.source not in taken:
            taken.add(column.source)
            placed.append(Column(name=column.name, source=column.source))
        elif wish is not None and wish not in taken and column.source not in CONLLU_COLUMNS:
            taken.add(wish)
            placed.append(Column(name=column.name, source=wish))
        elif not column.name or any(char in column.name for char in _NO_KEY):
            left.append(column.name)
        else:
            placed.append(Column(name=column.name, source="misc", key=column.name))
    return formats.Placed(tuple(placed), tuple(left))


def _place_names(column: Column, options: Mapping[str, str]) -> Sequence[str]:
    """`DcrfError` for a key that no reader finds again."""
    if column.source in KEYED_CELLS and column.key is not None and set(column.key) & set(_NO_KEY):
        message = f"`{column.key}` cannot be a key of {column.source.upper()}: `|` and `=` separate keys and values"
        remedy = f'name another key: `{column.name} = {column.source}("{column.name}")`'
        raise DcrfError(Diagnostic("unwritable-cell", message, help=remedy))
    if column.source == JOINED:
        return joined_columns(column)
    return [column.source if column.key is None else f"{column.source}({column.key})"]


FORMATS = {
    "conllu": formats.DataFormat(
        ConlluReader, partial(formats.ChunkTagger, _tag_conllu), ConlluEmitter, suffixes=(".conllu",),
        columns_of=lambda path, data: [Column(name=name, source=name) for name in CONLLU_COLUMNS], placed=_placed,
        place_names=_place_names, look=_look, gold_kept="misc",
    ),
}  # fmt: skip
