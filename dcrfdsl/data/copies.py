"""A chunk in which each sentence stands several times, one after the other: what n-best labellings are written beside.

A copy is the sentence's lines with its comments; copies are parted as sentences of the format are. What stands between
sentences is kept once. Not here: what is written to the copies (`writers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..registry import Table
from .column_blocks import Block
from .corpus import Corpus
from .readers import Chunk

__all__ = ["COPIES", "repeated"]

_Span = tuple[int, int]  # lines of a block from … to, excluded
_SPACE = " \t\r\v\f"  # of ASCII: a no-break space is part of a word


def repeated(chunk: Chunk, copies: Sequence[int]) -> Chunk:
    """The chunk with sentence s written `copies[s]` times. Its corpus has no columns: it is to be written, not read."""
    lines = chunk.block.text.decode().split("\n")
    token_lines = (chunk.corpus.token_line - chunk.block.first_line).tolist()
    off = chunk.corpus.sentence_off.tolist()
    span, parting = COPIES[chunk.data.format]
    out: list[str] = []
    places: list[int] = []
    done = 0
    for first, last, many in zip(off[:-1], off[1:], copies, strict=True):
        start, end = span(lines, done, token_lines[first], token_lines[last - 1])
        out += lines[done:start]
        for copy in range(many):
            places += [len(out) + n - start for n in token_lines[first:last]]
            out += lines[start:end]
            if copy < many - 1:
                parting(out)
        done = end
    out += lines[done:]
    lengths = np.repeat(chunk.corpus.lengths(), copies)
    corpus = Corpus(
        chunk.corpus.file,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        {},
        np.array(places, np.int64) + chunk.block.first_line,
        chunk.corpus.warnings,
    )
    text = "\n".join(out).encode()
    return replace(chunk, corpus=corpus, block=Block(text, chunk.block.first_line, chunk.block.bom))


def _paragraph(lines: Sequence[str], done: int, first: int, last: int) -> _Span:
    """From the first line that is not blank to the blank line that ends the sentence."""
    start, end = done, last + 1
    while not lines[start].strip(_SPACE):
        start += 1
    while end < len(lines) and lines[end].strip(_SPACE):
        end += 1
    return start, min(end + 1, len(lines))


def _part_paragraphs(lines: list[str]) -> None:
    """The last sentence of a file may have no blank line after it."""
    if lines[-1].strip(_SPACE):
        lines.append("")
    if len(lines) > 1 and lines[-2].endswith("\r"):
        lines[-1] = "\r"


def _line(lines: Sequence[str], done: int, first: int, last: int) -> _Span:
    return first, last + 1


def _part_lines(lines: list[str]) -> None:
    """Lines part themselves."""


COPIES: Table[tuple[Callable[[Sequence[str], int, int, int], _Span], Callable[[list[str]], None]]] = Table(
    "copied format",
    {"conll": (_paragraph, _part_paragraphs), "conllu": (_paragraph, _part_paragraphs), "jsonl": (_line, _part_lines)},
)
