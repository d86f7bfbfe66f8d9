"""How sure a model is of what it predicts: of each token, segment, layer and sentence.

A segment, a layer or a sentence is an event, so its probability is a ratio of two sums over labellings (`case_sums`).
Not here: calibration, and which predictions are right (`calibrated_model`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from ..data import Segments, mark_table, segments_of
from ..foundation import Codes, Floats, Offsets
from ..inference import Workers
from ..semantics import Case, LabelDiagrams, has_segments
from .case_sums import PlacedCase, case_sums
from .label_events import segment_set
from .predictor import Predictor

KINDS = ("tokens", "segments", "layers", "sentences")  # of what is predicted


class SegmentConfidence(NamedTuple):
    """A predicted segment and its probability.

    label: whose segment it is.
    type: of the segment.
    first, last: its positions, from 0.
    probability: that exactly this segment is there.
    """

    label: str
    type: str
    first: int
    last: int
    probability: float


class Confidence(NamedTuple):
    """How sure the model is of the labels that it predicts for a sentence. Made by `TrainedModel.confidences`.

    sentence: the probability of all of them together.
    layers: by label, of all its states together.
    tokens: by label [T], of each state by itself.
    segments: the predicted segments, label by label and from left to right.
    exact: whether exact inference gave them all. Where it fits, it gives those of segments, layers and sentences; those
        of tokens are marginals, by the method of the template.
    """

    sentence: float
    layers: Mapping[str, float]
    tokens: Mapping[str, Floats]
    segments: tuple[SegmentConfidence, ...]
    exact: bool


class LabelSegments(NamedTuple):
    """The predicted segments of one label in a corpus, and the names of their types."""

    found: Segments
    types: Sequence[str]


Part: TypeAlias = tuple[int, list[Case]]  # of a sentence by its number: the disjoint cases of what is predicted there


def label_segments(states: Sequence[str], codes: Codes, sentence_off: Offsets) -> LabelSegments | None:
    """None for a label without segments. codes [N]: the predicted states."""
    if not has_segments(states):
        return None
    mark, kind, types = mark_table(states)
    return LabelSegments(segments_of(codes, mark, kind, sentence_off), types)


@dataclass(frozen=True, eq=False)
class _SegmentCases:
    """The cases of segments, kept by type, length and whether the sentence goes on beside them."""

    cards: Sequence[int]
    variable: int
    states: Sequence[str]
    kept: dict[tuple[str, int, bool, bool], list[Case]] = field(default_factory=dict)

    def of(self, first: int, last: int, kind: str, length: int) -> list[Case]:
        key = kind, last - first, first > 0, last + 1 < length
        begin = int(first > 0)
        if key not in self.kept:
            diagrams = LabelDiagrams(self.cards)
            end = begin + last - first
            node = segment_set(diagrams, self.variable, self.states, (begin, end, kind), end + 1 + key[3])
            self.kept[key] = list(diagrams.cases(node))
        shift = first - begin
        return [{(t + shift, v): bits for (t, v), bits in case.items()} for case in self.kept[key]]


def part_cases(
    predictor: Predictor, codes: Mapping[str, Codes], segments: Mapping[str, LabelSegments], kinds: Sequence[str]
) -> list[Part]:
    """The cases of each sentence, then of each layer, then of each segment, label by label; only of these kinds.

    codes: by label [N], what is predicted.   segments: of the labels that have some.
    """
    structure, off = predictor.structure, predictor.corpus.sentence_off.tolist()
    numbers = {label: m for m, label in enumerate(structure.states) if label in codes}
    spans = list(pairwise(off))

    def whole(labels: Sequence[str]) -> list[Part]:
        listed = {label: codes[label].tolist() for label in labels}
        return [
            (s, [{(t - start, numbers[label]): 1 << listed[label][t] for label in labels for t in range(start, end)}])
            for s, (start, end) in enumerate(spans)
        ]

    parts = whole(tuple(numbers)) if "sentences" in kinds else []
    for label in numbers if "layers" in kinds else ():
        parts += whole((label,))
    for label, (found, types) in segments.items() if "segments" in kinds else ():
        cases = _SegmentCases(structure.graph.cards, numbers[label], structure.states[label])
        of = (np.searchsorted(predictor.corpus.sentence_off, found.start, side="right") - 1).tolist()
        for s, first, last, kind in zip(of, found.start.tolist(), found.end.tolist(), found.kind.tolist(), strict=True):
            start, end = spans[s]
            parts.append((s, cases.of(first - start, last - start, types[kind], end - start)))
    return parts


def log_shares(predictor: Predictor, parts: Sequence[Part], weights: Floats, workers: Workers) -> tuple[Floats, bool]:
    """log p of each part [n] at `weights` [W], NaN in a sentence without any labelling; and whether it is exact."""
    if not parts:
        return np.empty(0), True
    cases: list[PlacedCase] = [(s, {}) for s in range(predictor.corpus.num_sentences)]
    ends = []
    for s, of_part in parts:
        cases += [(s, case) for case in of_part]
        ends.append(len(cases))
    sums = case_sums(predictor, cases, weights, workers)
    log_z = sums.log_z
    starts = [predictor.corpus.num_sentences, *ends][: len(ends)]
    out = np.full(len(parts), np.nan)
    for n, ((s, _), start, end) in enumerate(zip(parts, starts, ends, strict=True)):
        if np.isfinite(log_z[s]):
            out[n] = min(0.0, float(np.logaddexp.reduce(log_z[start:end], initial=-np.inf)) - log_z[s])
    return out, not sums.approximate
