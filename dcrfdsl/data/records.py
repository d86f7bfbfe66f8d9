"""Sentences as Python values (from JSON or from a caller), gathered into columns of texts.

A sentence is a mapping of column → values, or a sequence of tokens; a token is a mapping of column → value, or the
values in declared order. Numbers become their shortest exact text, so that all sources share one interning; only
vectors stay arrays, and weighted bags lists of items. Not here: the origin of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..foundation import DcrfError, Floats, data_error, json_text
from ..syntax import Column
from .columns import Parsed, Wanted, absent_columns, interned
from .corpus import BagColumn, InternedColumn, NumericColumn, joined_scores
from .number_cells import NULL, is_null, scores_of_values, shown, vectors_of_values
from .weighted_bags import Item, bag_column, items_of_value


class Records:
    """Gathers sentences. `key(column)` names a column in the mappings; `unit` names a sentence in messages."""

    def __init__(self, wanted: Wanted, *, key: Callable[[Column], str], unit: str):
        self._wanted = wanted
        self._key = key
        self._unit = unit
        self._expected: dict[str, NumericColumn] = {}  # of columns of scores, the first ones
        self._columns: tuple[Column, ...] | None = None  # decided by the first sentence that has a token
        self._clear()

    def _clear(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._vectors: dict[str, list[Floats]] = {}
        self._scores: dict[str, list[NumericColumn]] = {}
        self._bags: dict[str, list[list[Item]]] = {}
        self._lengths: list[int] = []
        self._numbers: list[int] = []

    def add(self, sentence: Any, number: int) -> None:
        """Adds the sentence of line (or item) `number`; `DcrfError` if it does not fit the columns."""
        if isinstance(sentence, Mapping):
            columns = self._of_lists(sentence, number)
        elif isinstance(sentence, list | tuple):
            columns = self._of_tokens(sentence, number)
        else:
            expected = "expected a sentence: an object of lists or a list of tokens"
            raise self._error(number, f"found {self._shown(sentence)}, {expected}")
        lengths = {name: len(values) for name, values in columns.items()}
        length = next(iter(lengths.values()), 0)
        if any(other != length for other in lengths.values()):
            listed = ", ".join(f"`{name}` has {n}" for name, n in lengths.items())
            raise self._error(number, f"columns of unequal length: {listed}")
        if not length:
            return
        for column in self._columns or ():
            try:
                self._take_values(columns[column.name], column, number)
            except ValueError as error:
                raise self._error(number, f"column `{column.name}`: {error}", "bad-value") from None
        self._lengths.append(length)
        self._numbers.append(number)

    def take(self) -> Parsed:
        """The sentences gathered since the last `take`."""
        lengths = np.array(self._lengths, np.int64)
        columns: dict[str, InternedColumn | NumericColumn | BagColumn] = {
            name: interned(texts, len(texts)) for name, texts in self._texts.items()
        }
        columns |= {name: self._bag_column(name, bags) for name, bags in self._bags.items()}
        columns |= {name: NumericColumn(np.concatenate(vectors)) for name, vectors in self._vectors.items()}
        columns |= {name: joined_scores(scores) for name, scores in self._scores.items()}
        parsed = Parsed(columns, lengths, np.repeat(np.array(self._numbers, np.int64), lengths))
        self._clear()
        return parsed

    def _bag_column(self, name: str, bags: list[list[Item]]) -> BagColumn:
        column = bag_column(bags)
        if not np.isfinite(column.weights).all():
            token = int(np.searchsorted(column.off, np.flatnonzero(~np.isfinite(column.weights))[0], side="right")) - 1
            number = self._numbers[int(np.searchsorted(np.cumsum(self._lengths), token, side="right"))]
            raise self._error(number, f"column `{name}`: the weights of a name add up to no finite number", "bad-value")
        return column

    # shapes of a sentence -------------------------------------------------------------------------------------

    def _of_lists(self, sentence: Mapping[str, Any], number: int) -> dict[str, Sequence[Any]]:
        columns: dict[str, Sequence[Any]] = {}
        for column in self._layout(sentence, number):
            values: Any = sentence[self._key(column)]
            if not isinstance(values, list | tuple | np.ndarray):
                raise self._error(number, f"column `{column.name}`: found {self._shown(values)}, expected a list")
            if isinstance(values, np.ndarray) and column.type.size is None and not column.type.of:
                values = values.tolist()
            columns[column.name] = values
        return columns

    def _of_tokens(self, tokens: Sequence[Any], number: int) -> dict[str, Sequence[Any]]:
        if not tokens:
            return {}
        if all(isinstance(token, Mapping) for token in tokens):
            columns: dict[str, Sequence[Any]] = {}
            for column in self._layout(tokens[0], number):
                key = self._key(column)
                if not all(key in token for token in tokens):
                    raise absent_columns([column.name], self._wanted, number, "a token lacks it")
                columns[column.name] = [token[key] for token in tokens]
            return columns
        return self._of_rows(tokens, number)

    def _of_rows(self, tokens: Sequence[Any], number: int) -> dict[str, Sequence[Any]]:
        """Tokens as values in declared order; a single text is a token of one column."""
        rows = [(token,) if isinstance(token, str) else token for token in tokens]
        others = [row for row in rows if not isinstance(row, list | tuple)]
        if others:
            one = len(self._wanted.columns) == 1 or len(self._wanted.without_optional) == 1
            kinds = "all texts, all lists of values, or all objects" if one else "all lists of values, or all objects"
            raise self._error(number, f"found {self._shown(others[0])}, expected a token: {kinds}")
        fresh = {len(columns): columns for columns in (self._wanted.without_optional, self._wanted.columns)}
        choices = fresh if self._columns is None else {len(self._columns): self._columns}
        columns = choices.get(len(rows[0]), next(iter(choices.values())))
        odd = next((len(row) for row in rows if len(row) != len(columns)), None)
        if odd is not None:
            expected = " or ".join(str(width) for width in sorted(choices))
            raise self._error(number, f"found a token of {odd}, expected {expected} values", "column-count")
        columns = self._layout({self._key(column): None for column in columns}, number)
        return dict(zip((column.name for column in columns), zip(*rows, strict=True), strict=True))

    # one choice a file ------------------------------------------------------------------------------------------

    def _layout(self, keys: Mapping[str, Any], number: int) -> tuple[Column, ...]:
        """The columns of the file: all, or all but the optional ones, as the first sentence decides."""
        wanted = self._wanted
        absent = [c.name for c in self._columns or wanted.columns if self._key(c) not in keys]
        if self._columns is None:
            kept = wanted.without_optional
            unlabelled = kept and {c.name for c in wanted.columns} - {c.name for c in kept} == set(absent)
            if absent and (not unlabelled or wanted.required.intersection(absent)):
                asked = [name for name in absent if name not in wanted.optional] or absent
                raise absent_columns(asked, wanted, number, f"this {self._unit} has {_listed(keys)}")
            self._columns = kept if absent else wanted.columns
        elif absent:
            raise absent_columns(absent, wanted, number, f"the first {self._unit} has it, this one not")
        return self._columns

    # values -------------------------------------------------------------------------------------------------------

    def _take_values(self, values: Sequence[Any], column: Column, number: int) -> None:
        """Gathers the values of a column in a sentence. ValueError says what is wrong with one."""
        name, of = column.name, column.type
        if of.name == "weighted_bag":
            bags = [items_of_value(value) for value in values]
            try:
                "".join(item for bag in bags for item, _ in bag).encode()
            except UnicodeEncodeError:
                raise ValueError("a name holds half a surrogate pair, which is no text") from None
            self._bags.setdefault(name, []).extend(bags)
        elif of.of:
            scores = NumericColumn(*scores_of_values(values, of))
            joined_scores([self._expected.setdefault(name, scores), scores])
            self._scores.setdefault(name, []).append(scores)
        elif of.size is None:
            self._texts.setdefault(name, []).extend(self._to_texts(values, column, number))
        else:
            self._vectors.setdefault(name, []).append(vectors_of_values(values, of.size))

    def _to_texts(self, values: Sequence[Any], column: Column, number: int) -> Sequence[str]:
        if column.type.name == "str" and set(map(type, values)) == {str}:
            return values  # the usual case
        to_text, expected = _TO_TEXT[column.type.name]
        texts = [to_text(value) for value in values]
        if None in texts:
            value = values[texts.index(None)]
            raise self._error(
                number, f"column `{column.name}`: found {self._shown(value)}, expected {expected}", "bad-value",
                self._remedy(value, column),
            )  # fmt: skip
        return [text for text in texts if text is not None]

    def _remedy(self, value: Any, column: Column) -> str | None:
        """What to do about a number in a column of texts, or about nothing there."""
        if column.type.name == "str" and (is_null(value) or (isinstance(value, float) and value != value)):
            return "fill in what is missing, a label by the mark that the template declares as its `missing`"
        if column.type.name != "str" or isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            return None
        text, name = json_text(str(value)), column.name
        scored = {one for other in self._wanted.columns for one in other.type.of}
        if name in scored | self._wanted.required | self._wanted.optional:
            return (
                f"labels are texts: write the name of the state in place of its number; or declare the numbers as "
                f"states, as in `label {name} in {{0, 1}}`, and write `{text}`"
            )
        kind = "int" if isinstance(value, Integral) else "float"
        return f"labels and words are texts: write `{text}`; a column of numbers is declared as `{name}: {kind}`"

    def _shown(self, value: Any) -> str:
        if self._unit == "line" and (value is None or isinstance(value, bool)):
            return shown(json_text(value))  # as the file has it
        return shown(repr(value))

    def _error(self, number: int, message: str, slug: str = "bad-sentence", help: str | None = None) -> DcrfError:
        return data_error(slug, message, file=self._wanted.file, line=number, help=help)


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) else None


def _number(value: Any) -> str | None:
    if isinstance(value, str):
        return str(value)
    if is_null(value):
        return NULL
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        if isinstance(value, Integral) and abs(int(value)) < 2**63:
            return format(int(value), "d")
        return repr(float(value))
    except OverflowError:  # the message about a number that is too large quotes it
        with suppress(ValueError):
            return str(value)
        return None


def _bag(value: Any) -> str | None:
    """A text as it is, or a list of texts joined by spaces."""
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, list | tuple | np.ndarray):
        return None
    parts = [_text(part) for part in value]
    return None if None in parts else " ".join(part for part in parts if part is not None)


# how a value becomes a text, None for one that does not fit, and what is expected then
_TO_TEXT: Mapping[str, tuple[Callable[[Any], str | None], str]] = {
    "str": (_text, "a text"),
    "float": (_number, "a number"),
    "int": (_number, "a whole number"),
    "bag": (_bag, "a text or a list of texts"),
}


def _listed(keys: Mapping[str, Any]) -> str:
    return " ".join(f"`{key}`" for key in list(keys)[:12]) or "no column"
