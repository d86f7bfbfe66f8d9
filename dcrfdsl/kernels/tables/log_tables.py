"""From weights to tables and from beliefs to gradients.

A local table is its kind's base table (bias weights and hard zeros) plus, for each feature that fires at the factor's
anchor, the weights of that feature's run: log φ(y_c) = Σ_k λ_k f_k(y_c, x, t) (Sutton 2004 eq. 3). The gradient
takes the same path in reverse: a weight gets its feature's value times the belief of its assignment (eq. 8).
"""

import numpy as np

from ..runtime import (
    LANES,
    broadcast,
    exp,
    fast_inlined,
    fast_inner,
    inlined,
    inner,
    kernel,
    largest,
    least_finite,
    load,
    load_part,
    lowest,
    maximum,
    store,
    store_part,
    subtract,
)
from .dense import NARROW, add_run, copy_run
from .packed import move_packed

TINY = 1e-150  # TINY² is still a normal double: products of two such entries are representable
LOG_TINY = np.log(TINY)


def base_tables(weights, bindings, hard):
    """Log base tables of all kinds, in the layout of the shared cells: hard zeros (0 or -inf) plus bias weights."""
    out = hard.copy()
    np.add.at(out, bindings.bias_cell, weights[bindings.bias_weight])
    return out


@inlined
def entry_of(f, shapes, v0, labelling):
    """The entry of factor f's table at a labelling of its shape's variables, which begin at v0 of the bank."""
    entry = 0
    for e in range(shapes.scope_off[f], shapes.scope_off[f + 1]):
        entry = entry * shapes.card[v0 + shapes.scope[e]] + labelling[shapes.scope[e]]
    return entry


@inlined
def highest(values, at, size):
    """The maximum of a run."""
    whole = size // LANES * LANES
    high, peak = broadcast(NARROW, -np.inf), -np.inf
    for j in range(at, at + whole, LANES):
        high = maximum(high, load(NARROW, values, j))
    for j in range(at + whole, at + size):
        peak = max(peak, values[j])
    return max(peak, largest(high))


@inlined
def _exponentiate_run(values, at, size, peak):
    """exp of a run with a number taken out, at least its maximum. Returns whether every positive result is at least
    `TINY`.
    """
    if peak == -np.inf:
        values[at : at + size] = 0.0
        return True
    whole = size // LANES * LANES
    taken, least, fits = broadcast(NARROW, peak), broadcast(NARROW, 0.0), True
    for j in range(at, at + whole, LANES):
        centred = subtract(load(NARROW, values, j), taken)
        least = least_finite(least, centred)
        store(values, j, exp(centred))
    for j in range(at + whole, at + size):
        x = values[j] - peak
        fits &= (x > LOG_TINY) | (x == -np.inf)
    if whole < size:
        centred = subtract(load_part(NARROW, values, at + whole, size - whole), taken)
        store_part(values, at + whole, size - whole, exp(centred))
    return fits and lowest(least) > LOG_TINY


@inner
def exponentiate(g, shapes, value):
    """exp of the local tables of shape g in place. Returns (sum of the maxima taken out, all fit linear space)."""
    shift, fits = 0.0, True
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if shapes.fac_table[f] >= shapes.local_start:
            at, size = shapes.fac_table[f], shapes.fac_size[f]
            peak = highest(value, at, size)
            fits &= _exponentiate_run(value, at, size, peak)
            shift += peak if peak > -np.inf else 0.0
    return shift, fits


@inner
def shared_peaks(g, shapes, peaks):
    """Sum of the maxima that were taken out of the shared tables of a graph."""
    total = 0.0
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if shapes.fac_table[f] < shapes.local_start:
            total += peaks[shapes.fac_kind[f]]
    return total


def exponentiate_base(log_base, kinds):
    """exp of the base tables, each with its maximum taken out, and of products with the maxima of their parts; cell 0
    becomes 1.

    Returns (linear tables, maximum of each kind's table, whether base tables fit linear space, whether products do).
    """
    linear, peaks, fits, products_fit = log_base.copy(), np.zeros(len(kinds.base)), True, True
    for k, (at, size) in enumerate(zip(kinds.base.tolist(), kinds.size.tolist(), strict=True)):
        parts = kinds.part[kinds.part_off[k] : kinds.part_off[k + 1]]
        table = linear[at : at + size]
        peak = peaks[parts].sum() if len(parts) else table.max(initial=-np.inf)
        if peak == -np.inf:
            table[:] = 0.0
            continue
        peaks[k] = peak
        table -= peak
        good = bool(np.all((table > LOG_TINY) | (table == -np.inf)))
        np.exp(table, out=table)
        if len(parts):
            products_fit &= good
        elif kinds.feature_set[k] < 0:
            fits &= good
    linear[0] = 1.0
    return linear, peaks, fits, products_fit


@fast_inlined
def move_features(k, row, kinds, bindings, rows, weights, table, at, scatters):
    """Adds the weights of the features of a row of kind k to the table at table[at].

    With `scatters` the other way: adds the table's entries to what `weights` holds for each feature.
    """
    runs, inverse, shift = kinds.run_base[k], kinds.inverse_off[k], rows.packed.entry_shift[k]
    valued = len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = runs + rows.feature[i]
        first, last = bindings.run_off[run], bindings.run_off[run + 1]
        x = rows.value[i] if valued else 1.0
        if inverse == -1:
            for e in range(first, last):
                _move(weights, shift + e, table, at + bindings.entry[e], x, scatters)
        elif inverse < -1:
            lists = -2 - inverse
            for e in range(first, last):
                entry_list = lists + bindings.entry[e]
                for c in range(lists + kinds.inverse[entry_list], lists + kinds.inverse[entry_list + 1]):
                    _move(weights, shift + e, table, at + kinds.inverse[c], x, scatters)
        else:
            for e in range(first, last):
                cell = kinds.inverse[inverse + bindings.entry[e]]
                if cell >= 0:
                    _move(weights, shift + e, table, at + cell, x, scatters)


@fast_inlined
def _move(weights, w, table, cell, x, scatters):
    """table[cell] += x · weights[w], or with `scatters` weights[w] += x · table[cell]."""
    if scatters:
        weights[w] += x * table[cell]
    else:
        table[cell] += x * weights[w]


@fast_inner
def fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value):
    """Log scores of the local tables of sequence s into the arena `value`."""
    g, packed = rows.shape[s], rows.packed
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at = shapes.fac_table[f]
        if at < shapes.local_start:
            continue
        k = shapes.fac_kind[f]
        copy_run(log_base, kinds.base[k], kinds.size[k], value[at : at + kinds.size[k]])
        row = rows.first_row[kinds.feature_set[k], s] + shapes.fac_anchor[f]
        if packed.is_packed[k]:
            move_packed(packed, k, packed.shift[k] + row, kinds.size[k], weights, value, at, False)
        else:
            move_features(k, row, kinds, bindings, rows, weights, value, at, False)


@kernel
def local_tables(s, shapes, kinds, bindings, rows, weights, log_base, value):
    """`fill_tables` for Python."""
    fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)


@fast_inner
def scatter_gradient(s, shapes, kinds, bindings, rows, belief, base_expected, gradient):
    """Adds the expectations of sequence s to `gradient` (features) and `base_expected` (base tables of local kinds)."""
    g, packed = rows.shape[s], rows.packed
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at = shapes.fac_table[f]
        if at < shapes.local_start:
            continue
        k = shapes.fac_kind[f]
        if kinds.has_bias[k]:
            base = kinds.base[k]
            add_run(belief, at, kinds.size[k], base_expected[base : base + kinds.size[k]])
        if kinds.fixed[k]:
            continue
        row = rows.first_row[kinds.feature_set[k], s] + shapes.fac_anchor[f]
        if packed.is_packed[k]:
            move_packed(packed, k, packed.shift[k] + row, kinds.size[k], gradient, belief, at, True)
        else:
            move_features(k, row, kinds, bindings, rows, gradient, belief, at, True)


@kernel
def local_gradient(s, shapes, kinds, bindings, rows, belief, base_expected, gradient):
    """`scatter_gradient` for Python."""
    scatter_gradient(s, shapes, kinds, bindings, rows, belief, base_expected, gradient)


def add_bias_gradient(bindings, base_expected, gradient):
    """Expected counts of bias weights, read off the expected base tables."""
    np.add.at(gradient, bindings.bias_weight, base_expected[bindings.bias_cell])
