"""What a file has beside the columns that are read: what a conversion to another format leaves out, counted.

Each function looks at one chunk and tells `LeftOut`: lines and sentences by number, columns and keys by name. Not here:
what the output cannot hold (`emitters`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..foundation import Table
from .conllu import CONLLU_COLUMNS, KEYED_CELLS, joined_columns
from .delimited import dialect_of, header_name
from .delimited_rows import RowTable
from .formats import text_options
from .jsonl import decoded
from .readers import Chunk
from .span_records import KEYS, text_of_record
from .spans import SPANS, SpanOptions

_MOST_NAMES = 12
_RANGE, _EMPTY_NODE = re.compile(rb"^[0-9]+-[0-9]+\t", re.MULTILINE), re.compile(rb"^[0-9]+\.[0-9]+\t", re.MULTILINE)


@dataclass
class LeftOut:
    """Counts of lines and sentences by what they are, and names of columns or keys, over all chunks."""

    counts: Counter[str] = field(default_factory=Counter)
    names: dict[str, None] = field(default_factory=dict)

    def look(self, chunk: Chunk, kept: Collection[str]) -> None:
        """Counts what the chunk has beside the columns `kept` (by name)."""
        if chunk.data.format in _LOOKS:
            _LOOKS[chunk.data.format](self, chunk, kept)

    def words(self) -> Iterator[str]:
        """What was left out, in words."""
        for what, count in self.counts.items():
            if count:
                yield f"{what} ({count:,})"
        if self.names:
            names = list(self.names)
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield f"columns {', '.join(f'`{name}`' for name in names[:_MOST_NAMES])}{more}"


def _conll(left: LeftOut, chunk: Chunk, kept: Collection[str]) -> None:
    comment = text_options(chunk.data).get("comment")
    if comment is not None:
        left.counts["comments"] += _lines_with(chunk.block.text, comment.encode())


def _lines_with(text: bytes, mark: bytes) -> int:
    return text.count(b"\n" + mark) + text.startswith(mark)


def _conllu(left: LeftOut, chunk: Chunk, kept: Collection[str]) -> None:
    text = chunk.block.text
    left.counts["comments"] += _lines_with(text, b"#")
    left.counts["ranges of multiword tokens"] += len(_RANGE.findall(text))
    left.counts["empty nodes"] += len(_EMPTY_NODE.findall(text))
    kept_columns = [column for column in chunk.data.columns if column.name in kept]
    whole = {column.source for column in kept_columns if column.key is None}
    whole.update(source for column in kept_columns for source in joined_columns(column))
    keys = {(column.source, column.key) for column in kept_columns}
    unread = [n for n, name in enumerate(CONLLU_COLUMNS) if name not in {*whole, "id"}]
    lines = text.decode().split("\n")
    seen: set[tuple[int, str]] = set()
    for line in (chunk.corpus.token_line - chunk.block.first_line).tolist() if unread else ():
        cells = lines[line].removesuffix("\r").split("\t")
        seen.update((n, cells[n]) for n in unread)
    for n, cell in sorted(seen):
        if cell != "_":
            left.names.update((name, None) for name in _unread_names(CONLLU_COLUMNS[n], cell, keys))


def _unread_names(source: str, cell: str, keys: Collection[tuple[str, str | None]]) -> Iterator[str]:
    """What of a cell no column has: the column, or the keys of FEATS or MISC."""
    if source not in KEYED_CELLS or all(of != source for of, _ in keys):
        yield source
        return
    for item in cell.split("|"):
        key = item.partition("=")[0]
        if (source, key) not in keys:
            yield f"{source}({key})"


def _delimited(left: LeftOut, chunk: Chunk, kept: Collection[str]) -> None:
    if chunk.block.first_line != 1:
        return
    table = RowTable(chunk.block.text, dialect_of(chunk.data))
    filled = np.flatnonzero(~table.blank)
    read = {header_name(column) for column in chunk.data.columns if column.name in kept}
    if len(filled):
        left.names.update((name, None) for name in table.cells(int(filled[0])) if name not in read)


def _records(chunk: Chunk) -> Iterator[Any]:
    for number, line in enumerate(chunk.block.text.decode().split("\n"), chunk.block.first_line):
        if line and not line.isspace():
            yield decoded(line, number, chunk.corpus.file, "")


def _jsonl(left: LeftOut, chunk: Chunk, kept: Collection[str]) -> None:
    read = {column.source for column in chunk.data.columns if column.name in kept}
    count = 0
    for sentence in _records(chunk):
        count += 1
        for item in [sentence] if isinstance(sentence, dict) else sentence:
            if isinstance(item, dict):
                left.names.update((key, None) for key in item if key not in read)
    left.counts["sentences without a token"] += count - chunk.corpus.num_sentences


def _parquet(left: LeftOut, chunk: Chunk, kept: Collection[str]) -> None:
    read = {header_name(column) for column in chunk.data.columns if column.name in kept}
    left.names.update((name, None) for name in chunk.block.rows.table.schema.names if name not in read)
    if chunk.block.rows.by_sentence:
        left.counts["sentences without a token"] += chunk.block.rows.table.num_rows - chunk.corpus.num_sentences


def _spans(left: LeftOut, chunk: Chunk, kept: Collection[str]) -> None:
    options = SpanOptions.of(chunk.data)
    used = [column.key for column in chunk.data.columns if column.source == SPANS and column.name in kept]
    read = {"text", "tokens", "data", "annotations", *filter(None, used), *(KEYS if None in used else ())}
    for record in _records(chunk):
        text = text_of_record(record)
        tokens = [text[start:end] for start, end in options.tokens(record, text)]
        left.counts["texts without a token"] += not tokens
        left.counts["white space, or characters of no token, in texts"] += text != " ".join(tokens)
        holder = record[1] if isinstance(record, list) else record
        left.names.update((key, None) for key in holder if key not in read)


_LOOKS: Mapping[str, Callable[[LeftOut, Chunk, Collection[str]], None]] = Table(
    "source of a conversion",
    {
        "conll": _conll,
        "conllu": _conllu,
        "csv": _delimited,
        "tsv": _delimited,
        "jsonl": _jsonl,
        "parquet": _parquet,
        "spans": _spans,
    },
)
