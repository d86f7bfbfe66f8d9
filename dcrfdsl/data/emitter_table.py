"""The formats that data can be converted to: `EMITTERS` has the emitter of each."""

from __future__ import annotations

from ..foundation import Table
from .annotation_emitters import ConlluEmitter, SpansEmitter
from .crfsuite_emitter import CrfsuiteEmitter
from .emitters import ConllEmitter, DelimitedEmitter, Emitter, JsonlEmitter
from .parquet_emitter import ParquetEmitter

EMITTERS: Table[type[Emitter]] = Table(
    "output format",
    {
        "conll": ConllEmitter,
        "conllu": ConlluEmitter,
        "jsonl": JsonlEmitter,
        "csv": DelimitedEmitter,
        "tsv": DelimitedEmitter,
        "parquet": ParquetEmitter,
        "crfsuite": CrfsuiteEmitter,
        "spans": SpansEmitter,
    },
    {"conll-u": "conllu", "ud": "conllu", "json": "jsonl", "excel": "csv", "iob": "conll", "pq": "parquet"},
)
