"""Nodes as text. `format_template`: a tree as canonical text, with single spaces and no alignment.

Inline or block form, comments, single blank lines and the spelling of numbers are kept; `dcrf 1` comes first.

`statement_text` and `value_text` write what a node says, however a text had it: they need neither places nor
comments, and equal nodes have equal texts. Not here: whether the template is meaningful, and writing it to a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, zip_longest
from typing import Any

from ..foundation import Span, dataclass
from . import nodes
from .lexing import STATE
from .nodes import Here, Node, Place, field_names
from .statement_base import Layout, Statement
from .statements import SHAPES, Template
from .vocabulary import RESERVED

EDITION = "dcrf 1"
INDENT = "    "
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
WORD = re.compile(r"[^\W\d]\w*|[+-]?[0-9]+")


def format_template(template: Template) -> str:
    """The canonical text of `template`, ending in a newline. Formatting it again changes nothing."""
    lines = [*template.opening, _with_comment(EDITION, template.edition_end)]
    lines += [_doc_line(text) for text in template.doc]
    for i, statement in enumerate(template.statements):
        if i == 0 and statement.doc and not statement.trivia.before:
            lines.append("")  # otherwise the doc would become that of the file
        lines += statement.trivia.before
        lines += [_doc_line(text) for text in statement.doc]
        lines += _with_trivia(statement, *_first_and_block(statement))
    lines += template.closing
    return "\n".join(lines) + "\n"


def format_plainly(sections: Iterable[Sequence[Statement]], doc: Sequence[str], *, every_option: bool = False) -> str:
    """The text of statements that may never have been written: a blank line stands between the sections."""
    lines = [EDITION, *map(_doc_line, doc)]
    for n, section in enumerate(filter(None, sections)):
        if n or doc or section[0].doc:  # else the comment of the first statement would be that of the file
            lines.append("")
        for statement in section:
            lines += map(_doc_line, statement.doc)
            lines.append(statement_text(statement, every_option=every_option))
    return "\n".join(lines) + "\n"


def statement_text(statement: Statement, *, every_option: bool = False) -> str:
    """A statement by what it says, without the lines above it."""
    parts = statement.plain_parts(every_option=every_option)
    first, rows = _plain.statement(statement.keyword, parts, statement.plain_layout())
    return "\n".join([first, *(INDENT + row for row in rows)])


def value_text(value: nodes.Value | Place) -> str:
    """`10`, `gaussian(variance = 1)`: a value as it is written after `=`, or a place as between its brackets."""
    return _plain.text(value)


def _first_and_block(statement: Statement) -> tuple[str, list[str]]:
    """A statement as it was written, or by what it says if a program has made it."""
    if statement.written:
        return _written.statement(statement.keyword, statement.written_parts(), statement.layout)
    return _plain.statement(statement.keyword, statement.plain_parts(), statement.plain_layout())


def _doc_line(text: str) -> str:
    return f"## {text}".rstrip()


def _with_comment(code: str, comment: str) -> str:
    return f"{code} {comment}" if comment else code


def _with_trivia(statement: Statement, first: str, rows: Sequence[str]) -> list[str]:
    """The lines of a statement with the comments inside it."""
    trivia = statement.trivia
    lines = [_with_comment(first, trivia.end)]
    for row, above, end in zip_longest(rows, trivia.inside, trivia.ends):
        lines += [INDENT + comment if comment else "" for comment in above or ()]
        if row is not None:
            lines.append(INDENT + _with_comment(row, end or ""))
        elif end:
            lines.append(INDENT + end)
    return lines


def _rows(items: Sequence[str], rows: Sequence[int]) -> list[str]:
    if sum(rows) != len(items) or min(rows, default=1) < 1:
        return list(items)
    ends = accumulate(rows)
    return [", ".join(items[end - size : end]) for size, end in zip(rows, ends, strict=True)]


def _quoted(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'


def _state(text: str) -> str:
    """Bare if the grammar reads it so: `not` after `is` would be a word of the language."""
    return text if STATE.fullmatch(text) and text != "not" else _quoted(text)


def _states(states: Iterable[str]) -> str:
    return f"{{{', '.join(map(_state, states))}}}"


def _word(text: str) -> str:
    """A name, or a state in a place for names: quoted unless it is a name or a whole number."""
    return text if WORD.fullmatch(text) and text not in RESERVED else _quoted(text)


@dataclass(frozen=True)
class _Writer:
    """Writes nodes.   as_spelled: numbers and `[0]` as a text had them."""

    as_spelled: bool

    def text(self, node: Node) -> str:
        return _NODES[type(node)](self, node)

    def commas(self, items: Iterable[Node]) -> str:
        return ", ".join(map(self.text, items))

    def statement(self, keyword: str, parts: Mapping[str, Any], layout: Layout) -> tuple[str, list[str]]:
        """The first line of a statement, and the lines of its block."""
        words, above = [keyword], list[str]()
        for part in SHAPES[keyword]:
            if part.name not in parts:
                continue
            content = parts[part.name]
            if part.form == "list" or (part.form == "items" and layout.block):
                return self._list(" ".join(words), content, layout, above)
            clause = f"{part.before} {_FORMS[part.form](self, content)}".lstrip()
            (above if part.name in layout.above else words).append(clause)
        return self._list(" ".join(words), (), layout, above)

    def _list(self, first: str, items: Sequence[Node], layout: Layout, above: Sequence[str]) -> tuple[str, list[str]]:
        """`first: item, item` or `first:` and a block. `above` are lines of the block before its items."""
        written = [self.tight(item) for item in items]
        if layout.block and (items or above):
            return f"{first}:", [*above, *_rows(written, layout.rows)]
        return (f"{first}: {', '.join(written)}" if items else first), []

    def tight(self, node: Node) -> str:
        """An operand of `not`, `and` or `&`, or an item of a list: in brackets if it joins conditions."""
        return f"({self.text(node)})" if isinstance(node, nodes.And | nodes.Or) else self.text(node)

    def disjunct(self, node: Node) -> str:
        return f"({self.text(node)})" if isinstance(node, nodes.Or) else self.text(node)

    def at(self, place: Place) -> str:
        """A place with its brackets; nothing where none is written."""
        if isinstance(place, nodes.Here):
            return "[0]" if self.as_spelled and place.is_written else ""
        return f"[{self.text(place)}]"

    def number(self, node: nodes.Number) -> str:
        """A number with a point or an exponent keeps its spelling (`1e-3`), unless the value has changed."""
        spelled = self.as_spelled and isinstance(node.value, float) and node.spelling
        return node.spelling if spelled and float(node.spelling) == node.value else repr(node.value)

    def argument(self, node: nodes.Argument) -> str:
        if node.name is None:
            return self.text(node.value)
        return f"{node.name}: {self.text(node.value)}" if node.is_type else f"{node.name} = {self.text(node.value)}"

    def call(self, node: nodes.CallSpec) -> str:
        return f"{node.name}({self.commas(node.arguments)})" if node.arguments else node.name

    def value_if(self, node: nodes.ValueIf) -> str:
        condition = f" if {self.text(node.condition)}" if node.condition is not None else ""
        return self.text(node.value) + condition + (f" else {self.text(node.otherwise)}" if node.otherwise else "")


_NODES: Mapping[type[Node], Callable[[_Writer, Any], str]] = {
    nodes.Number: _Writer.number,
    nodes.Text: lambda writer, node: _quoted(node.value),
    nodes.Range: lambda writer, node: f"{node.first}..{node.last}",
    nodes.Regex: lambda writer, node: f"/{node.pattern}/{'i' if node.ignore_case else ''}",
    nodes.At: lambda writer, node: str(node.offset),
    nodes.Window: lambda writer, node: f"{node.first}..{node.last}",
    nodes.Several: lambda writer, node: ", ".join(map(str, node.offsets)),
    nodes.Named: lambda writer, node: f"{node.position}{node.shift:+d}" if node.shift else node.position,
    nodes.Reference: lambda writer, node: _word(node.name) + writer.at(node.place),
    nodes.Apply: lambda writer, node: f"{node.function}({writer.commas(node.arguments)}){writer.at(node.place)}",
    nodes.Argument: _Writer.argument,
    nodes.Matches: lambda writer, node: f"{writer.text(node.term)} matches {writer.text(node.regex)}",
    nodes.Has: lambda writer, node: f"{writer.text(node.term)} has {writer.text(node.regex)}",
    nodes.Is: lambda writer, node: f"{writer.text(node.term)} is {'not ' * node.negated}{_state(node.state)}",
    nodes.InLexicon: lambda writer, node: f"{writer.text(node.term)} {'not ' * node.negated}in {node.lexicon}",
    nodes.InSet: lambda writer, node: f"{writer.text(node.term)} {'not ' * node.negated}in {_states(node.states)}",
    nodes.Equals: lambda writer, node: (
        f"{writer.text(node.left)} {'!=' if node.negated else '='} {writer.text(node.right)}"
    ),
    nodes.Difference: lambda writer, node: f"{writer.text(node.left)} - {writer.text(node.right)}",
    nodes.Compares: lambda writer, node: f"{writer.text(node.left)} {node.sign} {writer.text(node.right)}",
    nodes.Not: lambda writer, node: f"not {writer.tight(node.inner)}",
    nodes.And: lambda writer, node: " and ".join(map(writer.tight, node.parts)),
    nodes.Or: lambda writer, node: " or ".join(map(writer.disjunct, node.parts)),
    nodes.Cross: lambda writer, node: " & ".join(map(writer.tight, node.factors)),
    nodes.ValueIf: _Writer.value_if,
    nodes.CallSpec: _Writer.call,
    nodes.Setting: lambda writer, node: f"{'.'.join(node.key)} = {writer.text(node.value)}",
    nodes.Enumerated: lambda writer, node: _states(node.states),
    nodes.Cardinality: lambda writer, node: str(node.count),
    nodes.StateFile: lambda writer, node: _quoted(node.path),
    nodes.Site: lambda writer, node: node.variable + writer.at(node.place),
    nodes.Member: lambda writer, node: "locked " * node.locked + node.clique + writer.at(node.place),
}
_FORMS: Mapping[str, Callable[[_Writer, Any], str]] = {
    "word": lambda writer, content: content,
    "text": lambda writer, content: _quoted(content),
    "state": lambda writer, content: _state(content),
    "states": lambda writer, content: _states(content),
    "node": _Writer.text,
    "nodes": _Writer.commas,
    "with": _Writer.commas,
    "items": _Writer.commas,
}
_written, _plain = _Writer(as_spelled=True), _Writer(as_spelled=False)


# the tree, a line for each node ---------------------------------------------------------------------------------

# For people and for golden tests. Statements have the parts that were written. Fields that are empty are left out, and
# so are comments and layout, which are no part of the tree. The text depends on that of the template alone.
#
#     CliqueSpec 4:1-4:28
#       sites: Site 4:8-4:15
#         variable: 4:8-4:11 "tag"
STEP = "  "


def tree_text(template: Template) -> str:
    """The tree, a line for each node and value."""
    lines = [f"{type(template).__name__} {_place(template.span)}"]
    if template.edition is not None:
        lines.append(f"{STEP}edition: {template.edition}")
    parts = [*(("statements", one) for one in template.statements), *(("doc", line) for line in template.doc)]
    for name, part in parts:
        lines += [STEP + line for line in _lines(name, part, None)]
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
            yield from (STEP + line for line in _lines(field, item, place))


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
