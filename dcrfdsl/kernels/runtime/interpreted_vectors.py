"""The operations of `machine_vectors` on NumPy arrays, for runs without compilation. See there for their meaning."""

from __future__ import annotations

import numpy as np

from .cpu import LANES

__all__ = [
    "accumulate", "add", "add_sums", "any_below", "broadcast", "choose_below", "exp", "fma", "largest",
    "least_finite", "least_positive", "load", "load_at", "load_part", "lowest", "maximum", "multiply", "repeat",
    "scale_add", "store", "store_part", "subtract", "total", "transpose",
]  # fmt: skip

add, subtract, multiply, maximum = np.add, np.subtract, np.multiply, np.maximum
total, largest, lowest = np.sum, np.max, np.min


def load(registers, array, at):
    return array[at : at + len(registers) * LANES].copy()


def store(array, at, value):
    array[at : at + len(value)] = value


def load_part(registers, array, at, count):
    out = np.zeros(len(registers) * LANES)
    out[:count] = array[at : at + min(count, len(out))]
    return out


def store_part(array, at, count, value):
    array[at : at + min(count, len(value))] = value[:count]


def broadcast(registers, scalar):
    return np.full(len(registers) * LANES, scalar)


def repeat(registers, array, at):
    return broadcast(registers, array[at])


def load_at(registers, array, at, places, number):
    return load(registers, array, at + places[number])


def prefetch(registers, array, at):
    pass


def transpose(source, at, stride, target, to, target_stride):
    block = np.array([source[at + n * stride : at + n * stride + LANES] for n in range(LANES)])
    for n in range(LANES):
        target[to + n * target_stride : to + n * target_stride + LANES] = block[:, n]


def choose_below(x, y, value, other):
    return np.where(x < y, value, other)


def accumulate(x, y, value):
    return value + (x * y).reshape(-1, LANES).sum(axis=0)


def add_sums(source, at, target, to):
    target[to : to + LANES] += source[at : at + LANES * LANES].reshape(LANES, LANES).sum(axis=1)


def any_below(x, y):
    return bool((x < y).any())


def fma(x, y, z):
    return x * y + z


scale_add = fma


def least_positive(x, y):
    return np.where((y > 0.0) & (y < x), y, x)


def least_finite(x, y):
    return np.where((y > -np.inf) & (y < x), y, x)


def exp(x):
    return np.where(x < -708.0, 0.0, np.where(x > 709.0, np.inf, np.exp(x)))
