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
from .span_tokens import segments_in, to_units
from .spans import SPANS, SpanOptions
from .written_lines import Predicted, Remarks, changed_json, lines_of, token_lines

__all__ = ["SpansWriter"]


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
        segments = {name: segments_in(list(map(str, predicted[name])), off) for name in keys if name in predicted}
        for n, line in enumerate(lines):
            if not line or line.isspace():
                continue
            s = sentence_at.get(n)
            here = slice(0, 0) if s is None else slice(int(off[s]), int(off[s + 1]))
            values = {name: list(column[here]) for name, column in predicted.items() if name not in segments}
            found = {name: [] if s is None else of_sentences[s] for name, of_sentences in segments.items()}
            said = {} if s is None else {name: column[s] for name, column in remarks.items()}
            changed = partial(self._changed, segments=found, values=values, said=said, keys=keys, options=options)
            lines[n] = changed_json(chunk, n, line, changed)
        return "\n".join(lines).encode()

    def _changed(
        self,
        record: Any,
        *,
        segments: dict[str, list[tuple[int, int, str]]],
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
        for name, column in values.items():
            apart[name] = column
            apart["tokens"] = [list(token) for token in counted]
        for name, found in segments.items():
            style = self._style(name, record, keys[name], options)
            made = [
                (counted[first][0], counted[last][1], label, text[tokens[first][0] : tokens[last][1]])
                for first, last, label in found
            ]
            if options.apart:
                apart[name] = [style.make(*span) for span in made]
            else:
                record = with_spans(record, keys[name], style, made)
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
