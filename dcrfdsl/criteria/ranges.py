"""How much each feature can count in each sequence, in groups of sequences where it is the same; expectations of these.

    L_ik ≤ u_ik(y) = ψ_k(x_i, y) − ψ_k(x_i, y_i) ≤ U_ik

Where it fires a feature counts for a weight or does not, so U is what it comes to wherever it fires in x_i, less the
gold count, and L what its values below 0 come to, less the same. Where it cannot fire there is no pair (i, k). Source:
Altun & Hofmann 2003 eq. 16. Not here: the steps that bounds allow (`optimizers.boosting`).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..inference import BoundData, Expectations, Workers
from ..inference.methods import ExactMethod
from ..kernels.counts import collect_pairs, group_expectations
from .gold_counts import Firing, SequenceCounts
from .sums import gradient_runs

__all__ = ["GroupSums", "Ranges", "ranges_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranges:
    """G groups, weight by weight. off [W+1]: groups of each.   low, high [G]: L and U.   pair_off [S+1], group: the
    pairs of each sequence, in the order of its columns and of their weights.   gold [m]: the group of each gold count.
    """

    off: Ints
    low: Floats
    high: Floats
    pair_off: Ints
    group: NDArray[np.int32]
    gold: NDArray[np.int32]

    @property
    def num_groups(self) -> int:
        return len(self.low)


def ranges_of(firing: Firing, gold: SequenceCounts) -> Ranges:
    """gold: F(y_i, x_i) of every sequence, [S, W]."""
    above, first = firing.above, firing.first
    width = np.diff(first)[above.column]
    entry = np.repeat(np.arange(len(width)), width)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(width) - width, width)
    weight = firing.order[first[above.column][entry] + within]
    pair_off = np.concatenate([np.zeros(1, np.int64), np.cumsum(width)])[above.off]
    keys = above.sequence[entry] * gold.num_columns + weight
    place = np.argsort(keys, kind="stable")
    of_gold = place[np.searchsorted(keys[place], gold.sequence * gold.num_columns + gold.column)]
    counted = np.zeros(len(entry))
    counted[of_gold] = gold.count
    low, high = firing.below.count[entry] - counted, above.count[entry] - counted
    order = np.lexsort((high, low, weight))
    starts = np.ones(len(order), np.bool_)
    for values in (weight, low, high):
        own = values[order]
        starts[1:] = (own[1:] != own[:-1]) | (starts[1:] if values is not weight else False)
    group = np.empty(len(order), np.int32)
    group[order] = np.cumsum(starts) - 1
    heads = order[starts]
    off = np.searchsorted(weight[heads], np.arange(gold.num_columns + 1))
    return Ranges(off, low[heads], high[heads], pair_off, group, group[of_gold])


class GroupSums:
    """Expectations of one data set, sequence by sequence, summed over groups."""

    def __init__(self, data: BoundData, method: ExactMethod, firing: Firing, ranges: Ranges, workers: Workers):
        """data: not packed, with contraction programs; `method` is built for it."""
        self._data, self._method, self._workers = data, method, workers
        order = np.argsort(data.bindings.bias_weight, kind="stable")
        self._cell = data.bindings.bias_cell[order]
        self._cell_off = np.searchsorted(data.bindings.bias_weight[order], np.arange(data.num_weights + 1))
        own = firing.above
        self._table = own.off, own.column, firing.first, firing.order, ranges.pair_off, ranges.group
        self._size = ranges.num_groups
        self.runs = data.chunks(gradient_runs(self._size + data.num_weights, len(ranges.group)))
        self._number = {first: number for number, (first, _) in enumerate(self.runs)}
        self._own = threading.local()

    def sums(self, weights: Floats, share: Floats, part: Floats) -> Floats:
        """Σ part and Σ share ⟨f⟩ over the sequences of each group, [2, G]; share, part [S]."""
        d, p, method, out = self._data, self._data.potentials(weights), self._method, Expectations.empty(self._data)
        found = np.zeros((len(self.runs), 2, self._size))
        blocked = method.in_blocks

        def run(first: int, last: int) -> None:
            gradient, expected, own = np.zeros(d.num_cells), np.zeros(len(d.hard)), found[self._number[first]]
            value, adjoint = self._room()
            group_expectations(
                first, last, d.shapes, d.kinds, d.bindings, d.rows, method.programs, method.patterns, p.weights,
                p.log_base, p.base, p.peaks, p.fits, gradient, expected, out.log_z, out.status, out.redone,
                d.marginal_off, value, adjoint, share, part, *self._table, self._cell_off, self._cell, own,
            )  # fmt: skip
            for s in (first + np.flatnonzero(blocked[first:last])).tolist():
                method.expectations(p, s, s + 1, out, gradient, expected, share)
                collect_pairs(s, part[s], *self._table, self._cell_off, self._cell, gradient, expected, own)

        self._workers.map(run, self.runs)
        total: Floats = found.sum(axis=0)
        return total

    def _room(self) -> tuple[Floats, Floats]:
        """Two arenas that belong to the calling thread."""
        if not hasattr(self._own, "room"):
            shapes = self._data.shapes
            size = max(int(shapes.arena_end.max(initial=0)), shapes.local_start)
            self._own.room = np.empty(size), np.empty(size)
        room: tuple[Floats, Floats] = self._own.room
        return room
