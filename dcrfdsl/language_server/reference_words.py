"""Entries of the reference as an editor shows them, found by what stands around a word.

What is said of a word is what `dcrfdsl explain` says. Not here: the entries (`semantics.reference`), names that the
template declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ..semantics import ReferenceEntry, SettingEntry, entries_named, reference_entries
from .cursor_context import CursorContext

# The setting that a method is the value of -> kinds of methods.
KIND_OF_KEY: Mapping[str, tuple[str, ...]] = {
    "prior": ("prior",), "optimizer": ("optimizer",), "infer": ("inference method",), "decode": ("decoding rule",),
    "importance": ("kind of importance",), "smoothing": ("smoothing function",), "nota": ("set of cases for `nota`",),
    "loss": ("loss", "loss of a margin"), "kernel": ("observation kernel",),
}  # fmt: skip
KIND_OF_KEYWORD: Mapping[str, tuple[str, ...]] = {
    "data": ("data format",), "infer": ("inference method",), "decode": ("decoding rule",),
    "train": ("training criterion",), "evaluate": ("metric",), "let": ("search range",),
    "label": ("domain",), "latent": ("domain",), "memory": ("domain", "feature function"),
}  # fmt: skip
WITH_OPTIONS = ("label", "lexicon", "features", "clique", "segment")
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


def entry_of(name: str, kinds: Sequence[str] = ()) -> ReferenceEntry | None:
    """The entry of this name, of one of the kinds if there is one, else of anything that takes settings."""
    found = [entry for entry in entries_named(name) if entry.name == name]
    for kind in kinds:
        for entry in found:
            if entry.kind == kind:
                return entry
    takers = [entry for entry in found if entry.kind in _method_kinds()]
    return takers[0] if takers else None


def kinds_here(context: CursorContext) -> tuple[str, ...]:
    """The kinds of methods that may stand at the cursor, by the setting or statement."""
    key = context.call.key if context.call and context.call.key else context.key
    if key and (found := KIND_OF_KEY.get(key.partition(".")[0])):
        return found
    if context.clause in ("head", "in", "tune") or (context.keyword == "evaluate"):
        return KIND_OF_KEYWORD.get(context.keyword, ("feature function",))
    return ("feature function",)


def callee_kinds(context: CursorContext, depth: int) -> tuple[str, ...]:
    """The kinds of what is called by the bracket number `depth`."""
    outer = context.calls[depth - 1].key if depth > 0 else context.key
    if outer and (found := KIND_OF_KEY.get(outer.partition(".")[0])):
        return found
    if depth == 0 and context.clause in ("head", "in", "tune"):
        return KIND_OF_KEYWORD.get(context.keyword, ("feature function",))
    return ("metric",) if context.keyword == "evaluate" else ("feature function",)


def settings_here(context: CursorContext) -> Sequence[SettingEntry]:
    """The settings that may be given a value at the cursor, or that one of which has its value there."""
    if context.call is not None:
        if context.call.opener != "(" or not context.call.callee:
            return ()
        entry = entry_of(context.call.callee, callee_kinds(context, len(context.calls) - 1))
        return entry.settings if entry is not None else ()
    if context.clause == "with" and context.keyword in WITH_OPTIONS:
        return _statement(context.keyword).settings
    if context.clause == ":" and context.keyword in KIND_OF_KEYWORD:
        own = entry_of(_method_name(context), KIND_OF_KEYWORD[context.keyword])
        settings = own.settings if own is not None else ()
        return (*_statement("train").settings, *settings) if context.keyword == "train" else settings
    return ()


def _method_name(context: CursorContext) -> str:
    return context.before[1].text if len(context.before) > 1 else ""


@cache
def _statement(keyword: str) -> ReferenceEntry:
    return next(entry for entry in entries_named(keyword) if entry.kind == "statement")


def values_of(setting: SettingEntry) -> tuple[str, ...]:
    """The words that are values of a setting, if its type lists them."""
    if setting.type == "yes or no":
        return ("yes", "no")
    return tuple(QUOTED.findall(setting.type))


def facts_of_setting(setting: SettingEntry) -> str:
    default = setting.default if setting.default in ("", "required") else f"default {setting.default}"
    return ", ".join(filter(None, [setting.type, setting.limits, default, setting.unit]))


def setting_markdown(setting: SettingEntry) -> str:
    lines = [f"**{setting.name}** · {facts_of_setting(setting)}", setting.meaning]
    return "\n\n".join([*filter(None, lines), *_code(setting.example)])


def entry_markdown(entry: ReferenceEntry) -> str:
    """An entry as Markdown: what `dcrfdsl explain` says, without its grammar."""
    return "\n\n".join(_paragraphs(entry))


def _paragraphs(entry: ReferenceEntry) -> Iterator[str]:
    yield f"**{entry.name}** · {entry.kind}"
    yield from _code(entry.usage)
    yield entry.summary
    if entry.text:
        yield entry.text
    if entry.settings:
        yield "\n".join(f"* `{one.name}` ({facts_of_setting(one)}): {one.meaning}" for one in entry.settings)
    yield from _code(entry.example)
    if entry.source:
        yield f"Source: {entry.source}"


def _code(text: str) -> list[str]:
    return [f"```dcrf\n{text.strip()}\n```"] if text.strip() else []
