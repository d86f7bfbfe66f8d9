"""The edit that a message proposes, for programs that can apply it: "did you mean `word`?" puts `word` in its place.

Editors and the formats of `check` take it from here. Not here: finding problems, remedies that leave a choice, which
stay words, and edits of whole statements (`language_server.fix_actions`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from .diagnostics import Diagnostic, Span

# What a remedy says before the word to write in place of the one that was found.
_INSTEAD = re.compile(
    r"(?:did you mean|this language calls it|keywords are written in lower case:|this language writes) `([^`]+)`"
)
_QUOTED = re.compile(r"`([^`]+)`")
_ONE_WORD = re.compile(r"[\w.=<>!&|:~^*+-]+")


@dataclass(frozen=True, slots=True)
class QuickFix:
    """Replace the text at `span` by `replacement`."""

    span: Span
    replacement: str

    @property
    def title(self) -> str:
        """What the edit does, in words."""
        return f"write `{self.replacement}` in place of `{self.span.text}`"


def word_instead(diagnostic: Diagnostic, text: str) -> tuple[int, int, str] | None:
    """Where in the marked `text` another word belongs, and the word; None if the remedy proposes none.

    It takes the place of all of the text if that is one word, else of the word that the message quotes, which is likest
    to it and stands in the text once.
    """
    match = _INSTEAD.search(diagnostic.help or "")
    if match is None:
        return None
    new = match[1]
    if _ONE_WORD.fullmatch(text) and "=" not in new.strip("="):
        return 0, len(text), new
    quoted = sorted(set(_QUOTED.findall(diagnostic.message)) - {new}, key=lambda word: _likeness(word, new))
    for word in reversed(quoted):
        places = [found.start() for found in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text)]
        if len(places) == 1:
            return places[0], places[0] + len(word), new
    return None


def _likeness(word: str, other: str) -> tuple[float, str]:
    return SequenceMatcher(None, word, other).ratio(), word


def quick_fix(diagnostic: Diagnostic) -> QuickFix | None:
    """The edit that the remedy of a message proposes; None if it proposes none, or not at one place."""
    if diagnostic.primary is None:
        return None
    span = diagnostic.primary.span
    found = word_instead(diagnostic, span.text)
    if found is None:
        return None
    first, last, new = found
    return QuickFix(Span(span.source, span.start + first, span.start + last), new)
