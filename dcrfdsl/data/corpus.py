"""A data set in memory: every column is interned once, sentences are offsets. No string is kept per token.

Memory is proportional to the tokens: one int32 per token and column (float64 in numeric columns), and each distinct
value once. A bag has one int32 per item, and a float64 unless all weights are 1. Not here: reading and writing
(`readers`, `tagged_output`), what labels mean (`label_columns`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from ..foundation import Codes, DcrfError, Floats, Integers, Ints, Offsets, data_error, dataclass


@dataclass(frozen=True)
class InternedColumn:
    """A column of texts: `values[codes[n]]` is the text of token n.

    codes: [N] int32, an index into `values` for each token.
    values: the distinct texts, in order of first appearance.
    holds: what the column holds, in words.

    >>> corpus.text_column("word").text(4)
    'Oxford'
    """

    codes: Codes  #          [N]      index into `values`
    values: Sequence[str]  # [V]      distinct texts, in order of first appearance

    holds: ClassVar[str] = "texts"

    def text(self, token: int) -> str:
        """The text of a token.

        token: its number in the corpus, from 0.
        """
        return self.values[int(self.codes[token])]

    def slice(self, first: int, last: int) -> InternedColumn:
        """The column of tokens `first` to `last` (excluded), with only the values that occur in them."""
        return self.take(np.arange(first, last))

    def take(self, tokens: Ints) -> InternedColumn:
        """The column of these tokens, with only the values that occur in them.

        tokens: [T] their numbers, in this order.
        """
        used, earliest, codes = np.unique(self.codes[tokens], return_index=True, return_inverse=True)
        order = np.argsort(earliest)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return InternedColumn(rank[codes], tuple(self.values[code] for code in used[order].tolist()))


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers.

    values: [N] for `float` and `int` columns, [N, size] for `vector(size)`, [N, states] for `scores`; float64.
    names: of `scores`, the states whose scores the numbers are, if the data names them; else they are in their order.

    Readers produce double precision; a corpus built by hand may hold single precision.
    """

    values: Floats
    names: Sequence[str] = ()

    @property
    def holds(self) -> str:
        """What the column holds, in words."""
        return "numbers" if self.values.ndim == 1 else f"vectors of {self.values.shape[1]} numbers"

    def slice(self, first: int, last: int) -> NumericColumn:
        """The column of tokens `first` to `last` (excluded)."""
        return NumericColumn(self.values[first:last], self.names)

    def take(self, tokens: Ints) -> NumericColumn:
        """The column of these tokens.

        tokens: [T] their numbers, in this order.
        """
        return NumericColumn(self.values[tokens], self.names)


def joined_scores(columns: Sequence[NumericColumn]) -> NumericColumn:
    """Columns of numbers, one after another. ValueError where they have scores of other states."""
    first, parts = columns[0], []
    for column in columns:
        if column.values.shape[1:] != first.values.shape[1:] or {*column.names} != {*first.names}:
            found, expected = (" ".join(one.names) or f"{one.values.shape[1]} numbers" for one in (column, first))
            raise ValueError(f"found scores of {found} here, and of {expected} before: one of them is wrong")
        same = tuple(column.names) == tuple(first.names)
        parts.append(column.values if same else column.values[:, [column.names.index(one) for one in first.names]])
    return NumericColumn(np.concatenate(parts), first.names)


@dataclass(frozen=True)
class BagColumn:
    """A column of weighted bags: any number of names at each token, with a weight each.

    off: [N + 1] int64; token n has the items `off[n]` to `off[n + 1]` (excluded).
    codes: [M] int32, an index into `names` for each item; a token has a name once at most.
    weights: [M] float64, finite; or [0] if every weight is 1.
    names: the distinct names, in order of first appearance.
    holds: what the column holds, in words.

    A name that a token lacks is no feature there. `dict` of a token's items:

    >>> bags = BagColumn(np.array([0, 2, 2]), np.array([0, 1], np.int32), np.array([1.0, 0.5]), ["cap", "length"])
    >>> bags.items(0), bags.items(1)
    ([('cap', 1.0), ('length', 0.5)], [])
    """

    off: Offsets  #         [N+1]
    codes: Codes  #         [M]      index into `names`
    weights: Floats  #      [M] or [0]
    names: Sequence[str]  # [V]      distinct names, in order of first appearance

    holds: ClassVar[str] = "weighted bags"

    def items(self, token: int) -> list[tuple[str, float]]:
        """The names of a token with their weights.

        token: its number in the corpus, from 0.
        """
        first, last = int(self.off[token]), int(self.off[token + 1])
        weights = self.weights[first:last].tolist() if len(self.weights) else [1.0] * (last - first)
        return list(zip([self.names[code] for code in self.codes[first:last].tolist()], weights, strict=True))

    def slice(self, first: int, last: int) -> BagColumn:
        """The column of tokens `first` to `last` (excluded), with only the names that occur in them."""
        return self.take(np.arange(first, last))

    def take(self, tokens: Ints) -> BagColumn:
        """The column of these tokens, with only the names that occur in them.

        tokens: [T] their numbers, in this order.
        """
        off, items = joined_ranges(self.off, tokens)
        names = InternedColumn(self.codes, self.names).take(items)
        weights = self.weights[items] if len(self.weights) else self.weights
        return BagColumn(off, names.codes, np.empty(0) if (weights == 1.0).all() else weights, names.values)


@dataclass(frozen=True)
class Corpus:
    """A data set in memory: N tokens in S sentences. Made by `read_corpus`, `corpus_from_rows`, `corpus_from_frame`.

    file: the name of the file it was read from, for messages.
    sentence_off: [S + 1] int64; sentence s has the tokens `sentence_off[s]` to `sentence_off[s + 1]` (excluded).
    columns: an `InternedColumn`, `NumericColumn` or `BagColumn` by name; what the data lacks (labels, when tagging) is
        absent.
    token_line: [N] int64, the line of each token in `file`, from 1, or the number of its item where there are no lines.
    warnings: what the reader found odd.

    >>> corpus.num_sentences, corpus.num_tokens, list(corpus.columns)
    (3, 16, ['word', 'part'])
    """

    file: str
    sentence_off: Offsets  # [S+1]
    columns: Mapping[str, InternedColumn | NumericColumn | BagColumn]
    token_line: Ints  #   [N]
    warnings: tuple[str, ...] = field(default=())

    @property
    def num_tokens(self) -> int:
        """The number N of tokens."""
        return int(self.sentence_off[-1])

    @property
    def num_sentences(self) -> int:
        """The number S of sentences."""
        return len(self.sentence_off) - 1

    def slice(self, first: int, last: int) -> Corpus:
        """A corpus of some sentences, as if only they had been read. Lines stay those of the file.

        first, last: numbers of sentences, from 0; `last` is excluded. ValueError unless 0 ≤ first ≤ last; a `last`
        beyond the end is the end.

        >>> train, dev = corpus.slice(0, 2), corpus.slice(2, 3)
        >>> dev.num_tokens
        5
        """
        if not 0 <= first <= min(last, self.num_sentences):
            expected = (
                f"`slice` takes numbers of sentences from 0 to {self.num_sentences:,}, the first not above the last"
            )
            raise ValueError(f"{expected}: found {first} and {last}")
        off = self.sentence_off[first : last + 1]
        start, end = int(off[0]), int(off[-1])
        columns = {name: column.slice(start, end) for name, column in self.columns.items()}
        return Corpus(self.file, off - start, columns, self.token_line[start:end], self.warnings)

    def take(self, sentences: Sequence[int] | Ints) -> Corpus:
        """A corpus of these sentences in this order, as if only they had been read. Lines stay those of the file.

        sentences: their numbers, from 0.

        >>> corpus.take([2, 0]).lengths()
        array([5, 5])
        """
        off, tokens = joined_ranges(self.sentence_off, np.asarray(sentences, np.int64))
        columns = {name: column.take(tokens) for name, column in self.columns.items()}
        return Corpus(self.file, off, columns, self.token_line[tokens], self.warnings)

    def lengths(self) -> Ints:
        """The number of tokens of each sentence, [S] int64. It takes no argument.

        >>> corpus.lengths()
        array([5, 6, 5])
        """
        return np.diff(self.sentence_off)

    def text_column(self, name: str) -> InternedColumn:
        """The column of texts of that name.

        name: as the template declares it. KeyError if it is absent or numeric.

        >>> corpus.text_column("part").values[:2]
        ['B-STREET', 'I-STREET']
        """
        column = self.columns[name]
        if not isinstance(column, InternedColumn):
            raise KeyError(name)
        return column

    def sentence_of(self, token: int) -> int:
        """The number of the sentence that holds a token, from 0.

        token: its number in the corpus, from 0.

        >>> corpus.sentence_of(7)
        1
        """
        return int(np.searchsorted(self.sentence_off, token, side="right")) - 1


def token_error(corpus: Corpus, token: int, slug: str, message: str, help: str | None = None) -> DcrfError:
    """The error about a token, with its line."""
    return data_error(slug, message, file=corpus.file, line=int(corpus.token_line[token]), help=help)


FEW, ENOUGH = 10, 1000  # so few numbers may be words; so many values tell


def word_column(corpus: Corpus, labels: Collection[str]) -> str | None:
    """What people call the words: the first column of texts that is no label; None if there is none, or if its values
    are numbers, as times are.
    """
    for name, column in corpus.columns.items():
        if isinstance(column, InternedColumn) and name not in labels:
            values = column.values
            return None if len(values) > FEW and all(map(_is_number, islice(values, ENOUGH))) else name
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True


def joined_ranges(off: Offsets, chosen: Integers) -> tuple[Offsets, Ints]:
    """The offsets of the chosen ranges once they are joined, [chosen + 1], and the items that they hold."""
    lengths = np.diff(off)[chosen]
    joined = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return joined, np.repeat(off[:-1][chosen] - joined[:-1], lengths) + np.arange(joined[-1])


@runtime_checkable
class StoredCorpus(Protocol):
    """A data set that is not in memory, as training takes it and its record describes it."""

    @property
    def file(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, Any]: ...

    @property
    def num_sentences(self) -> int: ...

    @property
    def num_tokens(self) -> int: ...

    @property
    def sha256(self) -> str:
        """A hash of its content."""

    def lengths(self) -> Ints:
        """Tokens per sentence."""
