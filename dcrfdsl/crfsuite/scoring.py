"""The scores of items under a CRFsuite model: s_t(y) = Σ value · weight over the attributes of item t.

Sums run in the order of an item's attributes, as CRFsuite's do, so that equal sums stay equal. Not here: attributes of
items (`attribute_tree`), what follows from the scores (`dense_chain`), files (`model_file`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

import numpy as np

from ..foundation import Floats, Ints
from .attribute_tree import AttributeTree
from .dense_chain import Transitions, transitions_of
from .items import BadItem, Item, ItemSequence, first_not_finite
from .model_file import CrfsuiteModel

_MOST_CELLS = 1 << 23  # of a table of all weights: 64 MiB


class Scorer:
    """A model in the forms that scoring reads. Threads may share it.

    transitions: what follows from the transition weights [L, L]
    """

    def __init__(self, model: CrfsuiteModel):
        num_labels, num_attributes = len(model.labels), len(model.attributes)
        self._names, self._attributes = model.attributes, AttributeTree(model.attributes)
        between = np.zeros((num_labels, num_labels))
        between[model.transition_from, model.transition_to] = model.transition_weights
        self.transitions: Transitions = transitions_of(between)
        is_small = num_attributes * num_labels <= _MOST_CELLS
        self._weights: _Table | _Lists = (_Table if is_small else _Lists)(model)

    def scores_of(self, xseq: Iterable[Item] | ItemSequence) -> Floats:
        """The scores [T, L] of a sequence. BadItem where they, or their sums over labellings, are not finite."""
        numbers, values, offsets = self._attributes.numbers_of(xseq)
        off = np.array(offsets)
        num_labels = len(self.transitions.scores)
        num_cells = (len(off) - 1) * num_labels
        starts = np.arange(0, num_cells, num_labels).repeat(off[1:] - off[:-1])
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            cell, amount = self._weights.contributions(np.frombuffer(numbers, np.int64), np.frombuffer(values), starts)
        # with nothing to add, bincount has integers
        scores: Floats = np.bincount(cell, amount, num_cells).astype(np.float64, copy=False)
        # no labelling has a score beyond this; if that were not finite, the first labels would be the best, by chance
        if not isfinite(float(np.abs(scores).max(initial=0.0)) * len(off)):
            odd = first_not_finite(list(map(self._names.__getitem__, numbers)), values, offsets)
            at = int(np.abs(scores).argmax()) // num_labels
            raise odd or BadItem("The values of an item are too large: the score is no finite number", at)
        return scores.reshape(-1, num_labels)


class _Table:
    """Weights of all attributes for all labels [A, L], most of them 0: the fewest steps for a short sequence."""

    def __init__(self, model: CrfsuiteModel):
        self._weights = np.zeros((len(model.attributes), len(model.labels)))
        np.add.at(self._weights, (model.state_attributes, model.state_labels), model.state_weights)
        self._label = np.arange(len(model.labels))

    def contributions(self, attribute: Ints, value: Floats, start: Ints) -> tuple[Ints, Floats]:
        """(cells, amounts) to add, given attributes [M], their values, and the cells of their items' first labels."""
        amount = self._weights.take(attribute, 0)
        amount *= value[:, None]
        return (start[:, None] + self._label).ravel(), amount.ravel()


class _Lists:
    """Weights by attribute, for models whose table would be too large.

    first: [A] the first feature of an attribute;  counts: [A] how many it has
    target: [S] the label of a feature;  weights: [S]
    """

    def __init__(self, model: CrfsuiteModel):
        order = np.argsort(model.state_attributes, kind="stable")
        self._counts = np.bincount(model.state_attributes, minlength=len(model.attributes))
        self._first = np.cumsum(self._counts) - self._counts
        self._target = model.state_labels[order].astype(np.int64)
        self._weights = model.state_weights[order]

    def contributions(self, attribute: Ints, value: Floats, start: Ints) -> tuple[Ints, Floats]:
        """As in `_Table`."""
        counts = self._counts[attribute]
        row = np.arange(len(attribute)).repeat(counts)
        feature = (self._first[attribute] - counts.cumsum() + counts)[row]
        feature += np.arange(len(row))
        return start[row] + self._target[feature], value[row] * self._weights[feature]
