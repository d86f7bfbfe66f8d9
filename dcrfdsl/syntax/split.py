"""Splits a text into statements before anything is parsed, so that a mistake costs one statement and not the file.

A statement begins at a line whose first character is neither a blank nor `#`, and continues over the indented lines
below it (and over a line that begins with a closing bracket). Comments and blank lines lie between statements. Lines
that belong to the block above them and are not indented get one message for all below a statement. Not here: the
content of a statement, the owner of a comment, lines that are indented unevenly (`mistakes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..foundation import Diagnostic, Label, Source, Span, dataclass
from .statements import SHAPES
from .vocabulary import KEYWORDS

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

    @property
    def first_line(self) -> Span:
        return Span(self.source, self.start, self.start + len(self.text.partition("\n")[0].rstrip()))


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


SHOWN = 3  # further lines in a message
INDENT = "    "

WITH_BLOCKS = (keyword for keyword, parts in SHAPES.items() if parts[-1].form in ("list", "items"))
HEADER = re.compile(rf"({'|'.join(WITH_BLOCKS)})\b[^\n]*:[ \t]*+(#[^\n]*)?\r?(?:\n([ \t]+)|(?=\n)|\Z)")
# A line of a block: a term, alone or followed by something that never follows the first word of a statement.
ITEM = re.compile(
    r"(?:not +|locked +)?([^\W\d]\w*)\b(?:\.\w+)*[ \t]*(?:$|\r|#|[,(\[&=!]|(?:is|in|has|matches|not|and|or)\b)"
)
CLAUSE = re.compile(r"(?:where|with) +\w")
SETTING = re.compile(r"\w+(?:\.\w+)*[ \t]*=(?!=)")


def unindented_lines(chunks: Sequence[Chunk]) -> Mapping[int, Diagnostic | None]:
    """The numbers of the chunks that are such lines; the first one below a statement has the message about all.

    A statement left without any line is among them, without a message.
    """
    messages: dict[int, Diagnostic | None] = {}
    header: int | None = None
    lines: list[int] = []
    for n, chunk in enumerate([*chunks, None]):
        if chunk is not None and header is not None and _is_item(chunk):
            lines.append(n)
            continue
        if header is not None and lines:
            messages.update(_about(chunks, header, lines))
        header, lines = (n if chunk is not None and HEADER.match(chunk.text) else None), []
    return messages


def _is_item(chunk: Chunk) -> bool:
    line = chunk.text.partition("\n")[0]
    if SETTING.match(line) or CLAUSE.match(line):
        return True
    item = ITEM.match(line)
    return item is not None and item[1] not in KEYWORDS


def _about(chunks: Sequence[Chunk], header: int, lines: Sequence[int]) -> dict[int, Diagnostic | None]:
    above = chunks[header]
    match = HEADER.match(above.text)
    indent = (match[3] if match else None) or INDENT
    what = above.text.partition("\n")[0].partition(":")[0].rstrip()
    first, *others = (chunks[n].first_line for n in lines)
    these = "this line belongs" if not others else f"these {len(lines)} lines belong"
    message = f"{these} to the block of `{what}` above, and {'is' if not others else 'are'} not indented"
    colon = above.start + len(what)
    there = [
        Label(Span(above.source, colon, colon + 1), "opens the block"),
        *(Label(o, "and this") for o in others[:SHOWN]),
    ]
    help = f"begin {'it' if not others else 'each of them'} with {len(indent)} blanks"
    problem = Diagnostic("unindented-line", message, Label(first, "expected blanks before this"), tuple(there), help)
    lost: dict[int, Diagnostic | None] = {} if match and match[3] else {header: None}
    return {**lost, lines[0]: problem, **dict.fromkeys(lines[1:])}
