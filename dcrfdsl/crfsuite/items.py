"""Items as python-crfsuite takes them, flattened to weighted attributes.

An item is a dict, or anything else that can be iterated with a length:

    {"walk": 1.5, "shape": "xX", "title": True}      walk 1.5, shape:xX 1, title 1
    {"next": {"word": "is", "near": ["a", "b"]}}     next:word:is 1, next:near:a 1, next:near:b 1
    ["walk", "shape=xX"]                             walk 1, shape=xX 1

Dicts, lists and sets nest; keys are joined by a colon. Texts are CRFsuite's: bytes in UTF-8, which end at a NUL. An
attribute may occur twice in an item. Not here: attributes' numbers (`tagger`, `trainer`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from math import isfinite
from typing import Any, TypeAlias

from .cqdb import Key


class BadItem(ValueError):
    """An item that no sum can be made of: a value is infinite, no number, or too large.

    item: its place in the sequence, from 0.

    >>> BadItem("The value of attribute 'size' is no finite number: nan", 2).item
    2
    """

    def __init__(self, message: str, item: int):
        super().__init__(message)
        self.item = item

    def __reduce__(self) -> tuple[type[BadItem], tuple[str, int]]:
        return type(self), (str(self), self.item)


Item: TypeAlias = dict[Any, Any] | Collection[Any]

_NESTED = (dict, list, set)


class ItemSequence:
    """The items of a sequence, flattened once for several uses.

    xseq: the items, an iterable; another ItemSequence is taken as it is.

    names: [M] the attributes of all items, str, or bytes where one is no UTF-8.
    values: [M] their values, an array of float64.
    off: [N + 1] where the attributes of each of the N items begin, and where the last ones end.

    >>> sequence = ItemSequence([{"word": "Rome", "length": 4}, ["last"]])
    >>> sequence
    <ItemSequence of size 2>
    >>> sequence.items()
    [{'word:Rome': 1.0, 'length': 4.0}, {'last': 1.0}]
    """

    __slots__ = ("names", "off", "values")

    names: list[Key]
    values: array[float]
    off: list[int]

    def __init__(self, xseq: Iterable[Item] | ItemSequence):
        if isinstance(xseq, ItemSequence):
            self.names, self.values, self.off = xseq.names, xseq.values, xseq.off
        else:
            self.names, self.values, self.off = flattened(xseq)

    def items(self) -> list[dict[str, float]]:
        """A dict `{attribute: value}` for each item; of an attribute that occurs twice, the last value.

        UnicodeDecodeError if an attribute is no UTF-8.
        """
        names = [name.decode() if isinstance(name, bytes) else name for name in self.names]
        return [
            dict(zip(names[start:end], self.values[start:end], strict=True))
            for start, end in zip(self.off, self.off[1:], strict=False)
        ]

    def require_finite(self) -> None:
        """BadItem if a value is infinite or no number: no sum can be made of it, in training or tagging."""
        if (odd := first_not_finite(self.names, self.values, self.off)) is not None:
            raise odd

    def __len__(self) -> int:
        return len(self.off) - 1

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def flattened(xseq: Iterable[Item]) -> tuple[list[Key], array[float], list[int]]:
    """Attributes [M], values [M] and offsets [N + 1] of all items of a sequence.

    TypeError for a key that is no text, or a value that is no number; as python-crfsuite. OverflowError for a number
    that is too large for a float, ValueError for an item that is nested too deeply, or holds itself.
    """
    names: list[Key] = []
    values = array("d")
    off = [0]
    try:
        for item in xseq:
            _flatten(item, "", names, values)
            off.append(len(names))
    except RecursionError:
        raise ValueError("an item is nested too deeply, or holds itself") from None
    return _stored(names), values, off


def first_not_finite(names: Sequence[Key], values: array[float], off: Sequence[int]) -> BadItem | None:
    """The error about the first value that is infinite or no number; None if there is none."""
    if all(map(isfinite, values)):
        return None
    at = next(n for n, value in enumerate(values) if not isfinite(value))
    return BadItem(f"The value of attribute {names[at]!r} is no finite number: {values[at]}", bisect_right(off, at) - 1)


def _stored(names: list[Key]) -> list[Key]:
    """The names as CRFsuite stores them: each up to its first NUL. UnicodeEncodeError for half a surrogate pair."""
    try:
        text = "".join(names)  # type: ignore[arg-type]
    except TypeError:  # there are bytes among them
        return [_stored([name])[0] if isinstance(name, str) else name.split(b"\0", 1)[0] for name in names]
    if not text.isascii():
        text.encode()
    return [name.split("\0", 1)[0] for name in names] if "\0" in text else names  # type: ignore[arg-type]


def _flatten(item: Any, prefix: Key, names: list[Key], values: array[float]) -> None:
    """Appends the attributes of an item, each behind the prefix, which is empty or ends with a colon."""
    len(item)  # python-crfsuite refuses an iterator
    if isinstance(item, dict):
        for key, value in item.items():
            kind = type(value)
            if kind is str and type(key) is str and type(prefix) is str:  # the ways of most attributes
                names.append(f"{prefix}{key}:{value}")
                values.append(1.0)
            elif (kind is bool or kind is float or kind is int) and type(key) is str and type(prefix) is str:
                values.append(value)
                names.append(prefix + key)
            elif isinstance(value, _NESTED):
                _flatten(value, _joined(prefix, key, ":"), names, values)
            elif isinstance(value, (str, bytes)):
                names.append(_joined(_joined(prefix, key, ":"), value, ""))
                values.append(1.0)
            else:
                values.append(_number(value))
                names.append(_joined(prefix, key, ""))
    else:
        for key in item:
            names.append(_joined(prefix, key, ""))
            values.append(1.0)


def _joined(prefix: Key, key: object, end: str) -> Key:
    """Prefix, key and end as one text; bytes if a part is no UTF-8."""
    if isinstance(key, (bytes, bytearray)):
        raw = bytes(key)
        try:
            key = raw.decode()
        except UnicodeDecodeError:
            return (prefix.encode() if isinstance(prefix, str) else prefix) + raw + end.encode()
    if not isinstance(key, str):
        raise TypeError(f"expected str or bytes as a key, {type(key).__name__} found")
    return prefix + key.encode() + end.encode() if isinstance(prefix, bytes) else prefix + key + end


def _number(value: Any) -> float:
    """The value of an attribute as C reads it: anything that says how to become a float."""
    if isinstance(value, (bool, int, float)) or hasattr(value, "__float__") or hasattr(value, "__index__"):
        return float(value)
    raise TypeError(f"must be real number, not {type(value).__name__}")
