"""Arrays in as few bytes as hold their numbers exactly, for model files.

Four forms, each without loss. `cast`: the same numbers in a narrower type, so weights that were rounded to 16 bits
take 16 bits. `steps`: the differences of offsets, which are small where the offsets are not. `gaps`: for an array in
which -1 is frequent (the empty slots of a hash table), a bit for each element and the numbers other than -1. `zeros`:
for weights of which many are 0 (after `owlqn`, `group_lasso` or `keep`), a bit for each and the numbers other than +0,
in the narrowest type that holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..foundation import Count, IncompatibleState, array, typed

Arrays = dict[str, NDArray[Any]]
USED = ".used"  # what the bits of an array with gaps or zeros are called, after its name
EMPTY = -1
INTEGERS = {"uint8": (0, 2**8 - 1), "uint16": (0, 2**16 - 1), "int32": (-(2**31), 2**31 - 1)}  # from the narrowest
NUMBERS = tuple(map(np.dtype, (np.float16, np.float32)))
SHORT = 64  # elements; shorter arrays stay as they are


Kind: TypeAlias = Literal["cast", "steps", "gaps", "zeros"]


class Form(NamedTuple):
    """How an array is stored.

    form: see the module.   dtype: that of the array.   length: the number of its elements.
    """

    form: Kind
    dtype: Literal["float64", "int64", "int32"]
    length: Count


def narrowed(arrays: Mapping[str, NDArray[Any]]) -> tuple[Arrays, dict[str, Form]]:
    """What to store for `arrays`, and the form of those that are not stored as they are. Nothing is lost."""
    stored: Arrays = {}
    forms: dict[str, Form] = {}
    for name, full in sorted(arrays.items()):  # so that the bytes do not depend on their order
        stored[name] = full
        if full.ndim == 1 and len(full) >= SHORT:
            form, parts = _smallest(name, full)
            if form is not None:
                stored |= parts
                forms[name] = Form(form, full.dtype.name, len(full))  # type: ignore[arg-type]
    return stored, forms


def _smallest(name: str, full: NDArray[Any]) -> tuple[Kind | None, Arrays]:
    """The form of `full` that takes the fewest bytes, None if that is the array itself."""
    choices: list[tuple[Kind | None, Arrays]] = [(None, {name: full})]
    if full.dtype == np.float64:
        choices.append(("cast", {name: _rounded(full)}))
        used = full.view(np.int64) != 0  # −0 is not +0: its bits come back too
        choices.append(("zeros", {name: _rounded(full[used]), name + USED: np.packbits(used)}))
    elif full.dtype in (np.int64, np.int32):
        choices.append(("cast", {name: _cast(full)}))
        if full[0] == 0 and (full[1:] >= full[:-1]).all():
            choices.append(("steps", {name: _cast(np.diff(full))}))
        used = full != EMPTY
        choices.append(("gaps", {name: _cast(full[used]), name + USED: np.packbits(used)}))
    return min(choices, key=lambda choice: sum(part.nbytes for part in choice[1].values()))


def _rounded(full: NDArray[np.float64]) -> NDArray[Any]:
    """The numbers in the narrowest type that holds them all exactly."""
    with np.errstate(over="ignore", under="ignore"):
        kept = (kind for kind in NUMBERS if np.array_equal(full.astype(kind).astype(full.dtype), full))
        return full.astype(next(kept, full.dtype), copy=False)


def _cast(full: NDArray[Any]) -> NDArray[Any]:
    """The integers in the narrowest type that holds them all."""
    low, high = int(full.min(initial=0)), int(full.max(initial=0))
    fits = (kind for kind, (least, most) in INTEGERS.items() if least <= low and high <= most)
    return full.astype(next(fits, full.dtype), copy=False)


def widened(stored: Mapping[str, NDArray[Any]], forms: object) -> Arrays:
    """The arrays that `narrowed` got. `IncompatibleState` if `forms`, a JSON value, does not fit what is stored."""
    arrays = dict(stored)
    for name, form in typed(dict[str, Form], forms, "narrow").items():
        part = arrays.get(name)
        if part is None or part.ndim != 1:
            raise IncompatibleState(f"the array `{name}` is missing, or has more than one dimension")
        wide = np.dtype(form.dtype)
        if part.dtype.kind != wide.kind and (part.dtype.kind, wide.kind) != ("u", "i"):
            raise IncompatibleState(f"`{name}` is stored as {part.dtype}, and is {wide}")
        match form.form:
            case "cast":
                full = part.astype(wide)
            case "steps":
                full = np.zeros(len(part) + 1, wide)
                np.cumsum(part, out=full[1:], dtype=wide)
            case "gaps" | "zeros":
                bits, empty = array(arrays, name + USED, np.uint8), EMPTY if form.form == "gaps" else 0
                full = _filled(name, part, bits, form.length, wide, empty)
                del arrays[name + USED]
        if len(full) != form.length:
            raise IncompatibleState(f"`{name}` has {len(full):,} elements, expected {form.length:,}")
        arrays[name] = full
    return arrays


def _filled(
    name: str, part: NDArray[Any], bits: NDArray[np.uint8], length: int, wide: np.dtype[Any], empty: int
) -> NDArray[Any]:
    """An array of `length` with the numbers of `part` where a bit is set, and `empty` elsewhere."""
    if len(bits) != (length + 7) // 8:
        raise IncompatibleState(f"`{name}{USED}` has {len(bits):,} bytes, expected {(length + 7) // 8:,}")
    used = np.unpackbits(bits, count=length).view(np.bool_)
    if np.count_nonzero(used) != len(part):
        raise IncompatibleState(f"`{name}` has {len(part):,} numbers, expected {np.count_nonzero(used):,}")
    full = np.full(length, empty, wide)
    full[used] = part
    return full
