"""What one statement says of names: which it declares and which it uses, by the text of the statement alone.

All places count from the start of the statement, so that facts are kept by its text, and a key pressed costs one
statement. A statement that does not parse has the facts that its words show. Names live in three spaces, as in the
checker: `value` (columns, labels, views, groups …), `part` (cliques, pieces, constraints) and `stage`; `position` names
the sites of one relational clique. Not here: the template as a whole (`template_index`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from ..semantics import CRITERIA, FORMATS
from ..syntax import KEYWORDS, RESERVED, ast, parse_partial
from .editor_text import Word, words_of

# keyword -> the kind of what it declares, in the words of the checker
KINDS: Mapping[str, str] = {
    "label": "label", "latent": "latent variable", "memory": "memory", "view": "view", "lexicon": "lexicon",
    "let": "constant", "features": "feature group", "clique": "clique", "segment": "clique", "piece": "piece",
    "forbid": "constraint", "require": "constraint", "once": "constraint", "train": "stage",
}  # fmt: skip
IN_PARTS = ("clique", "segment", "piece", "forbid", "require", "once")
AFTER_AS = ("clique", "segment", "forbid", "require", "once", "train")
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
    statement: ast.Statement | None
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

    def read(self, statement: ast.Statement) -> None:
        if isinstance(statement, ast.Data):
            self._data(statement.call)
            return
        name = getattr(statement, "name", None)
        keyword = statement.keyword.text
        if isinstance(name, ast.Name):
            space = "stage" if keyword == "train" else "part" if keyword in IN_PARTS else "value"
            self.declare(space, KINDS[keyword], name)
        elif isinstance(statement, ast.Train):
            self.declare("stage", "stage", statement.call.name, "the stage is named by its criterion: add `as NAME`")
        self.spaces = ANY if isinstance(statement, ast.Train | ast.Infer | ast.Decode) else VALUES
        for field in fields(statement):
            if field.name not in ("name", "keyword", "span", "doc", "trivia", "layout"):
                self.visit(getattr(statement, field.name))

    def declare(self, space: str, kind: str, name: ast.Name, fixed: str = "", source: bool = False) -> None:
        self.declared.append(Declared(space, kind, name.text, name.span.start, name.span.end, fixed, source))

    def use(self, name: ast.Name, spaces: tuple[str, ...] | None = None) -> None:
        self.uses.append(Use(spaces or self.spaces, name.text, name.span.start, name.span.end))

    def visit(self, node: Any) -> None:
        if isinstance(node, tuple):
            for part in node:
                self.visit(part)
        elif isinstance(node, ast.Node):
            handle = VISIT.get(type(node))
            if handle is None:
                self.visit_parts(node)
            else:
                handle(self, node)

    def visit_parts(self, node: ast.Node) -> None:
        for field in fields(node):
            if field.name != "span":
                self.visit(getattr(node, field.name))

    def within(self, spaces: tuple[str, ...], node: Any) -> None:
        """Visits a node in which names are of other spaces."""
        before, self.spaces = self.spaces, spaces
        self.visit(node)
        self.spaces = before

    def _data(self, call: ast.Call) -> None:
        by_name = call.name.text not in BY_PLACE
        for argument in call.arguments:
            match argument:
                case ast.TypedArgument(name=name):
                    fixed = "the data has it under this name, and a column with a type has no other" if by_name else ""
                    self.declare("value", "column", name, fixed)
                case ast.Argument(name=None, value=ast.Reference(name=name)):
                    self.declare("value", "column", name, source=by_name)
                case ast.Argument(name=ast.Name() as name, value=ast.Reference() | ast.Apply()) if not _is_flag(
                    argument.value
                ):
                    self.declare("value", "column", name)


BY_PLACE = frozenset({"conll", "grmm", "crfsuite"})  # formats whose columns are found by their place
assert set(FORMATS) >= BY_PLACE


def _is_flag(value: ast.Value) -> bool:
    return isinstance(value, ast.Reference) and value.name.text in ("yes", "no")


def _reference(reader: _Reader, node: ast.Reference) -> None:
    if node.name.text not in ("yes", "no"):
        reader.use(node.name)
    reader.visit(node.place)


def _apply(reader: _Reader, node: ast.Apply) -> None:
    reader.use(node.function)
    for argument in node.arguments:
        reader.visit(argument)
    reader.visit(node.place)


def _argument(reader: _Reader, node: ast.Argument) -> None:
    key = "" if node.name is None else node.name.text
    reader.within(SPACES_OF_KEYS.get(key, reader.spaces), node.value)


def _call(reader: _Reader, node: ast.Call) -> None:
    """The name of a method is none of the template's."""
    criterion = CRITERIA.get(node.name.text)
    for argument in node.arguments:
        unnamed = isinstance(argument, ast.Argument) and argument.name is None
        spaces = SPACES_OF_KEYS.get(criterion.names) if criterion is not None and unnamed else None
        reader.within(spaces or reader.spaces, argument)


def _setting(reader: _Reader, node: ast.Setting) -> None:
    first, *rest = node.key.parts
    if first in OF_STATES:
        return
    place = node.key.span.start + len(first)
    for part in rest:
        start = reader.text.find(part, place)
        reader.uses.append(Use(PARTS, part, start, start + len(part)))
        place = start + len(part)
    reader.within(SPACES_OF_KEYS.get(first, reader.spaces), node.value)


def _scheme(reader: _Reader, node: ast.Scheme) -> None:
    if node.call.name.text == "states":
        reader.visit(node.call.arguments)


def _member(reader: _Reader, node: ast.Member) -> None:
    reader.use(node.clique, PARTS)
    reader.visit(node.place)


def _position(reader: _Reader, node: ast.Position) -> None:
    start = reader.text.find(node.name, node.span.start)
    reader.uses.append(Use(("position",), node.name, start, start + len(node.name)))


def _in_lexicon(reader: _Reader, node: ast.InLexicon) -> None:
    reader.visit(node.term)
    reader.use(node.lexicon, VALUES)


VISIT: Mapping[type[ast.Node], Callable[[_Reader, Any], None]] = {
    ast.Reference: _reference,
    ast.Apply: _apply,
    ast.Argument: _argument,
    ast.Call: _call,
    ast.Setting: _setting,
    ast.Scheme: _scheme,
    ast.Member: _member,
    ast.Position: _position,
    ast.InLexicon: _in_lexicon,
    ast.Name: lambda reader, node: reader.use(node, ("stage",) if reader.spaces == ANY else None),
    ast.State: lambda reader, node: None,
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
    if keyword in KINDS and keyword not in AFTER_AS and words[1].kind == "name":
        space = "part" if keyword in IN_PARTS else "value"
        yield Declared(space, KINDS[keyword], words[1].text, words[1].start, words[1].end)
    if keyword in AFTER_AS:
        for before, word in pairwise(words):
            if before.text == "as" and word.kind == "name":
                space = "stage" if keyword == "train" else "part"
                yield Declared(space, KINDS[keyword], word.text, word.start, word.end)
                return
