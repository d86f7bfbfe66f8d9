"""Lines that belong to the block above them but are not indented: one message for all such lines below a statement.

Not here: lines that are indented unevenly (`punctuation`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..foundation import Diagnostic, Label, Span
from .split import Chunk
from .statements import SHAPES
from .vocabulary import KEYWORDS

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
    first, *others = (_line(chunks[n]) for n in lines)
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


def _line(chunk: Chunk) -> Span:
    return Span(chunk.source, chunk.start, chunk.start + len(chunk.text.partition("\n")[0].rstrip()))
