"""Types of the arrays that pass between rooms, one name for each kind of number, and the ranges of a mask.

Shapes are not part of these types: they are stated where an array is declared. In kernels these names are for the
reader: Numba infers types by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .lazy_values import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Ints32: TypeAlias = NDArray[np.int32]
    Integers: TypeAlias = NDArray[np.integer]  # of any width
    Codes: TypeAlias = Ints32  #                 states or strings, each by its number
    Offsets: TypeAlias = Ints  #                 [n + 1]  where each of n ranges begins, and where the last one ends
    Mask: TypeAlias = NDArray[np.bool_]
else:  # nothing reads them while a program runs, so that these names do not load NumPy
    Floats = Ints = Ints32 = Integers = Codes = Offsets = Mask = Any


def chosen_ranges(chosen: Mask, start: int = 0) -> list[tuple[int, int]]:
    """(first, last + 1) of each range of chosen items, counted from `start`."""
    if not chosen.any():
        return []
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False)) + start
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
