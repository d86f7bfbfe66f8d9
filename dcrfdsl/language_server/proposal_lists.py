"""Lists of what may be proposed: entries of the reference, declared names, settings, states, files.

Not here: which list applies at a cursor (`completion`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..semantics import ReferenceEntry, SettingEntry
from .answers import Proposal
from .cursor_context import CursorContext
from .label_states import states_of
from .reference_words import entry_markdown, setting_markdown
from .template_index import Declaration, Names, Placed, Template, Workspace
from .text_words import STATE, is_name

MOST_FILES = 200
RANK_NAMES, RANK_WORDS, RANK_CLAUSES = 0, 1, 2


@dataclass(frozen=True)
class CursorPlace:
    """All that the lists depend on."""

    template: Template
    placed: Placed
    context: CursorContext
    names: Names
    workspace: Workspace
    learned: Mapping[str, Sequence[str]]

    @property
    def keyword(self) -> str:
        return self.context.keyword


def of_entries(entries: Iterable[ReferenceEntry], rank: int = RANK_WORDS) -> Iterator[Proposal]:
    for entry in entries:
        if is_name(entry.name) and not entry.name.isupper():
            yield Proposal(entry.name, entry.kind, entry.usage, entry_markdown(entry), rank=rank)


def of_names(place: CursorPlace, *kinds: str) -> Iterator[Proposal]:
    own = place.placed
    for declaration in place.names.of_kind(*kinds):
        if declaration.placed is own and declaration.declared.kind != "column":
            continue  # not inside its own declaration
        yield named(declaration)


def named(declaration: Declaration) -> Proposal:
    first = declaration.placed.facts.text.partition("\n")[0].strip()
    kind = declaration.declared.kind
    return Proposal(declaration.declared.name, kind, first, declaration.placed.doc, rank=RANK_NAMES)


def of_settings(settings: Iterable[SettingEntry]) -> Iterator[Proposal]:
    for setting in settings:
        default = setting.default if setting.default not in ("", "required") else "…"
        yield Proposal(
            setting.name, "setting", f"= {default}", setting_markdown(setting), f"{setting.name} = ", RANK_WORDS
        )


def of_states(place: CursorPlace, label: str) -> Iterator[Proposal]:
    for state in states_of(label, place.names, place.learned):
        written = state if STATE.fullmatch(state) and state != "not" else f'"{state}"'
        yield Proposal(written, "state", f"of {label}", rank=RANK_NAMES)


def of_words(words: Iterable[str], detail: str = "") -> Iterator[Proposal]:
    for word in words:
        yield Proposal(word, "word", detail, rank=RANK_CLAUSES)


def files(place: CursorPlace) -> Iterator[Proposal]:
    """Files beside the template, for `use`, lexicons and state files."""
    if place.keyword not in ("use", "lexicon", "label", "latent", "memory"):
        return
    text = place.placed.facts.text[place.context.start + 1 :]
    written = text.partition('"')[0].partition("\n")[0]
    folder = place.template.path.parent / written.rpartition("/")[0]
    suffix = ".dcrf" if place.keyword == "use" else ""
    prefix = written.rpartition("/")[0]
    for name in _listed(folder, suffix):
        yield Proposal(f"{prefix}/{name}" if prefix else name, "file")


def _listed(folder: Path, suffix: str) -> list[str]:
    try:
        found = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir() if not path.name.startswith("."))
    except (OSError, ValueError):
        return []
    return [name for name in found if name.endswith((suffix, "/"))][:MOST_FILES]
