"""Mistakes at the beginning of a statement, which are recognised before the parser runs.

Tabs and stray indentation, a first word that starts no statement, a line of another tool's template. Each function
returns one `Diagnostic` or None. Not here: mistakes further on in a statement (`hints`).
"""

from __future__ import annotations

import difflib
import re

from ..foundation import Diagnostic, Label, Span
from .foreign import look_for_foreign_line
from .resources import other_words
from .split import Chunk
from .vocabulary import KEYWORDS

# Possessive, so that a line of a million tabs takes linear time.
TAB = re.compile(r"^ *+(\t++)[ \t]*+[^\s#]", re.MULTILINE)
NO_ADVICE = f"a statement starts with one of {', '.join(f'`{word}`' for word in KEYWORDS)}"
SETTING = re.compile(
    r"(prior|optimizer|restarts|seed|patience)(?: *= *| +)([^\W\d]\w*(?:\([^()]*\))?|[0-9]+) *(?:#.*)?$"
)
OPEN_BLOCK = re.compile(r":[ \t]*+(#[^\n]*)?$")


def look_at_opening(chunk: Chunk, above: Chunk | None) -> Diagnostic | None:
    """The mistake at the beginning of `chunk`, or None. `above` is the statement before it."""
    return _tab(chunk) or _indented(chunk) or look_for_foreign_line(chunk) or _unknown(chunk, above)


def _tab(chunk: Chunk) -> Diagnostic | None:
    """A line of code indented by a tab (blank lines and comments do not matter)."""
    text = chunk.source.text
    line = text.rfind("\n", 0, chunk.start) + 1  # the first line may be indented itself
    match = TAB.search(text, line, chunk.end)
    if match is None:
        return None
    label = Label(Span(chunk.source, match.start(1), match.end(1)), "expected spaces")
    help = "replace every tab at the start of a line by 4 spaces"
    return Diagnostic("tab", "a tab in the indentation", label, help=help)


def _indented(chunk: Chunk) -> Diagnostic | None:
    if not chunk.indented:
        return None
    start = chunk.source.text.rfind("\n", 0, chunk.start) + 1
    message = "the first statement is indented; a statement starts at the beginning of its line"
    label = Label(Span(chunk.source, start, chunk.start), "expected no blanks here")
    return Diagnostic("indented-statement", message, label, help="remove the blanks")


def _unknown(chunk: Chunk, above: Chunk | None) -> Diagnostic | None:
    first_line = chunk.first_line.text
    word = re.match(r"\w+|\S", first_line)
    if word is None or word[0] in KEYWORDS:
        return None
    word_found = word[0]
    message = f"`{word_found}` starts no statement"
    label = Label(Span(chunk.source, chunk.start, chunk.start + len(word_found)), "unknown statement")
    help = _advice(word_found, first_line, above)
    return Diagnostic("unknown-statement", message, label, help=help)


def _advice(word: str, line: str, above: Chunk | None) -> str:
    if word.lower() in KEYWORDS:
        return f"keywords are written in lower case: `{word.lower()}`"
    if above is not None and OPEN_BLOCK.search(above.text):
        return f"indent this line if it belongs to the block of `{above.text.partition(' ')[0]}` above"
    setting = SETTING.match(line)
    if setting is not None:
        return f"it is a setting of `train`: write `train likelihood: {setting[1]} = {setting[2]}`"
    synonym = other_words("statements").get(word.lower())
    if synonym is not None:
        return f"this language calls it `{synonym}`"
    close = difflib.get_close_matches(word.lower(), KEYWORDS, n=1, cutoff=0.7)
    if close:
        return f"did you mean `{close[0]}`?"
    return NO_ADVICE
