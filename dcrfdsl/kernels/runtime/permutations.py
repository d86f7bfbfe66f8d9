"""Puts parts of arrays into random or ascending order.

The generator's state is an integer held by the caller, so the same seed gives the same order in every thread and
process; NumPy's generators in compiled code keep one state per thread. NumPy's sort in compiled code costs two seconds
of compiling for each kind of number; this one a tenth.
"""

import numpy as np

from .compilation import inner


@inner
def next_random(state):
    """One step of the SplitMix64 generator: (next state, value). Steele, Lea & Flood 2014."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@inner
def shuffle(order, count, state):
    """Fisher and Yates: permutes `order[:count]` in place. Returns the generator's next state."""
    for i in range(count - 1, 0, -1):
        state, draw = next_random(state)
        j = np.int64(draw % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return state


@inner
def sort_ascending(values, count):
    """Puts `values[:count]` into ascending order. Heapsort (Williams 1964, Floyd 1964): O(n log n) always."""
    for start in range(count // 2 - 1, -1, -1):
        _sift_down(values, start, count)
    for last in range(count - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sift_down(values, np.int64(0), last)  # as a constant it would be a function of its own


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
