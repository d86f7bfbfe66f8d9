"""Products of a small table with a vector, and of runs of numbers.

Everything takes whole arrays with offsets and cuts slices inside: there LLVM sees that no index is negative, and so
vectorises. Tables are row-major; four rows at a time let loads and sums overlap.
"""

from __future__ import annotations

from .compiling import fast_inner, inner

__all__ = ["add_run", "copy_run", "matrix_times", "multiply_run", "scale_run", "times_matrix"]


@fast_inner
def times_matrix(given, rows, values, start, columns, result):
    """result[x] = Σ_u given[u] table[u, x]; the table [rows × columns] starts at values[start]."""
    left, table, out = given[:rows], values[start : start + rows * columns], result[:columns]
    for x in range(columns):
        out[x] = 0.0
    blocks = rows // 4 * 4
    for u in range(0, blocks, 4):
        at = u * columns
        a, b = table[at : at + columns], table[at + columns : at + 2 * columns]
        c, d = table[at + 2 * columns : at + 3 * columns], table[at + 3 * columns : at + 4 * columns]
        left_a, left_b, left_c, left_d = left[u], left[u + 1], left[u + 2], left[u + 3]
        for x in range(columns):
            out[x] += (left_a * a[x] + left_b * b[x]) + (left_c * c[x] + left_d * d[x])
    for u in range(blocks, rows):
        row = table[u * columns : (u + 1) * columns]
        for x in range(columns):
            out[x] += left[u] * row[x]


@fast_inner
def matrix_times(values, start, rows, given, columns, result):
    """result[x] = Σ_u table[x, u] given[u]; the table [rows × columns] starts at values[start]."""
    right, table, out = given[:columns], values[start : start + rows * columns], result[:rows]
    blocks = rows // 4 * 4
    for x in range(0, blocks, 4):
        at = x * columns
        a, b = table[at : at + columns], table[at + columns : at + 2 * columns]
        c, d = table[at + 2 * columns : at + 3 * columns], table[at + 3 * columns : at + 4 * columns]
        sum_a = sum_b = sum_c = sum_d = 0.0
        for u in range(columns):
            factor = right[u]
            sum_a += factor * a[u]
            sum_b += factor * b[u]
            sum_c += factor * c[u]
            sum_d += factor * d[u]
        out[x], out[x + 1], out[x + 2], out[x + 3] = sum_a, sum_b, sum_c, sum_d
    for x in range(blocks, rows):
        row, total = table[x * columns : (x + 1) * columns], 0.0
        for u in range(columns):
            total += row[u] * right[u]
        out[x] = total


@inner
def copy_run(values, start, count, result):
    """result[x] = values[start + x]."""
    out, own = result[:count], values[start : start + count]
    for x in range(count):
        out[x] = own[x]


@inner
def add_run(values, start, count, result):
    """result[x] += values[start + x]."""
    out, own = result[:count], values[start : start + count]
    for x in range(count):
        out[x] += own[x]


@inner
def multiply_run(values, start, count, result):
    """result[x] *= values[start + x]."""
    out, own = result[:count], values[start : start + count]
    for x in range(count):
        out[x] *= own[x]


@inner
def scale_run(values, start, count, factor):
    """values[start + x] *= factor."""
    own = values[start : start + count]
    for x in range(count):
        own[x] *= factor
