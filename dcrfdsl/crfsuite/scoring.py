"""The scores of items under a CRFsuite model: s_t(y) = Σ value · weight over the attributes of item t.

Sums run in the order of an item's attributes, as CRFsuite's do, so that equal sums stay equal. The numbers of
attributes come straight from items, without joining keys to names first: attributes are looked up part by part, so that
`next:word:is` of the item `{"next": {"word": "is"}}` is `is` in the table of what follows `next:word:`. Most attributes
that a tagger meets are not in the model, and cost no new text. A table is made when it is first asked for. Not here:
what an item means (`items`), which also takes over whatever is unusual about one; what follows from the scores
(`dense_chain`); files (`model_file`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, compress
from math import isfinite
from typing import Any

import numpy as np

from ..foundation import Floats, Ints
from .cqdb import Key
from .dense_chain import Transitions, transitions_of
from .items import BadItem, Item, ItemSequence, first_not_finite, flattened
from .model_file import CrfsuiteModel

Numbered = tuple["array[int]", "array[float]", list[int]]

_MOST_UNKNOWN = 1000  # keys of a prefix that are remembered to begin no attribute


class _Node:
    """The attributes that begin with a prefix, which is empty or ends with a colon.

    numbers: `{rest of the attribute: number}`
    children: `{key: node of prefix + key + ":"}`, as far as asked for; rests: the `numbers` of these
    """

    __slots__ = ("children", "numbers", "prefix", "rests")

    def __init__(self, prefix: str, numbers: dict[Any, int]):
        self.prefix, self.numbers = prefix, numbers
        self.children: dict[str, _Node] = {}
        self.rests: dict[str, dict[Any, int]] = {}

    def adopt(self, key: str, child: _Node) -> None:
        self.children[key], self.rests[key] = child, child.numbers


_NOTHING = _Node("", {})  # of prefixes that begin no attribute


class AttributeTree:
    """The numbers of a model's attributes [A]. Only its tables ever change, so threads may share it.

    >>> tree = AttributeTree(["word:is", "next:word:is", "size"])
    >>> numbers, values, off = tree.numbers_of([{"word": "is", "next": {"word": "a"}}, {"size": 2.5}])
    >>> list(numbers), list(values), off
    ([0, 2], [1.0, 2.5], [0, 1, 2])
    """

    def __init__(self, attributes: Sequence[Key]):
        self._numbers: dict[Any, int] = {name: number for number, name in enumerate(attributes)}
        self._root = _Node("", self._numbers)

    @cached_property
    def _sorted(self) -> list[str]:
        """The attributes whose parts can be looked up: those that are text."""
        return sorted(name for name in self._numbers if isinstance(name, str))

    def numbers_of(self, xseq: Iterable[Any] | ItemSequence) -> Numbered:
        """The known attributes [M] of the items of a sequence by number, their values [M], and offsets [N + 1].

        TypeError and UnicodeEncodeError as in `flattened`.
        """
        if isinstance(xseq, ItemSequence):
            return self._numbers_of_names(xseq.names, xseq.values, xseq.off)
        items = xseq if isinstance(xseq, (list, tuple)) else list(xseq)
        numbers, values, off = array("q"), array("d"), [0]
        try:
            for item in items:
                self._collect(item, self._root, numbers, values)
                off.append(len(numbers))
        except (
            AttributeError,
            TypeError,
            RecursionError,
        ):  # not what most items are: the long way, which has clear errors
            return self._numbers_of_names(*flattened(items))
        return numbers, values, off

    def _numbers_of_names(self, names: Sequence[Key], values: array[float], off: Sequence[int]) -> Numbered:
        found = list(map(self._numbers.get, names))
        is_known = [number is not None for number in found]
        before = [0, *accumulate(is_known)]
        known = array("q", [number for number in found if number is not None])
        return known, array("d", compress(values, is_known)), [before[place] for place in off]

    def _collect(self, item: Any, node: _Node, numbers: array[int], values: array[float]) -> None:
        """Appends the attributes of an item, or AttributeError or TypeError if it is not made of usual parts."""
        kind = type(item)
        found, known = numbers.append, values.append
        if kind is dict:
            table, rests = node.numbers, node.rests
            for key, value in item.items():
                kind = type(value)
                if kind is str:
                    rest = rests.get(key)
                    if rest is None:
                        rest = self._child(node, key).numbers
                    if value in rest:
                        found(rest[value])
                        known(1.0)
                    elif not value.isprintable():
                        _check_usual(value)
                elif kind is bool or kind is float or kind is int:
                    if not value:
                        continue  # it adds nothing
                    if key in table:
                        found(table[key])
                        known(value)
                    elif not key.isprintable():
                        _check_usual(key)
                elif kind is dict or kind is list or kind is set:
                    self._collect(value, node.children.get(key) or self._child(node, key), numbers, values)
                else:
                    raise TypeError
        elif kind is list or kind is set or kind is tuple:
            table = node.numbers
            for key in item:
                if key in table:
                    found(table[key])
                    known(1.0)
                elif not key.isprintable():
                    _check_usual(key)
        else:
            raise TypeError

    def _child(self, node: _Node, key: str) -> _Node:
        """The node that the children of this one lack."""
        if not key.isprintable():
            _check_usual(key)
        if node is _NOTHING:
            return _NOTHING
        head = f"{node.prefix}{key}:"
        first = bisect_left(self._sorted, head)
        last = bisect_left(self._sorted, f"{node.prefix}{key};", first)  # the character after the colon
        if first < last:
            length = len(head)
            rests = {name[length:]: self._numbers[name] for name in self._sorted[first:last]}
            child = _Node(head, rests)
            node.adopt(key, child)
            return child
        if len(node.children) < _MOST_UNKNOWN:
            node.adopt(key, _NOTHING)
        return _NOTHING


def _check_usual(text: str) -> None:
    """TypeError if the text, which is not printable, is not stored as it is: NUL and half a surrogate pair are not."""
    if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise TypeError


# scores ---------------------------------------------------------------------------------------------------------------


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
