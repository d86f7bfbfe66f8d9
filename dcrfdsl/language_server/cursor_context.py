"""What stands around the cursor in a statement, finished or not: clause, open brackets, the setting that has a value.

It reads words from left to right and never fails. Not here: what may stand there (`completion`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .text_words import Word, words_of

DOMAIN_OF = ("label", "latent", "memory")
SETTINGS_AFTER_COLON = ("train", "infer", "decode")
CONDITIONS = ("forbid", "require")
CLAUSES = {
    "with": ("label", "latent", "lexicon", "features", "clique", "segment"), "as": (
        "clique", "segment", "forbid", "require", "once", "train",
    ), "where": ("clique",), "when": CONDITIONS, "after": ("train",), "over": ("piece",), "except": ("once",),
    "for": ("label",), "tune": ("let",), "initially": ("memory",), "up": ("segment",), "to": ("segment",),
}  # fmt: skip


@dataclass(frozen=True)
class OpenCall:
    """A bracket that is open at the cursor. callee: the name before it.   argument: its number from 0.   key: of a
    named argument whose value stands at the cursor, or "".   start: of the name.
    """

    opener: str
    callee: str
    start: int
    argument: int = 0
    key: str = ""


@dataclass(frozen=True)
class CursorContext:
    """keyword: of the statement.   clause: `head`, `in`, `with`, `:`, `=` …   key: of the setting that has its value
    here, dots included.   calls: open brackets, the innermost last.   before: the words before the cursor, those of
    comments left out.   start, end: of the word that is being written.   inside: the kind of the word that the cursor
    is inside, if it is a text or a comment.   new_item: nothing of the setting or feature stands before the cursor.
    """

    keyword: str
    clause: str
    key: str
    calls: tuple[OpenCall, ...]
    before: tuple[Word, ...]
    start: int
    end: int
    inside: str = ""
    new_item: bool = False

    @property
    def last(self) -> str:
        """The text of the word before the cursor."""
        return self.before[-1].text if self.before else ""

    @property
    def call(self) -> OpenCall | None:
        return self.calls[-1] if self.calls else None


def context_at(text: str, offset: int) -> CursorContext:
    """The context at an offset of a statement's text."""
    before, current = [], None
    for word in words_of(text):
        if word.start >= offset:
            break
        if word.kind in ("comment", "text") and offset < word.end + (word.kind == "comment" or not _closed(word)):
            current = word
            break
        if word.kind in ("name", "state", "number") and word.start < offset <= word.end:
            current = word
            break
        if word.kind != "comment":
            before.append(word)
    reader = _ContextReader(text)
    for n, word in enumerate(before):
        reader.read(word, before[n - 1] if n else None, before[n - 2] if n > 1 else None)
    start = current.start if current else offset
    reader.line_break(before[-1] if before else None, start)
    return CursorContext(
        reader.keyword,
        reader.clause,
        reader.key,
        tuple(reader.calls),
        tuple(before),
        start,
        current.end if current else offset,
        current.kind if current and current.kind in ("comment", "text") else "",
        not before or before[-1].text in (",", ":") or reader.fresh,
    )


def _closed(word: Word) -> bool:
    return len(word.text) > 1 and word.text.endswith('"')


class _ContextReader:
    """Follows the clauses, brackets and settings of a statement."""

    def __init__(self, text: str):
        self.text = text
        self.keyword, self.clause, self.key, self.fresh = "", "head", "", False
        self.calls: list[OpenCall] = []

    def line_break(self, last: Word | None, place: int) -> None:
        """A line of a block begins a new setting or feature, outside brackets."""
        self.fresh = last is not None and not self.calls and "\n" in self.text[last.end : place]
        if self.fresh:
            self.key = ""
            if self.clause != "head":
                self.clause = ":"

    def read(self, word: Word, last: Word | None, second: Word | None) -> None:
        self.line_break(last, word.start)
        if last is None:
            self.keyword = word.text
        elif word.text in "([{" and word.kind == "bracket":
            callee = last if word.text == "(" and last.kind == "name" else None
            self.calls.append(OpenCall(word.text, callee.text if callee else "", callee.start if callee else -1))
        elif word.text in ")]}" and word.kind == "bracket":
            if self.calls:
                self.calls.pop()
        elif self.calls:
            self._in_brackets(word, last)
        else:
            self._outside(word, last, second)

    def _in_brackets(self, word: Word, last: Word) -> None:
        call = self.calls[-1]
        if word.text == ",":
            self.calls[-1] = replace(call, argument=call.argument + 1, key="")
        elif word.text in ("=", ":") and call.opener == "(" and last.kind == "name":
            self.calls[-1] = replace(call, key=last.text if word.text == "=" else ":")

    def _outside(self, word: Word, last: Word, second: Word | None) -> None:
        if word.text == ",":
            self.key = ""
        elif word.text == ":":
            self.clause, self.key = ":", ""
        elif word.text == "=":
            self._equals(last, second)
        elif word.text == "in" and self.keyword in DOMAIN_OF and self.clause == "head":
            self.clause = "in"
        elif self.keyword in CLAUSES.get(word.text, ()):
            self.clause, self.key = word.text, ""

    def _equals(self, last: Word, second: Word | None) -> None:
        if self.clause == "with" or (self.clause == ":" and self.keyword in SETTINGS_AFTER_COLON):
            start = last.start
            while start and (self.text[start - 1].isalnum() or self.text[start - 1] in "._"):
                start -= 1
            self.key = self.text[start : last.end]
        elif self.clause in ("head", "in") and self.keyword in ("memory", "view", "let", "lexicon"):
            self.clause = "="
