"""Checks of the contents of a model file (dtypes, lengths, offsets, bounds, UTF-8), tables of strings, values as JSON.

A checksum tells that a file is unchanged, not that we wrote it. Kernels do not check bounds, so every number used as an
index is checked here, once, when a model is loaded. Each part of a model knows its own requirements (`restore` of
alphabets, weights, voters …); this module has the vocabulary for them. Strings are stored as two arrays, so that a
process can map them from disk. Not here: the container (`model.file_format`), the meaning of the parts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import Field, TypeAdapter, ValidationError

from ..arrays import Floats, Ints, Offsets
from ..errors import DcrfError, Diagnostic

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]  # a length or an index in JSON


class IncompatibleState(DcrfError):
    """A part of a stored model is invalid, or does not fit another part."""

    def __init__(self, message: str):
        super().__init__(Diagnostic("corrupt-model", message))
        self.message = message


class StoredArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a file. It records which of them were read, so that none goes unnoticed."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], prefix: str = "", read: set[str] | None = None):
        self._arrays, self._prefix, self._read = arrays, prefix, set() if read is None else read

    def __getitem__(self, name: str) -> NDArray[Any]:
        self._read.add(self._prefix + name)
        return self._arrays[self._prefix + name]

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in self._arrays if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def part(self, prefix: str) -> StoredArrays:
        """The arrays whose names begin with `prefix`, by the rest of their names."""
        return StoredArrays(self._arrays, self._prefix + prefix, self._read)

    def check_all_read(self) -> None:
        """`IncompatibleState` if the file has an array that no part of the model has read."""
        if strange := sorted(set(self._arrays) - self._read):
            raise IncompatibleState(f"no part of the model is called `{strange[0]}`")


def array(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic], dims: int = 1) -> NDArray[Any]:
    """The array `name`. `IncompatibleState` if it is missing, or has another dtype or number of dimensions."""
    if name not in arrays:
        raise IncompatibleState(f"the array `{name}` is missing")
    stored = arrays[name]
    wanted = np.dtype(dtype)
    if stored.dtype != wanted or stored.ndim != dims:
        raise IncompatibleState(
            f"`{name}` is {stored.ndim}-dimensional {stored.dtype}, expected {dims}-dimensional {wanted}"
        )
    return stored


def recalled(arrays: Mapping[str, Any], name: str, *shape: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """The array `name` of what a layer of a training remembered. `IncompatibleState` unless it has this shape and
    dtype.

    Kernels trust the lengths of arrays, so each one from a checkpoint is checked before it gets there.
    """
    stored, wanted = arrays.get(name), np.dtype(dtype)
    if not isinstance(stored, np.ndarray) or stored.shape != shape or stored.dtype != wanted:
        found = f"{stored.dtype} {list(stored.shape)}" if isinstance(stored, np.ndarray) else "no array"
        raise IncompatibleState(f"`{name}` is {found}, expected {wanted} {list(shape)}")
    return stored


def check_offsets(off: Offsets, end: int, name: str) -> None:
    """`IncompatibleState` unless `off` [n+1] begins with 0, never decreases, and ends with `end`."""
    if len(off) == 0 or off[0] != 0 or off[-1] != end or (off[1:] < off[:-1]).any():
        raise IncompatibleState(f"the offsets `{name}` do not rise from 0 to {end:,}")


def check_within(numbers: NDArray[Any], low: int, high: int, name: str) -> None:
    """`IncompatibleState` unless all numbers are at least `low` and below `high`."""
    if numbers.size and (numbers.min() < low or numbers.max() >= high):
        outside = int(numbers[(numbers < low) | (numbers >= high)].ravel()[0])
        raise IncompatibleState(f"`{name}` has the number {outside}, expected {low:,} to {high - 1:,}")


def check_finite(numbers: Floats, name: str) -> None:
    """`IncompatibleState` if a number is infinite or NaN."""
    if not np.isfinite(numbers).all():
        raise IncompatibleState(
            f"`{name}` has the number {numbers[~np.isfinite(numbers)].ravel()[0]}, expected finite ones"
        )


def check_strings(data: NDArray[np.uint8], off: Offsets, name: str) -> None:
    """`IncompatibleState` unless the bytes are UTF-8 and each offset is the start of a character, as in packed strings
    (`foundation.files.stored_arrays`)."""
    check_offsets(off, len(data), name)
    raw = data.tobytes()
    if raw.isascii():
        return
    inner = off[off < len(data)]
    if ((data[inner] & 0xC0) == 0x80).any():
        raise IncompatibleState(f"the offsets `{name}` cut a character in two")
    try:
        raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise IncompatibleState(f"the texts of `{name}` are not UTF-8: byte {raw[error.start]:#04x}") from None


def typed(kind: Any, value: object, name: str) -> Any:
    """The JSON value as `kind`, any type that pydantic knows. `IncompatibleState` describes the first problem in one
    line.
    """
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, (name, *first["loc"])))
        raise IncompatibleState(f"`{place}`: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    except RecursionError:
        raise IncompatibleState(f"`{name}` is nested too deeply") from None


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """The adapter of a type, cached: building it takes longer than using it."""
    return TypeAdapter(kind)


# strings --------------------------------------------------------------------------------------------------------------


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


# values that hold arrays ----------------------------------------------------------------------------------------------


_ARRAY = "array of the checkpoint"  # the key of the placeholder of an array; checkpoints had it first


def flattened(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """A value as JSON, with a placeholder for each array, which is added to `arrays`.

    Tuples become lists, and dataclasses their fields by name. TypeError for what has no place in a file.
    """
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value
        return {_ARRAY: name, "shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value):
        return {field.name: flattened(getattr(value, field.name), arrays) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): flattened(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [flattened(item, arrays) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a file has no place for a {type(value).__name__}")


def restored(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that `flattened` took apart. `IncompatibleState` unless its arrays are as they were."""
    if isinstance(value, dict):
        if _ARRAY in value:
            return recalled(arrays, value[_ARRAY], *value["shape"], dtype=value["dtype"])
        return {key: restored(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [restored(item, arrays) for item in value]
    return value
