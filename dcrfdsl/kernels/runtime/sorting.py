"""Sorts a part of an array of integers in place.

NumPy's sort in compiled code costs two seconds of compiling for each kind of number; this one a tenth.
"""

from __future__ import annotations

from .compilation import inner


@inner
def sort_ascending(values, count):
    """Puts `values[:count]` into ascending order. Heapsort (Williams 1964, Floyd 1964): O(n log n) always."""
    for start in range(count // 2 - 1, -1, -1):
        _sift_down(values, start, count)
    for last in range(count - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sift_down(values, 0, last)


@inner
def _sift_down(values, at, count):
    """Moves the entry at `at` below all larger ones of the heap `values[:count]`."""
    moving = values[at]
    child = 2 * at + 1
    while child < count:
        if child + 1 < count and values[child + 1] > values[child]:
            child += 1
        if values[child] <= moving:
            break
        values[at] = values[child]
        at, child = child, 2 * child + 1
    values[at] = moving
