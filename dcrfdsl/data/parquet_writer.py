"""Predictions in Parquet: a new column `predicted_NAME` for each, of lists if a row of the file is a sentence.

All other columns stay as they were. The file is written a row group a chunk, so that memory stays bounded. Not here:
reading (`parquet`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..foundation import data_error
from .delimited_writer import PREFIX
from .parquet import FEATURES, RowBatch, pyarrow_parquet
from .readers import Chunk
from .written_lines import Predicted, Remarks, at_each_token


class ParquetSink:
    """A Parquet file as bytes that can be taken while it is written."""

    def __init__(self, schema: Any):
        self._buffer = _Drained()
        self._writer = pyarrow_parquet().ParquetWriter(self._buffer, schema)

    def add(self, table: Any) -> bytes:
        """Writes the rows as a row group. Returns the bytes since the last call."""
        self._writer.write_table(table)
        return self._buffer.take()

    def close(self) -> bytes:
        """The last bytes of the file."""
        self._writer.close()
        return self._buffer.take()


class _Drained(io.RawIOBase):
    """A stream for writing whose bytes are taken away; pyarrow asks it only for the number written so far."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._written += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._written

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts = []
        return taken


class ParquetTagger:
    """Writes the chunks of one or several files of equal columns as one file."""

    def __init__(self) -> None:
        self._sink: ParquetSink | None = None
        self._schema: Any = None

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        """The next bytes: the rows of the chunk with a column more for each prediction and remark."""
        import pyarrow

        batch: RowBatch = chunk.block.rows
        table = batch.table
        for name, values in _columns(chunk, batch, predicted, remarks).items():
            column = pyarrow.array(values)
            if not chunk.corpus.num_tokens:  # of no value a type cannot be told
                text = pyarrow.list_(pyarrow.string()) if batch.by_sentence else pyarrow.string()
                column = column.cast(pyarrow.float64() if name in remarks else text)
            place = table.schema.get_field_index(PREFIX + name)
            table = (
                table.append_column(PREFIX + name, column)
                if place < 0
                else table.set_column(place, PREFIX + name, column)
            )
        if self._sink is None:
            self._schema = table.schema.with_metadata(_metadata(table.schema))
            self._sink = ParquetSink(self._schema)
        missing = [name for name in self._schema.names if name not in table.schema.names]
        for name in missing if not predicted else ():  # the last rows have no token
            table = table.append_column(name, pyarrow.nulls(table.num_rows, self._schema.field(name).type))
        if table.schema.names != self._schema.names:
            message = f"`{chunk.corpus.file}` has other columns than the file before it"
            raise data_error("bad-header", message, file=chunk.corpus.file, help="tag the files apart")
        return self._sink.add(table.cast(self._schema))

    def close(self) -> bytes:
        """The last bytes of the file."""
        return b"" if self._sink is None else self._sink.close()


def _columns(chunk: Chunk, batch: RowBatch, predicted: Predicted, remarks: Remarks) -> Mapping[str, Sequence[Any]]:
    """The new columns, a value a row."""
    if not batch.by_sentence:
        return {**predicted, **at_each_token(chunk, remarks)}
    off, rows = chunk.corpus.sentence_off, batch.table.num_rows
    row_of = (chunk.corpus.token_line[off[:-1]] - chunk.block.first_line).tolist()
    columns: dict[str, list[Any]] = {}
    for name, values in predicted.items():
        lists: list[Any] = [[] for _ in range(rows)]
        for row, start, end in zip(row_of, off[:-1].tolist(), off[1:].tolist(), strict=True):
            lists[row] = list(values[start:end])
        columns[name] = lists
    for name, said in remarks.items():
        places = np.full(rows, -1)
        places[row_of] = np.arange(len(row_of))
        columns[name] = [None if place < 0 else said[place] for place in places.tolist()]
    return columns


def _metadata(schema: Any) -> Mapping[bytes, bytes] | None:
    """The metadata of the file, with the types of the new columns where those of the others are told."""
    metadata: dict[bytes, bytes] = dict(schema.metadata or {})
    try:
        told = json.loads(metadata[FEATURES])
        features = told["info"]["features"]
        for name in schema.names:
            if name not in features and name.startswith(PREFIX):
                features[name] = _feature(schema.field(name).type)
        metadata[FEATURES] = json.dumps(told).encode()
    except (KeyError, TypeError, ValueError):
        return metadata or None
    return metadata


def _feature(kind: Any) -> Mapping[str, Any]:
    import pyarrow.types as types

    if types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "Sequence"}
    return {"dtype": "float64" if types.is_floating(kind) else "string", "_type": "Value"}
