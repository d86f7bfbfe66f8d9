"""From Lark's parse tree of one statement to its node, with the places of all parts in the text.

Most rules of the grammar say no more than which node they make of which parts: the table `NODES`. What a single
statement shows and the grammar cannot express is checked here, too (unknown escapes, infinite numbers, names that are
words of the language). Not here: comments (`trivia`), the meaning of names (`semantics`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from lark import Token, Tree

from ..foundation import DcrfError, Diagnostic, Label, Source, Span, dataclass
from . import nodes
from .nodes import HERE, Node, written_node
from .statement_base import INLINE, Layout, Reading, Statement
from .statements import BY_KEYWORD, SHAPES
from .vocabulary import RESERVED

MAX_DIGITS = 18
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
NEGATED = {"negated": True}

# rule -> the node, the fields that its parts fill in their order, and what it says of others
NODES: Mapping[str, tuple[type[Node], tuple[str, ...], Mapping[str, Any]]] = {
    "enumerated": (nodes.Enumerated, ("states",), {}),
    "cardinality": (nodes.Cardinality, ("count",), {}),
    "state_file": (nodes.StateFile, ("path",), {}),
    "window": (nodes.Window, ("first", "last"), {}),
    "range": (nodes.Range, ("first", "last"), {}),
    "reference": (nodes.Reference, ("name", "place"), {}),
    "matches": (nodes.Matches, ("term", "regex"), {}),
    "has": (nodes.Has, ("term", "regex"), {}),
    "is_": (nodes.Is, ("term", "state"), {}),
    "is_not": (nodes.Is, ("term", "state"), NEGATED),
    "in_lexicon": (nodes.InLexicon, ("term", "lexicon"), {}),
    "not_in_lexicon": (nodes.InLexicon, ("term", "lexicon"), NEGATED),
    "in_set": (nodes.InSet, ("term", "states"), {}),
    "not_in_set": (nodes.InSet, ("term", "states"), NEGATED),
    "equals": (nodes.Equals, ("left", "right"), {}),
    "differs": (nodes.Equals, ("left", "right"), NEGATED),
    "compares": (nodes.Compares, ("left", "sign", "right"), {}),
    "same_number": (nodes.Compares, ("left", "right"), {"sign": "="}),
    "other_number": (nodes.Compares, ("left", "right"), {"sign": "!="}),
    "difference": (nodes.Difference, ("left", "right"), {}),
    "not_": (nodes.Not, ("inner",), {}),
    "value_if": (nodes.ValueIf, ("value", "condition", "otherwise"), {}),
    "call": (nodes.CallSpec, ("name", "arguments"), {}),
    "argument": (nodes.Argument, ("value",), {}),
    "named_argument": (nodes.Argument, ("name", "value"), {}),
    "setting": (nodes.Setting, ("key", "value"), {}),
    "text": (nodes.Text, ("value",), {}),
    "site": (nodes.Site, ("variable", "place"), {"place": HERE}),
    "member": (nodes.Member, ("locked", "clique", "place"), {"place": HERE}),
}
# rule -> the node that has all its parts in one field
LISTS: Mapping[str, tuple[type[Node], str]] = {
    "and_": (nodes.And, "parts"),
    "or_": (nodes.Or, "parts"),
    "cross": (nodes.Cross, "factors"),
    "offsets": (nodes.Several, "offsets"),
}
SEQUENCES = ("states", "arguments", "sites")  # rules that list their parts
ONLY_PART = ("start", "except_", "bare_state", "quoted_state", "regex", "scheme")  # rules that hand on their only part


class Word(NamedTuple):
    """A name, a state or a quoted text, or the parts of a key, with its place."""

    text: Any
    span: Span


class Edition(NamedTuple):
    """`dcrf 1`: the only statement that is not a node of the tree."""

    number: int
    span: Span


@dataclass(frozen=True)
class _Clause:
    part: str
    value: Any
    span: Span


@dataclass(frozen=True)
class _Body:
    """The part of a statement after its `:`. Only the block of a clique has clauses."""

    items: tuple[Any, ...] = ()
    layout: Layout = INLINE
    clauses: tuple[_Clause, ...] = ()


class StatementBuilder:
    """Makes the node of a statement; raises a `DcrfError` for what the grammar cannot express."""

    def __init__(self, source: Source):
        self.source = source

    def build(self, tree: Tree[Token]) -> Any:
        """The node of a rule, or what the node around it needs of it."""
        children = [self.build(child) if isinstance(child, Tree) else child for child in tree.children]
        rule = str(tree.data)
        span = Span(self.source, tree.meta.start_pos or 0, tree.meta.end_pos or 0)
        if rule in NODES:
            kind, names, said = NODES[rule]
            return self._node(kind, names, children, said, span)
        if rule in LISTS:
            kind, name = LISTS[rule]
            return self._node(kind, (name,), [tuple(map(self._part, children))], {}, span)
        if rule in SEQUENCES:
            return tuple(map(self._part, children))
        if rule in ONLY_PART:
            return self._part(children[0])
        if rule in BY_KEYWORD:
            return self._statement(rule, children, span)
        return getattr(self, f"_{rule}")(children, span)

    def _node(
        self, kind: type[Node], names: Sequence[str], children: Sequence[Any], said: Mapping[str, Any], span: Span
    ) -> Any:
        """A node with its parts in the fields `names`; a part that is not written is None."""
        fields, places = dict(said), dict[str, Any]()
        for name, child in zip(names, children, strict=False):
            if child is not None:
                fields[name], place = _with_place(self._part(child))
                if place is not None:
                    places[name] = place
        return written_node(kind, fields, span, places)

    def _statement(self, keyword: str, children: Sequence[Any], span: Span) -> Statement:
        word = re.match(r"\w*", span.text)
        places: dict[str, Any] = {"keyword": Span(self.source, span.start, span.start + (word.end() if word else 0))}
        parts: dict[str, Any] = {}
        layout = INLINE
        clauses: list[_Clause] = []
        for part, child in zip(SHAPES[keyword], children, strict=False):
            match child:
                case None:
                    pass
                case _Clause():
                    parts[child.part] = child.value
                case _Body():
                    parts[part.name], layout, clauses = child.items, child.layout, list(child.clauses)
                case _:
                    parts[part.name], place = _with_place(self._part(child))
                    if place is not None:
                        places[part.name] = place
        for clause in clauses:
            if clause.part in parts:
                message = f"`{clause.part}` is given twice: before the `:` and in the block"
                self._fail("clause-twice", message, clause.span, "the second one", help="keep one of them")
            parts[clause.part] = clause.value
        reading = Reading(keyword, parts, places, [])
        statement = BY_KEYWORD[keyword].read(reading).at(span, **reading.places)
        return statement.keep(parts, layout, reading.problems)

    # words and numbers ----------------------------------------------------------------------------------------

    def _part(self, child: Any) -> Any:
        """A token as what it stands for; anything else as it is."""
        return TOKENS[child.type](self, child) if isinstance(child, Token) else child

    def _span(self, token: Token) -> Span:
        return Span(self.source, token.start_pos or 0, token.end_pos or 0)

    def _fail(self, slug: str, message: str, span: Span, label: str = "", help: str | None = None) -> NoReturn:
        raise DcrfError(Diagnostic(slug, message, Label(span, label), help=help))

    def _name(self, token: Token) -> Word:
        """A name. The parser accepts any word here; a word of the language is refused, as it would be misread."""
        if str(token) in RESERVED:
            message = f"`{token}` is a word of the language and cannot be a name"
            self._fail("reserved-word", message, self._span(token), "expected a name")
        return Word(str(token), self._span(token))

    def _int(self, token: Token) -> int:
        if len(token) > MAX_DIGITS:
            self._too_large(token, f"expected at most {MAX_DIGITS} digits, found {len(token)}")
        return int(token)

    def _too_large(self, token: Token, label: str) -> NoReturn:
        shown = token if len(token) <= 24 else f"{token[:20]}…"
        self._fail("number-too-large", f"the number `{shown}` is too large", self._span(token), label)

    def _string(self, token: Token) -> Word:
        """The text of a quoted string. A mark after a backslash stands for itself, a letter must be a known escape."""

        def unescape(match: re.Match[str]) -> str:
            char = match[1]
            if char.isalnum() and char not in ESCAPES:
                start = (token.start_pos or 0) + 1 + match.start()
                self._fail(
                    "unknown-escape",
                    f"`\\{char}` is not an escape",
                    Span(self.source, start, start + 2),
                    'expected one of `\\n`, `\\r`, `\\t`, `\\"`, `\\\\`',
                    help="a backslash itself is written `\\\\`",
                )
            return ESCAPES.get(char, char)

        return Word(re.sub(r"\\(.)", unescape, token[1:-1]), self._span(token))

    def _regex(self, token: Token) -> nodes.Regex:
        pattern, _, flags = str(token)[1:].rpartition("/")
        return nodes.Regex(pattern=pattern, ignore_case=flags == "i").at(self._span(token))

    # rules that are more than their parts: a method of the name of each ----------------------------------------

    def _number(self, children: Sequence[Token], span: Span) -> nodes.Number:
        (token,) = children
        value = self._int(token) if token.type == "INT" else float(token)
        if math.isinf(value):
            self._too_large(token, "beyond the range of 64-bit numbers")
        number = nodes.Number(value=value).at(span)
        number.__dict__["spelling"] = str(token)
        return number

    _whole_number = _number

    def _offset(self, children: Sequence[Token], span: Span) -> nodes.Place:
        offset = self._int(children[0])
        return nodes.At(offset=offset).at(span) if offset else nodes.Here().at(span)

    def _position(self, children: Sequence[Token | None], span: Span) -> nodes.Named:
        """`[i]`, `[i-1]`, `[i - 1]`. The name may be a word of the language."""
        name, *shift = [child for child in children if child is not None]
        by = self._int(shift[-1]) if shift else 0
        return nodes.Named(position=str(name), shift=-by if shift[:1] == ["-"] else by).at(span)

    _position_apart = _position

    def _state_value(self, children: Sequence[Token], span: Span) -> nodes.Reference:
        """A state that is not a plain name, in a place for names of states."""
        (token,) = children
        text = self._string(token).text if token.startswith('"') else str(token)
        return nodes.Reference(name=text).at(span, name=span)

    def _apply(self, children: Sequence[Any], span: Span) -> nodes.Apply:
        for argument in children[1] or ():
            if argument.is_type:
                self._fail(
                    "misplaced-type",
                    f"`{argument.span.text}` gives a type, but `{children[0]}` takes values",
                    argument.span,
                    "a type stands only after a column of `data`",
                )
        made: nodes.Apply = self._node(nodes.Apply, ("function", "arguments", "place"), children, {}, span)
        return made

    def _typed_argument(self, children: Sequence[Any], span: Span) -> nodes.Argument:
        """`height: float`, `pixels: vector(128)`: the type is kept as a value."""
        name, call = self._name(children[0]), children[1]
        value: nodes.Value = nodes.Reference(name=call.name).at(call.span)
        if call.arguments:
            value = nodes.Apply(function=call.name, arguments=call.arguments).at(call.span)
        argument = nodes.Argument(value=value, name=name.text).at(span, name=name.span)
        argument.__dict__["is_type"] = True
        return argument

    def _key(self, children: Sequence[Token], span: Span) -> Word:
        """The parts of a key may be words of the language."""
        return Word(tuple(map(str, children)), span)

    def _where(self, children: Sequence[Any], span: Span) -> _Clause:
        return _Clause("where", children[0], span)

    def _with_(self, children: Sequence[Any], span: Span) -> _Clause:
        return _Clause("with", tuple(children), span)

    def _row(self, children: Sequence[Any], span: Span) -> _Body:
        return _Body(tuple(children))

    def _block(self, rows: Sequence[Any], span: Span) -> _Body:
        """An indented block; that of a clique may begin with clauses."""
        clauses = tuple(row for row in rows if isinstance(row, _Clause))
        bodies = [row for row in rows if isinstance(row, _Body)]
        items = tuple(item for body in bodies for item in body.items)
        sizes = tuple(len(body.items) for body in bodies)
        return _Body(items, Layout(True, sizes, tuple(clause.part for clause in clauses)), clauses)

    _clique_block = _block

    def _edition(self, children: Sequence[Token], span: Span) -> Edition:
        return Edition(self._int(children[0]), span)


def _with_place(part: Any) -> tuple[Any, Span | tuple[Span, ...] | None]:
    """What a field holds of a part, and the place of what is no node: a word, or several."""
    if isinstance(part, Word):
        return part.text, part.span
    if type(part) is tuple and part and isinstance(part[0], Word):
        return tuple(word.text for word in part), tuple(word.span for word in part)
    return part, None


TOKENS: Mapping[str, Callable[[StatementBuilder, Token], Any]] = {
    "NAME": StatementBuilder._name,
    "STATE": lambda builder, token: Word(str(token), builder._span(token)),
    "STRING": StatementBuilder._string,
    "INT": StatementBuilder._int,
    "REGEX": StatementBuilder._regex,
    "COMPARES": lambda builder, token: str(token),
    "LOCKED": lambda builder, token: True,
}
