"""Statements that were parsed before, at another place: an editor sends the whole text at each key pressed.

A statement is kept by its text, with places that count from its first character, and moved to where it stands. Not
here: statements with mistakes, whose messages depend on what is around them (`parser`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from lark import Token

from ..foundation import Source, Span
from .nodes import relocated
from .split import Chunk
from .statement_base import Statement

MOST_KEPT = 1024
LONGEST_KEPT = 5_000  # characters of a statement

Parse = Callable[[Chunk], "tuple[Statement, Sequence[Token]] | None"]


class KeptStatements:
    """parse: gives the statement of a chunk with its tokens, or None if it has a mistake or is none."""

    def __init__(self, parse: Parse):
        def parse_alone(text: str) -> tuple[Statement, Sequence[Token]] | None:
            return parse(Chunk(Source("", text), 0, len(text), ()))

        self._kept = lru_cache(maxsize=MOST_KEPT)(parse_alone)

    def get(self, chunk: Chunk, places: bool = True) -> tuple[Statement, Sequence[Token]] | None:
        """The statement at its place with its tokens; None if it has to be parsed where it stands.

        places: False leaves those of the nodes as they were, which is most of the work.
        """
        if chunk.indented or chunk.end - chunk.start > LONGEST_KEPT:
            return None
        kept = self._kept(chunk.text)
        if kept is None:
            return None
        statement, tokens = kept
        moved = _moved(statement, chunk.source, chunk.start) if places else statement
        return moved, _MovedTokens(tokens, chunk.start)


def _moved(statement: Statement, source: Source, by: int) -> Statement:
    """The same statement in another text, `by` characters further on."""
    moved: Statement = relocated(statement, lambda span: Span(source, span.start + by, span.end + by))
    return moved


class _MovedTokens(Sequence[Token]):
    """Tokens further on. Most statements have no comments inside them, and nobody asks where their tokens are."""

    def __init__(self, tokens: Sequence[Token], by: int):
        self._tokens, self._by = tokens, by

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, number: Any) -> Any:
        return _moved_token(self._tokens[number], self._by)


def _moved_token(token: Token, by: int) -> Token:
    start, end = token.start_pos, token.end_pos
    place = None if start is None else start + by
    return Token(token.type, str(token), start_pos=place, end_pos=None if end is None else end + by)


def is_block(tokens: Sequence[Token]) -> bool:
    """Whether the tokens are those of a statement with indented lines."""
    return any(token.type == "_INDENT" for token in (tokens._tokens if isinstance(tokens, _MovedTokens) else tokens))
