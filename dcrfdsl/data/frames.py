"""Data that a Python program already holds: lists of sentences, data frames, and sentences one by one.

Columns go by their declared names; the format named in the template is ignored. Not here: files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..foundation import DATA, data_error, did_you_mean, require_kind
from ..syntax import DataSpec
from .columns import CorpusBuilder, Wanted, interned
from .corpus import Corpus
from .records import Records

FRAME = "<frame>"  # in messages, in place of a file
_MOST_NAMES = 12
_AS_LIST = ("tolist", "to_list", "to_pylist")


@runtime_checkable
class DataFrame(Protocol):
    """The part of a data frame (of pandas or others) that is used: its column names and their values."""

    @property
    def columns(self) -> Iterable[Any]: ...
    def __getitem__(self, name: Any, /) -> Any: ...


def corpus_from_rows(
    sentences: Iterable[Any], data: DataSpec, *, required: Collection[str] = (), optional: Collection[str] = ()
) -> Corpus:
    """A corpus from sentences that a program holds.

    sentences: each is a list of tokens (tuples in declared order, or dicts by column) or a dict of lists.
    data: the template's `data` statement, as for `read_corpus`; its format is ignored.
    required: columns that must be there, even if they are optional.
    optional: columns that may be absent, all together, as labels are when tagging.

    Lines are the numbers of sentences, from 1. Sentences without a token are left out; of none there is an empty
    corpus. Raises DcrfError for values that do not fit the declared columns.

    >>> data = load_template("address.dcrf").require().data
    >>> corpus_from_rows([[("Bath", "B-TOWN"), ("Spa", "I-TOWN")]], data).num_tokens
    2
    >>> corpus_from_rows([{"word": ["9", "Bath", "Lane"]}], data, optional=["part"]).num_tokens
    3
    """
    require_kind(data, DataSpec, "data", DATA)
    require_kind(sentences, Iterable, "sentences", "a list of sentences")
    wanted = Wanted("<rows>", data, frozenset(required), frozenset(optional))
    wanted.check_names()
    records = Records(wanted, key=attrgetter("name"), unit="sentence")
    for number, sentence in enumerate(sentences, 1):
        records.add(sentence, number)
    return _corpus(records, wanted)


def corpus_from_frame(
    frame: DataFrame,
    data: DataSpec,
    *,
    sentence: str = "sentence",
    required: Collection[str] = (),
    optional: Collection[str] = (),
) -> Corpus:
    """A corpus from a data frame (of pandas or others) with one token per row.

    frame: whose columns have the names that the template declares.
    data: the template's `data` statement, as for `read_corpus`; its format is ignored.
    sentence: the column whose value the rows of a sentence share; these rows are consecutive.
    required: columns that must be there, even if they are optional.
    optional: columns that may be absent, all together, as labels are when tagging.

    Lines are rows, from 1; of none there is an empty corpus. Raises DcrfError for values that do not fit the declared
    columns.

    >>> import pandas
    >>> frame = pandas.DataFrame({"sentence": [1, 1], "word": ["Bath", "Spa"], "part": ["B-TOWN", "I-TOWN"]})
    >>> corpus_from_frame(frame, load_template("address.dcrf").require().data).num_tokens
    2
    """
    require_kind(data, DataSpec, "data", DATA)
    require_kind(frame, DataFrame, "frame", "a data frame")
    wanted = Wanted(FRAME, data, frozenset(required), frozenset(optional))
    wanted.check_names()
    present = {str(name) for name in frame.columns}
    starts, rows = sentence_starts(frame, sentence)
    columns = {c.name: column_values(frame, c.name) for c in data.columns if c.name in present}
    records = Records(wanted, key=attrgetter("name"), unit="frame")
    for start, end in pairwise([*starts, rows]):
        records.add({name: values[start:end] for name, values in columns.items()}, start + 1)
    corpus = _corpus(records, wanted)
    return Corpus(corpus.file, corpus.sentence_off, corpus.columns, np.arange(1, rows + 1, dtype=np.int64))


def column_values(frame: DataFrame, name: str) -> list[Any]:
    """The values of a column as a list: of pandas, polars, narwhals, Arrow, or of whatever can be iterated over."""
    series = frame[name]
    method = next((found for way in _AS_LIST if callable(found := getattr(series, way, None))), None)
    return list(series if method is None else method())


def sentence_starts(frame: DataFrame, sentence: str, *, is_fixed: bool = False) -> tuple[list[int], int]:
    """The first row of each sentence of a data frame, from 0, and the number of rows.

    sentence: the column whose value the rows of a sentence share.   is_fixed: no argument `sentence` names another.

    DcrfError if it is absent, or if rows of a sentence are apart.
    """
    names = [str(name) for name in frame.columns if isinstance(name, str | int)]
    if sentence not in names:
        guess = did_you_mean(sentence, names)
        asked, other = "the column whose value the rows of a sentence share", guess or "NAME"
        there = f" (it has {' '.join(f'`{name}`' for name in names[:_MOST_NAMES])})" if names and not guess else ""
        renamed = f'`frame.rename(columns={{"{other}": "{sentence}"}})`{there}'
        remedy = f"call {asked} so: {renamed}" if is_fixed else f'name {asked}: `sentence="{other}"`{there}'
        message = f"the data frame has no column `{sentence}`, which tells the sentences apart"
        raise data_error("missing-column", message, file=FRAME, help=remedy)
    keys = column_values(frame, sentence)
    starts = [n for n in range(len(keys)) if n == 0 or keys[n] != keys[n - 1]]
    seen: set[Any] = set()
    for start in starts:
        key, row = keys[start], start + 1
        if key is None or key != key:  # NaN differs from itself
            raise data_error("no-sentence", f"row {row} belongs to no sentence", file=FRAME, line=row)
        if key in seen:
            message = f"sentence `{key}` comes again in row {row}, after another sentence"
            raise data_error("split-sentence", message, file=FRAME, line=row, help="sort the frame by sentence")
        seen.add(key)
    return starts, len(keys)


def _corpus(records: Records, wanted: Wanted) -> Corpus:
    builder = CorpusBuilder(wanted.file, wanted.data)
    builder.add(records.take())
    return builder.corpus()


class SentenceReader:
    """Reads sentences of a `data` statement one by one. `names` are the columns that must be there.

    optional: columns that may be absent, as for `corpus_from_rows`. If they are there, they may be left out.
    """

    def __init__(self, data: DataSpec, optional: Collection[str]):
        self._data, self._optional = data, tuple(optional)
        needed = [column for column in data.columns if column.name not in self._optional]
        self.names = [column.name for column in needed]
        self._is_simple = bool(needed) and all(column.type.name == "str" for column in needed)

    def corpus(self, sentence: Any) -> Corpus:
        """The corpus of a sentence with at least one token. DcrfError if it does not fit the declared columns."""
        texts = self.texts(sentence)
        if texts is None:
            return corpus_from_rows([sentence], self._data, optional=self._optional)
        length = len(next(iter(texts.values())))
        return replace(
            corpus_of_length(length), columns={name: interned(column, length) for name, column in texts.items()}
        )

    def texts(self, sentence: Any) -> dict[str, Sequence[str]] | None:
        """The texts of each column, None unless the sentence is as usual."""
        columns = self._columns(sentence) if self._is_simple else None
        if columns is None or not columns[0] or any(len(column) != len(columns[0]) for column in columns):
            return None
        try:
            for column in columns:
                "".join(column).encode()  # fails for what is no text, and for half a surrogate pair
        except (TypeError, UnicodeEncodeError):
            return None
        are_texts = all(set(map(type, column)) == {str} for column in columns)
        return dict(zip(self.names, columns, strict=True)) if are_texts else None

    def _columns(self, sentence: Any) -> Sequence[Any] | None:
        if type(sentence) is dict:
            columns = [sentence.get(name) for name in self.names]
            return columns if all(type(column) is list or type(column) is tuple for column in columns) else None
        if type(sentence) is not list and type(sentence) is not tuple:
            return None
        kinds, width = set(map(type, sentence)), len(self.names)
        if kinds == {str}:
            return [sentence] if width == 1 else None
        if kinds == {dict}:
            try:
                return [list(map(itemgetter(name), sentence)) for name in self.names]
            except KeyError:
                return None
        if kinds <= {list, tuple} and set(map(len, sentence)) == {width}:
            return list(zip(*sentence, strict=True))
        return None


@lru_cache(maxsize=512)
def corpus_of_length(length: int) -> Corpus:
    """A corpus of one sentence of which only the length is known."""
    return Corpus("<rows>", np.array([0, length], np.int64), {}, np.ones(length, np.int64))
