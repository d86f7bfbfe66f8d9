"""Counts of right and wrong segments, as in conlleval (Tjong Kim Sang & Buchholz 2000).

With `runs`, states have no marks: a segment is a run of one state other than `O`, as the fields of a citation are.

Not here: the definition of a segment (`data.segment_types`), the metrics of a template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data import Segments, mark_table, run_table, segments_of
from ..foundation import Integers, Mask, Offsets

__all__ = [
    "AMBIGUOUS",
    "MISSING",
    "UNSEEN",
    "SegmentCounts",
    "compared_segments",
    "ratio",
    "same_segments",
    "segment_counts",
    "segments_by_type",
]

UNSEEN = -1  # the model does not know the gold value, and its text does not matter
MISSING = -2  # the gold value is unknown: the position is not scored
AMBIGUOUS = -3  # the gold value is one of set 0; AMBIGUOUS - k stands for set k


class SegmentCounts(NamedTuple):
    """Numbers of segments that are in both, in the prediction, in the gold."""

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


def segment_counts(
    gold: Integers, predicted: Integers, states: Sequence[str], sentence_off: Offsets, *, runs: bool = False
) -> SegmentCounts:
    """conlleval's counts: a segment is right if its first token, last token and type are right.

    `gold` and `predicted` are codes [N] of `states`; a prediction of -1 is outside. The same rules read IOB1, IOB2
    and IOBES, and output that breaks its scheme.

    A position whose gold value is missing or ambiguous is outside (O) in both, because whether a segment continues
    there cannot be compared. A segment that reaches such positions is compared by its parts beside them.
    """
    golds, ours, same, _ = compared_segments(gold, predicted, states, sentence_off, runs=runs)
    return SegmentCounts(int(np.count_nonzero(same)), len(ours.start), len(golds.start))


def segments_by_type(
    gold: Integers, predicted: Integers, states: Sequence[str], sentence_off: Offsets, *, runs: bool = False
) -> dict[str, SegmentCounts]:
    """The same counts for each segment type, in alphabetical order."""
    golds, ours, same, types = compared_segments(gold, predicted, states, sentence_off, runs=runs)
    size = len(types)
    correct = np.bincount(ours.kind[same], minlength=size)
    num_ours, num_golds = np.bincount(ours.kind, minlength=size), np.bincount(golds.kind, minlength=size)
    return {
        types[k]: SegmentCounts(int(correct[k]), int(num_ours[k]), int(num_golds[k]))
        for k in sorted(range(size), key=types.__getitem__)
        if num_ours[k] or num_golds[k]
    }


def compared_segments(
    gold: Integers, predicted: Integers, states: Sequence[str], sentence_off: Offsets, *, runs: bool = False
) -> tuple[Segments, Segments, Mask, list[str]]:
    """Gold segments, predicted segments, which of the latter are right, and the names of the types."""
    mark, kind, types = run_table(states) if runs else mark_table(states)
    hidden = np.asarray(gold) <= MISSING
    golds = segments_of(np.where(hidden, MISSING, gold), mark, kind, sentence_off)
    ours = segments_of(np.where(hidden, MISSING, predicted), mark, kind, sentence_off)
    return golds, ours, same_segments(golds, ours, int(sentence_off[-1])), types


def same_segments(golds: Segments, ours: Segments, num_tokens: int) -> Mask:
    """Which of `ours` are among `golds`: the same first token, last token and type."""
    gold_at = np.full(num_tokens + 1, -1, np.int64)  # the gold segment that starts at a token
    gold_at[golds.start] = np.arange(len(golds.start))
    match = gold_at[ours.start]
    same: Mask = match >= 0
    same[same] = (golds.end[match[same]] == ours.end[same]) & (golds.kind[match[same]] == ours.kind[same])
    return same


def ratio(part: int, whole: int) -> float:
    """`part / whole`, 0 if `whole` is 0."""
    return part / whole if whole else 0.0
