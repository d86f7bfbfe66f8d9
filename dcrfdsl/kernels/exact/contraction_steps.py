"""Contraction steps on matrices by machine vectors: three rows at a time, with sums in registers.

    out[m, r] = Σ_n x[n, m] y[n, r]

is the shape of all three products of a step: of the result, and of the derivatives by either operand. Each row of y is
contiguous. Not here: programs, other steps (`contraction`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import (
    LANES,
    add,
    broadcast,
    fast_inner,
    fma,
    inlined,
    largest,
    least_positive,
    load,
    load_part,
    lowest,
    maximum,
    repeat,
    total,
)
from ..tables import NARROW, WIDE, load_some, store_some

ROWS = 3  # with three registers each: enough sums in flight, and few loads for each


class Terms(NamedTuple):
    """Terms of a product: number m of term n lies at values[at + n · term + m · row]."""

    values: NDArray[np.float64]
    at: int
    term: int
    row: int


@inlined
def extremes(value, at, size):
    """(the maximum, the smallest positive number but at most 1) of a run of non-negative numbers."""
    high, least = broadcast(WIDE, 0.0), broadcast(WIDE, 1.0)
    for j in range(0, size, len(WIDE) * LANES):
        block = load_some(WIDE, value, at + j, size - j)
        high, least = maximum(high, block), least_positive(least, block)
    return largest(high), lowest(least)


@inlined
def _add_term(registers, x, places, step, row, sums):
    """Adds a term to the sums of three rows; x[place + step] is the factor of each."""
    first, second, third = places
    one, two, three = sums
    one = fma(repeat(registers, x, first + step), row, one)
    two = fma(repeat(registers, x, second + step), row, two)
    three = fma(repeat(registers, x, third + step), row, three)
    return one, two, three


@inlined
def _three(at, row, first, rows):
    """Where rows `first` to `first` + 2 begin; where rows are missing, the last one stands for them."""
    last = rows - 1
    return at + first * row, at + min(first + 1, last) * row, at + min(first + 2, last) * row


@inlined
def _columns(registers, x, y, column, sizes, out, out_at, out_row):
    """The columns of `product` from `column` on, as many as a row of `registers` holds."""
    terms, rows, columns = sizes
    factors, table, step, y_step = x.values, y.values, x.term, y.term
    zero, count, at = broadcast(registers, 0.0), columns - column, y.at + column
    block = len(registers) * LANES
    for m in range(0, rows, ROWS):
        places, sums = _three(x.at, x.row, m, rows), (zero, zero, zero)
        if count >= block:
            for n in range(terms):
                sums = _add_term(registers, factors, places, n * step, load(registers, table, at + n * y_step), sums)
        else:
            for n in range(terms):
                row = load_part(registers, table, at + n * y_step, count)
                sums = _add_term(registers, factors, places, n * step, row, sums)
        here = out_at + column + m * out_row
        store_some(out, here, count, block, sums[0])
        if m + 1 < rows:
            store_some(out, here + out_row, count, block, sums[1])
        if m + 2 < rows:
            store_some(out, here + 2 * out_row, count, block, sums[2])


@fast_inner
def product(x, y, sizes, out, out_at, out_row):
    """out[m, r] = Σ_n x[n, m] y[n, r], with rows that begin `out_row` apart.   sizes: of n, m and r."""
    column, columns = np.int64(0), sizes[2]
    while column < columns:
        if columns - column > 2 * LANES:
            _columns(WIDE, x, y, column, sizes, out, out_at, out_row)
            column += len(WIDE) * LANES
        else:
            _columns(NARROW, x, y, column, sizes, out, out_at, out_row)
            column += LANES


@inlined
def _put(registers, out, at, count, sums, is_new):
    """Writes sums, or adds them to what is there."""
    if not is_new:
        sums = add(sums, load_some(registers, out, at, count))
    store_some(out, at, count, len(registers) * LANES, sums)


@inlined
def _listed_columns(registers, x, y, column, sizes, out, out_at, out_row, is_new):
    """The columns of `add_listed` from `column` on, as many as a row of `registers` holds."""
    factors, x_shift, x_row, x_places = x
    table, y_shift, y_places = y
    terms, rows, columns = sizes
    zero, count, at = broadcast(registers, 0.0), columns - column, y_shift + column
    block = len(registers) * LANES
    for m in range(0, rows, ROWS):
        places, sums = _three(x_shift, x_row, m, rows), (zero, zero, zero)
        if count >= block:
            for n in range(terms):
                row = load(registers, table, at + y_places[n])
                sums = _add_term(registers, factors, places, x_places[n], row, sums)
        else:
            for n in range(terms):
                row = load_part(registers, table, at + y_places[n], count)
                sums = _add_term(registers, factors, places, x_places[n], row, sums)
        here = out_at + column + m * out_row
        _put(registers, out, here, count, sums[0], is_new)
        if m + 1 < rows:
            _put(registers, out, here + out_row, count, sums[1], is_new)
        if m + 2 < rows:
            _put(registers, out, here + 2 * out_row, count, sums[2], is_new)


@fast_inner
def add_listed(x, y, sizes, out, out_at, out_row, is_new):
    """out[m, r] += Σ_n x[n, m] y[n, r], or = where `is_new`; the terms n lie anywhere, the rest is as in `product`.

    x: (values, shift, row, places), with x[n, m] at places[n] + shift + m · row.   y: (values, shift, places).
    """
    column, columns = np.int64(0), sizes[2]
    while column < columns:
        if columns - column > 2 * LANES:
            _listed_columns(WIDE, x, y, column, sizes, out, out_at, out_row, is_new)
            column += len(WIDE) * LANES
        else:
            _listed_columns(NARROW, x, y, column, sizes, out, out_at, out_row, is_new)
            column += LANES


@inlined
def _add_products(y, x, sums):
    """Adds y · x to the sums of three vectors x."""
    one, two, three = sums
    first, second, third = x
    return fma(y, first, one), fma(y, second, two), fma(y, third, three)


@fast_inner
def dots(x, y, sizes, batches, out):
    """out[m, n] = Σ_b Σ_r x[b, m, r] y[b, n, r] from out[0] on.

    x: (values, where they begin); its rows follow each other.   y: (values, where they begin, distance of rows).
    sizes: of n, m and r.   batches: (how many, places of the rest of y in each).
    """
    terms, rows, columns = sizes
    factors, x_at = x
    table, y_at, y_row = y
    num_batches, places = batches
    zero = broadcast(NARROW, 0.0)
    for n in range(0, terms, ROWS):
        ys = _three(y_at, y_row, n, terms)
        for m in range(0, rows, ROWS):
            xs = _three(x_at, columns, m, rows)
            one, two, three = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
            for b in range(num_batches):
                more, there = b * rows * columns, places[b]
                for r in range(0, columns, LANES):
                    left, here, at = columns - r, more + r, there + r
                    x_rows = (
                        load_part(NARROW, factors, xs[0] + here, left),
                        load_part(NARROW, factors, xs[1] + here, left),
                        load_part(NARROW, factors, xs[2] + here, left),
                    )
                    one = _add_products(load_part(NARROW, table, ys[0] + at, left), x_rows, one)
                    two = _add_products(load_part(NARROW, table, ys[1] + at, left), x_rows, two)
                    three = _add_products(load_part(NARROW, table, ys[2] + at, left), x_rows, three)
            for sums, term in ((one, n), (two, min(n + 1, terms - 1)), (three, min(n + 2, terms - 1))):
                out[m * terms + term] = total(sums[0])
                out[min(m + 1, rows - 1) * terms + term] = total(sums[1])
                out[min(m + 2, rows - 1) * terms + term] = total(sums[2])
