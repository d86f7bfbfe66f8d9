"""The model file: named arrays and a header in one safetensors file, written whole or not at all.

The file is plain safetensors without pickle, so any reader of that format can open it. Its metadata has one key,
`dcrfdsl`, a JSON object that begins with a CRC-32 of the whole file, in which the eight hexadecimal digits of the sum
itself count as `00000000`. So every byte is covered. A sum over 20 MB takes 3 ms, so that loading 500,000 weights takes
far less than 0.1 s. Arrays are stored in the narrowest form that holds them exactly (`narrow_arrays`).

The bytes are made without a copy of the arrays: safetensors itself makes the whole file in memory, twice what they
take, in the middle of a training that may have no room for it. The layout is an 8-byte length, a JSON object padded
with blanks to a multiple of 8, and the arrays, the widest numbers first and then by name, so that all of them are
aligned. Not here: the meaning of the arrays and the header (`serialization`).
"""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load

from .. import foundation
from .narrow_arrays import narrowed, widened

LENGTH_BYTES = 8  # of the length of the JSON object, little-endian
ALIGNMENT = 8
# What models have, as the format names it, in its order of arrays: the widest numbers first.
DTYPES = {
    "I64": "int64",
    "F64": "float64",
    "F32": "float32",
    "I32": "int32",
    "F16": "float16",
    "U16": "uint16",
    "U8": "uint8",
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def in_pieces(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> list[memoryview]:
    """The file in pieces: its head, and each array. The metadata is the first thing in the head."""
    order = list(_NAMES)
    layout: dict[str, Any] = {"__metadata__": dict(metadata)}
    pieces, end = [], 0
    for name, array in sorted(arrays.items(), key=lambda item: (order.index(item[1].dtype.name), item[0])):
        piece = _memory(array)
        layout[name] = {
            "dtype": _NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [end, end + len(piece)],
        }  # fmt: skip
        pieces.append(piece)
        end += len(piece)
    text = json.dumps(layout, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return [memoryview(len(text).to_bytes(LENGTH_BYTES, "little") + text), *pieces]


def _memory(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, little-endian, one row after another: its own memory where they lie there like this."""
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return plain.reshape(-1).view(np.uint8).data


# Of files that this package writes. It reads earlier ones: in 1 all arrays are stored as they are, 2 has no `zeros`.
FORMAT_VERSION = 3

_KEY = "dcrfdsl"
_BLANK_SUM = b"00000000"
# What follows the length in every model file, up to the digits of the checksum.
_MAGIC = b'{"__metadata__":{"dcrfdsl":"{\\"checksum\\":\\"crc32:'
_SUM_AT = LENGTH_BYTES + len(_MAGIC)
_HEADER_AT = _SUM_AT + len(_BLANK_SUM)  # the shortest beginning that can be checked


def write_model(path: str | Path, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Writes `arrays` and `header` (JSON values) to `path`; replaces an existing model only once all is on disk.

    Raises DcrfError if that fails (full disk, read-only target …) and leaves the old model unchanged. The arrays are
    written one after another from where they lie: of none there is a copy but for what its narrowest form takes.
    """
    foundation.write_whole(path, _pieces(arrays, header))


def model_bytes(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> bytes:
    """The bytes that `write_model` writes."""
    return b"".join(_pieces(arrays, header))


def _pieces(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> list[memoryview]:
    """The file in pieces: its head up to the checksum, the checksum, the rest of the head, and each array in its
    narrowest form.
    """
    narrow, forms = narrowed(arrays)
    record = {
        "checksum": f"crc32:{_BLANK_SUM.decode()}", "format": "dcrfdsl-model", "version": FORMAT_VERSION,
        "header": dict(header), "narrow": forms,
    }  # fmt: skip
    head, *others = in_pieces(narrow, {_KEY: json.dumps(record, separators=(",", ":"))})
    digits = memoryview(f"{_checksum(head, *others):08x}".encode())
    return [head[:_SUM_AT], digits, head[_HEADER_AT:], *others]


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a model file. DcrfError unless it is complete, undamaged and of a known format."""
    with foundation.clear_os_errors(path, foundation.READING):
        if not os.path.exists(path):
            raise _error(path, "no-file", f"there is no model file `{path}`", foundation.near_name(path))
        if not os.path.isfile(path):
            raise _error(path, "not-a-model", f"`{path}` is not a file", _HOW_TO_GET_ONE)
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise _error(path, "truncated-model", f"`{path}` is empty", _AGAIN)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content, memoryview(content) as view:
                record = _checked_record(path, view)
        try:
            with safe_open(os.fspath(path), framework="np") as tensors:
                arrays = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118 (it is no mapping)
        except SafetensorError as error:
            raise _damaged(path, str(error)) from error
    return record["header"], _widened(path, arrays, record)


def header_of(path: str | Path) -> dict[str, Any] | None:
    """The header of a model file, without a look at its arrays; None if there is no such file, or no such header."""
    if not os.path.isfile(path):  # a pipe would wait for its writer
        return None
    with foundation.clear_os_errors(path, foundation.READING), open(path, "rb") as file:
        start = file.read(_HEADER_AT)
        if start[LENGTH_BYTES:_SUM_AT] != _MAGIC:
            return None
        rest = min(int.from_bytes(start[:LENGTH_BYTES], "little"), os.fstat(file.fileno()).st_size) + LENGTH_BYTES
        text = start[LENGTH_BYTES:] + file.read(max(rest - len(start), 0))
    try:
        header = json.loads(json.loads(text)["__metadata__"][_KEY])["header"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def read_model_bytes(content: bytes, name: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays in the bytes of a model file. `name` appears in messages."""
    if not content:
        raise _error(name, "truncated-model", f"`{name}` is empty", _AGAIN)
    record = _checked_record(name, memoryview(content))
    try:
        arrays = {key: array.copy() for key, array in load(content).items()}  # of their own, and aligned
    except SafetensorError as error:
        raise _damaged(name, str(error)) from error
    return record["header"], _widened(name, arrays, record)


def _widened(path: str | Path, arrays: dict[str, NDArray[Any]], record: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays as they were before `narrowed`."""
    try:
        return widened(arrays, record.get("narrow", {}))
    except foundation.IncompatibleState as error:
        raise _damaged(path, error.message) from None


_AGAIN = "copy it again from where it came, or train it again"
_CRFSUITE = b"lCRF"  # how its model files begin
_HOW_TO_GET_ONE = "a model file is what `dcrfdsl train TEMPLATE DATA -o MODEL` writes"


def _checked_record(path: str | Path, view: memoryview) -> dict[str, Any]:
    _check_magic(path, bytes(view[:_HEADER_AT]))
    header_end = LENGTH_BYTES + int.from_bytes(view[:LENGTH_BYTES], "little")
    if header_end > len(view):
        raise _error(path, "truncated-model", f"`{path}` ends after {len(view):,} bytes, within its header", _AGAIN)
    try:
        layout = json.loads(bytes(view[LENGTH_BYTES:header_end]))
        record = json.loads(layout.pop("__metadata__")[_KEY])
        version, header = record["version"], record["header"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise _damaged(path, "its header cannot be read") from None
    expected = header_end + _data_bytes(path, layout)
    if len(view) < expected:
        raise _error(path, "truncated-model", f"`{path}` ends after {len(view):,} of {expected:,} bytes", _AGAIN)
    stored, computed = bytes(view[_SUM_AT:_HEADER_AT]).decode("ascii", "replace"), f"{_checksum(view):08x}"
    if stored != computed:
        raise _damaged(path, f"its content has the checksum {computed}, its header says {stored}")
    if version not in range(1, FORMAT_VERSION + 1):
        raise _error(
            path,
            "newer-model",
            f"`{path}` is of model format {version}; this dcrfdsl reads formats 1 to {FORMAT_VERSION}",
            "install the dcrfdsl that wrote it, or a newer one",
        )
    if not isinstance(header, dict):
        raise _damaged(path, "its header is not an object")
    return dict(record)


def _data_bytes(path: str | Path, layout: Mapping[str, Any]) -> int:
    """The number of bytes after the header, according to the header.

    `corrupt-model` unless the arrays lie one after the other, each with the length of its dtype and shape. This ensures
    that no array takes more memory than the file.
    """
    end = 0
    try:
        for name, tensor in sorted(layout.items(), key=lambda item: item[1]["data_offsets"]):
            begin, stop = tensor["data_offsets"]
            shape, size = tensor["shape"], _SIZES[tensor["dtype"]]
            counts = [begin, stop, *shape]
            if not all(type(count) is int and 0 <= count < _MOST for count in counts) or len(shape) > _MOST_DIMS:
                raise _damaged(path, f"the shape of its array `{name}` cannot be")
            if begin != end or stop - begin != size * math.prod(shape):
                raise _damaged(path, f"its array `{name}` is not as long as its shape says")
            end = stop
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise _damaged(path, "its header cannot be read") from None
    return end


_SIZES = {name: np.dtype(dtype).itemsize for name, dtype in DTYPES.items()}  # bytes of a number
_MOST = 1 << 48  # bytes, and numbers along a dimension: the range of addresses
_MOST_DIMS = 8


def _check_magic(path: str | Path, start: bytes) -> None:
    """Distinguishes a file that was never a model from one that is cut off or damaged in its first bytes."""
    beginning = start[LENGTH_BYTES:_SUM_AT]
    if len(start) > LENGTH_BYTES and len(start) < _HEADER_AT and _MAGIC.startswith(beginning):
        raise _error(path, "truncated-model", f"`{path}` ends after {len(start)} bytes, within its header", _AGAIN)
    if beginning == _MAGIC:
        return
    if len(beginning) == len(_MAGIC) and sum(a != b for a, b in zip(beginning, _MAGIC, strict=True)) <= 3:
        raise _damaged(path, "its first bytes are not those that were written")
    raise _error(
        path,
        "not-a-model",
        f"`{path}` is not a dcrfdsl model file",
        f"it is a model of CRFsuite: dcrfdsl convert {foundation.shell_word(path)}"
        if start.startswith(_CRFSUITE)
        else _HOW_TO_GET_ONE,
    )


def _checksum(start: memoryview, *rest: memoryview) -> int:
    """CRC-32 of the file, in pieces, as if its checksum were blank."""
    value = zlib.crc32(start[_HEADER_AT:], zlib.crc32(_BLANK_SUM, zlib.crc32(start[:_SUM_AT])))
    for piece in rest:
        value = zlib.crc32(piece, value)
    return value


def _error(path: str | Path, slug: str, message: str, remedy: str | None = None) -> foundation.DcrfError:
    return foundation.data_error(slug, message, file=os.fspath(path), help=remedy)


def _damaged(path: str | Path, detail: str) -> foundation.DcrfError:
    return _error(path, "corrupt-model", f"`{path}` is damaged: {detail}", _AGAIN)
