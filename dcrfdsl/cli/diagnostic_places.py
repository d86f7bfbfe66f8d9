"""Where a diagnostic is: its file, lines and columns, as programs want them.

Lines and columns count from 1, columns in characters; the end of a place is the character after its last one. Not here:
how they are written (`diagnostic_formats`, `sarif_log`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..foundation import Diagnostic, Span

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
    """The place of a part of a template."""
    return Located(span.source.name, span.line, span.column, *span.source.position(span.end))
