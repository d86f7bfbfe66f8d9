"""A data set in memory: every column interned once, sentences as offsets. No strings a token.

Memory is proportional to tokens: one int32 a token and column (float64 for numeric columns), plus each
distinct value once. Not here: reading and writing (`readers`, `writers`), what a column means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Corpus", "InternedColumn", "NumericColumn"]


@dataclass(frozen=True)
class InternedColumn:
    """A column of texts. `values[codes[n]]` is the text of token n."""

    codes: NDArray[np.int32]  # [N]      index into `values`
    values: Sequence[str]  #    [V]      distinct texts, in order of first appearance

    def text(self, token: int) -> str:
        return self.values[int(self.codes[token])]


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers; `values` is [N] for `float` and `int` columns, [N, size] for `vector(size)`."""

    values: NDArray[np.float64]


@dataclass(frozen=True)
class Corpus:
    """N tokens in S sentences. Columns that the data lacks (labels when tagging) are absent from `columns`.

    `sentence_off` cuts the tokens: sentence s is tokens `sentence_off[s]` to `sentence_off[s + 1]`.
    `token_line[n]` is the line (from 1) of token n in `file`, or the item's number where there are no lines.
    """

    file: str
    sentence_off: NDArray[np.int64]  # [S+1]
    columns: Mapping[str, InternedColumn | NumericColumn]
    token_line: NDArray[np.int64]  #   [N]
    warnings: tuple[str, ...] = field(default=())

    @property
    def num_tokens(self) -> int:
        return int(self.sentence_off[-1])

    @property
    def num_sentences(self) -> int:
        return len(self.sentence_off) - 1

    def lengths(self) -> NDArray[np.int64]:
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
