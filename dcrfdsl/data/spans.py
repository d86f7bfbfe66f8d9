"""The format `spans`: JSON, each value a running text with labelled spans of characters (`span_records`).

A line is one sequence, or a record of the one array that the file is (`json_arrays`). The option `tokenizer` cuts its
text into tokens, and a column with the source `spans` holds at each token the mark of its segment, in the scheme of the
label of that name (`bio` without one). Other sources: `token`, its offsets `start` and `end`, and `space` (`yes` if
white space or nothing stands before it). Where labels are read, texts are left out whose annotation somebody rejected
(`annotation_status`). A label that declares its types, and reads the rest as `O`, takes the spans of its types alone.
Not here: writing (`spans_writer`), how spans meet tokens (`span_tokens`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..foundation import DcrfError, data_error
from ..semantics import Column, DataSpec
from .annotation_status import LeftOutTexts
from .column_blocks import Block
from .columns import Parsed, interned
from .formats import Wanted, absent_columns, text_options
from .jsonl import decoded
from .raw_spans import BadRecord, RawSpan
from .span_records import (
    ProdigyDoubts,
    ReadSpans,
    has_annotation,
    refusal_of_record,
    spans_of,
    text_of_record,
    tokens_of_record,
)
from .span_tokens import BadSpan, Fitting, given_tokens, marks_of, to_characters
from .tokenizers import TOKENIZERS, Offsets2

SPANS = "spans"  # the source of columns that hold segments
_GIVEN = "given"
_REMEDY = 'one text a line, as `{"text": "…", "label": [[0, 4, "PER"]]}`'
_MOST_WARNINGS = 5
_DIFFER = "read with the first of several annotations that differ"


@dataclass(frozen=True)
class SpanOptions:
    """The options of `data spans(…)`."""

    tokenizer: str
    utf16: bool
    misaligned: str
    overlapping: str
    style: str
    apart: bool

    @classmethod
    def of(cls, data: DataSpec) -> SpanOptions:
        given = text_options(data)
        return cls(
            given.get("tokenizer", "words"),
            given.get("offsets") == "utf16",
            given.get("misaligned", "error"),
            given.get("overlapping", "error"),
            given.get("style", "doccano"),
            given.get("predictions") == "apart",
        )

    def tokens(self, record: Any, text: str) -> Offsets2:
        """The tokens of a record. `BadRecord` or `BadSpan` if those that it gives cannot be used."""
        if self.tokenizer == _GIVEN:
            return given_tokens(tokens_of_record(record), text, self.utf16)
        return TOKENIZERS[self.tokenizer](text)


class SpansReader:
    bytes_per_token: ClassVar[int] = 10

    def __init__(self, wanted: Wanted):
        self._wanted = wanted
        self._options = SpanOptions.of(wanted.data)
        self._schemes = {one.label: (one.scheme, one.types) for one in wanted.data.schemes}
        self._spare = wanted.optional - wanted.required
        self._columns: tuple[Column, ...] | None = None  # decided by the first line with a token
        if not wanted.gold:
            self._columns = wanted.without(self._spare)
        self.left_out, self._doubts = LeftOutTexts(), ProdigyDoubts()
        self.warnings: list[str] = []

    def cut(self, text: bytes) -> int:
        return text.rfind(b"\n") + 1

    def parse(self, block: Block) -> Parsed:
        def records() -> Iterator[tuple[int, int, Any]]:
            for n, line in enumerate(block.text.decode().split("\n")):
                if line and not line.isspace():
                    number = block.line_of(n)
                    yield n, number, decoded(line, number, self._wanted.file, _REMEDY)

        return self.gathered(records())

    def gathered(self, records: Iterable[tuple[int, int, Any]]) -> Parsed:
        """The sequences of records, each with its place in a block and its line in the file."""
        texts: dict[str, list[str]] = {}
        lengths: list[int] = []
        numbers: list[int] = []
        places: list[int] = []
        for place, number, record in records:
            try:
                columns, length = self._sequence(record, number)
            except BadRecord as bad:
                raise self._error("bad-sentence", str(bad), number, _REMEDY) from None
            except BadSpan as bad:
                raise self._error(bad.slug, str(bad), number, bad.help) from None
            if length:
                for name, values in columns.items():
                    texts.setdefault(name, []).extend(values)
                lengths.append(length)
                numbers.append(number)
                places.append(place)
        return Parsed(
            {name: interned(values, len(values)) for name, values in texts.items()},
            np.array(lengths, np.int64),
            np.repeat(np.array(numbers, np.int64), lengths),
            np.array(places, np.int64),
        )

    def _sequence(self, record: Any, number: int) -> tuple[Mapping[str, list[str]], int]:
        """The columns of one line, and its number of tokens; none if it is left out."""
        text = text_of_record(record)
        if self._is_left_out(record, number):
            return {}, 0
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self._error("bad-value", "the text holds half a surrogate pair, which is no text", number) from None
        tokens = self._options.tokens(record, text)
        if not tokens:
            return {}, 0
        columns, found = {}, dict[str | None, ReadSpans]()
        for column in self._layout(record, number):
            if column.source != SPANS:
                columns[column.name] = _OF_TOKENS[column.source](tokens, text)
                continue
            if column.key not in found:
                found[column.key] = self._found(record, column.key, number)
            columns[column.name] = self._marks(column, found[column.key].spans, tokens, text, number)
        return columns, len(tokens)

    def _found(self, record: Any, key: str | None, number: int) -> ReadSpans:
        """The spans of a record that has some under this key."""
        found = spans_of(record, key)
        assert found is not None
        for reason in found.refused:
            self.left_out.add(f"left out, as {reason}", number, "span")
        if found.differ:
            self.left_out.add(_DIFFER, number)
        for doubt in self._doubts.of(record, key, found.spans):
            self.left_out.add(doubt, number)
        return found

    def _is_left_out(self, record: Any, number: int) -> bool:
        """Whether the labels of the file are read, and the annotation of this text counts for nothing."""
        marked = any(column.source == SPANS for column in self._columns or self._wanted.columns)
        if not marked or not self._wanted.gold:
            return False
        reason = refusal_of_record(record)
        if reason is None and not has_annotation(record) and not (self._columns is None and self._spare):
            reason = "nobody has annotated it"
        if reason is not None:
            self.left_out.add(f"left out, as {reason}", number)
        return reason is not None

    def _layout(self, record: Any, number: int) -> tuple[Column, ...]:
        """The columns of the file: all, or all but the labels, as the first line decides."""
        wanted = self._wanted
        absent = [
            column
            for column in self._columns or wanted.columns
            if column.source == SPANS and spans_of(record, column.key) is None
        ]
        if self._columns is None:
            names = {column.name for column in absent}
            if absent and (names != wanted.optional or names & wanted.required):
                raise absent_columns([column.name for column in absent], wanted, number, "this line has no spans")
            self._columns = tuple(column for column in wanted.columns if column not in absent)
        elif absent:
            raise absent_columns([absent[0].name], wanted, number, "the first line has spans, this one not")
        elif wanted.gold and len(self._columns) < len(wanted.columns):
            unread = [column.key for column in wanted.columns if column not in self._columns]
            if any(found.spans for key in unread if (found := spans_of(record, key)) is not None):
                self.left_out.add("read without labels, as the first one has none", number)
        return self._columns

    def _marks(self, column: Column, found: Sequence[RawSpan], tokens: Offsets2, text: str, number: int) -> list[str]:
        """The mark of each token."""
        options, needed = self._options, column.name not in self._spare

        def complain(bad: BadSpan) -> None:
            self._warn(f"{self._wanted.file}:{number}: {bad}")

        misaligned, overlapping = options.misaligned, options.overlapping
        if not needed:  # gold that is not asked for forbids no tagging
            misaligned = "skip" if misaligned == "error" else misaligned
            overlapping = "longest"
        scheme, types = self._schemes.get(column.name, ("bio", None))
        spans = []
        for raw in found:
            try:
                span = to_characters(raw, text, options.utf16)
                if types is None or span[2] in types:
                    spans.append(span)
            except BadSpan as bad:
                if needed:
                    raise
                complain(bad)
        return marks_of(spans, tokens, text, scheme, Fitting(misaligned, overlapping, complain))

    def _warn(self, message: str) -> None:
        if len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(message)
        elif len(self.warnings) == _MOST_WARNINGS:
            self.warnings.append(f"{self._wanted.file}: there are more spans that do not fit (not listed)")

    def _error(self, slug: str, message: str, number: int, remedy: str | None = None) -> DcrfError:
        return data_error(slug, message, file=self._wanted.file, line=number, help=remedy)


def _spaces(tokens: Offsets2, text: str) -> list[str]:
    return ["yes" if start == 0 or text[start - 1].isspace() else "no" for start, _ in tokens]


_OF_TOKENS = {
    "token": lambda tokens, text: [text[start:end] for start, end in tokens],
    "start": lambda tokens, text: [str(start) for start, _ in tokens],
    "end": lambda tokens, text: [str(end) for _, end in tokens],
    "space": _spaces,
}
