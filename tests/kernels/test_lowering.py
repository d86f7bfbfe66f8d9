"""Elements, slices and loops of kernels, and the arrays that they ask for, beside the same functions in Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba.core import config
from numpy.typing import NDArray

from dcrfdsl.kernels.runtime import fast_kernel, from_upper_bits, kernel, upper_bits

BOUNDS = [-9, -5, -2, -1, 0, 1, 3, 4, 5, 9]


def parts(values, begin, end):
    return values[begin:end], values[begin:], values[:end], values[begin:end].sum()


def parts_of_rows(values, i, begin, end):
    return values[i], values[i, begin:end], values[begin:end], values[begin:end, i], values[:, begin:end]


def elements(values, i, j):
    total = values[i, j] + values[np.int32(i)][np.int8(j)]
    values[i, j] = 7
    return total


def unsigned(values, i):
    return values[np.uint8(i)], values[np.uint64(i)]


def fill(values, i, begin, end):
    values[i, begin:end] = 3
    values[begin:end, i] = 2.0
    values[i] = 1
    return values


def steps(first, last, step):
    out = 0
    for number in range(first, last, step):
        out = 3 * out + number
        if number == 4:
            break
    for number in range(first, last):
        if number == 2:
            continue
        out = 5 * out + number
    return out, len(range(first, last, step))


def arrays(n, m, like):
    made = np.zeros(n), np.zeros((n, m), np.int32), np.full(n, 1.5), np.full((n, m), 1, np.int64), np.zeros(m, np.bool_)
    left = np.empty((n, m), like.dtype)
    left[:] = like
    return *made, left, np.full(m, True, np.bool_), np.full(m, -1, np.int8), np.zeros_like(like)


def rows_of(values):
    out = np.zeros(len(values))
    for _ in range(2):
        made = values + 1
        for row in made:
            for other in (made[0], values[1]):
                out += other * row
        out += made[-1]
    return out, made, row


def passed_on(values, begin):
    made = np.zeros(len(values))
    for _ in range(3):  # each round frees the array of the round before
        made = np.full(len(values), made[0] + 1.0)
        rest = made[begin:]
        rest[0] += values[begin]
    return made, rest


compiled = {
    function.__name__: kernel(function)
    for function in (parts, parts_of_rows, elements, unsigned, fill, steps, arrays, rows_of, passed_on)
}


def same(found: object, expected: object) -> None:
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    np.testing.assert_array_equal(found, expected)  # type: ignore[arg-type]
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape  # type: ignore[attr-defined]


LAYOUTS = {
    "C": np.arange(1, 26).reshape(5, 5),
    "transposed": np.arange(1, 26).reshape(5, 5).T,
    "every second": np.arange(1, 101).reshape(10, 10)[1::2, ::2],
}
TYPES = [np.float64, np.float32, np.int64, np.int32, np.uint16, np.uint8, np.bool_]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_parts(layout: str, dtype: type[np.generic]) -> None:
    def make() -> NDArray[np.generic]:
        whole = LAYOUTS[layout]
        out = whole.astype(dtype, order="K") if layout != "every second" else np.zeros((10, 10), dtype)[1::2, ::2]
        out[:] = whole
        return out

    for begin, end in itertools.product(BOUNDS, BOUNDS):
        same(compiled["parts"](make()[2], begin, end), parts(make()[2], begin, end))
    for i, begin, end in itertools.product((-5, -1, 0, 3), (-9, -2, 0, 2, 7), (-9, -1, 0, 4, 9)):
        same(compiled["parts_of_rows"](make(), i, begin, end), parts_of_rows(make(), i, begin, end))
        same(compiled["fill"](make(), i, begin, end), fill(make(), i, begin, end))
    if dtype not in (np.bool_, np.uint8, np.uint16):  # their sums wrap around in Python
        for i, j in itertools.product((-5, -1, 0, 4), (-5, -2, 0, 4)):
            mine, other = make(), make()
            same(float(compiled["elements"](mine, i, j)), float(elements(other, i, j)))
            same(mine, other)
    same(compiled["unsigned"](make()[1], 3), unsigned(make()[1], 3))


def test_ranges() -> None:
    for first, last, step in itertools.product(range(-3, 6), range(-3, 6), (-3, -2, -1, 1, 2, 3)):
        assert compiled["steps"](first, last, step) == steps(first, last, step)


def test_arrays() -> None:
    for n, m in itertools.product((0, 1, 5), (0, 3)):
        same(compiled["arrays"](n, m, np.ones((n, m), np.float32)), arrays(n, m, np.ones((n, m), np.float32)))


def test_rows_that_a_loop_takes() -> None:
    values = np.arange(16.0).reshape(4, 4)
    for _ in range(50):
        same(compiled["rows_of"](values), rows_of(values))


def test_arrays_live_as_long_as_what_is_taken_of_them() -> None:
    made, rest = compiled["passed_on"](np.arange(9.0), 2)
    np.testing.assert_array_equal(made, [1.0] * 2 + [3.0] + [1.0] * 6 if made[0] == 1.0 else made)
    expected = passed_on(np.arange(9.0), 2) if config.DISABLE_JIT else (made, made[2:])
    same((made, rest), expected)
    del made
    assert rest[1] == 3.0 and rest[0] == 5.0


@fast_kernel
def _rounded(values, unused, out):
    for n in range(len(values)):
        out[n] = from_upper_bits(upper_bits(values[n], unused), unused)
    return out


def test_upper_bits_are_rounded_to_the_nearest() -> None:
    random = np.random.default_rng(0)
    values = np.concatenate([random.standard_normal(999) * 10.0 ** random.integers(-20, 20, 999), [0.0, 1.0, -1.5]])
    ties = (np.arange(1, 1 << 16, 7, dtype=np.uint32)[:999] << 16 | 0x8000).view(np.float32).astype(np.float64)
    for x in (values, ties[np.isfinite(ties)]):
        np.testing.assert_array_equal(_rounded(x, 0, np.empty(len(x))), x.astype(np.float32))
        found = _rounded(x, 16, np.empty(len(x)))
        bits = found.astype(np.float32).view(np.uint32)
        assert not (bits & 0xFFFF).any()
        single = x.astype(np.float32)
        steps = np.array([-1, 0, 1]) * (1 << 16)  # of the neighbours none is nearer, and of two as near it is the even
        near = (bits.astype(np.int64) + steps[:, None]).astype(np.uint32).view(np.float32).astype(np.float64)
        distance = np.abs(near - single.astype(np.float64))
        assert (distance[1] <= np.nanmin(distance[[0, 2]], axis=0)).all()
        tied = distance[1] == np.nanmin(distance[[0, 2]], axis=0)
        assert not ((bits[tied] >> 16) & 1).any()
