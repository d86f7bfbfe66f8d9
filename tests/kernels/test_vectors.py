"""Machine vectors in compiled code do what the same lines of NumPy do, for any number of registers."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl.kernels.runtime.compilation import LANES, _lanes, kernel
from dcrfdsl.kernels.runtime.machine_vectors import (
    add,
    add_sums,
    aligned_zeros,
    any_below,
    block_registers,
    broadcast,
    choose_below,
    exp,
    fma,
    largest,
    least_finite,
    least_positive,
    load,
    load_at,
    load_part,
    lowest,
    maximum,
    multiply,
    padded,
    prefetch,
    repeat,
    store,
    store_dot,
    store_part,
    subtract,
    total,
    transpose,
)

INF = math.inf


@kernel
def elementwise(registers, x, y, out):
    n = len(registers) * LANES
    a, b = load(registers, x, 0), load(registers, y, 0)
    store(out, 0, add(a, b))
    store(out, n, subtract(a, b))
    store(out, 2 * n, multiply(a, b))
    store(out, 3 * n, maximum(a, b))
    store(out, 4 * n, least_positive(a, b))
    store(out, 5 * n, least_finite(a, b))
    store(out, 6 * n, fma(a, b, a))
    store(out, 7 * n, broadcast(registers, 7.0))
    store(out, 8 * n, repeat(registers, x, 1))


EXPECTED = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    np.maximum,
    lambda x, y: np.where((y > 0) & (y < x), y, x),
    lambda x, y: np.where((y > -INF) & (y < x), y, x),
    lambda x, y: x * y + x,
    lambda x, y: np.full_like(x, 7.0),
    lambda x, y: np.full_like(x, x[1]),
]


@kernel
def reductions(registers, x):
    own = load(registers, x, 0)
    return total(own), largest(own), lowest(own)


@kernel
def parts(registers, values, at, count, out):
    own = load_part(registers, values, at, count)
    store(out, 0, own)
    store_part(out, len(registers) * LANES, count, add(own, own))


@kernel
def by_lane(registers, x, y, places, out, below):
    n = len(registers) * LANES
    prefetch(registers, x, 0)
    prefetch(registers, y, 2**20)  # beyond its end
    a, b = load(registers, x, 0), load(registers, y, 0)
    store(out, 0, choose_below(a, b, broadcast(registers, 1.0), a))
    store(out, n, load_at(registers, x, 1, places, 1))
    store_dot(out, 2 * n, a, b)
    below[0], below[1] = any_below(a, b), any_below(a, a)


@kernel
def blocks(source, out, sums):
    transpose(source, 1, LANES + 1, out, 2, LANES + 3)
    add_sums(source, 0, sums, 1)


@kernel
def exponentials(registers, values, out):
    step = len(registers) * LANES
    for i in range(0, len(values), step):
        store(out, i, exp(load(registers, values, i)))


def of_all(values: np.ndarray) -> np.ndarray:
    """exp by vectors, in runs of three registers."""
    step = 3 * LANES
    room = np.zeros(-(-len(values) // step) * step)
    room[: len(values)] = values
    exponentials((0, 0, 0), room, room)
    return room[: len(values)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_elementwise_operations(count: int) -> None:
    n = count * LANES
    x, y = np.random.default_rng(count).normal(size=(2, n))
    y[0], y[-1], x[-1] = 0.0, -INF, 2.0
    out = np.empty(len(EXPECTED) * n)
    elementwise((0,) * count, x, y, out)
    for own, law in zip(out.reshape(-1, n), EXPECTED, strict=True):
        np.testing.assert_allclose(own, law(x, y), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("first", [0.5, -INF])
def test_reductions(count: int, first: float) -> None:
    x = np.random.default_rng(count).normal(size=count * LANES)
    for place in range(len(x)):
        own = np.roll(np.append(x[1:], first), place)
        np.testing.assert_allclose(reductions((0,) * count, own), (own.sum(), own.max(), own.min()), rtol=1e-13)


@pytest.mark.parametrize("registers", [1, 2])
@pytest.mark.parametrize("count", range(2 * LANES + 3))
def test_parts_leave_the_rest_alone(count: int, registers: int) -> None:
    lanes = registers * LANES
    values, out = np.arange(1.0, 3 * lanes), np.full(2 * lanes, -1.0)
    parts((0,) * registers, values, 2, count, out)
    inside = np.arange(lanes) < count
    own = values[2 : 2 + lanes]
    np.testing.assert_array_equal(out, np.concatenate([np.where(inside, own, 0), np.where(inside, 2 * own, -1)]))


@pytest.mark.parametrize("count", [1, 2])
def test_decisions_by_lane(count: int) -> None:
    n = count * LANES
    x, y = np.random.default_rng(count).normal(size=(2, n + 3))
    x[:n] = y[:n] + 1.0
    y[n - 1] += 2.0  # only the last lane is below
    out, below = np.zeros(3 * n), np.zeros(2, np.bool_)
    by_lane((0,) * count, x, y, np.array([0, 2], np.int32), out, below)
    a, b = x[:n], y[:n]
    np.testing.assert_array_equal(out[:n], np.where(a < b, 1.0, a))
    np.testing.assert_array_equal(out[n : 2 * n], x[3 : 3 + n])
    np.testing.assert_allclose(out[2 * n :][: LANES // 2].sum(), a @ b, rtol=1e-13, atol=1e-14)
    assert not out[2 * n + LANES // 2 :].any()
    assert below.tolist() == [True, False]


def test_transposed_blocks_and_sums_of_parts() -> None:
    source = np.random.default_rng(1).normal(size=LANES * (LANES + 1))
    out, sums = np.full(2 + LANES * (LANES + 3), 7.0), np.ones(LANES + 2)
    blocks(source, out, sums)
    rows = np.array([source[1 + i * (LANES + 1) :][:LANES] for i in range(LANES)])
    found = np.array([out[2 + i * (LANES + 3) :][:LANES] for i in range(LANES)])
    np.testing.assert_array_equal(found, rows.T)
    assert (out == 7.0).sum() == len(out) - LANES * LANES
    parts_of_sums = source[: LANES * LANES // 2].reshape(LANES, -1)
    np.testing.assert_allclose(sums[1:-1], 1.0 + parts_of_sums.sum(axis=1), rtol=1e-13)
    assert sums[[0, -1]].tolist() == [1.0, 1.0]


def test_exp_is_right_to_the_last_bits() -> None:
    x = np.concatenate([np.random.default_rng(0).uniform(low, high, 20_000) for low, high in [(-708, 709), (-1, 1)]])
    np.testing.assert_allclose(of_all(x), np.exp(x), rtol=1e-15)


EDGES = {0.0: 1.0, -INF: 0.0, INF: INF, -708.5: 0.0, -1e9: 0.0, -1e300: 0.0, 709.5: INF, 1e300: INF}


@pytest.mark.parametrize("value", EDGES)
def test_exp_at_the_edges(value: float) -> None:
    assert of_all(np.array([value]))[0] == EDGES[value]


def test_exp_of_nan_is_nan() -> None:
    assert np.isnan(of_all(np.array([np.nan, 1.0]))[0])


@pytest.mark.parametrize("size", range(1, 130))
def test_rows_are_filled_up_to_whole_blocks(size: int) -> None:
    block = block_registers(size) * LANES
    assert size <= padded(size) < size + block
    assert padded(size) % block == 0


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_aligned_zeros_begin_on_a_cache_line(size: int) -> None:
    zeros = aligned_zeros(size)
    assert zeros.shape == (size,)
    assert not zeros.any()
    assert zeros.ctypes.data % 64 == 0


@pytest.mark.parametrize(("features", "lanes"), [("+sse2,+avx,+avx2,+avx512f", 8), ("+avx,-avx512f", 4), ("+neon", 2)])
def test_lanes_are_those_of_the_cpu(features: str, lanes: int) -> None:
    assert _lanes(features) == lanes


@pytest.mark.long
@pytest.mark.parametrize(
    "environment",
    [
        {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+sse2,+avx,+avx2,+fma"},
        {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"},
        {"NUMBA_DISABLE_JIT": "1"},
    ],
    ids=["avx2", "sse2", "interpreted"],
)
def test_everything_holds_on_other_cpus(environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", __file__, "-p", "no:cacheprovider"]
    variables = {**os.environ, **environment, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(command, cwd=Path(__file__).parents[2], env=variables, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
