"""A sentence that a program holds as a corpus of one sentence, for programs that ask about one after another.

The usual sentences, whose tokens have the declared columns of texts and nothing else, are read at once; all others,
those with mistakes too, go through `corpus_from_rows`, whose result is the same. Not here: many sentences (`frames`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np

from ..semantics import DataSpec
from .columns import interned
from .corpus import Corpus
from .frames import corpus_from_rows


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
        columns = self._texts(sentence) if self._is_simple else None
        return None if columns is None else dict(zip(self.names, columns, strict=True))

    def _texts(self, sentence: Any) -> Sequence[Sequence[str]] | None:
        """The texts of each column, None unless all is as usual."""
        columns = self._columns(sentence)
        if columns is None or not columns[0] or any(len(column) != len(columns[0]) for column in columns):
            return None
        try:
            for column in columns:
                "".join(column).encode()  # fails for what is no text, and for half a surrogate pair
        except (TypeError, UnicodeEncodeError):
            return None
        return columns if all(set(map(type, column)) == {str} for column in columns) else None

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
