"""Tables of strings as two arrays, for model files that a process can map from disk."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..foundation import Ints, Offsets


def pack_strings(strings: Iterable[str]) -> tuple[NDArray[np.uint8], Ints]:
    """The UTF-8 bytes of all strings in a row, and their offsets: string i has the bytes `off[i]` to `off[i + 1]`."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    off = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(one) for one in encoded], out=off[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), off


def unpack_strings(data: NDArray[np.uint8], off: Offsets) -> list[str]:
    """The strings that `pack_strings` packed. `off` may be a slice of a longer table's offsets."""
    first = int(off[0])
    raw = data[first : int(off[-1])].tobytes()
    ends = (off - first).tolist()
    if raw.isascii():
        text = raw.decode("ascii")
        return [text[start:end] for start, end in pairwise(ends)]
    return [raw[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]
