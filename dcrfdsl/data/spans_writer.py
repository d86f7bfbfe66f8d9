"""Predictions as spans of characters, in the place and the style of the spans that a line has.

With `predictions = "apart"` they stand in an object `predicted`, beside the spans of the file; so does what is no
segment (marginals, ranks), with the offsets of its `tokens`. Label Studio has a place for predictions, and they go
there. A column of numbers `LABEL_segment_confidence` is the probability of each span of LABEL, and goes with it; spans
that are lists have no place for it, and stand as objects in `predicted` too. Offsets are counted as the file's are. If
the first file is a JSON array, so is the output. Not here: reading (`spans`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..foundation import Offsets, data_error
from .raw_spans import BadRecord, MadeSpan, plain, triple
from .readers import Chunk
from .span_records import KEYS, STYLES, SpanStyle, spans_of, style_of_record, text_of_record, with_spans
from .span_tokens import segments_in, to_units
from .spans import SPANS, SpanOptions
from .written_lines import Predicted, Remarks, changed_json, lines_of, token_lines

SEGMENT_CONFIDENCE = "{}_segment_confidence"  # the column of a label
_STUDIO = STYLES["label_studio"].key
_FILLED = r'"(?:{})"\s*:\s*\[\s*[\[{{]'  # a key with a list that is not empty


class _Segment(NamedTuple):
    """A predicted segment of a sentence: its first and last token, counted in the sentence."""

    first: int
    last: int
    label: str
    probability: float | None


class _Answer(NamedTuple):
    """What is predicted for a sentence: by column, and by name for the sentence as a whole.

    weighed: the columns whose segments have probabilities.
    """

    segments: Mapping[str, Sequence[_Segment]]
    weighed: Collection[str]
    values: Mapping[str, Sequence[Any]]
    said: Mapping[str, Any]


class SpansWriter:
    """Writes chunks one after another; the first span that it sees decides the style, in its whole chunk."""

    def __init__(self) -> None:
        self._styles: dict[str, SpanStyle] = {}  # by the name of the column
        self._is_array: bool | None = None  # decided by the first chunk with text
        self._begun = False
        self._relations = 0

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        """The lines of the chunk with the predicted spans."""
        if self._is_array is None and chunk.block.text:
            self._is_array = chunk.block.lines is not None
        lines = self._changed_lines(chunk, predicted, remarks) if predicted or remarks else lines_of(chunk)
        if self._is_array:
            return b"".join(self._items(lines))
        return "\n".join(lines).encode()

    def _items(self, lines: Sequence[str]) -> Iterator[bytes]:
        """The lines as items of the array."""
        for line in lines:
            if line and not line.isspace():
                yield (",\n" if self._begun else "[\n").encode() + line.rstrip().encode()
                self._begun = True

    def close(self) -> bytes:
        """The end of the array, if it is one."""
        if not self._is_array:
            return b""
        return b"\n]\n" if self._begun else b"[]\n"

    def notes(self) -> Iterator[str]:
        """What the output has no more."""
        if self._relations:
            plural = "relation" if self._relations == 1 else "relations"
            yield f"{self._relations:,} {plural} left out, as they point at spans that are not predicted"

    def _changed_lines(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> list[str]:
        options, lines = SpanOptions.of(chunk.data), lines_of(chunk)
        keys = {column.name: column.key for column in chunk.data.columns if column.source == SPANS}
        rows, off = token_lines(chunk), chunk.corpus.sentence_off
        sentence_at = {rows[start]: s for s, start in enumerate(off[:-1].tolist())}
        self._look(lines, keys)
        segments = {name: _segments(name, predicted, off) for name in keys if name in predicted}
        apart = {SEGMENT_CONFIDENCE.format(name) for name in segments} | set(segments)
        columns = {name: column for name, column in predicted.items() if name not in apart}
        for n, line in enumerate(lines):
            if not line or line.isspace():
                continue
            s = sentence_at.get(n)
            here = slice(0, 0) if s is None else slice(int(off[s]), int(off[s + 1]))
            answer = _Answer(
                {name: [] if s is None else of_sentences[s] for name, of_sentences in segments.items()},
                [name for name in segments if SEGMENT_CONFIDENCE.format(name) in predicted],
                {name: list(column[here]) for name, column in columns.items()},
                {} if s is None else {name: column[s] for name, column in remarks.items()},
            )
            changed = partial(self._changed, answer=answer, length=here.stop - here.start, keys=keys, options=options)
            try:
                lines[n] = changed_json(chunk, n, line, changed)
            except BadRecord as bad:
                at = chunk.block.line_of(n)
                raise data_error("bad-sentence", str(bad), file=chunk.corpus.file, line=at) from None
        return lines

    def _changed(
        self, record: Any, *, answer: _Answer, length: int, keys: Mapping[str, str | None], options: SpanOptions
    ) -> Any:
        text = text_of_record(record)
        tokens = options.tokens(record, text)
        if len(tokens) != length:
            return record  # it was left out
        units = to_units(text) if options.utf16 else None
        counted = tokens if units is None else [(units[start], units[end]) for start, end in tokens]
        apart: dict[str, Any] = dict(answer.said)
        for name, column in answer.values.items():
            apart[name] = column
            apart["tokens"] = [list(token) for token in counted]
        of_key: dict[str | None, list[MadeSpan]] = {}
        styles = {name: self._style(name, record, keys[name], options) for name in answer.segments}
        for name, found in answer.segments.items():
            made = [
                MadeSpan(
                    counted[first][0], counted[last][1], label, text[tokens[first][0] : tokens[last][1]], probability
                )
                for first, last, label, probability in found
            ]
            of_key.setdefault(keys[name], []).extend(made)
            is_list = styles[name].make is triple and name in answer.weighed
            if options.apart or is_list:
                apart[name] = [(plain if is_list else styles[name].make)(span) for span in made]
        for key, made in () if options.apart else of_key.items():
            style = next(styles[name] for name in answer.segments if keys[name] == key)
            record, lost = with_spans(record, key, style, sorted(made, key=lambda span: (span.start, -span.end)))
            self._relations += lost
        if not apart:
            return record
        if isinstance(record, list):
            return [record[0], {**record[1], "predicted": apart}]
        return {**record, "predicted": apart}

    def _style(self, name: str, record: Any, key: str | None, options: SpanOptions) -> SpanStyle:
        if name in self._styles:
            return self._styles[name]
        spans_of(record, key)  # an error if they are none
        return style_of_record(record, key, options.style)

    def _look(self, lines: Sequence[str], keys: Mapping[str, str | None]) -> None:
        """Finds the first span of each column: the lines before it are written as it is."""
        for name, key in keys.items():
            if name in self._styles:
                continue
            listed = re.compile(_FILLED.format("|".join(map(re.escape, [key, _STUDIO] if key else [*KEYS, _STUDIO]))))
            for line in filter(listed.search, lines):  # most lines need not be decoded twice
                try:
                    found = spans_of(json.loads(line), key)
                except (ValueError, RecursionError, BadRecord):
                    continue  # the message about it names its line
                if found is not None and found.style is not None:
                    self._styles[name] = found.style
                    break


def _segments(name: str, predicted: Predicted, off: Offsets) -> list[list[_Segment]]:
    """The segments of a column in each sentence, with their probabilities where those are known."""
    sure = predicted.get(SEGMENT_CONFIDENCE.format(name))
    sentences = segments_in(list(map(str, predicted[name])), off)
    return [
        [_Segment(first, last, label, _number(sure, start + first)) for first, last, label in segments]
        for start, segments in zip(off[:-1].tolist(), sentences, strict=True)
    ]


def _number(sure: Sequence[Any] | None, token: int) -> float | None:
    value = None if sure is None else sure[token]
    return value if isinstance(value, float) and np.isfinite(value) else None
