"""Sentences of one length side by side: their columns, and what is read at a place of each position.

Arrays have the shape [B, T] or […, B, T]: B sentences of T tokens each. An *anchor* is a position at which a clique is
read; with padded cliques anchors begin before the sentence and end after it. Not here: which features there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...features import COMPARISONS, in_windows, number_of
from .tagger_texts import Lexicons, Memo, Node, test_of, texts_of

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Pads: TypeAlias = tuple[int, int]  # anchors before the sentence, and after it
NO_PADS = (0, 0)
FALSE, UNKNOWN, TRUE = 0, 1, 2  # of tests that read several places: outside the sentence nothing is known
NO_TEXT, OUTSIDE_TEXT = -1, -2


@dataclass
class Sentences:
    """B sentences of T tokens. columns: of each column B · T texts, or numbers [B, T] or [B, T, size].

    leaves: what the features of the model read, as nodes.   ranges: of candidates for segments, which stand for tokens
    then, the first token and the number of tokens; the first one is -1 of what stands for all longer segments.
    """

    size: int
    length: int
    columns: Mapping[str, Any]
    leaves: Sequence[Node]
    lexicons: Lexicons
    read: dict[int, list[Any]] = field(default_factory=dict)
    ranges: Sequence[tuple[int, int]] = ()

    def candidates(self, limit: int, together: bool) -> Sentences:
        """Ranges of up to `limit` tokens as tokens, the short ones first; with `together`, then that of longer ones."""
        lengths = range(1, min(limit, self.length) + 1)
        ranges = [(start, count) for count in lengths for start in range(self.length - count + 1)]
        ranges += [(-1, limit + 1)] * together
        return Sentences(self.size, len(ranges), self.columns, self.leaves, self.lexicons, ranges=ranges)

    def values(self, leaf: int) -> list[Any]:
        """B · T values of a leaf: a column, `first`, `last`, `index`, or spans of a lexicon (None: in no span)."""
        if leaf not in self.read:
            node = self.leaves[leaf]
            self.read[leaf] = LEAVES[node[0]](self, node)
        return self.read[leaf]

    def shaped(self, numbers: Iterable[int]) -> Codes:
        """B · T whole numbers as [1, B, T]."""
        return np.fromiter(numbers, np.int64, self.size * self.length).reshape(1, self.size, self.length)


def moved(
    codes: NDArray[Any], offset: int, pads: Pads, *, before: float = -1, after: float = -1, step: int = 0
) -> NDArray[Any]:
    """`codes` [n, B, T] read at t + offset for every anchor, [n, B, anchors].

    before, after: what row 0 has next to the sentence, plus `step` for each position further out; other rows have -1.
    """
    count, size, length = codes.shape
    left, right = pads
    anchors = left + length + right
    low, high = (min(max(end, 0), anchors) for end in (left - offset, left - offset + length))
    out = np.full((count, size, anchors), -1, codes.dtype)
    out[:, :, low:high] = codes[:, :, low - left + offset : high - left + offset]
    out[0, :, :low] = before + step * (left - offset - 1 - np.arange(low))
    out[0, :, high:] = after + step * (np.arange(high, anchors) - left + offset - length)
    return out


# leaves -------------------------------------------------------------------------------------------------------------


def _positions(sentences: Sentences, leaf: Node) -> list[Any]:
    if leaf[0] == "index":
        return [str(t + 1) for t in range(sentences.length)] * sentences.size
    marked = 0 if leaf[0] == "first" else sentences.length - 1
    return [t == marked for t in range(sentences.length)] * sentences.size


def _spans(sentences: Sentences, leaf: Node) -> list[Any]:
    """`["span", lexicon, leaf, term]`: `B` where an entry begins, `I` where it continues; the longest from the left."""
    _, lexicon, inner, term = leaf
    texts = texts_of(term, sentences.lexicons)
    key = sentences.lexicons[lexicon].key
    first = ((texts(v) or (None,))[0] if v is not None else None for v in sentences.values(inner))
    words: list[Any] = [None if word is None else key(word) for word in first]
    entries, begun = sentences.lexicons[lexicon].phrases
    out: list[Any] = [None] * len(words)
    for start in range(0, len(words), sentences.length):
        t, end = start, start + sentences.length
        while t < end:
            at = last = t
            while at < end and words[at] is not None and tuple(words[t : at + 1]) in begun:
                at += 1
                last = at if tuple(words[t:at]) in entries else last
            if last > t:
                out[t:last] = ["B", *["I"] * (last - t - 1)]
            t = max(last, t + 1)
    return out


def _segments(sentences: Sentences, leaf: Node) -> list[Any]:
    """`["segment", function, column, offset]`: what is read of each candidate; None outside the sentence."""
    _, function, name, offset = leaf
    column, read = sentences.columns[name], SEGMENTS[function]
    length = len(column) // sentences.size
    rows = [column[start : start + length] for start in range(0, len(column), length)]
    return [read(row, start, start + count, offset) for row in rows for start, count in sentences.ranges]


def _text_at(row: Sequence[str], start: int, at: int) -> str | None:
    return row[at] if start >= 0 and 0 <= at < len(row) else None


# The tokens of a sentence, where a candidate starts and ends (-1: it is all longer ones), and an offset → a value.
SEGMENTS: Mapping[str, Callable[[Sequence[str], int, int, int], Any]] = {
    "first": lambda row, start, end, offset: _text_at(row, start, start + offset),
    "last": lambda row, start, end, offset: _text_at(row, start, end - 1 + offset),
    "joined": lambda row, start, end, offset: " ".join(row[start:end]) if start >= 0 else None,
    "any": lambda row, start, end, offset: tuple(dict.fromkeys(row[start:end])) if start >= 0 else (),
}


NAN = float("nan")  # one object, which a `Memo` finds again


def _windows(sentences: Sentences, leaf: Node) -> Floats:
    """`["window", statistic, first, last, leaf, term]`: see `in_windows`."""
    return in_windows(leaf[1], numbers_in(leaf[4], leaf[5], sentences.lexicons)(sentences), leaf[2], leaf[3])


ARRAYS: Mapping[str, Callable[[Sentences, Node], Floats]] = {
    "numbers": lambda sentences, leaf: sentences.columns[leaf[1]],
    "window": _windows,
}


def _plain_numbers(sentences: Sentences, leaf: Node) -> list[Any]:
    return [NAN if number != number else number for number in ARRAYS[leaf[0]](sentences, leaf).ravel().tolist()]


def numbers_in(leaf: int, term: Node, lexicons: Lexicons) -> Callable[[Sentences], Floats]:
    """The number of a term at each token, [B, T]; NaN for none."""
    if term[0] == "scaled":
        inner = numbers_in(leaf, term[-1], lexicons)
        return lambda sentences: (inner(sentences) - term[1]) / term[2]
    if term[0] == "component":
        return lambda sentences: sentences.columns[sentences.leaves[leaf][1]][:, :, term[1]]
    texts = texts_of(term, lexicons)
    known = Memo(lambda value: number_of(texts(value)[0]) if texts(value) else NAN, NAN)

    def read(sentences: Sentences) -> Floats:
        node = sentences.leaves[leaf]
        if term == ["column"] and node[0] in ARRAYS:
            return ARRAYS[node[0]](sentences, node)
        found = np.fromiter(map(known.__getitem__, sentences.values(leaf)), np.float64)
        return found.reshape(sentences.size, sentences.length)

    return read


LEAVES: Mapping[str, Callable[[Sentences, Node], list[Any]]] = {
    "column": lambda sentences, leaf: sentences.columns[leaf[1]],
    "numbers": _plain_numbers,
    "window": _plain_numbers,
    "index": _positions,
    "first": _positions,
    "last": _positions,
    "span": _spans,
    "segment": _segments,
    "length of segment": lambda sentences, leaf: (
        [str(count) if start >= 0 else f"{count} and more" for start, count in sentences.ranges] * sentences.size
    ),
}


# tests that read several places -------------------------------------------------------------------------------------

JointTest: TypeAlias = Callable[[Sentences, Pads], Codes]  # → `FALSE`, `UNKNOWN` or `TRUE` at each anchor, [B, anchors]
Holds: TypeAlias = Callable[[Sentences], NDArray[np.bool_]]  # → [B, T]


def joint_of(node: Node, lexicons: Lexicons) -> JointTest:
    """A test that may read several places. A part that reads outside the sentence is neither true nor false."""
    return JOINT[node[0]](node, lexicons)


def _at(node: Node, lexicons: Lexicons) -> JointTest:
    """`["at", offset, leaf, test]`. A token without a value passes no test."""
    _, offset, leaf, test = node
    passes = test_of(test, lexicons)
    known = Memo(lambda value: TRUE if passes(value) else FALSE, FALSE)

    def read(sentences: Sentences, pads: Pads) -> Codes:
        codes = sentences.shaped(map(known.__getitem__, sentences.values(leaf)))
        out: Codes = moved(codes, offset, pads, before=UNKNOWN, after=UNKNOWN)[0]
        return out

    return read


def _same(node: Node, lexicons: Lexicons) -> JointTest:
    """`["same", negated, [leaf, term, offset], [leaf, term, offset]]`: equal texts at two places."""
    _, negated, *places = node
    sides = [(leaf, Memo[tuple[str, ...]](texts_of(term, lexicons), ()), offset) for leaf, term, offset in places]

    def read(sentences: Sentences, pads: Pads) -> Codes:
        number: dict[str | None, int] = {None: NO_TEXT}
        codes = []
        for leaf, texts, offset in sides:
            found = [(texts[value] or (None,))[0] for value in sentences.values(leaf)]
            numbers = sentences.shaped(number.setdefault(text, len(number)) for text in found)
            codes.append(moved(numbers, offset, pads, before=OUTSIDE_TEXT, after=OUTSIDE_TEXT)[0])
        one, other = codes
        truth = np.where(((one == other) & (one != NO_TEXT)) ^ negated, TRUE, FALSE)
        return np.where((one == OUTSIDE_TEXT) | (other == OUTSIDE_TEXT), UNKNOWN, truth)

    return read


def _holding(
    sign: str, left: Callable[[Sentences, Pads], Floats], right: Callable[[Sentences, Pads], Floats], places: list[int]
) -> JointTest:
    """Whether a comparison holds at each anchor; unknown where one of the places that it reads lies outside."""
    holds = COMPARISONS[sign]

    def read(sentences: Sentences, pads: Pads) -> Codes:
        t = np.arange(-pads[0], sentences.length + pads[1])
        inside = (t + min(places) >= 0) & (t + max(places) < sentences.length)
        truth = np.where(holds(left(sentences, pads), right(sentences, pads)), TRUE, FALSE)
        return np.where(inside, truth, UNKNOWN)

    return read


def _numbers_at(node: Node, lexicons: Lexicons) -> Callable[[Sentences, Pads], Floats]:
    """`["given", number]`, `["less", left, right]`, `["read", leaf, term, offset]`: at each anchor, or NaN."""
    if node[0] == "given":
        return lambda sentences, pads: np.array(float(node[1]))
    if node[0] == "less":
        left, right = (_numbers_at(side, lexicons) for side in node[1:])
        return lambda sentences, pads: left(sentences, pads) - right(sentences, pads)
    _, leaf, term, offset = node
    numbers = numbers_in(leaf, term, lexicons)

    def read(sentences: Sentences, pads: Pads) -> Floats:
        out: Floats = moved(numbers(sentences)[None], offset, pads, before=NAN, after=NAN)[0]
        return out

    return read


def _places(node: Node) -> list[int]:
    """The offsets that a side of a comparison reads."""
    if node[0] == "less":
        return [at for side in node[1:] for at in _places(side)]
    return [node[3]] if node[0] == "read" else []


def _compare_at(node: Node, lexicons: Lexicons) -> JointTest:
    """`["compare_at", sign, left, right]`: numbers of several places."""
    _, sign, *sides = node
    left, right = (_numbers_at(side, lexicons) for side in sides)
    return _holding(sign, left, right, [at for side in sides for at in _places(side)])


def _negated(node: Node, lexicons: Lexicons) -> JointTest:
    inner = joint_of(node[1], lexicons)
    return lambda sentences, pads: TRUE - inner(sentences, pads)


def _combined(operation: np.ufunc) -> Callable[[Node, Lexicons], JointTest]:
    def build(node: Node, lexicons: Lexicons) -> JointTest:
        tests = [joint_of(part, lexicons) for part in node[1:]]
        return lambda sentences, pads: reduce(operation, [test(sentences, pads) for test in tests])

    return build


JOINT: Mapping[str, Callable[[Node, Lexicons], JointTest]] = {
    "at": _at, "same": _same, "compare_at": _compare_at, "not": _negated,
    "and": _combined(np.minimum), "or": _combined(np.maximum),
}  # fmt: skip


# what hard constraints and memories read ----------------------------------------------------------------------------


def holds_of(node: Node, lexicons: Lexicons) -> Holds:
    """A test with two values at each token: what reads outside the sentence does not hold, and its `not` does."""
    if node[0] == "is_true":
        test = joint_of(node[1], lexicons)
        return lambda sentences: np.asarray(test(sentences, NO_PADS) == TRUE)
    parts = [holds_of(part, lexicons) for part in node[1:]]
    if node[0] == "not":
        return lambda sentences: ~parts[0](sentences)
    together = np.logical_and if node[0] == "and" else np.logical_or
    return lambda sentences: reduce(together, [part(sentences) for part in parts])


def state_numbers_of(node: Node, lexicons: Lexicons) -> Callable[[Sentences], Codes]:
    """`["state", states, leaf, term, offset]`: the number of the state that equals a text at each token, [B, T].

    `len(states)` where no state does.
    """
    _, states, leaf, term, offset = node
    texts, none = texts_of(term, lexicons), len(states)
    number = {state: n for n, state in enumerate(states)}
    known = Memo(lambda value: number.get((texts(value) or (None,))[0], none), none)

    def read(sentences: Sentences) -> Codes:
        codes = sentences.shaped(map(known.__getitem__, sentences.values(leaf)))
        out: Codes = moved(codes, offset, NO_PADS, before=none, after=none)[0]
        return out

    return read
