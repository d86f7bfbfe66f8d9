"""Chooses the bundles of a clique: which features are heads, and which bundles each row of the data reads.

A bundle pays if it is read often and replaces several rows. Heads are features that fire at least `LEAST_READ` times;
one of two that imply each other is enough. Of the remaining bundles, those are kept that rows and other bundles
together read at least that often. Not here: the members of bundles (`kernels.extraction.bundles`), the place of their
weights (`packing`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ...kernels.extraction import cover_rows, implied_features

LEAST_READ = 64  # rows read less often cost more cache than they save


@dataclass(frozen=True, eq=False)
class Bundles:
    """The bundles of a clique and their readers. `reads` counts how often the rows of the data read each bundle."""

    member_off: Ints  # [bundles + 1]
    member: Ints32
    cover_off: Ints  #  [rows + bundles + 1] the bundles that each row reads, then those that each bundle is made of
    cover: Ints32
    reads: Ints  #      [bundles]

    def __len__(self) -> int:
        return len(self.reads)


def no_bundles(num_rows: int) -> Bundles:
    """No bundles, for a clique whose features are read one by one."""
    nothing = np.zeros(0, np.int32)
    return Bundles(np.zeros(1, np.int64), nothing, np.zeros(num_rows + 1, np.int64), nothing, np.zeros(0, np.int64))


def find_bundles(row_off: Ints, feature: Ints32, counts: Ints, cost: Floats, row_cost: float) -> Bundles:
    """The bundles that pay.

    counts [features]: how often each fires.   cost [features]: of reading it, 0 if it has no weights.   row_cost: of
    reading the row of a bundle.
    """
    num_rows = len(row_off) - 1
    usable = cost > 0.0
    head = _numbered(np.flatnonzero(usable & (counts >= LEAST_READ)), len(counts))
    if (head < 0).all():
        return no_bundles(num_rows)
    off, member = implied_features(row_off, feature, head, usable)
    heads = np.flatnonzero(head >= 0)
    gain = np.add.reduceat(cost[member], off[:-1]) - row_cost
    owner = np.repeat(np.arange(len(heads)), np.diff(off))
    twins = (counts[member] == counts[heads[owner]]) & (member < heads[owner])
    pays = gain > 0.0
    pays[owner[twins]] = False
    bundles = no_bundles(num_rows)
    for _ in range(2):  # the second time without those that were seldom read
        paying = np.flatnonzero(pays)
        paying = paying[np.argsort(-counts[heads[paying]], kind="stable")]
        if not len(paying):
            break
        lengths = np.diff(off)[paying]
        member_off = np.concatenate([[0], np.cumsum(lengths)])
        members = member[np.repeat(off[paying] - member_off[:-1], lengths) + np.arange(member_off[-1])]
        cover_off, cover = cover_rows(
            row_off, feature, _numbered(heads[paying], len(counts)), member_off, members, gain[paying]
        )
        in_rows = int(cover_off[num_rows])
        reads = np.bincount(cover[:in_rows], minlength=len(paying))
        bundles = Bundles(member_off, members, cover_off, cover, reads)
        pays[paying[reads + np.bincount(cover[in_rows:], minlength=len(paying)) < LEAST_READ]] = False
    return bundles


def _numbered(chosen: Ints, count: int) -> Ints:
    """[count]: the number of each chosen item in `chosen`, -1 for the others."""
    out = np.full(count, -1, np.int64)
    out[chosen] = np.arange(len(chosen))
    return out
