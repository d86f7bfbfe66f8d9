"""Reading data from disk: a whole file as one `Corpus`, or a stream of chunks that can be written back tagged.

Not here: the formats (`formats`), writing (`tagged_output`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from io import BufferedIOBase
from itertools import chain, islice
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

from ..foundation import DATA, PATHS, DcrfError, require_kind
from ..syntax import DataSpec
from .column_blocks import Block, TextSource, blocks, open_source
from .columns import NOTHING, CorpusBuilder, Parsed, Wanted
from .corpus import Corpus
from .formats import Chunk, Reader, TableReader, data_format

Found = TypeVar("Found")
_READ_BYTES = 1 << 21  # the block size for whole files: larger blocks fall out of the cache
_READ_ROWS = 100_000  # tokens at once, where the file is no text


def read_corpus(
    path: str | Path, data: DataSpec, *, required: Collection[str] = (), optional: Collection[str] = (),
    spare: Collection[str] = (),
) -> Corpus:  # fmt: skip
    """Reads a data file as a template declares it.

    path: of the file, or `-` for standard input.
    data: the template's `data` statement, as in `load_template("a.dcrf").require().data` or `m.spec().data`.
    required: columns that must be there, even if they are optional.
    optional: columns that may be absent, all together, as labels are when tagging.
    spare: columns that may be absent by themselves, all together, as numbers that only training reads.

    Returns a `Corpus`, an empty one of a file without a token. Raises DcrfError if the file cannot be read as declared,
    with file and line.

    >>> spec = load_template("address.dcrf").require()
    >>> read_corpus("address.txt", spec.data).num_sentences
    3
    """
    require_kind(path, PATHS, "path", "the path of a data file")
    require_kind(data, DataSpec, "data", DATA)
    with open_source(path) as (file, stream):
        reading = _Reading(Wanted(file, data, frozenset(required), frozenset(optional), frozenset(spare)))
        builder = CorpusBuilder(file, data)
        for parsed, _ in reading.parts(stream, None, stream.isatty()):
            builder.add(parsed)
    absent = reading.reader.absent_keys() if builder.num_tokens else []
    return builder.corpus([*reading.reader.warnings, *absent])


def stream_corpus(
    source: TextSource,
    data: DataSpec,
    *,
    tokens_per_chunk: int = 50_000,
    required: Collection[str] = (),
    optional: Collection[str] = (),
    spare: Collection[str] = (),
    flush: bool | None = None,
    gold: bool = True,
) -> Iterator[Chunk]:
    """Like `read_corpus`, in chunks of whole sentences of about `tokens_per_chunk` tokens. All chunks have the same
    columns.

    Every byte of the source belongs to one chunk, so a chunk may have no token (trailing comments, an empty file).
    There is one at least.   flush: yield a chunk as soon as a sentence ends and no more bytes are available; by default
    where a producer may wait, as at a pipe.   gold: False where nothing looks at the optional columns, so that no
    sentence is left out because somebody rejected its annotation. Codes of one chunk are meaningless in another. A
    warning is on the chunk that caused it, or on a last one without a token.
    """
    with open_source(source) as (file, stream):
        reading = _Reading(Wanted(file, data, frozenset(required), frozenset(optional), frozenset(spare), gold))
        said = 0
        for parsed, block in reading.parts(stream, tokens_per_chunk, flush):
            builder = CorpusBuilder(file, data)
            builder.add(parsed)
            corpus = builder.corpus(reading.reader.warnings[said:])
            said = len(reading.reader.warnings)
            yield Chunk(corpus, block, data, parsed.places)
    if len(reading.reader.warnings) > said:
        corpus = CorpusBuilder(file, data).corpus(reading.reader.warnings[said:])
        rows = None if block.rows is None else block.rows._replace(table=block.rows.table.slice(0, 0))
        yield Chunk(corpus, Block(b"", int(block.first_line), rows=rows), data)


class _Reading:
    """A file while it is read. If the first part does not fit the columns, it is read without the `spare` ones."""

    def __init__(self, wanted: Wanted):
        self.reader, self._file = _reader(wanted), wanted.file
        columns = wanted.without(wanted.spare)
        self._narrow: Wanted | None = None
        if 0 < len(columns) < len(wanted.columns):
            self._narrow = replace(wanted, data=wanted.data.model_copy(update={"columns": columns}))

    def parts(self, stream: BufferedIOBase, tokens: int | None, flush: bool | None) -> Iterator[tuple[Parsed, Block]]:
        """What the reader makes of the file, block by block of about so many tokens."""
        if isinstance(self.reader, TableReader):
            yield from self._of_table(stream, tokens or _READ_ROWS)
        else:
            yield from self._of_text(self.reader, stream, tokens, flush)
        self.reader.warnings += self.reader.left_out.notes(self._file)

    def _of_text(
        self, reader: Reader, stream: BufferedIOBase, tokens: int | None, flush: bool | None
    ) -> Iterator[tuple[Parsed, Block]]:
        """reader: the first one, which cuts the text even where a narrower one reads it."""
        size, block = _READ_BYTES if tokens is None else tokens * reader.bytes_per_token, None
        for block in blocks(stream, reader.cut, size=size, file=self._file, flush=flush):
            lined = reader.lined(block)
            yield self._fitting(methodcaller("parse", lined)), lined
        reader.finish()
        if block is None:
            yield NOTHING, Block(b"", 1)

    def _of_table(self, stream: BufferedIOBase, rows: int) -> Iterator[tuple[Parsed, Block]]:
        def begun(reader: TableReader) -> tuple[list[tuple[Parsed, Block]], Iterator[tuple[Parsed, Block]]]:
            parts = reader.parts(stream, rows)
            return list(islice(parts, 1)), parts

        yield from chain(*self._fitting(begun))

    def _fitting(self, read: Callable[[Any], Found]) -> Found:
        """What `read` makes of a part by the reader; of the first one, where that fails, by one without `spare`."""
        narrow, self._narrow = self._narrow, None
        try:
            return read(self.reader)
        except DcrfError as problem:
            if narrow is None:
                raise
            reader = _reader(narrow)
            try:
                found = read(reader)
            except DcrfError:
                raise problem from None
            self.reader = reader
            return found


def _reader(wanted: Wanted) -> Reader | TableReader:
    wanted.check_names()
    return data_format(wanted.data.format).reader(wanted)
