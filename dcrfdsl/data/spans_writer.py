"""Predictions as spans of characters, in the place and the style of the spans that a line has.

With `predictions = "apart"` they stand in an object `predicted`, beside the spans of the file; so does what is no
segment (marginals, ranks), with the offsets of its `tokens`. Label Studio has a place for predictions, and they go
there. Offsets are counted as the file's are. Not here: reading (`spans`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..foundation import data_error
from .readers import Chunk
from .span_records import KEYS, STYLES, BadRecord, SpanStyle, spans_of, style_of_record, text_of_record, with_spans
from .span_tokens import segments_in, to_units
from .spans import SPANS, SpanOptions
from .written_lines import Predicted, Remarks, changed_json, lines_of, token_lines

__all__ = ["SpansWriter"]

_STUDIO = STYLES["label_studio"].key
_FILLED = r'"(?:{})"\s*:\s*\[\s*[\[{{]'  # a key with a list that is not empty


class SpansWriter:
    """Writes chunks one after another; the first span that it sees decides the style, in its whole chunk."""

    def __init__(self) -> None:
        self._styles: dict[str, SpanStyle] = {}  # by the name of the column

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        """The lines of the chunk with the predicted spans."""
        options, lines = SpanOptions.of(chunk.data), lines_of(chunk)
        keys = {column.name: column.key for column in chunk.data.columns if column.source == SPANS}
        rows = np.array(token_lines(chunk), np.int64)
        off = chunk.corpus.sentence_off
        sentence_at = {int(rows[off[s]]): s for s in range(len(off) - 1)}
        self._look(lines, keys)
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
            try:
                lines[n] = changed_json(chunk, n, line, changed)
            except BadRecord as bad:
                at = n + chunk.block.first_line
                raise data_error("bad-sentence", str(bad), file=chunk.corpus.file, line=at) from None
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
                if found is not None and found[1] is not None and found[0]:
                    self._styles[name] = found[1]
                    break
