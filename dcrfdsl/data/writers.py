"""Predictions written next to their lines: the whole input stays in place.

`conll` gets more columns, separated by a TAB if the first token of the chunk has one, else by a space. `conllu` gets
them in the columns that the labels were read from (`conllu_writer`), `spans` in the lists of spans (`spans_writer`),
`csv`, `tsv` and `parquet` in new columns (`delimited_writer`, `parquet_writer`). `jsonl` gets an object `predicted`
(`{"word": […], "predicted": {"chunk": […]}}`; if a sentence is a list of tokens, each token gets its own). Earlier
predictions are replaced, but in `conll`. In `crfsuite` and `grmm` a predicted label takes the place of its label, so
that the output can be read again (`featured_writer`).

A remark on a whole sentence (the rank of a labelling, its probability) is one more column in `conll`, with the same
text at every token, because a separate line could be read as a token; so in `crfsuite` and `grmm`. In `conllu` it is a
comment, in `jsonl` a key of the sentence's object (or of `predicted`, at each token of a list).
Not here: the predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..foundation import Table
from ..semantics import DataSpec
from .annotation_status import refusal
from .conllu_writer import tag_conllu
from .delimited_writer import DelimitedWriter
from .featured_writer import tag_crfsuite, tag_grmm
from .formats import text_options
from .parquet_writer import ParquetTagger
from .readers import Chunk
from .spans_writer import SpansWriter
from .written_lines import Predicted, Remarks, at_each_token, changed_json, lines_of, text_of

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
        self._write, self._close, self._notes = WRITERS[data.format]()
        self._is_spans = data.format == "spans"
        self._blank_row = data.format not in LINE_BY_LINE
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
        if not columns and not remarks and chunk.block.rows is None and not self._is_spans:
            return self._joined(chunk, chunk.block.bom + chunk.block.text)
        return self._joined(chunk, self._write(chunk, columns, remarks or {}))

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
            if self._blank_row and not end.endswith(b"\n\n"):
                missing += 1
            written = self._newline * missing + written
        self._end = (self._end + written[-4:])[-4:]
        return written

    def close(self) -> bytes:
        """The last bytes of the output."""
        return self._close()

    def notes(self) -> Iterator[str]:
        """What the output has no more of the input, for people."""
        return self._notes()


def _tag_conll(chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
    from ..kernels.extraction import append_to_lines

    columns = [*predicted.values(), *at_each_token(chunk, remarks).values()]
    text, token_lines = chunk.block.text, chunk.corpus.token_line - chunk.block.first_line
    if not len(token_lines):
        return text
    separator, first = text_options(chunk.data).get("separator"), int(token_lines[0])
    between = separator or ("\t" if b"\t" in text.split(b"\n", first + 1)[first] else " ")
    codes, cells = np.zeros(len(token_lines), np.int64), [""]
    for values in columns:
        index = {value: number for number, value in enumerate(dict.fromkeys(values))}
        text_number = np.fromiter(map(index.__getitem__, values), np.int64, len(token_lines))
        ends = [between + text_of(value) for value in index]
        used, codes = np.unique(codes * len(ends) + text_number, return_inverse=True)
        cells = [cells[pair // len(ends)] + ends[pair % len(ends)] for pair in used.tolist()]
    encoded = [cell.encode() for cell in cells]
    cell_off = np.cumsum([0, *map(len, encoded)])
    joined, raw = np.frombuffer(b"".join(encoded), np.uint8), np.frombuffer(text, np.uint8)
    return append_to_lines(raw, token_lines, codes, joined, cell_off, separator is None).tobytes()


def _tag_jsonl(chunk: Chunk, columns: Predicted, remarks: Remarks) -> bytes:
    lines = lines_of(chunk)
    token_lines = chunk.corpus.token_line - chunk.block.first_line
    sentence_of = np.repeat(np.arange(chunk.corpus.num_sentences), chunk.corpus.lengths())
    for n, line in enumerate(lines):
        if not line or line.isspace():
            continue
        start, end = np.searchsorted(token_lines, (n, n + 1))
        predicted = {name: values[start:end] for name, values in columns.items()}
        # a line without a token is not a sentence of the corpus
        said = {name: values[sentence_of[start]] for name, values in remarks.items()} if start < end else {}
        changed = partial(_with_predicted, predicted=predicted, remarks=said, is_sentence=start < end)
        lines[n] = changed_json(chunk, n, line, changed)
    return "\n".join(lines).encode()


def _with_predicted(
    sentence: Any,
    predicted: Mapping[str, Sequence[str | float | None]],
    remarks: Mapping[str, str | float | None],
    is_sentence: bool,
) -> Any:
    if not is_sentence and refusal(sentence) is not None:
        return sentence  # it was left out
    if isinstance(sentence, Mapping):
        return {**sentence, "predicted": predicted, **remarks}
    tokens = []
    for t, token in enumerate(sentence):
        labels = {name: values[t] for name, values in predicted.items()} | dict(remarks)
        tokens.append(
            {**token, "predicted": labels} if isinstance(token, Mapping) else [*_values(token), *labels.values()]
        )
    return tokens


def _values(token: Any) -> Sequence[Any]:
    """The values of a token that is a list; a single text is a token of one column."""
    return [token] if isinstance(token, str) else token


LINE_BY_LINE = ("jsonl", "spans")  # text formats in which a line is a sentence; in the others a blank row ends one

_Write = Callable[[Chunk, Predicted, Remarks], bytes]
_Writer = tuple[_Write, Callable[[], bytes], Callable[[], Iterator[str]]]  # writes a chunk; ends the output; notes


def _chunk_by_chunk(write: _Write) -> Callable[[], _Writer]:
    """A format whose chunks know nothing of each other. The byte order mark stays in front."""
    return lambda: (lambda chunk, predicted, remarks: chunk.block.bom + write(chunk, predicted, remarks), bytes, _none)


def _none() -> Iterator[str]:
    return iter(())


def _delimited() -> _Writer:
    return DelimitedWriter().write, bytes, _none


def _spans() -> _Writer:
    writer = SpansWriter()
    write, _, _ = _chunk_by_chunk(writer.write)()
    return write, writer.close, writer.notes


def _parquet() -> _Writer:
    tagger = ParquetTagger()
    return tagger.write, tagger.close, _none


WRITERS: Table[Callable[[], _Writer]] = Table(
    "output format",
    {
        "conll": _chunk_by_chunk(_tag_conll),
        "conllu": _chunk_by_chunk(tag_conllu),
        "jsonl": _chunk_by_chunk(_tag_jsonl),
        "crfsuite": _chunk_by_chunk(tag_crfsuite),
        "grmm": _chunk_by_chunk(tag_grmm),
        "csv": _delimited,
        "tsv": _delimited,
        "spans": _spans,
        "parquet": _parquet,
    },
)
