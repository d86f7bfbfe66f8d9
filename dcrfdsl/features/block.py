"""A run of whole sentences: small enough that the arrays of one template stay in the cache, and what is read in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.corpus import Corpus
from ._join import rows_inside, shift_codes, shift_numbers

__all__ = ["Block", "cut"]

ROWS = 1 << 15  # of a block; a longer sentence is a block of its own


@dataclass(frozen=True)
class Block:
    """Tokens `first` to `end` of a corpus. Its R rows are its anchors, padding included."""

    first: int
    end: int
    sentence_off: NDArray[np.int64]  # [S+1], from 0
    pad_left: int
    pad_right: int

    @property
    def num_rows(self) -> int:
        return self.end - self.first + (len(self.sentence_off) - 1) * (self.pad_left + self.pad_right)

    def codes(
        self, codes: NDArray[np.int32], lut: NDArray[np.int32], offset: int, *, left: int, right: int, step: int
    ) -> NDArray[np.int32]:
        """`lut[codes]` at t + offset, [R]; outside `left` or `right` plus `step` a position further out."""
        part = codes[self.first : self.end]
        return shift_codes(part, lut, self.sentence_off, offset, self.pad_left, self.pad_right, left, right, step)

    def numbers(self, numbers: NDArray[np.float64], offset: int, *, outside: float) -> NDArray[np.float64]:
        """`numbers` at t + offset, [R]."""
        part = numbers[self.first : self.end]
        return shift_numbers(part, self.sentence_off, offset, self.pad_left, self.pad_right, outside)

    def inside(self, first: int, last: int) -> NDArray[np.bool_]:
        """Whether t + first to t + last lie in the sentence, [R]."""
        return rows_inside(self.sentence_off, first, last, self.pad_left, self.pad_right)


def cut(corpus: Corpus, pad_left: int, pad_right: int) -> Iterator[Block]:
    """The blocks of a corpus, in order."""
    off = np.asarray(corpus.sentence_off, np.int64)
    start = 0
    while start < corpus.num_sentences:
        stop = max(start + 1, int(np.searchsorted(off, off[start] + ROWS, side="right")) - 1)
        yield Block(int(off[start]), int(off[stop]), off[start : stop + 1] - off[start], pad_left, pad_right)
        start = stop
