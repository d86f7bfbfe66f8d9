"""The scores of items under a CRFsuite model: s_t(y) = Σ value · weight over the attributes of item t.

Not here: what follows from the scores (`dense_chain`), files (`model_file`).
"""

from __future__ import annotations

from itertools import repeat

import numpy as np

from ..arrays import Floats
from .cqdb import Key
from .dense_chain import Transitions, transitions_of
from .items import ItemSequence
from .model_file import CrfsuiteModel

__all__ = ["Scorer"]


class Scorer:
    """A model in the forms that scoring reads. It never changes, so threads may share it.

    labels: [L] the labels;  number_of: the number of each label
    transitions: what follows from the transition weights [L, L]

    Features are sorted by attribute; the attribute A, which every unknown one is taken for, has none:

    first: [A + 1] int64    the first feature of an attribute;  counts: [A + 1] int64  how many it has
    target: [S] int64       the label of a feature;  weights: [S] float64
    """

    def __init__(self, model: CrfsuiteModel):
        num_labels, num_attributes = len(model.labels), len(model.attributes)
        order = np.argsort(model.state_attributes, kind="stable")
        self.counts = np.bincount(model.state_attributes, minlength=num_attributes + 1)
        self.first = np.cumsum(self.counts) - self.counts
        self.target = model.state_labels[order].astype(np.int64)
        self.weights = model.state_weights[order]
        self._attributes: dict[Key, int] = {name: number for number, name in enumerate(model.attributes)}
        between = np.zeros((num_labels, num_labels))
        between[model.transition_from, model.transition_to] = model.transition_weights
        self.transitions: Transitions = transitions_of(between)

    def scores_of(self, items: ItemSequence) -> Floats:
        """The scores [T, L] of a sequence. Sums run in the order of an item's attributes, as CRFsuite's do."""
        num_items, num_labels = len(items), len(self.transitions.scores)
        unknown = len(self._attributes)
        get = self._attributes.get
        attribute = np.fromiter(map(get, items.names, repeat(unknown)), np.int64, len(items.names))
        counts = self.counts[attribute]
        off = np.array(items.off)
        row = np.repeat(np.arange(0, num_items * num_labels, num_labels), np.diff(off))
        before = np.cumsum(counts) - counts
        feature = np.repeat(self.first[attribute] - before, counts)
        feature += np.arange(len(feature))
        cell = np.repeat(row, counts)
        cell += self.target[feature]
        amount = np.repeat(np.frombuffer(items.values), counts)
        amount *= self.weights[feature]
        scores: Floats = np.bincount(cell, amount, num_items * num_labels).astype(np.float64, copy=False)
        return scores.reshape(num_items, num_labels)
