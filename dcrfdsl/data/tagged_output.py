"""Predictions written next to what was read: the whole input stays in place.

Each format says where they go (`formats`). A remark on a whole sentence (the rank of a labelling, its probability) goes
with them. For n-best lists each sentence is repeated: a copy is the lines of the sentence with its comments, separated
as the format separates sentences; text between sentences is kept once. Not here: the predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..foundation import DcrfError, Diagnostic
from ..syntax import Argument, DataSpec, Text
from .column_blocks import Block
from .corpus import Corpus
from .formats import Chunk, Remarks, data_format, token_lines

Predictions: TypeAlias = Mapping[str, Sequence[str] | Sequence[float | None] | NDArray[Any]]  # name → [N], as written


def tagged(chunk: Chunk, predictions: Predictions, remarks: Remarks | None = None) -> bytes:
    """The bytes of `chunk` with the `predictions` for its N tokens: one text or number (a marginal) each.

    remarks: one value for each of its S sentences. Chunks that belong to one output are better written by one
    `TaggedOutput`, which knows what it has written.
    """
    output = TaggedOutput(chunk.data)
    return output.write(chunk, predictions, remarks) + output.close()


class TaggedOutput:
    """The chunks of one or several files, written one after another as one text or file of the same format."""

    def __init__(self, data: DataSpec):
        self._format = data_format(data.format)
        self._tagger = self._format.tagger()
        self._end, self._newline = b"", b"\n"  # the last bytes that were written, and how lines of the output end

    def write(self, chunk: Chunk, predictions: Predictions, remarks: Remarks | None = None) -> bytes:
        """Like `tagged`: the next bytes of the output."""
        columns: dict[str, Sequence[str | float | None]] = {
            name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in predictions.items()
        }
        num_tokens, num_sentences = chunk.corpus.num_tokens, chunk.corpus.num_sentences
        for name, values in columns.items():
            if len(values) != num_tokens:
                raise ValueError(f"{len(values)} predictions of {name!r} for {num_tokens} tokens")
        for name, said in (remarks or {}).items():
            if len(said) != num_sentences:
                raise ValueError(f"{len(said)} remarks {name!r} on {num_sentences} sentences")
        if chunk.block.rows is None and not chunk.block.text:
            return b""
        if not columns and not remarks and chunk.block.rows is None and self._tagger.keeps_untagged:
            return self._joined(chunk, chunk.block.bom + chunk.block.text)
        return self._joined(chunk, self._tagger.write(chunk, columns, remarks or {}))

    def _joined(self, chunk: Chunk, written: bytes) -> bytes:
        """`written`; before another file the end of the one before, which may lack a newline or a blank row."""
        if chunk.block.rows is not None or not written:
            return written
        if not self._end:
            self._newline = b"\r\n" if b"\r\n" in written else b"\n"
        elif chunk.block.first_line == 1:
            written = written.removeprefix(chunk.block.bom)
            end = self._end.replace(b"\r", b"")
            missing = 0 if end.endswith(b"\n") or written.startswith(b",") else 1
            if self._format.sentences.by_blank_row and not end.endswith(b"\n\n"):
                missing += 1
            written = self._newline * missing + written
        self._end = (self._end + written[-4:])[-4:]
        return written

    def close(self) -> bytes:
        """The last bytes of the output."""
        return self._tagger.close()

    def notes(self) -> Iterator[str]:
        """What the output has no more of the input, for people."""
        return self._tagger.notes()


def repeated(chunk: Chunk, copies: Sequence[int], *, alone: bool = False) -> Chunk:
    """The chunk with sentence s repeated `copies[s]` times. Its corpus has no columns: it is only written, not read.

    alone: without the lines between sentences, and with an end that another sentence can follow.
    """
    if chunk.block.rows is not None:
        return _repeated_rows(chunk, copies)
    lines = chunk.block.text.decode().split("\n")
    line_of = token_lines(chunk)
    off = chunk.corpus.sentence_off.tolist()
    sentences = data_format(chunk.data.format).sentences
    out: list[str] = []
    places: list[int] = []
    done = 0
    for first, last, many in zip(off[:-1], off[1:], copies, strict=True):
        start, end = sentences.span(lines, done, line_of[first], line_of[last - 1])
        out += [] if alone else lines[done:start]
        for copy in range(many):
            places += [len(out) + n - start for n in line_of[first:last]]
            out += lines[start:end]
            if copy < many - 1 or alone:
                sentences.part(out)
        done = end
    out += [""] if alone else lines[done:]
    text = "\n".join(out).encode()
    first_line = chunk.block.first_line
    lined = None if chunk.block.lines is None else range(first_line, first_line + len(out))
    block = Block(text, first_line, chunk.block.bom, lines=lined)
    return replace(chunk, corpus=_corpus_of_copies(chunk, copies, places), block=block, places=None)


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
    block = chunk.block._replace(rows=rows._replace(table=rows.table.take(taken)))
    return replace(chunk, corpus=_corpus_of_copies(chunk, copies, places), block=block)


def _corpus_of_copies(chunk: Chunk, copies: Sequence[int], places: Sequence[int]) -> Corpus:
    """places: the line, or the row, of each token of the copies in the new block."""
    lengths = np.repeat(chunk.corpus.lengths(), copies)
    off = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    lines = np.array(places, np.int64) + chunk.block.first_line
    return Corpus(chunk.corpus.file, off, {}, lines, chunk.corpus.warnings)


# gold beside predictions ----------------------------------------------------------------------------------------------

_CHOICE = "predictions"  # the option of a format that has two places for predictions


def with_predictions_apart(data: DataSpec) -> DataSpec:
    """The statement with predictions beside the gold of the file. `DcrfError` if its format has no choice there."""
    apart = data_format(data.format).gold_kept
    if apart is None:
        message = f"predictions in `{data.format}` are beside the gold in any case"
        raise DcrfError(Diagnostic("idle-apart", message, help="leave out `--apart`"))
    others = tuple(option for option in data.options if option.name != _CHOICE)
    return data.model_copy(update={"options": (*others, Argument(name=_CHOICE, value=Text(value=apart)))})


def with_gold_kept(data: DataSpec) -> DataSpec:
    """The same where the format has a choice, else the statement as it is."""
    return data if data_format(data.format).gold_kept is None else with_predictions_apart(data)
