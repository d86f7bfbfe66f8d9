"""The counts of each sentence that scores are made of, so that sentences can be drawn and exchanged.

    accuracy(y): right, scored tokens       segments(y), segments(y).TYPE: right, predicted, gold segments
    joint_accuracy: tokens right in all labels, scored ones       sentence_accuracy: sentences without a mistake, scored
    by_state(y).macro_f1, by_type(y).macro_f1: right, predicted and gold of each class

Not here: what is right (`evaluation`), intervals and tests (`significance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Mask, Offsets
from ..semantics import CallSpec, has_segments, plain
from .class_scores import segments_compared
from .evaluation import Evaluation
from .segment_scores import MISSING, UNSEEN


class SentenceCounts(NamedTuple):
    """name: of the score.   counts [S, C]: of each sentence: right and all, or right, predicted and gold segments; with
    `macro` the last three of one class after another.
    """

    name: str
    counts: Ints
    macro: bool = False

    def score(self, sums: Floats) -> Floats:
        """The share of right ones, F1 or its mean over classes, [...]; 0 where there is nothing.

        sums [..., C]: of counts of sentences.
        """
        if self.macro:
            classes = sums.reshape(*sums.shape[:-1], -1, 3)
            there = (classes[..., 1:].sum(axis=-1) > 0).sum(axis=-1)
            return _quotient(_share(classes).sum(axis=-1), there)
        return _share(sums)

    @property
    def value(self) -> float:
        """The score of all sentences."""
        return float(self.score(self.counts.sum(axis=0).astype(np.float64)))


def _share(sums: Floats) -> Floats:
    """right / all, or 2 right / (predicted + gold), [...]."""
    times = 1.0 if sums.shape[-1] == 2 else 2.0
    return _quotient(times * sums[..., 0], sums[..., 1:].sum(axis=-1))


def _quotient(part: Floats, whole: Floats | Ints) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.not_equal(whole, 0))
    return shares


def sentence_counts(
    evaluation: Evaluation, labels: Sequence[str], metrics: Sequence[CallSpec] = ()
) -> Iterator[SentenceCounts]:
    """The counts of all common scores of these labels. Types of segments follow their label, in alphabetical order.

    metrics: of the template, whose scores follow where they are of these labels and are not among the common ones;
    `log_likelihood` and `rank_risk`, which are not counts, do not.
    """
    told = set()
    for one in (*_common(evaluation, labels), *_of_metrics(evaluation, labels, metrics)):
        if one.name not in told:
            yield one
        told.add(one.name)


def _common(evaluation: Evaluation, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    for label in labels:
        yield _of_tokens(evaluation, f"accuracy({label})", [label])
        if has_segments(evaluation.known_states(label)):
            yield from _segments(evaluation, label, f"segments({label})")
    if len(labels) > 1:
        yield _of_tokens(evaluation.at_every_token(), "joint_accuracy", labels)
    yield _of_sentences(evaluation, "sentence_accuracy", labels)


def _of_metrics(evaluation: Evaluation, labels: Sequence[str], metrics: Sequence[CallSpec]) -> Iterator[SentenceCounts]:
    for call in metrics:
        names = [str(plain(argument.value)) for argument in call.arguments]
        of = names if call.name == "joint_accuracy" else names[:1]
        sources = [evaluation.views[name].label if name in evaluation.views else name for name in of]
        if call.name in _OF_METRICS and set(sources) <= set(labels):
            written = f"{call.name}({', '.join(names)})" if names else call.name
            yield from _OF_METRICS[call.name](evaluation.of(of) if of else evaluation, written, names or labels)


def _of_tokens(evaluation: Evaluation, name: str, labels: Sequence[str]) -> SentenceCounts:
    return SentenceCounts(name, _by_sentence(correct_tokens(evaluation, labels), evaluation.sentence_off))


def _of_sentences(evaluation: Evaluation, name: str, labels: Sequence[str]) -> SentenceCounts:
    return SentenceCounts(name, np.stack(correct_sentences(evaluation, labels), axis=1).astype(np.int64))


def _of_new_words(evaluation: Evaluation, name: str, names: Sequence[str]) -> Iterator[SentenceCounts]:
    if evaluation.oov is not None:
        label, column = names
        new = evaluation.oov(column)
        right, scored = correct_tokens(evaluation, [label])
        yield SentenceCounts(name, _by_sentence((right & new, scored & new), evaluation.sentence_off))


def _wrong_sentences(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    right, scored = correct_sentences(evaluation, labels)
    yield SentenceCounts(name, np.stack((scored & ~right, scored), axis=1).astype(np.int64))


def _wrong_labels(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    of_labels = (correct_tokens(evaluation, [label]) for label in labels)
    counts = [_by_sentence((scored & ~right, scored), evaluation.sentence_off) for right, scored in of_labels]
    yield SentenceCounts(name, np.sum(counts, axis=0))


def _states(evaluation: Evaluation, name: str, labels: Sequence[str]) -> Iterator[SentenceCounts]:
    """Right, predicted and gold tokens of each state; tokens with several gold states or none do not count."""
    (label,) = labels
    gold, predicted = np.asarray(evaluation.gold[label]), np.asarray(evaluation.predicted[label])
    counted = gold >= UNSEEN
    predicted = np.where(predicted < 0, MISSING, predicted)  # what is not predicted is no class
    codes = np.unique(np.concatenate([gold[counted], predicted[counted]]))
    masks = [
        counted & mask
        for code in codes[codes >= UNSEEN].tolist()
        for mask in ((gold == code) & (predicted == code), predicted == code, gold == code)
    ]
    yield SentenceCounts(f"{name}.macro_f1", _by_sentence(masks, evaluation.sentence_off), macro=True)


def _right_states(evaluation: Evaluation, name: str, labels: Sequence[str]) -> SentenceCounts:
    """Right tokens among those with one gold state, as the confusion matrix counts them."""
    gold = np.asarray(evaluation.gold[labels[0]])
    right, counted = (gold == np.asarray(evaluation.predicted[labels[0]])) & (gold >= 0), gold >= UNSEEN
    return SentenceCounts(f"{name}.right", _by_sentence((right & counted, counted), evaluation.sentence_off))


def _types(evaluation: Evaluation, name: str, names: Sequence[str]) -> Iterator[SentenceCounts]:
    parts = [one.counts for one in _segments(evaluation, names[0], name, runs=len(names) > 1)][1:]
    counts = np.concatenate(parts, axis=1) if parts else np.zeros((len(evaluation.sentence_off) - 1, 3), np.int64)
    yield SentenceCounts(f"{name}.macro_f1", counts, macro=True)


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
    if not before:
        return np.zeros((len(off) - 1, 0), np.int64)
    return np.stack([sums[off[1:]] - sums[off[:-1]] for sums in before], axis=1)


def _segments(evaluation: Evaluation, label: str, name: str, *, runs: bool = False) -> Iterator[SentenceCounts]:
    """Of all segments of a label, then of each type."""
    off = evaluation.sentence_off
    golds, ours, same, *_, types = segments_compared(evaluation, label, runs=runs)

    def counts(kind: int | None) -> Ints:
        chosen = [same, np.ones(len(ours.start), np.bool_), np.ones(len(golds.start), np.bool_)]
        parts = [ours, ours, golds]
        if kind is not None:
            chosen = [mask & (part.kind == kind) for mask, part in zip(chosen, parts, strict=True)]
        starts = [part.start[mask] for mask, part in zip(chosen, parts, strict=True)]
        size = len(off) - 1
        numbers = [np.bincount(np.searchsorted(off, start, side="right") - 1, minlength=size) for start in starts]
        return np.stack(numbers, axis=1).astype(np.int64)

    yield SentenceCounts(name, counts(None))
    for kind in sorted(range(len(types)), key=types.__getitem__):
        if (ours.kind == kind).any() or (golds.kind == kind).any():
            yield SentenceCounts(f"{name}.{types[kind]}", counts(kind))


_OF_METRICS: Mapping[str, Callable[[Evaluation, str, Sequence[str]], Iterable[SentenceCounts]]] = MappingProxyType(
    {
        "accuracy": lambda evaluation, name, labels: [_of_tokens(evaluation, name, labels)],
        "joint_accuracy": lambda evaluation, name, labels: [_of_tokens(evaluation.at_every_token(), name, labels)],
        "sentence_accuracy": lambda evaluation, name, labels: [_of_sentences(evaluation, name, labels)],
        "segments": lambda evaluation, name, names: _segments(evaluation, names[0], name, runs=len(names) > 1),
        "by_state": _states,
        "by_type": _types,
        "confusion": lambda evaluation, name, labels: [_right_states(evaluation, name, labels)],
        "oov_accuracy": _of_new_words,
        "zero_one_risk": _wrong_sentences,
        "hamming_risk": _wrong_labels,
    }
)
