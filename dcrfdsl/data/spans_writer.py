"""Predictions as spans of characters, in the place and the style of the spans that a line has.

With `predictions = "apart"` they stand in an object `predicted`, beside the spans of the file; so does what is no
segment (marginals, ranks), with the offsets of its `tokens`. Label Studio has a place for predictions, and they go
there. Offsets are counted as the file's are. Not here: reading (`spans`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .readers import Chunk
from .span_records import STYLES, SpanStyle, spans_of, text_of_record, with_spans
from .span_tokens import spans_of_marks, to_units
from .spans import SPANS, SpanOptions
from .tokenizers import Offsets2
from .written_lines import Predicted, Remarks, changed_json, lines_of, token_lines

__all__ = ["SpansWriter"]

_Spans = list[tuple[int, int, str]]


class SpansWriter:
    """Writes chunks one after another; the first span that it sees decides the style."""

    def __init__(self) -> None:
        self._styles: dict[str, SpanStyle] = {}  # by the name of the column

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        """The lines of the chunk with the predicted spans."""
        options, lines = SpanOptions.of(chunk.data), lines_of(chunk)
        keys = {column.name: column.key for column in chunk.data.columns if column.source == SPANS}
        rows = np.array(token_lines(chunk), np.int64)
        off = chunk.corpus.sentence_off
        sentence_at = {int(rows[off[s]]): s for s in range(len(off) - 1)}
        for n, line in enumerate(lines):
            if not line or line.isspace():
                continue
            s = sentence_at.get(n)
            here = slice(0, 0) if s is None else slice(int(off[s]), int(off[s + 1]))
            values = {name: list(column[here]) for name, column in predicted.items()}
            said = {} if s is None else {name: column[s] for name, column in remarks.items()}
            changed = partial(self._changed, values=values, said=said, keys=keys, options=options)
            lines[n] = changed_json(chunk, n, line, changed)
        return "\n".join(lines).encode()

    def _changed(
        self,
        record: Any,
        *,
        values: dict[str, list[Any]],
        said: dict[str, Any],
        keys: dict[str, Any],
        options: SpanOptions,
    ) -> Any:
        text = text_of_record(record)
        tokens = options.tokens(record, text)
        units = to_units(text) if options.utf16 else None
        counted = tokens if units is None else [(units[start], units[end]) for start, end in tokens]
        apart: dict[str, Any] = dict(said)
        for name, marks in values.items():
            if name not in keys:
                apart[name] = marks
                apart["tokens"] = [list(token) for token in counted]
                continue
            spans = _spans(marks, tokens) if tokens else []
            style = self._style(name, record, keys[name], options)
            written = spans if units is None else [(units[start], units[end], label) for start, end, label in spans]
            quotes = {span: text[start:end] for span, (start, end, _) in zip(written, spans, strict=True)}
            if options.apart:
                apart[name] = [style.make(*span, quotes[span]) for span in written]
            else:
                record = with_spans(record, keys[name], style, [(*span, quotes[span]) for span in written])
        if not apart:
            return record
        if isinstance(record, list):
            return [record[0], {**record[1], "predicted": apart}]
        return {**record, "predicted": apart}

    def _style(self, name: str, record: Any, key: str | None, options: SpanOptions) -> SpanStyle:
        if name not in self._styles:
            found = spans_of(record, key)
            if found is None or found[1] is None:
                return STYLES[options.style]
            self._styles[name] = found[1]
        return self._styles[name]


def _spans(marks: list[Any], tokens: Offsets2) -> _Spans:
    (spans,) = spans_of_marks([str(mark) for mark in marks], tokens, np.array([0, len(tokens)]))
    return spans
