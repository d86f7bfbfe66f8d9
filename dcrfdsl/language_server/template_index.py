"""A template as an editor has it: its statements with the names that they declare and use, and the files that it uses.

    template = Template.of(path, text)
    workspace.names(template).find(("value",), "word")

All places in the facts of a statement count from its start, so that facts are kept by its text: a statement that was
read before is not read again, wherever it now stands, and a key pressed costs one statement. A statement that does not
parse has the facts that its words show. Names live in three spaces, as in the checker: `value` (columns, labels, views,
groups …), `part` (cliques, pieces, constraints) and `stage`; `position` names the sites of one relational clique. The
states of a variable are those of its declaration, or those that a data file teaches. Not here: problems
(`template_problems`), reading data (`data_costs`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..foundation import Source, Span, dataclass, read_at_most
from ..semantics import CRITERIA, FORMATS, SCHEMES, scheme_states
from ..syntax import AS_NAME, DataSpec, Statement, nodes, parse_partial, split_statements, statements
from .editor_text import Word, words_of

# keyword -> the class of the statement; whose name a statement declares by `as NAME`
NAMED = {keyword: kind for keyword, kind in statements.BY_KEYWORD.items() if kind.word}
AFTER_AS = tuple(keyword for keyword, parts in statements.SHAPES.items() if AS_NAME in parts)
ANY = ("value", "part", "stage")
VALUES = ("value",)
PARTS = ("part",)
SPACES_OF_KEYS: Mapping[str, tuple[str, ...]] = {"mean": PARTS, "by": ("stage", "value"), "pieces": PARTS}
OF_STATES = ("others", "missing")  # options whose values are no names
NO_NAMES = frozenset({"yes", "no", "none", "as", "after", "over", "up", "to", "when", "except", "initially", "tune"})


@dataclass(frozen=True)
class Declared:
    """`fixed`: why it cannot be renamed, or "". `source`: a bare column is read from the data under this name."""

    space: str
    kind: str
    name: str
    start: int
    end: int
    fixed: str = ""
    source: bool = False

    @property
    def spaces(self) -> tuple[str, ...]:
        return (self.space,)


@dataclass(frozen=True)
class Use:
    """`spaces`: where the name is looked up, in this order."""

    spaces: tuple[str, ...]
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class StatementFacts:
    """`statement` is None if the text does not parse, or is `dcrf 1`."""

    text: str
    keyword: str
    statement: Statement | None
    declared: tuple[Declared, ...]
    uses: tuple[Use, ...]

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return words_of(self.text)


@lru_cache(maxsize=512)
def facts_of(text: str) -> StatementFacts:
    """The facts of a statement, from its first character to its last line of code; the latest ones are kept."""
    match = re.match(r"\w+", text)
    keyword = match[0] if match and match[0] in statements.KEYWORDS else ""
    tree, _ = parse_partial(text, "")
    if not tree.statements:
        return StatementFacts(text, keyword, None, *_guessed(text, keyword))
    reader = _Reader(text)
    statement = tree.statements[0]
    reader.read(statement)
    uses = tuple(sorted(set(reader.uses), key=lambda use: use.start))
    return StatementFacts(text, keyword, statement, tuple(reader.declared), uses)


# of a statement that parses ---------------------------------------------------------------------------------------


class _Reader:
    """Walks over a statement and collects the names."""

    def __init__(self, text: str):
        self.text = text
        self.declared: list[Declared] = []
        self.uses: list[Use] = []
        self.spaces: tuple[str, ...] = VALUES

    def read(self, statement: Statement) -> None:
        parts = statement.written_parts()
        if isinstance(statement, DataSpec):
            self._data(parts["call"])
            return
        name = parts.pop("name", None)
        if name is not None:
            self.declare(statement.space, statement.word, name, statement.place_of("name"))
        elif isinstance(statement, statements.Stage):
            fixed = "the stage is named by its criterion: add `as NAME`"
            self.declare("stage", "stage", statement.label, statement.criterion.place_of("name"), fixed)
        forms = {part.name: part.form for part in statements.SHAPES[statement.keyword]}
        self.spaces = ANY if isinstance(statement, statements.Stage | statements.Method) else VALUES
        for part, content in parts.items():
            if forms[part] == "word":
                self.use(content, statement.place_of(part), ("stage",) if self.spaces == ANY else None)
            elif part == "domain" and isinstance(content, nodes.CallSpec):
                self.visit(content.arguments if content.name == "states" else ())
            else:
                self.visit(content)

    def declare(self, space: str, kind: str, name: str, at: Span, fixed: str = "", source: bool = False) -> None:
        self.declared.append(Declared(space, kind, name, at.start, at.end, fixed, source))

    def use(self, name: str, at: Span, spaces: tuple[str, ...] | None = None) -> None:
        self.uses.append(Use(spaces or self.spaces, name, at.start, at.end))

    def visit(self, node: Any) -> None:
        match node:
            case tuple():
                for part in node:
                    self.visit(part)
            case nodes.Reference():
                if not _is_flag(node):
                    self.use(node.name, node.place_of("name"))
                self.visit(node.place)
            case nodes.Apply():
                self.use(node.function, node.place_of("function"))
                self.visit((*node.arguments, node.place))
            case nodes.Argument():
                self.within(SPACES_OF_KEYS.get(node.name or "", self.spaces), node.value)
            case nodes.CallSpec():  # the name of a method is none of the template's
                criterion = CRITERIA.get(node.name)
                of_names = SPACES_OF_KEYS.get(criterion.names) if criterion is not None else None
                for argument in node.arguments:
                    self.within((argument.name is None and of_names) or self.spaces, argument)
            case nodes.Setting():
                self._setting(node)
            case nodes.Site():
                self.use(node.variable, node.place_of("variable"))
                self.visit(node.place)
            case nodes.Member():
                self.use(node.clique, node.place_of("clique"), PARTS)
                self.visit(node.place)
            case nodes.Named():
                start = self.text.find(node.position, node.span.start)
                self.uses.append(Use(("position",), node.position, start, start + len(node.position)))
            case nodes.InLexicon():
                self.visit(node.term)
                self.use(node.lexicon, node.place_of("lexicon"), VALUES)
            case nodes.Node():
                for name in nodes.field_names(type(node)):
                    self.visit(getattr(node, name))

    def _setting(self, node: nodes.Setting) -> None:
        first, *rest = node.key
        if first in OF_STATES:
            return
        place = node.place_of("key").start + len(first)
        for part in rest:
            start = self.text.find(part, place)
            place = start + len(part)
            self.uses.append(Use(PARTS, part, start, place))
        self.within(SPACES_OF_KEYS.get(first, self.spaces), node.value)

    def within(self, spaces: tuple[str, ...], node: Any) -> None:
        """Visits a node in which names are of other spaces."""
        before, self.spaces = self.spaces, spaces
        self.visit(node)
        self.spaces = before

    def _data(self, call: nodes.CallSpec) -> None:
        by_name = call.name not in BY_PLACE
        for argument in call.arguments:
            name, value = argument.name, argument.value
            if argument.is_type and name is not None:
                fixed = "the data has it under this name, and a column with a type has no other" if by_name else ""
                self.declare("value", "column", name, argument.place_of("name"), fixed)
                self.visit(value.arguments if isinstance(value, nodes.Apply) else ())  # variables of `scores`
            elif name is None and isinstance(value, nodes.Reference):
                self.declare("value", "column", value.name, value.place_of("name"), source=by_name)
            elif name is not None and isinstance(value, nodes.Reference | nodes.Apply) and not _is_flag(value):
                self.declare("value", "column", name, argument.place_of("name"))


BY_PLACE = frozenset({"conll", "grmm", "crfsuite"})  # formats whose columns are found by their place
assert set(FORMATS) >= BY_PLACE


def _is_flag(value: nodes.Value) -> bool:
    return isinstance(value, nodes.Reference) and value.name in ("yes", "no")


# of a statement that does not -------------------------------------------------------------------------------------


def _guessed(text: str, keyword: str) -> tuple[tuple[Declared, ...], tuple[Use, ...]]:
    """Declared names and uses, as the words of an unfinished statement show them."""
    words = [word for word in words_of(text) if word.kind != "comment"]
    if not keyword or len(words) < 2:
        return (), ()
    if keyword == "data":
        return tuple(_guessed_columns(words)), ()
    declared = list(_guessed_names(words, keyword))
    places = {one.start for one in declared}
    uses = tuple(
        Use(ANY, word.text, word.start, word.end)
        for word in words[1:]
        if word.kind == "name" and word.start not in places and word.text not in nodes.RESERVED | NO_NAMES
    )
    return tuple(declared), uses


def _guessed_columns(words: Sequence[Word]) -> Iterator[Declared]:
    depth = 0
    for before, word in pairwise(words):
        depth += (before.text == "(") - (before.text == ")")
        if depth == 1 and before.text in ("(", ",") and word.kind == "name":
            yield Declared("value", "column", word.text, word.start, word.end, "the `data` statement is not finished")


def _guessed_names(words: Sequence[Word], keyword: str) -> Iterator[Declared]:
    kind = NAMED.get(keyword)
    if kind is None:
        return
    pairs = ((before, word) for before, word in pairwise(words) if before.text == "as")
    for _, word in pairs if keyword in AFTER_AS else [words[:2]]:
        if word.kind == "name":
            yield Declared(kind.space, kind.word, word.text, word.start, word.end)
            return


# a template -----------------------------------------------------------------------------------------------------------


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
            if isinstance(placed.facts.statement, statements.Use)
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


@dataclass
class Workspace:
    """Reads files for a template: what is open in the editor, else what is on the disk.

    read: the text of a file, or None.   registered: names of the user's feature functions.
    """

    read: Callable[[Path], str | None]
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


# states of variables --------------------------------------------------------------------------------------------------


MOST = 1000  # states of a number or a file that are listed
MOST_BYTES = 1 << 20
BOOLEAN = ("true", "false")


def domain_of(declaration: Declaration) -> nodes.Domain | None:
    """The domain of a variable, also if only the clauses after it are not finished."""
    facts = declaration.placed.facts
    statement = facts.statement or facts_of(re.split(r"\s(?:with|initially)\b", facts.text, maxsplit=1)[0]).statement
    return getattr(statement, "domain", None)


def states_of(name: str, names: Names, learned: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The states of a variable or view; those that the data teaches if they are not declared; else none."""
    passed: set[str] = set()
    while name not in passed:
        passed.add(name)
        _, found = names.find(("value",), name)
        hidden = [one for one in found if one.declared.kind in ("label", "latent variable", "memory")]
        domain = domain_of(hidden[-1]) if hidden else None
        if isinstance(domain, nodes.StatesOf):
            name = domain.variable
            continue
        declared = _states_in(domain, hidden[-1].template.path.parent if hidden else Path())
        return declared or tuple(learned.get(name, ()))
    return ()


def _states_in(domain: nodes.Domain | None, directory: Path) -> tuple[str, ...]:
    match domain:
        case nodes.Enumerated(states=states):
            return states
        case nodes.Cardinality(count=count):
            return tuple(map(str, range(min(count, MOST))))
        case nodes.Scheme(name=name, types=types) if name in SCHEMES and types:
            return scheme_states(name, types)
        case nodes.StateFile(path=path):
            return _of_file(directory / path)
    return ()


def _of_file(path: Path) -> tuple[str, ...]:
    try:
        return _state_lines(str(path), path.stat().st_mtime_ns) if path.is_file() else ()
    except (OSError, ValueError):
        return ()


@lru_cache(maxsize=64)
def _state_lines(path: str, changed: int) -> tuple[str, ...]:
    """The lines of a file of states. changed: when it was, so that it is read again."""
    try:
        text = read_at_most(path, MOST_BYTES).decode(errors="replace")
    except OSError:
        return ()
    return tuple(line for line in text.splitlines() if line)[:MOST]
