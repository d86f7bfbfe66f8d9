r"""The formats `crfsuite` and `grmm`: a token a line, its labels, then all its features; a blank line ends a sentence.

    crfsuite   B-NP TAB w=the TAB length:3 TAB time=12\:30          chokkan.org/software/crfsuite/manual.html
    grmm       DT B-NP ---- W=the LOW                               mallet.cs.umass.edu, "General CRFs in GRMM"

`crfsuite` splits at TABs; its first cell is the label, with the same escapes, the others are attributes `name` or
`name:weight`. `grmm` splits at white space; the cells before `----` are labels, one a column, and a line without
`----`, or with none before it, has no labels. The last column of the `data` statement has all features, as a
`weighted_bag` or (`grmm`) a `bag`. The cells of a block are interned by one kernel, and each distinct feature is read
once.

A predicted label takes the place of its label, so that the output can be read again. What is no label is one more
feature; a number is the feature `name:number` in `crfsuite`, and `name=number` in `grmm`.

A corpus is written in `crfsuite` with its first column as the label. A weighted bag gives its items. Any other column
gives attributes of its own: a text the attribute `name=text`, a bag one for each of its texts, a number `name` with
that weight, and a vector `name[0]`, `name[1]` … Not here: what a feature says, and escapes (`weighted_bags`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ...foundation import ASCII_SPACE, DcrfError, Diagnostic, Ints, Mask, data_error, parts_of
from ...syntax import Column, ColumnType, DataSpec
from ..column_blocks import Block
from ..columns import Parsed, Wanted, absent_columns, interned
from ..corpus import BagColumn, Corpus, InternedColumn
from ..weighted_bags import Item, escaped, item_of_text, merged, text_of_item, unescaped
from . import format_interface as formats, written_cells as written
from .conll_format import LineTable

LABEL_END = "----"
WEIGHT = "@weight"  # in the place of a label: the weight of the sentence; with an escaped colon it is a label
_LABELS_APART = "the labels come first, then the features, as in `data {}(y, features: weighted_bag)`"


class CrfsuiteReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 200

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        if [column.type.name for column in wanted.columns] != ["str", "weighted_bag"]:
            raise _unfit(wanted)
        self._items: dict[str, Item] = {"": ("", 0.0)}  # what each attribute says, over all blocks

    def parse(self, block: Block) -> Parsed:
        table = LineTable(block, separator="\t", comment=None)
        if not len(table.rows):
            return table.parsed({}, table.rows)
        off, cells = _cells(table)
        label, attributes = self._wanted.columns
        labels = _chosen(cells, off[:-1])
        for code, text in enumerate(labels.values):
            if text == WEIGHT or text.startswith(f"{WEIGHT}:"):
                line = table.line_of(int(np.argmax(labels.codes == code)))
                message = f"`{text}` gives a sentence a weight, and sentences here all weigh the same"
                remedy = "remove the line, and repeat a sentence that is to count several times"
                raise data_error("bad-value", message, file=self._wanted.file, line=line, help=remedy)
        if any("\\" in text for text in labels.values):
            of_text = interned(map(unescaped, labels.values), len(labels.values))
            labels = InternedColumn(of_text.codes[labels.codes], of_text.values)
        rest = np.ones(len(cells.codes), np.bool_)
        rest[off[:-1]] = False
        if "" in cells.values:  # a TAB at the end of a line, or two in a row, make no attribute
            rest &= cells.codes != cells.values.index("")
        bag = _bag(self._items, table, off, cells, rest, attributes, self._wanted.file)
        return table.parsed({label.name: labels, attributes.name: bag}, table.rows)


class GrmmReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 100

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        *labels, features = wanted.columns or (None,)
        texts = all(column is not None and column.type.name == "str" for column in labels)
        if features is None or features.type.name not in ("bag", "weighted_bag") or not texts:
            raise _unfit(wanted)
        self._labels: tuple[Column, ...] = tuple(wanted.columns[:-1])
        self._labelled: bool | None = None  # decided by the first line
        self._items: dict[str, Item] = {}

    def parse(self, block: Block) -> Parsed:
        table = LineTable(block, separator=None, comment=None)
        if not len(table.rows):
            return table.parsed({}, table.rows)
        off, cells = _cells(table)
        count = self._num_labels(table, off, cells)
        features = self._wanted.columns[-1]
        rest = np.ones(len(cells.codes), np.bool_)
        columns: dict[str, InternedColumn | BagColumn] = {}
        for n, column in enumerate(self._labels[:count]):
            columns[column.name] = _chosen(cells, off[:-1] + n)
            rest[off[:-1] + n] = False
        if (end := _code(cells, LABEL_END)) >= 0:
            first = off[:-1] + count
            marked = np.zeros(len(rest), np.bool_)
            marked[first[first < off[1:]]] = True
            rest &= ~(marked & (cells.codes == end))
        if features.type.name == "bag":
            columns[features.name] = _texts(off, cells, rest)
        else:
            columns[features.name] = _bag(self._items, table, off, cells, rest, features, self._wanted.file)
        return table.parsed(columns, table.rows)

    def _num_labels(self, table: LineTable, off: Ints, cells: InternedColumn) -> int:
        """The number of labels in each line of the block, the same in all."""
        lengths = np.diff(off)
        row = np.repeat(np.arange(len(lengths)), lengths)
        found = np.full(len(lengths), -1)
        ends = np.flatnonzero(cells.codes == _code(cells, LABEL_END))[::-1]
        found[row[ends]] = ends - off[row[ends]]  # backwards, so that the first `----` of a line counts
        labelled = found > 0
        if self._labelled is None:
            self._labelled = bool(labelled[0])
            labels = [column.name for column in self._labels]
            given = self._wanted.optional - self._wanted.required
            needed = [name for name in labels if not self._labelled and name not in given]
            if needed:
                found_words = f"no label comes before a `{LABEL_END}`"
                raise absent_columns(needed, self._wanted, table.line_of(0), found_words)
        expected = len(self._labels) if self._labelled else 0
        wrong = np.flatnonzero(np.maximum(found, 0) != expected)
        if len(wrong):
            raise self._wrong_count(table, int(wrong[0]), int(found[wrong[0]]), expected)
        return expected

    def _wrong_count(self, table: LineTable, row: int, found: int, expected: int) -> DcrfError:
        line = table.line_of(row)
        names = " ".join(column.name for column in self._labels)
        counted = "no label" if found <= 0 else "1 label" if found == 1 else f"{found} labels"
        wanted = f"{expected} (`{names}`)" if expected else "none, as in the first line"
        message = f"line {line} has {counted} before `{LABEL_END}`, expected {wanted}"
        return data_error("column-count", message, file=self._wanted.file, line=line)


def _cells(table: LineTable) -> tuple[Ints, InternedColumn]:
    """The cells of R rows, interned: row r has the codes `off[r]` to `off[r + 1]`."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(table.row_cells)]), table.column(0, 1)


def _code(cells: InternedColumn, text: str) -> int:
    """The code of a text, -2 if no cell has it."""
    return list(cells.values).index(text) if text in cells.values else -2


def _chosen(cells: InternedColumn, at: Ints) -> InternedColumn:
    """The cells at some places, as a column of their own."""
    return InternedColumn(cells.codes[at], cells.values).slice(0, len(at))


def _off_of(off: Ints, kept: Mask) -> Ints:
    """The offsets of rows of which only some cells are kept."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return before[off]


def _bag(
    known: dict[str, Item], table: LineTable, off: Ints, cells: InternedColumn, kept: Mask, column: Column, file: str
) -> BagColumn:
    """The items of the `kept` cells of each row. `known`: what the texts of earlier blocks say."""
    used = cells.codes[kept]
    of_text = np.full(len(cells.values), -1, np.int32)
    weight = np.ones(len(cells.values))
    numbers: dict[str, int] = {}
    for code in np.unique(used).tolist():
        text = cells.values[code]
        item = known.get(text)
        if item is None:
            try:
                item = known[text] = item_of_text(text)
            except ValueError as error:
                row = int(np.searchsorted(off, np.flatnonzero(kept & (cells.codes == code))[0], side="right")) - 1
                message = f"column `{column.name}`: {error}"
                raise data_error("bad-value", message, file=file, line=table.line_of(row)) from None
        of_text[code] = numbers.setdefault(item[0], len(numbers))
        weight[code] = item[1]
    return merged(_off_of(off, kept), of_text[used], weight[used], list(numbers))


def _texts(off: Ints, cells: InternedColumn, kept: Mask) -> InternedColumn:
    """The `kept` cells of each row, joined by blanks, for a `bag`."""
    texts = [cells.values[code] for code in cells.codes[kept].tolist()]
    ends = _off_of(off, kept).tolist()
    return interned((" ".join(texts[a:b]) for a, b in pairwise(ends)), len(ends) - 1)


def _unfit(wanted: Wanted) -> DcrfError:
    listed = ", ".join(f"`{column.name}`: {column.type.name}" for column in wanted.columns)
    message = f"`{wanted.data.format}` cannot be read as {listed}"
    remedy = _LABELS_APART.format(wanted.data.format)
    return data_error("column-type", message, file=wanted.file, help=remedy)


def _tag_crfsuite(chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
    label = chunk.data.columns[0].name
    lines = written.lines_of(chunk)
    more = {**predicted, **written.at_each_token(chunk, remarks)}
    labels = written.texts_of(more.pop(label)) if label in more else None
    for n, line in enumerate(written.token_lines(chunk)):
        cells = lines[line].removesuffix("\r").split("\t")
        if labels is not None:
            cells[0] = _label(labels[n])
        cells += [_attribute(name, values[n]) for name, values in more.items()]
        lines[line] = "\t".join(cells) + written.ending_of(lines[line])
    return "\n".join(lines).encode()


def _label(text: str) -> str:
    """A label as it is read again: a backslash before it says that it is no weight of the sentence."""
    return f"\\{text}" if text == WEIGHT else escaped(text)


def _attribute(name: str, value: str | float | None) -> str:
    text = written.text_of(value)
    return escaped(f"{name}={text}") if isinstance(value, str | None) else f"{escaped(name)}:{text}"


def _tag_grmm(chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
    names = [column.name for column in chunk.data.columns[:-1]]
    lines = written.lines_of(chunk)
    more = {**predicted, **written.at_each_token(chunk, remarks)}
    labels = {name: written.texts_of(more.pop(name)) for name in names if name in more}
    for n, line in enumerate(written.token_lines(chunk)):
        cells = parts_of(lines[line])
        end = cells.index(LABEL_END) if LABEL_END in cells else -1
        old = dict(zip(names, cells[: max(end, 0)], strict=False))
        new = [labels[name][n] if name in labels else old.get(name, written.UNKNOWN) for name in names]
        said = [f"{name}={written.text_of(values[n])}" for name, values in more.items()]
        lines[line] = " ".join([*new, LABEL_END, *cells[end + 1 :], *said]) + written.ending_of(lines[line])
    return "\n".join(lines).encode()


class CrfsuiteEmitter(formats.Emitter):
    """A token a line, split by TABs, a blank line after each sentence."""

    def write(self, corpus: Corpus) -> bytes:
        label, *others = self._export.columns
        labels = written.cell_texts(corpus, label.name, self._export)
        values = {
            column.name: written.values_of(corpus, column.name, self._export.types[column.name]) for column in others
        }
        items = {name: _ITEMS[self._export.types[name].name] for name in values}
        lines = []
        for token in range(corpus.num_tokens):
            cells = [self._label(labels.text(token), label.name, corpus, token)]
            for name, column in values.items():
                cells += [
                    self._checked(text_of_item(*item), name, corpus, token) for item in items[name](name, column[token])
                ]
            lines.append("\t".join(cells))
        text = "".join(f"{line}\n" for line in written.with_blank_rows(corpus, iter(lines)))
        if text and not self._begun:
            written.refuse_leading_mark(corpus, label, text)
            self._begun = True
        return text.encode()

    def _label(self, text: str, name: str, corpus: Corpus, token: int) -> str:
        if text == WEIGHT:
            why = "such a line gives a sentence a weight in CRFsuite"
        elif text and not text.strip(ASCII_SPACE):
            why = "the line could be read as a blank one"
        else:
            return self._checked(escaped(text), name, corpus, token)
        raise written.unwritable(corpus, token, name, text, why, "write `jsonl`")

    def _checked(self, cell: str, name: str, corpus: Corpus, token: int) -> str:
        if not cell or any(char in cell for char in "\t\n\r"):
            why = "labels and attributes of CRFsuite have no TAB and no line end and are not empty"
        elif "\0" in cell:
            why = written.NO_ZERO
        else:
            return cell
        raise written.unwritable(corpus, token, name, cell, why, "write `jsonl`")


_ITEMS: Mapping[str, Callable[[str, Any], list[Item]]] = {
    "weighted_bag": lambda name, value: list(value.items()),
    "bag": lambda name, value: [(f"{name}={text}", 1.0) for text in value],
    "str": lambda name, value: [(f"{name}={value}", 1.0)],
    "int": lambda name, value: [] if value is None else [(name, float(value))],
    "float": lambda name, value: [] if value is None else [(name, value)],
    "vector": lambda name, value: [(f"{name}[{place}]", number) for place, number in enumerate(value)],
}


def _label_and_attributes(path: str, data: DataSpec) -> Sequence[Column]:
    attributes = Column(name="attributes", source="attributes", type=ColumnType(name="weighted_bag"))
    return [Column(name="label", source="label"), attributes]


def _placed(columns: Sequence[Column], segments: Collection[str]) -> formats.Placed:
    """The label first: a column of marks, or the last column of texts; the others are attributes."""
    texts = [column for column in columns if column.type.name == "str"]
    label = next((column for column in texts if column.name in segments), texts[-1] if texts else None)
    if label is None:
        message = "data of CRFsuite has a label at each token, and no column holds texts"
        raise DcrfError(Diagnostic("missing-column", message, help="name the columns: --to 'crfsuite(label, word)'"))
    return formats.by_name([label, *(column for column in columns if column is not label)])


FORMATS = {
    "crfsuite": formats.DataFormat(
        CrfsuiteReader, partial(formats.ChunkTagger, _tag_crfsuite), CrfsuiteEmitter, suffixes=(".crfsuite",),
        columns_of=_label_and_attributes, placed=_placed,
    ),
    "grmm": formats.DataFormat(GrmmReader, partial(formats.ChunkTagger, _tag_grmm)),
}  # fmt: skip
