"""The sequences of a trainer as arrays, and the features that CRFsuite makes of them.

A state feature is a pair of an attribute and a label that some item shows, a transition a pair of labels that follow
each other. Its frequency is the sum of the attribute's values, or the number of times; `feature.minfreq` is the least
frequency of features that are kept, so that by default one with a negative sum is left out. With
`feature.possible_states` every label makes a pair with each attribute of the data, with
`feature.possible_transitions` with each label: pairs that do not occur have the frequency 0. Source: the manual of
CRFsuite, and `lib/crf/src/crf1d_feature.c`. Not here: flattening items (`items`), weights.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..foundation import Codes, Floats, Ints, dataclass
from ..kernels.extraction import count_pairs, merge_items
from .cqdb import Key
from .items import Item, ItemSequence


class Sequences(NamedTuple):
    """S labelled sequences with N items, which have M attributes in all; an item has an attribute once at most."""

    sequence_off: Ints  #  [S+1]  where the items of each sequence begin
    labels: Codes  #       [N]    the label of each item
    item_off: Ints  #      [N+1]  where the attributes of each item begin
    attributes: Codes  #   [M]
    values: Floats  #      [M]


class TrainingData:
    """What was appended to a trainer: labels and attributes numbered in order of first appearance."""

    def __init__(self) -> None:
        self._labels: dict[Key, int] = {}
        self._attributes: dict[Key, int] = {}
        self._codes, self._values, self._item_lengths = array("i"), array("d"), array("q")
        self._gold, self._lengths, self._groups = array("i"), array("q"), array("q")

    @property
    def labels(self) -> list[Key]:
        return list(self._labels)

    @property
    def attributes(self) -> list[Key]:
        return list(self._attributes)

    @property
    def num_sequences(self) -> int:
        return len(self._lengths)

    def add(self, xseq: Iterable[Item] | ItemSequence, yseq: Iterable[str | bytes], group: int) -> None:
        """Adds a sequence. ValueError if it has more or fewer labels than items, BadItem if a value is not finite.

        TypeError for a label that is neither a text nor bytes.
        """
        sequence, labels = ItemSequence(xseq), [_label(label) for label in yseq]
        if len(labels) != len(sequence):
            lengths = f"|x| = {len(sequence)}, |y| = {len(labels)}"
            raise ValueError(f"The numbers of items and labels differ: {lengths}")
        sequence.require_finite()
        numbers = self._attributes
        self._codes.extend([numbers.setdefault(name, len(numbers)) for name in sequence.names])
        self._values.extend(sequence.values)
        self._item_lengths.extend([end - start for start, end in zip(sequence.off, sequence.off[1:], strict=False)])
        self._gold.extend([self._labels.setdefault(label, len(self._labels)) for label in labels])
        self._lengths.append(len(labels))
        self._groups.append(group)

    def sequences(self, group: int | None = None, *, but: int | None = None) -> Sequences:
        """The sequences of a group, or all but those of one; sequences without an item are left out."""
        groups, lengths = np.array(self._groups, np.int64), np.array(self._lengths, np.int64)
        chosen = (groups == group) if group is not None else (groups != but) if but is not None else groups == groups
        chosen &= lengths > 0
        items = np.repeat(chosen, lengths)
        item_lengths = np.array(self._item_lengths, np.int64)
        attributes = np.repeat(items, item_lengths)
        item_off, codes, values = merge_items(
            _offsets(item_lengths[items]),
            np.array(self._codes, np.int32)[attributes],
            np.array(self._values, np.float64)[attributes],
            len(self._attributes),
        )
        if not np.isfinite(values).all():
            name = self.attributes[codes[~np.isfinite(values)][0]]
            raise ValueError(f"The values of attribute {name!r} of an item add up to no finite number")
        return Sequences(_offsets(lengths[chosen]), np.array(self._gold, np.int32)[items], item_off, codes, values)


def _label(label: str | bytes) -> Key:
    """The label as its file will have it: a text, or bytes that are no UTF-8."""
    if isinstance(label, str):
        label.encode()
        return label.split("\0", 1)[0]
    if not isinstance(label, bytes):
        raise TypeError(f"expected str or bytes as a label, {type(label).__name__} found")
    try:
        return label.split(b"\0", 1)[0].decode()
    except UnicodeDecodeError:
        return label


def _offsets(lengths: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


# features -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Features:
    """State features by attribute and label, and transitions by their labels; with frequencies.

    state_off: [A + 1] where the state features of each attribute begin;  state_labels: [S] their labels
    state_counts: [S];  moves: [R] transition from i to j as i · L + j;  move_counts: [R]
    negative: [D] attributes that are left out with a label because their values sum below zero there, each once
    """

    num_labels: int
    state_off: Ints
    state_labels: Codes
    state_counts: Floats
    moves: Codes
    move_counts: Floats
    negative: Ints

    def __len__(self) -> int:
        return len(self.state_labels) + len(self.moves)

    @property
    def state_attributes(self) -> Codes:
        """The attribute of each state feature, [S]."""
        return np.repeat(np.arange(len(self.state_off) - 1, dtype=np.int32), np.diff(self.state_off))


def features_of(
    data: Sequences, num_labels: int, num_attributes: int, *, minfreq: float, states: bool, transitions: bool
) -> Features:
    """The features of these sequences. `states`, `transitions`: also those that do not occur."""
    item_off, codes = data.item_off, data.attributes
    rows, labels = np.arange(len(data.labels)), data.labels
    off, of_label, counts = count_pairs(rows, labels, item_off, codes, data.values, num_attributes, num_labels)
    if states:
        off, of_label, counts = _with_all(off, of_label, counts, num_labels)
    inner = np.ones(len(labels), np.bool_)
    inner[data.sequence_off[:-1]] = False
    after = np.flatnonzero(inner)
    table = np.bincount(labels[after - 1].astype(np.int64) * num_labels + labels[after], minlength=num_labels**2)
    moves = np.arange(num_labels**2) if transitions else np.flatnonzero(table)
    moves = moves[table[moves] >= minfreq]
    owner = np.repeat(np.arange(num_attributes), np.diff(off))
    negative = np.unique(owner[(counts < 0.0) & (counts < minfreq)])
    kept = counts >= minfreq
    off = _offsets(kept.astype(np.int64))[off]
    frequencies = table[moves].astype(np.float64)
    return Features(num_labels, off, of_label[kept], counts[kept], moves.astype(np.int32), frequencies, negative)


def _with_all(off: Ints, labels: Codes, counts: Floats, num_labels: int) -> tuple[Ints, Codes, Floats]:
    """Each attribute that occurs with every label."""
    lengths = np.diff(off)
    occurs = np.flatnonzero(lengths)
    row = np.full(len(lengths), -1)
    row[occurs] = np.arange(len(occurs))
    table = np.zeros((len(occurs), num_labels))
    table[row[np.repeat(np.arange(len(lengths)), lengths)], labels] = counts
    every = np.tile(np.arange(num_labels, dtype=np.int32), len(occurs))
    return _offsets(np.where(lengths > 0, num_labels, 0)), every, table.ravel()


def label_texts(labels: Sequence[Key]) -> list[str]:
    """Labels, or attributes, for messages."""
    return [label if isinstance(label, str) else label.decode(errors="replace") for label in labels]
