"""What stands around the cursor in a statement, finished or not, and the entries of the reference for it.

Clause, open brackets and the setting that has a value are found by reading words from left to right, which never fails.
What is said of a word is what `dcrfdsl explain` says. Not here: what may stand there (`completion`), the entries
(`semantics.reference`), names that the template declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from ..foundation import dataclass
from ..semantics import ReferenceEntry, SettingEntry, entries_named, reference_entries
from ..syntax import BY_KEYWORD, SHAPES
from .editor_text import Word, words_of

DOMAIN_OF = tuple(keyword for keyword, parts in SHAPES.items() if any(part.name == "domain" for part in parts))
SETTINGS_AFTER_COLON = ("train", "infer", "decode")
# word -> the statements in which it begins a clause; `=` and `in` have other meanings, too
CLAUSES = {
    word: tuple(keyword for keyword, parts in SHAPES.items() if any(word in part.before.split() for part in parts))
    for word in dict.fromkeys(word for parts in SHAPES.values() for part in parts for word in part.before.split())
    if word not in ("=", "in")
}


@dataclass(frozen=True)
class OpenCall:
    """A bracket that is open at the cursor. callee: the name before a `(`, or "".   argument: its number from 0.   key:
    of a named argument whose value stands at the cursor, or "".   start: of the name.
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


# entries of the reference ---------------------------------------------------------------------------------------------


# The setting that a method is the value of -> kinds of methods.
KIND_OF_KEY: Mapping[str, tuple[str, ...]] = {
    "prior": ("prior",), "optimizer": ("optimizer",), "infer": ("inference method",), "decode": ("decoding rule",),
    "importance": ("kind of importance",), "smoothing": ("smoothing function",), "nota": ("set of cases for `nota`",),
    "loss": ("loss", "cost of wrong labels"), "cost": ("cost of wrong labels",), "kernel": ("observation kernel",),
}  # fmt: skip
KIND_OF_KEYWORD: Mapping[str, tuple[str, ...]] = {
    "data": ("data format",), "infer": ("inference method",), "decode": ("decoding rule",),
    "train": ("training criterion",), "evaluate": ("metric",), "let": ("search range",),
    "label": ("domain",), "latent": ("domain",), "memory": ("domain", "feature function"),
}  # fmt: skip
FUNCTIONS = ("feature function",)
WITH_OPTIONS = tuple(keyword for keyword, kind in BY_KEYWORD.items() if keyword in kind.with_options)
QUOTED = re.compile(r"`([^`]+)`")


@cache
def entries_of(*kinds: str) -> tuple[ReferenceEntry, ...]:
    """All entries of these kinds, in the order of the reference."""
    return tuple(entry for kind in kinds for entry in reference_entries() if entry.kind == kind)


@cache
def _method_kinds() -> frozenset[str]:
    """Kinds of what takes settings in brackets."""
    kinds = {entry.kind for entry in reference_entries() if entry.settings}
    return frozenset(kind for kind in kinds if kind != "statement" and not kind.startswith("option"))


def entry_named(name: str, kinds: Iterable[str]) -> ReferenceEntry | None:
    """The entry of this name, of the first of the kinds that has one."""
    found = [entry for entry in entries_named(name) if entry.name == name]
    return next((entry for kind in kinds for entry in found if entry.kind == kind), None)


def entry_of(name: str, kinds: Sequence[str] = ()) -> ReferenceEntry | None:
    """The entry of this name, of one of the kinds if there is one, else of anything that takes settings."""
    takers = (one for one in entries_named(name) if one.name == name and one.kind in _method_kinds())
    return entry_named(name, kinds) or next(takers, None)


def kinds_here(context: CursorContext) -> tuple[str, ...]:
    """The kinds of methods that may stand at the cursor, by the setting or statement."""
    return _kinds(context, context.call.key if context.call and context.call.key else context.key, 0)


def callee_kinds(context: CursorContext, depth: int) -> tuple[str, ...]:
    """The kinds of what is called by the bracket number `depth`."""
    return _kinds(context, context.calls[depth - 1].key if depth > 0 else context.key, depth)


def _kinds(context: CursorContext, key: str, depth: int) -> tuple[str, ...]:
    """key: of the setting whose value is asked for, if there is one."""
    if key and context.clause != "with" and (found := KIND_OF_KEY.get(key.partition(".")[0])):
        return found
    by_keyword = context.keyword == "evaluate" or (depth == 0 and context.clause in ("head", "in", "tune"))
    return KIND_OF_KEYWORD.get(context.keyword, FUNCTIONS) if by_keyword else FUNCTIONS


def settings_here(context: CursorContext) -> Sequence[SettingEntry]:
    """The settings that may be given a value at the cursor, or that one of which has its value there."""
    if context.call is not None:
        if not context.call.callee:
            return ()
        entry = entry_of(context.call.callee, callee_kinds(context, len(context.calls) - 1))
        return entry.settings if entry is not None else ()
    if context.clause == "with" and context.keyword in WITH_OPTIONS:
        return _statement(context.keyword).settings
    if context.clause == ":" and context.keyword in KIND_OF_KEYWORD:
        method = context.before[1].text if len(context.before) > 1 else ""
        own = entry_of(method, KIND_OF_KEYWORD[context.keyword])
        settings = own.settings if own is not None else ()
        return (*_statement("train").settings, *settings) if context.keyword == "train" else settings
    return ()


@cache
def _statement(keyword: str) -> ReferenceEntry:
    return next(entry for entry in entries_named(keyword) if entry.kind == "statement")


def values_of(setting: SettingEntry) -> tuple[str, ...]:
    """The words that are values of a setting, if its type lists them."""
    if setting.type == "yes or no":
        return ("yes", "no")
    return tuple(QUOTED.findall(setting.type))


def setting_markdown(setting: SettingEntry) -> str:
    lines = [f"**{setting.name}** · {setting.facts}", setting.meaning]
    return "\n\n".join([*filter(None, lines), *_code(setting.example)])


def entry_markdown(entry: ReferenceEntry) -> str:
    """An entry as Markdown: what `dcrfdsl explain` says, without its grammar."""
    settings = "\n".join(f"* `{one.name}` ({one.facts}): {one.meaning}" for one in entry.settings)
    source = f"Source: {entry.source}" if entry.source else ""
    head = (f"**{entry.name}** · {entry.kind}", *_code(entry.usage), entry.summary, entry.text)
    return "\n\n".join(filter(None, (*head, settings, *_code(entry.example), source)))


def _code(text: str) -> list[str]:
    return [f"```dcrf\n{text.strip()}\n```"] if text.strip() else []
