"""One word of the language as the reference describes it, and what prose says of it, in `words.md`.

Not here: what tables and classes say (`word_entries`, `method_entries`), and how entries are shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path

from ...foundation import dataclass

WORDS = Path(__file__).with_name("words.md")
EXAMPLE = re.compile(r"^```\n((?:.*\n)+?)```$", re.MULTILINE)
MEANING = re.compile(r"^\* (\w+): (.*(?:\n  .*)*)\n*", re.MULTILINE)
SOURCE = re.compile(r"^Source: (.*(?:\n.+)*)\n*", re.MULTILINE)


@dataclass(frozen=True)
class SettingEntry:
    """A setting of a method or an option of a statement; `default`, `limits` and `unit` may be empty.

    example: lines of a template that write it. Settings of one description are equal whatever their examples are.
    """

    name: str
    type: str
    default: str
    limits: str
    unit: str
    meaning: str
    example: str = field(default="", compare=False)

    @property
    def facts(self) -> str:
        """Type, limits, default and unit, as they are shown beside the name."""
        default = self.default if self.default in ("", "required") else f"default {self.default}"
        return ", ".join(filter(None, [self.type, self.limits, default, self.unit]))


@dataclass(frozen=True)
class ReferenceEntry:
    """`kind` is the word that messages use, such as `inference method`.

    usage: how it is written.   summary: one sentence, or a few.   grammar: its rules in the grammar of the language.
    example: lines of a template that use it.   written_out: lines with the settings that the example leaves out.
    source: paper and equation.   synonyms: words of other tools for it.   meanings: of the settings, by their names.
    """

    kind: str
    name: str
    usage: str
    summary: str
    text: str = ""
    grammar: str = ""
    settings: tuple[SettingEntry, ...] = ()
    example: str = ""
    written_out: str = ""
    source: str = ""
    synonyms: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict, compare=False)


@cache
def written_entries(kind: str) -> tuple[ReferenceEntry, ...]:
    """The words of a kind that `words.md` describes, in its order: usage, summary, text, source, settings, examples."""
    found = []
    section = WORDS.read_text(encoding="utf-8").partition(f"\n# {kind}\n")[2].partition("\n# ")[0]
    shared, *pages = section.split("\n## ")
    for page in pages:
        name, _, body = page.partition("\n")
        example, written_out, *_ = (*(lines.rstrip("\n") for lines in EXAMPLE.findall(body)), "", "")
        body = EXAMPLE.sub("", body)
        source = " ".join("".join(SOURCE.findall(body)).split())
        meanings = {name: " ".join(meaning.split()) for name, meaning in MEANING.findall(shared + body)}
        blocks = MEANING.sub("", SOURCE.sub("", body)).strip("\n").split("\n\n")
        usage = blocks.pop(0).strip() if blocks[0].startswith("    ") else ""
        summary, text, *_ = (*(" ".join(block.split()) for block in blocks), "", "")
        found.append(
            ReferenceEntry(
                kind, name, usage, summary, text, example=example, written_out=written_out, source=source,
                meanings=meanings,
            )
        )  # fmt: skip
    return tuple(found)
