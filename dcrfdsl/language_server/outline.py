"""The statements of a template as a list, and the lines that can be folded away.

Not here: names and their uses (`name_navigation`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .answers import Fold, Symbol
from .template_index import Placed, Template

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
    return (*_blocks(template), *_comments(template))


def _blocks(template: Template) -> Iterator[Fold]:
    for placed in template.statements:
        if "\n" in placed.facts.text:
            yield Fold(placed.start, placed.end)


def _comments(template: Template) -> Iterator[Fold]:
    for match in COMMENTS.finditer(template.text):
        yield Fold(match.start(), match.end(), "comment")
