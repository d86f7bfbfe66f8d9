"""A corpus written as Parquet: a sentence a row, a list for each column. See `emitters`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from .corpus import Corpus
from .delimited import header_name
from .emitters import Export, values_of
from .parquet import pyarrow_parquet
from .parquet_writer import ParquetSink


class ParquetEmitter:
    """Texts are strings, whole numbers int64, others float64; bags and vectors are lists, weighted bags maps."""

    leaves_out: ClassVar[str] = "there is no place for it"

    def __init__(self, export: Export):
        pyarrow_parquet()
        self._export = export
        self._sink: ParquetSink | None = None

    def write(self, corpus: Corpus) -> bytes:
        import pyarrow

        schema = self._schema()
        if self._sink is None:
            self._sink = ParquetSink(schema)
        off = corpus.sentence_off.tolist()
        columns = []
        for column in self._export.columns:
            values = values_of(corpus, column.name, self._export.types[column.name])
            if self._export.types[column.name].name == "weighted_bag":
                values = [list(items.items()) for items in values]
            lists = [values[start:end] for start, end in pairwise(off)]
            columns.append(pyarrow.array(lists, schema.field(header_name(column)).type))
        return self._sink.add(pyarrow.Table.from_arrays(columns, schema=schema))

    def close(self) -> bytes:
        return b"" if self._sink is None else self._sink.close()

    def _schema(self) -> Any:
        import pyarrow

        kinds = {
            "str": pyarrow.string(),
            "int": pyarrow.int64(),
            "float": pyarrow.float64(),
            "bag": pyarrow.list_(pyarrow.string()),
            "weighted_bag": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
        }
        fields = []
        for column in self._export.columns:
            kind = self._export.types[column.name]
            value = pyarrow.list_(pyarrow.float64(), kind.size) if kind.size is not None else kinds[kind.name]
            fields.append((header_name(column), pyarrow.list_(value)))
        return pyarrow.schema(fields)
