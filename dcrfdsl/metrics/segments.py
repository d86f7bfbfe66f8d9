"""Segments as conlleval reads them (Tjong Kim Sang & Buchholz 2000, with S as in its later ports), vectorised.

A segment starts or ends between two tokens by their marks and types alone, so IOB1, IOB2 and IOBES are read by one
table, and so is output that breaks its scheme. Not here: which metrics a template asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AMBIGUOUS", "MISSING", "UNSEEN", "Codes", "Offsets", "SegmentCounts", "has_segments", "ratio", "segment_counts",
    "segments_by_type", "split_mark",
]  # fmt: skip

UNSEEN = -1  # the gold value is unknown to the model, and its text does not matter
MISSING = -2  # nobody knows the gold value: the position is not scored
AMBIGUOUS = -3  # the gold value is one of set 0; one of set k is AMBIGUOUS - k

Codes: TypeAlias = NDArray[np.integer]  # [N]
Offsets: TypeAlias = NDArray[np.int64]  # [S+1]

_OUTSIDE = 0
_MARKS = "OBIES"  # outside; begin, inside, end of a segment; a segment of one token
#                  O  B  I  E  S    the mark here; a row is the mark before
_STARTS = np.array([
                  [0, 1, 1, 1, 1],  # O
                  [0, 1, 0, 0, 1],  # B
                  [0, 1, 0, 0, 1],  # I
                  [0, 1, 1, 1, 1],  # E
                  [0, 1, 1, 1, 1],  # S
], np.bool_)  # fmt: skip
_ENDS = np.array([
                  [0, 0, 0, 0, 0],  # O
                  [1, 1, 0, 0, 1],  # B
                  [1, 1, 0, 0, 1],  # I
                  [1, 1, 1, 1, 1],  # E
                  [1, 1, 1, 1, 1],  # S
], np.bool_)  # fmt: skip


class SegmentCounts(NamedTuple):
    """Segments that are in both, in the prediction, in the gold."""

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        return ratio(2 * self.correct, self.predicted + self.gold)


class _Segments(NamedTuple):
    start: NDArray[np.int64]  # [G]  first token
    end: NDArray[np.int64]  #   [G]  last token
    kind: NDArray[np.int64]  #  [G]  type


def has_segments(states: Sequence[str]) -> bool:
    """Whether the states are those of a segment label: all `O` or `B-`, `I-`, `E-`, `S-` and a type, some not `O`."""
    return all(split_mark(state) is not None for state in states) and any(state != "O" for state in states)


def segment_counts(gold: Codes, predicted: Codes, states: Sequence[str], sentence_off: Offsets) -> SegmentCounts:
    """conlleval's counts: a segment is right if its first token, last token and type are.

    `gold` and `predicted` are codes [N] of `states`. IOB1, IOB2 and IOBES are all read by the same rules, and so is
    output that breaks them.

    A position whose gold value is missing or ambiguous is outside (O) in both: whether a segment goes on there cannot
    be compared. A segment that reaches into such positions is compared by the parts of it that lie beside them.
    """
    golds, ours, same, _ = _compared(gold, predicted, states, sentence_off)
    return SegmentCounts(int(np.count_nonzero(same)), len(ours.start), len(golds.start))


def segments_by_type(
    gold: Codes, predicted: Codes, states: Sequence[str], sentence_off: Offsets
) -> dict[str, SegmentCounts]:
    """The same counts for each segment type, in alphabetical order."""
    golds, ours, same, types = _compared(gold, predicted, states, sentence_off)
    size = len(types)
    correct = np.bincount(ours.kind[same], minlength=size)
    num_ours, num_golds = np.bincount(ours.kind, minlength=size), np.bincount(golds.kind, minlength=size)
    return {
        types[k]: SegmentCounts(int(correct[k]), int(num_ours[k]), int(num_golds[k]))
        for k in sorted(range(size), key=types.__getitem__)
        if num_ours[k] or num_golds[k]
    }


def _compared(
    gold: Codes, predicted: Codes, states: Sequence[str], sentence_off: Offsets
) -> tuple[_Segments, _Segments, NDArray[np.bool_], list[str]]:
    """Gold segments, predicted segments, which of the latter are right, and the names of the types."""
    mark, kind, types = _mark_table(states)
    hidden = np.asarray(gold) <= MISSING
    golds = _segments(np.where(hidden, MISSING, gold), mark, kind, sentence_off)
    ours = _segments(np.where(hidden, MISSING, predicted), mark, kind, sentence_off)
    gold_at = np.full(int(sentence_off[-1]) + 1, -1, np.int64)  # gold segment that starts at a token
    gold_at[golds.start] = np.arange(len(golds.start))
    match = gold_at[ours.start]
    same = match >= 0
    same[same] = (golds.end[match[same]] == ours.end[same]) & (golds.kind[match[same]] == ours.kind[same])
    return golds, ours, same, types


def split_mark(state: str) -> tuple[str, str] | None:
    """Mark and type; None for a state of no segment scheme."""
    mark, _, kind = state.partition("-")
    if state == "O":
        return "O", ""
    return (mark, kind) if kind and len(mark) == 1 and mark in "BIES" else None


def _mark_table(states: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Mark and type of each state, [K+2], and the names of the types. States of no scheme are outside."""
    mark, kind = (np.zeros(len(states) + 2, np.int64) for _ in range(2))  # the last two: MISSING = -2, UNSEEN = -1
    number: dict[str, int] = {}
    for code, state in enumerate(states):
        parts = split_mark(state)
        if parts is not None and state != "O":
            mark[code] = _MARKS.index(parts[0])
            kind[code] = number.setdefault(parts[1], len(number))
    return mark, kind, list(number)


def _segments(codes: Codes, mark: NDArray[np.int64], kind: NDArray[np.int64], sentence_off: Offsets) -> _Segments:
    """Where segments start and end by conlleval's rules: on the pair of marks, or on a change of type."""
    full = np.diff(sentence_off) > 0
    firsts, lasts = sentence_off[:-1][full], sentence_off[1:][full] - 1
    marks, kinds = mark[codes], kind[codes]
    before, after = np.roll(marks, 1), np.roll(marks, -1)
    before[firsts], after[lasts] = _OUTSIDE, _OUTSIDE
    changed = kinds != np.roll(kinds, 1)
    starts = _STARTS[before, marks] | (marks != _OUTSIDE) & changed
    ends = _ENDS[marks, after] | (marks != _OUTSIDE) & np.roll(changed, -1)
    start = np.flatnonzero(starts)
    return _Segments(start, np.flatnonzero(ends), kinds[start])


def ratio(part: int, whole: int) -> float:
    """`part / whole`, 0 where there is nothing."""
    return part / whole if whole else 0.0
