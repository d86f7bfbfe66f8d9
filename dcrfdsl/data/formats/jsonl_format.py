"""The format `jsonl`: one sentence per line, as JSON: `{"word": ["The", "dog"], "pos": ["DT", "NN"]}`, or a list of
tokens, `[{"word": "The", "pos": "DT"}, {"word": "dog", "pos": "NN"}]`.

Keys that no column names are ignored, but those by which annotation tools reject a sentence (`json_lines`). Blank lines
are skipped. Predictions are an object `predicted` in the sentence's (`{"word": […], "predicted": {"chunk": […]}}`), or
in each token's, in place of earlier ones; a remark on a sentence is a key of the same object. Not here: the meaning of
the values (`records`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from ...foundation import DcrfError, Diagnostic, data_error, json_text
from ...syntax import Column, ColumnType, DataSpec
from ..column_blocks import Block
from ..columns import Parsed, Wanted
from ..corpus import Corpus
from ..records import Records
from . import format_interface as formats
from .json_lines import changed_json, decoded, json_values, refusal, scores_as_json
from .written_cells import lines_of, values_of

_REMEDY = "one sentence a line, as a JSON object of lists or a JSON list of objects"


class JsonlReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 32

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        for column in wanted.columns:
            if column.key is not None:
                message = f"`{column.name}` asks for a key of `{column.source}`; `jsonl` has no keys"
                raise DcrfError(Diagnostic("unknown-column", message))
        self._keys = frozenset(column.source for column in wanted.columns)
        self._records = Records(wanted, key=attrgetter("source"), unit="line")

    def cut(self, text: bytes) -> int:
        return text.rfind(b"\n") + 1

    def parse(self, block: Block) -> Parsed:
        for _, number, sentence in json_values(block, self._wanted.file, _REMEDY):
            reason = refusal(sentence, self._keys) if self._wanted.gold else None
            if reason is None:
                self._records.add(sentence, number)
            else:
                self.left_out.add(f"left out, as {reason}", number, "sentence")
        return self._records.take()


def _tag_jsonl(chunk: formats.Chunk, columns: formats.Predicted, remarks: formats.Remarks) -> bytes:
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


class JsonlEmitter(formats.Emitter):
    def write(self, corpus: Corpus) -> bytes:
        columns = {c.source: values_of(corpus, c.name, self._export.types[c.name]) for c in self._export.columns}
        for c in self._export.columns:
            if self._export.types[c.name].of:
                columns[c.source] = list(map(scores_as_json, columns[c.source]))
        off = corpus.sentence_off.tolist()
        lines = [
            json_text({name: values[start:end] for name, values in columns.items()}, ensure_ascii=False)
            for start, end in pairwise(off)
        ]
        return "".join(f"{line}\n" for line in lines).encode()


def _look(left: formats.LeftOut, chunk: formats.Chunk, kept: Collection[str]) -> None:
    read = {column.source for column in chunk.data.columns if column.name in kept}
    left.counts["sentences without a token"] -= chunk.corpus.num_sentences
    for _, _, sentence in json_values(chunk.block, chunk.corpus.file, ""):
        left.counts["sentences without a token"] += 1
        for item in [sentence] if isinstance(sentence, dict) else sentence:
            if isinstance(item, dict):
                left.names.update((key, None) for key in item if key not in read)


def _columns_of_first_line(path: str, data: DataSpec) -> Sequence[Column]:
    for number, line in enumerate(formats.beginning_of(path).decode(errors="replace").split("\n"), 1):
        if not line or line.isspace():
            continue
        sentence = decoded(line, number, path, "a sentence a line, as JSON")
        if isinstance(sentence, list) and sentence and all(isinstance(token, dict) for token in sentence):
            sentence = {key: [token.get(key) for token in sentence] for key in sentence[0]}
        if isinstance(sentence, dict):
            lists = {key: value for key, value in sentence.items() if isinstance(value, list)}
            if any(lists.values()):
                length = len(max(lists.values(), key=len))
                columns = {key: value for key, value in lists.items() if len(value) == length}
                return [Column(name=key, source=key, type=_type_of(values)) for key, values in columns.items()]
        elif sentence:
            message = "the tokens of this file have no names for their values"
            raise data_error("missing-column", message, file=path, line=number, help="--from 'jsonl(word, pos)'")
    return []


def _type_of(values: Sequence[Any]) -> ColumnType:
    """The type that the values of the first sentence have."""
    if all(isinstance(value, list) for value in values):
        flat = [item for value in values for item in value]
        if flat and all(_is_number(item) for item in flat) and len({len(value) for value in values}) == 1:
            return ColumnType(name="vector", size=len(values[0]))
        return ColumnType(name="bag")
    if all(isinstance(value, dict) for value in values):
        return ColumnType(name="weighted_bag")
    if all(_is_number(value) for value in values):
        return ColumnType(name="int" if all(isinstance(value, int) for value in values) else "float")
    return ColumnType()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


FORMATS = {
    "jsonl": formats.DataFormat(
        JsonlReader, partial(formats.ChunkTagger, _tag_jsonl), JsonlEmitter, formats.SINGLE_LINES,
        suffixes=(".jsonl", ".ndjson"), columns_of=_columns_of_first_line,
        place_names=lambda column, options: [column.source], look=_look, has_numbers=True,
    ),
}  # fmt: skip
