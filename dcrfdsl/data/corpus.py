"""A data set in memory: every column is interned once, sentences are offsets. No string is kept per token.

Memory is proportional to the tokens: one int32 per token and column (float64 in numeric columns), and each distinct
value once. Not here: reading and writing (`readers`, `writers`), the meaning of a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Codes, Floats, Ints, Offsets

__all__ = ["Corpus", "InternedColumn", "NumericColumn"]


@dataclass(frozen=True)
class InternedColumn:
    """A column of texts. `values[codes[n]]` is the text of token n."""

    codes: Codes  #          [N]      index into `values`
    values: Sequence[str]  # [V]      distinct texts, in order of first appearance

    def text(self, token: int) -> str:
        return self.values[int(self.codes[token])]

    def slice(self, first: int, last: int) -> InternedColumn:
        """Tokens `first` to `last` (excluded), with only the values that occur in them."""
        used, earliest, codes = np.unique(self.codes[first:last], return_index=True, return_inverse=True)
        order = np.argsort(earliest)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return InternedColumn(rank[codes], tuple(self.values[code] for code in used[order].tolist()))


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers; `values` is [N] for `float` and `int` columns, [N, size] for `vector(size)`.

    Readers produce double precision; a corpus built by hand may hold single precision.
    """

    values: Floats

    def slice(self, first: int, last: int) -> NumericColumn:
        """Tokens `first` to `last` (excluded)."""
        return NumericColumn(self.values[first:last])


@dataclass(frozen=True)
class Corpus:
    """N tokens in S sentences. Columns missing from the data (labels, when tagging) are absent from `columns`.

    Sentence s has the tokens `sentence_off[s]` to `sentence_off[s + 1]` (excluded).
    `token_line[n]` is the line (from 1) of token n in `file`, or the number of its item where there are no lines.
    """

    file: str
    sentence_off: Offsets  # [S+1]
    columns: Mapping[str, InternedColumn | NumericColumn]
    token_line: Ints  #   [N]
    warnings: tuple[str, ...] = field(default=())

    @property
    def num_tokens(self) -> int:
        return int(self.sentence_off[-1])

    @property
    def num_sentences(self) -> int:
        return len(self.sentence_off) - 1

    def slice(self, first: int, last: int) -> Corpus:
        """Sentences `first` to `last` (excluded), as if only they had been read. Lines stay those of the file."""
        off = self.sentence_off[first : last + 1]
        start, end = int(off[0]), int(off[-1])
        columns = {name: column.slice(start, end) for name, column in self.columns.items()}
        return Corpus(self.file, off - start, columns, self.token_line[start:end], self.warnings)

    def lengths(self) -> Ints:
        """Tokens per sentence, [S]."""
        return np.diff(self.sentence_off)

    def text_column(self, name: str) -> InternedColumn:
        """The interned column `name`; KeyError if it is absent or numeric."""
        column = self.columns[name]
        if not isinstance(column, InternedColumn):
            raise KeyError(name)
        return column

    def sentence_of(self, token: int) -> int:
        """The sentence that holds token number `token`."""
        return int(np.searchsorted(self.sentence_off, token, side="right")) - 1
