"""Blocks: ranges of whole sentences, small enough that the arrays of one template stay in the cache.

A term is read at all rows of a block at once: at its anchors, or at pairs of positions. Not here: what is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce

import numpy as np

from ...data import Corpus
from ...foundation import Codes, Floats, Ints, Ints32, Mask, Offsets, dataclass
from ...kernels.extraction import rows_inside, shift_codes, shift_numbers
from ..plan import split_offset

ROWS = 1 << 15  # rows of a block; a longer sentence is a block by itself


@dataclass(frozen=True)
class Block:
    """Tokens `first` to `end` of a corpus. Its R rows are its anchors, padding included."""

    first: int
    end: int
    sentence_off: Offsets  # [S+1], from 0
    pad_left: int
    pad_right: int

    @property
    def num_rows(self) -> int:
        return self.end - self.first + (len(self.sentence_off) - 1) * (self.pad_left + self.pad_right)

    def codes(self, codes: Codes, lut: Ints32, offset: int, *, left: int, right: int, step: int) -> Ints32:
        """`lut[codes]` at t + offset, [R]; outside: `left` or `right`, plus `step` per position of distance."""
        part = codes[self.first : self.end]
        return shift_codes(part, lut, self.sentence_off, offset, self.pad_left, self.pad_right, left, right, step)

    def numbers(self, numbers: Floats, offset: int, *, outside: float) -> Floats:
        """`numbers` at t + offset, [R]."""
        part = numbers[self.first : self.end]
        return shift_numbers(part, self.sentence_off, offset, self.pad_left, self.pad_right, outside)

    def inside(self, offsets: Collection[int]) -> Mask:
        """Whether t plus each offset lies in the sentence, [R]."""
        return rows_inside(self.sentence_off, min(offsets), max(offsets), self.pad_left, self.pad_right)


@dataclass(frozen=True)
class PairBlock:
    """Pairs of tokens, each pair in one sentence. A place is read at one of the two (`positions`).

    first, second: tokens [R].   start, end: the bounds of their sentence, [R].
    """

    first: Ints
    second: Ints
    start: Ints
    end: Ints
    pad_left: int = 0
    pad_right: int = 0

    @property
    def num_rows(self) -> int:
        return len(self.first)

    def tokens(self, offset: int) -> tuple[Ints, Mask]:
        """The tokens at the named position and shift that `offset` encodes, and whether they lie in the sentence."""
        which, shift = split_offset(offset)
        token = (self.second if which == 2 else self.first) + shift
        return token, (token >= self.start) & (token < self.end)

    def codes(self, codes: Codes, lut: Ints32, offset: int, *, left: int, right: int, step: int) -> Ints32:
        """`lut[codes]` at a place, [R]; outside as in `Block.codes`."""
        token, inside = self.tokens(offset)
        read = codes[np.where(inside, token, 0)] if len(codes) else np.full(len(token), -1, np.int32)
        known = np.where(read >= 0, np.append(lut, -1)[read], -1)
        before, after = left + (self.start - token - 1) * step, right + (token - self.end) * step
        return np.where(inside, known, np.where(token < self.start, before, after)).astype(np.int32)

    def numbers(self, numbers: Floats, offset: int, *, outside: float) -> Floats:
        token, inside = self.tokens(offset)
        return np.where(inside, np.append(numbers, outside)[np.where(inside, token, -1)], outside)

    def inside(self, offsets: Collection[int]) -> Mask:
        every = np.ones(self.num_rows, np.bool_)
        return reduce(np.logical_and, (self.tokens(offset)[1] for offset in offsets), every)


def cut(corpus: Corpus, pad_left: int, pad_right: int) -> Iterator[Block]:
    off = np.asarray(corpus.sentence_off, np.int64)
    start = 0
    while start < corpus.num_sentences:
        stop = max(start + 1, int(np.searchsorted(off, off[start] + ROWS, side="right")) - 1)
        yield Block(int(off[start]), int(off[stop]), off[start : stop + 1] - off[start], pad_left, pad_right)
        start = stop
