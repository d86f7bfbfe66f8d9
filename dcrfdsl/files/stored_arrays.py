"""What a model file holds is looked at before it is believed: dtypes, lengths, offsets, numbers within bounds, UTF-8.

A checksum tells that a file is as it was written, not that it was written by us. Kernels do not check bounds, so every
number that one of them indexes with is checked here, once, when a model is loaded. Each part of a model says itself
what it must be (`restore` of alphabets, weights, voters …); here are the words that they say it in. Not here: the
container (`model.file_format`), what any part means.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from ..arrays import Floats, Offsets
from ..errors import DcrfError, Diagnostic

__all__ = [
    "Count", "StoredArrays", "Unfit", "array", "check_finite", "check_offsets", "check_strings", "check_within",
    "typed",
]  # fmt: skip

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]  # a length or a number, as JSON has it


class Unfit(DcrfError):
    """A part of a stored model is not what it must be, or does not go together with another."""

    def __init__(self, message: str):
        super().__init__(Diagnostic("corrupt-model", message))
        self.message = message


class StoredArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a file, which remember what was read, so that nothing in a file goes unnoticed."""

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
        """The arrays whose names begin so, by the rest of their names."""
        return StoredArrays(self._arrays, self._prefix + prefix, self._read)

    def check_all_read(self) -> None:
        """`Unfit` where the file has an array that no part of the model asked for."""
        if strange := sorted(set(self._arrays) - self._read):
            raise Unfit(f"no part of the model is called `{strange[0]}`")


def array(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic], dims: int = 1) -> NDArray[Any]:
    """The array `name`. `Unfit` if there is none, or it is of another dtype or another number of dimensions."""
    if name not in arrays:
        raise Unfit(f"the array `{name}` is missing")
    found = arrays[name]
    wanted = np.dtype(dtype)
    if found.dtype != wanted or found.ndim != dims:
        raise Unfit(f"`{name}` is {found.ndim}-dimensional {found.dtype}, expected {dims}-dimensional {wanted}")
    return found


def check_offsets(off: Offsets, end: int, name: str) -> None:
    """`Unfit` unless `off` [n+1] begins with 0, never falls, and ends with `end`."""
    if len(off) == 0 or off[0] != 0 or off[-1] != end or (off[1:] < off[:-1]).any():
        raise Unfit(f"the offsets `{name}` do not rise from 0 to {end:,}")


def check_within(numbers: NDArray[Any], low: int, high: int, name: str) -> None:
    """`Unfit` unless all numbers are at least `low` and below `high`."""
    if numbers.size and (numbers.min() < low or numbers.max() >= high):
        raise Unfit(f"`{name}` has the number {_outside(numbers, low, high)}, expected {low:,} to {high - 1:,}")


def _outside(numbers: NDArray[Any], low: int, high: int) -> int:
    return int(numbers[(numbers < low) | (numbers >= high)].ravel()[0])


def check_finite(numbers: Floats, name: str) -> None:
    """`Unfit` where a number is infinite or none."""
    if not np.isfinite(numbers).all():
        raise Unfit(f"`{name}` has the number {numbers[~np.isfinite(numbers)].ravel()[0]}, expected finite ones")


def check_strings(data: NDArray[np.uint8], off: Offsets, name: str) -> None:
    """`Unfit` unless the bytes are UTF-8 and each offset begins a character, as texts are packed
    (`features.string_tables`)."""
    check_offsets(off, len(data), name)
    raw = data.tobytes()
    if raw.isascii():
        return
    inner = off[off < len(data)]
    if ((data[inner] & 0xC0) == 0x80).any():
        raise Unfit(f"the offsets `{name}` cut a character in two")
    try:
        raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise Unfit(f"the texts of `{name}` are not UTF-8: byte {raw[error.start]:#04x}") from None


def typed(kind: Any, value: object, name: str) -> Any:
    """The JSON value as `kind`, whatever pydantic takes for a type. `Unfit` says in one line what is wrong first."""
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, (name, *first["loc"])))
        raise Unfit(f"`{place}`: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
    except RecursionError:
        raise Unfit(f"`{name}` is nested too deeply") from None


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Building one takes longer than using it."""
    return TypeAdapter(kind)
