"""Entries of statements, with their grammar, and of the options that they take after `with`.

Their prose stands in `words.md`. The grammar is read off the grammar file, so it is what the parser reads. Not here:
what stands inside statements (`word_entries`, `method_entries`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...syntax import BY_KEYWORD, KEYWORDS, SYNONYMS, resource_path
from .method_entries import STAGE_EXAMPLES, stage_settings
from .reference_entry import ReferenceEntry, SettingEntry, written_entries

RULES = {"dcrf": ("edition",), "clique": ("clique", "sites", "site", "where", "with_", "clique_block")}
RULES |= {"piece": ("piece", "member"), "data": ("data", "call"), "train": ("train", "setting", "key")}


def statement_entries() -> Iterator[ReferenceEntry]:
    """An entry a statement, and one an option."""
    rules, written = _grammar_rules(), {entry.name: entry for entry in written_entries("statement")}
    for keyword in KEYWORDS:
        grammar = "\n".join(rules[rule] for rule in RULES.get(keyword, (keyword,)))
        synonyms = tuple(word for word, meant in SYNONYMS.items() if meant == keyword)
        settings = stage_settings() if keyword == "train" else options_of(keyword)
        written_out = STAGE_EXAMPLES["train"] if keyword == "train" else ""
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
    kind = BY_KEYWORD.get(keyword)
    options = kind.with_options.get(keyword, {}) if kind is not None else {}
    return tuple(
        SettingEntry(name, option.type, option.default, "", "", option.meaning, option.example)
        for name, option in options.items()
    )


def _grammar_rules() -> dict[str, str]:
    """Each rule of the grammar with its text."""
    text = resource_path("grammar/dcrf.lark").read_text(encoding="utf-8")
    return {rule[1]: rule[0] for rule in re.finditer(r"^\??(\w+):[^\n]*(?:\n[ ]+[|][^\n]*)*", text, re.MULTILINE)}
