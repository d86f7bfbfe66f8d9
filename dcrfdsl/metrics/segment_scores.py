"""Counts of right and wrong segments, as in conlleval (Tjong Kim Sang & Buchholz 2000).

With `runs`, states have no marks: a segment is a run of one state other than `O`, as the fields of a citation are.

Not here: the definition of a segment (`data.segment_types`), what unknown gold labels leave open (`segment_gaps`),
the metrics of a template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data import Segments, mark_table, run_table, segments_of
from ..foundation import Integers, Mask, Offsets
from .segment_gaps import known_segments


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


class ComparedSegments(NamedTuple):
    """Gold and predicted segments that count, and those that unknown gold labels leave out of all counts.

    golds, ours: gold and predicted segments that count.   right: [ours] which of the latter are gold segments.
    unsure: what is known of gold segments whose extent is not.   open: predicted segments that may be right or wrong.
    types: the names of the types.
    """

    golds: Segments
    ours: Segments
    right: Mask
    unsure: Segments
    open: Segments
    types: Sequence[str]

    @property
    def counts(self) -> SegmentCounts:
        """conlleval's counts: a segment is right if its first token, last token and type are right."""
        return SegmentCounts(int(np.count_nonzero(self.right)), len(self.ours.start), len(self.golds.start))

    @property
    def by_type(self) -> dict[str, SegmentCounts]:
        """The same for each segment type, in alphabetical order."""
        size = len(self.types)
        correct = np.bincount(self.ours.kind[self.right], minlength=size)
        ours, golds = np.bincount(self.ours.kind, minlength=size), np.bincount(self.golds.kind, minlength=size)
        return {
            self.types[k]: SegmentCounts(int(correct[k]), int(ours[k]), int(golds[k]))
            for k in sorted(range(size), key=self.types.__getitem__)
            if ours[k] or golds[k]
        }


def compared_segments(
    gold: Integers,
    predicted: Integers,
    states: Sequence[str],
    sentence_off: Offsets,
    *,
    runs: bool = False,
    sets: Sequence[Sequence[int]] = (),
) -> ComparedSegments:
    """Gold and predicted codes [N] of `states` as segments; a prediction of -1 is outside.

    runs: whether states have no marks.   sets: the codes that ambiguous gold values may be. The same rules read IOB1,
    IOB2 and IOBES, and output that breaks its scheme. Where gold labels are missing or ambiguous, `segment_gaps` says
    which segments count.
    """
    mark, kind, types = run_table(states) if runs else mark_table(states)
    ours = segments_of(np.asarray(predicted, np.int64), mark, kind, sentence_off)
    certain, unsure, right, is_open = known_segments(gold, ours, mark, kind, sentence_off, sets)
    judged = Segments(*(part[~is_open] for part in ours))
    return ComparedSegments(
        certain, judged, right[~is_open], unsure, Segments(*(part[is_open] for part in ours)), types
    )


def ratio(part: int, whole: int) -> float:
    """`part / whole`, 0 if `whole` is 0."""
    return part / whole if whole else 0.0
