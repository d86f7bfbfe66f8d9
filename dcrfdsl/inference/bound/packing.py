"""Packs a data set for training: which features become dense rows, which are bundled, and where each weight lies.

A frequent feature with at least as many weights as its row has cache lines is dense: then the row costs no more to
read than its weights one by one. For the others memory decides, since each pass reads all cells twice and they soon
outgrow the caches: they are dense only if their rows are full enough. Packing takes as long as a few evaluations of the
objective, so it pays for data that is processed many times. Cliques whose features have values, whose sites may lie
outside the sentence or are seen through views keep their lists of weights.

A bundle is a feature, its head, with all those that it implies: their rows are summed up beforehand. It pays if it is
read often and replaces several rows. Heads are features that fire at least `LEAST_READ` times; one of two that imply
each other is enough. Of the remaining bundles, those are kept that rows and other bundles together read at least that
often. Not here: the members of bundles (`kernels.extraction.bundles`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...foundation import Floats, Ints, Ints32, Mask, dataclass
from ...kernels.extraction import cover_rows, implied_features
from ...kernels.runtime import LANES, aligned_zeros, padded
from ...kernels.tables import (
    Bindings,
    BundleLists,
    Kinds,
    Packed,
    Rows,
    count_fires,
    pack_rows,
    pack_weights,
    sum_bundles,
)

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


LINE = 8  # doubles in a cache line
CACHED = 2**17  # cells of dense rows that may be mostly empty: 1 MB, what a second-level cache holds


@dataclass(frozen=True, eq=False)
class Packing:
    """A packed data set. `cell_of` is the cell of each weight, fixed ones last; -1 for a bias and for weights that no
    sequence reads.
    """

    packed: Packed
    cell_of: Ints
    num_cells: int

    def pack(self, weights: Floats, cells: Floats | None = None) -> Floats:
        """The cells at `weights`, written to `cells` if it comes from an earlier call."""
        if cells is None:
            cells = aligned_zeros(self.num_cells)
        pack_weights(weights, self.cell_of, cells)
        if len(self.packed.bundle_row):
            sum_bundles(self.packed, cells)
        return cells


def unpacked(num_kinds: int, num_bias: int) -> Packed:
    """The layout of a data set that is not packed: every kind reads its lists of weights."""
    shift, width, dense_start, flat_start, flat_bits = np.zeros((5, num_kinds), np.int64)
    bundle_kind, bundle_row, bundle_cell = np.zeros((3, 0), np.int64)
    return Packed(
        np.zeros(num_kinds, np.bool_), shift, np.full(num_kinds, num_bias, np.int64), width, dense_start, flat_start,
        flat_bits,
        np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(1, np.int64), np.zeros(0, np.uint32),
        bundle_kind, bundle_row, bundle_cell,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Block:
    """The features of one clique, and where their weights lie: dense rows, most read first, then single weights."""

    kind: int
    run: int  # the run of its first feature
    feature_set: int
    size: int
    run_off: Ints  # [features + 1]
    bundles: Bundles
    num_dense: int
    width: int  # cells of a dense row
    dense_start: int
    flat_start: int
    end: int
    dense_row: Ints  #  [features] number of the dense row, or -1
    bundle_row: Ints  # [bundles] the same
    flat_first: Ints  # [features] number of the first single weight, or -1


def pack(kinds: Kinds, bindings: Bindings, rows: Rows, set_off: Sequence[int], *, bundled: bool) -> Packing | None:
    """The packing of a data set, None if no clique can be packed.

    set_off [sets + 1]: where the rows of each feature set begin.   bundled: with bundles of features.
    """
    silent = _silent(kinds, rows, set_off)
    owners = _packable(kinds, rows, set_off, silent)
    if not owners:
        return None
    ends = np.unique(np.append(kinds.run_base[kinds.feature_set >= 0], len(bindings.run_off) - 1))
    cell_of = np.full(bindings.num_bias + len(bindings.entry), -1, np.int64)
    entry_cell = cell_of[bindings.num_bias :]
    blocks: list[_Block] = []
    at = 0
    for k in owners:
        end = int(ends[ends > kinds.run_base[k]][0])
        block = _measure(k, kinds, bindings, rows, set_off, end, bundled, at)
        blocks.append(block)
        at = block.end
        first, last = int(block.run_off[0]), int(block.run_off[-1])
        feature = np.repeat(np.arange(len(block.run_off) - 1), np.diff(block.run_off))
        row, single = block.dense_row[feature], block.flat_first[feature]
        turn = np.arange(first, last) - block.run_off[feature]
        dense = block.dense_start + row * block.width + bindings.entry[first:last]
        flat = np.where(single >= 0, block.flat_start + single + turn, -1)
        entry_cell[first:last] = np.where(row >= 0, dense, flat)
    packed_runs = {block.run for block in blocks}
    entry_shift = np.zeros(len(kinds.base), np.int64)
    for run, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if run in packed_runs:
            continue
        first, last = int(bindings.run_off[run]), int(bindings.run_off[end])
        entry_cell[first:last] = at + np.arange(last - first)
        entry_shift[(kinds.feature_set >= 0) & (kinds.run_base == run)] = at - first
        at += last - first
    packed = _list(kinds, bindings, rows, set_off, silent, blocks, entry_shift)
    return Packing(packed, cell_of, -(-at // LANES) * LANES)


def _silent(kinds: Kinds, rows: Rows, set_off: Sequence[int]) -> Mask:
    """Which kinds have features none of which fires, [K]. They may have no runs and share `run_base` with others."""
    fires = np.diff(rows.row_off[np.array(set_off)]) > 0
    silent: Mask = kinds.feature_set >= 0
    silent[silent] = ~fires[kinds.feature_set[silent]]
    return silent


def valued_sets(rows: Rows, set_off: Sequence[int]) -> Mask:
    """Which feature sets have values other than 1, [sets]."""
    ranges = itertools.pairwise(rows.row_off[np.array(set_off)].tolist())
    return np.array([bool((rows.value[low:high] != 1.0).any()) for low, high in ranges], np.bool_)


def _packable(kinds: Kinds, rows: Rows, set_off: Sequence[int], silent: Mask) -> list[int]:
    """The first kind of each clique that can be packed."""
    valued = valued_sets(rows, set_off)
    owners: dict[int, int] = {}
    refused = set()
    for k, feature_set in enumerate(kinds.feature_set.tolist()):
        if feature_set < 0 or silent[k]:
            continue
        owners.setdefault(int(kinds.run_base[k]), k)
        if kinds.inverse_off[k] != -1 or valued[feature_set]:
            refused.add(int(kinds.run_base[k]))
    return [k for run, k in owners.items() if run not in refused]


def _measure(
    k: int, kinds: Kinds, bindings: Bindings, rows: Rows, set_off: Sequence[int], end: int, bundled: bool, at: int
) -> _Block:
    """The block of the clique whose first kind is `k`, with cells from `at` on.   end: the run after its last one."""
    run, feature_set, size = int(kinds.run_base[k]), int(kinds.feature_set[k]), int(kinds.size[k])
    run_off = bindings.run_off[run : end + 1]
    row_off = rows.row_off[set_off[feature_set] : set_off[feature_set + 1] + 1]
    counts, first, repeats = count_fires(row_off, rows.feature, len(run_off) - 1)
    lengths = np.diff(run_off)
    fires = (counts > 0) & (lengths > 0)
    # the weights of hard constraints are -inf, which only rows may hold: single weights are also multiplied by 0
    enough = 1 if kinds.fixed[k] else max(2, -(-size // LINE))
    rank = np.empty(len(counts), np.int64)
    worth = fires & (lengths >= enough)
    rank[np.argsort(-counts * worth, kind="stable")] = np.arange(len(counts))
    full = (lengths >= 2 * enough) | bool(kinds.fixed[k])
    dense = worth & (full | (rank < CACHED // padded(size)))
    bundles = no_bundles(set_off[feature_set + 1] - set_off[feature_set])
    if bundled and not kinds.fixed[k]:
        registers = padded(size) / LANES
        cost = np.where(dense, registers, lengths * fires)  # a single weight takes about as long as a register
        # a bundle brings each of its features once: those that a row has several times, as of a sentence, stay outside
        bundles = find_bundles(row_off, rows.feature, counts, np.where(repeats, 0.0, cost), registers)
    inside = np.repeat(bundles.reads, np.diff(bundles.member_off))
    reads = counts - np.bincount(bundles.member, inside, len(counts)).astype(np.int64)
    order = np.lexsort((first, -reads))
    ranked = np.concatenate([order[dense[order]], len(counts) + np.arange(len(bundles))])  # features, then bundles
    ranked = ranked[np.argsort(-np.concatenate([reads, bundles.reads])[ranked], kind="stable")]
    row, flat_first = np.full(len(counts) + len(bundles), -1, np.int64), np.full(len(counts), -1, np.int64)
    row[ranked] = np.arange(len(ranked))
    flat = order[(fires & ~dense)[order]]  # the other features that fire, most read first; ties as in the data
    flat_first[flat] = np.cumsum(lengths[flat]) - lengths[flat]
    width = padded(size)
    flat_start = at + width * len(ranked)
    end_cell = flat_start + -(-int(lengths[flat].sum()) // LINE) * LINE
    return _Block(
        k, run, feature_set, size, run_off, bundles, len(ranked), width, at, flat_start, end_cell,
        row[: len(counts)], row[len(counts) :], flat_first,
    )  # fmt: skip


def _list(
    kinds: Kinds, bindings: Bindings, rows: Rows, set_off: Sequence[int], silent: Mask, blocks: Sequence[_Block],
    entry_shift: Ints,
) -> Packed:  # fmt: skip
    """The packed rows of all blocks, laid end to end."""
    empty = unpacked(len(kinds.base), 0)
    bits = [max(1, (block.size - 1).bit_length()) for block in blocks]
    singles = max((block.end - block.flat_start) << b for block, b in zip(blocks, bits, strict=True))
    dense_type: NDArray = np.zeros(0, _narrowest(max(block.num_dense for block in blocks), np.uint16))
    flat_type: NDArray = np.zeros(0, _narrowest(singles, np.uint32))
    parts: list[tuple[NDArray, ...]] = []
    made: list[tuple[Ints, Ints, Ints]] = []  # kind, packed row and cell of the bundles
    num_rows = num_dense = num_flat = 0
    for block, state_bits in zip(blocks, bits, strict=True):
        low, high = set_off[block.feature_set], set_off[block.feature_set + 1]
        of_block = (kinds.feature_set >= 0) & (kinds.run_base == block.run) & ~silent
        empty.is_packed[of_block], empty.shift[of_block] = True, num_rows - low
        empty.width[of_block], empty.flat_bits[of_block] = block.width, state_bits
        empty.dense_start[of_block], empty.flat_start[of_block] = block.dense_start, block.flat_start
        bundles, set_rows = block.bundles, high - low
        lists = (
            (rows.row_off[low : high + 1], rows.feature, bundles.cover_off[: set_rows + 1]),
            (bundles.member_off, bundles.member, bundles.cover_off[set_rows:]),
        )
        for row_off, feature, cover_off in lists:
            dense_off, dense, flat_off, flat = pack_rows(
                row_off, feature, block.run_off, bindings.entry, block.dense_row, block.flat_first, state_bits,
                BundleLists(cover_off, bundles.cover, bundles.member_off, bundles.member, block.bundle_row),
                dense_type, flat_type,
            )  # fmt: skip
            first_row = num_rows
            parts.append((dense_off + num_dense, dense, flat_off + num_flat, flat))
            num_rows, num_dense, num_flat = num_rows + len(row_off), num_dense + len(dense), num_flat + len(flat)
        numbers = np.arange(len(bundles))
        made.append(
            (np.full_like(numbers, block.kind), first_row + numbers, block.dense_start + block.bundle_row * block.width)
        )
    if silent.any():  # silent kinds read empty rows
        most = int(np.diff(set_off).max())
        parts.append((np.full(most + 1, num_dense), dense_type, np.full(most + 1, num_flat), flat_type))
        empty.is_packed[silent] = kinds.inverse_off[silent] == -1
        empty.shift[silent] = num_rows - np.array(set_off)[kinds.feature_set[silent]]
    dense_off, dense, flat_off, flat = (np.concatenate(part) for part in zip(*parts, strict=True))
    kind, row, cell = (np.concatenate(part) for part in zip(*made, strict=True))
    return empty._replace(
        entry_shift=entry_shift, dense_off=dense_off, dense=dense, flat_off=flat_off, flat=flat, bundle_kind=kind,
        bundle_row=row, bundle_cell=cell,
    )  # fmt: skip


def _narrowest(count: int, narrow: type) -> type:
    """An unsigned type for numbers below `count`; few types, since kernels are compiled for each."""
    return narrow if count <= np.iinfo(narrow).max else np.uint32 if count < 2**32 else np.uint64
