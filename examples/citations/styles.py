"""References as they are printed: the fields of an entry written in one of several styles, and what each token is.

A pattern has fields in braces, and parts in brackets that are left out where one of their fields is missing:
`{authors}. [({year}).] {title}.` Not here: where entries come from (`entries`), and what is trained (`run`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

# What a field is in the labels. Fields that are not here are O, as words of the pattern are.
PARTS = {
    "authors": "AUTHOR", "editors": "EDITOR", "title": "TITLE", "journal": "JOURNAL", "book": "BOOK",
    "volume": "VOLUME", "number": "NUMBER", "pages": "PAGES", "publisher": "PUBLISHER", "place": "PLACE",
    "month": "DATE", "year": "DATE",
}  # fmt: skip
TOKEN = re.compile(r"\w+(?:[-'’/.]\w+)*|[^\w\s]")
FIELD = re.compile(r"\{(\w+)\}")
MARK = re.compile(r"(?<=[\w}\])”])[.,:;] ")  # between fields
MARKS = (". ", ", ", ": ", "; ", " – ")
CHANGED = 0.3  # of the marks of a varied style


class Name(NamedTuple):
    """A person: given names in full or as initials, and the family name with its `von` and `Jr.`."""

    given: str
    family: str

    @property
    def initials(self) -> list[str]:
        return [part[0] for part in re.findall(r"\w+", self.given)]


class Entry(NamedTuple):
    """An entry of a bibliography: its kind, that of a pattern of `Style`, people by role, and fields by name."""

    kind: str
    people: Mapping[str, Sequence[Name]]
    fields: Mapping[str, str]


class Token(NamedTuple):
    word: str
    part: str


class Style(NamedTuple):
    """How references are written.

    name: writes a person. between, before_last: what stands between people. most: more than these are `et al.`.
    article, chapter, book: the pattern of an entry of this kind.
    """

    name: Callable[[Name], str]
    between: str
    before_last: str
    most: int
    article: str
    chapter: str
    book: str

    def people(self, people: Sequence[Name]) -> str:
        names = [self.name(person) for person in people]
        if len(names) > self.most:
            return f"{names[0]} et al"
        return self.between.join(names[:-1]) + self.before_last * (len(names) > 1) + names[-1]


# names --------------------------------------------------------------------------------------------------------------


def in_full(name: Name) -> str:
    return f"{name.given} {name.family}".strip()


def initials_first(name: Name) -> str:
    return "".join(f"{initial}. " for initial in name.initials) + name.family


def family_first(name: Name) -> str:
    return ", ".join(filter(None, (name.family, " ".join(f"{initial}." for initial in name.initials))))


def family_in_full(name: Name) -> str:
    return ", ".join(filter(None, (name.family, name.given)))


def without_dots(name: Name) -> str:
    return f"{name.family} {''.join(name.initials)}".strip()


# patterns -----------------------------------------------------------------------------------------------------------

STYLES = {
    "plain": Style(in_full, ", ", " and ", 6,
        "{authors}. {title}. {journal}[, {volume}][({number})][:{pages}][, {month}] {year}.",
        "{authors}. {title}. In [{editors}, editors, ]{book}[, pages {pages}][, {place}][, {year}]. [{publisher}.]",
        "[{authors}. ]{title}. [{publisher}][, {place}][, {year}].",
    ),
    "by year": Style(family_first, ", ", ", & ", 7,
        "{authors} ({year}). {title}. {journal}[, {volume}][({number})][, {pages}].",
        "{authors} ({year}). {title}. In [{editors} (Eds.), ]{book}[ (pp. {pages})]. [{place}: ][{publisher}.]",
        "[{authors} ]({year}). {title}. [{place}: ][{publisher}.]",
    ),
    "quoted": Style(initials_first, ", ", ", and ", 6,
        "{authors}, “{title},” {journal}[, vol. {volume}][, no. {number}][, pp. {pages}][, {month}] {year}.",
        "{authors}, “{title},” in {book}[, {editors}, Eds.][. {place}][: {publisher}][, {year}][, pp. {pages}].",
        "[{authors}, ]{title}. [{place}][: {publisher}][, {year}].",
    ),
    "numbered": Style(without_dots, ", ", ", ", 3,
        "{authors}. {title}. {journal}. {year}[ {month}][;{volume}][({number})][:{pages}].",
        "{authors}. {title}. In: [{editors}, editors. ]{book}. [{place}: ][{publisher}; ]{year}.[ p. {pages}.]",
        "[{authors}. ]{title}. [{place}: ][{publisher}; ]{year}.",
    ),
    "essay": Style(family_in_full, ", ", ", and ", 3,
        "{authors}. “{title}.” {journal}[ {volume}][, no. {number}] ([{month} ]{year})[: {pages}].",
        "{authors}. “{title}.” In {book}[, edited by {editors}][, {pages}]. [{place}: ][{publisher}, ]{year}.",
        "[{authors}. ]{title}. [{place}: ][{publisher}, ]{year}.",
    ),
    "digital": Style(in_full, ", ", ", and ", 8,
        "{authors}. {year}. {title}. {journal}[ {volume}][, {number}][, {pages}].",
        "{authors}. {year}. {title}. In {book}[, {editors} (Eds.)]. [{publisher}, ][{place}][, {pages}].",
        "[{authors}. ]{year}. {title}. [{publisher}][, {place}].",
    ),
    "short": Style(initials_first, ", ", " and ", 4,
        "{authors}: {title}. {journal}[ {volume}][({number})][, {pages}] ({year}).",
        "{authors}: {title}. In: [{editors} (eds.) ]{book}[, pp. {pages}]. [{publisher}][, {place}] ({year}).",
        "[{authors}: ]{title}. [{publisher}][, {place}] ({year}).",
    ),
    "journal first": Style(family_first, "; ", "; ", 5,
        "{authors} {title}, {journal}[ {volume}] ({year})[ {pages}].",
        "{authors} {title}, in: [{editors} (Eds.), ]{book}[, {publisher}][, {place}][, {year}][, pp. {pages}].",
        "[{authors} ]{title}[, {publisher}][, {place}][, {year}].",
    ),
}  # fmt: skip


def varied(styles: Sequence[Style], draw: random.Random) -> Style:
    """A style that nobody has: people as in one, patterns as in another, other marks between some of the fields."""
    people, patterns = draw.choice(styles), draw.choice(styles)

    def changed(pattern: str) -> str:
        return MARK.sub(lambda mark: draw.choice(MARKS) if draw.random() < CHANGED else mark[0], pattern)

    return people._replace(**{kind: changed(getattr(patterns, kind)) for kind in ("article", "chapter", "book")})


# writing ------------------------------------------------------------------------------------------------------------


def render(entry: Entry, style: Style) -> list[Token]:
    """The tokens of a reference. A field that the entry does not have leaves nothing."""
    values = dict(entry.fields)
    values.update({role: style.people(names) for role, names in entry.people.items() if names})
    pattern = re.sub(
        r"\[([^][]*)\]",
        lambda found: found[1] if all(name in values for name in FIELD.findall(found[1])) else "",
        getattr(style, entry.kind),
    )
    return list(_tokens(pattern, values))


def _tokens(pattern: str, values: Mapping[str, str]) -> Iterator[Token]:
    before = ""  # the part of the last field: month and year beside each other are one date
    for position, piece in enumerate(FIELD.split(pattern)):
        if position % 2 == 0:
            tokens = TOKEN.findall(piece)
            before = "" if tokens else before
            yield from (Token(word, "O") for word in tokens)
        else:
            part = PARTS[piece]
            words = TOKEN.findall(values.get(piece, ""))
            yield from (
                Token(word, f"{'I' if number or part == before else 'B'}-{part}") for number, word in enumerate(words)
            )
            before = part
