"""A template as an editor has it: its statements with their facts, and the names of the files that it uses.

    template = Template.of(path, text)
    workspace.names(template).find(("value",), "word")

A statement that was read before is not read again, wherever it now stands. Not here: problems (`template_problems`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..foundation import Source
from ..syntax import Use as UseStatement, split_statements
from .statement_facts import Declared, StatementFacts, Use, facts_of

DEEPEST_USE = 64
MOST_CHARACTERS = 100_000  # of a text whose statements are read; a longer one only has its problems shown


@dataclass(frozen=True)
class Placed:
    """A statement at its place: `above` is the first character of its comments, `start` to `end` its code."""

    start: int
    end: int
    doc: str
    facts: StatementFacts


@dataclass(frozen=True)
class Declaration:
    """A declared name with the template that has it."""

    template: Template
    placed: Placed
    declared: Declared

    @property
    def start(self) -> int:
        return self.placed.start + self.declared.start

    @property
    def end(self) -> int:
        return self.placed.start + self.declared.end


@dataclass(frozen=True, eq=False)
class Template:
    """The statements of one text. `path`: of its file, as the editor names it."""

    path: Path
    text: str
    statements: tuple[Placed, ...]

    @classmethod
    def of(cls, path: Path, text: str, before: Template | None = None) -> Template:
        """before: the template as it was, whose statements need not be read again."""
        if len(text) > MOST_CHARACTERS:
            return cls(path, text, ())
        chunks, _ = split_statements(Source(str(path), text), text)
        known = {one.facts.text: one.facts for one in before.statements} if before is not None else {}
        placed = []
        for chunk in chunks:
            doc = "\n".join(
                line.text[2:].strip() for line in chunk.gap if line.text.startswith("##") and line.text[2:3] != "#"
            )
            facts = known.get(chunk.text) or facts_of(chunk.text)
            placed.append(Placed(chunk.start, chunk.end, doc, facts))
        return cls(path, text, tuple(placed))

    def at(self, offset: int) -> Placed | None:
        """The statement that the cursor is in: the last one that begins before it, with the lines below it."""
        found = None
        for placed in self.statements:
            if placed.start > offset:
                break
            found = placed
        if found is None or offset <= found.end:
            return found
        # below its last line of code: still inside it if the line of the cursor is indented
        line = self.text.rfind("\n", 0, offset) + 1
        between = self.text[found.end : line]
        blank = not self.text[line:offset].strip()
        if "\n" not in self.text[found.end : offset] or (blank and offset > line and not between.strip()):
            return found
        return None

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        return tuple(
            Declaration(self, placed, declared) for placed in self.statements for declared in placed.facts.declared
        )

    def uses(self) -> Iterator[tuple[Placed, Use]]:
        """Every use of a name, with its statement."""
        for placed in self.statements:
            for use in placed.facts.uses:
                yield placed, use

    @cached_property
    def used_paths(self) -> tuple[tuple[Placed, Path], ...]:
        """The files after `use`."""
        return tuple(
            (placed, self.path.parent / placed.facts.statement.path)
            for placed in self.statements
            if isinstance(placed.facts.statement, UseStatement)
        )


@dataclass(frozen=True, eq=False)
class Names:
    """All declared names of a template and of the files that it uses, the used ones first."""

    templates: tuple[Template, ...]

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], Sequence[Declaration]]:
        found: dict[tuple[str, str], list[Declaration]] = {}
        for template in self.templates:
            for declaration in template.declarations:
                key = declaration.declared.space, declaration.declared.name
                found.setdefault(key, []).append(declaration)
        return found

    def find(self, spaces: Sequence[str], name: str) -> tuple[str, Sequence[Declaration]]:
        """The first of these spaces that has the name, and its declarations."""
        for space in spaces:
            if found := self.by_name.get((space, name)):
                return space, found
        return "", ()

    def of_kind(self, *kinds: str) -> Iterator[Declaration]:
        """One declaration a name, of these kinds; a label rather than its column."""
        for declarations in self.by_name.values():
            best = declarations[-1]
            if best.declared.kind in kinds:
                yield best

    def everything(self) -> Iterator[Declaration]:
        for declarations in self.by_name.values():
            yield declarations[-1]


@dataclass
class Workspace:
    """Reads files for a template: what is open in the editor, else what is on the disk.

    read: the text of a file, or None.   data: the data file of a template, if the settings name one.
    registered: names of the user's feature functions.
    """

    read: Callable[[Path], str | None]
    data: Callable[[Path], Path | None] = lambda path: None
    registered: tuple[str, ...] = ()
    _templates: dict[Path, Template] = field(default_factory=dict)

    def template(self, path: Path) -> Template | None:
        """The template of a file, kept as long as its text stays the same."""
        text = self.read(path)
        if text is None:
            self._templates.pop(path, None)
            return None
        kept = self._templates.get(path)
        if kept is None or kept.text != text:
            kept = self._templates[path] = Template.of(path, text, kept)
        return kept

    def names(self, template: Template) -> Names:
        """What is declared in the template and in the files that it uses."""
        found: dict[Path, Template] = {}
        self._collect(template, found, 0)
        return Names((*found.values(), template))

    def _collect(self, template: Template, found: dict[Path, Template], depth: int) -> None:
        for _, path in template.used_paths:
            real = absolute(path)
            if real in found or real == absolute(template.path) or depth > DEEPEST_USE:
                continue
            used = self.template(real)
            if used is not None:
                found[real] = used
                self._collect(used, found, depth + 1)


def absolute(path: Path) -> Path:
    """Without links and dots, if the system can tell; an impossible name stays as it is."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
