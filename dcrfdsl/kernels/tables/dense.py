"""Products of small tables with vectors, and copies, sums and multiples of runs of numbers.

Tables are row-major and nothing is padded: the last block of each row is read and written in part. Sums stay in
registers until they are complete. A block is three registers, or one where that is enough.
"""

from ..runtime import LANES, add, broadcast, fma, inlined, inner, load, load_part, repeat, store, store_part, total

NARROW, WIDE = (0,), (0, 0, 0)


@inlined
def load_some(registers, values, at, count):
    """A block of which at most the first `count` lanes are read; the others are 0."""
    if count >= len(registers) * LANES:
        return load(registers, values, at)
    return load_part(registers, values, at, count)


@inlined
def store_some(values, at, count, block, vectors):
    """Writes at most the first `count` lanes of a value of `block` lanes."""
    if count >= block:
        store(values, at, vectors)
    else:
        store_part(values, at, count, vectors)


@inlined
def _times_block(registers, vector, rows, values, start, columns, at, result):
    """One block of `times_matrix`, from column `at` on."""
    block, left = len(registers) * LANES, columns - at
    even, odd = broadcast(registers, 0.0), broadcast(registers, 0.0)
    place = start + at
    if left >= block:
        for u in range(0, rows - 1, 2):
            even = fma(repeat(registers, vector, u), load(registers, values, place), even)
            odd = fma(repeat(registers, vector, u + 1), load(registers, values, place + columns), odd)
            place += 2 * columns
    else:
        for u in range(0, rows - 1, 2):
            even = fma(repeat(registers, vector, u), load_part(registers, values, place, left), even)
            odd = fma(repeat(registers, vector, u + 1), load_part(registers, values, place + columns, left), odd)
            place += 2 * columns
    if rows % 2:
        even = fma(repeat(registers, vector, rows - 1), load_some(registers, values, place, left), even)
    store_some(result, at, left, block, add(even, odd))


@inner
def times_matrix(vector, rows, values, start, columns, result):
    """result[x] = Σ_u vector[u] table[u, x]; the table [rows × columns] starts at values[start]."""
    if columns <= LANES:
        _times_block(NARROW, vector, rows, values, start, columns, 0, result)
        return
    for at in range(0, columns, 3 * LANES):
        _times_block(WIDE, vector, rows, values, start, columns, at, result)


@inlined
def _rows_times(registers, values, start, rows, vector, columns, result):
    """`matrix_times` in blocks of `registers`, four rows at a time."""
    block = len(registers) * LANES
    zero = broadcast(registers, 0.0)
    fours = rows // 4 * 4
    for x in range(0, fours, 4):
        a, b, c, d = zero, zero, zero, zero
        place = start + x * columns
        for at in range(0, columns, block):
            left = columns - at
            block_values = load_some(registers, vector, at, left)
            a = fma(load_some(registers, values, place + at, left), block_values, a)
            b = fma(load_some(registers, values, place + columns + at, left), block_values, b)
            c = fma(load_some(registers, values, place + 2 * columns + at, left), block_values, c)
            d = fma(load_some(registers, values, place + 3 * columns + at, left), block_values, d)
        result[x], result[x + 1], result[x + 2], result[x + 3] = total(a), total(b), total(c), total(d)
    for x in range(fours, rows):
        a = zero
        for at in range(0, columns, block):
            left = columns - at
            row = load_some(registers, values, start + x * columns + at, left)
            a = fma(row, load_some(registers, vector, at, left), a)
        result[x] = total(a)


@inner
def matrix_times(values, start, rows, vector, columns, result):
    """result[x] = Σ_u table[x, u] vector[u]; the table [rows × columns] starts at values[start]."""
    if columns <= LANES:
        _rows_times(NARROW, values, start, rows, vector, columns, result)
    else:
        _rows_times(WIDE, values, start, rows, vector, columns, result)


@inner
def copy_run(values, start, count, result):
    """result[x] = values[start + x]."""
    out, run = result[:count], values[start : start + count]
    for x in range(count):
        out[x] = run[x]


@inner
def add_run(values, start, count, result):
    """result[x] += values[start + x]."""
    out, run = result[:count], values[start : start + count]
    for x in range(count):
        out[x] += run[x]


@inner
def multiply_run(values, start, count, result):
    """result[x] *= values[start + x]."""
    out, run = result[:count], values[start : start + count]
    for x in range(count):
        out[x] *= run[x]


@inner
def scale_run(values, start, count, factor):
    """values[start + x] *= factor."""
    run = values[start : start + count]
    for x in range(count):
        run[x] *= factor
