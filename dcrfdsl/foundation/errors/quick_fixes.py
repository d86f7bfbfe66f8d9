"""The edit that a message proposes, for programs that can apply it: "did you mean `word`?" puts `word` in its place.

Not here: finding problems, and remedies that leave a choice; those stay words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .problems import Diagnostic, Span

__all__ = ["QuickFix", "quick_fix"]

_GUESS = re.compile(r"did you mean `(?P<guess>[^`]+)`\?")
# A guess replaces what a message is about where that is one word, key or quoted text.
_ONE_WORD = re.compile(r'[^\s"(){}\[\],:#]+|"[^"\n]*"')


@dataclass(frozen=True, slots=True)
class QuickFix:
    """Replace the text at `span` by `replacement`."""

    span: Span
    replacement: str

    @property
    def title(self) -> str:
        """What the edit does, in words."""
        return f"write `{self.replacement}` in place of `{self.span.text}`"


def quick_fix(diagnostic: Diagnostic) -> QuickFix | None:
    """The edit that the remedy of a message proposes; None if it proposes none, or not at the marked place alone."""
    found = _GUESS.match(diagnostic.help or "")
    if found is None or diagnostic.primary is None:
        return None
    span, guess = diagnostic.primary.span, found["guess"]
    owner, _, name = span.text.rpartition(".")  # of `prior.chian` a message names the clique
    mentioned = {span.text, name} if owner and guess.startswith(f"{owner}.") else {span.text}
    if _ONE_WORD.fullmatch(span.text) is None or not any(f"`{text}`" in diagnostic.message for text in mentioned):
        return None
    return QuickFix(span, guess)
