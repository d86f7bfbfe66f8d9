"""`format_template`: a tree as canonical text. Single spaces, no alignment; inline or block form, comments and single
blank lines are kept; `dcrf 1` comes first.

Trees built by a program are printed as well: they need no spans or comments, and a block without `rows` has one item
per line. Not here: whether the template is meaningful, and writing it to a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, zip_longest
from typing import Any

from . import ast
from .lexing import STATE
from .vocabulary import RESERVED

EDITION = "dcrf 1"
INDENT = "    "
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def format_template(template: ast.Template) -> str:
    """The canonical text of `template`, ending in a newline. Formatting it again changes nothing."""
    lines = [*template.opening, _with_comment(EDITION, template.edition_end)]
    lines += [_doc_line(text) for text in template.doc]
    for i, statement in enumerate(template.statements):
        if i == 0 and statement.doc and not statement.trivia.before:
            lines.append("")  # otherwise the doc would become that of the file
        lines += statement.trivia.before
        lines += [_doc_line(text) for text in statement.doc]
        lines += _statement(statement)
    lines += template.closing
    return "\n".join(lines) + "\n"


def format_statement(statement: ast.Statement) -> str:
    """One statement, without the lines above it."""
    return "\n".join(_statement(statement))


def _doc_line(text: str) -> str:
    return f"## {text}".rstrip()


def _with_comment(code: str, comment: str) -> str:
    return f"{code} {comment}" if comment else code


# statements: a first line, and perhaps a block ------------------------------------------------------------------


def _statement(statement: ast.Statement) -> list[str]:
    first, rows = _STATEMENTS[type(statement)](statement)
    trivia = statement.trivia
    lines = [_with_comment(first, trivia.end)]
    for row, above, end in zip_longest(rows, trivia.inside, trivia.ends):
        lines += [INDENT + comment if comment else "" for comment in above or ()]
        if row is not None:
            lines.append(INDENT + _with_comment(row, end or ""))
        elif end:
            lines.append(INDENT + end)
    return lines


Parts = tuple[str, list[str]]  # the first line, the lines of the block


def _line(*words: str | None) -> str:
    return " ".join(word for word in words if word)


def _clause(keyword: str, node: ast.Node | None) -> str | None:
    return None if node is None else f"{keyword} {_text(node)}"


def _with(settings: Sequence[ast.Setting]) -> str | None:
    return f"with {_commas(settings)}" if settings else None


def _list(first: str, items: Sequence[ast.Node], layout: ast.Layout, above: Sequence[str] = ()) -> Parts:
    """`first: item, item` or `first:` and a block. `above` are lines of the block before its items."""
    if not items and not above:
        return first, []
    written = [_tight(item) for item in items]
    if not layout.block and not above:
        return f"{first}: {', '.join(written)}", []
    return f"{first}:", [*above, *_rows(written, layout.rows)]


def _rows(items: Sequence[str], rows: Sequence[int]) -> list[str]:
    if sum(rows) != len(items) or min(rows, default=1) < 1:
        return list(items)
    ends = accumulate(rows)
    return [", ".join(items[end - size : end]) for size, end in zip(rows, ends, strict=True)]


def _data(node: ast.Data) -> Parts:
    return f"data {_text(node.call)}", []


def _label(node: ast.Label) -> Parts:
    per = _clause("for", node.per)
    return _line("label", node.name.text, _clause("in", node.domain), per, _with(node.settings)), []


def _latent(node: ast.Latent) -> Parts:
    return _line("latent", node.name.text, _clause("in", node.domain), _with(node.settings)), []


def _memory(node: ast.Memory) -> Parts:
    head = _line("memory", node.name.text, _clause("in", node.domain))
    return _line(head, "=", _text(node.value), _clause("initially", node.initially)), []


def _view(node: ast.View) -> Parts:
    return f"view {node.name.text} = {_text(node.value)}", []


def _lexicon(node: ast.Lexicon) -> Parts:
    return _line("lexicon", node.name.text, "=", _text(node.path), _with(node.settings)), []


def _let(node: ast.Let) -> Parts:
    return _line("let", node.name.text, "=", _text(node.value), _clause("tune", node.tune)), []


def _use(node: ast.Use) -> Parts:
    return f"use {_text(node.path)}", []


def _features(node: ast.FeatureGroup) -> Parts:
    return _list(_line("features", node.name.text, _with(node.settings)), node.features, node.layout)


def _clique(node: ast.Clique) -> Parts:
    where, settings = _clause("where", node.where), _with(node.settings)
    above = [where if node.where_in_block else None, settings if node.settings_in_block else None]
    first = _line(
        "clique",
        _commas(node.sites),
        None if node.where_in_block else where,
        _clause("as", node.name),
        None if node.settings_in_block else settings,
    )
    return _list(first, node.features, node.layout, [line for line in above if line])


def _segment(node: ast.Segment) -> Parts:
    first = _line(
        "segment", node.variable.text, "up to", _text(node.limit), _clause("as", node.name), _with(node.settings)
    )
    return _list(first, node.features, node.layout)


def _piece(node: ast.Piece) -> Parts:
    return _list(_line("piece", node.name.text, "over", _commas(node.over)), node.members, node.layout)


def _forbid(node: ast.Forbid) -> Parts:
    return _line("forbid", _text(node.condition), _clause("when", node.when), _clause("as", node.name)), []


def _require(node: ast.Require) -> Parts:
    return _line("require", _text(node.condition), _clause("when", node.when), _clause("as", node.name)), []


def _once(node: ast.Once) -> Parts:
    free = f"except {{{_commas(node.free)}}}" if node.free else None
    return _line("once", node.label.text, free, _clause("as", node.name)), []


def _infer(node: ast.Infer) -> Parts:
    return _list(f"infer {_text(node.call)}", node.settings, node.layout)


def _decode(node: ast.Decode) -> Parts:
    return _list(f"decode {_text(node.call)}", node.settings, node.layout)


def _train(node: ast.Train) -> Parts:
    first = _line("train", _text(node.call), _clause("as", node.name), _clause("after", node.after))
    return _list(first, node.settings, node.layout)


def _evaluate(node: ast.Evaluate) -> Parts:
    if node.layout.block:
        return _list("evaluate", node.metrics, node.layout)
    return f"evaluate {_commas(node.metrics)}", []


_STATEMENTS: Mapping[type[ast.Statement], Callable[[Any], Parts]] = {
    ast.Data: _data,
    ast.Label: _label,
    ast.Latent: _latent,
    ast.Memory: _memory,
    ast.View: _view,
    ast.Lexicon: _lexicon,
    ast.Let: _let,
    ast.Use: _use,
    ast.FeatureGroup: _features,
    ast.Clique: _clique,
    ast.Segment: _segment,
    ast.Piece: _piece,
    ast.Forbid: _forbid,
    ast.Require: _require,
    ast.Once: _once,
    ast.Infer: _infer,
    ast.Decode: _decode,
    ast.Train: _train,
    ast.Evaluate: _evaluate,
}


# expressions ----------------------------------------------------------------------------------------------------


def format_value(value: ast.Value) -> str:
    """A value as it is written after `=`."""
    return _text(value)


def _text(node: ast.Node) -> str:
    return _NODES[type(node)](node)


def _commas(nodes: Iterable[ast.Node]) -> str:
    return ", ".join(_text(node) for node in nodes)


def _quoted(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'


def _state(node: ast.State) -> str:
    """Bare if the grammar reads it so: `not` after `is` would be a word of the language."""
    return node.text if STATE.fullmatch(node.text) and node.text != "not" else _quoted(node.text)


WORD = re.compile(r"[^\W\d]\w*|[+-]?[0-9]+")


def _word(text: str) -> str:
    """A name, or a state in a place for names: quoted unless it is a name or a whole number."""
    return text if WORD.fullmatch(text) and text not in RESERVED else _quoted(text)


def _literal(node: ast.Literal) -> str:
    """A number with a point or an exponent keeps its spelling (`1e-3`), unless the value of the node has changed."""
    if isinstance(node.value, str):
        return _quoted(node.value)
    if isinstance(node.value, float) and node.written and float(node.written) == node.value:
        return node.written
    return repr(node.value)


def _regex(node: ast.Regex) -> str:
    return f"/{node.pattern}/{'i' if node.ignore_case else ''}"


def _at(place: ast.Place | None) -> str:
    return "" if place is None else f"[{_text(place)}]"


def _position(node: ast.Position) -> str:
    return f"{node.name}{node.shift:+d}" if node.shift else node.name


def _apply(node: ast.Apply) -> str:
    return f"{node.function.text}({_commas(node.arguments)}){_at(node.place)}"


def _argument(node: ast.Argument) -> str:
    return _text(node.value) if node.name is None else f"{node.name.text} = {_text(node.value)}"


def _call(node: ast.Call) -> str:
    return f"{node.name.text}({_commas(node.arguments)})" if node.arguments else node.name.text


def _not(negated: bool) -> str:
    return "not " if negated else ""


def _set(states: Sequence[ast.State]) -> str:
    return f"{{{_commas(states)}}}"


def _tight(node: ast.Node) -> str:
    """An operand of `not`, `and` or `&`, or an item of a list: in brackets if it is a conjunction or disjunction."""
    return f"({_text(node)})" if isinstance(node, (ast.And, ast.Or)) else _text(node)


def _disjunct(node: ast.Node) -> str:
    return f"({_text(node)})" if isinstance(node, ast.Or) else _text(node)


def _value_if(node: ast.ValueIf) -> str:
    return _line(_text(node.value), _clause("if", node.condition), _clause("else", node.otherwise))


_NODES: Mapping[type[ast.Node], Callable[[Any], str]] = {
    ast.Name: lambda node: node.text,
    ast.State: _state,
    ast.Literal: _literal,
    ast.Range: lambda node: f"{node.first}..{node.last}",
    ast.Regex: _regex,
    ast.Offset: lambda node: str(node.value),
    ast.Window: lambda node: f"{node.first}..{node.last}",
    ast.Offsets: lambda node: ", ".join(map(str, node.values)),
    ast.Position: _position,
    ast.Reference: lambda node: _word(node.name.text) + _at(node.place),
    ast.Apply: _apply,
    ast.Argument: _argument,
    ast.TypedArgument: lambda node: f"{node.name.text}: {_call(node.type)}",
    ast.Matches: lambda node: f"{_text(node.term)} matches {_regex(node.regex)}",
    ast.Has: lambda node: f"{_text(node.term)} has {_regex(node.regex)}",
    ast.Is: lambda node: f"{_text(node.term)} is {_not(node.negated)}{_state(node.state)}",
    ast.InLexicon: lambda node: f"{_text(node.term)} {_not(node.negated)}in {node.lexicon.text}",
    ast.InSet: lambda node: f"{_text(node.term)} {_not(node.negated)}in {_set(node.states)}",
    ast.Equals: lambda node: f"{_text(node.left)} {'!=' if node.negated else '='} {_text(node.right)}",
    ast.Difference: lambda node: f"{_text(node.left)} - {_text(node.right)}",
    ast.Compares: lambda node: f"{_text(node.left)} {node.sign} {_text(node.right)}",
    ast.Not: lambda node: f"not {_tight(node.inner)}",
    ast.And: lambda node: " and ".join(map(_tight, node.parts)),
    ast.Or: lambda node: " or ".join(map(_disjunct, node.parts)),
    ast.Cross: lambda node: " & ".join(map(_tight, node.factors)),
    ast.ValueIf: _value_if,
    ast.Call: _call,
    ast.Key: lambda node: ".".join(node.parts),
    ast.Setting: lambda node: f"{_text(node.key)} = {_text(node.value)}",
    ast.Enumerated: lambda node: _set(node.states),
    ast.Cardinality: lambda node: str(node.count),
    ast.Scheme: lambda node: _call(node.call),
    ast.StateFile: lambda node: _quoted(node.path),
    ast.Site: lambda node: node.variable.text + _at(node.place),
    ast.Member: lambda node: _line("locked" if node.locked else None, node.clique.text + _at(node.place)),
}
