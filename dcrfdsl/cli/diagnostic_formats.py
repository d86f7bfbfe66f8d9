"""Diagnostics for programs: JSON, and the commands by which GitHub shows them beside the lines of a pull request.

Not here: SARIF (`sarif_log`), messages for people (`foundation.errors`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..foundation import Diagnostic, Label, json_text, quick_fix
from .class_counts import ClassCounts
from .diagnostic_places import Located, located, of_span
from .sarif_log import sarif_log

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
        "related": [_related(label) for label in diagnostic.secondary],
        "fix": None if fix is None else {**of_span(fix.span)._asdict(), "replacement": fix.replacement},
    }


def _related(label: Label) -> dict[str, Any]:
    return {**of_span(label.span)._asdict(), "words": label.text}


def _json(templates: Sequence[str], diagnostics: Sequence[Diagnostic], classes: Classes) -> str:
    counts = {f"{name}s": sum(one.severity == name for one in diagnostics) for name in ("error", "warning", "note")}
    found = [diagnostic_json(one) for one in diagnostics]
    labels = [
        {"template": name, "labels": {label: one.as_json() for label, one in of.items()}}
        for name, of in classes.items()
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


def _github(templates: Sequence[str], diagnostics: Sequence[Diagnostic], classes: Classes) -> str:
    return "".join(f"{github_command(one)}\n" for one in diagnostics)


# What is printed of the diagnostics of all templates, by the name of the format; `text` is `foundation.render`.
FORMATS: Mapping[str, Callable[[Sequence[str], Sequence[Diagnostic], Classes], str]] = {
    "json": _json,
    "sarif": lambda _, diagnostics, classes: sarif_log(diagnostics),
    "github": _github,
}
