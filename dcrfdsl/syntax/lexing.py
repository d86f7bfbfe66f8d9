"""The Lark parser of one statement, and the layout filter that turns line ends into blocks.

The filter keeps its state in the generator that it returns, so one parser serves any number of texts and threads.
Not here: the grammar itself (`grammar/dcrf.lark`), errors, the tree.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache

from lark import Lark, Token

from .resources import cache_path, resource_path

OPENERS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
CLOSERS = {closer: opener for opener, closer in OPENERS.items()}
UNEVEN = "_UNEVEN"
LAYOUT = frozenset({"_NL", "_INDENT", "_DEDENT", UNEVEN})

# The grammar's terminals with these names; a test compares them with the grammar.
STATE = re.compile(r'[^\s{}(),"#:=&\[\]]+')
STRING = re.compile(r'"(\\.|[^"\\\r\n])*"')
REGEX = re.compile(r"\/(\\.|\[(\\.|[^\]\\\r\n])*\]|[^\/\\\r\n\[])+\/i?")


def grammar_text() -> str:
    return resource_path("grammar", "dcrf.lark").read_text(encoding="utf-8")


@cache
def parser() -> Lark:
    """The parser, built on first use (0.08 s) and cached in a file, which later processes read in a tenth of that.

    Lark compares the fingerprint of the grammar, of its options and of its version, and rebuilds the parser if they
    differ or if the file cannot be read or written.
    """
    text = grammar_text()
    kept = str(cache_path(f"parser-{hashlib.sha256(text.encode()).hexdigest()[:8]}"))  # beside those of other versions
    return Lark(text, parser="lalr", postlex=LayoutFilter(), propagate_positions=True, cache=kept)


@cache
def _spellings() -> dict[str, str]:
    return {terminal.name: terminal.pattern.value for terminal in parser().terminals if terminal.pattern.type == "str"}


def spelling(terminal: str) -> str:
    """The text of a terminal that has only one (`and` for `AND`), else its name."""
    return _spellings().get(terminal, terminal)


class LayoutFilter:
    """Lark's `postlex`: line ends outside brackets become `_INDENT` (the first), `_NL` and `_DEDENT` (at the end).

    Every line of a block ends in `_NL`. A line with other indentation than the first line of its block gives `_UNEVEN`,
    which no rule expects.
    """

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth, end, block = 0, 0, -1
        for token in stream:
            if token.type != "_NL":
                depth = max(0, depth + (token.type in OPENERS) - (token.type in CLOSERS))
                end = token.end_pos or 0
                yield token
            elif depth == 0:
                indent = len(token.rpartition("\n")[2])
                place = token.end_pos or 0
                if block < 0:
                    block = indent
                    yield _layout_token("_INDENT", place)
                else:
                    yield _layout_token("_NL", end)
                    if indent != block:
                        yield _layout_token(UNEVEN, place)
        if block >= 0:
            yield _layout_token("_NL", end)
            yield _layout_token("_DEDENT", end)


def _layout_token(name: str, place: int) -> Token:
    return Token(name, "", start_pos=place, end_pos=place)
