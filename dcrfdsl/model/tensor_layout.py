"""The bytes of a safetensors file, without a copy of its arrays.

    in_pieces(arrays, metadata)   the head of the file, and the memory of each array, in the order of the file

safetensors itself makes the whole file in memory, from a copy of every array: twice what they take, in the middle of a
training that may have no room for it. The layout is an 8-byte length, a JSON object padded with blanks to a multiple
of 8, and the arrays, the widest numbers first and then by name, so that all of them are aligned. Not here: reading,
which the library does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
