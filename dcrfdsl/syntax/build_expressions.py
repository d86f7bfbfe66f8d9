"""From Lark's parse tree to the nodes of `ast`: names, places, states, terms, conditions, features and calls.

Also checks here what the grammar cannot express but a single expression shows (unknown escapes, infinite numbers). Not
here: statements (`build`), the meaning of names (`semantics`).
"""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from lark import Token, Transformer, v_args
from lark.tree import Meta

from ..foundation import DcrfError, Diagnostic, Label, Source, Span
from . import ast
from .vocabulary import RESERVED as RESERVED

MAX_DIGITS = 18
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@v_args(meta=True, inline=True)
class ExpressionBuilder(Transformer[Token, Any]):
    """One method per rule of the grammar. A `DcrfError` raised in it arrives inside Lark's `VisitError`."""

    def __init__(self, source: Source):
        super().__init__(visit_tokens=False)
        self.source = source

    # leaves ---------------------------------------------------------------------------------------------------

    def _span(self, place: Meta | Token) -> Span:
        return Span(self.source, place.start_pos or 0, place.end_pos or 0)

    def _name(self, token: Token) -> ast.Name:
        """A name. The parser accepts any word here; a word of the language is refused, as it would be misread."""
        if str(token) in RESERVED:
            message = f"`{token}` is a word of the language and cannot be a name"
            self._fail("reserved-word", message, self._span(token), "expected a name")
        return ast.Name(text=str(token), span=self._span(token))

    def _name_if_given(self, token: Token | None) -> ast.Name | None:
        return None if token is None else self._name(token)

    def _fail(self, slug: str, message: str, span: Span, label: str = "", help: str | None = None) -> NoReturn:
        raise DcrfError(Diagnostic(slug, message, Label(span, label), help=help))

    def _int(self, token: Token) -> int:
        if len(token) > MAX_DIGITS:
            self._too_large(token, f"expected at most {MAX_DIGITS} digits, found {len(token)}")
        return int(token)

    def _too_large(self, token: Token, label: str) -> NoReturn:
        shown = token if len(token) <= 24 else f"{token[:20]}…"
        self._fail("number-too-large", f"the number `{shown}` is too large", self._span(token), label)

    def _string(self, token: Token) -> str:
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

        return re.sub(r"\\(.)", unescape, token[1:-1])

    def _text(self, token: Token) -> ast.Literal:
        return ast.Literal(value=self._string(token), written=str(token), span=self._span(token))

    # states and domains ---------------------------------------------------------------------------------------

    def states(self, meta: Meta, *states: ast.State) -> tuple[ast.State, ...]:
        return states

    def bare_state(self, meta: Meta, token: Token) -> ast.State:
        return ast.State(text=str(token), span=self._span(meta))

    def quoted_state(self, meta: Meta, token: Token) -> ast.State:
        return ast.State(text=self._string(token), span=self._span(meta))

    def enumerated(self, meta: Meta, states: tuple[ast.State, ...]) -> ast.Enumerated:
        return ast.Enumerated(states=states, span=self._span(meta))

    def cardinality(self, meta: Meta, count: Token) -> ast.Cardinality:
        return ast.Cardinality(count=self._int(count), span=self._span(meta))

    def scheme(self, meta: Meta, call: ast.Call) -> ast.Scheme:
        return ast.Scheme(call=call, span=self._span(meta))

    def state_file(self, meta: Meta, path: Token) -> ast.StateFile:
        return ast.StateFile(path=self._string(path), span=self._span(meta))

    # places ---------------------------------------------------------------------------------------------------

    def offset(self, meta: Meta, value: Token) -> ast.Offset:
        return ast.Offset(value=self._int(value), span=self._span(meta))

    def window(self, meta: Meta, first: Token, last: Token) -> ast.Window:
        return ast.Window(first=self._int(first), last=self._int(last), span=self._span(meta))

    def offsets(self, meta: Meta, *values: Token) -> ast.Offsets:
        return ast.Offsets(values=tuple(self._int(value) for value in values), span=self._span(meta))

    def position(self, meta: Meta, name: Token, shift: Token | None) -> ast.Position:
        return ast.Position(name=str(name), shift=0 if shift is None else self._int(shift), span=self._span(meta))

    def position_apart(self, meta: Meta, name: Token, sign: Token, digits: Token) -> ast.Position:
        shift = self._int(digits)
        return ast.Position(name=str(name), shift=-shift if sign == "-" else shift, span=self._span(meta))

    # terms ----------------------------------------------------------------------------------------------------

    def reference(self, meta: Meta, name: Token, place: ast.Place | None) -> ast.Reference:
        return ast.Reference(name=self._name(name), place=place, span=self._span(meta))

    def apply(self, meta: Meta, name: Token, arguments: tuple[Any, ...] | None, place: ast.Place | None) -> ast.Apply:
        for argument in arguments or ():
            if isinstance(argument, ast.TypedArgument):
                self._fail(
                    "misplaced-type",
                    f"`{argument.span.text}` gives a type, but `{name}` takes values",
                    argument.span,
                    "a type stands only after a column of `data`",
                )
        return ast.Apply(function=self._name(name), arguments=arguments or (), place=place, span=self._span(meta))

    # conditions and features ----------------------------------------------------------------------------------

    def matches(self, meta: Meta, term: ast.Term, regex: Token) -> ast.Matches:
        return ast.Matches(term=term, regex=self._regex(regex), span=self._span(meta))

    def has(self, meta: Meta, term: ast.Term, regex: Token) -> ast.Has:
        return ast.Has(term=term, regex=self._regex(regex), span=self._span(meta))

    def is_(self, meta: Meta, term: ast.Term, state: ast.State) -> ast.Is:
        return ast.Is(term=term, state=state, span=self._span(meta))

    def is_not(self, meta: Meta, term: ast.Term, state: ast.State) -> ast.Is:
        return ast.Is(term=term, state=state, negated=True, span=self._span(meta))

    def in_lexicon(self, meta: Meta, term: ast.Term, lexicon: Token) -> ast.InLexicon:
        return ast.InLexicon(term=term, lexicon=self._name(lexicon), span=self._span(meta))

    def not_in_lexicon(self, meta: Meta, term: ast.Term, lexicon: Token) -> ast.InLexicon:
        return ast.InLexicon(term=term, lexicon=self._name(lexicon), negated=True, span=self._span(meta))

    def in_set(self, meta: Meta, term: ast.Term, states: tuple[ast.State, ...]) -> ast.InSet:
        return ast.InSet(term=term, states=states, span=self._span(meta))

    def not_in_set(self, meta: Meta, term: ast.Term, states: tuple[ast.State, ...]) -> ast.InSet:
        return ast.InSet(term=term, states=states, negated=True, span=self._span(meta))

    def equals(self, meta: Meta, left: ast.Term, right: ast.Term) -> ast.Equals:
        return ast.Equals(left=left, right=right, span=self._span(meta))

    def differs(self, meta: Meta, left: ast.Term, right: ast.Term) -> ast.Equals:
        return ast.Equals(left=left, right=right, negated=True, span=self._span(meta))

    def compares(self, meta: Meta, left: ast.Quantity, sign: Token, right: ast.Quantity) -> ast.Compares:
        return ast.Compares(left=left, sign=str(sign), right=right, span=self._span(meta))

    def same_number(self, meta: Meta, left: ast.Quantity, right: ast.Quantity) -> ast.Compares:
        return ast.Compares(left=left, sign="=", right=right, span=self._span(meta))

    def other_number(self, meta: Meta, left: ast.Quantity, right: ast.Quantity) -> ast.Compares:
        return ast.Compares(left=left, sign="!=", right=right, span=self._span(meta))

    def difference(self, meta: Meta, left: ast.Term, right: ast.Term) -> ast.Difference:
        return ast.Difference(left=left, right=right, span=self._span(meta))

    def not_(self, meta: Meta, inner: ast.Condition) -> ast.Not:
        return ast.Not(inner=inner, span=self._span(meta))

    def and_(self, meta: Meta, *parts: ast.Condition) -> ast.And:
        return ast.And(parts=parts, span=self._span(meta))

    def or_(self, meta: Meta, *parts: ast.Condition) -> ast.Or:
        return ast.Or(parts=parts, span=self._span(meta))

    def cross(self, meta: Meta, *factors: ast.Condition) -> ast.Cross:
        return ast.Cross(factors=factors, span=self._span(meta))

    def state_value(self, meta: Meta, token: Token) -> ast.Reference:
        """A state that is not a plain name, in a place for names of states."""
        text = self._string(token) if token.startswith('"') else str(token)
        span = self._span(meta)
        return ast.Reference(name=ast.Name(text=text, span=span), place=None, span=span)

    def value_if(
        self,
        meta: Meta,
        value: ast.Condition,
        condition: ast.Condition | None,
        otherwise: ast.Condition | None,
    ) -> ast.ValueIf:
        return ast.ValueIf(value=value, condition=condition, otherwise=otherwise, span=self._span(meta))

    # calls, their arguments, settings -------------------------------------------------------------------------

    def call(self, meta: Meta, name: Token, arguments: tuple[Any, ...] | None) -> ast.Call:
        return ast.Call(name=self._name(name), arguments=arguments or (), span=self._span(meta))

    def arguments(self, meta: Meta, *arguments: Any) -> tuple[Any, ...]:
        return arguments

    def argument(self, meta: Meta, value: ast.Value) -> ast.Argument:
        return ast.Argument(value=value, span=self._span(meta))

    def named_argument(self, meta: Meta, name: Token, value: ast.Value) -> ast.Argument:
        return ast.Argument(value=value, name=self._name(name), span=self._span(meta))

    def typed_argument(self, meta: Meta, name: Token, kind: ast.Call) -> ast.TypedArgument:
        return ast.TypedArgument(name=self._name(name), type=kind, span=self._span(meta))

    def setting(self, meta: Meta, key: ast.Key, value: ast.Value) -> ast.Setting:
        return ast.Setting(key=key, value=value, span=self._span(meta))

    def key(self, meta: Meta, *parts: Token) -> ast.Key:
        return ast.Key(parts=tuple(str(part) for part in parts), span=self._span(meta))

    # values ---------------------------------------------------------------------------------------------------

    def range(self, meta: Meta, first: Token, last: Token) -> ast.Range:
        return ast.Range(first=self._int(first), last=self._int(last), span=self._span(meta))

    def whole_number(self, meta: Meta, token: Token) -> ast.Literal:
        return ast.Literal(value=self._int(token), written=str(token), span=self._span(meta))

    def number(self, meta: Meta, token: Token) -> ast.Literal:
        value = float(token)
        if math.isinf(value):
            self._too_large(token, "beyond the range of 64-bit numbers")
        return ast.Literal(value=value, written=str(token), span=self._span(meta))

    def text(self, meta: Meta, token: Token) -> ast.Literal:
        return self._text(token)

    def regex(self, meta: Meta, token: Token) -> ast.Regex:
        return self._regex(token)

    def _regex(self, token: Token) -> ast.Regex:
        pattern, _, flags = str(token)[1:].rpartition("/")
        return ast.Regex(pattern=pattern, ignore_case=flags == "i", span=self._span(token))
