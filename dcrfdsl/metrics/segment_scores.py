"""Right and wrong segments, as in conlleval (Tjong Kim Sang & Buchholz 2000), also where some gold labels are unknown.

With `runs`, states have no marks: a segment is a run of one state other than `O`, as the fields of a citation are.

An unknown cell may hold any state, an ambiguous one any of its set. A gap of such cells is bridged if both sides of it
belong together: between B-X or I-X and I-X or E-X the segment goes on, and between two O nothing begins. A completion
fills the cells of the other gaps, each by itself. Then

    a gold segment is certain      if every completion has it
    a predicted segment is open    if some completion has it and another one lacks it

Two neighbours go on as one segment of type X if the left one is B-X or I-X and the right one I-X or E-X: this is how
conlleval reads marks. So both questions are answered exactly by what cells and neighbours may hold. Not here: the
definition of a segment (`data.segment_types`), codes of cells (`evaluation`), the metrics of a template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data import Segments, mark_table, run_table, segments_of
from ..foundation import Integers, Ints, Mask, Offsets, dataclass

UNSEEN = -1  # the model does not know the gold value, and its text does not matter
MISSING = -2  # the gold value is unknown
AMBIGUOUS = -3  # the gold value is one of set 0; AMBIGUOUS - k stands for set k
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)  # marks, as `mark_table` numbers them
OPENS, CONTINUES = (BEGIN, INSIDE), (INSIDE, END)  # marks that a segment may go on after, and that go on with it


class KnownSegments(NamedTuple):
    """certain: gold segments.   unsure: what is known of the other ones, each range of known cells as one.
    right, open: [G] of predicted segments: whether one is a certain gold segment, and whether it may be a gold segment.
    """

    certain: Segments
    unsure: Segments
    right: Mask
    open: Mask


def known_segments(
    gold: Integers, ours: Segments, mark: Ints, kind: Ints, sentence_off: Offsets, sets: Sequence[Sequence[int]] = ()
) -> KnownSegments:
    """Gold codes [N] beside predicted segments.

    mark, kind: [K+2] of the states, as `mark_table` gives them.   sets: the codes that ambiguous cells may hold.
    """
    cells = _cells(np.asarray(gold, np.int64), mark, kind, np.asarray(sentence_off, np.int64), sets)
    certain = cells.certain_segments()
    partner = same_tokens(ours, certain, len(cells.row))
    right: Mask = (partner >= 0) & (np.append(certain.kind, -1)[partner] == ours.kind)
    parts = segments_of(np.arange(len(cells.mark)), cells.mark, cells.kind, sentence_off)
    covered = np.zeros(len(cells.mark) + 1, np.int64)
    np.add.at(covered, certain.start, 1)
    np.add.at(covered, certain.end + 1, -1)
    apart = np.cumsum(covered)[parts.start] == 0
    unsure = Segments(*(part[apart] for part in parts))
    return KnownSegments(certain, unsure, right, cells.may_have(ours) & ~right)


def same_tokens(segments: Segments, others: Segments, num_tokens: int) -> Ints:
    """By segment, the number of the one among the others with the same tokens; -1 if there is none."""
    at = np.full(num_tokens + 1, -1, np.int64)  # the other segment that starts at a token
    at[others.start] = np.arange(len(others.start))
    partner = at[segments.start]
    partner[(partner >= 0) & (np.append(others.end, -1)[partner] != segments.end)] = -1
    return partner


def shares_a_token(segments: Segments, others: Segments, num_tokens: int) -> Mask:
    """[segments] whether a segment shares a token with one of the others; segments end at their last token."""
    edges = np.zeros(num_tokens + 1, np.int64)
    np.add.at(edges, others.start, 1)
    np.add.at(edges, others.end + 1, -1)
    covered = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:num_tokens] > 0)])
    mask: Mask = covered[segments.end + 1] > covered[segments.start]
    return mask


@dataclass(frozen=True, eq=False)
class _Cells:
    """What gold cells may hold, after bridging.

    mark, kind: [N] of the known ones; outside where a cell is unknown.
    row: [N] of the unknown ones, in `holds`; -1 of the known ones.
    holds: [U, T, 5] whether an unknown cell may hold this type with this mark; outside is of type 0 alone.
    first, last: [N] whether the cell is the first or the last one of its sentence.
    """

    mark: Ints
    kind: Ints
    row: Ints
    holds: Mask
    first: Mask
    last: Mask

    def certain_segments(self) -> Segments:
        """The segments that every completion has."""
        size = len(self.row)
        starts_open, starts_on, kind = self._only(OPENS), self._only(CONTINUES), self._only_kind()
        tied = np.zeros(size + 1, np.bool_)  # [t] whether a segment goes on from t - 1 to t in every completion
        tied[1:size] = starts_open[:-1] & starts_on[1:] & (kind[:-1] == kind[1:]) & ~self.first[1:]
        cut = np.ones(size + 1, np.bool_)  # whether none does in any completion
        cut[1:size] = self.first[1:] | ~self._may_go_on()
        start = np.flatnonzero((kind >= 0) & cut[:-1])
        ends = np.flatnonzero(~tied[1:])
        end = ends[np.searchsorted(ends, start)]
        sure = cut[end + 1]
        return Segments(start[sure], end[sure], kind[start[sure]])

    def may_have(self, ours: Segments) -> Mask:
        """Whether some completion has each of these segments."""
        start, end, kind = ours
        free_left = self.first[start] | self._may_be_other(start - 1, kind, OPENS)
        free_right = self.last[end] | self._may_be_other(np.minimum(end + 1, len(self.row) - 1), kind, CONTINUES)
        between = np.maximum(end - start - 1, 0)  # tokens inside that are neither the first nor the last
        off = np.concatenate([[0], np.cumsum(between)])
        tokens = np.arange(off[-1]) + np.repeat(start + 1 - off[:-1], between)
        lacks = np.concatenate([[0], np.cumsum(~self._may_be(tokens, np.repeat(kind, between), (INSIDE,)))])
        whole: Mask = lacks[off[1:]] == lacks[off[:-1]]
        begins = self._may_be(start, kind, (BEGIN,)) | (self._may_be(start, kind, (INSIDE,)) & free_left)
        stops = self._may_be(end, kind, (END,)) | (self._may_be(end, kind, (INSIDE,)) & free_right)
        alone = (
            self._may_be(start, kind, (SINGLE,))
            | (self._may_be(start, kind, (BEGIN,)) & free_right)
            | (self._may_be(start, kind, (END,)) & free_left)
            | (self._may_be(start, kind, (INSIDE,)) & free_left & free_right)
        )
        return np.where(start == end, alone, whole & begins & stops)

    def _may_be(self, tokens: Ints, kinds: Ints, marks: Sequence[int]) -> Mask:
        """Whether a cell may hold its type with one of these marks."""
        known = np.isin(self.mark[tokens], marks) & (self.kind[tokens] == kinds)
        out: Mask = np.where(self.row[tokens] < 0, known, self._unknown(marks)[self.row[tokens], kinds])
        return out

    def _may_be_other(self, tokens: Ints, kinds: Ints, marks: Sequence[int]) -> Mask:
        """Whether a cell may hold anything else."""
        known = ~np.isin(self.mark[tokens], marks) | (self.kind[tokens] != kinds)
        these, every = self.holds[..., list(marks)].sum(axis=2), self.holds.sum(axis=(1, 2))
        others = np.greater(every[:, None], these)
        out: Mask = np.where(self.row[tokens] < 0, known, others[self.row[tokens], kinds])
        return out

    def _unknown(self, marks: Sequence[int]) -> Mask:
        """[U, T] whether an unknown cell may hold a type with one of these marks."""
        out: Mask = np.logical_or.reduce(self.holds[..., list(marks)], axis=2)
        return out

    def _only(self, marks: Sequence[int]) -> Mask:
        """[N] whether a cell holds one of these marks in every completion."""
        unknown = np.equal(self.holds[..., list(marks)].sum(axis=(1, 2)), self.holds.sum(axis=(1, 2)))
        return np.where(self.row < 0, np.isin(self.mark, marks), unknown[self.row])

    def _only_kind(self) -> Ints:
        """[N] the type that a cell holds in every completion; -1 if it may hold another, or be outside."""
        types = self._unknown((BEGIN, INSIDE, END, SINGLE))
        single = (types.sum(axis=1) == 1) & ~self.holds[:, 0, OUTSIDE]
        unknown = np.where(single, types.argmax(axis=1), -1)
        return np.where(self.row < 0, np.where(self.mark == OUTSIDE, -1, self.kind), unknown[self.row])

    def _may_go_on(self) -> Mask:
        """[N-1] whether a segment goes on from a token to the next in some completion; sentences are not looked at."""
        left, right = self.row[:-1], self.row[1:]
        out: Mask = np.isin(self.mark[:-1], OPENS) & np.isin(self.mark[1:], CONTINUES)
        out &= self.kind[:-1] == self.kind[1:]
        tokens = np.arange(len(out))
        opens, goes = self._unknown(OPENS), self._unknown(CONTINUES)
        at = tokens[(left >= 0) & (right < 0)]
        out[at] = np.isin(self.mark[at + 1], CONTINUES) & opens[left[at], self.kind[at + 1]]
        at = tokens[(left < 0) & (right >= 0)]
        out[at] = np.isin(self.mark[at], OPENS) & goes[right[at], self.kind[at]]
        at = tokens[(left >= 0) & (right >= 0)]
        pairs, which = np.unique(np.stack([left[at], right[at]], axis=1), axis=0, return_inverse=True)
        some = np.any(opens[pairs[:, 0]] & goes[pairs[:, 1]], axis=1)
        out[at] = some[which.ravel()]
        return out


def _cells(gold: Ints, mark: Ints, kind: Ints, off: Ints, sets: Sequence[Sequence[int]]) -> _Cells:
    """The cells of gold codes, gaps bridged."""
    holds = np.zeros((1 + len(sets), int(kind.max(initial=0)) + 1, 5), np.bool_)
    for number, codes in enumerate([range(len(mark) - 2), *sets]):
        members = np.array(codes, np.int64)
        holds[number, np.where(mark[members] == OUTSIDE, 0, kind[members]), mark[members]] = True
    holds[0, 0, OUTSIDE] = True  # an unknown cell may hold what the model does not know
    row = np.where(gold <= MISSING, MISSING - gold, -1)
    known = np.where(row < 0, gold, UNSEEN)  # which is outside
    marks = mark[known]
    first, last = np.zeros(len(gold), np.bool_), np.zeros(len(gold), np.bool_)
    full = np.diff(off) > 0
    first[off[:-1][full]], last[off[1:][full] - 1] = True, True
    return _bridged(_Cells(marks, np.where(marks == OUTSIDE, 0, kind[known]), row, holds, first, last))


def _bridged(cells: _Cells) -> _Cells:
    """The cells with the gaps filled whose two sides belong together."""
    unknown = cells.row >= 0
    begin = np.flatnonzero(unknown & (cells.first | ~np.roll(unknown, 1)))
    end = np.flatnonzero(unknown & (cells.last | ~np.roll(unknown, -1)))
    inner = ~cells.first[begin] & ~cells.last[end]
    begin, end = begin[inner], end[inner]
    left, right = begin - 1, end + 1
    goes_on = np.isin(cells.mark[left], OPENS) & np.isin(cells.mark[right], CONTINUES)
    goes_on &= cells.kind[left] == cells.kind[right]
    bridged = goes_on | (cells.mark[left] == OUTSIDE) & (cells.mark[right] == OUTSIDE)
    begin, size = begin[bridged], (end - begin + 1)[bridged]
    off = np.concatenate([[0], np.cumsum(size)])
    tokens = np.arange(off[-1]) + np.repeat(begin - off[:-1], size)
    fill = np.repeat(np.where(goes_on, INSIDE, OUTSIDE)[bridged], size)
    kind = np.repeat(np.where(goes_on, cells.kind[left], 0)[bridged], size)
    refused = np.concatenate([[0], np.cumsum(~cells.holds[cells.row[tokens], kind, fill])])
    taken = np.repeat(refused[off[1:]] == refused[off[:-1]], size)
    mark, kinds, row = cells.mark.copy(), cells.kind.copy(), cells.row.copy()
    mark[tokens[taken]], kinds[tokens[taken]], row[tokens[taken]] = fill[taken], kind[taken], -1
    return replace(cells, mark=mark, kind=kinds, row=row)


# counts ---------------------------------------------------------------------------------------------------------------


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
    IOB2 and IOBES, and output that breaks its scheme. Where gold labels are missing or ambiguous, `known_segments`
    says which segments count.
    """
    mark, kind, types = run_table(states) if runs else mark_table(states)
    ours = segments_of(np.asarray(predicted, np.int64), mark, kind, sentence_off)
    certain, unsure, right, is_open = known_segments(gold, ours, mark, kind, sentence_off, sets)
    judged = Segments(*(part[~is_open] for part in ours))
    return ComparedSegments(
        certain, judged, right[~is_open], unsure, Segments(*(part[is_open] for part in ours)), types
    )


def ratio(part: float, whole: float) -> float:
    """`part / whole`, 0 if `whole` is 0."""
    return part / whole if whole else 0.0
