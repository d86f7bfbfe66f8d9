"""A data set in memory: every column interned once, sentences as offsets. No strings a token.

Memory is proportional to tokens: one int32 a token and column (float64 for numeric columns), plus each
distinct value once. Not here: reading and writing (`readers`, `writers`), what a column means.
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
        """Tokens `first` to `last` (excluded), with the values that they have and no others."""
        used, earliest, codes = np.unique(self.codes[first:last], return_index=True, return_inverse=True)
        order = np.argsort(earliest)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return InternedColumn(rank[codes], tuple(self.values[code] for code in used[order].tolist()))


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers; `values` is [N] for `float` and `int` columns, [N, size] for `vector(size)`.

    Readers give double precision; who builds a corpus by hand may give single.
    """

    values: Floats

    def slice(self, first: int, last: int) -> NumericColumn:
        """Tokens `first` to `last` (excluded)."""
        return NumericColumn(self.values[first:last])


@dataclass(frozen=True)
class Corpus:
    """N tokens in S sentences. Columns that the data lacks (labels when tagging) are absent from `columns`.

    `sentence_off` cuts the tokens: sentence s is tokens `sentence_off[s]` to `sentence_off[s + 1]`.
    `token_line[n]` is the line (from 1) of token n in `file`, or the item's number where there are no lines.
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
        """Sentences `first` to `last` (excluded), as if only they had been read; the lines are still the file's."""
        off = self.sentence_off[first : last + 1]
        start, end = int(off[0]), int(off[-1])
        columns = {name: column.slice(start, end) for name, column in self.columns.items()}
        return Corpus(self.file, off - start, columns, self.token_line[start:end], self.warnings)

    def lengths(self) -> Ints:
        """Tokens a sentence, [S]."""
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
