"""Numbers of attributes straight from items, without joining keys to names first.

A model's attributes are looked up part by part: `next:word:is` of the item `{"next": {"word": "is"}}` is `is` in the
table of what follows `next:word:`. Most attributes that a tagger meets are not in the model, and cost no new text. A
table is made when it is first asked for. Not here: what an item means (`items`), which also takes over whatever is
unusual about one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, compress
from typing import Any

from .cqdb import Key
from .items import ItemSequence, flattened

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
