"""The counts of each sentence that common scores are made of, so that sentences can be drawn and exchanged.

    accuracy(y): right, scored tokens       segments(y), segments(y).TYPE: right, predicted, gold segments
    joint_accuracy: tokens right in all labels, scored ones       sentence_accuracy: sentences without a mistake, scored

Not here: what is right (`evaluation`), intervals and tests (`significance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..data import has_segments
from ..foundation import Floats, Ints, Mask, Offsets
from .evaluation import Evaluation
from .segment_scores import compared_segments

__all__ = ["SentenceCounts", "correct_sentences", "correct_tokens", "sentence_counts"]


class SentenceCounts(NamedTuple):
    """name: of the score.   counts [S, C]: of each sentence: right and all, or right, predicted and gold segments."""

    name: str
    counts: Ints

    def score(self, sums: Floats) -> Floats:
        """The share of right ones, or F1, [...]; 0 where there is nothing. sums [..., C]: of counts of sentences."""
        right, all_of_them = sums[..., 0], sums[..., 1:].sum(axis=-1)
        times = 1.0 if sums.shape[-1] == 2 else 2.0
        shares: Floats = np.divide(times * right, all_of_them, out=np.zeros(np.shape(right)), where=all_of_them != 0)
        return shares

    @property
    def value(self) -> float:
        """The score of all sentences."""
        return float(self.score(self.counts.sum(axis=0).astype(np.float64)))


def sentence_counts(evaluation: Evaluation, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """The counts of all common scores of these labels. Types of segments follow their label, in alphabetical order."""
    off = evaluation.sentence_off
    for label in labels:
        right, scored = correct_tokens(evaluation, [label])
        yield SentenceCounts(f"accuracy({label})", _by_sentence((right, scored), off))
        if has_segments(evaluation.known_states(label)):
            yield from _segments(evaluation, label)
    if len(labels) > 1:
        together = correct_tokens(evaluation.at_every_token(), labels)
        yield SentenceCounts("joint_accuracy", _by_sentence(together, off))
    yield SentenceCounts("sentence_accuracy", np.stack(correct_sentences(evaluation, labels), axis=1).astype(np.int64))


def correct_tokens(evaluation: Evaluation, labels: Sequence[str]) -> tuple[Mask, Mask]:
    """[N] whether all these labels are known and right, and whether all are known."""
    right, scored = (np.ones(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in labels:
        right &= evaluation.right(label)
        scored &= evaluation.scored(label)
    return right & scored, scored


def correct_sentences(evaluation: Evaluation, labels: Sequence[str]) -> tuple[Mask, Mask]:
    """[S] whether a sentence has a known label and no wrong one, and whether it has a known one."""
    wrong, scored = (np.zeros(evaluation.num_tokens, np.bool_) for _ in range(2))
    for label in labels:
        scored |= evaluation.scored(label)
        wrong |= evaluation.scored(label) & ~evaluation.right(label)
    counts = _by_sentence((wrong, scored), evaluation.sentence_off)
    return (counts[:, 0] == 0) & (counts[:, 1] > 0), counts[:, 1] > 0


def _by_sentence(masks: Sequence[Mask], off: Offsets) -> Ints:
    """How many tokens of each sentence each mask marks, [S, masks]."""
    before = [np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)]) for mask in masks]
    return np.stack([sums[off[1:]] - sums[off[:-1]] for sums in before], axis=1)


def _segments(evaluation: Evaluation, label: str) -> Iterator[SentenceCounts]:
    """Of all segments of a label, then of each type."""
    off, states, predicted = evaluation.sentence_off, evaluation.states[label], evaluation.predicted[label]
    golds, ours, same, types = compared_segments(evaluation.gold[label], predicted, states, off)

    def counts(kind: int | None) -> Ints:
        chosen = [same, np.ones(len(ours.start), np.bool_), np.ones(len(golds.start), np.bool_)]
        parts = [ours, ours, golds]
        if kind is not None:
            chosen = [mask & (part.kind == kind) for mask, part in zip(chosen, parts, strict=True)]
        starts = [part.start[mask] for mask, part in zip(chosen, parts, strict=True)]
        size = len(off) - 1
        numbers = [np.bincount(np.searchsorted(off, start, side="right") - 1, minlength=size) for start in starts]
        return np.stack(numbers, axis=1).astype(np.int64)

    yield SentenceCounts(f"segments({label})", counts(None))
    for kind in sorted(range(len(types)), key=types.__getitem__):
        if (ours.kind == kind).any() or (golds.kind == kind).any():
            yield SentenceCounts(f"segments({label}).{types[kind]}", counts(kind))
