"""Diagnostics as a SARIF log, which code hosts and editors read.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. A rule is a kind of message, with its
page as help; marked places beside the main one are related locations; "did you mean" is a fix. Not here: finding
problems.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import __version__
from ..foundation import Diagnostic, json_text, quick_fix
from .diagnostic_places import Located, located, of_span

# The place of the schema, as the standard has it; it names the format, and nothing is read from there.
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
COLUMNS = "unicodeCodePoints"
_Object = dict[str, Any]


def sarif_log(diagnostics: Sequence[Diagnostic]) -> str:
    """The log of one run."""
    slugs = sorted({one.slug for one in diagnostics})
    numbers = {slug: n for n, slug in enumerate(slugs)}
    run = {
        "tool": {
            "driver": {"name": "dcrfdsl", "semanticVersion": _semantic(__version__), "rules": list(map(_rule, slugs))}
        },
        "columnKind": COLUMNS,
        "results": [_result(one, numbers) for one in diagnostics],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False) + "\n"


def _semantic(version: str) -> str:
    """The three numbers of a version."""
    return ".".join([*version.partition("+")[0].split("."), "0", "0"][:3])


def _rule(slug: str) -> _Object:
    from ..semantics import EXPLANATIONS

    page = EXPLANATIONS[slug]
    help = f"{page.meaning}\n\n{page.remedy}"
    return {
        "id": slug,
        "name": "".join(word.capitalize() for word in slug.split("-")),
        "shortDescription": {"text": page.meaning},
        "help": {"text": f"{help}\n\n`dcrfdsl explain {slug}` says so, too.", "markdown": help},
    }


def _result(diagnostic: Diagnostic, numbers: Mapping[str, int]) -> _Object:
    help = f"\n{diagnostic.help}" if diagnostic.help else ""
    result: _Object = {
        "ruleId": diagnostic.slug,
        "ruleIndex": numbers[diagnostic.slug],
        "level": diagnostic.severity,
        "message": {"text": diagnostic.message + help},
    }
    place = located(diagnostic)
    if place is not None:
        words = "" if diagnostic.primary is None else diagnostic.primary.text
        result["locations"] = [_location(place, words)]
    if diagnostic.secondary:
        labels = enumerate(diagnostic.secondary, 1)
        result["relatedLocations"] = [_location(of_span(label.span), label.text) | {"id": n} for n, label in labels]
    fix = quick_fix(diagnostic)
    if fix is not None:
        at = of_span(fix.span)
        replacement = {"deletedRegion": _region(at), "insertedContent": {"text": fix.replacement}}
        change = {"artifactLocation": {"uri": _uri(at.file)}, "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": fix.title}, "artifactChanges": [change]}]
    return result


def _location(place: Located, words: str) -> _Object:
    physical: _Object = {"artifactLocation": {"uri": _uri(place.file)}}
    region = _region(place)
    if region:
        physical["region"] = region
    return {"physicalLocation": physical} | ({"message": {"text": words}} if words else {})


def _region(place: Located) -> _Object:
    named = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    return {name: number for name, number in named.items() if number is not None}


def _uri(file: str) -> str:
    """A file as a reference by which readers find it: relative as it was given, absolute as `file:` has it."""
    if os.path.isabs(file):
        return Path(file).as_uri()
    first, slash, rest = file.replace(os.sep, "/").partition("/")
    # a colon before the first slash would end a scheme
    return quote(os.fsencode(first), safe="~") + slash + quote(os.fsencode(rest), safe="/:~")
