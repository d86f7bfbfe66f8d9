"""Single steps of contraction programs: how they are laid out, and their loops over machine vectors.

A step of matrices has sums in registers, three rows at a time:

    out[m, r] = Σ_n x[n, m] y[n, r]

is the shape of all three products of a step: of the result, and of the derivatives by either operand. Each row of y is
contiguous. A product of two tables without a sum runs along the runs of its index; so does its reverse, and so do sums
of logarithms. What the letters of a step mean stands in `contraction`, what the columns are in `tables.wiring`. Not
here: programs (`contraction`, `linear_sweeps`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import (
    LANES,
    add,
    broadcast,
    fast_inner,
    fma,
    inlined,
    inner,
    largest,
    least_positive,
    load,
    load_part,
    lowest,
    maximum,
    multiply,
    repeat,
    total,
)
from ..tables import NARROW, WIDE, load_some, store_some


@inlined
def operands(i, programs):
    """The pattern of step i, and where A, B and C begin."""
    return programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]


@inlined
def group_sizes(pattern, patterns):
    """The sizes of b, l, k and r."""
    dims = patterns.dims
    return dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]


@inlined
def offset_lists(pattern, patterns):
    """Where the lists a_b, a_l, a_k, b_b, b_k and b_r begin in `patterns.offsets`."""
    start = patterns.start
    return (
        start[pattern, 0], start[pattern, 1], start[pattern, 2],
        start[pattern, 3], start[pattern, 4], start[pattern, 5],
    )  # fmt: skip


@inlined
def distance(index, first, count):
    """The distance of the places in a list of equally distant ones."""
    return index[first + 1] - index[first] if count > 1 else 0


@inlined
def operand_places(i, variable, programs, assignment):
    """Where the two operands of step i lie at the decided states: (start, stride) of each along `variable`.

    A variable in no factor (i negative) reads the constant in cell 0 twice.
    """
    at_a, stride_a, at_b, stride_b = 0, 0, 0, 0
    if i >= 0:
        at_a, stride_a = _operand_place(2 * i, programs.step[i, 1], variable, programs, assignment)
        at_b, stride_b = _operand_place(2 * i + 1, programs.step[i, 2], variable, programs, assignment)
    return at_a, stride_a, at_b, stride_b


@inlined
def _operand_place(operand, at, variable, programs, assignment):
    """The start and the stride of one operand, which begins at `at`."""
    stride = 0
    for j in range(programs.axis_off[operand], programs.axis_off[operand + 1]):
        if programs.axis_var[j] == variable:
            stride = programs.axis_stride[j]
        else:
            at += assignment[programs.axis_var[j]] * programs.axis_stride[j]
    return at, stride


@inlined
def best_state(value, places, states):
    """(the largest sum of both operands, the first state that has it); places: see `operand_places`."""
    at_a, stride_a, at_b, stride_b = places
    best, chosen = -np.inf, 0
    for x in range(states):
        score = value[at_a + x * stride_a] + value[at_b + x * stride_b]
        if score > best:
            best, chosen = score, x
    return best, chosen


@inlined
def log_normaliser(value, index, left, a_k, right, b_k, num_k):
    """(the maximum, Σ exp of the differences to it) of A + B over the states that are summed out; (-inf, 0) if all
    are impossible.   left, right: where A and B begin.   a_k, b_k: where the lists of their offsets begin in `index`.
    """
    peak, total = -np.inf, 0.0
    for k in range(num_k):
        peak = max(peak, value[left + index[a_k + k]] + value[right + index[b_k + k]])
    if peak > -np.inf:
        for k in range(num_k):
            total += np.exp(value[left + index[a_k + k]] + value[right + index[b_k + k]] - peak)
    return peak, total


@inlined
def turn_table(pattern, patterns, value, b, turned, there):
    """Writes the table B[b, k, r], whose rows are contiguous, as [b, r, k] to turned[there]."""
    num_b, _, num_k, num_r = group_sizes(pattern, patterns)
    _, _, _, b_b, b_k, _ = offset_lists(pattern, patterns)
    index = patterns.offsets
    for ib in range(num_b):
        here = b + index[b_b + ib]
        for k in range(num_k):
            row = here + index[b_k + k]
            for r in range(num_r):
                turned[there + r * num_k + k] = value[row + r]
        there += num_k * num_r


# products of matrices -------------------------------------------------------------------------------------------------

ROWS = 3  # with three registers each: enough sums in flight, and few loads for each


class Terms(NamedTuple):
    """Terms of a product: number m of term n lies at values[at + n · term + m · row]."""

    values: Floats
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


# maxima of sums -------------------------------------------------------------------------------------------------------


@inlined
def _best_columns(registers, third, x, y, chosen, m, column, sizes, out, out_at, out_row):
    """Rows m and m + 1 of `best_sums`, and m + 2 unless `third` is None, as many columns from `column` on as a row of
    `registers` holds.
    """
    terms, rows, columns = sizes
    first, second, last = _three(x.at, x.row, m, rows)
    low, count, at, listed = broadcast(registers, -np.inf), columns - column, y.at + column, len(chosen) > 0
    one, two, three = low, low, low
    for j in range(terms):
        n = chosen[j] if listed else j
        row, place = load_some(registers, y.values, at + n * y.term, count), n * x.term
        one = maximum(one, add(repeat(registers, x.values, first + place), row))
        two = maximum(two, add(repeat(registers, x.values, second + place), row))
        if third is not None:
            three = maximum(three, add(repeat(registers, x.values, last + place), row))
    here, block = out_at + column + m * out_row, len(registers) * LANES
    store_some(out, here, count, block, one)
    if m + 1 < rows:
        store_some(out, here + out_row, count, block, two)
    if third is not None:
        store_some(out, here + 2 * out_row, count, block, three)


@inner
def best_sums(x, y, chosen, sizes, out, out_at, out_row):
    """out[m, r] = max_n x[n, m] + y[n, r] over the terms chosen[0], chosen[1] …, or 0, 1 … if that is empty; the rest
    is as in `product`.
    """
    m, rows, columns = 0, sizes[1], sizes[2]
    while m < rows:
        are_three, column = rows - m == 3 or rows - m > 4, 0
        while column < columns:
            is_wide = columns - column > 2 * LANES
            if is_wide and are_three:
                _best_columns(WIDE, 3, x, y, chosen, m, column, sizes, out, out_at, out_row)
            elif is_wide:
                _best_columns(WIDE, None, x, y, chosen, m, column, sizes, out, out_at, out_row)
            elif are_three:
                _best_columns(NARROW, 3, x, y, chosen, m, column, sizes, out, out_at, out_row)
            else:
                _best_columns(NARROW, None, x, y, chosen, m, column, sizes, out, out_at, out_row)
            column += len(WIDE) * LANES if is_wide else LANES
        m += 3 if are_three else 2


# products of two tables without a sum, run by run ---------------------------------------------------------------------


@inlined
def multiply_runs(value, a, b, c, size, run, index, places):
    """C[i] = A[i] · B[index[i]], where `index` goes on by one in runs. Returns the smallest positive result, at most 1.

    places: where the list begins.
    """
    least = broadcast(NARROW, 1.0)
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, start + j, b + index[places + start] + j
            x = multiply(load_some(NARROW, value, a + at, left), load_some(NARROW, value, other, left))
            least = least_positive(least, x)
            store_some(value, c + at, left, LANES, x)
    return lowest(least)


@inlined
def tangents_of_runs(value, a, b, c, size, run, index, places, shift):
    """Ċ[i] = Ȧ[i] · B[index[i]] + A[i] · Ḃ[index[i]], where tangents lie `shift` cells after their values."""
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, a + start + j, b + index[places + start] + j
            by_left = multiply(load_some(NARROW, value, at + shift, left), load_some(NARROW, value, other, left))
            x, y = load_some(NARROW, value, at, left), load_some(NARROW, value, other + shift, left)
            store_some(value, c + shift + start + j, left, LANES, fma(x, y, by_left))


@inlined
def pull_runs(value, adjoint, a, b, c, size, run, index, places, shift, is_new):
    """The reverse of `multiply_runs`: Ā[i] += C̄[i] · B[index[i]], B̄[index[i]] += C̄[i] · A[i].

    is_new: whether Ā is written, and not added to.   shift: A, B and C̄ are read this far behind their places; see
    `linear_sweeps.pull_tangents`.
    """
    for start in range(0, size, run):
        for j in range(0, run, LANES):
            left, at, other = run - j, start + j, b + index[places + start] + j
            bar = load_some(NARROW, adjoint, c + shift + at, left)
            x, y = load_some(NARROW, value, a + shift + at, left), load_some(NARROW, value, other + shift, left)
            before = broadcast(NARROW, 0.0) if is_new else load_some(NARROW, adjoint, a + at, left)
            store_some(adjoint, a + at, left, LANES, fma(bar, y, before))
            store_some(adjoint, other, left, LANES, fma(bar, x, load_some(NARROW, adjoint, other, left)))


@inlined
def scale_rows(pattern, patterns, value, a, b, c):
    """C[b, r] = A[b] · B[b, r]"""
    dims, start, index = patterns
    num_r, a_b, b_b = dims[pattern, 3], start[pattern, 0], start[pattern, 3]
    for ib in range(dims[pattern, 0]):
        factor, row, out = broadcast(NARROW, value[a + index[a_b + ib]]), b + index[b_b + ib], c + ib * num_r
        for j in range(0, num_r, LANES):
            scaled = multiply(factor, load_some(NARROW, value, row + j, num_r - j))
            store_some(value, out + j, num_r - j, LANES, scaled)


@inlined
def pull_rows(pattern, patterns, value, adjoint, a, b, c, shift):
    """The reverse of `scale_rows`.   shift: see `pull_runs`."""
    dims, start, index = patterns
    num_r, a_b, b_b = dims[pattern, 3], start[pattern, 0], start[pattern, 3]
    for ib in range(dims[pattern, 0]):
        at, row, out = a + index[a_b + ib], b + index[b_b + ib], c + ib * num_r
        factor, sums = broadcast(NARROW, value[at + shift]), broadcast(NARROW, 0.0)
        for j in range(0, num_r, LANES):
            left = num_r - j
            bar = load_some(NARROW, adjoint, out + shift + j, left)
            sums = fma(bar, load_some(NARROW, value, row + shift + j, left), sums)
            store_some(adjoint, row + j, left, LANES, fma(factor, bar, load_some(NARROW, adjoint, row + j, left)))
        adjoint[at] += total(sums)


@inlined
def add_by_index(left, a, right, b, result, c, pattern, patterns):
    """C[i] = A[i] + B[index[i]]"""
    dims, at, index = patterns.dims, patterns.start[pattern, 0], patterns.offsets
    size, run = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3], dims[pattern, 6]
    if run < 0:
        for j in range(size):
            result[c + j] = left[a + j] + right[b + index[at + j]]
        return
    for first in range(0, size, run):
        other = b + index[at + first]
        for j in range(0, run, LANES):
            x, y = load_some(NARROW, left, a + first + j, run - j), load_some(NARROW, right, other + j, run - j)
            store_some(result, c + first + j, run - j, LANES, add(x, y))


@inlined
def raise_by_index(value, outside, a, b, c, pattern, patterns, wants_left, wants_right):
    """A° and B° of `add_by_index`. Only this step reads A, but several entries may read one of B."""
    dims, at, index = patterns.dims, patterns.start[pattern, 0], patterns.offsets
    size, run = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3], dims[pattern, 6]
    if run < 0:
        for j in range(size):
            other = b + index[at + j]
            if wants_left:
                outside[a + j] = outside[c + j] + value[other]
            if wants_right:
                outside[other] = max(outside[other], outside[c + j] + value[a + j])
        return
    for first in range(0, size, run):
        other = b + index[at + first]
        for j in range(0, run, LANES):
            rest, here, there = run - j, first + j, other + j
            around = load_some(NARROW, outside, c + here, rest)
            if wants_left:
                store_some(outside, a + here, rest, LANES, add(around, load_some(NARROW, value, there, rest)))
            if wants_right:
                through = add(around, load_some(NARROW, value, a + here, rest))
                best = maximum(load_some(NARROW, outside, there, rest), through)
                store_some(outside, there, rest, LANES, best)
