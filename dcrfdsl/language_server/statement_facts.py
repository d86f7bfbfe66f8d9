"""What one statement says of names: which it declares and which it uses, by the text of the statement alone.

All places count from the start of the statement, so that facts are kept by its text, and a key pressed costs one
statement. A statement that does not parse has the facts that its words show. Names live in three spaces, as in the
checker: `value` (columns, labels, views, groups …), `part` (cliques, pieces, constraints) and `stage`; `position` names
the sites of one relational clique. Not here: the template as a whole (`template_index`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from ..foundation import Span
from ..semantics import CRITERIA, FORMATS
from ..syntax import (
    AS_NAME,
    BY_KEYWORD,
    KEYWORDS,
    RESERVED,
    SHAPES,
    Apply,
    Argument,
    CallSpec,
    DataSpec,
    InLexicon,
    Member,
    Method,
    Named,
    Node,
    Reference,
    Setting,
    Site,
    Stage,
    Statement,
    Value,
    field_names,
    parse_partial,
)
from .editor_text import Word, words_of

# keyword -> the class of the statement; whose name a statement declares by `as NAME`
NAMED = {keyword: kind for keyword, kind in BY_KEYWORD.items() if kind.word}
AFTER_AS = tuple(keyword for keyword, parts in SHAPES.items() if AS_NAME in parts)
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

    @property
    def complete(self) -> bool:
        return self.statement is not None


@lru_cache(maxsize=512)
def facts_of(text: str) -> StatementFacts:
    """The facts of a statement, from its first character to its last line of code; the latest ones are kept."""
    match = re.match(r"\w+", text)
    keyword = match[0] if match and match[0] in KEYWORDS else ""
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
        elif isinstance(statement, Stage):
            fixed = "the stage is named by its criterion: add `as NAME`"
            self.declare("stage", "stage", statement.label, statement.criterion.place_of("name"), fixed)
        forms = {part.name: part.form for part in SHAPES[statement.keyword]}
        self.spaces = ANY if isinstance(statement, Stage | Method) else VALUES
        for part, content in parts.items():
            if forms[part] == "word":
                self.use(content, statement.place_of(part), ("stage",) if self.spaces == ANY else None)
            elif part == "domain" and isinstance(content, CallSpec):
                self.visit(content.arguments if content.name == "states" else ())
            else:
                self.visit(content)

    def declare(self, space: str, kind: str, name: str, at: Span, fixed: str = "", source: bool = False) -> None:
        self.declared.append(Declared(space, kind, name, at.start, at.end, fixed, source))

    def use(self, name: str, at: Span, spaces: tuple[str, ...] | None = None) -> None:
        self.uses.append(Use(spaces or self.spaces, name, at.start, at.end))

    def visit(self, node: Any) -> None:
        if isinstance(node, tuple):
            for part in node:
                self.visit(part)
        elif isinstance(node, Node):
            handle = VISIT.get(type(node))
            if handle is None:
                self.visit_parts(node)
            else:
                handle(self, node)

    def visit_parts(self, node: Node) -> None:
        for name in field_names(type(node)):
            self.visit(getattr(node, name))

    def within(self, spaces: tuple[str, ...], node: Any) -> None:
        """Visits a node in which names are of other spaces."""
        before, self.spaces = self.spaces, spaces
        self.visit(node)
        self.spaces = before

    def _data(self, call: CallSpec) -> None:
        by_name = call.name not in BY_PLACE
        for argument in call.arguments:
            name, value = argument.name, argument.value
            if argument.is_type and name is not None:
                fixed = "the data has it under this name, and a column with a type has no other" if by_name else ""
                self.declare("value", "column", name, argument.place_of("name"), fixed)
            elif name is None and isinstance(value, Reference):
                self.declare("value", "column", value.name, value.place_of("name"), source=by_name)
            elif name is not None and isinstance(value, Reference | Apply) and not _is_flag(value):
                self.declare("value", "column", name, argument.place_of("name"))


BY_PLACE = frozenset({"conll", "grmm", "crfsuite"})  # formats whose columns are found by their place
assert set(FORMATS) >= BY_PLACE


def _is_flag(value: Value) -> bool:
    return isinstance(value, Reference) and value.name in ("yes", "no")


def _reference(reader: _Reader, node: Reference) -> None:
    if not _is_flag(node):
        reader.use(node.name, node.place_of("name"))
    reader.visit(node.place)


def _apply(reader: _Reader, node: Apply) -> None:
    reader.use(node.function, node.place_of("function"))
    reader.visit((*node.arguments, node.place))


def _argument(reader: _Reader, node: Argument) -> None:
    reader.within(SPACES_OF_KEYS.get(node.name or "", reader.spaces), node.value)


def _call(reader: _Reader, node: CallSpec) -> None:
    """The name of a method is none of the template's."""
    criterion = CRITERIA.get(node.name)
    for argument in node.arguments:
        spaces = SPACES_OF_KEYS.get(criterion.names) if criterion is not None and argument.name is None else None
        reader.within(spaces or reader.spaces, argument)


def _setting(reader: _Reader, node: Setting) -> None:
    first, *rest = node.key
    if first in OF_STATES:
        return
    place = node.place_of("key").start + len(first)
    for part in rest:
        start = reader.text.find(part, place)
        reader.uses.append(Use(PARTS, part, start, start + len(part)))
        place = start + len(part)
    reader.within(SPACES_OF_KEYS.get(first, reader.spaces), node.value)


def _site(reader: _Reader, node: Site) -> None:
    reader.use(node.variable, node.place_of("variable"))
    reader.visit(node.place)


def _member(reader: _Reader, node: Member) -> None:
    reader.use(node.clique, node.place_of("clique"), PARTS)
    reader.visit(node.place)


def _position(reader: _Reader, node: Named) -> None:
    start = reader.text.find(node.position, node.span.start)
    reader.uses.append(Use(("position",), node.position, start, start + len(node.position)))


def _in_lexicon(reader: _Reader, node: InLexicon) -> None:
    reader.visit(node.term)
    reader.use(node.lexicon, node.place_of("lexicon"), VALUES)


VISIT: Mapping[type[Node], Callable[[_Reader, Any], None]] = {
    Reference: _reference,
    Apply: _apply,
    Argument: _argument,
    CallSpec: _call,
    Setting: _setting,
    Site: _site,
    Member: _member,
    Named: _position,
    InLexicon: _in_lexicon,
}


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
        if word.kind == "name" and word.start not in places and word.text not in RESERVED | NO_NAMES
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
    if keyword not in AFTER_AS and words[1].kind == "name":
        yield Declared(kind.space, kind.word, words[1].text, words[1].start, words[1].end)
    if keyword in AFTER_AS:
        for before, word in pairwise(words):
            if before.text == "as" and word.kind == "name":
                yield Declared(kind.space, kind.word, word.text, word.start, word.end)
                return
