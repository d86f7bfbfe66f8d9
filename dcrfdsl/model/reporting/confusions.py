"""What is taken for what: states of a label, and types of segments.

A gold segment is found if a predicted one has the same first token, last token and type (conlleval). Otherwise it is

    of another type     a predicted segment has the same tokens and another type
    elsewhere           a predicted segment shares a token with it
    missed              none does

and a predicted segment that shares no token with a gold one is invented. Not here: tables of these counts
(`quality_sections`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...data import Segments
from ...foundation import Ints, Mask
from ...metrics import Evaluation, confusion, segments_compared


class StateConfusion(NamedTuple):
    """states: the texts of gold and predicted states that occur, most frequent gold state first.

    counts: [K, K] how often a gold state (row) was labelled so (column).
    """

    states: tuple[str, ...]
    counts: Ints


class SegmentConfusion(NamedTuple):
    """types: of segments, [K], the most frequent first.

    same: [K, K] gold segments (rows) whose tokens are a predicted segment, by its type (columns).
    elsewhere, missed: [K] of gold segments.
    elsewhere_predicted, invented: [K] of predicted segments.
    """

    types: tuple[str, ...]
    same: Ints
    elsewhere: Ints
    missed: Ints
    elsewhere_predicted: Ints
    invented: Ints


def state_confusion(evaluation: Evaluation, label: str) -> StateConfusion:
    """Counts of gold and predicted states. Tokens without one known gold state or a prediction are left out."""
    names = evaluation.states[label]
    gold, predicted = np.asarray(evaluation.gold[label]), np.asarray(evaluation.predicted[label])
    counts = confusion(np.where(predicted >= 0, gold, -1), np.maximum(predicted, 0), len(names))
    often = counts.sum(axis=1)
    used = np.flatnonzero(often + counts.sum(axis=0))
    used = used[np.lexsort((used, -counts.sum(axis=0)[used], -often[used]))]
    return StateConfusion(tuple(names[k] for k in used.tolist()), counts[np.ix_(used, used)])


def segment_confusion(evaluation: Evaluation, label: str) -> SegmentConfusion:
    """Counts of gold and predicted segments of a label with segments."""
    found, num_tokens = segments_compared(evaluation, label), evaluation.num_tokens
    golds, ours, types = found.golds, found.ours, found.types
    size = len(types)
    partner = _same_tokens(golds, ours, num_tokens)
    matched = partner >= 0
    same = np.bincount(golds.kind[matched] * size + ours.kind[partner[matched]], minlength=size * size)
    alone = np.ones(len(ours.start), np.bool_)
    alone[partner[matched]] = False
    touched, touches = _shares_a_token(golds, ours, num_tokens), _shares_a_token(ours, golds, num_tokens)
    touches |= _shares_a_token(ours, found.unsure, num_tokens)

    def counted(segments: Segments, chosen: Mask) -> Ints:
        return np.bincount(segments.kind[chosen], minlength=size).astype(np.int64)

    every = counted(golds, np.ones(len(golds.start), np.bool_)) + counted(ours, np.ones(len(ours.start), np.bool_))
    order = sorted(np.flatnonzero(every).tolist(), key=lambda k: (-int(every[k]), types[k]))
    return SegmentConfusion(
        tuple(types[k] for k in order),
        same.reshape(size, size)[np.ix_(order, order)].astype(np.int64),
        counted(golds, ~matched & touched)[order],
        counted(golds, ~matched & ~touched)[order],
        counted(ours, alone & touches)[order],
        counted(ours, alone & ~touches)[order],
    )


def _same_tokens(golds: Segments, ours: Segments, num_tokens: int) -> Ints:
    """By gold segment, the number of the predicted one with the same tokens; -1 if there is none."""
    at = np.full(num_tokens + 1, -1, np.int64)
    at[ours.start] = np.arange(len(ours.start))
    partner = at[golds.start]
    known = partner >= 0
    partner[known] = np.where(ours.end[partner[known]] == golds.end[known], partner[known], -1)
    return partner


def _shares_a_token(segments: Segments, others: Segments, num_tokens: int) -> Mask:
    """[segments] whether a segment shares a token with one of the others; segments end at their last token."""
    edges = np.zeros(num_tokens + 1, np.int64)
    np.add.at(edges, others.start, 1)
    np.add.at(edges, others.end + 1, -1)
    covered = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:num_tokens] > 0)])
    mask: Mask = covered[segments.end + 1] > covered[segments.start]
    return mask


def most_confused(states: Sequence[str], counts: Ints, most: int) -> list[tuple[str, str, int]]:
    """The pairs (gold, predicted, count) that are confused most often."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    pairs = np.argsort(-wrong, axis=None, kind="stable")[:most]
    rows, columns = np.divmod(pairs, max(1, len(states)))
    return [
        (states[a], states[b], int(wrong[a, b]))
        for a, b in zip(rows.tolist(), columns.tolist(), strict=True)
        if wrong[a, b]
    ]
