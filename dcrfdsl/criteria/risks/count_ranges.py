"""Bounds on the count of each weight in each sequence, in groups of sequences with equal bounds; and expected counts.

    L_ik ≤ u_ik(y) = ψ_k(x_i, y) − ψ_k(x_i, y_i) ≤ U_ik

Wherever a feature fires, it counts for a weight or does not. So U is the sum of its positive values in x_i minus the
gold count, and L the sum of its negative values minus the gold count. Where it does not fire, there is no pair (i, k).
Source: Altun & Hofmann 2003 eq. 16. Not here: the steps that bounds allow (`optimizers.boosting_rounds`).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ...inference import BoundData, ExactMethod, Expectations, Workers, even_runs
from ...kernels.chain import ChainSums, ChainWorkspace, workspace_for
from ...kernels.runtime import UNDERFLOW, aligned_zeros
from ...kernels.sequences import ChainCells, PairTable, chain_pairs, collect_pairs, exact_pairs
from ...kernels.tables import Totals
from ..gold_counts import FeatureFirings, SequenceCounts


@dataclass(frozen=True, eq=False)
class GroupedCountRanges:
    """G groups of pairs (sequence, weight), weight by weight. off [W+1]: the groups of each.   low, high [G]: L and U.

    Each pair has a slot, in the order of groups: slot_off [G+1], sequence [pairs].   pair_off [S+1]: the pairs of each
    sequence, in the order of its columns and of their weights; slot [pairs]: their slots.   gold [m]: the slot of each
    gold count.
    """

    off: Ints
    low: Floats
    high: Floats
    slot_off: Ints
    sequence: Ints32
    pair_off: Ints
    slot: Ints32
    gold: Ints

    @property
    def num_groups(self) -> int:
        return len(self.low)


def count_ranges_of(firing: FeatureFirings, gold: SequenceCounts, *, shared: bool = False) -> GroupedCountRanges:
    """The groups of a data set.   gold: F(y_i, x_i) of every sequence, [S, W].   shared: one pair of bounds a weight
    for all sequences in which it can count, and so one group.
    """
    above, first = firing.above, firing.first
    width = np.diff(first)[above.column]
    entry = np.repeat(np.arange(len(width), dtype=np.int32), width)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(width)])
    weight = firing.order[np.arange(len(entry)) - (start[:-1] - first[above.column])[entry]].astype(np.int32)
    sequence = above.sequence.astype(np.int32)[entry]
    keys = sequence * np.int64(gold.num_columns) + weight
    place = np.argsort(keys, kind="stable")
    of_gold = place[np.searchsorted(keys, gold.sequence * gold.num_columns + gold.column, sorter=place)]
    del keys, place
    low, high = firing.below.count[entry], above.count[entry]
    low[of_gold] -= gold.count
    high[of_gold] -= gold.count
    del entry
    if shared:
        least, most = np.zeros((2, gold.num_columns))  # u may be 0 in any sequence
        np.minimum.at(least, weight, low)
        np.maximum.at(most, weight, high)
        low, high = least[weight], most[weight]
    order = np.lexsort((high, low, weight)).astype(np.int32)
    starts = np.ones(len(order), np.bool_)
    starts[1:] = np.diff(weight[order]) != 0
    for values in (low, high):
        starts[1:] |= np.diff(values[order]) != 0.0
    heads = np.flatnonzero(starts)
    slot = np.empty(len(order), np.int32)
    slot[order] = np.arange(len(order), dtype=np.int32)
    off = np.searchsorted(weight[order[heads]], np.arange(gold.num_columns + 1))
    return GroupedCountRanges(
        off, low[order[heads]], high[order[heads]], np.append(heads, len(order)), sequence[order], start[above.off],
        slot, slot[of_gold].astype(np.int64),
    )  # fmt: skip


class _Workspace(NamedTuple):
    """Memory of a thread: arenas, overwritten; totals and sums, all 0 between calls. `sums`: None without a chain."""

    value: Floats
    adjoint: Floats
    totals: Totals
    sums: ChainSums | None


class PairExpectations:
    """⟨f⟩ of the pairs of single sequences in one data set, minus the gold counts."""

    def __init__(
        self, data: BoundData, method: ExactMethod, firing: FeatureFirings, ranges: GroupedCountRanges,
        gold: SequenceCounts, workers: Workers,
    ):  # fmt: skip
        """data: not bundled, with contraction programs; `method` is built for it."""
        self.out = Expectations.empty(data)
        self._data, self._method, self._workers = data, method, workers
        bindings, counts = data.bindings, firing.above
        order = np.argsort(bindings.bias_weight, kind="stable")
        self._table = PairTable(
            counts.off, counts.column, firing.first, firing.order, ranges.pair_off, ranges.slot, gold.off, ranges.gold,
            gold.count,
            np.ascontiguousarray(data.cell_of_weight()),
            np.searchsorted(bindings.bias_weight[order], np.arange(data.num_weights + 1)),
            bindings.bias_cell[order].astype(np.int64),
        )  # fmt: skip
        runs = method.chain
        self._chain = runs.chain if runs is not None and runs.scores and runs.scatters else None
        if self._chain is not None:
            chain, base = self._chain, self._chain.base
            self._longest = runs.longest if runs is not None else 0
            places = [np.array(kinds, np.int64) for kinds in (chain.everywhere, chain.at_first, chain.at_last)]
            pairs = np.array([kind for kind, _ in chain.pairs], np.int64)
            turned = np.array([turned for _, turned in chain.pairs], np.bool_)
            self._cells = ChainCells(base[places[0]], base[places[1]], base[places[2]], base[pairs], turned)
        self._workspaces = threading.local()

    def update(self, weights: Floats, sequences: Ints, value: Floats) -> None:
        """Writes log Z and status of these sequences into `out`, expectations of their pairs into `value` [slots]."""
        out, d = self.out, self._data
        p, left = d.potentials(weights), sequences
        out.redone[sequences] = False
        tables = self._chain.tables(p.log_base, linear=True) if self._chain is not None else None
        if tables is not None:

            def by_chain(first: int, last: int) -> None:
                workspace = self._workspace()
                chain_pairs(
                    sequences[first:last], tables, d.problem, p.weights, workspace.totals, workspace.sums, self._cells,
                    out.results, ChainWorkspace(self._longest, workspace.value), self._table, value,
                )  # fmt: skip

            self._workers.map(by_chain, self._runs(len(sequences)))
            left = sequences[out.status[sequences] == UNDERFLOW]
        if not len(left):
            return
        method = self._method
        in_blocks = method.in_blocks[left]
        others = left[~in_blocks]

        def by_programs(first: int, last: int) -> None:
            workspace = self._workspace(programs=True)
            exact_pairs(
                others[first:last], d.problem, method.programs, method.patterns, p, workspace.totals, out.results,
                workspace.value, workspace.adjoint, self._table, value,
            )  # fmt: skip

        self._workers.map(by_programs, self._runs(len(others)))
        rest = np.concatenate([left[in_blocks], others[out.status[others] == UNDERFLOW]])
        for s in rest.tolist():
            workspace = self._workspace()
            method.expectations(p, s, s + 1, out, *workspace.totals)
            collect_pairs(s, self._table, *workspace.totals, value)

    def _workspace(self, *, programs: bool = False) -> _Workspace:
        """Memory of the calling thread, for chains or for programs."""
        name = "programs" if programs or self._chain is None else "chain"
        workspace: _Workspace | None = getattr(self._workspaces, name, None)
        if workspace is None:
            shapes, chain = self._data.shapes, self._chain
            arena = max(int(shapes.arena_end.max(initial=0)), shapes.local_start)
            size, adjoint, sums = arena, arena, None
            if name == "chain" and chain is not None:
                size, adjoint, sums = workspace_for(self._longest, chain.width), 0, chain.sums()
            workspace = _Workspace(
                aligned_zeros(size), np.zeros(adjoint),
                Totals(aligned_zeros(self._data.num_cells), np.zeros(len(self._data.hard))), sums,
            )  # fmt: skip
            setattr(self._workspaces, name, workspace)
        return workspace

    def _runs(self, count: int) -> list[tuple[int, int]]:
        """Runs of `count` sequences. Results do not depend on the cut, as each sequence has separate pairs."""
        return even_runs(count) if self._workers.threads > 1 else even_runs(count, 1)
