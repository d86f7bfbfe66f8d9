"""Criteria of parts, laid out on disk as they are in memory: opening one maps it, and closing it frees its memory.

Laying out the data of a part for training takes as long as several evaluations, so it is done once. The layout goes to
a file without a name in the folder of the cache: it ends with the process, however that ends. Arrays that several parts
have in common are stored once. The system keeps in memory what fits and reads the rest again. Not here: what a
criterion computes.
"""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...criteria import Criterion
from ...foundation import WRITING, clear_os_errors
from ...kernels.runtime import aligned_zeros

LEAST_BYTES = 1 << 14  # of an array that is mapped; smaller ones are copied


def _zeros(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """An array of zeros, of which nothing is stored."""
    doubles = -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 8)
    raw: NDArray[Any] = aligned_zeros(doubles).view(np.uint8)
    return raw[: int(np.prod(shape)) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


class _Pickler(pickle.Pickler):
    """Leaves out arrays of zeros, in which results are gathered, and what single threads keep.

    What all parts share is named by its place in `shared`.
    """

    def __init__(self, out: io.BytesIO, shared: Sequence[Any], **how: Any):
        super().__init__(out, **how)
        self._number = {id(one): number for number, one in enumerate(shared)}

    def persistent_id(self, item: Any) -> int | None:
        return self._number.get(id(item))

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, local):
            return local, ()
        is_array = type(item) is np.ndarray and item.dtype != object and item.flags.c_contiguous
        if is_array and item.nbytes >= LEAST_BYTES and not item.any():
            return _zeros, (item.shape, item.dtype.str)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, code: bytes, shared: Sequence[Any], buffers: Sequence[memoryview]):
        super().__init__(io.BytesIO(code), buffers=buffers)
        self._shared = shared

    def persistent_load(self, number: int) -> Any:
        return self._shared[number]


class MappedCriterionCache:
    """The criteria of some parts on disk. Threads may share it.

    folder: where the file without a name lies; None: among temporary files.   shared: objects that all parts refer to.
    """

    def __init__(self, folder: Path | None, shared: Sequence[Any]):
        self._shared = tuple(shared)
        self._place_name = str(folder or tempfile.gettempdir())
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (it lasts as long as this object)
        self._end, self._lock = 0, Lock()
        self._stored: dict[bytes, tuple[int, int]] = {}  # of each content: where it begins, and its length
        self._parts: dict[int, tuple[bytes, list[tuple[int, int]]]] = {}
        self.hidden: dict[int, bool] = {}  # whether some label of the part is not known

    def __contains__(self, number: int) -> bool:
        return number in self._parts

    def add(self, number: int, criterion: Criterion) -> bool:
        """Stores the criterion of a part; False if it holds something that cannot be stored."""
        out, buffers = io.BytesIO(), list[pickle.PickleBuffer]()

        def apart(buffer: pickle.PickleBuffer) -> bool:
            is_small = buffer.raw().nbytes < LEAST_BYTES
            if not is_small:
                buffers.append(buffer)
            return is_small  # False: it is stored apart

        try:
            _Pickler(out, self._shared, protocol=5, buffer_callback=apart).dump(criterion)
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
        places = [self._place(buffer.raw()) for buffer in buffers]
        self._parts[number] = out.getvalue(), places
        return True

    def _place(self, content: memoryview) -> tuple[int, int]:
        """Stores bytes, unless they are stored already; where they begin, and their length."""
        digest = hashlib.blake2b(content, digest_size=20).digest()
        with self._lock:
            if digest in self._stored:
                return self._stored[digest]
            start, size, written = self._end, content.nbytes, 0
            with clear_os_errors(self._place_name, WRITING):
                while written < size:
                    written += os.pwrite(self._file.fileno(), content[written:], start + written)
            self._end += -(-size // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
            self._stored[digest] = start, size  # only now: another thread may map it at once
            return start, size

    def open(self, number: int) -> Criterion:
        """The criterion of a part, whose large arrays lie in the file. What is written to them is forgotten."""
        code, places = self._parts[number]
        buffers = [
            memoryview(mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_COPY, offset=start))
            for start, size in places
        ]
        criterion: Criterion = _Unpickler(code, self._shared, buffers).load()
        return criterion

    def close(self) -> None:
        """Frees the space on disk."""
        self._parts.clear()
        self._file.close()
