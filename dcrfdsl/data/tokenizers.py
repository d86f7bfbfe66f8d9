"""Tokens of a running text, as offsets of characters (code points): the tokenizers that `data spans(…)` can name.

Each is a function of the text alone, so that a text has the same tokens at training and at tagging. White space is part
of no token. Not here: tokens that the data gives (`span_tokens`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

from ..foundation import Table

Offsets2 = list[tuple[int, int]]  # first character, last character (excluded) of each token or span

_MAY_BE_MARKS = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))  # between them are pictures, and CJK
_RUNS = re.compile(r"\S+")
_SINGLE = re.compile(r"\S")
_ASCII_WORDS = re.compile(r"\w+|[^\w\s]")


def _whitespace(text: str) -> Offsets2:
    return [match.span() for match in _RUNS.finditer(text)]


def _characters(text: str) -> Offsets2:
    return [match.span() for match in _SINGLE.finditer(text)]


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
    "tokenizer", {"words": _words, "whitespace": _whitespace, "characters": _characters}
)
