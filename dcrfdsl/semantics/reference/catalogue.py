"""All entries of the reference, by name: what `dcrfdsl explain` and the pages of the documentation show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from ...foundation import did_you_mean
from ..checks import FORMATS
from .message_pages import EXPLANATIONS
from .method_entries import method_entries, stage_settings
from .reference_entry import ReferenceEntry, SettingEntry
from .word_entries import statement_entries, word_entries


@cache
def reference_entries() -> tuple[ReferenceEntry, ...]:
    """Every entry: statements, options, words, methods, messages."""
    messages = (
        ReferenceEntry("message", slug, "", page.meaning, f"Remedy: {page.remedy}")
        for slug, page in sorted(EXPLANATIONS.items())
    )
    return (*statement_entries(), *word_entries(), *method_entries(), *messages)


def entries_named(name: str) -> Sequence[ReferenceEntry]:
    """The entries of that name, in the order of the reference; several if it stands for several things.

    A source of columns, as `token` or `column`, is explained with the formats that have it.
    """
    named = [entry for entry in reference_entries() if entry.name == name]
    return named or [entry for entry in reference_entries() if entry.kind == FORMATS.kind and _has(entry, name)]


def _has(entry: ReferenceEntry, source: str) -> bool:
    data_format = FORMATS[entry.name]
    return source in (*(data_format.sources or ()), *data_format.keyed)


def settings_named(name: str) -> Sequence[tuple[str, SettingEntry]]:
    """The settings of that name, each with what has it: `lbfgs`, or `every stage of training`."""
    of_stages = [("every stage of training", setting) for setting in stage_settings()]
    of_methods = [
        (f"{entry.kind} `{entry.name}`", setting)
        for entry in reference_entries()
        if entry.kind not in ("statement", "feature function")
        for setting in entry.settings
    ]
    return [(owner, setting) for owner, setting in (*of_stages, *of_methods) if setting.name == name]


def nearest_name(word: str) -> str | None:
    """The name that a misspelt `word`, or another tool's word, most likely means."""
    synonyms: Mapping[str, str] = {synonym: entry.name for entry in reference_entries() for synonym in entry.synonyms}
    names = {entry.name for entry in reference_entries()}
    names |= {setting.name for entry in reference_entries() for setting in entry.settings}
    return did_you_mean(word, sorted(names), synonyms)
