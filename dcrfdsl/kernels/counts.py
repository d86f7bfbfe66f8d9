"""What the features of single sequences count under inference, put together in groups.

A pair is a sequence and a weight that can count there; sequences in which a weight can count as much have one group.
Pairs follow each other by sequence, by the columns that fire in it, by the weights of a column. Not here: which
sequences share a group (`criteria.ranges`), the steps that groups allow (`bounds`).
"""

from __future__ import annotations

import numpy as np

from .compiling import kernel
from .sequences import exact_expectations

__all__ = ["collect_pairs", "group_expectations"]


@kernel
def collect_pairs(s, share, off, column, first, order, pair_off, group, cell_off, cell, gradient, expected, found):
    """Adds what sequence s has put into `gradient` [W] and `expected` [shared cells] to its groups `found` [2, G], and
    sets it to 0 again; and its share to the other row.

    off [S+1], column: what fires in each sequence.   first [columns + 1], order [W]: the weights of each column.
    pair_off [S+1], group: of each pair.   cell_off [W+1], cell: the shared cells that a weight is read from.
    """
    p = pair_off[s]
    for i in range(off[s], off[s + 1]):
        c = column[i]
        for n in range(first[c], first[c + 1]):
            k = order[n]
            total = gradient[k]
            gradient[k] = 0.0
            for j in range(cell_off[k], cell_off[k + 1]):
                total += expected[cell[j]]
            found[0, group[p]] += share
            found[1, group[p]] += total
            p += 1
    for j in range(len(expected)):
        expected[j] = 0.0


@kernel
def group_expectations(
    first_sequence, last_sequence, shapes, kinds, bindings, rows, programs, patterns, weights, log_base, base, peaks,
    base_fits, gradient, expected, log_z, status, redone, marginal_off, value, adjoint, share, part,
    off, column, first, order, pair_off, group, cell_off, cell, found,
):  # fmt: skip
    """Σ part and Σ share ⟨f⟩ of the sequences of each group, added to `found` [2, G]; sequences that are computed in
    blocks are passed over.

    share, part [S].   gradient [W], expected [shared cells]: zeros, and left so.   The rest: as in `exact_expectations`
    and `collect_pairs`.
    """
    nothing = np.empty(0)
    for s in range(first_sequence, last_sequence):
        g = rows.shape[s]
        if (share[s] == 0.0 and part[s] == 0.0) or programs.block_off[g] < programs.block_off[g + 1]:
            continue
        if share[s] != 0.0:
            exact_expectations(
                s, s + 1, shapes, kinds, bindings, rows, programs, patterns, weights, log_base, base, peaks, base_fits,
                gradient, expected, log_z, status, redone, nothing, marginal_off, value, adjoint, share,
            )  # fmt: skip
        collect_pairs(s, part[s], off, column, first, order, pair_off, group, cell_off, cell, gradient, expected, found)
