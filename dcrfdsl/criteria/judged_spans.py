"""The spans of a data set that a loss judges: whole sequences, positions, gold segments.

Not here: how they are judged (`span_errors`, `sequence_errors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import ENDS, STARTS, mark_table, segments_of
from ..foundation import DcrfError, Diagnostic, Floats, Ints, Ints32, Mask, dataclass
from ..kernels.chain import SegmentMarks, Spans
from ..kernels.sequences import JudgedLabels
from ..semantics import BalancedLoss, LabelLoss, MeasureLoss, MethodSettings

GOES_ON = (1, 2)  # marks after which the next state decides whether the segment has ended


@dataclass(frozen=True, eq=False)
class JudgedSpans:
    """Spans of one label variable. sentence [n]: of each span."""

    variable: int
    sentence: Ints
    spans: Spans
    token: Ints | None = None  # [n] of each span of one position

    def times(self, importance: Floats | None) -> JudgedSpans:
        """The spans with their weights times the factors of their positions [N]; only spans of one position."""
        if importance is None:
            return self
        return replace(self, spans=self.spans._replace(weight=self.spans.weight * importance[self.token]))


def judged_sequences(sentence_off: Ints, factor: Floats | None = None) -> Spans:
    """Every sequence that has a position, as a whole.   factor [S]: the weight of each; by default 1."""
    sentence = np.flatnonzero(np.diff(sentence_off) > 0)
    first, last = sentence_off[sentence], sentence_off[sentence + 1] - 1
    return spans_of(sentence, first, last, np.zeros(len(sentence), np.bool_), sentence_off,
                    None if factor is None else factor[sentence])  # fmt: skip


def spans_of(
    sentence: Ints,
    first: Ints,
    last: Ints,
    checked: Mask,
    sentence_off: Ints,
    weight: Floats | None = None,
) -> Spans:
    """Spans of sentences, in order; first, last: tokens of the data set.   weight: by default 1."""
    return Spans(
        np.searchsorted(sentence, np.arange(len(sentence_off))),
        (first - sentence_off[sentence]).astype(np.int32),
        (last - sentence_off[sentence]).astype(np.int32),
        checked,
        np.ones(len(sentence)) if weight is None else weight,
    )


def judged_positions(variable: int, codes: Ints32, sentence_off: Ints, loss: MethodSettings) -> JudgedSpans:
    """Every position whose label is known. `codes` [N]; `balanced_accuracy` gives each state the same total weight."""
    assert isinstance(loss, LabelLoss)
    token = np.flatnonzero(codes >= 0)
    sentence = np.searchsorted(sentence_off, token, side="right") - 1
    weight = np.ones(len(token))
    if isinstance(loss, BalancedLoss):
        times = np.bincount(codes[token])
        weight = len(token) / (np.count_nonzero(times) * times[codes[token]])
    nowhere = np.zeros(len(token), np.bool_)
    return JudgedSpans(variable, sentence, spans_of(sentence, token, token, nowhere, sentence_off, weight), token)


def judged_segments(
    variable: int, name: str, codes: Ints32, states: tuple[str, ...], sentence_off: Ints,
    loss: MethodSettings, literal: bool = False,
) -> JudgedSpans:  # fmt: skip
    """The gold segments of a label. DcrfError where some labels are not known.   literal: whatever follows them."""
    assert isinstance(loss, MeasureLoss)
    check_segments_known(loss.method, name, codes, sentence_off)
    mark, kind, _ = mark_table(states)
    segments = segments_of(codes, mark, kind, sentence_off)
    sentence = np.searchsorted(sentence_off, segments.start, side="right") - 1
    checked = np.isin(mark[codes[segments.end]], GOES_ON) & (not literal)
    return JudgedSpans(variable, sentence, spans_of(sentence, segments.start, segments.end, checked, sentence_off))


def check_segments_known(method: str, name: str, codes: Ints32, sentence_off: Ints) -> None:
    """DcrfError where some labels are not known. method: the loss that counts segments."""
    if (codes < 0).any():
        where = int(np.searchsorted(sentence_off, np.flatnonzero(codes < 0)[0], side="right"))
        message = f"`{method}` counts segments, and `{name}` is not known at a token of sentence {where}"
        remedy = "train by `likelihood` without a cost of segments, which sums it out"
        raise DcrfError(Diagnostic("cannot-sum-out", message, help=remedy))


def segment_marks(states: tuple[str, ...], literal: bool = False) -> SegmentMarks:
    """The segment marks of states, for the kernels. States of no scheme count as outside.

    literal: what follows a segment is not looked at.
    """
    mark, kind, _ = mark_table(states)
    count = len(states)
    mark, kind = mark[:count], kind[:count]
    inside, changed = mark != 0, kind[:, None] != kind[None, :]
    starts = STARTS[mark[:, None], mark[None, :]] | (inside[None, :] & changed)
    return SegmentMarks(
        np.where(inside, kind, -1).astype(np.int32),
        np.isin(mark, GOES_ON) & (not literal),
        np.concatenate([starts, STARTS[0, mark][None, :]]),
        inside[:, None] & inside[None, :] & ~(ENDS[mark[:, None], mark[None, :]] | changed),
    )


def joined_spans(judged: Sequence[JudgedSpans], sentence_off: Ints) -> tuple[Spans, Ints32]:
    """The spans of several variables as one list, sentence by sentence; and for each, which of them it is from."""
    sentence = np.concatenate([spans.sentence for spans in judged])
    order = np.argsort(sentence, kind="stable")
    number = np.repeat(np.arange(len(judged), dtype=np.int32), [len(spans.sentence) for spans in judged])
    first, last, checked, weight = (
        np.concatenate(parts)[order]
        for parts in zip(*((j.spans.first, j.spans.last, j.spans.checked, j.spans.weight) for j in judged), strict=True)
    )
    off = np.searchsorted(sentence[order], np.arange(len(sentence_off)))
    return Spans(off, first, last, checked, weight), number[order]


def judged_labels(variables: Sequence[int], states: Sequence[tuple[str, ...]], literal: bool = False) -> JudgedLabels:
    """The marks of several label variables.   states: of each of these.   literal: as in `segment_marks`."""
    marks = [segment_marks(label_states, literal) for label_states in states]

    def offsets(field: str) -> Ints:
        return np.cumsum([0, *(getattr(mark, field).size for mark in marks)], dtype=np.int64)[:-1]

    def joined(field: str) -> Any:
        return np.concatenate([getattr(mark, field).ravel() for mark in marks])

    return JudgedLabels(
        np.array(variables, np.int32), offsets("kind"), offsets("starts"), offsets("goes_on"), joined("kind"),
        joined("opens"), joined("starts"), joined("goes_on"),
    )  # fmt: skip
