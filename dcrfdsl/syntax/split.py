"""Splits a text into statements before anything is parsed, so that a mistake costs one statement and not the file.

A statement begins at a line whose first character is neither a blank nor `#`, and continues over the indented lines
below it (and over a line that begins with a closing bracket). Comments and blank lines lie between statements. Not
here: the content of a statement, and the owner of a comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..foundation import Source

CLOSING = (")", "]", "}")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without code. `text` is the comment or "" for a blank line."""

    text: str
    indented: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """Characters `start` to `end` hold one statement, from its first character to the end of its last line of code.

    `gap` are the lines between the previous statement (or the start of the file) and this one.
    """

    source: Source
    start: int
    end: int
    gap: tuple[Line, ...]
    indented: bool = False

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]


def split_statements(source: Source, code: str) -> tuple[tuple[Chunk, ...], tuple[Line, ...]]:
    """The statements of `source` in order, and the comments and blank lines after the last one.

    `code`: the text of the source, with blanks in place of text to be ignored.
    """
    chunks: list[Chunk] = []
    start, end, indented = -1, -1, False
    before: tuple[Line, ...] = ()
    gap: list[Line] = []
    for offset, line in _lines(code):
        code = line.strip(" \t\r")
        if not code or code.startswith("#"):
            gap.append(Line(code, line.startswith((" ", "\t"))))
            continue
        if start >= 0 and line.startswith((" ", "\t", *CLOSING)):
            gap.clear()  # comments inside a statement are read later from the gaps between its tokens
        else:
            if start >= 0:
                chunks.append(Chunk(source, start, end, before, indented))
            before, gap = tuple(gap), []
            indented = line.startswith((" ", "\t"))
            start = offset + line.index(code)
        end = offset + len(line.rstrip(" \t\r"))
    if start >= 0:
        chunks.append(Chunk(source, start, end, before, indented))
    return tuple(chunks), tuple(gap)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    offset = 0
    for line in text.split("\n"):
        yield offset, line
        offset += len(line) + 1
