"""Entries of the words inside statements: feature functions, tests, places, formats, types, domains, rules, metrics.

What a table of the checker says is taken from there, the rest from `words.md`, whose names a test compares with the
checker's. Not here: statements and their options (`statement_entries`), methods (`method_entries`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...syntax import shown
from ..checks import FORMATS, METRICS, Format, metric_usages
from ..schema import FUNCTIONS, RANGES, SCHEMES, SEGMENT_FUNCTIONS, FunctionSignature
from .reference_entry import ReferenceEntry, SettingEntry, written_entries

LENGTH_KINDS = {
    "term": "a column, or a function of one",
    "lengths": "a length from 1, or a range of lengths",
    "pattern": "a regular expression of RE2, `/…/` or `/…/i`",
    "flag": "`yes` or `no`",
    "lexicon": "the name of a lexicon",
    "numbers": "a whole number from 2, or several numbers that ascend",
    "scores": "a column of the type `scores(…)`",
    "factor": "a number above 0",
    "number": "a column of numbers, or a function that gives one",
    "window": "a number with a window behind it",
}


def word_entries() -> Iterator[ReferenceEntry]:
    """An entry for each word that stands inside a statement."""
    for entry in written_entries(FUNCTIONS.kind):
        yield _function(entry, FUNCTIONS[entry.name])
    for name, meaning in SEGMENT_FUNCTIONS.items():
        yield ReferenceEntry(
            "function of a segment", name, f"segment LABEL up to N: {name}(COLUMN)",
            f"{meaning[0].upper()}{meaning[1:]}.", example=f"segment chunk up to 8: lower({name}(word))",
        )  # fmt: skip
    yield from written_entries("test")
    yield from written_entries("place")
    for entry in written_entries(FORMATS.kind):
        yield _format(entry, FORMATS[entry.name])
    yield from written_entries("column type")
    for entry in written_entries("domain"):
        synonyms, summary = SCHEMES.synonyms_of(entry.name), entry.summary
        if entry.name in SCHEMES:
            marks = ", ".join(f"{mark}-X" for mark in SCHEMES[entry.name].marks)
            summary += f" The states are in this order: {marks} of the first type, of the second …, then O."
        yield replace(entry, summary=summary, synonyms=synonyms)
    for entry in written_entries(METRICS.kind):
        usages, synonyms = metric_usages(entry.name), METRICS.synonyms_of(entry.name)
        example = f"evaluate {usages[0]}".replace("(label", "(chunk").replace("column", "word")
        yield replace(entry, usage="evaluate " + " | ".join(usages), example=example, synonyms=synonyms)
    for name, kind in RANGES.items():
        yield ReferenceEntry(
            RANGES.kind, name, f"let NAME = VALUE tune {kind.example}", f"{kind.summary} It takes "
                f"{kind.expected}.",
            example=f"let spread = 1 tune {kind.example}\ntrain likelihood: prior = gaussian(variance = spread)",
            synonyms=RANGES.synonyms_of(name),
        )  # fmt: skip


def _format(entry: ReferenceEntry, data_format: Format) -> ReferenceEntry:
    options = []
    for name, one in data_format.options.items():
        example = entry.written_out if f"{name} =" in entry.written_out else entry.example
        options.append(SettingEntry(name, one.expected, one.default, "", "", one.meaning, example))
    columns = f" Its columns: {', '.join(f'`{c}`' for c in data_format.sources)}." if data_format.sources else ""
    return replace(
        entry, usage=f"data {entry.name}(COLUMN, …)", summary=entry.summary + columns, settings=tuple(options),
        synonyms=FORMATS.synonyms_of(entry.name),
    )  # fmt: skip


def _function(entry: ReferenceEntry, signature: FunctionSignature) -> ReferenceEntry:
    settings = []
    for one in signature.parameters:
        default = "required" if one.default is None else shown(one.default)
        settings.append(SettingEntry(one.name, LENGTH_KINDS[one.kind], default, "", "", one.meaning, entry.example))
    gives = {"value": "one value a position", "values": "several values a position", "test": "a test"}
    gives |= {"scores": "a score for each assignment of the clique", "number": "a number", "statistic": "a number"}
    return replace(
        entry, usage=signature.usage, text=f"It gives {gives[signature.returns]}.", settings=tuple(settings),
        synonyms=FUNCTIONS.synonyms_of(entry.name),
    )  # fmt: skip
