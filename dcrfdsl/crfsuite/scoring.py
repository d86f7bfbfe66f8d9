"""Sequences of items under a CRFsuite model: scores, best labels, probabilities.

The score s_t(y) is Σ value · weight over the attributes of item t, in their order, as in CRFsuite, so that equal sums
stay equal. `marshal` writes a batch of sequences in C, and kernels number its attributes, sum and decode. Whatever is
unusual about an item goes the long way, by the names of its attributes. The sums over labellings are linear, and in
logarithms where a number becomes too small for that. Not here: what an item means (`items`), files (`model_file`).
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from ..foundation import Codes, Floats, Ints
from ..kernels.chain import decode_scores, moves_of, scaled_sums, sum_rows
from ..kernels.extraction import NameIndex, index_names, number_items, row_products, words_of
from .items import BadItem, Item, ItemSequence, first_not_finite
from .model_file import CrfsuiteModel

_VERSION = 4  # of what `marshal` writes
_MOST_ITEMS = 1024  # of a batch, unless a sequence has more: what the second-level cache holds
_MOST_CELLS = 1 << 23  # of a table of all weights: 64 MiB
_FLOOR = 1e-100  # a product of three such numbers is still a normal double: no underflow goes unnoticed


class Scorer:
    """A model in the forms that kernels read. Nothing of it changes, so threads may share it.

    Scores are rows of `moves.width` cells, 0 beyond the labels.
    """

    def __init__(self, model: CrfsuiteModel):
        self._names = model.attributes
        self._numbers = {name: number for number, name in enumerate(model.attributes)}
        texts = [name if isinstance(name, bytes) else name.encode() for name in model.attributes]
        words, off = words_of(b"".join(texts)), np.cumsum([0, *map(len, texts)])
        self._index = NameIndex(words, off, *index_names(words, off))
        self._between = np.zeros((len(model.labels), len(model.labels)))
        self._between[model.transition_from, model.transition_to] = model.transition_weights
        self.moves = moves_of(self._between)
        self._table: Floats | None = None
        if len(texts) * self.moves.width <= _MOST_CELLS:
            self._table = np.zeros((len(texts), self.moves.width))
            np.add.at(self._table, (model.state_attributes, model.state_labels), model.state_weights)
        order = np.argsort(model.state_attributes, kind="stable")
        lists = np.searchsorted(model.state_attributes[order], np.arange(len(texts) + 1))
        self._lists = lists, model.state_labels[order], model.state_weights[order]

    def batches(self, xseqs: Iterable[Iterable[Item] | ItemSequence]) -> Iterator[tuple[Ints, Floats]]:
        """What `scores_of` has of many sequences, batch by batch."""
        batch, size = list[Any](), 0
        for xseq in xseqs:
            batch.append(xseq)
            size += 1 + len(xseq) if isinstance(xseq, (list, tuple)) else _MOST_ITEMS
            if size >= _MOST_ITEMS:
                yield self.scores_of(batch)
                batch, size = [], 0
        yield self.scores_of(batch)

    def best_labels(self, sequence_off: Ints, cells: Floats) -> Codes:
        """The best label [N] of each item; of equal labellings that with the lowest label, from the right.

        cells: [N, width] scores, which are overwritten.
        """
        labels = np.empty(len(cells), np.int32)
        decode_scores(sequence_off, self.moves, cells.reshape(-1), labels)
        return labels

    def path_score(self, cells: Floats, path: list[int]) -> float:
        """The unnormalised log score of a labelling [T] of one sequence."""
        return float(cells[np.arange(len(path)), path].sum() + self._between[path[:-1], path[1:]].sum())

    def sums_of(self, cells: Floats) -> tuple[float, Floats]:
        """(log Z, marginals [T, L]) of one sequence of T ≥ 1 items."""
        scores, between = cells[:, : len(self._between)].copy(), self._between.copy()
        forward, backward, totals = np.empty_like(scores), np.empty_like(scores), np.empty(len(scores))
        log_z = scaled_sums(scores, between, len(scores), forward, backward, totals)
        if min(scores.min(), between.min(), forward.min(), backward.min(), totals.min()) >= _FLOOR:
            return log_z, forward * backward * totals[:, None]
        return _log_sums(cells[:, : len(between)], self._between)

    def scores_of(self, batch: list[Any]) -> tuple[Ints, Floats]:
        """Where each sequence begins [S + 1], and scores [N, width] of all items, 0 beyond the labels.

        BadItem where scores, or their sums over labellings, are not finite; TypeError and others as in `flattened`.
        """
        try:
            stream = marshal.dumps(batch, _VERSION)
        except ValueError:  # it knows nothing but Python's own types
            stream = b"N"
        is_usual, sequence_off, item_off, numbers, values = number_items(words_of(stream), self._index)
        if not is_usual:
            sequence_off, item_off, numbers, values = self._numbers_of_names(batch)
        if self._table is None:
            scores = row_products(item_off, numbers, values, *self._lists, self.moves.width)
        else:
            scores = np.empty((len(item_off) - 1, self.moves.width))
            sum_rows(item_off, numbers, values, self._table.reshape(-1), self.moves, scores.reshape(-1))
        longest = int(np.diff(sequence_off).max(initial=0)) + 1
        if not isfinite(max(float(scores.max(initial=0.0)), -float(scores.min(initial=0.0))) * longest):
            self._require_finite(sequence_off, item_off, numbers, values, scores)
        return sequence_off, scores

    def _numbers_of_names(self, batch: list[Any]) -> tuple[Ints, Ints, Codes, Floats]:
        """What `number_items` returns, by the names of attributes."""
        sequence_off, item_off, numbers, values = [0], [0], array("i"), array("d")
        for sequence in map(ItemSequence, batch):
            for first, last in pairwise(sequence.off):
                for place in range(first, last):
                    if (number := self._numbers.get(sequence.names[place])) is not None:
                        numbers.append(number)
                        values.append(sequence.values[place])
                item_off.append(len(numbers))
            sequence_off.append(len(item_off) - 1)
        return np.array(sequence_off), np.array(item_off), np.array(numbers, np.int32), np.array(values, np.float64)

    def _require_finite(self, sequence_off: Ints, off: Ints, numbers: Codes, values: Floats, scores: Floats) -> None:
        """No labelling has a score beyond its length times the largest: if that were not finite, the first labels would
        be the best, by chance.
        """
        for first, last in pairwise(sequence_off.tolist()):
            own = np.abs(scores[first:last])
            if not isfinite(float(own.max(initial=0.0)) * (last - first + 1)):
                some = slice(off[first], off[last])
                names = [self._names[number] for number in numbers[some].tolist()]
                within = (off[first : last + 1] - off[first]).tolist()
                odd = first_not_finite(names, array("d", values[some].tolist()), within)
                at = int(own.argmax()) // self.moves.width
                raise odd or BadItem("The values of an item are too large: the score is no finite number", at)


def _log_sums(scores: Floats, between: Floats) -> tuple[float, Floats]:
    """log Z and marginals by logarithms: slower, and right for all finite scores."""
    forward, backward = np.empty_like(scores), np.zeros_like(scores)
    forward[0] = scores[0]
    for t in range(1, len(scores)):
        forward[t] = np.logaddexp.reduce(forward[t - 1] + between.T, axis=1) + scores[t]
    for t in range(len(scores) - 2, -1, -1):
        backward[t] = np.logaddexp.reduce(between + (scores[t + 1] + backward[t + 1]), axis=1)
    log_z = float(np.logaddexp.reduce(forward[-1]))
    return log_z, np.exp(forward + backward - log_z)
