"""The state of the parser where it stopped, in the words that messages need.

Not here: which mistake it is (`hints`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from lark import Token
from lark.exceptions import UnexpectedInput, UnexpectedToken

from ..foundation import Diagnostic, Label, Source, Span, dataclass
from .lexing import CLOSERS, LAYOUT, OPENERS, STRING, spelling
from .split import Chunk

# One thing to a reader: a quoted text, a word, a number, an operator, a character.
THING = re.compile(
    rf"{STRING.pattern}|[^\W\d]\w*|[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?|==|!=|<=|>=|<>|&&|\|\||:=|\.\.\.?|->|."
)
ENDS_AN_ITEM = ("NAME", "STATE", "INT", "FLOAT", "STRING", "REGEX", *CLOSERS)
LINE_ENDS = ("$END", "_NL", "_DEDENT")
IN_WORDS = {
    "NAME": "a name",
    "INT": "a whole number",
    "DIGITS": "a whole number",
    "FLOAT": "a number",
    "STRING": "a quoted text",
    "REGEX": "a regex `/…/`",
    "STATE": "a state",
    "SIGN": "`+` or `-`",
    "_LESS": "`-`",
    "COMPARES": "`<`, `<=`, `>` or `>=`",
    "_INDENT": "an indented block",
    **dict.fromkeys(LINE_ENDS, "the end of the line"),
}


@dataclass(frozen=True)
class Failure:
    """The parser stopped at `place`, the start of something that no rule allows there."""

    chunk: Chunk
    tokens: Sequence[Token]  # the tokens before, without those of the layout filter
    place: int
    layout: str  # the refused terminal if it was `$END` or one of the layout filter, else ""
    expected: frozenset[str]  # the allowed terminals: fixed words and marks as spelt, others by name

    @classmethod
    def of(cls, chunk: Chunk, tokens: Sequence[Token], error: UnexpectedInput, expected: set[str]) -> Failure:
        """`tokens` may end in the refused one."""
        refused = error.token if isinstance(error, UnexpectedToken) else None
        read = [token for token in tokens if token is not refused and token.type not in LAYOUT]
        layout = refused.type if refused is not None and refused.type in {*LAYOUT, "$END"} else ""
        place = error.pos_in_stream or 0
        if layout in LINE_ENDS:
            place = (read[-1].end_pos or 0) if read else chunk.start
        return cls(chunk, read, place, layout, frozenset(spelling(name) for name in expected))

    # where ----------------------------------------------------------------------------------------------------

    @property
    def source(self) -> Source:
        return self.chunk.source

    @property
    def at_end(self) -> bool:
        """Whether the line ends too early."""
        return self.layout in LINE_ENDS

    @cached_property
    def unexpected(self) -> str:
        """The thing at `place`; "" at the end of a line."""
        match = None if self.at_end else THING.match(self.source.text, self.place, self.chunk.end)
        return match[0] if match else ""

    @property
    def span(self) -> Span:
        return Span(self.source, self.place, self.place + len(self.unexpected))

    @property
    def rest(self) -> str:
        """The rest of the line from `place` on."""
        return self.source.text[self.place : self.chunk.end].partition("\n")[0]

    # the tokens before ----------------------------------------------------------------------------------------

    @property
    def keyword(self) -> str:
        return str(self.tokens[0]) if self.tokens else ""

    def token(self, back: int) -> Token | None:
        """The last token (1), the one before it (2) …"""
        return self.tokens[-back] if len(self.tokens) >= back else None

    def follows(self, *types: str, back: int = 1) -> bool:
        token = self.token(back)
        return token is not None and token.type in types

    @property
    def adjacent(self) -> bool:
        """Whether nothing stands between the last token and this place."""
        return bool(self.tokens) and self.tokens[-1].end_pos == self.place

    @cached_property
    def opener(self) -> Token | None:
        """The innermost bracket that is open here."""
        still_open: list[Token] = []
        for token in self.tokens:
            if token.type in OPENERS:
                still_open.append(token)
            elif token.type in CLOSERS and still_open:
                still_open.pop()
        return still_open[-1] if still_open else None

    def within(self, opener: str) -> bool:
        return self.opener is not None and self.opener.type == opener

    def span_of(self, token: Token) -> Span:
        return Span(self.source, token.start_pos or 0, token.end_pos or 0)

    def ahead(self, length: int) -> Span:
        """The next `length` characters."""
        return Span(self.source, self.place, self.place + max(1, length))

    # the alternatives -----------------------------------------------------------------------------------------

    def expects(self, *terminals: str) -> bool:
        return any(name in self.expected for name in terminals)

    def expectation(self) -> str:
        """`expected a name, `[` or the end of the line`"""
        shown = self.expected - {"."} if "=" in self.expected else self.expected  # `prior.words` is seldom meant
        words = sorted({IN_WORDS.get(name) or f"`{name}`" for name in shown}, key=_names_first)
        return "expected " + " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))

    def error(
        self,
        slug: str,
        message: str,
        label: str = "",
        *,
        span: Span | None = None,
        also: Sequence[Label] = (),
        help: str | None = None,
    ) -> Diagnostic:
        return Diagnostic(slug, message, Label(span or self.span, label), tuple(also), help)


def _names_first(words: str) -> tuple[int, str]:
    """The order of alternatives: kinds of things, words of the language, marks, and last the end of the line."""
    if words == IN_WORDS["$END"]:
        return 3, words
    if not words.startswith("`"):
        return 0, words
    return (1 if words[1].isalpha() else 2), words
