"""Columns joined from the blocks of a file: texts are interned once, each distinct number is parsed once.

Every format hands over the texts of a block as `InternedColumn`s. `CorpusBuilder` joins the blocks and turns columns
declared as numbers into arrays. Not here: formats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..foundation import DcrfError, Floats, Ints, Ints32, data_error, dataclass, did_you_mean, parts_of, spelling_remedy
from ..syntax import Column, ColumnType, DataSpec
from .corpus import BagColumn, Corpus, InternedColumn, NumericColumn, joined_scores
from .number_cells import BadNumbers, NumberFormat, scores_in_order, scores_of_text, shown, vector_of_text
from .weighted_bags import Item, bags_of_cells, item_of_text, joined_bags

Value = TypeVar("Value")


@dataclass(frozen=True)
class Wanted:
    """The columns to read from one file: `required` ones must exist, `optional` ones may be missing, all together.

    So may the `spare` ones, by themselves: `data.readers` sees to that where a file does not tell columns by number.
    gold: whether the optional columns matter. If so, sentences are left out whose annotation somebody rejected.
    """

    file: str
    data: DataSpec
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    spare: frozenset[str] = frozenset()
    gold: bool = True

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.data.columns

    @property
    def without_optional(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.name not in self.optional)

    def without(self, left_out: frozenset[str]) -> tuple[Column, ...]:
        """The columns but these."""
        return tuple(column for column in self.columns if column.name not in left_out)

    def check_names(self) -> None:
        """`DcrfError` if a required column is not declared."""
        declared = [column.name for column in self.columns]
        for name in sorted(self.required.difference(declared)):
            message = f"column `{name}` is needed, but the data are declared as `{' '.join(declared)}`"
            remedy = spelling_remedy(did_you_mean(name, declared), f"add `{name}` to the `data` statement")
            raise data_error("missing-column", message, file=self.file, help=remedy)


def absent_columns(
    names: Collection[str], wanted: Wanted, line: int | None, actual: str, help: str | None = None
) -> DcrfError:
    """The error for required columns missing from the file; `actual` says which columns it has."""
    listed = ", ".join(f"`{name}`" for name in names)
    plural = "columns" if len(names) > 1 else "column"
    declared = " ".join(column.name for column in wanted.columns)
    message = f"{plural} {listed} missing: {actual}, expected `{declared}`"
    return data_error("missing-column", message, file=wanted.file, line=line, help=help)


class Parsed(NamedTuple):
    """The N tokens of a block. `columns` holds the texts of every column of the file, numeric columns included.

    Vectors that arrive as numbers stay arrays, bags that arrive as items stay bags. `places` says where sentences stand
    in the text of the block, if that is not told by the lines of their tokens.
    """

    columns: Mapping[str, InternedColumn | NumericColumn | BagColumn]
    sentence_len: Ints  # [S]  tokens per sentence, each at least 1
    token_line: Ints  #   [N]  line in the file, from 1
    places: Ints | None = None  # [S]  line in the text of the block, from 0


NOTHING = Parsed({}, np.empty(0, np.int64), np.empty(0, np.int64))  # a block without a token


def interned(texts: Iterable[Any], num_texts: int) -> InternedColumn:
    """Numbers `texts` in order of first appearance."""
    code: defaultdict[str, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(code.__getitem__, texts), np.int32, num_texts)
    return InternedColumn(codes, list(code))


class CorpusBuilder:
    """Joins the blocks of one file to a `Corpus`."""

    def __init__(self, file: str, data: DataSpec):
        self._file, self._data = file, data
        self._declared = {column.name: column for column in data.columns}
        self._bad: dict[str, BadNumbers] = {}
        self._parts: dict[str, _ColumnParts] = {}
        self._lengths: list[Ints] = []
        self._lines: list[Ints] = []

    def add(self, parsed: Parsed) -> None:
        """Adds a block. `DcrfError` names the line of a text that cannot be one."""
        for name, block in parsed.columns.items():
            if name not in self._parts:
                column_type = self._declared[name].type
                self._parts[name] = _PARTS[column_type.name](column_type, NumberFormat.of(self._data))
            try:
                self._parts[name].add(block)
            except _BadValues as bad:
                assert isinstance(block, InternedColumn)  # what comes as numbers was checked by its reader
                wrong = np.flatnonzero(np.isin(block.codes, list(bad.reasons)))
                code, line = int(block.codes[wrong[0]]), int(parsed.token_line[wrong[0]])
                if self._declared[name].type.name not in _NUMBERS:
                    message = f"column `{name}`: {bad.reasons[code]}"
                    raise data_error("bad-value", message, file=self._file, line=line) from None
                known = self._bad.setdefault(name, BadNumbers(name, self._declared[name].type, self._data))
                known.add(block.values[code], bad.reasons[code], line, len(wrong))
        self._lengths.append(parsed.sentence_len)
        self._lines.append(parsed.token_line)

    def corpus(self, warnings: Sequence[str] = ()) -> Corpus:
        """What was added. Without a token every declared column is there, and empty. `DcrfError` counts the cells of
        columns of numbers that hold none, and has the place of the first.
        """
        if self._bad:
            raise DcrfError([bad.diagnostic(self._file) for bad in self._bad.values()])
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        return Corpus(
            file=self._file,
            sentence_off=np.cumsum(lengths, dtype=np.int64),
            columns=self._columns(),
            token_line=np.concatenate([np.empty(0, np.int64), *self._lines]),
            warnings=tuple(warnings),
        )

    @property
    def num_tokens(self) -> int:
        return sum(map(len, self._lines))

    def _columns(self) -> dict[str, InternedColumn | NumericColumn | BagColumn]:
        if not self.num_tokens:
            how, types = NumberFormat.of(self._data), {name: column.type for name, column in self._declared.items()}
            return {name: _PARTS[kind.name](kind, how).column() for name, kind in types.items()}
        return {name: self._parts[name].column() for name in self._declared if name in self._parts}


class _BadValues(Exception):
    """Some distinct values of a block do not fit their column: what is wrong, by code."""

    def __init__(self, reasons: Mapping[int, str]):
        super().__init__(reasons)
        self.reasons = reasons


class _ColumnParts(Protocol):
    def add(self, block: InternedColumn | NumericColumn | BagColumn) -> None: ...
    def column(self) -> InternedColumn | NumericColumn | BagColumn: ...


class _TextParts:
    def __init__(self, column_type: ColumnType, how: NumberFormat):
        self._values: Sequence[str] = ()  # of the first block, whose codes stay as they are
        self._code: defaultdict[str, int] = defaultdict(count().__next__)
        self._parts: list[Ints32] = [np.empty(0, np.int32)]

    def add(self, block: InternedColumn | NumericColumn | BagColumn) -> None:
        assert isinstance(block, InternedColumn)
        _check_encodable(block.values)
        if len(self._parts) == 1:
            self._values = block.values
            self._parts.append(block.codes)
            return
        if not self._code:
            self._code = defaultdict(count(len(self._values)).__next__, zip(self._values, count(), strict=False))
        renumbered = np.fromiter(map(self._code.__getitem__, block.values), np.int32, len(block.values))
        self._parts.append(renumbered[block.codes])

    def column(self) -> InternedColumn:
        return InternedColumn(np.concatenate(self._parts), list(self._code or self._values))


class _NumberParts:
    def __init__(self, column_type: ColumnType, how: NumberFormat):
        self._type, self._how = column_type, how
        self._parse = _NUMBERS[column_type.name]
        self._shape = () if column_type.size is None else (column_type.size,)  # of the value of a token
        self._parts: list[Floats] = [np.empty((0, *self._shape))]

    def add(self, block: InternedColumn | NumericColumn | BagColumn) -> None:
        if isinstance(block, NumericColumn):
            self._parts.append(block.values)
            return
        assert isinstance(block, InternedColumn)
        parsed = _each_read(block.values, lambda text: self._parse(text, self._type, self._how))
        self._parts.append(np.array(parsed, np.float64).reshape(-1, *self._shape)[block.codes])

    def column(self) -> NumericColumn:
        return NumericColumn(np.concatenate(self._parts))


class _ScoreParts:
    """Scores that were read as texts or as arrays."""

    def __init__(self, column_type: ColumnType, how: NumberFormat):
        self._parts: list[NumericColumn] = []
        self._type, self._decimal = column_type, how.decimal
        self._first: tuple[list[float], tuple[str, ...]] | None = None  # scores that were read as a text

    def add(self, block: InternedColumn | NumericColumn | BagColumn) -> None:
        if isinstance(block, InternedColumn):
            numbers, names = scores_in_order(_each_read(block.values, self._read), self._type)
            block = NumericColumn(numbers[block.codes], names)
        assert isinstance(block, NumericColumn)
        self._parts.append(block)

    def _read(self, text: str) -> tuple[list[float], tuple[str, ...]]:
        """The scores of a text. ValueError unless they are of the states that the first one has."""
        read = scores_of_text(text.replace(self._decimal, "."))
        self._first = self._first or read
        scores_in_order([self._first, read], self._type)
        return read

    def column(self) -> NumericColumn:
        if not self._parts:
            return NumericColumn(np.empty((0, 0)))
        return joined_scores(self._parts)


class _BagParts:
    def __init__(self, column_type: ColumnType, how: NumberFormat):
        self._parts: list[BagColumn] = []
        self._items: dict[str, Item] = {}  # what each text says: the same items come again and again

    def add(self, block: InternedColumn | NumericColumn | BagColumn) -> None:
        if isinstance(block, InternedColumn):
            _check_encodable(block.values)
            block = bags_of_cells(block, _each_read(block.values, self._read))
        assert isinstance(block, BagColumn)
        self._parts.append(block)

    def _read(self, text: str) -> list[Item]:
        return [self._items.get(part) or self._items.setdefault(part, item_of_text(part)) for part in parts_of(text)]

    def column(self) -> BagColumn:
        return self._parts[0] if len(self._parts) == 1 else joined_bags(self._parts)


def _each_read(values: Sequence[str], read: Callable[[str], Value]) -> list[Value]:
    """What each text says. Raises _BadValues with all of those by which `read` raises ValueError."""
    found, bad = list[Value](), dict[int, str]()
    for code, text in enumerate(values):
        try:
            found.append(read(text))
        except ValueError as error:
            bad[code] = str(error)
    if bad:
        raise _BadValues(bad)
    return found


def _check_encodable(values: Sequence[str]) -> None:
    """Raises _BadValues for a text with half a surrogate pair: JSON and Python texts may hold one, no file can."""
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        for code, text in enumerate(values):
            if any("\ud800" <= char <= "\udfff" for char in text):
                raise _BadValues({code: f"{text!r} holds half a surrogate pair, which is no text"}) from None


def _float(text: str, column_type: ColumnType, how: NumberFormat) -> float:
    return how.number(text)


def _int(text: str, column_type: ColumnType, how: NumberFormat) -> float:
    number = how.number(text)
    if number == number and not number.is_integer():
        raise ValueError(f"found {shown(text)}, expected a whole number")
    return number


def _vector(text: str, column_type: ColumnType, how: NumberFormat) -> Floats:
    assert column_type.size is not None
    return vector_of_text(text, column_type.size)


_NUMBERS: Mapping[str, Callable[[str, ColumnType, NumberFormat], float | Floats]] = {
    "float": _float,
    "int": _int,
    "vector": _vector,
}
_PARTS: Mapping[str, Callable[[ColumnType, NumberFormat], _ColumnParts]] = {
    "str": _TextParts,
    "bag": _TextParts,
    "weighted_bag": _BagParts,
    "scores": _ScoreParts,
    **dict.fromkeys(_NUMBERS, _NumberParts),
}
