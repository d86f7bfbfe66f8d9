"""One word of the language as the reference describes it. Not here: the words themselves, and how they are shown."""

from __future__ import annotations

from dataclasses import field

from ...foundation import dataclass


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
    source: paper and equation.   synonyms: words of other tools for it.
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
