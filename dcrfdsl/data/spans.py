"""The format `spans`: JSON lines, each a running text with labelled spans of characters (`span_records`).

A line is one sequence. The option `tokenizer` cuts its text into tokens, and a column with the source `spans` holds at
each token the mark of its segment, in the scheme of the label of that name (`bio` without one). Other sources: `token`,
its offsets `start` and `end`, and `space` (`yes` if white space or nothing stands before it). Not here: writing
(`spans_writer`), how spans meet tokens (`span_tokens`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..foundation import DcrfError, data_error
from ..semantics import Column, DataSpec
from .column_blocks import Block
from .columns import Parsed, interned
from .formats import Wanted, absent_columns, text_options
from .jsonl import decoded
from .span_records import BadRecord, spans_of, text_of_record, tokens_of_record
from .span_tokens import BadSpan, Fitting, given_tokens, marks_of, to_characters
from .tokenizers import TOKENIZERS, Offsets2

__all__ = ["SPANS", "SpanOptions", "SpansReader"]

SPANS = "spans"  # the source of columns that hold segments
_GIVEN = "given"
_REMEDY = 'one text a line, as `{"text": "…", "label": [[0, 4, "PER"]]}`'
_MOST_WARNINGS = 5


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
        self._schemes = dict(wanted.data.schemes)
        self._columns: tuple[Column, ...] | None = None  # decided by the first line with a token
        self.warnings: list[str] = []

    def cut(self, text: bytes) -> int:
        return text.rfind(b"\n") + 1

    def parse(self, block: Block) -> Parsed:
        texts: dict[str, list[str]] = {}
        lengths: list[int] = []
        numbers: list[int] = []
        for number, line in enumerate(block.text.decode().split("\n"), block.first_line):
            if not line or line.isspace():
                continue
            try:
                columns, length = self._sequence(decoded(line, number, self._wanted.file, _REMEDY), number)
            except BadRecord as bad:
                raise self._error("bad-sentence", str(bad), number, _REMEDY) from None
            except BadSpan as bad:
                raise self._error(bad.slug, str(bad), number, bad.help) from None
            if length:
                for name, values in columns.items():
                    texts.setdefault(name, []).extend(values)
                lengths.append(length)
                numbers.append(number)
        return Parsed(
            {name: interned(values, len(values)) for name, values in texts.items()},
            np.array(lengths, np.int64),
            np.repeat(np.array(numbers, np.int64), lengths),
        )

    def _sequence(self, record: Any, number: int) -> tuple[Mapping[str, list[str]], int]:
        """The columns of one line, and its number of tokens."""
        text = text_of_record(record)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self._error("bad-value", "the text holds half a surrogate pair, which is no text", number) from None
        tokens = self._options.tokens(record, text)
        if not tokens:
            return {}, 0
        columns = {}
        for column in self._layout(record, number):
            if column.source == SPANS:
                columns[column.name] = self._marks(column, record, tokens, text, number)
            else:
                columns[column.name] = _OF_TOKENS[column.source](tokens, text)
        return columns, len(tokens)

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
        return self._columns

    def _marks(self, column: Column, record: Any, tokens: Offsets2, text: str, number: int) -> list[str]:
        found = spans_of(record, column.key)
        assert found is not None
        options, needed = self._options, column.name not in self._wanted.optional - self._wanted.required

        def complain(bad: BadSpan) -> None:
            self._warn(f"{self._wanted.file}:{number}: {bad}")

        misaligned, overlapping = options.misaligned, options.overlapping
        if not needed:  # gold that is not asked for forbids no tagging
            misaligned = "skip" if misaligned == "error" else misaligned
            overlapping = "longest"
        spans = []
        for raw in found[0]:
            try:
                spans.append(to_characters(raw, text, options.utf16))
            except BadSpan as bad:
                if needed:
                    raise
                complain(bad)
        scheme = self._schemes.get(column.name, "bio")
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
