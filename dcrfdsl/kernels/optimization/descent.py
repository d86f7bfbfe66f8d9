"""The inner loops of optimizers: sums over many long vectors, and steps on the few weights that a batch touches.

The vectors are rows of one array. They are processed in blocks that stay in the cache, and sums of blocks are added in
order, so a range of weights gives the same floats in every thread. Not here: which steps to take (`optimizers`).
"""

import numpy as np

from ..runtime import fast_inner, fast_kernel, from_upper_bits, kernel, upper_bits

BLOCK = 512  # weights that are processed together


@fast_kernel
def dot(x, y):
    """Σ x[w] y[w]. Unlike with NumPy, the result does not depend on the number of cores."""
    total = 0.0
    for w in range(len(x)):
        total += x[w] * y[w]
    return total


@fast_kernel
def inner_products(first, last, rows, others):
    """out[i, j] = Σ rows[i, w] others[j, w] over the weights w = first … last − 1."""
    out = np.zeros((len(rows), len(others)))
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        for i in range(len(rows)):
            for j in range(len(others)):
                out[i, j] += dot(rows[i, begin:end], others[j, begin:end])
    return out


# pairs of moves and changes, kept as the upper bits of singles: 32 of them, or 16 -------------------------------------


@fast_inner
def _dots(row, x, y, z, size):
    """row · x, row · y and row · z."""
    with_x, with_y, with_z = 0.0, 0.0, 0.0
    for w in range(size):
        with_x += row[w] * x[w]
        with_y += row[w] * y[w]
        with_z += row[w] * z[w]
    return with_x, with_y, with_z


@fast_inner
def _read(row, out):
    """out = the numbers of `row`."""
    unused = 32 - 8 * row.itemsize
    for w in range(len(row)):
        out[w] = from_upper_bits(row[w], unused)


@fast_inner
def _add(row, factor, out):
    """Adds `factor` times the numbers of `row` to `out`."""
    unused = 32 - 8 * row.itemsize
    for w in range(len(row)):
        out[w] += factor * from_upper_bits(row[w], unused)


@fast_inner
def _round(x, unused):
    for w in range(len(x)):
        x[w] = from_upper_bits(upper_bits(x[w], unused), unused)


@fast_inner
def _subtract(x, y, out):
    for w in range(len(x)):
        out[w] = x[w] - y[w]


@fast_kernel
def pair_squares(first, last, after, before, gradient, gradient_before, kept):
    """s · y, s · s and y · y of s = after − before and y = gradient − gradient_before over the weights first … last−1,
    then the same sums after rounding.   kept: an array of the type to which they are rounded.
    """
    out, s, y = np.zeros(6), np.empty(BLOCK), np.empty(BLOCK)
    unused = 32 - 8 * kept.itemsize
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        size = end - begin
        _subtract(after[begin:end], before[begin:end], s)
        _subtract(gradient[begin:end], gradient_before[begin:end], y)
        for at in range(0, 6, 3):
            with_y, of_s, _ = _dots(s, y, s, s, size)
            out[at] += with_y
            out[at + 1] += of_s
            out[at + 2] += _dots(y, y, y, y, size)[0]
            _round(s, unused)
            _round(y, unused)
    return out


@fast_kernel
def keep_difference(first, last, after, before, kept):
    """kept[w] = after[w] − before[w] for the weights first … last − 1, rounded to the bits of `kept`."""
    unused = 32 - 8 * kept.itemsize
    x, y, out = after[first:last], before[first:last], kept[first:last]
    for w in range(len(out)):
        out[w] = upper_bits(x[w] - y[w], unused)


@fast_kernel
def pair_products(first, last, moves, changes, newest, gradient, metric):
    """Sums over the weights w = first … last − 1 of each pair (s_i, y_i) with g and with the pair `newest` (s, y):
    out[i] = s_i · g, y_i · g, y_i · D g, s_i · y, y_i · y, y_i · D y, y_i · s with D = diag(metric).

    metric [W]; empty for none, D = 0.   newest: negative for none, s = y = 0.
    """
    out, row = np.zeros((len(moves), 7)), np.empty(BLOCK)
    bent, s, y, bent_y = np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK)
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        size = end - begin
        g, factors = gradient[begin:end], metric[begin:end]
        if newest >= 0:
            _read(moves[newest, begin:end], s)
            _read(changes[newest, begin:end], y)
        for w in range(len(factors)):
            bent[w] = factors[w] * g[w]
            bent_y[w] = factors[w] * y[w]
        for i in range(len(moves)):
            _read(moves[i, begin:end], row)
            with_g, with_y, _ = _dots(row, g, y, y, size)
            out[i, 0] += with_g
            out[i, 3] += with_y
            _read(changes[i, begin:end], row)
            with_g, with_y, with_s = _dots(row, g, y, s, size)
            out[i, 1] += with_g
            out[i, 4] += with_y
            out[i, 6] += with_s
            if len(factors) > 0:
                with_bent, with_bent_y, _ = _dots(row, bent, bent_y, bent_y, size)
                out[i, 2] += with_bent
                out[i, 5] += with_bent_y
    return out


@fast_kernel
def combine(first, last, gradient, scale, changes, of_changes, plain, bend, metric, moves, of_moves, out):
    """out = (plain + bend metric) q + Σ_i of_moves[i] moves[i] with q = scale gradient + Σ_i of_changes[i] changes[i],
    for the weights first … last − 1.   metric [W]: a diagonal matrix; empty for none.   moves, changes: as kept.
    """
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        block, g, bent = out[begin:end], gradient[begin:end], metric[begin:end]
        for w in range(len(block)):
            block[w] = scale * g[w]
        for i in range(len(changes)):
            _add(changes[i, begin:end], of_changes[i], block)
        for w in range(len(block)):
            block[w] *= plain + bend * bent[w] if len(bent) > 0 else plain
        for i in range(len(moves)):
            _add(moves[i, begin:end], of_moves[i], block)


@kernel
def adaptive_steps(touched, gradient, share, rate, weights, squares, seen):
    """AdaGrad on the weights touched[i], with the penalty ½ Σ share λ² taken at the new point:

        s ← s + g²        η = rate / √s        λ ← (λ − η g) / (1 + η share)

    share [W].   seen [W]: the gradient is added to it.
    """
    for i in range(len(touched)):
        w, g = touched[i], gradient[i]
        seen[w] += g
        if g != 0.0:
            squares[w] += g * g
            step = rate / np.sqrt(squares[w])
            weights[w] = (weights[w] - step * g) / (1.0 + step * share[w])


@kernel
def plain_steps(touched, gradient, share, step, weights, seen):
    """A gradient step on the weights touched[i], with the penalty ½ Σ share λ² taken at the new point:

        λ ← (λ − step g) / (1 + step share)

    share [W].   seen [W]: the gradient is added to it.
    """
    for i in range(len(touched)):
        w, g = touched[i], gradient[i]
        seen[w] += g
        weights[w] = (weights[w] - step * g) / (1.0 + step * share[w])


@kernel
def secant_steps(gradient, before, growth, step, moves):
    """Fahlman's Quickprop: replaces the last move Δ of each weight in `moves` [W] by the next one; returns Σ g Δ.

        Δ ← Δ g / (g_before − g), at most `growth` times as long,    Δ ← −step g

    the second rule where the weight has not moved, or where the first would not lead downhill.
    """
    slope = 0.0
    for w in range(len(moves)):
        g, last = gradient[w], moves[w]
        fall = before[w] - g
        move = -step * g
        if last != 0.0 and fall * last < 0.0:  # the gradient rises along the move: there is a minimum
            secant = last * g / fall
            limit = growth * abs(last)
            move = min(max(secant, -limit), limit)
        moves[w] = move
        slope += g * move
    return slope


# the weights that a run of sequences touches, and its gradient --------------------------------------------------------


@kernel
def firing_runs(first, last, shapes, kinds, rows, seen):
    """The features that fire in the sequences first … last − 1, each once, as indices into `Bindings.run_off`.

    seen [features of all cliques]: all False, before and after.
    """
    fired = np.empty(len(seen), np.int64)
    num_fired = 0
    for s in range(first, last):
        g = rows.shape[s]
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            k = shapes.fac_kind[f]
            if shapes.fac_table[f] < shapes.local_start or kinds.fixed[k]:
                continue
            row = rows.first_row[kinds.feature_set[k], s] + shapes.fac_anchor[f]
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                if not seen[run]:
                    seen[run] = True
                    fired[num_fired] = run
                    num_fired += 1
    for i in range(num_fired):
        seen[fired[i]] = False
    return fired[:num_fired].copy()


@kernel
def list_touched(num_bias, runs, run_off):
    """The numbers of the bias weights, then of the weights of the features `runs`, [weights] int32."""
    total = num_bias
    for r in runs:
        total += run_off[r + 1] - run_off[r]
    out = np.empty(total, np.int32)
    for w in range(num_bias):
        out[w] = w
    at = num_bias
    for r in runs:
        for e in range(run_off[r], run_off[r + 1]):
            out[at] = num_bias + e
            at += 1
    return out


@kernel
def collect_touched(touched, cell_of, partial, counted, counts, weights, out):
    """out[i] = Σ_r partial[r, cell of touched[i]], less counts[j] at i = counted[j]. Sets the cells to zero.

    Returns Σ counts λ.
    """
    for i in range(len(touched)):
        total = 0.0
        cell = cell_of[touched[i]]
        if cell >= 0:
            for r in range(len(partial)):
                total += partial[r, cell]
                partial[r, cell] = 0.0
        out[i] = total
    score = 0.0
    for j in range(len(counted)):
        out[counted[j]] -= counts[j]
        score += counts[j] * weights[touched[counted[j]]]
    return score


@kernel
def copy_to_cells(touched, cell_of, weights, cells):
    """Copies the touched weights to their cells."""
    for i in range(len(touched)):
        cell = cell_of[touched[i]]
        if cell >= 0:
            cells[cell] = weights[touched[i]]
