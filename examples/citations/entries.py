"""Entries of bibliographies: files of BibTeX, read by `bibtexparser`. Not here: how they are printed (`styles`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from styles import Entry, Name

from dcrfdsl.foundation import data_error

KINDS = {
    "article": "article", "inproceedings": "chapter", "incollection": "chapter", "book": "book", "proceedings": "book",
}  # fmt: skip
FIELDS = {
    "title": "title", "journal": "journal", "booktitle": "book", "volume": "volume", "number": "number",
    "pages": "pages", "publisher": "publisher", "address": "place", "month": "month", "year": "year",
}  # fmt: skip
ROLES = {"author": "authors", "editor": "editors"}
NEEDED = {"article": ("title", "journal", "year"), "chapter": ("title", "book", "year"), "book": ("title", "year")}
LONGEST = 200  # characters; longer fields are notes, which no reference prints


def entries_of(path: Path) -> list[Entry]:
    """The entries of a file that have what a reference needs, in its order.

    OSError if the file cannot be read, DcrfError if it has no entry, ImportError without `bibtexparser`.
    """
    import bibtexparser

    library = bibtexparser.parse_string(path.read_text(encoding="utf-8", errors="replace"))
    if not library.entries:
        message, remedy = f"`{path}` has no entry of BibTeX", "export a file of BibTeX from your reference manager"
        raise data_error("bad-value", message, file=str(path), help=remedy)
    return list(_usable(library.entries))


def _usable(entries: Sequence[Any]) -> Iterator[Entry]:
    for entry in entries:
        kind = KINDS.get(entry.entry_type.lower())
        if kind is None:
            continue
        given = {field.key.lower(): str(field.value) for field in entry.fields}
        read = {ours: _plain(given[theirs]) for theirs, ours in FIELDS.items() if theirs in given}
        if "month" in read:
            read["month"] = read["month"].title()  # `jan` is what BibTeX calls a month
        fields = {name: text for name, text in read.items() if text and len(text) <= LONGEST}
        people = {role: _names(given[theirs]) for theirs, role in ROLES.items() if theirs in given}
        if all(name in fields for name in NEEDED[kind]) and ("authors" in people or kind == "book"):
            yield Entry(kind, people, fields)


def _names(text: str) -> list[Name]:
    from bibtexparser.middlewares.names import parse_single_name_into_parts, split_multiple_persons_names

    found = []
    for person in split_multiple_persons_names(text):
        parts = parse_single_name_into_parts(person, strict=False)
        found.append(Name(_plain(" ".join(parts.first)), _plain(" ".join((*parts.von, *parts.last, *parts.jr)))))
    return [name for name in found if name.family]


@cache
def _converter() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(strict_latex_spaces=True)


def _plain(text: str) -> str:
    """The text of a field without TeX, on one line."""
    plain = _converter().latex_to_text(text).replace("\N{SOFT HYPHEN}", "")
    return re.sub(r"\s+", " ", plain).strip()


def without_doubles(entries: Sequence[Entry]) -> list[Entry]:
    """The first of those entries that have the same title."""
    by_title = {re.sub(r"\W+", " ", entry.fields["title"]).lower(): entry for entry in reversed(entries)}
    return list(by_title.values())[::-1]
