"""Data: readers and writers of `conll`, `conllu` and `jsonl`, and columns interned once.

Numba is loaded by the first file that is read, not by importing this room.
"""

from .copies import repeated
from .corpus import Corpus, InternedColumn, NumericColumn
from .frames import corpus_from_frame, corpus_from_rows
from .readers import READERS, Chunk, read_corpus, stream_corpus
from .writers import WRITERS, tagged

__all__ = [
    "READERS", "WRITERS", "Chunk", "Corpus", "InternedColumn", "NumericColumn", "corpus_from_frame", "corpus_from_rows",
    "read_corpus", "repeated", "stream_corpus", "tagged",
]  # fmt: skip
