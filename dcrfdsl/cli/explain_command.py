"""`dcrfdsl explain`: any word of the language, and any kind of message, from the tables that the checker uses."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from .console import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..semantics import ReferenceEntry, SettingEntry

__all__ = ["described", "explain"]

MOST_COLUMNS = 100  # longer lines are hard to read


def explain(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Words of the language, or kinds of message.")
    ] = None,
) -> None:
    """Explain a statement, function, method, setting, metric or kind of message.

    Without a NAME it lists all names.

    \b
    Example:
      dcrfdsl explain clique
      dcrfdsl explain trp tolerance
      dcrfdsl explain unknown-name
    """
    if not names:
        print("\n".join(_overview()))
        return
    pages = [_page(name) for name in names]
    print("\n\n".join(pages))


def _overview() -> Iterable[str]:
    """All names, a paragraph a kind."""
    from ..semantics import reference_entries

    kinds: dict[str, list[str]] = {}
    for entry in reference_entries():
        kinds.setdefault(entry.kind, []).append(entry.name)
    for kind, names in kinds.items():
        yield "\n".join([kind, *_indented(["  ".join(names)])])
    yield "\n`dcrfdsl explain NAME` explains one of them, or a setting."


def _page(name: str) -> str:
    """All that stands under a name; DcrfError if nothing does."""
    from ..semantics import entries_named, nearest_name, settings_named

    in_brackets = re.fullmatch(r"(?:error|warning|note)\[(.+)\]", name)
    slug = in_brackets[1] if in_brackets else name
    entries, settings = entries_named(slug), settings_named(name)
    if not entries and not settings:
        guess = nearest_name(name)
        remedy = f"did you mean `{guess}`?" if guess else "`dcrfdsl explain` lists all names"
        refuse("unknown-word", f"`{name}` is no word of the language and no kind of message", remedy)
    parts = [described(entry) for entry in entries]
    if settings:
        parts.append("\n".join(_setting_lines(name, settings)))
    return "\n\n".join(parts)


def described(entry: ReferenceEntry) -> str:
    """An entry as plain text."""
    lines = [f"{entry.kind} {entry.name}", ""]
    if entry.usage:
        lines += [*_indented([entry.usage], 4), ""]
    lines += [*_indented([entry.summary, entry.text], 0)]
    if entry.settings:
        lines.append("")
        for setting in entry.settings:
            lines += [f"  {setting.name}  {_facts(setting)}".rstrip(), *_indented([setting.meaning], 6)]
    for title, text in (("Example", entry.example), ("Grammar", entry.grammar)):
        if text:
            lines += ["", f"{title}:", *(f"    {line}" for line in text.strip().splitlines())]
    if entry.source:
        lines += ["", f"Source: {entry.source}"]
    if entry.synonyms:
        lines += ["", f"Elsewhere: {', '.join(entry.synonyms)}"]
    return "\n".join(lines)


def _setting_lines(name: str, settings: Sequence[tuple[str, SettingEntry]]) -> Iterable[str]:
    """A setting of this name, with whatever has it; those that say the same stand together."""
    holders: dict[SettingEntry, list[str]] = {}
    for owner, setting in settings:
        holders.setdefault(setting, []).append(owner)
    yield f"setting {name}"
    for setting, owners in holders.items():
        yield ""
        yield from _indented([f"of {', '.join(owners)}: {_facts(setting)}"])
        yield from _indented([setting.meaning], 6)


def _facts(setting: SettingEntry) -> str:
    """Type, default, limits and unit."""
    facts = [setting.type, setting.limits, f"default {setting.default}" if setting.default else "", setting.unit]
    return ", ".join(filter(None, facts))


def _indented(paragraphs: Iterable[str], by: int = 2) -> list[str]:
    """Paragraphs broken to the width of the terminal, without the empty ones."""
    width = max(40, min(MOST_COLUMNS, shutil.get_terminal_size().columns))
    return [
        line
        for paragraph in paragraphs
        for line in textwrap.wrap(
            paragraph, width, initial_indent=" " * by, subsequent_indent=" " * by, break_long_words=False,
            break_on_hyphens=False,
        )
    ]  # fmt: skip
