"""A chunk in which each sentence is repeated: n-best labellings are written beside the copies.

A copy is the lines of the sentence with its comments, separated as the format separates sentences. Text between
sentences is kept once. Not here: the text written to the copies (`writers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..foundation import Table
from .column_blocks import Block
from .corpus import Corpus
from .readers import Chunk
from .written_lines import token_lines

_Span = tuple[int, int]  # lines of a block: first, last (excluded)
_SPACE = " \t\r\v\f"  # of ASCII: a no-break space is part of a word


def repeated(chunk: Chunk, copies: Sequence[int]) -> Chunk:
    """The chunk with sentence s repeated `copies[s]` times. Its corpus has no columns: it is only written, not read."""
    if chunk.block.rows is not None:
        return _repeated_rows(chunk, copies)
    lines = chunk.block.text.decode().split("\n")
    line_of = token_lines(chunk)
    off = chunk.corpus.sentence_off.tolist()
    span, parting = COPIES[chunk.data.format]
    out: list[str] = []
    places: list[int] = []
    done = 0
    for first, last, many in zip(off[:-1], off[1:], copies, strict=True):
        start, end = span(lines, done, line_of[first], line_of[last - 1])
        out += lines[done:start]
        for copy in range(many):
            places += [len(out) + n - start for n in line_of[first:last]]
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
    first_line = chunk.block.first_line
    lined = None if chunk.block.lines is None else range(first_line, first_line + len(out))
    block = Block(text, first_line, chunk.block.bom, lines=lined)
    return replace(chunk, corpus=corpus, block=block, places=None)


def _repeated_rows(chunk: Chunk, copies: Sequence[int]) -> Chunk:
    """The rows of each sentence again; rows without a token stay once."""
    rows, off = chunk.block.rows, chunk.corpus.sentence_off
    row_of = chunk.corpus.token_line - chunk.block.first_line
    many = np.ones(rows.table.num_rows, np.int64)
    many[row_of[off[:-1]] if rows.by_sentence else row_of] = (
        copies if rows.by_sentence else np.repeat(copies, chunk.corpus.lengths())
    )
    if rows.by_sentence:
        taken = np.repeat(np.arange(len(many)), many)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(many)])
        places = [
            starts[row] + copy
            for row, count, length in zip(row_of[off[:-1]].tolist(), copies, chunk.corpus.lengths(), strict=True)
            for copy in range(count)
            for _ in range(length)
        ]
    else:
        again = [np.tile(row_of[off[s] : off[s + 1]], many) for s, many in enumerate(copies)]
        taken = np.concatenate([np.empty(0, np.int64), *again])
        places = list(range(len(taken)))
    lengths = np.repeat(chunk.corpus.lengths(), copies)
    corpus = Corpus(
        chunk.corpus.file,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        {},
        np.array(places, np.int64) + chunk.block.first_line,
        chunk.corpus.warnings,
    )
    return replace(chunk, corpus=corpus, block=chunk.block._replace(rows=rows._replace(table=rows.table.take(taken))))


def _paragraph(lines: Sequence[str], done: int, first: int, last: int) -> _Span:
    """From the first non-blank line to the blank line that ends the sentence."""
    start, end = done, last + 1
    while not lines[start].strip(_SPACE):
        start += 1
    while end < len(lines) and lines[end].strip(_SPACE):
        end += 1
    return start, min(end + 1, len(lines))


def _part_paragraphs(lines: list[str]) -> None:
    """Adds a blank line after the last sentence of a file, which may lack one."""
    if lines[-1].strip(_SPACE):
        lines.append("")
    if len(lines) > 1 and lines[-2].endswith("\r"):
        lines[-1] = "\r"


def _rows(lines: Sequence[str], done: int, first: int, last: int) -> _Span:
    """From the first row to the blank line after the last one, if there is one. A quoted cell may hold line ends."""
    end = last + 1
    while end < len(lines) and "".join(lines[last:end]).count('"') % 2:
        end += 1
    return first, end + (end < len(lines) and not lines[end].strip(_SPACE))


def _line(lines: Sequence[str], done: int, first: int, last: int) -> _Span:
    return first, last + 1


def _part_lines(lines: list[str]) -> None:
    """Nothing to add: one line is one sentence."""


COPIES: Table[tuple[Callable[[Sequence[str], int, int, int], _Span], Callable[[list[str]], None]]] = Table(
    "copied format",
    {
        **dict.fromkeys(("conll", "conllu", "crfsuite", "grmm"), (_paragraph, _part_paragraphs)),
        **dict.fromkeys(("jsonl", "spans"), (_line, _part_lines)),
        **dict.fromkeys(("csv", "tsv"), (_rows, _part_paragraphs)),
    },
)
