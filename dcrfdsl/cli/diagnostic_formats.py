"""Diagnostics for programs: JSON, SARIF, and the commands by which GitHub shows them beside the lines of a pull
request.

Lines and columns count from 1, columns in characters; the end of a place is the character after its last one. In SARIF
a rule is a kind of message, with its page as help; marked places beside the main one are related locations; "did you
mean" is a fix. Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. Not here: messages for
people (`foundation.errors`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from .. import __version__
from ..foundation import Diagnostic, Span, json_text, quick_fix
from .cost_table import ClassCounts

# `file`, `file:line` or `file:line:column`; a file's name may hold colons, too.
_LOCATION = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?", re.DOTALL)


class Located(NamedTuple):
    """A place in a file; of data a line or column may be unknown, and there is no end."""

    file: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


def located(diagnostic: Diagnostic) -> Located | None:
    """Where a problem is; None if it is in no file."""
    if diagnostic.primary is not None:
        return of_span(diagnostic.primary.span)
    match = _LOCATION.fullmatch(diagnostic.location or "")
    if match is None or not match["file"]:
        return None
    line, column = (None if match[name] is None else int(match[name]) for name in ("line", "column"))
    return Located(match["file"], line, column)


def of_span(span: Span) -> Located:
    return Located(span.source.name, span.line, span.column, *span.source.position(span.end))


Classes = Mapping[str, Mapping[str, ClassCounts]]  # of each template with data, those of its labels

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}  # by severity


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """The object that `check --format json` has for a problem."""
    place, fix = located(diagnostic), quick_fix(diagnostic)
    words = "" if diagnostic.primary is None else diagnostic.primary.text
    return {
        "severity": diagnostic.severity,
        "slug": diagnostic.slug,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "place": None if place is None else {**place._asdict(), "words": words},
        "related": [{**of_span(label.span)._asdict(), "words": label.text} for label in diagnostic.secondary],
        "fix": None if fix is None else {**of_span(fix.span)._asdict(), "replacement": fix.replacement},
    }


def _json(templates: Sequence[str], diagnostics: Sequence[Diagnostic], classes: Classes) -> str:
    counts = {f"{name}s": sum(one.severity == name for one in diagnostics) for name in ("error", "warning", "note")}
    found = [diagnostic_json(one) for one in diagnostics]
    labels = [
        {"template": name, "labels": {label: asdict(one) for label, one in of.items()}} for name, of in classes.items()
    ]
    out = {"templates": list(templates), **counts, "diagnostics": found, "classes": labels}
    return json_text(out, ensure_ascii=False) + "\n"


def github_command(diagnostic: Diagnostic) -> str:
    """`::error file=a.dcrf,line=3,col=8,title=unknown-name::…`: one line, which GitHub shows beside the place."""
    place = located(diagnostic) or Located("")
    shown = {
        "file": place.file or None,
        "line": place.line,
        "endLine": place.end_line,
        "col": place.column,
        "endColumn": place.end_column if place.end_line == place.line else None,
        "title": f"{diagnostic.severity}[{diagnostic.slug}]",
    }
    properties = ",".join(f"{name}={_escaped(str(value), _PROPERTY)}" for name, value in shown.items() if value)
    labels = [f"{label.span}: {label.text}" for label in diagnostic.secondary if label.text]
    help = [f"help: {diagnostic.help}"] if diagnostic.help else []
    text = "\n".join([diagnostic.message, *labels, *help])
    return f"::{_COMMANDS[diagnostic.severity]} {properties}::{_escaped(text, _DATA)}"


# In the order of GitHub's own toolkit: `%` first, as the others write it.
_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def _escaped(text: str, marks: Sequence[tuple[str, str]]) -> str:
    for mark, code in marks:
        text = text.replace(mark, code)
    return text


# What is printed of the diagnostics of all templates, by the name of the format; `text` is `foundation.render`.
FORMATS: Mapping[str, Callable[[Sequence[str], Sequence[Diagnostic], Classes], str]] = {
    "json": _json,
    "sarif": lambda _, diagnostics, classes: sarif_log(diagnostics),
    "github": lambda _, diagnostics, classes: "".join(f"{github_command(one)}\n" for one in diagnostics),
}


# SARIF ---------------------------------------------------------------------------------------------------------------


# The place of the schema, as the standard has it; it names the format, and nothing is read from there.
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
COLUMNS = "unicodeCodePoints"
_Object = dict[str, Any]


def sarif_log(diagnostics: Sequence[Diagnostic]) -> str:
    slugs = sorted({one.slug for one in diagnostics})
    numbers = {slug: n for n, slug in enumerate(slugs)}
    version = ".".join([*__version__.partition("+")[0].split("."), "0", "0"][:3])
    driver = {"name": "dcrfdsl", "semanticVersion": version, "rules": list(map(_rule, slugs))}
    run = {
        "tool": {"driver": driver},
        "columnKind": COLUMNS,
        "results": [_result(one, numbers) for one in diagnostics],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False) + "\n"


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
    names = ("startLine", "startColumn", "endLine", "endColumn")
    return {name: number for name, number in zip(names, place[1:], strict=True) if number is not None}


def _uri(file: str) -> str:
    """A file as a reference by which readers find it: relative as it was given, absolute as `file:` has it."""
    if os.path.isabs(file):
        return Path(file).as_uri()
    first, slash, rest = file.replace(os.sep, "/").partition("/")
    # a colon before the first slash would end a scheme
    return quote(os.fsencode(first), safe="~") + slash + quote(os.fsencode(rest), safe="/:~")
