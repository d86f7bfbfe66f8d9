"""What the writers share: predictions as columns, the lines of a chunk, and values as texts.

Not here: the formats (`writers` and the modules of its table).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..foundation import data_error, json_text, shortened
from ..semantics import missing_mark
from .readers import Chunk

Predicted: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [N], in written order
Remarks: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [S], None if unknown

UNKNOWN = "_"


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
    """The line of each token in the text of the block, from 0."""
    if chunk.places is not None:
        return np.repeat(chunk.places, chunk.corpus.lengths()).tolist()
    lines: list[int] = (chunk.corpus.token_line - chunk.block.first_line).tolist()
    return lines


def texts_of(values: Sequence[str | float | None]) -> list[str]:
    """Each value as it is written in a cell."""
    return [text_of(value) for value in values]


def text_of(value: str | float | None) -> str:
    """A value as it is written in a cell: numbers with six digits, `_` for what is unknown."""
    if value is None:
        return UNKNOWN
    return value if isinstance(value, str) else format(value, ".6g")


class _NoNumber(Exception):
    """A number outside the columns that Python reads and JSON cannot represent."""


def changed_json(chunk: Chunk, n: int, line: str, change: Callable[[Any], Any]) -> str:
    """Line `n` of the chunk, which is JSON, with its value changed. `DcrfError` if it cannot be written again.

    Where numbers may be missing, `NaN`, which is no JSON, is written as null.
    """
    decoder = _DECODER if missing_mark(chunk.data) is None else _DECODER_OF_GAPS
    try:
        written = json_text(change(decoder.decode(line)), ensure_ascii=False)
    except (_NoNumber, RecursionError) as error:
        message = str(error) if isinstance(error, _NoNumber) else "JSON nested too deeply"
        at = chunk.block.line_of(n)
        raise data_error("bad-json", message, file=chunk.corpus.file, line=at) from None
    return written + ending_of(line)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NoNumber(f"`{shortened(text)}` cannot be written again: it is no number of JSON, or too large for one")
    return number


def _gap(text: str) -> float | None:
    return None if text == "NaN" else _number(text)


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_number)
_DECODER_OF_GAPS = json.JSONDecoder(parse_float=_number, parse_constant=_gap)
