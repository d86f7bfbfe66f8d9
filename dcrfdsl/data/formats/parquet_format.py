"""The format `parquet` (Apache Parquet, by the optional package pyarrow): a sentence a row, or a token a row.

If the columns of texts are lists, a row is a sentence, as in the data sets of Hugging Face; whole numbers that the file
itself names (`ClassLabel`) are read as their names. Else a row is a token, and `sentence = "NAME"` tells which column
has the same value in all rows of a sentence. Rows are read a batch at a time; a place in a message is a row, from 1.

Predictions are a new column `predicted_NAME` for each, of lists if a row is a sentence; all other columns stay as they
were. Files are written a row group a chunk, so that memory stays bounded.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...foundation import LazyModule, data_error, needed
from ...syntax import Column, ColumnType, DataSpec
from ..column_blocks import Block, open_source
from ..columns import NOTHING, Parsed, Wanted
from ..corpus import Corpus, NumericColumn
from ..records import Records
from ..weighted_bags import mapped
from . import format_interface as formats
from .json_lines import STATUS_KEYS, refusal
from .written_cells import at_each_token, values_of

pyarrow, types = LazyModule("pyarrow"), LazyModule("pyarrow.types")

FEATURES = b"huggingface"  # the key of a schema's metadata under which the types of columns are told
_NAMES = "names"
_INNER = {"bag": 1, "vector": 1}  # how deep lists lie in the value of a token


class RowBatch(NamedTuple):
    """Rows of a file, as a pyarrow table, and whether a row is a sentence (else a token)."""

    table: Any
    by_sentence: bool


def pyarrow_parquet() -> Any:
    """The module `pyarrow.parquet`; `DcrfError` says how to get it where it is absent."""
    with needed("pyarrow", "Parquet is read by `pyarrow`", "parquet"):
        from pyarrow import parquet
    return parquet


@contextmanager
def clear_parquet_errors(file: str) -> Iterator[None]:
    """pyarrow's complaints about a file as one `DcrfError`."""
    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        first = str(error).partition("\n")[0]
        message = f"`{file}` cannot be read as Parquet: {first[:1].lower()}{first[1:]}"
        remedy = "write the file again; a Parquet file begins and ends with `PAR1`"
        raise data_error("bad-parquet", message, file=file, help=remedy) from None


class ParquetReader(formats.TableReader):
    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        self._sentence = self._options.get("sentence")
        self._records = Records(wanted, key=formats.header_name, unit="row")
        self._order = formats.SentenceOrder(wanted.file, "row")

    def parts(self, stream: BufferedIOBase, tokens: int) -> Iterator[tuple[Parsed, Block]]:
        file, parquet = self._wanted.file, pyarrow_parquet()
        if not stream.seekable():
            message = "Parquet is read from its end, which a pipe does not have"
            raise data_error("bad-parquet", message, file=file, help="write it to a file first")
        with clear_parquet_errors(file):
            source = parquet.ParquetFile(stream)
            schema = source.schema_arrow
        columns = formats.named_columns(self._wanted, schema.names, "the file has", self._sentence)
        by_sentence = self._by_sentence(schema, columns)
        if not by_sentence and self._sentence is None:
            message = "a row of this file is a token, and nothing tells the sentences apart"
            raise data_error(
                "no-sentence", message, file=file,
                help='name the column whose value the tokens of a sentence share: `sentence = "NAME"` in `data`',
            )  # fmt: skip
        batches = self._batches(source, max(1, tokens // 20) if by_sentence else tokens)
        split = self._whole_rows(batches) if by_sentence else self._whole_sentences(batches)
        add = self._add_sentences if by_sentence else self._add_tokens
        names = {column.name: _class_names(schema, formats.header_name(column)) for column in columns}
        row = 1
        for table in split:
            add(table, {formats.header_name(c): _values(table, c, names[c.name]) for c in columns}, row)
            parsed = self._records.take()
            if not by_sentence and len(parsed.sentence_len):
                parsed = parsed._replace(token_line=np.arange(row, row + table.num_rows, dtype=np.int64))
            yield parsed, Block(b"", row, b"", RowBatch(table, by_sentence))
            row += table.num_rows
        if row == 1:
            yield NOTHING, Block(b"", 1, b"", RowBatch(schema.empty_table(), by_sentence))

    # the schema -------------------------------------------------------------------------------------------------

    def _by_sentence(self, schema: Any, columns: Sequence[Column]) -> bool:
        """Whether a row is a sentence; `DcrfError` if some columns say so and others do not."""
        listed = {
            column.name: set(_outer_depths(schema.field(formats.header_name(column)).type, column.type))
            for column in columns
        }
        depths = set.intersection({0, 1}, *listed.values())
        if len(depths) == 2:
            depths = {int(self._sentence is None)}
        if not depths:
            words = ", ".join(
                f"`{name}` {'is a list' if max(depth) > 0 else 'is none'}" for name, depth in listed.items()
            )
            message = f"the columns do not agree whether a row is a sentence: {words}"
            raise data_error("bad-sentence", message, file=self._wanted.file, help="make all of them lists, or none")
        return depths == {1}

    # rows -------------------------------------------------------------------------------------------------------

    def _batches(self, source: Any, rows: int) -> Iterator[Any]:
        batches = source.iter_batches(batch_size=rows)
        while True:
            with clear_parquet_errors(self._wanted.file):
                batch = next(batches, None)
                if batch is None:
                    return
                table = pyarrow.Table.from_batches([batch])
            yield table

    def _whole_rows(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches, those without a token joined to others, so that each can be tagged."""
        waiting: list[Any] = []
        first = next(iter(self._wanted.without_optional or self._wanted.columns))
        for table in batches:
            waiting.append(table)
            if any(table.column(formats.header_name(first)).to_pylist()):
                yield pyarrow.concat_tables(waiting)
                waiting = []
        if waiting:
            yield pyarrow.concat_tables(waiting)

    def _whole_sentences(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Tables that end where a sentence ends."""
        rest: Any = None
        for table in batches:
            joined = table if rest is None else pyarrow.concat_tables([rest, table])
            keys = joined.column(self._sentence).to_pylist()
            cut = len(keys) - 1
            while cut > 0 and keys[cut] == keys[cut - 1]:
                cut -= 1
            if cut > 0:
                yield joined.slice(0, cut)
            rest = joined.slice(cut)
        if rest is not None and rest.num_rows:
            yield rest

    def _add_sentences(self, table: Any, values: Mapping[str, list[Any]], row: int) -> None:
        reasons = self._refusals(table, values)
        for n in range(table.num_rows):
            if (reason := reasons[n]) is not None:
                self.left_out.add(f"left out, as {reason}", row + n, "sentence")
                continue
            sentence = {name: column[n] for name, column in values.items()}
            absent = next((name for name, value in sentence.items() if value is None), None)
            if absent is not None:
                message = f"column `{absent}` has no list in row {row + n}"
                raise data_error("bad-sentence", message, file=self._wanted.file, line=row + n)
            self._records.add(sentence, row + n)

    def _refusals(self, table: Any, columns: Collection[str]) -> list[str | None]:
        """Why each row is left out, by the columns in which tools keep the status of an annotation."""
        status = {
            name: table.column(name).to_pylist()
            for name in STATUS_KEYS
            if self._wanted.gold and table.schema.names.count(name) == 1 and name not in columns
        }
        if not status:
            return [None] * table.num_rows
        return [refusal({name: values[n] for name, values in status.items()}) for n in range(table.num_rows)]

    def _add_tokens(self, table: Any, values: Mapping[str, list[Any]], row: int) -> None:
        keys = table.column(self._sentence).to_pylist()
        starts = [n for n in range(len(keys)) if n == 0 or keys[n] != keys[n - 1]]
        for start, end in pairwise([*starts, len(keys)]):
            key, at = keys[start], row + start
            if key is None:
                raise data_error("no-sentence", f"row {at} belongs to no sentence", file=self._wanted.file, line=at)
            self._order.begin(key, at)
            self._records.add({name: column[start:end] for name, column in values.items()}, at)


def _values(table: Any, column: Column, names: Sequence[str] | None) -> list[Any]:
    """The values of a column as Python objects; class numbers as their names."""
    values: list[Any] = table.column(formats.header_name(column)).to_pylist()
    if column.type.name == "weighted_bag":
        return [mapped(value) for value in values]
    if column.type.of:
        return [mapped(value) if value else value for value in values]
    if names is None or column.type.name != "str":
        return values
    return [_named(value, names) for value in values]


def _named(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    known = isinstance(value, int) and 0 <= value < len(names)
    return names[value] if known else value


def _depth(kind: Any) -> int:
    """How deep lists lie in one another: 1 for a list of texts."""
    depth = 0
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        depth, kind = depth + 1, kind.value_type
    return depth


def _outer_depths(kind: Any, column_type: ColumnType) -> Iterator[int]:
    """How deep lists may lie around the value of a token. Scores are a list, or one in another for each variable."""
    depth = _depth(kind)
    if not column_type.of:
        yield depth - _INNER.get(column_type.name, 0)
    elif _is_number(kind):
        yield from (depth - inner for inner in {1, len(column_type.of)})
    else:
        yield depth


def _is_number(kind: Any) -> bool:
    while _depth(kind):
        kind = kind.value_type
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _class_names(schema: Any, name: str) -> Sequence[str] | None:
    """The names of the classes that a column numbers, if the file tells them."""
    try:
        feature = json.loads((schema.metadata or {})[FEATURES])["info"]["features"][name]
        while _NAMES not in feature and "feature" in feature:
            feature = feature["feature"]
        names = feature[_NAMES]
    except (KeyError, TypeError, ValueError):
        return None
    return names if isinstance(names, list) and all(isinstance(one, str) for one in names) else None


def columns_of_schema(schema: Any, sentence: str | None) -> list[Column]:
    """The columns of a file with their types: its lists if it has any, else all but the `sentence`."""
    depths = {name: _depth(schema.field(name).type) for name in dict.fromkeys(schema.names)}
    lists = sentence is None and any(depths.values())
    columns = []
    for name, depth in depths.items():
        kind = schema.field(name).type
        size = kind.value_type.list_size if lists and depth == 2 and types.is_fixed_size_list(kind.value_type) else None
        while _depth(kind):
            kind = kind.value_type
        if types.is_map(kind) and depth == lists:
            columns.append(Column(name=name, source="column", key=name, type=ColumnType(name="weighted_bag")))
            continue
        number = types.is_integer(kind) or types.is_floating(kind)
        inner = depth - lists
        if inner not in (0, 1) or name == sentence or (inner == 1 and number and size is None):
            continue  # no value for each token
        if inner == 1:
            column_type = ColumnType(name="bag") if size is None else ColumnType(name="vector", size=size)
        elif types.is_floating(kind):
            column_type = ColumnType(name="float")
        elif types.is_integer(kind) and _class_names(schema, name) is None:
            column_type = ColumnType(name="int")
        else:
            column_type = ColumnType()
        columns.append(Column(name=name, source="column", key=name, type=column_type))
    return columns


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
        self._writer.close()
        return self._buffer.take()


class _Drained(io.BytesIO):
    """A stream for writing whose bytes are taken away. pyarrow asks for the number written so far, these included."""

    _taken = 0

    def tell(self) -> int:
        return self._taken + super().tell()

    def take(self) -> bytes:
        taken = self.getvalue()
        self._taken += len(taken)
        self.seek(0)
        self.truncate()
        return taken


class ParquetTagger(formats.Tagger):
    """Writes the chunks of one or several files of equal columns as one file."""

    def __init__(self) -> None:
        self._sink: ParquetSink | None = None
        self._schema: Any = None

    def write(self, chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
        batch: RowBatch = chunk.block.rows
        table = batch.table
        for name, values in _columns(chunk, batch, predicted, remarks).items():
            column = pyarrow.array(values)
            if not chunk.corpus.num_tokens:  # of no value a type cannot be told
                text = pyarrow.list_(pyarrow.string()) if batch.by_sentence else pyarrow.string()
                column = column.cast(pyarrow.float64() if name in remarks else text)
            place = table.schema.get_field_index(formats.PREFIX + name)
            table = (
                table.append_column(formats.PREFIX + name, column)
                if place < 0
                else table.set_column(place, formats.PREFIX + name, column)
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
        return b"" if self._sink is None else self._sink.close()


def _columns(
    chunk: formats.Chunk, batch: RowBatch, predicted: formats.Predicted, remarks: formats.Remarks
) -> Mapping[str, Sequence[Any]]:
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
            if name not in features and name.startswith(formats.PREFIX):
                features[name] = _feature(schema.field(name).type)
        metadata[FEATURES] = json.dumps(told).encode()
    except (KeyError, TypeError, ValueError):
        return metadata or None
    return metadata


def _feature(kind: Any) -> Mapping[str, Any]:
    if types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "Sequence"}
    return {"dtype": "float64" if types.is_floating(kind) else "string", "_type": "Value"}


class ParquetEmitter(formats.Emitter):
    """Texts are strings, whole numbers int64, others float64; bags and vectors are lists, weighted bags maps."""

    def __init__(self, export: formats.Export):
        pyarrow_parquet()
        self._export = export
        self._sink: ParquetSink | None = None

    def write(self, corpus: Corpus) -> bytes:
        schema = self._schema(corpus)
        if self._sink is None:
            self._sink = ParquetSink(schema)
        off = corpus.sentence_off.tolist()
        columns = []
        for column in self._export.columns:
            values = values_of(corpus, column.name, self._export.types[column.name])
            values = [list(items.items()) if isinstance(items, dict) else items for items in values]
            lists = [values[start:end] for start, end in pairwise(off)]
            columns.append(pyarrow.array(lists, schema.field(formats.header_name(column)).type))
        return self._sink.add(pyarrow.Table.from_arrays(columns, schema=schema))

    def close(self) -> bytes:
        return b"" if self._sink is None else self._sink.close()

    def _schema(self, corpus: Corpus) -> Any:
        kinds = {
            "str": pyarrow.string(),
            "int": pyarrow.int64(),
            "float": pyarrow.float64(),
            "bag": pyarrow.list_(pyarrow.string()),
            "weighted_bag": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
        }
        fields = []
        for column in self._export.columns:
            kind, values = self._export.types[column.name], corpus.columns[column.name]
            value = pyarrow.list_(pyarrow.float64(), kind.size) if kind.size is not None else kinds.get(kind.name)
            if kind.of:
                named = isinstance(values, NumericColumn) and values.names
                value = kinds["weighted_bag"] if named else pyarrow.list_(pyarrow.float64())
            fields.append((formats.header_name(column), pyarrow.list_(value)))
        return pyarrow.schema(fields)


def _look(left: formats.LeftOut, chunk: formats.Chunk, kept: Collection[str]) -> None:
    read = {formats.header_name(column) for column in chunk.data.columns if column.name in kept}
    left.names.update((name, None) for name in chunk.block.rows.table.schema.names if name not in read)
    if chunk.block.rows.by_sentence:
        left.counts["sentences without a token"] += chunk.block.rows.table.num_rows - chunk.corpus.num_sentences


def _columns_of_file(path: str, data: DataSpec) -> Sequence[Column]:
    with open_source(path) as (file, stream), clear_parquet_errors(file):
        schema = pyarrow_parquet().ParquetFile(stream).schema_arrow
        return columns_of_schema(schema, formats.text_options(data).get("sentence"))


FORMATS = {
    "parquet": formats.DataFormat(
        ParquetReader, ParquetTagger, ParquetEmitter, suffixes=(".parquet", ".pq"), columns_of=_columns_of_file,
        place_names=formats.header_places, look=_look,
    ),
}  # fmt: skip
