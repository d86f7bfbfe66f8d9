"""The segments that a `segment` statement weighs: their classes and longest length, and those of known labels.

Not here: rows of their features (`features.segment_rows`), sums over them (`kernels.segments`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..features import Candidates, candidate_row
from ..foundation import Codes, Ints, Mask, Offsets
from ..semantics import CliqueSpec, ModelSpec, Scheme, SegmentClass, longest_segment, segment_classes

__all__ = ["KnownSegments", "SegmentShape", "known_segments", "segment_instances", "segment_shape"]


@dataclass(frozen=True)
class SegmentShape:
    """classes: of all segments, those with weights first.   named: how many these are.   limit: tokens of a segment.

    together: whether longer ones are possible.   maximal: whether segments are runs of a state, so that neighbours
    differ in it.
    """

    classes: tuple[SegmentClass, ...]
    named: int
    limit: int
    together: bool
    maximal: bool


class KnownSegments(NamedTuple):
    """The segments with weights in sentences whose labels are all known. start, length, kind: [n]; kind: its class."""

    start: Ints
    length: Ints
    kind: Ints

    def candidates(self, limit: int) -> Candidates:
        """As features see them: longer ones are all the same."""
        longer = self.length > limit
        return Candidates(np.where(longer, -1, self.start), np.where(longer, limit + 1, self.length))


def segment_shape(spec: ModelSpec, clique: CliqueSpec, states: Sequence[str]) -> SegmentShape:
    """The shape of a `segment` statement over a label with these states."""
    domain = spec.labels_by_name[clique.sites[0].variable].domain
    classes = segment_classes(domain, states)
    named = sum(bool(one.name) for one in classes)
    together = clique.longer == "together"
    return SegmentShape(classes, named, longest_segment(spec, clique), together, not isinstance(domain, Scheme))


def known_segments(shape: SegmentShape, codes: Codes, complete: Mask, sentence_off: Offsets) -> KnownSegments:
    """The segments of the label with the states `codes` [N] in the sentences where `complete` [S]."""
    number = 1 + max(max(one[1:]) for one in shape.classes)
    kind_of, begins = np.full(number + 1, -1), np.zeros(number + 1, np.bool_)
    for n, one in enumerate(shape.classes[: shape.named]):
        kind_of[[*one[1:]]] = n
        begins[[one.single, one.first]] = not shape.maximal
    known = np.repeat(complete, np.diff(sentence_off))
    state = np.where(known & (codes >= 0), codes, number)
    kind, at_start = kind_of[state], np.zeros(len(codes), np.bool_)
    at_start[sentence_off[:-1][np.diff(sentence_off) > 0]] = True
    changes = np.ones(len(codes), np.bool_)
    changes[1:] = kind[1:] != kind[:-1]
    cuts = np.flatnonzero(at_start | changes | begins[state])
    length = np.diff(np.append(cuts, len(codes)))
    inside = kind[cuts] >= 0
    return KnownSegments(cuts[inside], length[inside], kind[cuts[inside]])


def segment_instances(
    shape: SegmentShape, codes: Codes, complete: Mask, sentence_off: Offsets
) -> tuple[Ints, Ints, Ints]:
    """Sentence, anchor and class of every known segment: its row is that many after the first row of its sentence."""
    known = known_segments(shape, codes, complete, sentence_off)
    start, length = known.candidates(shape.limit)
    row = np.where(start < 0, sentence_off[-1] * shape.limit, candidate_row(start, length, shape.limit))
    sentence = np.searchsorted(sentence_off, known.start, side="right") - 1
    return sentence, row - sentence_off[sentence] * shape.limit, known.kind
