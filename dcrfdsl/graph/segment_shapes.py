"""The segments that a `segment` statement weighs, and runs with bounds: their classes, and those of known labels.

Not here: rows of their features (`features.segment_rows`), their factors (`segment_factors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..features import Candidates, candidate_row
from ..foundation import Codes, Ints, Mask, Offsets, dataclass
from ..semantics import (
    ModelSpec,
    RunMemory,
    SegmentClass,
    SegmentStates,
    longest_segment,
    run_states,
    segment_classes,
)
from ..syntax import CliqueSpec, Scheme


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
    cut = _runs(shape, codes, complete, sentence_off)
    inside = cut.kind >= 0
    return KnownSegments(cut.start[inside], cut.length[inside], cut.kind[inside])


def _runs(shape: SegmentShape, codes: Codes, complete: Mask, sentence_off: Offsets) -> KnownSegments:
    """As `known_segments`, with the tokens between segments, cut anyhow: their class is -1."""
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
    return KnownSegments(cuts, np.diff(np.append(cuts, len(codes))), kind[cuts])


def known_runs(
    states: SegmentStates, shape: SegmentShape, codes: Codes, sets: Sequence[Sequence[int]], sentence_off: Offsets
) -> tuple[Codes, tuple[tuple[int, ...], ...]]:
    """What the known states of a label say of the memory of its segments: codes [N] and sets, as `Gold` has them.

    codes [N], sets: of the label. In a sentence whose states are not all known, or with a segment that is too long,
    each token has the states of the memory that its own state leaves.
    """
    complete = complete_sentences(codes < 0, sentence_off)
    cut = _runs(shape, codes, complete, sentence_off)
    segment = np.repeat(np.arange(len(cut.start)), cut.length)
    place = np.arange(len(codes)) - cut.start[segment] + 1
    ends = (place == cut.length[segment]).astype(np.int64)
    kind, length = cut.kind[segment], np.minimum(place, shape.limit + ends)
    number = np.full((len(shape.classes), shape.limit + 2, 2), -1)
    number[states.kind, states.length, states.ends.astype(np.int64)] = np.arange(len(states.label))
    alone = np.full(int(states.label.max()) + 1, -1)  # the state of the memory for one that is in no segment
    alone[states.label[states.kind >= shape.named]] = np.flatnonzero(states.kind >= shape.named)
    run = np.where(kind >= 0, number[np.maximum(kind, 0), length, ends], alone[np.maximum(codes, 0)])
    return _known_memory(states.label, run, codes, sets, complete, sentence_off)


def complete_sentences(unknown: Mask, sentence_off: Offsets) -> Mask:
    """Whether all tokens of a sentence are known, [S].   unknown [N]."""
    before = np.concatenate([[0], np.cumsum(unknown)])[sentence_off]
    complete: Mask = before[1:] == before[:-1]
    return complete


def _known_memory(
    label_of: Ints, run: Ints, codes: Codes, sets: Sequence[Sequence[int]], complete: Mask, sentence_off: Offsets
) -> tuple[Codes, tuple[tuple[int, ...], ...]]:
    """Codes and sets of a memory whose states stand for those of a label.

    label_of [R].   run [N]: its states where those of the label are known, -1 where there is none.
    """
    agreeing = [tuple(np.flatnonzero(label_of == k).tolist()) for k in range(int(label_of.max()) + 1)]
    left = [*agreeing, *(tuple(sorted(run for k in one_of for run in agreeing[k])) for one_of in sets)]
    found = np.where(codes >= 0, -2 - codes, np.where(codes < -1, codes - len(agreeing), -1)).astype(np.int32)
    sentence = np.repeat(np.arange(len(complete)), np.diff(sentence_off))
    usable = complete[sentence] & (run >= 0)
    whole = np.bincount(sentence, usable, len(complete)) == np.diff(sentence_off)
    return np.where(whole[sentence], run, found).astype(np.int32), tuple(left)


def bounded_runs(
    memory: RunMemory, states: Sequence[str], codes: Codes, complete: Mask, sentence_off: Offsets
) -> KnownSegments:
    """The runs of a label, or its segments. Other tokens have the class -1.

    states: of the label.   codes [N].   complete [S]: the sentences that are looked at.
    """
    classes = segment_classes(memory.label_domain, states)
    named = sum(bool(one.name) for one in classes)
    shape = SegmentShape(classes, named, 0, True, not isinstance(memory.label_domain, Scheme))
    return _runs(shape, codes, complete, sentence_off)


def known_counts(
    memory: RunMemory, label_states: Sequence[str], codes: Codes, sets: Sequence[Sequence[int]], sentence_off: Offsets
) -> tuple[Codes, tuple[tuple[int, ...], ...]]:
    """As `known_runs`, of a memory that counts the tokens of runs."""
    states, complete = run_states(memory, label_states), complete_sentences(codes < 0, sentence_off)
    runs = bounded_runs(memory, label_states, codes, complete, sentence_off)
    bounds = [memory.bounds_of(one.name) for one in segment_classes(memory.label_domain, label_states)]
    segment = np.repeat(np.arange(len(runs.start)), runs.length)
    place, kind = np.arange(len(codes)) - runs.start[segment] + 1, runs.kind[segment]
    columns = ((one.counted, one.most is None, one.cut, len(one.early)) for one in bounds)
    counted, is_open, cut, early = (np.array(column)[np.maximum(kind, 0)] for column in zip(*columns, strict=True))
    first = np.isin(runs.start, sentence_off[:-1])[segment] & cut
    count = np.where(is_open, np.where(first, counted, np.minimum(place, counted)), place * (place <= counted))
    count = np.where(kind < 0, 1, np.where(first & (place <= early), -place, count))
    most = int(states.tokens.max())
    number = np.full((int(states.label.max()) + 1, 2 * most + 1), -1)
    number[states.label, states.tokens + most] = np.arange(len(states.label))
    run = number[np.maximum(codes, 0), count + most]
    return _known_memory(states.label, run, codes, sets, complete, sentence_off)


def segment_instances(
    shape: SegmentShape, codes: Codes, complete: Mask, sentence_off: Offsets
) -> tuple[Ints, Ints, Ints]:
    """Sentence, anchor and class of every known segment: its row is that many after the first row of its sentence."""
    known = known_segments(shape, codes, complete, sentence_off)
    start, length = known.candidates(shape.limit)
    row = np.where(start < 0, sentence_off[-1] * shape.limit, candidate_row(start, length, shape.limit))
    sentence = np.searchsorted(sentence_off, known.start, side="right") - 1
    return sentence, row - sentence_off[sentence] * shape.limit, known.kind
