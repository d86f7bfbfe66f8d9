"""Tokens of a running text; spans of characters and segments of tokens, from one to the other.

A tokenizer is a function of the text alone, so that a text has the same tokens at training and at tagging. White space
is part of no token. Offsets count characters (code points), or UTF-16 units where a file has those of JavaScript. A
span fits if it begins where a token begins and ends where one ends; white space at its ends does not count. One that
does not fit is a complaint. Segments are read from marks as conlleval reads them. Not here: JSON (`span_records`).
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...foundation import Offsets, Table, shortened
from ..columns import interned
from ..segment_marks import as_iob1, mark_table, marks_of_segment, segments_of
from .span_records import RawSpan

Offsets2 = list[tuple[int, int]]  # first character, last character (excluded) of each token or span

_MAY_BE_MARKS = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))  # between them are pictures, and CJK
_ASCII_WORDS = re.compile(r"\w+|[^\w\s]")


def _words(text: str) -> Offsets2:
    """Runs of letters, digits and `_`; every other character by itself. Combining marks go with what they follow."""
    words = _ASCII_WORDS if text.isascii() else _words_with_marks()
    return [match.span() for match in words.finditer(text)]


@functools.cache
def _words_with_marks() -> re.Pattern[str]:
    marks = [code for codes in _MAY_BE_MARKS for code in codes if unicodedata.category(chr(code))[0] == "M"]
    cuts = [-1, *(n for n, (a, b) in enumerate(pairwise(marks)) if b != a + 1), len(marks) - 1]
    runs = "".join(f"{chr(marks[a + 1])}-{chr(marks[b])}" for a, b in pairwise(cuts))
    return re.compile(rf"[\w{runs}]+|[^\w\s{runs}][{runs}]*")


TOKENIZERS: Table[Callable[[str], Offsets2]] = Table(
    "tokenizer",
    {
        "words": _words,
        "whitespace": lambda text: [match.span() for match in re.finditer(r"\S+", text)],
        "characters": lambda text: [match.span() for match in re.finditer(r"\S", text)],
    },
)


_SHOWN = 40


class BadSpan(Exception):
    """A span or a token that cannot be used.   slug: the kind of problem; help: the remedy."""

    def __init__(self, slug: str, message: str, help: str | None = None):
        super().__init__(message)
        self.slug, self.help = slug, help


# offsets ----------------------------------------------------------------------------------------------------------


def to_units(text: str) -> list[int] | None:
    """[characters + 1] the offset of each character in UTF-16 units; None if it is its own number."""
    if text.isascii() or max(text) <= "\uffff":
        return None
    return [0, *accumulate(1 + (char > "\uffff") for char in text)]


def to_characters(span: RawSpan, text: str, utf16: bool) -> tuple[int, int, str]:
    """The checked offsets, in characters, and the label. `BadSpan` for any that no span of the text has."""
    start, end, label, quote = span
    if not (_is_offset(start) and _is_offset(end)):
        found = shortened(json.dumps([start, end]))
        raise BadSpan("bad-span", f"found the offsets {found}, expected two whole numbers")
    if not isinstance(label, str) or not label.strip():
        found = shortened(json.dumps(label, ensure_ascii=False))
        raise BadSpan("bad-span", f"the span [{start}, {end}) has no label: found {found}, expected a text")
    units = to_units(text) if utf16 else None
    length = len(text) if units is None else units[-1]
    if not 0 <= start < end <= length:
        raise BadSpan(
            "bad-span", f"the span [{start}, {end}) is not inside the text, which has {length} "
            f"{'characters' if units is None else 'UTF-16 units'}: {_quoted(text)}",
            _of_units(text, start, end, quote, utf16),
        )  # fmt: skip
    if units is not None:
        inside = next((offset for offset in (start, end) if units[bisect_left(units, offset)] != offset), None)
        if inside is not None:
            raise BadSpan("bad-span", f"the offset {inside} lies between the two units of a character: {_quoted(text)}")
        start, end = bisect_left(units, start), bisect_left(units, end)
    if quote is not None and text[start:end] != quote:
        raise BadSpan(
            "bad-span", f"the span [{span.start}, {span.end}) is {_quoted(text[start:end])} in the text, and the file "
            f"says {_quoted(quote)}",
            _of_units(text, span.start, span.end, quote, utf16),
        )  # fmt: skip
    return start, end, label


def _is_offset(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _of_units(text: str, start: int, end: int, quote: str | None, utf16: bool) -> str | None:
    """The remedy where offsets of UTF-16 are likely."""
    units = to_units(text)
    if utf16 or units is None or not 0 <= start < end <= units[-1]:
        return None
    return 'if a tool of JavaScript counted them, declare `offsets = "utf16"` in the `data` statement'


def _quoted(text: str) -> str:
    return f"`{shortened(text, _SHOWN)}`"


def given_tokens(tokens: Sequence[Any], text: str, utf16: bool) -> Offsets2:
    """Offsets, in characters, of tokens given as `[start, end]`, `{"start", "end"}` or texts in their order."""
    found: Offsets2 = []
    at = 0
    for number, token in enumerate(tokens, 1):
        if isinstance(token, str):
            start = text.find(token, at) if token else -1
            if start < 0:
                message = f"token {number}, {_quoted(token)}, is not in the text behind the one before"
                raise BadSpan("bad-token", message)
            start, end = start, start + len(token)
        else:
            pair = [token.get("start"), token.get("end")] if isinstance(token, Mapping) else token
            if not isinstance(pair, list) or len(pair) != 2:
                raise BadSpan("bad-token", f"token {number} is {shortened(token)}, expected `[start, end]` or a text")
            try:
                start, end, _ = to_characters(RawSpan(pair[0], pair[1], "token"), text, utf16)
            except BadSpan as bad:
                raise BadSpan("bad-token", f"token {number}: {bad}", bad.help) from None
        if start < at:
            message = f"token {number}, {_quoted(text[start:end])}, begins before the end of the one before it"
            raise BadSpan("bad-token", message, "list the tokens in the order of the text")
        found.append((start, end))
        at = end
    return found


class Fitting(NamedTuple):
    """What becomes of spans that do not fit.

    misaligned: `error`, `widen` or `skip`; overlapping: `error` or `longest`.
    """

    misaligned: str
    overlapping: str
    complain: Callable[[BadSpan], None]  # what was changed


class _Segment(NamedTuple):
    first: int  # token
    last: int  #  token, included
    start: int  # character
    end: int  #   character, excluded
    label: str


def marks_of(
    spans: Sequence[tuple[int, int, str]], tokens: Offsets2, text: str, scheme: str, fitting: Fitting
) -> list[str]:
    """The mark of each token. `BadSpan` for a span that does not fit, unless `fitting` tells how to go on."""
    marks = ["O"] * len(tokens)
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    segments = [found for span in spans if (found := _segment(span, starts, ends, text, fitting)) is not None]
    for first, last, _, _, label in _apart(segments, text, fitting):
        marks[first : last + 1] = marks_of_segment(scheme, label, last - first + 1)
    return as_iob1(marks) if scheme == "iob1" else marks


def _segment(
    span: tuple[int, int, str], starts: list[int], ends: list[int], text: str, fitting: Fitting
) -> _Segment | None:
    start, end, label = span
    first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
    if first > last:
        message = f"the span [{start}, {end}) {label} {_quoted(text[start:end])} has no token"
        _bear(fitting, "misaligned-span", message, "skip")
        return None
    found = _Segment(first, last, start, end, label)
    gaps = [slice(*sorted((starts[first], start))), slice(*sorted((ends[last], end)))]
    if any(text[gap].strip() for gap in gaps):
        cut = first if starts[first] < start else last
        token = _quoted(text[starts[cut] : ends[cut]])
        message = f"the span [{start}, {end}) {label} {_quoted(text[start:end])} cuts the token {token}"
        if _bear(fitting, "misaligned-span", message, "widen", "skip") == "skip":
            return None
    return found


def _apart(segments: Sequence[_Segment], text: str, fitting: Fitting) -> Sequence[_Segment]:
    """Segments that share no token; the longest first, and of equal ones the first of the file."""
    in_place = sorted(segments, key=lambda segment: segment[:2])
    clash = next(((a, b) for a, b in pairwise(in_place) if b.first <= a.last), None)
    if clash is None:
        return segments
    a, b = clash
    message = (
        f"the spans [{a.start}, {a.end}) {a.label} {_quoted(text[a.start : a.end])} and [{b.start}, {b.end}) {b.label} "
        f"{_quoted(text[b.start : b.end])} share a token, and a label has one state there"
    )
    _bear(fitting, "overlapping-span", message, "longest")
    kept: list[_Segment] = []
    taken: set[int] = set()
    for segment in sorted(segments, key=lambda segment: segment.first - segment.last):
        tokens = range(segment.first, segment.last + 1)
        if taken.isdisjoint(tokens):
            kept.append(segment)
            taken.update(tokens)
    return kept


def _bear(fitting: Fitting, slug: str, message: str, *ways: str) -> str:
    """How to go on after a problem; raises it if that is an error."""
    problem = slug.removesuffix("-span")
    chosen: str = getattr(fitting, problem)
    offered = " or ".join(f'`{problem} = "{way}"`' for way in ways)
    bad = BadSpan(slug, message, f"correct the span, choose another tokenizer, or declare {offered}")
    if problem == "overlapping":
        bad.help = f"correct the spans, {_AS_TWO}, or declare {offered}"
    if chosen == "error":
        raise bad
    fitting.complain(bad)
    return chosen


_AS_TWO = "read them as two labels, each with its types (`label place in bio(LOC) with others = O`)"


# marks as spans ---------------------------------------------------------------------------------------------------


def segments_in(marks: Sequence[str], sentence_off: Offsets) -> list[list[tuple[int, int, str]]]:
    """The segments of each sentence: first and last token, counted in the sentence, and the type."""
    column = interned(marks, len(marks))
    mark, kind, names = mark_table(column.values)
    found = segments_of(column.codes, mark, kind, sentence_off)
    of = np.searchsorted(sentence_off, found.start, side="right") - 1
    begin = sentence_off[of]
    segments: list[list[tuple[int, int, str]]] = [[] for _ in range(len(sentence_off) - 1)]
    for s, first, last, number in zip(
        of.tolist(), (found.start - begin).tolist(), (found.end - begin).tolist(), found.kind.tolist(), strict=True
    ):
        segments[s].append((first, last, names[number]))
    return segments
