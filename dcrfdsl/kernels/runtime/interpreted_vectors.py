"""The operations of `machine_vectors` on NumPy arrays, for runs without compilation. See there for their meaning.

A register that reaches out of its array is an IndexError here as it is there with bounds checks. A slice of NumPy would
be shorter or empty without a word.
"""

import numpy as np

from .compilation import LANES

add, subtract, multiply, maximum = np.add, np.subtract, np.multiply, np.maximum
total, largest, lowest = np.sum, np.max, np.min


def _part(array, at, count):
    """`count` elements from `at` on."""
    if count > 0 and (at < 0 or at + count > len(array)):
        raise IndexError("a register reaches out of its array")
    return array[at : at + max(count, 0)]


def load(registers, array, at):
    return _part(array, at, len(registers) * LANES).copy()


def store(array, at, value):
    _part(array, at, len(value))[:] = value


def load_part(registers, array, at, count):
    out = np.zeros(len(registers) * LANES)
    used = max(min(count, len(out)), 0)
    out[:used] = _part(array, at, used)
    return out


def store_part(array, at, count, value):
    used = max(min(count, len(value)), 0)
    _part(array, at, used)[:] = value[:used]


def broadcast(registers, scalar):
    return np.full(len(registers) * LANES, scalar)


def repeat(registers, array, at):
    return broadcast(registers, _part(array, at, 1)[0])


def int_at(array, number):
    return int(array[number])


def upper_bits(number, unused):
    bits = int(np.float32(number).view(np.uint32))
    half, odd = (1 << unused) // 2, (bits >> unused) & 1
    return (bits + (half + odd - 1 if half else 0)) >> unused


def from_upper_bits(bits, unused):
    return float(np.uint32(int(bits) << unused).view(np.float32))


def keep_rolled():
    pass


def load_at(registers, array, at, places, number):
    return load(registers, array, at + places[number])


def prefetch(registers, array, at):
    pass


def transpose(source, at, stride, target, to, target_stride):
    block = np.array([_part(source, at + n * stride, LANES) for n in range(LANES)])
    for n in range(LANES):
        _part(target, to + n * target_stride, LANES)[:] = block[:, n]


def choose_below(x, y, value, other):
    return np.where(x < y, value, other)


def store_dot(array, at, x, y):
    store(array, at, (x * y).reshape(-1, LANES // 2).sum(axis=0))


def add_sums(source, at, target, to):
    sums = _part(source, at, LANES * LANES // 2).reshape(LANES, -1).sum(axis=1)
    _part(target, to, LANES)[:] += sums


def any_below(x, y):
    return bool((x < y).any())


def fma(x, y, z):
    return x * y + z


def least_positive(x, y):
    return np.where((y > 0.0) & (y < x), y, x)


def least_finite(x, y):
    return np.where((y > -np.inf) & (y < x), y, x)


def exp(x):
    return np.where(x < -708.0, 0.0, np.where(x > 709.0, np.inf, np.exp(x)))
