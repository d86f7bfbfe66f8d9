"""Feature counts of listed labellings: sums over a few of them, and differences of two as sparse vectors.

    d = ½ [F(known) − F(competitor)],    Altun & Hofmann (2003) eq. 11: λ·d is the margin between the two

For a difference only factors whose assignments differ are visited. Not here: which labellings, what the vectors are for
(`dual_ascent`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints32, Mask
from ..runtime import inner, kernel, sort_ascending
from ..tables import entry_of, scatter_gradient


@kernel
def count_labellings(first, last, shapes, kinds, bindings, rows, labellings, off, mass, belief, expected, gradient):
    """Adds Σ_l mass[l, s] F(labellings[l]) of each sequence s.

    labellings [L, flat]: sequence s has its states from off[s] on.   mass [L, S]: where it is 0, states may be unknown.
    belief: zeros up to the end of the longest sequence's local tables, before and after.   expected [shared cells],
    gradient: as inference adds to them.
    """
    for s in range(first, last):
        g = rows.shape[s]
        v0 = shapes.var_off[g]
        for adding in (True, False):  # adds the mass to the beliefs; after counting, resets these to 0
            for n in range(len(labellings)):
                if mass[n, s] == 0.0:
                    continue
                for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
                    at = shapes.fac_table[f] + entry_of(f, shapes, v0, labellings[n, off[s] :])
                    if at < shapes.local_start:
                        expected[at] += mass[n, s] if adding else 0.0
                    else:
                        belief[at] = belief[at] + mass[n, s] if adding else 0.0
            if adding:
                scatter_gradient(s, shapes, kinds, bindings, rows, belief, expected, gradient)


@inner
def _is_entry(e, at, k, kinds, bindings):
    """Whether the entry e of a run of features is, or holds, the entry `at` of a table of kind k."""
    inverse = kinds.inverse_off[k]
    if inverse == -1:
        return bindings.entry[e] == at
    if inverse >= 0:
        return kinds.inverse[inverse + bindings.entry[e]] == at
    lists = -2 - inverse  # a state of a view is several entries
    view_state = lists + bindings.entry[e]
    for c in range(lists + kinds.inverse[view_state], lists + kinds.inverse[view_state + 1]):
        if kinds.inverse[c] == at:
            return True
    return False


@kernel
def subtract_labellings(first, last, problem, potentials, labelling, score, expected, gradient):
    """Writes Σ log φ of a labelling of each sequence to `score` [S], and subtracts its counts, from `expected` [shared
    cells] and `gradient` [W]. It looks at one entry of each table. Rows are not packed.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    for s in range(first, last):
        g, labels, found = rows.shape[s], labelling.value[labelling.off[s] :], 0.0
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            k, at = shapes.fac_kind[f], entry_of(f, shapes, shapes.var_off[g], labels)
            if shapes.fac_table[f] < shapes.local_start:
                expected[shapes.fac_table[f] + at] -= 1.0
                found += log_base[shapes.fac_table[f] + at]
                continue
            found += log_base[kinds.base[k] + at]
            if kinds.has_bias[k]:
                expected[kinds.base[k] + at] -= 1.0
            row = rows.first_row[kinds.feature_set[k], s] + shapes.fac_anchor[f]
            valued = len(rows.value) > 0
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                begin, end = bindings.run_off[run], bindings.run_off[run + 1]
                x = rows.value[i] if valued else 1.0
                if begin + at < end and bindings.entry[begin + at] == at and kinds.inverse_off[k] == -1:
                    begin, end = begin + at, begin + at + 1  # a run of all entries
                for e in range(begin, end):
                    if _is_entry(e, at, k, kinds, bindings):
                        found += x * weights[bindings.num_bias + e]
                        if not kinds.fixed[k]:
                            gradient[bindings.num_bias + e] -= x
        score[s] = found


class Tally(NamedTuple):
    """Feature counts by weight, and the list of weights that have been counted."""

    total: Floats  #   [W]
    is_listed: Mask  # [W]
    listed: Ints32  #  [W]


@kernel
def bias_of_cells(bindings, num_shared):
    """The bias weight that each shared cell has, or -1."""
    out = np.full(num_shared, -1, np.int64)
    for i in range(len(bindings.bias_cell)):
        out[bindings.bias_cell[i]] = bindings.bias_weight[i]
    return out


@inner
def _count(weight, amount, tally, n):
    """Adds to the count of a weight; returns how many weights are listed."""
    total, is_listed, listed = tally
    if not is_listed[weight]:
        is_listed[weight] = True
        listed[n] = weight
        n += 1
    total[weight] += amount
    return n


@inner
def _count_factor(s, f, at, amount, problem, bias_of, tally, n):
    """Adds `amount` for every feature of factor f of sequence s at the entry `at` of its table."""
    shapes, kinds, bindings, rows = problem
    k = shapes.fac_kind[f]
    cell = (shapes.fac_table[f] if shapes.fac_table[f] < shapes.local_start else kinds.base[k]) + at
    if bias_of[cell] >= 0:
        n = _count(bias_of[cell], amount, tally, n)
    if shapes.fac_table[f] < shapes.local_start or kinds.fixed[k]:
        return n
    row = rows.first_row[kinds.feature_set[k], s] + shapes.fac_anchor[f]
    valued = len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = kinds.run_base[k] + rows.feature[i]
        x = amount * rows.value[i] if valued else amount
        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
            if _is_entry(e, at, k, kinds, bindings):
                n = _count(bindings.num_bias + e, x, tally, n)
    return n


@kernel
def list_differences(first, last, problem, bias_of, known, competitor, off, sequence, rank, total, is_listed):
    """The difference of the n-th of the sequences `sequence[first:last]` between `known` and `competitor`.

    known: a flat labelling, sequence s begins at off[s].   competitor [ranks, flat]: others; that of the n-th is
    number `rank[n]`.   bias_of: see `bias_of_cells`.   total [W], is_listed [W]: all 0, before and after.
    Returns offsets [n+1], the numbers of weights in ascending order, and their values.
    """
    shapes, rows = problem.shapes, problem.rows
    ends = np.zeros(last - first + 1, np.int64)
    index, value = np.empty(1024, np.int32), np.empty(1024)
    listed = np.empty(len(total), np.int32)
    tally = Tally(total, is_listed, listed)
    size = 0
    for i in range(first, last):
        s, other = sequence[i], competitor[rank[i]]
        g = rows.shape[s]
        v0, n, gold, found = shapes.var_off[g], 0, known[off[s] :], other[off[s] :]
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            right, wrong = entry_of(f, shapes, v0, gold), entry_of(f, shapes, v0, found)
            if right == wrong:
                continue
            for at, amount in ((right, 0.5), (wrong, -0.5)):
                n = _count_factor(s, f, at, amount, problem, bias_of, tally, n)
        sort_ascending(listed, n)
        if size + n > len(index):
            more = max(2 * len(index), size + n)
            longer, further = np.empty(more, np.int32), np.empty(more)
            longer[:size] = index[:size]
            further[:size] = value[:size]
            index, value = longer, further
        for weight in listed[:n]:
            if total[weight] != 0.0:
                index[size] = weight
                value[size] = total[weight]
                size += 1
            total[weight] = 0.0
            is_listed[weight] = False
        ends[i - first + 1] = size
    return ends, index[:size].copy(), value[:size].copy()
