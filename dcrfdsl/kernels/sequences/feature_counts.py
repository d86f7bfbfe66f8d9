"""Expected feature counts of single sequences less the counts of their known labels, and sums over groups.

A pair is a sequence and a weight that can count there. The pairs of a weight with the same range of counts form a
group. Pairs are ordered by sequence, then by the columns that fire in it, then by the weights of a column. Their values
are stored by group; the slot of a pair is its index there. Not here: which sequences share a group
(`criteria.boosting_risk`), the steps that groups allow (`optimization.boosting_bounds`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask
from ..chain import chain_expectations
from ..runtime import OK, UNDERFLOW, inner, kernel
from ..tables import Ragged, add_run
from .expectations import exact_expectations


class PairTable(NamedTuple):
    """The pairs, and where their expectations are read."""

    off: Ints  #       [S+1] of `column`
    column: Ints32  #  columns that fire in each sequence
    first: Ints  #     [columns + 1] of `order`
    order: Ints  #     [W] the weights of each column
    pair_off: Ints  #  [S+1] the pairs of each sequence
    slot: Ints32  #    [pairs]
    known_off: Ints  # [S+1] of the next two: slots of pairs, and their counts under the known labels
    known_slot: Ints
    known_count: Floats
    place: Ints  #     [W] where a gradient holds the weight, -1: nowhere
    cell_off: Ints  #  [W+1] of `cell`: the shared cells that the weight is read from
    cell: Ints


class ChainCells(NamedTuple):
    """Where a chain's tables begin in the shared cells; turned: which tables of pairs are transposed."""

    everywhere: Ints
    at_first: Ints
    at_last: Ints
    pair: Ints
    turned: Mask


@kernel
def collect_pairs(s, table, gradient, expected, value):
    """Writes ⟨f⟩ less the known count of each pair of sequence s to `value` [slots].

    ⟨f⟩ is read from `gradient` [cells] and `expected` [shared cells], which are reset to 0.
    """
    p = table.pair_off[s]
    for i in range(table.off[s], table.off[s + 1]):
        c = table.column[i]
        for n in range(table.first[c], table.first[c + 1]):
            k = table.order[n]
            total, at = 0.0, table.place[k]
            if at >= 0:
                total = gradient[at]
                gradient[at] = 0.0
            for j in range(table.cell_off[k], table.cell_off[k + 1]):
                total += expected[table.cell[j]]
            value[table.slot[p]] = total
            p += 1
    for i in range(table.known_off[s], table.known_off[s + 1]):
        value[table.known_slot[i]] -= table.known_count[i]
    expected[:] = 0.0


@kernel
def exact_pairs(sequences, problem, programs, patterns, potentials, totals, results, arena, adjoint, table, value):
    """⟨f⟩ less the known count of all pairs of some sequences, into `value` [slots]; and log Z of the sequences.

    totals: zeros, and zero again afterwards where a weight is read.   The rest: as in `exact_expectations`. Sequences
    that are computed in blocks are skipped, and so are those that end with `UNDERFLOW`.
    """
    nothing, rows = np.empty(0), problem.rows
    no_marginals = Ragged(nothing, np.empty(0, np.int64))
    for s in sequences:
        g = rows.shape[s]
        if programs.block_off[g] < programs.block_off[g + 1]:
            continue
        exact_expectations(
            s, s + 1, problem, programs, patterns, potentials, totals, results, no_marginals, arena, adjoint, nothing
        )
        if results.status[s] != UNDERFLOW:
            collect_pairs(s, table, totals.gradient, totals.expected, value)


@inner
def _spread(chain, sums, cells, expected):
    """Adds the sums of a chain to the shared cells, those of pairs times ψ, and resets them to 0."""
    n, width = chain.states, chain.width
    for state_sums, bases in (
        (sums.everywhere, cells.everywhere),
        (sums.at_first, cells.at_first),
        (sums.at_last, cells.at_last),
    ):
        for base in bases:
            add_run(state_sums, 0, n, expected[base:])
        state_sums[:] = 0.0
    for m in range(len(cells.pair)):
        base = cells.pair[m]
        down, right = (1, n) if cells.turned[m] else (n, 1)
        for i in range(n):
            for j in range(n):
                if chain.pair[i * width + j] > 0.0:
                    expected[base + i * down + j * right] += sums.pair[i * width + j] * chain.pair[i * width + j]
    sums.pair[:] = 0.0


@kernel
def chain_pairs(sequences, chain, problem, weights, totals, sums, cells, results, workspace, table, value):
    """As `exact_pairs`, on chains; `exact_pairs` must answer where the status is `UNDERFLOW`.

    sums: zeros, before and after.   The rest: as in `chain_expectations`.
    """
    nothing = np.empty(0)
    no_marginals = Ragged(nothing, np.empty(0, np.int64))
    gradient, expected = totals
    log_z, status = results.log_z, results.status
    for s in sequences:
        chain_expectations(
            s, s + 1, chain, problem, weights, gradient, sums, log_z, status, no_marginals, workspace, nothing
        )
        if status[s] == OK:
            _spread(chain, sums, cells, expected)
        collect_pairs(s, table, gradient, expected, value)


@kernel
def known_scores(sequences, off, column, count, weights, score):
    """Σ_k count_k weights[k] of the known labels of some sequences, into `score` [S]."""
    for s in sequences:
        total = 0.0
        for i in range(off[s], off[s + 1]):
            total += count[i] * weights[column[i]]
        score[s] = total


@kernel
def add_known(off, column, count, share, out):
    """out[k] += Σ_s share[s] count_k of the known labels of all sequences."""
    for s in range(len(share)):
        for i in range(off[s], off[s + 1]):
            out[column[i]] += share[s] * count[i]


@kernel
def sum_groups(off, sequence, part, share, value, sums):
    """Σ part and Σ share value over the pairs of each group, into `sums` [2, G].

    off [G+1]: slots of each group.   sequence, value [slots].   part, share [S].
    """
    for g in range(len(off) - 1):
        parts, values = 0.0, 0.0
        for p in range(off[g], off[g + 1]):
            s = sequence[p]
            parts += part[s]
            values += share[s] * value[p]
        sums[0, g], sums[1, g] = parts, values
