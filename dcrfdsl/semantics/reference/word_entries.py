"""Entries of statements and their options, and of the words inside: functions, tests, places, formats, types, metrics.

What a table of the checker says is taken from there, the rest from `words.md`, whose names a test compares with the
checker's. The grammar of a statement is read off the grammar file, so it is what the parser reads. Not here: methods
(`method_entries`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...syntax import KEYWORDS, other_words, resource_path, shown
from ..checks import FORMATS, METRICS, Format, metric_usages
from ..schema import FUNCTIONS, RANGES, SCHEMES, SEGMENT_FUNCTIONS, FunctionSignature
from .method_entries import stage_settings
from .reference_entry import ReferenceEntry, SettingEntry, written_entries


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
    said, options = {one.name: one for one in written_entries("option of a format")}, []
    for name, one in data_format.options.items():
        told = said[f"{entry.name} {name}"]
        example = entry.written_out if f"{name} =" in entry.written_out else entry.example
        default = told.usage.removeprefix("default: ")
        options.append(SettingEntry(name, one.expected, default, "", "", told.summary, example))
    columns = f" Its columns: {', '.join(f'`{c}`' for c in data_format.sources)}." if data_format.sources else ""
    return replace(
        entry, usage=f"data {entry.name}(COLUMN, …)", summary=entry.summary + columns, settings=tuple(options),
        synonyms=FORMATS.synonyms_of(entry.name),
    )  # fmt: skip


def _function(entry: ReferenceEntry, signature: FunctionSignature) -> ReferenceEntry:
    settings, kinds = [], {kind.name: kind.summary for kind in written_entries("kind of argument")}
    for one in signature.parameters:
        default = "required" if one.default is None else shown(one.default)
        meaning = entry.meanings.get(one.name, "")
        settings.append(SettingEntry(one.name, kinds[one.kind], default, "", "", meaning, entry.example))
    gives = {"value": "one value a position", "values": "several values a position", "test": "a test"}
    gives |= {"scores": "a score for each assignment of the clique", "number": "a number", "statistic": "a number"}
    return replace(
        entry, usage=signature.usage, text=f"It gives {gives[signature.returns]}.", settings=tuple(settings),
        synonyms=FUNCTIONS.synonyms_of(entry.name),
    )  # fmt: skip


# statements -----------------------------------------------------------------------------------------------------------


RULES = {"dcrf": ("edition",), "clique": ("clique", "sites", "site", "where", "with_", "clique_block")}
RULES |= {"piece": ("piece", "member"), "data": ("data", "call"), "train": ("train", "setting", "key")}


def statement_entries() -> Iterator[ReferenceEntry]:
    """An entry a statement, and one an option."""
    written, text = {entry.name: entry for entry in written_entries("statement")}, resource_path("grammar/dcrf.lark")
    found = re.finditer(r"^\??(\w+):[^\n]*(?:\n[ ]+[|][^\n]*)*", text.read_text(encoding="utf-8"), re.MULTILINE)
    rules = {rule[1]: rule[0] for rule in found}
    for keyword in KEYWORDS:
        grammar = "\n".join(rules[rule] for rule in RULES.get(keyword, (keyword,)))
        synonyms = tuple(word for word, meant in other_words("statements").items() if meant == keyword)
        settings = stage_settings() if keyword == "train" else options_of(keyword)
        written_out = written_entries("setting of a stage")[0].example if keyword == "train" else ""
        yield replace(written[keyword], grammar=grammar, settings=settings, written_out=written_out, synonyms=synonyms)
    for keyword in KEYWORDS:
        for option in options_of(keyword):
            summary = f"{option.meaning[0].upper()}{option.meaning[1:]}."
            yield ReferenceEntry(
                f"option of `{keyword}`", option.name, f"{keyword} … with {option.name} = {option.type}", summary,
                f"Default: {option.default}.", example=option.example,
            )  # fmt: skip


def options_of(keyword: str) -> tuple[SettingEntry, ...]:
    """The options of a statement, as the reference describes them."""
    options = []
    for entry in written_entries("option of a statement"):
        of, _, name = entry.name.partition(" ")
        if of == keyword:
            values, _, default = entry.usage.partition("; default: ")
            options.append(SettingEntry(name, values, default, "", "", entry.summary, entry.example))
    return tuple(options)
