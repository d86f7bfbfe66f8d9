"""Answers about the whole text: the list of its statements, lines that fold away, the kinds of its words, its layout.

    symbols(template), folds(template)
    colours(template, names)   -> the words in their order, none of which crosses the end of a line
    layout_edits(text)         -> what `dcrfdsl fmt` writes, as edits of single lines, so that the cursor stays

Not here: names and their uses (`name_navigation`), grammars that colour without a server (`grammar/editors`), the
layout itself (`syntax.format`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..syntax import CLAUSE_WORDS, RESERVED, format_template, parse_partial
from .answers import Colour, Edit, Fold, Symbol
from .editor_text import Word
from .template_index import Names, Placed, StatementFacts, Template, Use, facts_of

COMMENTS = re.compile(r"^[ \t]*#[^\n]*(?:\r?\n[ \t]*#[^\n]*)+", re.MULTILINE)


def symbols(template: Template) -> tuple[Symbol, ...]:
    """A symbol a statement, with the columns below `data`; statements that are not finished are among them."""
    return tuple(_symbol(placed) for placed in template.statements if placed.facts.keyword)


def _symbol(placed: Placed) -> Symbol:
    facts, start = placed.facts, placed.start
    first = facts.text.partition("\n")[0].strip()
    own = [one for one in facts.declared if one.kind != "column"]
    head = re.match(r"\w+[ \t]*([^:\n]*)", facts.text)
    words = head[1].strip() if head else ""
    name = own[0].name if own else words or facts.keyword
    name_start, name_end = (own[0].start, own[0].end) if own else (0, len(facts.keyword))
    children = tuple(
        Symbol(one.name, one.kind, "", start + one.start, start + one.end, start + one.start, start + one.end)
        for one in facts.declared
        if one.kind == "column"
    )
    kind = own[0].kind if own else facts.keyword
    return Symbol(
        name, kind, first.removesuffix(":"), start, placed.end, start + name_start, start + name_end, children
    )


def folds(template: Template) -> tuple[Fold, ...]:
    """Blocks of statements, and comments of several lines."""
    blocks = (Fold(one.start, one.end) for one in template.statements if "\n" in one.facts.text)
    comments = (Fold(match.start(), match.end(), "comment") for match in COMMENTS.finditer(template.text))
    return (*blocks, *comments)


# colours --------------------------------------------------------------------------------------------------------------


# The legend: kinds of the protocol, so that every editor's theme knows them.
COLOURS = (
    "keyword", "variable", "parameter", "function", "method", "property", "enumMember", "string", "number", "regexp",
    "comment", "operator", "class", "namespace", "type",
)  # fmt: skip
MODIFIERS = ("declaration", "documentation")
OF_DECLARED: Mapping[str, str] = {
    "column": "parameter", "label": "variable", "latent variable": "variable", "memory": "variable", "view": "variable",
    "lexicon": "type", "constant": "enumMember", "feature group": "namespace", "clique": "class", "piece": "class",
    "constraint": "class", "stage": "class",
}  # fmt: skip
OF_WORD: Mapping[str, str] = {
    "text": "string", "number": "number", "range": "operator", "state": "enumMember", "regex": "regexp",
    "mark": "operator", "comment": "comment",
}  # fmt: skip
MOST_KEPT = 1024  # statements
COMMENT = re.compile(r"#[^\r\n]*")


def colours(template: Template, names: Names) -> tuple[Colour, ...]:
    """The coloured words of the text, comments between statements included."""
    found: list[Colour] = []
    place = 0
    for placed in template.statements:
        found += _comments_between(template.text, place, placed.start)
        kinds = tuple(_kind_of(use, names) for use in placed.facts.uses)
        by = placed.start
        found += [
            Colour(start + by, end + by, kind, declares, documents)
            for start, end, kind, declares, documents in _of_statement(placed.facts.text, kinds)
        ]
        place = placed.end
    found += _comments_between(template.text, place, len(template.text))
    return tuple(found)


def _comments_between(text: str, start: int, end: int) -> Iterator[Colour]:
    for match in COMMENT.finditer(text, start, end):
        yield _comment(match[0], match.start())


def _comment(text: str, start: int) -> Colour:
    documents = text.startswith("##") and not text.startswith("###")
    return Colour(start, start + len(text.rstrip("\r")), "comment", documents=documents)


def _kind_of(use: Use, names: Names) -> str:
    """What a name stands for; "" if it is declared nowhere."""
    if use.spaces == ("position",):
        return "parameter"
    found = names.find(use.spaces, use.name)[1]
    return OF_DECLARED[found[-1].declared.kind] if found else ""


@lru_cache(maxsize=MOST_KEPT)
def _of_statement(text: str, kinds: tuple[str, ...]) -> tuple[Colour, ...]:
    """The words of a statement, from its first character. kinds: of the names that it uses."""
    return tuple(_read(facts_of(text), kinds))


def _read(facts: StatementFacts, kinds: tuple[str, ...]) -> Iterator[Colour]:
    declared = {one.start: one.kind for one in facts.declared}
    used = {use.start: kind for use, kind in zip(facts.uses, kinds, strict=True)}
    for n, word in enumerate(facts.words):
        if word.kind == "comment":
            yield _comment(word.text, word.start)
        elif word.kind != "name":
            if word.kind in OF_WORD:
                yield Colour(word.start, word.end, OF_WORD[word.kind])
        elif word.start in declared:
            yield Colour(word.start, word.end, OF_DECLARED[declared[word.start]], declares=True)
        else:
            kind = _of_use(facts, n, word, used.get(word.start))
            if kind:
                yield Colour(word.start, word.end, kind)


def _of_use(facts: StatementFacts, n: int, word: Word, use: str | None) -> str:
    """use: the kind of the name, "" if it is declared nowhere, None if the word is none."""
    if n == 0:
        return "keyword" if facts.keyword else ""
    if use:
        return use
    if word.text in RESERVED or word.text in CLAUSE_WORDS:
        return "keyword"
    rest = facts.text[word.end : word.end + 8].lstrip(" ")
    if rest.startswith("("):
        return "function"
    if rest.startswith("="):
        return "property"
    return "method" if use is None else "function"


# layout ---------------------------------------------------------------------------------------------------------------


def layout_edits(text: str) -> tuple[Edit, ...]:
    """The edits; none if the text has a syntax error, or is in this layout. Line ends stay what they are."""
    template, problems = parse_partial(text, places=False)
    if problems:
        return ()
    new = format_template(template)
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    before, after = text.splitlines(keepends=True), new.splitlines(keepends=True)
    offsets = [0]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        Edit(offsets[first], offsets[last], "".join(after[start:end]))
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    )
