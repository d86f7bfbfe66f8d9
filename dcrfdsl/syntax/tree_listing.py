"""The tree of a template as text: a line for each node, with its place, for people and for golden tests.

    Clique 4:1-4:28
      sites: Site 4:8-4:15
        variable: Name 4:8-4:11 "tag"

Fields that are empty are left out, and so are comments and layout, which are no part of the tree. The text depends on
that of the template alone. Not here: what the tree means (`semantics`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields

from ..foundation import Span
from . import ast

INDENT = "  "


def tree_text(template: ast.Template) -> str:
    """The tree, a line for each node and value."""
    lines = list(_lines(template, ""))
    if template.edition is not None:
        lines.insert(1, f"{INDENT}edition: {template.edition}")
    return "\n".join(lines) + "\n"


def _lines(node: ast.Node, prefix: str) -> Iterator[str]:
    """A node, and below it what is in it; `prefix` is the name of the field that it stands in."""
    values = {field.name: getattr(node, field.name) for field in fields(node) if field.compare}
    inside = {name: value for name, value in values.items() if not _is_empty(value)}
    plain = {name: value for name, value in inside.items() if not isinstance(value, ast.Node | tuple)}
    first = plain.pop("text", plain.pop("value", None))
    shown = "" if first is None else f" {_shown(first)}"
    yield f"{prefix}{type(node).__name__} {_place(node.span)}{shown}"
    for name, value in inside.items():
        if name in plain:
            yield f"{INDENT}{name}: {_shown(value)}"
        elif isinstance(value, ast.Node | tuple):
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, ast.Node):
                    yield from (INDENT + line for line in _lines(item, f"{name}: "))
                else:
                    yield f"{INDENT}{name}: {_shown(item)}"


def _is_empty(value: object) -> bool:
    return value is None or value is False or value == ()


def _shown(value: object) -> str:
    """A text in quotes, so that blanks and marks are seen; a number as Python has it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)


def _place(span: Span) -> str:
    """Line and column of the first character and of the one after the last, from 1."""
    last = span.source.position(span.end)
    return f"{span.line}:{span.column}-{last[0]}:{last[1]}"
