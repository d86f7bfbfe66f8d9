"""The format `npz`: an archive of NumPy's arrays, as `numpy.savez` writes it, with an array for each column.

Arrays hold texts or numbers. Those of N tokens in turn have the shape [N], or [N, K] for K numbers a token; those of S
sentences that are padded to T tokens have [S, T] or [S, T, K]. `lengths` [S] has the number of tokens of each sentence.
A place in a message is a sentence, from 1. Nothing is unpickled.

Predictions are an archive of their own: `lengths`, and texts `predicted_NAME` [N]. Not here: the meaning of the values
(`records`).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedIOBase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...foundation import DcrfError, Ints, data_error, dataclass
from ...syntax import Column, ColumnType, DataSpec
from ..column_blocks import Block, open_source
from ..columns import NOTHING, Parsed, Wanted
from ..corpus import Corpus, NumericColumn
from ..records import Records
from . import format_interface as formats
from .parquet_format import RowBatch
from .written_cells import at_each_token, cell_texts, unwritable

LENGTHS = "lengths"
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class _Numbered:
    """Sentences of a block, as a table without columns: predictions are written without what was read."""

    num_rows: int

    def slice(self, first: int, last: int) -> _Numbered:
        return _Numbered(last - first)

    def take(self, rows: NDArray[np.int64]) -> _Numbered:
        return _Numbered(len(rows))


class NpzReader(formats.TableReader):
    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        self._lengths = self._options.get("lengths", LENGTHS)
        self._records = Records(wanted, key=formats.header_name, unit="archive")

    def parts(self, stream: BufferedIOBase, tokens: int) -> Iterator[tuple[Parsed, Block]]:
        wanted = self._wanted
        arrays = _loaded(stream, wanted.file)
        lengths = _lengths(arrays, self._lengths, wanted.file)
        columns = formats.named_columns(wanted, list(arrays), "the archive has")
        cut = {
            formats.header_name(column): _sentences(column, arrays[formats.header_name(column)], lengths, wanted.file)
            for column in columns
        }
        first = held = 0
        for number in range(1, len(lengths) + 1):
            self._records.add({name: next(sentences) for name, sentences in cut.items()}, number)
            held += int(lengths[number - 1])
            if held >= tokens or number == len(lengths):
                yield self._records.take(), Block(b"", first + 1, rows=RowBatch(_Numbered(number - first), True))
                first, held = number, 0
        if not len(lengths):
            yield NOTHING, Block(b"", 1, rows=RowBatch(_Numbered(0), True))


def _name_of_lengths(data: DataSpec) -> str:
    return formats.text_options(data).get("lengths", LENGTHS)


def _loaded(stream: BufferedIOBase, file: str) -> dict[str, NDArray[Any]]:
    """All arrays of an archive. DcrfError if it is none, or holds Python objects."""
    if not stream.seekable():
        message = "an archive is read from its end, which a pipe does not have"
        raise data_error("bad-archive", message, file=file, help="write it to a file first")
    stream.seek(0)  # which an earlier reading has left elsewhere
    try:
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it is a single array")
        return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else str(error).partition("\n")[0]
        message = f"`{file}` cannot be read as an archive of NumPy: {reason[:1].lower()}{reason[1:]}"
        remedy = "write it by `numpy.savez`, from arrays of texts (`numpy.array(words)`) and of numbers"
        raise data_error("bad-archive", message, file=file, help=remedy) from None


def _lengths(arrays: Arrays, name: str, file: str) -> Ints:
    """The tokens of each sentence, [S]."""
    if name not in arrays:
        listed = " ".join(f"`{one}`" for one in list(arrays)[:12])
        message = f"the archive has no array `{name}`, which tells the sentences apart (it has {listed})"
        remedy = "add one: the number of tokens of each sentence"
        raise data_error("no-sentence", message, file=file, help=remedy)
    lengths = arrays[name]
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        message = f"`{name}` has to be one whole number from 0 for each sentence, and is {_shape(lengths)}"
        raise data_error("bad-archive", message, file=file)
    return lengths.astype(np.int64)


def _sentences(column: Column, array: NDArray[Any], lengths: Ints, file: str) -> Iterator[NDArray[Any]]:
    """The values of each sentence in turn. DcrfError if the shape fits neither tokens in turn nor padded sentences."""
    inner = {0} if column.type.size is None else {1}
    if column.type.of:
        inner = {1, len(column.type.of)} if array.dtype.kind in "iuf" else {0}
    longest = max(lengths.tolist(), default=0)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.ndim - 1 in inner and len(array) == lengths.sum():
        return iter(np.split(array, np.cumsum(lengths)[:-1]) if len(lengths) else [])
    if array.ndim - 2 in inner and len(array) == len(lengths) and array.shape[1] >= longest:
        return (array[n, :length] for n, length in enumerate(lengths.tolist()))
    more = ", numbers" * max(inner)
    expected = f"[{lengths.sum():,}{more}] for all tokens in turn, or [{len(lengths):,}, {longest:,}{more}]"
    message = f"`{formats.header_name(column)}` is {_shape(array)}, expected {expected} for padded sentences"
    raise data_error("bad-archive", message, file=file, help="`lengths` has the number of tokens of each sentence")


def _shape(array: NDArray[Any]) -> str:
    return f"of type {array.dtype} and shape [{', '.join(f'{size:,}' for size in array.shape)}]"


def _archive(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **dict(arrays))  # type: ignore[arg-type]  # names of columns are words
    return out.getvalue()


class NpzTagger(formats.Tagger):
    """Gathers the predictions of all chunks, as an archive is written whole. Sentences without a token stay."""

    def __init__(self) -> None:
        self._lengths: list[Ints] = []
        self._values: dict[str, list[Any]] = {}

    def write(self, chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
        numbers = chunk.corpus.token_line - chunk.block.first_line
        self._lengths.append(np.bincount(numbers, minlength=chunk.block.rows.table.num_rows))
        for name, values in {**predicted, **at_each_token(chunk, remarks)}.items():
            self._values.setdefault(formats.PREFIX + name, []).extend(values)
        return b""

    def close(self) -> bytes:
        lengths = np.concatenate([np.zeros(0, np.int64), *self._lengths])
        arrays = {name: _array(values) for name, values in self._values.items()}
        return _archive({LENGTHS: lengths, **arrays})


def _array(values: Sequence[Any]) -> NDArray[Any]:
    """Texts, or numbers with NaN for those that are unknown."""
    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else str(value) for value in values])
    return np.array(values, np.float64)


class NpzEmitter(formats.Emitter):
    """Texts and bags are texts, numbers float64. It is written whole at the end."""

    def __init__(self, export: formats.Export):
        super().__init__(export)
        self._arrays: dict[str, list[NDArray[Any]]] = {}

    def write(self, corpus: Corpus) -> bytes:
        self._arrays.setdefault(_name_of_lengths(self._export.data), []).append(corpus.lengths())
        for column in self._export.columns:
            values = corpus.columns[column.name]
            if isinstance(values, NumericColumn):
                if values.names:
                    why = "an archive of NumPy has no names for numbers"
                    raise unwritable(corpus, 0, column.name, values.names[0], why, "write `jsonl` or `parquet`")
                array = values.values
            else:
                texts = cell_texts(corpus, column.name, self._export)
                odd = [code for code, text in enumerate(texts.values) if text.endswith("\0")]
                if odd:
                    why = "an array of NumPy has no zero byte at the end of a text"
                    token = int(np.argmax(np.isin(texts.codes, odd)))
                    raise unwritable(corpus, token, column.name, texts.text(token), why, "write `jsonl`")
                array = np.array([*texts.values, ""])[texts.codes]
            self._arrays.setdefault(formats.header_name(column), []).append(array)
        return b""

    def close(self) -> bytes:
        return _archive({name: np.concatenate(parts) for name, parts in self._arrays.items()})


def _columns_of_file(path: str, data: DataSpec) -> Sequence[Column]:
    """The arrays that have values for tokens, with their types."""
    with open_source(path) as (file, stream):
        arrays = _loaded(stream, file)
    name_of_lengths, columns = _name_of_lengths(data), []
    lengths = _lengths(arrays, name_of_lengths, file)
    for name, array in arrays.items():
        numbers = {"f": ColumnType(name="float"), "i": ColumnType(name="int"), "u": ColumnType(name="int")}
        choices = [numbers.get(array.dtype.kind, ColumnType())]
        if array.ndim > 1 and array.dtype.kind in numbers:
            choices.append(ColumnType(name="vector", size=array.shape[-1] or 1))
        for column_type in choices if name != name_of_lengths else ():
            column = Column(name=name, source="column", key=name, type=column_type)
            try:
                _sentences(column, array, lengths, file)
            except DcrfError:
                continue
            columns.append(column)
            break
    return columns


FORMATS = {
    "npz": formats.DataFormat(
        NpzReader, NpzTagger, NpzEmitter, suffixes=(".npz",), columns_of=_columns_of_file,
        place_names=formats.header_places, has_numbers=True,
    ),
}  # fmt: skip
