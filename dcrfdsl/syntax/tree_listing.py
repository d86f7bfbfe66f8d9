"""The tree of a template as text: a line for each node, with its place, for people and for golden tests.

    CliqueSpec 4:1-4:28
      sites: Site 4:8-4:15
        variable: 4:8-4:11 "tag"

Statements have the parts that were written. Fields that are empty are left out, and so are comments and layout, which
are no part of the tree. The text depends on that of the template alone. Not here: what the tree means (`semantics`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..foundation import Span
from .nodes import Here, Node, field_names
from .statement_base import Statement
from .statements import Template

INDENT = "  "


def tree_text(template: Template) -> str:
    """The tree, a line for each node and value."""
    lines = [f"{type(template).__name__} {_place(template.span)}"]
    if template.edition is not None:
        lines.append(f"{INDENT}edition: {template.edition}")
    parts = [*(("statements", one) for one in template.statements), *(("doc", line) for line in template.doc)]
    for name, part in parts:
        lines += [INDENT + line for line in _lines(name, part, None)]
    return "\n".join(lines) + "\n"


def _lines(name: str, part: Any, place: Span | None) -> Iterator[str]:
    """A part of a node, and below it what is in it.   name: of the part; place: of one that is no node."""
    if not isinstance(part, Node):
        yield f"{name}: {_place(place)} {_shown(part)}" if place is not None else f"{name}: {_shown(part)}"
        return
    inside = _parts(part)
    value = f" {_shown(inside.pop('value'))}" if not isinstance(inside.get("value", part), Node) else ""
    yield f"{name}: {type(part).__name__} {_place(part.span)}{value}"
    for field, content in inside.items():
        places = part.part_spans.get(field)
        items = content if isinstance(content, tuple) else (content,)
        for n, item in enumerate(items):
            place = places if isinstance(places, Span) else places[n] if places and n < len(places) else None
            yield from (INDENT + line for line in _lines(field, item, place))


def _parts(node: Node) -> dict[str, Any]:
    """What is in a node, by the names of its fields, without what was not written."""
    if isinstance(node, Statement):
        return {**node.written_parts(), **({"doc": node.doc} if node.doc else {})}
    parts = {name: getattr(node, name) for name in field_names(type(node))}
    return {name: part for name, part in parts.items() if not _is_empty(part)}


def _is_empty(part: object) -> bool:
    return part is None or part is False or part == () or (isinstance(part, Here) and not part.is_written)


def _shown(value: object) -> str:
    """A text in quotes, so that blanks and marks are seen; a number as Python has it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)


def _place(span: Span) -> str:
    """Line and column of the first character and of the one after the last, from 1."""
    last = span.source.position(span.end)
    return f"{span.line}:{span.column}-{last[0]}:{last[1]}"
