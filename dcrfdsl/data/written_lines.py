"""What the writers share: predictions as columns, the lines of a chunk, and values as texts.

Not here: the formats (`writers` and the modules of its table).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .readers import Chunk

__all__ = ["Predicted", "Remarks", "at_each_token", "ending_of", "lines_of", "text_of", "texts_of", "token_lines"]

Predicted: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [N], in written order
Remarks: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [S], None if unknown

_UNKNOWN = "_"


def at_each_token(chunk: Chunk, remarks: Remarks) -> dict[str, list[str | float | None]]:
    """The remarks on sentences, [S], repeated for each of their tokens, [N]."""
    lengths = chunk.corpus.lengths().tolist()
    return {
        name: [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]
        for name, values in remarks.items()
    }


def lines_of(chunk: Chunk) -> list[str]:
    """The lines of the chunk, without their line feeds."""
    return chunk.block.text.decode().split("\n")


def ending_of(line: str) -> str:
    """The rest of the line's end after splitting at line feeds."""
    return "\r" if line.endswith("\r") else ""


def token_lines(chunk: Chunk) -> list[int]:
    """The line of each token in the block, from 0."""
    lines: list[int] = (chunk.corpus.token_line - chunk.block.first_line).tolist()
    return lines


def texts_of(values: Sequence[str | float | None]) -> list[str]:
    """Each value as it is written in a cell."""
    return [text_of(value) for value in values]


def text_of(value: str | float | None) -> str:
    """A value as it is written in a cell: numbers with six digits, `_` for what is unknown."""
    if value is None:
        return _UNKNOWN
    return value if isinstance(value, str) else format(value, ".6g")
