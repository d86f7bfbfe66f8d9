"""Data that a Python program already holds: lists of sentences, data frames, and sentences one by one.

Columns go by their declared names; the format named in the template is ignored. Data frames of pandas, polars and Arrow
are read and made by narwhals, an optional package. Not here: files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ..foundation import DATA, DcrfError, Ints, data_error, dataclass, did_you_mean, needed, require_kind
from ..syntax import DataSpec
from .columns import CorpusBuilder, Wanted, interned
from .corpus import BagColumn, Corpus, InternedColumn, NumericColumn
from .records import Records
from .weighted_bags import mapped

FRAME = "<frame>"  # in messages, in place of a file
FRAME_KINDS = ("pandas", "polars", "pyarrow")
_MOST_NAMES = 12


@dataclass(frozen=True)
class FrameCorpus(Corpus):
    """A corpus that was read from a data frame, which it keeps.   by_sentence: whether a row is a sentence."""

    frame: Any = field(default=None, compare=False, repr=False)
    by_sentence: bool = False


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
    frame: Any,
    data: DataSpec,
    *,
    sentence: str = "sentence",
    required: Collection[str] = (),
    optional: Collection[str] = (),
) -> Corpus:
    """A corpus from a data frame of pandas, polars or Arrow, with a row a token, or with a row a sentence.

    frame: whose columns have the names that the template declares. Without a column `sentence`, and where all of them
        are of lists, a row is a sentence.
    data: the template's `data` statement, as for `read_corpus`; its format is ignored.
    sentence: the column whose value the rows of a sentence share; these rows are consecutive.
    required: columns that must be there, even if they are optional.
    optional: columns that may be absent, all together, as labels are when tagging.

    Lines are rows, from 1; of none there is an empty corpus. Raises DcrfError for values that do not fit the declared
    columns, and without the package `narwhals`; TypeError for a lazy frame.

    >>> import pandas
    >>> frame = pandas.DataFrame({"sentence": [1, 1], "word": ["Bath", "Spa"], "part": ["B-TOWN", "I-TOWN"]})
    >>> corpus_from_frame(frame, load_template("address.dcrf").require().data).num_tokens
    2
    """
    require_kind(data, DataSpec, "data", DATA)
    wanted = Wanted(FRAME, data, frozenset(required), frozenset(optional))
    wanted.check_names()
    opened = open_frame(frame)
    columns = {c.name: column_values(opened, c.name) for c in data.columns if c.name in opened.columns}
    records = Records(wanted, key=attrgetter("name"), unit="frame")
    by_sentence = is_by_sentence(opened, columns, sentence)
    if by_sentence:
        for row in range(len(opened)):
            own = {name: values[row] for name, values in columns.items()}
            if absent := [name for name, values in own.items() if values is None]:
                message = f"column `{absent[0]}` has no list in row {row + 1}"
                raise data_error("bad-sentence", message, file=FRAME, line=row + 1)
            records.add(own, row + 1)
        corpus = _corpus(records, wanted)
        return FrameCorpus(FRAME, corpus.sentence_off, corpus.columns, corpus.token_line, (), frame, by_sentence)
    starts, rows = sentence_starts(opened, sentence)
    for start, end in pairwise([*starts, rows]):
        try:
            records.add({name: values[start:end] for name, values in columns.items()}, start + 1)
        except DcrfError:
            for row in range(start, end):  # the first one that does not fit by itself
                own = {name: values[row : row + 1] for name, values in columns.items()}
                Records(wanted, key=attrgetter("name"), unit="frame").add(own, row + 1)
            raise
    corpus = _corpus(records, wanted, np.arange(1, rows + 1, dtype=np.int64))
    return FrameCorpus(FRAME, corpus.sentence_off, corpus.columns, corpus.token_line, (), frame)


def is_frame(value: Any) -> bool:
    """Whether it is a data frame, eager or lazy. No library of frames is loaded."""
    kind = type(value)  # whose lazy frames warn where an object is asked for its columns
    return hasattr(kind, "columns") and hasattr(kind, "__getitem__") and not isinstance(value, Mapping)


def open_frame(frame: Any) -> Any:
    """A data frame by narwhals. TypeError for a lazy one, and for what is none."""
    if is_frame(frame):
        with needed("narwhals", "data frames are read by the package `narwhals`", "frames"):
            import narwhals
        try:
            opened = narwhals.from_native(frame, pass_through=True)
        except narwhals.exceptions.DuplicateError:
            names = list(getattr(frame, "column_names", frame.columns))
            twice = next(name for name in names if names.count(name) > 1)
            message = f"the frame has {names.count(twice)} columns `{twice}`"
            raise data_error("bad-header", message, file=FRAME, help="give each a name of its own") from None
        if isinstance(opened, narwhals.DataFrame):
            return opened
        if isinstance(opened, narwhals.LazyFrame):
            raise TypeError("`frame` takes a data frame that is there: found a lazy one; write `frame.collect()`")
    require_kind(frame, (), "frame", "a data frame of pandas, polars or Arrow")
    return None


def column_values(opened: Any, name: str) -> list[Any]:
    """The values of a column of an opened frame; maps of Arrow, which come as pairs, as dicts."""
    values: list[Any] = opened[name].to_list()
    return list(map(mapped, values)) if opened.implementation.is_pyarrow() else values


def listed_values(column: InternedColumn | NumericColumn | BagColumn) -> list[Any]:
    """The values of a column of a corpus: texts, numbers, lists of numbers, or a dict for each bag."""
    if isinstance(column, BagColumn):
        return [dict(column.items(token)) for token in range(len(column.off) - 1)]
    if isinstance(column, NumericColumn):
        return list(column.values.tolist())
    return [column.values[code] for code in column.codes.tolist()]


def is_by_sentence(opened: Any, columns: Mapping[str, Sequence[Any]], sentence: str) -> bool:
    """Whether a row is a sentence: nothing tells sentences apart, and all these columns are of lists."""
    if sentence in opened.columns or not columns:
        return False
    firsts = [next((value for value in values if value is not None), None) for values in columns.values()]
    return all(isinstance(value, list | tuple | np.ndarray) for value in firsts)


def sentence_starts(opened: Any, sentence: str, *, is_fixed: bool = False) -> tuple[list[int], int]:
    """The first row of each sentence of an opened frame, from 0, and the number of rows.

    sentence: the column whose value the rows of a sentence share.   is_fixed: no argument `sentence` names another.

    DcrfError if it is absent, or if rows of a sentence are apart.
    """
    names = list(map(str, opened.columns))
    if sentence not in names:
        guess = did_you_mean(sentence, names)
        asked, other = "the column whose value the rows of a sentence share", guess or "NAME"
        there = f" (it has {' '.join(f'`{name}`' for name in names[:_MOST_NAMES])})" if names and not guess else ""
        ways = f"call {asked} `{sentence}`" if is_fixed else f'name {asked}: `sentence="{other}"`'
        message = f"the data frame has no column `{sentence}`, which tells the sentences apart"
        raise data_error("missing-column", message, file=FRAME, help=ways + there)
    keys = column_values(opened, sentence)
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


def frame_with(corpus: Corpus, columns: Mapping[str, Sequence[Any]], kind: str | None) -> Any:
    """A data frame of a corpus with more columns, each with a value a token, [N].

    kind: one of `FRAME_KINDS`; by default that of the frame which the corpus was read from, without which it is a
    ValueError. Other corpora have a row a token, the number of its sentence, and their columns of texts and numbers.
    """
    if kind is None and not isinstance(corpus, FrameCorpus):
        raise ValueError(f"the corpus was not read from a data frame: name the kind, {', '.join(FRAME_KINDS)}")
    if kind is not None and kind not in FRAME_KINDS:
        raise ValueError(f"`kind` is one of {', '.join(FRAME_KINDS)}: found {kind!r}")
    with needed("narwhals", "data frames are made by the package `narwhals`", "frames"):
        import narwhals
    if isinstance(corpus, FrameCorpus):
        made = open_frame(corpus.frame)
        if corpus.by_sentence:
            columns = {name: _by_row(corpus, values, len(made)) for name, values in columns.items()}
        more = (narwhals.new_series(n, values, backend=made.implementation) for n, values in columns.items())
        made = made.with_columns(*more)
    else:
        numbers = np.repeat(np.arange(1, corpus.num_sentences + 1), corpus.lengths())
        own = {name: listed_values(c) for name, c in corpus.columns.items() if not isinstance(c, BagColumn)}
        made = narwhals.from_dict({"sentence": numbers.tolist()} | own | dict(columns), backend=kind)  # type: ignore[arg-type]
    ways = {None: made.to_native, "pandas": made.to_pandas, "polars": made.to_polars, "pyarrow": made.to_arrow}
    return ways[kind]()


def _by_row(corpus: Corpus, values: Sequence[Any], rows: int) -> list[list[Any]]:
    """The values of each sentence as a list, in its row; rows without a token have an empty one."""
    lists: list[list[Any]] = [[] for _ in range(rows)]
    for row, value in zip(corpus.token_line.tolist(), values, strict=True):
        lists[row - 1].append(value)
    return lists


def _corpus(records: Records, wanted: Wanted, token_line: Ints | None = None) -> Corpus:
    """What the records have gathered.   token_line: [N], by default the number of the sentence."""
    parsed, builder = records.take(), CorpusBuilder(wanted.file, wanted.data)
    builder.add(parsed if token_line is None or not len(token_line) else parsed._replace(token_line=token_line))
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
